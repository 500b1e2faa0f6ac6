"""The base of `gather` and `scatter`: index vectors, and shapes composed of batch and window sizes.

Source: specification, sections "gather" and "scatter".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....errors import counted
from ....types import DYNAMIC, Array, TensorType
from ..framework import constraints, rules
from ..framework.declaration import Constraint
from ..framework.elements import Index, inserted

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


def start_index(indices: Array, batch_index: Index, index_vector_dim: int) -> list[int]:
    """``start_index``: the index vector at `batch_index`, as `gather` and `scatter` define it."""
    if index_vector_dim < indices.ndim:
        vector = indices[inserted(batch_index, slice(None), [index_vector_dim])]
    else:
        vector = indices[batch_index].reshape(1)
    return [int(component) for component in vector]


def full_batching_index(
    rank: int,
    batch_index: Index,
    operand_batching_dims: Sequence[int],
    start_indices_batching_dims: Sequence[int],
    index_vector_dim: int,
) -> list[int]:
    """``full_batching_index`` of a tensor of `rank`, as `gather` and `scatter` define it."""
    index = [0] * rank
    for d_operand, d_start in zip(operand_batching_dims, start_indices_batching_dims, strict=True):
        index[d_operand] = batch_index[d_start - (0 if d_start < index_vector_dim else 1)]
    return index


def index_sum(*indices: Sequence[int]) -> Index:
    """The sum of indices, dimension by dimension."""
    return tuple(map(sum, zip(*indices, strict=True)))
