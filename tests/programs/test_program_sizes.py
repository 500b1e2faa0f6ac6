"""Programs whose operations, operands, results, ranks and nesting exceed what fits in fixed memory."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options, UnsupportedError
from tests.support import large_programs
from tests.support.running import assert_close, run_every_way, run_xla


@pytest.mark.parametrize("count", [47, 48])
def test_a_fused_loop_over_rows_of_many_arrays(count: int) -> None:
    """Native code is given the addresses of `2 * count + 1` arrays; 96 lie on the stack."""

    def scaled(*arrays: jax.Array) -> list[jax.Array]:
        scale = jax.lax.rsqrt(jnp.square(arrays[0]).sum(1, keepdims=True))
        return [array * scale for array in arrays]

    arrays = np.random.default_rng(0).standard_normal((count, 20, 16)).astype(np.float32)
    text = jax.jit(scaled).lower(*arrays).as_text()
    results = run_every_way(text, *arrays)
    assert_close(results, run_xla(text, *arrays), 1e-6)


def shape_of_rank(rank: int) -> tuple[int, ...]:
    """A shape of that rank with 30 elements along the last dimension, and few along others."""
    return (2, *[1] * (rank // 2), 3, *[1] * (rank - rank // 2 - 3), 30)


def tensor(shape: Sequence[int], element_type: str = "f32") -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element_type}>"


BY_KEY = "%p = stablehlo.compare LT, %x0, %x1 : (tensor<f32>, tensor<f32>) -> tensor<i1>"
BY_FUNCTION = """%y0 = stablehlo.sine %x0 : tensor<f32>
  %y1 = stablehlo.sine %x1 : tensor<f32>
  %p = stablehlo.compare LT, %y0, %y1 : (tensor<f32>, tensor<f32>) -> tensor<i1>"""


def sorting(shape: Sequence[int], comparator: str, positions: bool) -> str:
    """A program that sorts its first operand along the last dimension, and another or positions with it."""
    type, other = tensor(shape), tensor(shape, "i32" if positions else "f32")
    iota, negated = f"stablehlo.iota dim = {len(shape) - 1} : {other}", f"stablehlo.negate %b : {type}"
    second = iota if positions else negated
    element = other[7:].split("x")[-1]
    return f"""
func.func @main(%a: {type}, %b: {type}) -> ({type}, {other}) {{
  %s = {second}
  %r:2 = "stablehlo.sort"(%a, %s) <{{dimension = {len(shape) - 1} : i64, is_stable = true}}> ({{
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %z0: tensor<{element}, %z1: tensor<{element}):
  {comparator}
  stablehlo.return %p : tensor<i1>
  }}) : ({type}, {other}) -> ({type}, {other})
  return %r#0, %r#1 : {type}, {other}
}}
"""


@pytest.mark.parametrize("rank", [32, 33, 64])
@pytest.mark.parametrize(
    ("comparator", "positions"), [(BY_KEY, False), (BY_KEY, True), (BY_FUNCTION, False), (BY_FUNCTION, True)]
)
def test_sorting_of_any_rank(rank: int, comparator: str, positions: bool) -> None:
    """NumPy's functions that sort take at most 32 dimensions, those that index at most 63."""
    shape = shape_of_rank(rank)
    text = sorting(shape, comparator, positions)
    elements = np.random.default_rng(0).integers(0, 9, (2, 180)).astype(np.float32)
    a, b = elements[0].reshape(shape), elements[1].reshape(shape)
    first, second = nimblehlo.execute(text, [a, b], options=Options(compile="never"))
    rows = a.reshape(6, 30)
    order = np.argsort(rows if comparator is BY_KEY else np.sin(rows), 1, kind="stable")
    others = np.broadcast_to(np.arange(30, dtype=np.int32), rows.shape) if positions else -b.reshape(6, 30)
    np.testing.assert_array_equal(first.reshape(6, 30), np.take_along_axis(rows, order, 1))
    np.testing.assert_array_equal(second.reshape(6, 30), np.take_along_axis(others, order, 1))


@pytest.mark.parametrize("rank", [32, 33, 64])
def test_other_operations_of_any_rank(rank: int) -> None:
    shape = shape_of_rank(rank)
    type, top, rows = tensor(shape), (*shape[:-1], 3), tensor(shape[:-1])
    text = f"""
func.func @main(%a: {type}) -> ({tensor(top)}, {tensor(top, "i32")}, {type}, {type}) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %top:2 = chlo.top_k(%a, k = 3) : {type} -> ({tensor(top)}, {tensor(top, "i32")})
  %e = stablehlo.exponential %a : {type}
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [{rank - 1}]
      : ({type}, tensor<f32>) -> {rows}
  %all = stablehlo.broadcast_in_dim %sum, dims = {list(range(rank - 1))} : ({rows}) -> {type}
  %soft = stablehlo.divide %e, %all : {type}
  %windows = "stablehlo.reduce_window"(%a, %zero) ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}) {{window_dimensions = array<i64: {", ".join(["1"] * (rank - 1))}, 2>,
      padding = dense<[{"[0, 0], " * (rank - 1)}[1, 0]]> : tensor<{rank}x2xi64>}}
      : ({type}, tensor<f32>) -> {type}
  return %top#0, %top#1, %soft, %windows : {tensor(top)}, {tensor(top, "i32")}, {type}, {type}
}}
"""
    a = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    values, places, soft, windows = run_every_way(text, a)
    rows_of_a = a.reshape(6, 30)
    order = np.argsort(-rows_of_a, 1, kind="stable")[:, :3]
    assert (places.reshape(6, 3) == order).all()
    assert (values.reshape(6, 3) == np.take_along_axis(rows_of_a, order, 1)).all()
    exponentials = np.exp(rows_of_a)
    np.testing.assert_allclose(soft.reshape(6, 30), exponentials / exponentials.sum(1, keepdims=True), 1e-6)
    padded = np.pad(rows_of_a, ((0, 0), (1, 0)))
    assert (windows.reshape(6, 30) == np.maximum(np.maximum(padded[:, 1:], padded[:, :-1]), 0)).all()


@pytest.mark.parametrize("rank", [32, 33, 64])
def test_elementwise_operations_of_any_rank(rank: int) -> None:
    shape = shape_of_rank(rank)
    integers, complexes, row = tensor(shape, "i32"), tensor(shape, "complex<f32>"), shape[:-1]
    text = f"""
func.func @main(%a: {integers}, %x: {complexes})
    -> ({integers}, {tensor(shape, "bf16")}, {tensor(shape)}, {tensor(row, "complex<f32>")}) {{
  %quotient = stablehlo.divide %a, %a : {integers}
  %narrow = stablehlo.convert %a : ({integers}) -> {tensor(shape, "bf16")}
  %sum = stablehlo.add %narrow, %narrow : {tensor(shape, "bf16")}
  %real = stablehlo.real %x : ({complexes}) -> {tensor(shape)}
  %both = stablehlo.complex %real, %real : {complexes}
  %imaginary = stablehlo.imag %both : ({complexes}) -> {tensor(shape)}
  %one = stablehlo.constant dense<(1.0, 0.0)> : tensor<complex<f32>>
  %product = stablehlo.reduce(%x init: %one) applies stablehlo.multiply across dimensions = [{rank - 1}]
      : ({complexes}, tensor<complex<f32>>) -> {tensor(row, "complex<f32>")}
  return %quotient, %sum, %imaginary, %product
      : {integers}, {tensor(shape, "bf16")}, {tensor(shape)}, {tensor(row, "complex<f32>")}
}}
"""
    a = np.arange(180, dtype=np.int32).reshape(shape)
    x = np.exp(1j * a / 50).astype(np.complex64)
    quotient, total, imaginary, product = run_every_way(text, a, x)
    assert (quotient == np.where(a == 0, -1, 1)).all()
    assert (total.astype(np.int32) == 2 * a).all()
    assert (imaginary == x.real).all()
    np.testing.assert_allclose(product, x.prod(-1), 1e-5)


@pytest.mark.parametrize("spatial", [30, 31])
def test_a_convolution_of_many_dimensions(spatial: int) -> None:
    """A copy of its windows has two dimensions for each spatial one, and three others."""
    ones = (1,) * (spatial - 2)
    types = [tensor(shape) for shape in ((2, 3, 4, 5, *ones), (2, 3, 3, 2, *ones), (2, 2, 2, 4, *ones))]
    numbers = ", ".join(map(str, range(spatial)))
    text = f"""
func.func @main(%a: {types[0]}, %b: {types[1]}) -> {types[2]} {{
  %r = stablehlo.convolution(%a, %b)
      dim_numbers = [b, f, {numbers}]x[o, i, {numbers}]->[b, f, {numbers}], window = {{}}
      {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({types[0]}, {types[1]}) -> {types[2]}
  return %r : {types[2]}
}}
"""
    a, b = np.arange(120.0, dtype=np.float32), np.arange(36.0, dtype=np.float32)
    operands = a.reshape(2, 3, 4, 5, *ones), b.reshape(2, 3, 3, 2, *ones)
    if spatial > 30:
        with pytest.raises(UnsupportedError, match="31 spatial dimensions; at most 30 are supported"):
            nimblehlo.execute(text, operands)
        return
    (result,) = run_every_way(text, *operands)
    windows = np.lib.stride_tricks.sliding_window_view(a.reshape(2, 3, 4, 5), (3, 2), (2, 3))
    wanted = np.einsum("bfxyij,ofij->boxy", windows, b.reshape(2, 3, 3, 2))
    assert (result.reshape(wanted.shape) == wanted).all()


SMALL = "tensor<8xf32>"


def called(count: int, body: str) -> str:
    """A program whose functions call each other in a row, and add their operand to what they get.

    Args:
        count: how many functions.
        body: defines %r in the terms of %a, %p and the function @next.
    """
    signature = f"(%a: {SMALL}, %p: tensor<i1>) -> {SMALL}"
    functions = "".join(
        f"""func.func private @f{number}{signature} {{
  {body.replace("@next", f"@f{number + 1}")}
  %1 = stablehlo.add %r, %a : {SMALL}
  return %1 : {SMALL}
}}
"""
        for number in range(count)
    )
    call = f"call @f0(%a, %p) : ({SMALL}, tensor<i1>) -> {SMALL}"
    last = f"func.func private @f{count}{signature} {{\n  return %a : {SMALL}\n}}\n"
    return f"{functions}{last}func.func @main{signature} {{\n  %0 = {call}\n  return %0 : {SMALL}\n}}\n"


CALL = f"%r = call @next(%a, %p) : ({SMALL}, tensor<i1>) -> {SMALL}"
CALL_IN_REGION = f"""%r = "stablehlo.if"(%p) ({{
    %0 = call @next(%a, %p) : ({SMALL}, tensor<i1>) -> {SMALL}
    stablehlo.return %0 : {SMALL}
  }}, {{
    stablehlo.return %a : {SMALL}
  }}) : (tensor<i1>) -> {SMALL}"""


@pytest.mark.parametrize(("count", "body"), [(100, CALL), (1200, CALL), (127, CALL_IN_REGION)])
def test_calls_follow_each_other_to_any_depth(count: int, body: str) -> None:
    """1,200 calls are more than Python's stack takes; regions are nested to 128 levels, as in a text."""
    (result,) = run_every_way(called(count, body), np.ones(8, np.float32), np.bool_(True))
    assert (result == count + 1).all()


def test_regions_that_calls_nest_too_deeply_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="nested deeper than 128 levels with calls inlined"):
        nimblehlo.compile(called(128, CALL_IN_REGION))


def test_a_compilation_far_down_the_stack_says_so() -> None:
    module = nimblehlo.load(called(60, CALL_IN_REGION))

    def at_depth(depth: int) -> None:
        if depth:
            at_depth(depth - 1)
        else:
            nimblehlo.compile(module)

    with pytest.raises(UnsupportedError, match="nested too deeply for the depth of the calling code"):
        at_depth(sys.getrecursionlimit() - 200)


@pytest.mark.parametrize("count", [30, 300])
def test_an_optimizer_of_many_parameters(count: int) -> None:
    """Adam over arrays of several shapes, beside NumPy in the same order of operations."""

    def step(state: list[Any], scale: Any, square_root: Any) -> list[Any]:
        means, squares, weights, gradients = (state[part::4] for part in range(4))
        means = [m * np.float32(0.9) + g * np.float32(0.1) for m, g in zip(means, gradients, strict=True)]
        squares = [
            s * np.float32(0.99) + g * g * np.float32(0.01) for s, g in zip(squares, gradients, strict=True)
        ]
        weights = [
            w - scale * m / (square_root(s) + np.float32(1e-3))
            for w, m, s in zip(weights, means, squares, strict=True)
        ]
        return [*means, *squares, *weights]

    rng = np.random.default_rng(0)
    shapes = [(3 + number % 5, 2 + number % 7) for number in range(count) for _ in range(4)]
    state = [rng.random(shape, dtype=np.float32) for shape in shapes]
    scale = np.float32(0.05)
    text = jax.jit(lambda state, scale: step(state, scale, jnp.sqrt)).lower(state, scale).as_text()
    wanted = step(state, scale, np.sqrt)
    for result, expected in zip(run_every_way(text, *state, scale), wanted, strict=True):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", large_programs.PROGRAMS)
def test_large_programs(name: str) -> None:
    """The smallest of those that the campaign runs."""
    function, arguments = large_programs.PROGRAMS[name](1)
    text = jax.jit(function).lower(*arguments).as_text()
    large_programs.run(text, jax.tree.leaves(arguments))
