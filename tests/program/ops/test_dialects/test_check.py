"""Checks: what they let pass, what they reject, and what they say about it."""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np
import pytest

from nimblehlo.errors import ExecutionError, VerifyError
from nimblehlo.program.ops import lookup
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.test_dialects import check
from nimblehlo.program.ops.test_dialects.check import not_almost_equal, not_close, ulp_difference, unequal
from nimblehlo.types import ELEMENT_TYPES, FLOAT
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    parse_and_verify,
    program,
    rows,
)
from tests.program.ops.texts import PER_TENSOR

Array = np.ndarray[Any, Any]

NAN, INFINITY = float("nan"), float("inf")


def run(text: str, *values: Array) -> None:
    """Run the last operation before the return on `values`."""
    operation = parse_and_verify(text).functions["main"].body.block.operations[-2]
    view = Op.of(operation)
    assert not view.pure
    with np.errstate(all="ignore"):
        assert view.reference(*values) == ()


def agrees(disagreement: Any, actual: Any, expected: Any, dtype: Any) -> bool:
    with np.errstate(all="ignore"):
        result = disagreement(np.array(actual, dtype), np.array(expected, dtype))
    return not np.asarray(result).any()


@pytest.mark.parametrize(
    ("actual", "expected", "equal"),
    [
        (1.0, 1.0, True),
        (0.0, -0.0, True),
        (NAN, NAN, True),
        (NAN, -NAN, True),
        (INFINITY, INFINITY, True),
        (INFINITY, -INFINITY, False),
        (NAN, 1.0, False),
        (1.0, NAN, False),
        (1.0, 1.0 + 2**-23, False),
    ],
)
def test_expect_eq_of_floats(actual: float, expected: float, equal: bool) -> None:
    assert agrees(unequal, actual, expected, np.float32) is equal
    assert agrees(unequal, complex(actual, 2), complex(expected, 2), np.complex64) is equal
    assert agrees(unequal, complex(2, actual), complex(2, expected), np.complex64) is equal


@pytest.mark.parametrize("element_type", sorted(ELEMENT_TYPES))
def test_expect_eq_of_each_type(element_type: str) -> None:
    tensor = f"tensor<2x2x{element_type}>"
    values = np.array([[1, 0], [0, 1]]).astype(ELEMENT_TYPES[element_type].dtype)
    text = program("check.expect_eq", [tensor, tensor], [])
    run(text, values, values.copy())
    other = values.copy()
    other[1, 0] = other[0, 0]
    with pytest.raises(
        ExecutionError, match=r"values must be equal, but 1 of 4 elements differ, first at index \[1, 0\]"
    ):
        run(text, other, values)


@pytest.mark.parametrize(
    ("actual", "expected", "close"),
    [
        (1.0, 1.0001, True),
        (1.0, 1.00011, False),
        (0.0, 0.0001, True),
        (-0.0, 0.0, True),
        (NAN, NAN, True),
        (NAN, 0.0, False),
        (INFINITY, INFINITY, True),
        (INFINITY, -INFINITY, False),
        (INFINITY, 1e308, False),
        (-1e308, 1e308, False),
    ],
)
def test_expect_almost_eq(actual: float, expected: float, close: bool) -> None:
    compare = not_almost_equal(0.00010000001)
    assert agrees(compare, actual, expected, np.float64) is close
    assert agrees(compare, complex(actual, 2), complex(expected, 2), np.complex128) is close
    assert agrees(compare, complex(2, actual), complex(2, expected), np.complex128) is close


@pytest.mark.parametrize(
    "element_type", [n for n, t in ELEMENT_TYPES.items() if t.category == FLOAT and t.width <= 16]
)
def test_ulp_difference_counts_the_values_between(element_type: str) -> None:
    declared = ELEMENT_TYPES[element_type]
    bits = np.arange(2**declared.width).astype(f"u{declared.dtype.itemsize}")
    values = bits.view(declared.dtype)
    with np.errstate(invalid="ignore"):
        wide = values.astype(np.float64)
    numbers = sorted(set(wide[np.isfinite(wide)]))
    generator = np.random.default_rng(0)
    for _ in range(200):
        i, j = generator.integers(0, len(values), 2)
        a, b = float(wide[i]), float(wide[j])
        distance = int(ulp_difference(values[i : i + 1], values[j : j + 1])[0])
        if np.isfinite(a) and np.isfinite(b):
            assert distance == abs(bisect.bisect_left(numbers, a) - bisect.bisect_left(numbers, b))
        else:
            same = i == j or (np.isnan(a) and np.isnan(b))
            assert distance == (0 if same else 2**64 - 1)


def test_ulp_difference_of_wide_types() -> None:
    for dtype in (np.float32, np.float64):
        near = np.array([1, -1, 0], dtype)
        for steps in (1, 2, 3):
            near = np.nextafter(near, np.array(np.inf, dtype))
            assert (ulp_difference(np.array([1, -1, 0], dtype), near) == steps).all()
        least = np.nextafter(dtype(0), dtype(1))
        assert ulp_difference(np.array([least]), np.array([-least]))[0] == 2
        assert ulp_difference(np.array([dtype(0)]), np.array([dtype(-0.0)]))[0] == 0
        largest = np.finfo(dtype).max
        assert ulp_difference(np.array([largest]), np.array([dtype(np.inf)]))[0] == 2**64 - 1


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0, 2, True), (2, 2, True), (3, 9, False), (0, 1, False)]
)
def test_expect_close_bounds_are_inclusive(low: int, high: int, expected: bool) -> None:
    two_away = 1 + 2 * np.finfo(np.float32).eps
    assert agrees(not_close(low, high), 1, two_away, np.float32) is expected
    assert agrees(not_close(0, high), 1 + 1j, 1 + two_away * 1j, np.complex64) is (high >= 2)


def test_messages_count_and_show() -> None:
    text = program("check.expect_close", ["tensor<2x3xf32>"] * 2, [], "max_ulp_difference = 1 : ui64")
    actual = np.ones((2, 3), np.float32)
    expected = actual.copy()
    expected[0, 2], expected[1, 1] = 2, np.nan
    with pytest.raises(ExecutionError) as caught:
        run(text, actual, expected)
    error = caught.value
    assert error.operation == "check.expect_close"
    assert str(error.location).startswith("<text>:2")
    assert error.reason == (
        "values must be 0 to 1 ulps apart, but 2 of 6 elements differ, first at index [0, 2]: "
        "actual is 1.0, expected is 2.0"
    )


def test_constants() -> None:
    values = np.array([1, 2], np.float32)
    run(
        program("check.expect_eq_const", ["tensor<2xf32>"], [], "value = dense<[1.0, 2.0]> : tensor<2xf32>"),
        values,
    )
    almost = program(
        "check.expect_almost_eq_const",
        ["tensor<2xf32>"],
        [],
        "value = dense<[1.0, 2.25]> : tensor<2xf32>, tolerance = 0.25 : f64",
    )
    run(almost, values)
    with pytest.raises(ExecutionError, match=r"differ by at most 0\.25, but 1 of 2"):
        run(almost, values - np.float32(0.25))


def test_pretty_forms() -> None:
    text = """func.func @main(%a: tensor<2xf32>) {
      check.expect_eq %a, %a : tensor<2xf32>
      check.expect_eq_const %a, dense<[1.0, 2.0]> : tensor<2xf32>
      check.expect_almost_eq %a, %a, tolerance = 0.5 : tensor<2xf32>
      check.expect_almost_eq %a, %a : tensor<2xf32>
      check.expect_almost_eq_const %a, dense<1.5> : tensor<2xf32>, tolerance = 0.5
      check.expect_close %a, %a, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<2xf32>, tensor<2xf32>
      return
    }"""
    values = np.array([1, 2], np.float32)
    for operation in parse_and_verify(text).functions["main"].body.block.operations[:-1]:
        Op.of(operation).reference(*[values for _ in operation.operands])


def test_tensors_of_other_shapes_are_not_compared() -> None:
    text = program("check.expect_eq", ["tensor<?xf32>"] * 2, [])
    with pytest.raises(ExecutionError, match=r"shape \[2\], but expected is float32 of shape \[3\]"):
        run(text, np.zeros(2, np.float32), np.zeros(3, np.float32))


def test_no_elements_agree() -> None:
    empty = np.zeros((0, 2), np.float32)
    run(program("check.expect_close", ["tensor<0x2xf32>"] * 2, []), empty, empty)


def test_quantized_tensors_are_compared_as_stored() -> None:
    tensor = f"tensor<2x{PER_TENSOR}>"
    text = program("check.expect_eq", [tensor, tensor], [])
    run(text, np.array([1, 2], np.int8), np.array([1, 2], np.int8))


def declared(name: str) -> type[Op]:
    found = lookup(f"check.{name}")
    assert found is not None
    return found


OTHER = ["tensor<2xf32>", "tensor<2xf64>"]
CONSTANT = "value = dense<0.0> : tensor<3xf32>"
REJECTED: dict[type[Op], dict[str, str]] = {
    declared("expect_eq"): {"I2": program("check.expect_eq", OTHER, [])},
    declared("expect_eq_const"): {"I2": program("check.expect_eq_const", OTHER[:1], [], CONSTANT)},
    declared("expect_almost_eq"): {"I2": program("check.expect_almost_eq", OTHER, [])},
    declared("expect_almost_eq_const"): {
        "I2": program("check.expect_almost_eq_const", OTHER[:1], [], CONSTANT)
    },
    declared("expect_close"): {
        "I2": program("check.expect_close", OTHER, []),
        "I3_I4": program("check.expect_close", OTHER[:1] * 2, [], "min_ulp_difference = 2 : ui64"),
    },
    declared("expect_serialized_eq"): {},
}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, check)


def test_inputs() -> None:
    assert_inputs_rejected(program("check.expect_eq", OTHER[:1] * 2, []))
    assert_inputs_rejected(program("check.expect_close", OTHER[:1] * 2, []))


def test_only_floats_have_a_distance() -> None:
    for name in ("check.expect_close", "check.expect_almost_eq"):
        with pytest.raises(VerifyError, match="must be a tensor of floating-point or complex elements"):
            parse_and_verify(program(name, ["tensor<i32>"] * 2, []))
