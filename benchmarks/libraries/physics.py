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
