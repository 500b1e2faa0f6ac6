"""`reduce` against its tree written out in NumPy, `prepare_arg` against its body from the left."""

import itertools
import operator
from math import prod

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nimblehlo.kernels.launch.compilation import flat
from nimblehlo.kernels.reduction import reduce, reduce_loops
from nimblehlo.kernels.simd import monoids
from nimblehlo.kernels.simd.block_sizes import ROW_BLOCK

WIDE = {"bfloat16": np.float32, "float16": np.float32}
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-45)
ELEMENTS = (
    "bool",
    "int8",
    "uint16",
    "int32",
    "uint64",
    "bfloat16",
    "float16",
    "float32",
    "float64",
    "complex64",
)
THREADS = (1, 2, 3, 8)


def ieee_maximum(a, b):
    larger = np.where(a == b, np.where(np.signbit(a), b, a), np.maximum(a, b))
    return np.where(np.isnan(a) | np.isnan(b), a + b, larger).astype(a.dtype)


def lexicographic_maximum(a, b):
    greater = (a.real > b.real) & ~np.isnan(a.imag) & ~np.isnan(b.imag)
    stays = np.isnan(a) | greater | ((a.real == b.real) & (a.imag >= b.imag))
    return np.where(stays, a, b)


def complex_product(a, b):
    result = np.empty(np.broadcast_shapes(a.shape, b.shape), a.dtype)
    result.real = a.real * b.real - a.imag * b.imag
    result.imag = a.real * b.imag + a.imag * b.real
    return result[()]


def combination(dtype, monoid):
    """The monoid as a function of two NumPy arrays of its computing type."""
    kind = np.dtype(dtype).kind
    if monoid in ("and", "or", "xor"):
        return getattr(np, f"bitwise_{monoid}")
    if kind == "c":
        minimum = lambda a, b: -lexicographic_maximum(-a, -b)  # noqa: E731
        return {
            "add": operator.add,
            "multiply": complex_product,
            "maximum": lexicographic_maximum,
            "minimum": minimum,
        }[monoid]
    if kind in "biu":
        return getattr(np, monoid)
    minimum = lambda a, b: -ieee_maximum(-a, -b)  # noqa: E731
    table = {"add": operator.add, "multiply": operator.mul, "maximum": ieee_maximum, "minimum": minimum}
    return table[monoid]


def tree(values, combine):
    """Fold the first axis of `values` by adjacent pairs, level by level."""
    values = list(values)
    while len(values) > 1:
        pairs = [combine(a, b) for a, b in zip(values[::2], values[1::2])]  # noqa: B905
        values = pairs + values[len(pairs) * 2 :]
    return values[0]


def expected(operand, init_value, dimensions, monoid):
    dtype = operand.dtype
    wide = WIDE.get(dtype.name, dtype)
    kept = [d for d in range(operand.ndim) if d not in dimensions]
    shape = [operand.shape[d] for d in kept]
    count = prod(operand.shape[d] for d in dimensions)
    values = operand.astype(wide).transpose(*dimensions, *kept).reshape(count, *shape)
    initial = np.broadcast_to(np.asarray(init_value, wide), shape)
    with np.errstate(all="ignore"):
        combine = combination(dtype, monoid)
        total = combine(initial, tree(values, combine)) if count else initial
        return np.asarray(total).astype(dtype)


def assert_same_bits(got, want):
    """Equal bits, but for the bits of a NaN."""
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    assert got.flags.c_contiguous
    parts = [(got.real, want.real), (got.imag, want.imag)] if got.dtype.kind == "c" else [(got, want)]
    for a, b in parts:
        if a.dtype.kind not in "biu":
            a, b = np.array(a), np.array(b)
            nan = np.isnan(a)
            np.testing.assert_array_equal(nan, np.isnan(b))
            a[nan] = b[nan] = 0
            a, b = (x.view(f"u{x.dtype.itemsize}") for x in (a, b))
        np.testing.assert_array_equal(a, b)


def sample(rng, shape, dtype, specials=True):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    values = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype.kind == "c" else 0)
    values = np.asarray(values)
    if specials:
        chosen = rng.random(shape) < 0.02
        values = np.where(chosen, rng.choice(SPECIAL, shape), values)
    return np.asarray(values).astype(dtype)


def dtype_of(element):
    return np.dtype(ml_dtypes.bfloat16 if element == "bfloat16" else element)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("monoid", monoids.MONOIDS)
def test_supported_combinations(element, monoid):
    bitwise_on_floats = monoid in ("and", "or", "xor") and dtype_of(element).kind not in "biu"
    assert reduce.supports(dtype_of(element), monoid) != bitwise_on_floats
    if bitwise_on_floats:
        with pytest.raises(ValueError, match=monoid):
            reduce.prepare((3,), dtype_of(element), (0,), monoid)


# Each pair of an element type and a monoid is compiled once; a few of each are enough to see all of the code.
PAIRS = [
    ("bool", "add"),
    ("bool", "multiply"),
    ("int8", "add"),
    ("int32", "maximum"),
    ("uint16", "minimum"),
    ("uint64", "xor"),
    ("bfloat16", "add"),
    ("float16", "multiply"),
    ("float32", "add"),
    ("float32", "maximum"),
    ("float64", "minimum"),
    ("complex64", "add"),
    ("complex64", "multiply"),
    ("complex64", "maximum"),
    ("complex128", "add"),
]
SHAPES = [
    ((20_000,), (0,)),
    ((3, 33_000), (1,)),
    ((600, 5), (0,)),
    ((2, 300, 3), (1,)),
    ((7, 5), (1,)),
    ((70, 11), (1,)),
    ((9, 33), (1,)),
    ((9, 49), (1,)),
    ((5, 100), (1,)),
    ((3, 511), (1,)),
    ((2, 15, 70), (1,)),
    ((263, 1030), (0,)),
    ((3, 40, 2, 50), (1, 3)),
    ((40, 3, 20, 3), (0, 2)),
    ((4, 1, 6), (0, 1, 2)),
    ((2, 3), ()),
]
FEW_SHAPES = [((3, 1000), (1,)), ((2, 16_400), (1,)), ((5, 9), (1,)), ((2, 200, 21), (1,))]


@pytest.mark.parametrize(("element", "monoid"), PAIRS)
def test_tree(element, monoid):
    rng = np.random.default_rng(len(element) + len(monoid))
    for shape, dimensions in SHAPES if (element, monoid) == ("float32", "add") else FEW_SHAPES:
        operand = sample(rng, shape, dtype_of(element))
        init_value = sample(rng, (), dtype_of(element), specials=False)
        run = reduce.prepare(shape, operand.dtype, dimensions, monoid)
        before = operand.copy()
        assert_same_bits(run(operand, init_value), expected(operand, init_value, dimensions, monoid))
        np.testing.assert_array_equal(operand.view("u1"), before.view("u1"))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_shape_and_dimensions(data):
    shape = tuple(data.draw(st.lists(st.sampled_from([0, 1, 2, 3, 5, 17, 40]), max_size=4)))
    dimensions = tuple(d for d in range(len(shape)) if data.draw(st.booleans()))
    monoid = data.draw(st.sampled_from(["add", "maximum"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    operand = sample(rng, shape, np.float32)
    if data.draw(st.booleans()) and operand.ndim > 1:
        operand = np.ascontiguousarray(operand.T).T
    run = reduce.prepare(shape, np.float32, dimensions, monoid)
    assert_same_bits(run(operand, 0.5), expected(operand, np.float32(0.5), dimensions, monoid))


@pytest.mark.parametrize(
    ("shape", "dimensions"),
    [
        ((300_001,), (0,)),
        ((9000, 70), (0,)),
        ((7, 40_000), (1,)),
        ((9, 5000, 7), (0, 1)),
        ((70, 1100, 9), (1,)),
    ],
)
def test_bits_do_not_depend_on_threads(shape, dimensions):
    operand = sample(np.random.default_rng(1), shape, np.float32, specials=False)
    results = [reduce.prepare(shape, np.float32, dimensions, "add", threads=n)(operand, 0) for n in THREADS]
    for result in results:
        assert_same_bits(result, expected(operand, np.float32(0), dimensions, "add"))


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize(
    ("shape", "dimensions"), [((5, 40_000), (1,)), ((600, 1100), (0,)), ((70, 300, 70), (0, 2))]
)
def test_results_of_many_blocks(shape, dimensions, threads):
    operand = sample(np.random.default_rng(2), shape, np.float32)
    want = expected(operand, np.float32(-0.0), dimensions, "add")
    run = reduce.prepare(shape, np.float32, dimensions, "add", threads=threads)
    assert_same_bits(run(operand, -0.0), want)


@pytest.mark.parametrize("blocks", [1, 2, ROW_BLOCK, ROW_BLOCK + 1, 3 * ROW_BLOCK + 5])
def test_more_blocks_than_are_reduced_at_once(blocks):
    """The results of very many blocks are folded by blocks themselves."""
    partial = sample(np.random.default_rng(3), (2, blocks), np.float32, specials=False)
    initial, result = np.array([0.5], np.float32), np.zeros(2, np.float32)
    want = expected(partial, initial[0], (1,), "add")
    loop = reduce_loops.finish_rows("float32", "add")
    loop(2, 1, 2, blocks, 1, partial.reshape(-1).copy(), flat(initial), result)
    assert_same_bits(result, want)


def test_wide_accumulation():
    operand = np.full(10_000, 1, ml_dtypes.bfloat16)
    result = reduce.prepare(operand.shape, operand.dtype, (0,), "add")(operand, 0)
    assert float(result) == float(ml_dtypes.bfloat16(10_000))


def test_bad_dimensions():
    for dimensions in ((2,), (0, 0), (-1,)):
        with pytest.raises(ValueError, match="dimensions"):
            reduce.prepare((3, 4), np.float32, dimensions, "add")


def arg_expected(operand, indices, init_value, init_index, dimension, direction):
    better = operator.gt if direction == "maximum" else operator.lt
    shape = operand.shape[:dimension] + operand.shape[dimension + 1 :]
    value, index = np.empty(shape, operand.dtype), np.empty(shape, indices.dtype)
    for place in itertools.product(*map(range, shape)):
        a, i = init_value, init_index
        for position in range(operand.shape[dimension]):
            at = (*place[:dimension], position, *place[dimension:])
            b, j = operand[at], indices[at]
            left = bool(better(a, b)) or a != a
            i = i if left or (a == b and i < j) else j
            a = a if left else b
        value[place], index[place] = a, i
    return value, index


@pytest.mark.parametrize(
    ("element", "direction"),
    [("float32", "maximum"), ("float32", "minimum"), ("bfloat16", "maximum"), ("int8", "minimum")],
)
@pytest.mark.parametrize(
    ("shape", "dimension"), [((3, 200), 1), ((70, 9), 1), ((200, 3), 0), ((2, 9, 5), 1), ((9000,), 0)]
)
def test_arg(element, shape, dimension, direction):
    rng = np.random.default_rng(7)
    dtype = dtype_of(element)
    operand = rng.integers(-3, 3, shape).astype(dtype)
    if element != "int8":
        operand[rng.random(shape) < 0.3] = dtype.type(-0.0)
        operand[rng.random(shape) < 2 / operand.size] = np.nan
    iota = np.broadcast_to(
        np.expand_dims(np.arange(shape[dimension]), [d for d in range(len(shape)) if d != dimension]), shape
    )
    init_value = dtype.type({"maximum": -100, "minimum": 100}[direction])
    run = reduce.prepare_arg(shape, dtype, np.int32, (dimension,), direction)
    for indices in (
        iota.astype(np.int32),
        rng.permutation(operand.size).astype(np.int32).reshape(shape),
        None,
    ):
        given_indices = iota.astype(np.int32) if indices is None else indices
        value, index = run(operand, indices, init_value, 0)
        want = arg_expected(operand, given_indices, init_value, np.int32(0), dimension, direction)
        assert_same_bits(value, want[0])
        np.testing.assert_array_equal(index, want[1])


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize(
    ("shape", "dimension"), [((60, 9000), 1), ((9000, 7), 1), ((900, 700), 0), ((40, 90, 130), 1)]
)
def test_arg_by_any_number_of_threads(shape, dimension, threads):
    """Where several tasks share rows, blocks of rows, or columns."""
    rng = np.random.default_rng(9)
    operand = rng.integers(-9, 9, shape).astype(np.float32)
    operand[rng.random(shape) < 1 / 5000] = np.nan
    operand[operand == 0] = -0.0
    indices = np.moveaxis(
        np.broadcast_to(np.arange(shape[dimension]), np.moveaxis(operand, dimension, -1).shape), -1, dimension
    )
    for direction, extreme in (("maximum", np.argmax), ("minimum", np.argmin)):
        run = reduce.prepare_arg(shape, np.float32, np.int32, (dimension,), direction, threads=threads)
        initial = np.float32({"maximum": -np.inf, "minimum": np.inf}[direction])
        wanted = extreme(operand, axis=dimension)
        for counted in (None, np.ascontiguousarray(indices.astype(np.int32))):
            value, index = run(operand, counted, initial, 0)
            np.testing.assert_array_equal(index, wanted)
            found = np.take_along_axis(operand, np.expand_dims(wanted, dimension), dimension)
            np.testing.assert_array_equal(value, found.squeeze(dimension))


def test_arg_rejects():
    assert not reduce.supports_arg((2, 3, 4), np.float32, np.int32, (0, 2))
    with pytest.raises(ValueError, match="no kernel"):
        reduce.prepare_arg((2, 3), np.complex64, np.int32, (0,), "maximum")
    with pytest.raises(ValueError, match="direction"):
        reduce.prepare_arg((2, 3), np.float32, np.int32, (0,), "most")
