"""Gathers, and rewrites of gather and scatter, on what JAX writes and on what looks like it but is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from nimblehlo.compiler.specialize.framework.rewriter import Rewriter
from nimblehlo.compiler.specialize.rewrites.registry import split_scatter_indices
from nimblehlo.program.ir import Function, Operation
from nimblehlo.types import ELEMENT_TYPES
from tests.compiler.specialize.simplified import (
    assert_becomes,
    assert_same_bits,
    function,
    left,
    run,
    simplified,
)
from tests.support.running import same_bits

jax = pytest.importorskip("jax")
jnp = jax.numpy

RANDOM = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return RANDOM.standard_normal(shape).astype(np.float32)


def indices(*shape: int, type: str = "int32") -> np.ndarray[Any, Any]:
    """Indices within, below and above what they index."""
    return RANDOM.integers(-14, 14, shape).astype(type)


def windows(x: Any, starts: Any) -> Any:
    return jax.vmap(lambda start: jax.lax.dynamic_slice(x, (start[0], start[1]), (3, 4)))(starts)


X = floats(7, 9)
GATHERS: dict[str, tuple[Callable[..., Any], Sequence[Any]]] = {
    "elements": (lambda x, i, j: x[i, j], (X, indices(20), indices(20))),
    "elements by i8": (
        lambda x, i, j: x[i, j], (X, indices(20, type="int8"), indices(20, type="int8"))),
    "rows": (lambda x, i: x[i], (X, indices(20))),
    "rows of a column": (lambda x, i: x[i, 2], (X, indices(20))),
    "outer": (
        lambda x, i, j: x[i[:, None], j[None, :]],
        (X, indices(6), indices(5))),
    "counted rows": (lambda x, j: x[jnp.arange(7), j], (X, indices(7))),
    "counted rows, more": (lambda x, j: x[jnp.arange(7)[:, None], j], (X, indices(7, 3))),
    "counted by an iota": (
        lambda x, j: x[jnp.arange(17000), j], (floats(17000, 3), indices(17000))),
    "counted, but too short": (
        lambda x, j: x[jnp.arange(6), j], (X, indices(6))),
    "batches": (jax.vmap(lambda x, i: x[i]), (floats(5, 9, 3), indices(5, 6))),
    "batches of batches": (
        jax.vmap(jax.vmap(lambda x, i: x[i])), (floats(5, 4, 9, 3), indices(5, 4, 6))),
    "windows": (
        windows, (floats(17, 19), indices(30, 2))),
    "take": (lambda x, i: jnp.take(x, i, axis=1), (floats(7, 9, 3), indices(4, 5))),
    "along 0": (lambda x, i: jnp.take_along_axis(x, i, 0), (X, indices(5, 9))),
    "along 1": (lambda x, i: jnp.take_along_axis(x, i, 1), (X, indices(7, 5))),
    "filled elements": (
        lambda x, i, j: x.at[i, j].get(mode="fill", fill_value=5.0), (X, indices(20), indices(20))),
    "filled rows": (lambda x, i: x.at[i].get(mode="fill", fill_value=5.0), (X, indices(20))),
    "filled bytes": (
        lambda x, i: x.at[i].get(mode="fill", fill_value=5), (X.astype(np.int8), indices(20))),
    "rows that are clamped": (
        lambda x, i: jnp.take(x, i, axis=1, mode="clip"), (floats(7, 9, 3), indices(4, 5))),
    "rows one after the other": (lambda x: x[jnp.arange(4)], (X,)),
    "columns one after the other": (lambda x: x[:, jnp.arange(4)], (X,)),
}  # fmt: skip


def by_components(text: str) -> Function:
    """The specialized function, its scatters by components of index vectors."""
    made = simplified(text)
    assert made.body is not None
    split_scatter_indices(made.body, lambda view: False)
    return made


def assert_bits_by_components(text: str, *inputs: Any) -> None:
    """A program gives the same bits with scatters by components of index vectors, and by all other ways."""
    (wanted,) = run(simplified(text, rewrite=False), inputs)
    (found,) = run(by_components(text), inputs)
    assert same_bits(found, wanted)
    assert_same_bits(text, *inputs)


SCATTERED = ["nimblehlo.component_scatter"]


def text_of(function: Callable[..., Any], arguments: Sequence[Any]) -> str:
    return str(jax.jit(function, keep_unused=True).lower(*arguments).as_text())


@pytest.mark.parametrize("case", GATHERS)
def test_gathers(case: str) -> None:
    function, arguments = GATHERS[case]
    assert_same_bits(text_of(function, arguments), *arguments)


def test_one_slice_is_taken_by_dynamic_slice() -> None:
    for indexing, arguments in (
        (lambda x, i: x[i], (X, np.int32(-3))),
        (lambda x, i, j: x[i, j], (X, np.int32(30), np.int32(4))),
    ):
        text = text_of(indexing, arguments)
        assert "gather" not in left(simplified(text))
        assert_same_bits(text, *arguments)


def gather(start: str, type: str, numbers: str, sizes: str, result: str, lines: str) -> str:
    return f"""{lines}
    %g = "stablehlo.gather"(%a, {start}) {{dimension_numbers = #stablehlo.gather<{numbers}>,
      slice_sizes = array<i64: {sizes}>}} : (tensor<7x9xf32>, tensor<{type}>) -> tensor<{result}xf32>"""


ROWS = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"
NORMALISED = """%z = stablehlo.constant dense<{zero}> : tensor<12x{type}>
%n = stablehlo.constant dense<{added}> : tensor<12x{type}>
%p = stablehlo.compare {direction}, %i, %z : (tensor<12x{type}>, tensor<12x{type}>) -> tensor<12xi1>
%k = stablehlo.add %i, %n : tensor<12x{type}>
%s = stablehlo.select %p, %k, %i : tensor<12xi1>, tensor<12x{type}>
%v = stablehlo.reshape %s : (tensor<12x{type}>) -> tensor<12x1x{type}>"""


@pytest.mark.parametrize(
    ("zero", "added", "direction", "type", "goes"),
    [
        (0, 7, "LT", "i32", True),
        (0, 3, "LT", "i64", True),
        (0, 100, "LT", "i8", True),
        (0, 7, "LE", "i32", False),
        (1, 7, "LT", "i32", False),
        (0, -7, "LT", "i32", False),
        (3, 7, "LT", "ui32", False),
    ],
)
def test_what_is_normalised(zero: int, added: int, direction: str, type: str, goes: bool) -> None:
    lines = NORMALISED.format(zero=zero, added=added, direction=direction, type=type)
    body = f"""{lines}
    %0 = "stablehlo.scatter"(%a, %v, %u) ({{
    ^bb0(%b: tensor<f32>, %c: tensor<f32>):
      %d = stablehlo.add %b, %c : tensor<f32>
      stablehlo.return %d : tensor<f32>
    }}) {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}
      : (tensor<7x9xf32>, tensor<12x1x{type}>, tensor<12x9xf32>) -> tensor<7x9xf32>
    return %0 : tensor<7x9xf32>"""
    arguments = f"%a: tensor<7x9xf32>, %i: tensor<12x{type}>, %u: tensor<12x9xf32>"
    text = function(arguments, "tensor<7x9xf32>", body)
    assert ("select" not in left(by_components(text))) == goes
    low = 0 if type.startswith("u") else -14
    for seed in range(3):
        chosen = np.random.default_rng(seed).integers(low, 14, 12).astype(ELEMENT_TYPES[type].dtype)
        assert_bits_by_components(text, X, chosen, floats(12, 9))


def mask(low: str, high: str, low_value: str, high_value: str, other: str = "%f") -> str:
    return f"""%low = stablehlo.constant dense<{low_value}> : tensor<12x1xi32>
    %high = stablehlo.constant dense<{high_value}> : tensor<12x1xi32>
    %f = stablehlo.constant dense<0x7FC00000> : tensor<12x9xf32>
    %l = stablehlo.compare {low}, %v, %low : (tensor<12x1xi32>, tensor<12x1xi32>) -> tensor<12x1xi1>
    %h = stablehlo.compare {high}, %v, %high : (tensor<12x1xi32>, tensor<12x1xi32>) -> tensor<12x1xi1>
    %b = stablehlo.and %l, %h : tensor<12x1xi1>
    %c = stablehlo.reshape %b : (tensor<12x1xi1>) -> tensor<12xi1>
    %m = stablehlo.broadcast_in_dim %c, dims = [0] : (tensor<12xi1>) -> tensor<12x9xi1>
    %r = stablehlo.select %m, %g, {other} : tensor<12x9xi1>, tensor<12x9xf32>
    return %r : tensor<12x9xf32>"""


@pytest.mark.parametrize(
    ("low", "high", "low_value", "high_value", "other"),
    [
        ("GE", "LE", "0", "6", "%f"),
        ("GE", "LE", "0", "7", "%f"),
        ("GE", "LE", "1", "6", "%f"),
        ("GT", "LE", "0", "6", "%f"),
        ("GE", "LT", "0", "6", "%f"),
        ("GE", "GE", "0", "0", "%f"),
        ("GE", "LE", "0", "6", "%g"),
    ],
)
def test_what_is_filled(low: str, high: str, low_value: str, high_value: str, other: str) -> None:
    lines = "%v = stablehlo.reshape %i : (tensor<12xi32>) -> tensor<12x1xi32>"
    body = gather("%v", "12x1xi32", ROWS, "1, 9", "12x9", lines)
    body += "\n" + mask(low, high, low_value, high_value, other)
    text = function("%a: tensor<7x9xf32>, %i: tensor<12xi32>", "tensor<12x9xf32>", body)
    assert_same_bits(text, X, indices(12))


SCATTERS: dict[str, tuple[Callable[..., Any], Sequence[Any], Sequence[str]]] = {
    "counted rows": (
        lambda x, j, u: x.at[jnp.arange(7), j].add(u), (X, indices(7), floats(7)), SCATTERED
    ),
    "counted rows, more": (
        lambda x, j, u: x.at[jnp.arange(7)[:, None], j].set(u), (X, indices(7, 3), floats(7, 3)), SCATTERED
    ),
    "counted by an iota": (
        lambda x, j, u: x.at[jnp.arange(17000), j].add(u),
        (floats(17000, 3), indices(17000), floats(17000)), SCATTERED,
    ),
    "elements": (
        lambda x, i, j, u: x.at[i, j].add(u), (X, indices(20), indices(20), floats(20)), SCATTERED
    ),
    "elements by i8": (
        lambda x, i, u: x.at[i].min(u), (floats(9), indices(20, type="int8"), floats(20)),
        ["convert", *SCATTERED],
    ),
    "elements of short floats": (
        lambda x, i, u: x.at[i].multiply(u.astype(x.dtype)),
        (X[0].astype(jnp.bfloat16), indices(20), floats(20)), ["convert", *SCATTERED],
    ),
    "complex elements": (
        lambda x, i, u: x.at[i].add(u), (X[0] * 1j, indices(20), floats(20) * 2j), SCATTERED
    ),
    "rows": (lambda x, i, u: x.at[i].max(u), (X, indices(20), floats(20, 9)), SCATTERED),
    "parts of rows": (
        lambda x, i, u: x.at[i, 2:5].add(u), (X, indices(20), floats(20, 3)), SCATTERED
    ),
    "columns": (lambda x, j, u: x.at[:, j].set(u), (X, indices(20), floats(7, 20)), SCATTERED),
    "outer": (
        lambda x, i, j, u: x.at[i[:, None], j[None, :]].add(u),
        (X, indices(6), indices(5), floats(6, 5)), ["broadcast_in_dim", "broadcast_in_dim", *SCATTERED],
    ),
    "batches": (
        jax.vmap(lambda x, i, u: x.at[i].add(u)), (floats(5, 9), indices(5, 6), floats(5, 6)), SCATTERED
    ),
    "batches of batches": (
        jax.vmap(jax.vmap(lambda x, i, u: x.at[i].add(u))),
        (floats(5, 4, 9, 3), indices(5, 4, 6), floats(5, 4, 6, 3)), SCATTERED,
    ),
    "bins": (lambda i: jnp.zeros(9, jnp.int32).at[i].add(1), (indices(50),), SCATTERED),
    "no known body": (
        lambda x, i, u: x.at[i].apply(jnp.sin), (X, indices(20), floats(20, 9)),
        ["compare", "add", "select", "scatter"],
    ),
    "one element": (lambda x, u: x.at[2, 3].set(u), (X, floats()), ["dynamic_update_slice"]),
    "one row": (lambda x, u: x.at[2].set(u), (X, floats(9)), ["dynamic_update_slice"]),
    "one window": (lambda x, u: x.at[2:4, 1:].set(u), (X, floats(2, 8)), ["dynamic_update_slice"]),
    "one sum": (lambda x, u: x.at[2].add(u), (X, floats(9)), ["scatter"]),
    "one sum at an index": (
        lambda x, i, u: x.at[i].add(u), (X, indices(), floats(9)),
        ["compare", "add", "select", "scatter"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SCATTERS)
def test_scatters(case: str) -> None:
    function, arguments, expected = SCATTERS[case]
    text = text_of(function, arguments)
    made = by_components(text)
    assert set(expected) <= set(left(made))
    if expected == SCATTERED:
        assert not {"compare", "select", "concatenate"} & set(left(made))
    assert_bits_by_components(text, *arguments)


def test_small_scatters_keep_index_vectors() -> None:
    function, arguments, _ = SCATTERS["elements"]
    made = simplified(text_of(function, arguments))
    assert made.body is not None
    split_scatter_indices(made.body, lambda view: True)
    assert "scatter" in left(made) and "nimblehlo.component_scatter" not in left(made)


def test_nothing_else_is_rewritten_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other operations of a simplified function are simplified, unless they read what has changed."""
    scattered, arguments, _ = SCATTERS["elements"]

    def of_sine(x: Any, *others: Any) -> Any:
        return jnp.tanh(scattered(jnp.sin(x), *others))

    made = simplified(text_of(of_sine, arguments))
    assert made.body is not None
    rewrite, names = Rewriter._simplified, list[str]()

    def noted(rewriter: Rewriter, operation: Operation) -> Any:
        names.append(operation.name)
        return rewrite(rewriter, operation)

    monkeypatch.setattr(Rewriter, "_simplified", noted)
    split_scatter_indices(made.body, lambda view: False)
    assert {"stablehlo.scatter", "stablehlo.tanh"} <= set(names) and "stablehlo.sine" not in names


def test_a_scatter_outside_of_the_operand_stays() -> None:
    body = """%i = stablehlo.constant dense<7> : tensor<1xi32>
    %0 = "stablehlo.scatter"(%a, %i, %u) ({
    ^bb0(%b: tensor<f32>, %c: tensor<f32>):
      stablehlo.return %c : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0]>} : (tensor<7x9xf32>, tensor<1xi32>, tensor<9xf32>)
      -> tensor<7x9xf32>
    return %0 : tensor<7x9xf32>"""
    assert_becomes(function("%a: tensor<7x9xf32>, %u: tensor<9xf32>", "tensor<7x9xf32>", body), ["scatter"])
