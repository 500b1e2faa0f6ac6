"""Programs that show a fault become smaller, and stay valid."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import nimblehlo
from nimblehlo.checks.minimizer import minimize
from nimblehlo.checks.minimizer.search import FaultPredicate
from nimblehlo.program.ir import Module
from nimblehlo.program.ops.framework.verify import verify

from .faults import FAULTS, program, shown_by


def contains(*names: str) -> FaultPredicate:
    """Whether a program has operations of these names."""

    def fails(module: Module) -> bool:
        verify(module)
        found = {operation.name for operation in module.walk()}
        return all(f"stablehlo.{name}" in found for name in names)

    return fails


def operations(module: Module) -> list[str]:
    names = [operation.name.partition(".")[2] for operation in module.walk()]
    return [name for name in names if name not in ("constant", "return")]


@pytest.mark.parametrize("fault", [FAULTS[0], FAULTS[3], FAULTS[5]], ids=lambda fault: fault.name)
def test_long_programs_with_faults(fault: tuple[str, object]) -> None:
    """Two of the faults need two operations each: a reduction's body, and a producer with its consumer."""
    _, change = fault
    fails = shown_by(change)  # type: ignore[arg-type]
    module = next(one for one in (program(seed, 60) for seed in range(1, 20)) if fails(one))
    reduced = minimize(module, fails)
    assert reduced.is_finished and reduced.operations <= 3 < reduced.operations_before
    assert fails(nimblehlo.load(str(reduced)))


CHAIN = """
func.func @main(%x: tensor<40x60xf64>, %y: tensor<60xf64>) -> (tensor<40x60xf64>, tensor<40xf64>) {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<60xf64>) -> tensor<40x60xf64>
  %1 = stablehlo.add %x, %0 : tensor<40x60xf64>
  %2 = stablehlo.tanh %1 : tensor<40x60xf64>
  %3 = stablehlo.multiply %2, %x : tensor<40x60xf64>
  %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [1]
    : (tensor<40x60xf64>, tensor<f64>) -> tensor<40xf64>
  return %3, %4 : tensor<40x60xf64>, tensor<40xf64>
}
"""


def test_sizes_types_and_results() -> None:
    reduced = minimize(CHAIN, contains("tanh"))
    assert operations(reduced.module) == ["tanh"]
    assert str(reduced.module.functions["main"].type) == "(tensor<1x1xf32>) -> tensor<1x1xf32>"


def test_two_operations_that_are_far_from_each_other() -> None:
    reduced = minimize(CHAIN, contains("broadcast_in_dim", "reduce"))
    assert set(operations(reduced.module)) == {"broadcast_in_dim", "reduce"}


def test_values_that_the_fault_needs_become_constants() -> None:
    """The fault shows for negative operands alone; inputs are drawn from [0, 1)."""
    text = """
    func.func @main() -> tensor<3xf32> {
      %0 = stablehlo.constant dense<[0.5, 2.5, 0.25]> : tensor<3xf32>
      %1 = stablehlo.negate %0 : tensor<3xf32>
      %2 = stablehlo.abs %1 : tensor<3xf32>
      %3 = stablehlo.sqrt %2 : tensor<3xf32>
      return %3 : tensor<3xf32>
    }
    """

    def fails(module: Module) -> bool:
        executable = nimblehlo.compile(module)
        if executable.input_types:
            return False
        trace = executable.trace([])
        return any(
            record.operation == "stablehlo.abs" and (np.asarray(result) == 2.5).any()
            for record in trace
            for result in record.values
        )

    reduced = minimize(text, fails)
    assert operations(reduced.module) == ["abs"]
    assert "2.5" in str(reduced)


LOOP = """
func.func @main(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %w = "stablehlo.if"(%p) ({
        %a = stablehlo.sine %v : tensor<4xf32>
        %b = stablehlo.negate %a : tensor<4xf32>
        stablehlo.return %b : tensor<4xf32>
      }, {
        stablehlo.return %v : tensor<4xf32>
      }) : (tensor<i1>) -> tensor<4xf32>
      %u = func.call @half(%w) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %j, %u : tensor<i32>, tensor<4xf32>
    }
  return %0#1 : tensor<4xf32>
}
func.func private @half(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.cosine %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.mark.parametrize("name", ["sine", "cosine", "negate"])
def test_operations_in_regions_and_callees(name: str) -> None:
    assert operations(minimize(LOOP, contains(name)).module) == [name]


def test_a_loop_that_has_to_stay_loses_operations_of_its_body() -> None:
    reduced = minimize(LOOP, contains("while", "if"))
    assert sorted(operations(reduced.module)) == ["if", "while"]


def test_calls_stay_where_the_fault_needs_them() -> None:
    def fails(module: Module) -> bool:
        return any(operation.name == "func.call" for operation in module.walk())

    reduced = minimize(LOOP, fails)
    assert "half" in reduced.module.functions and reduced.operations < reduced.operations_before


def test_the_result_does_not_depend_on_the_jobs() -> None:
    texts = [str(minimize(CHAIN, contains("multiply"), jobs=jobs)) for jobs in (1, 2, 5)]
    assert texts[0] == texts[1] == texts[2]


def test_several_programs_are_tried_at_the_same_time() -> None:
    barrier = threading.Barrier(2)

    def fails(module: Module) -> bool:
        found = "tanh" in operations(module)
        if threading.current_thread() is not threading.main_thread():
            try:
                barrier.wait(0.2)
                met.append(True)
            except threading.BrokenBarrierError:
                barrier.reset()
        return found

    met: list[bool] = []
    minimize(CHAIN, fails, jobs=2)
    assert met


def test_progress_and_the_end_of_the_time() -> None:
    told: list[tuple[int, int]] = []
    minimize(CHAIN, contains("tanh"), progress=lambda trials, left: told.append((trials, left)))
    assert [trials for trials, _ in told] == list(range(1, len(told) + 1)) and told[-1][1] == 1
    stopped = minimize(CHAIN, contains("tanh"), seconds=0.0)
    assert not stopped.is_finished and stopped.operations == stopped.operations_before


def test_a_program_without_the_fault() -> None:
    with pytest.raises(nimblehlo.NimbleError, match="does not show the fault"):
        minimize(CHAIN, contains("sine"))


def test_tokens_keep_their_operations() -> None:
    text = """
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %t = stablehlo.create_token : !stablehlo.token
      %u = stablehlo.after_all %t : !stablehlo.token
      %0 = stablehlo.sine %x : tensor<2xf32>
      %1 = stablehlo.negate %0 : tensor<2xf32>
      return %1 : tensor<2xf32>
    }
    """
    assert operations(minimize(text, contains("after_all")).module) == ["create_token", "after_all"]
