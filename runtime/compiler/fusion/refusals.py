"""Why operations are not in one fusion: what the fusion passes note for `Executable.explain`.

The passes ask their gates again for each value that an operation reads from another one, once they have
decided which operations they fuse. So plans pay nothing for the notes.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence

from ...kernels.named_tuples import NamedTuple
from ...program.ir import Block, Operation, Value
from ..specialize.framework.operation_classes import is_fusion


class Gate(enum.IntEnum):
    """What an operation has to pass to join a fusion, in this order; ARCHITECTURE.md says where."""

    WORK = enum.auto()
    """There is enough work."""
    MEMBER = enum.auto()
    """A fused loop can compute the operation."""
    LOOPS = enum.auto()
    """It varies along the loops of the others."""
    LEVEL = enum.auto()
    """No other step has to run between them, and they are not too many."""
    PAYS = enum.auto()
    """Fusing saves memory traffic or calls."""
    SCHEDULE = enum.auto()
    """There is a schedule for the loop."""


class Refusal(NamedTuple):
    """The gate that refused to join the reader of a value with the operation that computes it, and why."""

    gate: Gate
    reason: str


def cannot_compute(loop: str, operation: Operation) -> Refusal:
    """The refusal of an operation that a loop cannot compute."""
    what = "another loop" if is_fusion(operation) else f"this {operation.name}"
    return Refusal(Gate.MEMBER, f"{loop} cannot compute {what}")


class Refusals:
    """For each value, and each operation that reads it, why these are not one.

    Of the refusals of several passes, that of the last gate counts, and of one gate that of the last pass.
    """

    def __init__(self) -> None:
        self._noted: dict[tuple[Value, Operation], Refusal] = {}

    def note(self, value: Value, reader: Operation, refusal: Refusal) -> None:
        """Note the refusal of one pass."""
        noted = self._noted.get((value, reader))
        if noted is None or noted.gate <= refusal.gate:
            self._noted[value, reader] = refusal

    def note_around(self, block: Block, operations: Iterable[Operation], refusal: Refusal) -> None:
        """Note a refusal for what some operations of a block read, and for all readers of their results."""
        refused = set(operations)
        for operation in block.operations:
            for value in operation.operands:
                if isinstance(value.owner, Operation) and (operation in refused or value.owner in refused):
                    self.note(value, operation, refusal)

    def fused(
        self, fusion: Operation, members: Sequence[Operation], replaced: Mapping[Value, Value]
    ) -> None:
        """Carry the notes over to an operation that a pass has formed.

        Args:
            fusion: the operation, which computes what the members do.
            members: some of them may be computed by other operations too.
            replaced: maps the results of members that others read to results of `fusion`.
        """
        readers = set(members)
        for (value, reader), refusal in list(self._noted.items()):
            new_value = replaced.get(value, value)
            if reader in readers and new_value.owner is not fusion:
                self.note(new_value, fusion, refusal)
            if new_value is not value:
                self.note(new_value, reader, refusal)

    def reason(self, value: Value, reader: Operation) -> str | None:
        """Why an operation is not one with that of a value which it reads; None: no gate was asked."""
        refusal = self._noted.get((value, reader))
        return None if refusal is None else refusal.reason
