"""Networks of haiku."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .declaration import Workload, integers, library_program, normal

LOGITS_SCALE = 0.01
"""Standard deviation of the last layer's parameters.

haiku starts them at zero: all logits, and the gradients of all other layers, would be zero, and a comparison
of them could not fail.
"""


def logits_of_random_parameters() -> dict[str, Any]:
    """What haiku's networks take to start their last layer at random numbers."""
    import haiku as hk

    return {"w_init": hk.initializers.RandomNormal(LOGITS_SCALE)}


@library_program("dm-haiku", bound=2e-3)
def haiku_resnet_training() -> Workload:
    import haiku as hk
    import optax

    def network(images: Any) -> Any:
        last = logits_of_random_parameters()
        return hk.nets.ResNet18(10, resnet_v2=True, logits_config=last)(images, is_training=True)

    model = hk.transform_with_state(network)
    images, labels = normal(4, 64, 64, 3), integers(10, 4)
    parameters, state = model.init(jax.random.key(0), images)
    optimizer = optax.sgd(1e-2, momentum=0.9)

    def step(parameters: Any, state: Any, momentum: Any, images: Any, labels: Any) -> Any:
        def loss(parameters: Any) -> Any:
            logits, new_state = model.apply(parameters, state, None, images)
            return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), new_state

        (value, new_state), gradient = jax.value_and_grad(loss, has_aux=True)(parameters)
        updates, momentum = optimizer.update(gradient, momentum)
        return value, optax.apply_updates(parameters, updates), new_state, momentum

    return step, (parameters, state, optimizer.init(parameters), images, labels)


@library_program("dm-haiku", bound=1e-3)
def haiku_resnet50_inference() -> Workload:
    import haiku as hk

    def network(images: Any, is_training: bool = False) -> Any:
        return hk.nets.ResNet50(1000, logits_config=logits_of_random_parameters())(images, is_training)

    model = hk.transform_with_state(network)
    images = normal(1, 224, 224, 3)
    parameters, state = model.init(jax.random.key(0), images, is_training=True)

    def infer(parameters: Any, state: Any, images: Any) -> Any:
        return model.apply(parameters, state, None, images)[0]

    return infer, (parameters, state, images)


@library_program("dm-haiku", bound=1e-3)
def haiku_recurrent_training() -> Workload:
    import haiku as hk

    def network(words: Any) -> Any:
        core = hk.DeepRNN([hk.Embed(96, 64), hk.GRU(128), jax.nn.relu, hk.GRU(128), hk.Linear(96)])
        return hk.dynamic_unroll(core, words, core.initial_state(words.shape[1]))[0]

    model = hk.without_apply_rng(hk.transform(network))
    words = integers(96, 40, 16)
    parameters = model.init(jax.random.key(0), words)

    def step(parameters: Any, words: Any) -> Any:
        def loss(parameters: Any) -> Any:
            scores = jax.nn.log_softmax(model.apply(parameters, words[:-1]))
            return -jnp.take_along_axis(scores, words[1:, :, None], axis=-1).mean()

        gradient = jax.grad(loss)(parameters)
        return jax.tree.map(lambda value, change: value - 0.1 * change, parameters, gradient)

    return step, (parameters, words)


@library_program("dm-haiku", bound=1e-3, sizes=(8, 32, 256))
def haiku_memory_gradient(batch: int) -> Workload:
    """The gradient of a long short-term memory with one layer."""
    import haiku as hk

    def network(values: Any) -> Any:
        core = hk.LSTM(96)
        return hk.dynamic_unroll(core, values, core.initial_state(values.shape[1]))[0]

    model = hk.without_apply_rng(hk.transform(network))
    values = normal(32, batch, 24)
    parameters = model.init(jax.random.key(0), values)
    return jax.value_and_grad(lambda p, values: (model.apply(p, values) ** 2).mean()), (parameters, values)
