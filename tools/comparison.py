"""Compares results with expected ones: one rule for the examples and for the tests."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from nimblehlo.checks.error_bounds.ulps import is_inexact

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


MIN_SPREAD = 10
"""How many times the allowed difference the values of a result must spread, to tell a wrong one from it."""


def weakness(expected: Array, bound: float) -> str | None:
    """Why a comparison with a result could not notice a wrong one, in words; None if it could.

    A result that is zero or constant agrees with what another program leaves zero or constant too, and one
    whose values differ by less than the allowed difference agrees with any order of them.

    Args:
        expected: the result that others are compared with.
        bound: of the comparison, as `difference` takes it.
    """
    if not expected.size:
        return "has no elements"
    values = expected.reshape(-1)
    if not is_inexact(expected.dtype):
        return "is constant" if values.size > 1 and (values == values[0]).all() else None
    values = values.astype(np.complex128 if expected.dtype.kind == "c" else np.float64)
    values = values[np.isfinite(values)]
    if not values.size:
        return "has no finite value"
    if expected.size == 1:
        return None if values[0] else "is zero"
    spread, scale = float(np.abs(values - values[0]).max()), float(np.abs(values).max())
    if not spread:
        return "is constant"
    if spread <= MIN_SPREAD * bound * scale:
        return f"spreads by {spread:.2e}, and {bound * scale:.2e} is allowed"
    return None


def no_telling_result(expected: Iterable[Array], bound: float) -> str | None:
    """Why none of a program's results could notice a wrong program; None if one of them could."""
    reasons = [weakness(result, bound) for result in expected]
    if None in reasons:
        return None
    told = "; ".join(f"result {number} {reason}" for number, reason in enumerate(reasons))
    return f"no result could tell a wrong program: {told or 'there are none'}"
