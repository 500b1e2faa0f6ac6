"""Operations that compare, order and choose, against plain Python."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest

from nimblehlo.program.ops.elementwise import comparison
from nimblehlo.types import ELEMENT_TYPES
from tests.program.ops.oracles import COMMON_FLOATS, FLOATS, INTEGERS, float_values, integer_values, same
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    program,
    rows,
)
from tests.program.ops.texts import PER_TENSOR, declaration, tensor

DIRECTIONS = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "GE": operator.ge,
    "GT": operator.gt,
    "LE": operator.le,
    "LT": operator.lt,
}


def compare(lhs: str, rhs: str, result: str, direction: str = "LT", type: str = "") -> str:
    attributes = f"comparison_direction = #stablehlo<comparison_direction {direction}>"
    if type:
        attributes += f", compare_type = #stablehlo<comparison_type {type}>"
    return program("stablehlo.compare", [lhs, rhs], [result], attributes)


def pairs(values: Any) -> tuple[Any, Any]:
    return np.repeat(values, len(values)), np.tile(values, len(values))


def compared(direction: str, element_type: str, lhs: Any, rhs: Any, type: str = "") -> list[bool]:
    operand, result = tensor(lhs.shape, element_type), tensor(lhs.shape, "i1")
    (array,) = evaluate(compare(operand, operand, result, direction, type), lhs, rhs)
    return array.tolist()


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_compare_integers_and_floats(direction: str) -> None:
    for element_type in [*INTEGERS, *FLOATS]:
        values = integer_values if element_type in INTEGERS else float_values
        chosen = values(element_type)[:60]
        lhs, rhs = pairs(chosen)
        number = int if element_type in INTEGERS else float
        expected = [DIRECTIONS[direction](number(a), number(b)) for a, b in zip(lhs, rhs, strict=True)]
        assert compared(direction, element_type, lhs, rhs) == expected, element_type


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("element_type", COMMON_FLOATS)
def test_total_order(direction: str, element_type: str) -> None:
    dtype = ELEMENT_TYPES[element_type].dtype
    ordered = np.array([-math.inf, -2.0, -0.0, 0.0, 0.5, math.inf]).astype(dtype)
    if element_type == "f8E4M3FN":
        ordered = ordered[np.isfinite(ordered.astype(np.float64))]
    greatest = np.abs(np.array([math.nan])).astype(dtype)
    ordered = np.concatenate([ordered, np.copysign(greatest.astype(np.float32), 1).astype(dtype)])
    places = np.arange(len(ordered))
    lhs, rhs = pairs(places)
    expected = DIRECTIONS[direction](lhs, rhs).tolist()
    assert compared(direction, element_type, ordered[lhs], ordered[rhs], "TOTALORDER") == expected


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_compare_complex(direction: str) -> None:
    lhs, rhs = pairs(np.array([0, 1j, -1j, 1, 1 + 2j, -3 + 9j], np.complex64))
    expected = [
        DIRECTIONS[direction]((a.real, a.imag), (b.real, b.imag)) for a, b in zip(lhs, rhs, strict=True)
    ]
    assert compared(direction, "complex<f32>", lhs, rhs, "FLOAT") == expected


def ordered(name: str, element_type: str, lhs: Any, rhs: Any) -> Any:
    type = tensor(lhs.shape, element_type)
    (array,) = evaluate(program(f"stablehlo.{name}", [type, type], [type]), lhs, rhs)
    return array


@pytest.mark.parametrize(("name", "choose"), [("maximum", max), ("minimum", min)])
@pytest.mark.parametrize("element_type", FLOATS)
def test_maximum_and_minimum_of_floats(name: str, choose: Any, element_type: str) -> None:
    lhs, rhs = pairs(float_values(element_type)[:70])
    for a, b, result in zip(lhs, rhs, ordered(name, element_type, lhs, rhs), strict=True):
        x, y = float(a), float(b)
        wanted = choose((x, y), key=lambda value: (value, math.copysign(1, value)))
        assert same(float(result), math.nan if math.isnan(x) or math.isnan(y) else wanted), (a, b)


@pytest.mark.parametrize(("name", "choose"), [("maximum", max), ("minimum", min)])
def test_maximum_and_minimum_of_other_types(name: str, choose: Any) -> None:
    for element_type in INTEGERS:
        lhs, rhs = pairs(integer_values(element_type))
        expected = [choose(int(a), int(b)) for a, b in zip(lhs, rhs, strict=True)]
        assert [int(value) for value in ordered(name, element_type, lhs, rhs)] == expected
    lhs, rhs = pairs(np.array([False, True]))
    assert ordered(name, "i1", lhs, rhs).tolist() == [choose(a, b) for a, b in zip(lhs, rhs, strict=True)]
    lhs, rhs = pairs(np.array([1 + 2j, 1 - 2j, -1 + 9j]))
    expected = [choose(a, b, key=lambda z: (z.real, z.imag)) for a, b in zip(lhs, rhs, strict=True)]
    assert ordered(name, "complex<f64>", lhs, rhs).tolist() == expected


@pytest.mark.parametrize("element_type", ["i8", "ui2", "f32", "bf16", "f8E4M3FN"])
@pytest.mark.parametrize("bounds", [[], [4]])
def test_clamp(element_type: str, bounds: list[int]) -> None:
    dtype = ELEMENT_TYPES[element_type].dtype
    values = np.array([0, 1, 2, 3]).astype(dtype)
    low, high = (np.full(bounds, bound).astype(dtype) for bound in (1, 2))
    types = [tensor(bounds, element_type), tensor([4], element_type), tensor(bounds, element_type)]
    (array,) = evaluate(program("stablehlo.clamp", types, [types[1]]), low, values, high)
    assert [int(value) for value in array] == [1, 1, 2, 2]


def test_clamp_by_nan_and_crossed_bounds() -> None:
    types = [tensor([]), tensor([2]), tensor([])]
    text = program("stablehlo.clamp", types, [types[1]])
    operand = np.array([1.0, math.nan], np.float32)
    (array,) = evaluate(text, np.float32(5), operand, np.float32(3))
    assert same(float(array[0]), 3.0)
    assert same(float(array[1]), math.nan)
    (array,) = evaluate(text, np.float32(math.nan), operand, np.float32(3))
    assert np.isnan(array).all()


@pytest.mark.parametrize("element_type", list(ELEMENT_TYPES))
def test_select(element_type: str) -> None:
    dtype = ELEMENT_TYPES[element_type].dtype
    on_true, on_false = np.array([1, 1, 0]).astype(dtype), np.array([0, 1, 1]).astype(dtype)
    type = tensor([3], element_type)
    text = program("stablehlo.select", [tensor([3], "i1"), type, type], [type])
    (array,) = evaluate(text, np.array([True, False, False]), on_true, on_false)
    assert array.tolist() == [on_true[0], on_false[1], on_false[2]]
    text = program("stablehlo.select", [tensor([], "i1"), type, type], [type])
    for pred, expected in ((True, on_true), (False, on_false)):
        (array,) = evaluate(text, np.array(pred), on_true, on_false)
        assert array.tobytes() == expected.tobytes()


@pytest.mark.parametrize("element_type", FLOATS)
def test_is_finite(element_type: str) -> None:
    values = float_values(element_type)
    text = program("stablehlo.is_finite", [tensor(values.shape, element_type)], [tensor(values.shape, "i1")])
    (array,) = evaluate(text, values)
    assert array.tolist() == [math.isfinite(float(value)) for value in values]


F2, F3, B2, D2 = tensor([2]), tensor([3]), tensor([2], "i1"), tensor([2], "f64")


def clamp(low: str, operand: str, high: str, result: str) -> str:
    return program("stablehlo.clamp", [low, operand, high], [result])


def select(pred: str, on_true: str, on_false: str, result: str) -> str:
    return program("stablehlo.select", [pred, on_true, on_false], [result])


REJECTED = {
    declaration("compare"): {
        "C1": compare(F2, D2, B2),
        "C2": compare(F2, F2, tensor([3], "i1")),
        "C3": compare(F2, F2, B2, type="SIGNED"),
    },
    declaration("is_finite"): {"C1": program("stablehlo.is_finite", [F2], [tensor([3], "i1")])},
    declaration("maximum"): {"C1": program("stablehlo.maximum", [F2, D2], [F2])},
    declaration("minimum"): {"C1": program("stablehlo.minimum", [F2, F2], [F3])},
    declaration("clamp"): {
        "C1": clamp(F3, F2, F2, F2),
        "C2": clamp(F2, F2, F3, F2),
        "C3": clamp(D2, F2, F2, F2),
        "C4": clamp(F2, F2, F2, D2),
    },
    declaration("select"): {"C1": select(tensor([3], "i1"), F2, F2, F2), "C2": select(B2, F2, D2, F2)},
}


@pytest.mark.parametrize(("declared", "label", "text"), rows(REJECTED))
def test_rejected(declared: Any, label: str, text: str) -> None:
    assert_rejected(declared, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, comparison)


@pytest.mark.parametrize(
    ("element_type", "allowed"),
    [
        ("i4", {"SIGNED"}),
        ("ui8", {"UNSIGNED"}),
        ("i1", {"UNSIGNED"}),
        ("bf16", {"FLOAT", "TOTALORDER"}),
        ("complex<f32>", {"FLOAT"}),
    ],
)
def test_compare_types(element_type: str, allowed: set[str]) -> None:
    operand = tensor([2], element_type)
    zeros = np.zeros(2).astype(ELEMENT_TYPES[element_type].dtype)
    for type in ("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"):
        text = compare(operand, operand, B2, "EQ", type)
        if type in allowed:
            assert evaluate(text, zeros, zeros)[0].all()
        else:
            assert_rejected(declaration("compare"), "C3", text)


@pytest.mark.parametrize(
    "text",
    [
        compare(F2, F2, B2, type="TOTALORDER"),
        compare(tensor([2], PER_TENSOR), tensor([2], PER_TENSOR), B2, type="TOTALORDER"),
        clamp(tensor([]), F2, F2, F2),
        select(tensor([], "i1"), F2, F2, F2),
        program("stablehlo.maximum", [tensor([2], PER_TENSOR)] * 2, [tensor([2], PER_TENSOR)]),
        program("stablehlo.is_finite", [F2], [B2]),
    ],
)
def test_inputs(text: str) -> None:
    assert_inputs_rejected(text)
