"""Runs a graph of ONNX as a module of PyTorch, which torch.compile takes.

This folder is no package: asv imports every module of packages, and would need PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

from ..onnx_graph import Network

Tensor = torch.Tensor


class GraphModule(torch.nn.Module):
    """The module of a graph: constants are buffers, and each node is a call of a function of PyTorch.

    Args:
        network: the graph and the name of its result, of the operators that `_OPERATORS` names.
    """

    def __init__(self, network: Network) -> None:
        from onnx import helper

        super().__init__()
        graph, self.result = network
        self.names = list(graph.feeds)
        for name, array in graph.constants.items():
            self.register_buffer(name, torch.from_numpy(array.copy()))
        # Numbers that decide shapes are read here, so that the traced graph has none that depend on data.
        self.numbers = {
            name: array.ravel().tolist() for name, array in graph.constants.items() if array.size < 9
        }
        self.steps = [
            (
                node.op_type,
                list(node.input),
                node.output[0],
                {one.name: helper.get_attribute_value(one) for one in node.attribute},
            )
            for node in graph.nodes
        ]

    def forward(self, *inputs: Tensor) -> Tensor:
        """The result."""
        values = dict(zip(self.names, inputs, strict=True))
        for kind, operands, result, attributes in self.steps:
            tensors = [values[one] if one in values else getattr(self, one) for one in operands if one]
            numbers = [self.numbers.get(one, []) for one in operands]
            values[result] = _OPERATORS[kind](tensors, numbers, attributes)
        return values[self.result]


def _convolution(x: list[Tensor], numbers: Any, attributes: Any) -> Tensor:
    image, kernel, *bias = x
    strides = attributes["strides"]
    if attributes["auto_pad"] == b"SAME_UPPER":
        image = F.pad(image, _padding(image, kernel.shape[2:], strides))
    return F.conv2d(image, kernel, *bias, stride=strides, groups=attributes.get("group", 1))


def _padding(image: Tensor, window: Any, strides: Any) -> list[int]:
    """Padding as TensorFlow's "SAME": the result has the size divided by the stride, rounded up."""
    padding: list[int] = []
    for size, length, stride in zip(image.shape[2:], window, strides, strict=True):
        total = max(0, (-(-size // stride) - 1) * stride + length - size)
        padding = [total // 2, total - total // 2, *padding]
    return padding


def _max_pool(x: list[Tensor], numbers: Any, attributes: Any) -> Tensor:
    window, strides = attributes["kernel_shape"], attributes["strides"]
    padded = F.pad(x[0], _padding(x[0], window, strides), value=-torch.inf)
    return F.max_pool2d(padded, window, strides)


def _reshaped(x: list[Tensor], numbers: Any, attributes: Any) -> Tensor:
    return x[0].reshape([x[0].shape[d] if size == 0 else size for d, size in enumerate(numbers[1])])


def _sliced(x: list[Tensor], numbers: Any, attributes: Any) -> Tensor:
    (first,), (end,), (dimension,) = numbers[1:]
    return x[0].narrow(dimension, first, end - first)


def _padded(x: list[Tensor], numbers: Any, attributes: Any) -> Tensor:
    _, _, top, left, _, _, bottom, right = numbers[1]
    return F.pad(x[0], [left, right, top, bottom])


def _gelu(x: list[Tensor], numbers: Any, attributes: Any) -> Tensor:
    return F.gelu(x[0], approximate=attributes.get("approximate", b"none").decode())


def _layer_norm(x: list[Tensor], numbers: Any, attributes: Any) -> Tensor:
    return F.layer_norm(x[0], x[1].shape, x[1], x[2], attributes["epsilon"])


def _batch_norm(x: list[Tensor], numbers: Any, attributes: Any) -> Tensor:
    value, scale, shift, mean, variance = x
    return F.batch_norm(value, mean, variance, scale, shift, eps=attributes["epsilon"])


_OPERATORS: dict[str, Callable[[list[Tensor], Any, Any], Tensor]] = {
    "Add": lambda x, numbers, attributes: x[0] + x[1],
    "BatchNormalization": _batch_norm,
    "Clip": lambda x, numbers, attributes: torch.clamp(x[0], numbers[1][0], numbers[2][0]),
    "Concat": lambda x, numbers, attributes: torch.cat(x, attributes["axis"]),
    "Conv": _convolution,
    "Flatten": lambda x, numbers, attributes: x[0].flatten(1),
    "Gather": lambda x, numbers, attributes: F.embedding(x[1], x[0]),
    "Gelu": _gelu,
    "GlobalAveragePool": lambda x, numbers, attributes: x[0].mean((2, 3), keepdim=True),
    "InstanceNormalization": lambda x, numbers, attributes: F.instance_norm(x[0], eps=attributes["epsilon"]),
    "LayerNormalization": _layer_norm,
    "MatMul": lambda x, numbers, attributes: x[0] @ x[1],
    "MaxPool": _max_pool,
    "Mul": lambda x, numbers, attributes: x[0] * x[1],
    "Pad": _padded,
    "Relu": lambda x, numbers, attributes: torch.relu(x[0]),
    "Reshape": _reshaped,
    "Resize": lambda x, numbers, attributes: F.interpolate(
        x[0], scale_factor=numbers[-1][2:], mode="nearest"
    ),
    "Sigmoid": lambda x, numbers, attributes: torch.sigmoid(x[0]),
    "Slice": _sliced,
    "Softmax": lambda x, numbers, attributes: torch.softmax(x[0], attributes["axis"]),
    "Transpose": lambda x, numbers, attributes: x[0].permute(attributes["perm"]),
}
"""What computes an operator, of its operands, of those with few elements as numbers, and its attributes."""
