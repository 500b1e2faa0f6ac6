"""log, log1p and powers in f32. The errors stated are in ulps of f32."""

from __future__ import annotations

import math

import numpy as np

from ...llvm.values import BIT, F32, F64
from ..coefficients import FAST_BINARY_LOG, FAST_LOG, FAST_POWER_OF_TWO, NARROW_LOG_OF_2
from ..logarithm import with_poles
from ..reals import (
    Condition,
    DoubleDouble,
    Real,
    exact_sum,
    exact_sum_ordered,
    integral_power_of_two,
    mantissa_and_exponent,
    polynomial,
    rounded_to_integer,
    times_power,
    where,
)

MIN_MANTISSA = float(np.float32(math.sqrt(0.5)))
_MIN_NORMAL, _RAISED = 2.0**-126, 24
_MAX_POWER = 200.0
"""2 to the power of it is infinite in f32, and its inverse zero."""


def log_of_scaled(f: Real, k: Real, f_low: Real | None = None) -> DoubleDouble:
    """log((1 + f + f_low) * 2^k), whose large terms k * log(2) and f are added as a sum of two."""
    high, low = NARROW_LOG_OF_2
    # k * high is exact.
    total, lost = exact_sum_ordered(k * high, f)
    rest = k.fma(low, lost)
    if f_low is not None:
        # f_low / (1 + f) is at most half an ulp of f: the first two terms are enough.
        rest = rest + (-f_low).fma(f, f_low)
    z = f * f
    return DoubleDouble(total, z.fma(-0.5, (z * f).fma(polynomial(f, FAST_LOG), rest)))


def _total(value: DoubleDouble) -> Real:
    return value.high + value.low


def _scaled(x: Real) -> tuple[Real, Real]:
    """f and k of a positive x = (1 + f) * 2^k."""
    is_subnormal = x.compare("<", _MIN_NORMAL)
    m, k = mantissa_and_exponent(where(is_subnormal, x * 2.0**_RAISED, x), MIN_MANTISSA)
    return m - 1.0, where(is_subnormal, k - float(_RAISED), k)


def log(x: Real) -> Real:
    """The natural logarithm; error 0.86."""
    return with_poles(_total(log_of_scaled(*_scaled(x))), x, 0.0)


def log1p(x: Real) -> Real:
    """log(1 + x); error 0.87. With 1 + x = (1 + f) * 2^k, f = x * 2^-k + (2^-k - 1)."""
    builder, layout = x.builder, x.layout
    _, k = mantissa_and_exponent(x + 1.0, MIN_MANTISSA)
    exponent = builder.sub(x.like(layout.magic).bits(), (k + layout.magic).bits())
    # 2^-k may be subnormal, and twice as much is not.
    f, low = exact_sum(integral_power_of_two(1.0 - k).fma(0.5, -1.0), times_power(x, exponent))
    return with_poles(_total(log_of_scaled(f, k, low)), x, -1.0)


def _parity(y: Real) -> tuple[Condition, Condition]:
    """Whether a number is an integer, and whether it is an odd one."""
    builder, a = y.builder, abs(y)
    one = 2.0**y.layout.mantissa
    is_small = a.compare("<", one)
    # The lowest bit of what is not below `one`, and below its double, is that of the integer.
    shifted = where(is_small, a + one, a)
    is_integer = where(is_small, shifted - one, a).compare("==", a)
    last_bit = Condition(builder, builder.trunc(shifted.bits(), BIT))
    return is_integer, is_integer & last_bit & a.compare("<", 2 * one)


def power(x: Real, y: Real) -> Real:
    """x to the power of y; error 0.58. Special values are those of C99, annex F.9.4.4.

    It is 2^(y log2(x)), whose exponent needs more digits than f32 has: both functions are computed in f64.
    """
    a = abs(x)
    f, k = _scaled(a)
    # An infinity or a NaN is its own logarithm.
    k = where(a.compare("==", 0.0), -math.inf, where(a.compare("<", math.inf), k, a))
    f = f.as_type(F64)
    log = f.fma(polynomial(f, FAST_BINARY_LOG), k.as_type(F64))
    exponent = (log * y.as_type(F64)).within(-_MAX_POWER, _MAX_POWER)
    integral, bits = rounded_to_integer(exponent, 1.0)
    t = exponent - integral
    size = times_power(t.fma(polynomial(t, FAST_POWER_OF_TWO), 1.0), bits).as_type(F32)
    is_integer, is_odd = _parity(y)
    value = where(is_odd, size.with_sign_of(x), size)
    is_negative = x.compare("<", 0.0) & x.compare(">", -math.inf)
    value = where(is_negative & ~is_integer, math.nan, value)
    is_minus_one = x.compare("==", -1.0) & abs(y).compare("==", math.inf)
    return where(x.compare("==", 1.0) | y.compare("==", 0.0) | is_minus_one, 1.0, value)
