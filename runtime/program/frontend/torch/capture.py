"""The graphs that PyTorch makes of a captured function: its results, and the gradients if some are needed.

Source: PyTorch, ``torch._dynamo.backends.common.aot_autograd``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .decompositions import graph_decompositions, without_onednn

Run = Callable[[Sequence[Any]], list[Any]]
"""Runs a graph: its outputs from its inputs."""


def compiled_graphs(
    graph_module: Any, example_inputs: Sequence[Any], compile: Callable[[Any], Run]
) -> Callable[..., Any]:
    """Compile the graphs of functional ATen operations to which a graph of TorchDynamo is decomposed.

    PyTorch divides results and gradients so that few values are saved between them: what is computed element
    by element is computed again with the gradients, where fusions make that cheaper than memory traffic.

    Args:
        graph_module: the graph that TorchDynamo captured.
        example_inputs: its inputs.
        compile: from a graph to the function that runs it.

    Returns:
        A function of the graph's inputs.
    """
    from functorch.compile import make_boxed_func, min_cut_rematerialization_partition
    from torch._dynamo.backends.common import aot_autograd

    def compile_graph(graph: Any, inputs: Sequence[Any]) -> Any:
        run = compile(graph)
        return make_boxed_func(lambda *arguments: run(arguments))

    differentiate = aot_autograd(
        fw_compiler=compile_graph,
        bw_compiler=compile_graph,
        partition_fn=min_cut_rematerialization_partition,
        decompositions=graph_decompositions(),
    )
    with without_onednn():
        compiled: Callable[..., Any] = differentiate(graph_module, example_inputs)
    return compiled
