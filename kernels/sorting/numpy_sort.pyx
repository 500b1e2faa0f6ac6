# cython: language_level=3
"""NumPy's sorting functions, which use vector instructions, for native loops to call."""

cimport numpy as cnp

import numpy as np

cdef extern from "numpy/arrayobject.h":
    ctypedef int (*SortFunction)(void *start, cnp.npy_intp count, void *array) noexcept nogil
    ctypedef struct PyArray_ArrFuncs:
        SortFunction sort[3]
    PyArray_ArrFuncs *PyDataType_GetArrFuncs(cnp.PyArray_Descr *descriptor)

cnp.import_array()


def sort_address(dtype) -> int:
    """The address of `int (void *start, intptr_t count, void *)`, which sorts numbers of that type: NaNs come last.

    It needs neither the interpreter's lock nor its last argument. 0 where NumPy has none.
    """
    cdef cnp.dtype descriptor = np.dtype(dtype)
    if descriptor.kind not in "uif":
        raise ValueError(f"dtype is {descriptor}, but must be one of NumPy's integer or floating-point types")
    cdef PyArray_ArrFuncs *functions = PyDataType_GetArrFuncs(<cnp.PyArray_Descr *>descriptor)
    # For single bytes the stable sort is a counting sort, and the faster one.
    cdef int kind = 2 if descriptor.itemsize == 1 else 0
    return <size_t>functions.sort[kind] if functions != NULL else 0
