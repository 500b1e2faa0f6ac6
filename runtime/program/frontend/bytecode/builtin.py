"""Decode the attributes, locations and types of the builtin and quant dialects.

Source: MLIR, ``BuiltinDialectBytecode.td`` and ``QuantDialectBytecode.td``, whose order of attributes and of
types gives their codes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NoReturn, TypeVar

import numpy as np

from ....types import (
    BOOLEAN,
    FLOAT,
    INDEX,
    INTEGER,
    Array,
    BufferType,
    ElementType,
    FunctionType,
    OpaqueType,
    TensorType,
    TupleType,
    Type,
    element_type,
)
from ...ir import (
    UNKNOWN,
    ArrayAttribute,
    Attribute,
    CallSiteLocation,
    DenseArrayAttribute,
    DenseElementsAttribute,
    DenseResourceAttribute,
    DenseStringsAttribute,
    DictionaryAttribute,
    FileLocation,
    FusedLocation,
    Location,
    LocationAttribute,
    NameLocation,
    OpaqueAttribute,
    StringAttribute,
    SymbolAttribute,
    TypeAttribute,
    UnitAttribute,
)
from ...ir.printer import Printer
from ..type_parser import MAX_RANK
from . import values
from .program_reader import EntryReader

T = TypeVar("T")

_SIGNS: Final = ("i", "si", "ui")
_NARROW_FLOATS: Final = (
    "tf32",
    "f8E5M2",
    "f8E4M3",
    "f8E4M3FN",
    "f8E5M2FNUZ",
    "f8E4M3FNUZ",
    "f8E4M3B11FNUZ",
    "f8E3M4",
    "f4E2M1FN",
    "f6E2M3FN",
    "f6E3M2FN",
    "f8E8M0FNU",
)
"""Floats with codes of their own since 2026; before, their texts stood for them."""
_UNIFORM: Final = 4
_UNIFORM_PER_AXIS: Final = 5


def attribute(reader: EntryReader) -> Attribute:
    """Consume an attribute or a location."""
    return _decode(reader, _ATTRIBUTES, "attribute")


def type(reader: EntryReader) -> Type:
    """Consume a type."""
    return _decode(reader, _TYPES, "type")


def _decode(reader: EntryReader, readers: tuple[Callable[[EntryReader], T], ...], kind: str) -> T:
    code = reader.varint()
    if code >= len(readers):
        reader.fail(f"{kind} {code} of the builtin dialect is not known")
    return readers[code](reader)


def location(reader: EntryReader) -> Location:
    """Consume a reference to a location."""
    value = reader.attribute()
    if isinstance(value, OpaqueAttribute):
        return NameLocation(value.text)
    if not isinstance(value, LocationAttribute):
        reader.fail("expected a reference to a location")
    return value.location


def _dictionary(reader: EntryReader) -> DictionaryAttribute:
    return DictionaryAttribute(reader.named_attributes())


def _typed_string(reader: EntryReader) -> StringAttribute:
    text = reader.string()
    reader.type()
    return StringAttribute(text)


def _nested_symbol(reader: EntryReader) -> SymbolAttribute:
    root = reader.string_attribute()
    nested = [_flat_symbol(reader, each) for each in reader.attributes()]
    return SymbolAttribute(root, tuple(nested))


def _flat_symbol(reader: EntryReader, attribute: Attribute) -> str:
    """The name of an attribute that must be a symbol without nested ones."""
    if not isinstance(attribute, SymbolAttribute) or attribute.nested:
        reader.fail("expected a symbol without nested ones")
    return attribute.root


def _call_site(reader: EntryReader) -> LocationAttribute:
    return LocationAttribute(CallSiteLocation(location(reader), location(reader)))


def _file(reader: EntryReader) -> LocationAttribute:
    return LocationAttribute(reader.file_location())


def _file_range(reader: EntryReader) -> LocationAttribute:
    """A file, and (line, column, last column) or (line, column, last line, last column), or less."""
    file = reader.string_attribute()
    numbers = reader.list(reader.varint)
    if len(numbers) > 4:
        reader.fail(f"a location of {len(numbers)} lines and columns")
    line, column = (*numbers[:2], 0, 0)[:2]
    if len(numbers) < 3:
        return LocationAttribute(FileLocation(file, line, column))
    end = (line, numbers[2]) if len(numbers) == 3 else (numbers[2], numbers[3])
    return LocationAttribute(FileLocation(file, line, column, end))


def _fused(reader: EntryReader) -> LocationAttribute:
    return LocationAttribute(FusedLocation(reader.list(lambda: location(reader))))


def _fused_with_metadata(reader: EntryReader) -> LocationAttribute:
    locations = reader.list(lambda: location(reader))
    return LocationAttribute(FusedLocation(locations, reader.attribute()))


def _named(reader: EntryReader) -> LocationAttribute:
    name, child = reader.string_attribute(), location(reader)
    return LocationAttribute(NameLocation(name, None if child == UNKNOWN else child))


def _resource(reader: EntryReader) -> DenseElementsAttribute | DenseResourceAttribute:
    type = reader.type()
    resource = reader.resource()
    content = resource.content()
    if content is None:
        return DenseResourceAttribute(resource.name, type)
    return values.dense_elements(reader, type, content, resource.unpacked)


def _dense_array(reader: EntryReader) -> DenseArrayAttribute:
    element, count, raw = reader.type(), reader.varint(), reader.blob()
    if not isinstance(element, ElementType) or not element.category & (BOOLEAN | INTEGER | FLOAT):
        reader.fail(f"expected an element type of integers or floats, found {element}")
    if len(raw) != count * element.dtype.itemsize:
        reader.fail(f"{len(raw)} bytes for {count} elements of {element}")
    array: Array = np.frombuffer(raw, element.dtype)
    if element.category == FLOAT:
        array = array.astype(np.float64)
    return DenseArrayAttribute(element, tuple(array.tolist()))


def _dense(reader: EntryReader) -> DenseElementsAttribute:
    return values.dense_elements(reader, reader.type(), reader.blob())


def _dense_strings(reader: EntryReader) -> DenseStringsAttribute:
    type, is_splat = reader.type(), reader.varint()
    count = 1 if is_splat or not isinstance(type, TensorType) else type.size
    if count > reader.end - reader.position:
        reader.fail(f"{count} strings do not fit into {reader.end - reader.position} bytes")
    return DenseStringsAttribute(type, tuple([reader.string() for _ in range(count)]))


def _affine_map(reader: EntryReader) -> OpaqueAttribute:
    """Consume an affine map; only the identity, of the given number of dimensions, is known."""
    encoded = reader.varint()
    if encoded & 3 or encoded >> 2 > MAX_RANK:
        reader.fail("affine maps other than the identity are not supported")
    dimensions = ", ".join([f"d{index}" for index in range(encoded >> 2)])
    return OpaqueAttribute(f"affine_map<({dimensions}) -> ({dimensions})>")


def _no_attribute(reader: EntryReader) -> NoReturn:
    reader.fail("sparse and distinct attributes are not supported")


_ATTRIBUTES: Final[tuple[Callable[[EntryReader], Attribute], ...]] = (
    lambda reader: ArrayAttribute(reader.attributes()),
    _dictionary,
    lambda reader: StringAttribute(reader.string()),
    _typed_string,
    lambda reader: SymbolAttribute(reader.string_attribute()),
    _nested_symbol,
    lambda reader: TypeAttribute(reader.type()),
    lambda reader: UnitAttribute(),
    lambda reader: values.integer_attribute(reader, reader.type()),
    lambda reader: values.float_attribute(reader, reader.type()),
    _call_site,
    _file,
    _fused,
    _fused_with_metadata,
    _named,
    lambda reader: LocationAttribute(UNKNOWN),
    _resource,
    _dense_array,
    _dense,
    _dense_strings,
    _no_attribute,
    _no_attribute,
    _file_range,
    _affine_map,
)


def _integer_type(reader: EntryReader) -> Type:
    from ..parser import parse_type

    encoded = reader.varint()
    if encoded & 3 == 3 or not 0 < encoded >> 2 < 1 << 24:
        reader.fail(f"{encoded} does not encode an integer type")
    name = f"{_SIGNS[encoded & 3]}{encoded >> 2}"
    try:
        return element_type(name)
    except KeyError:
        return parse_type(name, reader.name)


def _tensor(reader: EntryReader) -> Type:
    return values.ranked_tensor(reader, values.sizes(reader), reader.type())


def _tensor_with_encoding(reader: EntryReader) -> Type:
    encoding = reader.attribute()
    return values.ranked_tensor(reader, values.sizes(reader), reader.type(), encoding)


def _buffer(reader: EntryReader) -> BufferType:
    shape, elements, layout = values.sizes(reader), reader.type(), reader.attribute()
    source, _, target = (
        Printer().attribute(layout).removeprefix("affine_map<").removesuffix(">").partition(" -> ")
    )
    if source != target:
        reader.fail("layouts of buffers are not supported")
    return values.buffer(reader, shape, elements)


def _no_memory_space(reader: EntryReader) -> NoReturn:
    reader.fail("memory spaces of buffers, and unranked buffers, are not supported")


def _vector(reader: EntryReader) -> OpaqueType:
    shape, elements = reader.signed_list(), reader.type()
    return OpaqueType(f"vector<{''.join(f'{size}x' for size in shape)}{elements}>")


def _named_type(name: str) -> Callable[[EntryReader], Type]:
    def read(reader: EntryReader) -> Type:
        try:
            return element_type(name)
        except KeyError:
            return OpaqueType(name)

    return read


_TYPES: Final[tuple[Callable[[EntryReader], Type], ...]] = (
    _integer_type,
    lambda reader: INDEX,
    lambda reader: FunctionType(reader.types(), reader.types()),
    *map(_named_type, ("bf16", "f16", "f32", "f64", "f80", "f128")),
    values.complex_type,
    _buffer,
    _no_memory_space,
    _named_type("none"),
    _tensor,
    _tensor_with_encoding,
    lambda reader: TupleType(reader.types()),
    _no_memory_space,
    _no_memory_space,
    values.unranked_tensor,
    _vector,
    _vector,
    *map(_named_type, _NARROW_FLOATS),
)


class Quant:
    """The quant dialect, of which only uniform quantized types are known."""

    @staticmethod
    def attribute(reader: EntryReader) -> Attribute:
        """The quant dialect has no attributes."""
        reader.fail("the quant dialect has no attributes")

    @staticmethod
    def type(reader: EntryReader) -> Type:
        """Consume a quantized type."""
        code = reader.varint()
        if code not in (_UNIFORM, _UNIFORM_PER_AXIS):
            reader.fail(f"type {code} of the quant dialect is not supported")
        return values.quantized_type(reader, per_axis=code == _UNIFORM_PER_AXIS)
