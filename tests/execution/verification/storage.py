"""Verifies the memory of small arrays in generated code: no operation reads memory that was overwritten.

Blocks of fused small steps and of native loops are generated operation by operation. An array has memory of
its own, alternates with another one between iterations of a loop, or is updated in place. The observer tracks
the values that each pointer holds during code generation, independently of the generator.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from nimblehlo.compiler.loops.scalars import Binding, Elements, Emitter, Storage
from nimblehlo.execution.verification.plans import InvalidPlan
from nimblehlo.program.ir import Block, Operation, Value

_UPDATES: Final = frozenset({"stablehlo.dynamic_update_slice", "stablehlo.scatter", "stablehlo.while"})
"""Operations that may update an operand in place."""

_ALIASES: Final = frozenset({"stablehlo.optimization_barrier", "stablehlo.reshape"})
"""Operations whose results may alias their operands."""
_BRANCHES: Final = frozenset({"stablehlo.case", "stablehlo.if"})

_Contents = dict[Any, set[Value]]
"""Maps a pointer to the values that its memory holds: one, or several with the same elements."""


@contextmanager
def verifying_storage() -> Iterator[StorageObserver]:
    """Verify all code of blocks that is generated in this context; an error raises InvalidPlan."""
    before, Emitter.observer = Emitter.observer, StorageObserver()
    try:
        yield Emitter.observer
    finally:
        Emitter.observer = before


class StorageObserver:
    """An `EmissionObserver` of `nimblehlo.compiler.loops.scalars.emitter` that follows which values memory
    holds.

    Attributes:
        contents: of the memory that each emitter knows.
        before: for a choice of branches, what memory held before the first one.
    """

    def __init__(self) -> None:
        self.contents: weakref.WeakKeyDictionary[Emitter, _Contents] = weakref.WeakKeyDictionary()
        self.before: dict[Block, _Contents] = {}

    def begin_block(self, emitter: Emitter, block: Block) -> None:
        if block in self.before:
            self.contents[emitter] = {pointer: set(held) for pointer, held in self.before.pop(block).items()}
        contents = self.contents.setdefault(emitter, {})
        for argument in block.arguments:
            binding = emitter.bindings[argument]
            if isinstance(binding, Storage):
                contents.setdefault(binding.pointer, set()).add(argument)

    def begin_operation(self, emitter: Emitter, operation: Operation) -> None:
        contents = self.contents.setdefault(emitter, {})
        for value in emitter.values_read(operation):
            self._read(emitter, value, operation)
        if operation.name in _BRANCHES:
            held = {pointer: set(values) for pointer, values in contents.items()}
            self.before.update({region.block: held for region in operation.regions})

    def end_operation(self, emitter: Emitter, operation: Operation, bindings: Sequence[Binding]) -> None:
        contents = self.contents.setdefault(emitter, {})
        operands = [emitter.bindings.get(value) for value in operation.operands]
        shared = {binding.pointer for binding in operands if isinstance(binding, Storage)}
        for result, binding in zip(operation.results, bindings, strict=True):
            if isinstance(binding, Elements):
                continue
            is_same = binding.pointer in shared and operation.name in _ALIASES
            if not is_same and not _is_forwarded(emitter, operation, binding):
                contents[binding.pointer] = set()
            contents.setdefault(binding.pointer, set()).add(result)

    def end_block(self, emitter: Emitter, block: Block) -> None:
        for value in block.terminator.operands:
            self._read(emitter, value, block.terminator)

    def _read(self, emitter: Emitter, value: Value, operation: Operation) -> None:
        binding = emitter.bindings.get(value)
        if not isinstance(binding, Storage):
            return
        held = self.contents[emitter].setdefault(binding.pointer, {value})
        if value not in held:
            where = f"{operation.name} at {operation.location}"
            raise InvalidPlan(f"{where} reads {value.type} in memory that holds another value by then")


def _is_forwarded(emitter: Emitter, operation: Operation, binding: Storage) -> bool:
    """Whether a result shares memory with a value that the operation's region returns, as in a fusion."""
    if operation.name in _UPDATES or operation.name in _BRANCHES:
        return False
    returned = [value for region in operation.regions for value in region.block.terminator.operands]
    bindings = [emitter.bindings.get(value) for value in returned]
    return any(isinstance(one, Storage) and one.pointer is binding.pointer for one in bindings)
