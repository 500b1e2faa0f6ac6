# cython: language_level=3, boundscheck=False, wraparound=False
"""Products of matrices of f32 and of f64, of which one is a vector.

`gemv.h` holds the tasks and states the order in which terms are added, which hangs on the number of terms
alone. As for other products, BLAS is not called (`matmul.pyx`).
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
    int64_t product_vector_bytes()

cdef extern from "gemv.h" nogil:
    enum:
        VECTOR_PRODUCT_BYTES
        VECTOR_PRODUCT_PART
        VECTOR_PRODUCT_COLUMNS
        VECTOR_PRODUCT_MOST_COLUMNS

    ctypedef struct VectorProduct:
        const char *vector
        const char *matrix
        const int64_t *vector_steps
        const int64_t *matrix_steps
        const int64_t *batch_sizes
        char *result
        int64_t batch_rank, batch, lines, terms, line_step, term_step, item, stored
        int64_t parts, block, blocks, units, size

    void vector_product_units(const VectorProduct *product, int64_t first, int64_t end, int64_t vector_bytes) noexcept

CHAIN_BYTES = VECTOR_PRODUCT_BYTES
"""Bytes of the sums of all chains."""
PART = VECTOR_PRODUCT_PART
"""Terms of a sum that are added up before they are added to the sum of those before."""

cdef enum:
    MOST_RANK = 64
    # Lines of a unit are a multiple of this, where their terms lie side by side.
    LINES = 8
    # Bytes of matrices that a unit and a task read, at least.
    TASK_BYTES = 1 << 16
    MAX_TASKS = 128
    # So large matrices are read from memory; lines of their units where these lie side by side, at least, and a number
    # of which they are a multiple.
    FAR_BYTES = 1 << 24
    LEAST_COLUMNS = 128
    COLUMNS_STEP = 16
    # Units for each thread from which on it does not matter that some threads have one more.
    MANY_UNITS = 4

# Bytes of matrices that one thread reads in a second, about.
cdef double _BYTES_A_SECOND = 1.5e10

cdef int64_t _vector_bytes = product_vector_bytes()

include "operands.pxi"


def multiply(cnp.ndarray lhs not None, cnp.ndarray rhs not None, threads=None):
    """The product of stacks of matrices, [..., row, term] with [..., term, column], of one row or of one column.

    Args:
        lhs, rhs: arrays of f32 or of f64, of one rank, with the same batching sizes; the operand that is not the vector
            may have the bits of bf16, as uint16, beside one of f32.
        threads: most threads to use; None: all.

    Raises:
        ValueError: the operands' types or shapes are others, or there are not the instructions.
    """
    cdef VectorProduct product
    cdef cnp.npy_intp shape[MOST_RANK]
    cdef int rank = cnp.PyArray_NDIM(lhs)
    cdef bint is_half = cnp.PyArray_TYPE(lhs) != cnp.PyArray_TYPE(rhs)
    product.batch = stacked_shape(lhs, rhs, shape) if is_half else product_shape(lhs, rhs, shape)
    if shape[rank - 2] != 1 != shape[rank - 1]:
        raise ValueError(f"no products of a vector: {described(lhs)} and {described(rhs)}")
    # Lines are the rows of the left matrices, or the columns of the right ones.
    cdef bint is_left = shape[rank - 1] == 1
    cdef cnp.ndarray matrix = lhs if is_left else rhs
    cdef cnp.ndarray vector = rhs if is_left else lhs
    if is_half and not (cnp.PyArray_TYPE(matrix) == cnp.NPY_UINT16 and cnp.PyArray_TYPE(vector) == cnp.NPY_FLOAT32):
        raise ValueError(f"no products of {described(lhs)} and {described(rhs)}")
    cdef cnp.ndarray result = empty_product(vector, shape)
    cdef int line_axis = rank - 2 if is_left else rank - 1
    cdef int term_axis = rank - 1 if is_left else rank - 2
    cdef int vector_axis = rank - 2 if is_left else rank - 1
    product.item, product.stored = cnp.PyArray_ITEMSIZE(vector), cnp.PyArray_ITEMSIZE(matrix)
    product.lines, product.terms = cnp.PyArray_DIM(matrix, line_axis), cnp.PyArray_DIM(matrix, term_axis)
    if cnp.PyArray_STRIDE(vector, vector_axis) != product.item:
        vector = cnp.PyArray_NewCopy(vector, cnp.NPY_CORDER)
    if cnp.PyArray_STRIDE(matrix, term_axis) != product.stored and (
        product.lines == 1 or cnp.PyArray_STRIDE(matrix, line_axis) != product.stored
    ):
        matrix = cnp.PyArray_NewCopy(matrix, cnp.NPY_CORDER)
    product.line_step, product.term_step = cnp.PyArray_STRIDE(matrix, line_axis), cnp.PyArray_STRIDE(matrix, term_axis)
    if product.lines == 1:
        product.term_step = product.stored
    product.vector, product.matrix = <char *>cnp.PyArray_DATA(vector), <char *>cnp.PyArray_DATA(matrix)
    product.vector_steps = <int64_t *>cnp.PyArray_STRIDES(vector)
    product.matrix_steps = <int64_t *>cnp.PyArray_STRIDES(matrix)
    product.batch_rank, product.batch_sizes = rank - 2, <int64_t *>shape
    if not product.terms:
        result.fill(0)
    elif product.batch * product.lines:
        run(&product, result, threads)
    return result


cdef int run(VectorProduct *product, cnp.ndarray result, object threads) except -1:
    """Do all tasks of a product that has some."""
    cdef int64_t line_bytes = min(product.terms, VECTOR_PRODUCT_PART) * product.stored, tasks
    cdef double bytes_read = <double>product.batch * product.lines * product.terms * product.stored
    cdef cnp.npy_intp shape[2]
    cdef cnp.ndarray sums = result
    product.parts = (product.terms + VECTOR_PRODUCT_PART - 1) // VECTOR_PRODUCT_PART
    if product.term_step == product.stored:
        product.block = (max(TASK_BYTES // line_bytes, 1) + LINES - 1) // LINES * LINES
    else:
        product.block = VECTOR_PRODUCT_COLUMNS if bytes_read < FAR_BYTES else far_columns(product, threads)
    product.blocks = (product.lines + product.block - 1) // product.block
    product.units = product.batch * product.parts * product.blocks
    tasks = max(1, min(product.units, <int64_t>min(bytes_read / TASK_BYTES, MAX_TASKS)))
    product.size = (product.units + tasks - 1) // tasks
    tasks = (product.units + product.size - 1) // product.size
    if product.parts > 1:
        shape[0], shape[1] = product.parts, product.batch * product.lines
        sums = cnp.PyArray_EMPTY(2, shape, cnp.PyArray_TYPE(result), 0)
    product.result = <char *>cnp.PyArray_DATA(sums)
    if tasks == 1:
        with nogil:
            vector_product_units(product, 0, product.units, _vector_bytes)
    else:
        run_in_order(<size_t>&task_of, <size_t>product, tasks, bytes_read / _BYTES_A_SECOND, threads)
    if product.parts > 1:
        add_up(sums, result)
    return 0


cdef int64_t far_columns(VectorProduct *product, object threads) except -1:
    """Lines of a unit where these lie side by side in a matrix that is read from memory: as many as there may be, but
    so that all threads have as many units."""
    cdef int64_t count = _threads.way_of_running(threads)[1], stacks = product.batch * product.parts
    cdef int64_t blocks = (product.lines + VECTOR_PRODUCT_MOST_COLUMNS - 1) // VECTOR_PRODUCT_MOST_COLUMNS
    while (stacks * blocks % count and stacks * blocks < MANY_UNITS * count
           and product.lines >= LEAST_COLUMNS * (blocks + 1)):
        blocks += 1
    return ((product.lines + blocks - 1) // blocks + COLUMNS_STEP - 1) // COLUMNS_STEP * COLUMNS_STEP


cdef void task_of(int64_t task, void *closure) noexcept nogil:
    cdef VectorProduct *product = <VectorProduct *>closure
    cdef int64_t first = task * product.size
    vector_product_units(product, first, min(first + product.size, product.units), _vector_bytes)


def add_up(sums, result):
    """Write the sums of parts, added one after another."""
    total = sums[0]
    for part in sums[1:]:
        total += part
    result[...] = total.reshape(result.shape)
