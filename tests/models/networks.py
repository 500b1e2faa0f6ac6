"""Networks, forward and in training, and simulations."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .model import integers, model, normal

WIDTH, HEADS, VOCABULARY = 16, 2, 20


def _transformer_parameters() -> dict[str, np.ndarray]:
    shapes = {
        "embedding": (VOCABULARY, WIDTH),
        "query": (WIDTH, WIDTH),
        "key": (WIDTH, WIDTH),
        "value": (WIDTH, WIDTH),
        "output": (WIDTH, WIDTH),
        "expand": (WIDTH, 4 * WIDTH),
        "contract": (4 * WIDTH, WIDTH),
    }
    return {name: normal(*shape, seed=i, scale=WIDTH**-0.5) for i, (name, shape) in enumerate(shapes.items())}


def _normalise(x):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def _attention(parameters, x):
    batch, length, _ = x.shape

    def split(name):
        return (x @ parameters[name]).reshape(batch, length, HEADS, WIDTH // HEADS)

    scores = jnp.einsum("bqhd,bkhd->bhqk", split("query"), split("key")) * (WIDTH // HEADS) ** -0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), split("value"))
    return mixed.reshape(batch, length, WIDTH) @ parameters["output"]


def _transformer(parameters, tokens):
    x = parameters["embedding"][tokens]
    x = x + _attention(parameters, _normalise(x))
    x = x + jax.nn.gelu(_normalise(x) @ parameters["expand"]) @ parameters["contract"]
    return _normalise(x) @ parameters["embedding"].T


def _transformer_loss(parameters, tokens, targets):
    logits = _transformer(parameters, tokens)
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], axis=-1).mean()


@model(_transformer_parameters(), integers(2, 8, high=VOCABULARY), bound=5e-6)
def transformer_forward(parameters, tokens):
    return _transformer(parameters, tokens)


@model(
    _transformer_parameters(),
    integers(2, 8, high=VOCABULARY),
    integers(2, 8, high=VOCABULARY, seed=1),
    bound=1e-5,
)
def transformer_training_step(parameters, tokens, targets):
    loss, gradient = jax.value_and_grad(_transformer_loss)(parameters, tokens, targets)
    return loss, jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradient)


def _convolutional_parameters() -> dict[str, np.ndarray]:
    return {
        "kernel1": normal(3, 3, 2, 6, scale=0.2),
        "kernel2": normal(3, 3, 6, 8, seed=1, scale=0.15),
        "dense": normal(32, 5, seed=2, scale=0.2),
        "bias": normal(5, seed=3, scale=0.1),
    }


def _convolutional_loss(parameters, images, labels):
    x = images
    for name in ("kernel1", "kernel2"):
        x = lax.conv_general_dilated(
            x, parameters[name], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = lax.reduce_window(jax.nn.relu(x), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    logits = x.reshape(x.shape[0], -1) @ parameters["dense"] + parameters["bias"]
    return -(jax.nn.log_softmax(logits) * jax.nn.one_hot(labels, 5)).sum(-1).mean()


@model(_convolutional_parameters(), normal(4, 8, 8, 2, seed=4), integers(4, high=5), bound=1e-5)
def convolutional_training_step(parameters, images, labels):
    loss, gradient = jax.value_and_grad(_convolutional_loss)(parameters, images, labels)
    return loss, jax.tree.map(lambda p, g: p - 0.05 * g, parameters, gradient)


def _graph_energy(weights, features, senders, receivers):
    nodes = features.shape[0]
    messages = jnp.tanh(jnp.concatenate([features[senders], features[receivers]], -1) @ weights)
    sums = jax.ops.segment_sum(messages, receivers, num_segments=nodes)
    highest = jax.ops.segment_max(messages, receivers, num_segments=nodes)
    return (sums**2).sum() + jnp.where(jnp.isfinite(highest), highest, 0.0).sum()


@model(
    normal(8, 4, scale=0.4),
    normal(12, 4, seed=1),
    integers(30, high=12),
    integers(30, high=11, seed=1),
    bound=1e-5,
)
def graph_network_gradient(weights, features, senders, receivers):
    return jax.value_and_grad(_graph_energy, argnums=(0, 1))(weights, features, senders, receivers)


def _lstm(weights, sequence):
    hidden = weights.shape[1] // 4

    def step(carry, x):
        h, c = carry
        i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ weights, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    start = jnp.zeros((sequence.shape[1], hidden))
    (_, cell), outputs = lax.scan(step, (start, start), sequence)
    return cell, outputs


@model(normal(9, 24, scale=0.4), normal(7, 2, 3, seed=1), bound=5e-6)
def lstm_forward(weights, sequence):
    return _lstm(weights, sequence)


@model(normal(9, 24, scale=0.4), normal(7, 2, 3, seed=1), bound=1e-5)
def lstm_gradient(weights, sequence):
    return jax.grad(lambda w, s: (_lstm(w, s)[1] ** 2).sum(), argnums=(0, 1))(weights, sequence)


@model(normal(40, 2) + integers(40, 1, high=3, seed=5, dtype=np.float32) * 4, bound=2e-6)
def kmeans(points):
    def nearest(centroids):
        return ((points[:, None] - centroids[None]) ** 2).sum(-1).argmin(1)

    def step(carry):
        centroids, assignment, _, count = carry
        members = jax.nn.one_hot(assignment, 3, dtype=points.dtype)
        sizes = members.sum(0)[:, None]
        centroids = jnp.where(sizes > 0, members.T @ points / jnp.maximum(sizes, 1), centroids)
        renewed = nearest(centroids)
        return centroids, renewed, (renewed != assignment).any(), count + 1

    start = points[:3]
    return lax.while_loop(lambda carry: carry[2], step, (start, nearest(start), jnp.bool_(True), 0))


@model(normal(10, 3), normal(10, 3, seed=1, scale=0.1), bound=5e-6)
def n_body(positions, velocities):
    def accelerations(x):
        offset = x[None] - x[:, None]
        distance = (offset**2).sum(-1) + 0.1
        return (offset * (distance**-1.5)[..., None]).sum(1)

    def step(_, state):
        x, v = state
        v = v + 0.01 * accelerations(x)
        return x + 0.01 * v, v

    return lax.fori_loop(0, 10, step, (positions, velocities))


def _laplacian(x):
    return 2.1 * x - jnp.roll(x, 1) - jnp.roll(x, -1)


@model(normal(24), bound=2e-5)
def conjugate_gradient(b):
    return jax.scipy.sparse.linalg.cg(_laplacian, b, tol=1e-5, maxiter=40)[0]


@model(normal(3, 5, 8), bound=2e-6)
def layer_norm(x):
    return _normalise(x)


@model(normal(4, 9, scale=3.0), bound=1e-6)
def softmax_and_log_softmax(x):
    return jax.nn.softmax(x), jax.nn.log_softmax(x, axis=0), jax.nn.logsumexp(x, axis=1)


@model(normal(5, 7, scale=2.0), bound=1e-6)
def activations(x):
    return (
        jax.nn.gelu(x, approximate=False),
        jax.nn.gelu(x, approximate=True),
        jax.nn.silu(x),
        jax.nn.softplus(x),
        jax.nn.elu(x),
        jax.nn.selu(x),
        jax.nn.leaky_relu(x),
        jax.nn.hard_swish(x),
    )


@model(normal(2, 6, 2, 8), normal(2, 6, 2, 8, seed=1), normal(2, 6, 2, 8, seed=2), bound=2e-6)
def causal_attention(query, key, value):
    return jax.nn.dot_product_attention(query, key, value, is_causal=True)


@model(normal(2, 6, 2, 8), normal(2, 6, 2, 8, seed=1), normal(2, 6, 2, 8, seed=2), bound=1e-5)
def causal_attention_gradient(query, key, value):
    def total(q, k, v):
        return (jax.nn.dot_product_attention(q, k, v, is_causal=True) ** 2).sum()

    return jax.grad(total, argnums=(0, 1, 2))(query, key, value)


@model(normal(10, 4), integers(6, high=10), bound=2e-6)
def embedding_gradient(table, rows):
    return jax.grad(lambda t: jnp.sin(t[rows]).sum())(table)


@model(normal(6, 6), bound=2e-6)
def rematerialised_gradient(x):
    return jax.grad(lambda y: jax.checkpoint(lambda z: jnp.sin(jnp.cos(z)))(y).sum())(x)


@jax.custom_vjp
def _clipped(x):
    return jnp.maximum(x, 0)


_clipped.defvjp(lambda x: (_clipped(x), x), lambda x, g: (jnp.where(x > 0, g, 0.1 * g),))


@model(normal(3, 4), bound=1e-6)
def custom_derivative(x):
    return jax.grad(lambda y: (_clipped(y) ** 2 + y).sum())(x)
