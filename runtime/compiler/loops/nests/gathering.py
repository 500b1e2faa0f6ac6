"""Addresses of gathered elements, in LLVM IR.

Offsets are computed in 32 bits where these suffice: twice as many fit a vector.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ....kernels.named_tuples import NamedTuple
from ....types import SIGNED
from ..llvm.values import I32, I64, Value, call
from .nest import Gather, StartIndex, stride_class


class StartIndexArgs(NamedTuple):
    """The arguments of a `StartIndex` in the closure."""

    max_index: ir.Value
    stride: ir.Value


def gather_offset(
    builder: ir.IRBuilder,
    node: Gather,
    values: Sequence[Value],
    start_indices: Sequence[StartIndex],
    args: Sequence[StartIndexArgs],
) -> ir.Value:
    """Emit the offset of a gathered element from its access, in elements: an i32 if the node `fits_i32`.

    Args:
        values: of all nodes, those of the indices computed.
        start_indices, args: of the nest, as constants and as closure arguments.
    """
    offset_type = I32 if node.fits_i32 else I64
    offset: ir.Value = ir.Constant(offset_type, 0)
    for gather_index in node.indices:
        start_args, constants = args[gather_index.start_index], start_indices[gather_index.start_index]
        is_signed = bool(gather_index.element_type.category & SIGNED)
        (index,) = values[gather_index.node]
        index = _extended(builder, index, max(offset_type.width, index.type.width), is_signed)
        max_index = _resized(builder, start_args.max_index, index.type)
        zero = ir.Constant(index.type, 0)
        index = call(builder, "llvm.smax", index, zero) if is_signed else index
        index = call(builder, "llvm.umin", index, max_index)
        index = _resized(builder, index, offset_type)
        if stride_class(constants.stride) != "1":
            index = builder.mul(index, _resized(builder, start_args.stride, offset_type))
        offset = builder.add(offset, index)
    return offset


def add_strided(
    builder: ir.IRBuilder, offset: ir.Value, index: ir.Value, stride: ir.Value, index_class: str
) -> ir.Value:
    """An offset plus `index * stride`."""
    if index_class == "0":
        return offset
    scaled = _resized(builder, index, offset.type)
    if index_class != "1":
        scaled = builder.mul(scaled, _resized(builder, stride, offset.type))
    return builder.add(offset, scaled)


def _extended(builder: ir.IRBuilder, index: ir.Value, width: int, is_signed: bool) -> ir.Value:
    if index.type.width == width:
        return index
    type = ir.IntType(width)
    return builder.sext(index, type) if is_signed else builder.zext(index, type)


def _resized(builder: ir.IRBuilder, value: ir.Value, type: ir.IntType) -> ir.Value:
    """A value truncated to a type that holds it."""
    return builder.trunc(value, type) if value.type.width > type.width else value
