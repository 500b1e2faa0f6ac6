"""LLVM code that converts bfloat16 and float16 from and to float32, for scalars and for vectors.

The loops of `kernels` and the code of `runtime/compiler/loops` share these conversions. This module needs
llvmlite alone, so importing it imports no Numba.

Source: IEEE 754-2019, sections 3.6 (binary16) and 4.3.1 (rounding to nearest, ties to even). bfloat16 is the
upper half of binary32.
"""

from llvmlite import ir

from ..launch.processor import converts_halves

I16 = ir.IntType(16)
I32 = ir.IntType(32)
F32 = ir.FloatType()
_EXPONENT_BITS = 0x7F800000
_QUIET_BIT = 0x400000


def type_like(scalar: ir.Type, shape: ir.Type) -> ir.Type:
    """The type `scalar`, as a vector if `shape` is one, of as many lanes."""
    return ir.VectorType(scalar, shape.count) if isinstance(shape, ir.VectorType) else scalar


def constant_like(type: ir.Type, number: float) -> ir.Constant:
    """A constant of `type`; a vector has the number in each lane."""
    if isinstance(type, ir.VectorType):
        return ir.Constant(type, [ir.Constant(type.element, number)] * type.count)
    return ir.Constant(type, number)


def intrinsic_suffix(type: ir.Type) -> str:
    """The suffix of an LLVM intrinsic's name for operands of `type`, such as "v4f32"."""
    if isinstance(type, ir.VectorType):
        return f"v{type.count}{type.element.intrinsic_name}"
    return str(type.intrinsic_name)


def magnitude(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The absolute value of a float."""
    name = f"llvm.fabs.{intrinsic_suffix(value.type)}"
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(value.type, [value.type]), name)
    return builder.call(function, [value])


def round_to_odd(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """float64 to float32; an inexact result is the neighbour whose last bit is 1.

    Such a result is never a tie, so rounding it again, to a narrower type, rounds the float64 correctly.
    """
    nearest = builder.fptrunc(value, type_like(F32, value.type))
    back = builder.fpext(nearest, value.type)
    words = type_like(I32, value.type)
    beyond = builder.fcmp_ordered(">", magnitude(builder, back), magnitude(builder, value))
    inexact = builder.fcmp_ordered("!=", back, value)
    bits = builder.sub(builder.bitcast(nearest, words), builder.zext(beyond, words))
    return builder.bitcast(builder.or_(bits, builder.zext(inexact, words)), nearest.type)


def widen_bfloat16(builder: ir.IRBuilder, bits: ir.Value) -> ir.Value:
    """float32 of the 16 bits of bfloat16."""
    words = type_like(I32, bits.type)
    shifted = builder.shl(builder.zext(bits, words), constant_like(words, 16))
    return builder.bitcast(shifted, type_like(F32, bits.type))


def round_to_bfloat16(builder: ir.IRBuilder, value: ir.Value, may_be_nan: bool = True) -> ir.Value:
    """The bits of a float32 rounded to nearest even: the upper 16 are bfloat16, the others are arbitrary.

    Args:
        may_be_nan: whether the value may be a NaN with bits that bfloat16 lacks, which rounding could turn
            into infinity. With it a NaN becomes quiet and keeps its payload.
    """
    words = type_like(I32, value.type)
    bits = builder.bitcast(value, words)
    lsb = builder.and_(builder.lshr(bits, constant_like(words, 16)), constant_like(words, 1))
    nearest = builder.add(bits, builder.add(lsb, constant_like(words, 0x7FFF)))
    if not may_be_nan:
        return nearest
    quiet = builder.or_(bits, constant_like(words, _QUIET_BIT))
    return builder.select(builder.fcmp_unordered("uno", value, value), quiet, nearest)


def narrow_bfloat16(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The 16 bits of bfloat16 of a float32 rounded to nearest even; a NaN becomes quiet."""
    bits = round_to_bfloat16(builder, value)
    return builder.trunc(builder.lshr(bits, constant_like(bits.type, 16)), type_like(I16, bits.type))


def widen_float16(builder: ir.IRBuilder, bits: ir.Value) -> ir.Value:
    """float32 of the 16 bits of float16; a NaN becomes quiet and keeps its payload."""
    if not converts_halves():
        return _widen_float16_by_arithmetic(builder, bits)
    half = builder.bitcast(bits, type_like(ir.HalfType(), bits.type))
    return builder.fpext(half, type_like(F32, bits.type))


def narrow_float16(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The 16 bits of float16 of a float32 rounded to nearest even; a NaN becomes quiet, its payload stays."""
    short = type_like(I16, value.type)
    if not converts_halves():
        return builder.trunc(_narrow_float16_by_arithmetic(builder, value), short)
    return builder.bitcast(builder.fptrunc(value, type_like(ir.HalfType(), value.type)), short)


def widen(builder: ir.IRBuilder, element: str, bits: ir.Value) -> ir.Value:
    """float32 of the stored bits of an element type, by its NumPy name: float16 or bfloat16."""
    return (widen_float16 if element == "float16" else widen_bfloat16)(builder, bits)


def narrow(builder: ir.IRBuilder, element: str, value: ir.Value) -> ir.Value:
    """Stored bits of a float32 rounded to nearest even to float16 or bfloat16; a NaN stays one."""
    return (narrow_float16 if element == "float16" else narrow_bfloat16)(builder, value)


def _widen_float16_by_arithmetic(builder: ir.IRBuilder, bits: ir.Value) -> ir.Value:
    """The exponent's bias changes by a multiplication, which is exact and makes subnormal numbers normal."""
    words = type_like(I32, bits.type)
    word = builder.zext(bits, words)
    size = builder.and_(word, constant_like(words, 0x7FFF))
    sign = builder.shl(builder.xor(word, size), constant_like(words, 16))
    shifted = builder.shl(size, constant_like(words, 13))
    single = type_like(F32, bits.type)
    rebiased = builder.fmul(builder.bitcast(shifted, single), constant_like(single, 2.0**112))
    finite = builder.bitcast(rebiased, words)
    infinite = builder.or_(finite, constant_like(words, _EXPONENT_BITS))
    nan = builder.or_(infinite, constant_like(words, _QUIET_BIT))
    finite = builder.select(_is_at_least(builder, size, 0x7C00), infinite, finite)
    finite = builder.select(_is_at_least(builder, size, 0x7C01), nan, finite)
    return builder.bitcast(builder.or_(finite, sign), single)


def _narrow_float16_by_arithmetic(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The bits of float16, in words of 32 bits."""
    words = type_like(I32, value.type)
    word = builder.bitcast(value, words)
    size = builder.and_(word, constant_like(words, 0x7FFFFFFF))
    sign = builder.lshr(builder.xor(word, size), constant_like(words, 16))
    # The unit in the last place of 0.5 is the smallest float16: this sum rounds there.
    aligned = builder.fadd(builder.bitcast(size, value.type), constant_like(value.type, 0.5))
    subnormal = builder.sub(builder.bitcast(aligned, words), constant_like(words, 0x3F000000))
    lsb = builder.and_(builder.lshr(size, constant_like(words, 13)), constant_like(words, 1))
    rebiased = builder.sub(size, constant_like(words, 112 << 23))
    rounded = builder.add(rebiased, builder.add(lsb, constant_like(words, 0xFFF)))
    normal = builder.lshr(rounded, constant_like(words, 13))
    payload = builder.and_(builder.lshr(size, constant_like(words, 13)), constant_like(words, 0x3FF))
    nan = builder.or_(payload, constant_like(words, 0x7E00))
    bits = builder.select(_is_at_least(builder, size, 0x38800000), normal, subnormal)
    bits = builder.select(_is_at_least(builder, size, 0x477FF000), constant_like(words, 0x7C00), bits)
    bits = builder.select(_is_at_least(builder, size, 0x7F800001), nan, bits)
    return builder.or_(bits, sign)


def _is_at_least(builder: ir.IRBuilder, number: ir.Value, bound: int) -> ir.Value:
    """Whether numbers without a sign are at least a bound."""
    return builder.icmp_unsigned(">=", number, constant_like(number.type, bound))
