"""Transformers as graphs of ONNX: GPT-2 and BERT of transformers' classes for flax."""

from __future__ import annotations

from typing import Any

import numpy as np

from .declaration import Array
from .onnx_graph import GraphBuilder, Network

_HEADS = 12


def gpt2(parameters: Any, words: Array) -> Network:
    """The graph of the logits of `FlaxGPT2LMHeadModel`."""
    transformer = parameters["transformer"]
    graph = GraphBuilder(words=words)
    length = words.shape[1]
    table = transformer["wte"]["embedding"]
    positions = transformer["wpe"]["embedding"][:length][None]
    state = graph.node("Add", graph.node("Gather", table, "words"), positions)
    mask = np.where(np.tril(np.ones((length, length), bool)), 0, np.finfo(np.float32).min).astype(np.float32)
    for number in range(len(transformer["h"])):
        layer = transformer["h"][str(number)]
        normal = _layer_norm(graph, state, layer["ln_1"])
        joined = _transposed_dense(graph, normal, layer["attn"]["c_attn"])
        size = layer["attn"]["c_attn"]["kernel"].shape[1]
        operands = [
            graph.node("Slice", joined, *(np.array([n], np.int64) for n in (first, first + size, 2)))
            for first in (0, size, 2 * size)
        ]
        mixed = _attention(graph, operands, size // _HEADS, mask[None, None])
        state = graph.node("Add", state, _transposed_dense(graph, mixed, layer["attn"]["c_proj"]))
        wide = _transposed_dense(graph, _layer_norm(graph, state, layer["ln_2"]), layer["mlp"]["c_fc"])
        wide = graph.node("Gelu", wide, approximate="tanh")
        state = graph.node("Add", state, _transposed_dense(graph, wide, layer["mlp"]["c_proj"]))
    state = _layer_norm(graph, state, transformer["ln_f"])
    return graph, graph.node("MatMul", state, table.T)


def bert(parameters: Any, words: Array) -> Network:
    """The graph of the last hidden state of `FlaxBertModel`, for words of one kind."""
    embeddings = parameters["embeddings"]
    graph = GraphBuilder(words=words)
    positions = embeddings["position_embeddings"]["embedding"][: words.shape[1]]
    kind = embeddings["token_type_embeddings"]["embedding"][:1]
    state = graph.node("Gather", embeddings["word_embeddings"]["embedding"], "words")
    state = graph.node("Add", state, (positions + kind)[None])
    state = _layer_norm(graph, state, embeddings["LayerNorm"], 1e-12)
    layers = parameters["encoder"]["layer"]
    for number in range(len(layers)):
        layer = layers[str(number)]
        own = layer["attention"]["self"]
        operands = [_dense(graph, state, own[name]) for name in ("query", "key", "value")]
        mixed = _attention(graph, operands, own["query"]["bias"].size // _HEADS, None)
        for value, output in (
            (mixed, layer["attention"]["output"]),
            (None, layer["output"]),
        ):
            if value is None:
                value = graph.node("Gelu", _dense(graph, state, layer["intermediate"]["dense"]))
            state = graph.node("Add", _dense(graph, value, output["dense"]), state)
            state = _layer_norm(graph, state, output["LayerNorm"], 1e-12)
    return graph, state


def _layer_norm(graph: GraphBuilder, value: str, layer: Any, epsilon: float = 1e-5) -> str:
    return graph.node("LayerNormalization", value, layer["scale"], layer["bias"], epsilon=epsilon)


def _dense(graph: GraphBuilder, value: str, layer: Any) -> str:
    return graph.node("Add", graph.node("MatMul", value, layer["kernel"]), layer["bias"])


def _transposed_dense(graph: GraphBuilder, value: str, layer: Any) -> str:
    """A layer of transformers' `FlaxConv1D`, whose kernel has its results first."""
    return _dense(graph, value, {"kernel": layer["kernel"].T, "bias": layer["bias"]})


def _attention(graph: GraphBuilder, operands: list[str], width: int, mask: Array | None) -> str:
    """Attention of query, key and value, [batch, row, head and feature], with a mask that is added."""
    split = [
        graph.node("Transpose", graph.reshape(one, (0, 0, _HEADS, width)), perm=order)
        for one, order in zip(operands, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]), strict=True)
    ]
    scores = graph.node("Mul", graph.node("MatMul", *split[:2]), np.float32(width**-0.5))
    if mask is not None:
        scores = graph.node("Add", scores, mask)
    weights = graph.node("Softmax", scores, axis=-1)
    mixed = graph.node("Transpose", graph.node("MatMul", weights, split[2]), perm=[0, 2, 1, 3])
    return graph.reshape(mixed, (0, 0, _HEADS * width))
