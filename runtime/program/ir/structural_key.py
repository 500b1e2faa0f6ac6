"""A cheap key of blocks: most attributes are compared by identity, not by value."""

from __future__ import annotations

from ...types import ELEMENT_TYPES
from .attributes import Attribute, DenseArrayAttribute
from .operation import Block, Value

_I64 = ELEMENT_TYPES["i64"]


def structural_key(block: Block) -> tuple[tuple[object, ...], list[object]]:
    """A key, and the objects whose identities it contains, which must live as long as the key.

    Blocks of equal keys have the same operations, with the same types and attributes; only locations
    may differ. Blocks that are equal may have different keys.

    Args:
        block: a block without captured values.
    """
    key: list[object] = []
    referenced: list[object] = []
    _append_block(block, {}, key, referenced)
    return tuple(key), referenced


def _append_block(
    block: Block, outer: dict[Value, int], key: list[object], referenced: list[object]
) -> None:
    numbers = dict(outer)
    for argument in block.arguments:
        numbers[argument] = len(numbers)
        key.append(str(argument.type))
    for operation in block.operations:
        key.append(operation.name)
        key += [numbers[operand] for operand in operation.operands]
        if operation.attributes:
            for name, attribute in operation.attributes.items():
                key += (name, _attribute_key(attribute))
            referenced += operation.attributes.values()
        for region in operation.regions:
            key.append("(")
            _append_block(region.block, numbers, key, referenced)
            key.append(")")
        for result in operation.results:
            numbers[result] = len(numbers)
            key.append(str(result.type))


def _attribute_key(attribute: Attribute) -> object:
    """The values of an i64 array, of which rewrites create equal copies; any other attribute's identity."""
    if type(attribute) is DenseArrayAttribute and attribute.element_type is _I64:
        return attribute.values
    return id(attribute)
