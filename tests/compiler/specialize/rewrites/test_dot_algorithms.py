"""Products by dot algorithms: what they become, with the same bits."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from nimblehlo.compiler.specialize.rewrites import dot_algorithms
from tests.compiler.specialize.simplified import assert_becomes, assert_same_bits, function
from tests.program.ops.contraction.test_dot_general import algorithm

SPLIT = ["is_finite", "subtract", "select"]


def product(
    precision: str,
    accumulation: str,
    operations: int = 1,
    kinds: tuple[str, str, str] = ("f32", "f32", "f32"),
    shapes: tuple[str, str, str] = ("9x35", "35x7", "9x7"),
) -> str:
    lhs, rhs, result = (f"tensor<{shape}x{kind}>" for shape, kind in zip(shapes, kinds, strict=True))
    written = algorithm(precision, accumulation, operations).replace("#stablehlo.dot_algorithm", "")
    body = f"""%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], {written}
    : ({lhs}, {rhs}) -> {result}
    return %0 : {result}"""
    return function(f"%a: {lhs}, %b: {rhs}", result, body)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(product("f32", "f32"), ["dot_general"], id="f32"),
        pytest.param(product("bf16", "f32"), ["convert"] * 4 + ["dot_general"], id="bf16"),
        pytest.param(product("f16", "f16"), ["convert"] * 6 + ["dot_general"], id="f16"),
        pytest.param(product("f8E5M2", "f32"), ["convert"] * 4 + ["dot_general"], id="f8"),
        pytest.param(product("tf32", "f32"), ["reduce_precision"] * 2 + ["dot_general"], id="tf32"),
        pytest.param(product("f64", "f64"), ["convert"] * 3 + ["dot_general"], id="f64"),
        pytest.param(
            product("bf16", "f32", 3),
            ["convert"] * 8 + SPLIT * 2 + ["dot_general"] * 3 + ["add", "compare", "add", "select"],
            id="bf16, 3 products",
        ),
        pytest.param(
            product("tf32", "f32", 3),
            ["reduce_precision"] * 4 + SPLIT * 2 + ["dot_general"] * 3 + ["add", "compare", "add", "select"],
            id="tf32, 3 products",
        ),
    ],
)
def test_products_of_what_is_rounded(text: str, expected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dot_algorithms, "implementation_of", lambda order: None)
    assert_becomes(text, expected)


@pytest.mark.sampled(("precision", "accumulation", "operations"), ("kinds", "operations"))
@pytest.mark.parametrize(
    ("precision", "accumulation", "operations"),
    [
        ("bf16", "bf16", 1), ("bf16", "f32", 1), ("bf16", "f32", 3), ("bf16", "f32", 6), ("bf16", "f32", 9),
        ("tf32", "f32", 1), ("tf32", "f32", 3), ("f16", "f32", 1), ("f64", "f64", 1), ("f8E4M3FN", "f32", 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "kinds",
    [
        ("f32", "f32", "f32"),
        ("bf16", "f16", "f16"),
        ("f64", "f64", "f8E5M2"),
        ("f8E4M3FN", "f16", "f32"),
        ("i8", "i8", "i32"),
        ("ui32", "ui32", "ui32"),
    ],
)
@pytest.mark.parametrize(
    "shapes", [("9x35", "35x7", "9x7"), ("1x300", "300x5", "1x5"), ("70x300", "300x80", "70x80")]
)
def test_bits(
    precision: str, accumulation: str, operations: int, kinds: tuple[str, ...], shapes: tuple[str, ...]
) -> None:
    assert_same_bits(product(precision, accumulation, operations, kinds, shapes))


@pytest.mark.parametrize("operations", [1, 3, 9])
@pytest.mark.parametrize("may_be_narrow", [False, True])
def test_ordinary_numbers_of_large_products(
    may_be_narrow: bool, operations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not may_be_narrow:
        monkeypatch.setattr(dot_algorithms, "implementation_of", lambda order: None)
    random = np.random.default_rng(5)
    lhs, rhs = (random.standard_normal(shape).astype(np.float32) for shape in ((150, 320), (320, 170)))
    shapes = ("150x320", "320x170", "150x170")
    assert_same_bits(product("bf16", "f32", operations, shapes=shapes), lhs, rhs)
    narrow = [array.astype(ml_dtypes.bfloat16) for array in (lhs, rhs)]
    kinds = ("bf16", "bf16", "f32")
    assert_same_bits(product("bf16", "f32", operations, kinds, shapes), *narrow)
