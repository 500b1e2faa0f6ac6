# cython: language_level=3, boundscheck=False, wraparound=False
"""Windows of arrays whose starts are given at run time, as views: a loop takes one in every round."""

cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int32_t, int64_t

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(
        void *subtype, void *stolen_dtype, int rank, cnp.npy_intp *shape, cnp.npy_intp *strides, void *data,
        int flags, PyObject *like,
    )

cdef enum:
    MAX_RANK = 64


cdef class SlidingWindow:
    """A function of an array and of one start for each of its dimensions that returns the window there.

    Starts are clamped so that the window lies within the array.

    Args:
        sizes: of the window; no more than the array has.
        shape: of the array.
    """

    cdef int rank
    cdef cnp.npy_intp sizes[MAX_RANK]
    cdef cnp.npy_intp last[MAX_RANK]

    def __init__(self, sizes, shape):
        cdef int axis
        self.rank = len(shape)
        if self.rank > MAX_RANK or len(sizes) != self.rank:
            raise ValueError(f"no windows of {sizes} in {shape}")
        for axis in range(self.rank):
            self.sizes[axis], self.last[axis] = sizes[axis], shape[axis] - sizes[axis]

    def __call__(self, cnp.ndarray operand not None, *starts):
        cdef char *data = <char *>cnp.PyArray_DATA(operand)
        cdef cnp.npy_intp *strides = cnp.PyArray_STRIDES(operand)
        cdef int axis, flags = cnp.PyArray_FLAGS(operand) & cnp.NPY_ARRAY_WRITEABLE
        cdef object start, dtype
        if len(starts) != self.rank or cnp.PyArray_NDIM(operand) != self.rank:
            raise ValueError(f"takes an array of rank {self.rank} and as many starts")
        for axis in range(self.rank):
            if self.last[axis]:
                data += clamped(starts[axis], self.last[axis]) * strides[axis]
        dtype = <object>cnp.PyArray_DESCR(operand)
        Py_INCREF(dtype)
        cdef object view = PyArray_NewFromDescr(
            <void *>cnp.ndarray, <void *>dtype, self.rank, self.sizes, strides, data, flags, NULL
        )
        cnp.set_array_base(view, operand)
        return view


cdef cnp.npy_intp clamped(object start, cnp.npy_intp last) except -1:
    """A start moved into the range from 0 to `last`."""
    cdef int64_t value
    cdef int type
    if cnp.PyArray_Check(start) and cnp.PyArray_ISBEHAVED_RO(<cnp.ndarray>start):
        type = cnp.PyArray_TYPE(<cnp.ndarray>start)
        if type == cnp.NPY_INT32 or type == cnp.NPY_INT64:
            data = cnp.PyArray_DATA(<cnp.ndarray>start)
            value = (<int32_t *>data)[0] if type == cnp.NPY_INT32 else (<int64_t *>data)[0]
            return 0 if value < 0 else min(value, last)
    return min(max(int(start), 0), last)
