"""Attention as one step, of a product, a fusion of its rows and a product: when, and the same bits."""

from __future__ import annotations

import itertools
import tracemalloc
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.kernels.matmul import matmul
from nimblehlo.types import Array
from tests.support.running import same_bits

pytestmark = pytest.mark.skipif(not matmul.is_available(), reason="no fused multiply-add here")

JOINED = "between two products"
HEADS, ROWS, COLUMNS, FEATURES = (2, 3), 127, 400, 24
"""More than a MB of scores; the last block of rows has fewer rows than the others."""


def numbers(*shape: int, seed: int = 0, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def heads(rows: int = ROWS, columns: int = COLUMNS, batch: tuple[int, ...] = HEADS) -> list[Array]:
    """Queries, keys and values, with special values in some rows."""
    shapes = (*batch, rows, FEATURES), (*batch, columns, FEATURES), (*batch, columns, FEATURES + 9)
    query, key, value = (numbers(*shape, seed=seed) for seed, shape in enumerate(shapes))
    query[..., 0, 0], query[..., -1, -1], query[..., 1, 1] = np.nan, np.inf, -0.0
    value[..., -1, 2] = -np.inf
    return [query, key, value]


def softmax_weighted(query: Any, key: Any, value: Any, *masks: Any) -> Any:
    scores = jnp.einsum("...qd,...kd->...qk", query, key) * 0.125
    for mask in masks:
        scores = jnp.where(mask, scores, -1e9) if mask.dtype == bool else scores + mask
    return jnp.einsum("...qk,...kd->...qd", jax.nn.softmax(scores, -1), value)


def text_of(function: Any, inputs: list[Array]) -> str:
    return str(jax.jit(function, keep_unused=True).lower(*inputs).as_text())


def assert_same_bits(function: Any, inputs: list[Array], joined: bool = True) -> None:
    """The same bits as references give, on every number of threads, whether or not it is one step."""
    text = text_of(function, inputs)
    expected = nimblehlo.execute(text, inputs, options=Options(compile="never"))
    for threads in (1, 2, 5):
        executable = nimblehlo.compile(text, options=Options(compile="eager", threads=threads))
        assert (JOINED in executable.explain("plan")) == joined
        kept = [array.copy() for array in inputs]
        for _ in range(2):
            assert all(map(same_bits, executable(*inputs), expected))
        assert all(map(same_bits, inputs, kept))


@pytest.mark.parametrize("columns", [256, COLUMNS, 517])
@pytest.mark.parametrize("rows", [2, 24, ROWS, 600])
def test_any_number_of_rows_and_columns(rows: int, columns: int) -> None:
    batch = (-(-(1 << 18) // (rows * columns)),)
    assert_same_bits(softmax_weighted, heads(rows, columns, batch))


def test_blocks_of_long_rows() -> None:
    assert_same_bits(softmax_weighted, heads(61, 3000, (2,)))


def test_three_steps_take_one_array_of_scores() -> None:
    """Until the rows have native code, the weights overwrite the scores."""
    rows, columns = 700, 1500
    inputs = heads(rows, columns, (3,))
    text = text_of(softmax_weighted, inputs)
    executable = nimblehlo.compile(text, options=Options(threads=1))
    assert JOINED in executable.explain("plan")
    tracemalloc.start()
    try:
        (result,) = executable(*inputs)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 1.0 < peak / (3 * rows * columns * 4) < 1.9
    (expected,) = nimblehlo.execute(text, inputs, options=Options(compile="never"))
    assert same_bits(result, expected)


@pytest.mark.parametrize("operands", [20, 21])
def test_rows_of_many_operands(operands: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul, "MAX_ATTENTION_OPERANDS", 20)
    biases = [numbers(COLUMNS, seed=seed) for seed in range(1, operands)]
    assert_same_bits(softmax_weighted, [*heads(), *biases], joined=operands == 20)


def test_masks_and_biases_are_read_where_they_are() -> None:
    causal = np.tril(np.ones((ROWS, COLUMNS), bool))
    padding = numbers(HEADS[0], 1, 1, COLUMNS) > -1
    bias = numbers(HEADS[1], ROWS, COLUMNS, seed=4)
    assert_same_bits(softmax_weighted, [*heads(), causal, padding, bias])


def test_an_operand_of_rows_may_be_strided() -> None:
    def weighted(query: Any, key: Any, value: Any, bias: Any) -> Any:
        return softmax_weighted(query, key, value, bias.swapaxes(0, 1))

    bias = numbers(HEADS[1], ROWS, COLUMNS).swapaxes(0, 1)
    assert_same_bits(weighted, [*heads(), bias])


def test_heads_may_follow_rows() -> None:
    def weighted(query: Any, key: Any, value: Any) -> Any:
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key)
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), value)

    assert_same_bits(weighted, [array.swapaxes(1, 2).copy() for array in heads()])


def test_heads_may_share_keys() -> None:
    def weighted(query: Any, key: Any, value: Any) -> Any:
        scores = jnp.einsum("bghqd,bgkd->bghqk", query, key)
        return jnp.einsum("bghqk,bgkd->bghqd", jax.nn.softmax(scores, -1), value)

    query, key, value = heads()
    assert_same_bits(weighted, [np.stack([query, -query], 2), key, value])


@pytest.mark.parametrize("is_right", [False, True])
def test_rows_of_f64_on_either_side(is_right: bool) -> None:
    def normalized(query: Any, key: Any, value: Any) -> Any:
        scores = jnp.maximum(query @ key.swapaxes(-1, -2), 0)
        weights = scores / (1 + scores.sum(-1, keepdims=True))
        if is_right:
            return jnp.einsum("...kd,...qk->...dq", value, weights)
        return weights @ value

    with jax.enable_x64(True):
        assert_same_bits(normalized, [array.astype(np.float64) for array in heads()])


def test_a_matrix_without_batch() -> None:
    assert_same_bits(softmax_weighted, heads(600, 512, ()))


def test_native_code_replaces_three_calls() -> None:
    inputs = heads()
    text = text_of(softmax_weighted, inputs)
    expected = nimblehlo.execute(text, inputs, options=Options(compile="never"))
    executable = nimblehlo.compile(text)
    assert JOINED in executable.explain("plan")
    for _ in range(60):
        assert same_bits(executable(*inputs)[0], expected[0])


def test_scores_and_weights_are_never_whole_in_memory() -> None:
    inputs = heads()
    options = Options(compile="eager")
    executable = nimblehlo.compile(text_of(softmax_weighted, inputs), options=options)
    used = executable.memory().temporaries
    assert used < np.prod(HEADS) * ROWS * COLUMNS * 4


def weights_are_returned(query: Any, key: Any, value: Any) -> Any:
    weights = jax.nn.softmax(query @ key.swapaxes(-1, -2), -1)
    return weights @ value, weights


def weights_are_used_twice(query: Any, key: Any, value: Any) -> Any:
    weights = jax.nn.softmax(query @ key.swapaxes(-1, -2), -1)
    return jnp.concatenate([weights @ value, weights @ key], -1)


def scores_are_returned(query: Any, key: Any, value: Any) -> Any:
    scores = query @ key.swapaxes(-1, -2)
    return scores, jax.nn.softmax(scores, -1) @ value


def weights_are_transposed(query: Any, key: Any, value: Any) -> Any:
    weights = jax.nn.softmax(query @ key.swapaxes(-1, -2), -1)
    return jnp.einsum("...qk,...qd->...kd", weights, query)


def columns_are_reduced(query: Any, key: Any, value: Any) -> Any:
    return jax.nn.softmax(query @ key.swapaxes(-1, -2), -2) @ value


def query_is_key(query: Any, key: Any, value: Any) -> Any:
    return jax.nn.softmax(jnp.einsum("...qd,...kd->...qk", key, key), -1) @ value


@pytest.mark.parametrize(
    "function",
    [
        weights_are_returned,
        weights_are_used_twice,
        scores_are_returned,
        weights_are_transposed,
        columns_are_reduced,
    ],
)
def test_other_uses_are_steps_of_their_own(function: Any) -> None:
    assert_same_bits(function, heads(400, 400, (2,)), joined=False)


def test_a_matrix_by_its_own_transpose_is_a_step_of_its_own() -> None:
    assert_same_bits(query_is_key, heads(), joined=False)


@pytest.mark.parametrize(("rows", "columns"), [*itertools.product((4, 64), (40, 64, 80))])
def test_small_scores_are_steps_of_their_own(rows: int, columns: int) -> None:
    assert_same_bits(softmax_weighted, heads(rows, columns), joined=False)


def test_gradients_keep_their_weights() -> None:
    def loss(query: Any, key: Any, value: Any) -> Any:
        return jax.grad(lambda *operands: softmax_weighted(*operands).sum(), (0, 1, 2))(query, key, value)

    assert_same_bits(loss, heads(), joined=False)
