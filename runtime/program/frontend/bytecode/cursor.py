"""A position in bytecode: the primitive encodings.

Source: MLIR's document "Bytecode Format", section "Primitives".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from ....errors import ParseError

T = TypeVar("T")


class ByteCursor:
    """Reads a range of the bytecode from front to back.

    Args:
        content: the whole bytecode, so that errors name the offset in the file.
        start, end: the range.
        name: the name of the bytecode in errors.
    """

    __slots__ = ("content", "end", "name", "position")

    def __init__(self, content: bytes, start: int, end: int, name: str) -> None:
        self.content = content
        self.position = start
        self.end = end
        self.name = name

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left."""
        return self.position >= self.end

    def fail(self, reason: str, position: int | None = None) -> NoReturn:
        """Raise a ParseError that names the offset: that of the cursor if `position` is None."""
        offset = self.position if position is None else position
        raise ParseError(f"{self.name}: malformed bytecode: {reason}, at byte {offset}")

    def range(self, size: int) -> ByteCursor:
        """Consume `size` bytes; a cursor over them."""
        start = self.skip(size)
        return ByteCursor(self.content, start, start + size, self.name)

    def skip(self, size: int) -> int:
        """Consume `size` bytes; the offset of the first."""
        start = self.position
        if size > self.end - start:
            self.fail(f"expected {size} bytes, but {self.end - start} are left")
        self.position = start + size
        return start

    def bytes(self, size: int) -> bytes:
        """Consume and return `size` bytes."""
        start = self.skip(size)
        return self.content[start : start + size]

    def text(self) -> str:
        """Consume a text that a zero ends; bytes that are not UTF-8 become surrogate escapes."""
        end = self.content.find(0, self.position, self.end)
        if end < 0:
            self.fail("expected a zero that ends a text")
        text = self.bytes(end - self.position).decode("utf-8", "surrogateescape")
        self.position = end + 1
        return text

    def byte(self) -> int:
        """Consume one byte."""
        position = self.position
        if position >= self.end:
            self.fail("expected a byte, but none is left")
        self.position = position + 1
        return self.content[position]

    def boolean(self) -> bool:
        """Consume a byte that says whether something is so."""
        return self.byte() != 0

    def varint(self) -> int:
        """Consume an unsigned integer of 64 bits: the first byte's low zeros count the bytes after it."""
        position = self.position
        if position >= self.end:
            self.fail("expected an integer, but no byte is left")
        first = self.content[position]
        if first & 1:
            self.position = position + 1
            return first >> 1
        if first & 2 and position + 2 <= self.end:
            self.position = position + 2
            return first >> 2 | self.content[position + 1] << 6
        return self._long_varint(first, position)

    def _long_varint(self, first: int, position: int) -> int:
        extra = (first & -first).bit_length() - 1 if first else 8
        end = position + 1 + extra
        if end > self.end:
            self.fail("expected an integer, but it ends beyond its section")
        self.position = end
        if extra == 8:
            return int.from_bytes(self.content[position + 1 : end], "little")
        return int.from_bytes(self.content[position:end], "little") >> (extra + 1)

    def signed(self) -> int:
        """Consume a signed integer of 64 bits, in zigzag encoding."""
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def varint_with_flag(self) -> tuple[int, bool]:
        """Consume an unsigned integer whose low bit is a flag."""
        value = self.varint()
        return value >> 1, value & 1 == 1

    def count(self) -> int:
        """Consume the number of the items that follow, each of which takes at least a byte."""
        start = self.position
        count = self.varint()
        if count > self.end - self.position:
            self.fail(f"{count} items do not fit into {self.end - self.position} bytes", start)
        return count

    def list(self, read_item: Callable[[], T]) -> tuple[T, ...]:
        """Consume the number of items, then the items."""
        return tuple([read_item() for _ in range(self.count())])

    def signed_list(self) -> tuple[int, ...]:
        """Consume a list of signed integers."""
        return self.list(self.signed)

    def integer_bits(self, width: int) -> int:
        """Consume the bits of an integer, or of a float, of a known width, as an unsigned integer."""
        if width <= 8:
            return self.byte() & (1 << width) - 1
        if width <= 64:
            return self.signed() & (1 << width) - 1
        words = self.count()
        bits = 0
        for index in range(words):
            bits |= (self.signed() & (1 << 64) - 1) << 64 * index
        return bits & (1 << width) - 1

    def align(self, alignment: int) -> None:
        """Consume the bytes before the next offset that is a multiple of `alignment`."""
        if alignment <= 0 or alignment & (alignment - 1):
            self.fail(f"the alignment {alignment} is not a power of two")
        self.skip(-self.position % alignment)
