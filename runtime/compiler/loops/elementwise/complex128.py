"""Functions of complex<f64> values, by the functions of f64 of `kernels/math`.

They take the same steps as `program/ops/numerics/special_functions.py`.

Source: specification, section "Ops"; C99, annex G, for values that are not finite.
"""

from __future__ import annotations

from llvmlite import ir

from ..llvm.values import Value
from ..mathematics.library import library_function
from ..mathematics.reals import Real, where
from .complex64 import exp_by_annex_g

_exp, _cos, _sin = (library_function(name) for name in ("exponential", "cosine", "sine"))

_SPLIT_EXPONENTS = 700.0
"""exp of larger arguments is computed as a square."""


def exponential(builder: ir.IRBuilder, z: Value) -> Value:
    """exp(real) (cos(imag), sin(imag)).

    The power of a great exponent is multiplied in two factors, because alone it may overflow.
    """
    x, y = (Real(builder, component) for component in z)
    is_great = x.compare(">", _SPLIT_EXPONENTS)
    power = Real(builder, _exp(builder, where(is_great, x * 0.5, x).value))
    factor = where(is_great, power, x.like(1.0))
    real = Real(builder, _cos(builder, y.value)) * power * factor
    imaginary = Real(builder, _sin(builder, y.value)) * power * factor
    product = real, where(y.compare("==", 0.0), y, imaginary)
    real, imaginary = exp_by_annex_g(product, (x, y), power)
    return real.value, imaginary.value
