"""Compares results with expected ones: one rule for the examples and for the tests."""

from typing import Any

import numpy as np

from nimblehlo.error_bounds.ulps import is_inexact

Array = np.ndarray[Any, Any]


def difference(actual: Array, expected: Array, bound: float) -> str | None:
    """The difference of two results in words, or None if they agree.

    Types and shapes agree. Integers and booleans are equal. For floating-point values NaN agrees with NaN,
    infinities are equal, and the absolute difference is at most `bound` times the largest finite magnitude
    of `expected` (a bound of 0 asks for equal values).
    """
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype}{list(actual.shape)} where {expected.dtype}{list(expected.shape)} is expected"
    if not is_inexact(expected.dtype):
        unequal = int((actual != expected).sum())
        return f"{unequal} of {expected.size} values are not equal" if unequal else None
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    actual, expected = actual.astype(wide), expected.astype(wide)
    finite = np.isfinite(expected)
    special = ~finite
    if not np.array_equal(actual[special], expected[special], equal_nan=True):
        return "infinities or NaN are not where they are expected"
    if not np.isfinite(actual[finite]).all():
        return "infinities or NaN are where finite values are expected"
    scale = float(np.abs(expected[finite]).max(initial=0.0))
    distance = float(np.abs(actual[finite] - expected[finite]).max(initial=0.0))
    if distance > bound * scale:
        return f"differs by {distance:.2e}; the largest value is {scale:.2e}, the bound {bound:.2e} of it"
    return None
