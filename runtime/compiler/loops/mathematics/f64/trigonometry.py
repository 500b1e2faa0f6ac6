"""Circular functions and their inverses.

The remainder of x by pi / 2 is computed with 159 bits of pi / 2 as a sum of two numbers, both of which the
polynomials use; kernels/math/large_angles.h reduces magnitudes from MAX_REDUCED on. The inverses are the
angle of a right triangle whose legs are sums of two numbers: c + t, where tan(c) is 0, 1/2 or 1, and t + t^3
times a polynomial in t^2 is the rest.
"""

from __future__ import annotations

import math

from llvmlite import ir

from .....kernels.named_tuples import NamedTuple
from ...llvm.values import I64, integer
from ..coefficients import ATAN_OF_HALF, ATAN_OF_ONE, COS, HALF_PI, NEAR_ATAN, SIN
from ..reals import (
    Condition,
    DoubleDouble,
    Real,
    exact_product,
    exact_sum,
    exact_sum_ordered,
    polynomial,
    rounded_to_integer,
    where,
)
from ..trigonometry import is_odd, negated
from .arithmetic import double, exact_difference, nan_of, quotient, square_root

MAX_REDUCED = 2.0**30
"""Larger magnitudes are reduced by integers."""

_MAX_TANGENT = 2.0**100
"""From here on atan(x) is pi / 2."""

_TINY_TANGENT = 2.0**-28
"""atan(x) and asin(x) of smaller magnitudes are x."""

_LONG_LEG = 2.0**1000
_SHORT_LEG = 2.0**-900
_LEG_SCALE = 2.0**200
"""A longer leg of a triangle beyond the first, or below the second, is scaled by the third."""


class Reduced(NamedTuple):
    """The sine and the cosine of an argument less a multiple of pi / 2, and that multiple in the lowest
    bits."""

    quarter: ir.Value
    sine: DoubleDouble
    cosine: DoubleDouble


def reduced_pair(quarter: ir.Value, r: Real, low: Real) -> Reduced:
    """The sine and the cosine of r + low, and the number of quarter turns before it."""
    z = r * r
    half = z * 0.5
    without = 1.0 - half
    sine_low = (z * r).fma(polynomial(z, SIN), (-half).fma(low, low))
    cosine_low = ((1.0 - without) - half) + (z * z).fma(polynomial(z, COS), -r * low)
    return Reduced(quarter, exact_sum_ordered(r, sine_low), exact_sum_ordered(without, cosine_low))


def reduce_by_half_pi(x: Real) -> Reduced:
    """The remainder of |x| < MAX_REDUCED."""
    k, quarter = rounded_to_integer(x, 2 / math.pi)
    # x is near k HALF_PI: the difference is exact.
    multiple, multiple_low = exact_product(k, HALF_PI[0])
    near, near_low = exact_difference(x - multiple, multiple_low)
    next, next_low = exact_product(k, HALF_PI[1])
    last, last_low = exact_difference(near, next)
    low = (near_low + last_low) - k.fma(HALF_PI[2], next_low)
    r = last + low
    return reduced_pair(quarter, r, (last - r) + low)


def sine_of_reduced(x: Real, reduced: Reduced) -> Real:
    """sin(x) of a reduced x; error 0.8."""
    quarter, sine, cosine = reduced
    value = where(is_odd(x.builder, quarter), cosine.high, sine.high)
    # Zeros keep their signs.
    return where(x.compare("==", 0.0), x, negated(value, quarter))


def cosine_of_reduced(x: Real, reduced: Reduced) -> Real:
    """cos(x) of a reduced x; error 0.8."""
    quarter, sine, cosine = reduced
    value = where(is_odd(x.builder, quarter), sine.high, cosine.high)
    return negated(value, x.builder.add(quarter, integer(I64, 1)))


def tangent_of_reduced(x: Real, reduced: Reduced) -> Real:
    """tan(x) of a reduced x; error 1."""
    quarter, sine, cosine = reduced
    odd = is_odd(x.builder, quarter)
    dividend = DoubleDouble(where(odd, -cosine.high, sine.high), where(odd, -cosine.low, sine.low))
    divisor = DoubleDouble(where(odd, sine.high, cosine.high), where(odd, sine.low, cosine.low))
    tangent = quotient(dividend, divisor)
    return where(x.compare("==", 0.0), x, tangent.high + tangent.low)


def _angle_of(opposite: DoubleDouble, adjacent: DoubleDouble) -> DoubleDouble:
    """atan(opposite / adjacent), for 0 <= opposite <= adjacent."""
    one = opposite.high.like
    is_second = opposite.high.compare(">", adjacent.high * 0.25)
    is_third = opposite.high.compare(">", adjacent.high * 0.75)
    tangent, start, start_rest = (
        where(is_third, third, where(is_second, second, one(0.0)))
        for third, second in zip((1.0, *ATAN_OF_ONE), (0.5, *ATAN_OF_HALF), strict=True)
    )
    dividend, dividend_low = exact_sum(opposite.high, -tangent * adjacent.high)
    divisor, divisor_low = exact_sum(adjacent.high, tangent * opposite.high)
    t = quotient(
        DoubleDouble(dividend, dividend_low + (-tangent).fma(adjacent.low, opposite.low)),
        DoubleDouble(divisor, divisor_low + tangent.fma(opposite.low, adjacent.low)),
    )
    z = t.high * t.high
    angle, lost = exact_sum_ordered(start, t.high)
    return DoubleDouble(angle, lost + (t.high * z).fma(polynomial(z, NEAR_ATAN), start_rest + t.low))


def _shifted_angle(multiple: Real, sign: Real, angle: DoubleDouble) -> Real:
    """multiple pi / 2 + sign angle."""
    total, lost = exact_sum(multiple * HALF_PI[0], sign * angle.high)
    return total + (lost + sign.fma(angle.low, multiple * HALF_PI[1]))


def _smaller_angle(leg: Real) -> tuple[DoubleDouble, Condition]:
    """The smaller acute angle of the triangle with hypotenuse 1 and a leg of 0 <= `leg` <= 1, and whether the
    leg is the longer one.
    """
    square, square_low = exact_product(leg, leg)
    radicand, radicand_low = exact_sum(1.0, -square)
    other, other_low = square_root(DoubleDouble(radicand, radicand_low - square_low))
    is_longer = leg.compare(">", other)
    opposite = DoubleDouble(where(is_longer, other, leg), where(is_longer, other_low, 0.0))
    adjacent = DoubleDouble(where(is_longer, leg, other), where(is_longer, 0.0, other_low))
    return _angle_of(opposite, adjacent), is_longer


def asin(x: Real) -> Real:
    """The angle whose sine is x; error 0.6."""
    magnitude = abs(x)
    angle, is_longer = _smaller_angle(magnitude)
    multiple, sign = where(is_longer, 1.0, x.like(0.0)), where(is_longer, -1.0, x.like(1.0))
    value = _shifted_angle(multiple, sign, angle).with_sign_of(x)
    value = where(magnitude.compare(">=", _TINY_TANGENT), value, x)
    return where(magnitude.compare("<=", 1.0), value, nan_of(x))


def acos(x: Real) -> Real:
    """The angle whose cosine is x; error 0.8."""
    angle, is_longer = _smaller_angle(abs(x))
    is_negative = x.compare("<", 0.0)
    multiple = where(is_longer, where(is_negative, 2.0, x.like(0.0)), 1.0)
    sign = where(is_negative ^ is_longer, 1.0, x.like(-1.0))
    return where(abs(x).compare("<=", 1.0), _shifted_angle(multiple, sign, angle), nan_of(x))


def atan(x: Real) -> Real:
    """The angle whose tangent is x; error 0.55."""
    magnitude = where(abs(x).compare("<", _MAX_TANGENT), abs(x), _MAX_TANGENT)
    is_steep = magnitude.compare(">", 1.0)
    angle = _angle_of(double(x, where(is_steep, 1.0, magnitude)), double(x, where(is_steep, magnitude, 1.0)))
    multiple, sign = where(is_steep, 1.0, x.like(0.0)), where(is_steep, -1.0, x.like(1.0))
    value = _shifted_angle(multiple, sign, angle).with_sign_of(x)
    return where(magnitude.compare(">=", _TINY_TANGENT), where(x.is_number(), value, x + x), x)


def atan2(y: Real, x: Real) -> Real:
    """The angle of the point (x, y); error 0.6. Special values are those of C99, annex F.9.1.4."""
    width, height = abs(x), abs(y)
    is_steep, is_left = height.compare(">", width), x.like(1.0).with_sign_of(x).compare("<", 0.0)
    are_numbers = x.is_number() & y.is_number()
    longer, shorter = where(is_steep, height, width), where(is_steep, width, height)
    is_small = longer.compare("<", _SHORT_LEG)
    scale = where(longer.compare(">", _LONG_LEG), 1 / _LEG_SCALE, where(is_small, _LEG_SCALE, x.like(1.0)))
    is_infinite = longer.compare("==", math.inf)
    corner = where(shorter.compare("==", math.inf), 1.0, x.like(0.0))
    opposite = where(is_infinite, corner, shorter * scale)
    adjacent = where(is_infinite | longer.compare("==", 0.0) | ~are_numbers, 1.0, longer * scale)
    angle = _angle_of(double(x, opposite), double(x, adjacent))
    multiple = where(is_steep, 1.0, where(is_left, 2.0, x.like(0.0)))
    value = _shifted_angle(multiple, where(is_steep ^ is_left, -1.0, x.like(1.0)), angle)
    # The quotient is exact enough for a small angle to the right of the origin.
    small = opposite / adjacent
    is_tiny = ~is_steep & ~is_left & small.compare("<", _TINY_TANGENT)
    value = where(is_tiny, small, value)
    return where(are_numbers, value.with_sign_of(y), x + y)
