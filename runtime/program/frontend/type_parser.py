"""Parse types of the builtin, StableHLO, quant and shape dialects.

Source: specification, section "Types"; MLIR language reference, "Builtin dialect", types.
"""

from __future__ import annotations

import re
from typing import Final

from ...errors import UnsupportedError, counted
from ...types import (
    BOOLEAN,
    DYNAMIC,
    FLOAT,
    INDEX,
    INTEGER,
    AnyElementType,
    BufferType,
    ElementType,
    FunctionType,
    FutureType,
    OpaqueType,
    QuantizedType,
    TensorType,
    TokenType,
    TupleType,
    Type,
    UnrankedTensorType,
    element_type,
    storage_range,
)
from ..ir import Attribute, OpaqueAttribute
from .lexer import NUMBER, SKIP, Cursor, LazyPattern, token_pattern

MAX_DIMENSION_SIZE: Final = 2**63 - 1
MAX_RANK: Final = 64
_ANGLES: Final = r"<(?:[^<>\"()]|<(?:[^<>\"()]|<[^<>\"()]*+>)*+>)*+>"
_PLAIN_TYPE: Final = token_pattern(rf"((?:tensor{_ANGLES}|!stablehlo\.token|i\d++|f32|f64|index)(?![\w<.]))")
_SIMPLE_TENSOR: Final = re.compile(
    r"tensor<((?:(?:\d{1,18}|\?)x)*+)([A-Za-z][\w]*+(?:<f32>|<f64>)?+)>", re.ASCII
)
_SIZE: Final = token_pattern(rf"(?:(\?)|(\d++)){SKIP}x")
_UNRANKED: Final = token_pattern(rf"\*{SKIP}x")
_NAME: Final = token_pattern(r"([A-Za-z_]\w*+)(?![\w$.])")
_DIALECT_TYPE: Final = token_pattern(r"!([A-Za-z_][\w$]*+)((?:\.[\w$]++)*+)")


class TypeParser(Cursor):
    """Parses types; the same text gives the same object."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text, name)
        self._cached_types: dict[str, Type] = {}

    def type(self) -> Type:
        """Consume a type of any kind."""
        match = _PLAIN_TYPE.match(self.text, self.position)
        if match is None:
            return self._parse_type()
        cached = self._cached_types.get(match.group(1))
        if cached is None:
            cached = self._parse_type()
            if self.position != match.end():
                return cached
            self._cached_types[match.group(1)] = cached
        self.position = match.end()
        return cached

    def function_type(self) -> FunctionType:
        """Consume ``(types) -> type`` or ``(types) -> (types)``."""
        self.descend()
        self.expect("(")
        inputs = [self.type() for _ in self.items(")")]
        self.expect("->")
        results = [self.type() for _ in self.items(")")] if self.accept("(") else [self.type()]
        self.nesting -= 1
        return FunctionType(inputs, results)

    def types(self) -> list[Type]:
        """Consume a comma-separated list of at least one type."""
        types = [self.type()]
        while self.accept(","):
            types.append(self.type())
        return types

    def tensor_type(self) -> TensorType:
        """Consume a ranked tensor type."""
        position = self.skip()
        parsed = self.type()
        if not isinstance(parsed, TensorType):
            self.fail_expecting("a ranked tensor type", position)
        return parsed

    def element_type(self) -> AnyElementType:
        """Consume an element type: an integer, float, complex or quantized type."""
        position = self.skip()
        parsed = self.type()
        if not isinstance(parsed, (ElementType, QuantizedType)):
            self.fail_expecting("an element type", position)
        return parsed

    def type_alias(self, name: str, position: int) -> Type:
        """The type that the alias ``!name``, used at `position`, stands for."""
        raise NotImplementedError

    def _parse_type(self) -> Type:
        simple = _SIMPLE_TENSOR.match(self.text, self.skip())
        tensor = None if simple is None else self._simple_tensor(simple)
        if tensor is not None:
            return tensor
        self.descend()
        parsed = self._parse_any_type()
        self.nesting -= 1
        return parsed

    def _simple_tensor(self, match: re.Match[str]) -> TensorType | None:
        """The type of a tensor of one of the specification's element types; None for another."""
        sizes, name = match.groups()
        try:
            parsed = element_type(name)
        except KeyError:
            return None
        shape = [DYNAMIC if size == "?" else int(size) for size in sizes.split("x")[:-1]]
        self._check_rank(shape, match.start())
        self.position = match.end()
        return TensorType(shape, parsed)

    def _check_rank(self, shape: list[int], position: int) -> None:
        if len(shape) > MAX_RANK:
            self.fail(f"a rank of {len(shape)}; at most {MAX_RANK} is supported", position)

    def _parse_any_type(self) -> Type:
        next_character = self.peek()
        if next_character == "(":
            return self.function_type()
        if next_character == "!":
            return self._parse_dialect_type()
        match = self.match(_NAME)
        if match is None:
            self.fail_expecting("a type")
        name = match.group(1)
        if name == "tensor":
            return self._parse_tensor()
        if name == "memref":
            return self._parse_buffer()
        if name == "tuple":
            return TupleType(self._angle_types())
        if name == "complex":
            return self._parse_complex(match.start(1))
        if name == "vector":
            return OpaqueType(f"vector<{self.angle_text()}>")
        try:
            return element_type(name)
        except KeyError:
            return self._other_builtin(name, match.start(1))

    def _other_builtin(self, name: str, position: int) -> OpaqueType:
        """A builtin type that the specification lacks, which attributes of other dialects may have."""
        width = _OTHER_INTEGER.fullmatch(name)
        if name in _OTHER_TYPES or (width is not None and int(width.group(1)) <= _MAX_INTEGER_WIDTH):
            return OpaqueType(name)
        self.fail_expecting("a type", position)

    def _angle_types(self) -> list[Type]:
        self.expect("<")
        return [self.type() for _ in self.items(">")]

    def _parse_complex(self, position: int) -> ElementType | OpaqueType:
        self.expect("<")
        component = self.type()
        self.expect(">")
        name = f"complex<{component}>"
        try:
            return element_type(name)
        except KeyError:
            pass
        categories = FLOAT | INTEGER | BOOLEAN
        if isinstance(component, ElementType) and component.category & categories and component is not INDEX:
            return OpaqueType(name)
        self.fail_expecting("complex<f32> or complex<f64>", position)

    def _parse_sizes(self) -> list[int]:
        shape: list[int] = []
        start = self.position
        while (match := self.match(_SIZE)) is not None:
            if match.group(1):
                shape.append(DYNAMIC)
                continue
            size = self.integer_value(match.group(2), match.start(2))
            if size > MAX_DIMENSION_SIZE:
                self.fail_expecting("a dimension size below 2^63", match.start(2))
            shape.append(size)
        self._check_rank(shape, start)
        return shape

    def _parse_tensor(self) -> Type:
        self.expect("<")
        if self.match(_UNRANKED):
            unranked = UnrankedTensorType(self.element_type())
            self.expect(">")
            return unranked
        shape = self._parse_sizes()
        element_type = self._tensor_elements()
        bounds = None
        if self.accept(",") and not self.at(">"):
            bounds = self._parse_bounds(shape)
        self.expect(">")
        if isinstance(element_type, OpaqueType):
            sizes = "".join("?x" if size == DYNAMIC else f"{size}x" for size in shape)
            return OpaqueType(f"tensor<{sizes}{element_type}>")
        return TensorType(shape, element_type, bounds)

    def _tensor_elements(self) -> AnyElementType | OpaqueType:
        position = self.skip()
        parsed = self.type()
        if not isinstance(parsed, (ElementType, QuantizedType, OpaqueType)):
            self.fail_expecting("an element type", position)
        return parsed

    def attribute(self) -> Attribute:
        raise NotImplementedError

    def _parse_bounds(self, shape: list[int]) -> tuple[int, ...]:
        """Consume a tensor type's encoding and return the bounds of its dimensions.

        Raises:
            ParseError: the bounds do not fit the shape.
            UnsupportedError: the encoding is not StableHLO's.
        """
        position = self.skip()
        encoding = self.attribute()
        match = _BOUNDS.fullmatch(encoding.text) if isinstance(encoding, OpaqueAttribute) else None
        if match is None:
            location = self.location_at(position)
            reason = "tensor encodings other than #stablehlo.bounds<...> are not supported"
            raise UnsupportedError(reason, location=location)
        bounds_text = (match.group(1) or match.group(2) or "").strip()
        sizes = [size.strip() for size in bounds_text.split(",")] if bounds_text else []
        if not all(_BOUND.fullmatch(size) for size in sizes):
            self.fail_expecting("bounds that are ? or numbers", position)
        bounds = tuple([DYNAMIC if size == "?" else int(size) for size in sizes])
        if len(bounds) != len(shape):
            self.fail_expecting(f"{counted(len(shape), 'bound')}, one for each dimension", position)
        for size, bound in zip(shape, bounds, strict=True):
            if DYNAMIC not in (size, bound):
                self.fail_expecting("a bound of ? for each dimension of known size", position)
        return bounds

    def _parse_buffer(self) -> BufferType | OpaqueType:
        """Consume a buffer's type; with a layout, a memory space or without a rank it is kept as its text."""
        start = self.position - len("memref")
        self.expect("<")
        is_ranked = self.match(_UNRANKED) is None
        shape = self._parse_sizes() if is_ranked else []
        element_type = self._tensor_elements()
        is_plain = is_ranked and not isinstance(element_type, OpaqueType) and self.at(">")
        while self.accept(","):
            self.attribute()
        self.expect(">")
        if is_plain and not isinstance(element_type, OpaqueType):
            return BufferType(shape, element_type)
        return OpaqueType(self.text[start : self.position])

    def _parse_dialect_type(self) -> Type:
        match = self.match(_DIALECT_TYPE)
        if match is None:
            self.fail_expecting("a type")
        dialect, suffix = match.groups()
        if not suffix and self.text[self.position : self.position + 1] != "<":
            return self.type_alias(dialect, match.start() + match.group().index("!"))
        name = dialect + suffix
        if name == "stablehlo.token":
            return TokenType()
        if name == "stablehlo.future":
            return FutureType(self._angle_types())
        if name in _SHAPE_TYPES:
            return _SHAPE_TYPES[name]
        if name in ("quant.uniform", "quant.any"):
            return self._parse_quantized(match.start())
        if self.text[self.position : self.position + 1] == "<":
            body = self.angle_text()
            return OpaqueType(f"!{name}<{body}>")
        return OpaqueType(f"!{name}")

    def angle_text(self) -> str:
        """Consume ``<...>`` and return the text within."""
        self.expect("<")
        start = self.skip()
        for _ in self.items(">"):
            self.balanced()
        return self.text[start : self.position - 1].strip()

    def _parse_quantized(self, position: int) -> QuantizedType:
        self.expect("<")
        storage = self._storage_type()
        low, high = storage_range(storage)
        if self.accept("<"):
            low = self.integer()
            self.expect(":")
            high = self.integer()
            self.expect(">")
        self.expect(":")
        expressed_position = self.skip()
        expressed = self.element_type()
        if not isinstance(expressed, ElementType) or expressed.category != FLOAT:
            self.fail_expecting("a floating-point type", expressed_position)
        axis = self.integer() if self.accept(":") else None
        self.expect(",")
        pairs = [self._scale_and_zero_point()] if axis is None else self._scales_and_zero_points()
        self.expect(">")
        scales, zero_points = zip(*pairs, strict=True) if pairs else ((), ())
        return QuantizedType(storage, low, high, expressed, scales, zero_points, axis)

    def _storage_type(self) -> ElementType:
        position = self.skip()
        name = self.keyword("a storage type such as 'i8' or 'u8'")
        try:
            storage = element_type(f"u{name[1:]}" if name.startswith("ui") else name.replace("u", "ui"))
        except KeyError:
            self.fail_expecting("a storage type such as 'i8' or 'u8'", position)
        if not storage.category & INTEGER or storage.name == "index":
            self.fail_expecting("an integer storage type", position)
        return storage

    def _scales_and_zero_points(self) -> list[tuple[float, int]]:
        self.expect("{")
        return [self._scale_and_zero_point() for _ in self.items("}")]

    def _scale_and_zero_point(self) -> tuple[float, int]:
        match = self.match(NUMBER)
        if match is None:
            self.fail_expecting("a scale")
        text = match.group(1) or match.group(2)
        try:
            scale = float.fromhex(text) if "x" in text else float(text)
        except OverflowError:
            self.fail_expecting("a scale that f64 can hold", match.start())
        zero_point = self.integer() if self.accept(":") else 0
        return scale, zero_point


_SHAPE_TYPES: Final[dict[str, Type]] = {"shape.shape": TensorType((DYNAMIC,), INDEX), "shape.size": INDEX}
"""The type that values of each type of the shape dialect have here."""

_OTHER_TYPES: Final = frozenset({"f80", "f128", "none", "token"})
_OTHER_INTEGER: Final = LazyPattern(r"[su]?i(0|[1-9]\d{0,7})")
_MAX_INTEGER_WIDTH: Final = (1 << 24) - 1
"""MLIR's limit on the width of an integer type."""
_BOUND: Final = LazyPattern(r"\?|[0-9]{1,18}")

_BOUNDS: Final = LazyPattern(
    r"#stablehlo(?:\.|<)(?:bounds<([\d?, ]*)>|type_extensions<\s*bounds\s*=\s*\[([\d?, ]*)\]\s*>)>?"
)
