"""Encodes the attributes of operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...ir import Attribute, StructAttribute
from .declaration import lookup

_MNEMONICS: Final = {
    ("stablehlo.gather", "dimension_numbers"): "gather",
    ("stablehlo.dynamic_gather", "dimension_numbers"): "gather",
    ("stablehlo.scatter", "scatter_dimension_numbers"): "scatter",
    ("stablehlo.dot_general", "dot_dimension_numbers"): "dot",
    ("stablehlo.dot_general", "algorithm"): "dot_algorithm",
    ("stablehlo.convolution", "dimension_numbers"): "conv",
    ("stablehlo.dynamic_conv", "dimension_numbers"): "conv",
    ("chlo.ragged_dot", "ragged_dot_dimension_numbers"): "ragged_dot",
}
"""The mnemonics of struct attributes, by operation and attribute; others have their attribute's name."""


def encode_attributes(name: str, values: Mapping[str, Any]) -> dict[str, Attribute]:
    """The attributes of an operation.

    Args:
        name: the operation's name.
        values: decoded values under the declared names; None stands for an absent attribute.

    Raises:
        KeyError: the operation has no such attribute.
    """
    declaration = lookup(name)
    assert declaration is not None, name
    encoded: dict[str, Attribute] = {}
    structs: dict[str, dict[str, Any]] = {}
    declared = {attribute.name: attribute for attribute in declaration.declared_attributes}
    for given in values.keys() - declared.keys():
        raise KeyError(f"{name} has no attribute {given}")
    for attribute_name, attribute in declared.items():
        value = values.get(attribute_name)
        if value is None:
            continue
        if attribute.of is not None:
            structs.setdefault(attribute.of, {})[attribute.field or attribute_name] = value
        else:
            assert attribute.kind is not None
            if attribute.kind.is_present(value):
                encoded[attribute.key or attribute_name] = attribute.kind.encode(value)
    for struct, fields in structs.items():
        dialect = name.partition(".")[0]
        encoded[struct] = StructAttribute(dialect, _MNEMONICS.get((name, struct), struct), fields)
    return encoded
