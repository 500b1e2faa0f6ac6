"""The operands whose elements the regions of operations are given."""

from __future__ import annotations

import pytest

import nimblehlo
from nimblehlo.program.ops.framework.declaration import Op

ADD = """{ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32> }"""
GREATER = """{ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1> }"""
WINDOWS = "window_dimensions = array<i64: 2>, window_strides = array<i64: 2>"
SCATTERED = "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
NUMBERS = f"scatter_dimension_numbers = #stablehlo.scatter<{SCATTERED}>"
TYPES = {
    "x": "tensor<4xf32>", "pair": "tensor<2xf32>", "init": "tensor<f32>", "indices": "tensor<3x1xi32>",
    "updates": "tensor<3xf32>",
}  # fmt: skip

OPERATIONS = {
    "reduce": ("x init", f"({ADD}) {{dimensions = array<i64: 0>}}", "tensor<f32>", [[0, 0]]),
    "reduce_window": ("x init", f"({ADD}) {{{WINDOWS}}}", "tensor<2xf32>", [[0, 0]]),
    "select_and_scatter": (
        "x pair init", f"({GREATER}, {ADD}) {{{WINDOWS}}}", "tensor<4xf32>", [[0, 0], [1, 1]],
    ),
    "sort": ("x", f"({GREATER})", "tensor<4xf32>", [[0, 0]]),
    "map": ("x x", f"({ADD}) {{dimensions = array<i64: 0>}}", "tensor<4xf32>", [[0, 1]]),
    "scatter": ("x indices updates", f"({ADD}) {{{NUMBERS}}}", "tensor<4xf32>", [[0, 2]]),
    "all_reduce": ("x", f"({ADD}) {{replica_groups = dense<0> : tensor<1x1xi64>}}", "tensor<4xf32>", [[]]),
}  # fmt: skip
"""Operands, regions and attributes, the result's type, and the operands of each region."""


@pytest.mark.parametrize("name", OPERATIONS)
def test_regions_are_given_elements_of_operands(name: str) -> None:
    operands, rest, result, expected = OPERATIONS[name]
    names = operands.split()
    arguments = ", ".join([f"%{one}: {type}" for one, type in TYPES.items()])
    operation_type = f"({', '.join([TYPES[one] for one in names])}) -> {result}"
    body = nimblehlo.load(f"""func.func @main({arguments}) -> {result} {{
      %0 = "stablehlo.{name}"({", ".join([f"%{one}" for one in names])}) {rest} : {operation_type}
      return %0 : {result}
    }}""").functions["main"].body  # fmt: skip
    assert body is not None
    operation = body.block.operations[0]
    assert [list(Op.of(operation).applied_operands(one)) for one in operation.regions] == expected
