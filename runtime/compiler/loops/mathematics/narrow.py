"""Functions of floats of at most 8 significant bits, such as bf16, computed in f32.

Twice as many values of f32 as of f64 fit into a vector. The functions' error is some 2^-22 of the value; that
their results, once rounded, are those of the references is tested for every value of every such type.
"""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir

from ..llvm.values import integer
from .coefficients import NARROW_ERF, NARROW_EXP, NARROW_LOG, NARROW_LOG_OF_2
from .logarithm import with_poles
from .reals import Real, mantissa_and_exponent, polynomial, power_of_two, rounded_to_integer, scaled, where

_LEAST_NORMAL, _RAISED = 2.0**-126, 24


def _reduced(x: Real) -> tuple[Real, ir.Value]:
    """exp(r) - 1 and the integer k, shifted, where x = r + k * log(2) and |r| <= log(2) / 2."""
    k, shifted = rounded_to_integer(x, _in_single(1 / math.log(2)))
    high, low = NARROW_LOG_OF_2
    r = (-k).fma(low, (-k).fma(high, x))
    return (r * r).fma(polynomial(r, NARROW_EXP), r), shifted


def exp(x: Real) -> Real:
    """exp(x), subnormal where it has to be."""
    p, shifted = _reduced(x.within(-110.0, 90.0))
    return scaled(p + 1.0, shifted)


def _half_expm1(x: Real) -> Real:
    """(exp(x) - 1) / 2."""
    p, shifted = _reduced(x)
    half = power_of_two(x, x.builder.sub(shifted, integer(shifted.type, 1)))
    return half.fma(p, half - 0.5)


def expm1(x: Real) -> Real:
    """exp(x) - 1."""
    # A sum with a zero would lose the sign of -0.
    return where(x.compare("==", 0.0), x, _half_expm1(x.within(-20.0, 89.0)) * 2.0)


def logistic(x: Real) -> Real:
    """1 / (1 + exp(-x)), through exp(-|x|), which does not overflow."""
    e = exp(-abs(x))
    upper = 1.0 / (e + 1.0)
    return where(x.compare("<", 0.0), e * upper, upper)


def tanh(x: Real) -> Real:
    """The hyperbolic tangent: t / (t + 1), where t = (exp(2 |x|) - 1) / 2."""
    a = abs(x)
    t = _half_expm1((a * 2.0).within(None, 20.0))
    return where(a.compare("<", 2.0**-10), a, t / (t + 1.0)).with_sign_of(x)


def _positive_log(f: Real, k: Real) -> Real:
    """log((1 + f) * 2^k)."""
    return k.fma(_in_single(math.log(2)), f * polynomial(f, NARROW_LOG))


def log(x: Real) -> Real:
    """The natural logarithm."""
    is_small = x.compare("<", _LEAST_NORMAL)
    m, k = mantissa_and_exponent(where(is_small, x * 2.0**_RAISED, x), _in_single(math.sqrt(0.5)))
    k = where(is_small, k - float(_RAISED), k)
    return with_poles(_positive_log(m - 1.0, k), x, 0.0)


def log1p(x: Real) -> Real:
    """log(1 + x)."""
    m, k = mantissa_and_exponent(x + 1.0, _in_single(math.sqrt(0.5)))
    # Where x is small 1 + x has lost digits, but x has them.
    f = where(k.compare("==", 0.0), x, m - 1.0)
    return with_poles(_positive_log(f, k), x, -1.0)


def erf(x: Real) -> Real:
    """The error function, which rounds to 1 beyond 3."""
    t = x.within(-3.0, 3.0)
    return t * polynomial(t * t, NARROW_ERF)


def _in_single(value: float) -> float:
    """The nearest value of f32."""
    return float(np.float32(value))
