"""Sums of the magnitudes of the terms that an operation adds, in f64."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...api import Executable, compile
from ...options import Options
from ...program.ir import Module, Operation, captured_values, operation_module, set_types
from ...program.ops.contraction.convolution import Convolution
from ...program.ops.fft.fft import Fft
from ...program.ops.framework.declaration import declaration_of
from ...types import COMPLEX, ELEMENT_TYPES, Array, TensorType, Type
from .operation_kinds import base_name
from .ulps import is_inexact, wide_dtype
from .wide_types import wide_type, widened

_F64 = ELEMENT_TYPES["f64"]


def magnitude_sums(
    operation: Operation, operands: Sequence[Array], results: Sequence[Array]
) -> list[Array | None]:
    """For each result the sums of the magnitudes of its terms; None for integers.

    Args:
        operation: a product, a convolution, a transform, or a reduction whose body adds or multiplies.
        operands, results: its arrays.
    """
    magnitudes = _magnitudes(operands)
    if declaration_of(operation) is Fft:
        return [_transform_sums(operation, magnitudes[0], result) for result in results]
    if base_name(operation) in ("convolution", "dynamic_conv"):
        magnitudes[1] = _window_factors(operation, operands, magnitudes[1])
    if captured_values(operation.regions):
        total = sum(float(np.sum(one)) for one in magnitudes if is_inexact(one.dtype))
        return [np.full(result.shape, total) if is_inexact(result.dtype) else None for result in results]
    return _evaluated(operation, magnitudes, results)


def term_counts(operation: Operation, operands: Sequence[Array], results: Sequence[Array]) -> list[Array]:
    """For each result the number of terms of its elements, counted for each operand of a body with several.

    Args:
        operation, operands, results: as `magnitude_sums` has them.
    """
    if declaration_of(operation) is Fft:
        length = float(max(operands[0].size, results[0].size))
        return [np.full(result.shape, length) for result in results]
    if captured_values(operation.regions):
        count = float(max((operand.size for operand in operands), default=1)) + 1
        return [np.full(result.shape, count) for result in results]
    ones = [np.ones(one.shape) if is_inexact(one.dtype) else one for one in operands]
    counts = _evaluated(operation, ones, results)
    return [
        np.ones(result.shape) if count is None else count + 1
        for count, result in zip(counts, results, strict=True)
    ]


def largest_products(
    operation: Operation, operands: Sequence[Array], results: Sequence[Array]
) -> list[Array | None]:
    """For each result the largest modulus that a product of some of its factors has; None for integers.

    Args:
        operation: a reduction whose body multiplies.
        operands, results: its arrays.
    """
    if captured_values(operation.regions):
        return [np.full(one.shape, np.inf) if is_inexact(one.dtype) else None for one in results]
    factors = [np.maximum(one, 1.0) if is_inexact(one.dtype) else one for one in _magnitudes(operands)]
    return _evaluated(operation, factors, results)


def smallest_products(
    operation: Operation, operands: Sequence[Array], results: Sequence[Array]
) -> list[Array | None]:
    """For each result the smallest modulus of a product of some of its nonzero factors; None for integers."""
    if captured_values(operation.regions):
        return [np.zeros(one.shape) if is_inexact(one.dtype) else None for one in results]
    factors = [
        np.where(one > 0, np.minimum(one, 1.0), 1.0) if is_inexact(one.dtype) else one
        for one in _magnitudes(operands)
    ]
    return _evaluated(operation, factors, results)


def _magnitudes(operands: Sequence[Array]) -> list[Array]:
    return [np.abs(_wide(one)) if is_inexact(one.dtype) else one for one in operands]


def _evaluated(
    operation: Operation, operands: Sequence[Array], results: Sequence[Array]
) -> list[Array | None]:
    """The moduli of the operation's results on real numbers in f64; None for results other than floats."""
    return [
        np.abs(one).astype(np.float64) if is_inexact(result.dtype) else None
        for one, result in zip(wide_results(operation, operands), results, strict=True)
    ]


def wide_results(operation: Operation, operands: Sequence[Array]) -> list[Array]:
    """The results of an operation on real numbers, without captured values, in f64."""
    executable = executable_of(operation)
    types: Any = executable.input_types
    inputs = [one.astype(type.dtype) for one, type in zip(operands, types, strict=True)]
    return [np.asarray(one) for one in executable(*inputs)]


def _window_factors(operation: Operation, operands: Sequence[Array], factors: Array) -> Array:
    """The magnitudes of rhs, or those that bound the terms of Winograd's algorithm where it may be used.

    Of its terms, each element of a window is multiplied with each factor of the window up to four times.
    """
    view = Convolution(operation)
    if not view.uses_winograd(*operands):
        return factors
    sums = factors.sum(axis=tuple(view.kernel_spatial_dimensions), keepdims=True)
    return np.broadcast_to(4 * sums, factors.shape).copy()


def _wide(array: Array) -> Array:
    return array.astype(wide_dtype(array.dtype))


def _transform_sums(operation: Operation, magnitudes: Array, result: Array) -> Array:
    """An element of a transform is a sum over the transformed dimensions, with factors of modulus 1."""
    lengths: Any = operation.attributes["fft_length"]
    kind = str(operation.attributes["fft_type"])
    rank = len(lengths.values)
    sums = magnitudes.sum(axis=tuple(range(-rank, 0)), keepdims=True)
    if "IRFFT" in kind:
        sums = 2 * sums
    return np.broadcast_to(sums / inverse_length(operation), result.shape)


def inverse_length(operation: Operation) -> int:
    """The divisor of an inverse transform's sums, applied before or after adding; 1 for other operations."""
    kind = str(operation.attributes.get("fft_type", ""))
    if "IFFT" not in kind and "IRFFT" not in kind:
        return 1
    lengths: Any = operation.attributes["fft_length"]
    return max(int(np.prod(lengths.values)), 1)


@lru_cache(maxsize=256)
def executable_of(operation: Operation) -> Executable:
    """The operation alone on f64, complex numbers by their moduli."""
    return compile(_real(widened(operation_module(operation))), options=Options(compile="never"))


def _real(module: Module) -> Module:
    """A program of f64 in place of complex<f64>."""
    for function in module.functions.values():
        assert function.body is not None
        set_types(function.body, _real_type)
        function.type = function.body.type
    return module


def _real_type(type: Type) -> Type:
    if isinstance(type, TensorType) and type.category == COMPLEX:
        return type.with_element_type(_F64)
    return wide_type(type)
