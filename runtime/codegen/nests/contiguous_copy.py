"""Lines of neighbouring elements in LLVM IR: copied whole, without a look at the elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from llvmlite import ir

from ...types import COMPLEX, ElementType
from ..llvm.values import I32, Value, bits_of, stored_form
from .nontemporal_stores import store_past_caches

_VECTOR_BYTES = 64
_WIDEST = 8
"""Bytes of the largest integers that lie in vectors."""


class Line(NamedTuple):
    """A line that is to be copied.

    Attributes:
        pointer: to its first element.
        inside: whether it is copied; None: it always is.
        fill: what its place is filled with otherwise, as an element.
    """

    pointer: ir.Value
    inside: ir.Value | None = None
    fill: Value = ()


def may_be_filled(element_type: ElementType) -> bool:
    """Whether lines of a type can be filled."""
    return element_type.dtype.itemsize <= _WIDEST


def copy_line(
    builder: ir.IRBuilder,
    element_type: ElementType,
    length: int,
    line: Line,
    target: ir.Value,
    streamed: bool = False,
) -> None:
    """Copy a line of `length` elements to `target`, or fill it.

    Args:
        streamed: it is written past the caches, and all its pieces begin at multiples of their size.
    """
    itemsize = element_type.dtype.itemsize
    if itemsize > _WIDEST:
        length, itemsize = length * (itemsize // _WIDEST), _WIDEST
    item = ir.IntType(8 * itemsize)
    fill = None if line.inside is None else _bits(builder, element_type, line.fill, item)
    for first, count in _pieces(length, _VECTOR_BYTES // itemsize):
        place = ir.Constant(I32, first)
        type = item if count == 1 else ir.VectorType(item, count)
        source = builder.gep(line.pointer, [place], inbounds=True, source_etype=item)
        value = builder.load(source, typ=type, align=itemsize)
        if fill is not None:
            value = builder.select(line.inside, value, repeated(builder, fill, count))
        pointer = builder.gep(target, [place], inbounds=True, source_etype=item)
        if streamed:
            store_past_caches(builder, value, pointer, count * itemsize)
        else:
            builder.store(value, pointer, align=itemsize)


def _pieces(length: int, most: int) -> Iterator[tuple[int, int]]:
    """Where pieces of a line begin, and how many items they have: a power of two.

    The last piece of the largest size may overlap the one before.
    """
    first = 0
    while first + most <= length:
        yield first, most
        first += most
    if first < length and first:
        yield length - most, most
        return
    while first < length:
        most //= 2
        if first + most <= length:
            yield first, most
            first += most


def _bits(builder: ir.IRBuilder, element_type: ElementType, value: Value, item: ir.IntType) -> ir.Value:
    """An element as it lies in memory, as an integer."""
    if element_type.category != COMPLEX:
        stored = stored_form(builder, element_type, value[0])
        return stored if stored.type == item else builder.bitcast(stored, item)
    real, imaginary = [builder.zext(bits_of(builder, part), item) for part in value]
    return builder.or_(real, builder.shl(imaginary, ir.Constant(item, item.width // 2)))


def repeated(builder: ir.IRBuilder, value: ir.Value, count: int) -> ir.Value:
    """A value in all lanes of a vector; of a single lane that."""
    if count == 1:
        return value
    type = ir.VectorType(value.type, count)
    first = builder.insert_element(ir.Constant(type, ir.Undefined), value, ir.Constant(I32, 0))
    mask = ir.Constant(ir.VectorType(I32, count), [ir.Constant(I32, 0)] * count)
    return builder.shuffle_vector(first, ir.Constant(type, ir.Undefined), mask)
