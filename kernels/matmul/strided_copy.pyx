# cython: language_level=3, boundscheck=False, wraparound=False
"""Arrays in row-major order: where elements must move, threads share the copy.

NumPy's copy of a transposed array takes 2 to 4 times as long on one thread, and the thread of the call alone. The
module needs no compiler at run time.
"""

cimport numpy as cnp
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t

import numpy as np

from ..launch.native import run_independent

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    # Takes the reference to the element type that it is given.
    cnp.ndarray PyArray_Empty(int rank, cnp.npy_intp *shape, cnp.dtype dtype, int fortran)

cdef extern from "strided_copy.h" nogil:
    enum:
        STRIDED_COPY_MAX_RANK
        STRIDED_COPY_TILE

    ctypedef struct StridedCopy:
        const char *source
        char *destination
        int64_t rank
        int64_t *sizes
        int64_t *source_strides
        int64_t *destination_strides
        int64_t rows, row_source_stride, row_destination_stride
        int64_t columns, column_source_stride, itemsize
        int64_t items, items_per_task, row_blocks

    void strided_copy_task(int64_t task, void *copy) noexcept

cdef enum:
    # Bytes of a task, at least.
    TASK_BYTES = 1 << 16
    MAX_TASKS = 128

cdef double _SECONDS_PER_BYTE = 1.5e-10


def reshaped(cnp.ndarray array not None, tuple shape, threads=None):
    """The elements of an array in row-major order, in an array of another shape: a view of it where there is one.

    Args:
        array: of any strides.
        shape: has as many elements.
        threads: maximum number of threads; None: all.

    Raises:
        ValueError: the shape has another number of elements.
    """
    cdef int64_t sizes[STRIDED_COPY_MAX_RANK]
    cdef int64_t strides[STRIDED_COPY_MAX_RANK]
    cdef int64_t itemsize = cnp.PyArray_ITEMSIZE(array)
    cdef int rank
    cdef object any_array = array
    if (
        cnp.PyArray_ISCARRAY_RO(array) or cnp.PyArray_SIZE(array) == 0 or itemsize not in (1, 2, 4, 8, 16)
        or not cnp.PyArray_ISALIGNED(array) or (<object>cnp.PyArray_DESCR(array)).hasobject
    ):
        return any_array.reshape(shape)
    rank = merge_axes(array, sizes, strides)
    if rank < 2 or has_view(shape, sizes, rank):
        return any_array.reshape(shape)
    return copied(array, sizes, strides, rank, threads).reshape(shape)


cdef int merge_axes(cnp.ndarray array, int64_t *sizes, int64_t *strides) noexcept:
    """Join neighbouring axes that one stride passes through, without those of size 1. Returns their number."""
    cdef int axis, rank = 0
    cdef int64_t size, stride
    for axis in range(cnp.PyArray_NDIM(array)):
        size, stride = cnp.PyArray_DIM(array, axis), cnp.PyArray_STRIDE(array, axis)
        if size == 1:
            continue
        if rank and strides[rank - 1] == size * stride:
            sizes[rank - 1] *= size
            strides[rank - 1] = stride
        else:
            sizes[rank], strides[rank] = size, stride
            rank += 1
    return rank


cdef bint has_view(tuple shape, int64_t *sizes, int rank) except -1:
    """Whether axes of these sizes can be split into those of a shape."""
    cdef int64_t size, left = 1
    cdef int axis = 0
    for size in shape:
        if size == 1:
            continue
        if left == 1:
            if axis == rank:
                return False
            left = sizes[axis]
            axis += 1
        if size == 0 or left % size:
            return False
        left //= size
    return left == 1 and axis == rank


cdef cnp.ndarray copied(cnp.ndarray array, int64_t *sizes, int64_t *strides, int rank, object threads):
    """A copy in row-major order, of the array's shape. There are at least two merged axes."""
    cdef StridedCopy copy
    cdef cnp.dtype dtype = <cnp.dtype>cnp.PyArray_DESCR(array)
    cdef int64_t itemsize = cnp.PyArray_ITEMSIZE(array), stride = itemsize, tasks, bytes_moved
    cdef int64_t row_major[STRIDED_COPY_MAX_RANK]
    cdef int axis, rows = rank - 2
    Py_INCREF(dtype)
    cdef cnp.ndarray result = PyArray_Empty(cnp.PyArray_NDIM(array), cnp.PyArray_DIMS(array), dtype, 0)
    for axis in range(rank - 1, -1, -1):
        row_major[axis] = stride
        stride *= sizes[axis]
    if strides[rank - 1] != itemsize:
        for axis in range(rank - 1):
            if abs(strides[axis]) < abs(strides[rows]):
                rows = axis
    copy.source, copy.destination = <const char *>cnp.PyArray_DATA(array), <char *>cnp.PyArray_DATA(result)
    copy.rows, copy.row_source_stride, copy.row_destination_stride = sizes[rows], strides[rows], row_major[rows]
    copy.columns, copy.column_source_stride, copy.itemsize = sizes[rank - 1], strides[rank - 1], itemsize
    copy.row_blocks = (copy.rows + STRIDED_COPY_TILE - 1) // STRIDED_COPY_TILE
    copy.rank, copy.items = 0, copy.row_blocks
    for axis in range(rank - 1):
        if axis != rows:
            copy.sizes[copy.rank], copy.source_strides[copy.rank] = sizes[axis], strides[axis]
            copy.destination_strides[copy.rank] = row_major[axis]
            copy.rank += 1
            copy.items *= sizes[axis]
    bytes_moved = cnp.PyArray_NBYTES(array)
    tasks = max(1, min(copy.items, min(MAX_TASKS, bytes_moved // TASK_BYTES)))
    copy.items_per_task = (copy.items + tasks - 1) // tasks
    tasks = (copy.items + copy.items_per_task - 1) // copy.items_per_task
    if tasks == 1:
        with nogil:
            strided_copy_task(0, &copy)
    else:
        run_independent(<size_t>&strided_copy_task, <size_t>&copy, tasks, bytes_moved * _SECONDS_PER_BYTE, threads)
    return result
