"""Conversions of PyTorch's quantization, called without PyTorch, against the formulas written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nimblehlo.errors import UnsupportedError
from nimblehlo.types import Array
from tests.program.frontend.torch.calling import converted

X = (np.random.default_rng(5).normal(size=(3, 4)) * 3).astype(np.float32)
RANGE = [-8, 7]
SCALES, ZEROS = np.float32([0.5, 0.25, 1, 2]), np.array([1, -2, 0, 3])


def quantized(x: Array, scale: Any, zero_point: Any, low: int = -8, high: int = 7) -> Array:
    return np.clip(np.round(x * (np.float32(1) / np.float32(scale))) + zero_point, low, high).astype(np.int8)


@pytest.mark.parametrize("overload", ["default", "tensor", "tensor2"])
def test_one_scale_for_a_tensor(overload: str) -> None:
    scale, zero_point, bounds = 0.3, 2, list[Any](RANGE)
    parameters: list[Any] = [scale, zero_point]
    if overload != "default":
        parameters = [np.array([scale]), np.array([zero_point])]
    if overload == "tensor2":
        bounds = [np.array(bound) for bound in RANGE]
    integers = quantized(X, scale, zero_point)
    assert integers.min() == -8 and integers.max() == 7, "both limits take part"
    name = f"quantized_decomposed.quantize_per_tensor.{overload}"
    (result,) = converted(name, [X, *parameters, *bounds, "torch.int8"], [integers])
    np.testing.assert_array_equal(result, integers)
    expected = (integers.astype(np.float32) - zero_point) * np.float32(scale)
    name = f"quantized_decomposed.dequantize_per_tensor.{overload}"
    (result,) = converted(name, [integers, *parameters, *bounds, "torch.int8"], [expected])
    np.testing.assert_array_equal(result, expected)


def test_a_scale_of_zero_is_refused() -> None:
    integers = quantized(X, 1, 0)
    with pytest.raises(UnsupportedError, match="scale of 0"):
        converted(
            "quantized_decomposed.quantize_per_tensor.default", [X, 0.0, 0, *RANGE, "torch.int8"], [integers]
        )


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("type", [np.float32, np.float64])
def test_a_scale_for_each_channel(axis: int, type: Any) -> None:
    x, shape = (X.T, (4, 1)) if axis == 0 else (X, (1, 4))
    integers = quantized(x, SCALES.reshape(shape), ZEROS.reshape(shape))
    parameters = [SCALES.astype(type), ZEROS, axis, *RANGE, "torch.int8"]
    (result,) = converted("quantized_decomposed.quantize_per_channel.default", [x, *parameters], [integers])
    np.testing.assert_array_equal(result, integers)
    expected = ((integers - ZEROS.reshape(shape)) * SCALES.reshape(shape)).astype(np.float32)
    (result,) = converted(
        "quantized_decomposed.dequantize_per_channel.default", [integers, *parameters], [expected]
    )
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("x", [X, abs(X) + 1, np.zeros((2, 2), np.float32)])
def test_the_scale_follows_from_the_range(x: Array) -> None:
    low, high = min(x.min(), np.float32(0)), max(x.max(), np.float32(0))
    scale = max((high - low) / np.float32(255), np.float32(1e-3))
    zero_point = np.clip(-128 - np.round(low / scale), -128, 127)
    expected = [np.array([scale], np.float64), np.array([zero_point], np.int64)]
    arguments = [x, -128, 127, 1e-3]
    results = converted("quantized_decomposed.choose_qparams.tensor", [*arguments, "torch.int8"], expected)
    for actual, each in zip(results, expected, strict=True):
        np.testing.assert_array_equal(actual, each)
    scale = max(max(-low, high) / np.float32(127.5), np.float32(1e-3))
    for type, zero in (("torch.int8", 0), ("torch.uint8", 128)):
        expected = [np.array([scale], np.float64), np.array([zero])]
        name = "quantized_decomposed.choose_qparams_symmetric.tensor"
        for actual, each in zip(converted(name, [*arguments, type], expected), expected, strict=True):
            np.testing.assert_array_equal(actual, each)


def fake_quantized(x: Array, scale: Any, zero_point: Any) -> tuple[Array, Array]:
    steps = np.round(x * (np.float32(1) / scale)) + zero_point
    values = (np.clip(steps, *RANGE).astype(np.float32) - np.float32(zero_point)) * np.float32(scale)
    return values.astype(np.float32), (steps >= RANGE[0]) & (steps <= RANGE[1])


def test_training_sees_rounded_values_and_which_are_in_range() -> None:
    scale, zero_point = np.float32(0.3), 2
    expected = fake_quantized(X, scale, zero_point)
    assert 0 < expected[1].sum() < X.size
    name = "aten.fake_quantize_per_tensor_affine_cachemask.default"
    for actual, each in zip(
        converted(name, [X, float(scale), zero_point, *RANGE], expected), expected, strict=True
    ):
        np.testing.assert_array_equal(actual, each)
    name = "aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default"
    tensors = [np.array([scale]), np.array([zero_point], np.int32)]
    for enabled, results in ((1, expected), (0, (X, np.ones(X.shape, bool)))):
        arguments = [X, *tensors, np.array([enabled]), *RANGE]
        for actual, each in zip(converted(name, arguments, results), results, strict=True):
            np.testing.assert_array_equal(actual, each)


def test_training_sees_nan_as_the_lowest_value_and_out_of_range() -> None:
    x = np.float32([np.nan, np.inf, -np.inf, 1])
    arguments = [x, 0.5, 2, *RANGE]
    expected = [np.float32([-5, 2.5, -5, 1]), np.array([False, False, False, True])]
    name = "aten.fake_quantize_per_tensor_affine_cachemask.default"
    for actual, each in zip(converted(name, arguments, expected), expected, strict=True):
        np.testing.assert_array_equal(actual, each)


def test_training_with_a_scale_for_each_channel() -> None:
    expected = fake_quantized(X, SCALES, ZEROS)
    name = "aten.fake_quantize_per_channel_affine_cachemask.default"
    arguments = [X, SCALES, ZEROS.astype(np.int32), 1, *RANGE]
    for actual, each in zip(converted(name, arguments, expected), expected, strict=True):
        np.testing.assert_array_equal(actual, each)
    arguments[2] = ZEROS.astype(np.float32)
    with pytest.raises(UnsupportedError, match="zero points that are no integers"):
        converted(name, arguments, expected)
