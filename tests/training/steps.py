"""Training steps of models of many parameters: loss, gradients, and Adam's update of each parameter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from . import layers
from .layers import Array, RepeatedSubgraph


class TrainingStep(NamedTuple):
    """A training step.

    Attributes:
        function: from parameters, two moments of each, the number of the step, inputs and targets to the
            loss, the new parameters and the new moments.
        arguments: what it is called with.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def lowered(self) -> Any:
        """The lowered function."""
        return jax.jit(self.function, keep_unused=True).lower(*self.arguments)

    def inputs(self) -> list[Array]:
        """The arguments' leaves in the order of the lowered program's arguments."""
        return [np.asarray(leaf) for leaf in jax.tree.leaves(self.arguments)]

    def expected(self) -> list[Array]:
        """XLA:CPU's results."""
        return [np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(self.function)(*self.arguments))]


def training_step(
    rng: np.random.Generator,
    model: Sequence[RepeatedSubgraph],
    inputs: Array,
    *,
    clips: bool = False,
    loss: Callable[[Any, Any], Any] | None = None,
) -> TrainingStep:
    """The training step of layers that are applied in sequence.

    Args:
        clips: whether gradients are scaled by the norm of all of them together.
        loss: of the last layer's result and the targets; None: the mean square of their difference.
    """
    counts = [len(layer.parameters) for layer in model]

    def forward(parameters: Sequence[Any], x: Any) -> Any:
        first = 0
        for layer, count in zip(model, counts, strict=True):
            x = layer.apply(*parameters[first : first + count], x)
            first += count
        return x

    def loss_of(parameters: Sequence[Any], x: Any, targets: Any) -> Any:
        result = forward(parameters, x)
        return jnp.square(result - targets).mean() if loss is None else loss(result, targets)

    def step(parameters: Any, means: Any, squares: Any, number: Any, x: Any, targets: Any) -> Any:
        value, gradients = jax.value_and_grad(loss_of)(parameters, x, targets)
        if clips:
            norm = jnp.sqrt(sum(jnp.sum(jnp.square(one)) for one in gradients))
            gradients = [one * jnp.minimum(1.0, 0.5 / (norm + 1e-6)) for one in gradients]
        return value, *adam(parameters, means, squares, gradients, number)

    parameters = [one for layer in model for one in layer.parameters]
    targets = rng.standard_normal(jax.eval_shape(forward, parameters, inputs).shape).astype(np.float32)
    means = [0.01 * rng.standard_normal(one.shape).astype(np.float32) for one in parameters]
    squares = [rng.uniform(0.01, 0.1, one.shape).astype(np.float32) for one in parameters]
    return TrainingStep(step, (parameters, means, squares, np.float32(3), inputs, targets))


def adam(
    parameters: Sequence[Any],
    means: Sequence[Any],
    squares: Sequence[Any],
    gradients: Sequence[Any],
    number: Any,
) -> tuple[list[Any], list[Any], list[Any]]:
    """Adam's update of each parameter: the new parameters, means and squares."""
    new_means = [0.9 * m + 0.1 * g for m, g in zip(means, gradients, strict=True)]
    new_squares = [0.999 * v + 0.001 * g * g for v, g in zip(squares, gradients, strict=True)]
    first, second = 1 - 0.9**number, 1 - 0.999**number
    new_parameters = [
        p - 0.01 * (m / first) / (jnp.sqrt(v / second) + 1e-8)
        for p, m, v in zip(parameters, new_means, new_squares, strict=True)
    ]
    return new_parameters, new_means, new_squares


def vision_transformer(count: int, rng: np.random.Generator, size: int = 16) -> TrainingStep:
    """A vision transformer of about so many parameters, 16 for each block."""
    blocks = max(1, round((count - 2) / 16))
    model = [layers.dense(rng, size, lambda x: x)]
    for _ in range(blocks):
        model += [layers.normalization(rng, size), layers.attention(rng, size, 2)]
        model += [layers.normalization(rng, size), layers.mlp(rng, size, 2 * size)]
    images = rng.standard_normal((2, 9, size)).astype(np.float32)
    return training_step(rng, model, images, clips=True)


def convolutional_network(count: int, rng: np.random.Generator, channels: int = 4) -> TrainingStep:
    """A network of about so many parameters, three for each convolution."""
    model = [layers.convolution(rng, channels) for _ in range(max(1, round(count / 3)))]
    return training_step(rng, model, rng.standard_normal((2, 6, 6, channels)).astype(np.float32))


def small_arrays(count: int, rng: np.random.Generator) -> TrainingStep:
    """A list of so many small arrays of many shapes, each with a term of the loss."""
    shapes = [(), (1,), (3,), (8,), (17,), (4, 5), (2, 3, 4), (33, 2)]
    parameters = [
        0.5 * np.asarray(rng.standard_normal(shapes[rng.integers(len(shapes))]), np.float32)
        for _ in range(count)
    ]

    def apply(*values: Any) -> Any:
        *arrays, x = values
        terms = [jnp.sum(jnp.sin(one) * x[number % x.size]) for number, one in enumerate(arrays)]
        return jnp.stack(terms) / np.float32(math.sqrt(count))

    inputs = rng.standard_normal(13).astype(np.float32)
    return training_step(rng, [RepeatedSubgraph(parameters, apply)], inputs, clips=True)


MODELS: dict[str, Callable[[int, np.random.Generator], TrainingStep]] = {
    "vision transformer": vision_transformer,
    "convolutional network": convolutional_network,
    "small arrays": small_arrays,
}


def random_step(seed: int, count: int) -> TrainingStep:
    """The training step of layers that are drawn, with about so many parameters."""
    rng = np.random.default_rng(seed)
    batch, length = int(rng.choice([1, 2, 3, 8])), int(rng.choice([4, 7, 8, 16, 33]))
    size = int(rng.choice([4, 8, 16, 24, 32, 64]))
    if rng.random() < 0.25:
        # Fusions take moves of 2^15 elements and more.
        batch, length, size = int(rng.choice([16, 64])), int(rng.choice([33, 49])), int(rng.choice([32, 64]))
    makers: list[Callable[[], RepeatedSubgraph]] = [
        lambda: layers.dense(rng, size),
        lambda: layers.normalization(rng, size),
        lambda: layers.attention(rng, size, 2),
        lambda: layers.mlp(rng, size, int(rng.choice([size, 2 * size, 48]))),
        lambda: layers.mixing(rng, length, int(rng.choice([length, 16, 64]))),
        lambda: layers.whole_normalization(rng, length, size),
        lambda: layers.recurrence(rng, size),
        lambda: layers.embedding(rng, 11, size),
        lambda: layers.gate(rng, size),
    ]
    model: list[RepeatedSubgraph] = []
    while sum(len(layer.parameters) for layer in model) < count:
        # Layers come as equal blocks of some, as in real models.
        block = rng.choice(len(makers), int(rng.integers(1, 5)))
        for _ in range(int(rng.choice([1, 2, 4, 8]))):
            for number in block:
                model += [makers[number](), layers.normalization(rng, size)]
            if sum(len(layer.parameters) for layer in model) >= count:
                break
    inputs = rng.standard_normal((batch, length, size)).astype(np.float32)
    return training_step(rng, model, inputs, clips=bool(rng.integers(2)))
