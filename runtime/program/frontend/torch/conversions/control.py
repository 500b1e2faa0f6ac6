"""PyTorch's operations that take graphs, and operations that only check.

Source: PyTorch, ``torch.cond``, ``torch.while_loop`` and "Control Flow" of torch.export's operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .....types import TensorType
from ....ir import Region, Value, tensor_type
from ..emitter import I1
from ..table import NodeEmitter, converts, unsupported

CHECKS: Final = frozenset(
    {
        "aten._assert_async.msg",
        "aten._assert_async.default",
        "aten._assert_scalar.default",
        "aten._assert_tensor_metadata.default",
        "aten._linalg_check_errors.default",
        "aten.sym_constrain_range.default",
        "aten.sym_constrain_range_for_size.default",
    }
)
"""Operations that check what PyTorch assumes of sizes and values; the conversion takes these as they are."""


def is_token(node: Any) -> bool:
    """Whether an input of a graph only orders operations with effects: PyTorch passes None for it."""
    return any(
        str(user.target) == "with_effects" and user.args and user.args[0] is node for user in node.users
    )


def _graph_region(
    e: NodeEmitter, graph: Any, types: Sequence[TensorType], captured: Sequence[Any], what: str
) -> Region:
    """A region that returns what a graph makes of the region's arguments and of values from outside."""

    def body(arguments: Sequence[Value]) -> Sequence[Value]:
        results = e.run(graph, [*arguments, *captured])
        if not all(isinstance(result, Value) for result in results):
            raise unsupported(f"{what} returns something other than tensors")
        return results

    return e.nested(types, body)


@converts("cond")
def cond(e: NodeEmitter, pred: Any, true_graph: Any, false_graph: Any, operands: Sequence[Any]) -> list[Any]:
    """The results of one of two graphs of the same operands."""
    if not isinstance(pred, Value):
        return e.run(true_graph if pred else false_graph, operands)
    types = [type for type in e.types if type is not None]
    if len(types) != len(e.types):
        raise unsupported("a branch of torch.cond returns something other than tensors")
    branches = [_graph_region(e, graph, (), operands, "a branch") for graph in (true_graph, false_graph)]
    predicate = e.convert(e.reshape(pred, ()), I1)
    return list(e.create("stablehlo.if", [predicate], types, branches))


@converts("while_loop")
def while_loop(
    e: NodeEmitter, condition: Any, body: Any, carried: Sequence[Any], additional: Sequence[Any]
) -> list[Value]:
    """Values to which a graph is applied as long as another one says so."""
    if not all(isinstance(value, Value) for value in carried):
        raise unsupported("torch.while_loop carries something other than tensors")
    types = [tensor_type(value) for value in carried]
    with e.without_random_numbers("torch.while_loop"):
        regions = [
            _graph_region(e, graph, types, additional, "the condition or the body")
            for graph in (condition, body)
        ]
    return list(e.create("stablehlo.while", carried, types, regions))


@converts("with_effects")
def with_effects(
    e: NodeEmitter, token: object, operation: Any, *args: object, **options: object
) -> list[Any]:
    """An operation whose place among others with effects matters; checks have no result."""
    if str(operation) not in CHECKS:
        raise unsupported(f"{operation} has an effect beyond its results")
    return [token, *[None] * (len(e.types) - 1)]
