"""Functions in JAX that are large enough for the passes which change none of the models."""

from __future__ import annotations

from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from tests.models.model import Model, integers, normal


def _program(function: Any, *arguments: Any) -> Model:
    return Model(function, arguments, 0.0, False, (), False, (), None)


def loss_of_labels(scores: jax.Array, labels: jax.Array) -> jax.Array:
    """A loss reads one element of each row of a log-softmax."""
    return -jnp.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], axis=1).mean()


def values_of_actions(features: jax.Array, actions: jax.Array) -> jax.Array:
    """Values of chosen actions."""
    return jnp.take_along_axis(jnp.tanh(features) * 2.0 + features, actions[:, None], axis=1)


def deep_perceptron(x: jax.Array, weights: list[jax.Array]) -> jax.Array:
    """Many equal layers."""
    for weight in weights:
        y = jnp.tanh(x @ weight)
        x = (y - y.mean(-1, keepdims=True)) / jnp.sqrt(y.var(-1, keepdims=True) + 1e-5) + x
    return x


def deep_residuals(x: jax.Array, weights: list[jax.Array]) -> jax.Array:
    """Many equal blocks with gates."""
    for weight in weights:
        y = x @ weight
        gate = jax.nn.sigmoid(y - y.max(-1, keepdims=True))
        x = x + gate * jnp.sin(y) - jnp.abs(gate - 0.5).min(-1, keepdims=True)
    return x


def sums_of_channels(x: jax.Array) -> jax.Array:
    """Sums of a transpose."""
    return jnp.transpose(x, (0, 3, 1, 2)).sum((0, 2, 3))


def maxima_of_columns(x: jax.Array) -> jax.Array:
    """Maxima of the columns, by the rows of a transpose."""
    return x.T.max(1)


def transposed_weights(x: jax.Array) -> jax.Array:
    """A layer with a constant whose rows are features of the result."""
    return jnp.tanh(x @ jnp.asarray(np.random.default_rng(0).standard_normal((130, 160), np.float32)).T)


def rows_by_transposed_weights(x: jax.Array) -> jax.Array:
    """Products with another layout, and elementwise work behind them."""
    weights = np.random.default_rng(1).standard_normal((3, 80, 90), np.float32)
    return jnp.maximum(jnp.einsum("bi,koi->bko", x, jnp.asarray(weights).transpose(0, 2, 1)), 0.0)


def histogram_of_pairs(x: jax.Array, y: jax.Array) -> jax.Array:
    """Counts of pairs of computed indices."""
    i, j = jnp.clip((x * 4 + 16).astype(jnp.int32), 0, 31), jnp.clip((y * 4 + 16).astype(jnp.int32), 0, 31)
    return jnp.zeros((32, 32), jnp.float32).at[i, j].add(1.0)


def maxima_of_cells(x: jax.Array, y: jax.Array) -> jax.Array:
    """The largest value of each cell."""
    cell = jnp.abs(x * 8).astype(jnp.int32) % 20, jnp.abs(y * 8).astype(jnp.int32) % 20
    return jnp.full((20, 20), -jnp.inf).at[cell].max(x + y)


def means_of_groups(x: jax.Array) -> jax.Array:
    """Means of groups of features, as of a group normalization."""
    return x.reshape(2, 64, 16, 4).mean((1, 3))


def variances_of_groups(x: jax.Array) -> jax.Array:
    """Variances of groups of features."""
    return x.reshape(2, 64, 32, 2).var((1, 3))


def statistics_of_columns(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Mean and variance along the first dimension."""
    return x.mean(0), jnp.square(x - x.mean(0)).mean(0)


def norm_of_differences(x: jax.Array, y: jax.Array) -> jax.Array:
    """A reduction of everything."""
    return jnp.sqrt(jnp.square(jnp.exp(x) - y).sum())


def _gradient(activation: Any) -> Any:
    def loss(first: jax.Array, second: jax.Array, x: jax.Array) -> jax.Array:
        return jnp.square(activation(x @ first) @ second).sum()

    return jax.grad(loss)


def gradient_of_gelu(first: jax.Array, second: jax.Array, x: jax.Array) -> jax.Array:
    """A backward pass uses values that follow from those of the forward pass."""
    gradient: jax.Array = _gradient(jax.nn.gelu)(first, second, x)
    return gradient


def gradient_of_polynomial(first: jax.Array, second: jax.Array, x: jax.Array) -> jax.Array:
    """The same with products alone."""
    gradient: jax.Array = _gradient(lambda y: y * y * y + 3 * y * y)(first, second, x)
    return gradient


def sums_after_products(x: jax.Array, weight: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Sums of the squares of products that all are computed before."""
    first = x @ weight
    last = weight @ (weight @ x)
    total = jnp.square(last).sum(0)
    return jnp.square(first).sum(0), total


def maxima_after_products(x: jax.Array, weight: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The same with maxima."""
    first = weight @ x
    last = (x @ weight) @ weight
    greatest = jnp.abs(last).max(0)
    return jnp.abs(first).max(0), greatest


def dense_layer(x: jax.Array, weight: jax.Array, bias: jax.Array) -> jax.Array:
    """A product, a bias and a maximum."""
    return jax.nn.relu(x @ weight + bias)


def distances(x: jax.Array, y: jax.Array) -> jax.Array:
    """Distances by a product."""
    return jnp.square(x).sum(1)[:, None] - 2.0 * (x @ y.T) + jnp.square(y).sum(1)


def attention(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    """A softmax between two products."""
    return jax.nn.softmax(query @ key.swapaxes(-1, -2) / 8.0) @ value


def causal(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    """The same with a mask."""
    scores = query @ key.swapaxes(-1, -2) * 0.125
    mask = np.tril(np.ones(scores.shape[-2:], bool))
    return jax.nn.softmax(jnp.where(mask, scores, -jnp.inf)) @ value


_HEADS = tuple(normal(6, 256, 64, seed=seed) for seed in range(3))
_LAYERS = [normal(128, 128, seed=k, scale=0.1) for k in range(20)]
_GRADIENT = normal(16, 512), normal(512, 32, seed=1), normal(128, 16, seed=2)

PROGRAMS: Final = {
    program.function.__name__: program
    for program in (
        _program(loss_of_labels, normal(256, 1000), integers(256, high=1000)),
        _program(values_of_actions, normal(2048, 40), integers(2048, high=40)),
        _program(deep_perceptron, normal(64, 128), _LAYERS),
        _program(deep_residuals, normal(64, 128), _LAYERS),
        _program(sums_of_channels, normal(4, 32, 32, 16)),
        _program(maxima_of_columns, normal(512, 300)),
        _program(transposed_weights, normal(20, 160)),
        _program(rows_by_transposed_weights, normal(40, 80)),
        _program(histogram_of_pairs, normal(20000), normal(20000, seed=1)),
        _program(maxima_of_cells, normal(20000), normal(20000, seed=1)),
        _program(means_of_groups, normal(2, 64, 64)),
        _program(variances_of_groups, normal(2, 64, 64)),
        _program(statistics_of_columns, normal(3000, 50)),
        _program(norm_of_differences, normal(300, 400), normal(300, 400, seed=1)),
        _program(gradient_of_gelu, *_GRADIENT),
        _program(gradient_of_polynomial, *_GRADIENT),
        _program(sums_after_products, normal(300, 300), normal(300, 300, seed=1)),
        _program(maxima_after_products, normal(300, 300), normal(300, 300, seed=1)),
        _program(dense_layer, normal(512, 256), normal(256, 512, seed=1), normal(512, seed=2)),
        _program(distances, normal(700, 256), normal(600, 256, seed=1)),
        _program(attention, *_HEADS),
        _program(causal, *_HEADS),
    )
}
"""The programs by name."""
