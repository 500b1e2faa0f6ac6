"""asin, acos, atan and atan2 in f32. The errors stated are in ulps of f32."""

from __future__ import annotations

import math

from .....kernels.named_tuples import NamedTuple
from ..coefficients import FAST_ASIN, FAST_ATAN, NARROW_HALF_PI
from ..reals import Condition, Real, by_horner, exact_sum_ordered, square_and_cube, where
from ..trigonometry import half_angle

_NARROW_PI = tuple(2 * component for component in NARROW_HALF_PI)
_MAX_TANGENT = 2.0**60
"""The angle of larger tangents is a quarter turn."""
_LONG, _SHORT, _SCALE = 2.0**100, 2.0**40, 2.0**64
"""The sides of a triangle are scaled where the longer one is longer or shorter: its inverse, and the rounding
error of the quotient of both, must be normal numbers."""


def _plus_quarter_turns(base: Real, base_low: Real, angle: Real, rest: Real) -> Real:
    """The sum of a multiple of a quarter turn, which is zero or larger than the angle, and of an angle."""
    high, low = exact_sum_ordered(base, angle)
    return high + (low + (base_low + rest))


def _half_angle(x: Real) -> tuple[Real, Real, Condition]:
    return half_angle(x, lambda z: by_horner(z, FAST_ASIN), 2.0**-100)


def asin(x: Real) -> Real:
    """The angle whose sine is x; error 0.70."""
    t, rest, beyond = _half_angle(x)
    high, low = NARROW_HALF_PI
    far = _plus_quarter_turns(t.like(high), t.like(low), t * -2.0, rest * -2.0)
    return where(beyond, far, t + rest).with_sign_of(x)


def acos(x: Real) -> Real:
    """The angle whose cosine is x; error 0.67."""
    t, rest, beyond = _half_angle(x)
    negative = x.compare("<", 0.0)
    zero = x.like(0.0)
    (half_turn, half_turn_low), (quarter_turn, quarter_turn_low) = _NARROW_PI, NARROW_HALF_PI
    base = where(beyond, where(negative, half_turn, zero), quarter_turn)
    base_low = where(beyond, where(negative, half_turn_low, zero), quarter_turn_low)
    factor = where(beyond, where(negative, -2.0, x.like(2.0)), where(negative, 1.0, x.like(-1.0)))
    return _plus_quarter_turns(base, base_low, t * factor, rest * factor)


class _Angle(NamedTuple):
    """The sum tangent + cube * factor + rest, whose last term is a rounding error."""

    tangent: Real
    cube: Real
    factor: Real
    rest: Real

    def turned(self, base: Real, base_low: Real, sign: Real) -> Real:
        """The angle times a sign, added to a multiple of a quarter turn, which is zero or larger."""
        high, low = exact_sum_ordered(base, self.tangent * sign)
        return high + (self.cube * sign).fma(self.factor, low + (base_low + self.rest * sign))


def _acute_angle(opposite: Real, adjacent: Real) -> _Angle:
    """atan(opposite / adjacent), where 0 <= opposite <= adjacent, whose inverse is normal."""
    inverse = 1.0 / adjacent
    t = opposite * inverse
    t_low = (-t).fma(adjacent, opposite) * inverse
    z, cube, cube_low = square_and_cube(t)
    p = by_horner(z, FAST_ATAN)
    # The slope of the angle is nearly 1 - z / 2.
    return _Angle(t, cube, p, p.fma(cube_low, (z * t_low).fma(-0.5, t_low)))


def atan(x: Real) -> Real:
    """The angle whose tangent is x; error 0.92."""
    a = abs(x).within(None, _MAX_TANGENT)
    is_steep = a.compare(">", 1.0)
    angle = _acute_angle(where(is_steep, 1.0, a), where(is_steep, a, 1.0))
    base, base_low = (where(is_steep, component, x.like(0.0)) for component in NARROW_HALF_PI)
    return angle.turned(base, base_low, where(is_steep, -1.0, x.like(1.0))).with_sign_of(x)


def atan2(y: Real, x: Real) -> Real:
    """The angle of the point (x, y); error 0.91. Special values are those of C99, annex F.9.1.4."""
    a, b = abs(y), abs(x)
    is_steep, is_behind = a.compare(">", b), x.like(1.0).with_sign_of(x).compare("<", 0.0)
    longer, shorter = where(is_steep, a, b), where(is_steep, b, a)
    is_infinite = longer.compare("==", math.inf)
    shorter = where(is_infinite, where(shorter.compare("==", math.inf), 1.0, shorter * 0.0), shorter)
    longer = where(is_infinite | longer.compare("==", 0.0), 1.0, longer)
    is_long, is_short = longer.compare(">", _LONG), longer.compare("<", _SHORT)
    scale = where(is_long, 1 / _SCALE, where(is_short, _SCALE, x.like(1.0)))
    zero = x.like(0.0)
    base, base_low = (
        where(is_steep, quarter, where(is_behind, half, zero))
        for quarter, half in zip(NARROW_HALF_PI, _NARROW_PI, strict=True)
    )
    sign = where(is_steep ^ is_behind, -1.0, x.like(1.0))
    return _acute_angle(shorter * scale, longer * scale).turned(base, base_low, sign).with_sign_of(y)
