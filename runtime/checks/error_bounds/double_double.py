"""Arithmetic on unevaluated sums of two f64 numbers, which have 106 bits or more.

The numbers are stored as complex128, the high component as the real one and the low component as the
imaginary one, so that data movement needs no code of its own. Every result is normalized: its high component
is the sum rounded to f64. Where the high component is not finite, the low one is zero.

Source: T. J. Dekker, "A Floating-Point Technique for Extending the Available Precision", Numerische
Mathematik 18, 1971; M. Joldes, J.-M. Muller and V. Popescu, "Tight and Rigorous Error Bounds for Basic
Building Blocks of Double-Word Arithmetic", ACM TOMS 44(2), 2017.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from ...errors import UnsupportedError
from ...program.ops.numerics.special_functions import exact_sum
from ...types import Array
from .ulps import distance

_SPLITTER: Final = 2.0**27 + 1
_LARGE: Final = 2.0**996
"""A product of a larger number with the splitter overflows."""


def fast_two_sum(high: Array, low: Array) -> Array:
    """The normalized number high + low, where |high| >= |low|."""
    high, low = np.broadcast_arrays(np.asarray(high, np.float64), np.asarray(low, np.float64))
    total = high + low
    result = np.empty(total.shape, np.complex128)
    result.real = total
    result.imag = np.where(np.isfinite(total), low - (total - high), 0.0)
    return result


def from_array(values: Array) -> Array:
    """Numbers of f64, integers or booleans as sums of two f64 numbers."""
    array = np.asarray(values)
    if array.dtype not in (np.int64, np.uint64):
        return array.astype(np.float64).astype(np.complex128)
    high = array >> np.array(32, array.dtype)
    low = array - (high << np.array(32, array.dtype))
    return fast_two_sum(high.astype(np.float64) * 2.0**32, low.astype(np.float64))


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a * b of f64 numbers, rounded, and the rounding error, unless that underflows."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _halves(value: Array) -> tuple[Array, Array]:
    """A number as a sum of two of 26 bits."""
    scale = np.where(np.abs(value) > _LARGE, 2.0**-28, 1.0)
    scaled = value * scale
    split = _SPLITTER * scaled
    high = split - (split - scaled)
    return high / scale, (scaled - high) / scale


def add(a: Array, b: Array) -> Array:
    """a + b."""
    high, error = exact_sum(a.real, b.real)
    low, low_error = exact_sum(a.imag, b.imag)
    joined = fast_two_sum(high, error + low)
    return fast_two_sum(joined.real, joined.imag + low_error)


def negate(a: Array) -> Array:
    return -a


def subtract(a: Array, b: Array) -> Array:
    return add(a, -b)


def multiply(a: Array, b: Array) -> Array:
    """a * b."""
    high, error = two_product(a.real, b.real)
    return fast_two_sum(high, error + (a.real * b.imag + a.imag * b.real))


def divide(a: Array, b: Array) -> Array:
    """a / b, by two steps of long division and a correction."""
    quotient = from_array(a.real / b.real)
    for _ in range(2):
        rest = subtract(a, multiply(quotient, b))
        correction = rest.real / b.real
        quotient = add(quotient, from_array(np.where(np.isfinite(correction), correction, 0.0)))
    return quotient


def sqrt(a: Array) -> Array:
    """The square root, by a step of Newton from that of f64."""
    root = np.sqrt(a.real)
    rest = subtract(a, multiply(from_array(root), from_array(root)))
    correction = rest.real / (2 * root)
    return fast_two_sum(root, np.where(np.isfinite(correction), correction, 0.0))


def is_less(a: Array, b: Array) -> Array:
    """Whether a < b."""
    return np.asarray((a.real < b.real) | ((a.real == b.real) & (a.imag < b.imag)))


def is_equal(a: Array, b: Array) -> Array:
    """Whether a == b; False for NaN."""
    return np.asarray((a.real == b.real) & (a.imag == b.imag))


def is_nan(a: Array) -> Array:
    return np.asarray(np.isnan(a.real))


def minimum(a: Array, b: Array) -> Array:
    """The lesser one; NaN if either is NaN."""
    return np.where(is_nan(a) | (is_less(a, b) & ~is_nan(b)), a, b)


def maximum(a: Array, b: Array) -> Array:
    """The greater one; NaN if either is NaN."""
    return np.where(is_nan(a) | (is_less(b, a) & ~is_nan(b)), a, b)


def absolute(a: Array) -> Array:
    """|a|."""
    return np.where(np.signbit(a.real), -a, a)


def sign(a: Array) -> Array:
    """-1, 0 or 1; NaN of NaN."""
    return from_array(np.sign(a.real))


def floor(a: Array) -> Array:
    """The largest integer that is not above a."""
    high = np.floor(a.real)
    return fast_two_sum(high, np.where(high == a.real, np.floor(a.imag), 0.0))


def ceil(a: Array) -> Array:
    """The smallest integer that is not below a."""
    return -floor(-a)


def truncate(a: Array) -> Array:
    """The integer part."""
    return np.where(np.signbit(a.real), ceil(a), floor(a))


def reduce_tree(combine: Callable[[Array, Array], Array], rows: Array) -> Array | None:
    """Rows combined by a balanced tree; None if there are no rows."""
    if not len(rows):
        return None
    while len(rows) > 1:
        odd = rows[-1:] if len(rows) % 2 else rows[:0]
        rows = np.concatenate([combine(rows[0 : len(rows) - 1 : 2], rows[1::2]), odd])
    return np.asarray(rows[0])


def exact_slices(values: Array, bits: int, limit: int) -> list[Array]:
    """f64 arrays whose sum is exactly `values`.

    The elements of each array are multiples of one power of two, by factors below 2 ** bits.

    Args:
        values: sums of two f64 numbers.
        bits: the number of significant bits of a slice.
        limit: the maximum number of slices.

    Raises:
        UnsupportedError: more slices are needed, or a number is not finite.
    """
    if not np.isfinite(values.real).all():
        raise UnsupportedError("numbers that are not finite have no slices")
    rests = [values.real.copy(), values.imag.copy()]
    result: list[Array] = []
    while True:
        largest = max(float(np.max(np.abs(one), initial=0.0)) for one in rests)
        if not largest:
            return result
        if len(result) == limit:
            raise UnsupportedError(f"more than {limit} slices are needed for elements of such a range")
        # Numbers up to 2 ** exponent are cut at unit, a power of two.
        exponent = int(np.frexp(largest)[1])
        unit = np.ldexp(1.0, max(exponent + 1 - bits, -1074))
        cut = [_multiple(rest, unit) for rest in rests]
        rests = [rest - multiple for rest, multiple in zip(rests, cut, strict=True)]
        result.append(cut[0] + cut[1])


def _multiple(values: Array, unit: float) -> Array:
    """Values cut to multiples of a power of two."""
    with np.errstate(all="ignore"):
        return np.asarray(np.where(np.abs(values) < unit, 0.0, np.trunc(values / unit) * unit))


def distance_from_double_double(values: Array, exact_values: Array) -> Array:
    """|a - b| of f64 numbers and sums of two; as `ulps.distance` has it where a number is not finite."""
    with np.errstate(all="ignore"):
        errors = np.abs((values - exact_values.real) - exact_values.imag)
    return np.where(np.isfinite(errors), errors, distance(values, np.ascontiguousarray(exact_values.real)))
