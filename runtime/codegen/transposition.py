"""Tiles of a transposition in registers: rows of the source in, rows of the result out, each one vector."""

from __future__ import annotations

from typing import NamedTuple

from llvmlite import ir

from .streaming import store_past_caches
from .values import I32, I64

_VECTOR_BYTES = 64
_MOST_LANES = 16
WIDEST = 8
"""Bytes of the largest elements that lie in vectors."""


class Side(NamedTuple):
    """One of the two arrays: where the two loops begin, and the stride, in elements, of that which does not
    run along it."""

    pointer: ir.Value
    stride: ir.Value


def lanes_of(itemsize: int) -> int:
    """Extent of a tile in elements of that many bytes."""
    return min(_MOST_LANES, _VECTOR_BYTES // itemsize)


def emit_tile(
    builder: ir.IRBuilder,
    itemsize: int,
    source: Side,
    target: Side,
    middle: ir.Value,
    inner: ir.Value,
    streamed: bool,
) -> None:
    """Copy one tile: the source lies along the middle loop, the target along the inner one.

    Args:
        middle, inner: the indices of the tile's first element.
        streamed: the target is written past the caches, and its rows begin at multiples of a vector.
    """
    lanes = lanes_of(itemsize)
    element = ir.IntType(8 * itemsize)
    vector = ir.VectorType(element, lanes)
    rows = []
    for lane in range(lanes):
        index = builder.add(inner, ir.Constant(I64, lane))
        place = builder.add(builder.mul(index, source.stride), middle)
        pointer = builder.gep(source.pointer, [place], inbounds=True, source_etype=element)
        rows.append(builder.load(pointer, typ=vector, align=itemsize))
    for lane, column in enumerate(_transposed(builder, rows)):
        index = builder.add(middle, ir.Constant(I64, lane))
        place = builder.add(builder.mul(index, target.stride), inner)
        pointer = builder.gep(target.pointer, [place], inbounds=True, source_etype=element)
        if streamed:
            store_past_caches(builder, column, pointer, lanes * itemsize)
        else:
            builder.store(column, pointer, align=itemsize)


def emit_element(
    builder: ir.IRBuilder, itemsize: int, source: Side, target: Side, middle: ir.Value, inner: ir.Value
) -> None:
    """Copy one element."""
    element = ir.IntType(8 * itemsize)
    read = builder.add(builder.mul(inner, source.stride), middle)
    written = builder.add(builder.mul(middle, target.stride), inner)
    value = builder.load(
        builder.gep(source.pointer, [read], inbounds=True, source_etype=element), typ=element, align=itemsize
    )
    place = builder.gep(target.pointer, [written], inbounds=True, source_etype=element)
    builder.store(value, place, align=itemsize)


def _transposed(builder: ir.IRBuilder, rows: list[ir.Value]) -> list[ir.Value]:
    """A square matrix's columns: halves change places, then quarters, down to single elements."""
    lanes = len(rows)
    rows = list(rows)
    half = lanes // 2
    while half:
        first = [c + lanes - half if c & half else c for c in range(lanes)]
        second = [c + lanes if c & half else c + half for c in range(lanes)]
        for row in range(lanes):
            if not row & half:
                a, b = rows[row], rows[row + half]
                rows[row] = builder.shuffle_vector(a, b, _mask(first))
                rows[row + half] = builder.shuffle_vector(a, b, _mask(second))
        half //= 2
    return rows


def _mask(places: list[int]) -> ir.Constant:
    return ir.Constant(ir.VectorType(I32, len(places)), [ir.Constant(I32, place) for place in places])
