"""`sort_grouped` against the sort by runs, which `test_sort` and `test_runs` compare with other sorts."""

import numpy as np
import pytest

from nimblehlo.kernels.sorting import native_sort, runs, sort
from nimblehlo.kernels.sorting.native_sort import MIN_GROUPED_LENGTH
from nimblehlo.kernels.sorting.sort_encoding import bits_dtype

LENGTH = MIN_GROUPED_LENGTH + 777
SPECIAL = (0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e-45)


def arrays(dtype):
    """Evenly distributed, clustered and sorted elements; floats with all that is special about them."""
    rng = np.random.default_rng(5)
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        spread = rng.integers(info.min, info.max, LENGTH, dtype, endpoint=True)
        spread[:: LENGTH // 50] = info.min
        spread[1 :: LENGTH // 50] = info.max
        return {"spread": spread, "few": rng.integers(0, 50, LENGTH).astype(dtype), "sorted": np.sort(spread)}
    uniform, normal = rng.random(LENGTH).astype(dtype), rng.standard_normal(LENGTH).astype(dtype)
    normal[rng.integers(0, LENGTH, 5000)] = rng.choice(np.array(SPECIAL, dtype), 5000)
    return {"uniform": uniform, "normal": normal, "sorted": np.sort(uniform), "reversed": -np.sort(uniform)}


def sorted_by(values, key, monkeypatch, in_groups):
    """The sorted values; and sorted together with others, the values, the others and the positions."""
    calls = []

    def observed(*arguments):
        calls.append(native_sort.sort_grouped(*arguments))
        return calls[-1]

    monkeypatch.setattr(runs, "chosen_threads", lambda threads: threads)
    monkeypatch.setattr(sort, "sort_grouped", observed)
    if not in_groups:
        monkeypatch.setattr(sort, "_uses_groups", lambda *arguments: False)
    others, types = np.arange(LENGTH, dtype=np.int16), [values.dtype, np.dtype(np.int16)]
    results = [*sort.prepare((LENGTH,), types[:1], 0, [key], threads=2)(values)]
    for positions in ("i4", "i8"):
        together = sort.prepare((LENGTH,), types, 0, [key], positions=positions, threads=2)
        results += together(values, others)
    monkeypatch.undo()
    return [result.tobytes() for result in results], calls


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("descending", [False, True])
def test_groups_give_the_bits_of_runs(dtype, descending, monkeypatch):
    for values in arrays(dtype).values():
        for comparison in ("CANONICAL", "TOTALORDER", "FLOAT") if dtype[0] == "f" else ("TOTALORDER",):
            key = sort.Key(0, descending, comparison)
            want, _ = sorted_by(values, key, monkeypatch, in_groups=False)
            got, calls = sorted_by(values, key, monkeypatch, in_groups=True)
            assert got == want
            assert len(calls) == (3 if values.dtype.itemsize == 4 else 1)
            assert None not in calls


def test_elements_of_which_most_are_equal_are_left_to_runs():
    values = np.random.default_rng(1).random(LENGTH, np.float32)
    code = sort.encoding(values.dtype, sort.Key(0)).words
    bits, result = values.view(bits_dtype(values.dtype)), np.empty(LENGTH, np.uint32)
    assert native_sort.sort_grouped(code, bits, result, None, 2) is False
    assert result.tobytes() == np.sort(values).tobytes()
    values[: LENGTH * 2 // 3] = 0.5
    assert native_sort.sort_grouped(code, bits, result, None, 2) is None


def test_clusters_that_the_sample_misses_are_left_to_runs():
    """Every element of the sample differs; all others are equal."""
    values = np.full(LENGTH, 7, np.uint32)
    values[:: LENGTH // 1024] = np.arange(values[:: LENGTH // 1024].size) << 16
    code, result = sort.encoding(values.dtype, sort.Key(0)).words, np.empty(LENGTH, np.uint32)
    assert native_sort.sort_grouped(code, values, result, None, 2) is None
    (sorted_values,) = sort.prepare((LENGTH,), [values.dtype], 0, [sort.Key(0)])(values)
    assert sorted_values.tobytes() == np.sort(values).tobytes()


def test_elements_outside_the_range_of_the_sample():
    values = np.full(LENGTH, 1 << 30, np.uint32)
    values += np.random.default_rng(2).integers(0, 1 << 20, LENGTH).astype(np.uint32)
    values[1], values[2], values[3], values[LENGTH - 2] = 0, 2**32 - 1, 5, 2**31
    for descending in (False, True):
        code, result = sort.encoding(values.dtype, sort.Key(0, descending)).words, np.empty(LENGTH, np.uint32)
        assert native_sort.sort_grouped(code, values, result, None, 2) is False
        want = np.sort(values)[:: -1 if descending else 1]
        assert result.tobytes() == want.tobytes()
