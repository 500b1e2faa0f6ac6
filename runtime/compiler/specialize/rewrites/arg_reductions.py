"""Rewrites of reductions and sorts whose input of positions is an iota: their kernels count positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ....program.ir import Operation, Value, tensor_type
from ....program.ops.framework.attribute_kinds import I64
from ....program.ops.framework.op_registry import ARG_REDUCE, ARG_SORT
from ....program.ops.reduction.bodies import arg_reducer, comparator
from ....program.ops.reduction.reduce import Reduce
from ....program.ops.shape.layout import Concatenate
from ....types import BOOLEAN, INTEGER
from ..framework.rewriter import Rewriter, defined_by, dimensions
from ..framework.unused_results import select_values
from .index_components import counted_dimension
from .reshaping import broadcast

_MIN_SORTED = 1 << 10
"""Elements of a sort from which on counting positions is faster than reading an iota."""
MAX_SLICES: Final = 16
"""Slices of a search that is made elementwise, as by `jnp.select`: so many fit a fusion."""


def reduce_with_iota_positions(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
    """A search for an extreme and its index counts the indices, if they are an iota along a dimension."""
    value, indices, init_value, init_index = operation.operands
    counted_dim = counted_dimension(indices)
    reduced = Reduce.of(operation).dimensions
    if counted_dim is None or counted_dim not in reduced or arg_reducer(operation.regions[0]) is None:
        return None
    if any(tensor_type(value).shape[d] != 1 for d in reduced if d != counted_dim):
        return None
    slices = _few_slices(value, counted_dim)
    if slices and len(reduced) == 1 and _computes_in_own_types(operation):
        return _search_among(slices, operation, rewriter)
    replacement = Operation(
        ARG_REDUCE,
        [value, init_value, init_index],
        [result.type for result in operation.results],
        dimensions(dimensions=[counted_dim, *[d for d in reduced if d != counted_dim]]),
        operation.regions,
        operation.location,
    )
    return rewriter.insert(replacement)


def _few_slices(value: Value, dim: int) -> Sequence[Value]:
    """The integers or booleans of which each is a slice along a dimension; none if that is not known.

    In which order they are compared is the same to their extreme and its lowest index; floats are left out
    because of the signs of zeros.
    """
    concatenate, type = defined_by(value, "stablehlo.concatenate"), tensor_type(value)
    if concatenate is None or not type.category & (INTEGER | BOOLEAN):
        return ()
    along: int = Concatenate.of(concatenate).dimension
    is_few = along == dim and len(concatenate.operands) == type.shape[dim] <= MAX_SLICES
    return concatenate.operands if is_few else ()


def _computes_in_own_types(operation: Operation) -> bool:
    inputs, results = [
        [tensor_type(value).element_type for value in values]
        for values in (operation.operands, operation.results)
    ]
    return inputs == results * 2


def _search_among(slices: Sequence[Value], operation: Operation, rewriter: Rewriter) -> Sequence[Value]:
    """Apply the body to slices, elementwise: the other operations on elements are fused with it."""
    body, results = operation.regions[0].block, [tensor_type(result) for result in operation.results]
    candidates = [
        (rewriter.create("stablehlo.reshape", [value], results[0]), rewriter.constant(results[1], number))
        for number, value in enumerate(slices)
    ]
    initial = zip(operation.operands[2:], results, strict=True)
    best: Sequence[Value] = [broadcast(value, (), type, rewriter) for value, type in initial]
    for candidate in candidates:
        values = dict(zip(body.arguments, [*best, *candidate], strict=True))
        for step in body.operations[:-1]:
            operands = [values[operand] for operand in step.operands]
            type = tensor_type(step.result).with_shape(results[0].shape)
            values[step.result] = rewriter.create(step.name, operands, type, step.attributes)
        best = [values[value] for value in body.terminator.operands]
    return best


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
