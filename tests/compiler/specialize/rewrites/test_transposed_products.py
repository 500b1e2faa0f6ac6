"""Products with a transposed constant: which multiply by the constant, with the same bits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.specialize.rewrites.transposed_products import multiply_before_transposing
from nimblehlo.kernels.matmul import matmul
from nimblehlo.program.ops.contraction.dot_general import DotGeneral
from tests.compiler.specialize.simplified import assert_becomes, function, simplified
from tests.support.running import run_every_way

K, N = 160, 130


def hexadecimal(shape: tuple[int, ...], seed: int = 0) -> str:
    """A constant that is too large to be folded."""
    values = np.random.default_rng(seed).standard_normal(shape, np.float32)
    return f'dense<"0x{values.tobytes().hex().upper()}"> : tensor<{"x".join(map(str, shape))}xf32>'


def layer(x: str, to: str, matrix: str) -> str:
    """Lines that multiply by a transposed matrix."""
    return f"""  {to}_t = stablehlo.transpose {matrix}, dims = [1, 0]
    : (tensor<{N}x{K}xf32>) -> tensor<{K}x{N}xf32>
  {to} = stablehlo.dot_general {x}, {to}_t, contracting_dims = [1] x [0]
    : (tensor<20x{K}xf32>, tensor<{K}x{N}xf32>) -> tensor<20x{N}xf32>"""


def program(matrix: str = f"stablehlo.constant {hexadecimal((N, K))}") -> str:
    return function(
        f"%x: tensor<20x{K}xf32>, %w: tensor<{N}x{K}xf32>",
        f"tensor<20x{N}xf32>",
        f"  %m = {matrix}\n{layer('%x', '%y', '%m')}\n  return %y : tensor<20x{N}xf32>",
    )


def test_constants_are_multiplied_in_place_of_their_transposes() -> None:
    assert_becomes(program(), ["dot_general"])


def test_arguments_stay_transposed() -> None:
    assert_becomes(program().replace("transpose %m", "transpose %w"), ["transpose", "dot_general"])


@pytest.mark.parametrize("permutation", list(itertools.permutations(range(3))))
@pytest.mark.parametrize(("batching", "contracting"), [((), 0), ((), 1), ((), 2), ((0,), 1), ((2,), 0)])
def test_dimensions_follow_the_permutation(
    permutation: tuple[int, ...], batching: tuple[int, ...], contracting: int
) -> None:
    """The result keeps its bits; a transpose stays where the result's dimensions would change places."""
    source = (27, 26, 28)
    sizes = [source[d] for d in permutation]
    columns = [d for d in range(3) if d != contracting and d not in batching]
    lhs = [*[sizes[d] for d in batching], 5, sizes[contracting]]
    result = [*[sizes[d] for d in batching], 5, *[sizes[d] for d in columns]]
    types = [f"tensor<{'x'.join(map(str, each))}xf32>" for each in (lhs, sizes, result)]
    dims = f"batching_dims = {[0][: len(batching)]} x {list(batching)}, " if batching else ""
    text = function(
        f"%x: {types[0]}",
        types[2],
        f"""  %m = stablehlo.constant {hexadecimal(source)}
  %t = stablehlo.transpose %m, dims = {list(permutation)} : (tensor<27x26x28xf32>) -> {types[1]}
  %y = stablehlo.dot_general %x, %t, {dims}contracting_dims = [{len(lhs) - 1}] x [{contracting}]
    : ({types[0]}, {types[1]}) -> {types[2]}
  return %y : {types[2]}""",
    )
    taken = [permutation[d] for d in columns]
    names = [operation.name for operation in simplified(text).body.walk()]  # type: ignore[union-attr]
    stays = permutation != (0, 1, 2) and taken != sorted(taken)
    assert names.count("stablehlo.transpose") == stays
    run_every_way(text, np.random.default_rng(1).standard_normal(lhs, np.float32))


def test_a_transposed_constant_is_packed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    products: list[matmul.ConstantProduct] = []

    class Recorded(matmul.ConstantProduct):
        def __init__(self, threads: int | None = None) -> None:
            super().__init__(threads)
            products.append(self)

    monkeypatch.setattr(matmul, "ConstantProduct", Recorded)
    executable = nimblehlo.compile(program(), options=Options(compile="eager"))
    x, w = np.ones((20, K), np.float32), np.ones((N, K), np.float32)
    for _ in range(2):
        executable(x, w)
    assert len(products) == 1


def test_callees_multiply_by_constant_arguments() -> None:
    """Each call of a callee passes a constant of its own."""
    (body,) = simplified(program("stablehlo.negate %w : " + f"tensor<{N}x{K}xf32>")).bodies
    (negate,) = [each for each in body.block.operations if each.name == "stablehlo.negate"]
    assert not multiply_before_transposing(body.block, body.block.arguments)
    body.block.replace_uses({negate.result: body.block.arguments[1]})
    assert not multiply_before_transposing(body.block)
    assert multiply_before_transposing(body.block, body.block.arguments)
    (product,) = [each for each in body.block.operations if each.name == "stablehlo.dot_general"]
    assert product.operands[1] is body.block.arguments[1]
    DotGeneral.of(product).verify()


def vector_product(matrix_side: int, order: tuple[int, ...], element: str, vectors: int = 1) -> str:
    """Stacks of transposes, [batch, k, outer] in another order, times vectors [batch, k, vectors]."""
    sizes = (3, 37, 21)
    source = tuple([sizes[d] for d in order])
    back = [order.index(d) for d in range(3)]
    free = (vectors, 21) if matrix_side else (21, vectors)
    matrix, moved, vector, result = [
        f"tensor<{'x'.join(map(str, shape))}x{element}>"
        for shape in (source, sizes, (3, 37, vectors), (3, *free))
    ]
    operands = [("%t", moved), ("%v", vector)]
    (lhs, lhs_type), (rhs, rhs_type) = operands[::-1] if matrix_side else operands
    return function(
        f"%m: {matrix}, %v: {vector}",
        result,
        f"""  %t = stablehlo.transpose %m, dims = {back} : ({matrix}) -> {moved}
  %y = stablehlo.dot_general {lhs}, {rhs}, batching_dims = [0] x [0], contracting_dims = [1] x [1]
    : ({lhs_type}, {rhs_type}) -> {result}
  return %y : {result}""",
    )


@pytest.mark.parametrize("matrix_side", [0, 1])
@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2), (2, 1, 0)])
@pytest.mark.parametrize("element", ["f32", "bf16", "i32", "f64"])
def test_vectors_multiply_what_is_transposed(matrix_side: int, order: tuple[int, ...], element: str) -> None:
    assert_becomes(vector_product(matrix_side, order, element), ["dot_general"])


@pytest.mark.parametrize("matrix_side", [0, 1])
def test_matrices_multiply_transposes(matrix_side: int) -> None:
    assert_becomes(vector_product(matrix_side, (0, 2, 1), "f32", vectors=2), ["transpose", "dot_general"])
