"""Verifies programs on rows: no two of their values share memory while both are needed."""

from __future__ import annotations

from typing import Final

from ..ir import Function
from ..kernels.launch import ufunc_program as kinds
from ..ops.internal.fusion import FUSION, REDUCTION_FUSION, ROW_FUSION
from ..plan.implementations.ufunc_programs import recorded_program, room_of
from ..plan.implementations.ufunc_recorder import RowRecorder
from .plans import InvalidPlan

_CLUSTERS: Final = frozenset({FUSION, REDUCTION_FUSION, ROW_FUSION})


def verify_scratch(recorder: RowRecorder, at_a_time: int) -> None:
    """Verify the places that a program's values have in its scratch memory.

    Args:
        recorder: of the program, after its values were given places.
        at_a_time: columns that are computed at a time.

    Raises:
        InvalidPlan: a value is read before it is written, or shares bytes with one that is read later.
    """
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for number, one in enumerate(recorder.instructions):
        for operand in one.operands:
            value = recorder.values[operand]
            # An operand of a reduction may be memory to work in, which it writes itself.
            is_scratch = one.kind != kinds.APPLY and operand == one.operands[-1]
            if value.source == kinds.SCRATCH and operand not in first and not is_scratch:
                raise InvalidPlan(f"instruction {number} reads value {operand} before it is written")
            first.setdefault(operand, number)
            last[operand] = number
        first.setdefault(one.result, number)
        last[one.result] = number
    held = [number for number in first if recorder.values[number].source == kinds.SCRATCH]
    for a in held:
        for b in held:
            if a >= b or first[a] > last[b] or first[b] > last[a]:
                continue
            start_a, start_b = recorder.values[a].word, recorder.values[b].word
            end_a = start_a + room_of(recorder.values[a], at_a_time)
            end_b = start_b + room_of(recorder.values[b], at_a_time)
            if start_a < end_b and start_b < end_a:
                raise InvalidPlan(
                    f"values {a} and {b} share bytes {max(start_a, start_b)} while both are needed"
                )
        end = recorder.values[a].word + room_of(recorder.values[a], at_a_time)
        if recorder.values[a].word < 0 or end > kinds.SCRATCH_BYTES:
            raise InvalidPlan(f"value {a} ends at byte {end} of {kinds.SCRATCH_BYTES}")


def verify_row_programs(function: Function) -> None:
    """Verify the programs on rows of all clusters of a specialized function and of those that it calls.

    Raises:
        InvalidPlan: see `verify_scratch`.
    """
    for one in (function, *function.callees):
        assert one.body is not None
        for operation in one.body.walk():
            if operation.name in _CLUSTERS:
                recorded = recorded_program(operation.regions[0].block)
                if recorded is not None:
                    verify_scratch(*recorded)
