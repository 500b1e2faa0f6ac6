"""`runs` against NumPy's own sort."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nimblehlo.kernels import runs, threads
from nimblehlo.kernels.numpy_sort import sort_address

DTYPES = ("uint8", "uint16", "uint32", "uint64")


def numbers_of(rng, size, dtype, different):
    """Numbers with the extreme ones among them, of at most so many values."""
    info = np.iinfo(dtype)
    values = rng.integers(0, info.max, different, dtype, endpoint=True)
    values[:2] = [0, info.max][: values.size]
    return rng.choice(values, size)


def check(rows, length, dtype, different, count):
    numbers = numbers_of(np.random.default_rng(length), rows * length, dtype, different)
    want = np.sort(numbers.reshape(rows, length), axis=1).reshape(-1)
    np.testing.assert_array_equal(runs.sort(numbers.copy(), rows, length, count), want)


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), st.integers(1, 70), st.integers(1, 40))
def test_runs_are_merged(dtype, rows, length, different):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "_LONG", 2)
        for count in (2, 3, 4):
            patch.setattr(runs, "_RUNS", count)
            check(rows, length, dtype, different, 2)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize(("rows", "length"), [(1, 200_001), (3, 70_000), (500, 301)])
def test_any_number_of_threads(rows, length, count):
    for dtype in DTYPES:
        check(rows, length, dtype, 1000, count)


def test_long_rows_are_cut():
    if threads.chosen_threads(None) == 1:
        pytest.skip("a single thread does not merge")
    numbers = np.arange(100_000, dtype=np.uint32)
    assert runs.sort(numbers, 1, numbers.size, None) is not numbers
    assert runs.sort(numbers, 1, numbers.size, 1) is numbers


def test_without_a_function_of_numpys(monkeypatch):
    monkeypatch.setattr(runs, "sort_address", lambda dtype: 0)
    check(2, 1000, "uint32", 300, None)


def test_addresses():
    assert all(sort_address(dtype) for dtype in DTYPES)
    with pytest.raises(ValueError, match="unsigned"):
        sort_address("int32")
