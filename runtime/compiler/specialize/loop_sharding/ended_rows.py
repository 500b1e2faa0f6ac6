"""Recognizes loops of which each row ends by itself, as JAX makes them when it batches a `while`.

Their `cond` is the disjunction of one flag for each row, and their `body` keeps the values of rows whose flag
is false. So shards of rows need not wait for each other: once all flags of a shard are false, the body
changes nothing in it, however long other rows go on.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from ....program.ir import Block, Operation, Value
from ....program.ops.framework.declaration import Op, declaration_of
from ....program.ops.reduction.bodies import monoid
from ..framework.cleanup import OperationKeys
from ..framework.operation_classes import is_broadcast, is_reduction, is_view
from ..framework.rewriter import splat

if TYPE_CHECKING:
    from ....program.ops.indexing.scatter_rules import ScatterRules


def row_flags(operation: Operation) -> Value | None:
    """The flags of which the `cond` of a `while` returns the disjunction; None if there are none."""
    (returned,) = operation.regions[0].block.terminator.operands
    reduction = returned.owner
    if not isinstance(reduction, Operation) or not is_reduction(reduction) or len(reduction.operands) != 2:
        return None
    flags, initial = reduction.operands
    is_disjunction = splat(initial) == np.False_ and monoid(reduction.regions[0]) == "or"
    return flags if is_disjunction else None


def keeps_ended_rows(operation: Operation) -> bool:
    """Whether the body of a `while` that has `row_flags` returns all values unchanged if no flag is true."""
    cond, body = (region.block for region in operation.regions)
    flags = row_flags(operation)
    assert flags is not None
    numbering = _Numbering()
    numbering.enter_block(cond)
    numbering.assume(flags, False)
    numbering.enter_block(body)
    pairs = zip(body.terminator.operands, body.arguments, strict=True)
    return all(numbering.number(value) == numbering.number(argument) for value, argument in pairs)


class _Numbering:
    """Numbers for the values of a loop's regions: equal numbers mean equal values if no flag is true.

    Attributes:
        expressions: by number the operation and its operands' numbers; None for other values.
        splats: the element of which an array consists, by number.
        assumed: the numbers of values, by the numbers of the expressions that are assumed to have them.
    """

    def __init__(self) -> None:
        self.keys = OperationKeys()
        self.numbers: dict[Hashable, int] = {}
        self.of_values: dict[Value, int] = {}
        self.expressions: list[tuple[Operation, Sequence[int]] | None] = []
        self.splats: dict[int, np.generic] = {}
        self.assumed: dict[int, int] = {}
        self.false, self.true = self.of_splat(np.False_), self.of_splat(np.True_)

    def enter(self, key: Hashable, expression: tuple[Operation, Sequence[int]] | None = None) -> int:
        """The number of a key, which is new or has been entered before."""
        number = self.numbers.setdefault(key, len(self.expressions))
        if number == len(self.expressions):
            self.expressions.append(expression)
        return self.assumed.get(number, number)

    def of_splat(self, element: np.generic) -> int:
        """The number of arrays of any shape that consist of one element."""
        number = self.enter((element.dtype, element.tobytes()))
        self.splats[number] = element
        return number

    def number(self, value: Value) -> int:
        """The number of a value; one from outside of the loop is equal to itself alone."""
        number = self.of_values.get(value)
        if number is None:
            element = splat(value)
            number = self.enter(value) if element is None else self.of_splat(element)
            self.of_values[value] = number
        return self.assumed.get(number, number)

    def enter_block(self, block: Block) -> None:
        """Number the arguments of a region of the loop, and the results of its operations."""
        for argument in block.arguments:
            self.of_values[argument] = self.enter(("carried", argument.index))
        for operation in block.operations[:-1]:
            operands = [self.number(operand) for operand in operation.operands]
            simplified = self._simplified(operation, operands)
            key = (self.keys.key_of(operation), *operands)
            for index, result in enumerate(operation.results):
                if simplified is None:
                    self.of_values[result] = self.enter((*key, index), (operation, operands))
                else:
                    self.of_values[result] = simplified

    def assume(self, value: Value, element: bool) -> None:
        """Assume that all elements of a value are true, or false, and what follows from that."""
        pending = [(self.number(value), element)]
        while pending:
            number, element = pending.pop()
            self.assumed[number] = self.true if element else self.false
            expression = self.expressions[number]
            if expression is None:
                continue
            operation, operands = expression
            if operation.name == "stablehlo.not":
                pending.append((operands[0], not element))
            elif operation.name == ("stablehlo.and" if element else "stablehlo.or"):
                pending += [(operand, element) for operand in operands]

    def _simplified(self, operation: Operation, operands: list[int]) -> int | None:
        """The number of the value of which an operation's result has all elements, by what is assumed."""
        if len(operation.results) != 1:
            return None
        element = splat(operation.result)
        if element is not None:
            return self.of_splat(element)
        if is_view(operation) or is_broadcast(operation):
            return operands[0] if operands[0] in self.splats else None
        if operation.name == "stablehlo.select":
            return self._selected(*operands)
        if operation.name == "stablehlo.not":
            return {self.true: self.false, self.false: self.true}.get(operands[0])
        for name, identity, absorbing in (
            ("stablehlo.and", self.true, self.false),
            ("stablehlo.or", self.false, self.true),
        ):
            if operation.name == name and absorbing in operands:
                return absorbing
            if operation.name == name and identity in operands:
                return operands[1 - operands.index(identity)]
        is_scatter = declaration_of(operation).loop_sharding == "scatter"
        return operands[0] if is_scatter and self._drops_all_updates(operation, operands) else None

    def _selected(self, pred: int, on_true: int, on_false: int) -> int | None:
        if pred == self.true or on_true == on_false:
            return on_true
        return on_false if pred == self.false else None

    def _drops_all_updates(self, operation: Operation, operands: list[int]) -> bool:
        """Whether no window of a scatter lies within its array: a component of all indices is too large."""
        view = cast("ScatterRules", Op.of(operation))
        inputs, sizes = len(view.inputs), view.inputs[0].shape
        components = operands[inputs:-inputs]
        dims = view.scatter_dims_to_operand_dims
        pairs = zip(components * len(dims) if len(components) == 1 else components, dims, strict=True)
        indices = [(self.splats.get(component), sizes[d]) for component, d in pairs]
        return any(index is not None and int(index) >= size for index, size in indices)
