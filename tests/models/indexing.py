"""Gather, scatter and slices at positions known only at run time."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .model import integers, model, normal

TABLE = normal(10, 4)
ROWS = integers(3, 5, low=-10, high=10)


@model(TABLE, ROWS)
def gather_rows(x, rows):
    return x[rows], jnp.take(x, rows, axis=0, mode="clip"), jnp.take(x, rows % 4, axis=1), x[rows, 1]


@model(TABLE, integers(6, low=-20, high=20), not_finite=True)
def gather_out_of_bounds(x, rows):
    filled = x.at[rows].get(mode="fill", fill_value=-7.0)
    return filled, x.at[rows].get(mode="clip"), jnp.take(x, rows, axis=0)


@model(normal(4, 10, 3), integers(4, 6, high=10))
def vmapped_gather(x, rows):
    return jax.vmap(lambda table, row: table[row])(x, rows), jnp.take_along_axis(x, rows[..., None], axis=1)


@model(normal(4, 10, 3), integers(4, 6, high=10), normal(4, 6, 3, seed=1), bound=1e-6)
def vmapped_scatter(x, rows, updates):
    return jax.vmap(lambda table, row, update: table.at[row].add(update))(x, rows, updates)


@model(normal(4, 10, 3), integers(4, high=12))
def vmapped_dynamic_slice(x, starts):
    sliced = jax.vmap(lambda table, start: lax.dynamic_slice(table, (start, 0), (3, 2)))(x, starts)
    return sliced, jax.vmap(lambda t, s: lax.dynamic_update_slice(t, t[:2] + 1, (s, 0)))(x, starts)


@model(normal(6, 7), np.int32(4), np.int32(-3))
def dynamic_slices(x, row, column):
    piece = lax.dynamic_slice(x, (row, column), (3, 3))
    return piece, lax.dynamic_update_slice(x, piece, (row, jnp.int32(100))), lax.dynamic_index_in_dim(x, row)


@model(TABLE, ROWS, normal(3, 5, 4, seed=2), bound=1e-6)
def scatter_operations(x, rows, updates):
    at = x.at[rows]
    return at.add(updates), at.multiply(updates), at.min(updates), at.max(updates)


@model(TABLE, np.int32([4, 1, 9, -2]), normal(4, 4, seed=2), bound=1e-6)
def scatter_unique(x, rows, updates):
    at = x.at[rows]
    return (
        at.set(updates),
        at.add(updates, unique_indices=True),
        at.divide(updates),
        at.power(2.0),
        at.apply(jnp.sin),
    )


@model(TABLE, integers(8, low=-30, high=30), normal(8, 4, seed=2), bound=1e-6)
def scatter_out_of_bounds(x, rows, updates):
    return x.at[rows].add(updates, mode="drop"), x.at[rows].max(updates, mode="drop")


@model(integers(12, dtype=np.int32), integers(20, high=12), integers(20, low=1, high=50, seed=1))
def scatter_integers(x, rows, updates):
    at = x.at[rows]
    return at.add(updates), at.multiply(updates), at.min(updates), at.max(updates)


@model(normal(5, 6), np.int32([0, 3]), bound=1e-6)
def scatter_columns(x, columns):
    return x.at[:, columns].add(1.5), x.at[1:4, columns].set(0.0), x.at[columns, columns].mul(3.0)


@model(normal(20), integers(20, high=5), bound=1e-6, not_finite=True)
def segment_operations(x, segments):
    return (
        jax.ops.segment_sum(x, segments, num_segments=6),
        jax.ops.segment_prod(x, segments, num_segments=6),
        jax.ops.segment_max(x, segments, num_segments=6),
        jax.ops.segment_min(x, jnp.sort(segments), num_segments=6, indices_are_sorted=True),
    )


@model(normal(8, 5), integers(7, high=8), bound=2e-6)
def segment_sum_gradient(x, segments):
    return jax.grad(lambda y: (jax.ops.segment_sum(y[:7], segments, num_segments=8) ** 2).sum())(x)


@model(TABLE, ROWS, bound=2e-6)
def gather_gradient(x, rows):
    return jax.grad(lambda table: jnp.cos(table[rows]).sum())(x), jax.grad(lambda t: (t[rows, 2] ** 2).sum())(
        x
    )


@model(normal(6, 6), integers(4, 2, high=6), bound=1e-6)
def scatter_add_gradient(x, positions):
    def total(y):
        return (y.at[positions[:, 0], positions[:, 1]].add(y[0, :4]) ** 2).sum()

    return jax.grad(total)(x)


@model(integers(6, high=5))
def one_hot(n):
    return jax.nn.one_hot(n, 5), jnp.eye(5)[n]
