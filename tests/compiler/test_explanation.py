"""`explain("plan")` says which gate kept two steps from being one fusion."""

from __future__ import annotations

import re

import pytest

import nimblehlo
from nimblehlo.compiler.fusion.refusals import Gate, Refusal, Refusals
from nimblehlo.program.ir import Block, Builder
from nimblehlo.program.ops.control.composite import unregister_composite
from nimblehlo.types import ELEMENT_TYPES, TensorType

LARGE = "tensor<300x300xf32>"
ADD = "applies stablehlo.add across dimensions"


def function(body: str, argument: str = LARGE, results: str = LARGE) -> str:
    zero = "%zero = stablehlo.constant dense<0.0> : tensor<f32>"
    return f"func.func @main(%x: {argument}) -> ({results}) {{\n{zero}\n{body}\n}}"


SORT = f"""
  %0 = stablehlo.multiply %x, %x : {LARGE}
  %1 = "stablehlo.sort"(%0) <{{dimension = 1 : i64}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }}) : ({LARGE}) -> {LARGE}
  %2 = stablehlo.add %0, %1 : {LARGE}
  return %2 : {LARGE}
"""
SMALL = f"""
  %0 = stablehlo.multiply %x, %x : tensor<8x16xf32>
  %1 = stablehlo.reduce(%0 init: %zero) {ADD} = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
"""
SHORT = """
  %0 = stablehlo.multiply %x, %x : tensor<8x16xf32>
  %1 = stablehlo.add %0, %x : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
"""
SEPARATE_DIMENSIONS = f"""
  %0 = stablehlo.multiply %x, %x : tensor<64x40x60xf32>
  %1 = stablehlo.reduce(%0 init: %zero) {ADD} = [0, 2] : (tensor<64x40x60xf32>, tensor<f32>) -> tensor<40xf32>
  return %1 : tensor<40xf32>
"""
COLUMNS_AFTER_ROWS = f"""
  %0 = stablehlo.reduce(%x init: %zero) {ADD} = [1] : ({LARGE}, tensor<f32>) -> tensor<300xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<300xf32>) -> {LARGE}
  %2 = stablehlo.divide %x, %1 : {LARGE}
  %3 = stablehlo.reduce(%2 init: %zero) {ADD} = [0] : ({LARGE}, tensor<f32>) -> tensor<300xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<300xf32>) -> {LARGE}
  %5 = stablehlo.divide %2, %4 : {LARGE}
  return %5 : {LARGE}
"""
SHARED = f"""
  %0 = stablehlo.exponential %x : {LARGE}
  %1 = stablehlo.slice %0 [0:10, 0:300] : ({LARGE}) -> tensor<10x300xf32>
  %2 = stablehlo.add %1, %1 : tensor<10x300xf32>
  %3 = stablehlo.multiply %2, %1 : tensor<10x300xf32>
  %4 = stablehlo.multiply %3, %1 : tensor<10x300xf32>
  return %0, %4 : {LARGE}, tensor<10x300xf32>
"""
SOFTMAX = f"""
  %0 = stablehlo.exponential %x : {LARGE}
  %1 = stablehlo.reduce(%0 init: %zero) {ADD} = [1] : ({LARGE}, tensor<f32>) -> tensor<300xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<300xf32>) -> {LARGE}
  %3 = stablehlo.divide %0, %2 : {LARGE}
  return %3 : {LARGE}
"""


def test_a_function_registered_later_leaves_no_reasons() -> None:
    """The plan that is explained is another one than the program would have now."""
    row = f"({LARGE}) -> {LARGE}"
    body = f"""
      %0 = stablehlo.composite "tests.later" %x {{decomposition = @inner}} : {row}
      %1 = stablehlo.add %0, %x : {LARGE}
      %2 = "stablehlo.reverse"(%1) <{{dimensions = array<i64: 0>}}> : {row}
      return %2 : {LARGE}"""
    tanh = f"%0 = stablehlo.tanh %y : {LARGE}\nreturn %0 : {LARGE}"
    inner = f"func.func private @inner(%y: {LARGE}) -> {LARGE} {{\n{tanh}\n}}"
    executable = nimblehlo.compile(f"module {{\n{function(body)}\n{inner}\n}}")
    before = executable.explain("plan")
    nimblehlo.register_composite("tests.later", lambda y: y)
    try:
        after = executable.explain("plan")
    finally:
        unregister_composite("tests.later")
    shown = [line for line in before.splitlines() if "not fused with step" not in line]
    assert after.splitlines() == shown


def refusals_of(program: str, **options: object) -> list[tuple[int, int, str]]:
    """The lines of a plan's refusals: the numbers of both steps, and the reason."""
    text = nimblehlo.compile(program, options=nimblehlo.Options(**options)).explain("plan")  # type: ignore[arg-type]
    refusals, step = [], -1
    for line in text.splitlines():
        if number := re.match(r" {,3}(\d+)  ", line):
            step = int(number[1])
        elif refusal := re.match(r" +not fused with step (\d+): (.*)", line):
            refusals.append((step, int(refusal[1]), refusal[2]))
    return refusals


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (
            function(SORT),
            [
                (1, 0, "a loop on elements cannot compute this stablehlo.sort"),
                (2, 0, "another step has to run between them"),
                (2, 1, "a loop on elements cannot compute this stablehlo.sort"),
            ],
        ),
        (
            function(SMALL, "tensor<8x16xf32>", "tensor<16xf32>"),
            [(1, 0, "a reduction of 128 elements is too small to be fused")],
        ),
        (
            function(SHORT, "tensor<8x16xf32>", "tensor<8x16xf32>"),
            [(1, 0, "the block has at most 3 operations, all on few elements")],
        ),
        (
            function(SEPARATE_DIMENSIONS, "tensor<64x40x60xf32>", "tensor<40xf32>"),
            [(1, 0, "only reductions of one operand, over adjacent dimensions, are fused")],
        ),
        (
            function(COLUMNS_AFTER_ROWS),
            [
                (1, 0, "the loop over 300x300 elements cannot compute another loop"),
                (2, 0, "another step has to run between them"),
                (2, 1, "the loop over 300x300 elements has to end before the value is complete"),
            ],
        ),
        (
            function(SHARED, results=f"{LARGE}, tensor<10x300xf32>"),
            [(1, 0, "other steps read it too, and computing it twice takes longer")],
        ),
        (function(SOFTMAX), []),
    ],
)
def test_refusals_stand_below_the_reading_step(program: str, expected: list[tuple[int, int, str]]) -> None:
    assert refusals_of(program) == expected


def test_nothing_is_told_where_nothing_is_fused() -> None:
    for options in ({"compile": "never"}, {"reference": True}, {"sanitize": True}):
        assert refusals_of(function(SORT), **options) == []


def test_reductions_in_another_order_are_not_fused() -> None:
    reason = "no fused loop reduces with reduction_tree='left', accumulate='wide'"
    assert (1, 0, reason) in refusals_of(function(SOFTMAX), reduction_tree="left")


def test_the_last_gate_counts() -> None:
    builder = Builder(Block([TensorType((2,), ELEMENT_TYPES["f32"])]))
    (value,) = builder.block.arguments
    reader = builder.create("stablehlo.negate", [value], [value.type])
    refusals = Refusals()
    for gate, reason in ((Gate.MEMBER, "a"), (Gate.PAYS, "b"), (Gate.LOOPS, "c"), (Gate.PAYS, "d")):
        refusals.note(value, reader, Refusal(gate, reason))
    assert refusals.reason(value, reader) == "d"
