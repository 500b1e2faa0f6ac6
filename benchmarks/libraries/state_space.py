"""State-space models and signals: dynamax, s2fft."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .declaration import Workload, library_program, normal


@library_program("dynamax", bound=1e-3)
def dynamax_kalman_smoother() -> Workload:
    from dynamax.linear_gaussian_ssm import LinearGaussianSSM

    model = LinearGaussianSSM(state_dim=4, emission_dim=6)
    parameters, _ = model.initialize(jax.random.PRNGKey(0))
    return lambda parameters, values: model.smoother(parameters, values).smoothed_means, (
        parameters,
        normal(100, 6),
    )


@library_program("dynamax", bound=1e-3)
def dynamax_hidden_markov_likelihood() -> Workload:
    from dynamax.hidden_markov_model import GaussianHMM

    model = GaussianHMM(num_states=5, emission_dim=3)
    parameters, _ = model.initialize(jax.random.PRNGKey(0))

    def gradient(parameters: Any, values: Any) -> Any:
        return jax.value_and_grad(model.marginal_log_prob)(parameters, values)

    return gradient, (parameters, normal(200, 3))


@library_program("s2fft", bound=1e-9, x64=True)
def s2fft_inverse_transform() -> Workload:
    import s2fft

    bandlimit = 24
    coefficients = np.zeros((bandlimit, 2 * bandlimit - 1), np.complex128)
    generator = np.random.default_rng(0)
    for degree in range(bandlimit):
        columns = slice(bandlimit - 1 - degree, bandlimit + degree)
        values = generator.standard_normal((2, 2 * degree + 1))
        coefficients[degree, columns] = values[0] + 1j * values[1]

    def transform(coefficients: Any) -> Any:
        return s2fft.inverse_jax(coefficients, bandlimit, sampling="dh", precomps=None)

    return transform, (coefficients,)


@library_program("dynamax", bound=1e-3, sizes=(16, 64, 512))
def dynamax_most_likely_states(states: int) -> Workload:
    """The most likely path of a hidden Markov model by Viterbi's algorithm."""
    from dynamax.hidden_markov_model import hmm_posterior_mode

    def path(initial: Any, transitions: Any, likelihoods: Any) -> Any:
        return hmm_posterior_mode(jax.nn.softmax(initial), jax.nn.softmax(transitions), likelihoods)

    return path, (normal(states), normal(states, states, seed=1), normal(100, states, seed=2))


@library_program("dynamax", bound=1e-3, sizes=(25, 100, 800))
def dynamax_kalman_gradient(observations: int) -> Workload:
    from dynamax.linear_gaussian_ssm import LinearGaussianSSM

    model = LinearGaussianSSM(state_dim=6, emission_dim=3)
    parameters, _ = model.initialize(jax.random.PRNGKey(0))
    return jax.value_and_grad(model.marginal_log_prob), (parameters, normal(observations, 3))


@library_program("dynamax", bound=1e-3, sizes=(4, 16, 128))
def dynamax_expectations(states: int) -> Workload:
    """One step of the estimation of a hidden Markov model: its forward and backward passes, and counts."""
    from dynamax.hidden_markov_model import CategoricalHMM

    model = CategoricalHMM(states, emission_dim=1, num_classes=12)
    parameters, _ = model.initialize(jax.random.PRNGKey(0))
    values = np.random.default_rng(0).integers(0, 12, (100, 1), np.int32)

    def step(parameters: Any, values: Any) -> Any:
        statistics, likelihood = model.e_step(parameters, values)
        return statistics, likelihood

    return step, (parameters, values)


@library_program("dynamax", bound=1e-3, sizes=(25, 100, 800))
def dynamax_pendulum_smoother(observations: int) -> Workload:
    """The extended Kalman smoother of a pendulum of which the sine of the angle is measured."""
    from dynamax.nonlinear_gaussian_ssm import ParamsNLGSSM, extended_kalman_smoother

    def smoothed(covariance: Any, values: Any) -> Any:
        model = ParamsNLGSSM(
            initial_mean=jnp.array([0.5, 0.0]),
            initial_covariance=0.1 * jnp.eye(2),
            dynamics_function=lambda x: jnp.array([x[0] + 0.05 * x[1], x[1] - 0.49 * jnp.sin(x[0])]),
            dynamics_covariance=covariance,
            emission_function=lambda x: jnp.sin(x[:1]),
            emission_covariance=0.1 * jnp.eye(1),
        )
        posterior = extended_kalman_smoother(model, values)
        return posterior.smoothed_means, posterior.smoothed_covariances

    return smoothed, (0.01 * np.eye(2, dtype=np.float32), normal(observations, 1, scale=0.5))
