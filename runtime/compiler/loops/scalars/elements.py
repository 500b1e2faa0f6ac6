"""Tensors of few elements as LLVM values, and arrays in memory, for code that works element by element."""

from __future__ import annotations

from typing import TypeGuard

from llvmlite import ir

from ....program.ir.record import Record
from ....types import SIGNED, UNSIGNED, ElementType, TensorType, Type
from ..llvm.values import I64, Value, load, store, stored_type

MAX_ELEMENTS = 16
"""Maximum size of tensors whose elements are LLVM values, in elements."""
MAX_ALLOCATED_ELEMENTS = 1 << 16
"""Maximum size of arrays that blocks allocate, in elements."""


class Elements(Record):
    """A tensor as LLVM values, in row-major order."""

    values: tuple[Value, ...]

    @property
    def scalar(self) -> Value:
        """The only element."""
        (value,) = self.values
        return value


class Storage(Record):
    """A tensor in memory, row-major, from an opaque pointer on."""

    type: TensorType
    pointer: ir.Value


def is_plain(type: Type) -> TypeGuard[TensorType]:
    """Whether a type is a tensor type with known sizes whose elements are not quantized."""
    return isinstance(type, TensorType) and type.is_static and isinstance(type.element_type, ElementType)


def element_count(type: Type) -> int:
    """The number of a tensor's elements."""
    assert isinstance(type, TensorType)
    return type.size


def is_large(type: Type, max_elements: int = MAX_ALLOCATED_ELEMENTS) -> TypeGuard[TensorType]:
    """Whether tensors of a type are too large for a block to allocate."""
    return is_plain(type) and element_count(type) > max_elements


def is_small(type: Type) -> TypeGuard[TensorType]:
    """Whether tensors of a type are held as `Elements`."""
    return is_plain(type) and 0 < element_count(type) <= MAX_ELEMENTS


def flat(bound: Elements | Storage) -> list[ir.Value]:
    """The LLVM values of a tensor: its elements, or its address."""
    if isinstance(bound, Storage):
        return [bound.pointer]
    return [component for value in bound.values for component in value]


def element_pointer(builder: ir.IRBuilder, storage: Storage, offset: ir.Value) -> ir.Value:
    """The address of the element at an offset of the flattened tensor."""
    element_type = storage.type.plain_element_type
    return builder.gep(storage.pointer, [offset], inbounds=True, source_etype=stored_type(element_type))


def load_element(builder: ir.IRBuilder, storage: Storage, offset: ir.Value) -> Value:
    """The element at an offset of the flattened tensor."""
    element_type = storage.type.plain_element_type
    return load(builder, element_type, element_pointer(builder, storage, offset))


def store_element(builder: ir.IRBuilder, storage: Storage, offset: ir.Value, value: Value) -> None:
    """Write the element at an offset of the flattened tensor."""
    element_type = storage.type.plain_element_type
    store(builder, element_type, value, element_pointer(builder, storage, offset))


def all_elements(builder: ir.IRBuilder, storage: Storage) -> Elements:
    """A small tensor read from memory."""
    offsets = range(element_count(storage.type))
    return Elements(tuple([load_element(builder, storage, I64(offset)) for offset in offsets]))


def store_elements(builder: ir.IRBuilder, storage: Storage, elements: Elements) -> None:
    """Write a small tensor to memory."""
    for offset, value in enumerate(elements.values):
        store_element(builder, storage, I64(offset), value)


def spilled(builder: ir.IRBuilder, type: TensorType, elements: Elements) -> Storage:
    """A tensor written to the function's stack, so that it can be indexed."""
    element_type = type.plain_element_type
    count = len(elements.values)
    with builder.goto_entry_block():
        array = builder.alloca(ir.ArrayType(stored_type(element_type), count))
    storage = Storage(type, builder.gep(array, [I64(0), I64(0)], inbounds=True))
    store_elements(builder, storage, elements)
    return storage


def as_int64(builder: ir.IRBuilder, element_type: ElementType, value: Value) -> ir.Value:
    """An integer as i64; ui64 values beyond its range become its maximum."""
    (integer,) = value
    if element_type.category == SIGNED:
        return integer if integer.type == I64 else builder.sext(integer, I64)
    assert element_type.category == UNSIGNED
    if integer.type != I64:
        return builder.zext(integer, I64)
    largest = I64(2**63 - 1)
    return builder.select(builder.icmp_unsigned("<", integer, largest), integer, largest)


def clamped(builder: ir.IRBuilder, index: ir.Value, limit: int) -> ir.Value:
    """An index clamped to [0, limit]."""
    zero, max_index = I64(0), I64(limit)
    raised = builder.select(builder.icmp_signed("<", index, zero), zero, index)
    return builder.select(builder.icmp_signed(">", raised, max_index), max_index, raised)
