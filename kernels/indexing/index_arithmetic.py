"""Index arithmetic of scatter: dimensions as strided loops, collapsed where possible.
Computed once for given shapes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ..named_tuples import NamedTuple

UNSIGNED_BY_SIZE = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}
"""Element types by item size, for kernels that only move items."""


class Dimension(NamedTuple):
    """A loop of `size` iterations, and its stride in each of several arrays, in items."""

    size: int
    strides: tuple[int, ...]


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a C-contiguous array, in items."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def merged(dimensions: Iterable[Dimension]) -> list[Dimension]:
    """The loop nest without loops of size 1, with contiguous neighbours collapsed."""
    result: list[Dimension] = []
    for dimension in dimensions:
        if dimension.size == 1:
            continue
        if result:
            outer = result[-1]
            if all(o == i * dimension.size for o, i in zip(outer.strides, dimension.strides, strict=True)):
                result[-1] = Dimension(outer.size * dimension.size, dimension.strides)
                continue
        result.append(dimension)
    return result


def total_size(dimensions: Iterable[Dimension]) -> int:
    """The number of iterations of the loop nest."""
    return math.prod(dimension.size for dimension in dimensions)


def offsets(dimensions: Sequence[Dimension], array: int) -> np.ndarray:
    """The offset of each iteration in that array, in items: an int64 array in row-major order."""
    result = np.zeros(1, np.int64)
    for dimension in dimensions:
        along = np.arange(dimension.size, dtype=np.int64) * dimension.strides[array]
        result = (result[:, None] + along[None, :]).reshape(-1)
    return result


def index_items(indices: np.ndarray) -> np.ndarray:
    """Indices as a flat read-only array of a native integer type; unsigned 64-bit integers as signed ones.

    A value of 2**63 or more becomes negative.
    """
    from ..launch.compilation import flat

    if indices.dtype.kind not in "iu" or not indices.dtype.isnative:
        indices = indices.astype(np.int64)
    return flat(indices, np.int64 if indices.dtype == np.uint64 else None)


def index_vector_layout(shape: Sequence[int], index_vector_dim: int) -> tuple[list[int], list[int], int, int]:
    """The layout of indices: sizes and strides of the dimensions other than `index_vector_dim`, size and
    stride of that one."""
    strides = row_major_strides(shape)
    others = [axis for axis in range(len(shape)) if axis != index_vector_dim]
    length, stride = (
        (shape[index_vector_dim], strides[index_vector_dim]) if index_vector_dim < len(shape) else (1, 0)
    )
    return [shape[axis] for axis in others], [strides[axis] for axis in others], length, stride
