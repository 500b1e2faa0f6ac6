"""Builds blocks operation by operation, and copies them under a mapping of values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence

from ...types import ElementType, QuantizedType, TensorType, Type
from .attributes import Attribute
from .location import UNKNOWN, Location
from .operation import Block, Operation, Region, Value, constant_operation


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

    def constant(self, type: TensorType, value: object, location: Location = UNKNOWN) -> Value:
        """The result of a new constant; `constant_operation` has the arguments."""
        operation = constant_operation(type, value, location)
        self.block.operations.append(operation)
        return operation.result

    def region(self, results: Iterable[Value], location: Location = UNKNOWN) -> Region:
        """End the block, which returns values to an operation of StableHLO, and make a region of it."""
        self.create("stablehlo.return", results, location=location)
        return Region([self.block])

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


def binary_region(
    name: str, element_type: ElementType | QuantizedType, location: Location = UNKNOWN
) -> Region:
    """The body of a reduction which applies an operation to its two arguments.

    Args:
        name: the operation.
        element_type: of the arguments and the result.
        location: of the operation and the terminator.
    """
    scalar = TensorType((), element_type)
    builder = Builder(Block([scalar, scalar]))
    applied = builder.create(name, builder.block.arguments, [scalar], location=location)
    return builder.region(applied.results, location)


CopyOperation = Callable[[Builder, Operation, MutableMapping[Value, Value]], object]
"""Appends the copy of an operation, and adds its results to the mapping of values."""


def copy_region(
    region: Region,
    values: MutableMapping[Value, Value],
    copy: CopyOperation = Builder.copy,
    type_of: Callable[[Type], Type] | None = None,
) -> Region:
    """A copy of a region.

    Args:
        region: the region to copy.
        values: the replacements of captured values. Those of all values in the region are added.
        copy: copies each operation.
        type_of: the types of the copied blocks' arguments; None: the same ones.
    """
    copied = Region(is_isolated=region.is_isolated)
    for block in region.blocks:
        builder = builder_like(block, values, type_of)
        for operation in block.operations:
            copy(builder, operation, values)
        copied.blocks.append(builder.block)
    return copied


def builder_like(
    block: Block, values: MutableMapping[Value, Value], type_of: Callable[[Type], Type] | None = None
) -> Builder:
    """The builder of an empty block with the arguments of another one.

    Args:
        block: the other block.
        values: its arguments are added, with those of the new block as their replacements.
        type_of: the types of the new arguments; None: the same ones.
    """
    types = [argument.type for argument in block.arguments]
    new = Block(types if type_of is None else map(type_of, types))
    values.update(zip(block.arguments, new.arguments, strict=True))
    return Builder(new)


def set_types(region: Region, type_of: Callable[[Type], Type]) -> None:
    """Replace the types of all values that a region defines, in place; attributes stay as they are."""
    for block in region.blocks:
        for argument in block.arguments:
            argument.type = type_of(argument.type)
        for operation in block.operations:
            for result in operation.results:
                result.type = type_of(result.type)
            for inner in operation.regions:
                set_types(inner, type_of)


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
