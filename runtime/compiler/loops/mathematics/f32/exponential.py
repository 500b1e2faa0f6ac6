"""exp and functions based on it, in f32. The errors stated are in ulps of f32."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from llvmlite import ir

from ...llvm.values import integer
from ..coefficients import FAST_EXP, FAST_EXPM1, FAST_SINH, FAST_TANH, NARROW_LOG_OF_2
from ..reals import (
    Real,
    by_horner,
    exact_sum_ordered,
    polynomial,
    power_of_two,
    rounded_to_integer,
    scaled,
    where,
)

_INVERSE_LOG_OF_2 = float(np.float32(1 / math.log(2)))
_MIN_EXPONENT, _MAX_EXPONENT = -105.0, 89.0
"""exp of smaller arguments, and of these, is zero or infinite."""
_MINUS_ONE_EXPONENT = -18.0
"""exp(x) - 1 is -1 below it."""
_EXPM1_SHIFT = float(np.float32(math.log(1.5) - math.log(2) / 2))
"""Intervals of exp(x) - 1 end at log(3 / 4) and log(3 / 2), where its value is a power of two: errors of the
reduction count most in values just below one."""
_TINY_EXPONENT = 2.0**-25
"""exp(x) - 1 of smaller arguments is x."""
_SINH_NEAR_END = 1.0
"""Arguments up to which a polynomial gives sinh."""
_HYPERBOLIC_REACH = 89.5
"""sinh and cosh of this, and of larger arguments, are infinite."""
_TANH_NEAR_END = 0.975
"""Arguments up to which a polynomial gives tanh: 1 - 2 / (exp(2 x) + 1) loses less digits beyond."""
_TANH_SATURATION = 10.0
"""tanh of larger arguments is 1."""


def _reduced(x: Real, center: float = 0.0) -> tuple[Real, Real, Real, ir.Value]:
    """t, rest, r = t + rest, and k in the lowest bits.

    x = t + rest + k * log(2) with an exact t, where |x - center - k * log(2)| <= log(2) / 2.
    """
    high, low = NARROW_LOG_OF_2
    k, shifted = rounded_to_integer(x - center if center else x, _INVERSE_LOG_OF_2)
    t = (-k).fma(high, x)
    return t, -k * low, (-k).fma(low, t), shifted


def exp(x: Real, scale: Callable[[Real, ir.Value], Real] = scaled) -> Real:
    """exp(x); error 0.90.

    Horner's scheme: fused operations round r times the polynomial, and the result, once each.
    """
    _, _, r, shifted = _reduced(x.within(_MIN_EXPONENT, _MAX_EXPONENT))
    return scale(by_horner(r, (1.0, 1.0, *FAST_EXP)), shifted)


def exp_of_sum(x: Real, x_low: Real) -> tuple[Real, Real, ir.Value]:
    """exp(x + x_low) = (high + low) * 2^k, with a small x_low; the third is k, shifted."""
    t, rest, _, shifted = _reduced(x, _EXPM1_SHIFT)
    rest = rest + x_low
    r = t + rest
    z = r * r
    high, low = exact_sum_ordered(1.0, t)
    p = (z * r).fma(polynomial(r, FAST_EXPM1), z.fma(0.5, low + rest))
    return high, p, shifted


def expm1(x: Real) -> Real:
    """exp(x) - 1 as 2 (2^(k - 1) (1 + p) - 1 / 2), which does not overflow before the last step; error 0.81.
    """
    builder = x.builder
    t, rest, r, shifted = _reduced(x.within(_MINUS_ONE_EXPONENT, _MAX_EXPONENT), _EXPM1_SHIFT)
    z = r * r
    p = (z * r).fma(polynomial(r, FAST_EXPM1), z.fma(0.5, rest))
    scale = power_of_two(x, builder.sub(shifted, integer(shifted.type, 1)))
    difference, lost = exact_sum_ordered(scale, -0.5)
    high, low = exact_sum_ordered(difference, scale * t)
    value = (high + scale.fma(p, low + lost)) * 2.0
    return where(abs(x).compare("<", _TINY_EXPONENT), x, value)


def scale_and_expm1(x: Real) -> tuple[Real, Real]:
    """2^k and p of exp(x) = 2^k (1 + p), which is a normal number."""
    _, _, r, shifted = _reduced(x)
    return power_of_two(x, shifted), (r * r).fma(polynomial(r, FAST_EXP), r)


def tanh(x: Real) -> Real:
    """The hyperbolic tangent; error 0.91."""
    a = abs(x).within(None, _TANH_SATURATION)
    z = a * a
    near = a.fma(z * by_horner(z, FAST_TANH), a)
    scale, p = scale_and_expm1(a * 2.0)
    far = 1.0 - 2.0 / scale.fma(p, scale + 1.0)
    return where(a.compare("<", _TANH_NEAR_END), near, far).with_sign_of(x)


def _quarters(a: Real) -> tuple[Real, Real, Real]:
    """exp(a) / 4 as the sum of two, and exp(-a) / 4, for 0 <= a <= _HYPERBOLIC_REACH.

    Their sum and difference overflow where twice of them does, which is the last step.
    """
    t, rest, r, shifted = _reduced(a)
    one, lost = exact_sum_ordered(1.0, t)
    high, low = exact_sum_ordered(one, (r * r).fma(polynomial(r, FAST_EXP), lost + rest))
    quarter = power_of_two(a, a.builder.sub(shifted, integer(shifted.type, 2)))
    growing = high * quarter
    return growing, low * quarter, 0.0625 / growing


def sinh(x: Real) -> Real:
    """The hyperbolic sine; error 0.83."""
    a = abs(x).within(None, _HYPERBOLIC_REACH)
    z = a * a
    near = a.fma(z * by_horner(z, FAST_SINH), a)
    growing, low, falling = _quarters(a)
    far = (growing + (low - falling)) * 2.0
    return where(a.compare("<", _SINH_NEAR_END), near, far).with_sign_of(x)


def cosh(x: Real) -> Real:
    """The hyperbolic cosine; error 0.88."""
    growing, low, falling = _quarters(abs(x).within(None, _HYPERBOLIC_REACH))
    return (growing + (low + falling)) * 2.0
