# cython: language_level=3, boundscheck=False, wraparound=False
"""GEMM of stacks of matrices of f32, f64, integers of 32 and 64 bits, and complex numbers of these floats.

The module needs no compiler at run time. `matmul.h` holds the tasks and states the order of additions, which
depends on k alone. BLAS is not called: its threads wait for each other by spinning, which costs milliseconds where
other work uses the processors; and its order differs between versions, processors and shapes.
"""

cimport numpy as cnp
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint8_t

import numpy as np

from ..launch.native import run_independent
from ..launch.threads import available_threads, chosen_threads

cnp.import_array()

include "launch/aligned_memory.pxi"
include "launch/epilogue.pxi"

cdef extern from "numpy/arrayobject.h":
    # Takes the reference to the element type that it is given.
    cnp.ndarray PyArray_Empty(int rank, cnp.npy_intp *shape, cnp.dtype dtype, int fortran)

cdef extern from "matmul.h" nogil:
    enum:
        MATMUL_K_BLOCK
        MATMUL_CHAIN
        MATMUL_DIRECT_ROWS
        MATMUL_COPY_COLUMNS
        MATMUL_LOW_ROWS
        MATMUL_LOW_K
        MATMUL_PANEL
        MATMUL_MAX_WORKSPACES

    ctypedef struct MatmulOperand:
        const char *address
        const int64_t *batch_strides
        int64_t outer_stride, k_stride

    ctypedef struct Matmul:
        MatmulOperand left, right
        char *result
        char *panels
        const Epilogue *epilogue
        int64_t padded_columns
        const int64_t *batch_sizes
        int64_t batch_rank, batch, rows, columns, k_size, itemsize, kind, adds_two_chains
        int64_t work_items, items_per_task, row_block, row_blocks, column_block, column_blocks, is_symmetric
        char *workspace
        int64_t copy_bytes, workspace_bytes, workspace_count
        uint8_t workspace_busy[MATMUL_MAX_WORKSPACES]
        int64_t copied_rows[MATMUL_MAX_WORKSPACES]

    int64_t matmul_vector_bytes()
    bint matmul_is_software()
    int64_t matmul_copy_bytes(const Matmul *product)
    bint matmul_copies_rows(const Matmul *product, int64_t rows, int64_t columns)
    int64_t matmul_partial_sums(const Matmul *product)
    int64_t matmul_panel_columns(const Matmul *product)
    void matmul_pack_task(int64_t task, void *product) noexcept
    void matmul_task(int64_t task, void *product) noexcept

K_BLOCK = MATMUL_K_BLOCK
"""Products that are summed before their sum is added to that of the previous k block."""
CHAIN = MATMUL_CHAIN
"""Products of each of two chains."""
DIRECT_ROWS = MATMUL_DIRECT_ROWS
"""Rows up to which a right matrix whose columns are contiguous is read in place."""

cdef enum:
    MAX_RANK = 64
    # Columns of a full tile, at most.
    WIDTH = 32
    # Rows and sums of a work item, at most, so that what it reads and writes stays in the L2 cache. If so many rows
    # have more than LEFT_BYTES, which each block of columns reads again, a work item has fewer, but LONG_ROW_BLOCK.
    ROW_BLOCK = 512
    LONG_ROW_BLOCK = 256
    LEFT_BYTES = 5 << 18
    BLOCK_SUMS = 1 << 18
    # Bytes of a work item's block of a result with an epilogue and more than RESULT_BYTES, where k is at most
    # MATMUL_LOW_K, unless it has fewer rows than MIN_EPILOGUE_ROWS: the epilogue then reads it from the L2 cache.
    RESULT_BYTES = 1 << 20
    EPILOGUE_BYTES = 1 << 17
    MIN_EPILOGUE_ROWS = 48
    # Bytes of the rows' copies that a workspace keeps for the next work items, at most.
    MAX_COPIED_BYTES = 1 << 24
    # Workspaces of many tasks, at least: there may be more threads than processors.
    MIN_WORKSPACES = 8
    # A product is divided into TARGET_WORK_ITEMS if each has MIN_ITEM_FMAS multiply-adds, into ITEMS_PER_THREAD for each
    # thread if each has SHARED_ITEM_FMAS (some 20 us), a large one into items of LARGE_ITEM_FMAS.
    TARGET_WORK_ITEMS = 12
    ITEMS_PER_THREAD = 3
    SHARED_ITEM_FMAS = 1 << 21
    LARGE_ITEM_FMAS = 1 << 25
    MIN_ITEM_FMAS = 1 << 18
    # Blocks have another width if the busiest thread then has one in MIN_BALANCE_GAIN + 1 panels less.
    MIN_BALANCE_GAIN = 32
    # Overhead of a matrix, in multiply-adds; rows of a work item, at least, where columns are copied and where they
    # are not.
    MATRIX_OVERHEAD_FMAS = 1 << 10
    MIN_ROW_BLOCK = 128
    MIN_DIRECT_ROW_BLOCK = 12
    # Rows of a work item, at least, where there are more threads than larger items.
    MIN_SHARED_ROW_BLOCK = 24
    # Blocks of rows of a symmetric product, at most, unless they exceed ROW_BLOCK.
    MAX_MIRRORED_BLOCKS = 8
    MAX_TASKS = 128
    # Rows of products with a constant right matrix that is packed once, at most: in others, packing it in each call
    # takes less than 5 % of the time.
    MAX_PACKED_ROWS = 512
    # Complex products of at most this many multiply-adds are computed without copies.
    MAX_SMALL_COMPLEX_FMAS = 512

MAX_SMALL_COMPLEX = MAX_SMALL_COMPLEX_FMAS
"""Products of complex numbers up to which `multiply_complex` rounds each before it is added."""

cdef int64_t _vector_bytes = matmul_vector_bytes()

# Bytes of products that one thread adds up in a second, per byte of a vector: by instructions, and in software.
cdef double _BYTES_PER_SECOND = 6e9
cdef double _SOFTWARE_BYTES_PER_SECOND = 1.5e8
# Packing a constant counts as long.
cdef double PACKING_SECONDS = 1.0

include "operands.pxi"


def is_available():
    """Whether the compiler of this module knew the vectors that the functions need."""
    return _vector_bytes > 0


def multiply(cnp.ndarray lhs not None, cnp.ndarray rhs not None, threads=None):
    """The product of stacks of matrices, [..., row, k] with [..., k, column].

    Args:
        lhs, rhs: arrays of f32, f64 or integers of 32 or 64 bits, of one type and rank, with the same batching sizes.
            Products of integers are exact modulo two to the width.
        threads: maximum number of threads; None: all.

    Raises:
        ValueError: the operands' types or shapes are others, or this build has no vectors.
    """
    return product_of(lhs, rhs, threads)


def multiply_on_one_thread(cnp.ndarray lhs not None, cnp.ndarray rhs not None):
    """`multiply` on the calling thread."""
    return product_of(lhs, rhs, 1)


def multiply_in_two_chains(cnp.ndarray lhs not None, cnp.ndarray rhs not None, threads=None):
    """`multiply` for f32, in the order of two chains."""
    if cnp.PyArray_TYPE(lhs) != cnp.NPY_FLOAT32:
        raise ValueError(f"no products of {described(lhs)} and {described(rhs)} in two chains")
    return product_of(lhs, rhs, threads, True)


cdef cnp.ndarray product_of(cnp.ndarray lhs, cnp.ndarray rhs, object threads, bint adds_two_chains=False):
    """See `multiply`."""
    cdef Matmul product
    cdef cnp.npy_intp shape[MAX_RANK]
    cdef int64_t batch = describe(&product, lhs, rhs, shape)
    product.adds_two_chains = adds_two_chains
    cdef cnp.ndarray result = result_of(&product, lhs, shape)
    if batch * product.rows * product.columns * product.k_size:
        run(&product, batch, threads)
    return result


cdef class ConstantProduct:
    """Products of matrices with one right matrix, which is packed in the first call: `(lhs, rhs) -> result`.

    Args:
        threads: maximum number of threads; None: all.
        adds_two_chains: whether f32 is multiplied as by `multiply_in_two_chains`.
    """

    cdef object threads
    cdef bint adds_two_chains
    cdef AlignedMemory panels

    def __init__(self, threads=None, bint adds_two_chains=False):
        self.threads, self.adds_two_chains = threads, adds_two_chains

    def __call__(self, cnp.ndarray lhs not None, cnp.ndarray rhs not None):
        """The product of [row, k] and [k, column], with the bits of `multiply`.

        Args:
            lhs: as for `multiply`.
            rhs: the same elements in all calls.

        Raises:
            ValueError: as for `multiply`.
        """
        cdef Matmul product
        cdef cnp.npy_intp shape[MAX_RANK]
        describe(&product, lhs, rhs, shape)
        product.adds_two_chains = self.adds_two_chains
        cdef cnp.ndarray result = result_of(&product, lhs, shape)
        if product.rows * product.columns * product.k_size:
            if packs_once(product.rows, product.k_size):
                self.use_panels(&product)
            run(&product, 1, self.threads)
        return result

    cdef int use_panels(self, Matmul *product) except -1:
        """Pack the right matrix in the first call."""
        cdef int64_t columns = matmul_panel_columns(product), tasks, padded
        cdef AlignedMemory panels = self.panels
        # Decided once: another thread may store its panels while this one allocates its own.
        cdef bint is_first = panels is None
        padded = product.padded_columns = block_size(product.columns, 1, columns)
        if is_first:
            panels = AlignedMemory(padded * product.k_size * product.itemsize, True)
        product.panels = panels.memory
        if is_first:
            tasks = padded // columns * ((product.k_size + MATMUL_K_BLOCK - 1) // MATMUL_K_BLOCK)
            run_independent(<size_t>matmul_pack_task, <size_t>product, tasks, PACKING_SECONDS, self.threads)
            # Concurrent first calls each pack panels of their own.
            self.panels = panels
        return 0


cpdef bint packs_once(int64_t rows, int64_t k_size) noexcept:
    """Whether packing a constant right matrix once saves a part of the time of products with so many rows."""
    return MATMUL_LOW_ROWS < rows <= MAX_PACKED_ROWS and k_size > MATMUL_LOW_K


ctypedef fused Real:
    float
    double


def multiply_complex(cnp.ndarray lhs not None, cnp.ndarray rhs not None, threads=None):
    """The product of stacks of complex matrices, [..., row, k] with [..., k, column].

    In small products each component of an element is the sum of its products, rounded one by one and added in
    order; in others it is a sum of 2 k products in the order of `multiply`: first the products with lhs's real
    component.

    Args:
        lhs, rhs: arrays of complex<f32> or of complex<f64>, of one type and rank, with the same batching sizes.
        threads: maximum number of threads; None: all.
    """
    cdef cnp.npy_intp shape[MAX_RANK]
    cdef int rank = cnp.PyArray_NDIM(lhs), axis
    cdef int64_t rows = cnp.PyArray_DIM(lhs, rank - 2), k_size = cnp.PyArray_DIM(lhs, rank - 1)
    cdef int64_t columns = cnp.PyArray_DIM(rhs, rank - 1), batch = 1
    cdef cnp.dtype dtype = <cnp.dtype>cnp.PyArray_DESCR(lhs)
    cdef cnp.ndarray result
    for axis in range(rank - 2):
        shape[axis] = cnp.PyArray_DIM(lhs, axis)
        batch *= shape[axis]
    if batch * rows * k_size * columns <= MAX_SMALL_COMPLEX_FMAS:
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
    cdef cnp.ndarray doubled = np.empty((*(<object>rhs).shape[:rank - 2], 2 * k_size, 2 * columns), real)
    if cnp.PyArray_TYPE(lhs) == cnp.NPY_COMPLEX64:
        expand_complex(<float *>cnp.PyArray_DATA(doubled), rhs, batch)
    else:
        expand_complex(<double *>cnp.PyArray_DATA(doubled), rhs, batch)
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


cdef void expand_complex(Real *to, cnp.ndarray rhs, int64_t batch) noexcept:
    """Write each row of `rhs` as two rows of real numbers: the numbers, and the numbers times i.

    NumPy's functions are not called: `np.negative` reads neighbours of numbers whose stride is the square of their size
    where it writes with a stride.

    Args:
        to: memory for [batch, 2 * k, 2 * columns] numbers.
        rhs: complex numbers of this width, [..., k, column] of any strides.
        batch: how many matrices `rhs` has.
    """
    cdef int rank = cnp.PyArray_NDIM(rhs)
    cdef int64_t k_size = cnp.PyArray_DIM(rhs, rank - 2), columns = cnp.PyArray_DIM(rhs, rank - 1)
    cdef int64_t k_stride = cnp.PyArray_STRIDE(rhs, rank - 2), column_stride = cnp.PyArray_STRIDE(rhs, rank - 1)
    cdef int64_t matrix, k, column
    cdef const char *row
    cdef const Real *number
    cdef Real *times_i
    for matrix in range(batch):
        row = matrix_at(rhs, matrix)
        for k in range(k_size):
            times_i = to + 2 * columns
            for column in range(columns):
                number = <const Real *>(row + column * column_stride)
                to[2 * column], to[2 * column + 1] = number[0], number[1]
                times_i[2 * column], times_i[2 * column + 1] = -number[1], number[0]
            to = times_i + 2 * columns
            row += k_stride


cdef void multiply_small(Real *to, cnp.ndarray lhs, cnp.ndarray rhs, int64_t batch) noexcept:
    """Sums of products that are rounded one by one, from zero on."""
    cdef int rank = cnp.PyArray_NDIM(lhs)
    cdef int64_t rows = cnp.PyArray_DIM(lhs, rank - 2), k_size = cnp.PyArray_DIM(lhs, rank - 1)
    cdef int64_t columns = cnp.PyArray_DIM(rhs, rank - 1), matrix, row, column, k
    cdef cnp.npy_intp *left_strides = cnp.PyArray_STRIDES(lhs)
    cdef cnp.npy_intp *right_strides = cnp.PyArray_STRIDES(rhs)
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
                for k in range(k_size):
                    a = <const Real *>(left + row * left_strides[rank - 2] + k * left_strides[rank - 1])
                    b = <const Real *>(right + k * right_strides[rank - 2] + column * right_strides[rank - 1])
                    re = re + (a[0] * b[0] - a[1] * b[1])
                    im = im + (a[0] * b[1] + a[1] * b[0])
                to[0], to[1] = re, im
                to += 2


cdef int64_t describe(Matmul *product, cnp.ndarray lhs, cnp.ndarray rhs, cnp.npy_intp *shape) except -1:
    """Describe the operands and the result's shape. Returns how many matrices there are."""
    cdef int64_t batch = matmul_shape(lhs, rhs, shape)
    cdef int rank = cnp.PyArray_NDIM(lhs)
    cdef cnp.npy_intp *left = cnp.PyArray_STRIDES(lhs)
    cdef cnp.npy_intp *right = cnp.PyArray_STRIDES(rhs)
    product.k_size, product.itemsize = cnp.PyArray_DIM(lhs, rank - 1), cnp.PyArray_ITEMSIZE(lhs)
    product.rows, product.columns, product.kind = shape[rank - 2], shape[rank - 1], matmul_kind(lhs)
    product.left.address, product.right.address = <char *>cnp.PyArray_DATA(lhs), <char *>cnp.PyArray_DATA(rhs)
    product.left.batch_strides, product.right.batch_strides = <int64_t *>left, <int64_t *>right
    product.left.outer_stride, product.left.k_stride = left[rank - 2], left[rank - 1]
    product.right.outer_stride, product.right.k_stride = right[rank - 1], right[rank - 2]
    product.batch_rank, product.batch_sizes, product.batch = rank - 2, <int64_t *>shape, batch
    product.panels, product.epilogue, product.adds_two_chains = NULL, NULL, 0
    return batch


cdef cnp.ndarray result_of(Matmul *product, cnp.ndarray lhs, cnp.npy_intp *shape):
    """Allocate the result; zeros where k is 0."""
    cdef cnp.ndarray result = empty_product(lhs, shape)
    product.result = <char *>cnp.PyArray_DATA(result)
    if not product.k_size:
        result.fill(0)
    return result


cdef class MatmulWithEpilogue(ConstantProduct):
    """A matrix product and the elementwise code that consumes it, block by block: `(lhs, rhs, *operands) -> result`.

    Args:
        code: the `BlockCode` of the code.
        position: the number of the product among the operands of the code.
        transposed: whether lhs and rhs are passed transposed.
        is_rhs_constant: whether rhs has the same elements in all calls.
        threads: maximum number of threads; None: all.
    """

    cdef EpilogueCode code
    cdef bint transposes_lhs, transposes_rhs, is_rhs_constant

    def __init__(self, code, position, transposed=(False, False), bint is_rhs_constant=False, threads=None):
        super().__init__(threads)
        self.code, self.is_rhs_constant = EpilogueCode(code, position), is_rhs_constant
        self.transposes_lhs, self.transposes_rhs = transposed

    def __call__(self, cnp.ndarray lhs not None, cnp.ndarray rhs not None, *operands):
        """Return the code's result.

        Raises:
            ValueError: as for `multiply`.
        """
        cdef Matmul product
        cdef Epilogue epilogue
        cdef cnp.npy_intp shape[MAX_RANK]
        lhs = lhs.T if self.transposes_lhs else lhs
        rhs = rhs.T if self.transposes_rhs else rhs
        describe(&product, lhs, rhs, shape)
        cdef cnp.ndarray result = result_of(&product, lhs, shape)
        arrays = self.code.bind(&epilogue, result, operands)
        product.epilogue = &epilogue
        if self.is_rhs_constant and packs_once(product.rows, product.k_size):
            self.use_panels(&product)
        run(&product, 1, self.threads, self.code.seconds * product.rows * product.columns)
        return result


cdef int run(Matmul *product, int64_t batch, object threads, double epilogue_seconds=0.0) except -1:
    """Run all tasks of a product that is not empty, whose epilogue takes so long on one thread."""
    cdef int64_t tasks
    cdef AlignedMemory workspace
    cdef double seconds = seconds_of(product, batch) + epilogue_seconds
    divide(product, batch, available_threads())
    tasks = set_tasks(product, batch)
    cdef int64_t most_threads = chosen_threads(threads)
    workspace = allocate_workspaces(product, tasks, min(tasks, most_threads))
    if tasks == 1:
        with nogil:
            matmul_task(0, product)
    else:
        run_independent(<size_t>&matmul_task, <size_t>product, tasks, seconds, threads)
    return 0


cdef int64_t set_tasks(Matmul *product, int64_t batch) noexcept:
    """Distribute the work items to tasks. Returns how many tasks there are."""
    cdef int64_t fmas = product.rows * product.columns * product.k_size, tasks
    tasks = max(1, min(product.work_items, min(batch * (fmas + MATRIX_OVERHEAD_FMAS) // MIN_ITEM_FMAS, MAX_TASKS)))
    product.items_per_task = (product.work_items + tasks - 1) // tasks
    return (product.work_items + product.items_per_task - 1) // product.items_per_task


cdef double seconds_of(Matmul *product, int64_t batch) noexcept:
    """Estimated seconds of a product on one thread."""
    cdef int64_t fmas = batch * (product.rows * product.columns * product.k_size + MATRIX_OVERHEAD_FMAS)
    cdef double bytes_per_second = _SOFTWARE_BYTES_PER_SECOND if matmul_is_software() else _BYTES_PER_SECOND
    return fmas * product.itemsize / (bytes_per_second * _vector_bytes)


cdef AlignedMemory allocate_workspaces(Matmul *product, int64_t tasks, int64_t threads):
    """Allocate a workspace for each task, at most one for each thread."""
    cdef int64_t slot, workspace_bytes = set_workspace_bytes(product, threads)
    product.workspace_count = min(tasks, max(MIN_WORKSPACES, available_threads()), MATMUL_MAX_WORKSPACES)
    for slot in range(product.workspace_count):
        product.workspace_busy[slot], product.copied_rows[slot] = 0, -1
    cdef AlignedMemory workspace = AlignedMemory(product.workspace_count * workspace_bytes)
    product.workspace = workspace.memory
    return workspace


cdef int64_t set_workspace_bytes(Matmul *product, int64_t threads) noexcept:
    """Decide what a workspace keeps. Returns its bytes. Copies of rows last for the work items that follow if a thread,
    which begins with consecutive ones, has enough columns of the rows to pay for them."""
    cdef int64_t copies = matmul_copies_rows(product, product.row_block, product.column_block)
    cdef int64_t k_blocks = (product.k_size + MATMUL_K_BLOCK - 1) // MATMUL_K_BLOCK
    cdef int64_t copy_bytes = matmul_copy_bytes(product)
    cdef int64_t thread_columns = product.column_block * ((product.work_items + threads - 1) // threads)
    product.copy_bytes = 0
    if product.column_blocks > 1 and k_blocks * copy_bytes <= MAX_COPIED_BYTES:
        copies = k_blocks * matmul_copies_rows(product, product.row_block, min(product.columns, thread_columns))
        product.copy_bytes = copy_bytes if copies else 0
    product.workspace_bytes = block_size(
        (MATMUL_PANEL + matmul_partial_sums(product)) * product.itemsize + copies * copy_bytes, 1, MEMORY_ALIGNMENT
    )
    return product.workspace_bytes


cdef void divide(Matmul *product, int64_t batch, int64_t threads) noexcept:
    """Divide the product into work items, by its sizes and the threads of the process. Each work item copies its
    columns, and each block of columns the rows, unless these are shared."""
    cdef int64_t rows = product.rows, columns = product.columns, fmas = batch * rows * columns * product.k_size
    cdef int64_t row_bytes = max(1, product.k_size * product.itemsize)
    cdef int64_t most_rows = max(LONG_ROW_BLOCK, min(ROW_BLOCK, LEFT_BYTES // row_bytes))
    if product.epilogue != NULL and product.k_size <= MATMUL_LOW_K and rows * columns * product.itemsize > RESULT_BYTES:
        most_rows = max(MIN_EPILOGUE_ROWS, min(most_rows, EPILOGUE_BYTES // (columns * product.itemsize)))
    cdef int64_t row_splits = (rows + most_rows - 1) // most_rows
    cdef int64_t column_splits = ((rows + row_splits - 1) // row_splits * columns + BLOCK_SUMS - 1) // BLOCK_SUMS
    cdef int64_t for_threads = min(ITEMS_PER_THREAD * threads, fmas // SHARED_ITEM_FMAS)
    if for_threads > threads:
        # As many for each thread: where some have one more, all others wait for these.
        for_threads = (for_threads + threads - 1) // threads * threads
    cdef int64_t wanted = max(
        min(TARGET_WORK_ITEMS, fmas // MIN_ITEM_FMAS), min(MAX_TASKS, max(for_threads, fmas // LARGE_ITEM_FMAS))
    )
    cdef int64_t min_rows = MIN_ROW_BLOCK if rows > MATMUL_DIRECT_ROWS else MIN_DIRECT_ROW_BLOCK
    # A block of columns is copied once: multiply it with as many rows as possible.
    cdef bint shares_columns = rows > MATMUL_LOW_ROWS and product.k_size > MATMUL_LOW_K
    product.is_symmetric = product.epilogue == NULL and rows >= 2 * MIN_ROW_BLOCK and is_own_transpose(product)
    if product.is_symmetric:
        row_splits = min((rows + MIN_ROW_BLOCK - 1) // MIN_ROW_BLOCK, max(MAX_MIRRORED_BLOCKS, row_splits))
        column_splits = row_splits
        wanted = 0
    while batch * row_splits * column_splits < wanted:
        if not shares_columns and rows // row_splits >= 2 * min_rows and rows // row_splits >= columns // column_splits:
            row_splits *= 2
        elif columns // column_splits >= 2 * WIDTH:
            column_splits *= 2
        elif rows // row_splits >= 2 * min_rows:
            row_splits *= 2
        else:
            break
    product.row_block = block_size(rows, row_splits, MATMUL_LOW_ROWS)
    product.column_block = block_size(columns, column_splits, WIDTH)
    if product.is_symmetric:
        product.row_block = product.column_block
    count_work_items(product, batch)
    if product.is_symmetric:
        return
    if for_threads > TARGET_WORK_ITEMS:
        divide_for_threads(product, batch, for_threads)
    balance_columns(product, batch, threads)


cdef void balance_columns(Matmul *product, int64_t batch, int64_t threads) noexcept:
    """Choose blocks of columns of about the same width of which all threads have as many, if there are few blocks."""
    cdef int64_t width = (product.column_block + WIDTH - 1) // WIDTH, panels = (product.columns + WIDTH - 1) // WIDTH
    cdef int64_t blocks = batch * product.row_blocks, most, least = busiest_panels(blocks, panels, width, threads)
    cdef int64_t best_width = width, candidate
    for candidate in range(min(panels, width + width // 2 + 1), width // 2, -1):
        most = busiest_panels(blocks, panels, candidate, threads)
        # A block that is a little smaller does not pay for more blocks.
        if most * (MIN_BALANCE_GAIN + 1) <= least * MIN_BALANCE_GAIN:
            least, best_width = most, candidate
    if best_width != width and best_width * WIDTH * product.row_block <= BLOCK_SUMS:
        product.column_block = best_width * WIDTH
        count_work_items(product, batch)


cdef int64_t busiest_panels(int64_t blocks, int64_t panels, int64_t width, int64_t threads) noexcept:
    """The panels of the thread that has most, where each of `blocks` blocks of rows has blocks of `width` panels."""
    return (blocks * ((panels + width - 1) // width) + threads - 1) // threads * min(width, panels)


cdef void divide_for_threads(Matmul *product, int64_t batch, int64_t wanted) noexcept:
    """Halve the blocks of a product that has fewer work items than many threads need, down to one panel and a few
    tiles: reading operands again costs less than idle threads."""
    while product.work_items < wanted:
        if product.column_block >= 2 * WIDTH:
            product.column_block = block_size(product.column_block, 2, WIDTH)
        elif product.row_block >= 2 * MIN_SHARED_ROW_BLOCK:
            product.row_block = block_size(product.row_block, 2, MATMUL_LOW_ROWS)
        else:
            break
        count_work_items(product, batch)


cdef void count_work_items(Matmul *product, int64_t batch) noexcept:
    product.row_blocks = (product.rows + product.row_block - 1) // product.row_block
    product.column_blocks = (product.columns + product.column_block - 1) // product.column_block
    product.work_items = batch * product.row_blocks * product.column_blocks


cdef bint is_own_transpose(Matmul *product) noexcept:
    """Whether the right matrices are the left ones transposed."""
    cdef MatmulOperand *left = &product.left
    cdef MatmulOperand *right = &product.right
    cdef int64_t axis
    for axis in range(product.batch_rank):
        if left.batch_strides[axis] != right.batch_strides[axis] and product.batch_sizes[axis] > 1:
            return False
    return (
        product.rows == product.columns and left.address == right.address
        and left.outer_stride == right.outer_stride and left.k_stride == right.k_stride
    )


cdef int64_t block_size(int64_t total, int64_t count, int64_t multiple) noexcept:
    """The size of each of `count` blocks of `total`, rounded up to a multiple."""
    return (total + count * multiple - 1) // (count * multiple) * multiple


include "attention.pxi"
include "launched_product.pxi"
