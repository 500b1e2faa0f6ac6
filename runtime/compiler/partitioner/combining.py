"""Combines all-reduces of the same devices: the devices then wait for each other once.

Each operand of an `all_reduce` is reduced by itself, so the results keep their bits. XLA's all-reduce
combiner does the same.
"""

from __future__ import annotations

from typing import Final

from ...program.ir import Block, Function, Operation, Value
from ...program.ir.builder import copy_region, used_values
from ...program.ops.reduction.bodies import monoid
from ...types import TensorType
from ..specialize.framework.operation_classes import has_no_effect

_ALL_REDUCE: Final = "stablehlo.all_reduce"


def combine_all_reduces(function: Function) -> None:
    """Combine all-reduces of a block that have equal attributes and computations.

    Args:
        function: the program of a device; it is changed.
    """
    if function.body is None:
        return
    for block in [*function.body.blocks, *_inner_blocks(function)]:
        position = 0
        while position < len(block.operations):
            if block.operations[position].name == _ALL_REDUCE:
                _combine_with_later_ones(block, position)
            position += 1


def _inner_blocks(function: Function) -> list[Block]:
    """The blocks of regions of a function's operations."""
    operations = [] if function.body is None else function.body.walk()
    return [block for operation in operations for region in operation.regions for block in region.blocks]


def _combine_with_later_ones(block: Block, position: int) -> None:
    """Combine an all-reduce with later ones that neither depend on it nor follow an operation with effects.

    The combined operation takes the place of the last one. Operations that use the results of an earlier one
    are moved behind it.
    """
    first = block.operations[position]
    members, users, end = [first], list[Operation](), position + 1
    unavailable = set(first.results)
    for index, operation in enumerate(block.operations[position + 1 :], position + 1):
        if not unavailable.isdisjoint(used_values(operation)):
            if operation is block.terminator or not has_no_effect(operation):
                break
            users.append(operation)
        elif _can_combine(operation, first):
            members.append(operation)
            end = index + 1
        elif operation is block.terminator or not has_no_effect(operation):
            break
        else:
            continue
        unavailable.update(operation.results)
    if len(members) > 1:
        moved = {*members, *users}
        window = block.operations[position:end]
        before = [operation for operation in window if operation not in moved]
        after = [operation for operation in window if operation in users]
        block.operations[position:end] = [*before, _combined(block, members), *after]


def _can_combine(operation: Operation, first: Operation) -> bool:
    """Whether an operation is an all-reduce by the same known computation and among the same devices."""
    key = _key(first)
    return operation.name == _ALL_REDUCE and _key(operation) == key and key[0] is not None


def _key(operation: Operation) -> tuple[object, ...]:
    """The computation, None if it is not a known one, and what else all-reduces must have in common."""
    types = [value.type for value in operation.operands]
    elements = {type.element_type for type in types if isinstance(type, TensorType)}
    return monoid(operation.regions[0]), elements, operation.attributes


def _combined(block: Block, members: list[Operation]) -> Operation:
    """One all-reduce of the operands of several; its results replace theirs."""
    operands = [operand for member in members for operand in member.operands]
    results = [result for member in members for result in member.results]
    first, last = members[0], members[-1]
    types = [result.type for result in results]
    regions = [copy_region(region, {}) for region in first.regions]
    combined = Operation(first.name, operands, types, first.attributes, regions, last.location)
    replaced: dict[Value, Value] = dict(zip(results, combined.results, strict=True))
    block.replace_uses(replaced)
    return combined
