# cython: language_level=3
"""Ufuncs of f64 that have the same bits on every processor: see `real_functions.h`.

On arrays of f32 they give the values of f64, rounded; those of the kind SINGLE compute the same bits by a shorter
algorithm. Those that are called fast are computed in f32, with errors of at most 1 ulp.
"""

cimport numpy as cnp
from libc.stdint cimport intptr_t

cdef extern from "real_functions.h":
    enum:
        REAL_FUNCTION_COUNT
        REAL_erf
        REAL_erfc
        REAL_erf_inv
        REAL_sine
        REAL_cosine
        REAL_exponential
        REAL_logistic
        REAL_tanh
        REAL_cbrt
        REAL_logarithm
        REAL_log_plus_one
        REAL_exponential_minus_one
        REAL_tangent
        REAL_sinh
        REAL_cosh
        REAL_asin
        REAL_acos
        REAL_atan
        REAL_asinh
        REAL_acosh
        REAL_atanh
        REAL_power
        REAL_atan2
        REAL_fast_erf
        REAL_fast_erfc
        REAL_fast_exponential
        REAL_fast_exponential_minus_one
        REAL_fast_logarithm
        REAL_fast_log_plus_one
        REAL_fast_tanh
        REAL_fast_sine
        REAL_fast_cosine
        REAL_fast_tangent
        REAL_fast_sinh
        REAL_fast_cosh
        REAL_fast_asin
        REAL_fast_acos
        REAL_fast_atan
        REAL_fast_cbrt
        REAL_fast_erf_inv
        REAL_fast_power
        REAL_fast_atan2
        VECTOR_WIDTHS
    ctypedef void (*RealLoop)(char **, const intptr_t *, const intptr_t *, void *) noexcept nogil
    ctypedef struct RealFunction:
        RealLoop of_f32
        RealLoop of_f64
        void *of_lanes[VECTOR_WIDTHS]
    const RealFunction *real_functions() noexcept

cnp.import_array()
cnp.import_ufunc()

cdef cnp.PyUFuncGenericFunction _loops[2 * REAL_FUNCTION_COUNT]
cdef void *_data[2]
cdef char _unary_types[4]
cdef char _binary_types[6]
_data[:] = [NULL, NULL]
_unary_types[:] = [cnp.NPY_FLOAT, cnp.NPY_FLOAT, cnp.NPY_DOUBLE, cnp.NPY_DOUBLE]
_binary_types[:] = [cnp.NPY_FLOAT, cnp.NPY_FLOAT, cnp.NPY_FLOAT, cnp.NPY_DOUBLE, cnp.NPY_DOUBLE, cnp.NPY_DOUBLE]

VECTOR_FUNCTIONS = {}
"""For the name of each ufunc of f64 the addresses of its function on vectors of f64 in registers, by their lanes.

The functions take and return vectors as C does; one lane is a `double`. A processor's registers limit the lanes.
"""


cdef object ufunc(int number, const char *name, const char *text, int operands=1):
    """The ufunc of a function. NumPy keeps pointers to the arrays, so they are static."""
    cdef const RealFunction *function = &real_functions()[number]
    cdef char *types = &_unary_types[0] if operands == 1 else &_binary_types[0]
    cdef int width
    cdef int type_count = 1 if function.of_f64 == NULL else 2
    _loops[2 * number] = <cnp.PyUFuncGenericFunction>function.of_f32
    _loops[2 * number + 1] = <cnp.PyUFuncGenericFunction>function.of_f64
    if type_count == 2:
        VECTOR_FUNCTIONS[name.decode()] = {
            1 << width: <intptr_t>function.of_lanes[width] for width in range(VECTOR_WIDTHS) if function.of_lanes[width]
        }
    return cnp.PyUFunc_FromFuncAndData(
        &_loops[2 * number], _data, types, type_count, operands, 1, cnp.PyUFunc_None, name, text, 0
    )


erf = ufunc(REAL_erf, "erf", "The error function of f64.")
erfc = ufunc(REAL_erfc, "erfc", "1 - erf(x) of f64.")
erf_inv = ufunc(REAL_erf_inv, "erf_inv", "The inverse of the error function of f64.")
sine = ufunc(REAL_sine, "sine", "The sine of f64.")
cosine = ufunc(REAL_cosine, "cosine", "The cosine of f64.")
exponential = ufunc(REAL_exponential, "exponential", "e to the power of x of f64.")
logistic = ufunc(REAL_logistic, "logistic", "1 / (1 + exp(-x)) of f64.")
tanh = ufunc(REAL_tanh, "tanh", "The hyperbolic tangent of f64.")
cbrt = ufunc(REAL_cbrt, "cbrt", "The cube root of f64.")
logarithm = ufunc(REAL_logarithm, "logarithm", "The natural logarithm of f64.")
log_plus_one = ufunc(REAL_log_plus_one, "log_plus_one", "log(1 + x) of f64.")
exponential_minus_one = ufunc(REAL_exponential_minus_one, "exponential_minus_one", "exp(x) - 1 of f64.")
tangent = ufunc(REAL_tangent, "tangent", "The tangent of f64.")
sinh = ufunc(REAL_sinh, "sinh", "The hyperbolic sine of f64.")
cosh = ufunc(REAL_cosh, "cosh", "The hyperbolic cosine of f64.")
asin = ufunc(REAL_asin, "asin", "The inverse sine of f64.")
acos = ufunc(REAL_acos, "acos", "The inverse cosine of f64.")
atan = ufunc(REAL_atan, "atan", "The inverse tangent of f64.")
asinh = ufunc(REAL_asinh, "asinh", "The inverse hyperbolic sine of f64.")
acosh = ufunc(REAL_acosh, "acosh", "The inverse hyperbolic cosine of f64.")
atanh = ufunc(REAL_atanh, "atanh", "The inverse hyperbolic tangent of f64.")
power = ufunc(REAL_power, "power", "x to the power of y of f64.", 2)
atan2 = ufunc(REAL_atan2, "atan2", "The angle of the point (x2, x1) of f64.", 2)
fast_erf = ufunc(REAL_fast_erf, "fast_erf", "The error function of f32.")
fast_erfc = ufunc(REAL_fast_erfc, "fast_erfc", "1 minus the error function of f32.")
fast_exponential = ufunc(REAL_fast_exponential, "fast_exponential", "e to the power of x of f32.")
fast_exponential_minus_one = ufunc(
    REAL_fast_exponential_minus_one, "fast_exponential_minus_one", "exp(x) - 1 of f32."
)
fast_logarithm = ufunc(REAL_fast_logarithm, "fast_logarithm", "The natural logarithm of f32.")
fast_log_plus_one = ufunc(REAL_fast_log_plus_one, "fast_log_plus_one", "log(1 + x) of f32.")
fast_tanh = ufunc(REAL_fast_tanh, "fast_tanh", "The hyperbolic tangent of f32.")
fast_sine = ufunc(REAL_fast_sine, "fast_sine", "The sine of f32.")
fast_cosine = ufunc(REAL_fast_cosine, "fast_cosine", "The cosine of f32.")
fast_tangent = ufunc(REAL_fast_tangent, "fast_tangent", "The tangent of f32.")
fast_sinh = ufunc(REAL_fast_sinh, "fast_sinh", "The hyperbolic sine of f32.")
fast_cosh = ufunc(REAL_fast_cosh, "fast_cosh", "The hyperbolic cosine of f32.")
fast_asin = ufunc(REAL_fast_asin, "fast_asin", "The inverse sine of f32.")
fast_acos = ufunc(REAL_fast_acos, "fast_acos", "The inverse cosine of f32.")
fast_atan = ufunc(REAL_fast_atan, "fast_atan", "The inverse tangent of f32.")
fast_cbrt = ufunc(REAL_fast_cbrt, "fast_cbrt", "The cube root of f32.")
fast_erf_inv = ufunc(REAL_fast_erf_inv, "fast_erf_inv", "The inverse of the error function of f32.")
fast_power = ufunc(REAL_fast_power, "fast_power", "x to the power of y of f32.", 2)
fast_atan2 = ufunc(REAL_fast_atan2, "fast_atan2", "The angle of the point (x2, x1) of f32.", 2)
