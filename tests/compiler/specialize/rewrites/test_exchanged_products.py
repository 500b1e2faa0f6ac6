"""Products in loops that only transposes read: their operands are exchanged, with the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.compiler.specialize.simplified import assert_same_bits, function, simplified

PRODUCT = """%p = stablehlo.dot_general %w, %x, contracting_dims = [1] x [1]
          : (tensor<12x6xf32>, tensor<5x6xf32>) -> tensor<12x5xf32>"""
WHOLE = """%t = stablehlo.transpose %p, dims = [1, 0] : (tensor<12x5xf32>) -> tensor<5x12xf32>
    %y = stablehlo.slice %t [0:5, 0:12:2] : (tensor<5x12xf32>) -> tensor<5x6xf32>"""
SLICES = """%a = stablehlo.slice %p [1:7, 0:5] : (tensor<12x5xf32>) -> tensor<6x5xf32>
    %b = stablehlo.slice %p [0:12:2, 0:5] : (tensor<12x5xf32>) -> tensor<6x5xf32>
    %c = stablehlo.transpose %a, dims = [1, 0] : (tensor<6x5xf32>) -> tensor<5x6xf32>
    %d = stablehlo.transpose %b, dims = [1, 0] : (tensor<6x5xf32>) -> tensor<5x6xf32>
    %y = stablehlo.subtract %c, %d : tensor<5x6xf32>"""

READ_IN_BOTH_ORDERS = """%a = stablehlo.slice %p [1:7, 0:5] : (tensor<12x5xf32>) -> tensor<6x5xf32>
    %c = stablehlo.transpose %a, dims = [1, 0] : (tensor<6x5xf32>) -> tensor<5x6xf32>
    %d = stablehlo.reshape %a : (tensor<6x5xf32>) -> tensor<5x6xf32>
    %y = stablehlo.subtract %c, %d : tensor<5x6xf32>"""

READ_IN_A_BRANCH = (
    WHOLE.replace("%y", "%z")
    + """
    %few = stablehlo.constant dense<7> : tensor<i32>
    %is_early = stablehlo.compare LT, %i, %few : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %y = "stablehlo.if"(%is_early) ({
      %a = stablehlo.slice %p [1:7, 0:5] : (tensor<12x5xf32>) -> tensor<6x5xf32>
      %c = stablehlo.transpose %a, dims = [1, 0] : (tensor<6x5xf32>) -> tensor<5x6xf32>
      stablehlo.return %c : tensor<5x6xf32>
    }, {
      stablehlo.return %z : tensor<5x6xf32>
    }) : (tensor<i1>) -> tensor<5x6xf32>"""
)


def loop(lines: str, product: str = PRODUCT) -> str:
    """Multiplies %x by %w in each iteration; %y is the next %x, and the product is %p."""
    x, w = "tensor<5x6xf32>", "tensor<12x6xf32>"
    return function(
        f"%x0: {x}, %w: {w}",
        x,
        f"""%zero = stablehlo.constant dense<0> : tensor<i32>
        %r:2 = stablehlo.while(%i = %zero, %x = %x0) : tensor<i32>, {x}
        cond {{
          %limit = stablehlo.constant dense<20> : tensor<i32>
          %go = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %go : tensor<i1>
        }} do {{
          %one = stablehlo.constant dense<1> : tensor<i32>
          %next = stablehlo.add %i, %one : tensor<i32>
          {product}
          {lines}
          stablehlo.return %next, %y : tensor<i32>, {x}
        }}
        return %r#1 : {x}""",
    )


def operands() -> list[Any]:
    generator = np.random.default_rng(0)
    return [generator.standard_normal(shape).astype(np.float32) / 2 for shape in ((5, 6), (12, 6))]


def transposes_within(text: str) -> int:
    """How many results the loop transposes."""
    block: Any = simplified(text).body.block
    (while_loop,) = [one for one in block.operations if one.name == "stablehlo.while"]
    return [one.name for one in while_loop.walk()].count("stablehlo.transpose")


@pytest.mark.parametrize("lines", [WHOLE, SLICES], ids=["product", "slices"])
@pytest.mark.parametrize("precision", ["", ", precision = [HIGHEST, HIGHEST]"])
def test_transposed_products(lines: str, precision: str) -> None:
    product = PRODUCT.replace("[1] x [1]", f"[1] x [1]{precision}")
    text = loop(lines, product)
    assert transposes_within(text) == 0
    assert_same_bits(text, *operands())


def test_batches_stay_first() -> None:
    product = """%a = stablehlo.reshape %w : (tensor<12x6xf32>) -> tensor<2x6x6xf32>
      %b = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<5x6xf32>) -> tensor<2x5x6xf32>
      %p = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [2]
          : (tensor<2x6x6xf32>, tensor<2x5x6xf32>) -> tensor<2x6x5xf32>"""
    lines = """%t = stablehlo.transpose %p, dims = [0, 2, 1] : (tensor<2x6x5xf32>) -> tensor<2x5x6xf32>
      %s = stablehlo.slice %t [1:2, 0:5, 0:6] : (tensor<2x5x6xf32>) -> tensor<1x5x6xf32>
      %y = stablehlo.reshape %s : (tensor<1x5x6xf32>) -> tensor<5x6xf32>"""
    text = loop(lines, product)
    assert transposes_within(text) == 0
    assert_same_bits(text, *operands())


@pytest.mark.parametrize(
    "text",
    [
        loop(READ_IN_BOTH_ORDERS),
        loop(READ_IN_A_BRANCH),
        loop(WHOLE, PRODUCT.replace("[1] x [1]", "[1] x [1], precision = [DEFAULT, HIGHEST]")),
    ],
    ids=["read in both orders", "read in a branch", "two precisions"],
)
def test_other_products(text: str) -> None:
    assert transposes_within(text) > 0
    assert_same_bits(text, *operands())
