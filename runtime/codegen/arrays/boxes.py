"""Copies of boxes of elements from one array to another."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

from llvmlite import ir

from ...ir.affine import row_major_strides
from ...types import ElementType
from ..blocks import Bound, Elements, Storage
from ..blocks.elements import element_pointer
from ..llvm.values import BIT, I64, POINTER, stored_type
from .emitter import ArrayEmitter, element_type_of


class Side(NamedTuple):
    """Where the elements of a box lie: the first one, and the steps between neighbours by dimension."""

    bound: Bound
    first: ir.Value
    strides: Sequence[int]


def whole(storage: Storage) -> Side:
    """A whole array, as one line."""
    return Side(storage, I64(0), (1,))


def window(storage: Storage, first: ir.Value) -> Side:
    """A window of an array."""
    return Side(storage, first, row_major_strides(storage.type.shape))


def copy(emitter: ArrayEmitter, target: Side, source: Side, sizes: Sequence[int]) -> None:
    """Copy a box; a source that is a single element is written to all of it."""
    builder = emitter.builder
    assert isinstance(target.bound, Storage)
    merged = _merged(target.strides, source.strides, sizes)
    line = 1
    if merged and merged[-1][1:] == (1, 1) and isinstance(source.bound, Storage):
        line = merged.pop()[0]
    to, at = target.first, source.first
    with ExitStack() as loops:
        for size, target_stride, source_stride in merged:
            index = loops.enter_context(emitter.loop(size))
            to = _moved(builder, to, index, target_stride)
            at = _moved(builder, at, index, source_stride)
        if isinstance(source.bound, Elements):
            emitter.put(target.bound, to, source.bound.scalar)
        else:
            to, at = element_pointer(builder, target.bound, to), element_pointer(builder, source.bound, at)
            _copy_line(builder, to, at, element_type_of(source.bound.type), line)


def _moved(builder: ir.IRBuilder, first: ir.Value, index: ir.Value, stride: int) -> ir.Value:
    """The place so many steps after the first one."""
    by = index if stride == 1 else builder.mul(index, I64(stride))
    return by if first == I64(0) else builder.add(first, by)


def _copy_line(
    builder: ir.IRBuilder, target: ir.Value, source: ir.Value, element_type: ElementType, count: int
) -> None:
    """Copy neighbours, as bits, so that NaN keep theirs."""
    if count == 1:
        builder.store(builder.load(source, typ=stored_type(element_type)), target)
        return
    type = ir.FunctionType(ir.VoidType(), [POINTER, POINTER, I64, BIT])
    copy = builder.module.declare_intrinsic("llvm.memcpy", [POINTER, POINTER, I64], type)
    builder.call(copy, [target, source, I64(count * element_type.dtype.itemsize), BIT(0)])


def copy_all(emitter: ArrayEmitter, target: Storage, source: Bound) -> None:
    """Copy all elements of a tensor to another of as many."""
    count = max(target.type.size, 1)
    if isinstance(source, Elements):
        emitter.put(target, I64(0), source.scalar)
    else:
        copy(emitter, whole(target), whole(source), [count])


def _merged(target: Sequence[int], source: Sequence[int], sizes: Sequence[int]) -> list[tuple[int, int, int]]:
    """Size and steps of each dimension, those joined that make up one line on both sides."""
    merged: list[tuple[int, int, int]] = []
    for size, to, at in zip(sizes, target, source, strict=True):
        if size == 1:
            continue
        if merged and merged[-1][1:] == (to * size, at * size):
            size *= merged.pop()[0]
        merged.append((size, to, at))
    return merged
