# cython: language_level=3
"""Ufuncs of complex<f64> that have the same bits on every processor: see `complex_functions.h`."""

cimport numpy as cnp
from libc.stdint cimport intptr_t

cdef extern from "complex_functions.h":
    enum:
        COMPLEX_FUNCTION_COUNT
        COMPLEX_modulus
        COMPLEX_square_root
        COMPLEX_logarithm
        COMPLEX_log_plus_one
        COMPLEX_sinh
        COMPLEX_cosh
        COMPLEX_tanh
        COMPLEX_sine
        COMPLEX_cosine
        COMPLEX_tangent
        COMPLEX_asin_acos
        COMPLEX_asin
        COMPLEX_acos
        COMPLEX_asinh
        COMPLEX_acosh
        COMPLEX_atan
        COMPLEX_atanh
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


modulus = ufunc(COMPLEX_modulus, "modulus", "The absolute value, f64.", is_real=True)
square_root = ufunc(COMPLEX_square_root, "square_root", "The square root whose real component is not negative.")
logarithm = ufunc(COMPLEX_logarithm, "logarithm", "The natural logarithm.")
log_plus_one = ufunc(COMPLEX_log_plus_one, "log_plus_one", "log(1 + z).")
sinh = ufunc(COMPLEX_sinh, "sinh", "The hyperbolic sine.")
cosh = ufunc(COMPLEX_cosh, "cosh", "The hyperbolic cosine.")
tanh = ufunc(COMPLEX_tanh, "tanh", "The hyperbolic tangent.")
sine = ufunc(COMPLEX_sine, "sine", "The sine.")
cosine = ufunc(COMPLEX_cosine, "cosine", "The cosine.")
tangent = ufunc(COMPLEX_tangent, "tangent", "The tangent.")
asin_acos = ufunc(
    COMPLEX_asin_acos, "asin_acos",
    "The real component of sqrt(1 - z) sqrt(1 + z), and the imaginary one of asin(z) without its sign."
)
asin = ufunc(COMPLEX_asin, "asin", "The inverse sine.")
acos = ufunc(COMPLEX_acos, "acos", "The inverse cosine.")
asinh = ufunc(COMPLEX_asinh, "asinh", "The inverse hyperbolic sine.")
acosh = ufunc(COMPLEX_acosh, "acosh", "The inverse hyperbolic cosine.")
atan = ufunc(COMPLEX_atan, "atan", "The inverse tangent.")
atanh = ufunc(COMPLEX_atanh, "atanh", "The inverse hyperbolic tangent.")
