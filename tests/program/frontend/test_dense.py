"""Constants: every form of literal, every element type, exact bits."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nimblehlo.errors import ParseError
from nimblehlo.program.frontend import parse
from nimblehlo.program.ir import DenseElementsAttribute
from nimblehlo.types import BOOLEAN, COMPLEX, ELEMENT_TYPES, FLOAT
from tests.program.frontend.sources import attribute


def array(text: str) -> np.ndarray:
    """The array of a constant."""
    parsed = attribute(text)
    assert isinstance(parsed, DenseElementsAttribute)
    assert parsed.array.dtype == parsed.type.dtype
    assert parsed.array.shape == parsed.type.shape
    assert not parsed.array.flags.writeable
    return parsed.array


@pytest.mark.parametrize("name", sorted(ELEMENT_TYPES))
def test_lists_of_every_element_type(name: str) -> None:
    declared = ELEMENT_TYPES[name]
    literals = {COMPLEX: "(1.0, 0.0), (0.5, 1.0)", FLOAT: "1.0, 0.5", BOOLEAN: "true, false"}
    expected = {COMPLEX: [1, 0.5 + 1j], FLOAT: [1.0, 0.5], BOOLEAN: [True, False]}
    if name == "f8E8M0FNU":
        assert array(f"dense<[1.0, 0.5]> : tensor<2x{name}>").astype(float).tolist() == [1.0, 0.5]
        return
    text = f"dense<[{literals.get(declared.category, '1, 0')}]> : tensor<2x{name}>"
    wanted = np.array(expected.get(declared.category, [1, 0])).astype(declared.dtype)
    assert array(text).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", sorted(ELEMENT_TYPES))
def test_blobs_of_every_element_type(name: str) -> None:
    declared = ELEMENT_TYPES[name]
    raw = np.arange(5 * declared.dtype.itemsize, dtype=np.uint8)
    parsed = array(f'dense<"0x{raw.tobytes().hex()}"> : tensor<5x{name}>')
    if declared.category == BOOLEAN:
        assert parsed.tolist() == [False, True, True, True, True]
    else:
        bits = raw & ((1 << declared.width) - 1) if declared.width < 8 else raw
        assert parsed.tobytes() == bits.tobytes()
    splat = array(f'dense<"0x{raw[-declared.dtype.itemsize :].tobytes().hex().upper()}"> : tensor<7x{name}>')
    assert splat.tobytes() == parsed[-1:].tobytes() * 7


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dense<5> : tensor<i32>", np.int32(5)),
        ("dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>", np.array([[1, 2], [3, 4]])),
        ("dense<[[[1]], [[-2]]]> : tensor<2x1x1xi8>", np.array([[[1]], [[-2]]], np.int8)),
        ("dense<[128, 255]> : tensor<2xi8>", np.array([-128, -1], np.int8)),
        ("dense<[0xFF, 0x7f, -0x1]> : tensor<3xi8>", np.array([-1, 127, -1], np.int8)),
        ("dense<[7, -8, 15]> : tensor<3xi4>", np.array([7, -8, -1]).astype(ml_dtypes.int4)),
        ("dense<18446744073709551615> : tensor<ui64>", np.uint64(2**64 - 1)),
        ("dense<[9223372036854775808, 0]> : tensor<2xi64>", np.array([-(2**63), 0])),
        ("dense<true> : tensor<2xi1>", np.array([True, True])),
        ("dense<[true, false]> : tensor<2xi1>", np.array([True, False])),
        ("dense<-1> : tensor<i1>", np.True_),
        ("dense<[1.5, -2.25e3, 1.0E-2]> : tensor<3xf64>", np.array([1.5, -2250.0, 0.01])),
        (
            "dense<[0x7F800000, 1.0, 0xFFC00001]> : tensor<3xf32>",
            np.array([0x7F800000, 0x3F800000, 0xFFC00001], np.uint32).view(np.float32),
        ),
        ("dense<0x7C01> : tensor<f16>", np.array(0x7C01, np.uint16).view(np.float16)),
        ("dense<0xFF> : tensor<f8E4M3FN>", np.array(0xFF, np.uint8).view(ml_dtypes.float8_e4m3fn)),
        ("dense<-0.0> : tensor<f32>", np.float32(-0.0)),
        ("dense<(1.0, -2.0)> : tensor<2xcomplex<f32>>", np.array([1 - 2j, 1 - 2j], np.complex64)),
        (
            "dense<[(0x7F800000, 0.0), (1.0,2.0)]> : tensor<2xcomplex<f32>>",
            np.array([complex(np.inf, 0), 1 + 2j], np.complex64),
        ),
        ("dense<> : tensor<0x3xf32>", np.empty((0, 3), np.float32)),
        ("dense<[]> : tensor<0xi8>", np.empty(0, np.int8)),
        ("dense<[[], []]> : tensor<2x0xi8>", np.empty((2, 0), np.int8)),
        ("dense<3> : tensor<0xi8>", np.empty(0, np.int8)),
        ("dense< [ 1 ,\n // 3, a comment\n 2 ] > : tensor<2xi8>", np.array([1, 2], np.int8)),
    ],
)
def test_forms(text: str, expected: np.ndarray | None) -> None:
    if expected is None:
        with pytest.raises(ParseError):
            array(text)
    else:
        parsed = array(text)
        assert parsed.shape == expected.shape
        assert parsed.tobytes() == expected.tobytes()


def test_a_splat_takes_no_memory() -> None:
    parsed = attribute("dense<1.0> : tensor<1000000x1000000xf32>")
    assert isinstance(parsed, DenseElementsAttribute)
    assert parsed.is_splat
    assert not any(parsed.array.strides)


def test_rounding_once_to_narrow_types() -> None:
    # One part in 2^40 above the middle between two values: rounding through f32 would lose it.
    assert float(array("dense<1.0039062500009095> : tensor<bf16>")) == 1.0078125
    assert float(array("dense<1.0625000000009095> : tensor<f8E4M3FN>")) == 1.125


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=20))
def test_floats_keep_their_bits(values: list[float]) -> None:
    literals = [f"0x{np.float32(v).tobytes()[::-1].hex()}" if np.isinf(v) else _decimal(v) for v in values]
    parsed = array(f"dense<[{', '.join(literals)}]> : tensor<{len(values)}xf32>")
    assert parsed.tobytes() == np.array(values, np.float32).tobytes()


def _decimal(value: float) -> str:
    mantissa, _, exponent = repr(value).partition("e")
    point = mantissa if "." in mantissa else f"{mantissa}.0"
    return f"{point}e{exponent}" if exponent else point


def test_wide_characters_elsewhere_in_the_text() -> None:
    module = parse('module attributes {a.b = "日本", a.c = dense<"0x0102ff"> : tensor<3xui8>} {}')
    value = module.attributes["a.c"]
    assert isinstance(value, DenseElementsAttribute)
    assert value.array.tolist() == [1, 2, 255]


def test_resources() -> None:
    module = parse(
        "module attributes {a.b = dense_resource<first> : tensor<2xi16>,"
        ' a.d = dense_resource<"third one"> : tensor<3xi8>} {}\n'
        '{-#\n dialect_resources: { builtin: { first: "0x0200000001000200", other: "0x01000000FF",'
        ' "third one": "0x01000000070707" } },\n external_resources: { x: { y: true } }\n#-}\n'
    )
    first, third = module.attributes["a.b"], module.attributes["a.d"]
    assert isinstance(first, DenseElementsAttribute)
    assert first.array.tolist() == [1, 2]
    assert isinstance(third, DenseElementsAttribute)
    assert third.array.tolist() == [7, 7, 7]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("dense<[1, 2]> : tensor<3xi8>", "','"),
        ("dense<[1, 2, 3]> : tensor<2xi8>", "']'"),
        ("dense<[[1, 2], [3]]> : tensor<2x2xi8>", "','"),
        ("dense<[1, 2]> : tensor<1x2xi8>", r"'\['"),
        ("dense<[[1, 2]]> : tensor<2xi8>", "','|'\\]'"),
        ("dense<[1 2]> : tensor<2xi8>", "literal"),
        ("dense<[1, 2,]> : tensor<2xi8>", "literal"),
        ("dense<[1, ]> : tensor<2xi8>", "literal"),
        ("dense<[, 1]> : tensor<2xi8>", "literal"),
        ("dense<[1]2> : tensor<1xi8>", "literal"),
        ("dense<[1, x]> : tensor<2xi8>", "literal"),
        ("dense<1> : tensor<2xf32>", "floats"),
        ("dense<[1, 2]> : tensor<2xf32>", "floats"),
        ("dense<1.0> : tensor<2xi32>", "integers"),
        ("dense<256> : tensor<i8>", "256 is out of the range"),
        ("dense<-129> : tensor<i8>", "-129 is out of the range"),
        ("dense<-1> : tensor<ui8>", "-1 is out of the range"),
        ("dense<[16, 0]> : tensor<2xi4>", "16 is out of the range"),
        ("dense<36893488147419103232> : tensor<i64>", "out of the range"),
        ("dense<2> : tensor<i1>", "true or false"),
        ("dense<0x1FFFF> : tensor<f16>", "more bits"),
        ("dense<(1.0, 2.0)> : tensor<2xf32>", "1 element"),
        ("dense<1.0> : tensor<2xcomplex<f32>>", "1 pair such"),
        ("dense<nan> : tensor<f32>", "literal"),
        ("dense<1_0> : tensor<i8>", "literal"),
        ('dense<"0x012"> : tensor<2xi8>', "4 hexadecimal digits"),
        ('dense<"0x0g02"> : tensor<2xi8>', "hexadecimal digit"),
        ('dense<"0x0102> : tensor<2xi8>', "ends the string"),
        ("dense<1> : tensor<?xi8>", "static sizes"),
        ("dense<> : tensor<2xi8>", "2 elements"),
        ("dense<0> : tensor<9223372036854775807xi64>", "more elements than can be addressed"),
        ("dense<[0]> : tensor<99999999x99999999xi8>", "9999999800000001 elements"),
        ("dense<1> : !foo.bar", "ranked tensor|not supported"),
        ('dense<"0x01" : tensor<1xi8>', "'>'"),
    ],
)
def test_malformed(text: str, reason: str) -> None:
    with pytest.raises(ParseError, match=reason):
        attribute(text)


def test_sizes_beyond_an_empty_dimension_cost_nothing() -> None:
    assert array("dense<[]> : tensor<0x99999999999xi8>").size == 0
    with pytest.raises(ParseError):
        array("dense<[1]> : tensor<0x99999999999xi8>")


@pytest.mark.parametrize("count", [1 << 16, (1 << 16) + 1, 200_000])
def test_long_hexadecimal_constants(count: int) -> None:
    raw = np.random.default_rng(0).integers(0, 256, count).astype(np.uint8)
    digits = raw.tobytes().hex()
    np.testing.assert_array_equal(array(f'dense<"0x{digits}"> : tensor<{count}xui8>'), raw)
    wrong = digits[:-1] + "é"
    text = f'module attributes {{a.b = dense<"0x{wrong}"> : tensor<{count}xui8>}} {{}}'
    with pytest.raises(ParseError, match=rf":1:{text.index('é') + 1}: .*digit"):
        parse(text)
