"""Reductions and sorts of values beside their positions."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from nimblehlo import Options, execute
from nimblehlo.compiler.specialize.rewrites import arg_reductions
from tests.support.running import run_every_way, same_bits

from ..simplified import assert_same_bits, function, left, simplified

POSITIONS = "nimblehlo.arg_reduce"


def search(type: str, index: str, *, direction: str = "GT", comparison: str = "FLOAT") -> str:
    """The body that keeps the better value, or the first NaN, and the lowest index."""
    value, place = f"tensor<{type}>", f"tensor<{index}>"
    return f"""(%x: {value}, %i: {place}, %y: {value}, %j: {place}):
      %wins = stablehlo.compare {direction}, %x, %y, {comparison} : ({value}, {value}) -> tensor<i1>
      %nan = stablehlo.compare NE, %x, %x, {comparison} : ({value}, {value}) -> tensor<i1>
      %pick = stablehlo.or %wins, %nan : tensor<i1>
      %same = stablehlo.compare EQ, %x, %y, {comparison} : ({value}, {value}) -> tensor<i1>
      %lower = stablehlo.compare LT, %i, %j, SIGNED : ({place}, {place}) -> tensor<i1>
      %both = stablehlo.and %same, %lower : tensor<i1>
      %pick_index = stablehlo.or %pick, %both : tensor<i1>
      %v = stablehlo.select %pick, %x, %y : tensor<i1>, {value}
      %p = stablehlo.select %pick_index, %i, %j : tensor<i1>, {place}
      stablehlo.return %v, %p : {value}, {place}"""


def argument_of(
    shape: str, result: str, dimensions: str, positions: str, body: str, type: str = "f32"
) -> str:
    operand, found = f"tensor<{shape}x{type}>", (f"tensor<{result}{type}>", f"tensor<{result}i32>")
    lines = f"""
    %n = {positions} : tensor<{shape}xi32>
    %r:2 = "stablehlo.reduce"(%a, %n, %b, %c) ({{
      ^bb0{body}
    }}) {{dimensions = array<i64: {dimensions}>}}
      : ({operand}, tensor<{shape}xi32>, tensor<{type}>, tensor<i32>) -> ({found[0]}, {found[1]})
    return %r#0, %r#1 : {found[0]}, {found[1]}"""
    arguments = f"%a: {operand}, %b: tensor<{type}>, %c: tensor<i32>"
    return function(arguments, f"{found[0]}, {found[1]}", lines)


@pytest.mark.parametrize(
    ("shape", "result", "dimensions", "along"),
    [("9x70", "9x", "1", 1), ("70x9", "9x", "0", 0), ("3x40x5", "3x5x", "1", 1), ("8x1x30", "8x", "1, 2", 2)],
)
def test_positions_are_counted(shape: str, result: str, dimensions: str, along: int) -> None:
    for direction in ("GT", "LT"):
        body = search("f32", "i32", direction=direction)
        text = argument_of(shape, result, dimensions, f"stablehlo.iota dim = {along}", body)
        assert left(simplified(text))[0] == POSITIONS
        assert_same_bits(text)


@pytest.mark.parametrize("count", [2, 3, arg_reductions.MAX_SLICES, arg_reductions.MAX_SLICES + 1])
@pytest.mark.parametrize("type", ["i1", "i8", "ui32", "f32"])
def test_few_slices_are_searched_elementwise(type: str, count: int) -> None:
    """As those that `jnp.select` stacks; others and those of floats, whose zeros have signs, are not."""
    comparison = {"i1": "UNSIGNED", "i8": "SIGNED", "ui32": "UNSIGNED", "f32": "FLOAT"}[type]
    piece, stack = f"tensor<1x9x{type}>", f"tensor<{count}x9x{type}>"
    found = f"tensor<9x{type}>, tensor<9xi32>"
    arguments = ", ".join([f"%s{n}: {piece}" for n in range(count)])
    for direction in ("GT", "LT"):
        body = search(type, "i32", direction=direction, comparison=comparison)
        text = f"""
        func.func @main({arguments}, %b: tensor<{type}>, %c: tensor<i32>) -> ({found}) {{
          %a = stablehlo.concatenate {", ".join(f"%s{n}" for n in range(count))}, dim = 0
            : ({", ".join([piece] * count)}) -> {stack}
          %n = stablehlo.iota dim = 0 : tensor<{count}x9xi32>
          %r:2 = "stablehlo.reduce"(%a, %n, %b, %c) ({{
            ^bb0{body}
          }}) {{dimensions = array<i64: 0>}}
            : ({stack}, tensor<{count}x9xi32>, tensor<{type}>, tensor<i32>) -> ({found})
          return %r#0, %r#1 : {found}
        }}"""
        is_searched_elementwise = type != "f32" and count <= arg_reductions.MAX_SLICES
        assert (POSITIONS not in left(simplified(text))) == is_searched_elementwise
        assert_same_bits(text)


def test_other_positions_are_read() -> None:
    body = search("f32", "i32")
    other_dimension = argument_of("9x70", "9x", "1", "stablehlo.iota dim = 0", body)
    in_two_dimensions = argument_of("9x70", "", "0, 1", "stablehlo.iota dim = 1", body)
    other_body = body.replace("compare LT, %i", "compare GT, %i")
    for text in (
        other_dimension,
        in_two_dimensions,
        argument_of("9x70", "9x", "1", "stablehlo.iota dim = 1", other_body),
    ):
        assert POSITIONS not in left(simplified(text))


@pytest.mark.parametrize("tree", ["blocked", "balanced", "left", "right", ("random", 3)])
def test_any_tree(tree: object) -> None:
    text = argument_of("4x33", "4x", "1", "stablehlo.iota dim = 1", search("f32", "i32"))
    operand = np.random.default_rng(0).integers(-2, 3, (4, 33)).astype(np.float32)
    operand[1, 20] = operand[1, 5] = np.nan
    inputs = [operand, np.float32(-np.inf), np.int32(0)]
    results = [
        execute(text, inputs, options=Options(compile=compile, reduction_tree=tree))  # type: ignore[arg-type]
        for compile in ("never", "eager")
    ]
    for got, want in zip(*results, strict=True):
        assert same_bits(got, want)
    assert results[0][1].tolist() == [*np.argmax(operand, 1)]


@pytest.mark.parametrize("type", ["f32", "f64", "bf16", "f16"])
def test_edge_values(type: str) -> None:
    dtype = np.dtype({"f32": "f4", "f64": "f8", "f16": "f2", "bf16": ml_dtypes.bfloat16}[type])
    text = argument_of("12x300", "12x", "1", "stablehlo.iota dim = 1", search(type, "i32"), type)
    rng = np.random.default_rng(1)
    operand = rng.standard_normal((12, 300)).astype(dtype)
    operand[0] = -np.inf
    operand[1] = np.nan
    operand[2] = np.where(rng.random(300) < 0.5, dtype.type(0.0), dtype.type(-0.0))
    operand[3, 299] = operand[4, 0] = operand[5, 77] = operand[5, 78] = np.nan
    operand[6] = -rng.integers(0, 2, 300).astype(dtype)
    operand[7, [3, 64, 299]] = np.inf
    operand[8] = np.finfo(np.float16).smallest_subnormal if type == "f16" else 1e-39
    run_every_way(text, operand, dtype.type(-np.inf), np.int32(7))
    run_every_way(text, operand, dtype.type(0.0), np.int32(-1))
    run_every_way(text, operand, dtype.type(np.nan), np.int32(5))


SORTED = "nimblehlo.arg_sort"


def sorting(
    shape: str, positions: str, *, dimension: int = 0, compared: str = "%x, %y", returned: str = "0, 1, 2"
) -> str:
    """A sort of %a and %b beside positions, by %a; `returned` are the results that @main returns."""
    given = f"tensor<{shape}xf32>"
    types = {"0": given, "1": f"tensor<{shape}xi32>", "2": given}
    numbers = returned.split(", ")
    results = ", ".join(types[number] for number in numbers)
    lines = f"""
    %n = {positions} : tensor<{shape}xi32>
    %r:3 = "stablehlo.sort"(%a, %n, %b) ({{
      ^bb0(%x: tensor<f32>, %y: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>,
           %u: tensor<f32>, %v: tensor<f32>):
        %less = stablehlo.compare LT, {compared} : ({
        "tensor<i32>, tensor<i32>" if "%i" in compared else "tensor<f32>, tensor<f32>"
    }) -> tensor<i1>
        stablehlo.return %less : tensor<i1>
    }}) {{dimension = {dimension} : i64, is_stable = true}}
      : ({given}, tensor<{shape}xi32>, {given}) -> ({given}, tensor<{shape}xi32>, {given})
    return {", ".join(f"%r#{number}" for number in numbers)} : {results}"""
    return function(f"%a: {given}, %b: {given}", results, lines)


@pytest.mark.parametrize("returned", ["1", "0, 1", "1, 2", "0, 1, 2", "2, 1"])
@pytest.mark.parametrize(("shape", "dimension"), [("1500", 0), ("70x40", 0), ("40x70", 1), ("9x20x11", 1)])
def test_sorted_positions_are_counted(shape: str, dimension: int, returned: str) -> None:
    text = sorting(shape, f"stablehlo.iota dim = {dimension}", dimension=dimension, returned=returned)
    made = left(simplified(text))
    assert SORTED in made and "stablehlo.iota" not in made
    rng = np.random.default_rng(0)
    sizes = [int(size) for size in shape.split("x")]
    a = rng.integers(-3, 4, sizes).astype(np.float32)
    a[rng.random(sizes) < 0.2] = rng.choice(np.float32([0.0, -0.0, np.nan, -np.nan, np.inf, 1e-45]))
    run_every_way(text, a, rng.standard_normal(sizes).astype(np.float32))


def test_other_sorts_are_left() -> None:
    counted = "stablehlo.iota dim = 0"
    for text in (
        sorting("1500", counted, compared="%i, %j"),
        sorting("70x40", counted, dimension=1),
        sorting("1500", counted, returned="0, 2"),
        sorting("15", counted),
    ):
        assert SORTED not in left(simplified(text))
