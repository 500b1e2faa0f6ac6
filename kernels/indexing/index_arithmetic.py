"""Index arithmetic that gather and scatter share: dimensions as strided loops, merged where one loop does.

All of it is plain integers, computed once for given shapes.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

UNSIGNED_BY_SIZE = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}
"""Element types by item size, for loops that move items and do not look at them."""


class Dimension(NamedTuple):
    """A loop of `size` steps, and how far one step goes in each of several arrays, in items."""

    size: int
    steps: tuple[int, ...]


def row_major_steps(shape: Sequence[int]) -> tuple[int, ...]:
    """How many items lie between neighbours along each dimension of a contiguous array."""
    steps = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        steps[axis] = steps[axis + 1] * shape[axis + 1]
    return tuple(steps)


def merged(dimensions: Iterable[Dimension]) -> list[Dimension]:
    """The same loop nest with fewer loops: none of size 1, and one for neighbours that make one sequence."""
    result: list[Dimension] = []
    for dimension in dimensions:
        if dimension.size == 1:
            continue
        if result:
            outer = result[-1]
            if all(o == i * dimension.size for o, i in zip(outer.steps, dimension.steps, strict=True)):
                result[-1] = Dimension(outer.size * dimension.size, dimension.steps)
                continue
        result.append(dimension)
    return result


def total_size(dimensions: Iterable[Dimension]) -> int:
    """The number of steps of the whole loop nest."""
    return math.prod(dimension.size for dimension in dimensions)


def offsets(dimensions: Sequence[Dimension], array: int) -> np.ndarray:
    """Where each step of the loop nest is in the array of that number, in items: an int64 array in row-major
    order."""
    result = np.zeros(1, np.int64)
    for dimension in dimensions:
        along = np.arange(dimension.size, dtype=np.int64) * dimension.steps[array]
        result = (result[:, None] + along[None, :]).reshape(-1)
    return result


def index_items(indices: np.ndarray) -> np.ndarray:
    """Indices as a flat read-only array of a native integer type; unsigned 64-bit integers as signed ones.

    A value of 2**63 or more becomes negative: `negative_means` says what a loop must take it for.
    """
    from ..launch.compilation import flat

    if indices.dtype.kind not in "iu" or not indices.dtype.isnative:
        indices = indices.astype(np.int64)
    return flat(indices, np.int64 if indices.dtype == np.uint64 else None)


def index_vector_layout(shape: Sequence[int], index_vector_dim: int) -> tuple[list[int], list[int], int, int]:
    """How indices lie: sizes and steps of the dimensions other than `index_vector_dim`, size and step of that
    one."""
    steps = row_major_steps(shape)
    others = [axis for axis in range(len(shape)) if axis != index_vector_dim]
    length, step = (
        (shape[index_vector_dim], steps[index_vector_dim]) if index_vector_dim < len(shape) else (1, 0)
    )
    return [shape[axis] for axis in others], [steps[axis] for axis in others], length, step
