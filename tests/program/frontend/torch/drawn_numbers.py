"""The same random numbers for two implementations of a model, so that their results can be compared.

`lift` makes the random numbers of a graph inputs of it, and `SameNumbers` gives PyTorch, which runs the model
operation by operation, these numbers. Either draws those of the n-th random operation by PyTorch's operation
itself, with the seed n, in single precision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

aten: Final = torch.ops.aten
_BY_SHAPE: Final = frozenset(
    {
        aten.bernoulli.p,
        aten.bernoulli_.float,
        aten.rand_like.default,
        aten.randn_like.default,
        aten.uniform.default,
        aten.uniform_.default,
        aten.normal_functional.default,
        aten.normal_.default,
    }
)
"""Random operations that take of a tensor its shape alone."""


def draws(operation: Any, arguments: Sequence[Any], named: Mapping[str, Any]) -> bool:
    """Whether an operation draws random numbers, which attention without dropout does not."""
    if torch.Tag.nondeterministic_seeded not in getattr(operation, "tags", ()):
        return False
    names = [argument.name for argument in operation._schema.arguments]
    given = {**dict(zip(names, arguments, strict=False)), **named}
    return "dropout_p" not in names or bool(given.get("dropout_p"))


def drawn(number: int, operation: Any, arguments: Sequence[Any], named: Mapping[str, Any]) -> Tensor:
    """The random numbers of an operation, in single precision if they are floats.

    Raises:
        NotImplementedError: they depend on values.
    """
    has_tensor = any(isinstance(argument, Tensor) for argument in arguments)
    if has_tensor and operation not in _BY_SHAPE:
        raise NotImplementedError(f"{operation} draws by the values of a tensor")
    shapes = [torch.empty(x.shape) if isinstance(x, Tensor) else x for x in arguments]
    options = {key: torch.float32 if value is torch.float64 else value for key, value in named.items()}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(number)
        return operation(*shapes, **options)  # type: ignore[no-any-return]


class SameNumbers(TorchDispatchMode):
    """A context in which PyTorch draws the same random numbers as a graph whose numbers are inputs."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = kwargs or {}
        if not draws(func, args, named):
            return func(*args, **named)
        numbers = drawn(self._count, func, args, named)
        self._count += 1
        if func._schema.is_mutable:
            return args[0].copy_(numbers)
        like = next((x for x in args if isinstance(x, Tensor)), None)
        return numbers if like is None else numbers.to(like.dtype)


Draw = Callable[[], Tensor]
"""Draws the random numbers of an operation."""


def lift(graph_module: Any) -> list[Draw]:
    """Make the random numbers of a graph inputs of it, after the others.

    Returns:
        What draws the additional inputs.
    """
    graph = graph_module.graph
    first = next(node for node in graph.nodes if node.op != "placeholder")
    lifted: list[Draw] = []
    for node in list(graph.nodes):
        if node.op != "call_function" or not draws(node.target, node.args, node.kwargs):
            continue
        if node.target is aten.native_dropout.default:
            draw = _lift_dropout(graph, node, first, len(lifted))
        else:
            draw = _lift_numbers(graph, node, first, len(lifted))
        if draw is not None:
            lifted.append(draw)
    graph.eliminate_dead_code()
    graph_module.recompile()
    return lifted


def _placeholder(graph: Any, first: Any, value: Any, number: int) -> Any:
    with graph.inserting_before(first):
        placeholder = graph.placeholder(f"random_numbers_{number}")
    placeholder.meta["val"] = value
    return placeholder


def _lift_numbers(graph: Any, node: Any, first: Any, number: int) -> Draw:
    value = node.meta["val"]
    # Values of tensors while PyTorch traces have a shape and no elements.
    arguments = [x.meta["val"] if isinstance(x, torch.fx.Node) else x for x in node.args]
    operation, named = node.target, dict(node.kwargs)
    node.replace_all_uses_with(_placeholder(graph, first, value, number))
    graph.erase_node(node)
    return lambda: drawn(number, operation, arguments, named).to(value.dtype)


def _lift_dropout(graph: Any, node: Any, first: Any, number: int) -> Draw | None:
    """The mask of a dropout as an input; PyTorch draws one outside of graphs by a Bernoulli distribution."""
    x, p, train = node.args
    if train is False or p == 0:
        return None
    value, mask = node.meta["val"]
    kept = _placeholder(graph, first, mask, number)
    with graph.inserting_before(node):
        masked = graph.call_function(aten.mul.Tensor, (x, kept))
        scaled = graph.call_function(aten.mul.Scalar, (masked, 1 / (1 - p)))
    masked.meta["val"] = scaled.meta["val"] = value
    for user in list(node.users):
        user.replace_all_uses_with((scaled, kept)[user.args[1]])
        graph.erase_node(user)
    graph.erase_node(node)
    shape = torch.Size(map(int, mask.shape))
    return lambda: drawn(number, aten.bernoulli_.float, [torch.empty(shape), 1 - p], {}).bool()
