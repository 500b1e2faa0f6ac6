# cython: language_level=3
"""Ufuncs of complex<f64> that have the same bits on every processor: see `complex_functions.h`."""

cimport numpy as cnp
from libc.stdint cimport intptr_t

cdef extern from "complex_functions.h":
    enum:
        COMPLEX_FUNCTION_COUNT
    ctypedef void (*ComplexLoop)(char **, const intptr_t *, const intptr_t *, void *) noexcept nogil
    const ComplexLoop *complex_loops() noexcept

cnp.import_array()
cnp.import_ufunc()

cdef cnp.PyUFuncGenericFunction _loops[COMPLEX_FUNCTION_COUNT]
cdef void *_data[1]
cdef char _modulus_types[2]
cdef char _types[2]
_data[0] = NULL
_modulus_types[:] = [cnp.NPY_CDOUBLE, cnp.NPY_DOUBLE]
_types[:] = [cnp.NPY_CDOUBLE, cnp.NPY_CDOUBLE]


cdef object ufunc(int number, const char *name, const char *text, bint is_real=False):
    """The ufunc of a function. NumPy keeps pointers to the arrays, so they are static."""
    _loops[number] = <cnp.PyUFuncGenericFunction>complex_loops()[number]
    return cnp.PyUFunc_FromFuncAndData(
        &_loops[number], _data, &_modulus_types[0] if is_real else &_types[0], 1, 1, 1, cnp.PyUFunc_None, name, text, 0
    )


modulus = ufunc(0, "modulus", "The absolute value, f64.", is_real=True)
square_root = ufunc(1, "square_root", "The square root whose real component is not negative.")
logarithm = ufunc(2, "logarithm", "The natural logarithm.")
log_plus_one = ufunc(3, "log_plus_one", "log(1 + z).")
sinh = ufunc(4, "sinh", "The hyperbolic sine.")
cosh = ufunc(5, "cosh", "The hyperbolic cosine.")
tanh = ufunc(6, "tanh", "The hyperbolic tangent.")
sine = ufunc(7, "sine", "The sine.")
cosine = ufunc(8, "cosine", "The cosine.")
tangent = ufunc(9, "tangent", "The tangent.")
asin_acos = ufunc(
    10, "asin_acos", "The real component of sqrt(1 - z) sqrt(1 + z), and the imaginary one of asin(z) without its sign."
)
asin = ufunc(11, "asin", "The inverse sine.")
acos = ufunc(12, "acos", "The inverse cosine.")
asinh = ufunc(13, "asinh", "The inverse hyperbolic sine.")
acosh = ufunc(14, "acosh", "The inverse hyperbolic cosine.")
atan = ufunc(15, "atan", "The inverse tangent.")
atanh = ufunc(16, "atanh", "The inverse hyperbolic tangent.")
