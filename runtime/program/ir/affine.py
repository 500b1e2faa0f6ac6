"""Affine functions of loop indices: indices along a dimension, and offsets into arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...kernels.named_tuples import NamedTuple
from ...types import Array

Box = tuple[tuple[int, int], ...]
"""For each loop its first index, and the one after its last."""


class AffineExpr(NamedTuple):
    """`offset + sum(index * stride)` over loops, outermost first."""

    offset: int
    strides: tuple[int, ...]

    def scaled(self, factor: int, offset: int = 0) -> AffineExpr:
        """`offset + self * factor`."""
        return AffineExpr(offset + self.offset * factor, tuple([stride * factor for stride in self.strides]))

    def plus(self, other: AffineExpr) -> AffineExpr:
        strides = tuple([a + b for a, b in zip(self.strides, other.strides, strict=True)])
        return AffineExpr(self.offset + other.offset, strides)

    def compose(self, indices: Sequence[AffineExpr], loops: int) -> AffineExpr:
        """The composition with `indices`, which are functions of other loops."""
        composed = AffineExpr(self.offset, (0,) * loops)
        for stride, index in zip(self.strides, indices, strict=False):
            if stride:
                composed = composed.plus(index.scaled(stride))
        return composed

    def values(self, sizes: Sequence[int]) -> Array:
        """The values at all indices of loops from 0 to `sizes`, one dimension for each loop."""
        values = np.array(self.offset)
        for stride, size in zip(self.strides, sizes, strict=True):
            values = values[..., np.newaxis] + stride * np.arange(size)
        return values


def identity_map(rank: int) -> tuple[AffineExpr, ...]:
    """The index of each of `rank` loops."""
    return tuple([AffineExpr(0, tuple([int(d == loop) for loop in range(rank)])) for d in range(rank)])


def row_major_strides(shape: Sequence[int]) -> list[int]:
    """The strides, in elements, of an array in row-major order."""
    return [math.prod(shape[d + 1 :]) for d in range(len(shape))]


def row_major_offset(shape: Sequence[int], indices: Sequence[AffineExpr], loops: int) -> AffineExpr:
    """The offset of the element at `indices`, which are functions of `loops` loops, in row-major order."""
    return AffineExpr(0, tuple(row_major_strides(shape))).compose(indices, loops)


def index_range(expr: AffineExpr, box: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The smallest and the largest value in a box."""
    min_index = max_index = expr.offset
    for stride, (first, stop) in zip(expr.strides, box, strict=True):
        ends = (stride * first, stride * (stop - 1))
        min_index += min(ends)
        max_index += max(ends)
    return min_index, max_index
