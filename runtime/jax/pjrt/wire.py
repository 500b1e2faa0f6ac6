"""Protocol buffers' wire format, as far as PJRT's messages need it.

Source: protobuf.dev, "Encoding".
"""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import ParseError

Fields = dict[int, list[int | bytes]]


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise ParseError("a message ends within a number")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def decode(data: bytes) -> Fields:
    """The fields of a message by their numbers, each with its values in order: integers, or bytes.

    Numbers of 32 and 64 bits that are not varints come as bytes.

    Raises:
        ParseError: the message is malformed.
    """
    fields: Fields = {}
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, kind = tag >> 3, tag & 7
        value: int | bytes
        if kind == 0:
            value, position = _varint(data, position)
        else:
            if kind == 2:
                size, position = _varint(data, position)
            elif kind in (1, 5):
                size = 8 if kind == 1 else 4
            else:
                raise ParseError(f"a message has a field of wire type {kind}")
            if position + size > len(data):
                raise ParseError("a message ends within a field")
            value = data[position : position + size]
            position += size
        fields.setdefault(number, []).append(value)
    return fields


def integer(fields: Fields, number: int, default: int = 0) -> int:
    """The last value of a field of integers, with its sign."""
    value = fields.get(number, [default])[-1]
    if not isinstance(value, int):
        raise ParseError(f"field {number} is not an integer")
    return value - (1 << 64) if value >> 63 else value


def message(fields: Fields, number: int) -> Fields:
    """The fields of the message in a field; none where it is absent."""
    return next(iter(messages(fields, number)[-1:]), {})


def messages(fields: Fields, number: int) -> list[Fields]:
    return [decode(text(value, number)) for value in fields.get(number, [])]


def text(value: int | bytes, number: int) -> bytes:
    """The bytes of a field's value."""
    if not isinstance(value, bytes):
        raise ParseError(f"field {number} is not an embedded message")
    return value


def integers(fields: Fields, number: int) -> list[int]:
    """The values of a repeated field of integers, packed or not."""
    values: list[int] = []
    for value in fields.get(number, []):
        if isinstance(value, int):
            values.append(value)
            continue
        position = 0
        while position < len(value):
            one, position = _varint(value, position)
            values.append(one)
    return values


def varint(value: int) -> bytes:
    """The encoding of an integer."""
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def encode(fields: Iterable[tuple[int, int | bytes]]) -> bytes:
    """A message of fields, each with its number, as varints and bytes."""
    encoded = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            encoded += varint(number << 3) + varint(value)
        else:
            encoded += varint(number << 3 | 2) + varint(len(value)) + value
    return bytes(encoded)


def pack(values: Iterable[int]) -> bytes:
    """The value of a packed field of integers."""
    return b"".join([varint(value) for value in values])
