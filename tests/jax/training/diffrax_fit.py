"""Fits a parameter of Van der Pol's oscillator through diffrax's adaptive solver."""

import json

import diffrax
import jax
import jax.numpy as jnp
import optax


def derivative(time, state, arguments):
    """Of the position and the speed."""
    (damping,) = arguments
    return jnp.stack([state[1], damping * (1 - state[0] ** 2) * state[1] - state[0]])


def solve(damping):
    """The orbit at eleven times."""
    return diffrax.diffeqsolve(
        diffrax.ODETerm(derivative),
        diffrax.Tsit5(),
        0.0,
        5.0,
        0.05,
        jnp.array([1.0, 0.0]),
        args=(damping,),
        saveat=diffrax.SaveAt(ts=jnp.linspace(0, 5, 11)),
        stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-6),
    ).ys


optimizer = optax.adam(0.05)
observed = solve(jnp.float32(1.5))


@jax.jit
def step(damping, state):
    """One step of the fit."""
    loss, gradient = jax.value_and_grad(lambda one: jnp.mean((solve(one) - observed) ** 2))(damping)
    update, new_state = optimizer.update(gradient, state)
    return optax.apply_updates(damping, update), new_state, loss


damping = jnp.float32(1.0)
state = optimizer.init(damping)
for _ in range(10):
    damping, state, loss = step(damping, state)
print(json.dumps({"damping": [float(damping)], "loss": [float(loss)]}))
