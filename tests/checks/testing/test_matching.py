"""Results are compared without a tolerance that somebody chooses."""

import numpy as np
import pytest

import nimblehlo
from nimblehlo.checks.testing import assert_matches

PROGRAM = """
func.func @main(%a: tensor<64x64xf32>, %b: tensor<64xi32>) -> (tensor<64xf32>, tensor<64xi32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %a : tensor<64x64xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %2 = stablehlo.reverse %b, dims = [0] : tensor<64xi32>
  return %1, %2 : tensor<64xf32>, tensor<64xi32>
}
"""
INPUTS = [
    np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32),
    np.arange(64, dtype=np.int32),
]


def numpys_results() -> list[np.ndarray]:
    """Another implementation: NumPy adds in another order, and has other exponentials."""
    return [np.exp(INPUTS[0]).sum(axis=1), INPUTS[1][::-1].copy()]


def test_right_results_match() -> None:
    assert_matches(nimblehlo.execute(PROGRAM, INPUTS), PROGRAM, INPUTS)
    assert_matches(numpys_results(), PROGRAM, INPUTS)


def test_an_error_of_a_few_bounds_is_found() -> None:
    bound = nimblehlo.accuracy(PROGRAM, INPUTS).results[0].bound[7]
    results = numpys_results()
    results[0][7] += np.float32(4 * bound)
    with pytest.raises(AssertionError, match=r"result 0: .* at \[7\].*ulp apart where .* are allowed"):
        assert_matches(results, PROGRAM, INPUTS)


def test_integers_are_equal() -> None:
    results = numpys_results()
    results[1][3] += 1
    with pytest.raises(AssertionError, match=r"result 1: 61 instead of 60 at \[3\]"):
        assert_matches(results, PROGRAM, INPUTS)


@pytest.mark.parametrize(
    "results", [[], [np.zeros(64, np.float64), INPUTS[1]], [np.zeros(3, np.float32), INPUTS[1]]]
)
def test_number_type_and_shape_are_compared(results: list[np.ndarray]) -> None:
    with pytest.raises(AssertionError, match="instead of"):
        assert_matches(results, PROGRAM, INPUTS)
