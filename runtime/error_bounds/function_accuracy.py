"""The accuracy of elementwise functions in libraries, in XLA, and in StableHLO's interpreter.

The specification leaves it open. The figures are the largest measured errors of LLVM's, C's and XLA's
functions, and of the approximations into which StableHLO's pass expands CHLO's functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..types import Array, DType
from .ulps import component_dtype, layout_of, ulp, wide_dtype

_NAMES: Final = """
atan2 cbrt cosine exponential exponential_minus_one log log_plus_one logistic power rsqrt sine tan tanh
"""
_FUNCTIONS: Final = frozenset(f"stablehlo.{name}" for name in _NAMES.split())
_BROADCASTING: Final = frozenset({"chlo.broadcast_atan2", "chlo.broadcast_power"})

DEFAULT_ULPS: Final = 4
ULPS: Final = dict.fromkeys(_FUNCTIONS | _BROADCASTING, DEFAULT_ULPS) | {"stablehlo.rsqrt": 2}
"""Units in the last place of functions of real numbers, in the type that they are computed in."""
EXPANDED_ULPS: Final = {"stablehlo.logistic": 2, "stablehlo.exponential_minus_one": 2}
"""Units of types narrower than f32: those of functions that XLA expands, and computes in f16 operation by
operation. Other functions are rounded once, from f32: 1."""
CHLO_ULPS: Final = {np.dtype(np.float32): 64, np.dtype(np.float64): 16}
"""The same for CHLO's functions."""
COMPLEX_ULPS: Final = 64
"""Errors in ulps of the modulus, as functions of complex numbers lose digits by cancellation."""
ABSOLUTE: Final = {
    "chlo._asin_acos_kernel": 1e-150,
    "chlo.digamma": 1e-14,
    "chlo.lgamma": 1e-13,
    "stablehlo.exponential_minus_one": 1e-15,
    "stablehlo.log_plus_one": 1e-15,
}
"""Absolute errors of results near zero in f64: CHLO's functions cross zero far from the origin, and exp(z) -
1 and log(z + 1) of complex numbers may be computed literally, with squares that underflow."""
RELATIVE: Final = {
    "chlo.cosh": 1.5e-13,
    "chlo.erf_inv": 5e-11,
    "chlo.erfc": 2e-13,
    "chlo.sinh": 1.5e-13,
    "chlo.polygamma": 1e-10,
    "chlo.broadcast_polygamma": 1e-10,
    "chlo.zeta": 1e-12,
    "chlo.broadcast_zeta": 1e-12,
}
"""Relative errors of approximations in f64: series, exp(x + log(1 / 2)), exp(-x * x) for large x, and
log(1 - x * x) for x near 1."""
COMPLEX_ABSOLUTE: Final = {"chlo.sinh": 1e-15, "stablehlo.atan2": 1e-15, "chlo.broadcast_atan2": 1e-15}
"""Half the difference of two exponentials loses small arguments, and so does the logarithm of a quotient that
is near 1."""
_UNDERFLOWING: Final = {"chlo.erfc": 1, "chlo.zeta": 24, "chlo.broadcast_zeta": 24}
"""The number of factors or terms that may underflow before the result: erfc has a factor exp(-x * x), and
zeta is a sum of some two dozen powers and terms of Euler and Maclaurin's formula."""
_SERIES: Final = ("zeta", "polygamma")
"""Functions that are sums of powers, which have both signs at negative numbers."""
MAX_FACTORIAL: Final = 170
"""The largest number whose factorial f64 holds."""
_ANGLES: Final = ("stablehlo.atan2", "chlo.broadcast_atan2")
_POWERS: Final = ("stablehlo.power", "chlo.broadcast_power")


def computation_dtype(dtype: DType) -> DType:
    """The type in which functions of narrow floats are computed, f32, or the type itself."""
    component = component_dtype(dtype)
    return component if component.itemsize >= 4 else np.dtype(np.float32)


def function_error(
    name: str, operands: Sequence[Array], result: Array, computed_in: DType | None = None
) -> Array:
    """The error bound of an elementwise function for each element, as f64.

    Args:
        name: of the operation.
        operands: its operands.
        result: what it returns.
        computed_in: the type in which it is computed; by default the result's, or f32 for narrower ones.
    """
    computed = computed_in or computation_dtype(result.dtype)
    scale = float(layout_of(computed).eps) / float(np.finfo(np.float64).eps)
    bound: Array
    with np.errstate(all="ignore"):
        if any(one.dtype.kind == "c" for one in (result, *operands)):
            absolute = ABSOLUTE.get(name, 0.0) + COMPLEX_ABSOLUTE.get(name, 0.0)
            error = scale * (absolute + _power_error(name, operands, result))
            bound = COMPLEX_ULPS * ulp(result) + error
            return np.where(_loses_squares(operands), np.inf, bound) if name in _ANGLES else bound
        is_chlo = name.startswith("chlo.")
        magnitude = np.abs(result.astype(np.float64))
        ulps = ULPS.get(name) or CHLO_ULPS.get(computed, 1)
        bound = (ulps if computed == result.dtype else EXPANDED_ULPS.get(name, 1)) * ulp(result)
        bound = bound + (scale * ABSOLUTE.get(name, 0.0) if is_chlo else 0.0)
        bound = bound + _UNDERFLOWING.get(name, 0) * float(layout_of(computed).smallest_normal)
        if name.removeprefix("chlo.").removeprefix("broadcast_") in _SERIES:
            bound = bound + float(layout_of(computed).eps) * _series_error(name, operands, magnitude)
        if computed == np.float64:
            bound = bound + np.where(np.isfinite(magnitude), RELATIVE.get(name, 0.0) * magnitude, 0.0)
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


def _series_error(name: str, operands: Sequence[Array], magnitude: Array) -> Array:
    """The error of zeta and polygamma by that of their terms, in distances from 1 to the next number.

    zeta(s, q) is the sum of (q + k) ** -s for all k >= 0. At negative q its largest terms are those around
    q + k = 0, which cancel out where s is odd. polygamma(n, x) is n! zeta(n + 1, x) except for its sign; n!
    is exp(lgamma(n + 1)), whose argument is rounded before. At n = 0 it is digamma.

    Args:
        name: of the function.
        operands: its operands.
        magnitude: of its result.
    """
    first, second = np.broadcast_arrays(*[one.astype(np.float64) for one in operands])
    is_polygamma = name.endswith("polygamma")
    s, factor = (first + 1, _factorials(first)) if is_polygamma else (first, np.ones(first.shape))
    after = second - np.floor(second)
    terms = sum(one**-s * (1 + one / (s - 1)) for one in (after, 1 - after))
    error = DEFAULT_ULPS * np.where((second < 0) & (s > 1), factor * terms, 0.0)
    if is_polygamma:
        # The terms of Lanczos' approximation of lgamma, with g = 7.
        logarithm = (first + 0.5) * np.log(first + 7.5) + first + 7.5
        error = error + np.where(first >= 0, 2 * logarithm * magnitude, 0.0)
        digamma = ABSOLUTE["chlo.digamma"] / float(np.finfo(np.float64).eps)
        error = np.where(first == 0, digamma, error)
    return np.where(np.isfinite(error), error, 0.0)


def _factorials(numbers: Array) -> Array:
    """n!, infinite where it is beyond f64; 1 for numbers that are not natural."""
    with np.errstate(all="ignore"):
        table = np.append(np.cumprod(np.append(1.0, np.arange(1.0, MAX_FACTORIAL + 1))), np.inf)
        is_natural = (numbers >= 0) & (numbers == np.floor(numbers))
        indices = np.where(is_natural, np.minimum(numbers, MAX_FACTORIAL + 1), 0).astype(np.int64)
    return np.asarray(table[indices])


def _power_error(name: str, operands: Sequence[Array], result: Array) -> Any:
    """Powers of complex numbers by exponentials: exponent * log(base) is rounded before."""
    if name not in _POWERS or len(operands) != 2:
        return 0.0
    base, exponent = np.broadcast_arrays(*[one.astype(np.complex128) for one in operands])
    rounded = 2.0**-51 * np.abs(exponent * np.log(base)) * np.abs(result.astype(wide_dtype(result.dtype)))
    return np.where(np.isfinite(rounded), rounded, 0.0)
