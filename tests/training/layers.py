"""Layers of small models in JAX, each a list of parameters and a function of them and an array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Array = np.ndarray[Any, Any]


class RepeatedSubgraph(NamedTuple):
    """A layer.

    Attributes:
        parameters: arrays of f32.
        apply: from the parameters and an array to an array; what it returns is about as large as what it
            takes.
    """

    parameters: Sequence[Array]
    apply: Callable[..., Any]


def weights(rng: np.random.Generator, *shape: int) -> Array:
    """Random weights that keep the size of what they multiply; the last dimension but one is contracted."""
    scale = np.sqrt(np.prod(shape[:-1], initial=1))
    return (rng.standard_normal(shape) / scale).astype(np.float32)


def vector(rng: np.random.Generator, size: int, around: float = 0.0) -> Array:
    """Random values near a number."""
    return (around + 0.1 * rng.standard_normal(size)).astype(np.float32)


def dense(rng: np.random.Generator, size: int, activation: Callable[..., Any] = jnp.tanh) -> RepeatedSubgraph:
    """A product with a matrix, a bias, and an activation: two parameters."""

    def apply(w: Any, b: Any, x: Any) -> Any:
        return activation(x @ w + b)

    return RepeatedSubgraph([weights(rng, size, size), vector(rng, size)], apply)


def normalization(rng: np.random.Generator, size: int) -> RepeatedSubgraph:
    """A layer normalization: two parameters."""

    def apply(scale: Any, bias: Any, x: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        variance = jnp.square(x - mean).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + bias

    return RepeatedSubgraph([vector(rng, size, 1.0), vector(rng, size)], apply)


def attention(rng: np.random.Generator, size: int, heads: int) -> RepeatedSubgraph:
    """Attention of several heads, with a residual: eight parameters."""

    def apply(wq: Any, bq: Any, wk: Any, bk: Any, wv: Any, bv: Any, wo: Any, bo: Any, x: Any) -> Any:
        batch, length, _ = x.shape

        def split(y: Any) -> Any:
            return y.reshape(batch, length, heads, size // heads).transpose(0, 2, 1, 3)

        q, k, v = split(x @ wq + bq), split(x @ wk + bk), split(x @ wv + bv)
        scores = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) / np.float32(np.sqrt(size // heads)), axis=-1)
        joined = (scores @ v).transpose(0, 2, 1, 3).reshape(batch, length, size)
        return 0.7 * (x + joined @ wo + bo)

    parameters = [one for _ in range(4) for one in (weights(rng, size, size), vector(rng, size))]
    return RepeatedSubgraph(parameters, apply)


def mlp(rng: np.random.Generator, size: int, hidden: int) -> RepeatedSubgraph:
    """Two products with an activation between them, and a residual: four parameters."""

    def apply(w: Any, b: Any, v: Any, c: Any, x: Any) -> Any:
        return 0.7 * (x + jax.nn.gelu(x @ w + b) @ v + c)

    return RepeatedSubgraph(
        [weights(rng, size, hidden), vector(rng, hidden), weights(rng, hidden, size), vector(rng, size)],
        apply,
    )


def mixing(rng: np.random.Generator, length: int, hidden: int) -> RepeatedSubgraph:
    """Two products along the second dimension but one, and a residual, for each of a batch alone: four
    parameters."""

    def mixed(w: Any, b: Any, v: Any, c: Any, x: Any) -> Any:
        y = x.T
        return 0.7 * (x + (v @ jax.nn.gelu(w @ x + b[:, None]) + c[:, None]) + 0.1 * jnp.tanh(y).T)

    def apply(w: Any, b: Any, v: Any, c: Any, x: Any) -> Any:
        one_by_one = jax.vmap(mixed, in_axes=(None, None, None, None, 0))
        return one_by_one(w, b, v, c, x)

    parameters = [weights(rng, length, hidden).T, vector(rng, hidden)]
    parameters += [weights(rng, hidden, length).T, vector(rng, length)]
    return RepeatedSubgraph([np.ascontiguousarray(one) for one in parameters], apply)


def whole_normalization(rng: np.random.Generator, length: int, size: int) -> RepeatedSubgraph:
    """A normalization of the last two dimensions together: two parameters."""

    def apply(scale: Any, bias: Any, x: Any) -> Any:
        mean = x.mean((-2, -1), keepdims=True)
        variance = jnp.square(x - mean).mean((-2, -1), keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + bias

    return RepeatedSubgraph(
        [1 + 0.1 * weights(rng, 1, length, size)[0], 0.1 * weights(rng, 1, length, size)[0]], apply
    )


def convolution(rng: np.random.Generator, channels: int, stride: int = 1) -> RepeatedSubgraph:
    """A convolution of [batch, height, width, channel], a scale and a bias for each channel: three
    parameters."""

    def apply(w: Any, scale: Any, bias: Any, x: Any) -> Any:
        y = jax.lax.conv_general_dilated(
            x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return jax.nn.relu(y * scale + bias) + 0.1 * y

    return RepeatedSubgraph(
        [weights(rng, 3, 3, channels, channels), vector(rng, channels, 1.0), vector(rng, channels)], apply
    )


def recurrence(rng: np.random.Generator, size: int) -> RepeatedSubgraph:
    """A recurrent network along the second dimension, as a loop: three parameters."""

    def apply(w: Any, u: Any, b: Any, x: Any) -> Any:
        def step(state: Any, row: Any) -> tuple[Any, Any]:
            state = jnp.tanh(state @ w + row @ u + b)
            return state, state

        _, rows = jax.lax.scan(step, jnp.zeros_like(x[:, 0]), x.transpose(1, 0, 2))
        return rows.transpose(1, 0, 2)

    return RepeatedSubgraph([weights(rng, size, size), weights(rng, size, size), vector(rng, size)], apply)


def embedding(rng: np.random.Generator, rows: int, size: int) -> RepeatedSubgraph:
    """Rows of a table, chosen by what an array holds: one parameter; its gradient is a scatter."""

    def apply(table: Any, x: Any) -> Any:
        index = jnp.abs(x[..., 0] * 97).astype(jnp.int32) % rows
        return 0.7 * (x + table[index])

    return RepeatedSubgraph([weights(rng, rows, size)], apply)


def gate(rng: np.random.Generator, size: int) -> RepeatedSubgraph:
    """A gate that depends on the greatest and the mean value of each row, and on their order: one
    parameter."""

    def apply(a: Any, x: Any) -> Any:
        y = x * jax.nn.sigmoid(a) + x.max(-1, keepdims=True) * 0.1
        return jnp.where(y > y.mean(-1, keepdims=True), y, 0.5 * jnp.cumsum(y, -1) / size)

    return RepeatedSubgraph([vector(rng, size)], apply)
