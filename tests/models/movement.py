"""Reshaping, joining, padding and rearranging."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .model import integers, model, normal


@model(normal(2, 3, 4))
def reshapes_and_transposes(x):
    return (
        x.reshape(6, 4),
        x.transpose(2, 0, 1),
        jnp.moveaxis(x, 0, -1),
        x.ravel()[::5],
        jnp.expand_dims(x, 1),
    )


@model(normal(2, 3), normal(4, 3, seed=1))
def joins(x, y):
    return (
        jnp.concatenate([x, y]),
        jnp.stack([x, x + 1], axis=1),
        jnp.tile(x, (2, 2)),
        jnp.repeat(y, 3, axis=1),
    )


@model(normal(4, 5))
def paddings(x):
    lowered = lax.pad(x, np.float32(9), ((1, 2, 1), (-1, 0, 2)))
    return jnp.pad(x, 2), jnp.pad(x, 1, mode="reflect"), jnp.pad(x, ((0, 1), (2, 0)), mode="edge"), lowered


@model(normal(4, 5))
def slices_and_reversals(x):
    return (
        x[1:3, ::2],
        x[::-1],
        x[:, -2:],
        jnp.flip(x),
        jnp.roll(x, 2, axis=1),
        jnp.rot90(x),
        lax.rev(x, (1,)),
    )


@model(normal(5, 5), bound=1e-6)
def triangles(x):
    return jnp.tril(x), jnp.triu(x, 1), jnp.diag(x), jnp.diag(x[0]), jnp.trace(x)


@model(normal(3, 1), normal(1, 4, seed=1), bound=1e-6)
def broadcasts(x, y):
    return x + y, jnp.broadcast_to(x, (2, 3, 4)), jnp.meshgrid(x[:, 0], y[0]), jnp.where(x > y, x, y)


@model(integers(3))
def iotas(n):
    counted = jnp.arange(7) * n[0], jnp.linspace(0.0, 1.0, 5), lax.broadcasted_iota(jnp.int16, (2, 3), 1)
    return counted, jnp.eye(3, 4, k=1), jnp.indices((2, 3))


@model(np.zeros((0, 4), np.float32), normal(3, 4), constant=(1, 2, 3, 4, 5))
def empty_dimensions(empty, x):
    return (
        jnp.concatenate([empty, x]),
        empty.sum(0),
        empty.T,
        empty @ x.T,
        empty.max(0, initial=-1.0),
        jnp.sort(empty),
    )


@model(normal(4), bound=1e-6)
def composite(x):
    square_and_add = lax.composite(lambda y: y * y + 1, name="example.square_and_add", version=1)
    return square_and_add(x), jax.jit(square_and_add)(x + 1)
