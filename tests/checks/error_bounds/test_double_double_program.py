"""Programs of f64 are run in wider arithmetic, which tells their true results."""

import re
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import nimblehlo
from nimblehlo import accuracy
from nimblehlo.checks.error_bounds import double_double, double_double_program
from nimblehlo.checks.error_bounds.double_double_program import results_in_double_double
from nimblehlo.errors import ExecutionError, UnsupportedError
from nimblehlo.options import Options

Array = np.ndarray[Any, Any]

SIXTY_FOUR_BITS = 2.0**-100
"""Relative errors of sums of two f64 numbers after a few operations."""


def wide_results(text: str, inputs: list[Array]) -> list[Array]:
    """A program's results as sums of two f64 numbers."""
    return results_in_double_double(nimblehlo.load(text), "main", inputs, Options())


def fractions(array: Array) -> list[Fraction]:
    """The exact values of f64 numbers, or of sums of two."""
    flat = np.asarray(array).ravel()
    return [Fraction(float(one.real)) + Fraction(float(one.imag)) for one in flat]


def vector_program(body: str, result: str = "tensor<8xf64>") -> str:
    """A program of two vectors of 8 elements."""
    arguments = "%a: tensor<8xf64>, %b: tensor<8xf64>"
    text = re.sub(r"\bT\b", "tensor<8xf64>", body)
    return f"func.func @main({arguments}) -> {result} {{\n{text}\nreturn %r : {result}\n}}"


def vectors() -> list[Array]:
    """Positive numbers without many zero bits."""
    random = np.random.default_rng(0)
    return [random.uniform(0.1, 3, 8), random.uniform(0.1, 3, 8)]


def assert_near(wide: Array, exact: list[Fraction]) -> None:
    for one, wanted in zip(fractions(wide), exact, strict=True):
        assert abs(one - wanted) <= SIXTY_FOUR_BITS * abs(wanted)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("add", lambda a, b: a + b),
        ("subtract", lambda a, b: a - b),
        ("multiply", lambda a, b: a * b),
        ("divide", lambda a, b: a / b),
    ],
)
def test_basic_operations(name: str, function: Callable[[Fraction, Fraction], Fraction]) -> None:
    text = vector_program(f"%0 = stablehlo.{name} %a, %b : T\n%r = stablehlo.multiply %0, %0 : T")
    a, b = vectors()
    (wide,) = wide_results(text, [a, b])
    assert_near(wide, [function(x, y) ** 2 for x, y in zip(fractions(a), fractions(b), strict=True)])


def test_roots() -> None:
    a, b = vectors()
    (wide,) = wide_results(vector_program("%r = stablehlo.sqrt %a : T"), [a, b])
    for root, number in zip(fractions(wide), fractions(a), strict=True):
        assert abs(root * root - number) <= SIXTY_FOUR_BITS * number


@pytest.mark.parametrize(
    ("operation", "function"),
    [
        ("stablehlo.exponential %a", mpmath.exp),
        ("stablehlo.log %a", mpmath.log),
        ("stablehlo.tanh %a", mpmath.tanh),
        ("stablehlo.logistic %a", lambda x: 1 / (1 + mpmath.exp(-x))),
        ("stablehlo.cbrt %a", mpmath.cbrt),
        ('"chlo.erf"(%a)', mpmath.erf),
    ],
)
def test_functions(operation: str, function: Callable[[Any], Any]) -> None:
    a, b = vectors()
    suffix = "(T) -> T" if "chlo" in operation else "T"
    (wide,) = wide_results(vector_program(f"%r = {operation} : {suffix}"), [a, b])
    with mpmath.workprec(200):
        for one, x in zip(wide, a, strict=True):
            wanted = function(mpmath.mpf(float(x)))
            assert abs(mpmath.mpf(one.real) + mpmath.mpf(one.imag) - wanted) <= 2.0**-104 * abs(wanted)


def test_functions_that_are_not_finite_are_those_of_f64() -> None:
    a = np.array([0, -1, np.inf, np.nan, 1, 2, 3, 4.0])
    (wide,) = wide_results(vector_program("%r = stablehlo.log %a : T"), [a, a])
    np.testing.assert_array_equal(wide.real[:4], [-np.inf, np.nan, np.inf, np.nan])
    assert not wide.imag[:4].any()


def test_sums_and_products_are_exact() -> None:
    """The product's terms cancel except for the last digits."""
    text = """
    func.func @main(%a: tensor<3x40xf64>, %b: tensor<40x2xf64>) -> (tensor<3x2xf64>, tensor<3xf64>) {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<3x40xf64>, tensor<40x2xf64>) -> tensor<3x2xf64>
      %c = stablehlo.constant dense<0.1> : tensor<f64>
      %1 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [1]
        : (tensor<3x40xf64>, tensor<f64>) -> tensor<3xf64>
      return %0, %1 : tensor<3x2xf64>, tensor<3xf64>
    }
    """
    random = np.random.default_rng(0)
    a, b = random.standard_normal((3, 40)) * 1e3, random.standard_normal((40, 2))
    b[-1] = -(a[0, :-1] @ b[:-1]) / a[0, -1]
    product, total = wide_results(text, [a, b])
    exact = [
        sum(x * y for x, y in zip(fractions(row), fractions(column), strict=True))
        for row in a
        for column in b.T
    ]
    assert_near(product, [Fraction(one) for one in exact])
    assert_near(total, [sum(fractions(row), Fraction(0.1)) for row in a])


def test_windows_updates_and_filters_are_exact() -> None:
    text = """
    func.func @main(%a: tensor<1x1x6xf64>, %f: tensor<1x1x3xf64>, %i: tensor<2x1xi32>, %u: tensor<2xf64>)
        -> (tensor<1x1x4xf64>, tensor<4xf64>, tensor<6xf64>) {
      %0 = stablehlo.convolution(%a, %f) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {}
        {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
        : (tensor<1x1x6xf64>, tensor<1x1x3xf64>) -> tensor<1x1x4xf64>
      %1 = stablehlo.reshape %a : (tensor<1x1x6xf64>) -> tensor<6xf64>
      %z = stablehlo.constant dense<0.0> : tensor<f64>
      %2 = "stablehlo.reduce_window"(%1, %z) <{window_dimensions = array<i64: 3>}> ({
      ^bb0(%x: tensor<f64>, %y: tensor<f64>):
        %s = stablehlo.add %x, %y : tensor<f64>
        stablehlo.return %s : tensor<f64>
      }) : (tensor<6xf64>, tensor<f64>) -> tensor<4xf64>
      %3 = "stablehlo.scatter"(%1, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
        inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
      ^bb0(%x: tensor<f64>, %y: tensor<f64>):
        %s = stablehlo.add %x, %y : tensor<f64>
        stablehlo.return %s : tensor<f64>
      }) : (tensor<6xf64>, tensor<2x1xi32>, tensor<2xf64>) -> tensor<6xf64>
      return %0, %2, %3 : tensor<1x1x4xf64>, tensor<4xf64>, tensor<6xf64>
    }
    """
    random = np.random.default_rng(0)
    a, filter, updates = (random.standard_normal(size) * 1e5 for size in (6, 3, 2))
    inputs = [a.reshape(1, 1, 6), filter.reshape(1, 1, 3), np.int32([[2], [2]]), updates]
    convolved, windows, scattered = wide_results(text, inputs)
    x, f, u = map(fractions, (a, filter, updates))
    assert_near(convolved, [sum(x[i + k] * f[k] for k in range(3)) + Fraction(0) for i in range(4)])
    assert_near(windows, [x[i] + x[i + 1] + x[i + 2] for i in range(4)])
    assert_near(scattered, [one + (sum(u) if i == 2 else 0) for i, one in enumerate(x)])


LOOP = """
func.func @main(%a: tensor<8xf64>, %n: tensor<i64>) -> (tensor<8xf64>, tensor<i64>) {
  %c = stablehlo.constant dense<3.0> : tensor<8xf64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i64>, tensor<8xf64>
    cond {
      %l = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %l : tensor<i1>
    } do {
      %d = stablehlo.divide %x, %c : tensor<8xf64>
      %p = stablehlo.compare GT, %d, %a : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xi1>
      %s = stablehlo.select %p, %c, %d : (tensor<8xi1>, tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
      %j = stablehlo.add %i, %one : tensor<i64>
      stablehlo.return %j, %s : tensor<i64>, tensor<8xf64>
    }
  return %0#1, %0#0 : tensor<8xf64>, tensor<i64>
}
"""


def test_loops_are_followed() -> None:
    a = vectors()[0]
    wide, count = wide_results(LOOP, [a, np.int64(5)])
    assert count == 5
    assert_near(wide, [one / 3**5 for one in fractions(a)])


def test_integers_of_64_bits_are_exact() -> None:
    values = np.array([2**62 + 1, -(2**62) - 1, 2**53 + 1, -5, 0, 1, 2**31, 7], np.int64)
    assert fractions(double_double.from_array(values)) == [Fraction(int(one)) for one in values]
    unsigned = np.array([2**64 - 1, 2**63 + 1], np.uint64)
    assert fractions(double_double.from_array(unsigned)) == [Fraction(int(one)) for one in unsigned]


def test_the_true_error_of_f64_is_known_and_lies_within_the_bound() -> None:
    text = vector_program(
        "%0 = stablehlo.multiply %a, %b : T\n%1 = stablehlo.add %0, %a : T\n"
        "%2 = stablehlo.subtract %1, %0 : T\n%r = stablehlo.divide %2, %b : T"
    )
    a, b = vectors()
    b = b * 1e10
    computed = accuracy(text, [a, b])
    (error,) = computed.true_errors
    assert error is not None
    exact = [x / y for x, y in zip(fractions(a), fractions(b), strict=True)]
    ours = fractions(computed.results[0].value)
    apart = [float(abs(one - wanted)) for one, wanted in zip(ours, exact, strict=True)]
    np.testing.assert_allclose(error, apart, rtol=1e-10)
    assert error.max() > 1e-18
    assert (error <= computed.results[0].bound).all()
    assert not computed.violations([np.array([float(one) for one in exact])])


@pytest.mark.parametrize("bounds", [1.5, 4.0])
def test_an_error_of_few_bounds_is_caught_in_f64(bounds: float) -> None:
    text = vector_program(
        "%0 = stablehlo.exponential %a : T\n%1 = stablehlo.multiply %0, %b : T\n"
        "%2 = stablehlo.add %1, %a : T\n%r = stablehlo.divide %2, %b : T"
    )
    inputs = vectors()
    computed = accuracy(text, inputs)
    assert computed.true_errors[0] is not None
    wrong = computed.results[0].value.copy()
    assert not computed.violations([wrong])
    wrong[3] += bounds * computed.results[0].bound[3]
    (violation,) = computed.violations([wrong])
    assert violation.index == (3,)
    # The bound itself is some units in the last place, not a share of the value.
    assert (computed.results[0].ulps < 100).all()


@pytest.mark.parametrize(
    ("body", "result", "message"),
    [
        ('%r = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({\n^bb0(%x: tensor<f64>, %y: tensor<f64>):\n'
         "%c = stablehlo.compare LT, %x, %y : (tensor<f64>, tensor<f64>) -> tensor<i1>\n"
         "stablehlo.return %c : tensor<i1>\n}) : (T) -> T", "tensor<8xf64>", "stablehlo.sort is not"),
        ("%r = stablehlo.convert %a : (T) -> tensor<8xf32>", "tensor<8xf32>", "a value of type"),
    ],
)  # fmt: skip
def test_other_programs_are_not_run_so(body: str, result: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        wide_results(vector_program(body, result), vectors())


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    text = vector_program("%r = stablehlo.exponential %a : T")
    monkeypatch.setattr(double_double_program, "MAX_FUNCTION_VALUES", 7)
    with pytest.raises(UnsupportedError, match="more than 7 values"):
        wide_results(text, vectors())
    monkeypatch.setattr(double_double_program, "MAX_STEPS", 10)
    with pytest.raises(ExecutionError, match="max_steps"):
        wide_results(LOOP, [vectors()[0], np.int64(5)])
    monkeypatch.setattr(double_double_program, "MAX_ELEMENTS", 7)
    with pytest.raises(UnsupportedError, match="more than 7 elements"):
        wide_results(text, vectors())
    assert accuracy(text, vectors()).true_errors == [None]


def test_products_of_large_numbers_are_exact() -> None:
    """From 2 ** 996 a number is scaled before it is split, as the split would overflow."""
    large = np.array([2.0**995, 2.0**997, 1.7e308]) * (1 + 2.0**-52 * np.arange(3))
    small = np.full(3, 1.1)
    product, error = double_double.two_product(large, small / 4)
    for one, rest, a, b in zip(product, error, large, small / 4, strict=True):
        assert Fraction(float(one)) + Fraction(float(rest)) == Fraction(float(a)) * Fraction(float(b))


def test_without_mpmath_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpmath", None)
    text = vector_program("%r = stablehlo.exponential %a : T")
    with pytest.raises(UnsupportedError, match=r"nimblehlo\[accuracy\]"):
        wide_results(text, vectors())
    assert accuracy(text, vectors()).true_errors == [None]


def test_elements_of_a_wide_range_need_more_slices() -> None:
    with pytest.raises(UnsupportedError, match="more than 3 slices"):
        double_double.exact_slices(double_double.from_array(np.array([1e100, 1.1, 1e-100])), 22, 3)
    values = double_double.from_array(np.array([1.1, 2e3, -0.7]))
    cut = double_double.exact_slices(values, 22, 8)
    assert [sum(column, Fraction(0)) for column in zip(*map(fractions, cut), strict=True)] == fractions(
        values
    )
