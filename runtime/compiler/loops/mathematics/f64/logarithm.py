"""log and functions based on it: the inverse hyperbolic functions, and powers.

u is 2^k m, where m is from sqrt(1/2) to sqrt(2); log(m) is 2 atanh(s) = 2 s + s^3 times a polynomial in s^2,
where s = (m - 1) / (m + 1). u and s are sums of two numbers, which keeps the digits of what is near 1.
"""

from __future__ import annotations

import math

from ..coefficients import LOG, LOG_REST, SHORT_LOG_OF_2, TWO_FIFTHS, TWO_THIRDS
from ..reals import (
    DoubleDouble,
    Real,
    exact_product,
    exact_sum,
    exact_sum_ordered,
    integral_power_of_two,
    mantissa_and_exponent,
    polynomial,
    where,
)
from .arithmetic import double, double_double_product, nan_of, quotient, square_root
from .exponential import MAX_EXPONENT, exponential_of_sum

_MIN_MANTISSA = math.sqrt(0.5)
MIN_NORMAL = 2.0**-1022
"""The smallest normal number."""

_MAX_SCALE = 1022.0
"""The largest k for which 2^-k is a normal number."""

TINY_EXCESS = 2.0**-40
"""log(1 + x) of smaller magnitudes is x - x^2 / 2."""

_TINY_ARGUMENT = 2.0**-28
"""asinh(x) and atanh(x) of smaller magnitudes are x."""

_LARGE_ARGUMENT = 2.0**28
"""From here on sqrt(x^2 + 1) and sqrt(x^2 - 1) are x."""


def double_double_logarithm(u: DoubleDouble, doublings: Real) -> DoubleDouble:
    """log(u 2^doublings), for normal numbers u > 0."""
    m, k = mantissa_and_exponent(u.high, _MIN_MANTISSA)
    excess = m - 1.0
    excess_low = u.low * integral_power_of_two(-where(k.compare("<", _MAX_SCALE), k, _MAX_SCALE))
    divisor, divisor_low = exact_sum_ordered(2.0, excess)
    inverse = 1.0 / divisor
    s = excess * inverse
    s_low = ((-s).fma(divisor, excess) + (1.0 - s).fma(excess_low, -s * divisor_low)) * inverse
    z = s * s
    k = k + doublings
    step, step_rest = SHORT_LOG_OF_2
    total, lost = exact_sum_ordered(k * step, s * 2.0)
    return DoubleDouble(total, lost + k.fma(step_rest, (s * z).fma(polynomial(z, LOG), s_low * 2.0)))


def logarithm(x: Real) -> Real:
    """The natural logarithm; error 0.55."""
    is_subnormal = x.compare("<", MIN_NORMAL)
    u = double(x, where(is_subnormal, x * 2.0**54, x))
    total = double_double_logarithm(u, where(is_subnormal, -54.0, x.like(0.0)))
    value = where(x.compare("<", math.inf), total.high + total.low, x + x)
    return where(x.compare(">", 0.0), value, where(x.compare("==", 0.0), -math.inf, nan_of(x)))


def log_plus_one(x: Real) -> Real:
    """log(1 + x); error 0.55."""
    total = double_double_logarithm(exact_sum(1.0, x), x.like(0.0))
    value = where(x.compare("<", math.inf), total.high + total.low, x + x)
    value = where(abs(x).compare("<", TINY_EXCESS), (x * -0.5).fma(x, x), value)
    return where(x.compare(">", -1.0), value, where(x.compare("==", -1.0), -math.inf, nan_of(x)))


def _logarithm_with_root(magnitude: Real, square_added: float) -> Real:
    """The logarithm of |x| + sqrt(x^2 + square_added)."""
    is_large = magnitude.compare(">=", _LARGE_ARGUMENT)
    squared = where(is_large, 1.0, magnitude)
    square, square_low = exact_product(squared, squared)
    radicand, radicand_low = exact_sum(square, square_added)
    root = square_root(DoubleDouble(radicand, radicand_low + square_low))
    u, u_low = exact_sum(root.high, squared)
    u_low = where(is_large, 0.0, u_low + root.low)
    u = where(is_large, magnitude, u)
    total = double_double_logarithm(DoubleDouble(u, u_low), where(is_large, 1.0, u.like(0.0)))
    return total.high + total.low


def asinh(x: Real) -> Real:
    """The inverse of the hyperbolic sine; error 0.6."""
    magnitude = abs(x)
    value = _logarithm_with_root(magnitude, 1.0).with_sign_of(x)
    is_regular = magnitude.compare(">=", _TINY_ARGUMENT) & magnitude.compare("<", math.inf)
    return where(is_regular, value, x)


def acosh(x: Real) -> Real:
    """The inverse of the hyperbolic cosine; error 0.65."""
    value = where(x.compare("<", math.inf), _logarithm_with_root(x, -1.0), x + x)
    return where(x.compare(">=", 1.0), value, nan_of(x))


def atanh(x: Real) -> Real:
    """The inverse of the hyperbolic tangent; error 0.6."""
    magnitude = abs(x)
    ratio = quotient(exact_sum(1.0, magnitude), exact_sum(1.0, -magnitude))
    total = double_double_logarithm(ratio, x.like(0.0))
    value = where(magnitude.compare("==", 1.0), math.inf, (total.high + total.low) * 0.5).with_sign_of(x)
    value = where(magnitude.compare(">=", _TINY_ARGUMENT), value, x)
    return where(magnitude.compare("<=", 1.0), value, nan_of(x))


def _precise_logarithm(x: Real) -> DoubleDouble:
    """log(x), for finite numbers x > 0: 2 s + s^3 (2/3 + s^2 (2/5 + s^2 times a polynomial)), the first terms
    as sums of two numbers.
    """
    is_subnormal = x.compare("<", MIN_NORMAL)
    m, k = mantissa_and_exponent(where(is_subnormal, x * 2.0**54, x), _MIN_MANTISSA)
    excess = m - 1.0
    k = k + where(is_subnormal, -54.0, x.like(0.0))
    s = quotient(double(x, excess), exact_sum(2.0, excess))
    square, square_low = exact_product(s.high, s.high)
    z = DoubleDouble(square, (s.high * 2.0).fma(s.low, square_low))
    curve, curve_low = exact_sum_ordered(TWO_FIFTHS[0], z.high * polynomial(z.high, LOG_REST))
    first = double_double_product(z, double(x, *TWO_THIRDS))
    second = double_double_product(
        double_double_product(z, z), DoubleDouble(curve, curve_low + TWO_FIFTHS[1])
    )
    slope, slope_low = exact_sum_ordered(first.high, second.high)
    term = double_double_product(s, DoubleDouble(slope, slope_low + (first.low + second.low)))
    of_mantissa, of_mantissa_low = exact_sum_ordered(s.high * 2.0, term.high)
    of_mantissa_low = of_mantissa_low + s.low.fma(2.0, term.low)
    # k times the first is exact.
    step, step_rest = SHORT_LOG_OF_2
    total, lost = exact_sum_ordered(k * step, of_mantissa)
    return exact_sum_ordered(total, lost + k.fma(step_rest, of_mantissa_low))


def _truncated(magnitude: Real) -> Real:
    """The nearest integer to a number that is not negative; of two, the even one."""
    return where(magnitude.compare("<", 2.0**52), (magnitude + 2.0**52) - 2.0**52, magnitude)


def power(x: Real, y: Real) -> Real:
    """x to the power of y; error 0.7. Special values are those of C99, annex F.9.4.4."""
    magnitude, exponent_size = abs(x), abs(y)
    is_regular = magnitude.compare(">", 0.0) & magnitude.compare("<", math.inf)
    log, log_low = _precise_logarithm(where(is_regular, magnitude, 1.0))
    log = where(is_regular, log, where(magnitude.compare(">", 0.0), magnitude, -math.inf))
    exponent, exponent_low = double_double_product(double(y, y), DoubleDouble(log, log_low))
    exponent_low = where(abs(exponent).compare("<", MAX_EXPONENT + 40), exponent_low, 0.0)
    size = exponential_of_sum(exponent, exponent_low)
    half = abs(y * 0.5)
    is_integer = _truncated(exponent_size).compare("==", exponent_size)
    is_odd = is_integer & ~_truncated(half).compare("==", half)
    value = where(is_odd, size.with_sign_of(x), size)
    is_negative = x.compare("<", 0.0) & x.compare(">", -math.inf)
    value = where(is_negative & ~is_integer, math.nan, value)
    value = where(x.is_number() & y.is_number(), value, x + y)
    is_minus_one = x.compare("==", -1.0) & exponent_size.compare("==", math.inf)
    return where(x.compare("==", 1.0) | y.compare("==", 0.0) | is_minus_one, 1.0, value)
