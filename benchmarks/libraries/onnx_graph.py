"""Graphs of ONNX, which ONNX Runtime, OpenVINO and PyTorch run with the same parameters.

Source: operators of ONNX, opset 20.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .declaration import Array

OPSET = 20
_IR_VERSION = 10


class GraphBuilder:
    """Builds a graph of ONNX, node by node.

    Args:
        inputs: the arrays that a call takes, by the names of the graph's inputs.

    Attributes:
        nodes: the nodes, as ONNX's messages, each after those whose results it takes.
        constants: the arrays that are part of the graph, by their names.
    """

    def __init__(self, **inputs: Array) -> None:
        from onnx import helper

        self.helper = helper
        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = {}
        self.feeds = inputs
        self.inputs = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in inputs.items()
        ]

    def constant(self, value: Any) -> str:
        """The name of an array that is part of the graph."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.ascontiguousarray(value)
        return name

    def node(self, kind: str, *operands: Any, **attributes: Any) -> str:
        """The name of an operator's only result; operands are names or arrays."""
        names = [one if isinstance(one, str) else self.constant(one) for one in operands]
        result = f"v{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, names, [result], **attributes))
        return result

    def reshape(self, value: str, shape: Sequence[int]) -> str:
        """The value with another shape, in which a 0 stands for the size at the same place."""
        return self.node("Reshape", value, np.array(shape, np.int64))

    def model(self, result: str) -> bytes:
        """The serialized model whose only output is a result."""
        from onnx import TensorProto, numpy_helper

        output = self.helper.make_tensor_value_info(result, TensorProto.FLOAT, None)
        constants = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = self.helper.make_graph(self.nodes, "network", self.inputs, [output], constants)
        opsets = [self.helper.make_opsetid("", OPSET)]
        model = self.helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        serialized: bytes = model.SerializeToString()
        return serialized


Network = tuple[GraphBuilder, str]
"""A graph with the name of its result."""
