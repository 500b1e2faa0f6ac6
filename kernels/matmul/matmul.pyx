# cython: language_level=3, boundscheck=False, wraparound=False
"""Products of stacks of matrices of f32 and of f64, and of complex numbers of these.

All is compiled ahead of time: nothing here waits for a compiler. `matmul.h` holds the tasks and states the
order in which terms are added, which hangs on the number of terms alone. BLAS is not called: its threads wait for each
other, and for what comes next, by spinning, which costs milliseconds where other work uses the processors; and
its order differs from one version, processor and shape to another.
"""

cimport numpy as cnp
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

import numpy as np

from ..launch.native import run_by_shares, run_in_order
from ..launch.threads import available_threads, way_of_running

cnp.import_array()

include "launch/aligned_memory.pxi"

cdef extern from "numpy/arrayobject.h":
    # Takes the reference to the element type that it is given.
    cnp.ndarray PyArray_Empty(int rank, cnp.npy_intp *shape, cnp.dtype dtype, int fortran)

cdef extern from "matmul.h" nogil:
    enum:
        PRODUCT_PART
        PRODUCT_DIRECT_ROWS
        PRODUCT_PACKED_COLUMNS
        PRODUCT_LOW_ROWS
        PRODUCT_LOW_TERMS
        PRODUCT_PANEL
        PRODUCT_OWN_WORK
        PRODUCT_MOST_PLACES

    ctypedef struct ProductSide:
        const char *address
        const int64_t *matrix_steps
        int64_t line_step, term_step

    ctypedef struct MatrixProduct:
        ProductSide left, right
        char *result
        const int64_t *batch_sizes
        int64_t batch_rank, batch, rows, columns, terms, item
        int64_t units, size, row_block, row_blocks, column_block, column_blocks, is_symmetric
        int64_t pack_tasks, pack_units, pack_size, pack_shares, packed_bytes, finished, packs_blocks
        char *packed
        char *work
        int64_t work_bytes, places
        uint8_t busy[PRODUCT_MOST_PLACES]
        uint8_t states[PRODUCT_MOST_PLACES]

    int64_t product_vector_bytes()
    void product_task(int64_t task, void *product) noexcept

PART = PRODUCT_PART
"""Terms of a sum that are added up before they are added to the sum of those before."""

cdef enum:
    MOST_RANK = 64
    # Columns of a full tile, at most.
    WIDTH = 32
    # Most rows and most sums of a unit of work, so that what it reads and writes stays in the second cache.
    ROW_BLOCK = 1024
    BLOCK_SUMS = 1 << 18
    # Least terms of a product whose rows are copied for all units at once, and most bytes of these.
    SHARED_TERMS = 1 << 28
    SHARED_BYTES = 1 << 25
    # Rows that a thread has at least where it has rows to itself: then what it copies stays in its own caches.
    OWN_ROWS = 256
    # Bytes that one task copies, about, so that few wait for it for long; least rows of these.
    SHARE_BYTES = 1 << 18
    SHARE_ROWS = 16
    # So many units, or more, are made of a product that is worth them, and of a large one as many as have the
    # terms of a large unit; least terms of one; its least rows, where columns are copied and where they are not.
    UNITS = 12
    LARGE_UNIT_TERMS = 1 << 25
    UNIT_TERMS = 1 << 18
    # What a matrix takes beside its terms, in terms.
    MATRIX_TERMS = 1 << 10
    LEAST_ROWS = 128
    LEAST_DIRECT_ROWS = 12
    # Blocks of rows of a symmetric product, unless they were larger than others.
    MOST_MIRRORED = 8
    MAX_TASKS = 128
    # Complex matrices with at most this many products are multiplied where they are.
    SMALL_COMPLEX = 512

# Bytes of products that one thread adds up in a second, about, with vectors of one byte.
cdef double _BYTES_A_SECOND = 6e9

cdef int64_t _vector_bytes = product_vector_bytes()

include "operands.pxi"


def is_available():
    """Whether this processor has the instructions, and the compiler of this module knew them."""
    return _vector_bytes > 0


def multiply(cnp.ndarray lhs not None, cnp.ndarray rhs not None, threads=None):
    """The product of stacks of matrices, [..., row, term] with [..., term, column].

    Args:
        lhs, rhs: arrays of f32 or of f64, of one rank, with the same batching sizes.
        threads: most threads to use; None: all.

    Raises:
        ValueError: the operands' types or shapes are others, or there are not the instructions.
    """
    cdef MatrixProduct product
    cdef cnp.npy_intp shape[MOST_RANK]
    cdef int64_t batch = describe(&product, lhs, rhs, shape)
    cdef cnp.ndarray result = result_of(&product, lhs, shape)
    if batch * product.rows * product.columns * product.terms:
        run(&product, batch, threads)
    return result


ctypedef fused Real:
    float
    double


def multiply_complex(cnp.ndarray lhs not None, cnp.ndarray rhs not None, threads=None):
    """The product of stacks of complex matrices, [..., row, term] with [..., term, column].

    Each part of an element is the sum of its terms' products, of few of them rounded one by one and added in order;
    of others a sum of twice as many terms as `multiply` adds them up: first that with the left number's real part.

    Args:
        lhs, rhs: arrays of complex<f32> or of complex<f64>, of one type and rank, with the same batching sizes.
        threads: most threads to use; None: all.
    """
    cdef cnp.npy_intp shape[MOST_RANK]
    cdef int rank = cnp.PyArray_NDIM(lhs), axis
    cdef int64_t rows = cnp.PyArray_DIM(lhs, rank - 2), terms = cnp.PyArray_DIM(lhs, rank - 1)
    cdef int64_t columns = cnp.PyArray_DIM(rhs, rank - 1), batch = 1
    cdef cnp.dtype dtype = <cnp.dtype>cnp.PyArray_DESCR(lhs)
    cdef cnp.ndarray result
    for axis in range(rank - 2):
        shape[axis] = cnp.PyArray_DIM(lhs, axis)
        batch *= shape[axis]
    if batch * rows * terms * columns <= SMALL_COMPLEX:
        shape[rank - 2], shape[rank - 1] = rows, columns
        result = empty_product(lhs, shape)
        if cnp.PyArray_TYPE(lhs) == cnp.NPY_COMPLEX64:
            multiply_small(<float *>cnp.PyArray_DATA(result), lhs, rhs, batch)
        else:
            multiply_small(<double *>cnp.PyArray_DATA(result), lhs, rhs, batch)
        return result
    if not _vector_bytes:
        return np.matmul(lhs, rhs)
    left = lhs if cnp.PyArray_STRIDE(lhs, rank - 1) == cnp.PyArray_ITEMSIZE(lhs) else np.array(lhs, order="C")
    real = (<object>rhs).real.dtype
    cdef cnp.ndarray doubled = np.empty((*(<object>rhs).shape[:rank - 2], 2 * terms, 2 * columns), real)
    if cnp.PyArray_TYPE(lhs) == cnp.NPY_COMPLEX64:
        double_terms(<float *>cnp.PyArray_DATA(doubled), rhs, batch)
    else:
        double_terms(<double *>cnp.PyArray_DATA(doubled), rhs, batch)
    product = multiply(left.view(real), doubled, threads)
    return product.view(dtype)


cdef const char *matrix_at(cnp.ndarray stack, int64_t matrix) noexcept:
    """The address of one matrix of a stack, by its number in row-major order."""
    cdef const char *address = <const char *>cnp.PyArray_DATA(stack)
    cdef int axis
    for axis in range(cnp.PyArray_NDIM(stack) - 3, -1, -1):
        address += matrix % cnp.PyArray_DIM(stack, axis) * cnp.PyArray_STRIDE(stack, axis)
        matrix //= cnp.PyArray_DIM(stack, axis)
    return address


cdef void double_terms(Real *to, cnp.ndarray rhs, int64_t batch) noexcept:
    """Write each term as two rows of real numbers: the right numbers, and the right numbers times i.

    NumPy's functions are not called: `np.negative` reads neighbours of numbers whose stride is the square of their size
    where it writes with a stride.

    Args:
        to: memory for [batch, 2 * terms, 2 * columns] numbers.
        rhs: complex numbers of this width, [..., term, column] of any strides.
        batch: how many matrices `rhs` has.
    """
    cdef int rank = cnp.PyArray_NDIM(rhs)
    cdef int64_t terms = cnp.PyArray_DIM(rhs, rank - 2), columns = cnp.PyArray_DIM(rhs, rank - 1)
    cdef int64_t term_stride = cnp.PyArray_STRIDE(rhs, rank - 2), column_stride = cnp.PyArray_STRIDE(rhs, rank - 1)
    cdef int64_t matrix, term, column
    cdef const char *row
    cdef const Real *number
    cdef Real *times_i
    for matrix in range(batch):
        row = matrix_at(rhs, matrix)
        for term in range(terms):
            times_i = to + 2 * columns
            for column in range(columns):
                number = <const Real *>(row + column * column_stride)
                to[2 * column], to[2 * column + 1] = number[0], number[1]
                times_i[2 * column], times_i[2 * column + 1] = -number[1], number[0]
            to = times_i + 2 * columns
            row += term_stride


cdef void multiply_small(Real *to, cnp.ndarray lhs, cnp.ndarray rhs, int64_t batch) noexcept:
    """Sums of products that are rounded one by one, from zero on."""
    cdef int rank = cnp.PyArray_NDIM(lhs)
    cdef int64_t rows = cnp.PyArray_DIM(lhs, rank - 2), terms = cnp.PyArray_DIM(lhs, rank - 1)
    cdef int64_t columns = cnp.PyArray_DIM(rhs, rank - 1), matrix, row, column, term
    cdef cnp.npy_intp *left_steps = cnp.PyArray_STRIDES(lhs)
    cdef cnp.npy_intp *right_steps = cnp.PyArray_STRIDES(rhs)
    cdef const char *left
    cdef const char *right
    cdef const Real *a
    cdef const Real *b
    cdef Real re, im
    for matrix in range(batch):
        left, right = matrix_at(lhs, matrix), matrix_at(rhs, matrix)
        for row in range(rows):
            for column in range(columns):
                re = im = 0
                for term in range(terms):
                    a = <const Real *>(left + row * left_steps[rank - 2] + term * left_steps[rank - 1])
                    b = <const Real *>(right + term * right_steps[rank - 2] + column * right_steps[rank - 1])
                    re = re + (a[0] * b[0] - a[1] * b[1])
                    im = im + (a[0] * b[1] + a[1] * b[0])
                to[0], to[1] = re, im
                to += 2


cdef int64_t describe(MatrixProduct *product, cnp.ndarray lhs, cnp.ndarray rhs, cnp.npy_intp *shape) except -1:
    """Enter the operands, and the result's shape; how many matrices there are."""
    cdef int64_t batch = product_shape(lhs, rhs, shape)
    cdef int rank = cnp.PyArray_NDIM(lhs)
    cdef cnp.npy_intp *left = cnp.PyArray_STRIDES(lhs)
    cdef cnp.npy_intp *right = cnp.PyArray_STRIDES(rhs)
    product.terms, product.item = cnp.PyArray_DIM(lhs, rank - 1), cnp.PyArray_ITEMSIZE(lhs)
    product.rows, product.columns = shape[rank - 2], shape[rank - 1]
    product.left.address, product.right.address = <char *>cnp.PyArray_DATA(lhs), <char *>cnp.PyArray_DATA(rhs)
    product.left.matrix_steps, product.right.matrix_steps = <int64_t *>left, <int64_t *>right
    product.left.line_step, product.left.term_step = left[rank - 2], left[rank - 1]
    product.right.line_step, product.right.term_step = right[rank - 1], right[rank - 2]
    product.batch_rank, product.batch_sizes, product.batch = rank - 2, <int64_t *>shape, batch
    return batch


cdef cnp.ndarray result_of(MatrixProduct *product, cnp.ndarray lhs, cnp.npy_intp *shape):
    """The array for the result, entered; zeros where there are no terms."""
    cdef cnp.ndarray result = empty_product(lhs, shape)
    product.result = <char *>cnp.PyArray_DATA(result)
    if not product.terms:
        result.fill(0)
    return result


cdef class ProductAnd:
    """A product of two matrices and what follows on it, block by block.

    Args:
        block: rows and columns of a block: a multiple of 32 columns, or all.
        sequel: what follows on each block, those of the first rows first: its launches number `others`, with the
            product at `position`, and then the result, which is the product's memory.
        position: the number of the product.
        turned: whether lhs and rhs are given with rows and columns exchanged.
    """

    cdef object run
    cdef int64_t rows, columns
    cdef Py_ssize_t position
    cdef bint lhs_is_turned, rhs_is_turned

    def __init__(self, block, sequel, position, turned=(False, False)):
        self.rows, self.columns = block
        self.run, self.position = sequel.run, position
        self.lhs_is_turned, self.rhs_is_turned = turned

    def __call__(self, cnp.ndarray lhs not None, cnp.ndarray rhs not None, *others):
        """The result.

        Raises:
            ValueError: as for `multiply`.
        """
        cdef MatrixProduct product
        cdef cnp.npy_intp shape[MOST_RANK]
        cdef AlignedMemory work
        cdef list arrays = []
        cdef cnp.ndarray array
        lhs = lhs.T if self.lhs_is_turned else lhs
        rhs = rhs.T if self.rhs_is_turned else rhs
        describe(&product, lhs, rhs, shape)
        cdef cnp.ndarray result = result_of(&product, lhs, shape)
        for other in others:
            array = other
            arrays.append(array if cnp.PyArray_ISCARRAY_RO(array) else np.array(array, order="C"))
        arrays.insert(self.position, result)
        arrays.append(result)
        product.row_block, product.column_block = self.rows, rounded(self.columns, 1, WIDTH)
        product.row_blocks = (product.rows + self.rows - 1) // self.rows
        product.column_blocks = (product.columns + product.column_block - 1) // product.column_block
        product.units, product.size = product.row_blocks * product.column_blocks, 1
        product.is_symmetric = product.pack_tasks = product.packed_bytes = product.finished = product.packs_blocks = 0
        work = work_for(&product, product.units)
        self.run(<size_t>&product_task, <size_t>&product, seconds_of(&product, 1), arrays)
        return result


cdef int run(MatrixProduct *product, int64_t batch, object threads) except -1:
    """Do all tasks of a product that has some."""
    cdef int64_t terms = product.rows * product.columns * product.terms, tasks
    cdef AlignedMemory work
    cdef double seconds = seconds_of(product, batch)
    divide(product, batch, blocks_of_threads(product, batch, threads))
    tasks = max(1, min(product.units, min(batch * (terms + MATRIX_TERMS) // UNIT_TERMS, MAX_TASKS)))
    product.size = (product.units + tasks - 1) // tasks
    tasks = (product.units + product.size - 1) // product.size
    product.pack_tasks = product.packed_bytes = product.finished = 0
    if tasks > 1 and product.column_blocks > 1 and (product.packs_blocks or may_share(product, batch)):
        share_rows(product, batch)
    else:
        product.packs_blocks = 0
    work = work_for(product, tasks)
    tasks += product.pack_tasks
    if tasks == 1:
        with nogil:
            product_task(0, product)
    elif product.packs_blocks:
        run_by_shares(<size_t>&product_task, <size_t>product, tasks, seconds, threads)
    else:
        run_in_order(<size_t>&product_task, <size_t>product, tasks, seconds, threads)
    return 0


cdef int64_t blocks_of_threads(MatrixProduct *product, int64_t batch, object threads) except -1:
    """Blocks of rows, as many for each of several threads, where each has enough rows to itself; else 0."""
    cdef int64_t count, blocks
    if batch > 1 or not is_worth_sharing(product, batch):
        return 0
    count = way_of_running(threads)[1]
    blocks = (product.rows + ROW_BLOCK * count - 1) // (ROW_BLOCK * count) * count
    return blocks if count > 1 and product.rows >= OWN_ROWS * count and blocks <= PRODUCT_MOST_PLACES else 0


cdef double seconds_of(MatrixProduct *product, int64_t batch) noexcept:
    """What a product takes on one thread, about."""
    cdef int64_t terms = batch * (product.rows * product.columns * product.terms + MATRIX_TERMS)
    return terms * product.item / (_BYTES_A_SECOND * _vector_bytes)


cdef AlignedMemory work_for(MatrixProduct *product, int64_t tasks):
    """Memory for so many tasks, as many of them as threads can do at a time; entered."""
    cdef int64_t rows = product.row_block, items = PRODUCT_PANEL + PRODUCT_PART * rows
    if product.terms > PRODUCT_PART:
        items += rows * product.column_block
    product.places = tasks if tasks <= PRODUCT_OWN_WORK else most_places()
    product.work_bytes = rounded(items * product.item, 1, KEPT_ALIGNMENT)
    memset(product.busy, 0, product.places)
    cdef int64_t parts = (product.terms + PRODUCT_PART - 1) // PRODUCT_PART
    cdef int64_t shared = product.batch * product.row_blocks * parts * product.packed_bytes
    cdef AlignedMemory work = AlignedMemory(product.places * product.work_bytes + shared)
    product.work = work.memory
    product.packed = work.memory + product.places * product.work_bytes
    return work


cdef bint is_worth_sharing(MatrixProduct *product, int64_t batch) noexcept:
    """Whether copying the rows once for all blocks of columns is worth the waiting."""
    return (
        product.rows > PRODUCT_LOW_ROWS and product.terms > PRODUCT_LOW_TERMS
        and product.columns >= PRODUCT_PACKED_COLUMNS
        and batch * product.rows * product.columns * product.terms >= SHARED_TERMS
        and batch * product.rows * product.terms * product.item <= SHARED_BYTES
    )


cdef bint may_share(MatrixProduct *product, int64_t batch) noexcept:
    """The same where the rows are one block."""
    return product.rows <= ROW_BLOCK and is_worth_sharing(product, batch)


cdef bint is_flat(MatrixProduct *product, int64_t batch) noexcept:
    """Whether all rows go with each block of columns, which is copied once; unless they need a copy for each."""
    return may_share(product, batch) or (
        PRODUCT_LOW_ROWS < product.rows <= ROW_BLOCK and product.terms > PRODUCT_LOW_TERMS
        and product.left.term_step == product.item
    )


cdef void share_rows(MatrixProduct *product, int64_t batch) noexcept:
    """Have rows copied by tasks of their own, or by the first task of each block."""
    cdef int64_t shares = product.row_block * product.terms * product.item // SHARE_BYTES, tasks
    product.packed_bytes = rounded(PRODUCT_PART * product.row_block * product.item, 1, KEPT_ALIGNMENT)
    if product.packs_blocks:
        product.pack_shares = 1
        memset(product.states, 0, sizeof(product.states))
        return
    product.pack_shares = max(1, min(shares, product.row_block // SHARE_ROWS))
    product.pack_units = batch * product.row_blocks * product.pack_shares
    tasks = min(product.pack_units, MAX_TASKS)
    product.pack_size = (product.pack_units + tasks - 1) // tasks
    product.pack_tasks = (product.pack_units + product.pack_size - 1) // product.pack_size


cdef int64_t most_places():
    """As many as there are threads."""
    return max(PRODUCT_OWN_WORK, min(available_threads(), PRODUCT_MOST_PLACES))


cdef void divide(MatrixProduct *product, int64_t batch, int64_t row_blocks) noexcept:
    """Choose the units of work, by sizes and, unless that is 0, by the number of blocks of rows. Each of these copies
    the columns anew, and each block of columns the rows, unless these are shared."""
    cdef int64_t rows = product.rows, columns = product.columns, terms = batch * rows * columns * product.terms
    cdef int64_t down = max((rows + ROW_BLOCK - 1) // ROW_BLOCK, row_blocks)
    cdef int64_t across = ((rows + down - 1) // down * columns + BLOCK_SUMS - 1) // BLOCK_SUMS
    cdef int64_t wanted = max(min(UNITS, terms // UNIT_TERMS), min(MAX_TASKS, terms // LARGE_UNIT_TERMS))
    cdef int64_t least_rows = LEAST_ROWS if rows > PRODUCT_DIRECT_ROWS else LEAST_DIRECT_ROWS
    cdef bint flat = row_blocks or is_flat(product, batch)
    product.is_symmetric = rows >= 2 * LEAST_ROWS and is_by_own_transpose(product)
    if product.is_symmetric:
        down = across = min((rows + LEAST_ROWS - 1) // LEAST_ROWS, max(MOST_MIRRORED, down))
        wanted = 0
    product.packs_blocks = row_blocks and not product.is_symmetric
    while batch * down * across < wanted:
        if not flat and rows // down >= 2 * least_rows and rows // down >= columns // across:
            down *= 2
        elif columns // across >= 2 * WIDTH:
            across *= 2
        elif rows // down >= 2 * least_rows:
            down *= 2
        else:
            break
    product.row_block, product.column_block = rounded(rows, down, PRODUCT_LOW_ROWS), rounded(columns, across, WIDTH)
    if product.is_symmetric:
        product.row_block = product.column_block
    product.row_blocks = (rows + product.row_block - 1) // product.row_block
    product.column_blocks = (columns + product.column_block - 1) // product.column_block
    product.units = batch * product.row_blocks * product.column_blocks


cdef bint is_by_own_transpose(MatrixProduct *product) noexcept:
    """Whether the right matrices are the left ones with rows and columns exchanged."""
    cdef ProductSide *left = &product.left
    cdef ProductSide *right = &product.right
    cdef int64_t axis
    for axis in range(product.batch_rank):
        if left.matrix_steps[axis] != right.matrix_steps[axis] and product.batch_sizes[axis] > 1:
            return False
    return (
        product.rows == product.columns and left.address == right.address
        and left.line_step == right.line_step and left.term_step == right.term_step
    )


cdef int64_t rounded(int64_t total, int64_t parts, int64_t multiple) noexcept:
    """The size of a part, as a multiple."""
    return (total + parts * multiple - 1) // (parts * multiple) * multiple
