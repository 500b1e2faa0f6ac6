"""Differential equations: diffrax, exponax, dynamiqs."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .declaration import Workload, library_program, normal


@library_program("diffrax", bound=1e-3)
def diffrax_neural_ode_training() -> Workload:
    import diffrax
    import equinox as eqx
    import optax

    network = eqx.nn.MLP(2, 2, 64, 2, activation=jax.nn.softplus, key=jax.random.key(0))
    parameters, static = eqx.partition(network, eqx.is_array)
    optimizer = optax.adabelief(3e-3)
    times = np.linspace(0.0, 1.0, 20, dtype=np.float32)

    def solve(parameters: Any, start: Any) -> Any:
        field = eqx.combine(parameters, static)
        return diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, _: field(y)),
            diffrax.Tsit5(),
            0.0,
            1.0,
            0.1,
            start,
            stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-6),
            saveat=diffrax.SaveAt(ts=times),
        ).ys

    def step(parameters: Any, state: Any, paths: Any) -> Any:
        def loss(parameters: Any) -> Any:
            solved = jax.vmap(solve, in_axes=(None, 0))(parameters, paths[:, 0])
            return ((solved - paths) ** 2).mean()

        value, gradient = jax.value_and_grad(loss)(parameters)
        updates, new_state = optimizer.update(gradient, state)
        return value, eqx.apply_updates(parameters, updates), new_state

    return step, (parameters, optimizer.init(parameters), normal(16, 20, 2, scale=0.5))


@library_program("diffrax", bound=1e-6, x64=True)
def diffrax_stiff_equation() -> Workload:
    import diffrax

    def robertson(t: Any, y: Any, _: Any) -> Any:
        slow, fast = 0.04 * y[0], 3e7 * y[1] ** 2
        mixed = 1e4 * y[1] * y[2]
        return jnp.stack([mixed - slow, slow - mixed - fast, fast])

    def solve(start: Any) -> Any:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(robertson),
            diffrax.Kvaerno5(),
            0.0,
            100.0,
            2e-4,
            start,
            stepsize_controller=diffrax.PIDController(rtol=1e-8, atol=1e-8),
            max_steps=None,
            adjoint=diffrax.ForwardMode(),
        ).ys

    return solve, (np.array([1.0, 0.0, 0.0]),)


@library_program("diffrax", bound=1e-3)
def diffrax_stochastic_equation() -> Workload:
    import diffrax

    def solve(key: Any, start: Any) -> Any:
        motion = diffrax.VirtualBrownianTree(0.0, 1.0, 1e-3, (8,), jax.random.wrap_key_data(key))
        terms = diffrax.MultiTerm(
            diffrax.ODETerm(lambda t, y, _: -y),
            diffrax.ControlTerm(lambda t, y, _: 0.1 * jnp.eye(8), motion),
        )
        return diffrax.diffeqsolve(terms, diffrax.Heun(), 0.0, 1.0, 0.02, start).ys

    keys = np.asarray(jax.random.key_data(jax.random.split(jax.random.key(0), 8)))
    return jax.vmap(solve), (keys, normal(8, 8))


@library_program("exponax", bound=1e-3, sizes=(64, 256, 2048))
def exponax_burgers_rollout(points: int) -> Workload:
    """A spectral method along a line: Fourier transforms in a loop."""
    import exponax

    stepper = exponax.stepper.Burgers(1, 1.0, points, 0.001, diffusivity=0.01)
    start = np.sin(2 * np.pi * np.arange(points, dtype=np.float32) / points)[None]
    return exponax.rollout(stepper, 20), (start,)


@library_program("exponax", bound=1e-3, sizes=(1, 4, 32))
def exponax_reaction_batch(batch: int) -> Workload:
    """Patterns of two reacting substances in the plane."""
    import exponax

    stepper = exponax.stepper.reaction.GrayScott(2, 2.0, 48, 1.0)
    start = 0.5 + normal(batch, 2, 48, 48, scale=0.05)
    return jax.vmap(exponax.repeat(stepper, 10)), (start,)


@library_program("diffrax", bound=1e-5, x64=True, sizes=(16, 64, 512))
def diffrax_lorenz_ensemble(batch: int) -> Workload:
    """Chaotic paths that start side by side, with steps of adapted size."""
    import diffrax

    def lorenz(t: Any, y: Any, _: Any) -> Any:
        return jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])

    def solve(start: Any) -> Any:
        controller = diffrax.PIDController(rtol=1e-6, atol=1e-6)
        return diffrax.diffeqsolve(
            diffrax.ODETerm(lorenz), diffrax.Dopri5(), 0.0, 1.0, 0.01, start, stepsize_controller=controller
        ).ys

    return jax.vmap(solve), (1 + normal(batch, 3, dtype=np.float64),)


@library_program("diffrax", bound=1e-3, sizes=(4, 16, 128))
def diffrax_controlled_gradient(batch: int) -> Workload:
    """The gradient of a network that is driven by series (a neural controlled differential equation)."""
    import diffrax
    import equinox as eqx

    length, width = 30, 8
    times = np.linspace(0, 1, length, dtype=np.float32)
    network = eqx.nn.MLP(width, width * 3, 32, 1, final_activation=jnp.tanh, key=jax.random.key(0))
    parameters, static = eqx.partition(network, eqx.is_array)

    def loss(parameters: Any, series: Any) -> Any:
        field = eqx.combine(parameters, static)

        def solve(values: Any) -> Any:
            coefficients = diffrax.backward_hermite_coefficients(times, values)
            control = diffrax.CubicInterpolation(times, coefficients)
            term = diffrax.ControlTerm(lambda t, y, _: field(y).reshape(width, 3), control).to_ode()
            return diffrax.diffeqsolve(term, diffrax.Heun(), 0.0, 1.0, 0.05, jnp.ones(width)).ys

        return (jax.vmap(solve)(series) ** 2).mean()

    return jax.value_and_grad(loss), (parameters, normal(batch, length, 3))


@library_program("dynamiqs", bound=1e-3, sizes=(4, 16, 64))
def dynamiqs_driven_cavity(levels: int) -> Workload:
    """The master equation of a driven cavity that loses photons: products of complex matrices in a loop."""
    import dynamiqs

    dynamiqs.set_progress_meter(False)
    lower = dynamiqs.destroy(levels, layout=dynamiqs.dense)
    number = dynamiqs.number(levels, layout=dynamiqs.dense)

    def solve(drive: Any, loss: Any) -> Any:
        energy = 0.5 * number + drive * (lower + lower.dag())
        solved = dynamiqs.mesolve(
            energy,
            [jnp.sqrt(loss) * lower],
            dynamiqs.fock(levels, 0),
            jnp.linspace(0, 2, 11),
            exp_ops=[number],
            method=dynamiqs.method.Tsit5(rtol=1e-4, atol=1e-5),
        )
        return solved.expects.real

    return solve, (np.float32(0.4), np.float32(0.2))
