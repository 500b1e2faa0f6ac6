"""Describes how the operations of a block use the memory of its arrays, for `memory_schedule`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from ....program.ir import Block, Operation, Value
from ....program.ops.framework.traits import Memory, RegionRole
from ....types import TensorType, Type
from ...specialize.framework.operation_classes import has_no_effect
from ..scalars.elements import is_large
from ..scalars.in_place_updates import memory_of, role_of
from .liveness import Liveness
from .memory_schedule import Statement
from .workspace import scratch_bytes

_REDUCTIONS = frozenset({"stablehlo.reduce", "nimblehlo.arg_reduce"})

Phase = tuple[int, frozenset[Value]]
"""(Peak of live bytes in some statements of a block, captured values that they or later ones read)."""


class BlockEmitter(Protocol):
    """The interface of `ArrayEmitter` that this module needs."""

    phases: dict[Block, list[Phase]]

    def allocates(self, type: Type) -> bool: ...

    def emitted(self, block: Block) -> Sequence[Operation]: ...

    def is_in_place(self, type: Type) -> bool: ...

    def overwritable(self, operation: Operation, liveness: Liveness) -> Sequence[Value]: ...

    def updates_in_place(self, operation: Operation) -> bool: ...

    def values_read(self, operation: Operation) -> Sequence[Value]: ...


class Statements:
    """The statements of a block.

    Args:
        emitter: generates the block.
        operations: its operations in order, without those that the loops of others compute.

    Attributes:
        statements: one for each operation.
        sizes: the bytes of each array in the workspace.
        returned: the arrays that the block returns.
        arrays: maps the value that owns an array's memory to the array's number.
        result_roots: the owners of the memory of results, which the caller allocates.
        captured: the captured values that each statement reads.
    """

    def __init__(self, emitter: BlockEmitter, block: Block, operations: list[Operation]) -> None:
        self.emitter, self.block = emitter, block
        self.liveness = Liveness(block, operations, emitter.values_read, emitter.updates_in_place)
        self.result_roots = {self.liveness.root(value) for value in block.terminator.operands}
        self.statements: list[Statement] = []
        self.sizes: list[int] = []
        self.arrays: dict[Value, int] = {}
        self.captured: list[set[Value]] = []
        producers: dict[Value, int] = {}
        readers: dict[Value | None, list[int]] = {}
        writers: dict[Value | None, int] = {}
        last_effect: int | None = None
        for number, operation in enumerate(operations):
            values = self.liveness.read(operation)
            memory = set(map(self._memory, values))
            predecessors = {producers[value] for value in values if value in producers}
            predecessors.update(writers[owner] for owner in memory if owner in writers)
            if not has_no_effect(operation):
                predecessors.update(() if last_effect is None else (last_effect,))
                last_effect = number
            updated = self._updated(operation)
            for owner in updated | self._replaced(operation):
                predecessors.update(readers.get(owner, ()))
            writers.update(dict.fromkeys(updated, number))
            for owner in memory:
                readers.setdefault(owner, []).append(number)
            self.statements.append(self._statement(operation, values, predecessors))
            self.captured.append(
                {value for value in values if value not in producers and value.owner is not block}
            )
            producers.update(dict.fromkeys(operation.results, number))
        self.returned = frozenset(self._numbers(block.terminator.operands))

    def _memory(self, value: Value) -> Value | None:
        """The value that owns the memory of a value; None stands for all large arrays."""
        return None if is_large(value.type) else self.liveness.root(value)

    def _numbers(self, values: Iterable[Value]) -> set[int]:
        """The numbers of the arrays that hold values."""
        roots = map(self.liveness.root, values)
        return {self.arrays[root] for root in roots if root in self.arrays}

    def _statement(self, operation: Operation, values: set[Value], predecessors: set[int]) -> Statement:
        roots = set(map(self.liveness.root, values))
        defines = []
        for result in operation.results:
            root = self.liveness.root(result)
            is_new = root not in roots and root not in self.arrays and isinstance(root.owner, Operation)
            if is_new and memory_of(operation) is not Memory.CREATES and self.emitter.allocates(result.type):
                self.arrays[root] = len(self.sizes)
                defines.append(len(self.sizes))
                self.sizes.append(0 if root in self.result_roots else _bytes(result))
        overwritable = self.emitter.overwritable(operation, self.liveness) if defines else ()
        return Statement(
            reads=frozenset(self._numbers(values)),
            defines=frozenset(defines),
            overwrites=frozenset(self._numbers(overwritable)),
            phases=tuple(
                [(bytes, frozenset(self._numbers(later))) for bytes, later in self._phases(operation)]
            ),
            predecessors=frozenset(predecessors),
        )

    def phases(self, order: Sequence[int], live_bytes: Sequence[int]) -> list[Phase]:
        """The phases of the statements in an order; each ends at the last read of a captured value.

        Args:
            live_bytes: the peak of live bytes at each statement, in that order.
        """
        phases: list[Phase] = []
        needed: set[Value] = set()
        for number, live in zip(reversed(order), reversed(live_bytes), strict=True):
            if not phases or not needed.issuperset(self.captured[number]):
                needed |= self.captured[number]
                phases.append((live, frozenset(needed)))
            else:
                phases[-1] = (max(phases[-1][0], live), phases[-1][1])
        return phases[::-1]

    def _phases(self, operation: Operation) -> list[Phase]:
        """The phases of an operation that needs memory besides its operands and results."""
        if operation.name in _REDUCTIONS and not any(
            self.emitter.allocates(value.type) for value in operation.results
        ):
            # The combined pairs are in the workspace, as the reduction is not outlined.
            operands = [_bytes(value) for value in operation.operands if self.emitter.allocates(value.type)]
            return [(sum(operands) // 2, frozenset(operation.operands))]
        if not role_of(operation).is_block:
            return []
        for region in operation.regions:
            self.emitter.emitted(region.block)
        phases: list[Phase] = []
        needed: frozenset[Value] = frozenset()
        # The code of a region follows that of the region before.
        for region in reversed(operation.regions):
            current = [(bytes, needed | values) for bytes, values in self.emitter.phases[region.block]]
            phases = current + phases
            needed = needed.union(*[values for _, values in current])
        if role_of(operation) is not RegionRole.BRANCHES:
            # Each iteration reads all captured values; the operands of a fusion are arguments of its block.
            max_bytes = max([bytes for bytes, _ in phases], default=0)
            return [(max_bytes, frozenset(self.liveness.read(operation)))]
        return phases

    def _updated(self, operation: Operation) -> set[Value | None]:
        """The owners of the memory that an operation updates."""
        if self.emitter.updates_in_place(operation):
            return {self._memory(operation.operands[0])}
        if not role_of(operation).is_block:
            return set()
        has_updates = any(map(self.emitter.updates_in_place, operation.walk()))
        is_updated = self.emitter.is_in_place if has_updates else is_large
        return {self._memory(value) for value in self.liveness.read(operation) if is_updated(value.type)}

    def _replaced(self, operation: Operation) -> set[Value | None]:
        """The carried arrays that an operation may overwrite with those of the next iteration."""
        arguments, returned = self.block.arguments, self.block.terminator.operands
        if len(arguments) != len(returned):
            return set()
        return {
            self._memory(argument)
            for argument, value in zip(arguments, returned, strict=True)
            if value in operation.results and self.liveness.is_last(operation, argument)
        }


def _bytes(value: Value) -> int:
    assert isinstance(value.type, TensorType)
    return scratch_bytes(value.type)
