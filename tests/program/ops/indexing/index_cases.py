"""Random shapes, dimension numbers and indices for `gather` and `scatter`."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from hypothesis import strategies as st

from nimblehlo.types import ELEMENT_TYPES

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class IndexCase:
    """Dimension numbers that satisfy all constraints, under names that do for both operations.

    Attributes:
        shape: of `operand` or `inputs`.
        slice_sizes: the window's size along each of its dimensions (1 along those that are dropped).
        indices: `start_indices` or `scatter_indices`.
        index_type: their element type.
        index_vector_dim: as in the specification.
        index_map: `start_index_map` or `scatter_dims_to_operand_dims`.
        dropped_dims: `collapsed_slice_dims` or `inserted_window_dims`.
        batching_dims: `operand_batching_dims` or `input_batching_dims`.
        indices_batching_dims: of the indices.
        window_dims: `offset_dims` or `update_window_dims`.
        space: the shape of the result of `gather`, of the updates of `scatter`.
    """

    shape: list[int]
    slice_sizes: list[int]
    indices: Array
    index_type: str
    index_vector_dim: int
    index_map: list[int]
    dropped_dims: list[int]
    batching_dims: list[int]
    indices_batching_dims: list[int]
    window_dims: list[int]
    space: list[int]

    def start_index(self, indices: Array, batch_index: tuple[int, ...]) -> list[int]:
        """The index vector of a batch index."""
        if self.index_vector_dim == indices.ndim:
            return [int(indices[batch_index])]
        k = self.index_vector_dim
        return [int(value) for value in indices[(*batch_index[:k], slice(None), *batch_index[k:])]]

    def full_batching_index(self, batch_index: tuple[int, ...]) -> list[int]:
        """What a batch index adds to the index of an element."""
        index = [0] * len(self.shape)
        for d, d_start in zip(self.batching_dims, self.indices_batching_dims, strict=True):
            index[d] = batch_index[d_start - (0 if d_start < self.index_vector_dim else 1)]
        return index

    def full_window_index(self, window_index: tuple[int, ...]) -> list[int]:
        """What an index in the window adds to the index of an element."""
        index, remaining = [], list(window_index)
        for d in range(len(self.shape)):
            inserted = d in self.dropped_dims or d in self.batching_dims
            index.append(0 if inserted else remaining.pop(0))
        return index


@st.composite
def index_cases(draw: st.DrawFn) -> IndexCase:
    """Any dimension numbers, window sizes and indices; some indices lie outside."""
    rank = draw(st.integers(0, 4))
    shape = [draw(st.integers(1, 4)) for _ in range(rank)]
    roles = [draw(st.sampled_from(["window", "dropped", "batching"])) for _ in range(rank)]
    batching_dims = [d for d in range(rank) if roles[d] == "batching"]
    dropped_dims = [d for d in range(rank) if roles[d] == "dropped"]
    mappable = [d for d in range(rank) if roles[d] != "batching"]
    index_map = draw(st.permutations(mappable))[: draw(st.integers(0, len(mappable)))]
    slice_sizes = [draw(st.integers(0, shape[d])) if roles[d] == "window" else 1 for d in range(rank)]

    extra = [(None, draw(st.integers(0, 3))) for _ in range(draw(st.integers(0, 2)))]
    batch = draw(st.permutations([*[(d, shape[d]) for d in batching_dims], *extra]))
    sizes = [size for _, size in batch]
    position = draw(st.integers(0, len(batch)))
    implicit = len(index_map) == 1 and draw(st.booleans())
    indices_shape = sizes if implicit else [*sizes[:position], len(index_map), *sizes[position:]]
    index_vector_dim = len(sizes) if implicit else position
    places = {d: place for place, (d, _) in enumerate(batch)}
    indices_batching_dims = [places[d] + (places[d] >= index_vector_dim) for d in batching_dims]

    index_type = draw(st.sampled_from(["i8", "i32", "i64", "ui8", "ui64"]))
    far = [100] if index_type.endswith("8") else [100, np.iinfo(ELEMENT_TYPES[index_type].dtype).max]
    near = st.integers(0 if index_type.startswith("u") else -3, 5)
    values = [draw(near | st.sampled_from(far)) for _ in range(int(np.prod(indices_shape)))]
    indices = np.array(values, ELEMENT_TYPES[index_type].dtype).reshape(indices_shape)

    window = [size for d, size in enumerate(slice_sizes) if roles[d] == "window"]
    space_rank = len(sizes) + len(window)
    window_dims = sorted(draw(st.permutations(range(space_rank)))[: len(window)])
    remaining = {True: list(window), False: list(sizes)}
    space = [remaining[d in window_dims].pop(0) for d in range(space_rank)]
    return IndexCase(
        shape,
        slice_sizes,
        indices,
        index_type,
        index_vector_dim,
        list(index_map),
        dropped_dims,
        batching_dims,
        indices_batching_dims,
        window_dims,
        space,
    )
