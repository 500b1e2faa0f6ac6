"""Elementwise programs, rows (softmax and its kin), movement of data, random numbers, loops, small calls."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .program import Array, RandomArrays, program

ELEMENTS = (2_000, 100_000, 4_000_000)
STEPS = (100, 2_000, 50_000)


def _three(draw: RandomArrays, n: int) -> tuple[Array, ...]:
    return draw.floats(n), draw.floats(n), draw.floats(n)


def _rows(draw: RandomArrays, n: int) -> tuple[Array, ...]:
    return (draw.floats(n // 250, 250),)


@program("elementwise", ELEMENTS, _three, bound=1e-6, numpy=lambda a, b, c: a * b + c, streams=True)
def elementwise_multiply_add(a, b, c):
    """Two operations: memory is all that counts."""
    return a * b + c


@program("elementwise", ELEMENTS, _three, bound=1e-5, streams=True)
def elementwise_functions(a, b, c):
    """exp, log, tanh and a square root."""
    return jnp.log1p(jnp.exp(a)) * jnp.tanh(b) + jnp.sqrt(jnp.abs(c))


@program("elementwise", ELEMENTS, lambda draw, n: (draw.floats(n),), bound=1e-5, streams=True)
def elementwise_gelu(x):
    """The error function."""
    return jax.nn.gelu(x, approximate=False)


@program("elementwise", ELEMENTS, lambda draw, n: (draw.bfloat16(n),), bound=2e-2, streams=True)
def elementwise_bfloat16(x):
    """silu, of bfloat16."""
    return jax.nn.silu(x)


@program("elementwise", ELEMENTS, lambda draw, n: (draw.integers(2**31 - 1, n),), streams=True)
def elementwise_integers(x):
    """Shifts, products and exclusive ors that mix bits."""
    for shift, factor in ((16, 0x45D9F3B), (15, 0x119DE1F3), (13, 7)):
        x = (x ^ lax.shift_right_logical(x, shift)) * factor
    return x


@program(
    "elementwise",
    ELEMENTS,
    _three,
    numpy=lambda a, b, c: np.where((a > b) & (c != 0), np.clip(a, -0.5, 0.5), c),
    streams=True,
)
def elementwise_select(a, b, c):
    """Comparisons, clamp and select."""
    return jnp.where((a > b) & (c != 0), jnp.clip(a, -0.5, 0.5), c)


@program(
    "elementwise",
    ELEMENTS,
    lambda draw, n: (draw.complex(n // 2), draw.complex(n // 2)),
    bound=1e-5,
    numpy=lambda a, b: a * b.conj() + a,
    streams=True,
    interpreted=False,
)
def elementwise_complex(a, b):
    """Complex products."""
    return a * b.conj() + a


@program("rows", ELEMENTS, _rows, bound=1e-5, streams=True)
def rows_softmax(x):
    """softmax."""
    return jax.nn.softmax(x, -1)


@program("rows", ELEMENTS, _rows, bound=1e-5, streams=True)
def rows_layer_norm(x):
    """Mean and variance of each row, and what they normalize."""
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-6)


@program("rows", ELEMENTS, lambda draw, n: (draw.bfloat16(n // 250, 250), draw.bfloat16(250)), bound=2e-2)
def rows_scale_bfloat16(x, weight):
    """Division by the root of the mean square, of bfloat16."""
    wide = x.astype(jnp.float32)
    return (wide * lax.rsqrt((wide**2).mean(-1, keepdims=True) + 1e-6)).astype(jnp.bfloat16) * weight


@program("rows", ELEMENTS, lambda draw, n: (*_rows(draw, n), draw.integers(250, n // 250)), bound=1e-5)
def rows_cross_entropy(x, labels):
    """The loss of a classifier."""
    chosen = jnp.take_along_axis(jax.nn.log_softmax(x, -1), labels[:, None], 1)
    return -chosen.mean()


@program(
    "movement",
    ELEMENTS,
    lambda draw, n: (draw.floats(n // 500, 20, 25),),
    numpy=lambda x: np.ascontiguousarray(x.transpose(2, 0, 1)),
    streams=True,
)
def movement_transpose(x):
    """Three dimensions in another order."""
    return jnp.transpose(x, (2, 0, 1))


@program(
    "movement",
    ELEMENTS,
    lambda draw, n: (draw.floats(n // 100, 50), draw.floats(n // 100, 50)),
    numpy=lambda a, b: np.pad(np.concatenate([a, b[::-1]], 1)[:, 10:90], ((1, 1), (2, 2))),
    streams=True,
)
def movement_concatenate(a, b):
    """Reverse, concatenate, slice and pad."""
    return jnp.pad(jnp.concatenate([a, b[::-1]], 1)[:, 10:90], ((1, 1), (2, 2)))


@program("movement", ELEMENTS, lambda draw, n: (draw.floats(n // 200), draw.floats(200)), numpy=np.add.outer)
def movement_outer(a, b):
    """Two vectors spread over a matrix."""
    return a[:, None] + b[None, :]


@program(
    "random",
    ELEMENTS,
    lambda draw, n: (draw.integers(2**31 - 1, 2, dtype=np.uint32), np.zeros(n, np.float32)),
    bound=1e-4,
)
def random_normal(key, like):
    """Normally distributed numbers from JAX's own generator."""
    return jax.random.normal(key, like.shape)


@program("loop", STEPS, lambda draw, n: (draw.floats(), np.int32(n)), bound=1e-4)
def loop_scalar(x, n):
    """A scalar in a loop."""
    return lax.fori_loop(0, n, lambda _, value: value * 0.999 + jnp.sin(value), x)


@program("loop", STEPS, lambda draw, n: (draw.floats(n),), bound=1e-4)
def loop_recurrence(x):
    """A recurrence along a vector."""

    def step(carry, value):
        following = jnp.maximum(0.9 * carry + value, 0)
        return following, following

    return lax.scan(step, jnp.float32(0), x)[1]


@program("small", (8, 32, 128), lambda draw, n: (draw.floats(n), draw.floats(n)), numpy=np.add)
def small_sum(a, b):
    """The overhead of a call."""
    return a + b


@program(
    "small",
    (8, 32, 128),
    lambda draw, n: (draw.floats(n), draw.floats(n, n), draw.floats(n, n)),
    bound=1e-5,
    numpy=lambda x, v, w: np.tanh(np.tanh(x @ v) @ w),
)
def small_network(x, v, w):
    """Two layers for one sample."""
    return jnp.tanh(jnp.tanh(x @ v) @ w)
