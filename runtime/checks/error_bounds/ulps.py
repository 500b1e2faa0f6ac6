"""Units in the last place of all float and complex element types, and distances between arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import ml_dtypes
import numpy as np

from ...types import Array, DType

_FLUSHING_EXPONENTS: Final = (-126, -1022)
"""Minimum exponents of the types to which the processor's flush-to-zero mode applies: f32, bf16 and f64."""

SIGMAS: Final = 6.0
"""The maximum distance of another implementation's result, in standard deviations of an element."""


def layout_of(dtype: DType) -> Any:
    """The properties of a float type, of a complex one's components, as `ml_dtypes.finfo` gives them.

    Raises:
        ValueError: it is neither.
    """
    return ml_dtypes.finfo(component_dtype(dtype))  # type: ignore[no-untyped-call]


def is_inexact(dtype: DType) -> bool:
    """Whether values of the type are rounded: floating-point and complex, those of ml_dtypes too."""
    if dtype.kind in "fc":
        return True
    try:
        layout_of(dtype)
    except ValueError:
        return False
    return True


def component_dtype(dtype: DType) -> DType:
    """The type of the real part."""
    return np.zeros((), dtype).real.dtype if dtype.kind == "c" else dtype


def wide_dtype(dtype: DType) -> DType:
    """f64, or c128 for complex types: both hold every value of the narrower types."""
    return np.dtype(np.complex128 if dtype.kind == "c" else np.float64)


def ulp(values: Array) -> Array:
    """The distance of representable numbers at each value, of complex ones at the modulus, as f64.

    Infinities and NaN count as zero.
    """
    layout = layout_of(values.dtype)
    magnitude = np.abs(values.astype(wide_dtype(values.dtype)))
    exponent = np.frexp(np.where(np.isfinite(magnitude), magnitude, 0.0))[1] - 1
    exponent = np.where(magnitude == 0, int(layout.minexp), exponent)
    distances: Array = np.ldexp(1.0, np.maximum(exponent, int(layout.minexp)) - int(layout.nmant))
    return distances


def unit_roundoff(dtype: DType) -> float:
    """Half the distance from 1 to the next number."""
    return float(layout_of(dtype).eps) / 2


def is_subnormal(values: Array) -> Array:
    """A mask of the numbers that a processor in flush-to-zero mode treats as zero."""
    layout = layout_of(values.dtype)
    if int(layout.minexp) not in _FLUSHING_EXPONENTS:
        return np.zeros(values.shape, np.bool_)
    magnitude = np.abs(values.astype(np.float64))
    return (magnitude > 0) & (magnitude < float(layout.smallest_normal))


def is_flushable(array: Array) -> bool:
    """Whether an array has a number that a processor in flush-to-zero mode treats as zero."""
    if array.dtype.kind == "c":
        return is_flushable(array.real) or is_flushable(array.imag)
    return is_inexact(array.dtype) and bool(is_subnormal(array).any())


def distance(a: Array, b: Array) -> Array:
    """|a - b| of floats or complex numbers as f64; 0 where both are NaN or equal, else infinite if either is
    not finite.
    """
    wide_a, wide_b = a.astype(wide_dtype(a.dtype)), b.astype(wide_dtype(b.dtype))
    with np.errstate(all="ignore"):
        ulps = np.abs(wide_a - wide_b)
    finite = np.isfinite(wide_a) & np.isfinite(wide_b)
    return np.where(finite, ulps, np.where(_same_specials(wide_a, wide_b), 0.0, np.inf))


def equal_elements(a: Array, b: Array) -> Array:
    """A mask of the elements that are equal or both NaN."""
    return np.asarray((a == b) | ((a != a) & (b != b)))


def root_mean_square(distances: Sequence[Array], factor: float = 1.0) -> Array:
    """A multiple of the root of the mean square of distances, element by element; 0.0 where there are none.

    Distances are divided by the largest one before they are squared, as squares of numbers below 1e-162 are
    zero, and those above 1e154 infinite.
    """
    if not distances:
        return np.zeros(())
    largest: Array = np.max(distances, axis=0)
    with np.errstate(all="ignore"):
        scale = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
        squares = np.mean([np.square(one / scale) for one in distances], axis=0)
        # The root alone may underflow.
        return np.where(np.isfinite(largest), (factor * np.sqrt(squares)) * scale, largest)


def _same_specials(a: Array, b: Array) -> Array:
    """A mask of the elements that are equal or both NaN; components of complex numbers are compared one by
    one.

    C99 and the specification leave open which components of a complex number that is not finite are NaN, so
    that two numbers that are not finite count as the same.
    """
    if a.dtype.kind == "c":
        return np.asarray((~np.isfinite(a) & ~np.isfinite(b)) | (a == b))
    return np.asarray((np.isnan(a) & np.isnan(b)) | (a == b))
