"""The cubic root and the inverse square root."""

from __future__ import annotations

import math

from ....kernels.launch.processor import has_rsqrt14
from ..llvm.vector_variants import inverse_root
from .coefficients import INVERSE_CBRT
from .reals import (
    Real,
    exact_product,
    mantissa_and_exponent,
    polynomial,
    power_of_two,
    rounded_to_integer,
    where,
)

_INVERSE_ROOT = (1 / 2, 3 / 8, 5 / 16)
"""((1 - e)^(-1/2) - 1) / e; the next term is less than 2^-53.8 for an estimate that is wrong by 2^-14."""


def cbrt(x: Real) -> Real:
    """The cubic root, through the inverse one, which takes no division; error 0.5."""
    m, k = mantissa_and_exponent(abs(x), 1.0)
    third = ((k + 0.5) * (1 / 3)).floor()
    left = k - third * 3.0
    is_one, is_two = left.compare("==", 1.0), left.compare("==", 2.0)
    y = polynomial(m, INVERSE_CBRT)
    y = y * where(is_two, 4.0 ** (-1 / 3), where(is_one, 2.0 ** (-1 / 3), y.like(1.0)))
    m = m * where(is_two, 4.0, where(is_one, 2.0, y.like(1.0)))
    excess = (-m).fma(y * y * y, 1.0)
    y = (y * excess).fma(excess.fma(2 / 9, 1 / 3), y)
    square = y * y
    root = m * square
    # One step of Newton's method, with the cube's rounding errors.
    root_square, lost = exact_product(root, root)
    cube_excess = root_square.fma(root, -m) + lost * root
    root = (cube_excess * square).fma(-1 / 3, root)
    _, exponent = rounded_to_integer(third, 1.0)
    value = (root * power_of_two(root, exponent)).with_sign_of(x)
    is_number = x.builder.and_(x.compare("one", 0.0), abs(x).compare("<", math.inf))
    return where(is_number, value, x)


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
