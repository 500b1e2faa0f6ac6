"""Declares which buffers a step reads, writes, may return views of, and may overwrite.

The executor lets a result share the memory of an operand, and lets a step write into the memory of an operand
that it is the last to read. The declaration of the operation says what a step may do (`Memory`); this module
says it in slots, for the verification of plans and the checks of running steps. `memory_use` estimates from
the same facts what the executor does.
"""

from __future__ import annotations

from ...program.ir.record import Record
from ...program.ops.framework.traits import Memory
from .plan import Step


class BufferUses(Record):
    """The buffers of one step.

    Attributes:
        reads: slots of the operands, then of the captured values.
        writes: slots of the results.
        may_alias: slots of which results may be views; results may also share memory with each other.
        may_overwrite: pairs of the slot of an operand that dies with the step and the slot of a result that
            may be written to its memory: each element of the operand is read before the result's element of
            the same position is written, and not after.
    """

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    may_alias: frozenset[int]
    may_overwrite: tuple[tuple[int, int], ...]


def buffer_uses(step: Step) -> BufferUses:
    reads = (*step.operands, *step.captures)
    memory = step.memory
    if memory.keeps_order or memory is Memory.MAY_FORWARD:
        may_alias = frozenset(reads)
    else:
        may_alias = frozenset(step.operands[:1] if memory is Memory.STRIDED_VIEW else ())
    pairs = [(step.operands[operand], step.results[result]) for operand, result in step.overwrites]
    return BufferUses(reads, step.results, may_alias, tuple(pairs))
