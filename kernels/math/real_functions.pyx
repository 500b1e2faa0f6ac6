# cython: language_level=3
"""Ufuncs of f64 that have the same bits on every processor: see `real_functions.h`.

On arrays of f32 they give the values of f64, rounded.
"""

cimport numpy as cnp
from libc.stdint cimport intptr_t

cdef extern from "real_functions.h":
    enum:
        REAL_FUNCTION_COUNT
    ctypedef void (*RealLoop)(char **, const intptr_t *, const intptr_t *, void *) noexcept nogil
    ctypedef struct RealFunction:
        RealLoop of_f32
        RealLoop of_f64
    const RealFunction *real_functions() noexcept

cnp.import_array()
cnp.import_ufunc()

cdef cnp.PyUFuncGenericFunction _loops[2 * REAL_FUNCTION_COUNT]
cdef void *_data[2]
cdef char _types[4]
_data[:] = [NULL, NULL]
_types[:] = [cnp.NPY_FLOAT, cnp.NPY_FLOAT, cnp.NPY_DOUBLE, cnp.NPY_DOUBLE]


cdef object ufunc(int number, const char *name, const char *text):
    """The ufunc of a function. NumPy keeps pointers to the arrays, so they are static."""
    cdef const RealFunction *function = &real_functions()[number]
    _loops[2 * number] = <cnp.PyUFuncGenericFunction>function.of_f32
    _loops[2 * number + 1] = <cnp.PyUFuncGenericFunction>function.of_f64
    return cnp.PyUFunc_FromFuncAndData(&_loops[2 * number], _data, _types, 2, 1, 1, cnp.PyUFunc_None, name, text, 0)


erf = ufunc(0, "erf", "The error function of f64.")
erfc = ufunc(1, "erfc", "1 - erf(x) of f64.")
erf_inv = ufunc(2, "erf_inv", "The inverse of the error function of f64.")
sine = ufunc(3, "sine", "The sine of f64.")
cosine = ufunc(4, "cosine", "The cosine of f64.")
exponential = ufunc(5, "exponential", "e to the power of x of f64.")
logistic = ufunc(6, "logistic", "1 / (1 + exp(-x)) of f64.")
tanh = ufunc(7, "tanh", "The hyperbolic tangent of f64.")
cbrt = ufunc(8, "cbrt", "The cube root of f64.")
logarithm = ufunc(9, "logarithm", "The natural logarithm of f64.")
log_plus_one = ufunc(10, "log_plus_one", "log(1 + x) of f64.")
exponential_minus_one = ufunc(11, "exponential_minus_one", "exp(x) - 1 of f64.")
tangent = ufunc(12, "tangent", "The tangent of f64.")
sinh = ufunc(13, "sinh", "The hyperbolic sine of f64.")
cosh = ufunc(14, "cosh", "The hyperbolic cosine of f64.")
asin = ufunc(15, "asin", "The inverse sine of f64.")
acos = ufunc(16, "acos", "The inverse cosine of f64.")
atan = ufunc(17, "atan", "The inverse tangent of f64.")
asinh = ufunc(18, "asinh", "The inverse hyperbolic sine of f64.")
acosh = ufunc(19, "acosh", "The inverse hyperbolic cosine of f64.")
atanh = ufunc(20, "atanh", "The inverse hyperbolic tangent of f64.")
