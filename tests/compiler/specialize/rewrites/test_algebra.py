"""Rewrites of elementwise operations: what they make of a program, and what they leave alone."""

from __future__ import annotations

import pytest

from nimblehlo.types import ELEMENT_TYPES
from tests.compiler.specialize.simplified import assert_becomes, function

FLOATS = ["f32", "bf16", "f16", "f64", "f8E4M3FN", "f8E5M2"]
INTEGERS = ["i32", "i8", "ui8", "i64", "ui64", "i4", "ui2"]


def constant(value: str, type: str) -> str:
    return f"%c = stablehlo.constant dense<{value}> : tensor<12x{type}>"


def binary(name: str, value: str, type: str, *, swapped: bool = False) -> str:
    """A program that applies an operation to an argument and a constant."""
    operands = "%c, %a" if swapped else "%a, %c"
    tensor = f"tensor<12x{type}>"
    lines = [constant(value, type), f"%0 = stablehlo.{name} {operands} : {tensor}", f"return %0 : {tensor}"]
    return function(f"%a: {tensor}", tensor, "\n".join(lines))


@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("name", "value", "goes"),
    [
        ("add", "-0.0", True),
        ("add", "0.0", False),
        ("multiply", "1.0", True),
        ("multiply", "0.0", False),
        ("multiply", "-1.0", False),
        ("maximum", "0.0", False),
    ],
)
def test_floats(name: str, value: str, goes: bool, swapped: bool, type: str) -> None:
    assert_becomes(binary(name, value, type, swapped=swapped), [] if goes else [name])


@pytest.mark.parametrize(
    ("name", "value", "goes"),
    [("subtract", "0.0", True), ("subtract", "-0.0", False), ("divide", "1.0", True)],
)
def test_floats_on_the_right(name: str, value: str, goes: bool) -> None:
    assert_becomes(binary(name, value, "f32"), [] if goes else [name])
    assert_becomes(binary(name, value, "f32", swapped=True), [name])


@pytest.mark.parametrize(("name", "value"), [("maximum", "0xFF800000"), ("minimum", "0x7F800000")])
def test_infinities_beyond_all_others(name: str, value: str) -> None:
    assert_becomes(binary(name, value, "f32"), [])


@pytest.mark.parametrize("type", INTEGERS)
@pytest.mark.parametrize("name", ["add", "or", "xor", "subtract", "shift_left", "shift_right_logical"])
def test_integers_and_zero(name: str, type: str) -> None:
    assert_becomes(binary(name, "0", type), [] if name in ("add", "or", "subtract") else [name])


@pytest.mark.parametrize("type", INTEGERS)
def test_integers_times_known_numbers(type: str) -> None:
    assert_becomes(binary("multiply", "1", type), [])
    assert_becomes(binary("multiply", "0", type), [])
    assert_becomes(binary("and", "0", type), [])
    assert_becomes(binary("divide", "1", type), [])
    assert_becomes(binary("xor", "-1" if type.startswith("i") else all_ones(type), type), ["xor"])
    assert_becomes(binary("and", "-1" if type.startswith("i") else all_ones(type), type), [])


def all_ones(type: str) -> str:
    return str((1 << ELEMENT_TYPES[type].width) - 1)


@pytest.mark.parametrize("type", ["i32", "ui8", "i4"])
@pytest.mark.parametrize(
    ("first", "second"), [("add", "add"), ("add", "subtract"), ("subtract", "add"), ("subtract", "subtract")]
)
def test_sums_with_constants(first: str, second: str, type: str) -> None:
    tensor = f"tensor<12x{type}>"
    text = function(
        f"%a: {tensor}",
        tensor,
        f"""%c = stablehlo.constant dense<3> : {tensor}
        %d = stablehlo.constant dense<2> : {tensor}
        %0 = stablehlo.{first} %a, %c : {tensor}
        %1 = stablehlo.{second} %0, %d : {tensor}
        return %1 : {tensor}""",
    )
    assert_becomes(text, [first, second])


def test_sums_of_floats_stay() -> None:
    text = function(
        "%a: tensor<12xf32>",
        "tensor<12xf32>",
        """%c = stablehlo.constant dense<3.0> : tensor<12xf32>
        %0 = stablehlo.add %a, %c : tensor<12xf32>
        %1 = stablehlo.add %0, %c : tensor<12xf32>
        return %1 : tensor<12xf32>""",
    )
    assert_becomes(text, ["add", "add"])


def same(name: str, type: str) -> str:
    """A program that applies an operation to an argument twice."""
    tensor = f"tensor<12x{type}>"
    return function(f"%a: {tensor}", tensor, f"%0 = stablehlo.{name} %a, %a : {tensor}\nreturn %0 : {tensor}")


@pytest.mark.parametrize(
    ("name", "type", "goes"),
    [
        ("maximum", "f32", True),
        ("minimum", "bf16", True),
        ("and", "i32", True),
        ("or", "i1", True),
        ("xor", "ui8", False),
        ("subtract", "i32", True),
        ("subtract", "f32", False),
        ("add", "i32", False),
        ("divide", "f32", False),
    ],
)
def test_of_a_value_and_itself(name: str, type: str, goes: bool) -> None:
    assert_becomes(same(name, type), [] if goes else [name])


@pytest.mark.parametrize(
    ("name", "type"),
    [
        ("negate", "f32"),
        ("negate", "i8"),
        ("negate", "complex<f32>"),
        ("negate", "f8E8M0FNU"),
        ("not", "i1"),
        ("not", "ui8"),
        ("abs", "f32"),
        ("abs", "i8"),
        ("floor", "bf16"),
        ("sign", "f32"),
        ("round_nearest_even", "f32"),
        ("exponential", "f32"),
    ],
)
def test_done_twice(name: str, type: str) -> None:
    tensor = f"tensor<12x{type}>"
    lines = f"""%0 = stablehlo.{name} %a : {tensor}
    %1 = stablehlo.{name} %0 : {tensor}
    return %1 : {tensor}"""
    assert_becomes(function(f"%a: {tensor}", tensor, lines), [name, name])


SELECTS = {
    "constant predicate": ("%p = stablehlo.constant dense<true> : tensor<12xi1>", "%p, %a, %b", []),
    "constant scalar": ("%p = stablehlo.constant dense<false> : tensor<i1>", "%p, %a, %b", []),
    "same branches": ("", "%q, %a, %a", []),
    "negation": ("%p = stablehlo.not %q : tensor<12xi1>", "%p, %a, %b", ["not", "select"]),
    "one element": (
        "%p = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i1>) -> tensor<12xi1>",
        "%p, %a, %b",
        ["select"],
    ),
}


@pytest.mark.parametrize("case", SELECTS)
def test_select(case: str) -> None:
    line, operands, expected = SELECTS[case]
    predicate = "tensor<i1>" if case == "constant scalar" else "tensor<12xi1>"
    body = f"""{line}
    %0 = "stablehlo.select"({operands}) : ({predicate}, tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
    return %0 : tensor<12xf32>"""
    arguments = "%q: tensor<12xi1>, %s: tensor<i1>, %a: tensor<12xf32>, %b: tensor<12xf32>"
    assert_becomes(function(arguments, "tensor<12xf32>", body), expected)


@pytest.mark.parametrize(("true", "false"), [("true", "false"), ("false", "true")])
def test_select_of_booleans(true: str, false: str) -> None:
    body = f"""%t = stablehlo.constant dense<{true}> : tensor<12xi1>
    %f = stablehlo.constant dense<{false}> : tensor<12xi1>
    %0 = stablehlo.select %p, %t, %f : tensor<12xi1>, tensor<12xi1>
    return %0 : tensor<12xi1>"""
    assert_becomes(function("%p: tensor<12xi1>", "tensor<12xi1>", body), ["select"])


@pytest.mark.parametrize(("both", "direction"), [("true", "EQ"), ("false", "NE")])
def test_select_of_booleans_that_are_found_to_be_the_same(both: str, direction: str) -> None:
    body = f"""%t = stablehlo.constant dense<{both}> : tensor<12xi1>
    %f = stablehlo.compare {direction}, %a, %a : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi1>
    %0 = stablehlo.select %p, %t, %f : tensor<12xi1>, tensor<12xi1>
    return %0 : tensor<12xi1>"""
    arguments = "%p: tensor<12xi1>, %a: tensor<12xi32>"
    assert_becomes(function(arguments, "tensor<12xi1>", body), [])


def comparison(direction: str, lhs: str, rhs: str, type: str, lines: str = "") -> str:
    tensor = f"tensor<12x{type}>"
    body = f"""{lines}
    %0 = stablehlo.compare {direction}, {lhs}, {rhs} : ({tensor}, {tensor}) -> tensor<12xi1>
    return %0 : tensor<12xi1>"""
    return function(f"%a: {tensor}, %p: tensor<12xi1>", "tensor<12xi1>", body)


@pytest.mark.parametrize("direction", ["EQ", "NE", "LT", "LE", "GT", "GE"])
def test_compare_with_itself(direction: str) -> None:
    assert_becomes(comparison(direction, "%a", "%a", "i32"), [])
    assert_becomes(comparison(direction, "%a", "%a", "f32"), ["compare"])


@pytest.mark.parametrize("direction", ["EQ", "NE", "LT", "LE", "GT", "GE"])
@pytest.mark.parametrize("bound", [-1, 0, 5, 11, 12])
def test_compare_within_bounds(direction: str, bound: int) -> None:
    lines = f"""%i = stablehlo.iota dim = 0 : tensor<20000xi32>
    %c = stablehlo.constant dense<{bound}> : tensor<20000xi32>
    %m = stablehlo.constant dense<12> : tensor<20000xi32>
    %r = stablehlo.remainder %i, %m : tensor<20000xi32>
    %0 = stablehlo.compare {direction}, %r, %c : (tensor<20000xi32>, tensor<20000xi32>) -> tensor<20000xi1>
    return %0 : tensor<20000xi1>"""
    outside = bound in (-1, 12)
    known = {"EQ": outside, "NE": outside, "LT": bound not in (5, 11), "GE": bound not in (5, 11)}
    always = known.get(direction, bound not in (0, 5))
    assert_becomes(
        function("", "tensor<20000xi1>", lines), [] if always else ["iota", "remainder", "compare"]
    )


@pytest.mark.parametrize(
    ("direction", "value", "expected"),
    [("EQ", "true", []), ("NE", "true", ["not"]), ("EQ", "false", ["not"]), ("NE", "false", [])],
)
def test_compare_with_truth(direction: str, value: str, expected: list[str]) -> None:
    assert_becomes(comparison(direction, "%a", "%c", "i1", constant(value, "i1")), expected)


@pytest.mark.parametrize("direction", ["NE", "EQ", "GT"])
def test_compare_of_converted_truth(direction: str) -> None:
    lines = "%v = stablehlo.convert %p : (tensor<12xi1>) -> tensor<12xi32>\n" + constant("0", "i32")
    assert_becomes(comparison(direction, "%v", "%c", "i32", lines), ["convert", "compare"])


def test_not_of_a_comparison() -> None:
    for type in ("i32", "f32"):
        tensor = f"tensor<12x{type}>"
        body = f"""%0 = stablehlo.compare LT, %a, %b : ({tensor}, {tensor}) -> tensor<12xi1>
        %1 = stablehlo.not %0 : tensor<12xi1>
        return %1 : tensor<12xi1>"""
        text = function(f"%a: {tensor}, %b: {tensor}", "tensor<12xi1>", body)
        assert_becomes(text, ["compare", "not"])


def test_bitcast_twice() -> None:
    for target in ("f32", "ui32"):
        body = f"""%0 = stablehlo.bitcast_convert %a : (tensor<12xf32>) -> tensor<12xi32>
        %1 = stablehlo.bitcast_convert %0 : (tensor<12xi32>) -> tensor<12x{target}>
        return %1 : tensor<12x{target}>"""
        text = function("%a: tensor<12xf32>", f"tensor<12x{target}>", body)
        assert_becomes(text, ["bitcast_convert", "bitcast_convert"])


@pytest.mark.parametrize("part", ["real", "imag"])
def test_parts_of_complex_numbers(part: str) -> None:
    body = f"""%0 = stablehlo.complex %a, %b : tensor<12xcomplex<f32>>
    %1 = stablehlo.{part} %0 : (tensor<12xcomplex<f32>>) -> tensor<12xf32>
    %2 = stablehlo.{part} %1 : (tensor<12xf32>) -> tensor<12xf32>
    return %1, %2 : tensor<12xf32>, tensor<12xf32>"""
    text = function("%a: tensor<12xf32>, %b: tensor<12xf32>", "tensor<12xf32>, tensor<12xf32>", body)
    assert_becomes(text, ["complex", part, part])


@pytest.mark.parametrize("type", ["bf16", "f8E8M0FNU", "f8E4M3FNUZ", "f4E2M1FN"])
def test_parts_of_real_numbers(type: str) -> None:
    body = f"""%0 = stablehlo.imag %a : (tensor<12x{type}>) -> tensor<12x{type}>
    %1 = stablehlo.real %a : (tensor<12x{type}>) -> tensor<12x{type}>
    return %0, %1 : tensor<12x{type}>, tensor<12x{type}>"""
    text = function(f"%a: tensor<12x{type}>", f"tensor<12x{type}>, tensor<12x{type}>", body)
    assert_becomes(text, ["imag", "real"])


def test_complex_of_its_components() -> None:
    body = """%0 = stablehlo.real %a : (tensor<12xcomplex<f32>>) -> tensor<12xf32>
    %1 = stablehlo.imag %a : (tensor<12xcomplex<f32>>) -> tensor<12xf32>
    %2 = stablehlo.complex %0, %1 : tensor<12xcomplex<f32>>
    return %2 : tensor<12xcomplex<f32>>"""
    text = function("%a: tensor<12xcomplex<f32>>", "tensor<12xcomplex<f32>>", body)
    assert_becomes(text, ["complex", "imag", "real"])


def test_quantized_tensors_are_left_alone() -> None:
    type = "tensor<12x!quant.uniform<i8:f32, 0.5:3>>"
    body = f"""%0 = stablehlo.maximum %a, %a : {type}
    %1 = stablehlo.negate %0 : {type}
    %2 = stablehlo.negate %1 : {type}
    return %2 : {type}"""
    from tests.compiler.specialize.simplified import left, simplified

    assert left(simplified(function(f"%a: {type}", type, body))) == ["maximum", "negate", "negate"]
