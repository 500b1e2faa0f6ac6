"""The base of `gather` and `scatter`: index vectors, and shapes composed of batch and window sizes.

Source: specification, sections "gather" and "scatter".
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import counted
from ...ir.affine import row_major_strides
from ...types import DYNAMIC, Array, TensorType
from ..framework import constraints, rules
from ..framework.declaration import Constraint

LARGEST_INDEX = np.iinfo(np.int64).max


def index_vector_size(indices: TensorType, index_vector_dim: int) -> int:
    """The size of an index vector: 1 where `index_vector_dim` is the rank of `indices`."""
    return indices.shape[index_vector_dim] if 0 <= index_vector_dim < indices.rank else 1


def has_index_vector_size(name: str, indices: str) -> Constraint:
    """A list must have as many elements as an index vector."""

    def check(view: Any) -> str | None:
        size = index_vector_size(getattr(view, indices), view.index_vector_dim)
        return rules.length_is(name, len(getattr(view, name)), size, "the size of an index vector")

    return Constraint(
        check, f"size({name}) = index_vector_dim < rank({indices}) ? dim({indices}, index_vector_dim) : 1"
    )


def index_vector_dim_in_range(indices: str) -> Constraint:
    """index_vector_dim must be a dimension of the indices, or their rank."""

    def check(view: Any) -> str | None:
        rank = getattr(view, indices).rank
        return rules.in_range(
            "index_vector_dim", [view.index_vector_dim], 0, rank + 1, f"rank({indices}) + 1"
        )

    return Constraint(check, f"0 <= index_vector_dim <= rank({indices})")


def rank_is_sum(operand: str, *lists: str) -> Constraint:
    """Each dimension of an operand must be in one of some lists, as far as their sizes show."""

    def check(view: Any) -> str | None:
        ((_, type),) = constraints.named_types(view, [operand])
        sizes = [len(getattr(view, name)) for name in lists]
        if type.rank == sum(sizes):
            return None
        names = f"{', '.join(lists[:-1])} and {lists[-1]}"
        added = " + ".join(map(str, sizes))
        return f"{operand} has rank {type.rank}, but {names} have {added} = {counted(sum(sizes), 'element')}"

    return Constraint(check, f"rank({operand}) = {' + '.join(f'size({name})' for name in lists)}")


def batch_sizes(indices: Sequence[int], index_vector_dim: int) -> list[int]:
    """The shape of indices without the size of `index_vector_dim`."""
    return [size for d, size in enumerate(indices) if d != index_vector_dim]


def remaining_sizes(sizes: Sequence[int], *dropped: Sequence[int]) -> list[int]:
    """The sizes of the dimensions that are in none of the lists `dropped`."""
    return [size for d, size in enumerate(sizes) if not any(d in dimensions for dimensions in dropped)]


def other_dimensions(rank: int, dimensions: Sequence[int]) -> list[int]:
    """The dimensions below `rank` that are not in `dimensions`."""
    return [d for d in range(rank) if d not in dimensions]


def combine(batch: Sequence[int], window: Sequence[int], window_dims: Sequence[int]) -> list[int]:
    """A shape with the sizes `window` at `window_dims` and the sizes `batch` at the other dimensions."""
    remaining, shape = list(batch), dict(zip(window_dims, window, strict=False))
    combined = []
    for d in range(len(batch) + len(window)):
        combined.append(shape[d] if d in shape else remaining.pop(0) if remaining else DYNAMIC)
    return combined


def as_indices(array: Array) -> Array:
    """Integers of any type as int64; larger values become the maximum, which is also out of bounds."""
    if array.dtype == np.uint64:
        return np.minimum(array, np.uint64(LARGEST_INDEX)).astype(np.int64)
    return np.asarray(array).astype(np.int64, copy=False)


def index_vectors(indices: Array, index_vector_dim: int) -> Array:
    """Index vectors as int64, of shape [size of an index vector, number of index vectors]."""
    vectors = np.moveaxis(indices, index_vector_dim, 0) if index_vector_dim < indices.ndim else indices[None]
    return as_indices(vectors).reshape(len(vectors), math.prod(vectors.shape[1:]))


def stacked_components(components: Sequence[Array], added_to_negative: Sequence[int]) -> Array:
    """Index vectors as int64, along a last dimension, of columns for each of their elements.

    To a negative index of column c `added_to_negative[c]` is added.
    """
    adjusted = []
    for column, added in zip(components, added_to_negative, strict=True):
        indices = as_indices(column)
        adjusted.append(np.where(indices < 0, indices + added, indices) if added else indices)
    return np.stack(adjusted, -1)


class IndexedWindows:
    """Windows of a tensor at index vectors: the offsets of their elements in the flattened tensor.

    The space of all elements has the dimensions of the batch (one point for each index vector) and, at
    `window_dims`, those of a window. Names are those of `gather`.

    Args:
        shape: of the tensor.
        indices_shape: of the indices.
        index_vector_dim: the dimension of the indices that has the components of an index vector.
        start_index_map: the dimension of the tensor for each element of an index vector.
        operand_batching_dims, start_indices_batching_dims: corresponding dimensions of tensor and indices.
        window: for each dimension of a window, the corresponding dimension of the tensor, and the size.
        window_dims: the dimensions of the space that are those of a window; ascending.
    """

    def __init__(
        self,
        shape: Sequence[int],
        indices_shape: Sequence[int],
        index_vector_dim: int,
        start_index_map: Sequence[int],
        operand_batching_dims: Sequence[int],
        start_indices_batching_dims: Sequence[int],
        window: Sequence[tuple[int, int]],
        window_dims: Sequence[int],
    ) -> None:
        batch_shape = batch_sizes(indices_shape, index_vector_dim)
        strides = row_major_strides(shape)
        rank = len(batch_shape) + len(window)
        batch_dims = other_dimensions(rank, window_dims)
        rank_of_indices = len(indices_shape)
        vectors_first = sorted(range(rank_of_indices), key=lambda d: d != index_vector_dim)
        self.vectors_first = vectors_first if index_vector_dim < rank_of_indices else None
        self.shape = combine(batch_shape, [size for _, size in window], window_dims)
        self.batch_size = math.prod(batch_shape)
        self.start_strides = np.array([strides[d] for d in start_index_map], np.int64)
        self.broadcast_batch = [1] * rank
        for d, size in zip(batch_dims, batch_shape, strict=True):
            self.broadcast_batch[d] = size
        self.batching_and_window = np.zeros([1] * rank, np.int64)
        for d_operand, d_start in zip(operand_batching_dims, start_indices_batching_dims, strict=True):
            d = d_start - (0 if d_start < index_vector_dim else 1)
            self._add(np.arange(batch_shape[d]) * strides[d_operand], batch_dims[d])
        for (d_operand, size), d in zip(window, window_dims, strict=True):
            self._add(np.arange(size) * strides[d_operand], d)

    def _add(self, positions: Array, d: int) -> None:
        """Add offsets that depend on the index along one dimension of the space."""
        self.batching_and_window = self.batching_and_window + self.along(positions, d)

    def along(self, values: Array, d: int) -> Array:
        """A value for each index along dimension `d`, in a shape that broadcasts to the space."""
        return values.reshape([-1 if other == d else 1 for other in range(len(self.broadcast_batch))])

    def starts(self, indices: Array) -> Array:
        """Index vectors as int64, of shape [size of an index vector, number of index vectors]."""
        if self.vectors_first is not None:
            indices = indices.transpose(self.vectors_first)
        return as_indices(indices).reshape(len(self.start_strides), self.batch_size)

    def over_batch(self, values: Array) -> Array:
        """A value for each index vector, in a shape that broadcasts to the space."""
        return values.reshape(self.broadcast_batch)

    def positions(self, starts: Array) -> Array:
        """The offset of each element, in the shape of the space, for windows that start at `starts`."""
        # NumPy multiplies matrices of integers slowly.
        scaled = [
            row if stride == 1 else row * stride
            for stride, row in zip(self.start_strides, starts, strict=True)
        ]
        if not scaled:
            # Empty index vectors need no memory, so their number may exceed what an array could hold.
            return np.broadcast_to(self.batching_and_window, self.shape)
        return self.batching_and_window + self.over_batch(functools.reduce(np.add, scaled))
