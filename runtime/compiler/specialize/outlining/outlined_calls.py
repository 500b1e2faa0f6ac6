"""Replaces subgraphs that are equal except for their operands, such as layers, by calls of one function.

Constants and data movement do not cross the boundary of a subgraph: each user rematerializes them, because
rewrites and fusion look at the operation that defines an operand.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Final

from ....program.ir import (
    Block,
    Builder,
    Function,
    Operation,
    Region,
    SymbolAttribute,
    UnitAttribute,
    Value,
    used_values,
)
from ....program.ops.control.control import Call
from ..framework.cleanup import OperationKeys, remove_dead_code
from .repeated_subgraphs import (
    MIN_LARGE_BLOCK,
    KindNumbers,
    RepeatedSubgraph,
    is_repeated_by_users,
    repeated_subgraphs,
)

IS_INLINED_LATER: Final = "nimblehlo.is_inlined_later"
"""The attribute of functions whose calls are inlined again once their rows are fused (`fused_calls`)."""
MAX_FUNCTIONS: Final = 8
"""Functions that a program may get."""
MAX_REMATERIALIZED: Final = 16
"""Longest chain of data-movement operations that is rematerialized."""


def outline_repeated_subgraphs(region: Region) -> list[Function]:
    """Replace repeated subgraphs of a function by calls, in place.

    Returns:
        the functions that are called.
    """
    functions: list[Function] = []
    kind_numbers, keeps_values = KindNumbers(), False
    while len(functions) < MAX_FUNCTIONS:
        subgraphs = repeated_subgraphs(region.block.operations, kind_numbers, keeps_values=keeps_values)
        if subgraphs:
            function = _replace(region.block, subgraphs, f"layer_{len(functions)}")
            if keeps_values:
                function.attributes[IS_INLINED_LATER] = UnitAttribute()
            functions.append(function)
        elif not keeps_values and len(region.block.operations) >= MIN_LARGE_BLOCK:
            keeps_values = True
        else:
            break
    if functions:
        remove_dead_code(region)
    return functions


def _replace(block: Block, subgraphs: Sequence[RepeatedSubgraph], name: str) -> Function:
    """Replace equal subgraphs by calls of one function, which is returned."""
    callee = _Callee(subgraphs)
    results, movement_ops = _used_outside(block, subgraphs, callee.parameters)
    region = callee.region(results)
    replacements: dict[Operation, list[Operation]] = {}
    replaced: dict[Value, Value] = {}
    for index, subgraph in enumerate(subgraphs):
        operands = [values[index] for values in callee.parameters]
        first = subgraph.operations[0]
        attributes = {"callee": SymbolAttribute(name)}
        call = Operation(Call.name, operands, region.type.results, attributes, location=first.location)
        for (operation_index, result_index), result in zip(results, call.results, strict=True):
            replaced[subgraph.operations[operation_index].results[result_index]] = result
        copies = {move: move.clone(move.operands) for move in subgraph.operations if move in movement_ops}
        replaced.update({move.result: rematerialized.result for move, rematerialized in copies.items()})
        replacements[first] = [call, *copies.values()]
    removed = {operation for subgraph in subgraphs for operation in subgraph.operations}
    _rebuild(block, replacements, removed, replaced)
    return Function(name, region.type, region, visibility="private")


def _rebuild(
    block: Block,
    replacements: Mapping[Operation, Sequence[Operation]],
    removed: Container[Operation],
    replaced: Mapping[Value, Value],
) -> None:
    """Replace operations of a block, and update the operands of all others."""
    block.operations = [
        replacement
        for operation in block.operations
        for replacement in replacements.get(operation, () if operation in removed else (operation,))
    ]
    block.replace_uses(replaced)


class _Callee:
    """The function that replaces equal subgraphs.

    Attributes:
        parameters: for each argument its value in each of the subgraphs.
    """

    def __init__(self, subgraphs: Sequence[RepeatedSubgraph]) -> None:
        self.parameters: list[tuple[Value, ...]] = []
        self._block = Block()
        self._builder = Builder(self._block)
        self._kinds = OperationKeys()
        self._values_of: dict[tuple[Value, ...], Value] = {}
        self._operations = subgraphs[0].operations
        self._values: dict[Value, Value] = {}
        for values in zip(*[subgraph.outside for subgraph in subgraphs], strict=True):
            self._values[values[0]] = self._value(values, MAX_REMATERIALIZED)
        for operation in self._operations:
            self._builder.copy(operation, self._values)

    def region(self, results: Sequence[tuple[int, int]]) -> Region:
        """The body, which returns the results given as (number of the operation, index of the result)."""
        returned = [self._values[self._operations[number].results[index]] for number, index in results]
        self._builder.create("func.return", returned)
        return Region([self._block])

    def _value(self, values: tuple[Value, ...], depth: int) -> Value:
        """The value in the function for an outside value, given for each subgraph."""
        cached = self._values_of.get(values)
        if cached is None:
            cached = self._values_of[values] = self._rematerialized(values, depth) or self._argument(values)
        return cached

    def _rematerialized(self, values: tuple[Value, ...], depth: int) -> Value | None:
        """A copy of the constant or data movement that defines the value in all subgraphs, or None."""
        owners = [value.owner for value in values if is_repeated_by_users(value)]
        movement_ops = [owner for owner in owners if isinstance(owner, Operation)]
        if (
            len(movement_ops) < len(values) or not depth
            or len({self._kinds.key_of(move) for move in movement_ops}) > 1
        ):
            return None
        operand_columns = list(zip(*[move.operands for move in movement_ops], strict=True))
        if any(len({value.type for value in column}) > 1 for column in operand_columns):
            return None
        operands = tuple([self._value(column, depth - 1) for column in operand_columns])
        rematerialized = movement_ops[0].clone(operands)
        self._block.operations.append(rematerialized)
        return rematerialized.result

    def _argument(self, values: tuple[Value, ...]) -> Value:
        argument = Value(values[0].type, self._block, len(self.parameters))
        self._block.arguments = (*self._block.arguments, argument)
        self.parameters.append(values)
        return argument


def _used_outside(
    block: Block, subgraphs: Sequence[RepeatedSubgraph], parameters: Sequence[tuple[Value, ...]]
) -> tuple[list[tuple[int, int]], set[Operation]]:
    """The results of a subgraph's operations that are used outside of it in any of the subgraphs, and the
    constants and data-movement operations that are."""
    numbers = {
        operation: number
        for subgraph in subgraphs
        for number, operation in enumerate(subgraph.operations)
    }
    pending = [value for values in parameters for value in values]
    for operation in block.operations:
        if operation not in numbers:
            pending += used_values(operation)
    results: set[tuple[int, int]] = set()
    movement_ops: set[Operation] = set()
    while pending:
        value = pending.pop()
        owner = value.owner
        if not isinstance(owner, Operation) or owner not in numbers or owner in movement_ops:
            continue
        if is_repeated_by_users(value):
            movement_ops.add(owner)
            pending += owner.operands
        else:
            results.add((numbers[owner], value.index))
    return sorted(results), movement_ops
