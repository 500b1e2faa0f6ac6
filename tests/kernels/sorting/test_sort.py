"""`sort` against Python's own stable sort, by ranks computed from the elements' bits."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nimblehlo.kernels.sorting import sort
from nimblehlo.kernels.sorting.sort import Key

ELEMENTS = ("bool", "int8", "uint16", "int32", "uint64", "int64", "bfloat16", "float16", "float32", "float64")
COMPARISONS = ("FLOAT", "TOTALORDER", "CANONICAL")


def dtype_of(element):
    return np.dtype(ml_dtypes.bfloat16 if element == "bfloat16" else element)


def rank(value, key):
    """An integer that orders a value as its key asks."""
    if value.dtype.kind in "biu":
        return -int(value) if key.descending else int(value)
    bits = int(value.view(f"u{value.dtype.itemsize}"))
    sign = 1 << (value.dtype.itemsize * 8 - 1)
    ascending = bits if bits < sign else sign - bits - 1
    if key.comparison != "TOTALORDER":
        if np.isnan(value):
            return sign if key.comparison == "FLOAT" or not key.descending else -sign
        ascending = 0 if value == 0 else ascending
    return -ascending if key.descending else ascending


def expected(operands, dimension, order):
    lines = [np.moveaxis(operand, dimension, -1) for operand in operands]
    results = [np.empty(line.shape, line.dtype) for line in lines]
    for row in np.ndindex(lines[0].shape[:-1]):
        ranks = [
            tuple(rank(lines[key.operand][row][i], key) for key in order) for i in range(lines[0].shape[-1])
        ]
        places = sorted(range(len(ranks)), key=ranks.__getitem__)
        for line, result in zip(lines, results, strict=True):
            result[row] = line[row][places]
    return [np.moveaxis(result, -1, dimension) for result in results]


def sample(rng, shape, dtype):
    """Few different values, so that many are equal, and all that is special about floats."""
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        chosen = rng.choice(np.array([info.min, info.max, 0, 1, 5, info.max // 2], dtype), shape)
        return np.where(rng.random(shape) < 0.5, chosen, rng.integers(0, 100, shape, dtype))
    values = rng.choice([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.nan, 1e-45, 3.5], shape).astype(
        dtype
    )
    return np.where(rng.random(shape) < 0.5, values, rng.standard_normal(shape).astype(dtype))


def check(operands, dimension, order, threads=None):
    shape = operands[0].shape
    run = sort.prepare(shape, [operand.dtype for operand in operands], dimension, order, threads=threads)
    results = run(*operands)
    for got, want in zip(results, expected(operands, dimension, order), strict=True):
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        assert got.flags.c_contiguous
        assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("descending", [False, True])
def test_values(element, descending):
    rng = np.random.default_rng(3)
    for comparison in COMPARISONS if dtype_of(element).kind not in "biu" else COMPARISONS[:1]:
        for shape, dimension in (
            ((300,), 0),
            ((4, 50), 1),
            ((3, 20, 2), -2),
            ((5, 1), 1),
            ((0, 3), 0),
            ((3, 0), 0),
        ):
            check([sample(rng, shape, dtype_of(element))], dimension, [Key(0, descending, comparison)])


@pytest.mark.parametrize("element", ["float16", "float32", "float64"])
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_zeros_and_nans_keep_their_bits(element, threads):
    """Rows in which NaNs of any payload, infinities and zeros of both signs are many, or none at all."""
    rng, dtype = np.random.default_rng(17), np.dtype(element)
    bits = np.dtype(f"u{dtype.itemsize}")
    values = rng.standard_normal((6, 700)).astype(dtype)
    ones = np.array(np.inf, dtype).view(bits) | rng.integers(0, 9, values.shape).astype(bits)
    signed = ones ^ (rng.integers(0, 2, values.shape).astype(bits) << (dtype.itemsize * 8 - 1))
    values[1:] = np.where(rng.random((5, 700)) < 0.3, signed[1:].view(dtype), values[1:])
    values[2:] = np.where(rng.random((4, 700)) < 0.3, np.copysign(dtype.type(0), values[2:]), values[2:])
    values[3] = signed[3].view(dtype)
    for comparison in COMPARISONS:
        check([values], 1, [Key(0, comparison=comparison)], threads)
        check([values[:, :5]], 1, [Key(0, comparison=comparison)], threads)


@pytest.mark.parametrize("element", ELEMENTS)
def test_key_with_payloads(element):
    rng = np.random.default_rng(4)
    for descending in (False, True):
        key = sample(rng, (3, 40), dtype_of(element))
        payloads = [
            np.arange(120).astype(kind).reshape(3, 40) for kind in ("i4", "u1", "f8", "c16", "c8", "f2")
        ]
        check([key, *payloads], 1, [Key(0, descending, "CANONICAL")])


@pytest.mark.parametrize("positions", ["i1", "i4", "u4", "i8"])
@pytest.mark.parametrize("returned", [(), (0,), (1,), (2, 0)])
@pytest.mark.parametrize("element", ["int8", "bfloat16", "float32", "float64"])
def test_positions(element, returned, positions):
    rng = np.random.default_rng(8)
    for shape, dimension in (((3, 40), 1), ((40, 3), 0), ((5, 1), 1), ((0, 3), 0)):
        operands = [sample(rng, shape, dtype_of(kind)) for kind in (element, "int16", element)]
        types = [operand.dtype for operand in operands]
        order = [Key(0, False, "CANONICAL"), Key(2, True, "TOTALORDER")][: 1 + (2 in returned)]
        run = sort.prepare(shape, types, dimension, order, returned=returned, positions=positions)
        counted = np.moveaxis(
            np.broadcast_to(np.arange(shape[dimension]), np.moveaxis(operands[0], dimension, -1).shape),
            -1,
            dimension,
        )
        want = expected([*operands, counted.astype(positions)], dimension, order)
        for got, wanted in zip(run(*operands), [want[number] for number in (*returned, 3)], strict=True):
            assert got.dtype == wanted.dtype and got.tobytes() == wanted.tobytes()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_several_keys(data):
    shape = tuple(data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=3)))
    dimension = data.draw(st.integers(-len(shape), len(shape) - 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    elements = data.draw(st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=4))
    operands = [sample(rng, shape, dtype_of(element)) for element in elements]
    numbers = data.draw(st.permutations(range(len(operands))))[: data.draw(st.integers(1, len(operands)))]
    order = [Key(n, data.draw(st.booleans()), data.draw(st.sampled_from(COMPARISONS))) for n in numbers]
    check(operands, dimension, order)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_bits_do_not_depend_on_threads(threads):
    rng = np.random.default_rng(5)
    values = sample(rng, (2, 150_000), np.dtype("f4"))
    want = np.sort(values, axis=1)
    numbered = np.broadcast_to(np.arange(150_000, dtype=np.int32), values.shape)
    (alone,) = sort.prepare(values.shape, ["f4"], 1, [Key(0, False, "CANONICAL")], threads=threads)(values)
    both = sort.prepare(values.shape, ["f4", "i4"], 1, [Key(0, False, "CANONICAL")], threads=threads)
    moved, places = both(values, numbered)
    np.testing.assert_array_equal(alone, want)
    assert alone.tobytes() == moved.tobytes() == np.take_along_axis(values, places, 1).tobytes()
    same = moved[:, 1:] == moved[:, :-1]
    assert (np.diff(places, axis=1)[same] > 0).all()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("element", ["int32", "float32", "float64"])
def test_long_rows_have_the_positions_of_short_ones(element, descending, threads):
    """Keys have the extreme bits."""
    rng, key = np.random.default_rng(5), Key(0, descending)
    for shape in ((1, 70_000), (3, 40)):
        values = sample(rng, shape, dtype_of(element))
        check([values, values], 1, [key], threads)


def test_operands_are_not_changed_and_may_be_strided():
    values = np.asfortranarray(sample(np.random.default_rng(6), (30, 40), np.dtype("f8")))
    before = values.copy()
    check([values], 0, [Key(0)])
    np.testing.assert_array_equal(values.view("u8"), before.view("u8"))


def test_rejects():
    for dtypes, order in (
        (["c8"], [Key(0)]),
        (["f4"], [Key(1)]),
        (["f4"], []),
        ([ml_dtypes.float8_e5m2], [Key(0)]),
    ):
        assert not sort.supports(dtypes, order)
        with pytest.raises(ValueError, match="no kernel"):
            sort.prepare((3,), dtypes, 0, order)
    with pytest.raises(ValueError, match="dimension"):
        sort.prepare((3,), ["f4"], 1, [Key(0)])


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("comparison", ["CANONICAL", "TOTALORDER"])
@pytest.mark.parametrize("specials", [False, True])
def test_long_rows(comparison, specials, threads):
    rng = np.random.default_rng(11)
    operand = rng.standard_normal(70_000).astype(np.float32)
    if specials:
        operand[::7] = rng.choice(np.float32([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf]), 10_000)
    places = np.arange(70_000, dtype=np.int32)
    order = [Key(0, False, comparison)]
    bits = operand.view(np.int32).astype(np.int64)
    keys = np.where(bits < 0, -(bits & 0x7FFFFFFF) - 1, bits)
    if comparison == "CANONICAL":
        keys = np.where(np.isnan(operand), 1 << 40, np.where(operand == 0, 0, keys))
    want = np.argsort(keys, kind="stable")
    values, found = sort.prepare((70_000,), ["f4", "i4"], 0, order, threads=threads)(operand, places)
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(values.view("i4"), operand[want].view("i4"))
    (alone,) = sort.prepare((70_000,), ["f4"], 0, order, threads=threads)(operand)
    np.testing.assert_array_equal(alone.view("i4"), operand[want].view("i4"))
