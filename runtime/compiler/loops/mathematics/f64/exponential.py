"""exp and functions based on it.

exp(x) is 2^k (1 + p), where p is a polynomial in the reduced argument x - k log(2). What is to be near 0
takes p as a sum of two numbers.
"""

from __future__ import annotations

import math

from .....kernels.named_tuples import NamedTuple
from ..coefficients import EXP, EXP_CUBE, INVERSE_LOG_OF_2, MINUS_THIRD, SHORT_LOG_OF_2, TANH
from ..reals import (
    DoubleDouble,
    Real,
    exact_product,
    exact_sum,
    exact_sum_ordered,
    integral_power_of_two,
    polynomial,
    rounded_to_integer,
    where,
)
from .arithmetic import clamped, double, quotient, scaled

MAX_EXPONENT = 710.0
"""exp of larger numbers is infinite."""

_MIN_EXPONENT = -746.0
"""exp of smaller numbers is 0."""

NORMAL_EXPONENTS = 708.0
"""Within it 2^k is a normal number."""

_TANH_SATURATION = 20.0
"""From here on tanh is 1."""

_MINUS_ONE_EXPONENT = -40.0
"""From here on down exp(x) - 1 is -1."""

_TINY_EXPONENT = 2.0**-54
"""exp(x) - 1 of smaller magnitudes is x."""

_MAX_HYPERBOLIC = 710.5
"""From here on sinh and cosh are infinite."""

TINY_HYPERBOLIC = 2.0**-28
"""sinh(x) of smaller magnitudes is x."""


class ScaledPower(NamedTuple):
    """power * 2^exponent."""

    power: Real
    exponent: Real


def scaled_power(x: Real, low: Real | None = None) -> ScaledPower:
    """exp(x + low), for |x| up to 2200."""
    k, _ = rounded_to_integer(x, INVERSE_LOG_OF_2[0])
    step, step_rest = SHORT_LOG_OF_2
    # k step is exact, and so is `lost` before more is added to it.
    high = (-k).fma(step, x)
    total, lost = exact_sum_ordered(1.0, high)
    reduced, lost = (_plus((-k).fma(step_rest, value), low) for value in (high, lost))
    return ScaledPower(total + (reduced * reduced).fma(polynomial(reduced, EXP), lost), k)


def _plus(value: Real, low: Real | None) -> Real:
    return value if low is None else value + low


def exponential_in_range(x: Real) -> Real:
    """exp(x), for |x| < NORMAL_EXPONENTS; error 0.7."""
    power, k = scaled_power(x)
    return power * integral_power_of_two(k)


def exponential_of_sum(x: Real, low: Real | None) -> Real:
    """exp(x + low), where low is small."""
    power, k = scaled_power(clamped(x, _MIN_EXPONENT, MAX_EXPONENT), low)
    # Negation could change the sign of NaN.
    return where(x.is_number(), times_power(power, k), x + x)


def times_power(x: Real, k: Real) -> Real:
    """x * 2^k in two factors: 2^k alone may underflow or overflow."""
    magic = k.layout.magic
    half = (k * 0.5 + magic) - magic
    return x * integral_power_of_two(half) * integral_power_of_two(k - half)


def exponential(x: Real) -> Real:
    """exp(x); error 0.7."""
    return exponential_of_sum(x, None)


def logistic(x: Real) -> Real:
    """1 / (1 + exp(-x)); error 2."""
    return where(x.is_number(), 1.0 / (exponential(-x) + 1.0), x + x)


def tanh(x: Real) -> Real:
    """The hyperbolic tangent: a polynomial up to 0.9, 1 - 2 / (exp(2 x) + 1) beyond; error 1."""
    magnitude = abs(x)
    clamped = where(magnitude.compare("<", _TANH_SATURATION), magnitude, _TANH_SATURATION)
    large = 1.0 - 2.0 / (exponential_in_range(clamped * 2.0) + 1.0)
    value = where(magnitude.compare("<", 0.9), _small_tanh(magnitude), large).with_sign_of(x)
    return where(x.is_number(), value, x + x)


def _small_tanh(x: Real) -> Real:
    z = x * x
    cube = x * z
    slope, slope_rest = MINUS_THIRD
    return x + cube.fma(slope, cube * z.fma(polynomial(z, TANH), slope_rest))


def _power_excess(x: Real) -> tuple[DoubleDouble, Real]:
    """p and k, where exp(x) is 2^k (1 + p)."""
    k, _ = rounded_to_integer(x, INVERSE_LOG_OF_2[0])
    step, step_rest = SHORT_LOG_OF_2
    high = (-k).fma(step, x)
    reduced = (-k).fma(step_rest, high)
    reduced_low = (-k).fma(step_rest, high - reduced)
    square, square_low = exact_product(reduced, reduced)
    total, lost = exact_sum_ordered(reduced, square * 0.5)
    square_low = reduced.fma(reduced_low, square_low * 0.5)
    curve = polynomial(reduced, EXP_CUBE)
    return DoubleDouble(total, lost + (square * reduced).fma(curve, reduced_low + square_low)), k


def exponential_minus_one(x: Real) -> Real:
    """exp(x) - 1; error 0.6."""
    excess, k = _power_excess(clamped(x, _MINUS_ONE_EXPONENT, MAX_EXPONENT))
    # Half of the result: 2^k alone may overflow.
    half_power = integral_power_of_two(k - 1.0)
    start, start_low = exact_sum(half_power, -0.5)
    total, lost = exact_sum(start, half_power * excess.high)
    half = total + (lost + half_power.fma(excess.low, start_low))
    value = where(abs(x).compare("<", _TINY_EXPONENT), x, half * 2.0)
    return where(x.is_number(), value, x + x)


def half_hyperbolic(x: Real, sign: Real) -> DoubleDouble:
    """(exp(x) + sign exp(-x)) / 4, for x >= 0."""
    excess, k = _power_excess(where(x.compare("<", _MAX_HYPERBOLIC), x, _MAX_HYPERBOLIC))
    total, lost = exact_sum_ordered(1.0, excess.high)
    # A quarter of the power: its half may overflow.
    power = scaled(exact_sum_ordered(total, lost + excess.low), integral_power_of_two(k - 2.0))
    inverse = quotient(double(x, 0.0625), power)
    value, value_low = exact_sum(power.high, sign * inverse.high)
    return DoubleDouble(value, value_low + sign.fma(inverse.low, power.low))


def _hyperbolic(x: Real, sign: float) -> Real:
    """(exp(x) + sign exp(-x)) / 2, for x >= 0."""
    high, low = half_hyperbolic(x, x.like(sign))
    return (high + low) * 2.0


def sinh(x: Real) -> Real:
    """The hyperbolic sine; error 0.6."""
    magnitude = abs(x)
    value = _hyperbolic(magnitude, -1.0).with_sign_of(x)
    value = where(magnitude.compare("<", _MAX_HYPERBOLIC), value, x * math.inf)
    return where(magnitude.compare(">=", TINY_HYPERBOLIC), value, x)


def cosh(x: Real) -> Real:
    """The hyperbolic cosine; error 0.55."""
    magnitude = abs(x)
    value = where(magnitude.compare("<", _MAX_HYPERBOLIC), _hyperbolic(magnitude, 1.0), math.inf)
    return where(x.is_number(), value, x + x)
