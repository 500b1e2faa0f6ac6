"""log and functions based on it, of f32 arguments; results are correct once rounded to f32 or less."""

from __future__ import annotations

import math

from .coefficients import LOG, LOG_NEXT, SHORT_LOG_OF_2, TWO_THIRDS
from .exponential import exp
from .reals import Real, exact_product, exact_sum, exact_sum_ordered, mantissa_and_exponent, polynomial, where

_MIN_MANTISSA = math.sqrt(0.5)


def _log_of_scaled(f: Real, k: Real) -> Real:
    """log((1 + f) * 2^k) by s = f / (2 + f): log(1 + f) = f - s * (f - s^2 * ...)."""
    s = f / (f + 2.0)
    z = s * s
    correction = s * z.fma(polynomial(z, LOG), -f)
    high, low = SHORT_LOG_OF_2
    # k * high is exact.
    return k.fma(high, f + k.fma(low, correction))


def positive_log(x: Real) -> Real:
    """log of positive finite values; error 0.65."""
    m, k = mantissa_and_exponent(x, _MIN_MANTISSA)
    return _log_of_scaled(m - 1.0, k)


def log(x: Real) -> Real:
    """The natural logarithm; error 0.65."""
    return with_poles(positive_log(x), x, 0.0)


def log_of_modulus(x: Real, y: Real) -> Real:
    """log(sqrt(x^2 + y^2)) of values that f32 holds, whose squares are exact; error 0.8."""
    a, b = x * x, y * y
    square, lost = exact_sum(a, b)
    m, k = mantissa_and_exponent(square, _MIN_MANTISSA)
    # Near 1 the sum's rounding error counts.
    f = where(k.compare("==", 0.0), (m - 1.0) + lost, m - 1.0)
    value = where(square.compare("==", 0.0), -math.inf, _log_of_scaled(f, k) * 0.5)
    either = a.compare("==", math.inf) | b.compare("==", math.inf)
    return where(either, math.inf, where(square.is_nan(), square, value))


def log1p(x: Real) -> Real:
    """log(1 + x), for values that f32 holds and for any f64 that is not negative; error 0.65."""
    return with_poles(_positive_log1p(x), x, -1.0)


def _positive_log1p(x: Real) -> Real:
    m, k = mantissa_and_exponent(x + 1.0, _MIN_MANTISSA)
    # Where x is small 1 + x has lost digits, but x has them.
    return _log_of_scaled(where(k.compare("==", 0.0), x, m - 1.0), k)


def with_poles(value: Real, x: Real, pole: float) -> Real:
    """The value; -infinity at the pole, NaN below it; NaN, infinity and -0 of themselves."""
    value = where(x.compare("==", pole), -math.inf, value)
    value = where(x.compare(">=", pole), value, math.nan)
    value = where(x.compare("==", math.inf), math.inf, value)
    return value if pole == 0.0 else where(x.compare("==", 0.0), x, value)


def atanh(x: Real) -> Real:
    """The inverse of the hyperbolic tangent: log1p(2 |x| / (1 - |x|)) / 2; error 1.7."""
    a = abs(x)
    value = _positive_log1p((a * 2.0) / (1.0 - a)) * 0.5
    value = where(a.compare("==", 1.0), math.inf, value)
    return where(a.compare("<=", 1.0), value.with_sign_of(x), math.nan)


def asinh(x: Real) -> Real:
    """The inverse of the hyperbolic sine: log1p(|x| + x^2 / (1 + sqrt(1 + x^2))); error 2.5."""
    a = abs(x)
    square = a * a
    value = _positive_log1p(a + square / (1.0 + (square + 1.0).sqrt()))
    return where(a.compare("<", math.inf), value.with_sign_of(x), x)


def acosh(x: Real) -> Real:
    """The inverse of the hyperbolic cosine: log1p(t + sqrt(x^2 - 1)), where t = x - 1; error 1.1."""
    value = _positive_log1p((x - 1.0) + x.fma(x, -1.0).sqrt())
    value = where(x.compare("==", math.inf), math.inf, value)
    return where(x.compare(">=", 1.0), value, math.nan)


def _log_high_low(x: Real) -> tuple[Real, Real]:
    """log of a positive value that f32 holds, as a sum with an error below 2^-62 of its value."""
    m, k = mantissa_and_exponent(x, _MIN_MANTISSA)
    f = m - 1.0
    divisor = f + 2.0
    reciprocal = 1.0 / divisor
    s = f * reciprocal
    s_low = (-s).fma(divisor, f) * reciprocal
    z, z_low = exact_product(s, s)
    z_low = z_low + s * s_low * 2.0
    third, third_low = exact_product(z, TWO_THIRDS[0])
    third_low = third_low + z.fma(TWO_THIRDS[1], z_low * TWO_THIRDS[0]) + z * z * polynomial(z, LOG_NEXT)
    term, term_low = exact_product(s, third)
    term_low = term_low + s.fma(third_low, s_low * third)
    high, low = exact_sum_ordered(s * 2.0, term)
    low = low + (s_low * 2.0 + term_low)
    total, total_low = exact_sum_ordered(k * SHORT_LOG_OF_2[0], high)
    return exact_sum_ordered(total, total_low + k.fma(SHORT_LOG_OF_2[1], low))


def power(x: Real, y: Real) -> Real:
    """x to the power of y, with C's rules for what is no number; error 0.9."""
    a = abs(x)
    high, low = _log_high_low(a)
    high = where(a.compare("==", 0.0), -math.inf, where(a.compare("==", math.inf), math.inf, high))
    product, rest = exact_product(y, high)
    rest = rest + y * low
    size = exp(product, where(abs(product).compare("<", 200.0), rest, 0.0))
    half = y * 0.5
    is_integer = y.rint().compare("==", y)
    is_odd = is_integer & half.rint().compare("one", half)
    value = where(is_odd, size.with_sign_of(x), size)
    is_negative = x.compare("<", 0.0) & x.compare(">", -math.inf)
    value = where(is_negative & ~is_integer, math.nan, value)
    value = where(x.is_nan() | y.is_nan(), math.nan, value)
    is_minus_one = x.compare("==", -1.0) & abs(y).compare("==", math.inf)
    is_one = x.compare("==", 1.0) | y.compare("==", 0.0)
    return where(is_one | is_minus_one, 1.0, value)
