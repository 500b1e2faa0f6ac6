"""Vectors of floats in memory, as products read and write them: those narrower than f32 are widened to it."""

from __future__ import annotations

from typing import Final

from llvmlite import ir

from ....kernels.simd.narrow_floats import narrow, widen
from ....types import ELEMENT_TYPES, ElementType
from ..llvm.values import stored_type
from ..scalars import Storage
from ..scalars.elements import element_pointer

WIDENED_TYPES: Final = (ELEMENT_TYPES["bf16"], ELEMENT_TYPES["f16"])
"""The element types that are widened."""


def multiplied_type(element_type: ElementType) -> ElementType:
    """The element type in which floats of a type are multiplied and added."""
    return ELEMENT_TYPES["f32"] if element_type in WIDENED_TYPES else element_type


def load_floats(builder: ir.IRBuilder, storage: Storage, offset: ir.Value, lanes: int) -> ir.Value:
    """Contiguous elements as a vector; one as a scalar if `lanes` is 0."""
    element_type = storage.type.plain_element_type
    stored = stored_type(element_type)
    type = ir.VectorType(stored, lanes) if lanes else stored
    pointer = element_pointer(builder, storage, offset)
    value = builder.load(pointer, typ=type, align=element_type.dtype.itemsize)
    if element_type not in WIDENED_TYPES:
        return value
    return widen(builder, element_type.dtype.name, value)


def store_floats(builder: ir.IRBuilder, storage: Storage, offset: ir.Value, value: ir.Value) -> None:
    """Write a scalar, or a vector as contiguous elements, rounded to the element type."""
    element_type = storage.type.plain_element_type
    if element_type in WIDENED_TYPES:
        value = narrow(builder, element_type.dtype.name, value)
    pointer = element_pointer(builder, storage, offset)
    builder.store(value, pointer, align=element_type.dtype.itemsize)
