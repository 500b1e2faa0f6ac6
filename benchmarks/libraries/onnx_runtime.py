"""Compares GPT-2 and ResNet-50 with ONNX Runtime on the CPU; the networks are written as ONNX by hand.

Both systems are given the parameters as constants of the program.

    python -m benchmarks.libraries.onnx_runtime

Ratios above 1 mean that NimbleHLO is faster. Needs ``onnx`` and ``onnxruntime``, of the extra
``bench-libraries``.

Source: operators of ONNX, opset 20; transformers' `FlaxGPT2LMHeadModel` and haiku's `ResNet50`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

import nimblehlo
from tools.comparison import difference, no_telling_result

from ..measuring import Comparison, seconds, warm_up
from .declaration import Array, library_programs

BOUND = 1e-3
"""Largest difference of the results, relative to the largest value."""
WARM_UP_SECONDS = 5.0
PAUSE_SECONDS = 0.1
CALLS, ROUNDS = 3, 15
OPSET = 20


class GraphBuilder:
    """Builds a graph of ONNX, node by node.

    Args:
        inputs: the arrays that a call takes, by the names of the graph's inputs.
    """

    def __init__(self, **inputs: Array) -> None:
        from onnx import helper

        self.helper = helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in inputs.items()
        ]

    def constant(self, value: Any) -> str:
        """The name of an array that is part of the graph."""
        from onnx import numpy_helper

        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind: str, *operands: Any, **attributes: Any) -> str:
        """The name of an operator's only result; operands are names or arrays."""
        names = [one if isinstance(one, str) else self.constant(one) for one in operands]
        result = f"v{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, names, [result], **attributes))
        return result

    def session(self, result: str, threads: int) -> Any:
        """A session of ONNX Runtime whose only output is a result."""
        import onnxruntime
        from onnx import TensorProto

        output = self.helper.make_tensor_value_info(result, TensorProto.FLOAT, None)
        graph = self.helper.make_graph(self.nodes, "network", self.inputs, [output], self.constants)
        opsets = [self.helper.make_opsetid("", OPSET)]
        model = self.helper.make_model(graph, opset_imports=opsets, ir_version=10)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        return onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )


def gpt2(parameters: Any, words: Array) -> tuple[GraphBuilder, str, dict[str, Array]]:
    """The graph of GPT-2's logits, the name of its result, and its inputs."""
    transformer = parameters["transformer"]
    graph = GraphBuilder(words=words)
    length, heads = words.shape[1], 12
    table = transformer["wte"]["embedding"]
    positions = transformer["wpe"]["embedding"][:length][None]
    state = graph.node("Add", graph.node("Gather", table, "words"), positions)
    mask = np.where(np.tril(np.ones((length, length), bool)), 0, np.finfo(np.float32).min)
    for number in range(len(transformer["h"])):
        layer = transformer["h"][str(number)]
        normal = _layer_norm(graph, state, layer["ln_1"])
        attended = _attention(graph, normal, layer["attn"], heads, mask.astype(np.float32))
        state = graph.node("Add", state, attended)
        wide = _dense(graph, _layer_norm(graph, state, layer["ln_2"]), layer["mlp"]["c_fc"])
        wide = graph.node("Gelu", wide, approximate="tanh")
        state = graph.node("Add", state, _dense(graph, wide, layer["mlp"]["c_proj"]))
    state = _layer_norm(graph, state, transformer["ln_f"])
    return graph, graph.node("MatMul", state, table.T), {"words": words}


def _layer_norm(graph: GraphBuilder, value: str, layer: Any) -> str:
    return graph.node("LayerNormalization", value, layer["scale"], layer["bias"], epsilon=1e-5)


def _dense(graph: GraphBuilder, value: str, layer: Any) -> str:
    """A layer of transformers' `FlaxConv1D`, whose kernel has its results first."""
    return graph.node("Add", graph.node("MatMul", value, layer["kernel"].T), layer["bias"])


def _attention(graph: GraphBuilder, value: str, layer: Any, heads: int, mask: Array) -> str:
    size = layer["c_attn"]["kernel"].shape[1]
    width = size // heads
    joined = _dense(graph, value, layer["c_attn"])
    split = []
    for first, order in ((0, [0, 2, 1, 3]), (size, [0, 2, 3, 1]), (2 * size, [0, 2, 1, 3])):
        bounds = [np.array([index], np.int64) for index in (first, first + size, 2)]
        one = graph.node("Reshape", graph.node("Slice", joined, *bounds), np.array([0, 0, heads, width]))
        split.append(graph.node("Transpose", one, perm=order))
    scores = graph.node("Mul", graph.node("MatMul", *split[:2]), np.float32(width**-0.5))
    weights = graph.node("Softmax", graph.node("Add", scores, mask[None, None]), axis=-1)
    mixed = graph.node("Transpose", graph.node("MatMul", weights, split[2]), perm=[0, 2, 1, 3])
    return _dense(graph, graph.node("Reshape", mixed, np.array([0, 0, size])), layer["c_proj"])


def resnet50(parameters: Any, state: Any, images: Array) -> tuple[GraphBuilder, str, dict[str, Array]]:
    """The graph of ResNet-50's logits, the name of its result, and its inputs; channels come first."""
    images = np.ascontiguousarray(images.transpose(0, 3, 1, 2))
    graph = GraphBuilder(images=images)

    def convolve(value: str, prefix: str, name: str, suffix: str, stride: int) -> str:
        """A convolution and its normalization; `suffix` tells those of a block apart."""
        kernel = parameters[f"{prefix}{name}conv{suffix}"]["w"].transpose(3, 2, 0, 1)
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
    return graph, graph.node("Add", graph.node("MatMul", value, last["w"]), last["b"]), {"images": images}


NETWORKS: dict[str, Callable[..., tuple[GraphBuilder, str, dict[str, Array]]]] = {
    "transformers_gpt2_inference": gpt2,
    "haiku_resnet50_inference": resnet50,
}
"""How a program's arguments become a graph of ONNX."""


def compared(name: str, threads: int) -> tuple[Comparison, str | None]:
    """The times of both systems for a network, and the difference of their results."""
    function, arguments = library_programs()[name].build()
    *parameters, data = arguments
    executable = nimblehlo.compile(jax.jit(lambda data: function(*parameters, data)).lower(data))
    inputs = [np.asarray(data)]
    graph, result, feeds = NETWORKS[name](*jax.tree.map(np.asarray, arguments))
    session = graph.session(result, threads)

    def ours() -> Any:
        return executable(*inputs)[0]

    def other() -> Any:
        return session.run(None, feeds)[0]

    reason = disagreement(np.asarray(ours()), other())
    warm_up(ours, WARM_UP_SECONDS)
    warm_up(other, WARM_UP_SECONDS)
    times = np.array([[_rested(ours), _rested(other)] for _ in range(ROUNDS)])
    medians = np.median(times, axis=0).tolist()
    return Comparison(*medians, float(np.median(times[:, 1] / times[:, 0]))), reason


def disagreement(result: Array, expected: Array) -> str | None:
    """The difference of the logits, or why there could be none; None if they agree."""
    return no_telling_result([expected], BOUND) or difference(result, expected, BOUND)


def _rested(action: Callable[[], Any]) -> float:
    """The median time of calls after a pause: threads of a system that has run may look for work a while."""
    time.sleep(PAUSE_SECONDS)
    return float(np.median([seconds(action) for _ in range(CALLS)]))


def main(names: Sequence[str]) -> int:
    """Print a line for each network; 1 where results disagree."""
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    disagree = False
    for name in names or NETWORKS:
        times, reason = compared(name, threads)
        disagree = disagree or reason is not None
        told = "agrees" if reason is None else f"DISAGREES: {reason}"
        print(
            f"{name:32} ours {times.ours * 1e3:9.3f} ms   ONNX Runtime {times.other * 1e3:9.3f} ms   "
            f"ratio {times.ratio:5.2f}   {told}",
            flush=True,
        )
    return int(disagree)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
