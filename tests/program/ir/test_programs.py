"""Functions that operations reference."""

from __future__ import annotations

import nimblehlo
from nimblehlo.program.ir import referenced_functions

PROGRAM = """
func.func private @unused(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }
func.func private @inner(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }
func.func private @outer(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @inner(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = func.call @outer(%x) : (tensor<f32>) -> tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }, {
    %1 = stablehlo.composite "some.op" %x {decomposition = @inner} : (tensor<f32>) -> tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  return %0 : tensor<f32>
}
"""


def test_functions_are_found_in_regions_and_through_other_functions() -> None:
    functions = nimblehlo.load(PROGRAM).functions
    body = functions["main"].body
    assert body is not None
    assert {one.name for one in referenced_functions(body, functions)} == {"outer", "inner"}
