"""Trains a small network of convolutions with flax and optax."""

import json

import jax
import optax
from flax import linen as nn


class Network(nn.Module):
    """A convolution, a hidden layer with batch normalization and dropout, and ten classes."""

    @nn.compact
    def __call__(self, x, is_training):
        x = nn.avg_pool(nn.relu(nn.Conv(8, (3, 3))(x)), (2, 2), strides=(2, 2))
        x = nn.Dense(32)(x.reshape(x.shape[0], -1))
        x = nn.gelu(nn.BatchNorm(use_running_average=not is_training)(x))
        return nn.Dense(10)(nn.Dropout(0.1, deterministic=not is_training)(x))


key = jax.random.key(0)
images, labels = jax.random.normal(key, (64, 12, 12, 1)), jax.random.randint(key, (64,), 0, 10)
network = Network()
variables = network.init(key, images, False)
parameters, statistics = variables["params"], variables["batch_stats"]
optimizer = optax.adamw(optax.cosine_decay_schedule(1e-2, 30))
state = optimizer.init(parameters)


@jax.jit
def step(parameters, statistics, state, key):
    """One step of training."""

    def loss(parameters):
        logits, updated = network.apply(
            {"params": parameters, "batch_stats": statistics},
            images,
            True,
            mutable=["batch_stats"],
            rngs={"dropout": key},
        )
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
        return losses.mean(), updated["batch_stats"]

    (value, updated), gradients = jax.value_and_grad(loss, has_aux=True)(parameters)
    updates, new_state = optimizer.update(gradients, state, parameters)
    return optax.apply_updates(parameters, updates), updated, new_state, value


losses = []
for number in range(30):
    parameters, statistics, state, value = step(
        parameters, statistics, state, jax.random.fold_in(key, number)
    )
    losses.append(float(value))
print(json.dumps({"losses": losses[::10] + losses[-1:]}))
