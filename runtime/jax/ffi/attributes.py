"""Encodes element types and attributes for XLA's FFI.

Source: xla/ffi/api/c_api.h of openxla/xla.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ...program.ir import (
    Attribute,
    BoolAttribute,
    DenseArrayAttribute,
    DenseElementsAttribute,
    DictionaryAttribute,
    FloatAttribute,
    IntegerAttribute,
    StringAttribute,
)
from ...program.ir.description import describe_attribute
from ...program.ops.custom_calls.view import CustomCallView
from ...types import AnyElementType, ElementType
from .handlers import ARRAY, DICTIONARY, SCALAR, STRING

Item = tuple[bytes, int, Any]
"""The name of an attribute, its kind, and its value as `handlers.Attributes` takes it."""

NUMBERS: Final[Mapping[str, int]] = {
    "i1": 1,
    "i8": 2,
    "i16": 3,
    "i32": 4,
    "i64": 5,
    "ui8": 6,
    "ui16": 7,
    "ui32": 8,
    "ui64": 9,
    "f16": 10,
    "f32": 11,
    "f64": 12,
    "complex<f32>": 15,
    "bf16": 16,
    "complex<f64>": 18,
    "f8E5M2": 19,
    "f8E4M3FN": 20,
    "f8E4M3B11FNUZ": 23,
    "f8E5M2FNUZ": 24,
    "f8E4M3FNUZ": 25,
    "f8E4M3": 28,
    "f8E3M4": 29,
    "f8E8M0FNU": 33,
}
"""XLA's number of each element type of whole bytes by the specification's name."""


def element_type_number(view: CustomCallView, element_type: AnyElementType) -> int:
    """The number of an element type.

    Raises:
        UnsupportedError: it has none, or its elements are smaller than a byte in XLA's buffers.
    """
    number = NUMBERS.get(element_type.name) if isinstance(element_type, ElementType) else None
    if number is None:
        raise view.unsupported(f"the handler @{view.call_target_name} cannot take elements of {element_type}")
    return number


def encoded_items(view: CustomCallView) -> list[Item]:
    """The attributes that a call passes to its handler, sorted by name.

    Raises:
        UnsupportedError: the interface has no kind for an attribute.
    """
    attached = view.operation.attributes.get("mhlo.backend_config")
    if attached is None:
        attached = view.operation.attributes.get("backend_config")
    return _items(view, attached.values) if isinstance(attached, DictionaryAttribute) else []


def _items(view: CustomCallView, values: Mapping[str, Attribute]) -> list[Item]:
    return [(name.encode(), *_encoded(view, name, values[name])) for name in sorted(values)]


def _encoded(view: CustomCallView, name: str, attribute: Attribute) -> tuple[int, Any]:
    """The kind of an attribute and its value, as `handlers.Attributes` takes them."""
    if isinstance(attribute, StringAttribute):
        return STRING, attribute.value.encode("utf-8", "surrogateescape")
    if isinstance(attribute, DictionaryAttribute):
        return DICTIONARY, _items(view, attribute.values)
    if isinstance(attribute, BoolAttribute):
        return SCALAR, (NUMBERS["i1"], bytes([attribute.value]))
    if isinstance(attribute, (IntegerAttribute, FloatAttribute)):
        number = element_type_number(view, attribute.type)
        return SCALAR, (number, np.array(attribute.value, attribute.type.dtype).tobytes())
    if isinstance(attribute, DenseArrayAttribute):
        array = np.array(attribute.values, attribute.element_type.dtype)
        return ARRAY, (element_type_number(view, attribute.element_type), array.size, array.tobytes())
    if isinstance(attribute, DenseElementsAttribute):
        number = element_type_number(view, attribute.type.element_type)
        return ARRAY, (number, attribute.array.size, attribute.array.tobytes())
    described = describe_attribute(attribute)
    raise view.unsupported(
        f"the handler @{view.call_target_name} cannot take the attribute {name}, {described}"
    )
