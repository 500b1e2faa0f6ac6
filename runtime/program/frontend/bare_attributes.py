"""Parse attributes in the compact spelling of assembly formats: ``3``, ``LT``, ``[0, 1]``, ``true``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..ir import ArrayAttribute, Attribute, BoolAttribute, EnumAttribute, StringAttribute
from ..ops.framework import attribute_kinds as kinds
from .statement_parser import StatementParser

Parse = Callable[[StatementParser, Any], Attribute]
"""Consumes an attribute of the given kind. The argument is `Any` as each function takes one class."""


def bare_attribute(parser: StatementParser, kind: kinds.AttributeKind[Any]) -> Attribute:
    """Consume an attribute of the kind in its compact spelling, or in full if the kind has no compact one."""
    keys: tuple[type | kinds.AttributeKind[Any], ...] = (kind, *type(kind).__mro__)
    for key in keys:
        parse = _BY_KIND.get(key)
        if parse is not None:
            return parse(parser, kind)
    return parser.attribute()


def _enum(parser: StatementParser, kind: kinds.Enum[Any]) -> Attribute:
    if parser.peek() == "#":
        return parser.attribute()
    return EnumAttribute(kind.dialect, kind.mnemonic, parser.keyword(kind.description))


def _numbered_enum(parser: StatementParser, kind: kinds.NumberedEnum[Any]) -> Attribute:
    names, position = kind.members.__members__, parser.skip()
    member = names.get(parser.optional_keyword() or "")
    if member is None:
        parser.fail_expecting(f"one of {', '.join(names)}", position)
    return kind.encode(member)


def _array(parser: StatementParser, kind: kinds.ArrayOf[Any]) -> Attribute:
    if not isinstance(kind.kind, kinds.Enum):
        return parser.attribute()
    parser.expect("[")
    return ArrayAttribute(tuple([_enum(parser, kind.kind) for _ in parser.items("]")]))


def _dimensions(parser: StatementParser, kind: kinds.Dimensions) -> Attribute:
    if parser.peek() != "[":
        return parser.attribute()
    return kind.encode(parser.booleans() if kind is kinds.BOOLEANS else parser.integers())


_BY_KIND: Final[Mapping[type | kinds.AttributeKind[Any], Parse]] = {
    kinds.Enum: _enum,
    kinds.NumberedEnum: _numbered_enum,
    kinds.ArrayOf: _array,
    kinds.DialectData: lambda parser, kind: parser.sharding_parser().bare(kind.kind),
    kinds.Dimensions: _dimensions,
    type(kinds.I64): lambda parser, kind: parser.bare_number(kind.type),
    type(kinds.F64): lambda parser, kind: parser.bare_number(kind.type),
    type(kinds.BOOL): lambda parser, kind: BoolAttribute(parser.boolean()),
    kinds.STRING: lambda parser, kind: StringAttribute(parser.string()),
    kinds.SYMBOL: lambda parser, kind: parser.symbol_reference(),
}
