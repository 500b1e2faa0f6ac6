"""Native sorts against NumPy's, and rows that several threads sort against those that one does."""

import ctypes

import numpy as np
import pytest

import nimblehlo
from nimblehlo.kernels.sorting import native_sort, sort
from nimblehlo.kernels.sorting.native_sort import (
    MIN_GROUPED_LENGTH,
    MIN_SCRATCH_COUNT,
    sort_address,
    sort_by_digits,
    sort_rows,
)
from nimblehlo.kernels.sorting.sort_encoding import bits_dtype, encoding_of

DTYPES = ("uint8", "uint16", "uint32", "uint64")
LENGTH = MIN_GROUPED_LENGTH + 778
SPECIAL = (0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e-45)


def arrays(dtype, rows):
    """Evenly distributed, clustered and sorted elements; floats with all that is special about them."""
    rng, count = np.random.default_rng(5), rows * LENGTH
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        spread = rng.integers(info.min, info.max, count, dtype, endpoint=True)
        spread[:: count // 50] = info.min
        spread[1 :: count // 50] = info.max
        return {"spread": spread, "few": rng.integers(0, 50, count).astype(dtype), "sorted": np.sort(spread)}
    uniform, normal = rng.random(count).astype(dtype), rng.standard_normal(count).astype(dtype)
    normal[rng.integers(0, count, 5000)] = rng.choice(np.array(SPECIAL, dtype), 5000)
    return {"uniform": uniform, "normal": normal, "sorted": np.sort(uniform), "reversed": -np.sort(uniform)}


@pytest.fixture(autouse=True)
def _as_many_threads_as_asked(monkeypatch):
    monkeypatch.setattr(native_sort, "chosen_threads", lambda threads: threads)


@pytest.fixture(params=[True, False], ids=["by digits", "by NumPy"])
def by_digits(request):
    """Whether long arrays are sorted by digits, in either way; processors differ in which is faster."""
    before = sort_by_digits(request.param)
    yield request.param
    sort_by_digits(before)


def sorted_by(values, key, threads):
    """The bytes of the results, and how many rows several threads sorted.

    The results are values sorted alone, values sorted with positions if these take one pass, positions, and
    values gathered from them.
    """
    encoding = encoding_of(values.dtype, key).as_array
    bits = values.view(bits_dtype(values.dtype))
    positions = np.empty(bits.size, np.uint32)
    grouped = 0
    if bits.itemsize <= 4:
        results = [np.empty_like(bits), np.empty_like(bits)]
        grouped += sort_rows(encoding, bits, results[0], None, LENGTH, threads)
        grouped += sort_rows(encoding, bits, results[1], positions, LENGTH, threads)
    else:
        results = [np.empty_like(bits)]
        lower = np.empty(bits.size, np.uint32)
        grouped += sort_rows(encoding, bits, results[0], None, LENGTH, threads)
        grouped += sort_rows(encoding, bits, None, lower, LENGTH, threads)
        grouped += sort_rows(encoding, bits, None, positions, LENGTH, threads, 32, lower)
    gathered = np.empty_like(bits)
    native_sort.gather_rows(bits, positions, gathered, bits.itemsize, LENGTH, threads)
    return [result.tobytes() for result in (*results, positions, gathered)], grouped


@pytest.mark.sampled(("dtype", "by_digits"), ("dtype", "descending"))
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("dtype", ["u2", "f2", "f4", "f8", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("descending", [False, True])
def test_threads_that_share_a_row_give_the_bits_of_one(rows, dtype, descending, by_digits):
    for values in arrays(dtype, rows).values():
        for comparison in ("CANONICAL", "TOTALORDER", "FLOAT") if dtype[0] == "f" else ("TOTALORDER",):
            key = sort.Key(0, descending, comparison)
            want, grouped = sorted_by(values, key, 1)
            assert grouped == 0
            got, grouped = sorted_by(values, key, 3)
            assert got == want
            assert want[0] == want[-1]
            assert grouped >= rows * (1 if values.itemsize == 2 else 2)


@pytest.mark.usefixtures("by_digits")
def test_elements_of_which_most_are_equal_are_sorted_by_one_thread():
    values = np.random.default_rng(1).random(LENGTH, np.float32)
    encoding = encoding_of(values.dtype, sort.Key(0)).as_array
    bits, result = values.view(bits_dtype(values.dtype)), np.empty(LENGTH, np.uint32)
    assert sort_rows(encoding, bits, result, None, LENGTH, 3) == 1
    assert result.tobytes() == np.sort(values).tobytes()
    values[: LENGTH * 4 // 5] = 0.5
    assert sort_rows(encoding, bits, result, None, LENGTH, 3) == 0
    assert result.tobytes() == np.sort(values).tobytes()


@pytest.mark.parametrize("dtype", ["u1", "i4", "u8"])
@pytest.mark.usefixtures("by_digits")
def test_two_different_elements_are_sorted_by_several_threads(dtype):
    values = np.random.default_rng(1).integers(0, 2, LENGTH).astype(dtype)
    values[1], values[2] = np.iinfo(dtype).max, np.iinfo(dtype).min
    got, grouped = sorted_by(values, sort.Key(0), 3)
    assert grouped == {1: 1, 4: 2, 8: 3}[values.itemsize]
    assert got == sorted_by(values, sort.Key(0), 1)[0]


@pytest.mark.usefixtures("by_digits")
def test_clusters_that_the_sample_misses_are_sorted_by_one_thread():
    """Every element of the sample differs; all others are equal."""
    values = np.full(LENGTH, 7, np.uint32)
    values[:: LENGTH // 1024] = np.arange(values[:: LENGTH // 1024].size) << 16
    encoding, result = encoding_of(values.dtype, sort.Key(0)).as_array, np.empty(LENGTH, np.uint32)
    assert sort_rows(encoding, values, result, None, LENGTH, 3) == 0
    assert result.tobytes() == np.sort(values).tobytes()


@pytest.mark.usefixtures("by_digits")
def test_elements_outside_the_range_of_the_sample():
    values = np.full(LENGTH, 1 << 30, np.uint32)
    values += np.random.default_rng(2).integers(0, 1 << 20, LENGTH).astype(np.uint32)
    values[1], values[2], values[3], values[LENGTH - 2] = 0, 2**32 - 1, 5, 2**31
    for descending in (False, True):
        encoding = encoding_of(values.dtype, sort.Key(0, descending)).as_array
        result = np.empty(LENGTH, np.uint32)
        assert sort_rows(encoding, values, result, None, LENGTH, 3) == 1
        want = np.sort(values)[:: -1 if descending else 1]
        assert result.tobytes() == want.tobytes()


def test_rows_are_shared_by_threads_where_there_are_fewer_than_threads():
    values = np.random.default_rng(3).integers(0, 2**32, 2 * LENGTH).astype(np.uint32)
    encoding, result = encoding_of(values.dtype, sort.Key(0)).as_array, np.empty_like(values)
    for length, threads, grouped in ((LENGTH, 2, 0), (LENGTH, 3, 2), (2 * LENGTH, 3, 1), (LENGTH // 2, 8, 0)):
        assert sort_rows(encoding, values, result, None, length, threads) == grouped
        np.testing.assert_array_equal(result.reshape(-1, length), np.sort(values.reshape(-1, length), axis=1))


@pytest.mark.usefixtures("by_digits")
@pytest.mark.parametrize("threads", [2, 5, 16, 40])
def test_so_many_threads_share_a_row(threads):
    """Where NumPy sorts fast, at most PIVOT_MAX_GROUPS groups."""
    for dtype in ("u4", "u8"):
        values = np.random.default_rng(6).integers(0, 2**32, LENGTH).astype(dtype)
        encoding, result = encoding_of(values.dtype, sort.Key(0)).as_array, np.empty_like(values)
        assert sort_rows(encoding, values, result, None, LENGTH, threads) == 1
        np.testing.assert_array_equal(result, np.sort(values))
    bits, positions = values.astype(np.uint32), np.empty(LENGTH, np.uint32)
    encoding = encoding_of(bits.dtype, sort.Key(0)).as_array
    assert sort_rows(encoding, bits, None, positions, LENGTH, threads) == 1
    np.testing.assert_array_equal(positions, np.argsort(bits, kind="stable"))


def numbers_of(rng, size, dtype, different):
    """Numbers with the extreme ones among them, of at most so many values."""
    info = np.iinfo(dtype)
    values = rng.integers(0, info.max, different, dtype, endpoint=True)
    values[:2] = [0, info.max][: values.size]
    return rng.choice(values, size)


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
def test_long_arrays_are_sorted_by_digits(dtype, count, by_digits):
    rng = np.random.default_rng(count)
    for different in (1, 2, 300, 100_000):
        numbers = numbers_of(rng, count, dtype, different)
        got, scratch = sorted_natively(numbers, count)
        np.testing.assert_array_equal(got, np.sort(numbers))
        has_passes = by_digits and different > 1 and count >= MIN_SCRATCH_COUNT and numbers.itemsize > 1
        assert (scratch != 9).any() == has_passes
        np.testing.assert_array_equal(sorted_natively(numbers, 0)[0], np.sort(numbers))


@pytest.mark.parametrize("bit", [0, 10, 11, 21, 22, 31, 32, 33, 43, 54, 55, 63])
@pytest.mark.usefixtures("by_digits")
def test_each_bit_is_in_a_digit(bit):
    rng = np.random.default_rng(bit)
    for dtype in DTYPES[1:]:
        if bit < 8 * np.dtype(dtype).itemsize:
            numbers = rng.integers(0, 2, MIN_SCRATCH_COUNT, dtype) << np.array(bit, dtype)
            np.testing.assert_array_equal(sorted_natively(numbers, numbers.size)[0], np.sort(numbers))


@pytest.mark.usefixtures("by_digits")
def test_equal_upper_halves_keep_their_order():
    rng = np.random.default_rng(4)
    upper = rng.integers(0, 2**32, 700, "uint64")
    numbers = rng.choice(upper, 5000) << np.uint64(32) | np.arange(5000, dtype="uint64")
    np.testing.assert_array_equal(sorted_natively(numbers, numbers.size, True)[0], np.sort(numbers))


@pytest.mark.parametrize("missing", DTYPES)
def test_references_sort_where_numpy_has_no_function_for_some_type(missing, monkeypatch):
    sorts = """
    func.func @main(%x: tensor<500xf32>) -> tensor<500xf32> {
      %0 = "stablehlo.sort"(%x) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }) {dimension = 0 : i64} : (tensor<500xf32>) -> tensor<500xf32>
      return %0 : tensor<500xf32>
    }
    """
    assert sort.supports(["float32"], [sort.Key(0)])
    monkeypatch.setattr(sort, "sort_address", lambda dtype: 0 if dtype == np.dtype(missing).str[1:] else 1)
    assert not sort.supports(["float32"], [sort.Key(0)])
    x = np.random.default_rng(2).standard_normal(500).astype(np.float32)
    (result,) = nimblehlo.execute(sorts, [x], options=nimblehlo.Options(compile="eager"))
    np.testing.assert_array_equal(result, np.sort(x))


@pytest.mark.parametrize("length", [1, 2, 7, 16, 17, 40])
def test_few_bytes_are_inserted(length):
    """Up to INSERTED_MAX_COUNT, 16, one by one; NumPy sorts more."""
    rows = np.random.default_rng(length).integers(0, 256, (300, length), np.uint8)
    rows[::3] %= 3
    sort_row = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)(
        sort_address("uint8")
    )
    sorted_rows = rows.copy()
    assert not any(sort_row(row.ctypes.data, length, None) for row in sorted_rows)
    np.testing.assert_array_equal(sorted_rows, np.sort(rows))
