"""Rewrites of reductions and sorts whose input of positions is an iota: their kernels count positions."""

from __future__ import annotations

from collections.abc import Sequence

from ....program.ir import Operation, Value, tensor_type
from ....program.ops.framework.attribute_kinds import I64
from ....program.ops.framework.op_registry import ARG_REDUCE, ARG_SORT
from ....program.ops.reduction.bodies import arg_reducer, comparator
from ....program.ops.reduction.reduce import Reduce
from ..framework.rewriter import Rewriter, dimensions
from ..framework.unused_results import select_values
from .index_components import counted_dimension

_MIN_SORTED = 1 << 10
"""Elements of a sort from which on counting positions is faster than reading an iota."""


def reduce_with_iota_positions(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
    """A search for an extreme and its index counts the indices, if they are an iota along a dimension."""
    value, indices, init_value, init_index = operation.operands
    counted_dim = counted_dimension(indices)
    reduced = Reduce.of(operation).dimensions
    if counted_dim is None or counted_dim not in reduced or arg_reducer(operation.regions[0]) is None:
        return None
    if any(tensor_type(value).shape[d] != 1 for d in reduced if d != counted_dim):
        return None
    replacement = Operation(
        ARG_REDUCE,
        [value, init_value, init_index],
        [result.type for result in operation.results],
        dimensions(dimensions=[counted_dim, *[d for d in reduced if d != counted_dim]]),
        operation.regions,
        operation.location,
    )
    return rewriter.insert(replacement)


def sort_with_iota_positions(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
    """A sort counts positions, if an input that is not compared is an iota along the sorted dimension."""
    from ....program.ops.sorting.sort import Sort

    view = Sort.of(operation)
    inputs, keys = operation.operands, comparator(operation.regions[0])
    if keys is None or tensor_type(inputs[0]).size < _MIN_SORTED:
        return None
    compared = {key.operand for key in keys}
    position_inputs = [
        number
        for number, value in enumerate(inputs)
        if number not in compared and counted_dimension(value) == view.adjusted_dimension
    ]
    if not position_inputs:
        return None
    result_inputs = [number for number in range(len(inputs)) if number != position_inputs[0]]
    block = operation.regions[0].block
    compared_values = [2 * number + side for number in result_inputs for side in (0, 1)]
    block.arguments = select_values(block.arguments, compared_values)
    replacement = Operation(
        ARG_SORT,
        [inputs[number] for number in result_inputs],
        [operation.results[number].type for number in (*result_inputs, position_inputs[0])],
        {
            "dimension": I64.encode(view.adjusted_dimension),
            **dimensions(returned=range(len(result_inputs))),
        },
        operation.regions,
        operation.location,
    )
    results = list(rewriter.insert(replacement))
    results.insert(position_inputs[0], results.pop())
    return results
