"""Selections between an array and its update: an update that may change nothing, with the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.compiler.specialize.simplified import assert_same_bits, left, simplified

jax = pytest.importorskip("jax")
jnp = jax.numpy

RANDOM = np.random.default_rng(0)
X, GO = RANDOM.standard_normal((5, 9, 3)).astype(np.float32), np.array([1, 0, 0, 1, 1], bool)
AT, NEW = np.array([0, 8, -1, 3, 20], np.int32), RANDOM.standard_normal((5, 3)).astype(np.float32)


def batched(function: Callable[..., Any]) -> Callable[..., Any]:
    """The selection that JAX makes of a batch of loops, of which some have ended."""

    def select(go: Any, x: Any, at: Any, new: Any) -> Any:
        return jnp.where(go, function(x, at, new), x)

    return jax.vmap(select)


UPDATES: dict[str, Callable[..., Any]] = {
    "set": batched(lambda x, at, new: x.at[at].set(new)),
    "add": batched(lambda x, at, new: x.at[at].add(new)),
    "several": batched(lambda x, at, new: x.at[jnp.stack([at, at + 1, at])].add(new)),
    "two components": batched(lambda x, at, new: x.at[at, at - 1].set(new[0])),
    "a window": batched(lambda x, at, new: jax.lax.dynamic_update_slice(x, new[None], (at, 0))),
    "the other branch": jax.vmap(lambda go, x, at, new: jnp.where(go, x, x.at[at].max(new))),
    "one predicate": lambda go, x, at, new: jnp.where(go[1], x.at[at].set(2.0), x),
}
KEPT: dict[str, Callable[..., Any]] = {
    "another array": jax.vmap(lambda go, x, at, new: jnp.where(go, x.at[at].set(new), x + 1)),
    "a predicate of elements": jax.vmap(lambda go, x, at, new: jnp.where(x > 0, x.at[at].set(new), x)),
    "a predicate along a window": lambda go, x, at, new: jnp.where(
        go[:, None, None], x.at[:, at].set(2.0), x
    ),
}


def text_of(function: Callable[..., Any]) -> str:
    return str(jax.jit(function, keep_unused=True).lower(GO, X, AT, NEW).as_text())


def selects(function: Callable[..., Any]) -> list[tuple[int, ...]]:
    """The shapes of what a specialized program selects."""
    body = simplified(text_of(function)).body
    assert body is not None
    return [one.result.type.shape for one in body.walk() if one.name == "stablehlo.select"]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", UPDATES)
def test_updates_that_are_selected_are_masked(name: str) -> None:
    text = text_of(UPDATES[name])
    assert X.shape not in selects(UPDATES[name])
    assert "scatter" in left(simplified(text))
    for mask in (GO, ~GO, np.zeros(5, bool), np.ones(5, bool)):
        assert_same_bits(text, mask, X, AT, NEW)


@pytest.mark.parametrize("name", KEPT)
def test_other_selections_stay(name: str) -> None:
    assert X.shape in selects(KEPT[name])
    assert_same_bits(text_of(KEPT[name]), GO, X, AT, NEW)


def test_an_index_type_that_holds_no_index_beyond() -> None:
    x, at = np.zeros((2, 300), np.float32), np.array([[7], [-9]], np.int8)

    def function(go: Any, x: Any, at: Any) -> Any:
        numbers = jax.lax.ScatterDimensionNumbers((), (1,), (1,), (0,), (0,))
        updated = jax.lax.scatter_add(x, at, jnp.ones(2), numbers, mode="promise_in_bounds")
        return jnp.where(go[:, None], updated, x)

    go = np.array([True, False])
    text = str(jax.jit(function).lower(go, x, at).as_text())
    assert_same_bits(text, go, x, at)
    body = simplified(text).body
    assert body is not None and "stablehlo.select" in {one.name for one in body.walk()}


@pytest.mark.parametrize("element_type", ["i2", "ui2", "i4", "ui4"])
def test_indices_narrower_than_a_byte(element_type: str) -> None:
    overwrite = "^bb0(%x: tensor<f32>, %y: tensor<f32>): stablehlo.return %y : tensor<f32>"
    text = f"""func.func @main(%go: tensor<i1>, %a: tensor<3xf32>, %i: tensor<i32>) -> tensor<3xf32> {{
      %at = stablehlo.convert %i : (tensor<i32>) -> tensor<{element_type}>
      %index = stablehlo.reshape %at : (tensor<{element_type}>) -> tensor<1x{element_type}>
      %new = stablehlo.constant dense<7.0> : tensor<f32>
      %updated = "stablehlo.scatter"(%a, %index, %new) ({{ {overwrite} }}) {{
        scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
          scatter_dims_to_operand_dims = [0], index_vector_dim = 0>
      }} : (tensor<3xf32>, tensor<1x{element_type}>, tensor<f32>) -> tensor<3xf32>
      %chosen = stablehlo.select %go, %updated, %a : tensor<i1>, tensor<3xf32>
      return %chosen : tensor<3xf32>
    }}"""
    a = np.arange(3, dtype=np.float32)
    for go in (True, False):
        assert_same_bits(text, np.array(go), a, np.int32(1))
    body = simplified(text).body
    assert body is not None
    selected = [str(one.result.type.element_type) for one in body.walk() if one.name == "stablehlo.select"]  # type: ignore[union-attr]
    # The largest i2 is 1, which lies within the array.
    assert selected == (["f32"] if element_type == "i2" else [element_type])


@pytest.mark.parametrize("go", [True, False])
def test_slices_of_one_predicate(go: bool) -> None:
    def function(go: Any, x: Any, at: Any, new: Any) -> Any:
        return jnp.where(go, jax.lax.dynamic_update_slice(x, new, (at, 0)), x)

    x, new = X[0], NEW[:2]
    text = str(jax.jit(function).lower(go, x, np.int32(4), new).as_text())
    assert_same_bits(text, np.array(go), x, np.int32(30), new)
    body = simplified(text).body
    assert body is not None
    selected = {one.result.type.shape for one in body.walk() if one.name == "stablehlo.select"}  # type: ignore[union-attr]
    assert new.shape in selected and x.shape not in selected
