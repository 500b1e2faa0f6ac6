"""What tells blocks apart in little time: by which objects their types and attributes are, not by values."""

from __future__ import annotations

from .module import Block, Value


def likeness(block: Block) -> tuple[tuple[object, ...], list[object]]:
    """A key, and the objects that it stands for: they have to be kept as long as the key is.

    Blocks of equal keys have the same operations, with the same types and attributes; only locations
    may differ. Blocks that are equal may have different keys.

    Args:
        block: one that uses nothing from outside.
    """
    key: list[object] = []
    kept: list[object] = []
    _enter(block, {}, key, kept)
    return tuple(key), kept


def _enter(block: Block, outer: dict[Value, int], key: list[object], kept: list[object]) -> None:
    numbers = dict(outer)
    for argument in block.arguments:
        numbers[argument] = len(numbers)
    types: list[object] = [argument.type for argument in block.arguments]
    kept += types
    key += map(id, types)
    for operation in block.operations:
        attributes = operation.attributes
        key.append(operation.name)
        key += [numbers[operand] for operand in operation.operands]
        own = [*attributes.values(), *[result.type for result in operation.results]]
        kept += own
        key += (":", *attributes, *map(id, own))
        for region in operation.regions:
            key.append("(")
            _enter(region.block, numbers, key, kept)
            key.append(")")
        for result in operation.results:
            numbers[result] = len(numbers)
