"""Networks of equinox, and the optimizers of optax on many arrays."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .declaration import Workload, integers, library_program, normal


@library_program("equinox", bound=1e-3)
def equinox_mixer_training() -> Workload:
    import equinox as eqx
    import optax

    class Block(eqx.Module):
        patches: eqx.nn.MLP
        channels: eqx.nn.MLP
        first: eqx.nn.LayerNorm
        second: eqx.nn.LayerNorm

        def __init__(self, count: int, width: int, key: Any) -> None:
            keys = jax.random.split(key)
            self.patches = eqx.nn.MLP(count, count, 128, 1, key=keys[0])
            self.channels = eqx.nn.MLP(width, width, 256, 1, key=keys[1])
            self.first = eqx.nn.LayerNorm((width, count))
            self.second = eqx.nn.LayerNorm((count, width))

        def __call__(self, x: Any) -> Any:
            x = x + jax.vmap(self.patches)(self.first(x))
            x = x.T
            return (x + jax.vmap(self.channels)(self.second(x))).T

    class Mixer(eqx.Module):
        embed: eqx.nn.Conv2d
        blocks: list[Block]
        head: eqx.nn.Linear

        def __init__(self, key: Any) -> None:
            first, last, *keys = jax.random.split(key, 6)
            self.embed = eqx.nn.Conv2d(1, 64, 4, 4, key=first)
            self.blocks = [Block(49, 64, one) for one in keys]
            self.head = eqx.nn.Linear(64, 10, key=last)

        def __call__(self, image: Any) -> Any:
            x = self.embed(image).reshape(64, -1)
            for block in self.blocks:
                x = block(x)
            return self.head(x.mean(axis=1))

    parameters, static = eqx.partition(Mixer(jax.random.key(0)), eqx.is_array)
    optimizer = optax.adam(1e-3)

    def step(parameters: Any, state: Any, images: Any, labels: Any) -> Any:
        def loss(parameters: Any) -> Any:
            logits = jax.vmap(eqx.combine(parameters, static))(images)
            return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

        value, gradient = jax.value_and_grad(loss)(parameters)
        updates, new_state = optimizer.update(gradient, state)
        return value, eqx.apply_updates(parameters, updates), new_state

    return step, (parameters, optimizer.init(parameters), normal(16, 1, 28, 28), integers(10, 16))


@library_program("equinox", bound=1e-3)
def equinox_recurrent_classifier() -> Workload:
    import equinox as eqx

    cell, head = (
        eqx.nn.GRUCell(8, 64, key=jax.random.key(0)),
        eqx.nn.Linear(64, 1, key=jax.random.key(1)),
    )

    def classify(sequences: Any) -> Any:
        def one(sequence: Any) -> Any:
            state = jax.lax.scan(lambda state, x: (cell(x, state), None), jnp.zeros(64), sequence)[0]
            return jax.nn.sigmoid(head(state))

        return jax.vmap(one)(sequences)

    return classify, (normal(32, 100, 8),)
