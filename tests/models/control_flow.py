"""Conditionals and loops."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .model import integers, model, normal


@model(np.bool_(True), normal(4), bound=1e-6)
def cond(predicate, x):
    def both(flag):
        return lax.cond(flag, jnp.sin, lambda y: y * 2, x)

    return both(predicate), both(~predicate)


@model(integers(5, low=-3, high=6), normal(3), bound=1e-6)
def switch(branches, x):
    functions = (jnp.sin, jnp.cos, lambda y: y**2, lambda y: -y)
    return [lax.switch(branches[i], functions, x) for i in range(5)]


@model(np.int32([1, 0, 1]), normal(3, 4), bound=1e-6)
def vmapped_cond(flags, x):
    return jax.vmap(lambda flag, y: lax.cond(flag > 0, jnp.exp, jnp.tanh, y))(flags, x)


@model(np.int32(27))
def while_loop(start):
    def collatz(carry):
        value, steps = carry
        return jnp.where(value % 2 == 0, value // 2, 3 * value + 1), steps + 1

    return lax.while_loop(lambda carry: carry[0] != 1, collatz, (start, jnp.int32(0)))


@model(normal(3, 3), bound=5e-6)
def fori_loop(x):
    return lax.fori_loop(0, 12, lambda i, carry: jnp.tanh(0.5 * carry @ carry.T) + 0.1 * jnp.cos(i * x), x)


@model(np.int32(5), normal(4), bound=1e-6)
def fori_loop_of_unknown_length(count, x):
    return lax.fori_loop(0, count, lambda i, carry: carry * 0.5 + i, x)


@model(normal(6, 3), bound=1e-6)
def scan(x):
    def step(carry, row):
        carry = 0.9 * carry + row
        return carry, (carry.sum(), row * carry)

    return lax.scan(step, jnp.zeros(3), x), lax.scan(step, jnp.ones(3), x, reverse=True)


@model(normal(4, 5), bound=2e-6)
def nested_loops(x):
    def outer(i, total):
        return total + lax.while_loop(lambda c: c[0] < i, lambda c: (c[0] + 1, c[1] * 0.5), (0, x[i]))[1]

    return lax.fori_loop(0, 4, outer, jnp.zeros(5))


@model(np.int32([3, 0, 9]), np.float32([1.0, 2.0, 3.0]), bound=1e-6)
def vmapped_while(counts, x):
    def run(count, value):
        return lax.while_loop(lambda c: c[0] < count, lambda c: (c[0] + 1, c[1] * 1.5), (0, value))[1]

    return jax.vmap(run)(counts, x)


@model(normal(5), bound=2e-6)
def newton_iteration(x):
    target = jnp.abs(x) + 0.5

    def improve(guess):
        return 0.5 * (guess + target / guess)

    def unfinished(guess):
        return (jnp.abs(guess * guess - target) > 1e-4).any()

    return lax.while_loop(unfinished, improve, target)


@model(np.float32(0.0), np.int32(9))
def prefix_of_calls(x, n):
    helper = jax.jit(lambda y, k: (y + 1, k - 1))
    for _ in range(4):
        x, n = helper(x, n)
    return x, n
