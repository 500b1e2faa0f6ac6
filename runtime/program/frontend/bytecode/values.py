"""Build types and constants from what several dialects encode in the same way, and check them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

import numpy as np

from ....errors import UnsupportedError
from ....types import (
    BOOLEAN,
    DYNAMIC,
    FLOAT,
    INTEGER,
    SIGNED,
    AnyElementType,
    Array,
    BufferType,
    ElementType,
    OpaqueType,
    QuantizedType,
    TensorType,
    Type,
    UnrankedTensorType,
    element_type,
)
from ...ir import (
    Attribute,
    BoolAttribute,
    DenseElementsAttribute,
    FloatAttribute,
    IntegerAttribute,
    StructAttribute,
)
from ...ops.framework.memory_limit import MAX_ELEMENTS, is_addressable
from ..type_parser import MAX_RANK
from .byte_writer import ByteWriter
from .program_reader import ByteCursor, EntryReader

DYNAMIC_SIZE: Final = -(1 << 63)
"""How MLIR represents a size or a bound that is unknown."""
PACKED: Final = 0
"""Stands for booleans of which a byte has eight where others have the width of their elements."""
BOUNDS: Final = "type_extensions"
"""The mnemonic of the encoding that states the bounds of a tensor type's dimensions."""


def bounds_encoding(bounds: Sequence[int]) -> StructAttribute:
    """The encoding of a tensor type that states bounds."""
    return StructAttribute("stablehlo", BOUNDS, {"bounds": tuple(bounds)})


def integer_field(attribute: StructAttribute, name: str) -> int:
    """A field of a struct that is an integer; 0 if it is absent.

    Raises:
        UnsupportedError: it is something else.
    """
    value = attribute.fields.get(name, 0)
    if not isinstance(value, int):
        raise UnsupportedError(f"the field {name} of {attribute.mnemonic} is not an integer")
    return value


def integers_field(attribute: StructAttribute, name: str) -> tuple[int, ...]:
    """A field of a struct that is a list of integers; an empty one if it is absent.

    Raises:
        UnsupportedError: it is something else.
    """
    value = attribute.fields.get(name, ())
    items = value if isinstance(value, tuple) else (None,)
    integers = [each for each in items if isinstance(each, int)]
    if len(integers) != len(items):
        raise UnsupportedError(f"the field {name} of {attribute.mnemonic} is not a list of integers")
    return tuple(integers)


def sizes(reader: EntryReader) -> tuple[int, ...]:
    """Consume a list of dimension sizes."""
    encoded = reader.signed_list()
    if len(encoded) > MAX_RANK:
        reader.fail(f"a rank of {len(encoded)}; at most {MAX_RANK} is supported")
    return checked_sizes(reader, encoded)


def checked_sizes(reader: ByteCursor, encoded: Sequence[int]) -> tuple[int, ...]:
    """Dimension sizes, or bounds of them, as types have them."""
    for size in encoded:
        if size < 0 and size != DYNAMIC_SIZE:
            reader.fail(f"{size} is not a dimension size")
    return tuple([DYNAMIC if size < 0 else size for size in encoded])


def ranked_tensor(
    reader: ByteCursor, shape: tuple[int, ...], elements: Type, encoding: Attribute | None = None
) -> Type:
    """A tensor type; its encoding states bounds, if it has one."""
    if isinstance(elements, OpaqueType):
        text = "".join("?x" if size == DYNAMIC else f"{size}x" for size in shape)
        return OpaqueType(f"tensor<{text}{elements}>")
    bounds = None
    if encoding is not None:
        if not isinstance(encoding, StructAttribute) or encoding.mnemonic != BOUNDS:
            raise UnsupportedError(
                f"{reader.name}: tensor encodings other than #stablehlo.bounds<...> are not supported"
            )
        bounds = checked_sizes(reader, integers_field(encoding, "bounds"))
        if len(bounds) != len(shape):
            reader.fail(f"{len(bounds)} bounds for {len(shape)} dimensions")
        if any(DYNAMIC not in pair for pair in zip(shape, bounds, strict=True)):
            reader.fail("a bound for a dimension of known size")
    return TensorType(shape, tensor_elements(reader, elements), bounds)


def tensor_elements(reader: ByteCursor, type: Type) -> AnyElementType:
    """The type, which must be an element type."""
    if not isinstance(type, (ElementType, QuantizedType)):
        reader.fail(f"expected an element type, found {type}")
    return type


def unranked_tensor(reader: EntryReader) -> UnrankedTensorType:
    """Consume the element type of an unranked tensor type."""
    return UnrankedTensorType(tensor_elements(reader, reader.type()))


def buffer(reader: EntryReader, shape: tuple[int, ...], elements: Type) -> BufferType:
    """A buffer type without a layout of its own."""
    return BufferType(shape, tensor_elements(reader, elements))


def complex_type(reader: EntryReader) -> ElementType:
    """Consume the type of the components of a complex type."""
    component = reader.type()
    try:
        return element_type(f"complex<{component}>")
    except KeyError:
        reader.fail(f"expected complex numbers of f32 or f64, found {component}")


def quantized_type(reader: EntryReader, *, per_axis: bool) -> QuantizedType:
    """Consume a quantized type, which the quant dialect and VHLO encode in the same way."""
    is_signed = reader.varint() & 1
    storage, expressed = reader.type(), reader.type()
    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()
    axis = None
    if per_axis:
        axis = reader.varint()
    else:
        scales, zero_points = (double(reader),), (reader.signed(),)
    low, high = reader.signed(), reader.signed()
    if per_axis:
        scales, zero_points = reader.list(lambda: double(reader)), reader.signed_list()
    if len(scales) != len(zero_points):
        reader.fail(f"{len(scales)} scales for {len(zero_points)} zero points")
    if not isinstance(storage, ElementType) or not storage.category & INTEGER:
        reader.fail(f"expected an integer storage type, found {storage}")
    if not isinstance(expressed, ElementType) or expressed.category != FLOAT:
        reader.fail(f"expected a floating-point expressed type, found {expressed}")
    stored = element_type(f"{'i' if is_signed else 'ui'}{storage.width}")
    return QuantizedType(stored, low, high, expressed, scales, zero_points, axis)


def double(reader: EntryReader) -> float:
    """Consume an f64."""
    (value,) = struct.unpack("<d", reader.integer_bits(64).to_bytes(8, "little"))
    return float(value)


def integer_attribute(reader: EntryReader, type: Type) -> Attribute:
    """Consume the bits of an integer of a type."""
    if not isinstance(type, ElementType) or not type.category & (INTEGER | BOOLEAN):
        reader.fail(f"expected an integer type, found {type}")
    bits = reader.integer_bits(type.width)
    if type.category == BOOLEAN:
        return BoolAttribute(bits == 1)
    is_negative = type.category == SIGNED and bits >> (type.width - 1)
    return IntegerAttribute(bits - (1 << type.width) if is_negative else bits, type)


def float_attribute(reader: EntryReader, type: Type) -> FloatAttribute:
    """Consume the bits of a float of a type."""
    if not isinstance(type, ElementType) or type.category != FLOAT:
        reader.fail(f"expected a floating-point type, found {type}")
    bits = reader.integer_bits(type.width)
    array = np.frombuffer(bits.to_bytes(type.dtype.itemsize, "little"), type.dtype)
    return FloatAttribute(float(array[0]), type)


def dense_elements(
    reader: EntryReader, type: Type, raw: bytes, unpacked: dict[int, Array] | None = None
) -> DenseElementsAttribute:
    """A constant of little-endian bytes in row-major order, or of the bytes of one element for all.

    Args:
        unpacked: what constants of the same bytes share: their elements of less than 8 bits, by the width;
            `PACKED` for booleans of which a byte has eight.
    """
    if unpacked is None:
        unpacked = {}
    if not isinstance(type, TensorType) or not type.is_static:
        reader.fail(f"expected a tensor type with static sizes, found {type}")
    size, dtype = type.size, type.element_type.dtype
    if size > MAX_ELEMENTS or (not size and not is_addressable(type)):
        reader.fail(f"{type} has more elements than can be addressed")
    if type.category == BOOLEAN:
        return DenseElementsAttribute(type, _booleans(reader, type, raw, unpacked))
    is_splat = len(raw) == dtype.itemsize and size != 1
    if not is_splat and len(raw) != dtype.itemsize * size:
        reader.fail(f"{len(raw)} bytes for the elements of {type}")
    elements = raw if type.element_type.width >= 8 else _low_bits(raw, type.element_type.width, unpacked)
    strides = (0,) * len(type.shape) if is_splat else None
    return DenseElementsAttribute(type, np.ndarray(type.shape, dtype, elements, 0, strides))


def _low_bits(raw: bytes, width: int, unpacked: dict[int, Array]) -> Array:
    """The low bits of each byte, which has one element of less than 8 bits."""
    if width not in unpacked:
        unpacked[width] = np.frombuffer(raw, np.uint8) & np.uint8((1 << width) - 1)
    return unpacked[width]


def _booleans(reader: EntryReader, type: TensorType, raw: bytes, unpacked: dict[int, Array]) -> Array:
    """Booleans, of which a byte has eight, from its lowest bit on, or one; a byte of 0xFF stands for all."""
    if raw == b"\xff" or (raw == b"\0" and type.size > 1):
        return np.broadcast_to(np.bool_(raw[0] != 0), type.shape)
    data: Array = np.frombuffer(raw, np.uint8)
    if data.size == -(-type.size // 8):
        if PACKED not in unpacked:
            unpacked[PACKED] = np.unpackbits(data, bitorder="little").view(np.bool_)
        return unpacked[PACKED][: type.size].reshape(type.shape)
    if data.size != type.size:
        reader.fail(f"{data.size} bytes for the elements of {type}")
    if type.element_type.width not in unpacked:
        unpacked[type.element_type.width] = data != 0
    return unpacked[type.element_type.width].reshape(type.shape)


def write_double(writer: ByteWriter, value: float) -> None:
    """Append an f64."""
    writer.integer_bits(int.from_bytes(struct.pack("<d", value), "little"), 64)
