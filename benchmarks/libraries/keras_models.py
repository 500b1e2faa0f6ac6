"""Networks of keras with JAX as its backend."""

from __future__ import annotations

import os
from typing import Any

import jax
import jax.numpy as jnp

from .declaration import Workload, integers, library_program, normal


@library_program("keras", bound=2e-3)
def keras_mobilenet_training() -> Workload:
    os.environ["KERAS_BACKEND"] = "jax"
    import keras

    keras.utils.set_random_seed(0)
    model = keras.applications.MobileNetV2((64, 64, 3), alpha=0.35, weights=None, classes=10)
    trainable = [variable.value for variable in model.trainable_variables]
    other = [variable.value for variable in model.non_trainable_variables]

    def step(trainable: Any, other: Any, images: Any, labels: Any) -> Any:
        def loss(trainable: Any) -> Any:
            probabilities, new_other = model.stateless_call(trainable, other, images, training=True)
            chosen = jnp.take_along_axis(probabilities, labels[:, None], axis=1)
            return -jnp.log(chosen + 1e-7).mean(), new_other

        (value, new_other), gradient = jax.value_and_grad(loss, has_aux=True)(trainable)
        updated = [old - 0.01 * change for old, change in zip(trainable, gradient, strict=True)]
        return value, updated, new_other

    return step, (trainable, other, normal(8, 64, 64, 3), integers(10, 8))


@library_program("keras", bound=1e-3)
def keras_recurrent_inference() -> Workload:
    os.environ["KERAS_BACKEND"] = "jax"
    import keras

    keras.utils.set_random_seed(0)
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Input((80,), dtype="int32"),
            layers.Embedding(500, 64),
            layers.Bidirectional(layers.LSTM(64, return_sequences=True)),
            layers.GlobalMaxPooling1D(),
            layers.Dense(5, activation="softmax"),
        ]
    )
    trainable = [variable.value for variable in model.trainable_variables]
    other = [variable.value for variable in model.non_trainable_variables]

    def infer(trainable: Any, other: Any, words: Any) -> Any:
        return model.stateless_call(trainable, other, words)[0]

    return infer, (trainable, other, integers(500, 16, 80))
