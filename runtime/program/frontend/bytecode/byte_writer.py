"""Append to bytecode: the primitive encodings, as `ByteCursor` reads them.

Source: MLIR's document "Bytecode Format", section "Primitives".
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, TypeVar

T = TypeVar("T")

_MASK: Final = (1 << 64) - 1


class ByteWriter:
    """Bytecode that grows at its end.

    Attributes:
        content: the bytes so far.
    """

    __slots__ = ("content",)

    def __init__(self) -> None:
        self.content = bytearray()

    def byte(self, value: int) -> None:
        """Append one byte."""
        self.content.append(value)

    def append(self, value: bytes | bytearray) -> None:
        """Append bytes."""
        self.content += value

    def varint(self, value: int) -> None:
        """Append an unsigned integer of 64 bits: the first byte's low zeros count the bytes after it."""
        if value < 128:
            self.content.append(value << 1 | 1)
            return
        extra = (value.bit_length() - 1) // 7
        if extra < 8:
            self.content += ((value << 1 | 1) << extra).to_bytes(extra + 1, "little")
        else:
            self.content.append(0)
            self.content += value.to_bytes(8, "little")

    def signed(self, value: int) -> None:
        """Append a signed integer of 64 bits, in zigzag encoding."""
        self.varint((value << 1 ^ value >> 63) & _MASK)

    def varint_with_flag(self, value: int, flag: bool) -> None:
        """Append an unsigned integer of 63 bits whose low bit becomes a flag."""
        self.varint(value << 1 | flag)

    def boolean(self, value: bool) -> None:
        """Append a byte that says whether something is so."""
        self.byte(int(value))

    def list(self, write_item: Callable[[T], None], items: Collection[T]) -> None:
        """Append the number of the items, then the items."""
        self.varint(len(items))
        for item in items:
            write_item(item)

    def signed_list(self, values: Collection[int]) -> None:
        """Append a list of signed integers."""
        self.list(self.signed, values)

    def integer_bits(self, bits: int, width: int) -> None:
        """Append the bits of an integer or of a float, given as an unsigned integer."""
        if width <= 8:
            self.byte(bits)
        elif width <= 64:
            self.signed(bits - (1 << 64) if bits >> 63 else bits)
        else:
            words = [bits >> start & _MASK for start in range(0, width, 64)]
            self.signed_list([word - (1 << 64) if word >> 63 else word for word in words])

    def text(self, value: bytes) -> None:
        """Append a text and the zero that ends it."""
        self.content += value
        self.content.append(0)

    def section(self, number: int, content: bytes | bytearray) -> None:
        """Append a section."""
        self.byte(number)
        self.varint(len(content))
        self.content += content
