"""Judges graphs of PyTorch by `nimblehlo.accuracy`: PyTorch's own results must lie within the bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import nimblehlo
from nimblehlo.program.frontend.torch.calls import GraphExecutable
from nimblehlo.program.frontend.torch.conversion import Sizes
from nimblehlo.program.frontend.torch.decompositions import graph_decompositions, without_onednn
from nimblehlo.program.frontend.torch.element_types import array_of
from nimblehlo.program.ir import Module
from nimblehlo.program.loading import load


class Judge:
    """A backend of torch.compile that judges the first call of each graph.

    PyTorch runs the graph too, operation by operation, on the same inputs. `nimblehlo.accuracy` states the
    bounds within which results of a correct implementation lie.

    Attributes:
        graphs: the number of judged graphs.
        violations: what lies beyond its bound.
    """

    def __init__(self) -> None:
        self.graphs = 0
        self.violations: list[str] = []

    def __call__(self, graph_module: Any, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        from torch._dynamo.backends.common import aot_autograd

        differentiate = aot_autograd(
            fw_compiler=self._compile, bw_compiler=self._compile, decompositions=graph_decompositions()
        )
        with without_onednn():
            compiled: Callable[..., Any] = differentiate(graph_module, example_inputs)
        return compiled

    def _compile(self, graph: Any, inputs: Sequence[Any]) -> Any:
        from functorch.compile import make_boxed_func

        executable = GraphExecutable(graph, compile_module)
        judged = False

        def run(*arguments: Any) -> list[Any]:
            nonlocal judged
            if not judged:
                self.judge(graph, executable, arguments)
                judged = True
            return executable(arguments)

        return make_boxed_func(run)

    def judge(self, graph: Any, executable: GraphExecutable, arguments: Sequence[Any]) -> None:
        """Compare PyTorch's results of a graph with the bounds."""
        import torch

        converted, _ = executable.program(Sizes({}))
        assert not converted.takes_seed, "random numbers have no bounds"
        with torch.no_grad():
            outputs = graph(*arguments)
        expected = [
            array_of(value)
            for value, output in zip(outputs, converted.outputs, strict=True)
            if not isinstance(output, tuple)
        ]
        arrays = [array_of(arguments[position]) for position in converted.inputs]
        # An element beyond its bound is checked again with more runs.
        accuracy = nimblehlo.accuracy(load(converted.module), arrays, draws=4)
        self.violations += map(str, accuracy.violations(expected))
        self.graphs += 1


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
