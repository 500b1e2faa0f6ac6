"""Searches, segments and windows of maxima of PyTorch, called without PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

from nimblehlo.errors import UnsupportedError
from nimblehlo.types import Array
from tests.program.frontend.torch.calling import converted

RANDOM = np.random.default_rng(13)


@pytest.mark.parametrize("n", [0, 1, 7, 8])
@pytest.mark.parametrize("right", [False, True])
def test_positions_in_sorted_sequences(n: int, right: bool) -> None:
    sequence = np.sort(RANDOM.integers(0, 5, n)).astype(np.float32)
    values = np.array([-1.0, 0.0, 2.0, 2.5, 4.0, 9.0, np.nan], np.float32)
    expected = np.searchsorted(sequence, values, "right" if right else "left")
    (result,) = converted("aten.searchsorted.Tensor", [sequence, values], [expected], right=right)
    np.testing.assert_array_equal(result, expected)


def test_numbers_between_integers_are_not_truncated() -> None:
    sequence, position = np.array([1, 5, 6]), np.array(2)
    for name, arguments in (("searchsorted", [sequence, 5.5]), ("bucketize", [5.5, sequence])):
        (result,) = converted(f"aten.{name}.Scalar", arguments, [position])
        assert result == 2


def test_rows_are_searched_in_their_sequences() -> None:
    sequences = np.sort(RANDOM.normal(size=(3, 10)), axis=1)
    values = RANDOM.normal(size=(3, 4))
    expected = np.stack([np.searchsorted(*pair) for pair in zip(sequences, values, strict=True)])
    shuffled = RANDOM.permuted(np.arange(30).reshape(3, 10) % 10, axis=1)
    unsorted = np.take_along_axis(sequences, np.argsort(shuffled, 1), 1)
    (result,) = converted("aten.searchsorted.Tensor", [unsorted, values], [expected], sorter=shuffled)
    np.testing.assert_array_equal(result, expected)


def test_the_smallest_of_the_most_frequent_values() -> None:
    x = np.array([[3, 1, 3, 1, 2], [5, 5, 5, 0, 0], [4, 3, 2, 1, 0]])
    values, indices = converted("aten.mode.default", [x], [np.zeros(3, np.int64)] * 2)
    np.testing.assert_array_equal(values, [1, 5, 0])
    np.testing.assert_array_equal(indices, [3, 2, 4])


def test_histograms_count_what_lies_in_the_range() -> None:
    x = np.array([-0.1, 0.0, 0.4, 0.5, 0.9, 1.0, 1.1, np.nan])
    (result,) = converted("aten.histc.default", [x, 2, 0, 1], [np.zeros(2)])
    np.testing.assert_array_equal(result, [2, 3])
    edges = np.array([0.0, 0.25, 1.0])
    counts, same = converted(
        "aten.histogram.bins_tensor", [x[:-1], edges], [np.zeros(2), edges], density=True
    )
    np.testing.assert_allclose(counts, [1 / 5 / 0.25, 4 / 5 / 0.75])
    np.testing.assert_array_equal(same, edges)


def test_nonzeros_fill_a_given_number_of_rows() -> None:
    x = np.array([[0, 2, 0], [1, 0, 3]])
    for size in (2, 5):
        expected = np.full((size, 2), -1)
        found = np.argwhere(x)[:size]
        expected[: len(found)] = found
        (result,) = converted("aten.nonzero_static.default", [x], [expected], size=size)
        np.testing.assert_array_equal(result, expected)


def test_medians_without_nans() -> None:
    x = np.array([[3.0, np.nan, 1.0, 2.0], [np.nan] * 4])
    values, indices = converted("aten.nanmedian.dim", [x, 1], [np.zeros(2), np.zeros(2, np.int64)])
    np.testing.assert_array_equal(values, [2.0, np.nan])
    assert indices[0] == 3


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_the_median_of_no_elements_is_nan(name: str) -> None:
    (result,) = converted(f"aten.{name}.default", [np.zeros((0, 3))], [np.float64(0)])
    assert np.isnan(result)
    with pytest.raises(UnsupportedError, match="the median of no elements of i32 is undefined"):
        converted(f"aten.{name}.default", [np.zeros(0, np.int32)], [np.int32(0)])


def test_windows_of_adaptive_pooling_overlap() -> None:
    x = RANDOM.normal(size=(2, 7, 5))
    values, positions = np.zeros((2, 3, 2)), np.zeros((2, 3, 2), np.int64)
    results = converted("aten.adaptive_max_pool2d.default", [x, [3, 2]], [values, positions])
    for (plane, row, column), value in np.ndenumerate(results[0]):
        rows = slice(row * 7 // 3, -(-(row + 1) * 7 // 3))
        columns = slice(column * 5 // 2, -(-(column + 1) * 5 // 2))
        assert value == x[plane, rows, columns].max() == x[plane].flat[results[1][plane, row, column]]


def bags(rows: Array, offsets: list[int]) -> list[Array]:
    return np.split(rows, offsets[1:])


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_bags_of_embeddings(mode: int) -> None:
    weight, indices = RANDOM.normal(size=(6, 3)), np.array([4, 1, 1, 5, 0, 2])
    offsets = [0, 2, 2, 5]
    reduce = {0: np.sum, 1: np.mean, 2: np.max}[mode]
    expected = np.stack([reduce(b, 0) if len(b) else np.zeros(3) for b in bags(weight[indices], offsets)])
    maxima = np.zeros((4, 3), np.int64)
    results = converted(
        "aten._embedding_bag.default",
        [weight, indices, np.array(offsets), False, mode],
        [expected, indices, np.array(offsets), maxima],
    )
    np.testing.assert_allclose(results[0], expected)
    np.testing.assert_array_equal(results[2], [2, 0, 3, 1])
    if mode == 2:
        largest = np.take_along_axis(weight, results[3], 0)
        np.testing.assert_array_equal(largest[[0, 2, 3]], expected[[0, 2, 3]])


@pytest.mark.parametrize("has_bags", [True, False])
@pytest.mark.parametrize(("mode", "by_frequency"), [(0, False), (0, True), (1, False), (2, False)])
def test_gradients_of_bags_of_embeddings(mode: int, by_frequency: bool, has_bags: bool) -> None:
    """Row by row, as the sums of the gradients of the bags that have the row; row 0 does not count."""
    indices, offsets, counted = np.array([4, 1, 1, 5, 0, 2]), [0, 2, 2, 5], [2, 0, 2, 1]
    bag, cotangent, padding = np.repeat(range(4), [2, 0, 3, 1]), RANDOM.normal(size=(4, 3)), 0
    maxima = np.array([[4, 1, 1], [0, 0, 0], [1, 5, 5], [2, 2, 2]])
    expected = np.zeros((6, 3))
    if mode == 2:
        for (row, column), largest in np.ndenumerate(maxima):
            expected[largest, column] += cotangent[row, column] if counted[row] else 0
    else:
        for index, number in zip(indices, bag, strict=True):
            scale = np.sum(indices == index) if by_frequency else counted[number] if mode == 1 else 1
            expected[index] += (index != padding) * cotangent[number] / scale
    given = bag if has_bags or mode else np.zeros(0, np.int64)
    arguments = [cotangent, indices, np.array(offsets), given, np.array(counted), maxima]
    settings = [6, by_frequency, mode, False, None, padding]
    (result,) = converted("aten._embedding_bag_backward.default", [*arguments, *settings], [expected])
    np.testing.assert_allclose(result, expected)


def test_gradients_of_the_weights_of_a_bag() -> None:
    weight, indices = RANDOM.normal(size=(6, 3)), np.array([4, 1, 1, 5, 0, 2])
    cotangent, bag = RANDOM.normal(size=(4, 3)), np.repeat(range(4), [2, 0, 3, 1])
    expected = (weight[indices] * cotangent[bag]).sum(1) * (indices != 5)
    for given in (bag, np.zeros(0, np.int64)):
        arguments = [cotangent, weight, indices, np.array([0, 2, 2, 5]), given, 0, 5]
        (result,) = converted(
            "aten._embedding_bag_per_sample_weights_backward.default", arguments, [expected]
        )
        np.testing.assert_allclose(result, expected)


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
def test_segments(reduce: str) -> None:
    data, lengths = RANDOM.normal(size=(6, 2)), np.array([2, 0, 3, 1])
    function = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}[reduce]
    without = {"sum": 0, "mean": np.nan, "max": -np.inf, "min": np.inf, "prod": 1}[reduce]
    segments = np.split(data, np.cumsum(lengths)[:-1])
    expected = np.stack([function(s, 0) if len(s) else np.full(2, without) for s in segments])
    (result,) = converted("aten.segment_reduce.default", [data, reduce], [expected], lengths=lengths)
    np.testing.assert_allclose(result, expected)
