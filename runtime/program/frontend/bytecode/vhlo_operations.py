"""Upgrade the operations of VHLO to those of StableHLO.

An operation of VHLO has a version in its name. Earlier versions lack attributes whose default is their
meaning, so that all versions of one are upgraded alike.

Source: StableHLO, ``VhloLegalizeToStablehlo.cpp`` and ``VhloToVersionPatterns.td``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Final

from ....errors import UnsupportedError
from ....types import element_type
from ...ir import (
    ArrayAttribute,
    Attribute,
    BoolAttribute,
    DenseArrayAttribute,
    EnumAttribute,
    IntegerAttribute,
    StringAttribute,
    StructAttribute,
    SymbolAttribute,
    TypeAttribute,
    UnitAttribute,
)
from ...ir.attributes import FieldValue
from .vhlo import ENUMS, NONE, struct
from .vhlo_defaults import ARRAYS, COLLECTIVES, DEFAULTS, FLAGS, STRUCTS, SYMBOLS, is_empty, is_list
from .vhlo_versions import OPERATIONS

_VERSIONED: Final = re.compile(r"vhlo\.([\w-]+)_v(\d{1,9})")
_I32: Final = element_type("i32")
_FUNC_NAMES: Final = {"func": "func.func", "call": "func.call"}
"""The operations that are not StableHLO's."""
_TRANSFERS: Final = frozenset({"send", "recv"})
"""The operations that always have a channel."""
_API_VERSION: Final = "custom_call_api_version"
_LAYOUTS: Final = frozenset({"operand_layouts", "result_layouts"})
"""The attributes of a custom call that it either has both or leaves out."""
_NO_LAYOUTS: Final = ArrayAttribute(())


@functools.cache
def attributes_of(name: str) -> tuple[str, ...]:
    """The names of the attributes of an operation of VHLO, such as ``"vhlo.compare_v1"``.

    Raises:
        UnsupportedError: there is no such operation, or no such version of it.
    """
    match = _VERSIONED.fullmatch(name)
    versions = OPERATIONS.get(match[1], ()) if match is not None else ()
    if match is None or not 1 <= int(match[2]) <= len(versions):
        raise UnsupportedError("this operation, or this version of it, is not known", operation=name)
    return versions[int(match[2]) - 1].attributes


def upgrade(name: str, attributes: Mapping[str, Attribute]) -> tuple[str, Mapping[str, Attribute]]:
    """The operation of StableHLO, or of the func dialect, that one of VHLO stands for.

    Args:
        name: the name in VHLO, such as ``"vhlo.add_v1"``.
        attributes: its attributes, of the builtin and StableHLO dialects.

    Raises:
        UnsupportedError: there is no such operation, or no such version of it.
    """
    kind, has_rules = _kind_of(name)
    if not has_rules:
        return f"stablehlo.{kind}", attributes
    remaining = _without_defaults(kind, attributes)
    upgraded: dict[str, Attribute] = {}
    for attribute, mnemonic, fields in STRUCTS.get(kind, ()):
        stated = {each: remaining.pop(each) for each in fields.split() if each in remaining}
        structured = _struct(mnemonic, stated)
        if structured is not None:
            upgraded[attribute] = structured
    if kind in _TRANSFERS or (kind in COLLECTIVES and "channel_id" in remaining):
        upgraded["channel_handle"] = _channel(remaining)
    arrays = ARRAYS.get(kind, "").split()
    for attribute, value in remaining.items():
        converted = _array(value) if attribute in arrays else _special(kind, attribute, value)
        if converted is not None:
            upgraded[attribute] = converted
    return _FUNC_NAMES.get(kind, f"stablehlo.{kind}"), upgraded


@functools.cache
def _kind_of(name: str) -> tuple[str, bool]:
    """The name of an operation of VHLO without its version, and whether its attributes differ in StableHLO.

    Raises:
        UnsupportedError: there is no such operation, or no such version of it.
    """
    attributes = attributes_of(name)
    kind = name.removeprefix("vhlo.").rpartition("_v")[0]
    rules = (DEFAULTS, STRUCTS, ARRAYS, SYMBOLS, COLLECTIVES, _FUNC_NAMES, _TRANSFERS)
    return kind, any(kind in each for each in rules) or not FLAGS.isdisjoint(attributes)


def _without_defaults(kind: str, attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """The attributes that StableHLO states."""
    defaults = DEFAULTS.get(kind, {})
    has_layouts = not all(is_empty(attributes.get(name, _NO_LAYOUTS)) for name in _LAYOUTS)
    kept = {
        name: value
        for name, value in attributes.items()
        if name not in defaults
        or not defaults[name].holds(value)
        or (kind == "custom_call" and name in _LAYOUTS and has_layouts)
    }
    if kind == "dynamic_conv":
        # An operand gives the padding since version 0.20.0; before, the attribute stated the same or nothing.
        kept.pop("padding", None)
    return kept


def _struct(mnemonic: str, attributes: Mapping[str, Attribute]) -> StructAttribute | None:
    """A struct attribute of fields that are attributes in VHLO; None if they are absent."""
    if any(value == NONE for value in attributes.values()) or not attributes:
        return None
    return struct(mnemonic, **{name: _field(value) for name, value in attributes.items()})


def _field(value: Attribute) -> FieldValue:
    if isinstance(value, (BoolAttribute, IntegerAttribute)):
        return value.value
    if isinstance(value, TypeAttribute):
        return value.type
    return tuple(value.array.ravel().tolist()) if is_list(value) else value


def _channel(remaining: dict[str, Attribute]) -> StructAttribute:
    """The handle of a channel; only host transfers state its type."""
    zero = IntegerAttribute(0, element_type("i64"))
    return StructAttribute(
        "stablehlo",
        "channel_handle",
        {
            "handle": _field(remaining.pop("channel_id", zero)),
            "type": _field(remaining.pop("channel_type", zero)),
        },
    )


def _array(value: Attribute) -> Attribute:
    """The array of a tensor of rank 1."""
    if not is_list(value):
        return value
    return DenseArrayAttribute(value.type.plain_element_type, tuple(value.array.ravel().tolist()))


def _special(kind: str, name: str, value: Attribute) -> Attribute | None:
    """An attribute that has another form in StableHLO; None where it is absent there."""
    if name in FLAGS:
        return UnitAttribute()
    if isinstance(value, EnumAttribute) and value.mnemonic == _API_VERSION:
        return IntegerAttribute(ENUMS[_API_VERSION].index(value.value), _I32)
    if name == SYMBOLS.get(kind):
        if isinstance(value, ArrayAttribute):
            return ArrayAttribute(tuple(map(_symbol, value)))
        return _symbol(value)
    return value


def _symbol(value: Attribute) -> Attribute:
    return SymbolAttribute(value.value) if isinstance(value, StringAttribute) else value
