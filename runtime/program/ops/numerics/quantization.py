"""Conversions between quantized values and the floating-point values that they express.

Source: specification, section "Quantization computations".
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....types import AnyElementType, Array, DType, ElementType, QuantizedType, TensorType
from ..framework.rules import expressed_type
from . import element_types
from .element_types import ArrayFunction


def dequantizer(type: TensorType) -> ArrayFunction:
    """The function from stored values of `type` to values of its expressed type.

    (storage - zero_point) * scale, where the difference does not wrap. Types that are not
    quantized keep their values.
    """
    element_type = type.element_type
    if not isinstance(element_type, QuantizedType):
        return lambda array: array
    to_integers = element_types.carrier(element_type.storage)
    to_expressed = _cast(element_type.expressed)
    zero_points = _parameters(type, element_type.zero_points, np.dtype(np.int64))
    scales = _parameters(type, element_type.scales, element_type.expressed.dtype)
    return lambda array: np.multiply(
        to_expressed(array.astype(to_integers).astype(np.int64) - zero_points), scales
    )


def quantizer(type: TensorType) -> ArrayFunction:
    """The function from values of the expressed type of `type` to stored values.

    round_nearest_even(clamp(storage_min, value / scale + zero_point, storage_max)), where NaN becomes 0.
    Types that are not quantized keep their values.
    """
    element_type = type.element_type
    if not isinstance(element_type, QuantizedType):
        return lambda array: array
    expressed = element_type.expressed
    scales = _parameters(type, element_type.scales, expressed.dtype)
    zero_points = _parameters(type, element_type.zero_points, expressed.dtype)
    low, high = (
        _as_expressed(bound, expressed.dtype)
        for bound in (element_type.storage_min, element_type.storage_max)
    )
    carrier = element_types.carrier(expressed)
    to_storage = element_types.converter(expressed, element_type.storage)

    def quantize(array: Array) -> Any:
        scaled = np.add(np.divide(array, scales), zero_points).astype(carrier)
        clamped = np.minimum(np.maximum(scaled, low.astype(carrier)), high.astype(carrier))
        return to_storage(np.rint(clamped).astype(expressed.dtype))

    return quantize


def with_lookup_table(type: TensorType, function: ArrayFunction) -> ArrayFunction:
    """The same function of stored values of `type`, by table lookup for types with few values.

    Args:
        type: of the stored values; tables are for types of a byte that are quantized per tensor.
        function: of arrays of any shape, element by element.
    """
    element_type = type.element_type
    is_short = isinstance(element_type, QuantizedType) and element_type.storage.dtype.itemsize == 1
    if not is_short or element_type.quantization_dimension is not None:
        return function
    codes = np.arange(256, dtype=np.uint8).view(type.dtype)
    table = functools.cache(lambda: np.asarray(function(codes)))
    return lambda array: (
        function(array) if array.size < _MIN_TABLE_ELEMENTS else np.take(table(), array.view(np.uint8))
    )


_MIN_TABLE_ELEMENTS = 1024
"""Minimum number of elements for which a table lookup is faster."""


def conversion(source: AnyElementType, target: AnyElementType) -> ArrayFunction:
    """The function from stored values of one element type to those of another, neither quantized per axis.

    `uniform_quantize` or `uniform_dequantize` where one of them is quantized, else `convert`; a value goes by
    way of the expressed type where that is another float type. Source: the RFC on quantization of reductions,
    the table of implicit type conversions.
    """
    if source == target:
        return lambda array: array
    enter = dequantizer(TensorType((), source))
    leave = quantizer(TensorType((), target))
    plain = element_types.converter(expressed_type(source), expressed_type(target))
    return lambda array: leave(plain(enter(array)))


def _cast(element_type: ElementType) -> ArrayFunction:
    """Convert int64 differences to a floating-point type."""
    cast = element_types.rounding(element_types.FLOAT64, element_type)
    return lambda array: cast(array.astype(np.float64))


def _as_expressed(values: object, dtype: DType) -> Array:
    """Numbers in the expressed type, where they may be infinite."""
    with np.errstate(over="ignore"):
        return np.array(values).astype(dtype)


def _parameters(type: TensorType, values: Sequence[object], dtype: DType) -> Array:
    """Scales or zero points, in a shape that broadcasts along the quantization dimension."""
    element_type = type.element_type
    assert isinstance(element_type, QuantizedType)
    array = _as_expressed(values, dtype)
    axis = element_type.quantization_dimension
    if axis is None:
        return array.reshape(())
    return array.reshape([-1 if dimension == axis else 1 for dimension in range(type.rank)])
