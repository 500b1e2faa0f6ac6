"""Where the elements of operations that only move elements come from, as functions of loops' indices.

A `Place` is an index in one dimension: affine in the indices of some loops. From the places of a result's
element follow those of the operand's element that stands there. Where they do so for a part of the loops only
(within one input of `concatenate`), `Split` says where to cut the loops.
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


class Place(NamedTuple):
    """`offset + sum(index * stride)` over loops."""

    offset: int
    strides: tuple[int, ...]

    def scaled(self, factor: int, offset: int = 0) -> Place:
        """`offset + self * factor`."""
        return Place(offset + self.offset * factor, tuple([stride * factor for stride in self.strides]))

    def plus(self, other: Place) -> Place:
        """The sum."""
        strides = tuple([a + b for a, b in zip(self.strides, other.strides, strict=True)])
        return Place(self.offset + other.offset, strides)


Box = tuple[tuple[int, int], ...]
"""For each loop its first index, and the one after its last."""


class Split(Exception):
    """Loops have to be cut before a place is known.

    Attributes:
        loop: which one.
        index: the first index of the second part.
    """

    def __init__(self, loop: int, index: int) -> None:
        super().__init__(loop, index)
        self.loop = loop
        self.index = index


def is_move(operation: Operation) -> bool:
    """Whether an operation moves elements so that `source` can follow them."""
    if operation.name not in _NAMES or not is_plain(operation):
        return False
    view: Any = view_of(operation)
    if isinstance(view, Reshape):
        return reshape_groups(view.operand.shape, view.result.shape) is not None
    return not isinstance(view, Pad) or not any(view.interior_padding)


_NAMES = frozenset(move.name for move in MOVES)


def source(view: Op, places: Sequence[Place], box: Box) -> tuple[int, tuple[Place, ...]]:
    """Which operand the element at `places` of the result comes from, and its places there.

    Raises:
        Split: they are not the same throughout `box`, but in parts of it.
        Inseparable: they are not the same in parts of it either.
    """
    if isinstance(view, Concatenate):
        return _of_concatenate(view, places, box)
    if isinstance(view, Pad):
        return _of_pad(view, places, box)
    return 0, _of_view(view, places, len(box))


def _of_view(view: Any, places: Sequence[Place], loops: int) -> tuple[Place, ...]:
    zero = Place(0, (0,) * loops)
    if isinstance(view, BroadcastInDim):
        pairs = zip(view.operand.shape, view.broadcast_dimensions, strict=True)
        return tuple([zero if size == 1 else places[d] for size, d in pairs])
    if isinstance(view, Transpose):
        return tuple([places[view.permutation.index(d)] for d in range(len(places))])
    if isinstance(view, Slice):
        steps = zip(places, view.start_indices, view.strides, strict=True)
        return tuple([place.scaled(stride, start) for place, start, stride in steps])
    if isinstance(view, Reverse):
        sizes = zip(places, view.operand.shape, strict=True)
        return tuple(
            [
                place.scaled(-1, size - 1) if d in view.dimensions else place
                for d, (place, size) in enumerate(sizes)
            ]
        )
    assert isinstance(view, Reshape)
    groups = reshape_groups(view.operand.shape, view.result.shape)
    assert groups is not None
    found = []
    for group in groups:
        place = zero
        for d in group:
            place = place.scaled(view.result.shape[d]).plus(places[d])
        found.append(place)
    return tuple(found)


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


class Inseparable(Exception):
    """No cut of one loop separates the places on both sides of an index."""


def range_of(place: Place, box: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The least and the greatest index in a box."""
    least = greatest = place.offset
    for stride, (first, stop) in zip(place.strides, box, strict=True):
        ends = (stride * first, stride * (stop - 1))
        least += min(ends)
        greatest += max(ends)
    return least, greatest


def _split(place: Place, box: Box, index: int) -> Split:
    """Where to cut so that in each part all places are on one side of `index`.

    Raises:
        Inseparable: more than one loop runs through it.
    """
    moving = [d for d, stride in enumerate(place.strides) if stride and box[d][1] - box[d][0] > 1]
    if len(moving) != 1:
        raise Inseparable("several loops run through the place to cut")
    (loop,) = moving
    stride = place.strides[loop]
    fixed = place.offset + sum(other * box[d][0] for d, other in enumerate(place.strides) if d != loop)
    if stride > 0:
        return Split(loop, -((fixed - index) // stride))
    return Split(loop, (fixed - index) // -stride + 1)


def _of_concatenate(view: Concatenate, places: Sequence[Place], box: Box) -> tuple[int, tuple[Place, ...]]:
    place = places[view.dimension]
    least, greatest = range_of(place, box)
    start = 0
    for number, type in enumerate(view.inputs):
        stop = start + type.shape[view.dimension]
        if least < stop:
            if greatest >= stop:
                raise _split(place, box, stop)
            moved = list(places)
            moved[view.dimension] = place.scaled(1, -start)
            return number, tuple(moved)
        start = stop
    raise ValueError("an index lies outside of what is joined")


def _of_pad(view: Pad, places: Sequence[Place], box: Box) -> tuple[int, tuple[Place, ...]]:
    for place, low, size in zip(places, view.edge_padding_low, view.operand.shape, strict=True):
        least, greatest = range_of(place, box)
        if greatest < low or least >= low + size:
            return 1, ()
        if least < low:
            raise _split(place, box, low)
        if greatest >= low + size:
            raise _split(place, box, low + size)
    lows = zip(places, view.edge_padding_low, strict=True)
    return 0, tuple([place.scaled(1, -low) for place, low in lows])
