"""Losses of reinforcement learning: rlax."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .declaration import Workload, integers, library_program, normal


@library_program("rlax", bound=1e-3, sizes=(8, 32, 256))
def rlax_impala_gradient(batch: int) -> Workload:
    """The gradient of IMPALA's loss for trajectories that another policy has taken."""
    import rlax

    steps, actions = 20, 9

    def loss(outputs: Any, behaviour: Any, taken: Any, rewards: Any, discounts: Any) -> Any:
        logits, values = outputs
        log_ratios = rlax.categorical_importance_sampling_ratios(logits[:-1], behaviour[:-1], taken)
        estimated = rlax.vtrace_td_error_and_advantage(
            values[:-1], values[1:], rewards, discounts, log_ratios
        )
        policy = rlax.policy_gradient_loss(logits[:-1], taken, estimated.pg_advantage, jnp.ones(steps))
        entropy = rlax.entropy_loss(logits[:-1], jnp.ones(steps))
        return policy + 0.5 * (estimated.errors**2).mean() + 0.01 * entropy

    def gradient(outputs: Any, *others: Any) -> Any:
        return jax.value_and_grad(lambda outputs: jax.vmap(loss)(outputs, *others).mean())(outputs)

    outputs = normal(batch, steps + 1, actions), normal(batch, steps + 1, seed=1)
    return gradient, (
        outputs,
        normal(batch, steps + 1, actions, seed=2),
        integers(actions, batch, steps),
        normal(batch, steps, seed=3),
        np.full((batch, steps), 0.99, np.float32),
    )


@library_program("rlax", bound=1e-3, sizes=(16, 64, 512))
def rlax_proximal_gradient(batch: int) -> Workload:
    """The gradient of a clipped loss (PPO) with generalized advantages, by a network of two layers."""
    import rlax

    steps, features, width, actions = 64, 8, 64, 4
    parameters = {
        "hidden": normal(features, width, scale=0.3),
        "policy": normal(width, actions, scale=0.1),
        "value": normal(width, 1, scale=0.1),
    }

    def loss(parameters: Any, observed: Any, taken: Any, old: Any, rewards: Any) -> Any:
        hidden = jnp.tanh(observed @ parameters["hidden"])
        logits, values = hidden @ parameters["policy"], (hidden @ parameters["value"])[..., 0]
        advantages = jax.vmap(rlax.truncated_generalized_advantage_estimation, in_axes=(0, 0, None, 0))(
            rewards, jnp.full(rewards.shape, 0.99), 0.95, values
        )
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits[:, :-1]), taken[..., None], axis=-1)[..., 0]
        ratios = jnp.exp(chosen - old)
        clipped = jax.vmap(lambda ratio, advantage: rlax.clipped_surrogate_pg_loss(ratio, advantage, 0.2))
        returns = jax.lax.stop_gradient(advantages + values[:, :-1])
        return clipped(ratios, advantages).mean() + ((values[:, :-1] - returns) ** 2).mean()

    return jax.value_and_grad(loss), (
        parameters,
        normal(batch, steps + 1, features),
        integers(actions, batch, steps),
        normal(batch, steps, seed=1, scale=0.1) - np.float32(np.log(actions)),
        normal(batch, steps, seed=2),
    )


@library_program("rlax", bound=1e-3, sizes=(8, 32, 256))
def rlax_retrace_gradient(batch: int) -> Workload:
    import rlax

    steps, actions = 16, 6

    def loss(values: Any, target: Any, taken: Any, rewards: Any, policy: Any, probabilities: Any) -> Any:
        discounts = jnp.full(steps, 0.99)
        errors = rlax.retrace(
            values[:-1], target[1:], taken[:-1], taken[1:], rewards, discounts, policy[1:], probabilities, 0.9
        )
        return (errors**2).mean()

    def gradient(values: Any, *others: Any) -> Any:
        return jax.value_and_grad(lambda values: jax.vmap(loss)(values, *others).mean())(values)

    uniform = np.random.default_rng(0).uniform(0.1, 1.0, (batch, steps + 1, actions)).astype(np.float32)
    policy = uniform / uniform.sum(axis=-1, keepdims=True)
    return gradient, (
        normal(batch, steps + 1, actions),
        normal(batch, steps + 1, actions, seed=1),
        integers(actions, batch, steps + 1),
        normal(batch, steps, seed=2),
        policy,
        uniform[:, 1:, 0],
    )
