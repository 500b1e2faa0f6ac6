"""What steps are said to cost decides what is compiled."""

from __future__ import annotations

import pytest

import nimblehlo

UNARY = """
func.func @main(%x: tensor<{size}x{type}>) -> tensor<{size}x{result}> {{
  %0 = stablehlo.{name} %x : (tensor<{size}x{type}>) -> tensor<{size}x{result}>
  return %0 : tensor<{size}x{result}>
}}
"""


@pytest.mark.parametrize(
    ("name", "type", "result", "is_compiled"),
    [
        ("abs", "complex<f32>", "f32", True),
        ("abs", "f32", "f32", False),
        ("tanh", "f32", "f32", True),
        ("negate", "complex<f32>", "complex<f32>", False),
    ],
)
def test_native_code_is_made_of_what_numpy_takes_long_for(
    name: str, type: str, result: str, is_compiled: bool
) -> None:
    text = UNARY.format(size=3000, name=name, type=type, result=result)
    assert ("tiered" in nimblehlo.compile(text).explain("plan")) == is_compiled
