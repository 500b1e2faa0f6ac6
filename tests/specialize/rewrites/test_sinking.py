"""Operations that one branch alone uses run in that branch."""

from __future__ import annotations

import numpy as np
import pytest

from tests.running import run_every_way
from tests.specialize.simplified import function, left, simplified

ARGUMENTS = "%p: tensor<i1>, %a: tensor<4xf32>, %s: tensor<f32>, %i: tensor<i32>"


def chosen(before: str, first: str, second: str, after: str = "", returned: str = "%r") -> str:
    """A program with an `if` that gives `first` or `second`, values named in `before`."""
    body = f"""{before}
      %r = "stablehlo.if"(%p) ({{
        stablehlo.return {first} : tensor<4xf32>
      }}, {{
        stablehlo.return {second} : tensor<4xf32>
      }}) : (tensor<i1>) -> tensor<4xf32>
      {after}
      return {returned} : tensor<4xf32>"""
    return function(ARGUMENTS, "tensor<4xf32>", body)


CHAIN = """%b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4xf32>
      %c = stablehlo.sine %b : tensor<4xf32>"""
UPDATE = """%c = stablehlo.sine %a : tensor<4xf32>
      %o = stablehlo.constant dense<[7.0]> : tensor<1xf32>
      %u = stablehlo.dynamic_update_slice %a, %o, %i
        : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>"""
SHRINKS = """%w = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0]
        : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
      %c = stablehlo.broadcast_in_dim %w, dims = [] : (tensor<f32>) -> tensor<4xf32>"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (chosen(CHAIN, "%c", "%a"), ["if", "broadcast_in_dim", "sine"]),
        (chosen(CHAIN, "%a", "%c"), ["if", "broadcast_in_dim", "sine"]),
        # What both branches use, or what follows them, stays.
        (chosen(CHAIN, "%c", "%c"), ["broadcast_in_dim", "sine", "if"]),
        (
            chosen(CHAIN, "%c", "%a", "%t = stablehlo.add %r, %c : tensor<4xf32>", "%t"),
            ["broadcast_in_dim", "sine", "if", "add"],
        ),
        # Reading %a after its update would keep it from being updated in place.
        (chosen(UPDATE, "%c", "%u"), ["sine", "dynamic_update_slice", "if"]),
        # The product's operands are more than its result.
        (chosen(SHRINKS, "%c", "%a"), ["dot_general", "if", "broadcast_in_dim"]),
    ],
)
def test_what_sinks(text: str, expected: list[str]) -> None:
    assert left(simplified(text)) == expected
    for predicate in (False, True):
        values = np.linspace(-2, 2, 4, dtype=np.float32)
        run_every_way(text, np.bool_(predicate), values, np.float32(0.5), np.int32(2))


def test_branches_within_a_loop() -> None:
    text = function(
        "%a: tensor<4xf32>",
        "tensor<4xf32>",
        """%zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %limit = stablehlo.constant dense<50> : tensor<i32>
      %all:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<4xf32>
      cond {
        %go = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %go : tensor<i1>
      } do {
        %bit = stablehlo.and %i, %one : tensor<i32>
        %k = stablehlo.sine %x : tensor<4xf32>
        %y = "stablehlo.case"(%bit) ({
          stablehlo.return %x : tensor<4xf32>
        }, {
          stablehlo.return %k : tensor<4xf32>
        }) : (tensor<i32>) -> tensor<4xf32>
        %n = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %n, %y : tensor<i32>, tensor<4xf32>
      }
      return %all#1 : tensor<4xf32>""",
    )
    assert left(simplified(text)) == ["while", "compare", "and", "case", "sine", "add"]
    run_every_way(text, np.linspace(-2, 2, 4, dtype=np.float32))
