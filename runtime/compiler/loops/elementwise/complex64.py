"""Functions of complex<f32> values, all but one computed in f64.

Those of roots and quotients alone round as `program/ops/numerics/complex64_functions.py` does.

Source: specification, section "Ops"; C99, annex G, for values that are not finite.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from llvmlite import ir

from ..llvm.values import F32, F64, Value
from ..mathematics.exponential import exp as exp_of_real
from ..mathematics.logarithm import log_of_modulus
from ..mathematics.reals import Condition, Real, where
from ..mathematics.trigonometry import atan2, cos, sin

Pair = tuple[Real, Real]

_EXP_REACH = 300.0
"""exp of larger numbers is infinite in f32, even times the smallest sine."""


def _widened(x: Real) -> Real:
    return Real(x.builder, x.builder.fpext(x.value, F64))


def _in_f64(function: Callable[..., Pair]) -> Callable[..., Value]:
    """Convert a function of pairs in f64 to an emitter of elements in register form."""

    def emit(builder: ir.IRBuilder, *operands: Value) -> Value:
        wide = [tuple([_widened(Real(builder, component)) for component in operand]) for operand in operands]
        return tuple([builder.fptrunc(component.value, F32) for component in function(*wide)])

    return emit


def _is_infinite(x: Real) -> Condition:
    return abs(x).compare("==", math.inf)


def _are_finite(x: Real, y: Real) -> Condition:
    return abs(x).compare("<", math.inf) & abs(y).compare("<", math.inf)


def absolute(builder: ir.IRBuilder, z: Value) -> Value:
    """The modulus, in f32; infinite where either component is."""
    x, y = (abs(Real(builder, component)) for component in z)
    greater = where(x.compare(">", y), x, y)
    is_great, is_small = greater.compare(">", 2.0**60), greater.compare("<", 2.0**-60)
    scale = where(is_great, 2.0**-70, where(is_small, 2.0**100, x.like(1.0)))
    unscale = where(is_great, 2.0**70, where(is_small, 2.0**-100, x.like(1.0)))
    a, b = x * scale, y * scale
    root = (a * a + b * b).sqrt()
    is_infinite = _is_infinite(x) | _is_infinite(y)
    return (where(is_infinite, math.inf, root * unscale).value,)


def _divide(lhs: Pair, rhs: Pair) -> Pair:
    (a, b), (c, d) = lhs, rhs
    inverse = 1.0 / (c * c + d * d)
    return _by_annex_g(((a * c + b * d) * inverse, (b * c - a * d) * inverse), lhs, rhs)


def _by_annex_g(quotient: Pair, lhs: Pair, rhs: Pair) -> Pair:
    """The quotient; where both components are NaN, infinite or zero where annex G says so."""
    (a, b), (c, d), (real, imaginary) = lhs, rhs, quotient
    a_unit, b_unit, c_unit, d_unit = (
        where(_is_infinite(x), 1.0, x.like(0.0)).with_sign_of(x) for x in (a, b, c, d)
    )
    infinity = c.like(math.inf).with_sign_of(c)
    by_zero = c.compare("==", 0.0) & d.compare("==", 0.0) & ~(a.is_nan() & b.is_nan())
    infinite_lhs = (_is_infinite(a) | _is_infinite(b)) & _are_finite(c, d)
    infinite_rhs = (_is_infinite(c) | _is_infinite(d)) & _are_finite(a, b)
    unclear = real.is_nan() & imaginary.is_nan()
    candidates = (
        (infinite_rhs, (a * c_unit + b * d_unit) * 0.0, (b * c_unit - a * d_unit) * 0.0),
        (infinite_lhs, (a_unit * c + b_unit * d) * math.inf, (b_unit * c - a_unit * d) * math.inf),
        (by_zero, infinity * a, infinity * b),
    )
    for condition, other_real, other_imaginary in candidates:
        chosen = unclear & condition
        real, imaginary = where(chosen, other_real, real), where(chosen, other_imaginary, imaginary)
    return real, imaginary


def _sqrt(z: Pair) -> Pair:
    """The square root with a real part that is not negative."""
    x, y = z
    root = ((abs(x) + (x * x + y * y).sqrt()) * 0.5).sqrt()
    rest = where(root.compare("==", 0.0), 0.0, abs(y) / (root * 2.0))
    left = x.has_sign()
    real, size = where(left, rest, root), where(left, root, rest)
    # An infinite component decides, first the imaginary one; the other one is zero, or NaN of NaN.
    nothing = abs(y) * 0.0
    real = where(_is_infinite(x), where(left, nothing, math.inf), real)
    size = where(_is_infinite(x), where(left, math.inf, nothing), size)
    real, size = (where(_is_infinite(y), math.inf, component) for component in (real, size))
    return real, size.with_sign_of(y)


def _rsqrt(z: Pair) -> Pair:
    """1 / sqrt(z)."""
    x, _ = z
    return _divide((x.like(1.0), x.like(0.0)), _sqrt(z))


def _sign(z: Pair) -> Pair:
    """z / |z|; zero for zero, NaN in both components where the modulus is infinite or NaN."""
    x, y = z
    modulus = (x * x + y * y).sqrt()
    inverse = where(modulus.compare("==", 0.0), 0.0, 1.0 / modulus)
    is_finite = modulus.compare("<", math.inf)
    return where(is_finite, x * inverse, math.nan), where(is_finite, y * inverse, math.nan)


def _exp(z: Pair) -> Pair:
    """exp(x) (cos(y), sin(y))."""
    x, y = z
    size = exp_of_real(x, upper=_EXP_REACH)
    return exp_by_annex_g((size * cos(y), where(y.compare("==", 0.0), y, size * sin(y))), z, size)


def exp_by_annex_g(product: Pair, z: Pair, size: Real) -> Pair:
    """exp(x) (cos(y), sin(y)) for a number x + i y; where the angle y is infinite or NaN and x is infinite,
    zeros or an infinity as annex G says.

    Args:
        product: exp(x) (cos(y), sin(y)), each factor rounded.
        z: x and y.
        size: a number that is zero where exp(x) is, and infinite where it is.
    """
    (real, imaginary), (x, y) = product, z
    without_angle = _is_infinite(x) & ~abs(y).compare("<", math.inf)
    vanishes = without_angle & x.compare("<", 0.0)
    zero = y.like(0.0).with_sign_of(y)
    return where(without_angle, size, real), where(vanishes, zero, imaginary)


def _log(z: Pair) -> Pair:
    """The logarithm of the modulus, and the angle."""
    x, y = z
    return log_of_modulus(x, y), atan2(y, x)


divide = _in_f64(_divide)
sqrt = _in_f64(_sqrt)
rsqrt = _in_f64(_rsqrt)
sign = _in_f64(_sign)
exponential = _in_f64(_exp)
log = _in_f64(_log)
