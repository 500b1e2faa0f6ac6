"""Functions of f64 and f32: how close they are, and how arrays may lie."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from nimblehlo.kernels.math import real_functions

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(3)

NEAR_ONE = 1 - 2 ** -RNG.uniform(1, 52.9, 700)
MULTIPLES = np.concatenate([np.arange(1, 200), RNG.integers(1, 683_565_275, 500)]) * (np.pi / 2)
ANGLES = np.concatenate(
    [
        RNG.uniform(-10, 10, 1500),
        RNG.choice([-1.0, 1.0], 1500) * 2 ** RNG.uniform(-30, 29.99, 1500),
        *[np.nextafter(MULTIPLES, side) for side in (0, np.inf)],
        MULTIPLES,
        10 ** RNG.uniform(-320, 0, 300),
        [5e-324, np.nextafter(2.0**30, 0), 2.0**30, -1e10, 1e22, 1.7e308],
    ]
)
EXPONENTS = np.concatenate(
    [
        RNG.uniform(-1, 1, 1000),
        RNG.uniform(-708, 709.7, 2000),
        # Where one multiple of log(2) ends and the next one begins.
        np.arange(-1020, 1023, 7) * np.log(2) + np.log(2) / 2,
        10 ** RNG.uniform(-320, 0, 300) * RNG.choice([-1.0, 1.0], 300),
        [708.0, np.nextafter(708.0, 0), -708.0, 0.0, 709.782712893384, 5e-324],
    ]
)
LOGISTIC_EXPONENTS = EXPONENTS[EXPONENTS > -708]
ERRORS = np.concatenate(
    [
        RNG.uniform(-7, 7, 1500),
        RNG.uniform(0.7, 0.8, 300),
        RNG.uniform(0, 26.5, 1500),
        10 ** RNG.uniform(-320, 0, 300) * RNG.choice([-1.0, 1.0], 300),
        [0.75, np.nextafter(0.75, 0), 5e-324, -5e-324, 26.5, 6.0, -6.0],
    ]
)
TANH_ARGUMENTS = np.concatenate(
    [
        RNG.uniform(0.3, 1.3, 2000),
        RNG.uniform(-22, 22, 1000),
        10 ** RNG.uniform(-320, 0, 300) * RNG.choice([-1.0, 1.0], 300),
        [0.9, np.nextafter(0.9, 0), 5e-324, -5e-324, 18.7, 19.99, 20.0, -20.01, 1e300],
    ]
)
CUBES = np.concatenate(
    [
        RNG.uniform(-8, 8, 2000),
        10 ** RNG.uniform(-323, 308, 2000) * RNG.choice([-1.0, 1.0], 2000),
        2.0 ** np.arange(-1074, 1024, 11),
        np.arange(1.0, 40) ** 3,
        [5e-324, np.nextafter(2.0**-1022, 0), np.finfo(np.float64).max],
    ]
)
ABOVE_ONE = 1 + 10 ** RNG.uniform(-16, 1, 700)
POSITIVE = np.concatenate([np.abs(CUBES), ABOVE_ONE, NEAR_ONE])
LARGE = 10 ** RNG.uniform(0, 308, 700)
PARTS = np.concatenate(
    [
        RNG.uniform(-1, 1, 1500),
        NEAR_ONE,
        -NEAR_ONE,
        10 ** RNG.uniform(-320, 0, 300) * RNG.choice([-1.0, 1.0], 300),
        # Where one approximation ends and the next one begins.
        np.sqrt(-np.expm1(-np.concatenate([bound * RNG.uniform(0.999, 1.001, 50) for bound in (5, 14)]))),
        [np.nextafter(1.0, 0), np.nextafter(-1.0, 0), 5e-324],
    ]
)

FUNCTIONS = {
    "erf": (real_functions.erf, mpmath.erf, ERRORS, 1.1),
    "erfc": (real_functions.erfc, mpmath.erfc, ERRORS, 3.0),
    "erf_inv": (real_functions.erf_inv, mpmath.erfinv, PARTS, 2.3),
    "sine": (real_functions.sine, mpmath.sin, ANGLES, 0.8),
    "cosine": (real_functions.cosine, mpmath.cos, ANGLES, 0.8),
    "exponential": (real_functions.exponential, mpmath.exp, EXPONENTS, 0.7),
    "logistic": (real_functions.logistic, lambda x: 1 / (1 + mpmath.exp(-x)), LOGISTIC_EXPONENTS, 2.0),
    "tanh": (real_functions.tanh, mpmath.tanh, TANH_ARGUMENTS, 1.0),
    "cbrt": (real_functions.cbrt, lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), CUBES, 0.51),
    "logarithm": (real_functions.logarithm, mpmath.log, POSITIVE, 0.55),
    "log_plus_one": (real_functions.log_plus_one, mpmath.log1p, np.concatenate([PARTS, np.abs(CUBES)]), 0.55),
    "exponential_minus_one": (real_functions.exponential_minus_one, mpmath.expm1, EXPONENTS, 0.6),
    "tangent": (real_functions.tangent, mpmath.tan, ANGLES, 1.0),
    "sinh": (real_functions.sinh, mpmath.sinh, EXPONENTS, 0.6),
    "cosh": (real_functions.cosh, mpmath.cosh, EXPONENTS, 0.55),
    "asin": (real_functions.asin, mpmath.asin, PARTS, 0.6),
    "acos": (real_functions.acos, mpmath.acos, PARTS, 0.8),
    "atan": (real_functions.atan, mpmath.atan, np.concatenate([TANH_ARGUMENTS, CUBES]), 0.55),
    "asinh": (real_functions.asinh, mpmath.asinh, np.concatenate([TANH_ARGUMENTS, CUBES]), 0.6),
    "acosh": (real_functions.acosh, mpmath.acosh, np.concatenate([ABOVE_ONE, LARGE]), 0.65),
    "atanh": (real_functions.atanh, mpmath.atanh, PARTS, 0.6),
}
"""Each function, its true value, arguments, and the greatest error in ulps."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_close(name: str) -> None:
    function, true, arguments, most = FUNCTIONS[name]
    with np.errstate(over="ignore", invalid="ignore"):
        values = function(arguments)
    with mpmath.workprec(1200 if name in ("sine", "cosine", "tangent") else 300):
        for x, value in zip(arguments, values, strict=True):
            exact = true(mpmath.mpf(float(x)))
            assert abs(mpmath.mpf(float(value)) - exact) <= most * np.spacing(abs(float(exact))), x


def test_special_values() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, -1e300, 28.0])
    with np.errstate(over="ignore", invalid="ignore"):
        erf, erfc = real_functions.erf(x), real_functions.erfc(x)
    np.testing.assert_array_equal(erf, [0, 0, 1, -1, np.nan, 1, -1, 1])
    assert not np.signbit(erf[0]) and np.signbit(erf[1])
    np.testing.assert_array_equal(erfc, [1, 1, 0, 2, np.nan, 0, 2, 0])


def test_special_values_of_erf_inv() -> None:
    x = np.array([0.0, -0.0, 1, -1, 1.5, -2, np.inf, -np.inf, np.nan])
    with np.errstate(invalid="ignore"):
        value = real_functions.erf_inv(x)
    np.testing.assert_array_equal(value, [0, 0, np.inf, -np.inf, *[np.nan] * 5])
    assert list(np.signbit(value[:2])) == [False, True]


def test_special_values_of_sine_and_cosine() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])
    with np.errstate(invalid="ignore"):
        sine, cosine = real_functions.sine(x), real_functions.cosine(x)
    np.testing.assert_array_equal(sine, [0, 0, *[np.nan] * 3])
    np.testing.assert_array_equal(cosine, [1, 1, *[np.nan] * 3])
    assert list(np.signbit(sine[:2])) == [False, True]


def test_special_values_of_exponential_and_logistic() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 709.79, -745.14, 1e300, -1e300])
    with np.errstate(over="ignore", invalid="ignore"):
        exponential, logistic = real_functions.exponential(x), real_functions.logistic(x)
    np.testing.assert_array_equal(exponential, [1, 1, np.inf, 0, np.nan, np.inf, 0, np.inf, 0])
    np.testing.assert_array_equal(logistic[[0, 1, 2, 3, 4, 7, 8]], [0.5, 0.5, 1, 0, np.nan, 1, 0])


def test_special_values_of_tanh() -> None:
    with np.errstate(invalid="ignore"):
        value = real_functions.tanh(np.array([0.0, -0.0, np.inf, -np.inf, np.nan]))
    np.testing.assert_array_equal(value, [0, 0, 1, -1, np.nan])
    assert list(np.signbit(value[:2])) == [False, True]


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "logarithm": [-np.inf, -np.inf, 0, np.nan, np.inf, np.nan],
        "log_plus_one": [0.0, -0.0, np.log(2), -np.inf, np.inf, np.nan],
        "exponential_minus_one": [0.0, -0.0, np.e - 1, 1 / np.e - 1, np.inf, -1],
        "tangent": [0.0, -0.0, 1.5574077246549023, -1.5574077246549023, np.nan, np.nan],
        "sinh": [0.0, -0.0, 1.1752011936438014, -1.1752011936438014, np.inf, -np.inf],
        "cosh": [1, 1, 1.5430806348152437, 1.5430806348152437, np.inf, np.inf],
        "asin": [0.0, -0.0, np.pi / 2, -np.pi / 2, np.nan, np.nan],
        "acos": [np.pi / 2, np.pi / 2, 0.0, np.pi, np.nan, np.nan],
        "atan": [0.0, -0.0, np.pi / 4, -np.pi / 4, np.pi / 2, -np.pi / 2],
        "asinh": [0.0, -0.0, 0.881373587019543, -0.881373587019543, np.inf, -np.inf],
        "acosh": [np.nan, np.nan, 0.0, np.nan, np.inf, np.nan],
        "atanh": [0.0, -0.0, np.inf, -np.inf, np.nan, np.nan],
    }.items(),
)
def test_special_values_of_functions_and_inverses(name: str, values: list[float]) -> None:
    with np.errstate(all="ignore"):
        got = getattr(real_functions, name)(np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan]))
    np.testing.assert_allclose(got, [*values, np.nan], rtol=1e-15)
    zeros = got == 0
    assert list(np.signbit(got[zeros])) == list(np.signbit(np.array([*values, np.nan])[zeros]))


def test_special_values_of_cbrt() -> None:
    with np.errstate(invalid="ignore"):
        value = real_functions.cbrt(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -27.0]))
    np.testing.assert_array_equal(value, [0, 0, np.inf, -np.inf, np.nan, -3])
    assert list(np.signbit(value[:2])) == [False, True]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_of_f32_are_those_of_f64_rounded(name: str) -> None:
    function, _, arguments, _ = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        short = arguments.astype(np.float32)
        short = np.concatenate([short, np.array([0.0, -0.0, np.inf, -np.inf, np.nan], np.float32)])
        value, wide = function(short), function(short.astype(np.float64))
        assert value.dtype == np.float32
        np.testing.assert_array_equal(value.view(np.int32), wide.astype(np.float32).view(np.int32))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_of_f32_are_those_of_f64_rounded_whatever_the_bits(name: str) -> None:
    """A sample of all values, which `tools/single_functions.py` compares."""
    function = FUNCTIONS[name][0]
    short = np.arange(0, 1 << 32, 4093, dtype=np.uint64).astype(np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        value, wide = function(short), function(short.astype(np.float64)).astype(np.float32)
    different = (value.view(np.uint32) != wide.view(np.uint32)) & ~(np.isnan(value) & np.isnan(wide))
    assert not short[different].size


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("dtype", "code"), [(np.float32, np.int32), (np.float64, np.int64)])
def test_values_hang_on_no_neighbours(name: str, dtype: type[np.floating[Any]], code: type[Any]) -> None:
    """The same bits beside arguments that take another way."""
    function, _, arguments, _ = FUNCTIONS[name]
    arguments = RNG.permutation(np.concatenate([arguments, [np.nan, -np.nan, np.inf, -np.inf]]))
    with np.errstate(all="ignore"):
        arguments = arguments.astype(dtype)
        one_by_one = np.concatenate([function(arguments[at : at + 1]) for at in range(len(arguments))])
        together = function(arguments)
    np.testing.assert_array_equal(together.view(code), one_by_one.view(code))


def test_powers_below_the_least_normal_number_are_rounded_once() -> None:
    x = np.linspace(-745.2, -708, 500)
    with mpmath.workprec(200):
        for argument, value in zip(x, real_functions.exponential(x), strict=True):
            exact = mpmath.exp(mpmath.mpf(float(argument)))
            assert abs(mpmath.mpf(float(value)) - exact) <= mpmath.mpf(2) ** -1075 + 0.7 * 2.0**-52 * exact


def test_values_below_the_least_normal_number_lose_digits_only() -> None:
    x = np.linspace(26.55, 27.3, 200)
    least = 2.0**-1074
    with mpmath.workprec(200):
        for argument, value in zip(x, real_functions.erfc(x), strict=True):
            exact = mpmath.erfc(mpmath.mpf(float(argument)))
            assert abs(mpmath.mpf(float(value)) - exact) <= least + 3 * 2.0**-53 * exact


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 255, 256, 257, 1000])
@pytest.mark.parametrize("step", [1, 3, -2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_may_have_any_strides(count: int, step: int, dtype: type[np.floating[Any]]) -> None:
    """The same bits in whole vectors, in what is left, and from elements that lie apart."""
    values = RNG.uniform(-6, 6, 3 * count + 3).astype(dtype)[::step][:count]
    one_by_one = [real_functions.erfc(value) for value in values]
    np.testing.assert_array_equal(real_functions.erfc(values), np.array(one_by_one, dtype))
    in_place = values.copy()
    np.testing.assert_array_equal(real_functions.erfc(in_place, out=in_place), np.array(one_by_one, dtype))
    target = np.full(2 * count, np.nan, dtype)
    real_functions.erfc(values, out=target[::2])
    np.testing.assert_array_equal(target[::2], np.array(one_by_one, dtype))
    assert np.isnan(target[1::2]).all()
