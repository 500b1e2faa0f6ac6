"""Index maps of data movement: which operand element a result element of a slice, transpose, pad... copies.

An `AffineExpr` is an index along one dimension, affine in the indices of some loops. The coordinates of a
result's element determine those of the operand's element. Where they do so in a sub-range of a loop only
(within one input of `concatenate`), `LoopSplit` says where to split that loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...ir import Operation
from ...ops.framework.declaration import Op
from ...ops.framework.verify import view_of
from ...ops.shape.broadcasting import BroadcastInDim
from ...ops.shape.layout import Concatenate, Reshape, Reverse, Transpose
from ...ops.shape.slicing import Pad, Slice
from ..utils.rewriter import is_plain

VIEWS = (BroadcastInDim, Reshape, Reverse, Slice, Transpose)
"""Moves whose reference is a view: it costs nothing where nothing needs the elements in order."""
MOVES = (*VIEWS, Concatenate, Pad)


class AffineExpr(NamedTuple):
    """`offset + sum(index * stride)` over loops."""

    offset: int
    strides: tuple[int, ...]

    def scaled(self, factor: int, offset: int = 0) -> AffineExpr:
        """`offset + self * factor`."""
        return AffineExpr(offset + self.offset * factor, tuple([stride * factor for stride in self.strides]))

    def plus(self, other: AffineExpr) -> AffineExpr:
        """The sum."""
        strides = tuple([a + b for a, b in zip(self.strides, other.strides, strict=True)])
        return AffineExpr(self.offset + other.offset, strides)


Box = tuple[tuple[int, int], ...]
"""For each loop its first index, and the one after its last."""


class LoopSplit(Exception):
    """Loops have to be cut before a place is known.

    Attributes:
        loop: which one.
        index: the first index of the second part.
    """

    def __init__(self, loop: int, index: int) -> None:
        super().__init__(loop, index)
        self.loop = loop
        self.index = index


def is_movement_op(operation: Operation) -> bool:
    """Whether an operation moves elements so that `source` can follow them."""
    if operation.name not in _NAMES or not is_plain(operation):
        return False
    view: Any = view_of(operation)
    if isinstance(view, Reshape):
        return reshape_groups(view.operand.shape, view.result.shape) is not None
    return not isinstance(view, Pad) or not any(view.interior_padding)


_NAMES = frozenset(move.name for move in MOVES)


def source(view: Op, coordinates: Sequence[AffineExpr], box: Box) -> tuple[int, tuple[AffineExpr, ...]]:
    """Which operand the element at `coordinates` of the result comes from, and its places there.

    Raises:
        LoopSplit: they are not the same throughout `box`, but in parts of it.
        Inseparable: they are not the same in parts of it either.
    """
    if isinstance(view, Concatenate):
        return _of_concatenate(view, coordinates, box)
    if isinstance(view, Pad):
        return _of_pad(view, coordinates, box)
    return 0, _of_view(view, coordinates, len(box))


def _of_view(view: Any, coordinates: Sequence[AffineExpr], loops: int) -> tuple[AffineExpr, ...]:
    zero = AffineExpr(0, (0,) * loops)
    if isinstance(view, BroadcastInDim):
        pairs = zip(view.operand.shape, view.broadcast_dimensions, strict=True)
        return tuple([zero if size == 1 else coordinates[d] for size, d in pairs])
    if isinstance(view, Transpose):
        return tuple([coordinates[view.permutation.index(d)] for d in range(len(coordinates))])
    if isinstance(view, Slice):
        steps = zip(coordinates, view.start_indices, view.strides, strict=True)
        return tuple([expr.scaled(stride, start) for expr, start, stride in steps])
    if isinstance(view, Reverse):
        sizes = zip(coordinates, view.operand.shape, strict=True)
        return tuple(
            [
                expr.scaled(-1, size - 1) if d in view.dimensions else expr
                for d, (expr, size) in enumerate(sizes)
            ]
        )
    assert isinstance(view, Reshape)
    groups = reshape_groups(view.operand.shape, view.result.shape)
    assert groups is not None
    source_coordinates = []
    for group in groups:
        expr = zero
        for d in group:
            expr = expr.scaled(view.result.shape[d]).plus(coordinates[d])
        source_coordinates.append(expr)
    return tuple(source_coordinates)


def reshape_groups(shape: Sequence[int], result_shape: Sequence[int]) -> list[tuple[int, ...]] | None:
    """For each dimension of a reshape's operand those of the result that it is split into; None where
    dimensions are merged."""
    if 0 in shape or 0 in result_shape:
        return None
    groups: list[tuple[int, ...]] = []
    d = 0
    for size in shape:
        group = []
        rest = size
        while rest != 1:
            if d == len(result_shape) or rest % result_shape[d]:
                return None
            rest //= result_shape[d]
            group.append(d)
            d += 1
        groups.append(tuple(group))
    return groups


class InseparableLoops(Exception):
    """No cut of one loop separates the places on both sides of an index."""


def index_range(expr: AffineExpr, box: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The least and the greatest index in a box."""
    min_index = max_index = expr.offset
    for stride, (first, stop) in zip(expr.strides, box, strict=True):
        ends = (stride * first, stride * (stop - 1))
        min_index += min(ends)
        max_index += max(ends)
    return min_index, max_index


def _loop_split(expr: AffineExpr, box: Box, index: int) -> LoopSplit:
    """Where to cut so that in each part all places are on one side of `index`.

    Raises:
        Inseparable: more than one loop runs through it.
    """
    varying = [d for d, stride in enumerate(expr.strides) if stride and box[d][1] - box[d][0] > 1]
    if len(varying) != 1:
        raise InseparableLoops("several loops run through the place to cut")
    (loop,) = varying
    stride = expr.strides[loop]
    fixed = expr.offset + sum(other * box[d][0] for d, other in enumerate(expr.strides) if d != loop)
    if stride > 0:
        return LoopSplit(loop, -((fixed - index) // stride))
    return LoopSplit(loop, (fixed - index) // -stride + 1)


def _of_concatenate(
    view: Concatenate, coordinates: Sequence[AffineExpr], box: Box
) -> tuple[int, tuple[AffineExpr, ...]]:
    expr = coordinates[view.dimension]
    min_index, max_index = index_range(expr, box)
    start = 0
    for number, type in enumerate(view.inputs):
        stop = start + type.shape[view.dimension]
        if min_index < stop:
            if max_index >= stop:
                raise _loop_split(expr, box, stop)
            source_coordinates = list(coordinates)
            source_coordinates[view.dimension] = expr.scaled(1, -start)
            return number, tuple(source_coordinates)
        start = stop
    raise ValueError("an index lies outside of what is joined")


def _of_pad(view: Pad, coordinates: Sequence[AffineExpr], box: Box) -> tuple[int, tuple[AffineExpr, ...]]:
    for expr, low, size in zip(coordinates, view.edge_padding_low, view.operand.shape, strict=True):
        min_index, max_index = index_range(expr, box)
        if max_index < low or min_index >= low + size:
            return 1, ()
        if min_index < low:
            raise _loop_split(expr, box, low)
        if max_index >= low + size:
            raise _loop_split(expr, box, low + size)
    lows = zip(coordinates, view.edge_padding_low, strict=True)
    return 0, tuple([expr.scaled(1, -low) for expr, low in lows])
