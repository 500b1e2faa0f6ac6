"""PyTorch's affine quantization: integers with a scale and a zero point, as exported programs state them.

A quantized tensor is a tensor of integers. ``quantized_decomposed`` converts to and from it; the operations
of ``aten`` quantize and dequantize, as training with quantization does.

Source: PyTorch, ``torch.ao.quantization.fx._decomposed`` and the kernels of ``fake_quantize``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ....ir import Value
from ..emitter import F32, F64, I64, element_type, is_float, positive, shape_of
from ..table import NodeEmitter, Operand, converts, unsupported

_ZERO_POINTS: Final = {"torch.uint8": 128, "torch.quint8": 128}
"""The zero points of symmetric quantization to unsigned types; those of signed types are 0."""


def _scalar(e: NodeEmitter, operand: Operand, like: Value) -> Value:
    """A number, or a tensor of one element, as what PyTorch combines with a tensor: in the tensor's type."""
    if isinstance(operand, Value):
        operand = e.reshape(operand, ())
    return e.as_value(operand, element_type(like), shape_of(like))


def _inverse(e: NodeEmitter, scale: Operand) -> Operand:
    """1 / scale, in double precision."""
    if not isinstance(scale, Value):
        if not scale:
            raise unsupported("divides by a scale of 0, as PyTorch refuses to")
        return 1 / scale
    wide = e.convert(e.reshape(scale, ()), F64)
    return e.divide(e.like(wide, 1), wide)


def _clamped(e: NodeEmitter, x: Value, low: Operand, high: Operand) -> Value:
    """Rounded values in a range, in the element type of the node's result."""
    bounded = e.binary("stablehlo.maximum", x, _scalar(e, low, x))
    return e.convert(e.binary("stablehlo.minimum", bounded, _scalar(e, high, x)), e.element)


def _names(name: str) -> Sequence[str]:
    return [f"quantized_decomposed.{name}.{overload}" for overload in ("default", "tensor", "tensor2")]


@converts(*_names("quantize_per_tensor"))
def quantize_per_tensor(
    e: NodeEmitter,
    x: Value,
    scale: Operand,
    zero_point: Operand,
    quant_min: Operand,
    quant_max: Operand,
    dtype: object,
) -> Value:
    x = e.convert(x, F32)
    scaled = e.multiply(x, _scalar(e, _inverse(e, scale), x))
    rounded = e.unary("stablehlo.round_nearest_even", scaled)
    return _clamped(e, e.add(rounded, _scalar(e, zero_point, x)), quant_min, quant_max)


@converts(*_names("dequantize_per_tensor"))
def dequantize_per_tensor(
    e: NodeEmitter, x: Value, scale: Operand, zero_point: Operand, *args: object, **options: object
) -> Value:
    x = e.convert(x, e.element)
    return e.multiply(e.subtract(x, _scalar(e, zero_point, x)), _scalar(e, scale, x))


def _along(e: NodeEmitter, x: Value, like: Value, axis: int) -> Value:
    """One value for each index of a dimension, broadcast to a shape."""
    return e.broadcast_in_dim(x, shape_of(like), [positive(axis, len(shape_of(like)))])


@converts("quantized_decomposed.quantize_per_channel.default")
def quantize_per_channel(
    e: NodeEmitter,
    x: Value,
    scales: Value,
    zero_points: Value,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: object,
) -> Value:
    x = e.convert(e.convert(x, F32), element_type(scales))
    inverse = e.divide(e.like(scales, 1), scales)
    scaled = e.multiply(x, _along(e, inverse, x, axis))
    rounded = e.unary("stablehlo.round_nearest_even", scaled)
    zeros = e.convert(_along(e, zero_points, x, axis), element_type(x))
    return _clamped(e, e.add(rounded, zeros), quant_min, quant_max)


@converts("quantized_decomposed.dequantize_per_channel.default")
def dequantize_per_channel(
    e: NodeEmitter,
    x: Value,
    scales: Value,
    zero_points: Value | None,
    axis: int,
    *args: object,
    **options: object,
) -> Value:
    if zero_points is not None:
        type = element_type(scales) if is_float(element_type(zero_points)) else I64
        x = e.subtract(e.convert(x, type), e.convert(_along(e, zero_points, x, axis), type))
    scaled = e.multiply(e.convert(x, element_type(scales)), _along(e, scales, x, axis))
    return e.convert(scaled, e.element)


def _range(e: NodeEmitter, x: Value) -> tuple[Value, Value]:
    """The smallest and the largest element, or 0 where all elements are on one side of it."""
    every = range(len(shape_of(x)))
    zero = e.full(0, (), element_type(x))
    low, high = (e.reduce(f"stablehlo.{name}", x, every) for name in ("minimum", "maximum"))
    return e.binary("stablehlo.minimum", low, zero), e.binary("stablehlo.maximum", high, zero)


def _scale(e: NodeEmitter, width: Value, steps: float, eps: float) -> Value:
    """The width of a range divided into steps, at least `eps`."""
    scale = e.convert(e.divide(width, e.like(width, steps)), F32)
    return e.binary("stablehlo.maximum", scale, e.like(scale, eps))


def _parameters(e: NodeEmitter, *parameters: Value) -> list[Value]:
    """A scale and a zero point as the node's results: tensors of one element."""
    converted = [e.convert(value, e.element_of(number)) for number, value in enumerate(parameters)]
    return e.reshaped(converted)


@converts("quantized_decomposed.choose_qparams.tensor")
def choose_qparams(
    e: NodeEmitter, x: Value, quant_min: int, quant_max: int, eps: float, dtype: object
) -> list[Value]:
    """The scale and the zero point by which the range of the elements becomes that of the integers."""
    low, high = _range(e, x)
    scale = _scale(e, e.subtract(high, low), float(quant_max - quant_min), eps)
    steps = e.unary("stablehlo.round_nearest_even", e.divide(e.convert(low, F32), scale))
    zero_point = e.subtract(e.full(quant_min, (), I64), e.convert(steps, I64))
    bounds = [e.full(bound, (), I64) for bound in (quant_min, quant_max)]
    clamped = e.one("stablehlo.clamp", [bounds[0], zero_point, bounds[1]], (), I64)
    return _parameters(e, scale, clamped)


@converts("quantized_decomposed.choose_qparams_symmetric.tensor")
def choose_qparams_symmetric(
    e: NodeEmitter, x: Value, quant_min: int, quant_max: int, eps: float, dtype: Any
) -> list[Value]:
    """The scale by which the largest magnitude becomes half the range of the integers, and the zero point."""
    low, high = _range(e, x)
    largest = e.binary("stablehlo.maximum", e.unary("stablehlo.negate", low), high)
    scale = _scale(e, largest, (quant_max - quant_min) / 2, eps)
    return _parameters(e, scale, e.full(_ZERO_POINTS.get(str(dtype), 0), (), I64))


def _fake_quantized(
    e: NodeEmitter, x: Value, scale: Value, zero_point: Value, quant_min: int, quant_max: int
) -> list[Value]:
    """Values as quantization rounds them, and which are within its range.

    Args:
        e: appends the operations.
        x: the values, in f32.
        scale, zero_point: in the shape and the element type of `x`.
        quant_min, quant_max: the range of the integers.
    """
    rounded = e.unary("stablehlo.round_nearest_even", e.multiply(x, e.divide(e.like(x, 1), scale)))
    steps = e.add(rounded, zero_point)
    low, high = e.like(x, quant_min), e.like(x, quant_max)
    # PyTorch clamps by functions for which NaN is no number.
    numbers = e.select(e.is_nan(steps), low, steps)
    bounded = e.binary("stablehlo.minimum", e.binary("stablehlo.maximum", numbers, low), high)
    within = e.both(e.compare("GE", steps, low), e.compare("LE", steps, high))
    return [e.convert(e.multiply(e.subtract(bounded, zero_point), scale), e.element), within]


@converts("aten.fake_quantize_per_tensor_affine_cachemask.default")
def fake_quantize_per_tensor(
    e: NodeEmitter, x: Value, scale: Operand, zero_point: Operand, quant_min: int, quant_max: int
) -> list[Value]:
    x = e.convert(x, F32)
    return _fake_quantized(e, x, _scalar(e, scale, x), _scalar(e, zero_point, x), quant_min, quant_max)


@converts("aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default")
def fake_quantize_per_tensor_where_enabled(
    e: NodeEmitter,
    x: Value,
    scale: Value,
    zero_point: Value,
    fake_quant_enabled: Value,
    quant_min: int,
    quant_max: int,
) -> list[Value]:
    """The same, or the values themselves where a tensor of one element is 0."""
    values, within = fake_quantize_per_tensor(e, x, scale, zero_point, quant_min, quant_max)
    flag = e.reshape(fake_quant_enabled, ())
    enabled = e.broadcast(e.compare("NE", flag, e.like(flag, 0)), shape_of(x))
    return [e.select(enabled, values, x), e.either(within, e.negated(enabled))]


@converts("aten.fake_quantize_per_channel_affine_cachemask.default")
def fake_quantize_per_channel(
    e: NodeEmitter, x: Value, scale: Value, zero_point: Value, axis: int, quant_min: int, quant_max: int
) -> list[Value]:
    if is_float(element_type(zero_point)):
        raise unsupported("quantizes with zero points that are no integers")
    x = e.convert(x, F32)
    along = [e.convert(_along(e, value, x, axis), F32) for value in (scale, zero_point)]
    return _fake_quantized(e, x, along[0], along[1], quant_min, quant_max)


@converts("quantized_decomposed.convert_element_type.no_fuse")
def convert_element_type(e: NodeEmitter, x: Value, dtype: object) -> Value:
    return e.convert(x, e.element)
