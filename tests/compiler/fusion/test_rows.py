"""Which operations form fusions of rows, and that results keep their bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from tests.support.running import run_every_way

Array = np.ndarray[Any, Any]
X = np.random.default_rng(0).standard_normal((32, 40)).astype(np.float32)


def text_of(function: Callable[..., Any], *inputs: Array) -> str:
    text: str = jax.jit(function).lower(*inputs).as_text()
    return text


def fusions_of(text: str) -> list[str]:
    """The operations of each fusion of rows, as the plan names them."""
    plan = nimblehlo.compile(text, options=Options(compile="eager")).explain()
    marker = "one loop over rows for "
    return [line.partition(marker)[2].rstrip("]") for line in plan.splitlines() if marker in line]


def steps_of(text: str) -> str:
    """The steps of the plan, without what fusions hold."""
    plan = nimblehlo.compile(text, options=Options(compile="eager")).explain("plan")
    return "\n".join([line.partition("[")[0] for line in plan.splitlines()])


def check(function: Callable[..., Any], *inputs: Array, count: int) -> list[str]:
    """The function has so many fusions of rows, and gives the same bits in every way of running."""
    text = text_of(function, *inputs)
    found = fusions_of(text)
    assert len(found) == count, found
    run_every_way(text, *inputs)
    return found


def normalised(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def test_one_fusion_holds_a_normalisation_and_its_consumers() -> None:
    (names,) = check(lambda x, s: jnp.maximum(normalised(x) * s, 0), X, X[0], count=1)
    assert names.count("reduce") == 2
    assert names.endswith("more")


@pytest.mark.parametrize(
    ("shape", "count"), [((5000, 8), 1), ((40, 50, 20), 1), ((300, 256), 1), ((300, 257), 0), ((4000, 8), 0)]
)
def test_a_reduction_of_many_short_rows_is_one_alone(shape: tuple[int, ...], count: int) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    x[0, 0], x[1, -1] = np.nan, -0.0
    for function in (jnp.sum, jnp.max):
        check(lambda x, f=function: f(x, -1), x, count=count)


def test_paths_through_other_operations_split_fusions() -> None:
    def function(x: Any, w: Any) -> Any:
        y = normalised(x)
        return normalised(y @ w + y)

    check(function, X, np.eye(40, dtype=np.float32), count=2)


def test_a_row_that_returns_through_other_operations() -> None:
    def function(x: Any) -> Any:
        totals = (x * x).sum(1)
        return x * jnp.sort(totals)[:, None] + (x + 1).sum(1, keepdims=True)

    check(function, np.resize(X, (256, 200)), count=2)


def test_results_that_are_used_on_the_way() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        total = y.sum(1, keepdims=True)
        return y, total, y - total, jnp.cumsum(y, 0)

    check(function, X, count=1)


def test_two_spaces() -> None:
    def function(x: Any, y: Any) -> Any:
        return normalised(x), y - y.max((1, 2), keepdims=True)

    check(function, X, np.arange(16 * 8 * 9, dtype=np.float32).reshape(16, 8, 9), count=2)


def test_bodies_of_loops_too() -> None:
    def function(x: Any) -> Any:
        return jax.lax.fori_loop(0, 3, lambda _, c: normalised(c) + x, x)

    check(function, X, count=1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(1),
        lambda x: (x * x).sum(0),
        lambda x: x[:4, :5] - x[:4, :5].sum(1, keepdims=True),
    ],
)
def test_what_forms_none(function: Callable[..., Any]) -> None:
    check(function, X, count=0)


def test_few_long_rows_form_none() -> None:
    check(lambda x: x - x.max(1, keepdims=True), np.ones((2, 60000), np.float32), count=0)


def test_text_cannot_name_fusions() -> None:
    text = """
      func.func @main(%x: tensor<f32>) -> tensor<f32> {
        %y = "nimblehlo.row_fusion"(%x) ({
        ^bb0(%a: tensor<f32>):
          stablehlo.return %a : tensor<f32>
        }) : (tensor<f32>) -> tensor<f32>
        return %y : tensor<f32>
      }"""
    with pytest.raises(nimblehlo.UnsupportedError, match="row_fusion"):
        nimblehlo.load(text)


def test_fusions_absorb_distant_broadcasts() -> None:
    def function(x: Any, w: Any, scale: Any, shift: Any) -> Any:
        for _ in range(2):
            x = normalised(x @ w) * scale + shift
        return x

    weights = np.eye(40, dtype=np.float32)[::-1].copy()
    inputs = np.resize(X, (128, 40)), weights, X[0], X[1]
    found = check(function, *inputs, count=2)
    assert found[0] == found[1]
    assert "broadcast_in_dim" not in steps_of(text_of(function, *inputs))


def test_fusions_that_read_one_mask_are_equal() -> None:
    def function(x: Any, w: Any, mask: Any) -> Any:
        for _ in range(2):
            x = jax.nn.softmax(jnp.where(mask, x @ w, -1e9), -1)
        return x

    x = np.random.default_rng(1).standard_normal((3, 40, 40)).astype(np.float32)
    weights, mask = np.eye(40, dtype=np.float32), np.tri(40, dtype=bool)
    first, second = check(function, x, weights, mask, count=2)
    assert first == second
    assert "tensor<3x40x40xi1>" not in steps_of(text_of(function, x, weights, mask))


def test_a_broadcast_that_no_row_can_read_stays_outside() -> None:
    text = """
    func.func @main(%x: tensor<2000x4x6xf32>, %y: tensor<4xf32>) -> tensor<2000xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %wide = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<4xf32>) -> tensor<2000x4x6xf32>
      %root = stablehlo.tanh %x : tensor<2000x4x6xf32>
      %back = stablehlo.reverse %root, dims = [1] : tensor<2000x4x6xf32>
      %product = stablehlo.multiply %back, %wide : tensor<2000x4x6xf32>
      %sum = stablehlo.reduce(%product init: %zero) applies stablehlo.add across dimensions = [1, 2]
        : (tensor<2000x4x6xf32>, tensor<f32>) -> tensor<2000xf32>
      return %sum : tensor<2000xf32>
    }
    """
    assert len(fusions_of(text)) == 1
    assert "broadcast_in_dim (tensor<4xf32>)" in steps_of(text)
    run_every_way(text, np.random.default_rng(2).standard_normal((2000, 4, 6)).astype(np.float32), X[0, :4])


def test_a_value_lies_along_several_dimensions() -> None:
    """Distances of each to each: one operand numbers the rows and the columns of the result."""
    (names,) = check(lambda x: ((x[:, None] - x[None]) ** 2).sum(-1), X, count=1)
    assert names.count("broadcast_in_dim") == 2 and names.endswith("reduce")
    check(lambda x, y: jnp.abs(x[:, None] - y[None]).max(-1), X, X[:20], count=1)


def test_a_vector_lies_along_rows_and_columns() -> None:
    x = X[:, :32].copy()
    check(lambda x, v: (x * v[None, :] + x * v[:, None] + x).sum(1), x, X[3, :32], count=1)


def test_a_group_with_a_form_keeps_it_beside_groups_that_copy() -> None:
    """The second group does not copy the broadcast of the exponential: the first one would have to hand on
    the exponential as well, which lies along the columns."""
    text = """
func.func @main(%x: tensor<64x64xf32>, %s: tensor<64xf32>, %w: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %v = stablehlo.exponential %s : tensor<64xf32>
  %b = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
  %m = stablehlo.multiply %x, %b : tensor<64x64xf32>
  %r = stablehlo.reduce(%m init: %z) applies stablehlo.add across dimensions = [1]
    : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %n = stablehlo.divide %m, %rb : tensor<64x64xf32>
  %d = stablehlo.dot_general %n, %w, contracting_dims = [1] x [0]
    : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %m2 = stablehlo.multiply %d, %b : tensor<64x64xf32>
  %r2 = stablehlo.reduce(%m2 init: %z) applies stablehlo.add across dimensions = [1]
    : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %rb2 = stablehlo.broadcast_in_dim %r2, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %n2 = stablehlo.divide %m2, %rb2 : tensor<64x64xf32>
  return %n, %n2 : tensor<64x64xf32>, tensor<64x64xf32>
}
"""
    rng = np.random.default_rng(0)
    x, s, w = (rng.random(shape, dtype=np.float32) for shape in ((64, 64), (64,), (64, 64)))
    rows = run_every_way(text, x, s, w)[1].sum(axis=1)
    np.testing.assert_allclose(rows, 1, rtol=1e-5)


def test_the_loop_of_a_gather_compares_its_elements() -> None:
    indices = np.random.default_rng(1).integers(-2, 40, (32, 1500))

    def is_free(x: Any, indices: Any, mask: Any) -> Any:
        gathered = jnp.take_along_axis(x, indices, axis=1, mode="promise_in_bounds")
        return ((gathered > 0) | mask).all(-1)

    inputs = X, np.abs(indices).astype(np.int32), indices < 0
    text = text_of(is_free, *inputs)
    run_every_way(text, *inputs)
    temporaries = nimblehlo.compile(text, options=Options(compile="eager")).memory().temporaries
    # Neither the gathered floats are stored, nor the result of the comparison.
    assert temporaries == indices.size


def test_operations_of_gathers_stay_with_reductions_that_they_use() -> None:
    indices = np.random.default_rng(1).integers(0, 40, (32, 40)).astype(np.int32)

    def above_mean(x: Any, indices: Any) -> Any:
        gathered = jnp.take_along_axis(x, indices, axis=1, mode="promise_in_bounds")
        return (gathered > x.mean(-1, keepdims=True)).sum(-1)

    (names,) = check(above_mean, X, indices, count=1)
    assert "compare" in names and names.count("reduce") == 2
