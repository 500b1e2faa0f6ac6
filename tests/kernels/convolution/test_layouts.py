"""Layouts whose features are not contiguous: packing by transposing, and copies, with the same bits."""

from typing import Any

import numpy as np
import pytest

from nimblehlo.kernels.convolution import convolution, copies, winograd
from nimblehlo.kernels.convolution import convolution_tasks as tasks
from nimblehlo.kernels.convolution.problem import DimensionNumbers, problem_of
from tests.support.running import same_bits

from .test_convolution import axis, convolved, needs_floats

LAST, FIRST = (0, 1, 2, 3), (0, 2, 3, 1)
OUTPUTS_FIRST, INPUTS_FIRST = (2, 3, 1, 0), (2, 3, 0, 1)
SWAPPED = (1, 2, 3, 0)
"""Features before the batch, as in gradients of filters."""


def operands(
    features: int, outputs: int, axes: Any, batch: int = 2, dtype: str = "float32"
) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    lhs = generator.standard_normal((batch, *(a.size for a in axes), features)).astype(dtype)
    rhs = generator.standard_normal((*(a.window for a in axes), features, outputs)).astype(dtype)
    return lhs, rhs


@needs_floats
@pytest.mark.parametrize("rhs_order", [OUTPUTS_FIRST, INPUTS_FIRST])
@pytest.mark.parametrize(
    ("features", "outputs", "window"), [(40, 70, 3), (3, 20, 7), (270, 33, 1), (2, 17, 5), (300, 9, 2)]
)
@pytest.mark.parametrize("is_reversed", [False, True])
def test_factors_of_an_output_feature_are_transposed(
    rhs_order: tuple[int, ...], features: int, outputs: int, window: int, is_reversed: bool
) -> None:
    axes = [axis(9, window, stride=2, low=1, high=2, is_reversed=is_reversed), axis(12, window)]
    lhs, rhs = operands(features, outputs, axes)
    expected = convolved(lhs, rhs, axes)
    for orders in ((LAST, rhs_order, LAST), (FIRST, rhs_order, FIRST)):
        for is_constant in (False, True):
            result = convolved(lhs, rhs, axes, orders=orders, threads=2, is_constant=is_constant)
            assert same_bits(result, expected)


def test_runs_of_factors() -> None:
    offsets = np.arange(9).reshape(3, 3)[::-1].ravel()
    runs = convolution.factor_runs(offsets, 8, (3, 1, 9, 72))
    assert (runs.run, runs.first) == (72, 0) and (offsets[runs.positions] == np.arange(9)).all()
    assert convolution.factor_runs(offsets, 8, (3, 1, 90, 9)).run == 9
    assert convolution.factor_runs(offsets * 2, 8, (6, 2, 18, 144)).run == 0
    assert convolution.factor_runs(offsets, 8, (3, 1, 9, 1)).run == 0
    few = np.arange(convolution._MIN_FACTOR_RUN - 1)
    assert convolution.factor_runs(few, 3, (1, 100, 1000)).run == 0


@needs_floats
@pytest.mark.parametrize("window", [7, convolution._MIN_ROW_POSITIONS, 19, 37])
@pytest.mark.parametrize(("features", "batch"), [(1, 5), (3, 40), (20, 2)])
@pytest.mark.parametrize("result_order", [LAST, FIRST, SWAPPED])
def test_windows_with_long_rows_are_transposed(
    window: int,
    features: int,
    batch: int,
    result_order: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As those of gradients of filters, also in the padding."""
    axes = [axis(window, window, low=1, high=1), axis(window + 1, window, low=2, high=1)]
    lhs, rhs = operands(features, 21, axes, batch)
    expected = convolved(lhs, rhs, axes)
    found = []
    element_rows = convolution._element_rows

    def spy(*arguments: Any) -> Any:
        found.append(element_rows(*arguments))
        return found[-1]

    monkeypatch.setattr(convolution, "_element_rows", spy)
    for lhs_order in (FIRST, SWAPPED):
        result = convolved(lhs, rhs, axes, orders=(lhs_order, OUTPUTS_FIRST, result_order), threads=2)
        assert same_bits(result, expected)
    assert features == 1 or all((rows is None) == (window < 8) for rows in found)


@needs_floats
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("groups", [(1, 1), (2, 1), (1, 2)])
def test_copies_with_contiguous_features_keep_bits(
    dtype: str, groups: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    axes = [axis(7, 3, stride=2, low=1, high=1), axis(9, 3, base=2, low=1)]
    lhs, _ = operands(6, 1, axes, 4, dtype)
    _, rhs = operands(6 // groups[0], 10, axes, 4, dtype)
    orders = (FIRST, OUTPUTS_FIRST, FIRST)
    results = []
    for copied, features in ((0, 1), (0, 1 << 40), (1 << 40, 1)):
        monkeypatch.setattr(copies, "_COPIED_FMAS", copied)
        monkeypatch.setattr(copies, "_MIN_COPIED_FEATURES", features)
        results.append(convolved(lhs, rhs, axes, groups, orders))
    assert same_bits(*results[:2]) and same_bits(*results[1:])


@needs_floats
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize(("batch", "size"), [(1, 30), (3, 9)])
def test_gradients_of_depthwise_filters_run_along_groups(
    dtype: str, batch: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups, axes = 37, [axis(size, size, low=2, high=2), axis(size, 4, stride=1, low=1, high=1, dilation=2)]
    generator = np.random.default_rng(0)
    lhs = (generator.standard_normal((groups, size, size, batch)) * 100).astype(dtype)
    rhs = (generator.standard_normal((size, 4, batch, groups)) * 100).astype(dtype)
    launches = []
    products = tasks.Products

    def spy(*values: Any, **named: Any) -> Any:
        launches.append(values[4]["tiles"][1])
        return products(*values, **named)

    monkeypatch.setattr(tasks, "Products", spy)
    orders = (SWAPPED, INPUTS_FIRST, SWAPPED)
    by_groups = convolved(lhs, rhs, axes, (1, groups), orders, threads=2)
    assert launches == [True]
    monkeypatch.setattr(convolution, "prefers_contiguous_groups", lambda _: False)
    assert same_bits(by_groups, convolved(lhs, rhs, axes, (1, groups), orders))
    assert launches == [True, False]


@pytest.mark.parametrize(("size", "stride", "is_copied"), [(8, 2, True), (112, 1, False), (14, 1, True)])
def test_short_rows_and_steps_are_copied(size: int, stride: int, is_copied: bool) -> None:
    axes = [axis(size, 3, stride, 1, 1)] * 2
    count = axes[0].windows
    shapes = (1, 64, size, size), (64, 64, 3, 3), (1, 64, count, count)
    numbers = DimensionNumbers(FIRST, OUTPUTS_FIRST, FIRST)
    problem = problem_of(shapes, axes, numbers, np.dtype(np.float32), (1, 1), None)
    if tasks.tile_shape("float32", tasks.best_level())[0] == 16:
        assert copies.prefers_contiguous_features(problem, shapes) == is_copied
    last = shapes[0], shapes[1], (1, count, count, 64)
    assert not copies.prefers_contiguous_features(
        problem._replace(numbers=numbers._replace(result=LAST)), last
    )


@needs_floats
@pytest.mark.parametrize("rhs_order", [OUTPUTS_FIRST, INPUTS_FIRST, (3, 2, 1, 0)])
@pytest.mark.parametrize(("features", "outputs"), [(16, 8), (37, 70), (170, 20)])
def test_winograd(rhs_order: tuple[int, ...], features: int, outputs: int) -> None:
    axes = (axis(14, 3, low=1, high=1), axis(39, 3, low=1))
    lhs, rhs = operands(features, outputs, axes)
    numbers = DimensionNumbers(LAST, LAST, LAST)
    result = lhs.shape[0], axes[0].windows, axes[1].windows, outputs
    expected = winograd.prepare((lhs.shape, rhs.shape, result), axes, numbers)(lhs, rhs)
    numbers = DimensionNumbers(FIRST, rhs_order, FIRST)
    lhs = np.ascontiguousarray(lhs.transpose(0, 3, 1, 2))
    rhs = np.ascontiguousarray(rhs.transpose(np.argsort(rhs_order)))
    shapes = lhs.shape, rhs.shape, (result[0], outputs, *result[1:3])
    for threads in (1, 3):
        convolve = winograd.prepare(shapes, axes, numbers, threads=threads)
        assert same_bits(convolve(lhs, rhs).transpose(0, 2, 3, 1), expected)
