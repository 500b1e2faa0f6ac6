"""Functions of complex<f64> by `kernels/math/complex_functions.pyx`, imported where a program needs it."""

from __future__ import annotations

from .real_functions import MathFunction


class ComplexFunction(MathFunction):
    """A function on arrays of complex<f64>."""

    module = "complex_functions"


modulus = ComplexFunction("modulus")
square_root = ComplexFunction("square_root")
logarithm = ComplexFunction("logarithm")
log_plus_one = ComplexFunction("log_plus_one")
sinh = ComplexFunction("sinh")
cosh = ComplexFunction("cosh")
tanh = ComplexFunction("tanh")
sine = ComplexFunction("sine")
cosine = ComplexFunction("cosine")
tangent = ComplexFunction("tangent")
asin_acos = ComplexFunction("asin_acos")
asin = ComplexFunction("asin")
acos = ComplexFunction("acos")
asinh = ComplexFunction("asinh")
acosh = ComplexFunction("acosh")
atan = ComplexFunction("atan")
atanh = ComplexFunction("atanh")
