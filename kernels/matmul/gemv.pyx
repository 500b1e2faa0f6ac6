# cython: language_level=3, boundscheck=False, wraparound=False
"""Products of a matrix and a vector of f32, f64 or integers of 32 or 64 bits.

`gemv.h` holds the tasks and states the order of additions, which depends on k alone. As for other products, BLAS is
not called (`matmul.pyx`).
"""

cimport numpy as cnp
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t

import numpy as np

from ..launch import threads as _threads
from ..launch.native import run_in_order

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    # Takes the reference to the element type that it is given.
    cnp.ndarray PyArray_Empty(int rank, cnp.npy_intp *shape, cnp.dtype dtype, int fortran)

cdef extern from "matmul.h" nogil:
    int64_t matmul_vector_bytes()

cdef extern from "gemv.h" nogil:
    enum:
        GEMV_CHAIN_BYTES
        GEMV_K_BLOCK
        GEMV_COLUMNS
        GEMV_MAX_COLUMNS

    ctypedef struct Gemv:
        const char *vector
        const char *matrix
        const int64_t *vector_strides
        const int64_t *matrix_strides
        const int64_t *batch_sizes
        char *result
        int64_t batch_rank, batch, outer_size, k_size, outer_stride, k_stride, itemsize, stored_itemsize, kind
        int64_t k_blocks, block, blocks, work_items, items_per_task

    void gemv_choose_order(Gemv *product)
    void gemv_run(const Gemv *product, int64_t first, int64_t end, int64_t vector_bytes) noexcept
    void gemv_run_task(const Gemv *product, int64_t task, int64_t vector_bytes) noexcept

CHAIN_BYTES = GEMV_CHAIN_BYTES
"""Bytes of the sums of all chains."""
K_BLOCK = GEMV_K_BLOCK
"""Products that are summed before their sum is added to that of the previous k block."""

cdef enum:
    MAX_RANK = 64
    # Rows of a work item are a multiple of this if k is contiguous.
    ROW_MULTIPLE = 8
    # Bytes of matrices that a work item and a task read, at least.
    TASK_BYTES = 1 << 16
    MAX_TASKS = 128
    # Larger matrices are read from memory; columns of their work items, if these are contiguous, at least, and their
    # multiple.
    UNCACHED_BYTES = 1 << 22
    MIN_COLUMNS = 128
    COLUMN_MULTIPLE = 16
    # With this many work items for each thread, one more for some threads does not matter.
    BALANCED_ITEMS = 4

# Bytes of matrices that one thread reads in a second.
cdef double _BYTES_PER_SECOND = 1.5e10

cdef int64_t _vector_bytes = matmul_vector_bytes()

include "operands.pxi"


def multiply(cnp.ndarray lhs not None, cnp.ndarray rhs not None, threads=None):
    """The product of stacks of matrices, [..., row, k] with [..., k, column], of one row or of one column.

    Args:
        lhs, rhs: arrays of f32, f64 or integers of 32 or 64 bits, of one type and rank, with the same batching sizes;
            the operand that is not the vector may have the bits of bf16, as uint16, beside one of f32. Products of
            integers are exact modulo two to the width.
        threads: maximum number of threads; None: all.

    Raises:
        ValueError: the operands' types or shapes are others, or this build has no vectors.
    """
    return product_of(lhs, rhs, threads)


def multiply_on_one_thread(cnp.ndarray lhs not None, cnp.ndarray rhs not None):
    """`multiply` on the calling thread."""
    return product_of(lhs, rhs, 1)


cdef cnp.ndarray product_of(cnp.ndarray lhs, cnp.ndarray rhs, object threads):
    """See `multiply`."""
    cdef Gemv product
    cdef cnp.npy_intp shape[MAX_RANK]
    cdef bint is_left = describe(&product, lhs, rhs, shape)
    cdef cnp.ndarray matrix = lhs if is_left else rhs
    cdef cnp.ndarray vector = rhs if is_left else lhs
    cdef cnp.ndarray result = empty_product(vector, shape)
    if not is_vector_in_place(&product, vector, is_left):
        vector = cnp.PyArray_NewCopy(vector, cnp.NPY_CORDER)
    if not is_matrix_in_place(&product, matrix, is_left):
        matrix = cnp.PyArray_NewCopy(matrix, cnp.NPY_CORDER)
    set_layout(&product, vector, matrix, is_left)
    product.vector, product.matrix = <char *>cnp.PyArray_DATA(vector), <char *>cnp.PyArray_DATA(matrix)
    if not product.k_size:
        result.fill(0)
    elif product.batch * product.outer_size:
        run(&product, result, threads)
    return result


cdef bint describe(Gemv *product, cnp.ndarray lhs, cnp.ndarray rhs, cnp.npy_intp *shape) except -1:
    """Check the operands, and describe them and the result's shape. Returns whether the left operand has the
    matrices, whose outer dimension are rows then, and columns otherwise."""
    cdef int rank = cnp.PyArray_NDIM(lhs)
    cdef bint is_bf16 = cnp.PyArray_TYPE(lhs) != cnp.PyArray_TYPE(rhs)
    product.batch = stacked_shape(lhs, rhs, shape) if is_bf16 else matmul_shape(lhs, rhs, shape)
    if shape[rank - 2] != 1 != shape[rank - 1]:
        raise ValueError(f"no products of a vector: {described(lhs)} and {described(rhs)}")
    cdef bint is_left = shape[rank - 1] == 1
    cdef cnp.ndarray matrix = lhs if is_left else rhs
    cdef cnp.ndarray vector = rhs if is_left else lhs
    if is_bf16 and not (cnp.PyArray_TYPE(matrix) == cnp.NPY_UINT16 and cnp.PyArray_TYPE(vector) == cnp.NPY_FLOAT32):
        raise ValueError(f"no products of {described(lhs)} and {described(rhs)}")
    product.itemsize, product.stored_itemsize = cnp.PyArray_ITEMSIZE(vector), cnp.PyArray_ITEMSIZE(matrix)
    product.kind = matmul_kind(vector)
    product.outer_size = cnp.PyArray_DIM(matrix, rank - 2 if is_left else rank - 1)
    product.k_size = cnp.PyArray_DIM(matrix, rank - 1 if is_left else rank - 2)
    product.batch_rank, product.batch_sizes = rank - 2, <int64_t *>shape
    return is_left


cdef bint is_vector_in_place(Gemv *product, cnp.ndarray vector, bint is_left) noexcept:
    """Whether k is contiguous in the vectors."""
    cdef int rank = cnp.PyArray_NDIM(vector)
    return cnp.PyArray_STRIDE(vector, rank - 2 if is_left else rank - 1) == product.itemsize


cdef bint is_matrix_in_place(Gemv *product, cnp.ndarray matrix, bint is_left) noexcept:
    """Whether k or the outer dimension is contiguous in the matrices."""
    cdef cnp.npy_intp *strides = cnp.PyArray_STRIDES(matrix) + cnp.PyArray_NDIM(matrix) - 2
    return strides[is_left] == product.stored_itemsize or (
        product.outer_size != 1 and strides[1 - is_left] == product.stored_itemsize
    )


cdef void set_layout(Gemv *product, cnp.ndarray vector, cnp.ndarray matrix, bint is_left) noexcept:
    """Set the strides of operands that are read in place."""
    cdef cnp.npy_intp *strides = cnp.PyArray_STRIDES(matrix) + cnp.PyArray_NDIM(matrix) - 2
    product.outer_stride, product.k_stride = strides[1 - is_left], strides[is_left]
    if product.outer_size == 1:
        product.k_stride = product.stored_itemsize
    product.vector_strides = <int64_t *>cnp.PyArray_STRIDES(vector)
    product.matrix_strides = <int64_t *>cnp.PyArray_STRIDES(matrix)


cdef int run(Gemv *product, cnp.ndarray result, object threads) except -1:
    """Run all tasks of a product that is not empty."""
    cdef cnp.npy_intp shape[2]
    cdef cnp.ndarray sums = result
    cdef int64_t tasks = divide(product, threads)
    if product.k_blocks > 1:
        shape[0], shape[1] = product.k_blocks, product.batch * product.outer_size
        sums = cnp.PyArray_EMPTY(2, shape, cnp.PyArray_TYPE(result), 0)
    product.result = <char *>cnp.PyArray_DATA(sums)
    gemv_choose_order(product)
    if tasks == 1:
        with nogil:
            gemv_run(product, 0, product.work_items, _vector_bytes)
    else:
        run_in_order(<size_t>&run_task, <size_t>product, tasks, seconds_of(product), threads)
    if product.k_blocks > 1:
        add_k_blocks(sums, result)
    return 0


cdef int64_t divide(Gemv *product, object threads) except -1:
    """Divide a product that is not empty into work items. Returns how many tasks run these."""
    cdef int64_t row_bytes = min(product.k_size, GEMV_K_BLOCK) * product.stored_itemsize, tasks
    cdef double bytes_read = bytes_of(product)
    product.k_blocks = (product.k_size + GEMV_K_BLOCK - 1) // GEMV_K_BLOCK
    if product.k_stride == product.stored_itemsize:
        product.block = (max(TASK_BYTES // row_bytes, 1) + ROW_MULTIPLE - 1) // ROW_MULTIPLE * ROW_MULTIPLE
    else:
        product.block = GEMV_COLUMNS if bytes_read < UNCACHED_BYTES else uncached_columns(product, threads)
    product.blocks = (product.outer_size + product.block - 1) // product.block
    product.work_items = product.batch * product.k_blocks * product.blocks
    tasks = max(1, min(product.work_items, <int64_t>min(bytes_read / TASK_BYTES, MAX_TASKS)))
    product.items_per_task = (product.work_items + tasks - 1) // tasks
    return (product.work_items + product.items_per_task - 1) // product.items_per_task


cdef double bytes_of(Gemv *product) noexcept:
    """Bytes of the matrices."""
    return <double>product.batch * product.outer_size * product.k_size * product.stored_itemsize


cdef double seconds_of(Gemv *product) noexcept:
    """Estimated seconds of a product on one thread."""
    return bytes_of(product) / _BYTES_PER_SECOND


cdef int64_t uncached_columns(Gemv *product, object threads) except -1:
    """Columns of a work item where columns are contiguous in a matrix that is read from memory: as many as possible
    with equally many work items for each thread."""
    cdef int64_t thread_count = _threads.chosen_threads(threads), stacks = product.batch * product.k_blocks
    cdef int64_t blocks = (product.outer_size + GEMV_MAX_COLUMNS - 1) // GEMV_MAX_COLUMNS
    while (stacks * blocks % thread_count and stacks * blocks < BALANCED_ITEMS * thread_count
           and product.outer_size >= MIN_COLUMNS * (blocks + 1)):
        blocks += 1
    return ((product.outer_size + blocks - 1) // blocks + COLUMN_MULTIPLE - 1) // COLUMN_MULTIPLE * COLUMN_MULTIPLE


cdef void run_task(int64_t task, void *closure) noexcept nogil:
    gemv_run_task(<Gemv *>closure, task, _vector_bytes)


def add_k_blocks(sums, result):
    """Add the sums of k blocks in order, and write the total."""
    total = sums[0]
    for k_block in sums[1:]:
        total += k_block
    result[...] = total.reshape(result.shape)


include "launched_gemv.pxi"
