"""Runs: how rows are cut, and how runs are merged, against NumPy's own sort."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nimblehlo.kernels.sorting import runs, runs_loops, sort
from nimblehlo.kernels.sorting.numpy_sort import sort_address
from nimblehlo.kernels.sorting.runs import Runs

DTYPES = ("uint8", "uint16", "uint32", "uint64")


def numbers_of(rng, size, dtype, different):
    """Numbers with the extreme ones among them, of at most so many values."""
    info = np.iinfo(dtype)
    values = rng.integers(0, info.max, different, dtype, endpoint=True)
    values[:2] = [0, info.max][: values.size]
    return rng.choice(values, size)


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), st.integers(1, 500), st.integers(1, 300), st.integers(1, 250), st.integers(1, 200))
def test_pairs_of_runs_are_merged(dtype, rows, length, different, run, size):
    numbers = numbers_of(np.random.default_rng(length), rows * length, dtype, different).reshape(rows, length)
    merged = np.empty(rows * length, dtype)
    for first in range(0, length, run):
        numbers[:, first : first + run].sort()
    runs_loops.merge(-(-numbers.size // size), size, length, run, numbers.reshape(-1), merged)
    for first in range(0, length, 2 * run):
        pair = slice(first, first + 2 * run)
        got = merged.reshape(rows, length)[:, pair]
        np.testing.assert_array_equal(got, np.sort(numbers[:, pair], axis=1))


@pytest.mark.parametrize("dtype", ["u2", "f4", "i8"])
@pytest.mark.parametrize("count", [1, 2, 4, 8])
@pytest.mark.parametrize("comparison", ["CANONICAL", "TOTALORDER"])
def test_any_number_of_runs_gives_the_same_bits(dtype, count, comparison, monkeypatch):
    shape = (2, 30_011)
    rng = np.random.default_rng(count)
    values = rng.integers(0, 200, shape).astype(dtype)
    if dtype == "f4":
        special = rng.choice(np.float32([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e-45]), shape)
        values = np.where(rng.random(shape) < 0.3, special, values)
    order = [sort.Key(0, True, comparison)]
    want = sorted_by_kernel(values, order)
    monkeypatch.setattr(sort, "cut", lambda rows, length, threads: Runs(count, -(-length // count)))
    for got, wanted in zip(sorted_by_kernel(values, order), want, strict=True):
        assert got.tobytes() == wanted.tobytes()
    if comparison == "CANONICAL":
        assert (np.diff(want[1], axis=1)[want[0][:, 1:] == want[0][:, :-1]] > 0).all()


def sorted_by_kernel(values, order):
    """The sorted values; and values, positions and doubled values sorted together."""
    (alone,) = sort.prepare(values.shape, [values.dtype], 1, order)(values)
    kinds = [values.dtype, values.dtype]
    together = sort.prepare(values.shape, kinds, 1, order, positions="i4")(values, values + values)
    assert together[0].tobytes() == alone.tobytes()
    assert np.take_along_axis(values, together[2], 1).tobytes() == alone.tobytes()
    assert np.take_along_axis(values + values, together[2], 1).tobytes() == together[1].tobytes()
    return alone, together[2]


def test_rows_are_cut_where_there_are_fewer_than_threads(monkeypatch):
    monkeypatch.setattr(runs, "chosen_threads", lambda threads: threads)
    assert runs.cut(1, 1_000_000, 1) == Runs(1, 1_000_000)
    assert runs.cut(1, 1_000_001, 2) == Runs(2, 500_001)
    assert runs.cut(2, 1_000_000, 2) == Runs(1, 1_000_000)
    assert runs.cut(2, 1_000_000, 3) == Runs(2, 500_000)
    assert runs.cut(1, 1_000_000, 100) == Runs(16, 62_500)
    assert runs.cut(1, 60_000, 8) == Runs(1, 60_000)


def test_without_a_function_of_numpys(monkeypatch):
    monkeypatch.setattr(sort, "sort_address", lambda dtype: 0)
    assert not sort.supports(["f4"], [sort.Key(0)])


def test_addresses():
    assert all(sort_address(dtype) for dtype in DTYPES)
    with pytest.raises(ValueError, match="complex64"):
        sort_address("complex64")
