"""Special functions and samples of PyTorch, called without PyTorch."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nimblehlo.errors import UnsupportedError
from nimblehlo.program.frontend.torch.conversions import special
from nimblehlo.types import ELEMENT_TYPES, Array
from tests.program.frontend.torch.calling import converted

RANDOM = np.random.default_rng(17)


def test_incomplete_gamma_functions_of_whole_numbers() -> None:
    """Q(n, x) is the probability that fewer than n events of a Poisson distribution happen."""
    a, x = (grid.ravel() for grid in np.meshgrid([1.0, 3.0, 20.0, 90.0], [0.1, 3.0, 19.0, 25.0, 88.0]))
    terms = [
        math.fsum(math.exp(k * math.log(each) - each - math.lgamma(k + 1)) for k in range(int(order)))
        for order, each in zip(a, x, strict=True)
    ]
    (upper,) = converted("aten.igammac.default", [a, x], [a])
    (lower,) = converted("aten.igamma.default", [a, x], [a])
    np.testing.assert_allclose(upper, terms, rtol=1e-11)
    np.testing.assert_allclose(lower, 1 - np.array(terms), rtol=1e-11, atol=1e-14)


def test_poles_of_zeta_and_polygamma() -> None:
    """Infinite at 0 and at negative integers, whatever the order; a boolean False is such a number."""
    poles, others = np.array([0.0, -1.0, -6.0]), np.array([1.0, -0.5])
    for exponent in (1.0, 2.0, 3.0, 4.5):
        (result,) = converted("aten.special_zeta.default", [np.full(3, exponent), poles], [poles])
        np.testing.assert_array_equal(result, math.inf)
    (below,) = converted("aten.special_zeta.default", [np.full(3, 0.5), poles], [poles])
    np.testing.assert_array_equal(below, math.nan, "the series has no sum")
    for order in range(1, 6):
        (result,) = converted("aten.polygamma.default", [order, poles], [poles])
        np.testing.assert_array_equal(result, math.copysign(math.inf, order % 2 - 0.5))
        (result,) = converted("aten.polygamma.default", [order, others], [others])
        assert np.isfinite(result).all()
    # The sum of (1 + k) ** -3 over all k is Apery's constant.
    (result,) = converted("aten.polygamma.default", [2, np.array([False, True])], [np.zeros(2, np.float32)])
    np.testing.assert_allclose(result, [-math.inf, -2 * 1.2020569031595942], rtol=1e-6)


def test_digamma_at_zero_is_the_limit_of_its_side() -> None:
    x = np.array([0.0, -0.0, -1.0, 1.0])
    expected = [-math.inf, math.inf, math.nan, -0.5772156649015329]
    for arguments in (["aten.digamma.default", [x]], ["aten.polygamma.default", [0, x]]):
        (result,) = converted(*arguments, [x])
        np.testing.assert_allclose(result, expected, rtol=1e-14)


def test_limits_of_incomplete_gamma_functions() -> None:
    a = np.array([0.0, 0.0, 2.0, 2.0, np.inf, np.inf, -1.0, 2.0, np.nan])
    x = np.array([0.0, 1.0, 0.0, np.inf, 1.0, np.inf, 1.0, -1.0, 1.0])
    (lower,) = converted("aten.igamma.default", [a, x], [a])
    np.testing.assert_array_equal(lower, [np.nan, 1, 0, 1, 0, np.nan, np.nan, np.nan, np.nan])


def test_incomplete_gamma_functions_of_large_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """P(a, a) is 1/2 + 1 / (3 sqrt(2 pi a)) but for terms of the order of a^(-3/2)."""
    a = np.array([1e4, 1e5, 1e7, 1e12, 1e300])
    (lower,) = converted("aten.igamma.default", [a, a], [a])
    np.testing.assert_allclose(lower, 0.5 + 1 / (3 * np.sqrt(2 * np.pi * a)), rtol=1e-8)
    (upper,) = converted("aten.igammac.default", [a, a], [a])
    np.testing.assert_allclose(upper, 1 - lower, rtol=1e-14)
    for factor, expected in ((0.5, 0.0), (2.0, 1.0)):
        (lower,) = converted("aten.igamma.default", [a, a * factor], [a])
        np.testing.assert_array_equal(lower, expected)
    monkeypatch.setattr(special, "_MAX_TERMS", 900)
    a = np.array([1e4, 9e4])
    (lower,) = converted("aten.igamma.default", [a, a], [a])
    np.testing.assert_array_equal(np.isnan(lower), [False, True], "a series that is too long has no result")


def test_incomplete_gamma_functions_agree_where_methods_change() -> None:
    """Q(a + 1, x) - Q(a, x) is x^a exp(-x) / Gamma(a + 1); only the second order has an expansion."""
    a = np.full(9, special._LARGE - 0.5)
    x = a + np.sqrt(a) * np.linspace(-6, 6, 9)
    added = np.exp(a * np.log(x) - x - math.lgamma(a[0] + 1))
    for name, sign in (("igammac", 1), ("igamma", -1)):
        (before,) = converted(f"aten.{name}.default", [a, x], [a])
        (after,) = converted(f"aten.{name}.default", [a + 1, x], [a])
        np.testing.assert_allclose(after, before + sign * added, rtol=1e-8, atol=1e-15)


@pytest.mark.parametrize("scaled", [False, True])
def test_bessel_functions(scaled: bool) -> None:
    """I0 is NumPy's; I1 is the derivative of I0, the mean of exp(x cos t) cos t."""
    x = np.array([-30.0, -8.0, -0.5, 0.0, 1e-3, 3.0, 7.999, 8.001, 60.0, 300.0])
    suffix, factor = ("e", np.exp(-np.abs(x))) if scaled else ("", np.ones_like(x))
    (zero,) = converted(f"prims.bessel_i0{suffix}.default", [x], [x])
    np.testing.assert_allclose(zero, np.i0(x) * factor, rtol=1e-13)
    angle = 2 * np.pi * np.arange(1024) / 1024
    mean = (np.exp(np.outer(x, np.cos(angle)) - np.abs(x)[:, None]) * np.cos(angle)).mean(1)
    (one,) = converted(f"prims.bessel_i1{suffix}.default", [x], [x])
    np.testing.assert_allclose(one, mean * np.exp(np.abs(x)) * factor, rtol=1e-12, atol=1e-15)


def test_scaled_complementary_error_function() -> None:
    x = np.array([-3.0, 0.0, 0.7, 5.0, 19.9, 20.1, 1e3])
    known = [math.exp(v * v) * math.erfc(v) for v in x[:5].tolist()]
    (result,) = converted("prims.erfcx.default", [x], [x])
    np.testing.assert_allclose(result[:5], known, rtol=1e-12)
    # Beyond, by the continued fraction.
    for value, each in zip(result[5:], x[5:], strict=True):
        fraction = each
        for k in range(40, 0, -1):
            fraction = each + k / 2 / fraction
        np.testing.assert_allclose(value, 1 / math.sqrt(math.pi) / fraction, rtol=1e-12)


def test_mantissas_and_exponents() -> None:
    x = np.array([0.0, -0.0, 1.0, -3.5, 1e-40, 1e-45, 3e38, np.inf, np.nan], np.float32)
    mantissa, exponent = converted("prims.frexp.default", [x], [x, np.zeros(9, np.int32)])
    expected = np.frexp(x)
    np.testing.assert_array_equal(mantissa, expected[0])
    np.testing.assert_array_equal(exponent[:7], expected[1][:7])


def test_logarithms_of_cumulated_sums() -> None:
    x = np.array([[-1e4, 3.0, -np.inf, 800.0, 799.0, 2.0]])
    expected = np.logaddexp.accumulate(x, 1)
    (result,) = converted("aten.logcumsumexp.default", [x, 1], [x])
    np.testing.assert_allclose(result, expected)


def grid_of(shape: tuple[int, ...]) -> Array:
    """The positions of an image's own elements, where the corners are aligned."""
    axes = [np.linspace(-1, 1, size) for size in shape]
    return np.stack(np.meshgrid(*axes, indexing="ij")[::-1], -1)[None]


@pytest.mark.parametrize("mode", [0, 1])
def test_samples_at_the_elements_of_an_image_are_these(mode: int) -> None:
    x = RANDOM.normal(size=(1, 2, 3, 4, 5))
    (result,) = converted("aten.grid_sampler_3d.default", [x, grid_of((3, 4, 5)), mode, 0, True], [x])
    np.testing.assert_allclose(result, x, atol=1e-12)


def test_samples_of_narrow_floats_are_rounded_once() -> None:
    """The operands of the wider computation are the narrow ones, so that it differs by a rounding alone."""
    bf16 = ELEMENT_TYPES["bf16"].dtype
    x, grid = RANDOM.normal(size=(1, 2, 6, 7, 8)), RANDOM.uniform(-1, 1, size=(1, 3, 4, 5, 3))
    x, grid, cotangent = (each.astype(bf16) for each in (x, grid, RANDOM.normal(size=(1, 2, 3, 4, 5))))
    for name, operands, settings, results in (
        ("grid_sampler_3d", [x, grid], [0, 1, True], [cotangent]),
        ("grid_sampler_3d_backward", [cotangent, x, grid], [0, 1, True, [True, True]], [x, grid]),
    ):
        wide = [each.astype(np.float32) for each in operands]
        templates = [each.astype(np.float32) for each in results]
        expected = converted(f"aten.{name}.default", [*wide, *settings], templates)
        actual = converted(f"aten.{name}.default", [*operands, *settings], results)
        for result, value in zip(actual, expected, strict=True):
            np.testing.assert_array_equal(result, value.astype(bf16))


@pytest.mark.parametrize("name", ["grid_sampler_3d", "grid_sampler_2d_backward"])
def test_interpolations_without_a_conversion_are_named(name: str) -> None:
    x, grid = np.zeros((1, 1, 2, 2, 2)), np.zeros((1, 2, 2, 2, 3))
    arguments = [x, grid, 2, 0, False]
    if name.endswith("backward"):
        x, grid = x[..., 0], grid[..., 0, :2]
        arguments = [x, x, grid, 2, 0, False, [True, True]]
    with pytest.raises(UnsupportedError, match="the interpolation bicubic is not supported"):
        converted(f"aten.{name}.default", arguments, [x, grid][: 1 + name.endswith("backward")])


@pytest.mark.parametrize("padding", [0, 1, 2])
def test_gradients_of_samples_are_difference_quotients(padding: int) -> None:
    x, grid = RANDOM.normal(size=(1, 1, 3, 4, 2)), RANDOM.uniform(-1.4, 1.4, size=(1, 2, 1, 3, 3))
    cotangent = RANDOM.normal(size=(1, 1, 2, 1, 3))

    def sampled(x: Array, grid: Array) -> float:
        (result,) = converted("aten.grid_sampler_3d.default", [x, grid, 0, padding, False], [cotangent])
        return float(np.vdot(result, cotangent))

    gradients = converted(
        "aten.grid_sampler_3d_backward.default",
        [cotangent, x, grid, 0, padding, False, [True, True]],
        [x, grid],
    )
    for number, gradient in enumerate(gradients):
        direction = RANDOM.normal(size=gradient.shape)
        ends = []
        for step in (1e-6, -1e-6):
            moved = [x, grid]
            moved[number] = moved[number] + step * direction
            ends.append(sampled(*moved))
        np.testing.assert_allclose(np.vdot(gradient, direction), (ends[0] - ends[1]) / 2e-6, rtol=1e-5)
