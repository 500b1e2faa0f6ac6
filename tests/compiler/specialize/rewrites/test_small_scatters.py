"""Scatters of small arrays keep index vectors; others take their components."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from tests.support.running import run_every_way

PROGRAM = """
func.func @main(
    %x: tensor<{size}x6xf32>, %r: tensor<{count}xi32>, %c: tensor<{count}xi32>, %u: tensor<{count}xf32>
) -> tensor<{size}x6xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<{count}xi32>
  %rows = stablehlo.constant dense<{size}> : tensor<{count}xi32>
  %negative = stablehlo.compare LT, %r, %zero
    : (tensor<{count}xi32>, tensor<{count}xi32>) -> tensor<{count}xi1>
  %moved = stablehlo.add %r, %rows : tensor<{count}xi32>
  %row = stablehlo.select %negative, %moved, %r : tensor<{count}xi1>, tensor<{count}xi32>
  %a = stablehlo.reshape %row : (tensor<{count}xi32>) -> tensor<{count}x1xi32>
  %b = stablehlo.reshape %c : (tensor<{count}xi32>) -> tensor<{count}x1xi32>
  %i = stablehlo.concatenate %a, %b, dim = 1
    : (tensor<{count}x1xi32>, tensor<{count}x1xi32>) -> tensor<{count}x2xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{{
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1],
      scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>
  }}> ({{
  ^bb0(%y: tensor<f32>, %z: tensor<f32>):
    %s = stablehlo.add %y, %z : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}) : (tensor<{size}x6xf32>, tensor<{count}x2xi32>, tensor<{count}xf32>) -> tensor<{size}x6xf32>
  return %0 : tensor<{size}x6xf32>
}}
"""


def inputs(size: int, count: int) -> list[Any]:
    """Indices out of range and the extreme ones among them."""
    generator = np.random.default_rng(1)
    rows = generator.integers(-size - 2, size + 2, count).astype(np.int32)
    rows[:4] = np.iinfo(np.int32).min, np.iinfo(np.int32).max, -1, -size
    columns = generator.integers(-2, 8, count).astype(np.int32)
    operand, updates = (generator.standard_normal(shape).astype(np.float32) for shape in ((size, 6), count))
    return [operand, rows, columns, updates]


@pytest.mark.parametrize(
    ("size", "count", "by_components"), [(9, 50, False), (9, 40_000, True), (9000, 50, True)]
)
def test_small_scatters_keep_index_vectors(size: int, count: int, by_components: bool) -> None:
    text = PROGRAM.format(size=size, count=count)
    run_every_way(text, *inputs(size, count))
    for way in ("eager", "auto"):
        plan = nimblehlo.compile(text, options=Options(compile=way)).explain("plan")  # type: ignore[arg-type]
        assert ("nimblehlo.component_scatter" in plan) == by_components
    never = nimblehlo.compile(text, options=Options(compile="never"))
    assert "nimblehlo.component_scatter" not in never.explain("plan")
