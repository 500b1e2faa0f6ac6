"""Operations that convert elements, against other ways to say the same."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from nimblehlo.program.ir import Operation
from nimblehlo.program.ops.elementwise import conversion
from nimblehlo.types import ELEMENT_TYPES, UNSIGNED, TensorType
from tests.program.ops.oracles import FLOATS, float_values, same
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    program,
    rows,
)
from tests.program.ops.texts import PER_TENSOR, declaration, per_axis, tensor


def convert(operand: str, result: str) -> str:
    return program("stablehlo.convert", [operand], [result])


def bitcast(operand: str, result: str) -> str:
    return program("stablehlo.bitcast_convert", [operand], [result])


def reduce_precision(operand: str, exponent_bits: int, mantissa_bits: int, result: str | None = None) -> str:
    attributes = f"exponent_bits = {exponent_bits} : i32, mantissa_bits = {mantissa_bits} : i32"
    return program("stablehlo.reduce_precision", [operand], [result or operand], attributes)


@pytest.mark.parametrize("source", list(ELEMENT_TYPES))
def test_convert_small_numbers(source: str) -> None:
    values = np.array([1, 1]).astype(ELEMENT_TYPES[source].dtype)
    for target in ELEMENT_TYPES:
        (array,) = evaluate(convert(tensor([2], source), tensor([2], target)), values)
        assert array.tolist() == np.array([1, 1]).astype(ELEMENT_TYPES[target].dtype).tolist(), target


def values_of(name: str) -> set[str]:
    """All values of a float type narrower than f32; zeros of both signs are one, and so are NaNs."""
    dtype = ELEMENT_TYPES[name].dtype
    codes = np.arange(1 << ELEMENT_TYPES[name].width).astype(f"u{dtype.itemsize}").view(dtype)
    with np.errstate(invalid="ignore"):
        numbers = codes.astype(np.float64).tolist()
    return {"nan" if math.isnan(number) else str(number + 0.0) for number in numbers}


@pytest.mark.parametrize("source", FLOATS)
def test_exact_conversions_are_to_types_with_all_values(source: str) -> None:
    def is_exact(target: str) -> bool:
        types = [TensorType((), ELEMENT_TYPES[name]) for name in (source, target)]
        operand = Operation("", (), types[:1])
        convert = Operation("stablehlo.convert", operand.results, types[1:])
        return conversion.Convert(convert).is_exact_between_floats

    narrow = [name for name in FLOATS if ELEMENT_TYPES[name].width < 32]
    exact = {"f64"} if source == "f64" else {"f32", "f64"}
    if source in narrow:
        exact |= {name for name in narrow if values_of(source) <= values_of(name)}
    assert {name for name in FLOATS if is_exact(name)} == exact


def reduced(exact: float, exponent_bits: int, mantissa_bits: int, element_type: str) -> float:
    """What `reduce_precision` of a number of this type must be."""
    layout = ml_dtypes.finfo(ELEMENT_TYPES[element_type].dtype)
    if not math.isfinite(exact):
        return exact
    exponent = max(math.frexp(exact)[1] - 1, int(layout.minexp))
    step = Fraction(2) ** (exponent - min(mantissa_bits, layout.nmant))
    rounded = abs(round(Fraction(exact) / step) * step)
    if rounded >= Fraction(2) ** (2 ** (min(exponent_bits, layout.nexp) - 1)):
        return math.copysign(math.inf, exact)
    if exponent_bits < layout.nexp and rounded < Fraction(2) ** (2 - 2 ** (exponent_bits - 1)):
        return math.copysign(0.0, exact)
    return math.copysign(float(rounded), exact)


@pytest.mark.parametrize(
    ("exponent_bits", "mantissa_bits"), [(5, 10), (8, 7), (5, 2), (4, 3), (3, 4), (1, 0), (2, 60), (60, 1)]
)
@pytest.mark.parametrize("element_type", ["bf16", "f16", "f32", "f64", "f8E5M2", "f8E4M3", "f8E3M4"])
def test_reduce_precision(exponent_bits: int, mantissa_bits: int, element_type: str) -> None:
    values = float_values(element_type)
    values = values[~np.isnan(values.astype(np.float64))]
    text = reduce_precision(tensor(values.shape, element_type), exponent_bits, mantissa_bits)
    (array,) = evaluate(text, values)
    for value, result in zip(values, array, strict=True):
        assert same(float(result), reduced(float(value), exponent_bits, mantissa_bits, element_type)), value


@pytest.mark.parametrize("element_type", FLOATS)
def test_reduce_precision_to_the_own_format_changes_nothing(element_type: str) -> None:
    values = float_values(element_type)
    (array,) = evaluate(reduce_precision(tensor(values.shape, element_type), 11, 52), values)
    for value, result in zip(values, array, strict=True):
        assert same(float(value), float(result))


@pytest.mark.parametrize("element_type", ["f16", "f32", "f64"])
def test_reduce_precision_of_subnormal_numbers_and_nan(element_type: str) -> None:
    values = np.array([0, 3, -3, 0], ELEMENT_TYPES[element_type].dtype)
    smallest = np.nextafter(values.dtype.type(0), values.dtype.type(1))
    values *= smallest
    values[3] = np.nan
    type = tensor([4], element_type)
    (array,) = evaluate(reduce_precision(type, 11, 52), values)
    assert array[:3].tobytes() == values[:3].tobytes()
    (array,) = evaluate(reduce_precision(type, 4, 3), values)
    assert [same(float(x), y) for x, y in zip(array, [0.0, 0.0, -0.0, math.nan], strict=True)] == [True] * 4
    (array,) = evaluate(reduce_precision(type, 4, 0), values)
    assert math.isinf(float(array[3]))


WIDTHS = sorted(ELEMENT_TYPES, key=lambda name: ELEMENT_TYPES[name].width)
PLAIN = [name for name in WIDTHS if not name.startswith("complex")]


def divides(source: str, target: str) -> bool:
    """Whether the width of one type is a multiple of the other's."""
    widths = sorted((ELEMENT_TYPES[source].width, ELEMENT_TYPES[target].width))
    return widths[1] % widths[0] == 0


def bits_of(array: Any, name: str) -> list[list[int]]:
    """The bits of each element, the lowest first."""
    width = ELEMENT_TYPES[name].width
    octets = np.ascontiguousarray(array.reshape(-1, 1)).view(np.uint8).astype(object)
    codes = [sum(int(octet) << 8 * place for place, octet in enumerate(row)) for row in octets]
    return [[code >> bit & 1 for bit in range(width)] for code in codes]


@pytest.mark.parametrize("source", PLAIN)
def test_bitcast_keeps_bits(source: str) -> None:
    for target in PLAIN:
        if divides(source, target):
            check_bitcast(source, target)


def check_bitcast(source: str, target: str) -> None:
    narrow, wide = ELEMENT_TYPES[source].width, ELEMENT_TYPES[target].width
    operand_shape = (2, 3, wide // narrow) if wide > narrow else (2, 3)
    result_shape = (2, 3, narrow // wide) if narrow > wide else (2, 3)
    random = np.random.default_rng(narrow * 100 + wide)
    dtype = ELEMENT_TYPES[source].dtype
    octets = random.integers(0, 256, (*operand_shape, dtype.itemsize), dtype=np.uint8)
    if narrow < 8:
        octets &= (1 << narrow) - 1
    values = octets.view(dtype)[..., 0]
    if source in ("i2", "i4", "ui2", "ui4"):
        values = octets[..., 0].astype(dtype)
    text = bitcast(tensor(operand_shape, source), tensor(result_shape, target))
    (array,) = evaluate(text, values)
    got, wanted = np.concatenate(bits_of(array, target)), np.concatenate(bits_of(values, source))
    assert got.tolist() == wanted.tolist(), target


def test_bitcast_of_rank_0_and_of_strided_operands() -> None:
    (array,) = evaluate(bitcast("tensor<f32>", "tensor<4xui8>"), np.float32(1))
    assert array.tolist() == [0, 0, 128, 63]
    turned = np.arange(6, dtype=np.int32).reshape(2, 3).T
    (array,) = evaluate(bitcast("tensor<3x2xi32>", "tensor<3xi64>"), turned)
    assert array.tolist() == [(3 + k) << 32 | k for k in range(3)]


@pytest.mark.parametrize("name", ["complex<f32>", "complex<f64>"])
def test_bitcast_of_complex(name: str) -> None:
    values = np.array([1 + 2j, 3 - 4j], ELEMENT_TYPES[name].dtype)
    (array,) = evaluate(bitcast(tensor([2], name), tensor([2], name)), values)
    assert array.tolist() == values.tolist()


F2, F3 = tensor([2]), tensor([3])
Q, QA = tensor([2], PER_TENSOR), tensor([2], per_axis(0))


def quantize(operand: str, result: str) -> str:
    return program("stablehlo.uniform_quantize", [operand], [result])


def dequantize(operand: str, result: str) -> str:
    return program("stablehlo.uniform_dequantize", [operand], [result])


def test_quantize_rounds_clamps_and_requantizes() -> None:
    values = np.array([0.0, 0.25, 0.75, -0.25, 100.0, -100.0, math.inf, -math.inf], np.float32)
    (array,) = evaluate(quantize(tensor([8]), tensor([8], PER_TENSOR)), values)
    assert array.tolist() == [1, 2, 2, 0, 127, -128, 127, -128]
    per_channel = tensor([2, 2], per_axis(1))
    (array,) = evaluate(quantize(tensor([2, 2]), per_channel), np.array([[1, 1], [-1, 2]], np.float32))
    assert array.tolist() == [[3, 6], [-1, 10]]
    (array,) = evaluate(quantize(per_channel, tensor([2, 2], PER_TENSOR)), array)
    assert array.tolist() == [[3, 3], [-1, 5]]


@pytest.mark.parametrize("storage", ["i4", "ui4", "i8", "ui8", "i16", "i32"])
def test_dequantize_does_not_wrap(storage: str) -> None:
    declared = ELEMENT_TYPES[storage]
    low, high = (0, 15) if declared.category == UNSIGNED else (-8, 7)
    type = f"!quant.uniform<{storage.replace('ui', 'u')}:f32, 0.5:{low}>"
    stored = np.array([low, high]).astype(declared.dtype)
    (array,) = evaluate(dequantize(tensor([2], type), F2), stored)
    assert array.tolist() == [0.0, 0.5 * (high - low)]
    (back,) = evaluate(quantize(F2, tensor([2], type)), array)
    assert back.tobytes() == stored.tobytes()


REJECTED = {
    declaration("convert"): {"C1": convert(F2, F3)},
    declaration("uniform_quantize"): {"C1": quantize(F3, Q), "C2": quantize(tensor([2], "bf16"), Q)},
    declaration("uniform_dequantize"): {"C1": dequantize(Q, F3), "C2": dequantize(Q, tensor([2], "f64"))},
    declaration("reduce_precision"): {
        "C1": reduce_precision(F2, 5, 10, F3),
        "C2": reduce_precision(F2, 0, 10),
        "C3": reduce_precision(F2, 5, -1),
    },
    declaration("bitcast_convert"): {
        "C1": bitcast(F2, tensor([2, 3], "ui8")),
        "C2": bitcast(tensor([2], "complex<f32>"), tensor([2], "f64")),
    },
}


@pytest.mark.parametrize(("declared", "label", "text"), rows(REJECTED))
def test_rejected(declared: Any, label: str, text: str) -> None:
    assert_rejected(declared, label, text)


@pytest.mark.parametrize(
    "text",
    [
        bitcast(F2, tensor([3], "i32")),
        bitcast(F2, tensor([2], "ui8")),
        bitcast(F2, tensor([3, 4], "ui8")),
        bitcast(tensor([2, 3], "ui8"), tensor([2])),
        bitcast(tensor([], "ui8"), tensor([])),
    ],
)
def test_bitcast_to_other_shapes_is_rejected(text: str) -> None:
    assert_rejected(declaration("bitcast_convert"), "C1", text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, conversion)


@pytest.mark.parametrize(
    "text",
    [
        convert(F2, tensor([2], "i4")),
        quantize(F2, QA),
        quantize(Q, QA),
        dequantize(QA, F2),
        reduce_precision(F2, 5, 10),
        bitcast(Q, tensor([2], "i8")),
    ],
)
def test_inputs(text: str) -> None:
    assert_inputs_rejected(text)
