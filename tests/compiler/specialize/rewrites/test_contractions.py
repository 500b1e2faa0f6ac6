"""Products of narrow floats, and products and reductions without elements: what they become, with the same
bits."""

from __future__ import annotations

import pytest

from nimblehlo.program.ops.contraction import base, matmul
from tests.compiler.specialize.simplified import assert_becomes, assert_same_bits, function, left, simplified

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
    monkeypatch.setattr(matmul, "implementation_of", lambda order: None)


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
    for precision, converts in (("HIGHEST", True), ("DEFAULT", "f16" in (lhs, rhs) or lhs == "f32")):
        attributes = f", precision = [{precision}, {precision}]"
        two = product(f"65x300x{lhs}", f"300x70x{rhs}", f"65x70x{result}", attributes)
        stacked = product(
            f"3x65x300x{lhs}", f"3x300x70x{rhs}", f"3x65x70x{result}", attributes, BATCHED
        )
        # By default, products of bf16 and narrower floats without batching dimensions have their own order.
        assert_becomes(two, ["dot_general"] + ["convert"] * conversions * converts)
        assert_becomes(stacked, ["dot_general"] + ["convert"] * conversions)


@pytest.mark.parametrize(
    ("types", "conversions"),
    [
        (("i8", "i8", "f32"), 2),
        (("i8", "f32", "f32"), 1),
        (("f32", "f32", "i32"), 1),
        (("i1", "f32", "i32"), 2),
        (("i8", "i8", "i32"), 0),
        (("i8", "i32", "i64"), 0),
    ],
)
def test_products_of_several_kinds_become_products_of_one(types: tuple[str, ...], conversions: int) -> None:
    lhs, rhs, result = types
    text = product(f"2x3x{lhs}", f"3x4x{rhs}", f"2x4x{result}")
    assert_becomes(text, ["dot_general"] + ["convert"] * conversions)


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize(
    ("shapes", "dimensions"),
    [
        (("5x1x4", "5x1", "5x4"), "batching_dims = [0] x [0], contracting_dims = [1] x [1]"),
        (("3x5x1", "5x3x7", "5x3x1x7"), "batching_dims = [1, 0] x [0, 1], contracting_dims = [] x []"),
        (("1x1", "1x6", "1x6"), "contracting_dims = [1] x [0]"),
        (("1x6", "1", "6"), "contracting_dims = [0] x [0]"),
    ],
)
def test_products_of_single_terms_multiply_elements(
    type: str, shapes: tuple[str, ...], dimensions: str
) -> None:
    """The arguments have zeros of both signs, and numbers whose products are too small: all become +0."""
    lhs, rhs, result = [f"{shape}x{type}" for shape in shapes]
    text = product(lhs, rhs, result, "", dimensions)
    remaining = left(simplified(text))
    assert "dot_general" not in remaining and {"multiply", "add"} <= set(remaining)
    assert_same_bits(text)


def test_products_of_matrices_of_single_terms_stay() -> None:
    """A product of two numbers may be rounded to -0 there, to which nothing is added."""
    assert_becomes(product("3x1xf32", "1x4xf32", "3x4xf32"), ["dot_general"])


def test_an_operand_of_two_products_is_converted_once() -> None:
    kind, result = "tensor<100x100xf16>", "tensor<100x100xf32>"
    dot = f"stablehlo.dot_general %a, %{{}}, contracting_dims = [1] x [0] : ({kind}, {kind}) -> {result}"
    body = f"""%0 = {dot.format("a")}
    %1 = {dot.format("b")}
    return %0, %1 : {result}, {result}"""
    text = function(f"%a: {kind}, %b: {kind}", f"{result}, {result}", body)
    assert_becomes(text, ["dot_general", "dot_general", "convert", "convert"])


@pytest.mark.parametrize("type", ["f16", "f8E5M2"])
@pytest.mark.parametrize(
    "shapes", [("1x1000x{}", "1000x500x{}", "1x500x{}"), ("500x1000x{}", "1000x1x{}", "500x1xf32")]
)
def test_operands_of_products_with_vectors_are_converted(shapes: tuple[str, ...], type: str) -> None:
    text = product(*[shape.format(type) for shape in shapes])
    assert_becomes(text, ["dot_general", "convert", "convert"] + ["convert"] * ("f32" not in shapes[2]))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(product("8x8xbf16", "8x8xbf16", "8x8xbf16"), id="small"),
        pytest.param(product("1x1000xbf16", "1000x500xbf16", "1x500xbf16"), id="a vector's bits are read"),
        pytest.param(product("65x300xbf16", "300x70xbf16", "65x70xf64"), id="made in f64"),
        pytest.param(product("65x300xf64", "300x70xf64", "65x70xf64"), id="f64"),
        pytest.param(product("65x300xi8", "300x70xi8", "65x70xi32"), id="integers"),
    ],
)
def test_others_stay(text: str) -> None:
    assert_becomes(text, ["dot_general"])


def test_products_that_the_processor_has_instructions_for_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base.Contraction, "multiplies_narrow_floats", True)
    assert left(simplified(product("65x300xbf16", "300x70xbf16", "65x70xbf16"))) == ["dot_general"]


@pytest.mark.parametrize(
    ("arguments", "result", "body"),
    [
        (
            "%a: tensor<0x4xf32>, %b: tensor<3x4xf32>",
            "0x3xf32",
            """stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
    : (tensor<0x4xf32>, tensor<3x4xf32>) -> tensor<0x3xf32>""",
        ),
        (
            "%a: tensor<0x4xi32>",
            "4x0xi32",
            "stablehlo.transpose %a, dims = [1, 0] : (tensor<0x4xi32>) -> tensor<4x0xi32>",
        ),
        (
            "%a: tensor<0xcomplex<f32>>",
            "0xf32",
            "stablehlo.abs %a : (tensor<0xcomplex<f32>>) -> tensor<0xf32>",
        ),
    ],
)
def test_results_without_elements_are_constants(arguments: str, result: str, body: str) -> None:
    lines = f"%0 = {body}\n  return %0 : tensor<{result}>"
    assert_becomes(function(arguments, f"tensor<{result}>", lines), [])


def test_effects_stay_whatever_the_results() -> None:
    body = """%0, %1 = "stablehlo.rng_bit_generator"(%a) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}
    : (tensor<2xui64>) -> (tensor<2xui64>, tensor<0xui32>)
    %2 = stablehlo.rng %s, %s, %n, distribution = UNIFORM
    : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<0xf32>
    return %0, %1, %2 : tensor<2xui64>, tensor<0xui32>, tensor<0xf32>"""
    arguments = "%a: tensor<2xui64>, %s: tensor<f32>, %n: tensor<1xi64>"
    results = "tensor<2xui64>, tensor<0xui32>, tensor<0xf32>"
    assert left(simplified(function(arguments, results, body))) == ["rng_bit_generator", "rng"]


def reduction(count: int, shape: str, result: str) -> str:
    names = [f"%{letter}" for letter in "ab"[:count]]
    initial = [f"{name}0" for name in names]
    given = ", ".join(f"({name} init: {start})" for name, start in zip(names, initial, strict=True))
    arguments = [f"{name}: tensor<{shape}xf32>" for name in names]
    arguments += [f"{name}: tensor<f32>" for name in initial]
    pairs = "".join(f" (%l{n}: tensor<f32>, %r{n}: tensor<f32>)" for n in range(count))
    operands, results = ", ".join(["tensor<f32>"] * count), ", ".join([f"tensor<{result}xf32>"] * count)
    types = ", ".join([f"tensor<{shape}xf32>"] * count)
    found = ", ".join(f"%0#{n}" for n in range(count)) if count > 1 else "%0"
    lines = "".join(f"%s{n} = stablehlo.subtract %l{n}, %r{n} : tensor<f32>\n" for n in range(count))
    returned = ", ".join(f"%s{n}" for n in range(count))
    return function(
        ", ".join(arguments),
        results,
        f"""%0{f":{count}" if count > 1 else ""} = stablehlo.reduce{given} across dimensions = [0]
    : ({types}, {operands}) -> ({results}) reducer{pairs} {{
      {lines}stablehlo.return {returned} : {operands}
    }}
    return {found} : {results}""",
    )


@pytest.mark.parametrize("count", [1, 2])
def test_reductions_of_nothing_are_their_initial_values(count: int) -> None:
    assert_becomes(reduction(count, "0x3", "3"), ["broadcast_in_dim"] * count)
    assert_becomes(reduction(count, "0x0", "0"), [])
    assert "reduce" in left(simplified(reduction(count, "2x3", "3")))


def test_products_of_nothing_are_zero() -> None:
    def product(k: int) -> str:
        return function(
            f"%a: tensor<4x{k}xf32>, %b: tensor<{k}xf32>",
            "tensor<4xf32>",
            f"""%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<4x{k}xf32>, tensor<{k}xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>""",
        )

    assert_becomes(product(0), [])
    assert "dot_general" in left(simplified(product(3)))


NHWC = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"


def convolution(lhs: str, rhs: str, result: str, dimensions: str = NHWC, window: str = "") -> str:
    return function(
        f"%a: tensor<{lhs}>, %b: tensor<{rhs}>",
        f"tensor<{result}>",
        f"""%0 = stablehlo.convolution(%a, %b) dim_numbers = {dimensions}, window = {{{window}}}
    {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : (tensor<{lhs}>, tensor<{rhs}>) -> tensor<{result}>
    return %0 : tensor<{result}>""",
    )


@pytest.mark.parametrize(
    "text",
    [
        convolution("2x5x7x24xf32", "1x1x24x40xf32", "2x5x7x40xf32"),
        convolution("2x5x7x160xf64", "1x1x160x9xf64", "2x5x7x9xf64"),
        convolution("5x2x7x3xf32", "3x1x1x40xf32", "5x2x7x40xf32", "[0, b, 1, f]x[i, 0, 1, o]->[0, b, 1, f]"),
        convolution("30x12xf32", "12x40xf32", "30x40xf32", "[b, f]x[i, o]->[b, f]"),
    ],
)
def test_convolutions_by_windows_of_one_element_become_products(text: str) -> None:
    assert_becomes(text, ["dot_general"] + ["reshape"] * ("x1x" in text))


@pytest.mark.parametrize(
    "text",
    [
        convolution("2x5x7x161xf32", "1x1x161x40xf32", "2x5x7x40xf32"),
        convolution("2x5x7x24xf32", "1x1x24x1xf32", "2x5x7x1xf32"),
        convolution("1x1x1x24xf32", "1x1x24x40xf32", "1x1x1x40xf32"),
        convolution("2x5x7x24xf32", "1x3x24x40xf32", "2x5x5x40xf32"),
        convolution("2x5x7x24xf32", "1x1x24x40xf32", "2x3x7x40xf32", window="stride = [2, 1]"),
        convolution("2x5x7x24xf32", "1x1x24x40xf32", "2x7x7x40xf32", window="pad = [[1, 1], [0, 0]]"),
        convolution("2x24x5xf32", "1x24x40xf32", "2x40x5xf32", "[b, f, 0]x[0, i, o]->[b, f, 0]"),
        convolution("2x5x24xf32", "1x24x40xf32", "5x2x40xf32", "[b, 0, f]x[0, i, o]->[0, b, f]"),
        convolution("2x5x24xf32", "1x40x24xf32", "2x5x40xf32", "[b, 0, f]x[0, o, i]->[b, 0, f]"),
        convolution("2x5x7x24xbf16", "1x1x24x40xbf16", "2x5x7x40xbf16"),
    ],
)
def test_other_convolutions_stay(text: str) -> None:
    assert_becomes(text, ["convolution"])


CROPPED = "pad = [[-1, -2], [0, -1]]"
"""Removes what `padded_convolution` pads."""


def padded_convolution(
    value: str = "0.0",
    low: tuple[int, ...] = (0, 1, 0, 0),
    holes: int = 0,
    window: str = "stride = [1, 1]",
    size: int = 3,
    type: str = "f32",
) -> str:
    """A convolution of an array [2, 5, 7, 4] that is padded by (1, 2) rows and (0, 1) columns."""
    batch, rows, columns, features = (2 + low[0], 5 + 4 * holes + low[1] + 2, 7 + low[2] + 1, 4 + low[3])
    lhs, rhs = f"{batch}x{rows}x{columns}x{features}x{type}", f"{size}x{size}x{features}x6x{type}"
    dilation = 2 if "lhs_dilate" in window else 1
    stride = 2 if "stride = [2" in window else 1
    padding = 1 if "pad" in window else 0
    results = [((n - 1) * dilation + 1 + padding - size) // stride + 1 for n in (rows, columns)]
    if window == CROPPED:
        results = [5, 7]
    call = convolution(lhs, rhs, f"{batch}x{results[0]}x{results[1]}x6x{type}", NHWC, window)
    pad = f"""%v = stablehlo.constant dense<{value}> : tensor<{type}>
    %a = stablehlo.pad %x, %v, low = {list(low)}, high = [0, 2, 1, 0], interior = [0, {holes}, 0, 0]
    : (tensor<2x5x7x4x{type}>, tensor<{type}>) -> tensor<{lhs}>
    """
    call = call.replace(f"%a: tensor<{lhs}>", f"%x: tensor<2x5x7x4x{type}>")
    return call.replace("%0 = ", pad + "%0 = ", 1)


@pytest.mark.parametrize("type", ["f32", "bf16", "i32"])
@pytest.mark.parametrize("window", ["stride = [1, 1]", "stride = [2, 2], pad = [[1, 0], [0, 1]]"])
def test_convolutions_pad_zeros_themselves(type: str, window: str) -> None:
    value = "0" if type == "i32" else "0.0"
    assert_becomes(padded_convolution(value, type=type, window=window), ["convolution"])


@pytest.mark.parametrize(
    "text",
    [
        padded_convolution("1.0"),
        padded_convolution("-0.0"),
        padded_convolution(holes=1),
        padded_convolution(low=(0, -1, 0, 0)),
        padded_convolution(low=(1, 1, 0, 0)),
        padded_convolution(window="lhs_dilate = [2, 2]"),
        padded_convolution(size=1),
        padded_convolution(size=1, window=CROPPED),
    ],
    ids=["ones", "-0", "holes", "cropped", "batch", "dilated", "windows of one element", "undone"],
)
def test_other_pads_stay(text: str) -> None:
    assert "pad" in left(simplified(text))
    assert_same_bits(text)
