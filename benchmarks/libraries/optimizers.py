"""Optimizers and solvers: optax, jaxopt, optimistix, lineax."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .declaration import Workload, integers, library_program, normal


@library_program("optax")
def optax_many_parameters() -> Workload:
    import optax

    parameters = [normal(32 + index % 5, 16 + index % 7, seed=index) for index in range(300)]
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))

    def step(parameters: Any, state: Any, gradient: Any) -> Any:
        updates, new_state = optimizer.update(gradient, state, parameters)
        return optax.apply_updates(parameters, updates), new_state

    gradient = [0.1 * value for value in parameters]
    return step, (parameters, optimizer.init(parameters), gradient)


@library_program("optax", bound=1e-3)
def optax_lbfgs() -> Workload:
    import optax

    matrix, target = normal(200, 40), normal(200, seed=1)

    def loss(x: Any) -> Any:
        return jnp.logaddexp(0.0, -target * (matrix @ x)).mean() + 1e-3 * (x**2).sum()

    solver = optax.lbfgs(memory_size=5)

    def solve(x: Any) -> Any:
        def advance(carry: Any, _: Any) -> Any:
            x, state = carry
            value, gradient = optax.value_and_grad_from_state(loss)(x, state=state)
            updates, state = solver.update(gradient, state, x, value=value, grad=gradient, value_fn=loss)
            return (optax.apply_updates(x, updates), state), value

        return jax.lax.scan(advance, (x, solver.init(x)), None, length=5)[1]

    return solve, (np.zeros(40, np.float32),)


@library_program("jaxopt", bound=1e-3)
def jaxopt_projected_gradient() -> Workload:
    import jaxopt

    matrix, target = normal(100, 30), normal(100, seed=1)

    def loss(x: Any) -> Any:
        return ((matrix @ x - target) ** 2).mean()

    solver = jaxopt.ProjectedGradient(
        loss, jaxopt.projection.projection_simplex, maxiter=30, tol=0.0, implicit_diff=False
    )
    return lambda x: solver.run(x).params, (np.full(30, 1 / 30, np.float32),)


@library_program("optimistix", bound=1e-6, x64=True)
def optimistix_levenberg_marquardt() -> Workload:
    import optimistix

    times = np.linspace(0, 3, 60)
    values = 2.0 * np.exp(-1.3 * times) + 0.01 * normal(60, dtype=np.float64)

    def residuals(x: Any, _: Any) -> Any:
        return x[0] * jnp.exp(-x[1] * times) - values

    solver = optimistix.LevenbergMarquardt(rtol=1e-8, atol=1e-8)

    def solve(start: Any) -> Any:
        return optimistix.least_squares(residuals, solver, start, max_steps=50, throw=False).value

    return solve, (np.array([1.0, 0.5]),)


@library_program("lineax", bound=1e-3)
def lineax_conjugate_gradients() -> Workload:
    import lineax

    factor = normal(64, 64)
    matrix = factor @ factor.T / 64 + np.eye(64, dtype=np.float32)

    def solve(matrix: Any, vectors: Any) -> Any:
        operator = lineax.MatrixLinearOperator(matrix, lineax.positive_semidefinite_tag)
        solver = lineax.CG(rtol=1e-5, atol=1e-5)

        def solve_one(vector: Any) -> Any:
            return lineax.linear_solve(operator, vector, solver, throw=False).value

        return jax.vmap(solve_one)(vectors)

    return solve, (matrix, normal(16, 64, seed=1))


@library_program("jaxopt", bound=1e-3)
def jaxopt_lbfgs_classifier() -> Workload:
    import jaxopt

    inputs, labels = normal(256, 20), integers(5, 256)

    def solve(start: Any, inputs: Any, labels: Any) -> Any:
        solver = jaxopt.LBFGS(
            jaxopt.objective.l2_multiclass_logreg, maxiter=10, tol=0.0, implicit_diff=False, jit=True
        )
        return solver.run(start, l2reg=0.1, data=(inputs, labels)).params

    return solve, (np.zeros((20, 5), np.float32), inputs, labels)


@library_program("optax", bound=1e-3, sizes=(2, 8, 64))
def optax_connectionist_gradient(batch: int) -> Workload:
    """The gradient of a connectionist temporal classification loss."""
    import optax

    frames, length, classes = 100, 20, 32
    labels = 1 + integers(classes - 1, batch, length)

    def loss(logits: Any, labels: Any) -> Any:
        unpadded = jnp.zeros((batch, frames)), jnp.zeros((batch, length))
        return optax.ctc_loss(logits, unpadded[0], labels, unpadded[1]).mean()

    return jax.value_and_grad(loss), (normal(batch, frames, classes), labels)
