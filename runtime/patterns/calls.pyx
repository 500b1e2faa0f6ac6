# cython: language_level=3, boundscheck=False, wraparound=False
"""A cache of calls of patterns, with lookups of about one microsecond; a snapshot's key takes several to make.

A call matches an earlier one if every value that decided the earlier trace is unchanged, in most cases the same object.
A call without a match may still have an equal snapshot.
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


class Unrecognizable(Exception):
    """A value that decides a trace is a mutable object."""


cdef class Reads:
    """The code of a function, and the globals, cells and defaults that it reads.

    Args:
        function: a plain function that has a snapshot.
        globals_of: gives the names of the globals that code reads.
        immutable_ids: the ids of objects that never change.
    """

    cdef object code, globals
    cdef tuple names, values, cells, defaults

    def __cinit__(self, function, globals_of, immutable_ids):
        if function.__kwdefaults__:
            raise Unrecognizable
        self.code, self.globals = function.__code__, function.__globals__
        self.names = globals_of(self.code)
        read = [_named(self.globals, name) for name in self.names]
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        self.values, self.cells = _all_expected(read, globals_of, immutable_ids), _all_expected(cells, globals_of, immutable_ids)
        defaults = function.__defaults__
        self.defaults = None if defaults is None else _all_expected(defaults, globals_of, immutable_ids)

    cdef bint match(self, function):
        """Whether a function has the same code and reads the same values."""
        cdef PyObject *read = PyFunction_GetDefaults(function)
        cdef Py_ssize_t index
        cdef tuple cells
        if PyFunction_GetCode(function) != <PyObject *>self.code:
            return False
        if PyFunction_GetGlobals(function) != <PyObject *>self.globals:
            return False
        if PyFunction_GetKwDefaults(function) != NULL or function.__dict__:
            return False
        if read == NULL or self.defaults is None:
            if read != NULL or self.defaults is not None:
                return False
        elif not _is_same(self.defaults, <object>read):
            return False
        for index in range(len(self.names)):
            if not _is_same(self.values[index], _named(self.globals, self.names[index])):
                return False
        if self.cells:
            cells = <tuple>PyFunction_GetClosure(function)
            for index in range(len(self.cells)):
                read = PyCell_GET(cells[index])
                if read == NULL or not _is_same(self.cells[index], <object>read):
                    return False
        return True


cdef object _named(dict names, str name):
    """A global, or else a builtin."""
    cdef PyObject *value = PyDict_GetItem(names, name)
    if value == NULL:
        value = PyDict_GetItem(_BUILTINS, name)
    return _MISSING if value == NULL else <object>value


cdef object _expected(value, globals_of, immutable_ids):
    """The value that `_is_same` compares later ones with."""
    if id(value) in immutable_ids:
        return value
    if type(value) is FunctionType:
        return Reads(value, globals_of, immutable_ids)
    if type(value) is tuple:
        return _all_expected(value, globals_of, immutable_ids)
    if type(value) is list:
        return list(_all_expected(value, globals_of, immutable_ids))
    if isinstance(value, np.void):
        raise Unrecognizable
    return value


cdef tuple _all_expected(values, globals_of, immutable_ids):
    return tuple([_expected(value, globals_of, immutable_ids) for value in values])


cdef bint _is_same(expected, value):
    """Whether a value is unchanged. Floats are compared by identity: equal ones may differ in their sign."""
    cdef Py_ssize_t index
    if value is expected:
        return type(value) is not list
    if type(expected) is Reads:
        return type(value) is FunctionType and (<Reads>expected).match(value)
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
    """The values that decided a trace, and the traced program."""

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
        max_calls: the number of stored calls at which all are removed.
    """

    cdef dict calls
    cdef Py_ssize_t max_calls, count

    def __cinit__(self, max_calls):
        self.calls, self.max_calls, self.count = {}, max_calls, 0

    def find(self, tuple settings, list operands, options):
        """The program of a matching call, or None.

        Args:
            settings: a pattern's name, its function if it has one, and every other value that decides the trace.
            operands: the user's operands; calls match only where all of them are arrays.
            options: the options of the run.
        """
        cdef _Call call
        cdef list alike = self.calls.get(_address(settings))
        if alike is not None:
            for call in alike:
                if call.is_like(settings, operands, options):
                    return call.program
        return None

    def keep(self, tuple settings, list operands, options, program, globals_of, immutable_ids):
        """Store a call that has a snapshot and whose operands are arrays; arguments as in `find` and `Reads`."""
        cdef _Call call = _Call.__new__(_Call)
        try:
            call.settings = _all_expected(settings, globals_of, immutable_ids)
        except Unrecognizable:
            return
        call.dtypes = tuple([operand.dtype for operand in operands])
        call.shapes = tuple([operand.shape for operand in operands])
        call.options, call.program = options, program
        if self.count >= self.max_calls:
            self.calls.clear()
            self.count = 0
        address = _address(settings)
        alike = self.calls.get(address, ())
        self.calls[address] = [call, *alike[:MAX_ALIKE - 1]]
        self.count += len(alike) < MAX_ALIKE


cdef object _address(tuple settings):
    """The key of the cache: the address of the function's code, or else the pattern's name."""
    if len(settings) > 1 and type(settings[1]) is FunctionType:
        return <size_t>PyFunction_GetCode(settings[1])
    return settings[0]
