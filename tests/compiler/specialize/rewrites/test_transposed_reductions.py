"""Reductions of a transpose: which reduce its operand, with the same bits."""

from __future__ import annotations

import itertools
from math import prod

import numpy as np
import pytest

from tests.compiler.specialize.simplified import assert_becomes, function
from tests.support.running import run_every_way

SIZES = (6, 5, 7)
INITIAL = {"add": "0.5", "maximum": "0xFF800000", "multiply": "1.0"}


def tensor(sizes: tuple[int, ...], element: str = "f32") -> str:
    return f"tensor<{''.join(f'{size}x' for size in sizes)}{element}>"


def program(
    permutation: tuple[int, ...],
    reduced: tuple[int, ...],
    name: str = "add",
    element: str = "f32",
    initial: str | None = None,
    sizes: tuple[int, ...] = SIZES,
) -> str:
    transposed = tuple(sizes[d] for d in permutation)
    kept = tuple(size for d, size in enumerate(transposed) if d not in reduced)
    return function(
        f"%x: {tensor(sizes, element)}",
        tensor(kept, element),
        f"""  %0 = stablehlo.constant dense<{initial or INITIAL[name]}> : tensor<{element}>
  %1 = stablehlo.transpose %x, dims = {list(permutation)}
    : ({tensor(sizes, element)}) -> {tensor(transposed, element)}
  %2 = stablehlo.reduce(%1 init: %0) applies stablehlo.{name} across dimensions = {list(reduced)}
    : ({tensor(transposed, element)}, tensor<{element}>) -> {tensor(kept, element)}
  return %2 : {tensor(kept, element)}""",
    )


@pytest.mark.sampled(("permutation", "reduced"))
@pytest.mark.parametrize("permutation", [p for p in itertools.permutations(range(3)) if p != (0, 1, 2)])
@pytest.mark.parametrize("reduced", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("name", ["add", "maximum"])
def test_reductions_take_what_is_transposed(
    permutation: tuple[int, ...], reduced: tuple[int, ...], name: str
) -> None:
    """Where values keep their order, or it does not count; what is left is transposed where it has to be."""
    taken = [permutation[d] for d in reduced]
    kept = [d for d in permutation if d not in taken]
    if name == "add" and taken != sorted(taken):
        expected = ["transpose", "reduce", name]
    else:
        expected = ["reduce", name] + ["transpose"] * (kept != sorted(kept))
    assert_becomes(program(permutation, reduced, name), expected)


@pytest.mark.parametrize(
    ("name", "element", "initial", "is_moved"),
    [
        ("add", "i8", "3", True),
        ("multiply", "i32", "3", True),
        ("and", "i1", "true", True),
        ("minimum", "f64", "1.0", True),
        ("multiply", "f32", "2.0", False),
        ("add", "bf16", "0.0", False),
        ("add", "complex<f32>", "(0.0, 0.0)", False),
    ],
)
def test_values_change_their_order_where_that_changes_no_bit(
    name: str, element: str, initial: str, is_moved: bool
) -> None:
    expected = ["reduce", name] if is_moved else ["transpose", "reduce", name]
    assert_becomes(program((1, 0, 2), (0, 1), name, element, initial), expected)


def test_bodies_of_any_kind_see_the_values_in_their_order() -> None:
    text = function(
        "%x: tensor<6x5xf32>",
        "tensor<6xf32>",
        """  %0 = stablehlo.constant dense<1.0> : tensor<f32>
  %1 = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x5xf32>) -> tensor<5x6xf32>
  %2 = stablehlo.reduce(%1 init: %0) across dimensions = [0] : (tensor<5x6xf32>, tensor<f32>) -> tensor<6xf32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %3 = stablehlo.multiply %a, %b : tensor<f32>
      %4 = stablehlo.add %3, %a : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }
  return %2 : tensor<6xf32>""",
    )
    assert_becomes(text, ["reduce", "multiply", "add"])


def test_transposes_that_something_else_takes_stay() -> None:
    text = function(
        "%x: tensor<6x5xf32>",
        "tensor<6xf32>, tensor<5x6xf32>",
        """  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x5xf32>) -> tensor<5x6xf32>
  %2 = stablehlo.reduce(%1 init: %0) applies stablehlo.add across dimensions = [0]
    : (tensor<5x6xf32>, tensor<f32>) -> tensor<6xf32>
  return %2, %1 : tensor<6xf32>, tensor<5x6xf32>""",
    )
    assert_becomes(text, ["transpose", "reduce", "add"])


def test_reductions_in_regions_are_found_and_their_results_replaced() -> None:
    text = function(
        "%p: tensor<i1>, %x: tensor<6x5x4xf32>",
        "tensor<4x6xf32>",
        """  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.if"(%p) ({
    %1 = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<6x5x4xf32>) -> tensor<4x5x6xf32>
    %2 = stablehlo.reduce(%1 init: %0) applies stablehlo.add across dimensions = [1]
      : (tensor<4x5x6xf32>, tensor<f32>) -> tensor<4x6xf32>
    stablehlo.return %2 : tensor<4x6xf32>
  }, {
    %3 = stablehlo.constant dense<1.0> : tensor<4x6xf32>
    stablehlo.return %3 : tensor<4x6xf32>
  }) : (tensor<i1>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>""",
    )
    x = np.random.default_rng(1).standard_normal((6, 5, 4)).astype(np.float32)
    assert_becomes(text, ["if", "reduce", "add", "transpose"], np.True_, x)


def test_large_operands_in_every_way() -> None:
    sizes = (48, 33, 40)
    x = np.random.default_rng(2).standard_normal(prod(sizes)).astype(np.float32).reshape(sizes)
    for permutation, reduced in [((1, 0, 2), (1, 2)), ((2, 1, 0), (0,)), ((1, 2, 0), (0, 1))]:
        run_every_way(program(permutation, reduced, sizes=sizes), x)
