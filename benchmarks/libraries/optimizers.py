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


@library_program("optimistix", bound=1e-5, x64=True, sizes=(24, 96, 768))
def optimistix_newton_cholesky(variables: int) -> Workload:
    """The root of the gradient of a regularized logistic regression, by Newton's method."""
    import lineax
    import optimistix

    inputs = normal(2 * variables, variables, scale=variables**-0.5, dtype=np.float64)
    labels = np.where(inputs[:, 0] + inputs[:, 1] > 0, 1.0, -1.0)

    def gradient(x: Any, inputs: Any) -> Any:
        return jax.grad(lambda x: jnp.logaddexp(0.0, -labels * (inputs @ x)).sum() + 0.5 * (x**2).sum())(x)

    solver = optimistix.Newton(rtol=1e-8, atol=1e-8, linear_solver=lineax.LU())

    def solve(start: Any, inputs: Any) -> Any:
        return optimistix.root_find(gradient, solver, start, args=inputs, max_steps=20, throw=False).value

    return solve, (np.zeros(variables), inputs)


@library_program("optimistix", bound=1e-3, sizes=(8, 32, 256))
def optimistix_quasi_newton_batch(batch: int) -> Workload:
    """Minima of Rosenbrock's function from several starts."""
    import optimistix

    def rosenbrock(x: Any, _: Any) -> Any:
        return ((1 - x[:-1]) ** 2 + 5 * (x[1:] - x[:-1] ** 2) ** 2).sum()

    solver = optimistix.BFGS(rtol=1e-3, atol=1e-3)

    def solve(start: Any) -> Any:
        return optimistix.minimise(rosenbrock, solver, start, max_steps=15, throw=False).value

    return jax.vmap(solve), (normal(batch, 6, scale=0.3),)


@library_program("lineax", bound=1e-3, sizes=(16, 64, 512))
def lineax_minimal_residuals(size: int) -> Workload:
    import lineax

    matrix = np.eye(size, dtype=np.float32) + normal(size, size, scale=0.3 * size**-0.5)

    def solve(matrix: Any, vector: Any) -> Any:
        operator = lineax.MatrixLinearOperator(matrix)
        return lineax.linear_solve(operator, vector, lineax.GMRES(1e-4, 1e-4, restart=10), throw=False).value

    return solve, (matrix, normal(size, seed=1))


@library_program("lineax", bound=1e-8, x64=True, sizes=(8, 32, 256))
def lineax_tridiagonal_batch(batch: int) -> Workload:
    import lineax

    size = 64

    def solve(diagonal: Any, lower: Any, upper: Any, vector: Any) -> Any:
        operator = lineax.TridiagonalLinearOperator(diagonal, lower, upper)
        return lineax.linear_solve(operator, vector, lineax.Tridiagonal()).value

    return jax.vmap(solve), (
        4 + normal(batch, size, scale=0.1, dtype=np.float64),
        normal(batch, size - 1, seed=1, dtype=np.float64),
        normal(batch, size - 1, seed=2, dtype=np.float64),
        normal(batch, size, seed=3, dtype=np.float64),
    )


@library_program("jaxopt", bound=1e-3, sizes=(25, 100, 800))
def jaxopt_lasso(features: int) -> Workload:
    import jaxopt

    matrix, target = normal(2 * features, features, scale=features**-0.5), normal(2 * features, seed=1)
    solver = jaxopt.ProximalGradient(
        jaxopt.objective.least_squares, jaxopt.prox.prox_lasso, maxiter=50, tol=0.0, implicit_diff=False
    )

    def solve(start: Any, matrix: Any, target: Any) -> Any:
        return solver.run(start, hyperparams_prox=1e-3, data=(matrix, target)).params

    return solve, (np.zeros(features, np.float32), matrix, target)


@library_program("jaxopt", bound=1e-3, sizes=(10, 40, 320))
def jaxopt_quadratic_program(variables: int) -> Workload:
    """A quadratic program with bounds, by operator splitting."""
    import jaxopt

    factor = normal(variables, variables, scale=variables**-0.5)
    matrix, costs = factor @ factor.T + np.eye(variables, dtype=np.float32), normal(variables, seed=1)
    solver = jaxopt.BoxOSQP(maxiter=40, tol=0.0, implicit_diff=False, jit=True)

    def solve(matrix: Any, costs: Any) -> Any:
        bounds = -0.3 * jnp.ones(variables), 0.3 * jnp.ones(variables)
        return solver.run(None, (matrix, costs), jnp.eye(variables), bounds).params.primal[0]

    return solve, (matrix, costs)


@library_program("jaxopt", bound=1e-3, sizes=(8, 32, 256))
def jaxopt_curve_fits(batch: int) -> Workload:
    """Curves with three parameters each, fitted to points by the method of Levenberg and Marquardt."""
    import jaxopt

    times = np.linspace(0, 3, 40, dtype=np.float32)

    def residuals(x: Any, values: Any) -> Any:
        return x[0] * jnp.exp(-x[1] * times) + x[2] - values

    solver = jaxopt.LevenbergMarquardt(residuals, maxiter=10, tol=1e-6, implicit_diff=False, jit=True)
    curves = 2.0 * np.exp(-1.3 * times) + normal(batch, 40, scale=0.05)

    def fit(values: Any) -> Any:
        return jax.vmap(lambda values: solver.run(jnp.array([1.0, 0.5, 0.0]), values).params)(values)

    return fit, (curves,)


@library_program("optax", bound=1e-3, sizes=(16, 64, 512))
def optax_muon_step(width: int) -> Workload:
    """A step by orthogonalized gradients of matrices."""
    import optax

    parameters = {f"layer_{index}": normal(width, 2 * width, seed=index) for index in range(4)}
    gradient = {name: normal(width, 2 * width, seed=10 + index) for index, name in enumerate(parameters)}
    optimizer = optax.contrib.muon(1e-2)

    def step(parameters: Any, state: Any, gradient: Any) -> Any:
        updates, new_state = optimizer.update(gradient, state, parameters)
        return optax.apply_updates(parameters, updates), new_state

    return step, (parameters, optimizer.init(parameters), gradient)


@library_program("jaxopt", bound=1e-3, sizes=(16, 64, 512))
def jaxopt_anderson_equilibrium(width: int) -> Workload:
    """The equilibrium of a layer, by a fixed-point iteration that is accelerated by least squares."""
    import jaxopt

    def layer(state: Any, weights: Any, shift: Any) -> Any:
        return jnp.tanh(weights @ state + shift)

    solver = jaxopt.AndersonAcceleration(
        layer, history_size=4, maxiter=20, tol=0.0, implicit_diff=False, jit=True
    )

    def solve(weights: Any, shift: Any) -> Any:
        return solver.run(jnp.zeros(width), weights, shift).params

    return solve, (normal(width, width, scale=0.8 * width**-0.5), normal(width, seed=1))


@library_program("optimistix", bound=1e-5, x64=True, sizes=(8, 32, 256))
def optimistix_dogleg_batch(batch: int) -> Workload:
    """Curves fitted to points with a trust region."""
    import optimistix

    times = np.linspace(0, 3, 30)
    curves = 2.0 * np.exp(-1.3 * times) + 0.05 * normal(batch, 30, dtype=np.float64)

    def residuals(x: Any, values: Any) -> Any:
        return x[0] * jnp.exp(-x[1] * times) + x[2] - values

    solver = optimistix.Dogleg(rtol=1e-6, atol=1e-6)

    def fit(values: Any) -> Any:
        start = jnp.array([1.0, 0.5, 0.0])
        options = {"args": values, "max_steps": 20, "throw": False}
        return optimistix.least_squares(residuals, solver, start, **options).value

    return jax.vmap(fit), (curves,)


@library_program("lineax", bound=1e-8, x64=True, sizes=(8, 32, 256))
def lineax_least_squares_batch(batch: int) -> Workload:
    """Small least squares by QR factors."""
    import lineax

    def solve(matrix: Any, vector: Any) -> Any:
        operator = lineax.MatrixLinearOperator(matrix)
        return lineax.linear_solve(operator, vector, lineax.QR()).value

    matrices = normal(batch, 12, 5, dtype=np.float64)
    return jax.vmap(solve), (matrices, normal(batch, 12, seed=1, dtype=np.float64))
