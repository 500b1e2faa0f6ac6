"""Random numbers: bits and integers exactly, what is computed from them within a bound."""

import jax
import jax.numpy as jnp
import numpy as np

from .model import model

SEED = np.int32(42)


@model(SEED, bound=2e-6)
def random_normal(seed):
    return jax.random.normal(jax.random.key(seed), (5, 7))


@model(SEED)
def random_uniform(seed):
    key, other = jax.random.split(jax.random.key(seed))
    return jax.random.uniform(key, (33,)), jax.random.uniform(other, (4, 4), minval=-2.0, maxval=6.0)


@model(SEED)
def random_bits(seed):
    key = jax.random.key(seed)
    return [jax.random.bits(key, (9,), dtype) for dtype in (jnp.uint8, jnp.uint16, jnp.uint32)]


@model(SEED)
def random_integers(seed):
    return jax.random.randint(jax.random.key(seed), (3, 8), -100, 1000)


@model(SEED)
def random_categorical(seed):
    logits = jnp.array([0.1, 2.0, -1.0, 0.5])
    return jax.random.categorical(jax.random.key(seed), logits, shape=(40,))


@model(SEED)
def random_permutation(seed):
    key = jax.random.key(seed)
    return jax.random.permutation(key, 20), jax.random.bernoulli(key, 0.3, (20,))


@model(SEED, bound=1e-5)
def random_gamma(seed):
    return jax.random.gamma(jax.random.key(seed), 2.5, (12,))


@model(SEED)
def random_bit_generator(seed):
    key = jax.random.key(seed, impl="rbg")
    return jax.random.bits(key, (7, 3)), jax.random.uniform(key, (5,))
