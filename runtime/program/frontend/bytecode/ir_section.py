"""Read the program of bytecode: operations, regions, blocks and values.

Source: MLIR's document "Bytecode Format", section "IR Section".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ....errors import UnsupportedError
from ....types import Type
from ...ir import (
    UNKNOWN,
    Attribute,
    Block,
    DictionaryAttribute,
    Location,
    LocationAttribute,
    Operation,
    Region,
    Value,
)
from ..lexer import MAX_NESTING
from .container import (
    LAZY_REGIONS,
    OPTIONAL_ARGUMENT_LOCATIONS,
    USE_LIST_ORDERS,
    Container,
    EntryReader,
    OperationMask,
    OperationName,
    Section,
    read_section,
)
from .cursor import ByteCursor


class Dialects(Protocol):
    """What the reader has to know of operations."""

    def properties(self, name: str, reader: EntryReader) -> Mapping[str, Attribute]:
        """Consume the native properties of an operation."""

    def upgrade(self, name: str, attributes: Mapping[str, Attribute]) -> tuple[str, Mapping[str, Attribute]]:
        """The present name and attributes of an operation."""


class ProgramReader:
    """Reads the operations of one file.

    Args:
        container: the file's sections.
        dialects: the properties and versions of operations.
    """

    def __init__(self, container: Container, dialects: Dialects) -> None:
        self._container = container
        self._dialects = dialects
        self._values: list[Value | None] = []
        self._next_value = 0
        self._nesting = 0
        self._locations: dict[int, Location] = {}
        self._upgraded: dict[tuple[int, int, int], tuple[str, Mapping[str, Attribute]]] = {}

    def operations(self) -> list[Operation]:
        """The operations at the top level."""
        return self._read_block(self._container.section(Section.PROGRAM), Block()).operations

    def _read_block(self, cursor: ByteCursor, block: Block) -> Block:
        operations, has_arguments = cursor.varint_with_flag()
        if operations > cursor.end - cursor.position:
            cursor.fail(f"{operations} operations do not fit into {cursor.end - cursor.position} bytes")
        if has_arguments:
            self._read_arguments(cursor, block)
        append = block.operations.append
        for _ in range(operations):
            append(self._read_operation(cursor))
        return block

    def _read_arguments(self, cursor: ByteCursor, block: Block) -> None:
        container = self._container
        types: list[Type] = []
        for _ in range(cursor.count()):
            number, has_location = cursor.varint(), True
            if container.version >= OPTIONAL_ARGUMENT_LOCATIONS:
                number, has_location = number >> 1, number & 1 == 1
            types.append(container.type(number, cursor))
            if has_location:
                self._read_location(cursor)
        block.arguments = tuple([Value(type, block, index) for index, type in enumerate(types)])
        self._define(cursor, block.arguments)
        if container.version >= USE_LIST_ORDERS and cursor.byte():
            self._skip_use_list_orders(cursor, len(types))

    def _define(self, cursor: ByteCursor, values: Sequence[Value]) -> None:
        end = self._next_value + len(values)
        if end > len(self._values):
            cursor.fail("a region defines more values than it states")
        self._values[self._next_value : end] = values
        self._next_value = end

    def _skip_use_list_orders(self, cursor: ByteCursor, values: int) -> None:
        """Consume the orders of uses, which say nothing about the program."""
        for _ in range(cursor.count() if values > 1 else 1):
            if values > 1:
                cursor.varint()
            count, _ = cursor.varint_with_flag()
            for _ in range(min(count, cursor.end - cursor.position + 1)):
                cursor.varint()

    def _read_location(self, cursor: ByteCursor) -> Location:
        number = cursor.varint()
        location = self._locations.get(number)
        if location is None:
            attribute = self._container.attribute(number, cursor)
            location = attribute.location if isinstance(attribute, LocationAttribute) else UNKNOWN
            self._locations[number] = location
        return location

    def _read_operation(self, cursor: ByteCursor) -> Operation:
        container = self._container
        start = cursor.position
        number = cursor.varint()
        if number >= len(container.operation_names):
            cursor.fail(f"operation name {number} does not exist", start)
        mask = cursor.byte()
        location = self._read_location(cursor)
        attributes = cursor.varint() if mask & OperationMask.ATTRIBUTES else -1
        properties = cursor.varint() if mask & OperationMask.PROPERTIES else -1
        key = (number, attributes, properties)
        upgraded = self._upgraded.get(key)
        if upgraded is None:
            upgraded = self._upgraded[key] = self._upgrade(key, cursor)
        types: list[Type] = []
        if mask & OperationMask.RESULTS:
            types = [container.type(cursor.varint(), cursor) for _ in range(cursor.count())]
        operands: list[Value] = []
        if mask & OperationMask.OPERANDS:
            operands = [self._read_operand(cursor) for _ in range(cursor.count())]
        if mask & OperationMask.SUCCESSORS:
            raise UnsupportedError("successors are not supported", operation=upgraded[0], location=location)
        if mask & OperationMask.USE_LIST_ORDERS:
            self._skip_use_list_orders(cursor, len(types))
        operation = Operation(upgraded[0], operands, types, upgraded[1], (), location)
        if types:
            self._define(cursor, operation.results)
        if mask & OperationMask.REGIONS:
            operation.regions = self._read_regions(cursor)
        return operation

    def _read_operand(self, cursor: ByteCursor) -> Value:
        number = cursor.varint()
        value = self._values[number] if number < len(self._values) else None
        if value is None:
            cursor.fail(f"value {number} is used before it is defined")
        return value

    def _upgrade(self, key: tuple[int, int, int], cursor: ByteCursor) -> tuple[str, Mapping[str, Attribute]]:
        """The present name of an operation, and its attributes with its properties."""
        number, attribute_number, property_number = key
        name = self._container.operation_names[number]
        attributes: dict[str, Attribute] = {}
        if property_number >= 0:
            attributes.update(self._properties(name, property_number, cursor))
        if attribute_number >= 0:
            attributes.update(self._dictionary(attribute_number, cursor))
        return self._dialects.upgrade(name.name, attributes)

    def _dictionary(self, number: int, cursor: ByteCursor) -> Mapping[str, Attribute]:
        attribute = self._container.attribute(number, cursor)
        if not isinstance(attribute, DictionaryAttribute):
            cursor.fail("the attributes of an operation are no dictionary")
        return attribute.values

    def _properties(self, name: OperationName, number: int, cursor: ByteCursor) -> Mapping[str, Attribute]:
        """The properties of an operation: native ones, or a dictionary where the writer did not know it."""
        reader = self._container.properties(number, cursor)
        if name.is_registered:
            properties = self._dialects.properties(name.name, reader)
        else:
            properties = self._dictionary(reader.varint(), reader)
        if not reader.is_empty:
            reader.fail(f"{reader.end - reader.position} bytes are left after the properties of {name.name}")
        return properties

    def _read_regions(self, cursor: ByteCursor) -> tuple[Region, ...]:
        count, is_isolated = cursor.varint_with_flag()
        if count > cursor.end - cursor.position:
            cursor.fail(f"{count} regions do not fit into {cursor.end - cursor.position} bytes")
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            cursor.fail(f"regions are nested deeper than {MAX_NESTING} levels")
        outer = self._values, self._next_value
        if is_isolated:
            self._values, self._next_value = [], 0
        content = cursor
        if is_isolated and self._container.version >= LAZY_REGIONS:
            position = cursor.position
            number, content = read_section(cursor)
            if number != Section.PROGRAM:
                cursor.fail("expected the section of isolated regions", position)
        regions = tuple([self._read_region(content) for _ in range(count)])
        if content is not cursor and not content.is_empty:
            content.fail("bytes are left after the last region of an operation")
        self._values, self._next_value = outer
        self._nesting -= 1
        return regions

    def _read_region(self, cursor: ByteCursor) -> Region:
        blocks = cursor.count()
        region = Region()
        if not blocks:
            return region
        values = cursor.count()
        outer = self._next_value
        first = len(self._values)
        self._values += [None] * values
        self._next_value = first
        region.blocks += [self._read_block(cursor, Block()) for _ in range(blocks)]
        del self._values[first:]
        self._next_value = outer
        return region
