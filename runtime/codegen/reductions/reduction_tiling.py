"""How reductions with the elementwise work before them are computed block by block.

The values of such a cluster are functions of a point (outer, reduced, inner) in the space of its reductions,
whose reduced dimensions are adjacent. A block has so many places along these that it is a part of the tree of
adjacent pairs; it gives a total for each of its inner places, and the totals are folded at last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...ir import Block, Operation, Value
from ..coverage import ViewOf
from .iteration_space import Axes, AxesOf, is_computed, one_step, reduction_problem, shape_of, steps_of
from .row_tiling import cost_of

BLOCK_ELEMENTS = 1 << 14
"""At least, where there are so many; with more elements blocks grow."""
MOST_BLOCK_ELEMENTS = 1 << 17
ENOUGH_BLOCKS = 1 << 5
LONG_BLOCK = 1 << 11
"""Places of a block along the reduced dimensions where there are no inner ones."""
MOST_INNER = 1 << 10
LEAST_INNER = 16
"""Fewer inner places do not fill a vector."""


MOST_TOGETHER = 8
"""Rows that are computed side by side, if their work is small."""
_MOST_WORK_TOGETHER = 64


def rows_together(work: int) -> int:
    """How many rows are computed side by side, if an element costs that much work: a power of two."""
    fitting = max(1, _MOST_WORK_TOGETHER // max(work, 1))
    return min(MOST_TOGETHER, 1 << (fitting.bit_length() - 1))


class Steps(NamedTuple):
    """How far apart in a value's memory neighbours along the three directions lie."""

    outer: int
    reduced: int
    inner: int


class ReductionForm(NamedTuple):
    """A cluster's values in the space of its reductions.

    Attributes:
        shape: the space.
        first, last: its dimensions from `first` up to, but without, `last` are reduced.
        axes: of each value.
    """

    shape: tuple[int, ...]
    first: int
    last: int
    axes: dict[Value, Axes]

    @property
    def outer(self) -> int:
        return math.prod(self.shape[: self.first])

    @property
    def reduced(self) -> int:
        return math.prod(self.shape[self.first : self.last])

    @property
    def inner(self) -> int:
        return math.prod(self.shape[self.last :])

    @property
    def block_inner(self) -> int:
        """Inner places of a block."""
        return min(self.inner, MOST_INNER)

    @property
    def block_reduced(self) -> int:
        """Reduced places of a block: a power of two."""
        if self.inner == 1:
            return LONG_BLOCK
        share = math.prod(self.shape) // ENOUGH_BLOCKS
        elements = min(max(share, BLOCK_ELEMENTS), MOST_BLOCK_ELEMENTS)
        return 1 << ((elements // self.block_inner).bit_length() - 1)

    @property
    def blocks(self) -> int:
        """Blocks along the reduced dimensions."""
        return -(-self.reduced // self.block_reduced)

    @property
    def inner_blocks(self) -> int:
        return -(-self.inner // self.block_inner)

    @property
    def units(self) -> int:
        """All blocks."""
        return self.outer * self.blocks * self.inner_blocks

    def rows_together(self, block: Block) -> int:
        """How many rows along the inner dimensions are computed side by side: a power of two."""
        bodies = [operation.regions[0].block for operation in reductions_of(block)]
        done = [operation for part in (block, *bodies) for operation in part.operations[:-1]]
        work = sum(cost_of(operation) for operation in done if operation.name != "stablehlo.reduce")
        return min(self.block_reduced, rows_together(work))

    def steps(self, value: Value) -> Steps | None:
        """The steps of a value; None where neighbours along a direction lie at several distances."""
        steps = steps_of(value, self.axes[value], len(self.shape))
        first, last = self.first, self.last
        outer = one_step(self.shape[:first], steps[:first])
        reduced = one_step(self.shape[first:last], steps[first:last])
        inner = one_step(self.shape[last:], steps[last:])
        if outer is None or reduced is None or inner is None:
            return None
        return Steps(outer, reduced, inner)


def reductions_of(block: Block) -> list[Operation]:
    """The reductions of a block."""
    return [operation for operation in block.operations if operation.name == "stablehlo.reduce"]


def reduction_form(block: Block, view_of: ViewOf) -> ReductionForm | None:
    """The form of a cluster's block, or None where it has none.

    Args:
        block: elementwise operations, broadcasts, constants and reductions; it ends with its results, which
            are those of the reductions and values of the reductions' shape.
        view_of: gives an operation's view.
    """
    reductions = reductions_of(block)
    space = _space(reductions, view_of)
    if space is None or any(reduction_problem(operation, view_of) for operation in reductions):
        return None
    shape, first, last = space
    totals = {operation.result for operation in reductions}
    if any(not totals.isdisjoint(operation.operands) for operation in block.operations[:-1]):
        return None
    kept = [d for d in range(len(shape)) if not first <= d < last]
    axes = AxesOf(shape, kept, view_of).of(block)
    if axes is None or not all(map(is_computed, block.operations)):
        return None
    form = ReductionForm(shape, first, last, axes)
    if form.inner != 1 and form.inner < LEAST_INNER:
        return None
    whole = all(value in totals or shape_of(value) == shape for value in block.terminator.operands)
    if not whole or any(form.steps(argument) is None for argument in block.arguments):
        return None
    return form


def _space(reductions: Sequence[Operation], view_of: ViewOf) -> tuple[tuple[int, ...], int, int] | None:
    """The shape that all reductions have, and between which of its dimensions they reduce."""
    spaces = set()
    for operation in reductions:
        shape, dimensions = shape_of(operation.operands[0]), sorted(view_of(operation).dimensions)
        if not dimensions or dimensions != list(range(dimensions[0], dimensions[-1] + 1)):
            return None
        if not math.prod(shape):
            return None
        spaces.add((shape, dimensions[0], dimensions[-1] + 1))
    return spaces.pop() if len(spaces) == 1 else None
