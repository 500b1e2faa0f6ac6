"""Simulated physics: brax, mujoco-mjx, jax-md."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .declaration import Workload, library_program

WALKER = """
<mujoco>
  <option timestep="0.004" iterations="4" ls_iterations="6" solver="Newton"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="torso" pos="0 0 1.1"><freejoint/><geom type="capsule" fromto="0 -.07 0 0 .07 0" size=".07"/>
      <body pos="0 .1 -.2"><joint axis="0 1 0"/><joint axis="1 0 0"/>
        <geom type="capsule" fromto="0 0 0 0 .01 -.34" size=".06"/>
        <body pos="0 .01 -.4">
          <joint axis="0 -1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.3" size=".05"/>
        </body>
      </body>
      <body pos="0 -.1 -.2"><joint axis="0 1 0"/><joint axis="1 0 0"/>
        <geom type="capsule" fromto="0 0 0 0 -.01 -.34" size=".06"/>
        <body pos="0 -.01 -.4">
          <joint axis="0 -1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.3" size=".05"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
"""A walker with a torso and two legs."""


@library_program("mujoco-mjx", bound=1e-3)
def mjx_walker_step() -> Workload:
    import mujoco
    from mujoco import mjx

    model = mujoco.MjModel.from_xml_string(WALKER)
    compiled = mjx.put_model(model)
    state = mjx.make_data(model)
    leaves, structure = jax.tree.flatten(state)

    def step(*leaves: Any) -> Any:
        return mjx.step(compiled, jax.tree.unflatten(structure, leaves)).qpos

    return step, tuple(leaves)


@library_program("brax", bound=1e-3)
def brax_ant_step() -> Workload:
    from brax import envs

    environment = envs.get_environment("ant", backend="positional")
    state = jax.jit(environment.reset)(jax.random.PRNGKey(0))

    def step(state: Any, action: Any) -> Any:
        after = environment.step(state, action)
        return after.obs, after.reward

    return step, (state, np.full(environment.action_size, 0.1, np.float32))


@library_program("brax", bound=1e-3)
def brax_batch_step() -> Workload:
    from brax import envs

    environment = envs.get_environment("reacher", backend="generalized")
    keys = jax.random.split(jax.random.PRNGKey(0), 64)
    states = jax.jit(jax.vmap(environment.reset))(keys)

    def step(states: Any, actions: Any) -> Any:
        after = jax.vmap(environment.step)(states, actions)
        return after.obs, after.reward

    return step, (states, np.full((64, environment.action_size), 0.1, np.float32))


@library_program("jax-md", bound=1e-3)
def jax_md_lennard_jones_step() -> Workload:
    from jax_md import energy, simulate, space

    box = 9.0
    displacement, shift = space.periodic(box)
    potential = energy.lennard_jones_pair(displacement)
    initialize, apply = simulate.nve(potential, shift, 1e-3)
    grid = np.stack(np.meshgrid(*[np.arange(6) * 1.5] * 3), -1).reshape(-1, 3)
    state = initialize(jax.random.PRNGKey(0), jnp.asarray(grid, jnp.float32), kT=0.5)

    def step(state: Any) -> Any:
        return jax.lax.fori_loop(0, 5, lambda _, state: apply(state), state)

    return step, (state,)


@library_program("brax", bound=1e-3, sizes=(4, 16, 128))
def brax_cheetah_batch(batch: int) -> Workload:
    """A batch of planar runners that collide with the ground, by springs."""
    from brax import envs

    environment = envs.get_environment("halfcheetah", backend="spring")
    states = jax.jit(jax.vmap(environment.reset))(jax.random.split(jax.random.PRNGKey(0), batch))

    def step(states: Any, actions: Any) -> Any:
        after = jax.vmap(environment.step)(states, actions)
        return after.obs, after.reward

    return step, (states, np.full((batch, environment.action_size), 0.1, np.float32))


PENDULUM = """
<mujoco>
  <option timestep="0.01" solver="CG" iterations="5"/>
  <worldbody>
    <body pos="0 0 2">
      <joint axis="0 1 0" damping="0.1"/><geom type="capsule" fromto="0 0 0 0 0 -.5" size=".04"/>
      <body pos="0 0 -.5">
        <joint axis="0 1 0" damping="0.1" range="-60 60" limited="true"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.5" size=".04"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
"""A pendulum of two limbs, the second of which has a limit."""


@library_program("mujoco-mjx", bound=1e-3, sizes=(4, 16, 128))
def mjx_pendulum_batch(batch: int) -> Workload:
    import mujoco
    from mujoco import mjx

    model = mujoco.MjModel.from_xml_string(PENDULUM)
    compiled = mjx.put_model(model)
    state = mjx.make_data(model)

    def roll(positions: Any) -> Any:
        def simulate(position: Any) -> Any:
            def advance(state: Any, _: Any) -> Any:
                state = mjx.step(compiled, state)
                return state, state.qpos

            return jax.lax.scan(advance, state.replace(qpos=position), None, length=5)[1]

        return jax.vmap(simulate)(positions)

    return roll, (0.5 + np.random.default_rng(0).random((batch, 2), np.float32),)


@library_program("jax-md", bound=1e-3, sizes=(3, 6, 12))
def jax_md_soft_spheres(side: int) -> Workload:
    """Steps in contact with a heat bath; pairs come from a list of neighbours, which is updated once."""
    from jax_md import energy, partition, simulate, space

    box = 1.5 * side
    displacement, shift = space.periodic(box)
    neighbours, potential = energy.soft_sphere_neighbor_list(
        displacement, box, sigma=1.2, dr_threshold=0.3, format=partition.OrderedSparse
    )
    initialize, apply = simulate.nvt_nose_hoover(potential, shift, 1e-3, kT=0.2)
    grid = np.stack(np.meshgrid(*[np.arange(side) * 1.5] * 3), -1).reshape(-1, 3)
    positions = jnp.asarray(grid + 0.2 * np.random.default_rng(0).random(grid.shape), jnp.float32)
    found = neighbours.allocate(positions)
    state = initialize(jax.random.PRNGKey(0), positions, neighbor=found)

    def step(state: Any, found: Any) -> Any:
        found = found.update(state.position)
        state = jax.lax.fori_loop(0, 5, lambda _, state: apply(state, neighbor=found), state)
        return state.position, state.momentum

    return step, (state, found)
