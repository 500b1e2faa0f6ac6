"""A plan whose steps read or write other values than the program means is rejected, though its slots are in
order."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from nimblehlo.compiler.plan import Plan, lower
from nimblehlo.compiler.specialize import specialize
from nimblehlo.execution.verification.plans import InvalidPlan, verify_plan
from nimblehlo.execution.verification.translation import verify_translation
from nimblehlo.options import Options
from nimblehlo.program.frontend import parse
from nimblehlo.program.ir import Function
from nimblehlo.program.ops.framework.verify import verify

TEXT = """
func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>, %n: tensor<i32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %c = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = stablehlo.sine %a : tensor<2xf32>
  %1 = stablehlo.subtract %0, %c : tensor<2xf32>
  %2:2 = stablehlo.while(%k = %i, %x = %1) : tensor<i32>, tensor<2xf32>
    cond {
      %p = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %k, %one : tensor<i32>
      %y = stablehlo.subtract %x, %b : tensor<2xf32>
      stablehlo.return %next, %y : tensor<i32>, tensor<2xf32>
    }
  return %1, %2#1 : tensor<2xf32>, tensor<2xf32>
}
"""


def lowered() -> tuple[Function, Plan]:
    module = parse(TEXT)
    verify(module)
    function = specialize(module, "main")
    return function, lower(function, Options(compile="never"))


def test_plans_as_they_are_made_are_accepted() -> None:
    function, plan = lowered()
    verify_translation(function, plan)


def _operands_exchanged(plan: Plan) -> None:
    (step,) = [step for step in plan.steps if step.operation == "stablehlo.subtract"]
    step.operands = step.operands[::-1]


def _another_argument(plan: Plan) -> None:
    plan.steps[0].operands = (plan.arguments[1],)


def _results_exchanged(plan: Plan) -> None:
    plan.results = plan.results[::-1]


def _operation_left_out(plan: Plan) -> None:
    sine = plan.steps.pop(0)
    plan.steps[0].operands = (sine.operands[0], plan.steps[0].operands[1])


def _operation_done_twice(plan: Plan) -> None:
    again = copy.copy(plan.steps[0])
    plan.slot_count += 1
    again.results = again.releases = (plan.slot_count - 1,)
    plan.steps.append(again)


def _region_reads_another_value(plan: Plan) -> None:
    loop = plan.steps[-1]
    body = loop.regions["body"]
    assert isinstance(body, Plan)
    (subtract,) = [step for step in body.steps if step.operation == "stablehlo.subtract"]
    subtract.operands = (subtract.operands[0], subtract.operands[0])


def _carried_exchanged(plan: Plan) -> None:
    plan.steps[-1].operands = plan.steps[-1].operands[::-1]


def _another_constant(plan: Plan) -> None:
    for slot, value in plan.constants.items():
        plan.constants[slot] = value.copy()


BREAKS = [
    _operands_exchanged, _another_argument, _results_exchanged, _operation_left_out, _operation_done_twice,
    _region_reads_another_value, _carried_exchanged, _another_constant,
]  # fmt: skip


@pytest.mark.parametrize("breaks", BREAKS, ids=lambda one: one.__name__)
def test_other_values_are_rejected(breaks: Callable[[Plan], None]) -> None:
    function, plan = lowered()
    breaks(plan)
    with pytest.raises(InvalidPlan):
        verify_translation(function, plan)


def test_steps_of_called_layers_and_joined_products_are_followed() -> None:
    """Equal layers become calls of one function, and a product takes the fusion on it into its step."""
    layer = """
      %w{0} = stablehlo.dot_general %x{1}, %m, contracting_dims = [1] x [0]
        : (tensor<4096x64xf32>, tensor<64x64xf32>) -> tensor<4096x64xf32>
      %t{0} = stablehlo.maximum %w{0}, %x{1} : tensor<4096x64xf32>
      %u{0} = stablehlo.add %t{0}, %x{1} : tensor<4096x64xf32>
      %x{0} = stablehlo.multiply %u{0}, %u{0} : tensor<4096x64xf32>
    """
    body = "".join([layer.replace("{0}", str(k + 1)).replace("{1}", str(k)) for k in range(6)])
    text = f"""
    func.func @main(%x0: tensor<4096x64xf32>, %m: tensor<64x64xf32>) -> tensor<4096x64xf32> {{
      {body}
      return %x6 : tensor<4096x64xf32>
    }}
    """
    module = parse(text)
    verify(module)
    function = specialize(module, "main")
    plan = lower(function, Options(compile="eager"))
    verify_plan(plan)
    verify_translation(function, plan)
    assert any(step.implementation.absorbed is not None for step in plan.steps)
    plan.steps[1].operands = plan.steps[0].operands
    with pytest.raises(InvalidPlan):
        verify_translation(function, plan)
