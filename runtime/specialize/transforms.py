"""Rewrites of Fourier transforms."""

from __future__ import annotations

from ..ir import Operation, Value
from ..ops.attribute_kinds import I64
from ..ops.linalg import FFT_TYPE, Fft, FftType
from ..ops.numerics import real_type
from ..types import ElementType, TensorType
from .cutting import sliced
from .rewriting import Rewriter, defined_by, dimensions, tensor_type, viewed


def fft_of_real(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A transform of converted floats is made of the real one, as `fft` itself does for such values."""
    view = viewed(operation, Fft)
    convert = defined_by(operation.operands[0], "stablehlo.convert")
    if convert is None or view.fft_type != FftType.FFT or len(view.fft_length) != 1:
        return None
    (real,) = convert.operands
    result, source = tensor_type(operation.result), tensor_type(real)
    assert isinstance(result.element_type, ElementType)
    if real_type(result.element_type) is not source.element_type or not result.size:
        return None
    size = result.shape[-1]
    attributes = {**operation.attributes, "fft_type": FFT_TYPE.encode(FftType.RFFT)}
    half = rewriter.create(operation.name, [real], _resized(result, size // 2 + 1), attributes)
    count = (size - 1) // 2
    if not count:
        return half
    rest = _conjugates(half, count, rewriter)
    return rewriter.create(
        "stablehlo.concatenate", [half, rest], result, {"dimension": I64.encode(result.rank - 1)}
    )


def _conjugates(half: Value, count: int, rewriter: Rewriter) -> Value:
    """The conjugates of the last of `count` values behind the first one, down to the first of them."""
    type = _resized(tensor_type(half), count)
    last = type.rank - 1
    part = sliced(half, ([0] * last + [1], [*type.shape[:-1], count + 1], [1] * type.rank), rewriter)
    part = rewriter.create("stablehlo.reverse", [part], type, dimensions(dimensions=[last]))
    assert isinstance(type.element_type, ElementType)
    real = type.with_element_type(real_type(type.element_type))
    imaginary = rewriter.create("stablehlo.imag", [part], real)
    imaginary = rewriter.create("stablehlo.negate", [imaginary], real)
    parts = [rewriter.create("stablehlo.real", [part], real), imaginary]
    return rewriter.create("stablehlo.complex", parts, type)


def _resized(type: TensorType, size: int) -> TensorType:
    """The type with another last size."""
    return type.with_shape([*type.shape[:-1], size])
