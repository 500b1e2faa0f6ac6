"""PyTorch's operations that take graphs, and operations that only check.

Source: PyTorch, ``torch.cond``, ``torch.switch``, ``torch.while_loop``, and ``scan``, ``associative_scan``
and ``map`` of ``torch._higher_order_ops``; "Control Flow" of torch.export's operators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from .....types import TensorType
from ....ir import Region, Value, tensor_type
from ..emitter import I1, I32, I64, element_type, shape_of
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


def _tensors_of(e: NodeEmitter, graph: Any, operands: Sequence[Any], what: str) -> list[Value]:
    """The results of a graph.

    Raises:
        UnsupportedError: one of them is no tensor.
    """
    results = e.run(graph, operands)
    if not all(isinstance(result, Value) for result in results):
        raise unsupported(f"{what} returns something other than tensors")
    return results


def _result_types(e: NodeEmitter, what: str) -> list[TensorType]:
    """The types of the node's results.

    Raises:
        UnsupportedError: one of them is no tensor.
    """
    types = [type for type in e.types if type is not None]
    if len(types) != len(e.types):
        raise unsupported(f"{what} returns something other than tensors")
    return types


def _graph_region(
    e: NodeEmitter, graph: Any, types: Sequence[TensorType], captured: Sequence[Any], what: str
) -> Region:
    """A region that returns what a graph makes of the region's arguments and of values from outside."""

    return e.nested(types, lambda arguments: _tensors_of(e, graph, [*arguments, *captured], what))


@converts("cond")
def cond(e: NodeEmitter, pred: Any, true_graph: Any, false_graph: Any, operands: Sequence[Any]) -> list[Any]:
    """The results of one of two graphs of the same operands."""
    if not isinstance(pred, Value):
        return e.run(true_graph if pred else false_graph, operands)
    types = _result_types(e, "a branch")
    branches = [_graph_region(e, graph, (), operands, "a branch") for graph in (true_graph, false_graph)]
    predicate = e.convert(e.reshape(pred, ()), I1)
    return list(e.create("stablehlo.if", [predicate], types, branches))


@converts("switch")
def switch(e: NodeEmitter, index: Any, graphs: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    """The results of one of several graphs of the same operands: of the nearest one if the index has none."""
    last = len(graphs) - 1
    if not isinstance(index, Value):
        return e.run(graphs[min(max(index, 0), last)], operands)
    types = _result_types(e, "a branch")
    branches = [_graph_region(e, graph, (), operands, "a branch") for graph in graphs]
    bounds = [e.full(bound, (), I64) for bound in (0, last)]
    number = e.one("stablehlo.clamp", [bounds[0], e.convert(e.reshape(index, ()), I64), bounds[1]], (), I64)
    return list(e.create("stablehlo.case", [e.convert(number, I32)], types, branches))


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


def _slice_at(e: NodeEmitter, x: Value, number: Value) -> Value:
    """One slice along the first dimension, without that dimension."""
    rest = shape_of(x)[1:]
    starts = [number, *[e.full(0, (), I64) for _ in rest]]
    sliced = e.one(
        "stablehlo.dynamic_slice", [x, *starts], (1, *rest), element_type(x), slice_sizes=(1, *rest)
    )
    return e.reshape(sliced, rest)


def _with_slice(e: NodeEmitter, x: Value, number: Value, slice: Value) -> Value:
    """A value with another slice along its first dimension."""
    starts = [number, *[e.full(0, (), I64) for _ in shape_of(slice)]]
    update = e.reshape(slice, (1, *shape_of(slice)))
    operands = [x, update, *starts]
    return e.one("stablehlo.dynamic_update_slice", operands, shape_of(x), element_type(x))


Step = Callable[[Sequence[Value], Sequence[Value]], tuple[Sequence[Value], Sequence[Value]]]
"""From what is carried and the slices of a step to what the next step gets and the slices of the results."""


def _over_slices(
    e: NodeEmitter, first: int, carried: Sequence[Value], xs: Sequence[Value], ys: Sequence[Value], step: Step
) -> list[Value]:
    """What steps over the slices of `xs`, from number `first` on, carry, and `ys` with their results."""
    initial = [e.full(first, (), I64), *carried, *ys]
    length = shape_of(xs[0])[0]

    def condition(arguments: Sequence[Value]) -> Sequence[Value]:
        return [e.compare("LT", arguments[0], e.full(length, (), I64))]

    def body(arguments: Sequence[Value]) -> Sequence[Value]:
        number, *others = arguments
        states, results = others[: len(carried)], others[len(carried) :]
        after, slices = step(states, [_slice_at(e, x, number) for x in xs])
        stored = [_with_slice(e, y, number, slice) for y, slice in zip(results, slices, strict=True)]
        return [e.add(number, e.full(1, (), I64)), *after, *stored]

    types = [tensor_type(value) for value in initial]
    regions = [e.nested(types, condition), e.nested(types, body)]
    return list(e.create("stablehlo.while", initial, types, regions))[1:]


def _stacked(e: NodeEmitter, types: Sequence[TensorType]) -> list[Value]:
    """Zeros in the types of results that are stored slice by slice."""
    return [e.full(0, type.shape, type.plain_element_type) for type in types]


@converts("scan")
def scan(
    e: NodeEmitter,
    graph: Any,
    carried: Sequence[Value],
    xs: Sequence[Value],
    additional: Sequence[Any],
    **options: Any,
) -> list[Value]:
    """What a graph carries from slice to slice, and its other results for each slice."""
    _without_mutation(options)
    what, count = "the function of a scan", len(carried)
    ys = _stacked(e, _result_types(e, what)[count:])

    def step(states: Sequence[Value], slices: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        results = _tensors_of(e, graph, [*states, *slices, *additional], what)
        return results[:count], results[count:]

    with e.without_random_numbers("a scan"):
        return _over_slices(e, 0, carried, xs, ys, step)


@converts("associative_scan")
def associative_scan(
    e: NodeEmitter, graph: Any, xs: Sequence[Value], additional: Sequence[Any] = ()
) -> list[Value]:
    """The slices up to each one, combined by a graph, one after the other."""
    if not shape_of(xs[0])[0]:
        return list(xs)
    what = "the function of a scan"

    def step(states: Sequence[Value], slices: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        results = _tensors_of(e, graph, [*states, *slices, *additional], what)
        return results, results

    first = [e.reshape(e.slice(x, 0, 0, 1), shape_of(x)[1:]) for x in xs]
    with e.without_random_numbers("a scan"):
        return _over_slices(e, 1, first, xs, xs, step)[len(xs) :]


@converts("map_impl")
def map_slices(
    e: NodeEmitter, graph: Any, xs: Sequence[Value], additional: Sequence[Any], **options: Any
) -> list[Value]:
    """The results of a graph for each slice."""
    _without_mutation(options)
    what = "the function of a map"
    ys = _stacked(e, _result_types(e, what))
    with e.without_random_numbers("a map"):
        return _over_slices(
            e, 0, (), xs, ys, lambda _, slices: ((), _tensors_of(e, graph, [*slices, *additional], what))
        )


def _without_mutation(options: Mapping[str, Any]) -> None:
    if options.get("mutated_arg_indices"):
        raise unsupported("writes to its operands")


@converts("with_effects")
def with_effects(
    e: NodeEmitter, token: object, operation: Any, *args: object, **options: object
) -> list[Any]:
    """An operation whose place among others with effects matters; checks have no result."""
    if str(operation) not in CHECKS:
        raise unsupported(f"{operation} has an effect beyond its results")
    return [token, *[None] * (len(e.types) - 1)]
