"""What is done with findings, and where they are looked for: constants, regions, called functions, shapes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Findings, Options, SanitizerWarning, UndefinedBehaviorError
from nimblehlo.inspection.sanitizer.findings import MAX_FINDINGS_PER_OPERATION
from nimblehlo.inspection.sanitizer.sanitizer import _INSPECTED
from nimblehlo.options import CHECKS
from tests.inspection.sanitizer.findings import findings_of, line_of, only_finding
from tests.support.threads import on_threads

TEXT = """
func.func @main(%a: tensor<2xi32>, %b: tensor<2xi32>) -> tensor<2xi32> {
  %0 = stablehlo.divide %a, %b : tensor<2xi32>
  %1 = stablehlo.shift_left %0, %a : tensor<2xi32>
  return %1 : tensor<2xi32>
}"""
ONE, FAULTY = np.array([1, 1], np.int32), np.array([1, 0], np.int32)


def test_findings_are_raised_by_default() -> None:
    executable = nimblehlo.compile(TEXT, options=Options(sanitize=True))
    assert executable(ONE, ONE)[0].tolist() == [2, 2]
    with pytest.raises(
        UndefinedBehaviorError, match=r"\(division_by_zero\) 1 is divided by 0 at \[1\]"
    ) as error:
        executable(ONE, FAULTY)
    assert (error.value.operation, error.value.location) == ("stablehlo.divide", "<text>:3:8")
    assert [finding.check for finding in executable.findings] == ["division_by_zero"]


def test_findings_are_warned_of_once() -> None:
    executable = nimblehlo.compile(TEXT, options=Options(sanitize=True, sanitize_action="warn"))
    with pytest.warns(SanitizerWarning, match="stablehlo.divide: .division_by_zero. .*, at <text>:3:8"):
        executable(ONE, FAULTY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        executable(ONE, FAULTY)
    assert len(executable.findings) == 2


def test_findings_are_collected_and_bounded() -> None:
    executable = nimblehlo.compile(TEXT, options=Options(sanitize=True, sanitize_action="collect"))
    on_threads(4, lambda _: [executable(ONE, FAULTY) for _ in range(20)])
    findings = executable.findings
    assert isinstance(findings, Findings)
    assert len(findings) == MAX_FINDINGS_PER_OPERATION
    assert findings.totals == {("division_by_zero", "stablehlo.divide", "<text>:3:8"): 80}
    findings.clear()
    assert not executable.findings


@pytest.mark.parametrize("sanitize", ["shift_amount", ["shift_amount"], {"shift_amount", "non_finite"}])
def test_chosen_checks_alone_are_made(sanitize: Any) -> None:
    options = {"sanitize": sanitize}
    assert not findings_of(TEXT, ONE, FAULTY, **options)
    assert only_finding(TEXT, np.array([1, 32], np.int32), FAULTY, **options).check == "shift_amount"


def test_without_checks_nothing_is_looked_for() -> None:
    for sanitize in (False, (), []):
        executable = nimblehlo.compile(TEXT, options=Options(sanitize=sanitize))
        executable(ONE, FAULTY)
        assert executable.findings == ()


@pytest.mark.parametrize("sanitize", [None, 1, "all", ["non_finite", "overflow"], [3], [["non_finite"]]])
def test_other_values_are_rejected(sanitize: Any) -> None:
    with pytest.raises(ValueError, match=r"but must be True, False or names out of .*'unique_indices'"):
        Options(sanitize=sanitize)
    with pytest.raises(ValueError, match=r"sanitize_action is .* but must be one of"):
        Options(sanitize_action=sanitize)


def test_each_check_has_its_place() -> None:
    assert {*_INSPECTED, "shape_mismatch", "uninitialized_memory"} == set(CHECKS)


def test_operations_on_constants_stay_where_there_is_a_finding() -> None:
    text = """
    func.func @main() -> tensor<2xi32> {
      %a = stablehlo.constant dense<[5, 6]> : tensor<2xi32>
      %b = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
      %0 = stablehlo.divide %a, %b : tensor<2xi32>
      %1 = stablehlo.divide %a, %a : tensor<2xi32>
      %2 = stablehlo.subtract %0, %1 : tensor<2xi32>
      return %2 : tensor<2xi32>
    }"""
    executable = nimblehlo.compile(text, options=Options(sanitize=True, sanitize_action="collect"))
    assert executable.explain("plan").count("stablehlo.divide") == 1
    executable()
    executable()
    assert [finding.location for finding in executable.findings] == [f"<text>:{line_of(text, '%0')}:12"] * 2


def test_regions_on_constants_stay_where_there_is_a_finding() -> None:
    text = """
    func.func @main() -> tensor<i32> {
      %a = stablehlo.constant dense<[6, 2, VALUE]> : tensor<3xi32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %0 = stablehlo.reduce(%a init: %one) across dimensions = [0]
        : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
        reducer(%x: tensor<i32>, %y: tensor<i32>) {
          %s = stablehlo.divide %x, %y : tensor<i32>
          stablehlo.return %s : tensor<i32>
      }
      return %0 : tensor<i32>
    }"""
    assert not findings_of(text.replace("VALUE", "1"))
    finding = only_finding(text.replace("VALUE", "0"))
    assert (finding.operation, finding.location) == ("stablehlo.divide", f"<text>:{line_of(text, '%s')}:16")


def test_operations_that_are_written_twice_or_unused_are_looked_at() -> None:
    text = """
    func.func @main(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
      %0 = stablehlo.divide %a, %b : tensor<i32>
      %1 = stablehlo.divide %a, %b : tensor<i32>
      return %a : tensor<i32>
    }"""
    lines = [line_of(text, part) for part in ("%0", "%1")]
    found = findings_of(text, np.int32(1), np.int32(0))
    assert [finding.location for finding in found] == [f"<text>:{line}:12" for line in lines]


NESTED = """
func.func private @half(%x: tensor<i32>, %y: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.divide %x, %y : tensor<i32>
  return %0 : tensor<i32>
}
func.func @main(%a: tensor<i32>, %p: tensor<i1>, %k: tensor<i32>) -> tensor<i32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0 = "stablehlo.if"(%p) ({
    %zero = stablehlo.subtract %k, %k : tensor<i32>
    %x = func.call @half(%a, %zero) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    stablehlo.return %x : tensor<i32>
  }, {
    %x:2 = stablehlo.while(%i = %k, %v = %a) : tensor<i32>, tensor<i32>
    cond {
      %m = stablehlo.negate %one : tensor<i32>
      %c = stablehlo.compare GT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %w = func.call @half(%v, %i) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %j = stablehlo.subtract %i, %one : tensor<i32>
      stablehlo.return %j, %w : tensor<i32>, tensor<i32>
    }
    stablehlo.return %x#1 : tensor<i32>
  }) : (tensor<i1>) -> tensor<i32>
  return %0 : tensor<i32>
}"""


@pytest.mark.parametrize("is_taken", [False, True])
def test_branches_loops_and_called_functions(is_taken: bool) -> None:
    finding = only_finding(NESTED, np.int32(12), np.bool_(is_taken), np.int32(3))
    assert (finding.check, finding.operation) == ("division_by_zero", "stablehlo.divide")
    assert finding.location == "<text>:3:8"
    assert finding.value == ((12, 0) if is_taken else (2, 0))


@pytest.mark.parametrize("compile", ["auto", "eager", "never"])
def test_results_are_the_same_in_every_way(compile: str) -> None:
    text = """
    func.func @main(%a: tensor<40x30xf32>) -> (tensor<40xf32>, tensor<40x30xf32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.exponential %a : tensor<40x30xf32>
      %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<40x30xf32>, tensor<f32>) -> tensor<40xf32>
      %2 = "stablehlo.sort"(%0) ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }) {dimension = 0 : i64} : (tensor<40x30xf32>) -> tensor<40x30xf32>
      return %1, %2 : tensor<40xf32>, tensor<40x30xf32>
    }"""
    values = np.random.default_rng(0).random((40, 30), np.float32)
    assert not findings_of(text, values, compile=compile)


ADD = """
func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.add %a, %b : tensor<?xf32>
  return %0 : tensor<?xf32>
}"""
RESHAPE = """
func.func @main(%a: tensor<6xf32>, %n: tensor<2xi32>) -> tensor<?x?xf32> {
  %0 = stablehlo.dynamic_reshape %a, %n : (tensor<6xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}"""
SIZES = """
func.func @main(%a: tensor<3xf32>, %n: tensor<i32>, %m: tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<3>> {
  %x = "stablehlo.set_dimension_size"(%a, %n) {dimension = 0 : i64}
    : (tensor<3xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<3>>
  %y = "stablehlo.set_dimension_size"(%a, %m) {dimension = 0 : i64}
    : (tensor<3xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<3>>
  %0 = stablehlo.add %x, %y : tensor<?xf32, #stablehlo.bounds<3>>
  return %0 : tensor<?xf32, #stablehlo.bounds<3>>
}"""
MISMATCHES = [
    (ADD, (np.ones(2, np.float32), np.ones(3, np.float32)), "stablehlo.add", 3, "C1"),
    (RESHAPE, (np.ones(6, np.float32), np.array([2, 4], np.int32)), "stablehlo.dynamic_reshape", 3, "C2"),
    (SIZES, (np.ones(3, np.float32), np.int32(2), np.int32(3)), "stablehlo.add", 7, "C1"),
    (SIZES, (np.ones(3, np.float32), np.int32(2), np.int32(4)), "stablehlo.set_dimension_size", 5, None),
]


@pytest.mark.parametrize(("text", "inputs", "operation", "line", "label"), MISMATCHES)
def test_shapes_that_do_not_agree(
    text: str, inputs: Any, operation: str, line: int, label: str | None
) -> None:
    executable = nimblehlo.compile(text, options=Options(sanitize=True))
    with pytest.raises(UndefinedBehaviorError, match="shape_mismatch") as raised:
        executable(*inputs)
    assert raised.value.operation == operation
    collecting = nimblehlo.compile(text, options=Options(sanitize=True, sanitize_action="collect"))
    with pytest.raises(nimblehlo.ExecutionError) as error:
        collecting(*inputs)
    assert not isinstance(error.value, UndefinedBehaviorError)
    (finding,) = collecting.findings
    assert (finding.check, finding.operation) == ("shape_mismatch", operation)
    assert finding.location.startswith(f"<text>:{line}:")
    assert finding.message.startswith(f"{label}: ") or label is None


def test_errors_that_are_no_findings_stay_what_they_are() -> None:
    text = """
    func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) {
      check.expect_almost_eq %a, %b : tensor<2xf32>
      stablehlo.custom_call @check.expect_eq(%a, %b) {has_side_effect = true}
        : (tensor<2xf32>, tensor<2xf32>) -> ()
      return
    }"""
    executable = nimblehlo.compile(text, options=Options(sanitize=True))
    with pytest.raises(nimblehlo.ExecutionError) as error:
        executable(np.ones(2, np.float32), np.ones(2, np.float32) * np.float32(1 + 2e-7))
    assert not isinstance(error.value, UndefinedBehaviorError)
    assert error.value.operation == "stablehlo.custom_call"
    assert not executable.findings


def test_programs_that_nothing_can_be_found_in_run_the_same_steps() -> None:
    text = """
    func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {
      %0 = stablehlo.add %a, %a : tensor<2xi32>
      return %0 : tensor<2xi32>
    }"""
    executable = nimblehlo.compile(text, options=Options(sanitize=True))
    (step,) = executable._static_program.plan.steps  # type: ignore[union-attr]
    assert step.function is np.add
