"""Clusters with reductions: their values as functions of a point in one space, and what their bodies combine.

The space is the shape that all reductions of a cluster have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from ...ir import Block, DenseElementsAttribute, Operation, Value
from ...types import COMPLEX, FLOAT, INTEGER, ElementType, TensorType
from ..coverage import ViewOf, emits

Axes = tuple[int | None, ...]
"""For each dimension of a value the dimension of the space that it follows; None where its size is 1."""

_EXACT = frozenset(f"stablehlo.{name}" for name in ("and", "maximum", "minimum", "or", "xor"))
_EXACT_ON_INTEGERS = frozenset({"stablehlo.add", "stablehlo.multiply"})
WIDENED = frozenset({"stablehlo.add", "stablehlo.multiply"})
"""Reductions of floats narrower than f32 by these are made in f32 and rounded once."""


def element_type_of(value: Value) -> ElementType:
    """The element type of a tensor that is not quantized."""
    assert isinstance(value.type, TensorType) and isinstance(value.type.element_type, ElementType)
    return value.type.element_type


def shape_of(value: Value) -> tuple[int, ...]:
    type: Any = value.type
    return tuple(type.shape)


def is_computed(operation: Operation) -> bool:
    """Whether an operation is no constant of several different elements, to be read from memory."""
    attribute = operation.attributes.get("value") if operation.name == "stablehlo.constant" else None
    if not isinstance(attribute, DenseElementsAttribute):
        return True
    return attribute.is_splat or attribute.array.size == 1


def steps_of(value: Value, axes: Axes, rank: int) -> tuple[int, ...]:
    """How far apart in a value's memory neighbours along each dimension of a space of that rank lie."""
    steps = [0] * rank
    shape = shape_of(value)
    for d, axis in enumerate(axes):
        if axis is not None:
            steps[axis] = math.prod(shape[d + 1 :])
    return tuple(steps)


def one_step(sizes: Sequence[int], steps: Sequence[int]) -> int | None:
    """How far apart neighbours lie along several dimensions taken as one; None: not at one distance."""
    significant = [(size, step) for size, step in zip(sizes, steps, strict=True) if size > 1]
    if not significant:
        return 0
    for (_, outer), (size, inner) in pairwise(significant):
        if outer != size * inner:
            return None
    return significant[-1][1]


def reduction_problem(operation: Operation, view_of: ViewOf) -> str | None:
    """Why a reduction cannot be part of a cluster of rows, or None where it can."""
    if len(operation.operands) != 2:
        return "has several inputs"
    kind: Any = operation.operands[0].type
    if not kind.is_plain or kind.category == COMPLEX:
        return f"is of {kind}"
    body = view_of(operation).body
    types: list[Any] = [value.type for value in (*body.block.arguments, *body.block.terminator.operands)]
    if any(type.element_type is not kind.element_type for type in types):
        return "its body has other element types"
    if combines_by(body.block) is not None and emits(body.block.operations[0]):
        return None
    from ..blocks import block_problem

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


class AxesOf:
    """Finds which dimensions of the space the dimensions of each value follow.

    Args:
        shape: the space.
        kept: the dimensions that reductions leave.
        view_of: gives an operation's view.
        is_elementwise: tells which operations work element by element; those that are generated.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        kept: Sequence[int],
        view_of: ViewOf,
        is_elementwise: Callable[[Operation], bool] = emits,
    ) -> None:
        self.shape = shape
        self.kept = kept
        self.view_of = view_of
        self.is_elementwise = is_elementwise
        self.known: dict[Value, Axes] = {}
        self.changed = False

    def of(self, block: Block) -> dict[Value, Axes] | None:
        """The axes of all values of a block; None where some have none, or several."""
        operations = block.operations[:-1]
        values = [*block.arguments, *(result for operation in operations for result in operation.results)]
        try:
            for value in values:
                self._start(value)
            waiting = list(operations)
            self.changed = True
            while self.changed and waiting:
                self.changed = False
                for operation in waiting:
                    self._relate(operation)
                waiting = [operation for operation in reversed(waiting) if not self._is_known(operation)]
            for operation in operations:
                self._relate(operation)
        except ValueError:
            return None
        return self.known if all(value in self.known for value in values) else None

    def _is_known(self, operation: Operation) -> bool:
        """Whether the axes of all that an operation has to do with are known."""
        return all(value in self.known for value in (*operation.operands, *operation.results))

    def _start(self, value: Value) -> None:
        shape = shape_of(value)
        if shape == self.shape:
            self._learn(value, range(len(shape)))
        elif math.prod(shape) == 1:
            self._learn(value, [None] * len(shape))

    def _learn(self, value: Value, axes: Iterable[int | None]) -> None:
        """Note a value's axes; ValueError where it has others."""
        pairs = zip(shape_of(value), axes, strict=True)
        learnt = tuple([None if size == 1 else axis for size, axis in pairs])
        sizes = [1 if axis is None else self.shape[axis] for axis in learnt]
        if value not in self.known and sizes == list(shape_of(value)):
            self.known[value] = learnt
            self.changed = True
        elif self.known.get(value) != learnt:
            raise ValueError

    def _relate(self, operation: Operation) -> None:
        if operation.name == "stablehlo.reduce":
            self._learn(operation.result, self.kept)
        elif operation.name == "stablehlo.broadcast_in_dim":
            self._broadcast(operation)
        elif operation.name == "stablehlo.reshape":
            self._reshape(operation)
        elif operation.name not in ("stablehlo.constant", "stablehlo.iota"):
            if not self.is_elementwise(operation):
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
        sizes = [[size for size in shape_of(value) if size != 1] for value in (operand, result)]
        if sizes[0] != sizes[1]:
            raise ValueError
        for source, target in ((operand, result), (result, operand)):
            if source in self.known:
                axes = iter([axis for axis in self.known[source] if axis is not None])
                self._learn(target, [None if size == 1 else next(axes) for size in shape_of(target)])

    def _elementwise(self, operation: Operation) -> None:
        values = [value for value in (*operation.operands, *operation.results) if shape_of(value)]
        shapes = {shape_of(value) for value in values}
        if len(shapes) > 1:
            raise ValueError
        known = next((self.known[value] for value in values if value in self.known), None)
        if known is not None:
            for value in values:
                self._learn(value, known)
