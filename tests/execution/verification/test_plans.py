"""Plans that are broken in one way each are rejected."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from nimblehlo.compiler.plan import Plan, Prepared, Step, lower
from nimblehlo.compiler.specialize import specialize
from nimblehlo.execution.verification.plans import InvalidPlan, verify_plan
from nimblehlo.options import Options
from nimblehlo.program.frontend import parse
from nimblehlo.program.ops.framework.verify import verify

TEXT = """
func.func @main(%a: tensor<2000xf32>, %i: tensor<i32>, %p: tensor<i1>)
    -> (tensor<2000xf32>, tensor<2000xf32>) {
  %c = stablehlo.constant dense<2.0> : tensor<2000xf32>
  %0 = stablehlo.sine %a : tensor<2000xf32>
  %1 = stablehlo.add %0, %c : tensor<2000xf32>
  %2 = "stablehlo.if"(%p) ({
    %3 = stablehlo.negate %1 : tensor<2000xf32>
    stablehlo.return %3 : tensor<2000xf32>
  }, {
    stablehlo.return %0 : tensor<2000xf32>
  }) : (tensor<i1>) -> tensor<2000xf32>
  return %1, %2 : tensor<2000xf32>, tensor<2000xf32>
}
"""


def plan_of(text: str = TEXT) -> Plan:
    module = parse(text)
    verify(module)
    return lower(specialize(module, "main"), Options(compile="never"))


def steps_of(plan: Plan) -> dict[str, Step]:
    return {step.operation.removeprefix("stablehlo."): step for step in plan.steps}


def test_plans_as_they_are_made_are_accepted() -> None:
    verify_plan(plan_of())


def _read_before_written(plan: Plan) -> None:
    plan.steps.insert(0, plan.steps.pop(1))


def _read_after_release(plan: Plan) -> None:
    sine = plan.steps[0]
    again = copy.copy(sine)
    again.results = (plan.slot_count,)
    again.releases = again.results
    plan.slot_count += 1
    sine.releases = (
        (*sine.releases, sine.operands[0]) if sine.operands[0] not in sine.releases else sine.releases
    )
    plan.steps.insert(2, again)


def _read_as_another_type(plan: Plan) -> None:
    steps = steps_of(plan)
    steps["add"].operands = (steps["add"].operands[0], plan.arguments[2])


def _written_twice(plan: Plan) -> None:
    steps = steps_of(plan)
    steps["add"].results = steps["sine"].results


def _writes_an_argument(plan: Plan) -> None:
    steps_of(plan)["sine"].results = plan.arguments[:1]


def _writes_a_constant(plan: Plan) -> None:
    steps_of(plan)["sine"].results = tuple(plan.constants)


def _never_written(plan: Plan) -> None:
    plan.steps.pop()


def _releases_a_result(plan: Plan) -> None:
    plan.steps[-1].releases = (*plan.steps[-1].releases, plan.results[0])


def _releases_a_constant(plan: Plan) -> None:
    steps_of(plan)["add"].releases = tuple(plan.constants)


def _releases_twice(plan: Plan) -> None:
    plan.steps[-1].releases = (*plan.steps[-1].releases, *plan.steps[-1].releases)


def _releases_what_it_does_not_use(plan: Plan) -> None:
    steps_of(plan)["sine"].releases = (*steps_of(plan)["sine"].releases, plan.arguments[2])


def _never_releases(plan: Plan) -> None:
    plan.steps[-1].releases = ()


def _writes_beyond_the_slots(plan: Plan) -> None:
    plan.slot_count = 4


def _overwrites_another_type(plan: Plan) -> None:
    step = steps_of(plan)["sine"]
    step.operands, step.types = (plan.arguments[1],), (step.types[0], step.types[1])
    step.types = ([None], step.types[1])  # type: ignore[list-item]
    step.overwrites = ((0, 0),)


def _overwrites_no_operand(plan: Plan) -> None:
    steps_of(plan)["sine"].overwrites = ((1, 0),)


def _captures_too_much(plan: Plan) -> None:
    steps_of(plan)["if"].captures = steps_of(plan)["if"].captures * 2


def _captures_what_is_gone(plan: Plan) -> None:
    steps = steps_of(plan)
    gone = steps["sine"].results[0]
    steps["add"].releases = (*steps["add"].releases, gone)


def _breaks_a_region(plan: Plan) -> None:
    branch: Any = steps_of(plan)["if"].regions["true_branch"]
    (negate,) = branch.steps
    negate.operands = (branch.slot_count - 1,)


WAYS = {
    _read_before_written: "before it is written",
    _read_after_release: "after its release",
    _read_as_another_type: "it holds",
    _written_twice: "which has another value",
    _writes_an_argument: "which has another value",
    _writes_a_constant: "which has another value",
    _never_written: "the end of the plan reads slot",
    _releases_a_result: "is a result or a constant",
    _releases_a_constant: "is a result or a constant|which is read later",
    _releases_twice: "after its release",
    _releases_what_it_does_not_use: "which it does not use",
    _never_releases: "never released",
    _writes_beyond_the_slots: "of 4",
    _overwrites_another_type: "overwrites operand 0",
    _overwrites_no_operand: "there is none",
    _captures_too_much: "captured values",
    _captures_what_is_gone: "after its release",
    _breaks_a_region: "before it is written",
}


@pytest.mark.parametrize("breaks", WAYS, ids=lambda one: one.__name__)
def test_broken_plans_are_rejected(breaks: Any) -> None:
    plan = plan_of()
    breaks(plan)
    with pytest.raises(InvalidPlan, match=WAYS[breaks]):
        verify_plan(plan)


def overwriting_plan(**changes: Any) -> Plan:
    """A plan of one step that overwrites its first operand."""
    step = Step(
        Prepared(max), (0, 1), (2,), "test.op", "here", ((), ()), releases=(0, 1), overwrites=((0, 0),)
    )
    for name, value in changes.items():
        setattr(step, name, value)
    return Plan([step], 3, (0, 1), (2,), {})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"releases": (1,)}, "which is read later"),
        ({"captures": (0,), "releases": (0, 1)}, "which its regions use"),
        ({"operands": (0, 0), "releases": (0,)}, "also reads as operand 1"),
    ],
)
def test_overwrites_that_another_read_may_see_are_rejected(
    changes: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The executor leaves such pairs out: without that rule they are found."""
    plan = overwriting_plan(**changes)
    verify_plan(plan)
    monkeypatch.setattr(
        "nimblehlo.execution.verification.plans.possible_overwrites", lambda step: list(step.overwrites)
    )
    with pytest.raises(InvalidPlan, match=reason):
        verify_plan(plan)
