"""Bounds of integers: what each operation says of its result, judged by running it."""

from __future__ import annotations

import pytest

from nimblehlo.compiler.specialize.framework.intervals import Intervals
from tests.compiler.specialize.simplified import edge_values, function, run, simplified

BOUNDED = {
    "iota": "%0 = stablehlo.iota dim = 0 : tensor<20x{type}>",
    "constant": "%0 = stablehlo.constant dense<7> : tensor<20x{type}>",
    "and": "%0 = stablehlo.and %a, %c : tensor<20x{type}>",
    "remainder": "%0 = stablehlo.remainder %a, %c : tensor<20x{type}>",
    "clamp": "%0 = stablehlo.clamp %l, %a, %c : tensor<20x{type}>",
    "minimum": "%0 = stablehlo.minimum %a, %c : tensor<20x{type}>",
    "maximum": "%0 = stablehlo.maximum %a, %c : tensor<20x{type}>",
    "add": "%1 = stablehlo.and %a, %c : tensor<20x{type}>\n%0 = stablehlo.add %1, %c : tensor<20x{type}>",
    "add that wraps": "%0 = stablehlo.add %a, %c : tensor<20x{type}>",
    "subtract": "%1 = stablehlo.and %a, %c : tensor<20x{type}>\n"
    "%0 = stablehlo.subtract %1, %c : tensor<20x{type}>",
    "multiply": "%1 = stablehlo.and %a, %c : tensor<20x{type}>\n"
    "%0 = stablehlo.multiply %1, %1 : tensor<20x{type}>",
    "shift": "%1 = stablehlo.and %a, %c : tensor<20x{type}>\n"
    "%0 = stablehlo.shift_right_logical %1, %l : tensor<20x{type}>",
    "select": "%0 = stablehlo.select %p, %c, %l : tensor<20xi1>, tensor<20x{type}>",
    "update": "%1 = stablehlo.and %a, %c : tensor<20x{type}>\n"
    "%2 = stablehlo.slice %l [0:3] : (tensor<20x{type}>) -> tensor<3x{type}>\n"
    "%i = stablehlo.constant dense<4> : tensor<i32>\n"
    "%0 = stablehlo.dynamic_update_slice %1, %2, %i : "
    "(tensor<20x{type}>, tensor<3x{type}>, tensor<i32>) -> tensor<20x{type}>",
    "convert": "%1 = stablehlo.convert %p : (tensor<20xi1>) -> tensor<20x{type}>\n"
    "%0 = stablehlo.subtract %1, %l : tensor<20x{type}>",
    "narrowing": "%1 = stablehlo.convert %w : (tensor<20xi16>) -> tensor<20x{type}>\n"
    "%0 = stablehlo.add %1, %l : tensor<20x{type}>",
}


@pytest.mark.parametrize("type", ["i8", "ui8", "i32", "ui64", "i4"])
@pytest.mark.parametrize("case", BOUNDED)
def test_bounds_hold(case: str, type: str) -> None:
    body = f"""%c = stablehlo.constant dense<5> : tensor<20x{type}>
    %l = stablehlo.constant dense<2> : tensor<20x{type}>
    {BOUNDED[case].format(type=type)}
    return %0 : tensor<20x{type}>"""
    arguments = f"%a: tensor<20x{type}>, %p: tensor<20xi1>, %w: tensor<20xi16>"
    made = simplified(function(arguments, f"tensor<20x{type}>", body), rewrite=False)
    assert made.body is not None
    found = Intervals().of(made.body.block.terminator.operands[0])
    assert found is not None
    for seed in range(5):
        inputs = [edge_values(one, seed + n) for n, one in enumerate(made.type.inputs)]  # type: ignore[arg-type]
        values = [int(value) for value in run(made, inputs)[0].astype(object).reshape(-1)]
        assert found[0] <= min(values) and max(values) <= found[1]


def test_bounds_are_narrow_where_they_can_be() -> None:
    body = """%c = stablehlo.constant dense<5> : tensor<20xi32>
    %0 = stablehlo.remainder %a, %c : tensor<20xi32>
    %1 = stablehlo.and %a, %c : tensor<20xi32>
    %2 = stablehlo.add %0, %1 : tensor<20xi32>
    return %0, %1, %2 : tensor<20xi32>, tensor<20xi32>, tensor<20xi32>"""
    text = function("%a: tensor<20xi32>", "tensor<20xi32>, tensor<20xi32>, tensor<20xi32>", body)
    made = simplified(text, rewrite=False)
    assert made.body is not None
    bounds = [Intervals().of(value) for value in made.body.block.terminator.operands]
    assert bounds == [(-4, 4), (0, 5), (-4, 9)]


def test_floats_have_none() -> None:
    made = simplified(function("%a: tensor<2xf32>", "tensor<2xf32>", "return %a : tensor<2xf32>"))
    assert made.body is not None
    assert Intervals().of(made.body.block.arguments[0]) is None
