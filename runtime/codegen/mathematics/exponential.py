"""exp and what is made of it, for arguments that f32 holds; results are right once rounded to f32 or less."""

from __future__ import annotations

import functools
import math

from llvmlite import ir

from ..machine import gathers_quickly
from ..values import integer
from .coefficients import EXP, EXP_STEP, LOG_OF_2, NEAR_EXP
from .reals import (
    Real,
    bits_of,
    looked_up,
    polynomial,
    power_of_two,
    rounded_to_integer,
    times_power,
    where,
)

REACH = 110.0
"""exp of arguments beyond it, and of this, is infinite or zero in f32."""


_STEPS = 256
"""So many entries of the table of powers double them; `EXP_STEP` and `NEAR_EXP` are for it."""


def _reduced(x: Real, tail: Real | None = None) -> tuple[Real, ir.Value]:
    """exp(r) - 1 and the exponent k, in the lowest bits.

    x + tail = r + k * log(2), where |r| <= log(2) / 2.
    """
    k, exponent = rounded_to_integer(x, 1 / math.log(2))
    r = _rest(x, k, LOG_OF_2, tail)
    return (r * r).fma(polynomial(r, EXP), r), exponent


def _rest(x: Real, k: Real, step: tuple[float, float], tail: Real | None) -> Real:
    """x + tail - k * step."""
    high, low = step
    r = (-k).fma(low, (-k).fma(high, x))
    return r if tail is None else r + tail


def exp(x: Real, tail: Real | None = None) -> Real:
    """exp(x + tail); error 0.95."""
    x = x.within(-REACH, REACH)
    if gathers_quickly():
        return _exp_by_table(x, tail)
    p, exponent = _reduced(x, tail)
    return times_power(p + 1.0, exponent)


def _exp_by_table(x: Real, tail: Real | None) -> Real:
    """exp as 2^(k / 256) * exp(r), with fewer terms."""
    k, bits = rounded_to_integer(x, _STEPS / math.log(2))
    r = _rest(x, k, EXP_STEP, tail)
    builder, (type, mantissa, *_) = x.builder, x.layout
    exponent = builder.shl(bits, integer(type, mantissa - (_STEPS.bit_length() - 1)))
    power = x.from_bits(builder.add(looked_up(builder, "powers", _powers(), bits), exponent))
    return power.fma((r * r).fma(polynomial(r, NEAR_EXP), r), power)


@functools.cache
def _powers() -> tuple[int, ...]:
    """The bits of 2^(k / 256), less those of k where it is added to the exponent's place."""
    one = 1 << 256
    root = 2 * one
    for _ in range(_STEPS.bit_length() - 1):
        root = math.isqrt(root * one)
    entries, power = [], one
    for k in range(_STEPS):
        entries.append(bits_of(power / one) - (k << 52) // _STEPS)
        power = power * root // one
    return tuple(entries)


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
    """The hyperbolic cosine; error 1.4."""
    e = exp(abs(x))
    return (e + 1.0 / e) * 0.5
