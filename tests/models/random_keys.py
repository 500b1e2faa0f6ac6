"""Typed random keys (`jax.random.key`) as arguments and results, in loops, and of every kind.

JAX lowers keys that enter or leave a function with `sdy.sharding_constraint` on an empty mesh.
"""

import jax
import jax.numpy as jnp
import numpy as np

from .model import model

KEY = jax.random.key(7)


@model(KEY, np.int32(-3))
def key_split(key, seed):
    first, second = jax.random.split(key)
    made = jax.random.key(seed)
    wrapped = jax.random.wrap_key_data(jnp.array([seed, 2], jnp.uint32))
    return first, jax.random.split(second, (2, 2)), jax.random.fold_in(key, 5), made, wrapped


@model(jax.random.split(KEY, 3), bound=5e-6)
def key_batch(keys):
    return jax.vmap(lambda key: jax.random.normal(key, (5,)))(keys), keys[::-1], keys.reshape(3, 1)


@model(KEY, np.zeros(4, np.float32), bound=5e-6)
def key_in_scan(key, start):
    def step(carry, index):
        key, total = carry
        key, drawn = jax.random.split(key)
        return (key, total + jax.random.normal(drawn, (4,))), jax.random.bits(
            jax.random.fold_in(drawn, index)
        )

    return jax.lax.scan(step, (key, start), jnp.arange(5))


@model(jax.random.key(3, impl="rbg"), jax.random.key(4, impl="unsafe_rbg"))
def key_of_other_kinds(rbg, unsafe):
    return (
        jax.random.split(rbg),
        jax.random.bits(rbg, (5,)),
        jax.random.fold_in(unsafe, 9),
        jax.vmap(lambda key: jax.random.bits(key, (3,)))(jax.random.split(unsafe, 2)),
    )
