"""Constraints on types, which apply to all operations.

Source: specification, section "Types".
"""

from __future__ import annotations

import math

from ....errors import counted
from ....types import (
    DYNAMIC,
    ELEMENT_TYPES,
    BufferType,
    ElementType,
    QuantizedType,
    TensorType,
    TupleType,
    Type,
    storage_range,
)
from ...ir.record import Record


class Violation(Record):
    """Why a type is not legal.

    Attributes:
        reason: in words, with the values.
        label: the constraint of quantized types that does not hold, None for other types.
    """

    reason: str
    label: str | None = None


def violation(type: Type) -> Violation | None:
    """Why a value may not have this type, None if it may."""
    if isinstance(type, TensorType):
        return _tensor_violation(type)
    if isinstance(type, BufferType) and DYNAMIC in type.shape:
        return Violation(f"{type} has unknown sizes, but buffers must have known ones")
    if isinstance(type, TupleType):
        return next(filter(None, map(violation, type.types)), None)
    return None


def _tensor_violation(type: TensorType) -> Violation | None:
    elements = type.element_type
    if type.bounds is not None and len(type.bounds) != type.rank:
        return Violation(f"{type} has {counted(len(type.bounds), 'bound')}, but rank {type.rank}")
    if isinstance(elements, ElementType):
        if elements.name in ELEMENT_TYPES or elements.name == "index":
            return None
        return Violation(f"{type} has elements that tensors cannot have")
    axis = elements.quantization_dimension
    if axis is not None and axis < 0:
        return Violation(f"{type} is quantized along dimension {axis}", "C11")
    if axis is not None and axis >= type.rank:
        return Violation(f"{type} is quantized along dimension {axis}, but has rank {type.rank}", "C12")
    if axis is not None and type.shape[axis] not in (DYNAMIC, len(elements.scales)):
        reason = (
            f"{type} has size {type.shape[axis]} in dimension {axis}, "
            f"but {counted(len(elements.scales), 'scale')}"
        )
        return Violation(reason, "C13")
    return _quantized_violation(elements)


def _quantized_violation(type: QuantizedType) -> Violation | None:
    """C1, C2, C4 and C8 to C10 hold for each type that parses: scales and zero points come in pairs."""
    if type.expressed.name not in ELEMENT_TYPES:
        return Violation(f"{type} expresses {type.expressed}, which tensors cannot have")
    low, high = storage_range(type.storage)
    if not low <= type.storage_min < type.storage_max <= high:
        return Violation(f"{type} is stored from {type.storage_min} to {type.storage_max}", "C3")
    for scale in type.scales:
        if not scale > 0:
            return Violation(f"{type} has the scale {scale}, but scales must be positive", "C5")
        if not math.isfinite(scale):
            return Violation(f"{type} has the scale {scale}, but scales must be finite", "C6")
    for zero_point in type.zero_points:
        if not type.storage_min <= zero_point <= type.storage_max:
            return Violation(f"{type} has the zero point {zero_point}, which is outside of its storage", "C7")
    return None
