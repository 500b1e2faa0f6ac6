"""Reductions of converted floats: which take the floats before the conversion; all keep their bits."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.running import run_every_way
from tests.specialize.simplified import function, simplified

SHAPE = "40x3000"


def program(start: str, name: str, element: str, dimensions: str, more: str = "") -> str:
    kept = "".join(f"{size}x" for d, size in enumerate(SHAPE.split("x")) if str(d) not in dimensions)
    return function(
        f"%x: tensor<{SHAPE}x{element}>",
        f"tensor<{kept}f32>" + (f", tensor<{SHAPE}xf32>" if more else ""),
        f"""  %0 = stablehlo.constant dense<{start}> : tensor<f32>
  %1 = stablehlo.convert %x : (tensor<{SHAPE}x{element}>) -> tensor<{SHAPE}xf32>
  %2 = stablehlo.reduce(%1 init: %0) applies stablehlo.{name} across dimensions = [{dimensions}]
    : (tensor<{SHAPE}xf32>, tensor<f32>) -> tensor<{kept}f32>
  return %2{", %1" if more else ""} : tensor<{kept}f32>{f", tensor<{SHAPE}xf32>" if more else ""}""",
    )


def names(text: str) -> list[str]:
    return [operation.name.removeprefix("stablehlo.") for operation in simplified(text).body.block.operations]


@pytest.mark.parametrize("dimensions", ["0", "1", "0, 1"])
@pytest.mark.parametrize(("element", "dtype"), [("bf16", ml_dtypes.bfloat16), ("f16", np.float16)])
@pytest.mark.parametrize(("name", "start"), [("add", "0.5"), ("maximum", "0xFF800000"), ("multiply", "1.0")])
def test_long_reductions_take_floats_of_16_bits(
    name: str, start: str, element: str, dtype: type, dimensions: str
) -> None:
    text = program(start, name, element, dimensions)
    assert ("convert" not in names(text)) == (dimensions == "0, 1")
    operand = np.random.default_rng(4).standard_normal((40, 3000)).astype(dtype)
    operand[3, 7:9], operand[5, 11], operand[6, 2] = np.inf, -0.0, 1e-40
    (found,) = run_every_way(text, operand)
    before = text.replace(f"%x: tensor<{SHAPE}x{element}>", f"%x: tensor<{SHAPE}xf32>").replace(
        f"(tensor<{SHAPE}x{element}>)", f"(tensor<{SHAPE}xf32>)"
    )
    (wanted,) = run_every_way(before, operand.astype(np.float32))
    assert found.tobytes() == wanted.tobytes()


def test_initial_values_that_do_not_fit_and_conversions_that_are_used_stay() -> None:
    assert "convert" in names(program("0.1", "add", "bf16", "0, 1"))
    assert "convert" in names(program("0.0", "add", "bf16", "0, 1", more="and the converted operand"))
    assert "convert" in names(program("0.0", "add", "f64", "0, 1"))
