# cython: language_level=3, boundscheck=False, wraparound=False
"""The boundary between a program and its caller: which inputs fit as they are, and who owns the results."""

cimport numpy as cnp
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject

import numpy as np

from .executor import Donated, donated
from .types import TokenType, TupleType, TupleValue

cnp.import_array()


def fit_as_they_are(tuple inputs, tuple dtypes, tuple shapes):
    """Whether each input is a plain array of the wanted element type and shape, without negative strides.

    Args:
        inputs: what the caller passed.
        dtypes, shapes: for each input, None where it is no tensor.
    """
    cdef Py_ssize_t index, axis
    cdef object value, shape
    cdef cnp.ndarray array
    for index in range(len(inputs)):
        value = inputs[index]
        shape = shapes[index]
        if type(value) is not cnp.ndarray or shape is None:
            return False
        array = <cnp.ndarray>value
        if <PyObject*>cnp.PyArray_DESCR(array) != <PyObject*>dtypes[index]:
            return False
        if cnp.PyArray_NDIM(array) != len(<tuple>shape):
            return False
        for axis in range(len(<tuple>shape)):
            if cnp.PyArray_DIM(array, axis) != <Py_ssize_t>((<tuple>shape)[axis]):
                return False
            if cnp.PyArray_STRIDE(array, axis) < 0:
                return False
    return True


cdef object _root(object value):
    """The object that owns an array's memory."""
    cdef PyObject* base
    while isinstance(value, cnp.ndarray):
        base = cnp.PyArray_BASE(<cnp.ndarray>value)
        if base == NULL:
            break
        value = <object>base
    return value


cdef _add_roots(object value, set roots):
    """Enter the memory that a value, or the parts of a tuple, stands in."""
    cdef object root
    if isinstance(value, TupleValue):
        for part in value:
            _add_roots(part, roots)
    else:
        root = _root(value)
        roots.add(<size_t><PyObject*>root)


def with_donations(tuple inputs, numbers):
    """The inputs as a list in which those that may be consumed are arrays of the run's own, in the same memory.

    Args:
        inputs: values that fit.
        numbers: which may be consumed. Those that share memory with another input, or are no C-contiguous and
            writeable arrays, stay as they are.
    """
    cdef list given = list(inputs)
    cdef list roots = [memory_of((value,)) for value in inputs]
    cdef Py_ssize_t index, other
    for index in numbers:
        value = given[index]
        if type(value) is not cnp.ndarray or not cnp.PyArray_ISCARRAY(<cnp.ndarray>value):
            continue
        if all([roots[index].isdisjoint(roots[other]) for other in range(len(given)) if other != index]):
            given[index] = donated(value)
    return given


def memory_of(values):
    """The memory that values stand in, in the form that `owned` takes."""
    cdef set roots = set()
    for value in values:
        _add_roots(value, roots)
    return roots


def owned(list results, tuple types, arguments, set constants):
    """Results that the caller may keep and write to: contiguous, sharing memory with nothing else.

    Args:
        results: values of a run, to which nothing else holds on but who shares their memory.
        types: their types.
        arguments: what the run was given.
        constants: memory of the program, as `memory_of` tells it.

    Returns:
        A list of arrays, tokens, and for tuples plain tuples.
    """
    cdef set shared = None
    cdef list given = []
    cdef Py_ssize_t index
    for index in range(len(results)):
        if _is_alone(PyList_GET_ITEM(results, index)):
            given.append(results[index])
            continue
        if shared is None:
            shared = memory_of(arguments) | constants
        given.append(_owned(results[index], types[index], shared))
    return given


cdef inline bint _is_alone(PyObject *value):
    """Whether a value is a contiguous array with memory of its own that nothing but a list refers to."""
    if value.ob_refcnt != 1 or type(<object>value) is not cnp.ndarray:
        return False
    return cnp.PyArray_ISCARRAY(<cnp.ndarray>value) and cnp.PyArray_CHKFLAGS(
        <cnp.ndarray>value, cnp.NPY_ARRAY_OWNDATA
    )


cdef object _owned(object value, object value_type, set shared):
    cdef object root
    cdef size_t key
    if type(value) is cnp.ndarray:
        root = _root(value)
        key = <size_t><PyObject*>root
        is_whole = cnp.PyArray_ISCARRAY(<cnp.ndarray>value) and key not in shared
        if is_whole and (isinstance(root, cnp.ndarray) or type(root) is Donated):
            shared.add(key)
            return value
        return np.array(value, order="C")
    if isinstance(value_type, TupleType):
        return tuple([_owned(part, part_type, shared) for part, part_type in zip(value, value_type.types)])
    if isinstance(value_type, TokenType):
        return value
    return np.array(value, order="C")
