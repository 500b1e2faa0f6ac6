"""Bounds on how far a correct implementation's results may lie from ours."""

import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo import accuracy
from nimblehlo.checks.error_bounds.ulps import root_mean_square, ulp


def program(body: str, type: str = "f32", result: str | None = None, size: int = 16) -> str:
    """A program of two vectors."""
    tensor, returned = f"tensor<{size}x{type}>", result or f"tensor<{size}x{type}>"
    text = body.replace("T", tensor)
    return f"func.func @main(%a: {tensor}, %b: {tensor}) -> {returned} {{\n{text}\nreturn %r : {returned}\n}}"


def vectors(dtype: object = np.float32, size: int = 16) -> list[np.ndarray]:
    """Two vectors of normal numbers."""
    random = np.random.default_rng(1)
    return [random.standard_normal(size).astype(dtype) for _ in range(2)]


@pytest.mark.parametrize("type", ["f16", "f32", "f64"])
@pytest.mark.parametrize("name", ["add", "multiply", "divide"])
def test_one_correctly_rounded_operation_is_exact(name: str, type: str) -> None:
    inputs = vectors({"f16": np.float16, "f32": np.float32, "f64": np.float64}[type])
    computed = accuracy(program(f"%r = stablehlo.{name} %a, %b : T", type), inputs)
    assert not computed.results[0].bound.any()


@pytest.mark.parametrize(("type", "ulps"), [("f16", 1), ("f32", 4), ("f64", 4)])
def test_one_function_has_its_accuracy(type: str, ulps: int) -> None:
    dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[type]
    computed = accuracy(program("%r = stablehlo.exponential %a : T", type), vectors(dtype))
    np.testing.assert_allclose(computed.results[0].ulps, ulps, atol=0.5)


def test_functions_that_are_expanded_round_in_their_type_more_than_once() -> None:
    bounds = [
        accuracy(program(f"%r = stablehlo.{name} %a : T", "f16"), vectors(np.float16)).results[0].ulps
        for name in ("logistic", "exponential_minus_one")
    ]
    np.testing.assert_allclose(bounds, 2, atol=0.5)


@pytest.mark.parametrize(("type", "ulps"), [("f16", 1), ("f32", 0)])
def test_a_conversion_may_round_twice(type: str, ulps: int) -> None:
    text = program(f"%r = stablehlo.convert %a : (T) -> tensor<16x{type}>", "f64", f"tensor<16x{type}>")
    computed = accuracy(text, vectors(np.float64))
    np.testing.assert_allclose(computed.results[0].ulps, ulps, atol=0.5)


def test_data_movement_is_exact() -> None:
    computed = accuracy(
        program("%0 = stablehlo.reverse %a, dims = [0] : T\n%r = stablehlo.maximum %0, %b : T"), vectors()
    )
    assert not computed.results[0].bound.any()


def test_cancellation_widens_the_bound_and_is_named() -> None:
    text = program(
        "%0 = stablehlo.multiply %a, %a : T\n%1 = stablehlo.add %0, %b : T\n"
        "%r = stablehlo.subtract %1, %0 : T"
    )
    a, b = vectors()
    computed = accuracy(text, [1000 * a, b])
    exact = b.astype(np.float64)
    (ours,) = nimblehlo.execute(text, [1000 * a, b])
    assert (np.abs(ours - exact) <= computed.results[0].bound).all()
    assert np.median(computed.results[0].ulps) > 1e4
    assert computed.lost_digits is not None
    assert computed.lost_digits.operation == "stablehlo.subtract"
    assert computed.lost_digits.digits > 3


def test_an_integer_that_hangs_on_rounding_may_vary() -> None:
    text = program(
        "%0 = stablehlo.multiply %a, %b : T\n%1 = stablehlo.divide %0, %b : T\n"
        "%r = stablehlo.convert %1 : (T) -> tensor<16xi32>",
        result="tensor<16xi32>",
    )
    a = np.arange(1, 17, dtype=np.float32)
    b = np.full(16, np.float32(0.1))
    a[8:] += np.float32(0.5)
    computed = accuracy(text, [a, b])
    assert computed.results[0].may_vary[:8].any()
    assert not computed.results[0].may_vary[8:].any()


def test_sums_in_any_order_are_inside() -> None:
    text = """
    func.func @main(%a: tensor<1000xf32>) -> tensor<f32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %r = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
        : (tensor<1000xf32>, tensor<f32>) -> tensor<f32>
      return %r : tensor<f32>
    }"""
    (values, _) = vectors(size=1000)
    computed = accuracy(text, [values])
    for order in (values, values[::-1], np.sort(values), np.sort(values)[::-1]):
        assert not computed.violations([np.cumsum(order, dtype=np.float32)[-1]])
    wrong = np.float32(values.astype(np.float64).sum() - values[np.argmin(np.abs(values - 0.5))])
    assert computed.violations([wrong])


def convolution(precision: str, features: int = 16) -> str:
    lhs, rhs, result = f"1x10x10x{features}", f"3x3x{features}x8", "1x10x10x8"
    lhs, rhs, result = (f"tensor<{one}xf32>" for one in (lhs, rhs, result))
    return f"""
    func.func @main(%a: {lhs}, %b: {rhs}) -> {result} {{
      %r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {{pad = [[1, 1], [1, 1]]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64,
        precision_config = [#stablehlo<precision {precision}>, #stablehlo<precision {precision}>]}}
        : ({lhs}, {rhs}) -> {result}
      return %r : {result}
    }}"""


def test_both_algorithms_of_convolutions_are_inside_where_both_may_be_used() -> None:
    """Large elements around windows whose sums are small: Winograd's algorithm loses digits of these."""
    random = np.random.default_rng(2)
    a, b = (random.standard_normal(shape, np.float32) for shape in ((1, 10, 10, 16), (3, 3, 16, 8)))
    a *= np.exp2(random.integers(0, 12, (1, 10, 10, 1)), dtype=np.float32)
    b *= np.exp2(random.integers(-12, 0, (3, 3, 1, 1)), dtype=np.float32)
    default, highest = (accuracy(convolution(name), [a, b]) for name in ("DEFAULT", "HIGHEST"))
    (by_tiles,), (directly,) = (nimblehlo.execute(convolution(n), [a, b]) for n in ("DEFAULT", "HIGHEST"))
    assert not default.violations([directly]) and not default.violations([by_tiles])
    assert not highest.violations([directly]) and highest.violations([by_tiles])
    assert (default.results[0].bound > highest.results[0].bound).all()
    small = [accuracy(convolution(name, 15), [a[..., :15], b[:, :, :15]]) for name in ("DEFAULT", "HIGHEST")]
    np.testing.assert_array_equal(*(one.results[0].bound for one in small))


def test_results_through_bfloat16_are_outside() -> None:
    import ml_dtypes

    text = program("%0 = stablehlo.multiply %a, %b : T\n%r = stablehlo.tanh %0 : T")
    inputs = vectors()
    computed = accuracy(text, inputs)
    product = (inputs[0] * inputs[1]).astype(ml_dtypes.bfloat16).astype(np.float32)
    (violation,) = computed.violations([np.tanh(product)])
    assert violation.elements > 12 and violation.excess > 10
    assert not computed.violations([np.tanh(inputs[0].astype(np.float64) * inputs[1]).astype(np.float32)])


def test_the_error_against_wider_arithmetic_is_reported() -> None:
    text = program("%0 = stablehlo.multiply %a, %b : T\n%r = stablehlo.exponential %0 : T")
    computed = accuracy(text, vectors())
    errors = computed.true_errors[0]
    assert errors is not None and errors.any()
    assert (errors <= 4 * ulp(computed.results[0].value)).all()
    wide = accuracy(text.replace("f32", "f64"), vectors(np.float64))
    assert wide.true_errors[0] is not None
    assert wide.true_errors[0].any()
    assert (wide.true_errors[0] <= 4 * ulp(wide.results[0].value)).all()
    complex_type = text.replace("f32", "complex<f64>")
    assert accuracy(complex_type, vectors(np.complex128)).true_errors == [None]


def test_bounds_are_reproducible() -> None:
    text = program("%0 = stablehlo.multiply %a, %b : T\n%r = stablehlo.tanh %0 : T")
    first, second = (accuracy(text, vectors(), seed=3).results[0].bound for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_inputs_of_a_reduction_have_bounds_of_their_own() -> None:
    """A maximum beside a sum is exact, and large numbers of one do not widen the other's bound."""
    text = """
    func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<f32>, tensor<f32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0:2 = "stablehlo.reduce"(%a, %b, %zero, %zero) <{dimensions = array<i64: 0>}> ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>, %w: tensor<f32>):
        %1 = stablehlo.add %x, %z : tensor<f32>
        %2 = stablehlo.maximum %y, %w : tensor<f32>
        stablehlo.return %1, %2 : tensor<f32>, tensor<f32>
      }) : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
      return %0#0, %0#1 : tensor<f32>, tensor<f32>
    }"""
    values = np.linspace(1, 2, 8, dtype=np.float32)
    total, greatest = accuracy(text, [values, 1e9 * values]).results
    assert 0 < total.ulps < 40
    assert not greatest.bound


def test_products_that_cannot_overflow_have_a_bound() -> None:
    text = """
    func.func @main(%a: tensor<3xf16>) -> tensor<f16> {
      %one = stablehlo.constant dense<1.0> : tensor<f16>
      %r = stablehlo.reduce(%a init: %one) applies stablehlo.multiply across dimensions = [0]
        : (tensor<3xf16>, tensor<f16>) -> tensor<f16>
      return %r : tensor<f16>
    }"""
    assert accuracy(text, [np.array([250, 0.5, 250], np.float16)]).results[0].ulps < 20
    assert np.isinf(accuracy(text, [np.array([300, 0.5, 300], np.float16)]).results[0].bound)


def test_substitution_has_a_bound_of_few_units() -> None:
    text = """
    func.func @main(%a: tensor<2x2xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false,
        transpose_a = #stablehlo<transpose TRANSPOSE>}>
        : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      return %0 : tensor<2x3xf32>
    }"""
    matrix = np.array([[1, 9], [-0.1, 2]], np.float32)
    (result,) = accuracy(text, [matrix, np.ones((2, 3), np.float32)]).results
    assert (result.bound > 0).all() and (result.ulps < 40).all()


def test_too_few_draws_are_an_error() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        accuracy(program("%r = stablehlo.add %a, %b : T"), vectors(), draws=1)


def test_loops_are_followed() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %n = stablehlo.constant dense<10> : tensor<i32>
      %i = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %0:2 = stablehlo.while(%k = %i, %v = %x) : tensor<i32>, tensor<4xf32>
       cond {
        %c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %j = stablehlo.add %k, %one : tensor<i32>
        %w = stablehlo.sine %v : tensor<4xf32>
        %u = stablehlo.divide %w, %v : tensor<4xf32>
        stablehlo.return %j, %u : tensor<i32>, tensor<4xf32>
      }
      return %0#1 : tensor<4xf32>
    }"""
    (result,) = accuracy(text, [np.array([0.5, 1, 2, 3], np.float32)]).results
    assert (result.ulps > 0.5).all() and (result.ulps < 200).all()


def test_bounds_of_tiny_numbers_do_not_underflow() -> None:
    """The square of an error of 1e-190 is zero in f64, and so is half of the least number."""
    least = np.array(5e-324)
    assert root_mean_square([least, 0 * least, 0 * least, 0 * least, 0 * least], 6.0) > 0
    text = program("%0 = stablehlo.tanh %a : T\n%r = stablehlo.tan %0 : T", "f64")
    tiny = 1e-178 * (1 + np.arange(16) / 16)
    computed = accuracy(text, [tiny, tiny])
    assert (computed.results[0].ulps > 1).all()


SUM = """
func.func @main(%a: tensor<1x3xf32>, %b: tensor<3xf32>) -> tensor<1xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<1x3xf32>, tensor<3xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
"""


@pytest.mark.parametrize(
    ("b", "others", "wrong"),
    [
        # A partial sum may overflow: it depends on the order whether the result does.
        ([3e38, 3e38, -3e38], [np.inf, np.nan, 3e38], []),
        ([np.inf, 1, 2], [np.inf], [np.nan, 3]),
        ([np.nan, 1, 2], [np.nan], [np.inf, 3]),
        ([np.inf, 3e38, 3e38], [np.inf], []),
        ([1, 2, 4], [7], [np.nan, np.inf, 8]),
    ],
)
def test_sums_that_overflow_may_be_any_number(
    b: list[float], others: list[float], wrong: list[float]
) -> None:
    computed = accuracy(SUM, [np.ones((1, 3), np.float32), np.array(b, np.float32)])
    for value in others:
        assert not computed.violations([np.array([value], np.float32)])
    for value in wrong:
        assert computed.violations([np.array([value], np.float32)])


@pytest.mark.filterwarnings("error")
def test_departures_of_huge_distances_are_told_without_warnings() -> None:
    text = program("%r = stablehlo.add %a, %b : T", "f64")
    tiny = np.full(16, 5e-324)
    (violation,) = accuracy(text, [tiny, tiny]).violations([np.full(16, 1.7e308)])
    assert "inf ulp apart" in violation.reason


def test_a_finite_component_of_a_transform_has_a_bound_beside_infinities() -> None:
    text = """
    func.func @main(%a: tensor<2x4xcomplex<f64>>) -> tensor<2x4xcomplex<f64>> {
      %r = stablehlo.fft %a, type = FFT, length = [4] : (tensor<2x4xcomplex<f64>>) -> tensor<2x4xcomplex<f64>>
      return %r : tensor<2x4xcomplex<f64>>
    }
    """
    values = np.arange(8).reshape(2, 4) + 0.1j
    values[1, 0] = np.inf
    bound = accuracy(text, [values]).results[0].bound
    assert (bound[0] > 0).all()
    assert (bound[0] < 1e-13).all()


def test_inverse_transforms_may_divide_after_sums_that_overflow() -> None:
    text = """
    func.func @main(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
      %r = stablehlo.fft %a, type = IFFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
      return %r : tensor<4xcomplex<f32>>
    }
    """
    for size, is_open in ((7e37, True), (1e37, False)):
        bound = accuracy(text, [np.full(4, size, np.complex64)]).results[0].bound
        assert np.isinf(bound[0]) == is_open


def test_angles_of_complex_numbers_are_open_where_their_squares_underflow() -> None:
    text = program("%r = stablehlo.atan2 %a, %b : T", "complex<f32>", size=3)
    y, x = np.array([1e-30, 1e25, 1], np.complex64), np.array([2e-30, 1e25, 2], np.complex64)
    bound = accuracy(text, [y, x]).results[0].bound
    np.testing.assert_array_equal(np.isinf(bound), [True, True, False])


def test_terms_of_zeta_may_underflow() -> None:
    text = program('%r = "chlo.zeta"(%a, %b) : (T, T) -> T', size=2)
    computed = accuracy(text, [np.float32([31.5, 3]), np.float32([14.5, 2])])
    bound = computed.results[0].bound
    least = float(np.finfo(np.float32).smallest_normal)
    assert bound[0] > 8 * least
    assert computed.results[0].ulps[1] < 65


@pytest.mark.parametrize(("n", "least", "most"), [(4, 2e-5, 2e-2), (2, 1e-6, 1e-4)])
def test_terms_of_polygamma_cancel_at_negative_numbers(n: int, least: float, most: float) -> None:
    """At -2.5 the terms of the fourth derivative add up to 1500, and at 2.5 to less than 1."""
    text = program('%r = "chlo.polygamma"(%a, %b) : (T, T) -> T', size=2)
    bound = accuracy(text, [np.float32([n, n]), np.float32([-2.5, 2.5])]).results[0].bound
    assert least < bound[0] < most
    assert bound[1] < 1e-5


def test_digits_that_a_body_rounds_away_may_be_kept() -> None:
    """The body of a map multiplies in bf16: a compiler may keep the product's digits for the conversion."""
    text = """
    func.func @main(%a: tensor<2xbf16>) -> tensor<2xf32> {
      %r = "stablehlo.map"(%a) <{dimensions = array<i64: 0>}> ({
      ^bb0(%x: tensor<bf16>):
        %0 = stablehlo.constant dense<3.96875> : tensor<bf16>
        %1 = stablehlo.multiply %x, %0 : tensor<bf16>
        %2 = stablehlo.convert %1 : (tensor<bf16>) -> tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) : (tensor<2xbf16>) -> tensor<2xf32>
      return %r : tensor<2xf32>
    }
    """
    inputs = [np.array([2.8125, 2]).astype(ml_dtypes.bfloat16)]
    (ours,) = nimblehlo.execute(text, inputs)
    exact = inputs[0].astype(np.float32) * np.float32(3.96875)
    assert ours[0] != exact[0] and ours[1] == exact[1]
    computed = accuracy(text, inputs)
    assert not computed.violations([exact])
    assert computed.violations([exact + np.float32([0, 0.03])])
    assert computed.violations([exact + np.float32([0.1, 0])])


def test_what_a_body_computes_in_a_type_without_infinities_is_open() -> None:
    text = """
    func.func @main(%a: tensor<2xf8E8M0FNU>) -> tensor<2xf32> {
      %r = "stablehlo.map"(%a) <{dimensions = array<i64: 0>}> ({
      ^bb0(%x: tensor<f8E8M0FNU>):
        %0 = stablehlo.constant dense<1.0> : tensor<f8E8M0FNU>
        %1 = stablehlo.subtract %x, %0 : tensor<f8E8M0FNU>
        %2 = stablehlo.convert %1 : (tensor<f8E8M0FNU>) -> tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) : (tensor<2xf8E8M0FNU>) -> tensor<2xf32>
      return %r : tensor<2xf32>
    }
    """
    computed = accuracy(text, [np.array([2, 1]).astype(ml_dtypes.float8_e8m0fnu)])
    assert not computed.violations([np.float32([1, 0])])
    assert computed.violations([np.float32([2, 0])])
