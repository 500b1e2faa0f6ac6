"""Products of matrices joined with the fusions that follow on them: when, and the same bits."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.kernels.matmul import matmul
from tests.program.ops.texts import tensor
from tests.support.running import same_bits

pytestmark = pytest.mark.skipif(not matmul.is_available(), reason="no fused multiply-add here")

JOINED = "epilogue of stablehlo.dot_general"
ACTIVATION = """  %shifted = stablehlo.add %product, %other : {c}
  %result = stablehlo.tanh %shifted : {c}
  return %result : {c}"""

ARITHMETIC = """  %shifted = stablehlo.add %product, %other : {c}
  %scaled = stablehlo.multiply %shifted, %product : {c}
  %result = stablehlo.maximum %scaled, %other : {c}
  return %result : {c}"""


def program(
    sizes: tuple[int, int, int],
    type: str = "f32",
    transposed: tuple[bool, bool] = (False, False),
    body: str = ACTIVATION,
    result: str | None = None,
) -> str:
    rows, k, columns = sizes
    a = tensor((k, rows) if transposed[0] else (rows, k), type)
    b = tensor((columns, k) if transposed[1] else (k, columns), type)
    c = tensor((rows, columns), type)
    contracting = f"[{0 if transposed[0] else 1}] x [{1 if transposed[1] else 0}]"
    return f"""func.func @main(%lhs: {a}, %rhs: {b}, %other: {c}) -> ({(result or "{c}").format(c=c)}) {{
  %product = stablehlo.dot_general %lhs, %rhs, contracting_dims = {contracting} : ({a}, {b}) -> {c}
{body.format(c=c)}
}}
"""


def operands(
    sizes: tuple[int, int, int], type: str = "f32", transposed: tuple[bool, bool] = (False, False)
) -> list[Any]:
    rows, k, columns = sizes
    generator = np.random.default_rng(0)
    dtype = {"f32": np.float32, "f64": np.float64}[type]
    lhs, rhs, other = (
        generator.standard_normal(shape).astype(dtype) / 8
        for shape in ((rows, k), (k, columns), (rows, columns))
    )
    lhs[0, 0], lhs[-1, -1], rhs[0, -1], other[-1, 0] = np.nan, np.inf, -0.0, -np.inf
    return [
        np.ascontiguousarray(array.T) if is_transposed else array
        for array, is_transposed in ((lhs, transposed[0]), (rhs, transposed[1]), (other, False))
    ]


def assert_same_in_every_way(text: str, inputs: list[Any], joined: bool = True) -> None:
    module = nimblehlo.load(text)
    expected = nimblehlo.execute(module, inputs, options=Options(compile="never"))
    for threads in (1, 2, 3, 8):
        executable = nimblehlo.compile(module, options=Options(compile="eager", threads=threads))
        assert (JOINED in executable.explain()) == joined
        kept = [array.copy() for array in inputs]
        for _ in range(3):
            results = executable(*inputs)
            assert all(map(same_bits, results, expected))
        assert all(map(same_bits, inputs, kept))


@pytest.mark.parametrize("sizes", [(32, 128, 128), (33, 300, 65), (7, 515, 300), (600, 70, 515), (9, 9, 9)])
@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("transposed", [*itertools.product((False, True), repeat=2)])
def test_the_same_bits_in_every_way(
    sizes: tuple[int, int, int], type: str, transposed: tuple[bool, bool]
) -> None:
    body = ACTIVATION if type == "f32" else ARITHMETIC
    text, is_joined = program(sizes, type, transposed, body), sizes == (600, 70, 515) and body is ARITHMETIC
    assert_same_in_every_way(text, operands(sizes, type, transposed), is_joined)


@pytest.mark.parametrize("sizes", [(600, 40, 1100), (257, 256, 513), (1500, 23, 70), (256, 32, 1000)])
@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True)])
def test_large_products_of_few_terms(
    sizes: tuple[int, int, int], type: str, transposed: tuple[bool, bool]
) -> None:
    assert_same_in_every_way(program(sizes, type, transposed, ARITHMETIC), operands(sizes, type, transposed))
    text = program(sizes, type, transposed, ACTIVATION)
    plan = nimblehlo.compile(text, options=Options(compile="eager")).explain("plan")
    assert JOINED not in plan


def test_a_matrix_by_its_own_transpose_stays_a_step() -> None:
    text = """func.func @main(%x: tensor<600x40xf32>, %y: tensor<600x600xf32>) -> tensor<600x600xf32> {
      %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1]
        : (tensor<600x40xf32>, tensor<600x40xf32>) -> tensor<600x600xf32>
      %1 = stablehlo.add %0, %y : tensor<600x600xf32>
      return %1 : tensor<600x600xf32>
    }"""
    x = np.random.default_rng(0).standard_normal((600, 40)).astype(np.float32)
    assert_same_in_every_way(text, [x, np.ones((600, 600), np.float32)], joined=False)


def test_both_are_joined_where_native_code_is_used_later() -> None:
    sizes = (520, 80, 60)
    text, inputs = program(sizes, body=ARITHMETIC), operands(sizes)
    expected = nimblehlo.execute(text, inputs, options=Options(compile="never"))
    executable = nimblehlo.compile(text)
    assert JOINED in executable.explain()
    for _ in range(1000):
        assert same_bits(executable(*inputs)[0], expected[0])


def test_an_operand_of_the_product_may_be_one_of_the_fusion() -> None:
    body = """  %sum = stablehlo.add %product, %lhs : {c}
  %result = stablehlo.multiply %sum, %lhs : {c}
  return %result : {c}"""
    assert_same_in_every_way(program((600, 90, 90), body=body), operands((600, 90, 90)))


def test_a_product_that_is_used_elsewhere_stays_a_step() -> None:
    body = ARITHMETIC.replace("return %result : {c}", "return %result, %product : {c}, {c}")
    text = program((600, 64, 64), body=body, result="{c}, {c}")
    assert_same_in_every_way(text, operands((600, 64, 64)), joined=False)


def test_a_product_that_is_read_at_other_places_stays_a_step() -> None:
    body = """  %transposed = stablehlo.transpose %product, dims = [1, 0] : ({c}) -> {c}
  %shifted = stablehlo.add %transposed, %other : {c}
  %result = stablehlo.negate %shifted : {c}
  return %result : {c}"""
    assert_same_in_every_way(program((400, 64, 400), body=body), operands((400, 64, 400)), joined=False)


@pytest.mark.parametrize("sizes", [(4, 16, 16), (512, 257, 64), (1, 300, 300), (513, 16, 64), (250, 96, 400)])
def test_other_sizes_stay_two_steps(sizes: tuple[int, int, int]) -> None:
    assert_same_in_every_way(program(sizes, body=ARITHMETIC), operands(sizes), joined=False)


@pytest.mark.parametrize("rows", [176, 600])
def test_a_loop_over_time(rows: int) -> None:
    text = f"""func.func @main(
  %h: tensor<{rows}x96xf32>, %w: tensor<96x96xf32>, %xs: tensor<20x{rows}x96xf32>)
  -> tensor<{rows}x96xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %h) : tensor<i32>, tensor<{rows}x96xf32>
    cond {{
      %n = stablehlo.constant dense<20> : tensor<i32>
      %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    }} do {{
      %x = stablehlo.dynamic_slice %xs, %i, %zero, %zero, sizes = [1, {rows}, 96]
        : (tensor<20x{rows}x96xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x{rows}x96xf32>
      %y = stablehlo.reshape %x : (tensor<1x{rows}x96xf32>) -> tensor<{rows}x96xf32>
      %p = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0]
        : (tensor<{rows}x96xf32>, tensor<96x96xf32>) -> tensor<{rows}x96xf32>
      %q = stablehlo.add %p, %y : tensor<{rows}x96xf32>
      %t = stablehlo.maximum %q, %y : tensor<{rows}x96xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %t : tensor<i32>, tensor<{rows}x96xf32>
    }}
  return %r#1 : tensor<{rows}x96xf32>
}}
"""
    generator = np.random.default_rng(1)
    shapes = ((rows, 96), (96, 96), (20, rows, 96))
    inputs = [generator.standard_normal(shape, np.float32) / 9 for shape in shapes]
    assert_same_in_every_way(text, inputs, joined=rows == 600)


def test_a_product_along_no_dimension_is_not_joined() -> None:
    text = """
    func.func @main(%x: tensor<256x256xf32>, %y: tensor<256x256xf32>) -> tensor<256x256xf32> {
      %0 = stablehlo.dot_general %x, %y, batching_dims = [0, 1] x [0, 1], contracting_dims = [] x []
        : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %1 = stablehlo.negate %0 : tensor<256x256xf32>
      return %1 : tensor<256x256xf32>
    }"""
    x = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)
    executable = nimblehlo.compile(text, options=Options(compile="eager"))
    assert same_bits(executable(x, x.T.copy())[0], -(x * x.T))
    assert JOINED not in executable.explain("plan")
