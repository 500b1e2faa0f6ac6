# cython: language_level=3
"""Functions that sort unsigned integers, for native loops to call: see `radix_sort.h`."""

cimport numpy as cnp
from libc.stdint cimport intptr_t

import numpy as np

cdef extern from "radix_sort.h" nogil:
    ctypedef int (*SortFunction)(void *numbers, intptr_t count, void *scratch)
    SortFunction numpy_sorts[4]
    int RADIX_MIN_COUNT
    int sort_uint16(void *numbers, intptr_t count, void *scratch)
    int sort_uint32(void *numbers, intptr_t count, void *scratch)
    int sort_uint64(void *numbers, intptr_t count, void *scratch)
    int sort_upper_half(void *numbers, intptr_t count, void *scratch)

cdef extern from "numpy/arrayobject.h":
    ctypedef int (*NumPySort)(void *start, cnp.npy_intp count, void *array) noexcept nogil
    ctypedef struct PyArray_ArrFuncs:
        NumPySort sort[3]
    PyArray_ArrFuncs *PyDataType_GetArrFuncs(cnp.PyArray_Descr *descriptor)

cnp.import_array()

MIN_SCRATCH_COUNT = RADIX_MIN_COUNT
"""The count of numbers from which scratch is used."""


cdef SortFunction numpy_sort(dtype) except? NULL:
    """NumPy's function for unsigned integers of that type, which needs neither the interpreter's lock nor scratch."""
    cdef cnp.dtype descriptor = np.dtype(dtype)
    cdef PyArray_ArrFuncs *functions = PyDataType_GetArrFuncs(<cnp.PyArray_Descr *>descriptor)
    # For single bytes the stable sort is a counting sort, and the faster one.
    return <SortFunction>functions.sort[2 if descriptor.itemsize == 1 else 0] if functions != NULL else NULL


numpy_sorts[0], numpy_sorts[1] = numpy_sort(np.uint8), numpy_sort(np.uint16)
numpy_sorts[2], numpy_sorts[3] = numpy_sort(np.uint32), numpy_sort(np.uint64)


def sort_address(dtype, bint by_upper_half=False) -> int:
    """The address of `int (void *numbers, intptr_t count, void *scratch)`, which sorts unsigned integers and returns
    nonzero if it lacks memory. It needs no interpreter's lock.

    Args:
        dtype: their type. `scratch` is as large as they are; without it, or with fewer than `MIN_SCRATCH_COUNT`
            numbers, NumPy sorts them.
        by_upper_half: whether numbers of 64 bits with equal upper halves are already in the order of the lower halves.

    Returns:
        The address, or 0 where NumPy has no such function.

    Raises:
        ValueError: they are not unsigned integers.
    """
    descriptor = np.dtype(dtype)
    if descriptor.kind != "u":
        raise ValueError(f"dtype is {descriptor}, but must be an unsigned integer type")
    cdef int log2_bytes = descriptor.itemsize.bit_length() - 1
    if numpy_sorts[log2_bytes] == NULL:
        return 0
    if log2_bytes == 0:
        return <size_t>numpy_sorts[0]
    if log2_bytes == 1:
        return <size_t>&sort_uint16
    if log2_bytes == 2:
        return <size_t>&sort_uint32
    return <size_t>&sort_upper_half if by_upper_half else <size_t>&sort_uint64
