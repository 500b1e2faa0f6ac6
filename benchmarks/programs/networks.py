"""Whole programs: models, their training steps, and numerical methods."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .program import Array, RandomArrays, program

LENGTHS = (16, 64, 256)
BATCHES = (2, 8, 32)
POINTS = (500, 8_000, 100_000)


def _block(draw: RandomArrays, n: int) -> tuple[Array, ...]:
    scale = np.float32(0.1)
    weights = (draw.floats(128, 384), draw.floats(128, 128), draw.floats(128, 512), draw.floats(512, 128))
    return draw.floats(4, n, 128), *(scale * weight for weight in weights)


def _norm(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-6)


@program("network", LENGTHS, _block, bound=1e-4)
def network_transformer(x, mixing, output, up, down):
    """A block of a transformer with eight heads and a causal mask."""
    batch, length, width = x.shape
    q, k, v = jnp.split((_norm(x) @ mixing).reshape(batch, length, 8, -1), 3, axis=-1)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (width // 8) ** -0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v)
    x = x + mixed.reshape(batch, length, width) @ output
    return x + jax.nn.gelu(_norm(x) @ up) @ down


def _images(draw: RandomArrays, n: int) -> tuple[Array, ...]:
    weights = (draw.floats(3, 3, 3, 16), draw.floats(3, 3, 16, 32), draw.floats(2048, 10))
    return draw.floats(n, 32, 32, 3), draw.integers(10, n), *(np.float32(0.1) * w for w in weights)


def _convolve(x, w):
    x = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return lax.reduce_window(jax.nn.relu(x), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


@program("network", BATCHES, _images, bound=1e-3)
def network_image_training(x, labels, first, second, last):
    """A step of a convolutional network's training: loss and new weights."""

    def loss(weights):
        hidden = _convolve(_convolve(x, weights[0]), weights[1]).reshape(x.shape[0], -1)
        scores = jax.nn.log_softmax(hidden @ weights[2], -1)
        return -jnp.take_along_axis(scores, labels[:, None], 1).mean()

    weights = (first, second, last)
    value, gradients = jax.value_and_grad(loss)(weights)
    return value, *(w - 0.01 * g for w, g in zip(weights, gradients, strict=True))


def _sequence(draw: RandomArrays, n: int) -> tuple[Array, ...]:
    return (
        draw.floats(n, 8, 64),
        np.float32(0.1) * draw.floats(64, 256),
        np.float32(0.1) * draw.floats(64, 256),
    )


@program("network", LENGTHS, _sequence, bound=1e-4)
def network_recurrent(x, inner, outer):
    """A long short-term memory along a sequence."""

    def step(state, value):
        hidden, cell = state
        i, f, g, o = jnp.split(value @ outer + hidden @ inner, 4, axis=-1)
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
        hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return (hidden, cell), hidden

    start = jnp.zeros((8, 64), jnp.float32)
    return lax.scan(step, (start, start), x)[1]


def _graph(draw: RandomArrays, n: int) -> tuple[Array, ...]:
    edges = draw.integers(n // 8, n), draw.integers(n // 8, n)
    return draw.floats(n // 8, 32), *edges, np.float32(0.1) * draw.floats(64, 32)


@program("network", POINTS, _graph, bound=1e-4)
def network_messages(nodes, senders, receivers, weight):
    """A round of messages along the edges of a graph."""
    messages = jax.nn.relu(jnp.concatenate([nodes[senders], nodes[receivers]], -1) @ weight)
    sums = jax.ops.segment_sum(messages, receivers, nodes.shape[0])
    counts = jax.ops.segment_sum(jnp.ones_like(receivers, jnp.float32), receivers, nodes.shape[0])
    return _norm(nodes + sums / jnp.maximum(counts, 1)[:, None])


@program("method", POINTS, lambda draw, n: (draw.floats(n, 8), draw.floats(16, 8)), bound=1e-4)
def method_clusters(points, centres):
    """A step of k-means."""
    distances = (centres**2).sum(1) - 2 * points @ centres.T
    nearest = jnp.argmin(distances, 1)
    sums = jax.ops.segment_sum(points, nearest, 16)
    counts = jax.ops.segment_sum(jnp.ones(points.shape[0]), nearest, 16)
    return sums / jnp.maximum(counts, 1)[:, None], nearest


@program("method", (16, 128, 512), lambda draw, n: (draw.floats(n, n),), bound=1e-4)
def method_diffusion(x):
    """Ten steps of the heat equation on a grid."""

    def step(_, grid):
        padded = jnp.pad(grid, 1, mode="edge")
        around = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
        return grid + 0.2 * (around - 4 * grid)

    return lax.fori_loop(0, 10, step, x)


@program("method", (100, 1_000, 10_000), lambda draw, n: (draw.floats(n, 4),), bound=1e-4)
def method_orbits(state):
    """Twenty steps of Runge and Kutta for many planets, with a conditional in each."""

    def slope(s):
        place, speed = s[:, :2], s[:, 2:]
        distance = jnp.sqrt((place**2).sum(1, keepdims=True)) + 0.1
        return jnp.concatenate([speed, -place / distance**3], 1)

    def step(n, s):
        h = lax.cond(n < 10, lambda: jnp.float32(0.01), lambda: jnp.float32(0.02))
        a = slope(s)
        b = slope(s + 0.5 * h * a)
        c = slope(s + 0.5 * h * b)
        d = slope(s + h * c)
        return s + h / 6 * (a + 2 * b + 2 * c + d)

    return lax.fori_loop(0, 20, step, state)
