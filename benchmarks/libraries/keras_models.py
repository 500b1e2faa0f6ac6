"""Networks of keras with JAX as its backend."""

from __future__ import annotations

import os
from collections.abc import Sequence
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


def inference(model: Any, *inputs: Any) -> Workload:
    """The call of a model in inference, with its variables as arguments."""
    trainable = [variable.value for variable in model.trainable_variables]
    other = [variable.value for variable in model.non_trainable_variables]

    def infer(trainable: Any, other: Any, *inputs: Any) -> Any:
        return model.stateless_call(trainable, other, list(inputs), training=False)[0]

    return infer, (trainable, other, *inputs)


def mobilenet() -> Any:
    """MobileNetV2, whose results are logits."""
    os.environ["KERAS_BACKEND"] = "jax"
    import keras

    keras.utils.set_random_seed(0)
    return keras.applications.MobileNetV2((224, 224, 3), weights=None, classifier_activation=None)


@library_program("keras", bound=1e-3)
def keras_mobilenet_inference() -> Workload:
    return inference(mobilenet(), normal(1, 224, 224, 3))


def diffusion_network(widths: Sequence[int] = (64, 128, 256), blocks: int = 2) -> Any:
    """The U-Net of a diffusion model: images of 64 x 64 with four channels, and the embedding of a time.

    Args:
        widths: the channels of each level, from the first to the lowest, which has attention.
        blocks: residual blocks of a level.
    """
    os.environ["KERAS_BACKEND"] = "jax"
    import keras

    keras.utils.set_random_seed(0)
    layers = keras.layers

    def normalized(x: Any) -> Any:
        return layers.Activation("silu")(layers.GroupNormalization(32)(x))

    def residual(x: Any, embedding: Any, width: int) -> Any:
        inner = layers.Conv2D(width, 3, padding="same")(normalized(x))
        inner = layers.Add()([inner, layers.Reshape((1, 1, width))(layers.Dense(width)(embedding))])
        inner = layers.Conv2D(width, 3, padding="same")(normalized(inner))
        shortcut = x if x.shape[-1] == width else layers.Conv2D(width, 1)(x)
        return layers.Add()([shortcut, inner])

    def attended(x: Any) -> Any:
        _, rows, columns, width = x.shape
        tokens = layers.Reshape((rows * columns, width))(layers.GroupNormalization(32)(x))
        query = layers.Rescaling(width**-0.5)(layers.Dense(width)(tokens))
        mixed = layers.Attention()([query, layers.Dense(width)(tokens), layers.Dense(width)(tokens)])
        return layers.Add()([x, layers.Reshape((rows, columns, width))(layers.Dense(width)(mixed))])

    images, time = layers.Input((64, 64, 4)), layers.Input((128,))
    embedding = layers.Dense(256, activation="silu")(time)
    x = layers.Conv2D(widths[0], 3, padding="same")(images)
    skipped = []
    for level, width in enumerate(widths):
        x = layers.Conv2D(width, 3, strides=2, padding="same")(x) if level else x
        for _ in range(blocks):
            x = residual(x, embedding, width)
        skipped.append(x)
    x = residual(attended(x), embedding, widths[-1])
    for level, width in reversed(list(enumerate(widths))):
        x = layers.Concatenate()([x, skipped[level]])
        for _ in range(blocks):
            x = residual(x, embedding, width)
        x = layers.Conv2D(widths[level - 1], 3, padding="same")(layers.UpSampling2D(2)(x)) if level else x
    return keras.Model([images, time], layers.Conv2D(4, 3, padding="same")(normalized(x)))


@library_program("keras", bound=1e-3)
def keras_diffusion_inference() -> Workload:
    return inference(diffusion_network(), normal(1, 64, 64, 4), normal(1, 128, seed=1))


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
    return inference(model, integers(500, 16, 80))
