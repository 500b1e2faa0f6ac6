"""Downgrade operations of StableHLO and of the func dialect to those of VHLO of a version.

An attribute that a later version of the operation adds must have its default, which is the meaning of earlier
versions.

Source: StableHLO, ``StablehloLegalizeToVhlo.cpp``, ``VhloToVersion.cpp``, ``VhloToVersionPatterns.td``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NoReturn

from ....errors import UnsupportedError
from ....kernels.named_tuples import NamedTuple
from ....types import FutureType, TensorType, Type, UnrankedTensorType
from ...ir import (
    ArrayAttribute,
    Attribute,
    BoolAttribute,
    DictionaryAttribute,
    EnumAttribute,
    IntegerAttribute,
    Operation,
    StringAttribute,
    StructAttribute,
    SymbolAttribute,
    TypeAttribute,
    UnitAttribute,
)
from ...ir.attributes import FieldValue
from .values import integer_field
from .vhlo import ENUMS
from .vhlo_defaults import COLLECTIVES, DEFAULTS, FLAGS, I64, STRUCTS, SYMBOLS, tensor_of
from .vhlo_versions import (
    DICTIONARY_CONFIG_SINCE,
    FUTURE_OPERANDS_SINCE,
    OPERATIONS,
    PROMOTING,
    PROMOTING_SINCE,
    OperationVersion,
    Version,
)

_CHANNEL: Final = "channel_handle"
_TRANSFERS: Final = frozenset({"send", "recv"})
"""The operations whose channel has a type."""
_SCALAR_FIELDS: Final = frozenset({"index_vector_dim"})
"""The fields of struct attributes that are integers where text may leave them out; other fields are lists."""

Require = Callable[[str, Version], None]
"""Raises an UnsupportedError if the target does not have what was introduced by a version."""


class VersionedOperation(NamedTuple):
    """An operation of VHLO.

    Attributes:
        name: with dialect and version.
        properties: the attributes that the operation has in VHLO, sorted by name.
        others: its other attributes.
    """

    name: str
    properties: Mapping[str, Attribute]
    others: Mapping[str, Attribute]


def kind_of(name: str) -> str | None:
    """The name in VHLO, without dialect and version, of an operation; None for those of other dialects."""
    dialect, _, kind = name.partition(".")
    return kind if dialect in ("stablehlo", "func") else None


def downgrade(operation: Operation, version: Version, require: Require) -> VersionedOperation:
    """The operation of VHLO for an operation of StableHLO or of the func dialect.

    Args:
        operation: the operation.
        version: the version of StableHLO.
        require: see `Require`.

    Raises:
        UnsupportedError: the version does not have the operation, or not what the operation uses; or an
            attribute is missing.
    """
    kind = kind_of(operation.name)
    versions = OPERATIONS.get(kind or "", ())
    if kind is None or not versions:
        raise UnsupportedError("VHLO has no such operation")
    require("the operation", versions[0].since)
    target = [each for each in versions if each.since <= version][-1]
    attributes, others = _latest(operation, kind, versions[-1])
    defaults = DEFAULTS.get(kind, {})
    for name, value in attributes.items():
        if name not in target.attributes and not defaults[name].holds(value):
            require(f"the attribute {name}", _introduced(versions, name))
    for name in target.attributes:
        if name not in attributes:
            attributes[name] = defaults[name].make(operation)
    _require_shape(operation, target, versions, require)
    _require_constraints(operation, kind, attributes, require)
    properties = {name: attributes[name] for name in sorted(target.attributes)}
    return VersionedOperation(f"vhlo.{kind}_v{target.number}", properties, others)


def _introduced(versions: tuple[OperationVersion, ...], attribute: str) -> Version:
    """The first version of StableHLO in which an operation has an attribute."""
    return next(each.since for each in versions if attribute in each.attributes)


def _latest(
    operation: Operation, kind: str, latest: OperationVersion
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """The attributes of the latest version of an operation, and its other attributes."""
    others = dict(operation.attributes)
    stated: dict[str, Attribute] = {}
    for attribute, mnemonic, fields in STRUCTS.get(kind, ()):
        value = others.pop(attribute, None)
        if value is not None:
            stated |= _fields(attribute, mnemonic, fields, value)
    if _CHANNEL in others and (kind in COLLECTIVES or kind in _TRANSFERS):
        stated |= _channel(others.pop(_CHANNEL), has_type=kind in _TRANSFERS)
    # A segment's size is derived from the operands, since no operation of VHLO has two lists of any length.
    others.pop("operandSegmentSizes", None)
    defaults = DEFAULTS.get(kind, {})
    for name in latest.attributes:
        value = others.pop(name, None)
        if value is not None:
            stated[name] = _converted(kind, name, value)
        elif name not in stated:
            if name not in defaults:
                raise UnsupportedError(f"has no attribute {name}")
            stated[name] = defaults[name].make(operation)
    return stated, others


def _malformed(attribute: str, expected: str) -> NoReturn:
    raise UnsupportedError(f"the attribute {attribute} is not {expected}, so that VHLO cannot represent it")


def _fields(attribute: str, mnemonic: str, fields: str, value: Attribute) -> dict[str, Attribute]:
    """The fields of a struct attribute, each of which is an attribute of VHLO."""
    if not isinstance(value, StructAttribute) or value.mnemonic not in (mnemonic, ""):
        _malformed(attribute, f"#stablehlo.{mnemonic}")
    return {
        name: _field(name, value.fields.get(name, 0 if name in _SCALAR_FIELDS else ()))
        for name in fields.split()
    }


def _field(name: str, value: FieldValue) -> Attribute:
    if isinstance(value, bool):
        return BoolAttribute(value)
    if isinstance(value, int):
        return IntegerAttribute(value, I64)
    if isinstance(value, tuple):
        integers = [each for each in value if isinstance(each, int)]
        if len(integers) != len(value):
            _malformed(name, "a list of integers")
        return tensor_of(integers)
    if isinstance(value, Type):
        return TypeAttribute(value)
    if isinstance(value, (float, str)):
        _malformed(name, "an integer, a list of integers or a type")
    return value


def _channel(value: Attribute, *, has_type: bool) -> dict[str, Attribute]:
    if not isinstance(value, StructAttribute):
        _malformed(_CHANNEL, "#stablehlo.channel_handle")
    channel: dict[str, Attribute] = {"channel_id": IntegerAttribute(integer_field(value, "handle"), I64)}
    if has_type:
        channel["channel_type"] = IntegerAttribute(integer_field(value, "type"), I64)
    return channel


def _converted(kind: str, name: str, value: Attribute) -> Attribute:
    """An attribute that may have another form in VHLO."""
    if name in FLAGS and isinstance(value, UnitAttribute):
        return BoolAttribute(True)
    if (kind, name) == ("custom_call", "api_version") and isinstance(value, IntegerAttribute):
        names = ENUMS["custom_call_api_version"]
        if not 0 <= value.value < len(names):
            _malformed(name, f"a number from 0 to {len(names) - 1}")
        return EnumAttribute("stablehlo", "custom_call_api_version", names[value.value])
    if name == SYMBOLS.get(kind):
        if isinstance(value, ArrayAttribute):
            return ArrayAttribute(tuple([_name_of(name, each) for each in value]))
        return _name_of(name, value)
    return value


def _name_of(attribute: str, value: Attribute) -> Attribute:
    if not isinstance(value, SymbolAttribute) or value.nested:
        _malformed(attribute, "the symbol of a function")
    return StringAttribute(value.root)


def _require_shape(
    operation: Operation, target: OperationVersion, versions: tuple[OperationVersion, ...], require: Require
) -> None:
    """Check the numbers of operands and regions."""
    if target.is_unary and len(operation.operands) != 1:
        since = next(each.since for each in versions if not each.is_unary)
        require(f"the operation with {len(operation.operands)} operands", since)
    if operation.regions and not target.has_regions:
        require("the operation with regions", next(each.since for each in versions if each.has_regions))


def _require_constraints(
    operation: Operation, kind: str, attributes: Mapping[str, Attribute], require: Require
) -> None:
    """Check the constraints of operations that have changed.

    Source: StableHLO, ``VhloOps.cpp``, section "Op Constraint Versioning".
    """
    if kind in PROMOTING:
        operands = _element_types([operand.type for operand in operation.operands])
        results = _element_types([result.type for result in operation.results])
        if any(operand != result for operand, result in zip(operands, results, strict=False)):
            require("the operation whose results have other element types", PROMOTING_SINCE)
    if kind == "custom_call":
        version = attributes["api_version"]
        is_typed = isinstance(version, EnumAttribute) and version.value == "API_VERSION_TYPED_FFI"
        if is_typed or isinstance(attributes["backend_config"], DictionaryAttribute):
            require("the custom call with a dictionary as backend_config", DICTIONARY_CONFIG_SINCE)
        if any(isinstance(operand.type, FutureType) for operand in operation.operands):
            require("the custom call of futures", FUTURE_OPERANDS_SINCE)


def _element_types(types: Iterable[Type]) -> list[object]:
    return [
        type.element_type if isinstance(type, (TensorType, UnrankedTensorType)) else type for type in types
    ]
