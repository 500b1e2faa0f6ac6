"""Runs of small steps become one step, which gives the same bits as its operations one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from tests.running import run_every_way

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(9)


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def steps_of(text: str, **options: Any) -> list[str]:
    """The names of the operations in the plan of @main."""
    settings = Options(compile="eager", **options)
    plan = nimblehlo.compile(text, options=settings).explain("plan")
    return [
        line.split()[1] for line in plan.splitlines() if line.startswith("   ") and line.split()[0].isdigit()
    ]


STEPS = """
func.func @main(%a: tensor<5x6xf32>, %w: tensor<6x4xf32>, %i: tensor<3x1xi32>, %f: tensor<i1>)
    -> (tensor<3x4xf32>, tensor<4xf32>, tensor<4x5xf32>, tensor<4x5xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %bias = stablehlo.constant dense<[0.5, -1.0, 2.0, 0.25]> : tensor<4xf32>
  %p = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
    : (tensor<5x6xf32>, tensor<6x4xf32>) -> tensor<5x4xf32>
  %b = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<4xf32>) -> tensor<5x4xf32>
  %s = stablehlo.add %p, %b : tensor<5x4xf32>
  %t = stablehlo.tanh %s : tensor<5x4xf32>
  %g = "stablehlo.gather"(%t, %i) <{slice_sizes = array<i64: 1, 4>, dimension_numbers = #stablehlo.gather<
    offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}>
    : (tensor<5x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  %r = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<5x4xf32>, tensor<f32>) -> tensor<4xf32>
  %u = stablehlo.transpose %t, dims = [1, 0] : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %c = "stablehlo.if"(%f) ({
    %n = stablehlo.negate %u : tensor<4x5xf32>
    stablehlo.return %n : tensor<4x5xf32>
  }, {
    stablehlo.return %u : tensor<4x5xf32>
  }) : (tensor<i1>) -> tensor<4x5xf32>
  return %g, %r, %u, %c : tensor<3x4xf32>, tensor<4xf32>, tensor<4x5xf32>, tensor<4x5xf32>
}
"""


@pytest.mark.parametrize("flag", [False, True])
def test_small_steps_become_one(flag: bool) -> None:
    assert steps_of(STEPS) == ["nimblehlo.step_cluster"]
    indices = np.array([[4], [-7], [2**31 - 1]], np.int32)
    run_every_way(STEPS, floats(5, 6), floats(6, 4), indices, np.array(flag))


def test_results_that_are_special_values() -> None:
    a = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45, 3e38] * 5, np.float32).reshape(5, 6)
    run_every_way(STEPS, a, floats(6, 4), np.zeros((3, 1), np.int32), np.array(True))


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_threads_change_nothing(threads: int) -> None:
    inputs = [floats(5, 6), floats(6, 4), np.array([[1], [2], [3]], np.int32), np.array(True)]
    expected = nimblehlo.execute(STEPS, inputs, options=Options(compile="never"))
    found = nimblehlo.execute(STEPS, inputs, options=Options(compile="eager", threads=threads))
    assert [array.tobytes() for array in found] == [array.tobytes() for array in expected]


def test_other_orders_are_left_to_the_steps() -> None:
    assert "nimblehlo.step_cluster" not in steps_of(STEPS, reduction_tree="balanced")
    assert "nimblehlo.step_cluster" not in steps_of(STEPS, accumulate="float64")


AROUND = """
func.func @main(%a: tensor<12xf32>, %b: tensor<12xf32>) -> (tensor<12xf32>, tensor<12xf32>) {{
  %x = stablehlo.reverse %a, dims = [0] : tensor<12xf32>
  %y = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0]
    : (tensor<12xf32>, tensor<12xf32>) -> tensor<f32>
  %z = stablehlo.broadcast_in_dim %y, dims = [] : (tensor<f32>) -> tensor<12xf32>
  %p = stablehlo.add %x, %z : tensor<12xf32>
  %q = "stablehlo.sort"(%{sorted}) ({{
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %c = stablehlo.compare LT, %l, %r, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }}) {{dimension = 0 : i64}} : (tensor<12xf32>) -> tensor<12xf32>
  %s = stablehlo.subtract %p, %q : tensor<12xf32>
  %t = stablehlo.reverse %s, dims = [0] : tensor<12xf32>
  %u = stablehlo.dot_general %t, %q, contracting_dims = [0] x [0]
    : (tensor<12xf32>, tensor<12xf32>) -> tensor<f32>
  %v = stablehlo.broadcast_in_dim %u, dims = [] : (tensor<f32>) -> tensor<12xf32>
  %w = stablehlo.multiply %v, %t : tensor<12xf32>
  return %p, %w : tensor<12xf32>, tensor<12xf32>
}}
"""


def test_what_needs_nothing_of_a_cluster_goes_before_it() -> None:
    text = AROUND.format(sorted="b")
    assert steps_of(text) == ["stablehlo.sort", "nimblehlo.step_cluster"]
    run_every_way(text, floats(12), floats(12))


def test_what_needs_a_cluster_ends_it() -> None:
    text = AROUND.format(sorted="p")
    assert steps_of(text) == ["nimblehlo.step_cluster", "stablehlo.sort", "nimblehlo.step_cluster"]
    run_every_way(text, floats(12), floats(12))


def test_few_steps_stay_as_they_are() -> None:
    text = """func.func @main(%a: tensor<3x4xf32>) -> tensor<3x4xf32> {
      %x = stablehlo.reverse %a, dims = [0] : tensor<3x4xf32>
      %y = stablehlo.subtract %x, %a : tensor<3x4xf32>
      return %y : tensor<3x4xf32>
    }"""
    assert "nimblehlo.step_cluster" not in steps_of(text)


def test_constants_of_many_elements_are_operands() -> None:
    constant = np.arange(80, dtype=np.int32)
    text = f"""func.func @main(%a: tensor<80xi32>) -> (tensor<80xi32>, tensor<40xi32>) {{
      %c = stablehlo.constant dense<{constant.tolist()}> : tensor<80xi32>
      %x = stablehlo.reverse %a, dims = [0] : tensor<80xi32>
      %y = stablehlo.subtract %x, %c : tensor<80xi32>
      %z = stablehlo.reverse %y, dims = [0] : tensor<80xi32>
      %s = stablehlo.slice %z [1:80:2] : (tensor<80xi32>) -> tensor<40xi32>
      %n = stablehlo.reverse %s, dims = [0] : tensor<40xi32>
      %m = stablehlo.multiply %n, %s : tensor<40xi32>
      return %z, %m : tensor<80xi32>, tensor<40xi32>
    }}"""
    assert steps_of(text) == ["nimblehlo.step_cluster"]
    run_every_way(text, RNG.integers(-(2**31), 2**31, 80).astype(np.int32))


def test_equal_operations_on_results_of_other_sizes_stay_apart() -> None:
    text = """func.func @main(%a: tensor<f32>) -> (tensor<7xf32>, tensor<3x8xf32>) {
      %x = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<7xf32>
      %y = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<3x8xf32>
      %p = stablehlo.tanh %x : tensor<7xf32>
      %q = stablehlo.tanh %y : tensor<3x8xf32>
      %r = stablehlo.reverse %p, dims = [0] : tensor<7xf32>
      %s = stablehlo.reverse %q, dims = [1] : tensor<3x8xf32>
      %t = stablehlo.add %r, %p : tensor<7xf32>
      %u = stablehlo.add %s, %q : tensor<3x8xf32>
      return %t, %u : tensor<7xf32>, tensor<3x8xf32>
    }"""
    assert steps_of(text) == ["nimblehlo.step_cluster"]
    run_every_way(text, np.float32(0.75))


SPECIAL = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, -1e-45, 3e38, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("k", [1, 3, 24])
@pytest.mark.parametrize("type", ["f32", "f64", "bf16", "i32", "ui8", "i64", "i1"])
def test_the_greatest_of_few_elements(type: str, k: int) -> None:
    text = f"""func.func @main(%a: tensor<4x24x{type}>) -> (tensor<4x{k}x{type}>, tensor<4x{k}xi32>) {{
      %v, %i = chlo.top_k(%a, k = {k}) : tensor<4x24x{type}> -> (tensor<4x{k}x{type}>, tensor<4x{k}xi32>)
      return %v, %i : tensor<4x{k}x{type}>, tensor<4x{k}xi32>
    }}"""
    dtype = nimblehlo.types.element_type(type).dtype
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        array = RNG.choice(np.array([info.min, info.max, 0, 1, 2, 3], dtype), (4, 24))
    else:
        with np.errstate(all="ignore"):
            array = RNG.choice(np.array(SPECIAL), (4, 24)).astype(dtype)
    assert steps_of(text) == ["nimblehlo.step_cluster"]
    run_every_way(text, array)
