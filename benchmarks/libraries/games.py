"""Games and search: pgx, mctx, gymnax, jumanji."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .declaration import Workload, library_program, normal


def pgx_rollout(name: str, batch: int, moves: int, throws_dice: bool = False) -> Workload:
    """Random legal moves in a batch of games of pgx."""
    import pgx

    environment = pgx.make(name)
    keys = jax.random.split(jax.random.PRNGKey(0), batch)
    states = jax.jit(jax.vmap(environment.init))(keys)

    def roll(states: Any, key: Any) -> Any:
        def advance(states: Any, key: Any) -> Any:
            logits = jnp.where(states.legal_action_mask, 0.0, -1e9)
            actions = jax.random.categorical(key, logits, axis=-1)
            keys = (jax.random.split(key, batch),) if throws_dice else ()
            states = jax.vmap(environment.step)(states, actions, *keys)
            return states, states.rewards

        states, rewards = jax.lax.scan(advance, states, jax.random.split(key, moves))
        return rewards, states.terminated, states.legal_action_mask

    return roll, (states, jax.random.PRNGKey(1))


@library_program("pgx")
def pgx_go_rollout() -> Workload:
    return pgx_rollout("go_9x9", 8, 8)


@library_program("pgx")
def pgx_chess_rollout() -> Workload:
    return pgx_rollout("chess", 4, 4)


@library_program("pgx")
def pgx_connect_four_rollout() -> Workload:
    return pgx_rollout("connect_four", 64, 16)


def tree_search(
    search_policy: Callable[..., Any], batch: int, width: int, actions: int, simulations: int
) -> Workload:
    """A tree search by a policy of mctx, with a learned model of one layer."""
    import mctx

    policy, value, dynamics = normal(width, actions), normal(width), normal(width + actions, width, scale=0.2)

    def recurrent(parameters: Any, key: Any, action: Any, embedding: Any) -> Any:
        inputs = jnp.concatenate([embedding, jax.nn.one_hot(action, actions)], axis=-1)
        embedding = jnp.tanh(inputs @ dynamics)
        output = mctx.RecurrentFnOutput(
            reward=embedding[:, 0],
            discount=jnp.full(batch, 0.95),
            prior_logits=embedding @ policy,
            value=embedding @ value,
        )
        return output, embedding

    def search(key: Any, embedding: Any) -> Any:
        root = mctx.RootFnOutput(
            prior_logits=embedding @ policy, value=embedding @ value, embedding=embedding
        )
        output = search_policy((), key, root, recurrent, num_simulations=simulations)
        return output.action, output.action_weights

    return search, (jax.random.PRNGKey(0), normal(batch, width, seed=1))


def gumbel_search(batch: int, width: int, actions: int, simulations: int) -> Workload:
    """A tree search with Gumbel noise at the root."""
    import mctx

    return tree_search(mctx.gumbel_muzero_policy, batch, width, actions, simulations)


@library_program("mctx", bound=1e-3)
def mctx_search() -> Workload:
    return gumbel_search(16, width=32, actions=8, simulations=16)


@library_program("gymnax", bound=1e-3)
def gymnax_cartpole_rollout() -> Workload:
    import gymnax

    environment, parameters = gymnax.make("CartPole-v1")
    batch, steps = 256, 50

    def roll(key: Any) -> Any:
        observations, states = jax.vmap(environment.reset, in_axes=(0, None))(
            jax.random.split(key, batch), parameters
        )

        def advance(carry: Any, key: Any) -> Any:
            observations, states = carry
            actions = (observations.sum(axis=-1) > 0).astype(jnp.int32)
            observations, states, rewards, *_ = jax.vmap(environment.step, in_axes=(0, 0, 0, None))(
                jax.random.split(key, batch), states, actions, parameters
            )
            # Each step that is survived has the reward 1, which tells no wrong program.
            return (observations, states), (observations, rewards)

        return jax.lax.scan(advance, (observations, states), jax.random.split(key, steps))[1]

    return roll, (jax.random.PRNGKey(0),)


@library_program("jumanji", bound=1e-3)
def jumanji_2048_rollout() -> Workload:
    from jumanji.environments import Game2048

    environment = Game2048()
    batch = 32

    def roll(key: Any, actions: Any) -> Any:
        states, _ = jax.vmap(environment.reset)(jax.random.split(key, batch))

        def advance(states: Any, actions: Any) -> Any:
            states, step = jax.vmap(environment.step)(states, actions)
            return states, step.reward

        return jax.lax.scan(advance, states, actions)[1]

    return roll, (jax.random.PRNGKey(0), np.random.default_rng(0).integers(0, 4, (20, batch), np.int32))


@library_program("pgx", sizes=(16, 64, 512))
def pgx_backgammon_rollout(batch: int) -> Workload:
    return pgx_rollout("backgammon", batch, 8, throws_dice=True)


@library_program("mctx", bound=1e-3, sizes=(4, 16, 128))
def mctx_wide_search(batch: int) -> Workload:
    return gumbel_search(batch, width=64, actions=16, simulations=32)


@library_program("pgx", sizes=(16, 64, 512))
def pgx_go_batch(batch: int) -> Workload:
    return pgx_rollout("go_9x9", batch, 8)


@library_program("pgx", sizes=(64, 256, 2048))
def pgx_othello_batch(batch: int) -> Workload:
    return pgx_rollout("othello", batch, 8)


@library_program("pgx", sizes=(16, 64, 512))
def pgx_hex_batch(batch: int) -> Workload:
    return pgx_rollout("hex", batch, 8)


@library_program("pgx", sizes=(32, 128, 1024))
def pgx_play_2048_batch(batch: int) -> Workload:
    return pgx_rollout("2048", batch, 10, throws_dice=True)


@library_program("mctx", bound=1e-3, sizes=(4, 16, 128))
def mctx_puct_search(batch: int) -> Workload:
    import mctx

    return tree_search(mctx.muzero_policy, batch, width=32, actions=9, simulations=25)


@library_program("gymnax", bound=1e-3, sizes=(16, 64, 512))
def gymnax_breakout_rollout(batch: int) -> Workload:
    import gymnax

    environment, parameters = gymnax.make("Breakout-MinAtar")

    def roll(key: Any, actions: Any) -> Any:
        keys = jax.random.split(key, batch)
        _, states = jax.vmap(environment.reset, in_axes=(0, None))(keys, parameters)

        def advance(states: Any, inputs: Any) -> Any:
            key, taken = inputs
            observations, states, rewards, *_ = jax.vmap(environment.step, in_axes=(0, 0, 0, None))(
                jax.random.split(key, batch), states, taken, parameters
            )
            return states, (observations.sum(axis=(1, 2)), rewards)

        return jax.lax.scan(advance, states, (jax.random.split(key, 20), actions))[1]

    return roll, (jax.random.PRNGKey(0), np.random.default_rng(0).integers(0, 3, (20, batch), np.int32))


@library_program("jumanji", bound=1e-3, sizes=(8, 32, 256))
def jumanji_snake_rollout(batch: int) -> Workload:
    from jumanji.environments import Snake

    environment = Snake(num_rows=8, num_cols=8)

    def roll(key: Any, actions: Any) -> Any:
        states, _ = jax.vmap(environment.reset)(jax.random.split(key, batch))

        def advance(states: Any, actions: Any) -> Any:
            states, step = jax.vmap(environment.step)(states, actions)
            return states, (step.reward, step.observation.grid.sum(axis=(1, 2)))

        return jax.lax.scan(advance, states, actions)[1]

    return roll, (jax.random.PRNGKey(0), np.random.default_rng(0).integers(0, 4, (20, batch), np.int32))


@library_program("gymnax", bound=1e-3, sizes=(64, 256, 2048))
def gymnax_acrobot_rollout(batch: int) -> Workload:
    """Two linked pendulums, by the method of Runge and Kutta."""
    import gymnax

    environment, parameters = gymnax.make("Acrobot-v1")

    def roll(key: Any, actions: Any) -> Any:
        keys = jax.random.split(key, batch)
        _, states = jax.vmap(environment.reset, in_axes=(0, None))(keys, parameters)

        def advance(states: Any, inputs: Any) -> Any:
            key, taken = inputs
            observations, states, *_ = jax.vmap(environment.step, in_axes=(0, 0, 0, None))(
                jax.random.split(key, batch), states, taken, parameters
            )
            return states, observations

        return jax.lax.scan(advance, states, (jax.random.split(key, 10), actions))[1]

    return roll, (jax.random.PRNGKey(0), np.random.default_rng(0).integers(0, 3, (10, batch), np.int32))


@library_program("jumanji", bound=1e-3, sizes=(8, 32, 256))
def jumanji_cube_rollout(batch: int) -> Workload:
    """Turns of Rubik's cubes: the turn that is made is the branch of a switch."""
    from jumanji.environments import RubiksCube

    environment = RubiksCube()

    def roll(key: Any, actions: Any) -> Any:
        states, _ = jax.vmap(environment.reset)(jax.random.split(key, batch))

        def advance(states: Any, actions: Any) -> Any:
            states, step = jax.vmap(environment.step)(states, actions)
            return states, step.observation.cube

        return jax.lax.scan(advance, states, actions)[1]

    draw = np.random.default_rng(0)
    actions = np.stack([draw.integers(0, size, (10, batch)) for size in (6, 1, 3)], -1)
    return roll, (jax.random.PRNGKey(0), actions.astype(np.int32))


@library_program("jumanji", bound=1e-3, sizes=(8, 32, 256))
def jumanji_salesman_rollout(batch: int) -> Workload:
    from jumanji.environments import TSP

    environment = TSP()

    def roll(key: Any) -> Any:
        states, first = jax.vmap(environment.reset)(jax.random.split(key, batch))

        def advance(carry: Any, key: Any) -> Any:
            states, mask = carry
            actions = jax.random.categorical(key, jnp.where(mask, 0.0, -1e9), axis=-1)
            states, step = jax.vmap(environment.step)(states, actions)
            return (states, step.observation.action_mask), step.reward

        keys = jax.random.split(key, 10)
        return jax.lax.scan(advance, (states, first.observation.action_mask), keys)[1]

    return roll, (jax.random.PRNGKey(0),)


@library_program("mctx", bound=1e-3, sizes=(4, 16, 128))
def mctx_network_search(batch: int) -> Workload:
    """A search by a wider network, whose products take much of the time."""
    return gumbel_search(batch, width=256, actions=16, simulations=16)
