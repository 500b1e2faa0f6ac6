"""gather and scatter."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .program import Array, RandomArrays, program

THOUSANDS = (2_000, 50_000, 1_000_000)


def _rows(draw: RandomArrays, n: int) -> tuple[Array, ...]:
    return draw.floats(n // 32, 32), draw.integers(n // 32, n // 16)


def _pairs(draw: RandomArrays, n: int) -> tuple[Array, ...]:
    side = int(n**0.5)
    return draw.floats(side, side), draw.integers(side, n), draw.integers(side, n)


def _batches(draw: RandomArrays, n: int) -> tuple[Array, ...]:
    items = n // 16 // 16
    return draw.floats(16, items, 16), draw.integers(items, 16, 2 * items)


def _elements(draw: RandomArrays, n: int) -> tuple[Array, ...]:
    return draw.floats(n), draw.integers(n, n), draw.floats(n)


def _segments(draw: RandomArrays, n: int) -> tuple[Array, ...]:
    return draw.floats(n // 16, 16), draw.integers(100, n // 16)


def _add_at(x: Array, i: Array, u: Array) -> Array:
    result = x.copy()
    np.add.at(result, i, u)
    return result


@program("gather", THOUSANDS, _rows, numpy=lambda x, i: x[i])
def gather_rows(x, i):
    """Rows of a table."""
    return x[i]


@program("gather", THOUSANDS, _pairs, numpy=lambda x, i, j: x[i, j])
def gather_pairs(x, i, j):
    """Single elements, each with two indices."""
    return x[i, j]


@program("gather", THOUSANDS, _batches)
def gather_batches(x, i):
    """Rows of a separate table for each batch."""
    return jax.vmap(lambda table, rows: table[rows])(x, i)


@program("gather", THOUSANDS, lambda draw, n: (draw.floats(n), draw.integers(n, n // 32)))
def gather_windows(x, i):
    """Overlapping windows of 32 elements."""
    return jax.vmap(lambda start: lax.dynamic_slice(x, (start,), (32,)))(i)


@program(
    "gather",
    THOUSANDS,
    lambda draw, n: (draw.bfloat16(n // 64, 64), draw.integers(64, n // 64, 64)),
    numpy=lambda x, i: np.take_along_axis(x, i, 1),
)
def gather_along_rows(x, i):
    """As many elements from each row, of bfloat16."""
    return jnp.take_along_axis(x, i, 1)


@program(
    "scatter",
    THOUSANDS,
    lambda draw, n: (*_rows(draw, n), draw.floats(n // 16, 32)),
    bound=1e-5,
    numpy=_add_at,
)
def scatter_add_rows(x, i, u):
    """Rows added to rows of a table, in random order with duplicates."""
    return x.at[i].add(u)


@program("scatter", THOUSANDS, _elements, bound=1e-5, numpy=_add_at)
def scatter_add_elements(x, i, u):
    """Elements added in random order with duplicates."""
    return x.at[i].add(u)


@program("scatter", THOUSANDS, _elements)
def scatter_set_elements(x, i, u):
    """Elements overwritten in random order with duplicates."""
    return x.at[i].set(u)


@program("scatter", THOUSANDS, lambda draw, n: (*_batches(draw, n), draw.floats(16, 2 * (n // 256), 16)))
def scatter_maximum_batches(x, i, u):
    """Maxima scattered to rows of a separate table for each batch."""
    return jax.vmap(lambda table, rows, values: table.at[rows].max(values))(x, i, u)


@program("scatter", THOUSANDS, _segments, bound=1e-5)
def scatter_segments(u, i):
    """Sums of rows by group, of 100 groups."""
    return jax.ops.segment_sum(u, i, 100)


@program(
    "scatter",
    THOUSANDS,
    lambda draw, n: (draw.integers(200, n),),
    numpy=lambda i: np.bincount(i, minlength=200).astype(np.int32),
)
def scatter_histogram(i):
    """How often each of 200 numbers comes."""
    return jnp.zeros(200, jnp.int32).at[i].add(1)


@program(
    "scatter",
    THOUSANDS,
    lambda draw, n: (draw.floats(n // 16, 16), draw.integers(n // 16, n // 64), draw.floats(n // 64, 16)),
    bound=1e-5,
)
def scatter_gradient(table, i, g):
    """The gradient of a gather of rows."""
    _, pullback = jax.vjp(lambda t: t[i], table)
    return pullback(g)[0]
