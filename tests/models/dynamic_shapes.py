"""Functions exported with symbolic shapes: shape arithmetic and the dynamic forms of operations."""

import jax
import jax.numpy as jnp
from jax import lax

from .model import integers, model, normal


@model(normal(3, 4), normal(4, 5, seed=1), symbolic=("b, c", "c, 5"), bound=1e-6)
def symbolic_softmax(x, w):
    y = jax.nn.softmax(x @ w)
    return y, y.reshape(-1), x.T.reshape(x.shape[0], -1)


@model(normal(6, 4), integers(3, high=6), symbolic=("b, 4", "n"), bound=1e-6)
def symbolic_movement(x, rows):
    joined = jnp.concatenate([x[rows], x])
    rearranged = jnp.pad(x, ((1, 2), (0, 0))), jnp.cumsum(x, axis=0), jnp.sort(x, axis=0)
    rest = lax.slice(x, (1, 0), x.shape)
    return joined, rearranged, rest, x[: x.shape[0] // 2], x.mean(0)


@model(normal(2, 8, 10, 3), normal(3, 3, 3, 4, seed=1), symbolic=("b, h, w, 3", "3, 3, 3, 4"), bound=1e-6)
def symbolic_convolution(x, w):
    y = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


@model(normal(5), symbolic=("n",), bound=1e-6)
def symbolic_iota(x):
    return (
        jnp.arange(x.shape[0]) * 2,
        jnp.eye(x.shape[0]),
        jnp.outer(x, x),
        jnp.tril(jnp.outer(x, x)),
        x[::-1],
    )
