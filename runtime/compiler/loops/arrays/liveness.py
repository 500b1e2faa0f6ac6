"""Finds the operation of a block that last reads the memory of each value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ....program.ir import Block, Operation, Value, captured_values
from ..scalars.in_place_updates import memory_of, role_of


class Liveness:
    """The last uses of a block's values.

    Args:
        block: the block.
        operations: its operations in the order of generation, without those that the loops of others compute.
        values_read: gives the values that the code of an operation reads.
        is_in_place: whether an operation's result shares its first operand's memory.
    """

    def __init__(
        self,
        block: Block,
        operations: Sequence[Operation],
        values_read: Callable[[Operation], Iterable[Value]],
        is_in_place: Callable[[Operation], bool],
    ) -> None:
        self.positions = {operation: position for position, operation in enumerate(operations)}
        self._values_read, self._is_in_place = values_read, is_in_place
        self._roots: dict[Value, Value] = {}
        self._last: dict[Value, int] = {}
        for position, operation in enumerate(operations):
            self._last.update((self.root(value), position) for value in self.read(operation))
            self._record_aliases(operation)
        self._last.update((self.root(value), len(operations)) for value in block.terminator.operands)

    def root(self, value: Value) -> Value:
        """The value that owns the memory of a value, which may be the value itself."""
        return self._roots.get(value, value)

    def read(self, operation: Operation) -> set[Value]:
        """The values that an operation and its regions read."""
        return {*self._values_read(operation), *captured_values(operation.regions)}

    def is_last(self, operation: Operation, value: Value) -> bool:
        """Whether nothing reads the memory of a value after an operation."""
        return self._last.get(self.root(value), -1) <= self.positions[operation]

    def is_own(self, value: Value) -> bool:
        """Whether an operation of the block allocates the memory of a value."""
        return self.root(value).owner in self.positions

    def _record_aliases(self, operation: Operation) -> None:
        """Record the results of an operation that share the memory of other values."""
        if role_of(operation).runs_once:
            block = operation.regions[0].block
            self._alias(block.arguments, operation.operands)
            for inner in block.operations[:-1]:
                self._record_aliases(inner)
            self._alias(operation.results, block.terminator.operands)
        elif memory_of(operation).keeps_order:
            self._alias(operation.results, operation.operands)
        elif self._is_in_place(operation):
            self._alias(operation.results, operation.operands[:1])

    def _alias(self, values: Sequence[Value], others: Sequence[Value]) -> None:
        for value, other in zip(values, others, strict=True):
            root = self.root(other)
            if root is not value:
                self._roots[value] = root
