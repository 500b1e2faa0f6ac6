"""The backend of torch.compile: ``torch.compile(model, backend="nimblehlo")``.

The extra ``nimblehlo[torch]`` brings PyTorch, which finds the backend by the entry point
``torch_dynamo_backends``.

Source: PyTorch, "Custom Backends".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .api import Executable
from .execution.torch_calls import GraphExecutable
from .options import Options
from .program.frontend.torch.capture import compiled_graphs
from .program.ir import Module
from .program.loading import load

__all__ = ["backend"]


def backend(
    graph_module: Any,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    **settings: object,
) -> Callable[..., Any]:
    """Compile a graph of torch.compile, and the graph of its gradients where something needs them.

    Args:
        graph_module: the graph that TorchDynamo captured.
        example_inputs: its inputs.
        options: keyword arguments of `nimblehlo.Options`; ``torch.compile(..., options={...})`` gives them.
        settings: what else torch.compile says, such as ``mode``; ignored.

    Returns:
        A function of the graph's inputs.

    Raises:
        UnsupportedError: an operation has no conversion; the error names the model's line.
    """
    all_options = Options(**(options or {}))

    def compile_module(module: Module) -> Executable:
        return Executable(load(module), "main", all_options)

    return compiled_graphs(graph_module, example_inputs, lambda graph: GraphExecutable(graph, compile_module))
