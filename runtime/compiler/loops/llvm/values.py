"""The representations of one element in generated code: in LLVM values, and in memory.

The *register form* of an element is its LLVM values, the *memory form* is what an array holds. In register
form an i1 is an LLVM i1; an integer has its declared width, those narrower than a byte are held in i8,
extended by their sign or by zeros; a float narrower than f32 is a `float` that holds exactly a value of the
type; f32 and f64 are `float` and `double`; a complex value is two of these. In memory elements lie as NumPy
and ml_dtypes lay them out.

Source: specification, section "Types".
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from llvmlite import ir

from ....kernels.simd.narrow_floats import (
    magnitude,
    narrow_float16,
    round_to_bfloat16,
    round_to_odd,
    widen_bfloat16,
    widen_float16,
)
from ....program.ir import DenseElementsAttribute, Operation
from ....types import BOOLEAN, COMPLEX, FLOAT, SIGNED, UNSIGNED, ElementType, TensorType
from .base import BIT as BIT
from .base import F32 as F32
from .base import F64 as F64
from .base import I8 as I8
from .base import I16 as I16
from .base import I32 as I32
from .base import I64 as I64
from .base import POINTER as POINTER
from .base import call as call
from .base import rarely as rarely
from .float_formats import FORMATS, Format

Value = tuple[ir.Value, ...]
"""An element in register form: one LLVM value, for complex elements two."""

_EXPONENTS: Final = 0x7F800000
_MAGNITUDE: Final = 0x7FFFFFFF
_QUIET: Final = 0x00400000
_NEGATIVE_NAN: Final = 0xFFC00000


def stored_type(element_type: ElementType) -> ir.Type:
    """The LLVM type of an element in memory; narrow floats are integers of their bit patterns."""
    if element_type.category == COMPLEX:
        component = F32 if element_type.width == 64 else F64
        return ir.LiteralStructType((component, component))
    if element_type.category == FLOAT and element_type.width >= 32:
        return F32 if element_type.width == 32 else F64
    return ir.IntType(8 * element_type.dtype.itemsize)


def value_types(element_type: ElementType) -> tuple[ir.Type, ...]:
    """The LLVM types of an element in register form."""
    if element_type.category == BOOLEAN:
        return (BIT,)
    if element_type.category == COMPLEX:
        return tuple(stored_type(element_type).elements)
    if element_type.category == FLOAT:
        return (F64 if element_type.width == 64 else F32,)
    return (stored_type(element_type),)


def load(builder: ir.IRBuilder, element_type: ElementType, pointer: ir.Value) -> Value:
    """The element at `pointer`, in register form."""
    stored = stored_type(element_type)
    if element_type.category == COMPLEX:
        first, second = _component_pointers(builder, stored, pointer)
        component = stored.elements[0]
        return (builder.load(first, typ=component), builder.load(second, typ=component))
    return (to_register(builder, element_type, builder.load(pointer, typ=stored)),)


def store(builder: ir.IRBuilder, element_type: ElementType, value: Value, pointer: ir.Value) -> None:
    """Write an element to `pointer`."""
    if element_type.category == COMPLEX:
        pointers = _component_pointers(builder, stored_type(element_type), pointer)
        for component, target in zip(value, pointers, strict=True):
            builder.store(component, target)
        return
    builder.store(to_memory(builder, element_type, value[0]), pointer)


def _component_pointers(
    builder: ir.IRBuilder, stored: ir.LiteralStructType, pointer: ir.Value
) -> tuple[ir.Value, ir.Value]:
    zero, one = I32(0), I32(1)
    # A pointer to the stack has a type, which the pointers to the components would keep.
    source = stored if pointer.type.is_opaque else None
    first = builder.gep(pointer, [zero, zero], inbounds=True, source_etype=source)
    return first, builder.gep(pointer, [zero, one], inbounds=True, source_etype=source)


def constant(element_type: ElementType, value: object) -> Value:
    """A NumPy or Python scalar as an element in register form."""
    scalar = np.asarray(value).astype(element_type.dtype)
    if element_type.category == COMPLEX:
        component = value_types(element_type)[0]
        return (floating(component, float(scalar.real)), floating(component, float(scalar.imag)))
    (type,) = value_types(element_type)
    if element_type.category == FLOAT:
        return (floating(type, float(scalar)),)
    return (ir.Constant(type, int(scalar)),)


def constant_element(operation: Operation) -> Value:
    """The element of a constant all of whose elements are equal."""
    type, attribute = operation.result.type, operation.attributes["value"]
    assert isinstance(type, TensorType) and isinstance(type.element_type, ElementType)
    assert isinstance(attribute, DenseElementsAttribute)
    return constant(type.element_type, attribute.array.flat[0])


def floating(type: ir.Type, value: float) -> ir.Constant:
    """A constant of type `float`, which holds it exactly, or `double`."""
    return ir.Constant(type, value)


def integer(type: ir.Type, value: int) -> ir.Constant:
    """A constant of an integer type; unsigned values of the type's width are taken too."""
    half = 1 << (type.width - 1)
    return ir.Constant(type, (value + half) % (2 * half) - half if type.width > 1 else value & 1)


def bits_of(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """A float's bits as an integer."""
    return builder.bitcast(value, I64 if value.type == F64 else I32)


def float_of(builder: ir.IRBuilder, bits: ir.Value) -> ir.Value:
    return builder.bitcast(bits, F64 if bits.type == I64 else F32)


def is_nan(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    return builder.fcmp_unordered("uno", value, value)


def wrapped(builder: ir.IRBuilder, element_type: ElementType, value: ir.Value) -> ir.Value:
    """An integer in its carrier, brought back into the range of a type narrower than a byte."""
    spare = value.type.width - element_type.width
    if spare <= 0 or element_type.category == BOOLEAN:
        return value
    shift = integer(value.type, spare)
    shifted = builder.shl(value, shift)
    return builder.ashr(shifted, shift) if element_type.category == SIGNED else builder.lshr(shifted, shift)


def to_register(builder: ir.IRBuilder, element_type: ElementType, stored: ir.Value) -> ir.Value:
    """The register form of what lies in memory of an element that is not complex."""
    if element_type.category == BOOLEAN:
        return builder.icmp_unsigned("!=", stored, integer(I8, 0))
    if element_type.category & (SIGNED | UNSIGNED):
        return wrapped(builder, element_type, stored)
    if element_type.width >= 32:
        return stored
    if element_type.name == "bf16":
        return widen_bfloat16(builder, stored)
    if element_type.name == "f16":
        return _from_half(builder, stored)
    bit_pattern = builder.zext(stored, I32)
    if element_type.name == "f8E8M0FNU":
        return _from_exponent(builder, bit_pattern)
    return _from_bit_pattern(builder, FORMATS[element_type.name], bit_pattern)


def _from_half(builder: ir.IRBuilder, stored: ir.Value) -> ir.Value:
    """A f16. The conversion makes a signalling NaN a quiet one, which is undone."""
    size = builder.and_(stored, integer(I16, 0x7FFF))
    distance = builder.sub(size, integer(I16, 0x7C01))
    is_signalling = builder.icmp_unsigned("<", distance, integer(I16, 0x01FF))
    bits = bits_of(builder, widen_float16(builder, stored))
    return float_of(builder, builder.select(is_signalling, builder.and_(bits, integer(I32, ~_QUIET)), bits))


def _to_half(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """Convert a value that f16 can represent to its bits in memory; signalling NaNs stay signalling."""
    if isinstance(value, ir.CastInstr) and value.operands[0].type == ir.HalfType():
        return builder.bitcast(value.operands[0], I16)
    size = builder.and_(bits_of(builder, value), integer(I32, _MAGNITUDE))
    distance = builder.sub(size, integer(I32, _EXPONENTS + 1))
    is_signalling = builder.icmp_unsigned("<", distance, integer(I32, _QUIET - 1))
    half = narrow_float16(builder, value)
    return builder.select(is_signalling, builder.and_(half, integer(I16, ~(_QUIET >> 13))), half)


def _from_exponent(builder: ir.IRBuilder, bit_pattern: ir.Value) -> ir.Value:
    """A f8E8M0FNU: 2^(bit pattern - 127); the last bit pattern is NaN."""
    shifted = builder.shl(bit_pattern, integer(I32, 23))
    is_zero = builder.icmp_unsigned("==", bit_pattern, integer(I32, 0))
    bits = builder.select(is_zero, integer(I32, _QUIET), shifted)
    last = builder.icmp_unsigned("==", bit_pattern, integer(I32, 255))
    return float_of(builder, builder.select(last, integer(I32, _EXPONENTS | _QUIET), bits))


def _from_bit_pattern(builder: ir.IRBuilder, format: Format, bit_pattern: ir.Value) -> ir.Value:
    """The value of a bit pattern: its bits, shifted to those of an f32, times a power of two."""
    rest = builder.and_(bit_pattern, integer(I32, (1 << format.sign_shift) - 1))
    scale = floating(F32, math.ldexp(1.0, 127 - format.bias))
    scaled = builder.fmul(float_of(builder, builder.shl(rest, integer(I32, format.dropped))), scale)
    bits = bits_of(builder, scaled)
    sign = builder.shl(builder.lshr(bit_pattern, integer(I32, format.sign_shift)), integer(I32, 31))
    if format.specials in ("infinities", "nan"):
        special = builder.icmp_unsigned(">", rest, integer(I32, format.max_bit_pattern))
        bits = builder.select(special, builder.or_(bits, integer(I32, _EXPONENTS)), bits)
    bits = builder.or_(bits, sign)
    if format.specials == "unsigned nan":
        nan = builder.icmp_unsigned("==", bit_pattern, integer(I32, 1 << format.sign_shift))
        bits = builder.select(nan, integer(I32, _NEGATIVE_NAN), bits)
    return float_of(builder, bits)


def to_memory(builder: ir.IRBuilder, element_type: ElementType, value: ir.Value) -> ir.Value:
    """Convert an element from its register form to its memory form. It must not be complex."""
    if element_type.category == BOOLEAN:
        return builder.zext(value, I8)
    if element_type.category & (SIGNED | UNSIGNED):
        if element_type.width >= 8:
            return value
        return builder.and_(value, integer(value.type, (1 << element_type.width) - 1))
    if element_type.width >= 32:
        return value
    if element_type.name == "f16":
        return _to_half(builder, value)
    if element_type.name == "bf16":
        return builder.trunc(builder.lshr(bits_of(builder, value), integer(I32, 16)), I16)
    if element_type.name == "f8E8M0FNU":
        return builder.trunc(builder.lshr(bits_of(builder, value), integer(I32, 23)), I8)
    bit_pattern = _to_bit_pattern(builder, FORMATS[element_type.name], value)
    return builder.trunc(bit_pattern, I16 if element_type.width == 16 else I8)


def _to_bit_pattern(builder: ir.IRBuilder, format: Format, value: ir.Value) -> ir.Value:
    """The bit pattern of a value of the format, in i32."""
    scale = floating(F32, math.ldexp(1.0, format.bias - 127))
    scaled = builder.fmul(magnitude(builder, value), scale)
    bit_pattern = builder.lshr(bits_of(builder, scaled), integer(I32, format.dropped))
    bits = bits_of(builder, value)
    sign = builder.shl(builder.lshr(bits, integer(I32, 31)), integer(I32, format.sign_shift))
    nan = is_nan(builder, value)
    if format.specials == "infinities":
        size = builder.and_(bits, integer(I32, _MAGNITUDE))
        special = builder.icmp_unsigned(">=", size, integer(I32, _EXPONENTS))
        rest = builder.lshr(builder.and_(bits, integer(I32, 0x7FFFFF)), integer(I32, format.dropped))
        special_pattern = builder.or_(rest, integer(I32, format.max_bit_pattern + 1))
        bit_pattern = builder.select(special, special_pattern, bit_pattern)
    elif format.specials == "nan":
        bit_pattern = builder.select(nan, integer(I32, format.max_bit_pattern + 1), bit_pattern)
    bit_pattern = builder.or_(bit_pattern, sign)
    if format.specials == "unsigned nan":
        bit_pattern = builder.select(nan, integer(I32, 1 << format.sign_shift), bit_pattern)
    return bit_pattern


def rounded(
    builder: ir.IRBuilder, element_type: ElementType, value: ir.Value, any_nan: bool = True
) -> ir.Value:
    """A `float` or `double`, rounded to the nearest value of a floating-point type, ties to even, once.

    Overflow gives infinity, NaN or the largest value, as in ml_dtypes. f8E8M0FNU rounds ties up.

    Args:
        any_nan: whether a NaN may have bits that the type lacks; NaNs computed from values of the type have
            none.
    """
    if element_type.width >= 32:
        return _resized(builder, value, F64 if element_type.width == 64 else F32)
    if value.type == F64:
        value = (_to_odd_half if element_type.name == "f16" else round_to_odd)(builder, value)
    if element_type.name == "bf16":
        bits = round_to_bfloat16(builder, value, any_nan)
        return float_of(builder, builder.and_(bits, integer(I32, 0xFFFF0000)))
    if element_type.name == "f16":
        return widen_float16(builder, narrow_float16(builder, value))
    if element_type.name == "f8E8M0FNU":
        return _rounded_exponent(builder, value)
    return _rounded_by_format(builder, FORMATS[element_type.name], value)


def _resized(builder: ir.IRBuilder, value: ir.Value, type: ir.Type) -> ir.Value:
    if value.type == type:
        return value
    return builder.fptrunc(value, type) if type == F32 else builder.fpext(value, type)


def _to_odd_half(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """A `double` rounded to odd in `float`, for a later rounding to f16.

    Unlike `round_to_odd` it may give any neighbour where `float` has no normal number: f16 rounds both to the
    same zero or infinity.
    """
    bits, dropped = bits_of(builder, value), integer(I64, (1 << 29) - 1)
    absolute = builder.and_(bits, integer(I64, (1 << 63) - 1))
    # The carry sets the last remaining bit if a dropped bit is set.
    odd = builder.or_(absolute, builder.add(builder.and_(absolute, dropped), dropped))
    nearest = builder.fptrunc(float_of(builder, builder.and_(odd, integer(I64, -1 << 29))), F32)
    # LLVM reads the sign of a half from the value that it was rounded from. It would round a double again, by
    # a function of compiler-rt that the process may not have, so the sign is joined as an integer.
    high = builder.trunc(builder.lshr(bits, integer(I64, 32)), I32)
    sign = builder.and_(high, integer(I32, 1 << 31))
    return float_of(builder, builder.or_(bits_of(builder, nearest), sign))


def _rounded_exponent(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """A value rounded to a power of two in f8E8M0FNU; smaller positive values give the smallest one."""
    bits = bits_of(builder, value)
    nearest = builder.and_(builder.add(bits, integer(I32, _QUIET)), integer(I32, _EXPONENTS))
    is_min = builder.icmp_signed("<", bits, integer(I32, _QUIET + (_QUIET >> 1)))
    power = builder.select(is_min, integer(I32, _QUIET), nearest)
    limit = floating(F32, 1.5 * 2.0**127)
    positive = builder.and_(
        builder.fcmp_ordered(">", value, floating(F32, 0.0)), builder.fcmp_ordered("<", value, limit)
    )
    return float_of(builder, builder.select(positive, power, integer(I32, _EXPONENTS | _QUIET)))


def _rounded_by_format(builder: ir.IRBuilder, format: Format, value: ir.Value) -> ir.Value:
    """The nearest value of a format with a sign.

    Adding and subtracting a power of two whose last bit has the value of the format's last bit drops the bits
    below it.
    """
    size = magnitude(builder, value)
    bits = bits_of(builder, size)
    min_normal = integer(I32, int(np.float32(format.min_normal).view(np.int32)))
    exponent = builder.and_(bits, integer(I32, _EXPONENTS))
    exponent = builder.select(builder.icmp_signed(">", exponent, min_normal), exponent, min_normal)
    power = float_of(builder, builder.add(exponent, integer(I32, format.dropped << 23)))
    nearest = builder.fsub(builder.fadd(size, power), power)
    sign = builder.and_(bits_of(builder, value), integer(I32, 1 << 31))
    return _with_specials(builder, format, size, sign, nearest)


def _with_specials(
    builder: ir.IRBuilder, format: Format, size: ir.Value, sign: ir.Value, nearest: ir.Value
) -> ir.Value:
    """The rounded value with its sign; on overflow and for NaN the value that the format has instead."""
    to_even = format.max_bit_pattern % 2 == 0
    limit = floating(F32, format.overflow)
    # Unordered: a NaN counts as overflow.
    over = builder.fcmp_unordered(">" if to_even else ">=", size, limit)
    nan = is_nan(builder, size)
    quiet = integer(I32, _EXPONENTS | _QUIET)
    bits = bits_of(builder, nearest)
    if format.specials == "unsigned nan":
        zero = builder.fcmp_ordered("==", nearest, floating(F32, 0.0))
        bits = builder.or_(bits, builder.select(zero, integer(I32, 0), sign))
        return float_of(builder, builder.select(over, integer(I32, _NEGATIVE_NAN), bits))
    if format.specials == "nan":
        bits = builder.select(over, quiet, bits)
    elif format.specials == "infinities":
        beyond = builder.select(nan, quiet, integer(I32, _EXPONENTS))
        bits = builder.select(over, beyond, bits)
    else:
        max_bits = bits_of(builder, floating(F32, format.max_value))
        bits = builder.or_(builder.select(over, max_bits, bits), sign)
        # The sign of the NaN is ignored: processors differ in it.
        return float_of(builder, builder.select(nan, integer(I32, 1 << 31), bits))
    return float_of(builder, builder.or_(bits, sign))
