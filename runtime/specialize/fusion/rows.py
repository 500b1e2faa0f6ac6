"""Fuses reductions along trailing dimensions with the operations around them: softmax, normalizations.

All values of such a fusion are indexed by the rows and columns of one space, the shape of the operand of its
reductions: tensors of that shape, tensors of its leading dimensions (one element a row), and broadcasts from
one to the other.
"""

from __future__ import annotations

import math

from ...ir import Block, Operation, Value, captured_values, tensor_type
from ...ir.record import Record
from ...ops.framework.op_registry import REDUCE
from ...ops.internal.fusion import ROW_FUSION
from ...types import TensorType
from ..utils.rewriter import has_static_unquantized_types
from .elementwise import MIN_LARGE_SIZE, OperationPredicate
from .grouping import CanGenerate, Grouping, is_rematerializable, reduced_space, replace_groups

MIN_ROWS = 16
"""Rows of a space that is shared among threads: each thread computes whole rows."""
MAX_SMALL_SIZE = 1 << 16
"""Elements of a space up to which one thread computes it."""
MIN_ELEMENTS = 1 << 6
"""Elements of a space below which native code costs more than it saves."""

MAX_LONE_REDUCTION_COLUMNS = 1 << 8
"""Columns up to which generated code reduces rows faster than the kernel, which reduces row by row."""


class Space(Record):
    """The operand shape of a fusion's reductions; the first `row_rank` dimensions index the rows."""

    shape: tuple[int, ...]
    row_rank: int

    @property
    def is_large_enough(self) -> bool:
        size, rows = math.prod(self.shape), math.prod(self.shape[: self.row_rank])
        return size >= MIN_ELEMENTS and (rows >= MIN_ROWS or size <= MAX_SMALL_SIZE)

    def holds(self, shape: tuple[int, ...]) -> bool:
        """Whether a tensor has an element for each element, or for each row, of the space.

        Dimensions of size 1 do not matter.
        """
        sizes = [size for size in shape if size != 1]
        rows = [size for size in self.shape[: self.row_rank] if size != 1]
        return shape == self.shape or sizes == rows


def form_row_fusions(block: Block, generates: OperationPredicate, has_row_tiling: CanGenerate) -> None:
    """Replace each group of operations that can become one loop over rows by a fusion operation."""
    spaces = dict.fromkeys(map(space_of, block.operations))
    for space in spaces:
        if space is not None and space.is_large_enough:
            replace_groups(block, _RowGrouping(block, space, generates), has_row_tiling, ROW_FUSION)


def space_of(operation: Operation) -> Space | None:
    """The space of a reduction of one operand along trailing dimensions; None for other operations."""
    reduced = reduced_space(operation)
    if reduced is None or reduced.last != len(reduced.shape):
        return None
    return Space(reduced.shape, reduced.first)


class _RowGrouping(Grouping):
    """Finds the groups of one block in one space."""

    def __init__(self, block: Block, space: Space, generates: OperationPredicate) -> None:
        self.space = space
        self.fits_space: dict[tuple[int, ...], bool] = {}
        super().__init__(block, space.shape, generates)

    def pays_alone(self) -> bool:
        columns = math.prod(self.space.shape[self.space.row_rank :])
        return columns <= MAX_LONE_REDUCTION_COLUMNS and math.prod(self.space.shape) >= MIN_LARGE_SIZE

    def is_member(self, operation: Operation) -> bool:
        """Whether an operation may be in a group."""
        if len(operation.results) != 1:
            return False
        if operation.name == REDUCE:
            reduces_space = space_of(operation) == self.space and has_static_unquantized_types(operation)
            return reduces_space and not captured_values(operation.regions)
        if not self.holds(operation.results[0]) or is_rematerializable(operation):
            return False
        if not has_static_unquantized_types(operation):
            return False
        values = (*operation.operands, operation.result)
        if operation.name == "stablehlo.reshape":
            return self.holds(operation.operands[0])
        if operation.name == "stablehlo.broadcast_in_dim":
            return True
        shapes = {tensor_type(value).shape for value in values} - {()}
        return not operation.regions and len(shapes) <= 1 and self.generates(operation)

    def holds(self, value: Value) -> bool:
        """Whether a value's shape fits the space; remembered for each shape."""
        type = value.type
        if not isinstance(type, TensorType):
            return False
        fits_space = self.fits_space.get(type.shape)
        if fits_space is None:
            fits_space = self.fits_space[type.shape] = self.space.holds(type.shape)
        return fits_space
