# cython: language_level=3, boundscheck=False, wraparound=False
"""Calls of patterns that are alike, recognised in a microsecond: a snapshot's key takes several to make.

A call is like an earlier one if all that decided how that one was traced is there still, mostly the very same objects.
Calls that are not recognised may be alike all the same: their snapshots tell.
"""

cimport numpy as cnp
from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject

import builtins
from types import FunctionType

import numpy as np

cnp.import_array()

cdef extern from "Python.h":
    PyObject *PyFunction_GetCode(object function)
    PyObject *PyFunction_GetGlobals(object function)
    PyObject *PyFunction_GetDefaults(object function)
    PyObject *PyFunction_GetKwDefaults(object function)
    PyObject *PyFunction_GetClosure(object function)
    PyObject *PyCell_GET(object cell)

cdef enum:
    MAX_ALIKE = 8

cdef dict _BUILTINS = builtins.__dict__
cdef object _MISSING = object()


class Unrecognisable(Exception):
    """Something that decides a trace may change while it stays the same object."""


cdef class Reads:
    """What a function is, and what it reads from around it.

    Args:
        function: a plain function that has a snapshot.
        globals_of: gives the names of the globals that code reads.
        known: the identities of objects that are the same each time they are used.
    """

    cdef object code, globals
    cdef tuple names, values, cells, defaults

    def __cinit__(self, function, globals_of, known):
        if function.__kwdefaults__:
            raise Unrecognisable
        self.code, self.globals = function.__code__, function.__globals__
        self.names = globals_of(self.code)
        read = [_named(self.globals, name) for name in self.names]
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        self.values, self.cells = _all_expected(read, globals_of, known), _all_expected(cells, globals_of, known)
        defaults = function.__defaults__
        self.defaults = None if defaults is None else _all_expected(defaults, globals_of, known)

    cdef bint are_of(self, function):
        """Whether another function, or this one at another time, is and reads the same."""
        cdef PyObject *found = PyFunction_GetDefaults(function)
        cdef Py_ssize_t index
        cdef tuple cells
        if PyFunction_GetCode(function) != <PyObject *>self.code:
            return False
        if PyFunction_GetGlobals(function) != <PyObject *>self.globals:
            return False
        if PyFunction_GetKwDefaults(function) != NULL or function.__dict__:
            return False
        if found == NULL or self.defaults is None:
            if found != NULL or self.defaults is not None:
                return False
        elif not _is_same(self.defaults, <object>found):
            return False
        for index in range(len(self.names)):
            if not _is_same(self.values[index], _named(self.globals, self.names[index])):
                return False
        if self.cells:
            cells = <tuple>PyFunction_GetClosure(function)
            for index in range(len(self.cells)):
                found = PyCell_GET(cells[index])
                if found == NULL or not _is_same(self.cells[index], <object>found):
                    return False
        return True


cdef object _named(dict names, str name):
    """A global, or else a builtin."""
    cdef PyObject *found = PyDict_GetItem(names, name)
    if found == NULL:
        found = PyDict_GetItem(_BUILTINS, name)
    return _MISSING if found == NULL else <object>found


cdef object _expected(value, globals_of, known):
    """What `_is_same` compares a value with later."""
    if id(value) in known:
        return value
    if type(value) is FunctionType:
        return Reads(value, globals_of, known)
    if type(value) is tuple:
        return _all_expected(value, globals_of, known)
    if type(value) is list:
        return list(_all_expected(value, globals_of, known))
    if isinstance(value, np.void):
        raise Unrecognisable
    return value


cdef tuple _all_expected(values, globals_of, known):
    return tuple([_expected(value, globals_of, known) for value in values])


cdef bint _is_same(expected, value):
    """Whether a value is what was there before. Equal floats may differ in their sign."""
    cdef Py_ssize_t index
    if value is expected:
        return type(value) is not list
    if type(expected) is Reads:
        return type(value) is FunctionType and (<Reads>expected).are_of(value)
    if type(expected) is not type(value):
        return False
    if type(value) is int or type(value) is str:
        return value == expected
    if type(value) is tuple or type(value) is list:
        if len(value) != len(expected):
            return False
        for index in range(len(value)):
            if not _is_same(expected[index], value[index]):
                return False
        return True
    return False


cdef class _Call:
    """What decided a call, and the program that it led to."""

    cdef tuple settings, dtypes, shapes
    cdef object options, program

    cdef bint is_like(self, tuple settings, list operands, options):
        cdef Py_ssize_t index, axis
        cdef cnp.ndarray array
        cdef tuple shape
        if len(operands) != len(self.dtypes) or len(settings) != len(self.settings):
            return False
        for index in range(len(operands)):
            if type(operands[index]) is not cnp.ndarray:
                return False
            array, shape = <cnp.ndarray>operands[index], <tuple>self.shapes[index]
            if <PyObject *>cnp.PyArray_DESCR(array) != <PyObject *>self.dtypes[index]:
                if array.dtype != self.dtypes[index]:
                    return False
            if cnp.PyArray_NDIM(array) != len(shape):
                return False
            for axis in range(len(shape)):
                if cnp.PyArray_DIM(array, axis) != <Py_ssize_t>(shape[axis]):
                    return False
        if options is not self.options and options != self.options:
            return False
        for index in range(len(settings)):
            if not _is_same(self.settings[index], settings[index]):
                return False
        return True


cdef class Calls:
    """Calls and their programs. Many threads may use it at the same time.

    Args:
        most: how many are kept; then all are forgotten.
    """

    cdef dict known
    cdef Py_ssize_t most, count

    def __cinit__(self, most):
        self.known, self.most, self.count = {}, most, 0

    def find(self, tuple settings, list operands, options):
        """The program of a call that is like this one, or None.

        Args:
            settings: a pattern's name, its function if it has one, and all else that decides how it is traced.
            operands: what the user gave; calls are alike only where all of these are arrays.
            options: how it is run.
        """
        cdef _Call call
        cdef list alike = self.known.get(_address(settings))
        if alike is not None:
            for call in alike:
                if call.is_like(settings, operands, options):
                    return call.program
        return None

    def keep(self, tuple settings, list operands, options, program, globals_of, known):
        """Remember a call that has a snapshot and whose operands are arrays; arguments as in `find` and `Reads`."""
        cdef _Call call = _Call.__new__(_Call)
        try:
            call.settings = _all_expected(settings, globals_of, known)
        except Unrecognisable:
            return
        call.dtypes = tuple([operand.dtype for operand in operands])
        call.shapes = tuple([operand.shape for operand in operands])
        call.options, call.program = options, program
        if self.count >= self.most:
            self.known.clear()
            self.count = 0
        address = _address(settings)
        alike = self.known.get(address, ())
        self.known[address] = [call, *alike[:MAX_ALIKE - 1]]
        self.count += len(alike) < MAX_ALIKE


cdef object _address(tuple settings):
    """What calls that are alike have in common: the code of the pattern's function, or else the pattern's name."""
    if len(settings) > 1 and type(settings[1]) is FunctionType:
        return <size_t>PyFunction_GetCode(settings[1])
    return settings[0]
