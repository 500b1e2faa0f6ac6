"""Copies of boxes of elements from one tensor to another."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ....kernels.named_tuples import NamedTuple
from ....program.ir.affine import row_major_strides
from ....types import ElementType
from ..llvm.values import BIT, I8, I64, POINTER, stored_type
from .elements import Elements, Storage, element_pointer
from .emitter import Binding, Emitter, Index, Target, as_value

MAX_COPIED_BYTES, MAX_COPIED_VECTORS = 127, 2
"""Maximum bytes of neighbours, and vectors for them, that are copied by vectors. Quick code calls the C
library for others, which takes longer for so few."""


class Side(NamedTuple):
    """The location of a box: the offset of its first element, and the stride of each dimension."""

    binding: Binding | Target
    first: Index
    strides: Sequence[int]


def window(binding: Binding | Target, shape: Sequence[int], first: Index = 0) -> Side:
    """A window of a tensor of some shape."""
    return Side(binding, first, row_major_strides(shape))


def copy(emitter: Emitter, target: Side, source: Side, sizes: Sequence[int]) -> None:
    """Copy a box; a source that is a single element is written to all of it."""
    lengths, (targets, sources) = merged_dimensions(sizes, [target.strides, source.strides])
    run = 1
    to, at = target.binding, source.binding
    is_contiguous = bool(lengths) and targets[-1] == sources[-1] == 1
    if isinstance(to, Storage) and isinstance(at, Storage) and is_contiguous:
        run, *_ = lengths.pop(), targets.pop(), sources.pop()
    for indices in emitter.independent_box(lengths):
        target_offset = emitter.offset(indices, targets, target.first)
        source_offset = emitter.offset(indices, sources, source.first)
        if isinstance(to, Storage) and isinstance(at, Storage):
            _copy_run(emitter.builder, to, target_offset, at, source_offset, run)
        else:
            _copy_element(emitter, to, target_offset, at, source_offset)


def copy_rows(
    emitter: Emitter, boxes: Sequence[tuple[Side, Side]], sizes: Sequence[Sequence[int]]
) -> None:
    """Copy boxes of as many rows together, row by row, so that LLVM makes vectors of several rows.

    Args:
        boxes: of each box where it is copied to, and from.
        sizes: of each box.
    """
    sides = [side for pair in boxes for side in pair]
    rows, strides = merged_dimensions(sizes[0][:-1], [side.strides[:-1] for side in sides])
    for indices in emitter.independent_box(rows):
        starts = [emitter.offset(indices, row, side.first) for side, row in zip(sides, strides, strict=True)]
        for number, ((target, source), (*_, count)) in enumerate(zip(boxes, sizes, strict=True)):
            for index in range(count):
                to, at = [
                    emitter.add(start, index * side.strides[-1])
                    for side, start in zip((target, source), starts[2 * number :], strict=False)
                ]
                _copy_element(emitter, target.binding, to, source.binding, at)


def _copy_element(
    emitter: Emitter, target: Binding | Target, to: Index, source: Binding | Target, at: Index
) -> None:
    if isinstance(target, Storage) and isinstance(source, Storage):
        _copy_run(emitter.builder, target, to, source, at, 1)
    else:
        assert not isinstance(target, Elements)
        emitter.put(target, to, emitter.at(source, at))


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
    nbytes = count * element_type.dtype.itemsize
    widths = [1 << bit for bit in range(nbytes.bit_length()) if nbytes >> bit & 1]
    if nbytes <= MAX_COPIED_BYTES and len(widths) <= MAX_COPIED_VECTORS:
        _copy_vectors(builder, to, at, widths)
        return
    type = ir.FunctionType(ir.VoidType(), [POINTER, POINTER, I64, BIT])
    memcpy = builder.module.declare_intrinsic("llvm.memcpy", [POINTER, POINTER, I64], type)
    builder.call(memcpy, [to, at, I64(nbytes), BIT(0)])


def _copy_vectors(builder: ir.IRBuilder, to: ir.Value, at: ir.Value, widths: Sequence[int]) -> None:
    """Copy neighbouring bytes by vectors of so many each."""
    for number, width in enumerate(widths):
        start = I64(sum(widths[:number]))
        source, target = [builder.gep(end, [start], inbounds=True, source_etype=I8) for end in (at, to)]
        copied = builder.load(source, typ=ir.VectorType(I8, width), align=1)
        builder.store(copied, target, align=1)


def copy_all(emitter: Emitter, target: Target, source: Binding) -> None:
    """Copy all elements of a tensor to another of as many, unless they lie there."""
    if isinstance(target, Storage) and isinstance(source, Storage) and target.pointer is source.pointer:
        return
    count = target.type.size if isinstance(target, Storage) else len(target.values)
    copy(emitter, Side(target, 0, (1,)), Side(source, 0, (1,)), [count])


def merged_dimensions(
    sizes: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[list[int], list[list[int]]]:
    """The sizes of loops over a box, and their strides on each of several sides.

    Dimensions that are contiguous on all sides become one.

    Args:
        strides: of each side the stride of each dimension.
    """
    merged: list[tuple[int, tuple[int, ...]]] = []
    for d, size in enumerate(sizes):
        of_sides = tuple([side[d] for side in strides])
        if size == 1:
            continue
        if merged and merged[-1][1] == tuple([stride * size for stride in of_sides]):
            size *= merged.pop()[0]
        merged.append((size, of_sides))
    return [size for size, _ in merged], [[dim[1][k] for dim in merged] for k in range(len(strides))]
