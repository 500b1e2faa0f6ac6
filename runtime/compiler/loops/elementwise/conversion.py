"""Conversions of one element: to another type, to another reading of its bits, to fewer digits.

Source: specification, operations `convert`, `bitcast_convert` and `reduce_precision`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from ....types import BOOLEAN, COMPLEX, ELEMENT_TYPES, FLOAT, SIGNED, ElementType, storage_range
from ..llvm.values import (
    F32,
    F64,
    I32,
    I64,
    Value,
    floating,
    integer,
    is_nan,
    rounded,
    to_memory,
    to_register,
    value_types,
    wrapped,
)
from . import floats


def converted(builder: ir.IRBuilder, source: ElementType, target: ElementType, value: Value) -> Value:
    """The value of another element type.

    Integers wrap; floats outside of an integer type become its nearest value and NaN becomes 0; a float that
    `target` cannot hold is rounded; of complex values the real part counts, but where both are complex.
    """
    if source.dtype == target.dtype:
        return value
    if target.category == COMPLEX:
        component = _component_type(target)
        if source.category == COMPLEX:
            return tuple([_scalar(builder, _component_type(source), component, half) for half in value])
        (type, _) = value_types(target)
        return (_scalar(builder, source, component, value[0]), floating(type, 0.0))
    if source.category == COMPLEX:
        source = _component_type(source)
    return (_scalar(builder, source, target, value[0]),)


def _component_type(complex_type: ElementType) -> ElementType:
    return ELEMENT_TYPES[f"f{complex_type.width // 2}"]


def _scalar(builder: ir.IRBuilder, source: ElementType, target: ElementType, value: ir.Value) -> ir.Value:
    """`converted` where no type is complex."""
    if source is target:
        return value
    if source.category == FLOAT:
        if target.category == FLOAT:
            return rounded(builder, target, value)
        if target.category == BOOLEAN:
            return builder.fcmp_unordered("!=", value, floats.zero_like(value))
        return _float_to_integer(builder, target, value)
    if target.category == FLOAT:
        return _integer_to_float(builder, source, target, value)
    if target.category == BOOLEAN:
        return builder.icmp_unsigned("!=", value, integer(value.type, 0))
    return _integer_to_integer(builder, source, target, value)


def _integer_to_integer(
    builder: ir.IRBuilder, source: ElementType, target: ElementType, value: ir.Value
) -> ir.Value:
    (type,) = value_types(target)
    if type.width < value.type.width:
        value = builder.trunc(value, type)
    elif type.width > value.type.width:
        value = builder.sext(value, type) if source.category == SIGNED else builder.zext(value, type)
    return wrapped(builder, target, value)


def _integer_to_float(
    builder: ir.IRBuilder, source: ElementType, target: ElementType, value: ir.Value
) -> ir.Value:
    """The nearest float; f32 and f64 hold all narrower integers exactly on the way to a narrow float."""
    to_float = builder.sitofp if source.category == SIGNED else builder.uitofp
    if target.width >= 32:
        return to_float(value, value_types(target)[0])
    if source.width <= 16:
        return rounded(builder, target, to_float(value, F32))
    if source.width == 64:
        value = _shortened(builder, source, value)
    return rounded(builder, target, to_float(value, F64))


def _shortened(builder: ir.IRBuilder, source: ElementType, value: ir.Value) -> ir.Value:
    """A 64-bit integer that f64 holds and that rounds to narrow floats as `value` does.

    Beyond 2^53 the lowest bits become one bit below the digits that count.
    """
    tail = integer(I64, 2047)
    lost = builder.zext(builder.icmp_unsigned("!=", builder.and_(value, tail), integer(I64, 0)), I64)
    truncated = builder.and_(value, integer(I64, ~2047))
    shortened = builder.or_(truncated, builder.shl(lost, integer(I64, 11)))
    limit = integer(I64, 1 << 53)
    within = builder.icmp_unsigned("<", value, limit)
    if source.category == SIGNED:
        biased = builder.add(value, limit)
        within = builder.icmp_unsigned("<", biased, integer(I64, 1 << 54))
    return builder.select(within, value, shortened)


def _float_to_integer(builder: ir.IRBuilder, target: ElementType, value: ir.Value) -> ir.Value:
    """The value without its fraction, the nearest one of the type beyond its range; NaN becomes 0."""
    low, high = storage_range(target)
    held = np.dtype(np.float64 if value.type == F64 else np.float32).type
    limit = held(high) if int(held(high)) <= high else np.nextafter(held(high), held(0))
    upper_bound, lower_bound = floating(value.type, float(limit)), floating(value.type, float(low))
    number = builder.select(is_nan(builder, value), floats.zero_like(value), value)
    over = builder.fcmp_ordered(">", number, upper_bound)
    clamped = builder.select(over, upper_bound, number)
    clamped = builder.select(builder.fcmp_ordered("<", clamped, lower_bound), lower_bound, clamped)
    (type,) = value_types(target)
    truncated = _truncated(builder, target, clamped)
    truncated = truncated if truncated.type == type else builder.trunc(truncated, type)
    return truncated if int(limit) == high else builder.select(over, integer(type, high), truncated)


def _truncated(builder: ir.IRBuilder, target: ElementType, value: ir.Value) -> ir.Value:
    """The whole part of a float within the target's range, in i32 or i64."""
    if target.width == 64:
        return builder.fptosi(value, I64) if target.category == SIGNED else builder.fptoui(value, I64)
    if target.width == 32 and target.category != SIGNED:
        return builder.fptoui(value, I32)
    return builder.fptosi(value, I32)


def recast(builder: ir.IRBuilder, source: ElementType, target: ElementType, value: Value) -> Value:
    """Reinterpret the bits as another type of the same width."""
    if source.category == COMPLEX:
        return value
    bits = to_memory(builder, source, value[0])
    (type,) = value_types(target)
    if target.category == FLOAT and target.width >= 32:
        return (builder.bitcast(bits, type),)
    if source.category == FLOAT and source.width >= 32:
        bits = builder.bitcast(bits, ir.IntType(source.width))
    return (to_register(builder, target, bits),)


def neighbour(builder: ir.IRBuilder, type: ElementType, x: ir.Value, y: ir.Value) -> ir.Value:
    """The float after x on the way to y, or y if they are equal; the type has ordered bit patterns."""
    bit_pattern = _bit_pattern(builder, type, x)
    work = bit_pattern.type
    zero = floats.zero_like(x)
    up = builder.fcmp_ordered("<", x, y)
    away = builder.icmp_unsigned("==", up, builder.fcmp_ordered(">", x, zero))
    step = builder.select(away, integer(work, 1), integer(work, -1))
    smallest_step = builder.or_(
        integer(work, 1), builder.select(up, integer(work, 0), integer(work, 1 << (type.width - 1)))
    )
    from_zero = builder.fcmp_ordered("==", x, zero)
    next_pattern = builder.select(from_zero, smallest_step, builder.add(bit_pattern, step))
    next_float = _from_bit_pattern(builder, type, next_pattern)
    next_float = builder.select(builder.fcmp_ordered("==", x, y), y, next_float)
    unordered = builder.fcmp_unordered("uno", x, y)
    return builder.select(unordered, floating(x.type, np.nan), next_float)


def _bit_pattern(builder: ir.IRBuilder, type: ElementType, value: ir.Value) -> ir.Value:
    """The bit pattern of a float, in i32 or i64."""
    if type.width >= 32:
        return builder.bitcast(value, ir.IntType(type.width))
    return builder.zext(to_memory(builder, type, value), I32)


class _PrecisionLayout:
    """The bit layout of a floating-point type, as `reduce_precision` needs it."""

    def __init__(self, type: ElementType) -> None:
        dtype = type.dtype
        pattern = f"u{dtype.itemsize}"
        import ml_dtypes

        limits: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
        self.exponent_bits, self.mantissa_bits = int(limits.nexp), int(limits.nmant)
        has_sign = self.exponent_bits + self.mantissa_bits < type.width
        self.sign_mask = 1 << (type.width - 1) if has_sign else 0
        infinity = np.asarray(np.inf).astype(dtype)
        with np.errstate(invalid="ignore"):
            bit_patterns = [
                int(np.asarray(v).astype(dtype).view(pattern)) for v in (limits.max, 1, infinity, -infinity)
            ]
        self.max_bit_pattern, one, self.infinity, self.negative_infinity = bit_patterns
        self.bias = one >> self.mantissa_bits


def with_precision(
    builder: ir.IRBuilder, type: ElementType, exponent_bits: int, mantissa_bits: int, value: ir.Value
) -> ir.Value:
    """The nearest value, ties to even, with fewer digits; then infinity or zero for what lies out of range.

    NaN stays where there are mantissa bits to tell it.
    """
    layout = _PrecisionLayout(type)
    bit_pattern = _bit_pattern(builder, type, value)
    work = bit_pattern.type
    sign = builder.and_(bit_pattern, integer(work, layout.sign_mask))
    size = builder.xor(bit_pattern, sign)
    if mantissa_bits < layout.mantissa_bits:
        size = _with_fewer_bits(builder, size, layout.mantissa_bits - mantissa_bits)
    over = builder.icmp_unsigned(">", size, integer(work, layout.max_bit_pattern))
    if exponent_bits < layout.exponent_bits:
        reach = (1 << (exponent_bits - 1)) - 1
        exponent = builder.lshr(size, integer(work, layout.mantissa_bits))
        over = builder.or_(over, builder.icmp_signed(">", exponent, integer(work, layout.bias + reach)))
        under = builder.icmp_signed("<=", exponent, integer(work, layout.bias - reach))
        size = builder.select(under, integer(work, 0), size)
    negative = builder.icmp_unsigned("!=", sign, integer(work, 0))
    beyond = builder.select(negative, integer(work, layout.negative_infinity), integer(work, layout.infinity))
    chosen = builder.select(over, beyond, builder.or_(sign, size))
    nan = integer(work, layout.infinity) if mantissa_bits == 0 else bit_pattern
    chosen = builder.select(is_nan(builder, value), nan, chosen)
    return _from_bit_pattern(builder, type, chosen)


def _with_fewer_bits(builder: ir.IRBuilder, size: ir.Value, dropped: int) -> ir.Value:
    """The bit pattern without its lowest bits, rounded to nearest, ties to even."""
    work = size.type
    lsb = builder.and_(builder.lshr(size, integer(work, dropped)), integer(work, 1))
    up = builder.add(integer(work, (1 << (dropped - 1)) - 1), lsb)
    return builder.and_(builder.add(size, up), integer(work, -(1 << dropped)))


def _from_bit_pattern(builder: ir.IRBuilder, type: ElementType, bit_pattern: ir.Value) -> ir.Value:
    (computed,) = value_types(type)
    if type.width >= 32:
        return builder.bitcast(bit_pattern, computed)
    return to_register(builder, type, builder.trunc(bit_pattern, ir.IntType(8 * type.dtype.itemsize)))
