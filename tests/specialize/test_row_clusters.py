"""Which operations form clusters of rows, and that results keep their bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from tests.running import run_every_way

Array = np.ndarray[Any, Any]
X = np.random.default_rng(0).standard_normal((32, 40)).astype(np.float32)


def text_of(function: Callable[..., Any], *inputs: Array) -> str:
    text: str = jax.jit(function).lower(*inputs).as_text()
    return text


def clusters_of(text: str) -> list[str]:
    """The operations of each cluster of rows, as the plan names them."""
    plan = nimblehlo.compile(text, options=Options(compile="eager")).explain()
    marker = "one loop over rows for "
    return [line.partition(marker)[2].rstrip("]") for line in plan.splitlines() if marker in line]


def check(function: Callable[..., Any], *inputs: Array, count: int) -> list[str]:
    """The function has so many clusters of rows, and gives the same bits in every way of running."""
    text = text_of(function, *inputs)
    found = clusters_of(text)
    assert len(found) == count, found
    run_every_way(text, *inputs)
    return found


def normalised(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def test_one_cluster_holds_a_normalisation_and_what_follows() -> None:
    (names,) = check(lambda x, s: jnp.maximum(normalised(x) * s, 0), X, X[0], count=1)
    assert names.count("reduce") == 2
    assert names.endswith("more")


def test_what_goes_through_other_operations_comes_in_another_cluster() -> None:
    def function(x: Any, w: Any) -> Any:
        y = normalised(x)
        return normalised(y @ w + y)

    check(function, X, np.eye(40, dtype=np.float32), count=2)


def test_a_row_that_comes_back_by_way_of_other_operations() -> None:
    def function(x: Any) -> Any:
        totals = (x * x).sum(1)
        return x * jnp.sort(totals)[:, None] + (x + 1).sum(1, keepdims=True)

    check(function, np.resize(X, (128, 96)), count=2)


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


def test_a_text_cannot_name_clusters() -> None:
    text = """
      func.func @main(%x: tensor<f32>) -> tensor<f32> {
        %y = "nimblehlo.row_cluster"(%x) ({
        ^bb0(%a: tensor<f32>):
          stablehlo.return %a : tensor<f32>
        }) : (tensor<f32>) -> tensor<f32>
        return %y : tensor<f32>
      }"""
    with pytest.raises(nimblehlo.UnsupportedError, match="row_cluster"):
        nimblehlo.load(text)
