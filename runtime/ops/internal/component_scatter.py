"""The operation that the specializer makes of `scatter`: the elements of index vectors come as columns.

It occurs in specialized programs alone: no text and no bytecode may name it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...types import INTEGER, PLAIN
from ..framework.attribute_kinds import BOOL, DIMENSIONS
from ..framework.declaration import Array, Attribute, Evaluate, Operand, Region, Result
from ..framework.op_registry import COLUMN_SCATTER
from ..indexing.index_space import joined_columns
from ..indexing.scatter_rules import ScatterRules


class ColumnScatter(ScatterRules, name=COLUMN_SCATTER):
    """`scatter` whose index vectors are the columns, side by side along a last dimension.

    All columns have one type, whose shape is that of the batch; there is at least one. To a negative index of
    column c `added_to_negative[c]` is added before anything else.
    """

    inputs = Operand(PLAIN, variadic=True)
    columns = Operand(INTEGER, variadic=True)
    updates = Operand(PLAIN, variadic=True)
    update_window_dims = Attribute(DIMENSIONS)
    inserted_window_dims = Attribute(DIMENSIONS)
    input_batching_dims = Attribute(DIMENSIONS)
    scatter_indices_batching_dims = Attribute(DIMENSIONS)
    scatter_dims_to_operand_dims = Attribute(DIMENSIONS)
    added_to_negative = Attribute(DIMENSIONS)
    indices_are_sorted = Attribute(BOOL, False)
    unique_indices = Attribute(BOOL, False)
    update_computation = Region()
    results = Result(PLAIN, variadic=True)

    def segment_sizes(self, what: str, declared: Sequence[Operand], total: int) -> list[int]:
        """As many updates as inputs, that is as results."""
        if what == "result":
            return super().segment_sizes(what, declared, total)
        count = len(self.operation.results)
        return [count, total - 2 * count, count]

    @property
    def index_vector_dim(self) -> int:
        """Where the columns would stand among the dimensions of scatter_indices."""
        return len(self.columns[0].shape)

    def verify(self) -> None:
        raise self.unsupported("is made by the specializer alone")

    def reference(self, *operands: Array, update_computation: Evaluate) -> Any:
        return self.bind()(*operands, update_computation=update_computation)

    def index_vectors(self, indices: Sequence[Array]) -> Array:
        return joined_columns(indices, self.added_to_negative)

    def bind(self) -> Callable[..., Any]:
        indices_shape = (*self.columns[0].shape, len(self.columns))
        return self.scatter_of(self.inputs[0].shape, indices_shape, self.updates[0].shape)
