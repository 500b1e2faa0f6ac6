"""Judges graphs of PyTorch by `nimblehlo.accuracy`: PyTorch's own results must lie within the bounds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import nimblehlo
from nimblehlo.execution.torch_calls import GraphExecutable
from nimblehlo.program.frontend.torch.capture import Run, compiled_graphs
from nimblehlo.program.frontend.torch.conversion import Sizes
from nimblehlo.program.frontend.torch.element_types import array_of
from nimblehlo.program.ir import Module
from nimblehlo.program.loading import load
from tests.program.frontend.torch.drawn_numbers import lift


class Judge:
    """A backend of torch.compile that judges calls of graphs.

    PyTorch runs the graph too, operation by operation, on the same inputs. `nimblehlo.accuracy` states the
    bounds within which results of a correct implementation lie. Random numbers are inputs of the graphs.

    Args:
        calls: how many calls of each graph are judged.

    Attributes:
        judged: the number of judged calls.
        violations: what lies beyond its bound.
    """

    def __init__(self, calls: int) -> None:
        self._calls = calls
        self.judged = 0
        self.violations: list[str] = []

    def __call__(self, graph_module: Any, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        return compiled_graphs(graph_module, example_inputs, self._compile)

    def _compile(self, graph: Any) -> Run:
        draws = lift(graph)
        stabilize(graph)
        executable = GraphExecutable(graph, compile_module)
        calls = itertools.count()

        def run(inputs: Sequence[Any]) -> list[Any]:
            arguments = [*inputs, *(draw() for draw in draws)]
            if next(calls) < self._calls:
                self.judge(graph, executable, arguments)
            return executable(arguments)

        return run

    def judge(self, graph: Any, executable: GraphExecutable, arguments: Sequence[Any]) -> None:
        """Compare PyTorch's results of a graph with the bounds."""
        import torch

        converted, _ = executable.program(Sizes({}))
        assert not converted.takes_seed, "random numbers have no bounds"
        traced = [node.meta.get("val") for node in graph.graph.find_nodes(op="placeholder")]
        with torch.no_grad():
            outputs = graph(*map(_strided, arguments, traced))
        expected = [
            array_of(value)
            for value, output in zip(outputs, converted.outputs, strict=True)
            if output.result is not None
        ]
        arrays = [array_of(arguments[position]) for position in converted.inputs]
        # An element beyond its bound is checked again with more runs.
        accuracy = nimblehlo.accuracy(load(converted.module), arrays, draws=4)
        self.violations += map(str, accuracy.violations(expected))
        self.judged += 1


def stabilize(graph: Any) -> None:
    """Let sorts of a graph keep the order of equal elements, as this runtime's do.

    PyTorch's may give them in any other order, and whatever is computed from their positions differs.
    """
    import torch

    for node in graph.graph.find_nodes(op="call_function", target=torch.ops.aten.sort.default):
        operand, *settings = node.args
        named = dict(zip(("dim", "descending"), settings, strict=False))
        node.target = torch.ops.aten.sort.stable
        node.kwargs = {**named, **node.kwargs, "stable": True}
        node.args = (operand,)
    graph.recompile()


def _strided(argument: Any, traced: Any) -> Any:
    """A tensor with the strides that PyTorch's have in a graph, on which views in it rely; ours may not."""
    import torch

    if not isinstance(argument, torch.Tensor) or argument.stride() == traced.stride():
        return argument
    # Elements of a dimension without a stride are one in memory.
    once = argument[tuple(slice(None) if stride else slice(0, 1) for stride in traced.stride())]
    strided = torch.empty_strided(once.shape, traced.stride(), dtype=argument.dtype).copy_(once)
    return strided.expand(argument.shape)


def compile_module(module: Module) -> nimblehlo.Executable:
    """The function of arrays that runs a module."""
    return nimblehlo.Executable(load(module), "main", nimblehlo.Options())


def relative_error(actual: Any, expected: Any, least: float = 1e-30) -> float:
    """The largest difference of two tensors, relative to the largest value, or to `least`."""
    actual, expected = (np.asarray(each.detach(), np.float64) for each in (actual, expected))
    if not actual.size:
        return 0.0
    return float(np.abs(actual - expected).max() / max(np.abs(expected).max(), least))


def largest_error(actual: Sequence[Any], expected: Sequence[Any]) -> float:
    """The largest relative error of pairs of tensors.

    A parameter whose gradient is 0 stays where rounding errors move it: at 0, such as the biases of keys.
    """
    return max(relative_error(*pair, least=1e-2) for pair in zip(actual, expected, strict=True))
