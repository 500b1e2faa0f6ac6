"""Shapes to which arrays broadcast, of any rank: NumPy's functions for them take at most 32 dimensions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from ....types import Array

Shape = tuple[int, ...]


def broadcast_shape(left: Array, right: Array) -> Shape:
    shape = left.shape
    return shape if shape == right.shape else broadcast_shapes(shape, right.shape)


def broadcast_shapes(*shapes: Sequence[int]) -> Shape:
    """The shape to which arrays of some shapes broadcast.

    Raises:
        ValueError: they do not.
    """
    sizes = []
    for of_dimension in itertools.zip_longest(*map(reversed, shapes), fillvalue=1):
        size = next((size for size in of_dimension if size != 1), 1)
        if any(other not in (1, size) for other in of_dimension):
            raise ValueError(f"shapes {', '.join(map(str, map(tuple, shapes)))} do not broadcast")
        sizes.append(size)
    return tuple(reversed(sizes))


def broadcast_pair(left: Array, right: Array) -> tuple[Array, Array]:
    """Both arrays in their broadcast shape; an array that becomes larger is read-only."""
    shape = broadcast_shape(left, right)
    return as_broadcast(left, shape), as_broadcast(right, shape)


def as_broadcast(array: Array, shape: Shape) -> Array:
    """The array in a larger shape, or itself where it has that shape."""
    return array if array.shape == shape else np.broadcast_to(array, shape)
