"""Fuses reductions along trailing dimensions with the operations around them: softmax, normalizations.

All values of such a fusion are indexed by the rows and columns of one space, the shape of the operand of its
reductions: tensors of that shape, tensors of its leading dimensions (one element a row), and broadcasts from
one to the other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...program.ir import Block, Operation, Value, captured_values, tensor_type
from ...program.ops.intermediate.fusion import ROW_FUSION
from ...types import TensorType
from ..specialize.framework.operation_classes import is_broadcast, is_reduction, is_reshape
from ..specialize.framework.rewriter import has_static_unquantized_types
from .elementwise import MIN_LARGE_SIZE
from .grouping import ReducedSpace, SpaceGrouping, TilingPredicate, reduced_space, replace_groups
from .groups import OperationPredicate, is_rematerializable
from .operation_kinds import OperationKinds

if TYPE_CHECKING:
    from .refusals import Refusals

MIN_ROWS = 16
"""Rows of a space that is shared among threads: each thread computes whole rows."""
MAX_SMALL_SIZE = 1 << 16
"""Elements of a space up to which one thread computes it."""
MIN_ELEMENTS = 1 << 6
"""Elements of a space below which native code costs more than it saves."""

MAX_LONE_REDUCTION_COLUMNS = 1 << 8
"""Columns up to which generated code reduces rows as a fusion of one reduction, several at a time."""


def form_row_fusions(
    block: Block,
    has_emitter: OperationPredicate,
    has_row_tiling: TilingPredicate,
    refusals: Refusals | None = None,
    kinds: OperationKinds | None = None,
) -> None:
    """Replace each group of operations that can become one loop over rows by a fusion operation.

    Args:
        refusals: where it is noted why operations are not fused.
        kinds: those of the block's operations, if they are shared with other passes.
    """
    kinds = kinds or OperationKinds()
    row_space = kinds.by_kind(_row_space)
    for space in dict.fromkeys(map(row_space, filter(is_reduction, block.operations))):
        if space is not None and _is_large_enough(space):
            grouping = _RowGrouping(block, space, has_emitter, kinds)
            replace_groups(block, grouping, has_row_tiling, ROW_FUSION, refusals)


def _row_space(operation: Operation) -> ReducedSpace | None:
    """The space of a reduction along trailing dimensions; None for other operations."""
    space = reduced_space(operation)
    return space if space is not None and space.last == len(space.shape) else None


def _is_large_enough(space: ReducedSpace) -> bool:
    size, rows = math.prod(space.shape), math.prod(space.shape[: space.first])
    return size >= MIN_ELEMENTS and (rows >= MIN_ROWS or size <= MAX_SMALL_SIZE)


class _RowGrouping(SpaceGrouping):
    """Finds the groups of one block in one space."""

    def __init__(
        self, block: Block, space: ReducedSpace, has_emitter: OperationPredicate, kinds: OperationKinds
    ) -> None:
        self.space = space
        super().__init__(block, space.shape, has_emitter, kinds.by_kind(self.is_member))

    def pays_alone(self) -> bool:
        columns = math.prod(self.space.shape[self.space.first :])
        return columns <= MAX_LONE_REDUCTION_COLUMNS and math.prod(self.space.shape) >= MIN_LARGE_SIZE

    def is_member(self, operation: Operation) -> bool:
        """Whether an operation may be in a group."""
        if len(operation.results) != 1:
            return False
        if is_reduction(operation):
            reduces_space = _row_space(operation) == self.space and has_static_unquantized_types(operation)
            return reduces_space and not captured_values(operation.regions)
        if not self.has_shape_in_space(operation.results[0]) or is_rematerializable(operation):
            return False
        if not has_static_unquantized_types(operation):
            return False
        values = (*operation.operands, operation.result)
        if is_reshape(operation):
            return self.has_shape_in_space(operation.operands[0])
        if is_broadcast(operation):
            return True
        shapes = {tensor_type(value).shape for value in values} - {()}
        return not operation.regions and len(shapes) <= 1 and self.has_emitter(operation)

    def has_shape_in_space(self, value: Value) -> bool:
        """Whether a tensor has an element for each element, or for each row, of the space.

        Dimensions of size 1 do not matter.
        """
        type = value.type
        if not isinstance(type, TensorType):
            return False
        sizes = [size for size in type.shape if size != 1]
        rows = [size for size in self.space.shape[: self.space.first] if size != 1]
        return type.shape == self.space.shape or sizes == rows
