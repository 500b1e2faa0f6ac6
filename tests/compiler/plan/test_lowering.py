"""Lowering: slots, lifetimes, constants and the plans of regions."""

from __future__ import annotations

from typing import Literal

import pytest

import nimblehlo
from nimblehlo.compiler.loops.llvm import compiler_processes, expected_code
from nimblehlo.compiler.plan import Implementation, Plan, choose, fusion_passes, lower
from nimblehlo.compiler.plan.plan import Step
from nimblehlo.compiler.specialize import specialize
from nimblehlo.options import Options
from nimblehlo.program.frontend import parse
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.framework.verify import verify
from nimblehlo.program.ops.intermediate.fusion import STEP_FUSION


def plan_of(text: str) -> Plan:
    module = parse(text)
    verify(module)
    return lower(specialize(module, "main"), Options(compile="never"))


def test_each_value_dies_at_its_last_use() -> None:
    plan = plan_of("""
    func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.negate %a : tensor<2xf32>
      %1 = stablehlo.add %0, %a : tensor<2xf32>
      %2 = stablehlo.multiply %1, %0 : tensor<2xf32>
      return %2 : tensor<2xf32>
    }
    """)
    (a,) = plan.arguments
    negated, added, _ = (step.results[0] for step in plan.steps)
    assert [set(step.releases) for step in plan.steps] == [set(), {a}, {negated, added}]


def test_results_and_constants_are_not_released() -> None:
    plan = plan_of("""
    func.func @main(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      %c = stablehlo.constant dense<2.0> : tensor<2xf32>
      %0 = stablehlo.multiply %a, %c : tensor<2xf32>
      %1 = stablehlo.negate %0 : tensor<2xf32>
      return %0, %a : tensor<2xf32>, tensor<2xf32>
    }
    """)
    assert [step.operation for step in plan.steps] == ["stablehlo.multiply"]
    assert plan.steps[0].releases == ()
    assert set(plan.steps[0].operands) == {plan.arguments[0], *plan.constants}


def test_results_that_nothing_uses_are_released_at_once() -> None:
    plan = plan_of("""
    func.func @main(%s: tensor<2xui64>) -> tensor<2xui64> {
      %0:2 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY
        : (tensor<2xui64>) -> (tensor<2xui64>, tensor<1000xui32>)
      return %0#0 : tensor<2xui64>
    }
    """)
    (step,) = plan.steps
    assert set(step.releases) == {plan.arguments[0], step.results[1]}


def test_regions_take_captured_values_as_last_arguments() -> None:
    plan = plan_of("""
    func.func @main(%p: tensor<i1>, %a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
      %0 = "stablehlo.if"(%p) ({
        %1 = stablehlo.subtract %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }, {
        stablehlo.return %b : tensor<f32>
      }) : (tensor<i1>) -> tensor<f32>
      return %0 : tensor<f32>
    }
    """)
    (step,) = plan.steps
    assert step.operands == (plan.arguments[0],)
    assert step.captures == plan.arguments[1:]
    for region in step.regions.values():
        assert isinstance(region, Plan)
        assert len(region.arguments) == 2


def test_which_steps_may_write_into_their_operands() -> None:
    """Large arrays of the result's type only; never where the bits could depend on the place."""
    plan = plan_of("""
    func.func @main(%a: tensor<2000xf32>, %b: tensor<2xf32>, %i: tensor<i32>)
        -> (tensor<2000xf32>, tensor<2xf32>, tensor<2000xi1>, tensor<2000xf64>) {
      %0 = stablehlo.add %a, %a : tensor<2000xf32>
      %1 = stablehlo.add %b, %b : tensor<2xf32>
      %2 = stablehlo.dynamic_update_slice %0, %1, %i
        : (tensor<2000xf32>, tensor<2xf32>, tensor<i32>) -> tensor<2000xf32>
      %3 = stablehlo.compare LT, %a, %2 : (tensor<2000xf32>, tensor<2000xf32>) -> tensor<2000xi1>
      %4 = stablehlo.convert %a : (tensor<2000xf32>) -> tensor<2000xf64>
      %5 = stablehlo.sine %4 : tensor<2000xf64>
      return %2, %1, %3, %5 : tensor<2000xf32>, tensor<2xf32>, tensor<2000xi1>, tensor<2000xf64>
    }
    """)
    found = {
        step.operation.removeprefix("stablehlo."): step.overwrites for step in plan.steps if step.overwrites
    }
    assert found == {"add": ((0, 0), (1, 0)), "dynamic_update_slice": ((0, 0),)}


def test_control_flow_is_left_to_the_executor() -> None:
    plan = plan_of("""
    func.func @main(%p: tensor<i1>, %a: tensor<f32>) -> tensor<f32> {
      %0 = "stablehlo.if"(%p) ({
        stablehlo.return %a : tensor<f32>
      }, {
        %1 = stablehlo.negate %a : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<i1>) -> tensor<f32>
      return %0 : tensor<f32>
    }
    """)
    assert [step.control for step in plan.steps] == ["if"]


def test_sizes_of_slots() -> None:
    plan = plan_of("""
    func.func @main(%a: tensor<2xf64>, %b: tensor<?xf32>) -> (tensor<2xi1>, tensor<?xf32>) {
      %0 = stablehlo.is_finite %a : (tensor<2xf64>) -> tensor<2xi1>
      return %0, %b : tensor<2xi1>, tensor<?xf32>
    }
    """)
    assert [plan.slot_bytes[slot] for slot in (*plan.arguments, *plan.results)] == [16, 0, 2, 0]


TWICE = """
    func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf64>) {
      %0 = stablehlo.add %a, %b : tensor<2xf32>
      %1 = stablehlo.add %0, %b : tensor<2xf32>
      %2 = stablehlo.convert %1 : (tensor<2xf32>) -> tensor<2xf64>
      return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf64>
    }
"""


def test_operations_that_are_alike_share_a_reference() -> None:
    one, other, _ = plan_of(TWICE).steps
    assert other.implementation is one.implementation
    assert other.types is one.types
    assert (one.operands, other.operands) != (other.operands, one.operands)
    assert (one.results, other.results) == ((2,), (3,))
    assert str(one.location) != str(other.location)
    assert (one.releases, other.releases) != (other.releases, one.releases)


def test_other_operations_share_nothing() -> None:
    plan = plan_of("""
    func.func @main(%a: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
      %0 = stablehlo.cholesky %a, lower = true : tensor<2x2xf32>
      %1 = stablehlo.cholesky %0, lower = true : tensor<2x2xf32>
      return %0, %1 : tensor<2x2xf32>, tensor<2x2xf32>
    }
    """)
    one, other = plan.steps
    assert other.implementation is not one.implementation


def test_what_chooses_is_asked_for_each_operation() -> None:
    asked = []

    def ask(view: Op, options: Options) -> Implementation:
        asked.append(view.operation)
        return choose(view, options)

    module = parse(TWICE)
    verify(module)
    plan = lower(specialize(module, "main"), Options(compile="never"), ask)
    assert len(asked) == len(plan.steps) == 3


_TYPES = [f"tensor<{'2x' * rank}f32>" for rank in range(5, 0, -1)]

_SUM = """
      %x{step}_{n} = "stablehlo.reduce"(%x{before}_{n}, %zero) ({{
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %sum = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %sum : tensor<f32>
      }}) {{dimensions = array<i64: {dimension}>}} : ({operand}, tensor<f32>) -> {result}
"""

_LONG_SORT = """
      %big{n} = stablehlo.broadcast_in_dim %x4_{n}, dims = [0] : (tensor<2xf32>) -> tensor<2x65536xf32>
      %sorted{n} = "stablehlo.sort"(%big{n}) ({{
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %less = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %less : tensor<i1>
      }}) {{dimension = 1 : i64, is_stable = true}} : (tensor<2x65536xf32>) -> tensor<2x65536xf32>
      %part{n} = stablehlo.slice %sorted{n} [0:2, 0:16] : (tensor<2x65536xf32>) -> tensor<2x16xf32>
      %x0_{next} = stablehlo.reshape %part{n} : (tensor<2x16xf32>) -> tensor<2x2x2x2x2xf32>
"""


def step_fusions(*dimensions: int) -> list[Step]:
    """The step fusions of a program that sums elements four times, at last over one of these dimensions, and
    so again after a step of many elements."""
    rows = []
    for n, dimension in enumerate(dimensions):
        for step in range(1, 5):
            summed = dimension if step == 3 else 0
            operand, result = _TYPES[step - 1 : step + 1]
            rows.append(
                _SUM.format(
                    n=n, step=step, before=step - 1, dimension=summed, operand=operand, result=result
                )
            )
        rows.append(_LONG_SORT.format(n=n, next=n + 1))
    module = parse(f"""
    func.func @main(%x0_0: tensor<2x2x2x2x2xf32>) -> tensor<2x2x2x2x2xf32> {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      {"".join(rows)}
      return %x0_{len(dimensions)} : tensor<2x2x2x2x2xf32>
    }}
    """)
    verify(module)
    plan = lower(specialize(module, "main"), Options())
    return [step for step in plan.steps if step.operation == STEP_FUSION]


def test_fusions_of_equal_bodies_share_their_functions() -> None:
    _, first, second, other = [next(step.region_plans())[1] for step in step_fusions(1, 1, 1, 0)]
    inner, copied = [next(plan.steps[-1].region_plans())[1] for plan in (first, second)]
    for plan, same in ((first, second), (inner, copied)):
        assert plan.steps
        assert [(one.operands, one.results, one.releases, one.implementation) for one in plan.steps] == [
            (one.operands, one.results, one.releases, one.implementation) for one in same.steps
        ]
        locations = [str(one.location) for one in (*plan.steps, *same.steps)]
        assert len(set(locations)) == len(locations)
    assert first.steps[-1].implementation is not other.steps[-1].implementation


@pytest.mark.usefixtures("empty_cache")
@pytest.mark.parametrize(("when", "expected"), [("auto", True), ("eager", False), ("never", False)])
def test_processes_that_compile_start_before_a_program_that_needs_code_is_lowered(
    monkeypatch: pytest.MonkeyPatch, when: Literal["auto", "eager", "never"], expected: bool
) -> None:
    """Not where all is compiled before the first call, by this process, or nothing is; nor before a short
    program without control flow, whose first call needs no code."""
    started: list[bool] = []
    monkeypatch.setattr(expected_code, "_has_loaded", False)
    monkeypatch.setattr(compiler_processes.PROCESSES, "start_for_caller", lambda: started.append(True))
    options = nimblehlo.Options(compile=when)
    count = fusion_passes._MIN_EXPECTING_OPERATIONS
    for text in (_functions("2", 2), _functions("64x512", 2)):
        nimblehlo.compile(text, options=options)
        assert not started
    for text in (_functions("64x512", count), _functions("64x512", 2, is_conditional=True)):
        started.clear()
        nimblehlo.compile(text, options=options)
        assert bool(started) == expected


def _functions(shape: str, count: int, is_conditional: bool = False) -> str:
    """A program of functions of an array, one after the other, which a branch may contain."""
    type = f"tensor<{shape}xf32>"
    statements = [f"%{index + 1} = stablehlo.exponential %{index} : {type}" for index in range(count)]
    computed = "\n".join(statements).replace("%0 ", "%a ")
    if is_conditional:
        computed += f"""
          %p = stablehlo.constant dense<true> : tensor<i1>
          %p2 = stablehlo.optimization_barrier %p : tensor<i1>
          %{count + 1} = "stablehlo.if"(%p2) ({{
            %x = stablehlo.exponential %{count} : {type}
            "stablehlo.return"(%x) : ({type}) -> ()
          }}, {{
            "stablehlo.return"(%{count}) : ({type}) -> ()
          }}) : (tensor<i1>) -> {type}"""
    result = f"%{count + is_conditional}"
    return f"func.func @main(%a: {type}) -> {type} {{ {computed}\n return {result} : {type} }}"
