"""Windows that slide along rows: the bits of packed windows, and integers exactly."""

import numpy as np
import pytest

from nimblehlo.kernels.convolution import convolution, convolution_tasks, sliding
from nimblehlo.kernels.convolution.convolution import Axis, DimensionNumbers

from .test_convolution import SMALL, axis, laid_out, needs_floats, needs_integers, part_by_part, term_by_term

FEATURES_FIRST = {
    3: DimensionNumbers((0, 2, 1), (2, 1, 0), (0, 2, 1)),
    4: DimensionNumbers((0, 2, 3, 1), (2, 3, 1, 0), (0, 2, 3, 1)),
}
AXES = {
    "a row": (axis(40, 5),),
    "no padding": (axis(9, 3), axis(30, 3)),
    "padding of all sides": (axis(6, 3, low=2, high=1), axis(33, 4, low=3, high=2)),
    "rows in the padding alone": (axis(2, 2, low=5, high=4), axis(20, 3, low=1, high=1)),
    "columns in the padding alone": (axis(3, 2), axis(5, 2, low=40, high=40)),
    "elements left out": (axis(8, 3, low=-2, high=-1), axis(30, 3, low=-5, high=-4)),
    "steps": (axis(20, 4, stride=2), axis(40, 8, stride=2, low=1, high=2)),
    "steps beyond windows": (axis(20, 2, stride=3), axis(70, 2, stride=5, low=1)),
    "dilated windows": (axis(12, 3, dilation=2), axis(30, 3, stride=2, low=2, dilation=3)),
    "dilated lhs": (axis(7, 3, low=2, high=2, base=2), axis(12, 5, low=4, high=4, base=2)),
    "dilated lhs and steps": (axis(7, 3, stride=2, low=2, base=3), axis(30, 5, stride=3, low=4, base=2)),
    "reversed windows": (axis(8, 3, is_reversed=True), axis(20, 4, low=1, is_reversed=True)),
    "several blocks of a sum": (axis(14, 9), axis(24, 9)),
}


def slides(lhs, rhs, axes, threads=None, numbers=None):
    """The convolution of features that are first, or by these numbers, and how many launches slid."""
    launches = []

    def counted(*arguments):
        launches.append(sliding.sliding(*arguments))
        return launches[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(convolution, "sliding", counted)
        numbers = numbers or FEATURES_FIRST[lhs.ndim]
        shape = (lhs.shape[0], *(a.windows for a in axes), rhs.shape[-1])
        operands = laid_out(lhs, numbers.lhs), laid_out(rhs, numbers.rhs)
        result = [shape[place] for place in np.argsort(numbers.result)]
        shapes = operands[0].shape, operands[1].shape, result
        run = convolution.prepare(shapes, axes, numbers, lhs.dtype, threads=threads)
        return run(*operands).transpose(numbers.result), len([one for one in launches if one is not None])


@pytest.fixture
def any_steps(monkeypatch):
    """Windows slide although their steps skip most elements."""
    monkeypatch.setattr(sliding, "_MIN_FMAS", 0)


def operands_of(generator, axes, batch, features, outputs, dtype="float32"):
    shapes = (batch, *(a.size for a in axes), features), (*(a.window for a in axes), features, outputs)
    if np.dtype(dtype).kind == "i":
        return [generator.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, s, dtype) for s in shapes]
    return [generator.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.sampled(("name", "dtype"))
@needs_integers
@pytest.mark.parametrize("name", AXES)
@pytest.mark.parametrize("outputs", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers(name, outputs, dtype, any_steps):
    lhs, rhs = operands_of(np.random.default_rng(0), AXES[name], 2, 3, outputs, dtype)
    got, launches = slides(lhs, rhs, AXES[name])
    assert launches
    np.testing.assert_array_equal(got, term_by_term(lhs, rhs, AXES[name]))


@pytest.mark.sampled(("name", "dtype"))
@needs_floats
@pytest.mark.parametrize("name", AXES)
@pytest.mark.parametrize("outputs", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_have_the_bits_of_packed_windows(name, outputs, dtype, any_steps, monkeypatch):
    lhs, rhs = operands_of(np.random.default_rng(0), AXES[name], 2, 3, outputs, dtype)
    got, launches = slides(lhs, rhs, AXES[name])
    assert launches
    monkeypatch.setattr(sliding, "_MAX_OUTPUTS", 0)
    expected, launches = slides(lhs, rhs, AXES[name])
    assert not launches
    assert got.tobytes() == expected.tobytes()


@needs_floats
def test_floats_are_added_in_the_stated_order():
    generator, axes = np.random.default_rng(0), AXES["several blocks of a sum"]
    lhs, rhs = operands_of(generator, axes, 1, 3, 2)
    # Factors of few bits: f64 holds each product and sum exactly enough to round once.
    rhs = np.round(rhs * 16).astype(np.float32) / 16
    lhs = np.round(lhs * 64).astype(np.float32) / 64
    np.testing.assert_array_equal(slides(lhs, rhs, axes)[0], part_by_part(lhs, rhs, axes))


@needs_floats
def test_infinite_factors_of_padding_give_nans():
    axes = (axis(4, 3, low=1, high=1), axis(20, 3, low=1, high=1))
    lhs, rhs = operands_of(np.random.default_rng(0), axes, 1, 1, 2)
    rhs[0, 1, 0, 0] = np.inf
    got, launches = slides(lhs, rhs, axes)
    assert launches
    # The first row of windows multiplies zeros of the padding with infinity.
    assert np.isnan(got[0, 0, :, 0]).all()
    assert np.isfinite(got[..., 1]).all()


@needs_floats
@pytest.mark.parametrize("columns", [2046, 2048, 2050, 5000])
@pytest.mark.parametrize("threads", [1, 3])
def test_rows_are_divided_into_blocks_of_columns(columns, threads, monkeypatch):
    axes = (axis(columns + 6, 7),)
    lhs, rhs = operands_of(np.random.default_rng(0), axes, 2, 1, 1)
    got, launches = slides(lhs, rhs, axes, threads)
    assert launches
    monkeypatch.setattr(sliding, "_MAX_OUTPUTS", 0)
    assert got.tobytes() == slides(lhs, rhs, axes)[0].tobytes()


@needs_floats
@pytest.mark.parametrize("rows", [1, 16, 61, 200])
def test_rows_are_divided_into_blocks(rows, monkeypatch):
    axes = (axis(rows + 6, 7), axis(100, 3))
    lhs, rhs = operands_of(np.random.default_rng(0), axes, 1, 4, 3)
    got, launches = slides(lhs, rhs, axes)
    assert launches
    monkeypatch.setattr(sliding, "_MAX_COPIED_ELEMENTS", 1)
    assert slides(lhs, rhs, axes)[0].tobytes() == got.tobytes()
    monkeypatch.setattr(sliding, "_MAX_OUTPUTS", 0)
    assert slides(lhs, rhs, axes)[0].tobytes() == got.tobytes()


@needs_floats
@pytest.mark.parametrize("outputs", [9, 16, 29, 32])
def test_tiles_of_many_output_features(outputs, monkeypatch):
    axes = (axis(12, 3), axis(40, 3))
    lhs, rhs = operands_of(np.random.default_rng(0), axes, 2, 2, outputs)
    got, launches = slides(lhs, rhs, axes)
    assert launches
    monkeypatch.setattr(sliding, "_MAX_OUTPUTS", 0)
    assert got.tobytes() == slides(lhs, rhs, axes)[0].tobytes()


@needs_floats
@pytest.mark.parametrize("size", [3, 9])
def test_output_features_that_are_contiguous(size, monkeypatch):
    """Their sums are stored one by one, which pays for windows of enough positions."""
    axes, ranks = (axis(20, size), axis(40, size)), (0, 1, 2, 3)
    numbers = DimensionNumbers(ranks, ranks, ranks)
    lhs, rhs = operands_of(np.random.default_rng(0), axes, 1, 1, 6)
    lanes = convolution_tasks.tile_shape("float32", convolution_tasks.best_level())[0]
    got, launches = slides(lhs, rhs, axes, numbers=numbers)
    assert bool(launches) == (size**2 * (lanes - 6) >= 2 * lanes * 6)
    monkeypatch.setattr(sliding, "_MAX_OUTPUTS", 0)
    assert got.tobytes() == slides(lhs, rhs, axes, numbers=numbers)[0].tobytes()


@needs_floats
@pytest.mark.parametrize(
    ("axes", "features", "outputs"),
    [
        ((axis(8, 3), axis(20, 3)), 2, 33),
        ((axis(8, 2), axis(20, 3)), 2, 9),
        ((axis(8, 1), axis(20, 1)), 2, 1),
        ((axis(8, 3), axis(3, 3)), 2, 1),
        ((axis(8, 2), axis(80, 3, stride=3)), 2, 2),
        ((axis(3, 3), axis(30, 3)), 1 << 12, 1),
        ((axis(3, 3), axis(3000, 3)), 64, 1),
    ],
    ids=["outputs", "reads", "positions", "columns", "steps", "products", "elements of rows"],
)
def test_limits(axes, features, outputs):
    lhs, rhs = operands_of(np.random.default_rng(0), axes, 1, features, outputs)
    assert not slides(lhs, rhs, axes)[1]


def test_no_windows_slide_along_no_or_three_dimensions():
    assert not sliding.may_slide((), 1, np.dtype("float32"))
    assert not sliding.may_slide((Axis(40, 3, 38),) * 3, 1, np.dtype("float32"))
    if convolution.supports(SMALL, "float32"):
        assert sliding.may_slide((Axis(40, 3, 38),), 1, np.dtype("float32"))
