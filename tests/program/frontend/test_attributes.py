"""Attributes of every kind, as their own text says them."""

import pytest

from nimblehlo.errors import ParseError
from nimblehlo.program.frontend import parse
from nimblehlo.program.ir import (
    ArrayAttribute,
    BoolAttribute,
    DenseArrayAttribute,
    DenseResourceAttribute,
    DenseStringsAttribute,
    DictionaryAttribute,
    EnumAttribute,
    FloatAttribute,
    IntegerAttribute,
    LocationAttribute,
    NameLocation,
    OpaqueAttribute,
    StringAttribute,
    StructAttribute,
    SymbolAttribute,
    TypeAttribute,
    UnitAttribute,
)
from nimblehlo.types import FunctionType, OpaqueType, TensorType, element_type
from tests.program.frontend.sources import attribute

I64 = element_type("i64")
F32 = element_type("f32")
F64 = element_type("f64")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", BoolAttribute(True)),
        ("1 : i1", BoolAttribute(True)),
        ("3", IntegerAttribute(3, I64)),
        ("-3 : i8", IntegerAttribute(-3, element_type("i8"))),
        ("0xff : i8", IntegerAttribute(-1, element_type("i8"))),
        ("255 : ui8", IntegerAttribute(255, element_type("ui8"))),
        ("7 : index", IntegerAttribute(7, element_type("index"))),
        ("1.5", FloatAttribute(1.5, F64)),
        ("-1.0E+2 : f32", FloatAttribute(-100.0, F32)),
        ("0.1 : f32", FloatAttribute(0.10000000149011612, F32)),
        ("0x7F800000 : f32", FloatAttribute(float("inf"), F32)),
        ("0x3C00 : f16", FloatAttribute(1.0, element_type("f16"))),
        ('"a\\22b\\\\\\n\\t"', StringAttribute('a"b\\\n\t')),
        ('"\\C3\\A9"', StringAttribute("é")),
        ('"é"', StringAttribute("é")),
        ('"\\FF"', StringAttribute("\udcff")),
        ('"x" : !foo.bar', StringAttribute("x")),
        ("unit", UnitAttribute()),
        ("i32", TypeAttribute(element_type("i32"))),
        ("tf32", TypeAttribute(element_type("tf32"))),
        ("si8", TypeAttribute(element_type("i8"))),
        ("si7", TypeAttribute(OpaqueType("si7"))),
        ("tensor<2xf32>", TypeAttribute(TensorType((2,), F32))),
        ("(f32) -> f32", TypeAttribute(FunctionType([F32], [F32]))),
        ("@f", SymbolAttribute("f")),
        ('@"a b"::@c', SymbolAttribute("a b", ("c",))),
        ("[]", ArrayAttribute(())),
        ("[1, [true]]", ArrayAttribute((IntegerAttribute(1, I64), ArrayAttribute((BoolAttribute(True),))))),
        ("{}", DictionaryAttribute({})),
        (
            '{a = 1, "b c", d.e = {f = "}"}}',
            DictionaryAttribute(
                {
                    "a": IntegerAttribute(1, I64),
                    "b c": UnitAttribute(),
                    "d.e": DictionaryAttribute({"f": StringAttribute("}")}),
                }
            ),
        ),
        ("array<i64>", DenseArrayAttribute(I64, ())),
        ("array<i64: 1, -2>", DenseArrayAttribute(I64, (1, -2))),
        ("array<i1: true, false>", DenseArrayAttribute(element_type("i1"), (True, False))),
        ("array<f32: 1.0, 0xFF800000>", DenseArrayAttribute(F32, (1.0, float("-inf")))),
        ("#stablehlo<precision HIGHEST>", EnumAttribute("stablehlo", "precision", "HIGHEST")),
        (
            "#stablehlo.result_accuracy_mode<DEFAULT>",
            EnumAttribute("stablehlo", "result_accuracy_mode", "DEFAULT"),
        ),
        (
            "#stablehlo<result_accuracy_mode<DEFAULT>>",
            EnumAttribute("stablehlo", "result_accuracy_mode", "DEFAULT"),
        ),
        ("#chlo<comparison_direction LT>", EnumAttribute("chlo", "comparison_direction", "LT")),
        (
            "#stablehlo.gather<offset_dims = [1, 2], index_vector_dim = 1,>",
            StructAttribute("stablehlo", "gather", {"offset_dims": (1, 2), "index_vector_dim": 1}),
        ),
        (
            "#stablehlo.dot_algorithm<lhs_precision_type = tf32, allow_imprecise_accumulation = false>",
            StructAttribute(
                "stablehlo",
                "dot_algorithm",
                {"lhs_precision_type": element_type("tf32"), "allow_imprecise_accumulation": False},
            ),
        ),
        ("#sdy<tensor_mapping[i, jk]>", OpaqueAttribute("#sdy<tensor_mapping[i, jk]>")),
        ("#mhlo.sharding", OpaqueAttribute("#mhlo.sharding")),
        ("#stablehlo.bounds<1, ?>", OpaqueAttribute("#stablehlo.bounds<1, ?>")),
        ("affine_map<(d0) -> (d0)>", OpaqueAttribute("affine_map<(d0) -> (d0)>")),
        *(
            (text, OpaqueAttribute(text))
            for text in (
                "affine_map<(d0)[s0] -> (d0 floordiv 2 - s0, -d0)>",
                "affine_set<(d0)[s0] : (d0 >= 0, s0 - d0 - 1 >= 0, d0 mod 2 == 0)>",
                "affine_set<(d0) : (d0 <= 4)>",
                "strided<[?, 1], offset: ?>",
            )
        ),
        ('loc("x")', LocationAttribute(NameLocation("x"))),
        (
            'dense<["a\\00", "b"]> : tensor<2x!tf_type.string>',
            DenseStringsAttribute(OpaqueType("tensor<2x!tf_type.string>"), ("a\0", "b")),
        ),
        (
            "dense_resource<absent> : tensor<2xf32>",
            DenseResourceAttribute("absent", TensorType((2,), F32)),
        ),
    ],
)
def test_forms(text: str, expected: object) -> None:
    assert attribute(text) == expected


def test_convolution_dimensions_in_both_forms() -> None:
    compact = attribute("#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>")
    raw = attribute(
        """#stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3,
           input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2,
           kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1],
           output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>"""
    )
    assert compact == raw


@pytest.mark.parametrize(
    "text",
    [
        "[b, 0, f]x[0, i]->[b, 0, f]",
        "[b, 1, f]x[0, i, o]->[b, 0, f]",
        "[b, b, f]x[0, i, o]->[b, 0, f]",
        "[b, 0, 0, f]x[0, i, o]->[b, 0, f]",
        "[b, 0, f][0, i, o]->[b, 0, f]",
    ],
)
def test_convolution_dimensions_that_are_wrong(text: str) -> None:
    with pytest.raises(ParseError):
        attribute(f"#stablehlo.conv<{text}>")


def test_aliases_before_and_after_their_use() -> None:
    assert attribute("[#a, #b]", "#a = 1 : i8\n#b = [#a]") == attribute("[1 : i8, [1 : i8]]")
    module = parse("module attributes {test.value = #late} {}\n#late = 3")
    assert module.attributes["test.value"] == IntegerAttribute(3, I64)


@pytest.mark.parametrize(
    "text",
    [
        "#undefined",
        "1.0 : i32",
        "1 : f32",
        "256 : i8",
        "-1 : ui8",
        "0x1FFFFFFFF : f32",
        "1" * 500,
        "1.5.5",
        '"open',
        '"bad \\q escape"',
        "{a = 1, a = 2}",
        "{a = }",
        "[1, 2",
        "[1 2]",
        "array<tensor<f32>: 1>",
        "array<i64: 1.5>",
        "array<i64:>",
        "array<index: 1>",
        "array<f32: 1>",
        "affine_set<(d0) : (d0 >= 0)",
        "#stablehlo.gather<offset_dims = [1], offset_dims = [2]>",
        "#sdy.sharding<[}>",
        "@",
        "%0",
    ],
)
def test_malformed(text: str) -> None:
    with pytest.raises(ParseError):
        attribute(text)
