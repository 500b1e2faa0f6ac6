"""How a cluster with reductions along trailing dimensions is computed row by row.

All values of such a cluster are functions of a point in one space of dimensions: the leading ones number
the *rows*, the trailing ones, which are reduced, the *columns*. A row is computed in passes over its columns;
the reductions of one pass are known in the next. What a later pass needs again is computed again where that
is cheap, and kept in a buffer otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...ir import Block, Operation, Value
from ...kernels.launch.processor import has_fast_division
from ..coverage import ViewOf
from .iteration_space import (
    Axes,
    AxesOf,
    combines_by,
    element_type_of,
    is_computed,
    one_step,
    reduction_problem,
    shape_of,
    steps_of,
)

NAME = "rows"
"""Of the function that computes some rows."""

MOST_BUFFER_BYTES = 1 << 18
"""A row's buffers lie on the stack."""
_LEAST_COLUMNS, _MOST_ROWS, _GROUP_BYTES = 64, 4, 8 << 10
"""Rows of so many columns are computed together: so many at most, and no more bytes than stay at hand."""
CHEAP = 6
"""The cost up to which a value is computed again in a later pass."""
EXPENSIVE = 16

_CHEAP_OPERATIONS = {"chlo.square"} | frozenset(
    f"stablehlo.{name}"
    for name in (
        "abs", "add", "and", "broadcast_in_dim", "clamp", "compare", "constant", "convert", "iota", "maximum",
        "minimum", "multiply", "negate", "not", "or", "reshape", "select", "subtract", "xor",
    )
)  # fmt: skip


class RowForm:
    """A cluster's values in the space of its rows and columns.

    Attributes:
        shape: the space.
        row_rank: how many of its dimensions number the rows.
        axes: of each value.
        levels: the pass in which each value can first be computed.
        saved: values that are kept in a buffer for a later pass.
    """

    __slots__ = ("axes", "levels", "row_rank", "saved", "shape")

    def __init__(self, shape: tuple[int, ...], row_rank: int, axes: dict[Value, Axes]) -> None:
        self.shape = shape
        self.row_rank = row_rank
        self.axes = axes
        self.levels: dict[Value, int] = {}
        self.saved: dict[Value, None] = {}

    @property
    def rows(self) -> int:
        return math.prod(self.shape[: self.row_rank])

    @property
    def columns(self) -> int:
        return math.prod(self.shape[self.row_rank :])

    def along_columns(self, value: Value) -> bool:
        """Whether a value differs from column to column."""
        return any(axis is not None and axis >= self.row_rank for axis in self.axes[value])

    def steps(self, value: Value) -> tuple[int, ...]:
        """How far apart in a value's memory neighbours along each dimension of the space lie."""
        return steps_of(value, self.axes[value], len(self.shape))

    def column_step(self, value: Value) -> int | None:
        """How far apart neighbouring columns lie; None where that is not one number."""
        return one_step(self.shape[self.row_rank :], self.steps(value)[self.row_rank :])


def row_form(block: Block, view_of: ViewOf) -> RowForm | None:
    """The form of a cluster's block, or None where it has none.

    Args:
        block: elementwise operations, broadcasts, reshapes, iotas, constants and reductions; it ends with
            its results.
        view_of: gives an operation's view.
    """
    reductions = [operation for operation in block.operations if operation.name == "stablehlo.reduce"]
    space = _space(reductions, view_of)
    if space is None or any(reduction_problem(operation, view_of) for operation in reductions):
        return None
    axes = AxesOf(space[0], range(space[1]), view_of).of(block)
    if axes is None:
        return None
    form = RowForm(space[0], space[1], axes)
    if not _is_addressable(form, block):
        return None
    _find_levels(form, block)
    _find_saved(form, block)
    return form if buffer_bytes(form, block) <= MOST_BUFFER_BYTES else None


def _space(reductions: Sequence[Operation], view_of: ViewOf) -> tuple[tuple[int, ...], int] | None:
    """The shape that all reductions have, and how many of its dimensions they leave."""
    spaces = set()
    for operation in reductions:
        shape, dimensions = shape_of(operation.operands[0]), sorted(view_of(operation).dimensions)
        if not dimensions or dimensions != list(range(dimensions[0], len(shape))) or not math.prod(shape):
            return None
        spaces.add((shape, dimensions[0]))
    return spaces.pop() if len(spaces) == 1 else None


def _is_addressable(form: RowForm, block: Block) -> bool:
    """Whether operands can be read column by column, and each result's element has one row that writes it."""
    if any(form.column_step(argument) is None for argument in block.arguments):
        return False
    if not all(map(is_computed, block.operations)):
        return False
    for value in block.terminator.operands:
        covered = {axis for axis in form.axes[value] if axis is not None}
        needed = {d for d, size in enumerate(form.shape) if size > 1}
        if not form.along_columns(value):
            needed = {d for d in needed if d < form.row_rank}
        if not covered >= needed or form.column_step(value) is None:
            return False
    return True


def _find_levels(form: RowForm, block: Block) -> None:
    for argument in block.arguments:
        form.levels[argument] = 0
    for operation in block.operations[:-1]:
        level = max((form.levels[operand] for operand in operation.operands), default=0)
        for result in operation.results:
            form.levels[result] = level + (operation.name == "stablehlo.reduce")


def _wanted(form: RowForm, block: Block) -> list[Value]:
    """The values along columns that are reduced, kept, or results."""
    reductions = [operation for operation in block.operations if operation.name == "stablehlo.reduce"]
    wanted = [operation.operands[0] for operation in reductions]
    wanted += [value for value in block.terminator.operands if form.along_columns(value)]
    return list(dict.fromkeys([*wanted, *form.saved]))


def sinks(form: RowForm, block: Block, level: int) -> list[Value]:
    """The values along columns that a pass must compute."""
    return [value for value in _wanted(form, block) if form.levels[value] == level]


def pass_count(form: RowForm, block: Block) -> int:
    """How many passes over the columns a row takes."""
    return 1 + max(form.levels[value] for value in _wanted(form, block))


def _find_saved(form: RowForm, block: Block) -> None:
    """Decide which values are kept for later passes; each is one more that its own pass computes."""
    for level in range(1, pass_count(form, block)):
        for value in sinks(form, block, level):
            _cost(form, value, level)


def cost_of(operation: Operation) -> int:
    """What computing an operation on one element costs, about."""
    return 1 if operation.name in _CHEAP_OPERATIONS else EXPENSIVE


def _cost(form: RowForm, value: Value, level: int) -> int:
    """What computing a value in a pass costs; values of earlier passes for which that is much are kept."""
    operation = value.owner
    if not isinstance(operation, Operation) or not form.along_columns(value) or value in form.saved:
        return 0
    cost = cost_of(operation) + sum(_cost(form, operand, level) for operand in operation.operands)
    if cost > CHEAP and form.levels[value] < level:
        form.saved[value] = None
        return 0
    return cost


def buffer_bytes(form: RowForm, block: Block) -> int:
    """The bytes of a row's buffers: kept values, and two for reductions."""
    items = [value.type for value in form.saved if value not in block.terminator.operands]
    kept = sum(_item_bytes(type) for type in items)
    reductions = [operation for operation in block.operations if operation.name == "stablehlo.reduce"]
    folded = sum(2 * max(4, _item_bytes(operation.operands[0].type)) for operation in reductions)
    return form.columns * (kept + folded)


def group_size(form: RowForm, block: Block) -> int:
    """How many rows each pass goes through before the next one.

    Short rows gain nothing, for processors look ahead past them; of long ones, passes last longer than what
    they wait for.
    """
    if form.columns < _LEAST_COLUMNS:
        return 1
    read = [value for value in block.arguments if form.along_columns(value)]
    row = form.columns * sum(_item_bytes(value.type) for value in [*read, *form.saved])
    return max(1, min(_MOST_ROWS, _GROUP_BYTES // max(row, 1)))


def is_less_its_greatest(value: Value) -> bool:
    """Whether a value along the columns is another one less the greatest that this has in the row, as in a
    softmax: not positive, or NaN."""
    operation = value.owner
    if not isinstance(operation, Operation) or operation.name != "stablehlo.subtract":
        return False
    whole, pending = operation.operands[0], [operation.operands[1]]
    while pending:
        maker = pending.pop().owner
        if not isinstance(maker, Operation):
            continue
        if maker.name == "stablehlo.reduce" and maker.operands[0] is whole:
            return combines_by(maker.regions[0].block) == "stablehlo.maximum"
        if maker.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.maximum"):
            pending += maker.operands
    return False


def reductions_at(form: RowForm, block: Block, level: int) -> list[Operation]:
    """The reductions whose operands a pass computes."""
    return [
        operation
        for operation in block.operations
        if operation.name == "stablehlo.reduce" and form.levels[operation.operands[0]] == level
    ]


def row_divisor(form: RowForm, operation: Operation) -> Value | None:
    """What does not vary along the columns, of f32, where an operation divides by it what does, and something
    else than divisions is quicker."""
    is_of_f32 = operation.name == "stablehlo.divide" and element_type_of(operation.result).name == "f32"
    if not is_of_f32 or has_fast_division():
        return None
    dividend, divisor = operation.operands
    while isinstance(divisor.owner, Operation) and divisor.owner.name == "stablehlo.broadcast_in_dim":
        divisor = divisor.owner.operands[0]
    is_one = form.along_columns(dividend) and not form.along_columns(divisor)
    return divisor if is_one else None


def _item_bytes(type: Any) -> int:
    size: int = type.element_type.dtype.itemsize
    return size
