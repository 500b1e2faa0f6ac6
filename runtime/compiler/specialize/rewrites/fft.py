"""Rewrites of Fourier transforms."""

from __future__ import annotations

from ....program.ir import Operation, Value, tensor_type
from ....program.ops.fft.fft import FFT_OF_REAL, Fft, FftType
from ....program.ops.numerics.element_types import real_type
from ....types import ElementType
from ..framework.rewriter import Rewriter, defined_by


def fft_of_real(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A transform of converted floats takes the floats: `fft` gives the same bits for both."""
    view = Fft.of(operation)
    convert = defined_by(operation.operands[0], "stablehlo.convert")
    if convert is None or view.fft_type != FftType.FFT or len(view.fft_length) != 1:
        return None
    (real,) = convert.operands
    result, source = tensor_type(operation.result), tensor_type(real)
    assert isinstance(result.element_type, ElementType)
    if real_type(result.element_type) is not source.element_type or not result.size:
        return None
    return rewriter.create(FFT_OF_REAL, [real], result)
