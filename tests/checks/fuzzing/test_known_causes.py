"""Differences between XLA:CPU and the specification are found and named.

A case is skipped where the installed XLA gives the specified result.
"""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo.checks.backends import backend
from nimblehlo.checks.differences import find_faulty_operation
from nimblehlo.checks.error_bounds import BoundViolation
from nimblehlo.checks.fuzzing.known_causes import cause_of_result, known_cause
from nimblehlo.checks.fuzzing.selection_orders import transposed_selection

SCATTER_TWICE = """
func.func @main(%a: tensor<4xi32>, %i: tensor<2x1xi32>, %u: tensor<2xi32>, %v: tensor<2xi32>)
    -> (tensor<4xi32>, tensor<4xi32>) {
  %0:2 = "stablehlo.scatter"(%a, %a, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<
    inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>, %p: tensor<i32>, %q: tensor<i32>):
    stablehlo.return %p, %q : tensor<i32>, tensor<i32>
  }) : (tensor<4xi32>, tensor<4xi32>, tensor<2x1xi32>, tensor<2xi32>, tensor<2xi32>)
    -> (tensor<4xi32>, tensor<4xi32>)
  return %0#0, %0#1 : tensor<4xi32>, tensor<4xi32>
}
"""
CAPTURED = """
func.func @main(%a: tensor<4x3xf32>, %i: tensor<f32>, %c: tensor<f32>) -> tensor<4xf32> {
  %0 = "stablehlo.reduce"(%a, %i) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
SLICES = """
func.func @main(%a: tensor<5xi32>, %s: tensor<i32>, %i: tensor<i32>) -> tensor<1xi32> {
  %0 = stablehlo.dynamic_slice %a, %s, sizes = [4] : (tensor<5xi32>, tensor<i32>) -> tensor<4xi32>
  %1 = stablehlo.dynamic_slice %0, %i, sizes = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
  return %1 : tensor<1xi32>
}
"""
CONVERT = """
func.func @main(%a: tensor<3xf4E2M1FN>) -> tensor<3xi32> {
  %0 = stablehlo.convert %a : (tensor<3xf4E2M1FN>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}
"""
HIGH_HALF = """
func.func @main(%a: tensor<3xui4>) -> tensor<3xui4> {
  %0 = "chlo.mulhi"(%a, %a) : (tensor<3xui4>, tensor<3xui4>) -> tensor<3xui4>
  return %0 : tensor<3xui4>
}
"""
ROOT = """
func.func @main(%a: tensor<2xf8E3M4>) -> tensor<2xf8E3M4> {
  %0 = stablehlo.sqrt %a : tensor<2xf8E3M4>
  return %0 : tensor<2xf8E3M4>
}
"""
NO_INDEX = """
func.func @main(%a: tensor<2xf32>, %i: tensor<2x0xi32>, %u: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
    inserted_window_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.multiply %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2xf32>, tensor<2x0xi32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""
POPULATION = """
func.func @main(%a: tensor<3xi4>) -> tensor<3xi4> {
  %0 = stablehlo.popcnt %a : tensor<3xi4>
  return %0 : tensor<3xi4>
}
"""
SORT = """
func.func @main(%a: tensor<4x3x1x3x1x1x1x1xf32>) -> tensor<4x3x1x3x1x1x1x1xf32> {
  %0 = "stablehlo.sort"(%a) <{dimension = -7 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<4x3x1x3x1x1x1x1xf32>) -> tensor<4x3x1x3x1x1x1x1xf32>
  return %0 : tensor<4x3x1x3x1x1x1x1xf32>
}
"""
TO_SORT = np.arange(36, dtype=np.float32)[::-1].reshape(4, 3, 1, 3, 1, 1, 1, 1)

REDUCED = """
func.func @main(%a: tensor<2xf8E4M3FNUZ>) -> tensor<2xf8E4M3FNUZ> {
  %0 = stablehlo.reduce_precision %a, format = e4m23 : tensor<2xf8E4M3FNUZ>
  return %0 : tensor<2xf8E4M3FNUZ>
}
"""
ZETA = """
func.func @main(%a: tensor<1xf32>, %b: tensor<1xf32>) -> tensor<1xf32> {
  %0 = "chlo.zeta"(%a, %b) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
"""
LEAST = """
func.func @main(%a: tensor<2xcomplex<f32>>, %b: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  %0 = stablehlo.minimum %a, %b : tensor<2xcomplex<f32>>
  return %0 : tensor<2xcomplex<f32>>
}
"""
PADDED = """
func.func @main(%a: tensor<2x2xi32>, %i: tensor<i32>) -> tensor<2x2xi32> {
  %0 = stablehlo.pad %a, %i, low = [2, 0], high = [0, 0], interior = [0, 0]
    : (tensor<2x2xi32>, tensor<i32>) -> tensor<4x2xi32>
  %1 = "stablehlo.reduce_window"(%0, %i) <{window_dimensions = array<i64: 3, 1>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %2 = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %2 : tensor<i32>
  }) : (tensor<4x2xi32>, tensor<i32>) -> tensor<2x2xi32>
  return %1 : tensor<2x2xi32>
}
"""
BOOLEANS = """
func.func @main(%a: tensor<4xi16>) -> tensor<4xi1> {
  %b = stablehlo.negate %a : tensor<4xi16>
  %0 = stablehlo.compare EQ, %b, %b, SIGNED : (tensor<4xi16>, tensor<4xi16>) -> tensor<4xi1>
  %1 = stablehlo.add %0, %0 : tensor<4xi1>
  return %1 : tensor<4xi1>
}
"""
ANGLE = """
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.atan2 %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
ROOTS = """
func.func @main(%a: tensor<1xf32>) -> tensor<1xf32> {
  %0 = stablehlo.cbrt %a : tensor<1xf32>
  return %0 : tensor<1xf32>
}
"""
CUT = """
func.func @main(%a: tensor<1xcomplex<f32>>) -> tensor<1xcomplex<f32>> {
  %0 = "chlo.acosh"(%a) : (tensor<1xcomplex<f32>>) -> tensor<1xcomplex<f32>>
  return %0 : tensor<1xcomplex<f32>>
}
"""
ACOSH = complex(1.7627471740390859, -np.pi)
SELECT = """
func.func @main(%a: tensor<2x2xi32>, %s: tensor<1x1xi32>, %i: tensor<i32>) -> tensor<2x2xi32> {
  %0 = "stablehlo.select_and_scatter"(%a, %s, %i) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %1 = stablehlo.compare LT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %1 = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<2x2xi32>, tensor<1x1xi32>, tensor<i32>) -> tensor<2x2xi32>
  return %0 : tensor<2x2xi32>
}
"""


@pytest.mark.parametrize(
    ("program", "inputs", "results", "title"),
    [
        (
            SCATTER_TWICE,
            [np.zeros(4, np.int32), np.array([[1], [2]], np.int32), np.int32([5, 6]), np.int32([7, 8])],
            [[0, 5, 6, 0], [0, 7, 8, 0]],
            "scatter into one array as several inputs",
        ),
        (CAPTURED, [np.ones((4, 3), np.float32), np.float32(0), np.float32(7)], [[7] * 4], "captured value"),
        (SLICES, [np.arange(5, dtype=np.int32), np.int32(3), np.int32(0)], [[1]], "its clamped start"),
        (CONVERT, [np.array([4, 6, -6]).astype(ml_dtypes.float4_e2m1fn)], [[4, 6, -6]], "f4E2M1FN's 6"),
        (HIGH_HALF, [np.array([13, 7, 1]).astype(ml_dtypes.uint4)], [[10, 3, 0]], "mulhi of integers"),
        # The root of 15.5 is 3.93700, below the middle of 3.875 and 4.
        (ROOT, [np.array([15.5, 4]).astype(ml_dtypes.float8_e3m4)], [[3.875, 2]], "round twice"),
        (
            NO_INDEX,
            [np.float32([2, 3]), np.zeros((2, 0), np.int32), np.float32([5, 7])],
            [[70, 3]],
            "scatter without index components",
        ),
        (POPULATION, [np.array([-1, -2, 3]).astype(ml_dtypes.int4)], [[4, 3, 2]], "popcnt of negative"),
        (SORT, [TO_SORT], [np.sort(TO_SORT, axis=1)], "negative dimension"),
        (BOOLEANS, [np.arange(4, dtype=np.int16)], [[1, 1, 1, 1]], "sum of two constant booleans"),
        (
            LEAST,
            [np.array([0.5 + 0.5j, 1], np.complex64), np.array([0.5 - 1.5j, 2], np.complex64)],
            [[0.5 - 1.5j, 1]],
            "compare real parts",
        ),
        (PADDED, [np.int32([[5, 7], [1, 2]]), np.int32(-3)], [[[-4, -2], [0, 3]]], "what pad has added"),
        (
            ANGLE,
            [np.full(4, 1e-40, np.float32), np.full(4, 1e-40, np.float32)],
            [[np.float32(np.pi / 4)] * 4],
            "atan2 of subnormal",
        ),
        (ROOTS, [np.float32([1e-42])], [[1.0001756570849306e-14]], "cbrt of subnormal"),
        (CUT, [np.array([complex(-3, -0.0)], np.complex64)], [[ACOSH]], "branch cuts"),
        (
            REDUCED,
            [np.array([0.00878906, 1]).astype(ml_dtypes.float8_e4m3fnuz)],
            [[0.0087890625, 1]],
            "that of f16",
        ),
        # The sum of (k - 23.875) ** -4, of which the term of k = 24 is 4096.
        (ZETA, [np.float32([4]), np.float32([-23.875])], [[4098.50048828125]], "zeta at negative"),
    ],
)
def test_causes_on_xla(program: str, inputs: list[Any], results: list[Any], title: str) -> None:
    options = nimblehlo.Options(functions="correctly_rounded")
    for one, expected in zip(nimblehlo.execute(program, inputs, options=options), results, strict=True):
        array = np.asarray(one)
        array = array if array.dtype.kind == "c" else array.astype(np.float64)
        np.testing.assert_allclose(array, expected, rtol=0 if array.dtype.kind == "f" else 1e-6)
    first = find_faulty_operation(program, inputs, backend("jax:cpu")).first
    if first is None:
        pytest.skip("XLA gives the specified result")
    cause = known_cause(first)
    assert cause is not None
    assert title in cause.title


def test_another_order_of_a_window_is_recognized() -> None:
    """Of equal elements the last one is selected: that of the first column, if columns come first."""
    inputs = [np.array([[1, 0], [0, 1]], np.int32), np.full((1, 1), 5, np.int32), np.int32(0)]
    module = nimblehlo.load(SELECT)
    np.testing.assert_array_equal(nimblehlo.execute(module, inputs)[0], [[0, 0], [5, 0]])
    by_columns = transposed_selection(module, (1, 0))
    np.testing.assert_array_equal(nimblehlo.execute(by_columns, inputs)[0], [[0, 5], [0, 0]])
    for returned, is_known in ([[0, 5], [0, 0]], True), ([[5, 0], [0, 0]], False):

        def other(run: nimblehlo.program.ir.Module, values: Any, wrong: Any = returned) -> list[Any]:
            selects = any(one.name == "stablehlo.select_and_scatter" for one in run.walk())
            return [np.array(wrong, np.int32)] if selects else list(nimblehlo.execute(run, values))

        first = find_faulty_operation(module, inputs, other).first
        assert first is not None
        cause = known_cause(first)
        assert ("another order" in cause.title if cause is not None else False) == is_known


@pytest.mark.parametrize(
    ("operation", "result", "title"),
    [
        ("stablehlo.count_leading_zeros", -32, "count_leading_zeros of constant"),
        ("stablehlo.count_leading_zeros", 7, None),
        ("stablehlo.popcnt", -32, None),
        ("stablehlo.negate", 2**31, "other bits of their byte"),
    ],
)
def test_a_result_shows_its_cause(operation: str, result: int, title: str | None) -> None:
    module = nimblehlo.load(
        f"func.func @main(%a: tensor<1xi32>) -> tensor<1xi32> {{ %r = {operation} %a : tensor<1xi32>"
        " return %r : tensor<1xi32> }"
    )
    violation = BoundViolation(0, (0,), "another count", 1, np.inf)
    cause = cause_of_result(module, [np.int32([1])], violation, [np.array([result], np.int64)])
    assert (cause is None) == (title is None)
    assert cause is None or str(title) in cause.title


def test_bits_that_are_spread_over_bytes_are_recognized() -> None:
    """XLA does so for some operands that are constants: the low bits of each byte, and what memory holds."""
    module = nimblehlo.load(
        "func.func @main(%a: tensor<2xi16>) -> tensor<2x8xi2> {"
        " %r = stablehlo.bitcast_convert %a : (tensor<2xi16>) -> tensor<2x8xi2> return %r : tensor<2x8xi2> }"
    )
    inputs, violation = [np.int16([0x0102, -1])], BoundViolation(0, (0, 1), "other bits", 1, np.inf)
    for begin, is_known in (([-2, 1, -1, -1], True), ([1, 1, -1, -1], False)):
        theirs = np.array([*begin, *[0] * 12]).astype(ml_dtypes.int2).reshape(2, 8)
        cause = cause_of_result(module, inputs, violation, [theirs])
        assert ("integers of 2 bits" in cause.title if cause is not None else False) == is_known


def test_another_difference_has_no_known_cause() -> None:
    def wrong(module: Any, inputs: Any) -> Any:
        return [np.asarray(one) + 1 for one in nimblehlo.execute(module, inputs)]

    for program, inputs in ((SLICES, [np.arange(5, dtype=np.int32), np.int32(0), np.int32(0)]),):
        first = find_faulty_operation(program, inputs, wrong).first
        assert first is not None
        assert known_cause(first) is None
