"""Reductions, windows, cumulative operations and sorting."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .program import Array, RandomArrays, program

ELEMENTS = (4_000, 200_000, 8_000_000)
IMAGES = (1, 4, 16)
SORTED = (2_000, 50_000, 1_000_000)


def _vector(draw: RandomArrays, n: int) -> tuple[Array, ...]:
    return (draw.floats(n),)


def _matrix(draw: RandomArrays, n: int) -> tuple[Array, ...]:
    """About n values, in rows that grow too."""
    columns = 4 * int((n // 16) ** 0.5)
    return (draw.floats(n // columns, columns),)


def _images(draw: RandomArrays, n: int) -> tuple[Array, ...]:
    return (draw.floats(n, 14 * n, 14 * n, 8),)


@program("reduce", ELEMENTS, _vector, bound=1e-5, numpy=np.sum, streams=True)
def reduce_all(x):
    """The sum of all."""
    return jnp.sum(x)


@program("reduce", ELEMENTS, _matrix, bound=1e-5, numpy=lambda x: x.sum(0), streams=True)
def reduce_columns(x):
    """Sums along the first dimension."""
    return jnp.sum(x, 0)


@program("reduce", ELEMENTS, _matrix, numpy=lambda x: x.max(1), streams=True)
def reduce_maximum_rows(x):
    """The largest of each row."""
    return jnp.max(x, 1)


@program(
    "reduce",
    ELEMENTS,
    lambda draw, n: (draw.floats(n // 512, 16, 32),),
    bound=1e-5,
    numpy=lambda x: x.sum(1),
    streams=True,
)
def reduce_middle(x):
    """Sums along a dimension between two others."""
    return jnp.sum(x, 1)


@program("reduce", ELEMENTS, lambda draw, n: (draw.bfloat16(n),), bound=1e-2, streams=True)
def reduce_bfloat16(x):
    """The sum of all, of bfloat16."""
    return jnp.sum(x)


@program(
    "reduce",
    ELEMENTS,
    lambda draw, n: (draw.floats(n, dtype=np.float64),),
    bound=1e-12,
    numpy=np.sum,
    streams=True,
    x64=True,
)
def reduce_float64(x):
    """The sum of all, of float64."""
    return jnp.sum(x)


@program(
    "argmax",
    ELEMENTS,
    _matrix,
    numpy=lambda x: x.argmax(1).astype(np.int32),
    streams=True,
)
def argmax_rows(x):
    """Where the largest of each row is."""
    return jnp.argmax(x, 1)


@program("argmax", ELEMENTS, _matrix, numpy=lambda x: x.argmin(0).astype(np.int32), streams=True)
def argmin_columns(x):
    """Where the smallest of each column is."""
    return jnp.argmin(x, 0)


@program("window", IMAGES, _images)
def window_maximum(x):
    """Pooling by the largest of 3 by 3, at every second place."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


@program("window", IMAGES, _images, bound=1e-5)
def window_mean(x):
    """Pooling by the mean of 2 by 2."""
    return lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4


@program("window", ELEMENTS, _vector, bound=1e-5)
def window_moving_sum(x):
    """Sums of 64 neighbours, at every place."""
    return lax.reduce_window(x, 0.0, lax.add, (64,), (1,), "VALID")


@program("cumulative", SORTED, _vector, bound=1e-5, numpy=np.cumsum)
def cumulative_sum(x):
    """Sums of all that comes before."""
    return jnp.cumsum(x)


@program("cumulative", SORTED, _matrix, bound=1e-5, numpy=lambda x: np.cumsum(x, 1))
def cumulative_sum_rows(x):
    """The same along each row."""
    return jnp.cumsum(x, 1)


@program("cumulative", SORTED, _matrix, numpy=lambda x: np.maximum.accumulate(x, 0))
def cumulative_maximum_columns(x):
    """The largest so far, along each column."""
    return lax.cummax(x, 0)


@program("select_and_scatter", IMAGES, _images, bound=1e-6)
def pooling_gradient(x):
    """The gradient of pooling by the largest, with windows that overlap."""
    return jax.grad(lambda y: (window_maximum(y) ** 2).sum())(x)


@program("select_and_scatter", IMAGES, _images, bound=1e-6)
def pooling_gradient_disjoint(x):
    """The gradient of pooling by the largest, with windows that do not."""

    def pooled(y):
        return lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    return jax.grad(lambda y: (pooled(y) ** 2).sum())(x)


@program("sort", SORTED, _vector, numpy=np.sort)
def sort_values(x):
    """Floating-point numbers in their order."""
    return jnp.sort(x)


@program("sort", SORTED, _vector, numpy=lambda x: np.argsort(x, kind="stable").astype(np.int32))
def sort_positions(x):
    """Where the sorted numbers stood."""
    return jnp.argsort(x)


@program("sort", SORTED, lambda draw, n: (draw.integers(1000, n // 100, 100),), numpy=lambda x: np.sort(x, 1))
def sort_rows(x):
    """Integers, each row of 100 for itself."""
    return jnp.sort(x, 1)


@program("sort", SORTED, lambda draw, n: (draw.integers(100, n), draw.floats(n), draw.integers(n, n)))
def sort_records(a, b, c):
    """Records by two keys, with a third value carried along."""
    return lax.sort((a, b, c), num_keys=2)


@program("top_k", SORTED, lambda draw, n: (draw.floats(4, n // 4),))
def top_k_rows(x):
    """The ten largest of each row and where they stood."""
    return lax.top_k(x, 10)


@program("top_k", SORTED, lambda draw, n: (draw.floats(n // 100, 100),))
def top_k_short_rows(x):
    """The same of many short rows."""
    return lax.top_k(x, 10)
