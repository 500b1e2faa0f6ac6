"""The work of operations, against the sums that the specification states."""

from __future__ import annotations

import pytest

import nimblehlo
from nimblehlo.inspection.profiling.work import multiply_adds

CONVOLUTION = """
func.func @main(%x: tensor<4x6x6x{features}xf32>, %k: tensor<3x3x3x8xf32>) -> tensor<{batch}x4x4x8xf32> {{
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{}}
    {{feature_group_count = {feature_groups} : i64, batch_group_count = {batch_groups} : i64}}
    : (tensor<4x6x6x{features}xf32>, tensor<3x3x3x8xf32>) -> tensor<{batch}x4x4x8xf32>
  return %0 : tensor<{batch}x4x4x8xf32>
}}
"""
DOT = """
func.func @main(%x: tensor<2x5x7xf32>, %y: tensor<2x7x3xf32>) -> tensor<2x5x3xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x5x7xf32>, tensor<2x7x3xf32>) -> tensor<2x5x3xf32>
  return %0 : tensor<2x5x3xf32>
}
"""


def counted(text: str) -> int:
    operation = next(iter(nimblehlo.load(text).functions["main"].body.block.operations))
    types = [[value.type for value in values] for values in (operation.operands, operation.results)]
    return multiply_adds(operation.name, types[0], types[1], operation.attributes)


def test_a_product_multiplies_the_contracted_elements_of_each_result() -> None:
    assert counted(DOT) == 2 * 5 * 3 * 7


@pytest.mark.parametrize(("feature_groups", "batch_groups"), [(1, 1), (2, 1), (1, 2)])
def test_a_convolution_multiplies_a_window_of_the_kernel_for_each_result(
    feature_groups: int, batch_groups: int
) -> None:
    text = CONVOLUTION.format(
        features=3 * feature_groups,
        batch=4 // batch_groups,
        feature_groups=feature_groups,
        batch_groups=batch_groups,
    )
    window = 3 * 3 * 3
    assert counted(text) == (4 // batch_groups) * 4 * 4 * 8 * window
