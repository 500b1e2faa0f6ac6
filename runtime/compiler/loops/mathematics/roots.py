"""The cubic root and the inverse square root."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ....kernels.launch.processor import has_rsqrt14
from ..llvm.vector_variants import inverse_root
from .coefficients import CBRT_OF_HALF, CBRT_OF_TWO, INVERSE_CBRT
from .reals import (
    Real,
    exact_product,
    integral_power_of_two,
    mantissa_and_exponent,
    polynomial,
    rounded_to_integer,
    where,
)

_INVERSE_ROOT = (1 / 2, 3 / 8, 5 / 16)
"""((1 - e)^(-1/2) - 1) / e; the next term is less than 2^-53.8 for an estimate that is wrong by 2^-14."""


def cbrt(x: Real, least: float = 0.0) -> Real:
    """The cubic root, of f64 values too; error 0.51.

    The inverse root is a polynomial, then one step of Halley's method.

    Args:
        least: smaller magnitudes are scaled; f32 holds none that are subnormal in f64.
    """

    def inverse_root(m: Real, y: Real) -> Real:
        excess = (-m).fma(y * y * y, 1.0)
        return (y * excess).fma(excess.fma(2 / 9, 1 / 3), y)

    return cbrt_by_inverse(x, least, INVERSE_CBRT, inverse_root)


def cbrt_by_inverse(
    x: Real, least: float, coefficients: Sequence[float], refined: Callable[[Real, Real], Real]
) -> Real:
    """The cubic root of f32 or f64.

    |x| is 2^(3 k) m, where m is from 1/2 to 4; its root is m y^2, where y is the inverse root. A step of
    Newton's method follows, with the rounding errors of the cube.

    Args:
        least: smaller magnitudes are scaled.
        coefficients: of a polynomial for the inverse root of numbers from 1 to 2.
        refined: m and a nearly inverse root to a better one, whose square has half the digits at least.
    """
    magnitude = abs(x)
    is_small = magnitude.compare("<", least)
    m, exponent = mantissa_and_exponent(
        where(is_small, magnitude * 2.0**54, magnitude) if least else magnitude, 1.0
    )
    third, _ = rounded_to_integer(exponent, x.nearest(1 / 3))
    left = exponent - third * 3.0
    is_more, is_less = left.compare(">", 0.0), left.compare("<", 0.0)
    y = polynomial(m, coefficients)
    half, double = x.nearest(CBRT_OF_HALF), x.nearest(CBRT_OF_TWO)
    y = y * where(is_more, half, where(is_less, double, y.like(1.0)))
    m = m * where(is_more, 2.0, where(is_less, 0.5, y.like(1.0)))
    y = refined(m, y)
    square = y * y
    root = m * square
    root_square, lost = exact_product(root, root)
    cube_excess = root_square.fma(root, -m) + lost * root
    root = (cube_excess * square).fma(x.nearest(-1 / 3), root)
    third = where(is_small, third - 18.0, third) if least else third
    value = (root * integral_power_of_two(third)).with_sign_of(x)
    # Zeros, infinities and NaN are their own roots.
    return where(magnitude.compare(">", 0.0) & magnitude.compare("<", math.inf), value, x + x)


def rsqrt(x: Real) -> Real:
    """1 / sqrt(x); error 1.3.

    From an estimate it is wrong by 2^-51.9 at most, and no inverse root of a value of f32 lies within 2^-51.7
    of the middle between two.
    """
    if not has_rsqrt14():
        return rsqrt_by_steps(x)
    y = Real(x.builder, inverse_root(x.builder, x.value))
    rest = (-(x * y)).fma(y, 1.0)
    root = y.fma(rest * polynomial(rest, _INVERSE_ROOT), y)
    # The estimate is exact for zeros, infinities and negative numbers.
    return where(rest.is_nan(), y, root)


def rsqrt_by_steps(x: Real) -> Real:
    """1 / sqrt(x), both steps rounded; error 1.3."""
    return 1.0 / x.sqrt()
