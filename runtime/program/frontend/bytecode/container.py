"""The sections of bytecode: strings, dialects, attributes and types, resources, properties, the program.

Attributes and types are decoded at their first use. Whoever wrote the bytecode is not trusted: each length is
checked against the bytes that are there before anything is made of it.

Source: MLIR's document "Bytecode Format", section "MLIR Encoding".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, TypeVar

from ....errors import UnsupportedError
from ....types import Type
from ...ir import Attribute
from ..lexer import MAX_NESTING
from .cursor import ByteCursor

MAGIC: Final = b"ML\xefR"
"""The first bytes of bytecode."""
MAX_VERSION: Final = 6
"""The latest version of the container that this module reads."""

# The versions since which the container has these properties.
DIALECT_VERSIONS: Final = 1
LAZY_REGIONS: Final = 2
USE_LIST_ORDERS: Final = 3
OPTIONAL_ARGUMENT_LOCATIONS: Final = 4
NATIVE_PROPERTIES: Final = 5
NATIVE_SEGMENT_SIZES: Final = 6

_IS_ALIGNED: Final = 0x80
_BLOB: Final = 0
"""The kind of a resource that has bytes."""

T = TypeVar("T")


class Section:
    """The numbers of the sections."""

    STRINGS, DIALECTS, ATTRIBUTES, ATTRIBUTE_OFFSETS, PROGRAM = range(5)
    RESOURCES, RESOURCE_OFFSETS = 5, 6
    DIALECT_VERSION, PROPERTIES = 7, 8
    REQUIRED = range(5)


class OperationMask:
    """The bits that say which parts of an operation are there."""

    ATTRIBUTES, RESULTS, OPERANDS, SUCCESSORS, REGIONS, USE_LIST_ORDERS, PROPERTIES = (
        1 << bit for bit in range(7)
    )


@dataclass(frozen=True, slots=True)
class Dialect:
    """A dialect of the bytecode, and the offsets (start, end) of its version if it states one."""

    name: str
    version: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class OperationName:
    """The name of an operation with its dialect, and whether its properties are encoded natively."""

    name: str
    is_registered: bool


class Entry(NamedTuple):
    """The encoding of an attribute or a type: that of its dialect, or its text."""

    dialect: str
    start: int
    end: int
    is_text: bool


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
        self._attribute_entries: list[Entry] = []
        self._type_entries: list[Entry] = []
        self._read_entries()
        self._attributes: list[Attribute | None] = [None] * len(self._attribute_entries)
        self._types: list[Type | None] = [None] * len(self._type_entries)
        self._nesting = 0
        self.resources = self._read_resources()
        self._properties: list[tuple[int, int]] | None = None

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
            number, content = read_section(cursor)
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
        return self._item(cursor, cursor.varint(), self.strings, "string")

    def _item(self, cursor: ByteCursor, index: int, items: list[T], kind: str) -> T:
        if index >= len(items):
            cursor.fail(f"{kind} {index} does not exist, since there are {len(items)}")
        return items[index]

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
                name = self._item(cursor, number, self.strings, "string")
                # MLIR takes the name of an operation without a dialect for its dialect's.
                full_name = f"{dialect.name}.{name}" if name else dialect.name
                self.operation_names.append(OperationName(full_name, is_registered))
        return dialects

    def _read_dialect(self, cursor: ByteCursor) -> Dialect:
        if self.version < DIALECT_VERSIONS:
            return Dialect(self.string(cursor), None)
        number, has_version = cursor.varint_with_flag()
        name = self._item(cursor, number, self.strings, "string")
        if not has_version:
            return Dialect(name, None)
        position = cursor.position
        section, content = read_section(cursor)
        if section != Section.DIALECT_VERSION:
            cursor.fail(f"expected the version of the dialect {name}", position)
        return Dialect(name, (content.position, content.end))

    def _dialect(self, cursor: ByteCursor) -> Dialect:
        return self._item(cursor, cursor.varint(), self.dialects, "dialect")

    def _read_entries(self) -> None:
        offsets = self.section(Section.ATTRIBUTE_OFFSETS)
        data = self.section(Section.ATTRIBUTES)
        counts = offsets.count(), offsets.count()
        for entries, count in zip((self._attribute_entries, self._type_entries), counts, strict=True):
            while len(entries) < count:
                name = self._dialect(offsets).name
                for _ in range(offsets.count()):
                    size_and_form = offsets.varint()
                    start = data.skip(size_and_form >> 1)
                    entries.append(Entry(name, start, data.position, not size_and_form & 1))
            if len(entries) > count:
                offsets.fail(f"expected {count} attributes or types, found more")

    def attribute(self, index: int, cursor: ByteCursor) -> Attribute:
        """The attribute of that number, to which the bytes before `cursor` refer."""
        known = self._attributes
        attribute = known[index] if index < len(known) else self._item(cursor, index, known, "attribute")
        if attribute is None:
            entry = self._attribute_entries[index]
            reader = self._enter(entry)
            if entry.is_text:
                from ..parser import parse_attributes

                parsed = parse_attributes(reader.text(), self.name)
                if len(parsed) != 1:
                    reader.fail(f"expected the text of one attribute, found {len(parsed)}")
                attribute = parsed[0]
            else:
                attribute = self._decoder(entry).attribute(reader)
            self._leave(reader)
            self._attributes[index] = attribute
        return attribute

    def type(self, index: int, cursor: ByteCursor) -> Type:
        """The type of that number, to which the bytes before `cursor` refer."""
        known = self._types
        type = known[index] if index < len(known) else self._item(cursor, index, known, "type")
        if type is None:
            entry = self._type_entries[index]
            reader = self._enter(entry)
            if entry.is_text:
                from ..parser import parse_type

                type = parse_type(reader.text(), self.name)
            else:
                type = self._decoder(entry).type(reader)
            self._leave(reader)
            self._types[index] = type
        return type

    def _decoder(self, entry: Entry) -> Decoder:
        decoder = self._decoder_of(entry.dialect)
        if decoder is None:
            raise UnsupportedError(
                f"{self.name}: the dialect {entry.dialect} encodes attributes and types in an unknown way"
            )
        return decoder

    def _enter(self, entry: Entry) -> EntryReader:
        """Begin to decode an entry. One that refers to itself exceeds the depth of nesting."""
        reader = EntryReader(self, entry.start, entry.end)
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            reader.fail(f"attributes and types are nested deeper than {MAX_NESTING} levels")
        return reader

    def _leave(self, reader: EntryReader) -> None:
        if not reader.is_empty:
            reader.fail(f"{reader.end - reader.position} bytes are left after an attribute or a type")
        self._nesting -= 1

    def _read_resources(self) -> list[tuple[str, int, int]]:
        """The resources of dialects in their order: the name, and the offsets of the encoded value."""
        offsets = self.section(Section.RESOURCE_OFFSETS)
        data = self.section(Section.RESOURCES)
        resources: list[tuple[str, int, int]] = []
        external_groups = 0 if offsets.is_empty else offsets.count()
        for _ in range(external_groups):
            self.string(offsets)
            self._read_resource_group(offsets, data)
        while not offsets.is_empty:
            self._dialect(offsets)
            resources += self._read_resource_group(offsets, data)
        return resources

    def _read_resource_group(self, offsets: ByteCursor, data: ByteCursor) -> list[tuple[str, int, int]]:
        group = []
        for _ in range(offsets.count()):
            name = self.string(offsets)
            size = offsets.varint()
            kind = offsets.byte()
            start = data.skip(size)
            group.append((name, start, start + size if kind == _BLOB else start))
        return group

    def properties(self, index: int, cursor: ByteCursor) -> EntryReader:
        """A reader of the properties of that number, to which the bytes before `cursor` refer."""
        if self._properties is None:
            section = self.section(Section.PROPERTIES)
            ranges = section.list(lambda: section.range(section.varint()))
            self._properties = [(each.position, each.end) for each in ranges]
        return EntryReader(self, *self._item(cursor, index, self._properties, "properties"))


class EntryReader(ByteCursor):
    """Reads an encoded attribute or type, or properties; they refer to others by their numbers."""

    __slots__ = ("container",)

    def __init__(self, container: Container, start: int, end: int) -> None:
        super().__init__(container.content, start, end, container.name)
        self.container = container

    def attribute(self) -> Attribute:
        """Consume a reference to an attribute."""
        return self.container.attribute(self.varint(), self)

    def optional_attribute(self) -> Attribute | None:
        """Consume a reference to an attribute, or its absence."""
        index, is_present = self.varint_with_flag()
        return self.container.attribute(index, self) if is_present else None

    def type(self) -> Type:
        """Consume a reference to a type."""
        return self.container.type(self.varint(), self)

    def string(self) -> str:
        """Consume a reference to a string."""
        return self.container.string(self)

    def attributes(self) -> tuple[Attribute, ...]:
        """Consume a list of references to attributes."""
        return self.list(self.attribute)

    def types(self) -> tuple[Type, ...]:
        """Consume a list of references to types."""
        return self.list(self.type)

    def blob(self) -> bytes:
        """Consume a number of bytes, then the bytes."""
        return self.bytes(self.varint())

    def resource(self) -> tuple[str, bytes | None]:
        """Consume a reference to a resource; its name, and its bytes unless it has none."""
        index = self.varint()
        resources = self.container.resources
        if index >= len(resources):
            self.fail(f"resource {index} does not exist, since there are {len(resources)}")
        name, start, end = resources[index]
        if start == end:
            return name, None
        cursor = self.container.cursor(start, end)
        alignment, size = cursor.varint(), cursor.varint()
        cursor.align(alignment)
        return name, cursor.bytes(size)


def read_section(cursor: ByteCursor) -> tuple[int, ByteCursor]:
    """Consume a section; its number and a cursor over its content."""
    first = cursor.byte()
    size = cursor.varint()
    if first & _IS_ALIGNED:
        cursor.align(cursor.varint())
    return first & ~_IS_ALIGNED, cursor.range(size)


def decode(text: bytes) -> str:
    """A text of the bytecode; bytes that are not UTF-8 become surrogate escapes."""
    return text.decode("utf-8", "surrogateescape")
