"""Error bounds of elementwise functions, by the accuracy that their declarations state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...program.ops.framework.accuracy import DEFAULT_ULPS, DIGAMMA_ABSOLUTE, Accuracy, ErrorTerm
from ...types import Array, DType
from .ulps import component_dtype, layout_of, ulp, wide_dtype

CHLO_ULPS: Final = {np.dtype(np.float32): 64, np.dtype(np.float64): 16}
"""Units in the last place of CHLO's functions, in the type in which they are computed."""
COMPLEX_ULPS: Final = 64
"""Errors in ulps of the modulus, as functions of complex numbers lose digits by cancellation."""
MAX_FACTORIAL: Final = 170
"""The largest number whose factorial f64 holds."""


def computation_dtype(dtype: DType) -> DType:
    """The type in which functions of narrow floats are computed, f32, or the type itself."""
    component = component_dtype(dtype)
    return component if component.itemsize >= 4 else np.dtype(np.float32)


def function_error(
    accuracy: Accuracy, operands: Sequence[Array], result: Array, computed_in: DType | None = None
) -> Array:
    """The error bound of an elementwise function for each element, as f64.

    Args:
        accuracy: the function's.
        operands: its operands.
        result: what it returns.
        computed_in: the type in which it is computed; by default the result's, or f32 for narrower ones.
    """
    computed = computed_in or computation_dtype(result.dtype)
    scale = float(layout_of(computed).eps) / float(np.finfo(np.float64).eps)
    bound: Array
    with np.errstate(all="ignore"):
        if any(one.dtype.kind == "c" for one in (result, *operands)):
            error = accuracy.absolute + accuracy.complex_absolute
            if accuracy.term is ErrorTerm.POWER:
                error = error + _power_error(operands, result)
            bound = COMPLEX_ULPS * ulp(result) + scale * error
            is_angle = accuracy.term is ErrorTerm.ANGLE
            return np.where(_loses_squares(operands), np.inf, bound) if is_angle else bound
        magnitude = np.abs(result.astype(np.float64))
        ulps = CHLO_ULPS.get(computed, 1) if accuracy.ulps is None else accuracy.ulps
        bound = (ulps if computed == result.dtype else accuracy.narrow_ulps) * ulp(result)
        bound = bound + scale * accuracy.absolute
        bound = bound + accuracy.underflowing * float(layout_of(computed).smallest_normal)
        if accuracy.term in (ErrorTerm.ZETA, ErrorTerm.POLYGAMMA):
            is_polygamma = accuracy.term is ErrorTerm.POLYGAMMA
            bound = bound + float(layout_of(computed).eps) * _series_error(is_polygamma, operands, magnitude)
        if computed == np.float64:
            bound = bound + np.where(np.isfinite(magnitude), accuracy.relative * magnitude, 0.0)
    return bound


def _loses_squares(operands: Sequence[Array]) -> Array:
    """The elements for which the squares of two complex numbers, or their sum, may overflow or underflow.

    Angles of complex numbers are -i log((x + iy) / sqrt(x * x + y * y)).
    """
    layout = layout_of(operands[0].dtype)
    y, x = np.broadcast_arrays(*[one.astype(np.clongdouble) for one in operands])
    squares = [np.abs(one) ** 2 for one in (x, y)]
    sizes = [*squares, np.abs(x * x + y * y)]
    min_accurate = float(layout.smallest_normal) / float(layout.eps)
    is_small = np.logical_or.reduce([(one > 0) & (one < min_accurate) for one in sizes])
    return np.asarray(is_small | ~(np.maximum(*squares) < float(layout.max) / 16))


def _series_error(is_polygamma: bool, operands: Sequence[Array], magnitude: Array) -> Array:
    """The error of zeta and polygamma by that of their terms, in distances from 1 to the next number.

    zeta(s, q) is the sum of (q + k) ** -s for all k >= 0. At negative q its largest terms are those around
    q + k = 0, which cancel out where s is odd. polygamma(n, x) is n! zeta(n + 1, x) except for its sign; n!
    is exp(lgamma(n + 1)), whose argument is rounded before. At n = 0 it is digamma.

    Args:
        is_polygamma: whether the function is polygamma.
        operands: its operands.
        magnitude: of its result.
    """
    first, second = np.broadcast_arrays(*[one.astype(np.float64) for one in operands])
    s, factor = (first + 1, _factorials(first)) if is_polygamma else (first, np.ones(first.shape))
    after = second - np.floor(second)
    terms = sum(one**-s * (1 + one / (s - 1)) for one in (after, 1 - after))
    error = DEFAULT_ULPS * np.where((second < 0) & (s > 1), factor * terms, 0.0)
    if is_polygamma:
        # The terms of Lanczos' approximation of lgamma, with g = 7.
        logarithm = (first + 0.5) * np.log(first + 7.5) + first + 7.5
        error = error + np.where(first >= 0, 2 * logarithm * magnitude, 0.0)
        digamma = DIGAMMA_ABSOLUTE / float(np.finfo(np.float64).eps)
        error = np.where(first == 0, digamma, error)
    return np.where(np.isfinite(error), error, 0.0)


def _factorials(numbers: Array) -> Array:
    """n!, infinite where it is beyond f64; 1 for numbers that are not natural."""
    with np.errstate(all="ignore"):
        table = np.append(np.cumprod(np.append(1.0, np.arange(1.0, MAX_FACTORIAL + 1))), np.inf)
        is_natural = (numbers >= 0) & (numbers == np.floor(numbers))
        indices = np.where(is_natural, np.minimum(numbers, MAX_FACTORIAL + 1), 0).astype(np.int64)
    return np.asarray(table[indices])


def _power_error(operands: Sequence[Array], result: Array) -> Any:
    """Powers of complex numbers by exponentials: exponent * log(base) is rounded before."""
    base, exponent = np.broadcast_arrays(*[one.astype(np.complex128) for one in operands])
    rounded = 2.0**-51 * np.abs(exponent * np.log(base)) * np.abs(result.astype(wide_dtype(result.dtype)))
    return np.where(np.isfinite(rounded), rounded, 0.0)
