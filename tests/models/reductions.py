"""Reductions, prefix scans, windows, sorts and selections."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .model import integers, model, normal, uniform


@model(normal(4, 5, 6), bound=1e-6)
def sums_and_products(x):
    return x.sum(), x.sum(0), x.mean((0, 2)), x.prod(1), x.var(2), jnp.linalg.norm(x, axis=0)


@model(normal(4, 5, 6), integers(4, 5))
def extrema(x, n):
    return x.max(), x.min(1), n.max(0), n.min(), x.argmax(), x.argmin(2), n.argmax(1)


@model(
    np.array([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 0]], bool),
    integers(4, 6, low=-50, high=50, dtype=np.int8),
)
def logical_and_integer_reductions(p, n):
    bits = lax.reduce(n, np.int8(0), lax.bitwise_xor, (1,))
    return p.any(1), p[::2].all(0), n.sum(1), n.prod(dtype=np.int8), jnp.bitwise_or.reduce(n, axis=0), bits


@model(normal(3, 4), normal(3, 4, seed=1), bound=1e-6)
def reduction_of_two_operands(x, y):
    def body(left, right):
        return left[0] + right[0], jnp.maximum(left[1], right[1])

    return lax.reduce((x, y), (np.float32(0), np.float32(-np.inf)), body, (1,))


@model(
    np.concatenate([normal(30), np.float32([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0])]), not_finite=True
)
def sort_special_values(x):
    return jnp.sort(x), jnp.argsort(x), jnp.argsort(x, descending=True)


@model(normal(4, 9), integers(4, 9))
def sort_and_argsort(x, n):
    return (
        jnp.sort(x, axis=0),
        jnp.argsort(x, axis=1),
        jnp.sort(n),
        jnp.argsort(n, stable=True),
        -jnp.sort(-x),
    )


@model(integers(20, high=4), normal(20))
def sort_by_several_keys(n, x):
    return lax.sort((n, x, jnp.arange(20)), num_keys=2), jnp.lexsort((x, n))


@model(normal(3, 20), integers(3, 20, high=6))
def top_k(x, n):
    return lax.top_k(x, 4), lax.top_k(n, 5)


@model(normal(6, 7), bound=2e-6)
def cumsum(x):
    return jnp.cumsum(x, axis=0), jnp.cumsum(x, axis=1), lax.cumsum(x, axis=1, reverse=True), jnp.cumsum(x)


@model(normal(6, 7), integers(6, 7, low=-9), bound=2e-6)
def cumulative_operations(x, n):
    return (
        lax.cummax(x, axis=1),
        lax.cummin(n, axis=0, reverse=True),
        lax.cumprod(x, axis=0),
        lax.cumlogsumexp(x, axis=1),
        jnp.cumsum(n),
    )


@model(normal(11), bound=2e-6)
def associative_scan(x):
    return lax.associative_scan(jnp.add, x), lax.associative_scan(jnp.maximum, x, reverse=True)


@model(normal(9), bound=5e-6)
def cumulative_gradient(x):
    return jax.grad(lambda y: (jnp.cumsum(y) * jnp.cumprod(y)).sum())(x)


@model(normal(2, 6, 6, 3), bound=1e-6)
def pooling(x):
    window, strides = (1, 2, 2, 1), (1, 2, 2, 1)
    total = lax.reduce_window(x, 0.0, lax.add, window, strides, "SAME")
    dilated = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 1, 1, 1), "VALID", None, (1, 2, 2, 1))
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), strides, "SAME"), total / 4, dilated


@model(normal(2, 6, 6, 3), bound=2e-6)
def pooling_gradient(x):
    def largest(y):
        pooled = lax.reduce_window(y, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        return (pooled**2).sum()

    def average(y):
        return (lax.reduce_window(y, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 2).sum()

    return jax.grad(largest)(x), jax.grad(average)(x)


@model(normal(5, 11), bound=1e-6)
def quantile_and_median(x):
    at = jnp.array([0.1, 0.5, 0.77])
    return jnp.quantile(x, at, axis=1), jnp.median(x), jnp.percentile(x, 30.0, axis=0, method="nearest")


@model(integers(15, high=6))
def unique_with_size(n):
    return jnp.unique(n, size=8, return_index=True, return_inverse=True, return_counts=True)


@model(integers(15, high=6), normal(15), bound=1e-6)
def bincount(n, weights):
    return jnp.bincount(n, length=8), jnp.bincount(n, weights, length=8)


@model(np.sort(normal(12)), normal(5, seed=1), bound=0)
def searchsorted(x, values):
    scanned = jnp.searchsorted(x, values, method="scan_unrolled")
    return (
        jnp.searchsorted(x, values),
        scanned,
        jnp.digitize(values, x),
        jnp.searchsorted(x, values, method="sort"),
    )


@model(uniform(50, low=-1.0), bound=1e-6)
def histogram(x):
    return jnp.histogram(x, bins=6, range=(-1.0, 1.0))


@model(integers(10, high=3))
def nonzero_with_size(n):
    return jnp.nonzero(n, size=10, fill_value=-1), jnp.argwhere(n == 1, size=5)
