"""The backend of torch.compile: ``torch.compile(model, backend="nimblehlo")``.

The extra ``nimblehlo[torch]`` brings PyTorch, which finds the backend by the entry point
``torch_dynamo_backends``.

Source: PyTorch, "Custom Backends".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .api import Executable
from .options import Options
from .program.frontend.torch.calls import GraphExecutable
from .program.frontend.torch.decompositions import graph_decompositions, without_onednn
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
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    all_options = Options(**(options or {}))

    def compile_module(module: Module) -> Executable:
        return Executable(load(module), "main", all_options)

    def compile_graph(graph: Any, inputs: Sequence[Any]) -> Any:
        executable = GraphExecutable(graph, compile_module)
        return make_boxed_func(lambda *arguments: executable(arguments))

    differentiate = aot_autograd(
        fw_compiler=compile_graph, bw_compiler=compile_graph, decompositions=graph_decompositions()
    )
    with without_onednn():
        compiled: Callable[..., Any] = differentiate(graph_module, example_inputs)
    return compiled
