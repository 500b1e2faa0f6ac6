"""How a cluster with reductions along trailing dimensions is computed row by row.

All values of such a cluster are functions of a point in one space of dimensions: the leading ones number
the *rows*, the trailing ones, which are reduced, the *columns*. A row is computed in passes over its columns;
the reductions of one pass are known in the next. What a later pass needs again is computed again where that
is cheap, and kept in a buffer otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ..ir import Block, Operation, Value
from ..types import COMPLEX, FLOAT, INTEGER, ElementType
from .blocks import ViewOf, block_problem, is_plain
from .elementwise import emits

Axes = tuple[int | None, ...]
"""For each dimension of a value the dimension of the space that it follows; None where its size is 1."""

MOST_BUFFER_BYTES = 1 << 18
"""A row's buffers lie on the stack."""
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
_EXACT = frozenset(f"stablehlo.{name}" for name in ("and", "maximum", "minimum", "or", "xor"))
_EXACT_ON_INTEGERS = frozenset({"stablehlo.add", "stablehlo.multiply"})
WIDENED = frozenset({"stablehlo.add", "stablehlo.multiply"})
"""Reductions of floats narrower than f32 by these are made in f32 and rounded once."""


@dataclass(frozen=True, slots=True)
class RowForm:
    """A cluster's values in the space of its rows and columns.

    Attributes:
        shape: the space.
        row_rank: how many of its dimensions number the rows.
        axes: of each value.
        levels: the pass in which each value can first be computed.
        saved: values that are kept in a buffer for a later pass.
    """

    shape: tuple[int, ...]
    row_rank: int
    axes: dict[Value, Axes]
    levels: dict[Value, int] = field(default_factory=dict)
    saved: dict[Value, None] = field(default_factory=dict)

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
        steps = [0] * len(self.shape)
        shape = _shape(value)
        for d, axis in enumerate(self.axes[value]):
            if axis is not None:
                steps[axis] = math.prod(shape[d + 1 :])
        return tuple(steps)

    def column_step(self, value: Value) -> int | None:
        """How far apart neighbouring columns lie; None where that is not one number."""
        sizes, steps = self.shape[self.row_rank :], self.steps(value)[self.row_rank :]
        significant = [(size, step) for size, step in zip(sizes, steps, strict=True) if size > 1]
        if not significant:
            return 0
        for (_, outer), (size, inner) in pairwise(significant):
            if outer != size * inner:
                return None
        return significant[-1][1]


def _shape(value: Value) -> tuple[int, ...]:
    type: Any = value.type
    return tuple(type.shape)


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
    axes = _AxesOf(space[0], space[1], view_of).of(block)
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
        shape, dimensions = _shape(operation.operands[0]), sorted(view_of(operation).dimensions)
        if not dimensions or dimensions != list(range(dimensions[0], len(shape))) or not math.prod(shape):
            return None
        spaces.add((shape, dimensions[0]))
    return spaces.pop() if len(spaces) == 1 else None


def reduction_problem(operation: Operation, view_of: ViewOf) -> str | None:
    """Why a reduction cannot be part of a cluster of rows, or None where it can."""
    if len(operation.operands) != 2:
        return "has several inputs"
    kind: Any = operation.operands[0].type
    if not is_plain(kind) or kind.category == COMPLEX:
        return f"is of {kind}"
    body = view_of(operation).body
    types: list[Any] = [value.type for value in (*body.block.arguments, *body.block.terminator.operands)]
    if any(type.element_type is not kind.element_type for type in types):
        return "its body has other element types"
    return block_problem(body.block, view_of)


def combines_by(body: Block) -> str | None:
    """The operation of a body that applies a single one to its arguments and returns the result."""
    first = body.operations[0]
    is_single = len(body.operations) == 2 and set(first.operands) == set(body.arguments)
    return first.name if is_single and list(body.terminator.operands) == list(first.results) else None


def is_exact(body: Block) -> bool:
    """Whether every order of combining by a body gives the same bits."""
    kind: Any = body.arguments[0].type
    name = combines_by(body)
    return name in _EXACT or (name in _EXACT_ON_INTEGERS and bool(kind.category & INTEGER))


def folded_type(operation: Operation, wide: ElementType) -> ElementType:
    """The element type in which a reduction's values are combined; `wide` is f32."""
    kind: Any = operation.operands[0].type
    body = operation.regions[0].block
    is_narrow = kind.category == FLOAT and kind.element_type.width < 32
    element_type: ElementType = kind.element_type
    return wide if is_narrow and combines_by(body) in WIDENED else element_type


class _AxesOf:
    """Finds which dimensions of the space the dimensions of each value follow."""

    def __init__(self, shape: tuple[int, ...], row_rank: int, view_of: ViewOf) -> None:
        self.shape = shape
        self.row_rank = row_rank
        self.view_of = view_of
        self.known: dict[Value, Axes] = {}
        self.changed = False

    def of(self, block: Block) -> dict[Value, Axes] | None:
        """The axes of all values of a block; None where some have none, or several."""
        operations = block.operations[:-1]
        values = [*block.arguments, *(result for operation in operations for result in operation.results)]
        try:
            for value in values:
                self._start(value)
            self.changed = True
            while self.changed:
                self.changed = False
                for operation in (*operations, *reversed(operations)):
                    self._relate(operation)
        except ValueError:
            return None
        return self.known if all(value in self.known for value in values) else None

    def _start(self, value: Value) -> None:
        shape = _shape(value)
        if shape == self.shape:
            self._learn(value, range(len(shape)))
        elif math.prod(shape) == 1:
            self._learn(value, [None] * len(shape))

    def _learn(self, value: Value, axes: Iterable[int | None]) -> None:
        """Note a value's axes; ValueError where it has others."""
        learnt = tuple([None if size == 1 else axis for size, axis in zip(_shape(value), axes, strict=True)])
        sizes = [1 if axis is None else self.shape[axis] for axis in learnt]
        if value not in self.known and sizes == list(_shape(value)):
            self.known[value] = learnt
            self.changed = True
        elif self.known.get(value) != learnt:
            raise ValueError

    def _relate(self, operation: Operation) -> None:
        if operation.name == "stablehlo.reduce":
            self._learn(operation.result, range(self.row_rank))
        elif operation.name == "stablehlo.broadcast_in_dim":
            self._broadcast(operation)
        elif operation.name == "stablehlo.reshape":
            self._reshape(operation)
        elif operation.name not in ("stablehlo.constant", "stablehlo.iota"):
            if not emits(operation):
                raise ValueError
            self._elementwise(operation)

    def _broadcast(self, operation: Operation) -> None:
        operand, result = operation.operands[0], operation.result
        axes = self.known.get(result)
        if axes is not None:
            self._learn(operand, [axes[d] for d in self.view_of(operation).broadcast_dimensions])

    def _reshape(self, operation: Operation) -> None:
        """Only dimensions of size 1 come and go."""
        operand, result = operation.operands[0], operation.result
        sizes = [[size for size in _shape(value) if size != 1] for value in (operand, result)]
        if sizes[0] != sizes[1]:
            raise ValueError
        for source, target in ((operand, result), (result, operand)):
            if source in self.known:
                axes = iter([axis for axis in self.known[source] if axis is not None])
                self._learn(target, [None if size == 1 else next(axes) for size in _shape(target)])

    def _elementwise(self, operation: Operation) -> None:
        values = [value for value in (*operation.operands, *operation.results) if _shape(value)]
        shapes = {_shape(value) for value in values}
        if len(shapes) > 1:
            raise ValueError
        known = next((self.known[value] for value in values if value in self.known), None)
        if known is not None:
            for value in values:
                self._learn(value, known)


def _is_addressable(form: RowForm, block: Block) -> bool:
    """Whether operands can be read column by column, and each result's element has one row that writes it."""
    if any(form.column_step(argument) is None for argument in block.arguments):
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
    """Decide which values are kept for later passes; each one is a further value that its own pass computes."""
    for level in range(1, pass_count(form, block)):
        for value in sinks(form, block, level):
            _cost(form, value, level)


def _cost(form: RowForm, value: Value, level: int) -> int:
    """What computing a value in a pass costs; values of earlier passes for which that is much are kept."""
    operation = value.owner
    if not isinstance(operation, Operation) or not form.along_columns(value) or value in form.saved:
        return 0
    own = 1 if operation.name in _CHEAP_OPERATIONS else EXPENSIVE
    cost = own + sum(_cost(form, operand, level) for operand in operation.operands)
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


def reductions_at(form: RowForm, block: Block, level: int) -> list[Operation]:
    """The reductions whose operands a pass computes."""
    return [
        operation
        for operation in block.operations
        if operation.name == "stablehlo.reduce" and form.levels[operation.operands[0]] == level
    ]


def _item_bytes(type: Any) -> int:
    size: int = type.element_type.dtype.itemsize
    return size
