"""Graphs and symmetric networks: jraph, e3nn-jax."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .declaration import Workload, integers, library_program, normal


@library_program("jraph", bound=1e-3)
def jraph_network_training() -> Workload:
    import haiku as hk
    import jraph

    nodes, edges = 500, 2000
    graph = jraph.GraphsTuple(
        nodes=normal(nodes, 16),
        edges=normal(edges, 8, seed=1),
        senders=integers(nodes, edges),
        receivers=integers(nodes, edges, seed=1),
        globals=np.zeros((1, 4), np.float32),
        n_node=np.array([nodes], np.int32),
        n_edge=np.array([edges], np.int32),
    )

    def network(graph: Any) -> Any:
        def layer(*inputs: Any) -> Any:
            return hk.nets.MLP([64, 32])(jnp.concatenate(inputs, axis=-1))

        for _ in range(3):
            graph = jraph.GraphNetwork(
                update_edge_fn=lambda edges, senders, receivers, all: layer(edges, senders, receivers, all),
                update_node_fn=lambda nodes, sent, received, all: layer(nodes, sent, received, all),
                update_global_fn=lambda nodes, edges, all: layer(nodes, edges, all),
            )(graph)
        return hk.Linear(3)(graph.nodes)

    model = hk.without_apply_rng(hk.transform(network))
    labels = integers(3, nodes, seed=2)
    parameters = model.init(jax.random.key(0), graph)

    def step(parameters: Any, graph: Any, labels: Any) -> Any:
        def loss(parameters: Any) -> Any:
            scores = jax.nn.log_softmax(model.apply(parameters, graph))
            return -jnp.take_along_axis(scores, labels[:, None], axis=1).mean()

        value, gradient = jax.value_and_grad(loss)(parameters)
        return value, jax.tree.map(lambda old, change: old - 0.01 * change, parameters, gradient)

    return step, (parameters, graph, labels)


@library_program("e3nn-jax", bound=1e-3)
def e3nn_forces() -> Workload:
    import e3nn_jax as e3nn

    atoms = 24
    senders, receivers = np.nonzero(~np.eye(atoms, dtype=bool))
    weights = {"radial": normal(8, 20, scale=0.3), "mix": normal(8, 1)}

    def energy(positions: Any, weights: Any) -> Any:
        vectors = positions[receivers] - positions[senders]
        distances = jnp.linalg.norm(vectors, axis=-1)
        harmonics = e3nn.spherical_harmonics(
            "0e + 1o + 2e", e3nn.IrrepsArray("1o", vectors), True
        )
        radial = e3nn.bessel(distances, 8, 5.0) @ weights["radial"]
        scalars = e3nn.IrrepsArray("8x0e", radial[:, :8])
        features = e3nn.tensor_product(scalars, harmonics, filter_ir_out=["0e", "1o", "2e"])
        gathered = e3nn.scatter_sum(features, dst=receivers, output_size=atoms)
        mixed = e3nn.tensor_square(gathered).filter("0e").array
        return jnp.tanh(mixed[:, :8] @ weights["mix"]).sum()

    return jax.value_and_grad(energy), (normal(atoms, 3, scale=2.0), weights)


@library_program("jraph", bound=1e-3, sizes=(125, 500, 4000))
def jraph_attention_gradient(nodes: int) -> Workload:
    """The gradient of a loss of a graph attention network with one layer."""
    import jraph

    edges, features, width = 4 * nodes, 16, 32
    graph = jraph.GraphsTuple(
        nodes=normal(nodes, features),
        edges=None,
        senders=integers(nodes, edges),
        receivers=integers(nodes, edges, seed=1),
        globals=None,
        n_node=np.array([nodes], np.int32),
        n_edge=np.array([edges], np.int32),
    )
    parameters = {"query": normal(features, width, scale=0.2), "score": normal(2 * width, 1, scale=0.2)}

    def loss(parameters: Any, graph: Any) -> Any:
        def score(sent: Any, received: Any, _: Any) -> Any:
            return jax.nn.leaky_relu(jnp.concatenate([sent, received], axis=-1) @ parameters["score"])

        network = jraph.GAT(lambda nodes: nodes @ parameters["query"], score)
        return (network(graph).nodes ** 2).mean()

    return jax.value_and_grad(loss), (parameters, graph)


@library_program("e3nn-jax", bound=1e-3, sizes=(6, 24, 96))
def e3nn_message_gradient(atoms: int) -> Workload:
    """Forces of a network that passes features of first order between atoms, with gates, in two layers."""
    import e3nn_jax as e3nn

    senders, receivers = np.nonzero(~np.eye(atoms, dtype=bool))
    weights = [normal(8, 64, scale=0.2, seed=layer) for layer in range(2)]

    def energy(positions: Any, weights: Any) -> Any:
        vectors = e3nn.IrrepsArray("1o", positions[receivers] - positions[senders])
        harmonics = e3nn.spherical_harmonics("0e + 1o", vectors, True)
        distances = jnp.linalg.norm(vectors.array, axis=-1)
        features = e3nn.IrrepsArray("4x0e", jnp.ones((atoms, 4)))
        for weight in weights:
            messages = e3nn.tensor_product(features[senders], harmonics, filter_ir_out=["0e", "1o"])
            radial = e3nn.bessel(distances, 8, 5.0) @ weight
            gated = messages * radial[:, : messages.irreps.num_irreps]
            features = e3nn.scatter_sum(gated, dst=receivers, output_size=atoms)
            features = 0.1 * features.filter("0e + 1o")
            features = e3nn.norm_activation(features, [jax.nn.silu] * len(features.irreps))
        return features.filter("0e").array.sum()

    return jax.value_and_grad(energy), (normal(atoms, 3, scale=2.0), weights)
