"""Runs: how rows are cut, and how runs are merged, against NumPy's own sort."""

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nimblehlo.kernels.sorting import runs, runs_loops, sort
from nimblehlo.kernels.sorting.native_sort import MIN_SCRATCH_COUNT, sort_address
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
    for dtype in ("complex64", "int32", "float64"):
        with pytest.raises(ValueError, match=dtype):
            sort_address(dtype)


def sorted_natively(numbers, scratch_items, by_upper_half=False):
    """The numbers sorted by the native function, and its scratch, followed by a number that must stay."""
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)
    sort_numbers = function(sort_address(numbers.dtype, by_upper_half=by_upper_half))
    got = np.append(numbers, numbers.dtype.type(7))
    scratch = np.full(scratch_items + 1, 9, numbers.dtype)
    assert sort_numbers(got.ctypes.data, numbers.size, scratch.ctypes.data if scratch_items else None) == 0
    assert got[-1] == 7
    assert scratch[-1] == 9
    return got[:-1], scratch[:-1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, MIN_SCRATCH_COUNT - 1, MIN_SCRATCH_COUNT, 3 * MIN_SCRATCH_COUNT + 1])
def test_long_arrays_are_sorted_by_digits(dtype, count):
    rng = np.random.default_rng(count)
    for different in (1, 2, 300, 100_000):
        numbers = numbers_of(rng, count, dtype, different)
        got, scratch = sorted_natively(numbers, count)
        np.testing.assert_array_equal(got, np.sort(numbers))
        has_passes = different > 1 and count >= MIN_SCRATCH_COUNT and numbers.itemsize > 1
        assert (scratch != 9).any() == has_passes
        np.testing.assert_array_equal(sorted_natively(numbers, 0)[0], np.sort(numbers))


@pytest.mark.parametrize("bit", [0, 10, 11, 21, 22, 31, 32, 33, 43, 54, 55, 63])
def test_each_bit_is_in_a_digit(bit):
    rng = np.random.default_rng(bit)
    for dtype in DTYPES[1:]:
        if bit < 8 * np.dtype(dtype).itemsize:
            numbers = rng.integers(0, 2, MIN_SCRATCH_COUNT, dtype) << np.array(bit, dtype)
            np.testing.assert_array_equal(sorted_natively(numbers, numbers.size)[0], np.sort(numbers))


def test_equal_upper_halves_keep_their_order():
    rng = np.random.default_rng(4)
    upper = rng.integers(0, 2**32, 700, "uint64")
    numbers = rng.choice(upper, 5000) << np.uint64(32) | np.arange(5000, dtype="uint64")
    np.testing.assert_array_equal(sorted_natively(numbers, numbers.size, True)[0], np.sort(numbers))
