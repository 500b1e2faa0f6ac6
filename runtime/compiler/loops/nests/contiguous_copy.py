"""Copies of contiguous slices in LLVM IR, as bits."""

from __future__ import annotations

from collections.abc import Iterator

from llvmlite import ir

from ....types import ElementType
from ..llvm.values import I32
from .nontemporal_stores import MAX_VECTOR_ITEMSIZE, store_nontemporal

_VECTOR_BYTES = 64


def copy_slice(
    builder: ir.IRBuilder,
    element_type: ElementType,
    length: int,
    source: ir.Value,
    target: ir.Value,
    nontemporal: bool = False,
) -> None:
    """Copy `length` elements from `source` to `target`.

    Args:
        nontemporal: use nontemporal stores; all chunks are aligned to their size then.
    """
    itemsize = element_type.dtype.itemsize
    if itemsize > MAX_VECTOR_ITEMSIZE:
        length, itemsize = length * (itemsize // MAX_VECTOR_ITEMSIZE), MAX_VECTOR_ITEMSIZE
    item = ir.IntType(8 * itemsize)
    for first, count in _chunks(length, _VECTOR_BYTES // itemsize):
        offset = I32(first)
        type = item if count == 1 else ir.VectorType(item, count)
        chunk = builder.gep(source, [offset], inbounds=True, source_etype=item)
        value = builder.load(chunk, typ=type, align=itemsize)
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
