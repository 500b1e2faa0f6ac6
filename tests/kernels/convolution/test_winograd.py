"""Winograd's convolutions: the stated formula and order, its bound, and values that are not finite."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from nimblehlo.kernels.convolution import convolution, convolution_tasks, winograd
from nimblehlo.kernels.convolution.convolution import Axis, DimensionNumbers
from tests.support.running import same_bits

pytestmark = pytest.mark.skipif(
    not convolution.supports(((2, 2),) * 3, "float32"), reason="no fused multiply-add"
)

LAST = DimensionNumbers((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3))
FIRST = DimensionNumbers((0, 2, 3, 1), (2, 3, 1, 0), (0, 2, 3, 1))
MIXED = DimensionNumbers((3, 1, 2, 0), (1, 0, 3, 2), (0, 2, 1, 3))


def axis(size, low=1, high=1, is_reversed=False):
    return Axis(size, 3, low + size + high - 2, 1, low, 1, 1, is_reversed)


AXES = {
    "even": (axis(8), axis(12)),
    "odd": (axis(9), axis(5)),
    "without padding": (axis(8, 0, 0), axis(9, 0, 0)),
    "full padding, reversed": (axis(4, 2, 2, True), axis(5, 2, 2, True)),
    "cropped": (axis(12, -2, -1), axis(9, 3, -2)),
    "narrow": (axis(130), axis(1)),
    "wide": (axis(1), axis(130)),
}


def laid_out(array, order):
    """An array whose dimension number `order[i]` is dimension i of `array`."""
    return np.ascontiguousarray(array.transpose(np.argsort(order)))


def convolved(lhs, rhs, axes, numbers=LAST, prepare=winograd.prepare, **options):
    """By the kernel on [batch, row, column, feature] and [row, column, input feature, output feature]."""
    operands = laid_out(lhs, numbers.lhs), laid_out(rhs, numbers.rhs)
    shape = (len(lhs), *(a.windows for a in axes), rhs.shape[-1])
    result = [shape[place] for place in np.argsort(numbers.result)]
    if prepare is convolution.prepare:
        options["dtype"] = np.float32
    run = prepare((operands[0].shape, operands[1].shape, result), axes, numbers, **options)
    return run(*operands).transpose(numbers.result)


def directly(lhs, rhs, axes):
    return convolved(lhs, rhs, axes, prepare=convolution.prepare)


def windows_of(lhs, axes, step, size):
    """Elements from every `step`th window's first on: [batch, row, column, position, position, feature]."""
    for number, a in enumerate(axes, 1):
        count = -(-a.windows // step)
        elements = np.arange(count)[:, np.newaxis] * step - a.low + np.arange(size)
        inside = (elements >= 0) & (elements < a.size)
        taken = np.take(lhs, np.where(inside, elements, 0).reshape(-1), 2 * number - 1)
        shape = (*lhs.shape[: 2 * number - 1], count, size, *lhs.shape[2 * number :])
        mask = inside.reshape((1,) * (2 * number - 1) + inside.shape + (1,) * (lhs.ndim - 2 * number))
        lhs = np.where(mask, taken.reshape(shape), np.zeros((), lhs.dtype))
    return lhs.transpose(0, 1, 3, 2, 4, 5)


def turned(rhs, axes):
    return np.flip(rhs, [number for number, a in enumerate(axes) if a.is_reversed])


def formula(lhs, rhs, axes):
    """The algorithm in f32 as `winograd_tasks.h` states it, with sums of a fused multiply-add held by f64."""

    def inputs(d):
        return [d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]]

    def factors(g):
        return [g[0], ((g[0] + g[2]) + g[1]) / 2, ((g[0] + g[2]) - g[1]) / 2, g[2]]

    def results(m):
        return [m[0] + m[1] + m[2], m[1] - m[2] - m[3]]

    def along_both(transform, values):
        by_columns = transform(list(np.moveaxis(values, -3, 0)))
        by_rows = [transform(list(np.moveaxis(one, -2, 0))) for one in by_columns]
        return np.stack([np.stack(row, -2) for row in by_rows], -3)

    d = along_both(inputs, windows_of(lhs, axes, 2, 4))
    u = along_both(factors, np.moveaxis(turned(rhs, axes), 2, 0)).astype(np.float32)
    features = rhs.shape[2]
    size = -(-features // -(-features // convolution_tasks.K_BLOCK))
    m = np.zeros((*d.shape[:-1], rhs.shape[3]), np.float32)
    for begin in range(0, features, size):
        block = np.zeros_like(m)
        for feature in range(begin, min(begin + size, features)):
            product = d[..., feature, np.newaxis].astype(np.float64) * u[feature]
            block = (block + product).astype(np.float32)
        m = m + block
    y = along_both(results, m).transpose(0, 1, 3, 2, 4, 5)
    y = y.reshape(len(lhs), 2 * d.shape[1], 2 * d.shape[2], rhs.shape[3])
    return y[:, : axes[0].windows, : axes[1].windows]


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


@pytest.mark.parametrize("axes", AXES.values(), ids=AXES)
@pytest.mark.parametrize("numbers", [LAST, FIRST, MIXED], ids=["last", "first", "mixed"])
@pytest.mark.parametrize(("features", "outputs"), [(16, 8), (37, 70), (170, 20)])
def test_the_stated_formula_and_order(axes, numbers, features, outputs):
    lhs = normal(1, 2, axes[0].size, axes[1].size, features)
    rhs = normal(2, 3, 3, features, outputs)
    expected = formula(lhs, rhs, axes)
    for threads in (1, 2, 8):
        assert same_bits(convolved(lhs, rhs, axes, numbers, threads=threads), expected)
    assert same_bits(convolved(lhs, rhs, axes, numbers, is_rhs_constant=True), expected)


@pytest.mark.parametrize("size", [14, 20, 33])
@pytest.mark.parametrize("outputs", [64, 128, 200])
def test_work_items_cover_all_tiles_and_outputs(size, outputs):
    """Small integers are exact, so that the direct convolution has the same bits."""
    generator = np.random.default_rng(size)
    axes = (axis(size), axis(size))
    lhs = generator.integers(-9, 10, (3, size, size, 20)).astype(np.float32)
    rhs = generator.integers(-9, 10, (3, 3, 20, outputs)).astype(np.float32)
    expected = directly(lhs, rhs, axes)
    for numbers in (LAST, FIRST):
        assert same_bits(convolved(lhs, rhs, axes, numbers, threads=3), expected)


def magnitudes(lhs, rhs, axes):
    """For each result the sum over input features of the window's magnitudes times those of its factors."""
    windows = np.abs(windows_of(lhs, axes, 1, 3).astype(np.float64)).sum((3, 4))
    return windows @ np.abs(rhs.astype(np.float64)).sum((0, 1))


@pytest.mark.parametrize("features", [16, 64, 300])
@pytest.mark.parametrize("distribution", ["normal", "large means", "any exponents"])
def test_the_error_has_its_bound(features, distribution):
    """|error| <= gamma(n + 10) * 4 * sum over features of (sum of |d| in the window) * (sum of |g|)."""
    generator = np.random.default_rng(features)
    axes = (axis(10), axis(9))
    lhs, rhs = normal(3, 2, 10, 9, features), normal(4, 3, 3, features, 24)
    if distribution == "large means":
        lhs, rhs = lhs + np.float32(100), rhs - np.float32(50)
    elif distribution == "any exponents":
        lhs *= np.float32(2) ** generator.integers(-20, 20, lhs.shape)
        rhs *= np.float32(2) ** generator.integers(-20, 20, rhs.shape)
    windows = windows_of(lhs.astype(np.longdouble), axes, 1, 3)
    exact = np.tensordot(windows, rhs.astype(np.longdouble), ([3, 4, 5], [0, 1, 2]))
    k_blocks = -(-features // convolution_tasks.K_BLOCK)
    roundings = min(features, -(-features // k_blocks)) + k_blocks - 1 + 10
    gamma = roundings * 2.0**-24 / (1 - roundings * 2.0**-24)
    error = np.abs(convolved(lhs, rhs, axes) - exact)
    assert (error <= 4 * gamma * magnitudes(lhs, rhs, axes)).all() and error.any()


@pytest.mark.parametrize("numbers", [LAST, FIRST], ids=["last", "first"])
@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
def test_elements_that_are_not_finite_reach_their_windows_alone(numbers, special):
    axes = (axis(11), axis(14))
    lhs, rhs = normal(5, 1, 11, 14, 20), normal(6, 3, 3, 20, 18)
    rhs[1, 2, 7, :3] = 0
    usual, other = convolved(lhs, rhs, axes, numbers), lhs.copy()
    other[0, 4, 7, 7] = special
    got, direct = convolved(other, rhs, axes, numbers), directly(other, rhs, axes)
    reached = np.zeros(got.shape, bool)
    reached[0, 3:6, 6:9] = True
    assert same_bits(got[~reached], usual[~reached])
    assert same_bits(got[reached], direct[reached]) and not np.isfinite(got[reached]).any()


@pytest.mark.parametrize("special", [np.inf, np.nan])
def test_factors_that_are_not_finite(special):
    axes = (axis(10), axis(10))
    lhs, rhs = normal(5, 1, 10, 10, 16), normal(6, 3, 3, 16, 18)
    usual = convolved(lhs, rhs, axes)
    rhs[0, 0, 3, 5] = special
    got, direct = convolved(lhs, rhs, axes), directly(lhs, rhs, axes)
    is_other = np.arange(18) != 5
    assert same_bits(got[..., is_other], usual[..., is_other])
    # Where the factor meets padding, the product of zero is NaN in both.
    assert same_bits(got[..., 5], direct[..., 5]) and not np.isfinite(got[..., 5]).any()


def test_transforms_that_overflow_are_computed_directly():
    axes = (axis(10), axis(10))
    lhs, rhs = np.zeros((1, 10, 10, 16), np.float32), np.zeros((3, 3, 16, 8), np.float32)
    lhs[0, ::2, :, 3], lhs[0, 1::2, :, 3] = 3e38, 2e38
    rhs[1, 1, 3] = 1
    got = convolved(lhs, rhs, axes)
    assert same_bits(got, directly(lhs, rhs, axes)) and np.isfinite(got).all()
    assert same_bits(got[..., 0], lhs[..., 3])


def test_elements_outside_of_all_windows_have_no_effect():
    axes = (axis(12, -2, -1), axis(11, -1, -2))
    lhs, rhs = normal(5, 1, 12, 11, 16), normal(6, 3, 3, 16, 8)
    expected = convolved(lhs, rhs, axes)
    lhs[:, :2] = lhs[:, -1:] = lhs[:, :, :1] = lhs[:, :, -2:] = np.nan
    assert same_bits(convolved(lhs, rhs, axes), expected)


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_windows_of_zeros_give_positive_zeros(zero):
    axes = (axis(12), axis(11))
    lhs, rhs = normal(5, 1, 12, 11, 16), normal(6, 3, 3, 16, 8)
    lhs[:, 3:8, 2:9] = zero
    got = convolved(lhs, rhs, axes)
    inner = got[:, 4:7, 3:8]
    assert not inner.any() and not np.signbit(inner).any()
    assert got[:, 3].all() and got[:, :, 2].all()


def test_constant_factors_are_transformed_once():
    axes = (axis(14), axis(14))
    lhs, rhs = normal(7, 1, 14, 14, 40), normal(8, 3, 3, 40, 70)
    shapes = (lhs.shape, rhs.shape, (1, 14, 14, 70))
    constant, variable = (winograd.prepare(shapes, axes, LAST, is_rhs_constant=one) for one in (True, False))
    expected = variable(lhs, rhs)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: constant(lhs, rhs), range(8)))
    assert all(same_bits(result, expected) for result in results)
    rhs[...] = 0
    assert same_bits(constant(lhs, rhs), expected)
    assert not variable(lhs, rhs).any()


def test_operands_with_any_strides():
    axes = (axis(9), axis(10))
    lhs, rhs = normal(7, 2, 9, 10, 32), normal(8, 3, 3, 16, 24)
    run = winograd.prepare(((2, 9, 10, 16), rhs.shape, (2, 9, 10, 24)), axes, LAST)
    for view in (lhs[..., ::2], lhs[::-1, :, :, 16:], lhs[:, ::-1, :, :16]):
        assert same_bits(run(view, rhs), run(np.ascontiguousarray(view), rhs))


@pytest.mark.parametrize(
    "axes",
    [
        (axis(9),),
        (axis(9), axis(9)._replace(stride=2)),
        (axis(9), axis(9)._replace(window_dilation=2)),
        (axis(9)._replace(base_dilation=2), axis(9)),
        (axis(9), axis(9)._replace(window=2)),
    ],
)
def test_other_windows_are_rejected(axes):
    with pytest.raises(ValueError, match="windows of 3x3"):
        winograd.prepare(((1, 9, 9, 16), (3, 3, 16, 8), (1, 9, 9, 8)), axes, LAST)
