"""Reductions and sorts of values beside their positions, which need not be read."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Operation, Value
from ...ops.framework.attribute_kinds import I64
from ...ops.framework.op_registry import ARG_REDUCE, ARG_SORT
from ...ops.reduction.bodies import arg_reducer, comparator
from ...ops.reduction.reduce import Reduce
from ..utils.rewriter import Rewriter, dimensions, tensor_type, viewed
from ..utils.unused_results import kept_values
from .index_components import counted_dimension

_MIN_SORTED = 1 << 10
"""Elements from which on it pays not to make positions."""


def reduce_counted(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
    """The search for an extreme value and its place counts, where the places are those along a dimension."""
    value, indices, init_value, init_index = operation.operands
    along = counted_dimension(indices)
    reduced = viewed(operation, Reduce).dimensions
    if along is None or along not in reduced or arg_reducer(operation.regions[0]) is None:
        return None
    if any(tensor_type(value).shape[d] != 1 for d in reduced if d != along):
        return None
    made = Operation(
        ARG_REDUCE,
        [value, init_value, init_index],
        [result.type for result in operation.results],
        dimensions(dimensions=[along, *[d for d in reduced if d != along]]),
        operation.regions,
        operation.location,
    )
    return rewriter.place(made)


def sort_counted(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
    """A sort counts, where an input that is not compared has the places along the sorted dimension."""
    from ...ops.reduction.sort import Sort

    view = viewed(operation, Sort)
    inputs, keys = operation.operands, comparator(operation.regions[0])
    if keys is None or tensor_type(inputs[0]).size < _MIN_SORTED:
        return None
    compared = {key.operand for key in keys}
    numbers = [
        number
        for number, value in enumerate(inputs)
        if number not in compared and counted_dimension(value) == view.adjusted_dimension
    ]
    if not numbers:
        return None
    others = [number for number in range(len(inputs)) if number != numbers[0]]
    block = operation.regions[0].block
    compared_values = [2 * number + side for number in others for side in (0, 1)]
    block.arguments = kept_values(block.arguments, compared_values)
    made = Operation(
        ARG_SORT,
        [inputs[number] for number in others],
        [operation.results[number].type for number in (*others, numbers[0])],
        {"dimension": I64.encode(view.adjusted_dimension), **dimensions(kept=range(len(others)))},
        operation.regions,
        operation.location,
    )
    results = list(rewriter.place(made))
    results.insert(numbers[0], results.pop())
    return results
