"""What `Options` chooses where the specification leaves an order open, against each choice written out; and
the same bits in references and kernels, by any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo import NimbleError, Options
from nimblehlo.program.ops.reduction.reduction_tree import MAX_INIT_VALUES
from tests.program.ops.bodies import combining, region
from tests.program.ops.texts import tensor
from tests.support.running import same_bits

Array = np.ndarray[Any, Any]

DTYPES: dict[str, Any] = {
    "f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "complex<f32>": np.complex64, "i8": np.int8, "i4": ml_dtypes.int4,
    "ui16": np.uint16,
}  # fmt: skip
TREES = ("blocked", "balanced", "left", "right", ("random", 3))
ACCUMULATIONS = ("wide", "declared", "float64")
SPECIAL = (np.nan, np.inf, -0.0, 0.0, 1e-40)


def draw(dtype: Any, *shape: int, special: bool = False) -> Array:
    generator = np.random.default_rng(11)
    values = generator.standard_normal(shape) * 3
    if special:
        values = np.where(generator.random(shape) < 0.1, generator.choice(SPECIAL, shape), values)
    if np.dtype(dtype).kind == "c":
        return (values + 1j * generator.standard_normal(shape)).astype(dtype)
    if np.dtype(dtype).kind in "iu" or np.dtype(dtype).name == "int4":
        return generator.integers(0, 7, shape).astype(dtype)
    return values.astype(dtype)


def every_way(text: str, *inputs: Any, **choice: Any) -> list[Array]:
    """The results under the choice, which must be the same bits in references and kernels."""
    module = nimblehlo.load(text)
    found = nimblehlo.execute(module, inputs, options=Options(compile="never", **choice))
    for threads in (1, 3):
        options = Options(compile="eager", threads=threads, **choice)
        for one, other in zip(found, nimblehlo.execute(module, inputs, options=options), strict=True):
            assert same_bits(one, other), (choice, threads)
    return found


def reduce_text(shape: tuple[int, ...], dimensions: list[int], name: str, body: str) -> str:
    kept = [size for d, size in enumerate(shape) if d not in dimensions]
    operand, scalar, result = tensor(shape, name), tensor((), name), tensor(kept, name)
    return f"""func.func @main(%x: {operand}, %i: {scalar}) -> {result} {{
  %0 = "stablehlo.reduce"(%x, %i) ({{ {body} }}) {{dimensions = array<i64: {str(dimensions)[1:-1]}>}}
    : ({operand}, {scalar}) -> {result}
  return %0 : {result} }}"""


def window_text(size: int, window: int, low: int, name: str) -> str:
    operand, scalar = tensor((size,), name), tensor((), name)
    result = tensor((size + low - window + 1,), name)
    return f"""func.func @main(%x: {operand}, %i: {scalar}) -> {result} {{
  %0 = "stablehlo.reduce_window"(%x, %i) ({{ {combining("add", name)} }}) {{
    window_dimensions = array<i64: {window}>, padding = dense<[[{low}, 0]]> : tensor<1x2xi64>}}
    : ({operand}, {scalar}) -> {result}
  return %0 : {result} }}"""


def adder(dtype: Any, accumulate: str) -> tuple[Callable[[Any, Any], Any], Any]:
    """An addition as accumulated, and the type in which its operands are held."""
    narrow = np.dtype(dtype).name.startswith(("bfloat", "float8", "float16"))
    is_complex = np.dtype(dtype).kind == "c"
    if np.dtype(dtype).kind in "iu" or np.dtype(dtype).name == "int4" or accumulate == "declared":
        wide: Any = dtype
    elif accumulate == "float64":
        wide = np.complex128 if is_complex else np.float64
    else:
        wide = np.float32 if narrow else dtype
    return (lambda a, b: np.add(np.asarray(a, wide), np.asarray(b, wide)).astype(wide)), wide


def written_out(tree: str, values: list[Any], initial: Any, add: Callable[[Any, Any], Any]) -> Any:
    if not values:
        return initial
    if tree == "left":
        for value in values:
            initial = add(initial, value)
        return initial
    if tree == "right":
        for value in reversed(values):
            initial = add(value, initial)
        return initial

    def balanced(part: list[Any]) -> Any:
        if len(part) == 1:
            return part[0]
        half = (len(part) + 1) // 2
        return add(balanced(part[:half]), balanced(part[half:]))

    def blocked(part: list[Any]) -> Any:
        while len(part) > 1:
            pairs = [add(a, b) for a, b in zip(part[::2], part[1::2], strict=False)]
            part = pairs + part[2 * len(pairs) :]
        return part[0]

    return add(initial, balanced(values) if tree == "balanced" else blocked(values))


def rounded(value: Any, dtype: Any) -> Any:
    value = np.asarray(value)
    if value.dtype == np.float64 and np.dtype(dtype).name in ("bfloat16", "float8_e4m3fn"):
        exact = np.float32(value)
        if exact != value:  # to odd, so that rounding again is right
            towards = exact if abs(exact) < abs(value) else np.nextafter(exact, np.float32(0))
            value = (towards.view(np.int32) | np.int32(1)).view(np.float32)
    return np.asarray(value).astype(dtype)


@pytest.mark.sampled
@pytest.mark.parametrize("name", list(DTYPES))
@pytest.mark.parametrize("accumulate", ACCUMULATIONS)
def test_sums_follow_the_chosen_tree(name: str, accumulate: str) -> None:
    dtype = DTYPES[name]
    add, wide = adder(dtype, accumulate)
    operand, initial = draw(dtype, 3, 23), draw(dtype, 4)[3]
    for tree in TREES[:4]:
        text = reduce_text((3, 23), [1], name, combining("add", name))
        (found,) = every_way(text, operand, initial, reduction_tree=tree, accumulate=accumulate)
        for row, one in zip(operand, found, strict=True):
            values = [np.asarray(value).astype(wide) for value in row]
            wanted = rounded(written_out(str(tree), values, np.asarray(initial).astype(wide), add), dtype)
            assert one.tobytes() == wanted.tobytes(), tree


@pytest.mark.parametrize(
    ("operation", "name", "accumulations"),
    [
        ("add", "f32", ("wide", "float64")),
        ("add", "bf16", ACCUMULATIONS),
        ("multiply", "complex<f32>", ("wide", "float64")),
        ("maximum", "bf16", ("declared",)),
    ],
)
@pytest.mark.parametrize("tree", TREES)
def test_reductions_have_the_same_bits_in_every_way(
    operation: str, name: str, accumulations: tuple[str, ...], tree: Any
) -> None:
    shapes: Any = (((5, 300), [1]), ((70, 9), [0]), ((3, 20, 4), [0, 2]), ((4, 0), [1]), ((1,), [0]))
    for shape, dimensions in shapes:
        operand = draw(DTYPES[name], *shape, special=True)
        text = reduce_text(shape, dimensions, name, combining(operation, name))
        for accumulate in accumulations:
            every_way(text, operand, draw(DTYPES[name], 1)[0], reduction_tree=tree, accumulate=accumulate)


@pytest.mark.parametrize("name", ["f32", "bf16", "f16", "complex<f32>"])
@pytest.mark.parametrize("accumulate", ACCUMULATIONS)
def test_long_reductions_have_the_same_bits_in_every_way(name: str, accumulate: str) -> None:
    shapes: Any = (((3, 9001), [1]), ((601, 40), [0]), ((700, 3, 20), [0, 2]))
    for shape, dimensions in shapes:
        operand = draw(DTYPES[name], *shape)
        text = reduce_text(shape, dimensions, name, combining("add", name))
        for tree in ("blocked", "left"):
            initial = draw(DTYPES[name], 1)[0]
            every_way(text, operand, initial, reduction_tree=tree, accumulate=accumulate)


def test_random_trees_keep_the_order_and_hold_a_few_init_values() -> None:
    """Sums of zeros count init values; of the body that returns its right operand, the last leaf is left."""
    body = region(["tensor<i32>"] * 2, "%r = stablehlo.add %a, %b : tensor<i32>", ["%r : tensor<i32>"])
    text = reduce_text((1000,), [0], "i32", body)
    operand, initial = np.zeros(1000, np.int32), np.int32(1)
    results = [every_way(text, operand, initial, reduction_tree=("random", seed))[0] for seed in range(12)]
    counts = {int(result) for result in results}
    assert counts == set(range(1, MAX_INIT_VALUES + 1))
    last = region(["tensor<i32>"] * 2, "", ["%b : tensor<i32>"])
    for seed in range(8):
        (found,) = every_way(
            reduce_text((50,), [0], "i32", last), np.arange(50, dtype=np.int32), np.int32(-1),
            reduction_tree=("random", seed),
        )  # fmt: skip
        assert int(found) in (49, -1)


def test_random_trees_differ_by_seed_and_are_fixed_by_it() -> None:
    operand = draw(np.float32, 4096) * np.float32(1e3)
    text = reduce_text((4096,), [0], "f32", combining("add", "f32"))
    results = [
        every_way(text, operand, np.float32(0), reduction_tree=("random", seed))[0].tobytes()
        for seed in (0, 1, 2, 3, 0)
    ]
    assert len(set(results)) > 1 and results[0] == results[4]


@pytest.mark.sampled(("name", "accumulate"))
@pytest.mark.parametrize("name", ["f32", "bf16", "i8"])
@pytest.mark.parametrize("accumulate", ACCUMULATIONS)
@pytest.mark.parametrize(("window", "low"), [(7, 3), (40, 39)])
def test_windows_are_reduced_by_the_chosen_tree(name: str, accumulate: str, window: int, low: int) -> None:
    dtype = DTYPES[name]
    scanned = low == window - 1
    operand, initial = draw(dtype, 40), draw(dtype, 4)[3]
    for tree in TREES:
        text = window_text(40, window, low, name)
        (found,) = every_way(text, operand, initial, reduction_tree=tree, accumulate=accumulate)
        if tree not in ("left", "right", "balanced"):
            continue
        add, wide = adder(dtype, "declared" if scanned and accumulate == "wide" else accumulate)
        padded = np.concatenate([np.full(low, initial, dtype), operand])
        for place, one in enumerate(found):
            values = [np.asarray(value).astype(wide) for value in padded[place : place + window]]
            wanted = rounded(written_out(tree, values, np.asarray(initial).astype(wide), add), dtype)
            assert one.tobytes() == wanted.tobytes(), tree


SELECT = """func.func @main(%x: tensor<30x{t}>, %s: tensor<14x{t}>, %i: tensor<{t}>) -> tensor<30x{t}> {{
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) ({{
  ^bb0(%a: tensor<{t}>, %b: tensor<{t}>):
    %r = stablehlo.compare GE, %a, %b : (tensor<{t}>, tensor<{t}>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }}, {{ {body} }}) {{window_dimensions = array<i64: 17>, window_strides = array<i64: 1>}}
    : (tensor<30x{t}>, tensor<14x{t}>, tensor<{t}>) -> tensor<30x{t}>
  return %0 : tensor<30x{t}> }}"""


@pytest.mark.parametrize("name", ["f32", "bf16", "i8"])
@pytest.mark.parametrize("accumulate", ACCUMULATIONS)
def test_select_and_scatter_folds_as_chosen(name: str, accumulate: str) -> None:
    dtype = DTYPES[name]
    add, wide = adder(dtype, accumulate)
    operand = np.zeros(30, dtype)
    operand[[3, 14]] = 1  # windows 0 to 3 select 3 or 14, the others 14
    source, initial = draw(dtype, 14), draw(dtype, 4)[3]
    text = SELECT.format(t=name, body=combining("add", name))
    for tree in TREES:
        (found,) = every_way(text, operand, source, initial, reduction_tree=tree, accumulate=accumulate)
        if tree not in ("left", "right", "balanced"):
            continue
        selected = [int(np.argmax(operand[place : place + 17])) + place for place in range(14)]
        for place in (3, 14, 20):
            values = [source[k].astype(wide) for k in range(14) if selected[k] == place]
            wanted = rounded(written_out(tree, values, np.asarray(initial).astype(wide), add), dtype)
            assert found[place].tobytes() == wanted.tobytes(), (tree, place)


def scatter_text(rows: int, updates: int, width: int, name: str, body: str) -> str:
    operand, given = tensor((rows, width), name), tensor((updates, width), name)
    return f"""func.func @main(%x: {operand}, %i: tensor<{updates}x1xi32>, %u: {given}) -> {operand} {{
  %0 = "stablehlo.scatter"(%x, %i, %u) ({{ {body} }}) {{scatter_dimension_numbers = #stablehlo.scatter<
    update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
    index_vector_dim = 1>}} : ({operand}, tensor<{updates}x1xi32>, {given}) -> {operand}
  return %0 : {operand} }}"""


def schedules(size: int) -> list[Any]:
    return ["lexicographic", "reverse", ("random", 5), np.random.default_rng(2).permutation(size)]


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["f32", "bf16", "i8", "complex<f32>", "f64"])
@pytest.mark.parametrize("width", [1, 3])
def test_scatters_follow_the_schedule(name: str, width: int) -> None:
    rows, count = 4, 60
    dtype = DTYPES[name]
    indices = np.random.default_rng(3).integers(-1, rows + 1, (count, 1)).astype(np.int32)
    operand, updates = draw(dtype, rows, width), draw(dtype, count, width)
    last = region([f"tensor<{name}>"] * 2, "", [f"%b : tensor<{name}>"])
    for schedule in schedules(count * width):
        order: Any = np.arange(count * width)
        if isinstance(schedule, str):
            order = order if schedule == "lexicographic" else order[::-1]
        elif isinstance(schedule, tuple):
            generator = np.random.Generator(np.random.PCG64([schedule[1], count * width]))
            order = generator.permutation(count * width)
        else:
            order = schedule
        for body in (last, combining("add", name)):
            wanted = operand.copy()
            for number in order:
                row, column = indices[number // width, 0], number % width
                if 0 <= row < rows:
                    value = updates[number // width, column]
                    wanted[row, column] = value if body is last else wanted[row, column] + value
            text = scatter_text(rows, count, width, name, body)
            (found,) = every_way(text, operand, indices, updates, scatter_schedule=schedule)
            assert same_bits(found, wanted), schedule


def test_scatters_accumulate_in_float64_and_round_once() -> None:
    indices = np.zeros((100, 1), np.int32)
    updates, operand = draw(np.float32, 100, 2), draw(np.float32, 3, 2)
    text = scatter_text(3, 100, 2, "f32", combining("add", "f32"))
    (found,) = every_way(text, operand, indices, updates, accumulate="float64")
    wanted = operand.astype(np.float64)
    for update in updates:
        wanted[0] += update
    assert same_bits(found, wanted.astype(np.float32))


def test_a_permutation_of_another_size_is_refused() -> None:
    text = scatter_text(3, 5, 2, "f32", combining("add", "f32"))
    inputs = np.zeros((3, 2), "f"), np.zeros((5, 1), np.int32), np.zeros((5, 2), "f")
    for compile in ("never", "eager"):
        with pytest.raises(NimbleError, match="scatter_schedule has 3 numbers, but updates have 10"):
            nimblehlo.execute(text, inputs, options=Options(compile=compile, scatter_schedule=[2, 0, 1]))


def test_choices_reach_operations_whose_sizes_are_known_late() -> None:
    text = """func.func @main(%x: tensor<?xf32>, %i: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0]
    : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32> }"""
    operand = np.array([1e8, 1, -1e8, 1], np.float32)
    results = {
        tree: float(every_way(text, operand, np.float32(0), reduction_tree=tree)[0])
        for tree in ("blocked", "left", "right")
    }
    assert results == {"blocked": 0.0, "left": 1.0, "right": 0.0}


def test_choices_reach_reductions_beside_elementwise_work() -> None:
    text = """func.func @main(%x: tensor<64x3000xbf16>) -> tensor<64x3000xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.convert %x : (tensor<64x3000xbf16>) -> tensor<64x3000xf32>
  %2 = stablehlo.reduce(%1 init: %0) applies stablehlo.add across dimensions = [1]
    : (tensor<64x3000xf32>, tensor<f32>) -> tensor<64xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<64xf32>) -> tensor<64x3000xf32>
  %4 = stablehlo.divide %1, %3 : tensor<64x3000xf32>
  return %4 : tensor<64x3000xf32> }"""
    operand = draw(ml_dtypes.bfloat16, 64, 3000)
    results = {
        (tree, accumulate): every_way(text, operand, reduction_tree=tree, accumulate=accumulate)[0].tobytes()
        for tree in ("blocked", "left", ("random", 1))
        for accumulate in ("wide", "float64")
    }
    assert len({results[tree, "wide"] for tree in ("blocked", "left", ("random", 1))}) == 3
    assert results["left", "wide"] != results["left", "float64"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("scatter_schedule", "backwards"), ("scatter_schedule", [0, 0]), ("scatter_schedule", [0.0, 1.0]),
        ("scatter_schedule", None), ("scatter_schedule", ("random", -1)), ("reduction_tree", "ternary"),
        ("reduction_tree", ("random", "x")), ("reduction_tree", np.arange(3)), ("accumulate", "float16"),
    ],
)  # fmt: skip
def test_other_settings_are_refused(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=field):
        Options(**{field: value})
