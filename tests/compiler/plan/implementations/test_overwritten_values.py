"""Initial values that a loop never uses: which are found; loops that do not copy them keep their bits."""

from __future__ import annotations

import numpy as np
import pytest

import nimblehlo
from nimblehlo.compiler.plan.implementations.overwritten_values import overwritten_values
from nimblehlo.compiler.specialize import specialize
from tests.support.running import run_every_way

PROGRAM = """func.func @main(%a: tensor<40x70xf32>, %x: tensor<70xf32>, %limit: tensor<i32>)
    -> (tensor<40x70xf32>, tensor<70xf32>) {{
  %start = stablehlo.constant dense<{start}> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:3 = stablehlo.while(%i = %start, %stack = %a, %v = %x) : tensor<i32>, tensor<40x70xf32>, tensor<70xf32>
  cond {{
    %end = stablehlo.constant dense<{end}> : tensor<i32>
    %more = stablehlo.compare LT, %i, {limit} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  }} do {{
    %increment = stablehlo.constant dense<{increment}> : tensor<i32>
    %next = stablehlo.add %i, %increment : tensor<i32>
    %y = stablehlo.tanh %v : tensor<70xf32>
    %last = stablehlo.constant dense<39> : tensor<i32>
    %reversed = stablehlo.subtract %last, %i : tensor<i32>
    %doubled = stablehlo.add %i, %i : tensor<i32>
    %w = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<70xf32>) -> tensor<{rows}x70xf32>
    %updated = stablehlo.dynamic_update_slice %stack, %w, {index}, %zero
      : (tensor<40x70xf32>, tensor<{rows}x70xf32>, tensor<i32>, tensor<i32>) -> tensor<40x70xf32>
    {more}
    stablehlo.return %next, {handed_on}, %y : tensor<i32>, tensor<40x70xf32>, tensor<70xf32>
  }}
  return %r#1, %r#2 : tensor<40x70xf32>, tensor<70xf32>
}}"""
DEFAULTS = {
    "start": 0, "end": 40, "limit": "%end", "increment": 1, "rows": 1, "index": "%i", "more": "",
    "handed_on": "%updated",
}  # fmt: skip
TWICE = "%twice = stablehlo.add %updated, %updated : tensor<40x70xf32>"
READ = """%read = stablehlo.slice %stack [0:1, 0:70] : (tensor<40x70xf32>) -> tensor<1x70xf32>
    %again = stablehlo.dynamic_update_slice %updated, %read, %zero, %zero
      : (tensor<40x70xf32>, tensor<1x70xf32>, tensor<i32>, tensor<i32>) -> tensor<40x70xf32>"""


WRAPPING = """func.func @main(%a: tensor<200x3xf32>) -> tensor<200x3xf32> {{
  %start = stablehlo.constant dense<-100> : tensor<{type}>
  %zero = stablehlo.constant dense<0> : tensor<{type}>
  %w = stablehlo.constant dense<7.0> : tensor<1x3xf32>
  %r:2 = stablehlo.while(%i = %start, %stack = %a) : tensor<{type}>, tensor<200x3xf32>
  cond {{
    %end = stablehlo.constant dense<100> : tensor<{type}>
    %more = stablehlo.compare LT, %i, %end : (tensor<{type}>, tensor<{type}>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  }} do {{
    %increment = stablehlo.constant dense<1> : tensor<{type}>
    %next = stablehlo.add %i, %increment : tensor<{type}>
    %offset = stablehlo.constant dense<100> : tensor<{type}>
    %index = stablehlo.add %i, %offset : tensor<{type}>
    %updated = stablehlo.dynamic_update_slice %stack, %w, %index, %zero
      : (tensor<200x3xf32>, tensor<1x3xf32>, tensor<{type}>, tensor<{type}>) -> tensor<200x3xf32>
    stablehlo.return %next, %updated : tensor<{type}>, tensor<200x3xf32>
  }}
  return %r#1 : tensor<200x3xf32>
}}"""


@pytest.mark.parametrize(
    ("change", "is_overwritten"),
    [
        ({}, True),
        ({"index": "%reversed"}, True),
        ({"start": -3, "end": 42}, True),
        ({"increment": 3, "rows": 3}, True),
        ({"increment": 3, "rows": 4}, True),
        ({"increment": 3, "rows": 2}, False),
        ({"start": 1}, False),
        ({"end": 39}, False),
        ({"end": 39, "index": "%reversed"}, False),
        ({"limit": "%limit"}, False),
        ({"index": "%zero"}, False),
        ({"index": "%doubled"}, False),
        ({"more": TWICE, "handed_on": "%twice"}, False),
        ({"more": READ, "handed_on": "%again"}, False),
    ],
)
def test_stacked_results(change: dict[str, object], is_overwritten: bool) -> None:
    text = PROGRAM.format(**(DEFAULTS | change))
    function = specialize(nimblehlo.load(text), "main")
    assert function.body is not None
    (loop,) = [each for each in function.body.walk() if each.name == "stablehlo.while"]
    found = [
        found
        for found, value in zip(overwritten_values(loop), loop.operands, strict=True)
        if value.type == function.body.block.arguments[0].type
    ]
    assert found == [is_overwritten]
    random = np.random.default_rng(0)
    inputs = random.standard_normal((40, 70)), random.standard_normal(70)
    run_every_way(text, *[one.astype(np.float32) for one in inputs], np.int32(40))


@pytest.mark.parametrize(("type", "is_overwritten"), [("i8", False), ("i16", True)])
def test_indices_that_wrap_around(type: str, is_overwritten: bool) -> None:
    text = WRAPPING.format(type=type)
    function = specialize(nimblehlo.load(text), "main")
    assert function.body is not None
    (loop,) = [each for each in function.body.walk() if each.name == "stablehlo.while"]
    assert any(overwritten_values(loop)) == is_overwritten
    run_every_way(text, np.zeros((200, 3), np.float32))
