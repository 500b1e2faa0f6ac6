"""Parse attributes of the builtin, StableHLO, CHLO and sdy dialects.

Source: MLIR language reference, "Attributes"; the specification's operations for the fields of structs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...types import BOOLEAN, ELEMENT_TYPES, FLOAT, INDEX, INTEGER, ElementType, OpaqueType
from ..ir import (
    ArrayAttribute,
    Attribute,
    BoolAttribute,
    DenseArrayAttribute,
    DictionaryAttribute,
    EnumAttribute,
    FloatAttribute,
    IntegerAttribute,
    LocationAttribute,
    OpaqueAttribute,
    StringAttribute,
    StructAttribute,
    SymbolAttribute,
    TypeAttribute,
    UnitAttribute,
)
from ..ir.attributes import FieldValue
from .dense import DenseParser
from .lexer import NUMBER, token_pattern

if TYPE_CHECKING:
    from .sharding_parser import ShardingParser

STRUCTURED_DIALECTS: Final = frozenset({"stablehlo", "chlo"})
"""Dialects whose attributes are enums and structs. Attributes of sdy have classes; others stay text."""

_I64: Final = ELEMENT_TYPES["i64"]
_F64: Final = ELEMENT_TYPES["f64"]
_DIALECT: Final = token_pattern(r"#([A-Za-z_][\w$]*+)((?:\.[\w$]++)*+)")
_WORD: Final = token_pattern(r"([A-Za-z_][\w$]*+)(?![\w$.])")
_TYPE_START: Final = token_pattern(
    r"(?:[!(]|(?:tensor|memref|tuple|complex|vector)<|(?:[su]?i\d++|[bt]?f\d\w*+|index|none)(?![\w$.]))"
)
_ATTRIBUTE_NAME: Final = token_pattern(r'(?:([A-Za-z_][\w$.]*+)|(?="))')
_SIMPLE_DICTIONARY: Final = token_pattern(r"(\{[^{}\"%@/]*+\})")
_INTEGER_LIST: Final = token_pattern(r"\[[ \t\r\n\d,\-]*+\]")
_AFFINE_BODY: Final = token_pattern(r"<(?:[^<>=\-\"]++|->|[<>=]=|-)++>")
"""What follows ``affine_map`` and ``affine_set``, in which ``>`` and ``<`` also are parts of comparisons."""
_ENUM_BODY: Final = token_pattern(r"([A-Za-z_]\w*+)[ \t]++([A-Za-z_]\w*+)>")


class AttributeParser(DenseParser):
    """Parses attributes; simple dictionaries with the same text share one object."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text, name)
        self._cached_dictionaries: dict[str, dict[str, Attribute]] = {}

    def attribute(self) -> Attribute:
        """Consume an attribute of any kind, with its type."""
        self.descend()
        parsed = self._parse_attribute()
        self.nesting -= 1
        return parsed

    def attribute_dictionary(self) -> dict[str, Attribute]:
        """Consume ``{name = attribute, ...}``."""
        match = _SIMPLE_DICTIONARY.match(self.text, self.position)
        if match is None:
            return self._parse_dictionary()
        cached = self._cached_dictionaries.get(match.group(1))
        if cached is None:
            cached = self._parse_dictionary()
            if self.position != match.end():
                return cached
            self._cached_dictionaries[match.group(1)] = cached
        self.position = match.end()
        return cached

    def optional_attribute_dictionary(self) -> dict[str, Attribute]:
        """Consume ``{...}``; an empty dictionary if no brace is next."""
        return self.attribute_dictionary() if self.peek() == "{" else {}

    def _parse_dictionary(self) -> dict[str, Attribute]:
        self.expect("{")
        entries: dict[str, Attribute] = {}
        for _ in self.items("}"):
            match = self.match(_ATTRIBUTE_NAME)
            if match is None:
                self.fail_expecting("an attribute's name")
            name = match.group(1) or self.string()
            if name in entries:
                self.fail(f"attribute {name} is given twice", match.end() - len(name))
            entries[name] = self.attribute() if self.accept("=") else UnitAttribute()
        return entries

    def _parse_attribute(self) -> Attribute:
        next_character = self.peek()
        if next_character == "#":
            return self._parse_dialect_attribute()
        if next_character == '"':
            text = self.string()
            if self.accept(":"):
                self.type()
            return StringAttribute(text)
        if next_character == "[":
            return self._parse_array()
        if next_character == "{":
            return DictionaryAttribute(self.attribute_dictionary())
        if next_character == "@":
            return self.symbol_reference()
        if next_character == "-" or next_character.isdigit():
            return self.number()
        if _TYPE_START.match(self.text, self.position):
            return TypeAttribute(self.type())
        match = self.match(_WORD)
        if match is None:
            self.fail_expecting("an attribute")
        return self._parse_word(match.group(1), match.start(1))

    def _parse_word(self, word: str, position: int) -> Attribute:
        if word in ("true", "false"):
            return BoolAttribute(word == "true")
        if word == "unit":
            return UnitAttribute()
        if word == "dense":
            return self.dense()
        if word == "dense_resource":
            return self.dense_resource()
        if word == "array":
            return self._parse_dense_array()
        if word == "loc":
            self.expect("(")
            location = self.location()
            self.expect(")")
            return LocationAttribute(location)
        if word in ("affine_map", "affine_set"):
            if self.match(_AFFINE_BODY) is None:
                self.fail_expecting(f"the functions of an {word}")
            return OpaqueAttribute(self.text[position : self.position])
        if word in ("sparse", "distinct", "strided"):
            self.position = position
            return OpaqueAttribute(self.balanced())
        self.position = position
        return TypeAttribute(self.type())

    def _parse_array(self) -> ArrayAttribute:
        self.expect("[")
        return ArrayAttribute(tuple([self.attribute() for _ in self.items("]")]))

    def symbol_reference(self) -> SymbolAttribute:
        """Consume ``@root::@nested``."""
        root = self.symbol()
        nested = []
        while self.accept("::"):
            nested.append(self.symbol())
        return SymbolAttribute(root, tuple(nested))

    def number(self, type: ElementType | None = None) -> Attribute:
        """Consume a number.

        Args:
            type: the number's type; None: the type that follows it in the text, or else i64 or f64.
        """
        match = self.match(NUMBER)
        if match is None:
            self.fail_expecting("a number")
        element_type = type
        if element_type is None and self.accept(":"):
            position = self.skip()
            parsed = self.type()
            if isinstance(parsed, OpaqueType):
                return OpaqueAttribute(f"{match.group().strip()} : {parsed}")
            if not isinstance(parsed, ElementType):
                self.fail_expecting("the type of a number", position)
            element_type = parsed
        decimal, integer = match.groups()
        start = match.start(1 if decimal else 2)
        if decimal is not None:
            element_type = element_type or _F64
            if element_type.category != FLOAT:
                self.fail(f"expected an integer, since the type is {element_type}", start)
            return FloatAttribute(self.rounded(float(decimal), element_type), element_type)
        element_type = element_type or _I64
        value = self.integer_value(integer, start)
        if element_type.category == FLOAT:
            if "0x" not in integer:
                self.fail(f"expected a float such as '{value}.0', since the type is {element_type}", start)
            return FloatAttribute(self.from_bits(value, element_type, start), element_type)
        value = self.in_range(value, element_type, start)
        return (
            BoolAttribute(value == 1)
            if element_type.category == BOOLEAN
            else IntegerAttribute(value, element_type)
        )

    def _parse_dense_array(self) -> DenseArrayAttribute:
        self.expect("<")
        position = self.skip()
        element_type = self.type()
        categories = BOOLEAN | INTEGER | FLOAT
        if not isinstance(element_type, ElementType) or not element_type.category & categories:
            self.fail_expecting("an element type of integers or floats", position)
        if element_type is INDEX:
            self.fail_expecting("an integer type with a width", position)
        if self.accept(">"):
            return DenseArrayAttribute(element_type, ())
        self.expect(":")
        if self.at(">"):
            self.fail_expecting(f"a value of type {element_type}")
        values = [self._array_value(element_type) for _ in self.items(">")]
        return DenseArrayAttribute(element_type, tuple(values))

    def _array_value(self, element_type: ElementType) -> bool | int | float:
        if element_type.category == BOOLEAN:
            word = self.keyword("true or false")
            if word not in ("true", "false"):
                self.fail_expecting("true or false", self.position - len(word))
            return word == "true"
        value = self.match(NUMBER)
        if value is None:
            self.fail_expecting("a number")
        decimal, integer = value.groups()
        start = value.start(1 if decimal else 2)
        if element_type.category == FLOAT:
            if decimal is not None:
                return self.rounded(float(decimal), element_type)
            if "0x" not in integer:
                self.fail_expecting(f"a float such as '{integer}.0'", start)
            return self.from_bits(self.integer_value(integer, start), element_type, start)
        if integer is None:
            self.fail_expecting("an integer", start)
        return self.in_range(self.integer_value(integer, start), element_type, start)

    def _parse_dialect_attribute(self) -> Attribute:
        match = self.match(_DIALECT)
        if match is None:
            self.fail_expecting("an attribute")
        dialect, suffix = match.groups()
        position = match.start(1) - 1
        has_body = self.text[self.position : self.position + 1] == "<"
        if not suffix and not has_body:
            value = self.alias("#" + dialect, position)
            assert not isinstance(value, (str, int))
            return value  # type: ignore[return-value]
        if dialect in STRUCTURED_DIALECTS and has_body:
            parsed = self._parse_structured(dialect, suffix[1:])
            if parsed is not None:
                return parsed
        if dialect == "sdy" and has_body:
            sharding = self._parse_sharding(suffix[1:])
            if sharding is not None:
                return sharding
        if has_body:
            self.angle_text()
        return OpaqueAttribute(self.text[position : self.position])

    def _parse_structured(self, dialect: str, mnemonic: str) -> Attribute | None:
        """Consume an enum or a struct of StableHLO or CHLO; None, consuming nothing, for anything else."""
        start = self.position
        self.expect("<")
        nested = not mnemonic
        if nested:
            match = self.match(_ENUM_BODY)
            if match is not None:
                return EnumAttribute(dialect, match.group(1), match.group(2))
            mnemonic = self.keyword("an attribute's mnemonic")
            if not self.accept("<"):
                self.position = start
                return None
        parsed = self._parse_body(dialect, mnemonic)
        if parsed is None:
            self.position = start
            return None
        if nested:
            self.expect(">")
        return parsed

    def _parse_sharding(self, mnemonic: str) -> Attribute | None:
        """Consume an attribute of sdy; None, consuming nothing, if ir has no class for it."""
        start = self.position
        nested = not mnemonic
        if nested:
            self.expect("<")
            mnemonic = self.keyword("an attribute's mnemonic")
        parsed = self.sharding_parser().body(mnemonic)
        if parsed is None:
            self.position = start
        elif nested:
            self.expect(">")
        return parsed

    def sharding_parser(self) -> ShardingParser:
        """A parser of sdy attributes at this cursor; its module is imported at the first use."""
        from .sharding_parser import ShardingParser

        return ShardingParser(self, self.attribute)

    def _parse_body(self, dialect: str, mnemonic: str) -> Attribute | None:
        """Consume ``VALUE>`` or ``field = value, ...>``."""
        if mnemonic == "conv" and not self.accept("raw"):
            from .convolution_dimensions import parse_convolution_dimensions

            fields = parse_convolution_dimensions(self)
            self.expect(">")
            return StructAttribute(dialect, mnemonic, fields)
        position = self.position
        word = self.match(_WORD)
        if word is not None and self.accept(">"):
            return EnumAttribute(dialect, mnemonic, word.group(1))
        self.position = position
        if mnemonic == "type_extensions" or (word is None and not self.at(">")):
            return None
        return self.struct(dialect, mnemonic)

    def struct(self, dialect: str, mnemonic: str) -> StructAttribute:
        """Consume ``field = value, ...>``; a comma may follow the last field."""
        fields: dict[str, FieldValue] = {}
        for _ in self.items(">"):
            if fields and self.accept(">"):
                break
            position = self.skip()
            name = self.keyword("a field's name")
            if name in fields:
                self.fail(f"field {name} is given twice", position)
            self.expect("=")
            fields[name] = self._field_value()
        return StructAttribute(dialect, mnemonic, fields)

    def _field_value(self) -> FieldValue:
        """Consume a field's value: numbers of type i64 and f64, strings and lists become Python values."""
        self.descend()
        value = self._parse_field_value()
        self.nesting -= 1
        return value

    def _parse_field_value(self) -> FieldValue:
        if _INTEGER_LIST.match(self.text, self.position):
            return self.integers()
        if self.accept("["):
            return tuple([self._field_value() for _ in self.items("]")])
        if self.accept("<"):
            return self.struct("stablehlo", "")
        if self.peek() == "(":
            return OpaqueAttribute(self.balanced())
        value = self.attribute()
        if isinstance(value, (BoolAttribute, StringAttribute)):
            return value.value
        if isinstance(value, IntegerAttribute) and value.type is _I64:
            return value.value
        if isinstance(value, FloatAttribute) and value.type is _F64:
            return value.value
        if isinstance(value, TypeAttribute):
            return value.type
        return value
