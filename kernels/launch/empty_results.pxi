# Arrays for the results of native code. Modules that include this have `cnp`, and have imported NumPy's C functions.

from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

cdef extern from "numpy/arrayobject.h":
    # These take the reference to the element type that they are given.
    cnp.ndarray PyArray_Empty(int rank, cnp.npy_intp *shape, cnp.dtype dtype, int fortran)
    cnp.ndarray PyArray_Zeros(int rank, cnp.npy_intp *shape, cnp.dtype dtype, int fortran)

cdef enum:
    MAX_RESULT_RANK = 64


cdef tuple empty_results(tuple shapes, tuple dtypes, tuple are_zero):
    """New arrays of these shapes and element types; where `are_zero` says so, of zeros."""
    cdef Py_ssize_t position, axis, rank, count = len(shapes)
    cdef cnp.npy_intp shape[MAX_RESULT_RANK]
    cdef tuple sizes, results = PyTuple_New(count)
    cdef cnp.dtype dtype
    cdef object array
    for position in range(count):
        sizes, dtype = shapes[position], dtypes[position]
        rank = len(sizes)
        for axis in range(rank):
            shape[axis] = sizes[axis]
        Py_INCREF(dtype)
        if are_zero[position]:
            array = PyArray_Zeros(rank, shape, dtype, 0)
        else:
            array = PyArray_Empty(rank, shape, dtype, 0)
        Py_INCREF(array)
        PyTuple_SET_ITEM(results, position, array)
    return results
