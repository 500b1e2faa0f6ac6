"""The offsets of windows at index vectors, computed for all windows at once.

Source: specification, sections "gather" and "scatter".
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from ....types import Array
from ...ir.affine import row_major_strides
from .index_space import as_indices, batch_sizes, combine, other_dimensions


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
