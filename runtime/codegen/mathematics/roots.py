"""The cubic root."""

from __future__ import annotations

import math

from .coefficients import INVERSE_CBRT
from .reals import Real, exact_product, parted, polynomial, power_of_two, rounded_to_integer, where


def cbrt(x: Real) -> Real:
    """The cubic root, by way of the inverse one, which takes no division; error 0.5."""
    m, k = parted(abs(x), 1.0)
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
