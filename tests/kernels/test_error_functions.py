"""The error function and its complement on f64: how close they are, and how arrays may lie."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from nimblehlo.kernels import error_functions

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(3)

FUNCTIONS = {
    "erf": (error_functions.erf, mpmath.erf, 1.1),
    "erfc": (error_functions.erfc, mpmath.erfc, 3.0),
}
"""Each function, its true value, and the greatest error in ulps."""

ARGUMENTS = np.concatenate(
    [
        RNG.uniform(-7, 7, 1500),
        RNG.uniform(0.7, 0.8, 300),
        RNG.uniform(0, 26.5, 1500),
        10 ** RNG.uniform(-320, 0, 300) * RNG.choice([-1.0, 1.0], 300),
        [0.75, np.nextafter(0.75, 0), 5e-324, -5e-324, 26.5, 6.0, -6.0],
    ]
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_close(name: str) -> None:
    function, true, most = FUNCTIONS[name]
    with mpmath.workprec(200):
        for x, value in zip(ARGUMENTS, function(ARGUMENTS), strict=True):
            exact = true(mpmath.mpf(float(x)))
            assert abs(mpmath.mpf(float(value)) - exact) <= most * np.spacing(abs(float(exact))), x


def test_special_values() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, -1e300, 28.0])
    erf, erfc = error_functions.erf(x), error_functions.erfc(x)
    np.testing.assert_array_equal(erf, [0, 0, 1, -1, np.nan, 1, -1, 1])
    assert not np.signbit(erf[0]) and np.signbit(erf[1])
    np.testing.assert_array_equal(erfc, [1, 1, 0, 2, np.nan, 0, 2, 0])


def test_values_below_the_least_normal_number_lose_digits_only() -> None:
    x = np.linspace(26.55, 27.3, 200)
    least = 2.0**-1074
    with mpmath.workprec(200):
        for argument, value in zip(x, error_functions.erfc(x), strict=True):
            exact = mpmath.erfc(mpmath.mpf(float(argument)))
            assert abs(mpmath.mpf(float(value)) - exact) <= least + 3 * 2.0**-53 * exact


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 255, 256, 257, 1000])
@pytest.mark.parametrize("step", [1, 3, -2])
def test_arrays_lie_in_any_way(count: int, step: int) -> None:
    """The same bits in whole vectors, in what is left, and from elements that lie apart."""
    values = RNG.uniform(-6, 6, 3 * count + 3)[::step][:count]
    one_by_one = [error_functions.erfc(value) for value in values]
    np.testing.assert_array_equal(error_functions.erfc(values), np.array(one_by_one, np.float64))
    target = np.full(2 * count, np.nan)
    error_functions.erfc(values, out=target[::2])
    np.testing.assert_array_equal(target[::2], np.array(one_by_one, np.float64))
    assert np.isnan(target[1::2]).all()
