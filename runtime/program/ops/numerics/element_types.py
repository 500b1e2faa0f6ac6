"""The NumPy type in which each element type is computed (its carrier), conversions, and orders of values.

A computation has the semantics of its declared element type. It is done in a carrier, in which it is exact or
has additional digits, and is rounded once to the declared type. Integers wrap at their declared width.

Source: specification, sections "Types" and "convert".
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ....types import (
    BOOLEAN,
    COMPLEX,
    ELEMENT_TYPES,
    FLOAT,
    INTEGER,
    SIGNED,
    UNSIGNED,
    Array,
    DType,
    ElementType,
    storage_range,
)
from .broadcast_shapes import broadcast_shape

ArrayFunction = Callable[..., Any]

FLOAT32: Final = np.dtype(np.float32)
FLOAT64: Final = np.dtype(np.float64)
_SUB_BYTE: Final = {"i2": np.dtype(np.int8), "i4": np.dtype(np.int8)} | {
    "ui2": np.dtype(np.uint8),
    "ui4": np.dtype(np.uint8),
}
_EXACT: Final = frozenset({np.add, np.subtract, np.multiply})
_ROUNDED_ONCE: Final = _EXACT | {np.divide, np.negative, np.absolute}
"""Functions that ml_dtypes computes as a carrier would, with fewer passes: floats in f32, rounded once."""


_MIN_SCALE: Final = 2.0**-127
"""The smallest value of f8E8M0FNU."""

_BLOCK: Final = 1 << 14


def carrier(element_type: ElementType) -> DType:
    """The NumPy type in which arithmetic of `element_type` is done.

    Integers narrower than a byte have a byte, floats narrower than f32 have f32: it has more than twice their
    digits, so that sums, products, quotients and roots come out as if rounded once.
    """
    if element_type.category == FLOAT and element_type.width < 32:
        return FLOAT32
    return _SUB_BYTE.get(element_type.name, element_type.dtype)


def wide_carrier(element_type: ElementType) -> DType:
    """The NumPy type in which transcendental functions of `element_type` are computed.

    NumPy's f32 loops differ from machine to machine by up to 4 ulps; in f64, rounded once, they do not.
    """
    if element_type.category == FLOAT:
        return FLOAT64
    if element_type.category == COMPLEX:
        return np.dtype(np.complex128)
    return carrier(element_type)


def has_negative_zero(element_type: ElementType) -> bool:
    """Whether a floating-point type distinguishes -0 from +0."""
    bits = np.array(-0.0).astype(element_type.dtype).view(f"u{element_type.dtype.itemsize}")
    return int(bits) == 1 << (element_type.width - 1)


def real_type(element_type: ElementType) -> ElementType:
    """The type of a complex type's parts (``complex_element_type``); any other type itself."""
    if element_type.category == COMPLEX:
        return ELEMENT_TYPES[f"f{element_type.width // 2}"]
    return element_type


def complex_type(element_type: ElementType) -> ElementType:
    """The complex type with components of `element_type`; KeyError if there is none."""
    return ELEMENT_TYPES[f"complex<{element_type}>"]


def through_carrier(
    function: ArrayFunction, element_type: ElementType, result_type: ElementType, dtype: DType
) -> ArrayFunction:
    """`function`, which computes on arrays of `dtype`, as a function from `element_type` to `result_type`.

    If no array needs a cast, the result is `function` itself.
    """
    native = {FLOAT: _ROUNDED_ONCE, SIGNED: _EXACT, UNSIGNED: _EXACT}.get(element_type.category, frozenset())
    if _has_own_cast(element_type):
        native = _EXACT
    if function in native and result_type is element_type:
        return function
    computed_dtype = _computed_dtype(dtype, element_type, result_type)
    if _has_own_cast(result_type):
        cast = _cast(result_type)

        def compute(*operands: Array) -> Any:
            # Via f32, as ml_dtypes does for the other types.
            return cast(function(*[operand.astype(dtype) for operand in operands]).astype(FLOAT32))

        return compute
    narrow = None if computed_dtype == result_type.dtype else result_type.dtype
    if dtype == element_type.dtype:
        return function if narrow is None else lambda *operands: function(*operands).astype(narrow)
    if narrow is None:
        return lambda *operands: function(*[operand.astype(dtype) for operand in operands])
    if isinstance(function, np.ufunc) and result_type is element_type and dtype.itemsize >= 8:
        return _buffered(function, element_type.dtype, dtype)
    return _blockwise(function, narrow, dtype)


def _blockwise(function: ArrayFunction, narrow: DType, dtype: DType) -> ArrayFunction:
    """`function` computed in `dtype`, in blocks that stay in the cache where arrays are large."""

    def compute(*operands: Array) -> Any:
        shape = operands[0].shape
        if operands[0].size <= _BLOCK or any(operand.shape != shape for operand in operands):
            return function(*[operand.astype(dtype) for operand in operands]).astype(narrow)
        flat = [operand.reshape(-1) for operand in operands]
        result = np.empty(flat[0].shape, narrow)
        for start in range(0, result.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            result[block] = function(*[operand[block].astype(dtype) for operand in flat])
        return result.reshape(shape)

    return compute


def _buffered(function: np.ufunc, narrow: DType, dtype: DType) -> ArrayFunction:
    """`function` computed in `dtype` block by block, so that no array of that type has all elements."""
    if function.nin == 1:
        return lambda operand: function(
            operand, np.empty(operand.shape, narrow), dtype=dtype, casting="unsafe"
        )
    return lambda *operands: function(
        *operands, np.empty(broadcast_shape(*operands), narrow), dtype=dtype, casting="unsafe"
    )


def _computed_dtype(
    dtype: DType, element_type: ElementType, result_type: ElementType
) -> DType:
    """The NumPy type of the results of a function on arrays of `dtype`."""
    if result_type.category == BOOLEAN:
        return np.dtype(np.bool_)
    if element_type.category == COMPLEX and result_type.category == FLOAT:
        return np.dtype(f"f{dtype.itemsize // 2}")
    return dtype


def rounding(dtype: DType, target: ElementType) -> ArrayFunction:
    """The cast of arrays of `dtype` to `target`, to the nearest value, ties to even; integers wrap."""
    cast = _cast(target)
    if dtype == FLOAT64 and target.category == FLOAT and target.width < 32 and target.name != "f16":
        # ml_dtypes converts f64 via f32; rounding to odd first keeps f32 values from becoming ties.
        return lambda array: cast(_to_odd(array))
    return cast


def _has_own_cast(target: ElementType) -> bool:
    """Whether `_cast` to a floating-point type differs from that of ml_dtypes."""
    return target.category == FLOAT and (target.width < 8 or target.name == "f8E8M0FNU")


def _cast(target: ElementType) -> ArrayFunction:
    """The cast to `target` of arrays from which NumPy or ml_dtypes rounds once."""
    if not _has_own_cast(target):
        return lambda array: array.astype(target.dtype)
    if target.width < 8:
        # ml_dtypes returns a zero of the opposite sign of NaN, and processors differ in NaN's sign.
        return lambda array: np.where(array == array, array, np.nan).astype(target.dtype)
    # ml_dtypes rounds values up that are subnormal in f32.
    return lambda array: np.where(
        (array > _MIN_SCALE) & (array < 1.5 * _MIN_SCALE), _MIN_SCALE, array
    ).astype(target.dtype)


def _to_odd(array: Array) -> Array:
    """f64 to f32: where inexact, to the neighbour whose last bit is 1."""
    rounded = np.asarray(array, FLOAT64).astype(FLOAT32)
    towards_zero = rounded.view(np.int32) - (np.abs(rounded) > np.abs(array))
    odd: Array = (towards_zero | (rounded != array)).astype(np.int32)
    return odd.view(FLOAT32)


def converter(source: ElementType, target: ElementType) -> ArrayFunction:
    """The function from arrays of `source` to arrays of `target` that `convert` applies.

    Integers wrap; floats outside of an integer type become its nearest value and NaN becomes 0; a float that
    `target` cannot represent is rounded to nearest, ties to even; of complex values the real part counts.
    """
    return _converter(source, target)


@functools.cache
def _converter(source: ElementType, target: ElementType) -> ArrayFunction:
    if source.dtype == target.dtype:
        return lambda array: array
    if source.category == COMPLEX and target.category != COMPLEX:
        from_real = converter(real_type(source), target)
        return lambda array: from_real(array.real)
    if target.category == COMPLEX and source.category != COMPLEX:
        to_real = converter(source, real_type(target))
        return lambda array: to_real(array).astype(target.dtype)
    if target.category == BOOLEAN:
        return _to_boolean(source)
    if source.category == FLOAT and target.category & INTEGER:
        return _float_to_integer(source, target)
    if source.category & INTEGER and target.category == FLOAT and target.width < 32:
        return _integer_to_small_float(source, target)
    through = carrier(source)
    cast = rounding(through, target)
    if through == source.dtype:
        return cast
    return lambda array: cast(array.astype(through))


def _to_boolean(source: ElementType) -> ArrayFunction:
    through = carrier(source)
    return lambda array: array.astype(through) != 0


def _integer_to_small_float(source: ElementType, target: ElementType) -> ArrayFunction:
    cast = rounding(FLOAT64, target)
    if source.width < 64:
        through = carrier(source)
        return lambda array: cast(array.astype(through).astype(FLOAT64))
    tail = source.dtype.type(2047)

    def convert(array: Array) -> Any:
        # f64 rounds integers beyond 2^53: a sticky bit below the significant digits keeps the remainder.
        shortened = (array & ~tail) | (((array & tail) != 0).astype(source.dtype) << source.dtype.type(11))
        exact = np.abs(array.astype(FLOAT64)) < 2.0**53
        return cast(np.where(exact, array, shortened).astype(FLOAT64))

    return convert


def _float_to_integer(source: ElementType, target: ElementType) -> ArrayFunction:
    low, high = storage_range(target)
    through = FLOAT32 if source.width <= 32 and target.width <= 16 else FLOAT64
    integers = carrier(target)
    # The largest value of the carrier that is at most `high`.
    limit = np.nextafter(through.type(high), through.type(0)) if int(through.type(high)) > high else high

    def convert(array: Array) -> Array:
        floats = array.astype(through)
        number = np.where(floats == floats, floats, 0)
        clamped = np.minimum(np.maximum(number, through.type(low)), through.type(limit)).astype(integers)
        if limit != high:
            clamped = np.where(number > limit, integers.type(high), clamped)
        converted: Array = clamped.astype(target.dtype)
        return converted

    return convert


def total_order(element_type: ElementType) -> ArrayFunction:
    """The function from floats to integers whose order is IEEE-754's totalOrder of the floats.

    -NaN < -inf < ... < -0 < +0 < ... < inf < NaN; equal integers mean equal bits.
    """
    if not np.isinf(np.asarray(np.inf).astype(element_type.dtype)):
        # The encodings of types without infinities differ; values converted to f32 keep their order.
        keys = total_order(ELEMENT_TYPES["f32"])
        return lambda array: keys(array.astype(FLOAT32))
    bits = np.dtype(f"i{element_type.width // 8}")
    max_value = bits.type(storage_range(ELEMENT_TYPES[f"i{element_type.width}"])[1])
    sign_shift = bits.type(element_type.width - 1)

    def keys_of(array: Array) -> Array:
        pattern = array.view(bits)
        key = np.asarray(pattern >> sign_shift)
        key &= max_value
        key ^= pattern
        return key

    return keys_of


def unsigned_bits(element_type: ElementType) -> tuple[ArrayFunction, ArrayFunction]:
    """Functions from arrays of integers to their bits, as unsigned integers, and back."""
    dtype = carrier(element_type)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    back = rounding(dtype, element_type)
    if element_type.width == 8 * unsigned.itemsize:
        return (lambda array: array.view(unsigned)), (lambda bits: bits.view(dtype))
    mask = unsigned.type((1 << element_type.width) - 1)
    return (lambda array: array.astype(dtype).view(unsigned) & mask, lambda bits: back(bits.view(dtype)))
