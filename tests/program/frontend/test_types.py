"""Types in every form."""

import pytest

from nimblehlo.errors import ParseError, UnsupportedError
from nimblehlo.types import (
    DYNAMIC,
    ELEMENT_TYPES,
    BufferType,
    FunctionType,
    FutureType,
    OpaqueType,
    QuantizedType,
    TensorType,
    TokenType,
    TupleType,
    UnrankedTensorType,
    element_type,
)
from tests.program.frontend.sources import type_of

F32 = element_type("f32")
I8 = element_type("i8")


@pytest.mark.parametrize("name", sorted(ELEMENT_TYPES))
def test_element_types(name: str) -> None:
    assert type_of(f"tensor<2x3x{name}>") == TensorType((2, 3), element_type(name))
    assert type_of(f"tensor<{name}>") == TensorType((), element_type(name))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tensor<0x?xf32>", TensorType((0, DYNAMIC), F32)),
        ("tensor< 2x3xf32 >", None),
        ("tensor<2 x ? x f32>", TensorType((2, DYNAMIC), F32)),
        ("tensor<* x f32>", UnrankedTensorType(F32)),
        ("tensor<3xsi8>", TensorType((3,), I8)),
        ("si64", element_type("i64")),
        ("tensor<2xi17>", OpaqueType("tensor<2xi17>")),
        ("tensor<2xcomplex<f16>>", OpaqueType("tensor<2xcomplex<f16>>")),
        ("i0", OpaqueType("i0")),
        ("i16777215", OpaqueType("i16777215")),
        ("tensor<?xf32, #stablehlo<bounds<3>>>", TensorType((DYNAMIC,), F32, (3,))),
        *(
            (text, OpaqueType(text))
            for text in (
                "memref<2x?xf32, strided<[?, 1], offset: ?>>",
                "memref<2xf32, affine_map<(d0) -> (d0)>, 1>",
                'memref<2xf32, "on_device">',
                "memref<*xf32, 1 : i32>",
                "memref<2x!foo.bar>",
            )
        ),
        ("tensor<3xindex>", TensorType((3,), element_type("index"))),
        ("tensor<?x4xf32, #stablehlo.bounds<3, ?>>", TensorType((DYNAMIC, 4), F32, (3, DYNAMIC))),
        (
            "tensor<?x4xf32, #stablehlo.type_extensions<bounds = [3, ?]>>",
            TensorType((DYNAMIC, 4), F32, (3, DYNAMIC)),
        ),
        ("!stablehlo.token", TokenType()),
        ("tuple<tensor<f32>, tuple<>>", TupleType([TensorType((), F32), TupleType([])])),
        ("memref<2x?xf32>", BufferType((2, DYNAMIC), F32)),
        ("!stablehlo.future<tensor<f32>>", FutureType([TensorType((), F32)])),
        ("tensor<*xf32>", UnrankedTensorType(F32)),
        ("(f32) -> (f32, f32)", FunctionType([F32], [F32, F32])),
        ("() -> ()", FunctionType([], [])),
        ("() -> (() -> f32)", FunctionType([], [FunctionType([], [F32])])),
        ('!sdy.foo<a, [1, "x>"], b->c>', OpaqueType('!sdy.foo<a, [1, "x>"], b->c>')),
        ("!tf_type.string", OpaqueType("!tf_type.string")),
        ("tensor<2x!tf_type.string>", OpaqueType("tensor<2x!tf_type.string>")),
        ("!quant.uniform<i8:f32, 0.5:-3>", QuantizedType(I8, -128, 127, F32, [0.5], [-3])),
        ("!quant.uniform<i8:f32, 2.0>", QuantizedType(I8, -128, 127, F32, [2.0], [0])),
        ("!quant.uniform<i8<-127:127>:f32, 1.0e-2:0>", QuantizedType(I8, -127, 127, F32, [0.01], [0])),
        ("!quant.uniform<u4:bf16, 1.0:15>", None),
        (
            "!quant.uniform<i8<-8:7>:f32:1, {1.0:0, 2.5E+1:4}>",
            QuantizedType(I8, -8, 7, F32, [1.0, 25.0], [0, 4], 1),
        ),
    ],
)
def test_forms(text: str, expected: object) -> None:
    parsed = type_of(text)
    if expected is not None:
        assert parsed == expected
    assert type_of(str(parsed)) == parsed


def test_unsigned_quantized_storage() -> None:
    parsed = type_of("tensor<2x!quant.uniform<u8:f32, 0.1:128>>")
    assert isinstance(parsed, TensorType)
    assert isinstance(parsed.element_type, QuantizedType)
    assert parsed.element_type.storage.name == "ui8"
    assert (parsed.element_type.storage_min, parsed.element_type.storage_max) == (0, 255)


def test_aliases() -> None:
    definitions = "!t = tensor<2x!q>\n!q = !quant.uniform<i8:f32, 1.0:0>\n#b = #stablehlo.bounds<5>"
    assert str(type_of("!t", definitions)) == "tensor<2x!quant.uniform<i8:f32, 1.0:0>>"
    assert type_of("tensor<?xf32, #b>", definitions) == TensorType((DYNAMIC,), F32, (5,))


@pytest.mark.parametrize(
    "text",
    [
        "tensor<2x3>",
        "tensor<2xf33>",
        "tensor<-1xf32>",
        "tensor<2x3xf32 x",
        "tensor<2 3xf32>",
        "tensor<9223372036854775808xf32>",
        f"tensor<{'1x' * 65}f32>",
        f"tensor<{'9' * 5000}xf32>",
        "complex<index>",
        "tensor<2xtensor<f32>>",
        "memref<2xf32, 1",
        "tensor<?xf32, #stablehlo.bounds<1, 2>>",
        "tensor<2xf32, #stablehlo.bounds<2>>",
        "i16777216",
        "complex<tensor<f32>>",
        "memref<2xf32,>",
        "tensor<?x3xf32, #stablehlo.bounds<4, >>",
        "tensor<?xf32, #stablehlo.bounds<4 5>>",
        "tensor<?xf32, #stablehlo.bounds<99999999999999999999>>",
        "!quant.uniform<i8:f32, 0x" + "F" * 300 + ">",
        "!quant.uniform<f32:f32, 1.0>",
        "!quant.uniform<i8:i8, 1.0>",
        "!quant.uniform<i8:f32, {1.0}>",
        "!quant.uniform<i8:f32:0, 1.0>",
        "!undefined",
        "(f32",
        "f32,",
        "",
    ],
)
def test_malformed(text: str) -> None:
    with pytest.raises(ParseError):
        type_of(f"{text}, f32" if text else "%a:")


def test_other_encodings_are_not_supported() -> None:
    with pytest.raises(UnsupportedError, match=r"encodings.*<text>:2:36"):
        type_of("tensor<2xf32, #sparse_tensor.encoding<{}>>")


def test_self_referring_alias() -> None:
    with pytest.raises(ParseError, match="stands for itself"):
        type_of("!t", "!t = tuple<!t>")
