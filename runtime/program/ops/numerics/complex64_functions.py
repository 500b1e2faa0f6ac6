"""Functions of complex64 numbers. All but `absolute` compute in complex128, where products are exact.

They consist of operations that IEEE-754 defines, so that generated code with the same operations gives the
same bits. No intermediate value overflows, and no component of a result loses digits by cancellation.

Source: specification, section "Ops"; C99, annex G, for values that are not finite.
"""

from __future__ import annotations

import numpy as np

from ....types import Array
from .element_types import FLOAT32
from .special_functions import complex_of


def absolute(operand: Array) -> Array:
    """The modulus, computed in complex64; infinite if either component is."""
    x, y = np.abs(operand.real), np.abs(operand.imag)
    greater = np.where(x > y, x, y)
    is_great, is_small = greater > 2.0**60, greater < 2.0**-60
    one = FLOAT32.type(1)
    scale = np.where(is_great, one * 2.0**-70, np.where(is_small, one * 2.0**100, one))
    unscale = np.where(is_great, one * 2.0**70, np.where(is_small, one * 2.0**-100, one))
    a, b = x * scale, y * scale
    root = np.sqrt(a * a + b * b)
    return np.where(np.isinf(x) | np.isinf(y), one * np.inf, root * unscale)


def divide(lhs: Array, rhs: Array) -> Array:
    a, b, c, d = lhs.real, lhs.imag, rhs.real, rhs.imag
    inverse = 1.0 / (c * c + d * d)
    quotient = complex_of((a * c + b * d) * inverse, (b * c - a * d) * inverse)
    if np.count_nonzero(np.isnan(quotient)):
        from ....kernels.math import complex_division

        quotient = complex_division.quotient_by_annex_g(quotient, lhs, rhs)
    return quotient


def sqrt(operand: Array) -> Array:
    """The square root with a real part that is not negative."""
    x, y = operand.real, operand.imag
    root = np.sqrt((np.abs(x) + np.sqrt(x * x + y * y)) * 0.5)
    other = np.where(root == 0, 0.0, np.abs(y) / (root * 2.0))
    left = np.signbit(x)
    value = complex_of(np.where(left, other, root), np.copysign(np.where(left, root, other), y))
    special = ~np.isfinite(x) | ~np.isfinite(y)
    return np.where(special, np.sqrt(operand), value) if np.count_nonzero(special) else value


def rsqrt(operand: Array) -> Array:
    """1 / sqrt(operand)."""
    return divide(np.ones_like(operand), sqrt(operand))


def sign(operand: Array) -> Array:
    """operand / |operand|; zero for zero, NaN in both parts where the modulus is infinite or NaN."""
    x, y = operand.real, operand.imag
    modulus = np.sqrt(x * x + y * y)
    is_zero, is_finite = modulus == 0, np.isfinite(modulus)
    inverse = np.where(is_zero, 0.0, 1.0 / np.where(is_zero, 1.0, modulus))
    value = complex_of(x * inverse, y * inverse)
    return np.where(is_finite, value, complex(np.nan, np.nan))
