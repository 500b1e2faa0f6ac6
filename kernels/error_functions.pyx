# cython: language_level=3
"""The error function and its complement on arrays of f64, as ufuncs: see `error_functions.h`."""

cimport numpy as cnp
from libc.stdint cimport intptr_t

cdef extern from "error_functions.h":
    ctypedef void (*ErrorFunction)(const double *, double *, intptr_t) noexcept nogil
    ErrorFunction error_function(bint is_complement) noexcept
    void error_function_loop(char **, const intptr_t *, const intptr_t *, void *) noexcept nogil

cnp.import_array()
cnp.import_ufunc()

cdef ErrorFunction _functions[2]
cdef cnp.PyUFuncGenericFunction _loop = <cnp.PyUFuncGenericFunction>error_function_loop
cdef char _types[2]
cdef void *_data[2]


cdef object ufunc(int number, const char *name, const char *text):
    """The ufunc of one of the functions: NumPy keeps the places of what it is given."""
    _functions[number] = error_function(number)
    _data[number] = &_functions[number]
    _types[0] = _types[1] = cnp.NPY_DOUBLE
    return cnp.PyUFunc_FromFuncAndData(&_loop, &_data[number], _types, 1, 1, 1, cnp.PyUFunc_None, name, text, 0)


erf = ufunc(0, "erf", "The error function of f64.")
erfc = ufunc(1, "erfc", "1 - erf(x) of f64.")
