"""Checks of elementwise arithmetic: what they find, and what they leave alone."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo.program.ops.custom_calls.custom_call import unregister_custom_call
from nimblehlo.types import ELEMENT_TYPES, FLOAT, INTEGER, storage_range
from tests.inspection.sanitizer.findings import findings_of, line_of, only_finding

INTEGERS = sorted(name for name, type in ELEMENT_TYPES.items() if type.category & INTEGER and type.width > 1)
SIGNED = [name for name in INTEGERS if name.startswith("i") and name != "index"]
SIZED = [name for name in INTEGERS if name != "index"]


def binary(name: str, element_type: str, shape: str = "3x") -> str:
    return f"""
    func.func @main(%a: tensor<{shape}{element_type}>, %b: tensor<{shape}{element_type}>)
        -> tensor<{shape}{element_type}> {{
      %0 = {name} %a, %b : tensor<{shape}{element_type}>
      return %0 : tensor<{shape}{element_type}>
    }}"""


def array(values: Any, element_type: str) -> Any:
    return np.array(values).astype(ELEMENT_TYPES[element_type].dtype)


@pytest.mark.parametrize("element_type", SIZED)
@pytest.mark.parametrize("name", ["stablehlo.divide", "stablehlo.remainder"])
def test_division_by_zero(name: str, element_type: str) -> None:
    text = binary(name, element_type)
    finding = only_finding(text, array([1, 1, 0], element_type), array([1, 0, 0], element_type))
    assert (finding.check, finding.operation) == ("division_by_zero", name)
    assert (finding.index, finding.value, finding.count) == ((1,), (1, 0), 2)
    assert finding.location == f"<text>:{line_of(text, name)}:12"
    assert not findings_of(text, array([1, 1, 0], element_type), array([1, 1, 1], element_type))


@pytest.mark.parametrize("element_type", SIGNED)
@pytest.mark.parametrize("name", ["stablehlo.divide", "stablehlo.remainder"])
def test_division_of_the_minimum_by_minus_one(name: str, element_type: str) -> None:
    low, _ = storage_range(ELEMENT_TYPES[element_type])
    text = binary(name, element_type)
    finding = only_finding(text, array([low, low, 1], element_type), array([1, -1, -1], element_type))
    assert (finding.check, finding.index, finding.value) == ("division_overflow", (1,), (low, -1))
    assert not findings_of(text, array([low, low + 1, 1], element_type), array([1, -1, -1], element_type))


def test_division_of_unsigned_integers_has_no_overflow() -> None:
    text = binary("stablehlo.divide", "ui8")
    assert not findings_of(text, array([128, 0, 1], "ui8"), array([255, 255, 255], "ui8"))


def test_division_in_other_forms() -> None:
    text = """
    func.func @main(%a: tensor<2x3xi32>, %b: tensor<3xi32>) -> tensor<2x3xi32> {
      %0 = "chlo.broadcast_divide"(%a, %b) {broadcast_dimensions = array<i64: 1>}
        : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
      return %0 : tensor<2x3xi32>
    }"""
    least = np.iinfo(np.int32).min
    lhs = np.array([[1, 2, least], [4, 5, 6]], np.int32)
    by_zero, overflow = findings_of(text, lhs, np.array([1, 0, -1], np.int32))
    assert (by_zero.check, by_zero.index, by_zero.value, by_zero.count) == (
        "division_by_zero",
        (0, 1),
        (2, 0),
        2,
    )
    assert (overflow.check, overflow.index) == ("division_overflow", (0, 2))
    scalar = binary("stablehlo.divide", "i32", "")
    assert only_finding(scalar, np.int32(3), np.int32(0)).index == ()
    empty = binary("stablehlo.divide", "i32", "0x")
    assert not findings_of(empty, np.zeros(0, np.int32), np.zeros(0, np.int32))


@pytest.mark.parametrize("element_type", SIZED)
@pytest.mark.parametrize("name", ["shift_left", "shift_right_logical", "shift_right_arithmetic"])
def test_shifts_by_the_width_or_more(name: str, element_type: str) -> None:
    width, (_, high) = ELEMENT_TYPES[element_type].width, storage_range(ELEMENT_TYPES[element_type])
    text = binary(f"stablehlo.{name}", element_type)
    fine = array([0, min(width - 1, high), 1], element_type)
    assert not findings_of(text, array([1, 1, 1], element_type), fine)
    amount = width if high >= width else -1
    finding = only_finding(text, array([1, 1, 1], element_type), array([0, amount, 1], element_type))
    assert (finding.check, finding.operation) == ("shift_amount", f"stablehlo.{name}")
    assert (finding.index, finding.value, finding.count) == ((1,), amount, 1)


CONVERTED = [
    ("f32", "i8", [127.9, -128.9, 0], [128, -129, np.nan]),
    ("f32", "ui8", [255.9, -0.9, -0.0], [256, -1, np.inf]),
    ("f32", "i32", [2147483520, -2147483648, 1], [2147483648, -2147483904, -np.inf]),
    ("f64", "i32", [2147483647.5, -2147483648.5, 1], [2147483648, -2147483649, np.nan]),
    ("f64", "i64", [9223372036854774784, -9223372036854775808, 1], [2.0**63, -(2.0**63) - 2048, 1e300]),
    ("f64", "ui64", [18446744073709549568, -0.5, 1], [2.0**64, -1, 1e300]),
    ("f16", "i32", [65504, -65504, 1], [np.inf, -np.inf, np.nan]),
    ("bf16", "i8", [127, -128, 1], [128, -130, np.nan]),
    ("f8E5M2", "i4", [7, -8, 0], [8, -10, np.inf]),
    ("f32", "ui2", [3.5, 0, 1], [4, -1, np.nan]),
]


@pytest.mark.parametrize(("source", "target", "inside", "outside"), CONVERTED)
def test_conversions_out_of_range(source: str, target: str, inside: list[Any], outside: list[Any]) -> None:
    text = f"""
    func.func @main(%a: tensor<3x{source}>) -> tensor<3x{target}> {{
      %0 = stablehlo.convert %a : (tensor<3x{source}>) -> tensor<3x{target}>
      return %0 : tensor<3x{target}>
    }}"""
    assert not findings_of(text, array(inside, source))
    for position, value in enumerate(outside):
        values = list(inside)
        values[position] = value
        finding = only_finding(text, array(values, source))
        assert (finding.check, finding.operation) == ("float_to_integer", "stablehlo.convert")
        assert finding.index == (position,)
        np.testing.assert_equal(finding.value, float(array(value, source)))


def test_conversions_of_complex_numbers_take_the_real_part() -> None:
    text = """
    func.func @main(%a: tensor<2xcomplex<f32>>) -> tensor<2xi8> {
      %0 = stablehlo.convert %a : (tensor<2xcomplex<f32>>) -> tensor<2xi8>
      return %0 : tensor<2xi8>
    }"""
    assert not findings_of(text, np.array([1 + 1000j, 2], np.complex64))
    assert only_finding(text, np.array([1, 1000 + 1j], np.complex64)).value == 1000 + 1j


def test_conversions_between_integers_wrap_without_findings() -> None:
    text = """
    func.func @main(%a: tensor<2xi32>) -> tensor<2xi8> {
      %0 = stablehlo.convert %a : (tensor<2xi32>) -> tensor<2xi8>
      return %0 : tensor<2xi8>
    }"""
    assert not findings_of(text, np.array([1000, -1000], np.int32))


def test_saturation_of_quantized_values() -> None:
    type = "!quant.uniform<i8:f32, 0.5:-10>"
    text = f"""
    func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{
      %0 = stablehlo.uniform_quantize %a : (tensor<4xf32>) -> tensor<4x{type}>
      %1 = stablehlo.add %0, %0 : tensor<4x{type}>
      %2 = stablehlo.uniform_dequantize %1 : (tensor<4x{type}>) -> tensor<4xf32>
      return %2 : tensor<4xf32>
    }}"""
    # -59 and 68.5 are the least and the greatest value; 34.5 + 34.5 is beyond.
    assert not findings_of(text, np.array([-29.5, 34, 0, np.nan], np.float32))
    quantize, add = findings_of(text, np.array([0, 34.5, 69, -1], np.float32))
    assert (quantize.operation, quantize.index, quantize.value, quantize.count) == (
        "stablehlo.uniform_quantize",
        (2,),
        69.0,
        1,
    )
    assert (add.check, add.operation, add.index, add.value, add.count) == (
        "quantized_saturation",
        "stablehlo.add",
        (1,),
        69.0,
        2,
    )


def test_saturation_at_the_lower_end() -> None:
    type = "!quant.uniform<u8<2:200>:f32, 0.5:10>"
    text = f"""
    func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {{
      %0 = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x{type}>
      %1 = stablehlo.uniform_dequantize %0 : (tensor<2x{type}>) -> tensor<2xf32>
      return %1 : tensor<2xf32>
    }}"""
    assert not findings_of(text, np.array([-4, 95], np.float32))
    finding = only_finding(text, np.array([95, -5], np.float32))
    assert (finding.check, finding.index, finding.value) == ("quantized_saturation", (1,), -5.0)


def test_saturation_along_an_axis() -> None:
    type = "!quant.uniform<i8:f32:1, {1.0, 0.1:5}>"
    text = f"""
    func.func @main(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {{
      %0 = stablehlo.uniform_quantize %a : (tensor<2x2xf32>) -> tensor<2x2x{type}>
      %1 = stablehlo.uniform_dequantize %0 : (tensor<2x2x{type}>) -> tensor<2x2xf32>
      return %1 : tensor<2x2xf32>
    }}"""
    assert not findings_of(text, np.array([[100, 12], [-128, -13]], np.float32))
    finding = only_finding(text, np.array([[100, 12], [12, 100]], np.float32))
    assert (finding.index, finding.value) == ((1, 1), 100.0)


def unary(name: str, element_type: str = "f32") -> str:
    return f"""
    func.func @main(%a: tensor<4x{element_type}>) -> tensor<4x{element_type}> {{
      %0 = stablehlo.{name} %a : tensor<4x{element_type}>
      %1 = stablehlo.negate %0 : tensor<4x{element_type}>
      return %1 : tensor<4x{element_type}>
    }}"""


def test_the_operation_that_makes_nan_or_infinity_is_found() -> None:
    finding = only_finding(unary("log"), np.array([1, 0, np.nan, -1], np.float32))
    assert (finding.check, finding.operation, finding.index) == ("non_finite", "stablehlo.log", (1,))
    assert (finding.value, finding.count) == (-np.inf, 2)
    assert not findings_of(unary("log"), np.array([1, np.inf, np.nan, 2], np.float32))
    assert only_finding(unary("exponential", "f16"), np.array([1, 2, 3, 20], np.float16)).index == (3,)
    complex_text = unary("log", "complex<f32>")
    assert only_finding(complex_text, np.array([1, 2, 3, 0], np.complex64)).index == (3,)


@pytest.mark.parametrize(
    "element_type", sorted(name for name, type in ELEMENT_TYPES.items() if type.category == FLOAT)
)
def test_finite_floats_of_all_types_are_no_findings(element_type: str) -> None:
    text = f"""
    func.func @main(%a: tensor<3x{element_type}>) -> tensor<3x{element_type}> {{
      %0 = stablehlo.multiply %a, %a : tensor<3x{element_type}>
      %1 = stablehlo.maximum %0, %a : tensor<3x{element_type}>
      return %1 : tensor<3x{element_type}>
    }}"""
    assert not findings_of(text, array([1, 2, 1], element_type))


def test_infinities_that_are_there_already_are_no_findings() -> None:
    text = """
    func.func @main(%a: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%a init: %low) applies stablehlo.maximum across dimensions = [1]
        : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
      %1 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
      return %0, %1 : tensor<2xf32>, tensor<2xf32>
    }"""
    values = np.ones((2, 3), np.float32)
    assert not findings_of(text, values)
    assert not findings_of(text, values * np.float32(-np.inf))
    finding = only_finding(text, values * np.float32(2e38))
    assert (finding.operation, finding.index, finding.count) == ("stablehlo.reduce", (0,), 2)


def test_which_result_of_several_is_told() -> None:
    text = """
    func.func @main(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      %0:2 = stablehlo.custom_call @with_its_inverse(%a) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
      return %0#0, %0#1 : tensor<2xf32>, tensor<2xf32>
    }"""
    nimblehlo.register_custom_call("with_its_inverse", lambda a: (a, 1 / a))
    try:
        assert not findings_of(text, np.array([1, 2], np.float32))
        finding = only_finding(text, np.array([1, 0], np.float32))
    finally:
        unregister_custom_call("with_its_inverse")
    assert (finding.operation, finding.index, finding.value) == ("stablehlo.custom_call", (1,), np.inf)
    assert "in result 1" in finding.message


def test_in_a_body_the_operation_that_makes_it_is_found() -> None:
    text = """
    func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<f32>, tensor<f32>) {
      %one = stablehlo.constant dense<1.0> : tensor<f32>
      %0:2 = stablehlo.reduce(%a init: %one), (%b init: %one) across dimensions = [0]
        : (tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
        reducer(%x: tensor<f32>, %y: tensor<f32>) (%u: tensor<f32>, %v: tensor<f32>) {
          %s = stablehlo.maximum %x, %y : tensor<f32>
          %t = stablehlo.multiply %u, %v : tensor<f32>
          stablehlo.return %s, %t : tensor<f32>, tensor<f32>
      }
      return %0#0, %0#1 : tensor<f32>, tensor<f32>
    }"""
    finding = only_finding(text, np.ones(2, np.float32), np.full(2, 2e38, np.float32))
    assert (finding.operation, finding.location) == ("stablehlo.multiply", f"<text>:{line_of(text, '%t')}:16")


def test_findings_have_python_numbers() -> None:
    text = binary("stablehlo.divide", "bf16")
    finding = only_finding(text, np.ones(3, ml_dtypes.bfloat16), np.zeros(3, ml_dtypes.bfloat16))
    assert type(finding.value) is float
    assert all(type(index) is int for index in finding.index)
