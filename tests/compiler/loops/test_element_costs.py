"""Tests of nimblehlo.compiler.loops.element_costs."""

from __future__ import annotations

import pytest

import nimblehlo
from nimblehlo.compiler.loops import element_costs
from nimblehlo.compiler.loops.element_costs import interleave_count


@pytest.mark.parametrize(
    ("name", "type", "elements", "count"),
    [
        ("exponential", "f32", None, 8),
        ("exponential", "f32", 128, 8),
        ("exponential", "f32", 128 + 31, 8),
        ("exponential", "f32", 128 + 32, 2),  # groups of 2 vectors leave none, of 4 and 8 a fifth
        ("exponential", "f32", 128 + 64, 4),
        ("exponential", "f32", 31, 8),  # element_costs._MIN_INTERLEAVE_COUNT
        ("exponential", "f32", 32, 2),
        ("exponential", "f32", 16 * 32, 8),
        ("exponential", "f32", 16 * 32 + 32, 8),  # element_costs._ELEMENTS_PER_REST
        ("exponential", "f32", 12 * 32 + 32, 2),
        ("exponential", "f64", 16 * 5, 2),
        ("exponential", "f64", 16 * 6, 4),
        ("negate", "f32", 192, 0),
    ],
)
def test_groups_of_vectors_leave_few_elements(
    name: str, type: str, elements: int | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(element_costs, "vector_bytes", lambda: 64)
    text = f"""
      func.func @main(%a: tensor<9x{type}>) -> tensor<9x{type}> {{
        %0 = stablehlo.{name} %a : tensor<9x{type}>
        return %0 : tensor<9x{type}>
      }}
    """
    body = nimblehlo.load(text).functions["main"].body
    assert body is not None
    assert interleave_count(body.block.operations[:1], elements) == count


def test_a_loop_without_operations_is_not_interleaved() -> None:
    assert interleave_count([], 100) == 0
