# The arrays that a run may overwrite. The executor includes this file and has `cnp`, `PyObject` and `Py_INCREF`.

include "launch/unique_reference.pxi"

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(
        void *subtype, void *stolen_dtype, int rank, cnp.npy_intp *shape, cnp.npy_intp *strides, void *data,
        int flags, PyObject *like,
    )


cdef class Donated:
    """Owns the memory of an array that a caller donated to a run."""

    cdef readonly object array


def donated(array):
    """A new array in the memory of a caller's array, which the run may overwrite.

    Args:
        array: C-contiguous and writeable.
    """
    cdef cnp.ndarray source = array
    cdef Donated owner = Donated.__new__(Donated)
    owner.array = source
    cdef object dtype = source.dtype
    Py_INCREF(dtype)
    cdef object fresh = PyArray_NewFromDescr(
        <void *>cnp.ndarray, <void *>dtype, cnp.PyArray_NDIM(source), cnp.PyArray_DIMS(source),
        cnp.PyArray_STRIDES(source), cnp.PyArray_DATA(source), cnp.NPY_ARRAY_WRITEABLE, NULL,
    )
    cnp.set_array_base(fresh, owner)
    return fresh


cdef inline bint _is_overwritable(PyObject *value):
    """Whether a value that is released is an array to whose memory nothing but its slot refers."""
    cdef PyObject *base
    if not is_uniquely_referenced(value) or type(<object>value) is not cnp.ndarray:
        return False
    cdef cnp.ndarray array = <cnp.ndarray>value
    if not cnp.PyArray_ISCARRAY(array):
        return False
    base = cnp.PyArray_BASE(array)
    if base == NULL:
        return cnp.PyArray_CHKFLAGS(array, cnp.NPY_ARRAY_OWNDATA)
    if not is_uniquely_referenced(base):
        return False
    if type(<object>base) is cnp.ndarray:
        return cnp.PyArray_CHKFLAGS(<cnp.ndarray>base, cnp.NPY_ARRAY_OWNDATA)
    return type(<object>base) is Donated
