# cython: language_level=3
"""Functions of f64 that neither NumPy nor SciPy have as quick, as ufuncs: see `real_functions.h`."""

cimport numpy as cnp
from libc.stdint cimport intptr_t

cdef extern from "real_functions.h":
    enum:
        REAL_FUNCTION_COUNT
    ctypedef void (*RealFunction)(double *, intptr_t) noexcept nogil
    const RealFunction *real_functions() noexcept
    void real_function_loop(char **, const intptr_t *, const intptr_t *, void *) noexcept nogil

cnp.import_array()
cnp.import_ufunc()

cdef cnp.PyUFuncGenericFunction _loop = <cnp.PyUFuncGenericFunction>real_function_loop
cdef char _types[2]
cdef void *_data[REAL_FUNCTION_COUNT]


cdef object ufunc(int number, const char *name, const char *text):
    """The ufunc of one of the functions: NumPy keeps the places of what it is given."""
    _data[number] = <void *>&real_functions()[number]
    _types[0] = _types[1] = cnp.NPY_DOUBLE
    return cnp.PyUFunc_FromFuncAndData(&_loop, &_data[number], _types, 1, 1, 1, cnp.PyUFunc_None, name, text, 0)


erf = ufunc(0, "erf", "The error function of f64.")
erfc = ufunc(1, "erfc", "1 - erf(x) of f64.")
erf_inv = ufunc(2, "erf_inv", "The inverse of the error function of f64.")
sine = ufunc(3, "sine", "The sine of f64.")
cosine = ufunc(4, "cosine", "The cosine of f64.")
