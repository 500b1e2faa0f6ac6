"""Generated reductions by each monoid against the tree of adjacent pairs written out in NumPy."""

import operator
from math import prod

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nimblehlo
from nimblehlo import Options, load
from nimblehlo.compiler.loops.reductions.iteration_space import is_order_independent
from nimblehlo.program.ops.reduction.bodies import MONOIDS
from nimblehlo.program.ops.reduction.reducer import Body
from nimblehlo.types import element_type_of
from tests.support.running import assert_same_bits, run_every_way

WIDE = {"bfloat16": np.float32, "float16": np.float32}
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-45)
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


def prepare(shape, dtype, dimensions, monoid, threads=None):
    """A program that reduces by the monoid, compiled: `(operand, init_value) -> result`."""
    element = element_type_of(np.dtype(dtype)).name
    kept = [size for d, size in enumerate(shape) if d not in dimensions]
    operand, scalar, result = (f"tensor<{'x'.join([*map(str, s), element])}>" for s in (shape, (), kept))
    text = f"""func.func @main(%x: {operand}, %init: {scalar}) -> {result} {{
  %0 = stablehlo.reduce(%x init: %init) applies stablehlo.{monoid} across dimensions = {list(dimensions)}
    : ({operand}, {scalar}) -> {result}
  return %0 : {result}
}}"""
    executable = nimblehlo.compile(text, options=Options(compile="eager", threads=threads))

    def run(operand, init_value):
        (reduced,) = executable(operand, np.asarray(init_value, dtype))
        return np.asarray(reduced)

    return run


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
        run = prepare(shape, operand.dtype, dimensions, monoid)
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
    run = prepare(shape, np.float32, dimensions, monoid)
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
    results = [prepare(shape, np.float32, dimensions, "add", threads=n)(operand, 0) for n in THREADS]
    for result in results:
        assert_same_bits(result, expected(operand, np.float32(0), dimensions, "add"))


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize(
    ("shape", "dimensions"), [((5, 40_000), (1,)), ((600, 1100), (0,)), ((70, 300, 70), (0, 2))]
)
def test_results_of_many_blocks(shape, dimensions, threads):
    operand = sample(np.random.default_rng(2), shape, np.float32)
    want = expected(operand, np.float32(-0.0), dimensions, "add")
    run = prepare(shape, np.float32, dimensions, "add", threads=threads)
    assert_same_bits(run(operand, -0.0), want)


def test_wide_accumulation():
    operand = np.full(10_000, 1, ml_dtypes.bfloat16)
    result = prepare(operand.shape, operand.dtype, (0,), "add")(operand, 0)
    assert float(result) == float(ml_dtypes.bfloat16(10_000))




@pytest.mark.sampled(("element", "dimension"), ("monoid", "dimension"))
@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize("element", ["bfloat16", "float16"])
@pytest.mark.parametrize("monoid", ["add", "multiply", "maximum"])
@pytest.mark.parametrize("count", [31, 3000, 9001])
def test_converted_floats_reduce_as_floats_of_32_bits(element, monoid, dimension, count):
    """Rows of bfloat16 are widened as they are loaded."""
    shape = (3, count) if dimension else (count, 3)
    operand = sample(np.random.default_rng(4), shape, dtype_of(element))
    kind = element_type_of(operand.dtype).name
    text = f"""func.func @main(%x: tensor<{shape[0]}x{shape[1]}x{kind}>, %init: tensor<f32>)
    -> tensor<3xf32> {{
  %0 = stablehlo.convert %x : (tensor<{shape[0]}x{shape[1]}x{kind}>) -> tensor<{shape[0]}x{shape[1]}xf32>
  %1 = stablehlo.reduce(%0 init: %init) applies stablehlo.{monoid} across dimensions = [{dimension}]
    : (tensor<{shape[0]}x{shape[1]}xf32>, tensor<f32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}}"""
    (result,) = nimblehlo.compile(text, options=Options(compile="eager"))(operand, np.float32(0.5))
    assert_same_bits(
        np.asarray(result), expected(operand.astype(np.float32), np.float32(0.5), (dimension,), monoid)
    )


@pytest.mark.sampled(("element", "accumulate"))
@pytest.mark.parametrize("accumulate", ["wide", "declared", "float64"])
@pytest.mark.parametrize("element", ["bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("tree", ["blocked", "left"])
def test_accumulators_of_each_option(element, accumulate, tree):
    """The generated loops accumulate as the references do; so do maxima, whose bits no order changes."""
    shape, kind = (5, 3000), element_type_of(dtype_of(element)).name
    operand = sample(np.random.default_rng(5), shape, dtype_of(element), specials=False)
    for monoid in ("add", "maximum"):
        text = f"""func.func @main(%x: tensor<5x3000x{kind}>, %init: tensor<{kind}>) -> tensor<5x{kind}> {{
  %0 = stablehlo.reduce(%x init: %init) applies stablehlo.{monoid} across dimensions = [1]
    : (tensor<5x3000x{kind}>, tensor<{kind}>) -> tensor<5x{kind}>
  return %0 : tensor<5x{kind}>
}}"""
        results = [
            np.asarray(nimblehlo.execute(text, [operand, operand[0, 0]], options=Options(
                compile=mode, accumulate=accumulate, reduction_tree=tree
            ))[0])
            for mode in ("eager", "never")
        ]  # fmt: skip
        assert_same_bits(*results)


@pytest.mark.parametrize(
    ("name", "type"),
    [
        (name, type)
        for name in MONOIDS
        for type in ("i1", "i8", "ui32", "f16", "f32", "complex<f64>")
        if type[0] in "iu" or name not in ("and", "or", "xor")
    ],
)
def test_loops_and_references_know_the_same_orders(name, type):
    """Whether every order gives the same bits, as reducers of arrays and as generated loops ask."""
    scalar = f"tensor<{type}>"
    text = f"""
    func.func @main(%a: tensor<9x{type}>, %z: {scalar}) -> {scalar} {{
      %r = stablehlo.reduce(%a init: %z) applies stablehlo.{name} across dimensions = [0]
        : (tensor<9x{type}>, {scalar}) -> {scalar}
      return %r : {scalar}
    }}
    """
    (reduce, _) = load(text).functions["main"].body.block.operations
    (body,) = reduce.regions
    is_float_sum = name in ("add", "multiply") and type[0] in "fc"
    is_complex_extreme = name in ("minimum", "maximum") and type[0] == "c"
    expected = not (is_float_sum or is_complex_extreme)
    assert Body(body).is_exact == is_order_independent(body.block) == expected


@pytest.mark.parametrize("name", ["add", "multiply"])
@pytest.mark.parametrize("dimension", [0, 1])
def test_sums_and_products_of_booleans(name, dimension):
    shape = (300, 70)
    result = f"tensor<{shape[1 - dimension]}xi1>"
    text = f"""
    func.func @main(%a: tensor<300x70xi1>, %z: tensor<i1>) -> {result} {{
      %r = stablehlo.reduce(%a init: %z) applies stablehlo.{name} across dimensions = [{dimension}]
        : (tensor<300x70xi1>, tensor<i1>) -> {result}
      return %r : {result}
    }}
    """
    array = np.random.default_rng(0).random(shape) < (0.01 if name == "add" else 0.99)
    start = np.bool_(name == "multiply")
    (found,) = run_every_way(text, array, start)
    expected = array.any(dimension) if name == "add" else array.all(dimension)
    assert (found == expected).all() and len(set(expected)) == 2
