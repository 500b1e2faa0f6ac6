"""Copies of contiguous slices in LLVM IR, as bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from llvmlite import ir

from ...types import COMPLEX, ElementType
from ..llvm.values import I32, Value, bits_of, to_memory
from .nontemporal_stores import store_nontemporal

_VECTOR_BYTES = 64
_WIDEST = 8
"""Bytes of the largest integers that lie in vectors."""


class ContiguousSlice(NamedTuple):
    """A contiguous slice to be copied.

    Attributes:
        pointer: to its first element.
        in_bounds: whether to copy it; None: always.
        fill: the element that replaces each of its elements otherwise.
    """

    pointer: ir.Value
    in_bounds: ir.Value | None = None
    fill: Value = ()


def can_fill(element_type: ElementType) -> bool:
    """Whether a fill value of a type is supported."""
    return element_type.dtype.itemsize <= _WIDEST


def copy_slice(
    builder: ir.IRBuilder,
    element_type: ElementType,
    length: int,
    slice_: ContiguousSlice,
    target: ir.Value,
    nontemporal: bool = False,
) -> None:
    """Copy a slice of `length` elements to `target`, or fill that.

    Args:
        nontemporal: use nontemporal stores; all chunks are aligned to their size then.
    """
    itemsize = element_type.dtype.itemsize
    if itemsize > _WIDEST:
        length, itemsize = length * (itemsize // _WIDEST), _WIDEST
    item = ir.IntType(8 * itemsize)
    fill = None if slice_.in_bounds is None else _bits(builder, element_type, slice_.fill, item)
    for first, count in _chunks(length, _VECTOR_BYTES // itemsize):
        offset = ir.Constant(I32, first)
        type = item if count == 1 else ir.VectorType(item, count)
        source = builder.gep(slice_.pointer, [offset], inbounds=True, source_etype=item)
        value = builder.load(source, typ=type, align=itemsize)
        if fill is not None:
            value = builder.select(slice_.in_bounds, value, splat(builder, fill, count))
        pointer = builder.gep(target, [offset], inbounds=True, source_etype=item)
        if nontemporal:
            store_nontemporal(builder, value, pointer, count * itemsize)
        else:
            builder.store(value, pointer, align=itemsize)


def _chunks(length: int, max_items: int) -> Iterator[tuple[int, int]]:
    """The chunks of a slice as (first item, number of items), the number being a power of two.

    The last chunk of the largest size may overlap the one before.
    """
    first = 0
    while first + max_items <= length:
        yield first, max_items
        first += max_items
    if first < length and first:
        yield length - max_items, max_items
        return
    while first < length:
        max_items //= 2
        if first + max_items <= length:
            yield first, max_items
            first += max_items


def _bits(builder: ir.IRBuilder, element_type: ElementType, value: Value, item: ir.IntType) -> ir.Value:
    """The bits of an element in memory, as an integer."""
    if element_type.category != COMPLEX:
        stored = to_memory(builder, element_type, value[0])
        return stored if stored.type == item else builder.bitcast(stored, item)
    real, imaginary = [builder.zext(bits_of(builder, component), item) for component in value]
    return builder.or_(real, builder.shl(imaginary, ir.Constant(item, item.width // 2)))


def splat(builder: ir.IRBuilder, value: ir.Value, count: int) -> ir.Value:
    """A vector of `count` equal lanes; a scalar for a count of 1."""
    if count == 1:
        return value
    type = ir.VectorType(value.type, count)
    first = builder.insert_element(ir.Constant(type, ir.Undefined), value, ir.Constant(I32, 0))
    mask = ir.Constant(ir.VectorType(I32, count), [ir.Constant(I32, 0)] * count)
    return builder.shuffle_vector(first, ir.Constant(type, ir.Undefined), mask)
