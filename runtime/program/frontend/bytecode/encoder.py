"""Encode attributes, locations and types of the builtin dialect; those of other dialects as text.

MLIR reads attributes and types of any dialect from their text, so that the encodings of StableHLO, sdy, quant
and other dialects, which have no promise of stability, are not needed.

Source: MLIR, ``BuiltinDialectBytecode.td``, whose order of attributes and of types gives their codes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, cast

import numpy as np

from ....errors import UnsupportedError
from ....types import (
    BOOLEAN,
    COMPLEX,
    DYNAMIC,
    FLOAT,
    INDEX,
    UNSIGNED,
    ElementType,
    FunctionType,
    TensorType,
    TupleType,
    Type,
    UnrankedTensorType,
    element_type,
)
from ...ir import (
    UNKNOWN,
    ArrayAttribute,
    Attribute,
    BoolAttribute,
    CallSiteLocation,
    DenseArrayAttribute,
    DenseElementsAttribute,
    DialectAttribute,
    DictionaryAttribute,
    EnumAttribute,
    FileLocation,
    FloatAttribute,
    FunctionAttribute,
    FusedLocation,
    IntegerAttribute,
    Location,
    LocationAttribute,
    NameLocation,
    SourceLocation,
    StringAttribute,
    StructAttribute,
    SymbolAttribute,
    TypeAttribute,
    UnitAttribute,
)
from ...ir.printer import Printer
from . import values
from .byte_writer import ByteWriter
from .container_writer import ContainerWriter

BUILTIN: Final = "builtin"
_DIALECT: Final = re.compile(r"[#!]([A-Za-z_]\w*)")


class AttributeCode(IntEnum):
    """The codes of the builtin dialect's attributes and locations that are written."""

    ARRAY, DICTIONARY, STRING = 0, 1, 2
    SYMBOL, NESTED_SYMBOL, TYPE, UNIT, INTEGER, FLOAT = 4, 5, 6, 7, 8, 9
    CALL_SITE, FILE, FUSED, FUSED_WITH_METADATA, NAMED, UNKNOWN = 10, 11, 12, 13, 14, 15
    DENSE_ARRAY, DENSE = 17, 18
    FILE_RANGE = 22


class TypeCode(IntEnum):
    """The codes of the builtin dialect's types that are written; other types are written as text."""

    INTEGER, INDEX, FUNCTION, BF16, F16, F32, F64 = 0, 1, 2, 3, 4, 5, 6
    COMPLEX, TENSOR, TUPLE, UNRANKED = 9, 13, 15, 18


class EntryWriter(ByteWriter):
    """Writes an encoded attribute or type; it refers to others by their numbers.

    Args:
        encoder: encodes the others.
    """

    __slots__ = ("_encoder",)

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self._encoder = encoder

    def attribute(self, attribute: Attribute) -> None:
        """Append a reference to an attribute."""
        self.varint(self._encoder.attribute(attribute))

    def type(self, type: Type) -> None:
        """Append a reference to a type."""
        self.varint(self._encoder.type(type))

    def string(self, text: str) -> None:
        """Append a reference to a string."""
        self.varint(self._encoder.container.string(text))

    def blob(self, content: bytes) -> None:
        """Append a number of bytes, then the bytes."""
        self.varint(len(content))
        self.append(content)


class Encoder:
    """Encodes attributes and types, each once.

    Args:
        container: takes the encodings.
    """

    def __init__(self, container: ContainerWriter) -> None:
        self.container: Final = container
        # Attributes are found by identity: comparing large constants takes long.
        self._attributes: dict[int, tuple[Attribute, int]] = {}
        self._types: dict[Type, int] = {}

    def attribute(self, attribute: Attribute) -> int:
        """The number of an attribute.

        Raises:
            UnsupportedError: it cannot be written.
        """
        known = self._attributes.get(id(attribute))
        if known is None:
            known = self._attributes[id(attribute)] = (attribute, self.encode_attribute(attribute))
        return known[1]

    def type(self, type: Type) -> int:
        """The number of a type.

        Raises:
            UnsupportedError: it cannot be written.
        """
        number = self._types.get(type)
        if number is None:
            number = self._types[type] = self.encode_type(type)
        return number

    def encode_attribute(self, attribute: Attribute) -> int:
        """Encode an attribute; its number."""
        raise NotImplementedError

    def encode_type(self, type: Type) -> int:
        """Encode a type; its number."""
        raise NotImplementedError

    def entry(self, code: int) -> EntryWriter:
        """A writer that begins with the code of an attribute or a type."""
        writer = EntryWriter(self)
        writer.varint(code)
        return writer


class BuiltinEncoder(Encoder):
    """Encodes attributes, locations and types as MLIR's own writer does, or as text.

    Args:
        container: takes the encodings.
        has_file_ranges: whether readers know locations that are ranges; otherwise their starts are written.
    """

    def __init__(self, container: ContainerWriter, *, has_file_ranges: bool = True) -> None:
        super().__init__(container)
        self._has_file_ranges = has_file_ranges
        # Locations are found by identity too: they share others, so that hashing them takes exponential time.
        self._locations: dict[int, tuple[Location, int]] = {}

    def dictionary(self, attributes: Mapping[str, Attribute], encoder: Encoder) -> int:
        """The number of a dictionary, sorted by name, whose values another encoder may encode."""
        writer = self.entry(AttributeCode.DICTIONARY)
        names = [(name.encode("utf-8", "surrogateescape"), name) for name in attributes]
        writer.varint(len(names))
        for _, name in sorted(names):
            writer.varint(self._string(name))
            writer.varint(encoder.attribute(attributes[name]))
        return self._add(writer)

    def _add(self, writer: EntryWriter) -> int:
        return self.container.attribute(BUILTIN, writer.content)

    def _string(self, text: str) -> int:
        writer = self.entry(AttributeCode.STRING)
        writer.string(text)
        return self._add(writer)

    def encode_attribute(self, attribute: Attribute) -> int:
        """Encode an attribute; its number.

        Raises:
            UnsupportedError: it is a function of this process.
        """
        if isinstance(attribute, DictionaryAttribute):
            return self.dictionary(attribute.values, self)
        if isinstance(attribute, LocationAttribute):
            return self.location(attribute.location)
        write = _WRITERS.get(type(attribute))
        if write is not None:
            writer = write(self, attribute)
            if writer is not None:
                return self._add(writer)
        if isinstance(attribute, FunctionAttribute):
            raise UnsupportedError("functions of this process cannot be written")
        text = Printer().attribute(attribute)
        return self.container.attribute(_dialect_of(attribute, text), _text_entry(text), is_text=True)

    def encode_type(self, type: Type) -> int:
        """Encode a type; its number."""
        writer = self._type_entry(type)
        if writer is not None:
            return self.container.type(BUILTIN, writer.content)
        text = str(type)
        match = _DIALECT.match(text)
        dialect = match[1] if match is not None else BUILTIN
        return self.container.type(dialect, _text_entry(text), is_text=True)

    def _type_entry(self, type: Type) -> EntryWriter | None:
        """The native encoding of a type; None if it is written as text."""
        if isinstance(type, ElementType):
            return self._element_entry(type)
        if isinstance(type, TensorType) and type.bounds is None:
            writer = self.entry(TypeCode.TENSOR)
            writer.signed_list(encoded_sizes(type.shape))
            writer.type(type.element_type)
        elif isinstance(type, FunctionType):
            writer = self.entry(TypeCode.FUNCTION)
            writer.list(writer.type, type.inputs)
            writer.list(writer.type, type.results)
        elif isinstance(type, TupleType):
            writer = self.entry(TypeCode.TUPLE)
            writer.list(writer.type, type.types)
        elif isinstance(type, UnrankedTensorType):
            writer = self.entry(TypeCode.UNRANKED)
            writer.type(type.element_type)
        else:
            return None
        return writer

    def _element_entry(self, type: ElementType) -> EntryWriter | None:
        if type is INDEX:
            return self.entry(TypeCode.INDEX)
        if type.category == COMPLEX:
            writer = self.entry(TypeCode.COMPLEX)
            writer.type(component_type(type))
            return writer
        if type.category == FLOAT:
            code = _FLOAT_CODES.get(type.name)
            return None if code is None else self.entry(code)
        writer = self.entry(TypeCode.INTEGER)
        writer.varint(type.width << 2 | (2 if type.category == UNSIGNED else 0))
        return writer

    def location(self, location: Location) -> int:
        """The number of a location."""
        known = self._locations.get(id(location))
        if known is None:
            known = self._locations[id(location)] = (location, self._add(self._location_entry(location)))
        return known[1]

    def _location_entry(self, location: Location) -> EntryWriter:
        if isinstance(location, SourceLocation):
            location = FileLocation(location.source.name, *location.source.line_and_column(location.offset))
        if isinstance(location, FileLocation):
            return self._file_entry(location)
        if isinstance(location, NameLocation):
            writer = self.entry(AttributeCode.NAMED)
            writer.varint(self._string(location.name))
            writer.varint(self.location(location.child or UNKNOWN))
        elif isinstance(location, CallSiteLocation):
            writer = self.entry(AttributeCode.CALL_SITE)
            writer.varint(self.location(location.callee))
            writer.varint(self.location(location.caller))
        elif isinstance(location, FusedLocation):
            has_metadata = location.metadata is not None
            writer = self.entry(AttributeCode.FUSED_WITH_METADATA if has_metadata else AttributeCode.FUSED)
            writer.list(lambda each: writer.varint(self.location(each)), location.locations)
            if location.metadata is not None:
                writer.attribute(cast(Attribute, location.metadata))
        else:
            writer = self.entry(AttributeCode.UNKNOWN)
        return writer

    def _file_entry(self, location: FileLocation) -> EntryWriter:
        is_range = location.end is not None and self._has_file_ranges
        writer = self.entry(AttributeCode.FILE_RANGE if is_range else AttributeCode.FILE)
        writer.varint(self._string(location.file))
        numbers = [location.line, location.column]
        if is_range and location.end is not None:
            writer.list(writer.varint, [*numbers, *location.end])
        else:
            writer.varint(location.line)
            writer.varint(location.column)
        return writer

    def array_entry(self, attribute: ArrayAttribute) -> EntryWriter:
        """Encode a list of attributes."""
        writer = self.entry(AttributeCode.ARRAY)
        writer.list(writer.attribute, attribute.values)
        return writer

    def symbol_entry(self, attribute: SymbolAttribute) -> EntryWriter:
        """Encode a symbol."""
        code = AttributeCode.NESTED_SYMBOL if attribute.nested else AttributeCode.SYMBOL
        writer = self.entry(code)
        writer.varint(self._string(attribute.root))
        if attribute.nested:
            writer.list(writer.attribute, [SymbolAttribute(name) for name in attribute.nested])
        return writer

    def scalar_entry(self, attribute: BoolAttribute | IntegerAttribute | FloatAttribute) -> EntryWriter:
        """Encode a boolean, an integer or a float."""
        code = AttributeCode.FLOAT if isinstance(attribute, FloatAttribute) else AttributeCode.INTEGER
        type = element_type("i1") if isinstance(attribute, BoolAttribute) else attribute.type
        writer = self.entry(code)
        writer.type(type)
        writer.integer_bits(scalar_bits(attribute.value, type), type.width)
        return writer

    def dense_array_entry(self, attribute: DenseArrayAttribute) -> EntryWriter:
        """Encode an array of numbers."""
        writer = self.entry(AttributeCode.DENSE_ARRAY)
        writer.type(attribute.element_type)
        writer.varint(len(attribute.values))
        writer.blob(np.array(attribute.values, attribute.element_type.dtype).tobytes())
        return writer

    def dense_entry(self, attribute: DenseElementsAttribute) -> EntryWriter:
        """Encode a constant."""
        writer = self.entry(AttributeCode.DENSE)
        writer.type(attribute.type)
        writer.blob(dense_bytes(attribute))
        return writer

    def string_entry(self, attribute: StringAttribute) -> EntryWriter:
        """Encode a string."""
        writer = self.entry(AttributeCode.STRING)
        writer.string(attribute.value)
        return writer

    def type_entry(self, attribute: TypeAttribute) -> EntryWriter:
        """Encode a type that is an attribute."""
        writer = self.entry(AttributeCode.TYPE)
        writer.type(attribute.type)
        return writer

    def unit_entry(self, attribute: UnitAttribute) -> EntryWriter:
        """Encode the unit attribute."""
        return self.entry(AttributeCode.UNIT)


_WRITERS: Final[Mapping[type, Callable[[BuiltinEncoder, Any], EntryWriter | None]]] = {
    ArrayAttribute: BuiltinEncoder.array_entry,
    BoolAttribute: BuiltinEncoder.scalar_entry,
    DenseArrayAttribute: BuiltinEncoder.dense_array_entry,
    DenseElementsAttribute: BuiltinEncoder.dense_entry,
    FloatAttribute: BuiltinEncoder.scalar_entry,
    IntegerAttribute: BuiltinEncoder.scalar_entry,
    StringAttribute: BuiltinEncoder.string_entry,
    SymbolAttribute: BuiltinEncoder.symbol_entry,
    TypeAttribute: BuiltinEncoder.type_entry,
    UnitAttribute: BuiltinEncoder.unit_entry,
}

_FLOAT_CODES: Final = {
    "bf16": TypeCode.BF16,
    "f16": TypeCode.F16,
    "f32": TypeCode.F32,
    "f64": TypeCode.F64,
}
"""Narrower floats have codes since 2026 only; MLIR of any age reads their texts."""


def encoded_sizes(shape: Sequence[int]) -> list[int]:
    """Dimension sizes, or bounds of them, as MLIR represents them."""
    return [values.DYNAMIC_SIZE if size == DYNAMIC else size for size in shape]


def component_type(type: ElementType) -> ElementType:
    """The type of the real and the imaginary part of a complex type."""
    return element_type(type.name.removeprefix("complex<").removesuffix(">"))


def scalar_bits(value: bool | int | float, type: ElementType) -> int:
    """The bits of a number, as an unsigned integer."""
    if type.category == FLOAT:
        return int.from_bytes(np.asarray(value).astype(type.dtype).tobytes(), "little")
    return int(value) & (1 << type.width) - 1


def dense_bytes(attribute: DenseElementsAttribute) -> bytes:
    """The elements of a constant in row-major order, or one for all: as `values.dense_elements` reads them.

    A byte has eight booleans; 0xFF and 0 stand for all. A byte has one element of less than 8 bits.
    """
    array, type = attribute.array, attribute.type
    if type.category == BOOLEAN:
        if attribute.is_splat:
            return b"\xff" if array.flat[0] else b"\0"
        return np.packbits(array.ravel(), bitorder="little").tobytes()
    elements = np.ascontiguousarray(array.flat[:1] if attribute.is_splat else array)
    width = type.element_type.width
    if width < 8:
        return (elements.view(np.uint8) & np.uint8((1 << width) - 1)).tobytes()
    return elements.tobytes()


def _text_entry(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape") + b"\0"


def _dialect_of(attribute: Attribute, text: str) -> str:
    """The dialect of an attribute that is written as text."""
    if isinstance(attribute, (EnumAttribute, StructAttribute, DialectAttribute)) and attribute.dialect:
        return attribute.dialect
    match = _DIALECT.match(text)
    return match[1] if match is not None else BUILTIN
