"""Gathers of few elements come before what is computed: what is left, and that no bit changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from nimblehlo.types import TensorType
from tests.compiler.specialize.simplified import assert_same_bits, simplified
from tests.support.running import run_every_way

Shape = tuple[int, ...]


def check(function: Callable[..., Any], *inputs: Any, of: list[Shape]) -> None:
    """A function's gathers take elements of operands of these shapes, and no bit is changed by that."""
    arguments = [np.asarray(value) for value in inputs]
    text = jax.jit(function).lower(*arguments).as_text()
    made = simplified(text)
    assert made.body is not None
    gathers = [operation for operation in made.body.walk() if operation.name == "stablehlo.gather"]
    types = [operation.operands[0].type for operation in gathers]
    assert sorted(type.shape for type in types if isinstance(type, TensorType)) == of
    assert_same_bits(text, *arguments)
    run_every_way(text, *arguments)


def numbers(*shape: int) -> Any:
    return (np.random.default_rng(0).standard_normal(shape) * 3).astype(np.float32)


def indices(most: int, *shape: int) -> Any:
    """Indices some of which lie outside."""
    return np.random.default_rng(1).integers(-most - 3, most + 3, shape).astype(np.int32)


def test_one_element_of_each_row() -> None:
    def loss(x: Any, y: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1).mean()

    check(loss, numbers(400, 100), indices(100, 400), of=[(400, 100)])


def test_rows_by_indices_that_count() -> None:
    def loss(x: Any, y: Any) -> Any:
        return jax.nn.log_softmax(x)[jnp.arange(400), y]

    check(loss, numbers(400, 100), indices(100, 400), of=[(400,), (400,), (400, 100)])


def test_rows_of_what_is_scaled() -> None:
    def function(x: Any, rows: Any, columns: Any, n: Any) -> Any:
        return (jnp.exp(x) * rows[:, None] + columns - 2)[n]

    operands = (numbers(500, 80), numbers(500), numbers(80))
    check(function, *operands, indices(500, 7, 3), of=[(500,), (500, 80)])


def test_windows() -> None:
    def cut(x: Any, b: Any, n: Any) -> Any:
        numbers = jax.lax.GatherDimensionNumbers((1, 2), (1,), (0, 2))
        return jax.lax.gather(x + b[:, None], n, numbers, (3, 1, 5), mode="clip")

    def first(x: Any, b: Any, n: Any) -> Any:
        numbers = jax.lax.GatherDimensionNumbers((0, 2, 3), (), (0, 2))
        return jax.lax.gather(x * b[:, None], n, numbers, (3, 7, 5), mode="clip")

    def aside(x: Any, b: Any, n: Any) -> Any:
        numbers = jax.lax.GatherDimensionNumbers((0,), (0,), (0,))
        return jax.lax.gather(x + b[:, None], n, numbers, (1, 70), mode="clip")

    check(aside, numbers(500, 80), numbers(500), indices(500, 6, 1), of=[(500,), (500, 80)])
    check(cut, numbers(40, 30, 50), numbers(30), indices(40, 6, 2), of=[(40, 30, 50)])
    check(first, numbers(40, 30, 50), numbers(30), indices(40, 6, 2), of=[(40, 30, 50)])


def test_batches() -> None:
    def function(x: Any, rows: Any, columns: Any, n: Any) -> Any:
        return jax.vmap(lambda x, a, b, n: (x * a[:, None] - b)[n], (0, 0, 0, 1))(x, rows, columns, n)

    operands = (numbers(5, 60, 120), numbers(5, 60), numbers(5, 120))
    check(function, *operands, indices(60, 4, 5), of=[(5, 60), (5, 60, 120)])


def test_types_are_converted_later() -> None:
    check(
        lambda x, n: x.astype(jnp.int32)[n], np.arange(60_000).astype(np.uint16).reshape(600, 100),
        indices(600, 50), of=[(600, 100)],
    )  # fmt: skip


def test_choices_between_constants() -> None:
    def function(x: Any, n: Any) -> Any:
        return jnp.where(x > 0, jnp.clip(x, -1, 2), -7.0)[n]

    check(function, numbers(600, 100), indices(600, 50), of=[(600, 100)])


def test_one_after_the_other() -> None:
    def function(x: Any, n: Any, k: Any) -> Any:
        y = (jnp.tanh(x) * 2)[n] + 1
        return jnp.exp(y)[k], (y * y)[k]

    check(function, numbers(4000, 100), indices(4000, 900), indices(900, 50), of=[(900, 100), (4000, 100)])


def test_what_stays() -> None:
    x, n = numbers(600, 100), indices(600, 50)
    check(lambda x, n: (lambda y: (y[n], y))(x * 2), x, n, of=[(600, 100)])
    check(lambda x, n: (x * 2)[n], x, indices(600, 590), of=[(600, 100)])
    check(lambda x, n: (x[:60] * 2)[n], x, indices(60, 5), of=[(60, 100)])
    check(lambda x, n: (x.T * 2)[n], x, indices(100, 5), of=[(100, 600)])


def test_what_is_computed_outside_of_a_region_stays_whole() -> None:
    text = """
      func.func @main(%x: tensor<600x100xf32>, %n: tensor<9x1xi32>, %is: tensor<i1>) -> tensor<9x100xf32> {
        %y = stablehlo.multiply %x, %x : tensor<600x100xf32>
        %z = "stablehlo.if"(%is) ({
          %a = "stablehlo.gather"(%y, %n) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
            collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
            slice_sizes = array<i64: 1, 100>}> : (tensor<600x100xf32>, tensor<9x1xi32>) -> tensor<9x100xf32>
          stablehlo.return %a : tensor<9x100xf32>
        }, {
          %b = stablehlo.constant dense<0.0> : tensor<9x100xf32>
          stablehlo.return %b : tensor<9x100xf32>
        }) : (tensor<i1>) -> tensor<9x100xf32>
        return %z : tensor<9x100xf32>
      }"""
    made = simplified(text)
    assert made.body is not None
    (product,) = [one for one in made.body.walk() if one.name == "stablehlo.multiply"]
    assert str(product.result.type) == "tensor<600x100xf32>"
    assert_same_bits(text, numbers(600, 100), indices(600, 9, 1), np.True_)
