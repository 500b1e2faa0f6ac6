"""Products in loops: what they would transpose in each iteration is transposed before, with the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nimblehlo.program.ops.contraction.dot_general import DotGeneral
from nimblehlo.program.ops.contraction.float_matmul import max_rows_in_place
from tests.compiler.specialize.simplified import assert_same_bits, function, simplified


def loop(rows: int = 4, type: str = "f32", matrix: str = "%w", returned: str = "%w") -> str:
    """Multiplies %x by `matrix` in each iteration; %w is carried, and `returned` is its next value."""
    x, w = f"tensor<{rows}x8x{type}>", f"tensor<8x8x{type}>"
    return function(
        f"%x0: {x}, %w0: {w}",
        x,
        f"""%zero = stablehlo.constant dense<0> : tensor<i32>
        %r:3 = stablehlo.while(%i = %zero, %x = %x0, %w = %w0) : tensor<i32>, {x}, {w}
        cond {{
          %limit = stablehlo.constant dense<10> : tensor<i32>
          %go = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %go : tensor<i1>
        }} do {{
          %one = stablehlo.constant dense<1> : tensor<i32>
          %next = stablehlo.add %i, %one : tensor<i32>
          %changed = stablehlo.negate %w : {w}
          %number = stablehlo.convert %i : (tensor<i32>) -> tensor<{type}>
          %numbers = stablehlo.broadcast_in_dim %number, dims = [] : (tensor<{type}>) -> {w}
          %computed = stablehlo.add %w, %numbers : {w}
          %p = stablehlo.dot_general %x, {matrix}, contracting_dims = [1] x [1] : ({x}, {w}) -> {x}
          stablehlo.return %next, %p, {returned} : tensor<i32>, {x}, {w}
        }}
        return %r#1 : {x}""",
    )


def operands(rows: int, type: type) -> list[Any]:
    generator = np.random.default_rng(0)
    return [generator.standard_normal(shape).astype(type) / 4 for shape in ((rows, 8), (8, 8))]


def transposed_before(text: str) -> bool:
    """Whether the matrix of the loop's product is transposed before the loop."""
    block: Any = simplified(text).body.block
    (while_loop,) = [one for one in block.operations if one.name == "stablehlo.while"]
    (product,) = [one for one in while_loop.walk() if one.name == "stablehlo.dot_general"]
    owner = product.operands[1].owner
    is_before = owner in block.operations and owner.name == "stablehlo.transpose"
    assert tuple(DotGeneral.of(product).rhs_contracting_dimensions) == (0 if is_before else 1,)
    return is_before


@pytest.mark.parametrize("rows", [2, max_rows_in_place()])
@pytest.mark.parametrize(("type", "dtype"), [("f32", np.float32), ("f64", np.float64)])
def test_matrices_that_no_iteration_changes(rows: int, type: str, dtype: type) -> None:
    text = loop(rows, type)
    assert transposed_before(text)
    assert_same_bits(text, *operands(rows, dtype))


@pytest.mark.parametrize(
    "text",
    [
        loop(rows=1),
        loop(rows=max_rows_in_place() + 1),
        loop(type="bf16"),
        loop(returned="%changed"),
        loop(matrix="%computed"),
    ],
    ids=["a vector", "many rows", "bf16", "carried", "computed"],
)
def test_other_matrices(text: str) -> None:
    assert not transposed_before(text)


def test_products_of_one_matrix_share_its_transposition() -> None:
    line = "%p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1]"
    types = ": (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>"
    first = f"{line.replace('%p', '%q')} {types}"
    text = loop().replace(line, f"{first}\n{line.replace('%x', '%q')}")
    body: Any = simplified(text).body
    assert [one.name for one in body.walk()].count("stablehlo.transpose") == 1
    assert_same_bits(text, *operands(4, np.float32))
