"""Write the sections of bytecode: strings, dialects, attributes and types, properties.

Attributes and types are numbered in the order in which they are encoded, and equal encodings have one number.

Source: MLIR's document "Bytecode Format", section "MLIR Encoding".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from ....kernels.named_tuples import NamedTuple
from .byte_writer import ByteWriter
from .container_format import DIALECT_VERSIONS, MAGIC, NATIVE_PROPERTIES, OPTIONAL_ARGUMENT_LOCATIONS, Section


class _Entry(NamedTuple):
    """The encoding of an attribute or a type: that of its dialect, or its text."""

    dialect: int
    content: bytes
    is_text: bool


class _OperationName(NamedTuple):
    dialect: int
    name: int
    is_registered: bool


T = TypeVar("T", _Entry, _OperationName)


class ContainerWriter:
    """Collects what the sections of one file contain.

    Args:
        version: the version of the container.
        producer: what writes the bytecode.
    """

    def __init__(self, version: int, producer: str) -> None:
        self.version: Final = version
        self._producer = producer
        self._strings: dict[bytes, int] = {}
        self._dialects: dict[str, int] = {}
        self._attributes: dict[_Entry, int] = {}
        self._types: dict[_Entry, int] = {}
        self._properties: dict[bytes, int] = {}
        self._operation_names: dict[_OperationName, int] = {}

    def string(self, text: str) -> int:
        """The number of a string."""
        encoded = text.encode("utf-8", "surrogateescape")
        return self._strings.setdefault(encoded, len(self._strings))

    def _dialect(self, name: str) -> int:
        self.string(name)
        return self._dialects.setdefault(name, len(self._dialects))

    def operation_name(self, name: str, *, has_properties: bool) -> int:
        """The number of an operation's name; `has_properties`: they are encoded natively."""
        dialect, _, rest = name.partition(".")
        key = _OperationName(self._dialect(dialect), self.string(rest), has_properties)
        return self._operation_names.setdefault(key, len(self._operation_names))

    def attribute(self, dialect: str, content: bytes | bytearray, *, is_text: bool = False) -> int:
        """The number of an attribute."""
        entry = _Entry(self._dialect(dialect), bytes(content), is_text)
        return self._attributes.setdefault(entry, len(self._attributes))

    def type(self, dialect: str, content: bytes | bytearray, *, is_text: bool = False) -> int:
        """The number of a type."""
        entry = _Entry(self._dialect(dialect), bytes(content), is_text)
        return self._types.setdefault(entry, len(self._types))

    def properties(self, content: bytes | bytearray) -> int:
        """The number of an operation's properties."""
        return self._properties.setdefault(bytes(content), len(self._properties))

    def finish(self, program: bytes | bytearray) -> bytes:
        """The bytecode whose section of the program is `program`."""
        dialects = self._dialect_section()
        writer = ByteWriter()
        writer.append(MAGIC)
        writer.varint(self.version)
        writer.text(self._producer.encode())
        writer.section(Section.STRINGS, self._string_section())
        writer.section(Section.DIALECTS, dialects)
        writer.section(Section.ATTRIBUTES, b"".join([entry.content for entry in self._entries()]))
        writer.section(Section.ATTRIBUTE_OFFSETS, self._offset_section())
        writer.section(Section.PROGRAM, program)
        if self.version >= NATIVE_PROPERTIES:
            writer.section(Section.PROPERTIES, self._property_section())
        return bytes(writer.content)

    def _string_section(self) -> bytearray:
        writer = ByteWriter()
        writer.list(lambda text: writer.varint(len(text) + 1), list(reversed(self._strings)))
        for text in self._strings:
            writer.text(text)
        return writer.content

    def _dialect_section(self) -> bytearray:
        writer = ByteWriter()
        writer.varint(len(self._dialects))
        for name in self._dialects:
            if self.version >= DIALECT_VERSIONS:
                writer.varint_with_flag(self.string(name), False)
            else:
                writer.varint(self.string(name))
        if self.version >= OPTIONAL_ARGUMENT_LOCATIONS:
            writer.varint(len(self._operation_names))
        for group in _runs(list(self._operation_names)):
            writer.varint(group[0].dialect)
            writer.varint(len(group))
            for operation in group:
                if self.version >= NATIVE_PROPERTIES:
                    writer.varint_with_flag(operation.name, operation.is_registered)
                else:
                    writer.varint(operation.name)
        return writer.content

    def _entries(self) -> list[_Entry]:
        return [*self._attributes, *self._types]

    def _offset_section(self) -> bytearray:
        writer = ByteWriter()
        writer.varint(len(self._attributes))
        writer.varint(len(self._types))
        for entries in (self._attributes, self._types):
            for group in _runs(list(entries)):
                writer.varint(group[0].dialect)
                writer.varint(len(group))
                for entry in group:
                    writer.varint_with_flag(len(entry.content), not entry.is_text)
        return writer.content

    def _property_section(self) -> bytearray:
        writer = ByteWriter()
        writer.varint(len(self._properties))
        for content in self._properties:
            writer.varint(len(content))
            writer.append(content)
        return writer.content


def _runs(items: Sequence[T]) -> list[list[T]]:
    """Runs of successive items of the same dialect."""
    runs: list[list[T]] = []
    for item in items:
        if runs and runs[-1][0].dialect == item.dialect:
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs
