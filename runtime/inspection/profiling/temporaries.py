"""Bytes that a program must read again because an operation between two uses needs all of them first.

A reduction of all elements to one is a barrier: nothing that depends on it begins before it has read all that
it reduces. If an operation combines the reduction's result with a value that comes from the same arguments,
that value has to be held across the barrier: itself, or what it is computed from, whichever has fewer bytes.
As much of that as the caches hold needs no memory. Everything else between operations can stay in caches,
because operations on blocks consume it at once.
"""

from __future__ import annotations

from ...program.ir import Block, Operation, Value
from ...program.ops.elementwise.base import Elementwise
from ...program.ops.framework.costs import Work
from ...program.ops.framework.declaration import declaration_of
from ...program.ops.framework.memory_limit import bytes_of
from .demand import Demand, size_of


def held_bytes(block: Block, demand: Demand) -> int:
    """The most bytes that have to be held across one barrier of a block; 0 where there is none.

    Args:
        block: the body of a function.
        demand: that of the block.
    """
    return _Barriers(block).held_bytes(block, demand)


class _Barriers:
    """For each value the arguments and the barriers that it depends on, as sets of bits."""

    def __init__(self, block: Block) -> None:
        self.arguments: dict[Value, int] = {}
        self.barriers: dict[Value, int] = {}
        self.held: dict[Value, int] = {}
        self.reduced: list[int] = []
        for argument in block.arguments:
            self.arguments[argument] = 1 << argument.index
            self.held[argument] = bytes_of(argument.type)
        for operation in block.operations:
            self._add(operation)

    def _add(self, operation: Operation) -> None:
        arguments, barriers = self._union(self.arguments, operation), self._union(self.barriers, operation)
        # Constants, and what is captured by regions, which have no barriers, are held for nothing.
        least = sum([self.held.get(operand, 0) for operand in operation.operands])
        declaration = declaration_of(operation)
        if declaration.work is Work.COMBINATIONS and size_of(operation.results[0]) == 1:
            barriers |= 1 << len(self.reduced)
            self.reduced.append(arguments)
        for result in operation.results:
            self.arguments[result], self.barriers[result] = arguments, barriers
            self.held[result] = min(bytes_of(result.type), least) if not operation.regions else 0

    @staticmethod
    def _union(sets: dict[Value, int], operation: Operation) -> int:
        union = 0
        for operand in operation.operands:
            union |= sets.get(operand, 0)
        return union

    def held_bytes(self, block: Block, demand: Demand) -> int:
        most = 0
        for operation in block.operations:
            if not issubclass(declaration_of(operation), Elementwise):
                continue
            barriers = self.barriers[operation.results[0]]
            for operand in operation.operands:
                is_needed = demand.needed(operation.results[0]) == size_of(operation.results[0])
                if is_needed and self._is_held(operand, barriers & ~self.barriers.get(operand, 0)):
                    most = max(most, self.held.get(operand, 0))
        return most

    def _is_held(self, operand: Value, barriers: int) -> bool:
        """Whether one of these barriers reduces what comes from all arguments of an operand."""
        arguments = self.arguments.get(operand, 0)
        return bool(arguments) and any(
            barriers >> number & 1 and not arguments & ~reduced for number, reduced in enumerate(self.reduced)
        )
