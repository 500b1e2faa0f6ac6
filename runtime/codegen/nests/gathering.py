"""Elements that indices choose, in LLVM IR: where they lie, and which indices lie outside.

Places are computed in 32 bits where these suffice: twice as many fit a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from llvmlite import ir

from ...types import SIGNED
from ..llvm.values import I32, I64, Value, call
from .nest import Gather, Start, stride_kind


class StartWords(NamedTuple):
    """The words of the closure for a `Start`."""

    largest: ir.Value
    added: ir.Value
    stride: ir.Value


class Moved(NamedTuple):
    """Where an element lies.

    Attributes:
        offset: how far the indices move it, in elements; i32 where the node is narrow.
        inside: whether it stays where the indices say; None where nothing asks.
    """

    offset: ir.Value
    inside: ir.Value | None


def moved(
    builder: ir.IRBuilder,
    node: Gather,
    values: Sequence[Value],
    starts: Sequence[Start],
    words: Sequence[StartWords],
) -> Moved:
    """How far the indices move an element.

    Args:
        values: of all nodes.
        starts, words: those of the nest, known and as arguments.
    """
    place = I32 if node.is_narrow else I64
    offset: ir.Value = ir.Constant(place, 0)
    inside: ir.Value | None = None
    for moving in node.moving:
        start, known = words[moving.start], starts[moving.start]
        is_signed = bool(moving.element_type.category & SIGNED)
        (index,) = values[moving.node]
        index = _extended(builder, index, max(place.width, index.type.width), is_signed)
        largest = _resized(builder, start.largest, index.type)
        zero = ir.Constant(index.type, 0)
        if known.added and is_signed:
            more = builder.add(index, _resized(builder, start.added, index.type))
            index = builder.select(builder.icmp_signed("<", index, zero), more, index)
        if node.fill is not None:
            # A negative index is a large one without its sign.
            here = builder.icmp_unsigned("<=", index, largest)
            inside = here if inside is None else builder.and_(inside, here)
        index = call(builder, "llvm.smax", index, zero) if is_signed else index
        index = call(builder, "llvm.umin", index, largest)
        index = _resized(builder, index, place)
        if stride_kind(known.stride) != "1":
            index = builder.mul(index, _resized(builder, start.stride, place))
        offset = builder.add(offset, index)
    return Moved(offset, inside)


def with_step(
    builder: ir.IRBuilder, offset: ir.Value, index: ir.Value, stride: ir.Value, kind: str
) -> ir.Value:
    """An offset and, besides, `index * stride`."""
    if kind == "0":
        return offset
    step = _resized(builder, index, offset.type)
    if kind != "1":
        step = builder.mul(step, _resized(builder, stride, offset.type))
    return builder.add(offset, step)


def _extended(builder: ir.IRBuilder, index: ir.Value, width: int, is_signed: bool) -> ir.Value:
    if index.type.width == width:
        return index
    type = ir.IntType(width)
    return builder.sext(index, type) if is_signed else builder.zext(index, type)


def _resized(builder: ir.IRBuilder, value: ir.Value, type: ir.IntType) -> ir.Value:
    """A value that fits a type, in it."""
    return builder.trunc(value, type) if value.type.width > type.width else value
