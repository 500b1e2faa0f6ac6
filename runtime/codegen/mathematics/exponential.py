"""exp and what is made of it, for arguments that f32 holds; results are right once rounded to f32 or less."""

from __future__ import annotations

import math

from llvmlite import ir

from .coefficients import EXP, LOG_OF_2
from .reals import Real, polynomial, power_of_two, rounded_to_integer, times_power, where

REACH = 110.0
"""exp of arguments beyond it, and of this, is infinite or zero in f32."""


def _reduced(x: Real, tail: Real | None = None) -> tuple[Real, ir.Value]:
    """exp(r) - 1 and the exponent k, in the lowest bits.

    x + tail = r + k * log(2), where |r| <= log(2) / 2.
    """
    k, exponent = rounded_to_integer(x, 1 / math.log(2))
    high, low = LOG_OF_2
    r = (-k).fma(low, (-k).fma(high, x))
    if tail is not None:
        r = r + tail
    return (r * r).fma(polynomial(r, EXP), r), exponent


def exp(x: Real, tail: Real | None = None) -> Real:
    """exp(x + tail); error 0.8."""
    p, exponent = _reduced(x.within(-REACH, REACH), tail)
    return times_power(p + 1.0, exponent)


def expm1(x: Real) -> Real:
    """exp(x) - 1; error 0.95."""
    p, exponent = _reduced(x.within(-REACH, REACH))
    scale = power_of_two(x, exponent)
    # A sum with a zero would lose the sign of -0.
    return where(x.compare("==", 0.0), x, scale.fma(p, scale - 1.0))


def logistic(x: Real) -> Real:
    """1 / (1 + exp(-x)); error 1.6."""
    return 1.0 / (1.0 + exp(-x))


def tanh(x: Real) -> Real:
    """The hyperbolic tangent: t / (t + 2), where t = exp(2 |x|) - 1; error 1.7."""
    p, exponent = _reduced((abs(x) * 2.0).within(None, 40.0))
    scale = power_of_two(x, exponent)
    t = scale.fma(p, scale - 1.0)
    return (t / (t + 2.0)).with_sign_of(x)


def sinh(x: Real) -> Real:
    """The hyperbolic sine: (t + t / (t + 1)) / 2, where t = exp(|x|) - 1; error 1.6."""
    t = expm1(abs(x))
    return ((t + t / (t + 1.0)) * 0.5).with_sign_of(x)


def cosh(x: Real) -> Real:
    """The hyperbolic cosine; error 1."""
    e = exp(abs(x))
    return (e + 1.0 / e) * 0.5
