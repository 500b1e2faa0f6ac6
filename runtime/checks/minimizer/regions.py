"""Makes regions smaller: replaces control flow by one of its bodies, and removes operations of bodies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...program.ir import (
    Block,
    Builder,
    Module,
    Operation,
    Region,
    Value,
    builder_like,
)
from ...program.ops.framework.declaration import declaration_of
from ...program.ops.framework.traits import RegionRole
from .removal import CannotMinimize, constant, entry_of, is_replaceable, rewritten


def inlinable(module: Module, entry: str) -> list[tuple[Operation, int]]:
    """The operations that one of their regions can replace, with the region's number."""
    pairs = []
    for operation in entry_of(module, entry).operations:
        role = declaration_of(operation).region_role
        if role is RegionRole.BRANCHES:
            pairs += [(operation, index) for index in range(len(operation.regions))]
        elif role is RegionRole.LOOP:
            pairs.append((operation, 1))
    return pairs


def with_region_inlined(module: Module, entry: str, target: Operation, index: int) -> Module:
    """The program with the operations of one region, run once, in place of the operation that has it."""

    def rewrite(operation: Operation, builder: Builder, values: dict[Value, Value]) -> bool:
        if operation is not target:
            return False
        block = operation.regions[index].block
        if block.arguments:
            carried = [values[operand] for operand in operation.operands]
            values.update(zip(block.arguments, carried, strict=True))
        for inner in block.operations[:-1]:
            builder.copy(inner, values)
        results = [values[operand] for operand in block.terminator.operands]
        values.update(zip(operation.results, results, strict=True))
        return True

    return rewritten(module, entry, rewrite)


def nested(module: Module, entry: str) -> list[Operation]:
    """The operations in regions of the program's operations, without constants and terminators."""
    return [
        inner
        for operation in entry_of(module, entry).operations
        for region in operation.regions
        for inner in _operations(region)
    ]


def _operations(region: Region) -> Iterator[Operation]:
    for operation in region.block.operations[:-1]:
        if not operation.is_constant:
            yield operation
        for inner in operation.regions:
            yield from _operations(inner)


def without_nested(module: Module, entry: str, dropped: Sequence[Operation]) -> Module:
    """The program without some operations in regions; values of the same types replace their results."""
    removed = set(dropped)

    def rewrite(operation: Operation, builder: Builder, values: dict[Value, Value]) -> bool:
        if not operation.regions:
            return False
        copied = operation.clone(
            tuple([values[operand] for operand in operation.operands]),
            [_without(region, removed, values) for region in operation.regions],
        )
        builder.block.operations.append(copied)
        values.update(zip(operation.results, copied.results, strict=True))
        return True

    return rewritten(module, entry, rewrite)


def _without(region: Region, removed: set[Operation], values: dict[Value, Value]) -> Region:
    old = region.block
    builder = builder_like(old, values)
    block = builder.block
    for operation in old.operations:
        if operation in removed:
            for result in operation.results:
                values[result] = _replacement(result, operation, block, builder, values)
        elif operation.regions:
            operands = tuple([values.get(operand, operand) for operand in operation.operands])
            copied = operation.clone(operands, [_without(one, removed, values) for one in operation.regions])
            block.operations.append(copied)
            values.update(zip(operation.results, copied.results, strict=True))
        else:
            builder.copy(operation, values)
    return Region([block])


def _replacement(
    result: Value, operation: Operation, block: Block, builder: Builder, values: dict[Value, Value]
) -> Value:
    """An operand of the same type, an argument of the block, or zeros."""
    for operand in operation.operands:
        if operand.type == result.type:
            return values.get(operand, operand)
    for argument in block.arguments:
        if argument.type == result.type:
            return argument
    if not is_replaceable(result.type):
        raise CannotMinimize(f"nothing stands in for a value of {result.type}")
    return constant(builder, result.type, 0)
