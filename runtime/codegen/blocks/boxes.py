"""Copies of boxes of elements from one tensor to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from llvmlite import ir

from ...ir.affine import row_major_strides
from ...types import ElementType
from ..llvm.values import BIT, I64, POINTER, stored_type
from .elements import Elements, Storage, element_pointer
from .emitter import Bound, Emitter, Index, Target, as_value


class Side(NamedTuple):
    """The location of a box: the offset of its first element, and the stride of each dimension."""

    bound: Bound | Target
    first: Index
    strides: Sequence[int]


def window(bound: Bound | Target, shape: Sequence[int], first: Index = 0) -> Side:
    """A window of a tensor of some shape."""
    return Side(bound, first, row_major_strides(shape))


def copy(emitter: Emitter, target: Side, source: Side, sizes: Sequence[int]) -> None:
    """Copy a box; a source that is a single element is written to all of it."""
    merged = _merged(target.strides, source.strides, sizes)
    run = 1
    to, at = target.bound, source.bound
    if isinstance(to, Storage) and isinstance(at, Storage) and merged and merged[-1][1:] == (1, 1):
        run = merged.pop()[0]
    lengths, targets, sources = zip(*merged, strict=True) if merged else ((), (), ())
    for indices in emitter.box(lengths):
        target_offset = emitter.offset(indices, targets, target.first)
        source_offset = emitter.offset(indices, sources, source.first)
        if isinstance(to, Storage) and isinstance(at, Storage):
            _copy_run(emitter.builder, to, target_offset, at, source_offset, run)
        else:
            assert not isinstance(to, Elements)
            emitter.put(to, target_offset, emitter.at(at, source_offset))


def _copy_run(
    builder: ir.IRBuilder,
    target: Storage,
    target_offset: Index,
    source: Storage,
    source_offset: Index,
    count: int,
) -> None:
    """Copy neighbours, as bits, so that NaN keep theirs."""
    to = element_pointer(builder, target, as_value(target_offset))
    at = element_pointer(builder, source, as_value(source_offset))
    element_type = source.type.element_type
    assert isinstance(element_type, ElementType)
    if count == 1:
        builder.store(builder.load(at, typ=stored_type(element_type)), to)
        return
    type = ir.FunctionType(ir.VoidType(), [POINTER, POINTER, I64, BIT])
    copy = builder.module.declare_intrinsic("llvm.memcpy", [POINTER, POINTER, I64], type)
    builder.call(copy, [to, at, I64(count * element_type.dtype.itemsize), BIT(0)])


def copy_all(emitter: Emitter, target: Target, source: Bound) -> None:
    """Copy all elements of a tensor to another of as many."""
    count = target.type.size if isinstance(target, Storage) else len(target.values)
    copy(emitter, Side(target, 0, (1,)), Side(source, 0, (1,)), [count])


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
