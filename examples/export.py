"""Export the example programs from JAX: text with the weights in it, inputs, and the results of XLA:CPU.

    python examples/export.py [NAME ...]

Needs the extra `jax`. Writes beside this file NAME.mlir, NAME.input0.npy, NAME.input1.npy, ... and
NAME.expected.npz, whose arrays are in the order of the program's results.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

FOLDER = Path(__file__).resolve().parent


class Example(NamedTuple):
    """A function whose weights are constants, and the arguments that it is called with."""

    function: Callable[..., Any]
    arguments: tuple[np.ndarray, ...]


def normal(generator: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Normally distributed float32 values."""
    return (scale * generator.standard_normal(shape)).astype(np.float32)


def layer_norm(x: jax.Array, gain: np.ndarray, bias: np.ndarray) -> jax.Array:
    """Normalise the last axis."""
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) * lax.rsqrt(x.var(axis=-1, keepdims=True) + 1e-5) * gain + bias


def transformer() -> Example:
    """A transformer block: causal attention with four heads, then a GELU layer, each with a residual."""
    generator = np.random.default_rng(1)
    width, heads, hidden = 48, 4, 128
    query, key, value, output = (normal(generator, width, width, scale=width**-0.5) for _ in range(4))
    expand = normal(generator, width, hidden, scale=width**-0.5)
    contract = normal(generator, hidden, width, scale=hidden**-0.5)
    gains = 1 + normal(generator, 2, width, scale=0.1)
    biases = normal(generator, 2, width, scale=0.1)

    def attention(x: jax.Array) -> jax.Array:
        batch, length, _ = x.shape
        q, k, v = ((x @ w).reshape(batch, length, heads, width // heads) for w in (query, key, value))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(width // heads)
        visible = jnp.tril(jnp.ones((length, length), bool))
        weights = jax.nn.softmax(jnp.where(visible, scores, -1e9), axis=-1)
        return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, width) @ output

    def transformer_block(x: jax.Array) -> jax.Array:
        x = x + attention(layer_norm(x, gains[0], biases[0]))
        return x + jax.nn.gelu(layer_norm(x, gains[1], biases[1]) @ expand, approximate=False) @ contract

    return Example(transformer_block, (normal(generator, 2, 16, width),))


def convolution_step() -> Example:
    """One step of gradient descent of a convolutional network that classifies small images."""
    generator = np.random.default_rng(2)
    parameters = {
        "kernel1": normal(generator, 3, 3, 1, 8, scale=0.3),
        "kernel2": normal(generator, 3, 3, 8, 16, scale=0.15),
        "dense": normal(generator, 144, 10, scale=0.1),
        "bias": np.zeros(10, np.float32),
    }

    def layer(x: jax.Array, kernel: jax.Array) -> jax.Array:
        x = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return lax.reduce_window(jax.nn.relu(x), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def loss(parameters: dict[str, jax.Array], images: jax.Array, labels: jax.Array) -> jax.Array:
        x = layer(layer(images, parameters["kernel1"]), parameters["kernel2"])
        logits = x.reshape(x.shape[0], -1) @ parameters["dense"] + parameters["bias"]
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)
        return -chosen.mean()

    def training_step(images: jax.Array, labels: jax.Array) -> dict[str, Any]:
        constants = jax.tree.map(jnp.asarray, parameters)
        before, gradient = jax.value_and_grad(loss)(constants, images, labels)
        updated = jax.tree.map(lambda parameter, slope: parameter - 0.1 * slope, constants, gradient)
        return {"loss": (before, loss(updated, images, labels)), "parameters": updated}

    labels = generator.integers(0, 10, 16).astype(np.int32)
    return Example(training_step, (normal(generator, 16, 12, 12, 1), labels))


def graph_network() -> Example:
    """Two rounds of messages along the edges of a graph, and a score for each of its nodes."""
    generator = np.random.default_rng(3)
    nodes, edges, features, hidden = 60, 240, 12, 32
    senders, receivers = generator.integers(0, nodes, (2, edges)).astype(np.int32)
    widths = [(features, hidden), (hidden, hidden)]
    message_weights = [normal(generator, 2 * width, hidden, scale=width**-0.5) for width, _ in widths]
    update_weights = [normal(generator, width + hidden, hidden, scale=hidden**-0.5) for width, _ in widths]
    score_weights = normal(generator, hidden, 1, scale=hidden**-0.5)

    def node_scores(node_features: jax.Array) -> tuple[jax.Array, jax.Array]:
        state = node_features
        degree = jax.ops.segment_sum(jnp.ones(edges), receivers, num_segments=nodes)
        for message_weight, update_weight in zip(message_weights, update_weights, strict=True):
            ends = jnp.concatenate([state[senders], state[receivers]], axis=1)
            messages = jax.nn.relu(ends @ message_weight)
            total = jax.ops.segment_sum(messages, receivers, num_segments=nodes)
            mean = total / jnp.maximum(degree, 1)[:, None]
            state = jnp.tanh(jnp.concatenate([state, mean], axis=1) @ update_weight)
        scores = (state @ score_weights)[:, 0]
        return scores, jnp.argsort(-scores)[:5]

    return Example(node_scores, (normal(generator, nodes, features),))


def kmeans() -> Example:
    """k-means on points that the program makes itself; it loops until no point changes its cluster."""
    points, clusters = 600, 5

    def make_points() -> jax.Array:
        number = jnp.arange(points, dtype=jnp.float32)
        angle = 2 * np.pi / clusters * (number % clusters)
        centres = 4 * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1)
        return centres + jnp.stack([jnp.sin(12.9898 * number), jnp.sin(78.233 * number)], axis=1)

    def nearest(data: jax.Array, centroids: jax.Array) -> jax.Array:
        distances = ((data[:, None, :] - centroids[None, :, :]) ** 2).sum(axis=-1)
        return distances.argmin(axis=1).astype(jnp.int32)

    def cluster() -> dict[str, jax.Array]:
        data = make_points()

        def changed(carry: tuple[jax.Array, ...]) -> jax.Array:
            return carry[3]

        def step(carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
            centroids, assignment, iterations, _ = carry
            sums = jax.ops.segment_sum(data, assignment, num_segments=clusters)
            counts = jax.ops.segment_sum(jnp.ones(points), assignment, num_segments=clusters)
            centroids = jnp.where(counts[:, None] > 0, sums / jnp.maximum(counts, 1)[:, None], centroids)
            renewed = nearest(data, centroids)
            return centroids, renewed, iterations + 1, (renewed != assignment).any()

        start = data[: clusters**2 : clusters]
        first = (start, nearest(data, start), jnp.int32(0), jnp.bool_(True))
        centroids, assignment, iterations, _ = lax.while_loop(changed, step, first)
        sizes = jnp.bincount(assignment, length=clusters)
        return {"centroids": centroids, "iterations": iterations, "sizes": sizes}

    return Example(cluster, ())


EXAMPLES: dict[str, Callable[[], Example]] = {
    "convolution_step": convolution_step,
    "graph_network": graph_network,
    "kmeans": kmeans,
    "transformer": transformer,
}


def export(name: str) -> None:
    """Write the program, its inputs and its results."""
    function, arguments = EXAMPLES[name]()
    lowered = jax.jit(function, keep_unused=True).lower(*arguments)
    (FOLDER / f"{name}.mlir").write_text(lowered.as_text())
    for position, argument in enumerate(arguments):
        np.save(FOLDER / f"{name}.input{position}.npy", argument)
    results = [np.asarray(result) for result in jax.tree.leaves(lowered.compile()(*arguments))]
    np.savez(FOLDER / f"{name}.expected.npz", *results)


if __name__ == "__main__":
    jax.config.update("jax_platforms", "cpu")
    for selected in sys.argv[1:] or EXAMPLES:
        export(selected)
