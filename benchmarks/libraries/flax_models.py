"""Networks of flax (linen and nnx), trained by optax."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .declaration import Workload, integers, library_program, normal


def cross_entropy(logits: Any, labels: Any) -> Any:
    """The mean cross entropy of logits of shape (..., classes) and integer labels of shape (...)."""
    import optax

    return optax.softmax_cross_entropy_with_integer_labels(logits.astype(jnp.float32), labels).mean()


def training_step(model: Any, optimizer: Any, inputs: Any, labels: Any) -> Workload:
    """One step of training a linen module that maps `inputs` to logits."""
    import optax

    parameters = model.init(jax.random.key(0), inputs)
    state = optimizer.init(parameters)

    def step(parameters: Any, state: Any, inputs: Any, labels: Any) -> Any:
        def loss(parameters: Any) -> Any:
            return cross_entropy(model.apply(parameters, inputs), labels)

        value, gradient = jax.value_and_grad(loss)(parameters)
        updates, new_state = optimizer.update(gradient, state, parameters)
        return value, optax.apply_updates(parameters, updates), new_state

    return step, (parameters, state, inputs, labels)


def encoder(layers: int, width: int, heads: int, tokens: int, classes: int, dtype: Any = jnp.float32) -> Any:
    """A transformer encoder with a linear layer on top, as a linen module."""
    import flax.linen as nn

    class Encoder(nn.Module):
        @nn.compact
        def __call__(self, words: Any) -> Any:
            x = nn.Embed(1000, width, dtype=dtype)(words)
            x = x + self.param("positions", nn.initializers.normal(0.02), (tokens, width)).astype(dtype)
            for _ in range(layers):
                y = nn.LayerNorm(dtype=dtype)(x)
                x = x + nn.MultiHeadDotProductAttention(heads, dtype=dtype)(y, y)
                y = nn.Dense(4 * width, dtype=dtype)(nn.LayerNorm(dtype=dtype)(x))
                x = x + nn.Dense(width, dtype=dtype)(nn.gelu(y))
            return nn.Dense(classes, dtype=dtype)(nn.LayerNorm(dtype=dtype)(x))

    return Encoder()


@library_program("flax", bound=1e-3)
def linen_convolutional_training() -> Workload:
    import flax.linen as nn
    import optax

    class Network(nn.Module):
        @nn.compact
        def __call__(self, images: Any) -> Any:
            x = nn.avg_pool(nn.relu(nn.Conv(32, (3, 3))(images)), (2, 2), (2, 2))
            x = nn.avg_pool(nn.relu(nn.Conv(64, (3, 3))(x)), (2, 2), (2, 2))
            x = nn.relu(nn.Dense(256)(x.reshape(x.shape[0], -1)))
            return nn.Dense(10)(x)

    return training_step(Network(), optax.adam(1e-3), normal(32, 28, 28, 1), integers(10, 32))


@library_program("flax", bound=1e-3)
def linen_transformer_training() -> Workload:
    import optax

    return training_step(
        encoder(4, 128, 4, 64, 1000), optax.adamw(1e-3), integers(1000, 8, 64), integers(1000, 8, 64, seed=1)
    )


@library_program("flax")
def linen_transformer_inference() -> Workload:
    model, words = encoder(12, 768, 12, 128, 2), integers(1000, 1, 128)
    return model.apply, (model.init(jax.random.key(0), words), words)


@library_program("flax", bound=5e-2)
def linen_transformer_bfloat16() -> Workload:
    model, words = encoder(4, 256, 8, 128, 256, jnp.bfloat16), integers(1000, 4, 128)
    return model.apply, (model.init(jax.random.key(0), words), words)


@library_program("flax", bound=1e-3)
def linen_sequence_to_sequence_training() -> Workload:
    import flax.linen as nn
    import optax

    class Network(nn.Module):
        @nn.compact
        def __call__(self, inputs: Any) -> Any:
            source, target = inputs
            embed = nn.Embed(64, 64)
            state, _ = nn.RNN(nn.LSTMCell(128), return_carry=True)(embed(source))
            decoded = nn.RNN(nn.LSTMCell(128))(embed(target), initial_carry=state)
            return nn.Dense(64)(decoded)

    source, target = integers(64, 32, 20), integers(64, 32, 24, seed=1)
    return training_step(Network(), optax.adam(1e-3), (source, target), target)


@library_program("flax", bound=1e-3)
def linen_vision_transformer_training() -> Workload:
    import flax.linen as nn
    import optax

    class Network(nn.Module):
        @nn.compact
        def __call__(self, images: Any) -> Any:
            x = nn.Conv(96, (4, 4), strides=(4, 4))(images)
            x = x.reshape(x.shape[0], -1, 96)
            x = x + self.param("positions", nn.initializers.normal(0.02), x.shape[1:])
            for _ in range(6):
                y = nn.LayerNorm()(x)
                x = x + nn.MultiHeadDotProductAttention(3)(y, y)
                x = x + nn.Dense(96)(nn.gelu(nn.Dense(384)(nn.LayerNorm()(x))))
            return nn.Dense(10)(nn.LayerNorm()(x).mean(axis=1))

    return training_step(Network(), optax.adam(1e-3), normal(16, 32, 32, 3), integers(10, 16))


@library_program("flax", bound=1e-3)
def nnx_perceptron_training() -> Workload:
    import optax
    from flax import nnx

    class Network(nnx.Module):
        def __init__(self, rngs: Any) -> None:
            self.first = nnx.Linear(64, 256, rngs=rngs)
            self.norm = nnx.LayerNorm(256, rngs=rngs)
            self.second = nnx.Linear(256, 10, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            return self.second(nnx.relu(self.norm(self.first(x))))

    graph, parameters = nnx.split(Network(nnx.Rngs(0)))
    optimizer = optax.sgd(1e-2, momentum=0.9)

    def step(parameters: Any, state: Any, inputs: Any, labels: Any) -> Any:
        def loss(parameters: Any) -> Any:
            return cross_entropy(nnx.merge(graph, parameters)(inputs), labels)

        value, gradient = jax.value_and_grad(loss)(parameters)
        updates, new_state = optimizer.update(gradient, state, parameters)
        return value, optax.apply_updates(parameters, updates), new_state

    return step, (parameters, optimizer.init(parameters), normal(128, 64), integers(10, 128))


@library_program("flax", bound=1e-3)
def nnx_decoding_with_cache() -> Workload:
    from flax import nnx

    width, heads, steps = 256, 8, 32

    class Decoder(nnx.Module):
        def __init__(self, rngs: Any) -> None:
            self.embed = nnx.Embed(512, width, rngs=rngs)
            self.attention = nnx.List(
                [
                    nnx.MultiHeadAttention(
                        heads, in_features=width, qkv_features=width, decode=True, rngs=rngs
                    )
                    for _ in range(3)
                ]
            )
            self.expand = nnx.List([nnx.Linear(width, 4 * width, rngs=rngs) for _ in range(3)])
            self.contract = nnx.List([nnx.Linear(4 * width, width, rngs=rngs) for _ in range(3)])

        def __call__(self, token: Any) -> Any:
            x = self.embed(token)[:, None]
            for attention, expand, contract in zip(
                self.attention, self.expand, self.contract, strict=True
            ):
                x = x + attention(x)
                x = x + contract(nnx.gelu(expand(x)))
            return x[:, 0] @ self.embed.embedding[...].T

    decoder = Decoder(nnx.Rngs(0))
    for attention in decoder.attention:
        attention.init_cache((2, steps, width))
    graph, state = nnx.split(decoder)

    def decode(state: Any, token: Any) -> Any:
        def advance(carry: Any, _: Any) -> Any:
            state, token = carry
            model = nnx.merge(graph, state)
            token = jnp.argmax(model(token), axis=-1).astype(jnp.int32)
            return (nnx.state(model), token), token

        return jax.lax.scan(advance, (state, token), None, length=steps)[1]

    return decode, (state, integers(512, 2))
