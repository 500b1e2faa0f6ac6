"""The compact spellings of attributes in assembly formats: ``3``, ``LT``, ``[0, 1]``, ``true``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..ir import ArrayAttribute, Attribute, BoolAttribute, DenseArrayAttribute, EnumAttribute, StringAttribute
from ..ops.framework import attribute_kinds as kinds
from ..types import ElementType
from .statement_parser import StatementParser

Parse = Callable[[StatementParser], Attribute]


def bare_attribute(kind: kinds.AttributeKind) -> Parse:
    """The parser of an attribute of that kind in its compact or full spelling."""
    if isinstance(kind, kinds.Enum):
        return _enum(kind)
    if isinstance(kind, kinds.ArrayOf) and isinstance(kind.kind, kinds.Enum):
        return _enum_list(kind.kind)
    make_parser = _BY_KIND.get(type(kind))
    return make_parser(kind) if make_parser is not None else _full


def _full(parser: StatementParser) -> Attribute:
    return parser.attribute()


def _enum(kind: kinds.Enum) -> Parse:
    def parse(parser: StatementParser) -> Attribute:
        if parser.peek() == "#":
            return parser.attribute()
        return EnumAttribute(kind.dialect, kind.mnemonic, parser.keyword(kind.description))

    return parse


def _enum_list(kind: kinds.Enum) -> Parse:
    parse_one = _enum(kind)

    def parse(parser: StatementParser) -> Attribute:
        parser.expect("[")
        return ArrayAttribute(tuple([parse_one(parser) for _ in parser.items("]")]))

    return parse


def _number(kind: Any) -> Parse:
    type: ElementType = kind.type

    def parse(parser: StatementParser) -> Attribute:
        return parser.bare_number(type)

    return parse


def _boolean(kind: Any) -> Parse:
    def parse(parser: StatementParser) -> Attribute:
        return BoolAttribute(parser.boolean())

    return parse


def _string(kind: Any) -> Parse:
    def parse(parser: StatementParser) -> Attribute:
        return StringAttribute(parser.string())

    return parse


def _symbol(kind: Any) -> Parse:
    def parse(parser: StatementParser) -> Attribute:
        return parser.symbol_reference()

    return parse


def _dimensions(kind: Any) -> Parse:
    empty = kind.encode(())
    assert isinstance(empty, DenseArrayAttribute)
    elements = empty.element_type

    def parse(parser: StatementParser) -> Attribute:
        if parser.peek() != "[":
            return parser.attribute()
        return DenseArrayAttribute(elements, parser.integers())

    return parse


def _booleans(kind: Any) -> Parse:
    elements = kind.encode(()).element_type

    def parse(parser: StatementParser) -> Attribute:
        if parser.peek() != "[":
            return parser.attribute()
        return DenseArrayAttribute(elements, parser.booleans())

    return parse


_BY_KIND: Final[dict[type, Callable[[Any], Parse]]] = {
    type(kinds.I64): _number,
    type(kinds.UI64): _number,
    type(kinds.F64): _number,
    type(kinds.BOOL): _boolean,
    type(kinds.STRING): _string,
    type(kinds.SYMBOL): _symbol,
    type(kinds.DIMENSIONS): _dimensions,
    type(kinds.BOOLEANS): _booleans,
}
