"""The sections of bytecode: strings, dialects, attributes and types, resources, properties, the program.

Attributes and types are decoded at their first use. Whoever wrote the bytecode is not trusted: each length is
checked against the bytes that are there before anything is made of it.

Source: MLIR's document "Bytecode Format", section "MLIR Encoding".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from ....errors import UnsupportedError
from ....types import Array, Type
from ...ir import Attribute
from ...ir.record import Record
from .container_format import (
    DIALECT_VERSIONS,
    MAGIC,
    MAX_VERSION,
    NATIVE_PROPERTIES,
    OPTIONAL_ARGUMENT_LOCATIONS,
    Section,
)
from .program_reader import ByteCursor, EntryReader, EntryTables, decode, item_number

_BLOB: Final = 0
"""The kind of a resource that has bytes."""


class Dialect(Record):
    """A dialect of the bytecode, and the offsets (start, end) of its version if it states one."""

    name: str
    version: tuple[int, int] | None


class OperationName(Record):
    """The name of an operation with its dialect, and whether its properties are encoded natively."""

    name: str
    is_registered: bool


class Resource:
    """A blob that constants refer to, any number of which may share it.

    Args:
        name: its name.
        encoded: its alignment, size and bytes; None for a resource that is no blob.

    Attributes:
        name: as given.
        unpacked: its elements of less than 8 bits, as `values.dense_elements` keeps them.
    """

    def __init__(self, name: str, encoded: ByteCursor | None) -> None:
        self.name = name
        self.unpacked: dict[int, Array] = {}
        self._encoded = encoded
        self._content: bytes | None = None

    def content(self) -> bytes | None:
        """The bytes of the blob; None for a resource that is no blob.

        Raises:
            ParseError: the encoding is malformed.
        """
        if self._content is None and self._encoded is not None:
            alignment, size = self._encoded.varint(), self._encoded.varint()
            self._encoded.align(alignment)
            self._content = self._encoded.bytes(size)
        return self._content


class Decoder(Protocol):
    """Decodes the attributes and types that a dialect encodes itself."""

    def attribute(self, reader: EntryReader) -> Attribute:
        """Consume the encoding of an attribute."""

    def type(self, reader: EntryReader) -> Type:
        """Consume the encoding of a type."""


class Container:
    """The sections of one file.

    Args:
        content: the bytecode.
        name: its name in errors.
        decoder_of: the decoder of a dialect by the dialect's name; None if the dialect has none.

    Attributes:
        producer: what wrote the bytecode, such as ``"StableHLO_v1.2.3"``.
        version: the version of the container.
        operation_names: the names that operations refer to.
        tables: the attributes and types.

    Raises:
        ParseError: the bytecode is malformed.
        UnsupportedError: the container has a version later than `MAX_VERSION`.
    """

    def __init__(self, content: bytes, name: str, decoder_of: Callable[[str], Decoder | None]) -> None:
        self.content = content
        self.name = name
        self._decoder_of = decoder_of
        cursor = ByteCursor(content, 0, len(content), name)
        if cursor.bytes(min(4, len(content))) != MAGIC:
            cursor.fail("it does not begin with MLIR's magic number", 0)
        self.version = cursor.varint()
        if self.version > MAX_VERSION:
            raise UnsupportedError(
                f"{name}: bytecode of version {self.version}, but versions up to {MAX_VERSION} are supported"
            )
        self.producer = cursor.text()
        self._start = cursor.position

    def read_sections(self) -> None:
        """Read what the sections contain, without decoding attributes and types.

        Raises:
            ParseError: the bytecode is malformed.
        """
        cursor = self.cursor(self._start, len(self.content))
        self._sections = self._read_sections(cursor)
        self.strings = self._read_strings()
        self.operation_names: list[OperationName] = []
        self.dialects = self._read_dialects()
        self.tables = EntryTables(
            self.section(Section.ATTRIBUTE_OFFSETS),
            self.section(Section.ATTRIBUTES),
            [dialect.name for dialect in self.dialects],
            self.strings,
            self.version,
            self._decoder_of,
        )
        self.tables.resources = self._read_resources()
        self.tables.read_properties(self.section(Section.PROPERTIES))

    def cursor(self, start: int, end: int) -> ByteCursor:
        """A cursor over a range of the bytecode."""
        return ByteCursor(self.content, start, end, self.name)

    def section(self, number: int) -> ByteCursor:
        """A cursor over a section; an empty one if the bytecode does not have it."""
        start, end = self._sections.get(number, (0, 0))
        return self.cursor(start, end)

    def _read_sections(self, cursor: ByteCursor) -> dict[int, tuple[int, int]]:
        sections: dict[int, tuple[int, int]] = {}
        while not cursor.is_empty:
            position = cursor.position
            number, content = cursor.section()
            if number in sections:
                cursor.fail(f"section {number} occurs twice", position)
            sections[number] = (content.position, content.end)
        for number in Section.REQUIRED:
            if number not in sections:
                cursor.fail(f"section {number} is missing")
        return sections

    def _read_strings(self) -> list[str]:
        cursor = self.section(Section.STRINGS)
        sizes = cursor.list(cursor.varint)
        strings = []
        end = cursor.end
        for size in sizes:
            start = end - size
            if size < 1 or start < cursor.position:
                cursor.fail("a string lies outside of the section of strings", end)
            strings.append(decode(self.content[start : end - 1]))
            end = start
        strings.reverse()
        return strings

    def string(self, cursor: ByteCursor) -> str:
        """Consume the number of a string."""
        return self._string(cursor, cursor.varint())

    def _string(self, cursor: ByteCursor, number: int) -> str:
        return self.strings[item_number(cursor, number, self.strings, "string")]

    def _read_dialects(self) -> list[Dialect]:
        cursor = self.section(Section.DIALECTS)
        dialects = list(cursor.list(lambda: self._read_dialect(cursor)))
        self.dialects = dialects
        if self.version >= OPTIONAL_ARGUMENT_LOCATIONS:
            cursor.count()
        while not cursor.is_empty:
            dialect = self._dialect(cursor)
            for _ in range(cursor.count()):
                number, is_registered = cursor.varint(), False
                if self.version >= NATIVE_PROPERTIES:
                    number, is_registered = number >> 1, number & 1 == 1
                name = self._string(cursor, number)
                # MLIR takes the name of an operation without a dialect for its dialect's.
                full_name = f"{dialect.name}.{name}" if name else dialect.name
                self.operation_names.append(OperationName(full_name, is_registered))
        return dialects

    def _read_dialect(self, cursor: ByteCursor) -> Dialect:
        if self.version < DIALECT_VERSIONS:
            return Dialect(self.string(cursor), None)
        number, has_version = cursor.varint_with_flag()
        name = self._string(cursor, number)
        if not has_version:
            return Dialect(name, None)
        position = cursor.position
        section, content = cursor.section()
        if section != Section.DIALECT_VERSION:
            cursor.fail(f"expected the version of the dialect {name}", position)
        return Dialect(name, (content.position, content.end))

    def _dialect(self, cursor: ByteCursor) -> Dialect:
        return self.dialects[item_number(cursor, cursor.varint(), self.dialects, "dialect")]

    def _read_resources(self) -> list[Resource]:
        """The resources of dialects in their order."""
        offsets = self.section(Section.RESOURCE_OFFSETS)
        data = self.section(Section.RESOURCES)
        resources: list[Resource] = []
        external_groups = 0 if offsets.is_empty else offsets.count()
        for _ in range(external_groups):
            self.string(offsets)
            self._read_resource_group(offsets, data)
        while not offsets.is_empty:
            self._dialect(offsets)
            resources += self._read_resource_group(offsets, data)
        return resources

    def _read_resource_group(self, offsets: ByteCursor, data: ByteCursor) -> list[Resource]:
        group = []
        for _ in range(offsets.count()):
            name = self.string(offsets)
            size = offsets.varint()
            kind = offsets.byte()
            encoded = data.range(size)
            group.append(Resource(name, encoded if kind == _BLOB and size else None))
        return group
