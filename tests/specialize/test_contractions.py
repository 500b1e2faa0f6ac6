"""Products of narrow floats: which become products of f32 and conversions, with the same bits."""

from __future__ import annotations

import pytest

from nimblehlo.ops import contraction_base
from tests.specialize.simplified import assert_becomes, function

BATCHED = "batching_dims = [0] x [0], contracting_dims = [2] x [1]"


def product(
    lhs: str, rhs: str, result: str, attributes: str = "", dimensions: str = "contracting_dims = [1] x [0]"
) -> str:
    return function(
        f"%a: tensor<{lhs}>, %b: tensor<{rhs}>",
        f"tensor<{result}>",
        f"""%0 = stablehlo.dot_general %a, %b, {dimensions}{attributes}
    : (tensor<{lhs}>, tensor<{rhs}>) -> tensor<{result}>
    return %0 : tensor<{result}>""",
    )


@pytest.fixture(autouse=True)
def without_narrow_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contraction_base, "is_narrow", lambda view: False)


@pytest.mark.parametrize(
    ("types", "conversions"),
    [
        (("bf16", "bf16", "bf16"), 3),
        (("bf16", "bf16", "f32"), 2),
        (("f16", "f32", "f32"), 1),
        (("f32", "f32", "f16"), 1),
        (("f8E4M3FN", "bf16", "f16"), 3),
    ],
)
def test_narrow_floats_are_converted_beside_the_product(types: tuple[str, ...], conversions: int) -> None:
    lhs, rhs, result = types
    two = product(f"65x300x{lhs}", f"300x70x{rhs}", f"65x70x{result}")
    stacked = product(f"3x65x300x{lhs}", f"3x300x70x{rhs}", f"3x65x70x{result}", "", BATCHED)
    for text in (two, stacked):
        assert_becomes(text, ["dot_general"] + ["convert"] * conversions)


def test_an_operand_of_two_products_is_converted_once() -> None:
    kind, result = "tensor<100x100xbf16>", "tensor<100x100xf32>"
    dot = f"stablehlo.dot_general %a, %{{}}, contracting_dims = [1] x [0] : ({kind}, {kind}) -> {result}"
    body = f"""%0 = {dot.format("a")}
    %1 = {dot.format("b")}
    return %0, %1 : {result}, {result}"""
    text = function(f"%a: {kind}, %b: {kind}", f"{result}, {result}", body)
    assert_becomes(text, ["dot_general", "dot_general", "convert", "convert"])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(product("8x8xbf16", "8x8xbf16", "8x8xbf16"), id="small"),
        pytest.param(product("1x1000xbf16", "1000x500xbf16", "1x500xbf16"), id="a vector's bits are read"),
        pytest.param(product("65x300xbf16", "300x70xbf16", "65x70xf64"), id="made in f64"),
        pytest.param(product("65x300xf64", "300x70xf64", "65x70xf64"), id="f64"),
        pytest.param(product("65x300xi8", "300x70xi8", "65x70xi32"), id="integers"),
        pytest.param(
            product(
                "65x300xbf16",
                "300x70xbf16",
                "65x70xf32",
                ", algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, "
                "accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, "
                "num_primitive_operations = 1, allow_imprecise_accumulation = false>",
            ),
            id="an algorithm",
        ),
    ],
)
def test_others_stay(text: str) -> None:
    assert_becomes(text, ["dot_general"])


def test_products_that_the_processor_has_instructions_for_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contraction_base, "is_narrow", lambda view: True)
    monkeypatch.setattr(contraction_base, "suits", lambda *sizes: True)
    assert_becomes(product("65x300xbf16", "300x70xbf16", "65x70xbf16"), ["dot_general"])
