"""Networks of images as graphs of ONNX, channels first: haiku's ResNet-50, and any model of keras."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .declaration import Array
from .onnx_graph import GraphBuilder, Network

TO_CHANNELS_FIRST = [0, 3, 1, 2]
TO_CHANNELS_LAST = [0, 2, 3, 1]
_FILTERS_FIRST = (3, 2, 0, 1)


def resnet50(parameters: Any, state: Any, images: Array) -> Network:
    """The graph of the logits of haiku's `ResNet50`."""
    images = np.ascontiguousarray(images.transpose(TO_CHANNELS_FIRST))
    graph = GraphBuilder(images=images)

    def convolve(value: str, prefix: str, name: str, suffix: str, stride: int) -> str:
        """A convolution and its normalization; `suffix` tells those of a block apart."""
        kernel = parameters[f"{prefix}{name}conv{suffix}"]["w"].transpose(_FILTERS_FIRST)
        value = graph.node("Conv", value, kernel, strides=[stride] * 2, auto_pad="SAME_UPPER")
        normalization = f"{prefix}{name}batchnorm{suffix}"
        scale, offset = (parameters[normalization][field].ravel() for field in ("scale", "offset"))
        averages = [state[f"{normalization}/~/{field}_ema"]["average"] for field in ("mean", "var")]
        mean, variance = (average.ravel() for average in averages)
        return graph.node("BatchNormalization", value, scale, offset, mean, variance, epsilon=1e-5)

    root = "res_net50/~/"
    value = graph.node("Relu", convolve("images", root, "initial_", "", 2))
    value = graph.node("MaxPool", value, kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")
    for group, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            prefix = f"{root}block_group_{group}/~/block_{block}/~/"
            stride = 2 if group and not block else 1
            inner = graph.node("Relu", convolve(value, prefix, "", "_0", 1))
            inner = graph.node("Relu", convolve(inner, prefix, "", "_1", stride))
            inner = convolve(inner, prefix, "", "_2", 1)
            if not block:
                value = convolve(value, prefix, "shortcut_", "", stride)
            value = graph.node("Relu", graph.node("Add", inner, value))
    value = graph.node("Flatten", graph.node("GlobalAveragePool", value))
    last = parameters["res_net50/~/logits"]
    return graph, graph.node("Add", graph.node("MatMul", value, last["w"]), last["b"])


def keras_graph(model: Any, *inputs: Array) -> Network:
    """The graph of a model of keras.

    Images are [batch, channel, row, column] in the graph, where the model has the channels last; other
    values are as in the model.

    Args:
        model: one of keras' functional API, of the layers that `_LAYERS` names.
        inputs: those of a call.
    """
    names = [f"input{number}" for number in range(len(inputs))]
    feeds = [one.transpose(TO_CHANNELS_FIRST) if one.ndim == 4 else one for one in inputs]
    graph = GraphBuilder(**dict(zip(names, map(np.ascontiguousarray, feeds), strict=True)))
    values = {id(tensor): name for tensor, name in zip(model.inputs, names, strict=True)}
    for layer in model.operations:
        if type(layer).__name__ == "InputLayer":
            continue
        operands = layer.input if isinstance(layer.input, (list, tuple)) else [layer.input]
        convert = _LAYERS[type(layer).__name__]
        values[id(layer.output)] = convert(graph, layer, [values[id(one)] for one in operands])
    return graph, values[id(model.outputs[0])]


def _arrays(layer: Any) -> list[Array]:
    return [np.asarray(variable.value) for variable in layer.weights]


def _convolution(graph: GraphBuilder, layer: Any, operands: Sequence[str]) -> str:
    kernel, *bias = _arrays(layer)
    groups = kernel.shape[2] if type(layer).__name__ == "DepthwiseConv2D" else 1
    kernel = kernel.transpose(_FILTERS_FIRST if groups == 1 else (2, 3, 0, 1))
    padding = "SAME_UPPER" if layer.padding == "same" else "VALID"
    strides = list(layer.strides)
    return graph.node("Conv", *operands, kernel, *bias, strides=strides, auto_pad=padding, group=groups)


def _batch_normalization(graph: GraphBuilder, layer: Any, operands: Sequence[str]) -> str:
    return graph.node("BatchNormalization", *operands, *_arrays(layer), epsilon=layer.epsilon)


def _group_normalization(graph: GraphBuilder, layer: Any, operands: Sequence[str]) -> str:
    """Groups are instances of one channel, as PyTorch's exporter writes it."""
    scale, shift = (one[:, None, None] for one in _arrays(layer))
    _, rows, columns, channels = layer.output.shape
    one, zero = np.ones(layer.groups, np.float32), np.zeros(layer.groups, np.float32)
    grouped = graph.reshape(operands[0], (0, layer.groups, -1))
    grouped = graph.node("InstanceNormalization", grouped, one, zero, epsilon=layer.epsilon)
    value = graph.reshape(grouped, (0, channels, rows, columns))
    return graph.node("Add", graph.node("Mul", value, scale), shift)


def _dense(graph: GraphBuilder, layer: Any, operands: Sequence[str]) -> str:
    kernel, bias = _arrays(layer)
    value = graph.node("Add", graph.node("MatMul", *operands, kernel), bias)
    return _activated(graph, layer.activation.__name__, value)


def _activated(graph: GraphBuilder, name: str, value: str) -> str:
    if name in ("silu", "swish"):
        return graph.node("Mul", value, graph.node("Sigmoid", value))
    if name == "softmax":
        return graph.node("Softmax", value, axis=-1)
    assert name == "linear", name
    return value


def _rectified(graph: GraphBuilder, layer: Any, operands: Sequence[str]) -> str:
    if layer.max_value is None:
        return graph.node("Relu", *operands)
    return graph.node("Clip", *operands, np.float32(0), np.float32(layer.max_value))


def _padded(graph: GraphBuilder, layer: Any, operands: Sequence[str]) -> str:
    (top, bottom), (left, right) = layer.padding
    return graph.node("Pad", *operands, np.array([0, 0, top, left, 0, 0, bottom, right], np.int64))


def _mean(graph: GraphBuilder, layer: Any, operands: Sequence[str]) -> str:
    return graph.node("Flatten", graph.node("GlobalAveragePool", *operands))


def _upsampled(graph: GraphBuilder, layer: Any, operands: Sequence[str]) -> str:
    scales = np.array([1, 1, *layer.size], np.float32)
    how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return graph.node("Resize", *operands, "", scales, **how)


def _concatenated(graph: GraphBuilder, layer: Any, operands: Sequence[str]) -> str:
    return graph.node("Concat", *operands, axis=1)


def _reshaped(graph: GraphBuilder, layer: Any, operands: Sequence[str]) -> str:
    value, shape = operands[0], layer.output.shape
    if len(layer.input.shape) == 4:
        value = graph.node("Transpose", value, perm=TO_CHANNELS_LAST)
    value = graph.reshape(value, (0, *shape[1:]))
    return graph.node("Transpose", value, perm=TO_CHANNELS_FIRST) if len(shape) == 4 else value


def _attention(graph: GraphBuilder, layer: Any, operands: Sequence[str]) -> str:
    """Attention of [batch, row, feature], keras' order of operands being query, value, key."""
    query, value, key = operands
    scores = graph.node("MatMul", query, graph.node("Transpose", key, perm=[0, 2, 1]))
    return graph.node("MatMul", graph.node("Softmax", scores, axis=-1), value)


def _scaled(graph: GraphBuilder, layer: Any, operands: Sequence[str]) -> str:
    return graph.node("Mul", *operands, np.float32(layer.scale))


_LAYERS: dict[str, Callable[[GraphBuilder, Any, Sequence[str]], str]] = {
    "Activation": lambda graph, layer, operands: _activated(graph, layer.activation.__name__, operands[0]),
    "Add": lambda graph, layer, operands: graph.node("Add", *operands),
    "Attention": _attention,
    "BatchNormalization": _batch_normalization,
    "Concatenate": _concatenated,
    "Conv2D": _convolution,
    "Dense": _dense,
    "DepthwiseConv2D": _convolution,
    "GlobalAveragePooling2D": _mean,
    "GroupNormalization": _group_normalization,
    "ReLU": _rectified,
    "Rescaling": _scaled,
    "Reshape": _reshaped,
    "UpSampling2D": _upsampled,
    "ZeroPadding2D": _padded,
}
"""How a layer becomes nodes, by its class."""
