"""Powers and angles of f64: errors, special values, and that values depend on no neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from nimblehlo.kernels.math import real_functions

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(5)

BASES = np.concatenate(
    [10 ** RNG.uniform(-300, 300, 1500), RNG.uniform(0.5, 2, 1000), 1 + RNG.uniform(-1e-8, 1e-8, 300)]
)
EXPONENTS = RNG.uniform(-1, 1, BASES.size) * 700 / np.abs(np.log(BASES))
LEGS = [RNG.standard_normal(2000) * 10 ** RNG.uniform(-scale, scale, 2000) for scale in (300, 300, 1, 3)]
MAGNITUDES = (0.0, 5e-324, 1e-300, 0.5, 1, 2, 2.5, 3, 2.0**53, 1e300, np.inf)
EDGES = np.array([*(sign * x for sign in (1, -1) for x in MAGNITUDES), np.nan])
PAIRS = np.array(list(itertools.product(EDGES, EDGES))).T

FUNCTIONS: dict[str, tuple[np.ufunc, Callable[..., Any], np.ufunc, Array, Array, float]] = {
    "power": (real_functions.power, lambda x, y: x**y, np.power, BASES, EXPONENTS, 0.7),
    "atan2": (
        real_functions.atan2, mpmath.atan2, np.arctan2,
        np.concatenate(LEGS[:3:2]), np.concatenate(LEGS[1::2]), 0.6,
    ),
}  # fmt: skip
"""Each function, its true value, NumPy's, arguments, and the greatest error in ulps."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_close(name: str) -> None:
    function, true, _, x, y, most = FUNCTIONS[name]
    with mpmath.workprec(200):
        for first, second, value in zip(x, y, function(x, y), strict=True):
            exact = true(mpmath.mpf(float(first)), mpmath.mpf(float(second)))
            if abs(exact) >= 2.0**-1022:
                error = abs(mpmath.mpf(float(value)) - exact)
                assert error <= most * np.spacing(abs(float(exact))), (first, second)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_are_those_of_c(name: str) -> None:
    function, _, of_numpy, *_ = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        value, expected = function(*PAIRS), of_numpy(*PAIRS)
    np.testing.assert_allclose(value, expected, rtol=1e-15)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(value[is_number]), np.signbit(expected[is_number]))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_depend_on_no_neighbours(name: str, dtype: type[np.floating[Any]]) -> None:
    """The same bits alone, in the midst of others, and at other strides; f32 is f64 rounded."""
    function, _, _, x, y, _ = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        x = np.concatenate([x, PAIRS[0]]).astype(dtype)
        y = np.concatenate([y, PAIRS[1]]).astype(dtype)
        together = function(x, y)
        alone = np.array([function(first, second) for first, second in zip(x, y, strict=True)])
        wide = function(x.astype(np.float64), y.astype(np.float64)).astype(dtype)
        apart = function(np.repeat(x, 3)[::3], y)
    for other in (alone, wide, apart):
        np.testing.assert_array_equal(together, other)
        is_number = ~np.isnan(together)
        np.testing.assert_array_equal(np.signbit(together[is_number]), np.signbit(other[is_number]))
