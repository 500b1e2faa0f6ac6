"""Tiling of fusions whose reductions are along trailing dimensions, such as softmax: row by row.

The leading dimensions of the iteration space are the *rows*, the trailing ones, which are reduced, the
*columns*. A row is computed in passes over its columns; each pass may use the reductions of earlier ones. A
value that a later pass needs is recomputed if that is cheap, and buffered otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ....program.ir import Block, Operation, Value
from ....program.ops.framework.declaration import declaration_of
from ..element_costs import cost_of
from .iteration_space import (
    IndexMap,
    IterationSpace,
    check_reduction,
    collapsed_stride,
    needs_no_constant_array,
    reduced_dimensions,
    reductions_of,
    strides_of,
)

NAME = "rows"
"""Name of the task that computes some rows."""

MAX_ROW_BUFFER_BYTES = 1 << 18
"""Bytes of a row's buffers, which are on the stack."""
_MIN_COLUMNS, _MAX_ROWS, _GROUP_BYTES = 64, 4, 8 << 10
"""Minimum columns of rows that are computed together; maximum rows, and bytes, which stay in the L1 cache.
One row at a time takes 1.0 to 1.6 times as long, eight rows 1.0 to 1.1 times (Zen 4)."""
_ROWS_PER_CALL = 32
"""Rows whose results that all columns share are computed in one loop, if that takes long: two vectors of f32.
Log-sum-exp of rows of 64 to 170 columns takes 0.71 to 0.81 of the time, with 16 or 64 rows too (Zen 4)."""
MAX_RECOMPUTED_COST = 6
"""Cost (`cost_of`) up to which a later pass recomputes a value instead of buffering it. With a limit of 1
layer norm takes 1.3 times as long; with exponentials recomputed, softmax takes 1.5 times (Zen 4)."""


class RowTilePlan:
    """How a fusion is computed by rows and columns.

    Attributes:
        shape: of the iteration space.
        row_rank: how many leading dimensions are the rows.
        index_maps: of each value.
        pass_of: the first pass that can compute each value.
        buffered: values that are buffered for a later pass.
    """

    __slots__ = ("buffered", "index_maps", "pass_of", "row_rank", "shape")

    def __init__(self, shape: tuple[int, ...], row_rank: int, index_maps: dict[Value, IndexMap]) -> None:
        self.shape = shape
        self.row_rank = row_rank
        self.index_maps = index_maps
        self.pass_of: dict[Value, int] = {}
        self.buffered: dict[Value, None] = {}

    @property
    def rows(self) -> int:
        return math.prod(self.shape[: self.row_rank])

    @property
    def columns(self) -> int:
        return math.prod(self.shape[self.row_rank :])

    def varies_along_columns(self, value: Value) -> bool:
        """Whether a value depends on the column."""
        return any(axis is not None and axis >= self.row_rank for axis in self.index_maps[value])

    def strides(self, value: Value) -> tuple[int, ...]:
        """The strides of a value, in elements, by dimension of the iteration space."""
        return strides_of(value, self.index_maps[value], len(self.shape))

    def column_stride(self, value: Value) -> int | None:
        """The stride of the collapsed columns; None if there is no single one."""
        return collapsed_stride(self.shape[self.row_rank :], self.strides(value)[self.row_rank :])

    def row_values(self, values: Iterable[Value], is_available: Callable[[Value], bool]) -> list[Value]:
        """The values that are the same for all columns of a row and that `values` are computed from.

        Args:
            is_available: whether a value is in memory, and is not computed again.
        """
        pending, visited = list(values), set[Value]()
        row_values: list[Value] = []
        while pending:
            value = pending.pop()
            if value in visited or is_available(value):
                continue
            visited.add(value)
            if not self.varies_along_columns(value):
                row_values.append(value)
            elif isinstance(value.owner, Operation):
                pending += value.owner.operands
        return row_values


def plan_row_tiling(block: Block) -> RowTilePlan | None:
    """Plan the row tiling of a fusion's block; None if it cannot be tiled so.

    Args:
        block: elementwise operations, broadcasts, reshapes, iotas, constants and reductions; it ends with
            its results.
    """
    reductions = reductions_of(block)
    space = reduced_dimensions(reductions)
    if space is None or any(check_reduction(operation) for operation in reductions):
        return None
    shape, row_rank, last = space
    index_maps = IterationSpace(shape, range(row_rank)).of(block)
    if last != len(shape) or index_maps is None:
        return None
    plan = RowTilePlan(shape, row_rank, index_maps)
    if not _is_addressable(plan, block):
        return None
    _assign_passes(plan, block)
    _choose_buffered(plan, block)
    return plan if buffer_bytes(plan, block) <= MAX_ROW_BUFFER_BYTES else None


def _is_addressable(plan: RowTilePlan, block: Block) -> bool:
    """Whether columns have one stride in each operand, and one row writes each element of a result."""
    if any(plan.column_stride(argument) is None for argument in block.arguments):
        return False
    if not all(map(needs_no_constant_array, block.operations)):
        return False
    for value in block.terminator.operands:
        covered = {axis for axis in plan.index_maps[value] if axis is not None}
        needed = {d for d, size in enumerate(plan.shape) if size > 1}
        if not plan.varies_along_columns(value):
            needed = {d for d in needed if d < plan.row_rank}
        if not covered >= needed or plan.column_stride(value) is None:
            return False
    return True


def _assign_passes(plan: RowTilePlan, block: Block) -> None:
    for argument in block.arguments:
        plan.pass_of[argument] = 0
    for operation in block.operations[:-1]:
        pass_index = max((plan.pass_of[operand] for operand in operation.operands), default=0)
        for result in operation.results:
            plan.pass_of[result] = pass_index + declaration_of(operation).reduces


def _column_outputs(plan: RowTilePlan, block: Block) -> list[Value]:
    """The values by column that are reduced, buffered, or results."""
    outputs = [operation.operands[0] for operation in reductions_of(block)]
    outputs += [value for value in block.terminator.operands if plan.varies_along_columns(value)]
    return list(dict.fromkeys([*outputs, *plan.buffered]))


def pass_outputs(plan: RowTilePlan, block: Block, pass_index: int) -> list[Value]:
    """The values by column that a pass must compute."""
    return [value for value in _column_outputs(plan, block) if plan.pass_of[value] == pass_index]


def pass_count(plan: RowTilePlan, block: Block) -> int:
    """The number of passes over the columns of a row."""
    return 1 + max(plan.pass_of[value] for value in _column_outputs(plan, block))


def _choose_buffered(plan: RowTilePlan, block: Block) -> None:
    """Choose the values to buffer for later passes; the pass of each computes it as one more output."""
    for pass_index in range(1, pass_count(plan, block)):
        costs: dict[Value, int] = {}
        for value in pass_outputs(plan, block, pass_index):
            _cost(plan, value, pass_index, costs)


def _cost(plan: RowTilePlan, value: Value, pass_index: int, costs: dict[Value, int]) -> int:
    """The cost of computing a value in a pass; expensive values of earlier passes become buffered.

    Args:
        costs: those that are known. A value that several operations use costs as much in each of them.
    """
    cost = costs.get(value)
    if cost is None:
        cost = costs[value] = _computed_cost(plan, value, pass_index, costs)
    return cost


def _computed_cost(plan: RowTilePlan, value: Value, pass_index: int, costs: dict[Value, int]) -> int:
    """See `_cost`; the cost of the value is not known yet."""
    operation = value.owner
    if not isinstance(operation, Operation) or not plan.varies_along_columns(value) or value in plan.buffered:
        return 0
    cost = cost_of(operation)
    cost += sum([_cost(plan, operand, pass_index, costs) for operand in operation.operands])
    if cost > MAX_RECOMPUTED_COST and plan.pass_of[value] < pass_index:
        plan.buffered[value] = None
        return 0
    return cost


def buffer_bytes(plan: RowTilePlan, block: Block) -> int:
    """The bytes of a row's buffers: buffered values, and two buffers for each reduction."""
    items = [value.type for value in plan.buffered if value not in block.terminator.operands]
    buffered = sum(_item_bytes(type) for type in items)
    operands = [operation.operands[0] for operation in reductions_of(block)]
    accumulators = sum(2 * max(4, _item_bytes(operand.type)) for operand in operands)
    return plan.columns * (buffered + accumulators)


def operations_after_reductions(plan: RowTilePlan, block: Block) -> list[Operation]:
    """The operations that compute the results which all columns share from the reductions of a row."""
    reductions = set(reductions_of(block))
    pending = [value for value in block.terminator.operands if not plan.varies_along_columns(value)]
    operations: dict[Operation, None] = {}
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Operation) and owner not in reductions and owner not in operations:
            operations[owner] = None
            pending += owner.operands
    return list(operations)


def rows_per_call(plan: RowTilePlan, block: Block, group: int) -> int:
    """The number of rows that a call computes: one group, or several whose results are computed together.

    Args:
        group: the number of rows of a group.
    """
    cost = sum(map(cost_of, operations_after_reductions(plan, block)))
    return group if cost <= MAX_RECOMPUTED_COST else max(group, _ROWS_PER_CALL)


def rows_per_group(plan: RowTilePlan, block: Block) -> int:
    """The number of rows that each pass computes before the next pass starts.

    Short rows gain nothing: out-of-order execution overlaps them. Long rows gain nothing: a pass takes longer
    than the latency at its end.
    """
    if plan.columns < _MIN_COLUMNS:
        return 1
    operands = [value for value in block.arguments if plan.varies_along_columns(value)]
    row_bytes = plan.columns * sum(_item_bytes(value.type) for value in [*operands, *plan.buffered])
    return max(1, min(_MAX_ROWS, _GROUP_BYTES // max(row_bytes, 1)))


def reductions_in_pass(plan: RowTilePlan, block: Block, pass_index: int) -> list[Operation]:
    """The reductions whose operands a pass computes."""
    return [
        operation for operation in reductions_of(block) if plan.pass_of[operation.operands[0]] == pass_index
    ]


def _item_bytes(type: Any) -> int:
    size: int = type.element_type.dtype.itemsize
    return size
