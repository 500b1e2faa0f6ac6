"""Conversions and bit patterns of every element type."""

import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

from .model import integers, model, normal

SMALL_FLOATS = (
    ml_dtypes.float8_e3m4,
    ml_dtypes.float8_e4m3,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e4m3b11fnuz,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz,
)


@model(normal(40, scale=3.0))
def float8_conversions(x):
    return [x.astype(dtype).astype(jnp.float32) for dtype in SMALL_FLOATS]


@model(normal(40, scale=30.0))
def half_precision_conversions(x):
    return x.astype(jnp.bfloat16), x.astype(jnp.float16), x.astype(jnp.bfloat16).astype(jnp.float16)


@model(normal(10).astype(ml_dtypes.bfloat16), normal(10, seed=1).astype(ml_dtypes.bfloat16), bound=1e-2)
def bfloat16_arithmetic(x, y):
    return x + y, x * y, x / y, jnp.exp(x), jnp.tanh(x), x.sum(), jnp.maximum(x, y), x < y


@model(normal(10).astype(np.float16), normal(10, seed=1).astype(np.float16), bound=2e-3)
def float16_arithmetic(x, y):
    return x + y, x * y, x / y, jnp.sqrt(jnp.abs(x)), jnp.sin(x), x.max(), x >= y


@model(integers(20, low=-128, high=128), normal(20, scale=20.0))
def integer_conversions(n, x):
    kinds = (jnp.int8, jnp.uint8, jnp.int16, jnp.uint16, jnp.uint32, bool)
    return [n.astype(kind) for kind in kinds], n.astype(jnp.float32), x.astype(jnp.int32), x.astype(jnp.int8)


@model(integers(20, low=-(2**40), high=2**40, dtype=np.int64), x64=True)
def wide_integer_conversions(n):
    return n.astype(jnp.int32), n.astype(jnp.uint64), n.astype(jnp.float64), n.astype(jnp.float32), n * n


def _int4_arithmetic_in_wide_integers(n, m):
    """What four bits hold; XLA:CPU keeps the carry of an addition when it widens the sum."""

    def wrapped(value):
        return ((value + 8) & 15) - 8

    n = n.astype(jnp.int32)
    return wrapped(n + m).astype(jnp.int8), wrapped(n * m), n & 15


@model(
    integers(12, low=-8, high=8, dtype=np.int8).astype(ml_dtypes.int4),
    integers(12, low=-8, high=8, seed=1),
    reference=_int4_arithmetic_in_wide_integers,
)
def int4_arithmetic(n, m):
    small = m.astype(jnp.int4)
    return (n + small).astype(jnp.int8), (n * small).astype(jnp.int32), n.astype(jnp.uint4).astype(jnp.int32)


@model(normal(6, 4), np.uint8([0, 0, 0, 0, 1, 200, 3, 70]))
def bitcasts(x, n):
    return (
        lax.bitcast_convert_type(x, jnp.int32),
        lax.bitcast_convert_type(x, jnp.uint16),
        lax.bitcast_convert_type(n.reshape(2, 4), jnp.float32).astype(jnp.bfloat16) == 0,
        lax.bitcast_convert_type(n.reshape(4, 2), jnp.int16),
    )


@model(np.uint8([0, 1, 2, 7, 127, 128, 200, 255]))
def narrow_unsigned_arithmetic(n):
    return n + n, n * n, n - np.uint8(3), n >> 1, n // np.uint8(3), lax.population_count(n), lax.clz(n), ~n
