"""Results that the specification leaves open are right whatever they are; all others stay bounded."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo import accuracy
from tests.checks.error_bounds.open_results import open_elements, other_results

REDUCE = """
func.func @main(%a: tensor<2x3xT>, %init: tensor<T>) -> tensor<2xT> {
  %r = stablehlo.reduce(%a init: %init) applies stablehlo.OP across dimensions = [1]
    : (tensor<2x3xT>, tensor<T>) -> tensor<2xT>
  return %r : tensor<2xT>
}
"""
WINDOWS = """
func.func @main(%a: tensor<3xf32>, %init: tensor<f32>) -> tensor<4xf32> {
  %0 = "stablehlo.reduce_window"(%a, %init) <{padding = dense<[[2, 0]]> : tensor<1x2xi64>,
    window_dimensions = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def elementwise(operation: str, operand: str, result: str) -> str:
    """A program of one operation on two operands, or on one for a conversion."""
    if "convert" in operation:
        applied = f"stablehlo.{operation} %a : ({operand}) -> {result}"
    else:
        applied = f"stablehlo.{operation} %a, %b : {operand}"
    return (
        f"func.func @main(%a: {operand}, %b: {operand}) -> {result} {{\n"
        f"%r = {applied}\nreturn %r : {result}\n}}"
    )


@pytest.mark.parametrize(
    ("operation", "operand", "result", "a", "b", "is_open"),
    [
        ("divide", "tensor<4xi32>", None, [5, 6, -(2**31), 9], [0, 2, -1, -1], [True, False, True, False]),
        ("remainder", "tensor<2xui8>", None, [5, 6], [0, 4], [True, False]),
        ("shift_left", "tensor<3xi8>", None, [1, 1, 1], [7, 8, -1], [False, True, True]),
        ("convert", "tensor<3xf32>", "tensor<3xi8>", [1.5, np.nan, 300], [0, 0, 0], [False, True, True]),
        ("bitcast_convert", "tensor<2xf32>", "tensor<2xi32>", [1, np.nan], [0, 0], [False, True]),
        ("convert", "tensor<2xf32>", "tensor<2xf8E4M3FN>", [1, 1e6], [0, 0], [False, True]),
        ("power", "tensor<2xi32>", None, [2, 2], [3, -1], [False, True]),
    ],
)
def test_open_elements(
    operation: str, operand: str, result: str | None, a: Any, b: Any, is_open: list[bool]
) -> None:
    text = elementwise(operation, operand, result or operand)
    types = nimblehlo.compile(text).input_types
    inputs = [np.array(one).astype(type.dtype) for one, type in zip((a, b), types, strict=True)]
    np.testing.assert_array_equal(open_elements(nimblehlo.load(text), inputs)[0], is_open)
    (ours,) = nimblehlo.execute(text, inputs)
    computed = accuracy(text, inputs)
    for index, flag in enumerate(is_open):
        theirs = np.array(ours)
        theirs[index] = np.array(7 if ours.dtype.kind in "iu" else 0.5).astype(ours.dtype)
        assert bool(computed.violations([theirs])) is not flag


def test_what_depends_on_an_open_element_is_open() -> None:
    text = """
    func.func @main(%a: tensor<2xi32>, %b: tensor<2xi32>) -> (tensor<2xi1>, tensor<i32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %0 = stablehlo.divide %a, %b : tensor<2xi32>
      %1 = stablehlo.compare LT, %0, %a : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
      %2 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0]
        : (tensor<2xi32>, tensor<i32>) -> tensor<i32>
      return %1, %2 : tensor<2xi1>, tensor<i32>
    }"""
    inputs = [np.array([4, 4], np.int32), np.array([0, 2], np.int32)]
    compared, total = open_elements(nimblehlo.load(text), inputs)
    np.testing.assert_array_equal(compared, [True, False])
    assert total


SORTED_ROWS = """
func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = "stablehlo.sort"(%a) <{dimension = 1 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}"""


def test_a_sort_that_does_not_order_nans_is_open_along_its_dimension() -> None:
    values = np.array([[3, np.nan, 1], [3, 2, 1]], np.float32)
    computed = accuracy(SORTED_ROWS, [values])
    assert not computed.violations([np.array([[np.nan, 3, 1], [1, 2, 3]], np.float32)])
    assert computed.violations([np.array([[np.nan, 3, 1], [1, 3, 2]], np.float32)])


@pytest.mark.parametrize("is_stable", [False, True])
def test_the_order_of_equal_keys_is_open_in_a_sort_that_is_not_stable(is_stable: bool) -> None:
    text = f"""
    func.func @main(%a: tensor<2x3xi32>, %b: tensor<2x3xi32>) -> tensor<2x3xi32> {{
      %0:2 = "stablehlo.sort"(%a, %b) <{{dimension = 1 : i64, is_stable = {str(is_stable).lower()}}}> ({{
      ^bb0(%x: tensor<i32>, %y: tensor<i32>, %u: tensor<i32>, %v: tensor<i32>):
        %1 = stablehlo.compare LT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }}) : (tensor<2x3xi32>, tensor<2x3xi32>) -> (tensor<2x3xi32>, tensor<2x3xi32>)
      return %0#1 : tensor<2x3xi32>
    }}"""
    keys = np.array([[2, 1, 2], [3, 1, 2]], np.int32)
    computed = accuracy(text, [keys, np.array([[10, 20, 30], [40, 50, 60]], np.int32)])
    assert not computed.violations([np.array([[20, 10, 30], [50, 60, 40]], np.int32)])
    assert bool(computed.violations([np.array([[20, 30, 10], [50, 60, 40]], np.int32)])) == is_stable
    assert computed.violations([np.array([[10, 20, 30], [50, 60, 40]], np.int32)])
    assert computed.violations([np.array([[20, 10, 30], [60, 50, 40]], np.int32)])


def test_a_sort_does_not_order_subnormal_numbers_where_they_are_flushed() -> None:
    computed = accuracy(SORTED_ROWS, [np.array([[1e-40, 0, 1], [3, 2, 0]], np.float32)])
    assert not computed.violations([np.array([[1e-40, 0, 1], [0, 2, 3]], np.float32)])
    assert computed.violations([np.array([[1e-40, 1, 0], [0, 2, 3]], np.float32)])
    assert computed.violations([np.array([[1e-40, 0, 1], [2, 0, 3]], np.float32)])


def test_subnormal_numbers_that_a_program_computes_may_be_flushed() -> None:
    """atan2 of the least number and itself is 45 degrees, or 90 where one of them is flushed."""
    text = """
    func.func @main(%a: tensor<2xf64>, %b: tensor<2xf64>) -> tensor<2xf64> {
      %0 = "chlo.next_after"(%a, %b) : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
      %1 = stablehlo.atan2 %0, %0 : tensor<2xf64>
      return %1 : tensor<2xf64>
    }"""
    computed = accuracy(text, [np.array([0.0, 1.0]), np.ones(2)])
    assert not computed.violations([np.array([np.pi / 2, np.pi / 4])])
    assert computed.violations([np.array([np.pi / 4, np.pi / 2])])


def test_iota_is_open_where_its_type_has_no_zero() -> None:
    text = """
    func.func @main() -> tensor<3xf8E8M0FNU> {
      %0 = stablehlo.iota dim = 0 : tensor<3xf8E8M0FNU>
      return %0 : tensor<3xf8E8M0FNU>
    }"""
    (mask,) = open_elements(nimblehlo.load(text), [])
    np.testing.assert_array_equal(mask, [True, False, False])


def test_complex_numbers_are_converted_to_a_type_without_nan() -> None:
    text = """
    func.func @main(%a: tensor<2xcomplex<f32>>) -> tensor<2xf4E2M1FN> {
      %0 = stablehlo.convert %a : (tensor<2xcomplex<f32>>) -> tensor<2xf4E2M1FN>
      return %0 : tensor<2xf4E2M1FN>
    }"""
    (mask,) = open_elements(nimblehlo.load(text), [np.array([complex(np.nan, 1), 2], np.complex64)])
    np.testing.assert_array_equal(mask, [True, False])


def test_functions_that_broadcast_are_open_where_their_type_has_no_nan() -> None:
    text = """
    func.func @main(%a: tensor<2x1xf4E2M1FN>, %b: tensor<1xf4E2M1FN>) -> tensor<2x1xf4E2M1FN> {
      %0 = "chlo.broadcast_zeta"(%a, %b) : (tensor<2x1xf4E2M1FN>, tensor<1xf4E2M1FN>) -> tensor<2x1xf4E2M1FN>
      return %0 : tensor<2x1xf4E2M1FN>
    }"""
    dtype = ml_dtypes.float4_e2m1fn
    (mask,) = open_elements(
        nimblehlo.load(text), [np.array([[0], [3]]).astype(dtype), np.ones(1).astype(dtype)]
    )
    np.testing.assert_array_equal(mask, [[True], [False]])


def test_single_digits_of_rounded_numbers_are_open() -> None:
    text = """
    func.func @main(%a: tensor<2xf32>) -> tensor<2x16xui2> {
      %0 = stablehlo.sine %a : tensor<2xf32>
      %1 = stablehlo.bitcast_convert %0 : (tensor<2xf32>) -> tensor<2x16xui2>
      return %1 : tensor<2x16xui2>
    }"""
    (bound,) = accuracy(text, [np.float32([1, 0])]).results
    assert bound.may_vary[0, 0] and not bound.may_vary[0, 14:].any()


def test_bits_of_rounded_sums_are_open_as_another_float_type() -> None:
    text = """
    func.func @main(%a: tensor<2xbf16>, %b: tensor<2xbf16>) -> tensor<2x2xf8E5M2> {
      %0 = stablehlo.multiply %a, %b : tensor<2xbf16>
      %1 = stablehlo.add %a, %0 : tensor<2xbf16>
      %2 = stablehlo.bitcast_convert %1 : (tensor<2xbf16>) -> tensor<2x2xf8E5M2>
      return %2 : tensor<2x2xf8E5M2>
    }"""
    a = np.array([1.0078125, 1]).astype(ml_dtypes.bfloat16)
    b = np.array([0.0029, 0.5]).astype(ml_dtypes.bfloat16)
    computed = accuracy(text, [a, b])
    (ours,) = nimblehlo.execute(text, [a, b])
    # The first sum is rounded, the second one is exact.
    for row, is_right in ((0, True), (1, False)):
        other = np.array(ours)
        other[row, 0] = np.nan
        assert (not computed.violations([other])) == is_right


def test_cholesky_of_an_indefinite_matrix_is_open_and_so_is_the_other_triangle() -> None:
    text = """
    func.func @main(%a: tensor<2x2x2xf32>) -> tensor<2x2x2xf32> {
      %0 = stablehlo.cholesky %a, lower = true : tensor<2x2x2xf32>
      return %0 : tensor<2x2x2xf32>
    }"""
    matrices = np.array([[[4, 2], [2, 2]], [[1, 5], [2, 1]]], np.float32)
    mask = open_elements(nimblehlo.load(text), [matrices])[0]
    np.testing.assert_array_equal(mask, [[[False, True], [False, False]], [[True, True], [True, True]]])


@pytest.mark.parametrize(
    ("type", "operation", "init", "right"),
    [
        ("f32", "add", 0.5, [[6.5, 15.5], [6, 15]]),
        ("f32", "add", 0, [[6, 15]]),
        ("f32", "maximum", 4, [[4, 6], [3, 6]]),
        ("i32", "maximum", 4, [[4, 6], [3, 6]]),
        ("i32", "maximum", -9, [[3, 6]]),
        ("i32", "multiply", 2, [[12, 240], [6, 120]]),
    ],
)
def test_reductions_may_leave_initial_values_out(
    type: str, operation: str, init: float, right: list[list[float]]
) -> None:
    text = REDUCE.replace("T", type).replace("OP", operation)
    dtype = np.float32 if type == "f32" else np.int32
    inputs = [np.array([[1, 2, 3], [4, 5, 6]], dtype), np.array(init, dtype)]
    computed = accuracy(text, inputs)
    for results in right:
        assert not computed.violations([np.array(results, dtype)])
    assert computed.violations([np.array([right[0][0], right[0][1] - 1], dtype)])
    assert len(other_results(nimblehlo.load(text), inputs)) == len(right) - 1


def test_windows_may_leave_padding_out() -> None:
    inputs = [np.array([1, 2, 3], np.float32), np.array(10, np.float32)]
    computed = accuracy(WINDOWS, inputs)
    for results in ([30, 21, 13, 15], [10, 11, 13, 15], [10, 1, 3, 5]):
        assert not computed.violations([np.array(results, np.float32)])
    assert computed.violations([np.array([30, 21, 12, 15], np.float32)])


def test_windows_of_padding_alone_give_the_initial_value() -> None:
    text = WINDOWS.replace("[[2, 0]]", "[[-3, 3]]").replace("4xf32", "2xf32")
    computed = accuracy(text, [np.array([1, 2, 3], np.float32), np.array(10, np.float32)])
    for results in ([30, 30], [10, 10]):
        assert not computed.violations([np.array(results, np.float32)])
    assert computed.violations([np.array([10, 20], np.float32)])


def test_several_reductions_choose_independently() -> None:
    text = REDUCE.replace("T", "i32").replace("OP", "add")
    text = text.replace(
        "return %r : tensor<2xi32>",
        "%s = stablehlo.reduce(%r init: %init) applies stablehlo.multiply across dimensions = [0]\n"
        "  : (tensor<2xi32>, tensor<i32>) -> tensor<i32>\nreturn %s : tensor<i32>",
    ).replace("-> tensor<2xi32> {", "-> tensor<i32> {")
    inputs = [np.array([[1, 2, 3], [4, 5, 6]], np.int32), np.array(2, np.int32)]
    computed = accuracy(text, inputs)
    for total in (8 * 17 * 2, 8 * 17, 6 * 15 * 2, 6 * 15):
        assert not computed.violations([np.array(total, np.int32)])


def test_errors_below_a_unit_of_a_narrow_type_are_not_lost() -> None:
    """A function of f16 is off by one unit, also where other operations of the program round."""
    text = """
    func.func @main(%a: tensor<64xf16>) -> (tensor<64xf16>, tensor<64xf16>) {
      %0 = stablehlo.sine %a : tensor<64xf16>
      %1 = stablehlo.cosine %a : tensor<64xf16>
      return %0, %1 : tensor<64xf16>, tensor<64xf16>
    }"""
    inputs = [np.linspace(0.1, 3, 64).astype(np.float16)]
    computed = accuracy(text, inputs)
    off = [np.nextafter(one, np.float16(2)) for one in nimblehlo.execute(text, inputs)]
    assert not computed.violations(off)


def test_subnormal_operands_of_exact_operations_may_be_flushed() -> None:
    text = elementwise("convert", "tensor<2xf32>", "tensor<2xf32>").replace("convert %a :", "ceil %a :")
    text = text.replace("(tensor<2xf32>) -> tensor<2xf32>\nreturn", "tensor<2xf32>\nreturn")
    inputs = [np.array([1e-40, 0.5], np.float32), np.zeros(2, np.float32)]
    computed = accuracy(text, inputs)
    assert not computed.violations([np.array([0, 1], np.float32)])
    assert computed.violations([np.array([1, 0], np.float32)])


def test_subnormal_constants_may_be_flushed() -> None:
    text = """
    func.func @main(%p: tensor<i1>) -> tensor<2xf64> {
      %0 = "stablehlo.if"(%p) ({
        %a = stablehlo.constant dense<[-4.9e-324, 2.5]> : tensor<2xf64>
        stablehlo.return %a : tensor<2xf64>
      }, {
        %b = stablehlo.constant dense<1.0> : tensor<2xf64>
        stablehlo.return %b : tensor<2xf64>
      }) : (tensor<i1>) -> tensor<2xf64>
      %1 = stablehlo.floor %0 : tensor<2xf64>
      return %1 : tensor<2xf64>
    }"""
    computed = accuracy(text, [np.True_])
    assert not computed.violations([np.array([-1, 2.0])])
    assert not computed.violations([np.array([0, 2.0])])
    assert computed.violations([np.array([-1, 3.0])])


def test_numbers_that_a_reduced_format_cannot_hold_are_open_without_infinities() -> None:
    text = """
    func.func @main(%a: tensor<3xf4E2M1FN>) -> tensor<3xf4E2M1FN> {
      %0 = stablehlo.reduce_precision %a, format = e2m5 : tensor<3xf4E2M1FN>
      return %0 : tensor<3xf4E2M1FN>
    }"""
    dtype = nimblehlo.compile(text).input_types[0].dtype
    inputs = [np.array([-4, 3, 1]).astype(dtype)]
    assert open_elements(nimblehlo.load(text), inputs)[0].tolist() == [True, False, False]


def test_many_orders_of_updates_are_right() -> None:
    text = """
    func.func @main(%a: tensor<1xi32>, %i: tensor<5x1xi32>, %u: tensor<5xi32>) -> tensor<1xi32> {
      %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
        inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
      ^bb0(%x: tensor<i32>, %y: tensor<i32>):
        stablehlo.return %y : tensor<i32>
      }) : (tensor<1xi32>, tensor<5x1xi32>, tensor<5xi32>) -> tensor<1xi32>
      return %0 : tensor<1xi32>
    }"""
    inputs = [np.zeros(1, np.int32), np.zeros((5, 1), np.int32), np.arange(1, 6, dtype=np.int32)]
    computed = accuracy(text, inputs)
    for last in range(1, 6):
        assert not computed.violations([np.array([last], np.int32)])


UPDATES = """
func.func @main(%a: tensor<3xf32>, %i: tensor<4x1xi32>, %u: tensor<4xf32>) -> tensor<3xf32> {
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
    inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    BODY
    stablehlo.return %z : tensor<f32>
  }) : (tensor<3xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
"""


@pytest.mark.parametrize(
    ("body", "is_open"),
    [
        ("%z = stablehlo.add %y, %y : tensor<f32>", [False, True, False]),
        ("%z = stablehlo.divide %y, %x : tensor<f32>", [False, True, False]),
        # Subtracting in another order is a matter of rounding.
        ("%z = stablehlo.subtract %x, %y : tensor<f32>", [False, False, False]),
        ("%z = stablehlo.add %x, %y : tensor<f32>", [False, False, False]),
    ],
)
def test_updates_whose_order_matters_are_open(body: str, is_open: list[bool]) -> None:
    inputs = [
        np.float32([1, 2, 3]),
        np.array([[1], [2], [1], [1]], np.int32),
        np.float32([0.5, 6, 0.7, 0.9]),
    ]
    text = UPDATES.replace("BODY", body)
    assert open_elements(nimblehlo.load(text), inputs)[0].tolist() == is_open
    (ours,) = nimblehlo.execute(text, inputs)
    computed = accuracy(text, inputs)
    for index, flag in enumerate(is_open):
        theirs = np.array(ours)
        theirs[index] += 0.25
        assert bool(computed.violations([theirs])) is not flag


def test_a_tuple_is_one_value() -> None:
    text = """
    func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.tuple %a, %a : tuple<tensor<2xf32>, tensor<2xf32>>
      %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
      %2 = stablehlo.sine %1 : tensor<2xf32>
      return %2 : tensor<2xf32>
    }"""
    assert accuracy(text, [np.array([1, 2], np.float32)]).results[0].bound.all()
