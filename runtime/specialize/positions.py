"""Reductions of values beside their positions, which need not be read."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Operation, Value
from ..ops.position_reduction import POSITION_REDUCE
from ..ops.reduction import Reduce
from ..ops.regions import arg_reducer
from .index_columns import counted_dimension
from .rewriting import Rewriter, dimensions, tensor_type, viewed


def reduce_counted(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
    """The search for an extreme value and its place counts, where the places are those along a dimension."""
    if len(operation.operands) != 4:
        return None
    value, indices, init_value, init_index = operation.operands
    along = counted_dimension(indices)
    reduced = viewed(operation, Reduce).dimensions
    if along is None or along not in reduced or arg_reducer(operation.regions[0]) is None:
        return None
    if any(tensor_type(value).shape[d] != 1 for d in reduced if d != along):
        return None
    made = Operation(
        POSITION_REDUCE,
        [value, init_value, init_index],
        [result.type for result in operation.results],
        dimensions(dimensions=[along, *[d for d in reduced if d != along]]),
        operation.regions,
        operation.location,
    )
    return rewriter.place(made)
