"""Builds blocks operation by operation, and copies them under a mapping of values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, MutableMapping, Sequence

from ..types import Type
from .attributes import Attribute
from .location import UNKNOWN, Location
from .operation import Block, Operation, Region, Value


class Builder:
    """Appends operations to a block.

    Args:
        block: where operations go.
    """

    def __init__(self, block: Block) -> None:
        self.block = block

    def create(
        self,
        name: str,
        operands: Iterable[Value] = (),
        result_types: Iterable[Type] = (),
        attributes: Mapping[str, Attribute] | None = None,
        regions: Iterable[Region] = (),
        location: Location = UNKNOWN,
    ) -> Operation:
        operation = Operation(name, operands, result_types, attributes, regions, location)
        self.block.operations.append(operation)
        return operation

    def copy(self, operation: Operation, values: MutableMapping[Value, Value]) -> Operation:
        """Append a copy of `operation`.

        Args:
            operation: the operation to copy, with its regions.
            values: the replacements of operands; other operands stay. The results of the copy are added.
        """
        copied = operation.clone(
            tuple([values.get(operand, operand) for operand in operation.operands]),
            [copy_region(region, values) for region in operation.regions],
        )
        self.block.operations.append(copied)
        values.update(zip(operation.results, copied.results, strict=True))
        return copied


def copy_region(region: Region, values: MutableMapping[Value, Value]) -> Region:
    """A copy of `region` in which `values` has the replacements of captured values."""
    copied = Region(is_isolated=region.is_isolated)
    for block in region.blocks:
        new = Block([argument.type for argument in block.arguments])
        values.update(zip(block.arguments, new.arguments, strict=True))
        builder = Builder(new)
        for operation in block.operations:
            builder.copy(operation, values)
        copied.blocks.append(new)
    return copied


def used_values(operation: Operation) -> Sequence[Value]:
    """The values that an operation uses, through its regions too."""
    if not operation.regions:
        return operation.operands
    return (*operation.operands, *captured_values(operation.regions))


def use_counts(region: Region) -> Counter[Value]:
    """How many operands in a region each value is, those of nested regions included."""
    return Counter(operand for operation in region.walk() for operand in operation.operands)


def captured_values(regions: Iterable[Region]) -> list[Value]:
    """The values that regions use but do not define, each once, in order of first use."""
    captured: dict[Value, None] = {}
    _capture(regions, set(), captured)
    return list(captured)


def _capture(regions: Iterable[Region], defined: set[Value], captured: dict[Value, None]) -> None:
    for region in regions:
        if region.is_isolated:
            continue
        for block in region.blocks:
            defined.update(block.arguments)
            for operation in block.operations:
                for operand in operation.operands:
                    if operand not in defined:
                        captured[operand] = None
                if operation.regions:
                    _capture(operation.regions, defined, captured)
                defined.update(operation.results)
