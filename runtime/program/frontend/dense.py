"""Parse constants: ``dense<...>``, and ``dense_resource``, whose bytes are at the end of the text.

NumPy converts all literals of a list in one call, so no Python code runs for each element. The parser only
checks that the brackets are those of the type's shape.
"""

from __future__ import annotations

import math
import re
from typing import Final

import numpy as np

from ...errors import counted
from ...types import (
    BOOLEAN,
    COMPLEX,
    ELEMENT_TYPES,
    FLOAT,
    UNSIGNED,
    Array,
    ElementType,
    OpaqueType,
    QuantizedType,
    TensorType,
    Type,
    storage_range,
)
from ..ir import DenseElementsAttribute, DenseResourceAttribute, DenseStringsAttribute
from ..ops.framework.memory_limit import is_addressable
from ..ops.numerics.element_types import rounding
from .lexer import SKIP, LazyPattern, token_pattern
from .location_parser import LocationParser

_HEXADECIMAL: Final = token_pattern(r'"0x')
_NUMBERS: Final = LazyPattern(
    r"(?:[ \t\r\n]++|[\[(](?![ \t\r\n]*+,)|[\])](?=[ \t\r\n]*+[,\])>])|,(?=[ \t\r\n]*+[\[(\-\dtf])"
    r"|(?:-?+\d++(?:x[0-9A-Fa-f]++|\.\d*+(?:[eE][+\-]?+\d++)?+)?+|true|false)(?=[ \t\r\n]*+[,\])>]))*+"
)
_SPLAT: Final = token_pattern(rf"(<[^<>\"\[\](),\s]++>{SKIP}:{SKIP}tensor<[^<>\"]*+>)")
_STRUCTURE: Final = LazyPattern(r"[^\[\](),]++")
_BRACKETS: Final = str.maketrans("[]()", "    ")
_WIDE_INTEGER: Final = LazyPattern(r"\d{19}")
_COMPONENT_TYPES: Final = {"complex<f32>": ELEMENT_TYPES["f32"], "complex<f64>": ELEMENT_TYPES["f64"]}

_HEXADECIMAL_DIGITS: Final = frozenset("0123456789abcdefABCDEF")
_DIGITS_PER_CHUNK: Final = 1 << 17
"""Number of hexadecimal digits decoded at a time, so that the slice of the text stays in the L2 cache."""


class DenseParser(LocationParser):
    """Parses constants; splats with the same text share one object."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text, name)
        self._cached_splats: dict[str, DenseElementsAttribute] = {}
        # The decoded digits, which constants may share, by their offset and the width of the elements.
        self._cached_blobs: dict[tuple[int, int], Array] = {}

    def dense(self) -> DenseElementsAttribute | DenseStringsAttribute:
        """Consume ``<...> : type`` after ``dense``."""
        match = _SPLAT.match(self.text, self.position)
        if match is None:
            return self._parse_dense()
        cached = self._cached_splats.get(match.group(1))
        if cached is None:
            parsed = self._parse_dense()
            if self.position != match.end() or not isinstance(parsed, DenseElementsAttribute):
                return parsed
            self._cached_splats[match.group(1)] = cached = parsed
        self.position = match.end()
        return cached

    def _parse_dense(self) -> DenseElementsAttribute | DenseStringsAttribute:
        self.expect("<")
        match = _HEXADECIMAL.match(self.text, self.position)
        if match is not None:
            return self._parse_hexadecimal(match.end())
        start = self.skip()
        if '"' in self.text[start : start + 2] or (
            self.text.startswith("[[", start) and self._at_string_list()
        ):
            return self._parse_strings()
        numbers = _NUMBERS.match(self.text, start)
        assert numbers is not None
        self.position = numbers.end()
        if not self.accept(">"):
            self.fail_expecting("a literal, ',' or '>'")
        self.expect(":")
        type_position = self.skip()
        type = self.type()
        if isinstance(type, OpaqueType):
            self.fail(f"constants of type {type} are not supported", type_position)
        type = self._static_type(type, type_position)
        return DenseElementsAttribute(type, self._elements(numbers.group(), start, type))

    def _at_string_list(self) -> bool:
        return re.compile(r'[\[ \t\r\n]*+"').match(self.text, self.position) is not None

    def _static_type(self, type: Type, position: int) -> TensorType:
        if not isinstance(type, TensorType) or not type.is_static:
            self.fail_expecting("a tensor type with static sizes", position)
        if not is_addressable(type):
            self.fail(f"{type} has more elements than can be addressed", position)
        return type

    def _elements(self, text: str, start: int, type: TensorType) -> Array:
        """The array of a nested list of literals, or of one literal broadcast to the shape."""
        literal = text.strip()
        if not literal:
            if type.size:
                self.fail_expecting(counted(type.size, "element"), start)
            return np.empty(type.shape, type.dtype)
        if literal[0] != "[":
            return np.broadcast_to(self._convert(text, start, type, 1).reshape(()), type.shape)
        self._check_structure(text, start, type)
        return self._convert(text, start, type, type.size).reshape(type.shape)

    def _check_structure(self, text: str, start: int, type: TensorType) -> None:
        """Check that brackets and commas are those of nested lists of the type's shape.

        Raises:
            ParseError: one differs; the error shows the first.
        """
        actual = _STRUCTURE.sub("", text)
        shape = type.shape[: type.shape.index(0) + 1] if 0 in type.shape else type.shape
        min_elements = math.prod(size for size in shape if size)
        if not shape or min_elements > len(text):
            self.fail(f"expected {counted(min_elements, 'element')}, since the type is {type}", start)
        expected = "(,)" if type.category == COMPLEX and 0 not in shape else ""
        for size in reversed(shape):
            expected = f"[{','.join([expected] * size)}]"
        if actual == expected:
            return
        common = next(
            (n for n, (a, e) in enumerate(zip(actual, expected, strict=False)) if a != e),
            min(len(actual), len(expected)),
        )
        delimiters = re.finditer(r"[\[\](),]", text)
        position = next((m.start() for n, m in enumerate(delimiters) if n == common), len(text))
        delimiter = expected[common : common + 1]
        self.fail_expecting(
            f"'{delimiter}', since the type is {type}" if delimiter else "the end of the list",
            start + position,
        )

    def _convert(self, text: str, start: int, type: TensorType, count: int) -> Array:
        """Convert the `count` literals of `text` to a flat array of the type's dtype."""
        element_type = type.element_type
        if isinstance(element_type, QuantizedType):
            element_type = element_type.storage
        literals_text = text.translate(_BRACKETS)
        if count == 0:
            if literals_text.strip(" \t\r\n,"):
                self.fail_expecting(f"no elements, since the type is {type}", start)
            return np.empty(0, element_type.dtype)
        if element_type.category == COMPLEX:
            if text.count("(") != count or literals_text.count(",") != 2 * count - 1:
                self.fail_expecting(f"{counted(count, 'pair')} such as '(1.0, 2.0)'", start)
            components = self._floats(literals_text, start, _COMPONENT_TYPES[element_type.name])
            return components.view(element_type.dtype)
        if literals_text.count(",") != count - 1 or "(" in text:
            self.fail_expecting(f"{counted(count, 'element')} of {element_type}", start)
        if element_type.category == FLOAT:
            return self._floats(literals_text, start, element_type)
        return self._integers(literals_text, start, element_type)

    def _floats(self, literals_text: str, start: int, element_type: ElementType) -> Array:
        """Convert comma-separated floats, rounded to the element type."""
        if "x" in literals_text:
            return self._floats_and_bits(literals_text.split(","), start, element_type)
        if literals_text.count(".") != literals_text.count(",") + 1:
            self.fail_expecting("floats such as '1.0'", start)
        return self.rounded_array(np.fromstring(literals_text, np.float64, sep=","), element_type)

    def _floats_and_bits(self, literals: list[str], start: int, element_type: ElementType) -> Array:
        """Convert float literals of which some are hexadecimal bit patterns."""
        bits: dict[int, int] = {}
        for index, literal in enumerate(literals):
            if "x" in literal:
                bits[index] = self._literal_integer(literal, start)
                literals[index] = "0.0"
            elif "." not in literal:
                self.fail_expecting(f"floats such as '1.0', found '{literal.strip()[:40]}'", start)
        values = self.rounded_array(np.array([float(literal) for literal in literals]), element_type)
        for index, value in bits.items():
            values[index] = self._bits_array(value, element_type, start)
        return values

    def _integers(self, literals_text: str, start: int, element_type: ElementType) -> Array:
        """Convert comma-separated integers or booleans."""
        if element_type.category == BOOLEAN:
            return self._booleans(literals_text.split(","), start)
        if "." in literals_text:
            self.fail_expecting(f"integers, since the elements are {element_type}", start)
        if not ("x" in literals_text or "e" in literals_text or _WIDE_INTEGER.search(literals_text)):
            values = np.fromstring(literals_text, np.int64, sep=",")
            self._check_range(int(values.min()), int(values.max()), element_type, start)
            return values.astype(element_type.dtype)
        wide = [self._literal_integer(literal, start) for literal in literals_text.split(",")]
        self._check_range(min(wide), max(wide), element_type, start)
        masked = [value & (1 << element_type.width) - 1 for value in wide]
        return np.array(masked, np.uint64).astype(element_type.dtype)

    def _check_range(self, smallest: int, largest: int, element_type: ElementType, start: int) -> None:
        low, high = self._integer_range(element_type)
        if smallest < low or largest > high:
            self.fail(
                f"{smallest if smallest < low else largest} is out of the range of {element_type}", start
            )

    def _booleans(self, literals: list[str], start: int) -> Array:
        named = {"true": True, "false": False, "1": True, "0": False, "-1": True}
        try:
            return np.array([named[literal.strip()] for literal in literals], np.bool_)
        except KeyError as error:
            self.fail_expecting(f"true or false, found {error}", start)

    def _literal_integer(self, literal: str, start: int) -> int:
        literal = literal.strip()
        if not re.fullmatch(r"-?(?:0x[0-9A-Fa-f]+|\d+)", literal):
            self.fail_expecting(f"integers, found '{literal[:40]}'", start)
        return self.integer_value(literal, start)

    def _integer_range(self, element_type: ElementType) -> tuple[int, int]:
        """The range of literals of a type; signless literals may be signed or unsigned."""
        low, high = storage_range(element_type)
        return low, high if element_type.category == UNSIGNED else (1 << element_type.width) - 1

    def in_range(self, value: int, element_type: ElementType, position: int) -> int:
        """Convert `value` to an integer type, in which large unsigned literals wrap to negative values.

        Raises:
            ParseError: the type's range does not contain it.
        """
        if element_type.category == BOOLEAN:
            low, high = -1, 1
        else:
            low, high = self._integer_range(element_type)
        if not low <= value <= high:
            self.fail(f"{value} is out of the range of {element_type}", position)
        if element_type.category == BOOLEAN:
            return abs(value)
        return value - (1 << element_type.width) if value > storage_range(element_type)[1] else value

    def rounded(self, value: float, element_type: ElementType) -> float:
        """`value` rounded to a floating-point type."""
        return float(self.rounded_array(np.array([value]), element_type)[0])

    def rounded_array(self, values: Array, element_type: ElementType) -> Array:
        """f64 values rounded to a floating-point type."""
        with np.errstate(all="ignore"):
            return np.asarray(rounding(values.dtype, element_type)(values))

    def from_bits(self, bits: int, element_type: ElementType, position: int) -> float:
        return float(self._bits_array(bits, element_type, position))

    def _bits_array(self, bits: int, element_type: ElementType, position: int) -> Array:
        if not 0 <= bits < 1 << element_type.width:
            self.fail(f"{bits:#x} has more bits than {element_type}", position)
        size = element_type.dtype.itemsize
        bits_array: Array = np.frombuffer(bits.to_bytes(size, "little"), element_type.dtype)
        return bits_array.reshape(())

    def _parse_hexadecimal(self, start: int) -> DenseElementsAttribute:
        """Consume ``0x...">`` whose digits begin at `start`: little-endian bytes in row-major order."""
        quote = self.text.find('"', start)
        if quote < 0:
            self.fail("expected '\"' that ends the string", start - 3)
        self.position = quote + 1
        self.expect(">")
        self.expect(":")
        type_position = self.skip()
        type = self._static_type(self.type(), type_position)
        return DenseElementsAttribute(type, self._blob(start, quote, type, start))

    def _blob(self, start: int, end: int, type: TensorType, position: int, *, splat: bool = True) -> Array:
        """The array of the hexadecimal digits from `start` to `end`.

        Args:
            position: where an error points to.
            splat: whether one element may stand for all, as in ``dense<"0x...">``. MLIR has no splat form of
                resources: it takes the bytes of a blob as they are.
        """
        digits = end - start
        itemsize = type.dtype.itemsize
        size = type.size
        if splat and digits == 2 * itemsize:
            return np.broadcast_to(self._decode_hexadecimal(start, end, type).reshape(()), type.shape)
        if digits == 2 * itemsize * size:
            return self._decode_hexadecimal(start, end, type).reshape(type.shape)
        self.fail(
            f"expected {2 * itemsize * size} hexadecimal digits, since the type is {type}, found {digits}",
            position,
        )

    def _decode_hexadecimal(self, start: int, end: int, type: TensorType) -> Array:
        width = min(type.element_type.width, 8)
        raw = self._cached_blobs.get((start, width))
        if raw is None:
            raw = self._cached_blobs[start, width] = self._bytes_of_digits(start, end)
            if type.category == BOOLEAN:
                np.not_equal(raw, 0, out=raw.view(np.bool_))
            elif width < 8:
                raw &= (1 << width) - 1
        return raw.view(type.dtype)

    def _bytes_of_digits(self, start: int, end: int) -> Array:
        import binascii  # imported here because few programs have hexadecimal constants

        raw = np.empty((end - start) // 2, np.uint8)
        target = raw.data
        for first in range(start, end, _DIGITS_PER_CHUNK):
            digits = self.text[first : min(first + _DIGITS_PER_CHUNK, end)]
            try:
                target[(first - start) // 2 : (first - start + len(digits)) // 2] = binascii.unhexlify(digits)
            except ValueError:
                bad = next(index for index, digit in enumerate(digits) if digit not in _HEXADECIMAL_DIGITS)
                self.fail_expecting("a hexadecimal digit", first + bad)
        return raw

    def _parse_strings(self) -> DenseStringsAttribute:
        """Consume strings in row-major order; their brackets must balance but need not fit the shape."""
        values: list[str] = []
        depth = 0
        while True:
            if self.accept("["):
                depth += 1
            elif self.accept("]"):
                depth -= 1
            elif self.peek() == '"':
                values.append(self.string())
            elif not self.accept(","):
                break
        if depth:
            self.fail_expecting("']'" if depth > 0 else "'['")
        self.expect(">")
        self.expect(":")
        position = self.skip()
        type = self.type()
        if isinstance(type, TensorType):
            self.fail_expecting(
                "a type whose elements are strings, or '0x' and digits in the string", position
            )
        return DenseStringsAttribute(type, tuple(values))

    def dense_resource(self) -> DenseElementsAttribute | DenseResourceAttribute:
        """Consume ``<name> : type`` after ``dense_resource``."""
        self.expect("<")
        position = self.skip()
        name = self.string() if self.peek() == '"' else self.keyword("a resource's name")
        self.expect(">")
        self.expect(":")
        type_position = self.skip()
        type = self.type()
        span = self.resource_spans().get(name)
        if span is None:
            return DenseResourceAttribute(name, type)
        if span[1] - span[0] < 8:
            self.fail(f"expected 4 bytes of alignment and the data in the blob of {name}", position)
        static = self._static_type(type, type_position)
        # The first four bytes of a blob say how it is aligned.
        return DenseElementsAttribute(static, self._blob(span[0] + 8, span[1], static, span[0], splat=False))

    def resource_spans(self) -> dict[str, tuple[int, int]]:
        """The offsets (start, end) of the hexadecimal digits of each blob, by the blob's name."""
        raise NotImplementedError
