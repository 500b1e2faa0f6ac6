"""Declares which buffers a step reads, writes, may return views of, and may overwrite.

The executor lets a result share the memory of an operand, and lets a step write into the memory of an operand
that it is the last to read. This module lists what each step may do, for the verification of plans and the
checks of running steps. `memory_use` estimates from the same lists what the executor does.
"""

from __future__ import annotations

from typing import Final

from ..ir.record import Record
from ..ops.internal.fusion import FUSION, REDUCTION_FUSION, ROW_FUSION, STEP_FUSION
from ..ops.internal.partial_windows import EXCLUDE_PARTIAL_WINDOWS
from .plan import Step

FLAT_VIEWS: Final = frozenset(
    ["stablehlo.reshape", "stablehlo.optimization_barrier", "stablehlo.tuple", "stablehlo.get_tuple_element"]
)
"""Operations whose results share the memory of their operands, with the elements in the same order."""

STRIDED_VIEWS: Final = frozenset(
    f"stablehlo.{name}"
    for name in ("broadcast_in_dim", "dynamic_slice", "real", "imag", "slice", "transpose")
)
"""Operations whose results may be views of their first operand, in another order or of some elements."""

_OTHER_VIEWS: Final = frozenset(
    f"stablehlo.{name}"
    for name in (
        "bitcast_convert", "broadcast", "case", "composite", "convert", "custom_call",
        "dynamic_broadcast_in_dim", "dynamic_reshape", "if", "map", "real_dynamic_slice", "reduce",
        "reverse", "select", "set_dimension_size", "sort", "while",
    )
) | frozenset({
    "chlo.conj", "chlo.scan", "interpreter.probe", EXCLUDE_PARTIAL_WINDOWS,
    FUSION, REDUCTION_FUSION, ROW_FUSION, STEP_FUSION,
})  # fmt: skip
"""Operations whose results may be operands, captured values, or views of these."""


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
    if not step.implementation.may_alias:
        may_alias: frozenset[int] = frozenset()
    elif step.operation in FLAT_VIEWS or step.operation in _OTHER_VIEWS:
        may_alias = frozenset(reads)
    else:
        may_alias = frozenset(step.operands[:1] if step.operation in STRIDED_VIEWS else ())
    pairs = [(step.operands[operand], step.results[result]) for operand, result in step.overwrites]
    return BufferUses(reads, step.results, may_alias, tuple(pairs))
