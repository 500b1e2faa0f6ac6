"""Programs on rows whose values share memory while both are needed are rejected."""

from __future__ import annotations

import pytest

from nimblehlo.compiler.plan.implementations.ufunc_programs import recorded_program
from nimblehlo.compiler.plan.implementations.ufunc_recorder import UfuncProgramRecorder
from nimblehlo.execution.verification.plans import InvalidPlan
from nimblehlo.execution.verification.ufunc_programs import verify_scratch
from nimblehlo.kernels.launch import ufunc_program
from nimblehlo.program.frontend import parse
from nimblehlo.program.ops.framework.verify import verify

TEXT = """
func.func @main(%a: tensor<8x100xf32>, %b: tensor<8x100xf32>) -> tensor<8x100xf32> {
  %0 = stablehlo.add %a, %b : tensor<8x100xf32>
  %1 = stablehlo.multiply %0, %b : tensor<8x100xf32>
  %2 = stablehlo.subtract %1, %0 : tensor<8x100xf32>
  %3 = stablehlo.multiply %2, %1 : tensor<8x100xf32>
  return %3 : tensor<8x100xf32>
}
"""


def recorded() -> tuple[UfuncProgramRecorder, int]:
    module = parse(TEXT)
    verify(module)
    body = module.functions["main"].body
    assert body is not None
    found = recorded_program(body.block)
    assert found is not None
    return found


def test_places_as_they_are_given_are_accepted() -> None:
    recorder, at_a_time = recorded()
    verify_scratch(recorder, at_a_time)


def test_values_in_one_place_are_rejected() -> None:
    recorder, at_a_time = recorded()
    for value in recorder.values:
        if value.source == ufunc_program.SCRATCH:
            value.offset_or_bits = 0
    with pytest.raises(InvalidPlan, match="while both are needed"):
        verify_scratch(recorder, at_a_time)


def test_values_beyond_the_memory_are_rejected() -> None:
    recorder, at_a_time = recorded()
    value = next(value for value in recorder.values if value.source == ufunc_program.SCRATCH)
    value.offset_or_bits = ufunc_program.SCRATCH_BYTES
    with pytest.raises(InvalidPlan, match="ends at byte"):
        verify_scratch(recorder, at_a_time)


def test_instructions_in_another_order_are_rejected() -> None:
    recorder, at_a_time = recorded()
    recorder.instructions.reverse()
    with pytest.raises(InvalidPlan, match="before it is written"):
        verify_scratch(recorder, at_a_time)
