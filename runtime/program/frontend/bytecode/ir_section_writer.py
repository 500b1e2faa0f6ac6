"""Write the program of bytecode: operations, regions, blocks and values.

Source: MLIR's document "Bytecode Format", section "IR Section".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

from ....errors import NimbleError, UnsupportedError
from ....kernels.named_tuples import NamedTuple
from ...ir import UNKNOWN, Attribute, Block, Location, Operation, Region, Value
from .byte_writer import ByteWriter
from .container_format import (
    LAZY_REGIONS,
    OPTIONAL_ARGUMENT_LOCATIONS,
    USE_LIST_ORDERS,
    OperationMask,
    Section,
)
from .container_writer import ContainerWriter
from .encoder import BuiltinEncoder, Encoder

CAST: Final = "builtin.unrealized_conversion_cast"
"""The operation between a type of VHLO and the type that it stands for."""

_ISOLATED: Final = frozenset({"builtin.module", "func.func"})
"""The operations whose regions use no values from outside, and are read when they are needed."""


class EncodedOperation(NamedTuple):
    """How an operation is written.

    Attributes:
        name: its name.
        properties: the attributes that are native properties, in their order; None: it has none.
        others: the attributes that are in a dictionary.
    """

    name: str
    properties: Sequence[Attribute] | None
    others: Mapping[str, Attribute]


class Target(Protocol):
    """What is written: StableHLO itself, or VHLO."""

    def encoder(self, name: str) -> Encoder:
        """The encoder of the attributes and types of operations of a name."""

    def encode(self, operation: Operation) -> EncodedOperation:
        """The name and the attributes with which an operation is written."""


class ProgramWriter:
    """Writes the operations of one file.

    Args:
        container: takes names, attributes and types.
        builtin: encodes locations and dictionaries.
        target: what is written.
    """

    def __init__(self, container: ContainerWriter, builtin: BuiltinEncoder, target: Target) -> None:
        self._container = container
        self._builtin = builtin
        self._target = target
        self._numbers: dict[Value, int] = {}
        self._encoders: dict[Value, Encoder] = {}
        self._casts: dict[Value, int | None] = {}
        self._next_value = 0
        self._end_of_values = 0

    def program(self, module: Operation) -> bytearray:
        """The section of the program, whose only operation is a module.

        Raises:
            UnsupportedError: something cannot be written.
        """
        self._find_casts(module)
        writer = ByteWriter()
        writer.varint_with_flag(1, False)
        self._write_operation(writer, module)
        return writer.content

    def _find_casts(self, module: Operation) -> None:
        """Find the values that an operation uses whose types are encoded in another way."""
        encoders: dict[Value, Encoder] = {}
        for operation in module.walk():
            encoder = self._target.encoder(operation.name)
            for value in operation.operands:
                if encoders.get(value, encoder) is not encoder:
                    self._casts[value] = None
            arguments = [
                argument
                for region in operation.regions
                for block in region.blocks
                for argument in block.arguments
            ]
            encoders.update(dict.fromkeys((*operation.results, *arguments), encoder))

    def _write_region(self, writer: ByteWriter, region: Region, encoder: Encoder) -> None:
        writer.varint(len(region.blocks))
        if not region.blocks:
            return
        values = [value for block in region.blocks for value in _values_of(block)]
        count = len(values) + sum(value in self._casts for value in values)
        writer.varint(count)
        outer = self._next_value, self._end_of_values
        self._next_value = self._end_of_values
        self._end_of_values += count
        for block in region.blocks:
            self._write_block(writer, block, encoder)
        self._next_value, self._end_of_values = outer

    def _write_block(self, writer: ByteWriter, block: Block, encoder: Encoder) -> None:
        casts = sum(value in self._casts for value in _values_of(block))
        writer.varint_with_flag(len(block.operations) + casts, bool(block.arguments))
        if block.arguments:
            self._write_arguments(writer, block, encoder)
        for value in block.arguments:
            self._write_cast(writer, value, UNKNOWN)
        for operation in block.operations:
            self._write_operation(writer, operation)
            for value in operation.results:
                self._write_cast(writer, value, operation.location)

    def _write_arguments(self, writer: ByteWriter, block: Block, encoder: Encoder) -> None:
        version = self._container.version
        writer.varint(len(block.arguments))
        for argument in block.arguments:
            number = encoder.type(argument.type)
            if version >= OPTIONAL_ARGUMENT_LOCATIONS:
                writer.varint_with_flag(number, False)
            else:
                writer.varint(number)
                writer.varint(self._builtin.location(UNKNOWN))
            self._define(argument, encoder)
        if version >= USE_LIST_ORDERS:
            writer.boolean(False)

    def _define(self, value: Value, encoder: Encoder) -> None:
        self._numbers[value] = self._next_value
        self._encoders[value] = encoder
        self._next_value += 1

    def _write_cast(self, writer: ByteWriter, value: Value, location: Location) -> None:
        """Write the cast of a value whose type another operation needs in its other encoding."""
        if value not in self._casts:
            return
        writer.varint(self._container.operation_name(CAST, has_properties=False))
        writer.byte(OperationMask.RESULTS | OperationMask.OPERANDS)
        writer.varint(self._builtin.location(location))
        writer.varint(1)
        writer.varint(self._other(self._encoders[value]).type(value.type))
        writer.varint(1)
        writer.varint(self._numbers[value])
        self._casts[value] = self._next_value
        self._next_value += 1

    def _other(self, encoder: Encoder) -> Encoder:
        """The encoder of types that is not `encoder`."""
        return self._target.encoder("stablehlo.return") if encoder is self._builtin else self._builtin

    def _write_operation(self, writer: ByteWriter, operation: Operation) -> None:
        try:
            self._write_head(writer, operation)
        except NimbleError as error:
            if error.operation is not None:
                raise
            raise UnsupportedError(
                error.reason, operation=operation.name, location=operation.location
            ) from None
        if operation.regions:
            self._write_regions(writer, operation)

    def _write_head(self, writer: ByteWriter, operation: Operation) -> None:
        """Write an operation up to its regions."""
        encoder = self._target.encoder(operation.name)
        encoded = self._target.encode(operation)
        has_properties = encoded.properties is not None
        writer.varint(self._container.operation_name(encoded.name, has_properties=has_properties))
        mask = 0
        tail = ByteWriter()
        tail.varint(self._builtin.location(operation.location))
        if encoded.others:
            mask |= OperationMask.ATTRIBUTES
            tail.varint(self._builtin.dictionary(encoded.others, encoder))
        if encoded.properties:
            mask |= OperationMask.PROPERTIES
            content = ByteWriter()
            for attribute in encoded.properties:
                content.varint(encoder.attribute(attribute))
            tail.varint(self._container.properties(content.content))
        if operation.results:
            mask |= OperationMask.RESULTS
            tail.list(lambda result: tail.varint(encoder.type(result.type)), operation.results)
        if operation.operands:
            mask |= OperationMask.OPERANDS
            tail.list(lambda value: tail.varint(self._number(value, encoder)), operation.operands)
        if operation.regions:
            mask |= OperationMask.REGIONS
        writer.byte(mask)
        writer.append(tail.content)
        for result in operation.results:
            self._define(result, encoder)

    def _number(self, value: Value, encoder: Encoder) -> int:
        number = self._numbers.get(value)
        if number is not None and self._encoders[value] is not encoder:
            number = self._casts[value]
        if number is None:
            raise UnsupportedError("uses a value that no operation before it defines")
        return number

    def _write_regions(self, writer: ByteWriter, operation: Operation) -> None:
        is_isolated = operation.name in _ISOLATED and self._target.encoder(operation.name) is self._builtin
        writer.varint_with_flag(len(operation.regions), is_isolated)
        encoder = self._target.encoder(operation.name)
        if not is_isolated:
            for region in operation.regions:
                self._write_region(writer, region, encoder)
            return
        outer = self._next_value, self._end_of_values
        self._next_value = self._end_of_values = 0
        content = writer if self._container.version < LAZY_REGIONS else ByteWriter()
        for region in operation.regions:
            self._write_region(content, region, encoder)
        if content is not writer:
            writer.section(Section.PROGRAM, content.content)
        self._next_value, self._end_of_values = outer


def _values_of(block: Block) -> Iterator[Value]:
    """The values that a block defines, except those of nested regions."""
    yield from block.arguments
    for operation in block.operations:
        yield from operation.results
