"""Verifies the scratch memory of ufunc programs: no two values share bytes while both are live."""

from __future__ import annotations

from ...compiler.plan.implementations.ufunc_programs import recorded_program, scratch_bytes
from ...compiler.plan.implementations.ufunc_recorder import UfuncProgramRecorder
from ...compiler.specialize.framework.operation_classes import is_fusion
from ...kernels.launch import ufunc_program
from ...program.ir import Function
from .plans import InvalidPlan


def verify_scratch(recorder: UfuncProgramRecorder, columns_per_pass: int) -> None:
    """Verify the offsets of a program's values in its scratch memory.

    Args:
        recorder: recorded the program; its values have offsets.
        columns_per_pass: columns that are computed at a time.

    Raises:
        InvalidPlan: a value is read before it is written, or shares bytes with one that is read later.
    """
    first_use: dict[int, int] = {}
    last_use: dict[int, int] = {}
    for number, instruction in enumerate(recorder.instructions):
        for operand in instruction.operands:
            value = recorder.values[operand]
            # The last operand of a reduction may be scratch memory, which the reduction writes itself.
            is_scratch = instruction.kind != ufunc_program.APPLY and operand == instruction.operands[-1]
            if value.source == ufunc_program.SCRATCH and operand not in first_use and not is_scratch:
                raise InvalidPlan(f"instruction {number} reads value {operand} before it is written")
            first_use.setdefault(operand, number)
            last_use[operand] = number
        first_use.setdefault(instruction.result, number)
        last_use[instruction.result] = number
    scratch = ufunc_program.SCRATCH
    scratch_values = [number for number in first_use if recorder.values[number].source == scratch]
    for a in scratch_values:
        for b in scratch_values:
            if a >= b or first_use[a] > last_use[b] or first_use[b] > last_use[a]:
                continue
            start_a, start_b = recorder.values[a].offset_or_bits, recorder.values[b].offset_or_bits
            end_a = start_a + scratch_bytes(recorder.values[a], columns_per_pass)
            end_b = start_b + scratch_bytes(recorder.values[b], columns_per_pass)
            if start_a < end_b and start_b < end_a:
                raise InvalidPlan(
                    f"values {a} and {b} share bytes {max(start_a, start_b)} while both are needed"
                )
        end = recorder.values[a].offset_or_bits + scratch_bytes(recorder.values[a], columns_per_pass)
        if recorder.values[a].offset_or_bits < 0 or end > ufunc_program.SCRATCH_BYTES:
            raise InvalidPlan(f"value {a} ends at byte {end} of {ufunc_program.SCRATCH_BYTES}")


def verify_ufunc_programs(function: Function) -> None:
    """Verify the ufunc programs of all fusions of a specialized function and its callees.

    Raises:
        InvalidPlan: see `verify_scratch`.
    """
    for each_function in (function, *function.callees):
        assert each_function.body is not None
        for operation in each_function.body.walk():
            if is_fusion(operation):
                recording = recorded_program(operation.regions[0].block)
                if recording is not None:
                    verify_scratch(*recording)
