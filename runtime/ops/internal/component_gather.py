"""The operations that the specializer makes of `gather`: the elements of index vectors come as columns.

They occur in specialized programs alone: no text and no bytecode may name them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...types import INTEGER, PLAIN
from ..framework.attribute_kinds import DIMENSIONS
from ..framework.declaration import Array, Attribute, Operand, Result
from ..framework.op_registry import COLUMN_GATHER, FILLED_GATHER
from ..indexing.gather import GatherRules
from ..indexing.index_space import joined_columns, other_dimensions


class IndexedByColumns(GatherRules):
    """`gather` whose start indices are the columns, side by side along a last dimension.

    All columns have one type, whose shape is that of the batch; there is at least one. To a negative index of
    column c `added_to_negative[c]` is added before anything else.
    """

    columns: Any
    offset_dims = Attribute(DIMENSIONS)
    collapsed_slice_dims = Attribute(DIMENSIONS)
    operand_batching_dims = Attribute(DIMENSIONS)
    start_indices_batching_dims = Attribute(DIMENSIONS)
    start_index_map = Attribute(DIMENSIONS)
    slice_sizes = Attribute(DIMENSIONS)
    added_to_negative = Attribute(DIMENSIONS)

    @property
    def index_vector_dim(self) -> int:
        """Where the columns would stand among the dimensions of start_indices."""
        return len(self.columns[0].shape)

    def known_slice_sizes(self) -> Sequence[int]:
        slice_sizes: Sequence[int] = self.slice_sizes
        return slice_sizes

    def verify(self) -> None:
        raise self.unsupported("is made by the specializer alone")

    def start_indices_of(self, columns: Sequence[Array]) -> Array:
        """The index vectors, as int64."""
        return joined_columns(columns, self.added_to_negative)

    def by_start_indices(self) -> Callable[[Array, Array], Array]:
        """The function of operand and index vectors."""
        shape = (*self.columns[0].shape, len(self.columns))
        return self.gather_of(self.operand.shape, shape, self.slice_sizes)

    def reference(self, *operands: Array) -> Any:
        return self.bind()(*operands)


class ColumnGather(IndexedByColumns, name=COLUMN_GATHER):
    """`gather` by columns of indices."""

    operand = Operand(PLAIN)
    columns = Operand(INTEGER, variadic=True)
    result = Result(PLAIN)

    def bind(self) -> Callable[..., Any]:
        gather = self.by_start_indices()
        return lambda operand, *columns: gather(operand, self.start_indices_of(columns))


class FilledGather(IndexedByColumns, name=FILLED_GATHER):
    """`gather` by columns of indices, a slice of which consists of `fill_value` where it would be moved."""

    operand = Operand(PLAIN)
    fill_value = Operand(PLAIN, rank=0)
    columns = Operand(INTEGER, variadic=True)
    result = Result(PLAIN)

    def bind(self) -> Callable[..., Any]:
        gather = self.by_start_indices()
        largest = [self.operand.shape[d] - self.slice_sizes[d] for d in self.start_index_map]
        spread = [1] * self.result.rank
        for d in other_dimensions(self.result.rank, self.offset_dims):
            spread[d] = self.result.shape[d]

        def filled(operand: Array, fill_value: Array, *columns: Array) -> Any:
            start_indices = self.start_indices_of(columns)
            inside = ((start_indices >= 0) & (start_indices <= largest)).all(axis=-1)
            return np.where(inside.reshape(spread), gather(operand, start_indices), fill_value)

        return filled
