"""Functions of integers and booleans, one element each.

Each takes the element type and values in register form, and gives one: wrapped to the type's range.

Source: specification, section "Ops"; what it leaves open is in docs/numerics.md.
"""

from __future__ import annotations

from llvmlite import ir

from ....kernels.launch.processor import has_conversions_of_i64
from ....types import BOOLEAN, SIGNED, ElementType, storage_range
from ..llvm import vector_variants
from ..llvm.values import BIT, F64, I32, call, integer, wrapped


def add(builder: ir.IRBuilder, type: ElementType, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The sum; for booleans OR."""
    if type.category == BOOLEAN:
        return builder.or_(lhs, rhs)
    return wrapped(builder, type, builder.add(lhs, rhs))


def subtract(builder: ir.IRBuilder, type: ElementType, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    return wrapped(builder, type, builder.sub(lhs, rhs))


def multiply(builder: ir.IRBuilder, type: ElementType, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The product; for booleans AND."""
    if type.category == BOOLEAN:
        return builder.and_(lhs, rhs)
    return wrapped(builder, type, builder.mul(lhs, rhs))


def multiply_high(builder: ir.IRBuilder, type: ElementType, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The upper half of the product."""
    doubled = ir.IntType(2 * lhs.type.width)
    extend = builder.sext if type.category == SIGNED else builder.zext
    product = builder.mul(extend(lhs, doubled), extend(rhs, doubled))
    upper = builder.trunc(builder.ashr(product, integer(doubled, type.width)), lhs.type)
    return wrapped(builder, type, upper)


def negate(builder: ir.IRBuilder, type: ElementType, operand: ir.Value) -> ir.Value:
    """The integer with the opposite sign."""
    return wrapped(builder, type, builder.sub(integer(operand.type, 0), operand))


def absolute(builder: ir.IRBuilder, type: ElementType, operand: ir.Value) -> ir.Value:
    """The absolute value; the least integer wraps to itself."""
    negative = builder.icmp_signed("<", operand, integer(operand.type, 0))
    return wrapped(builder, type, builder.select(negative, negate(builder, type, operand), operand))


def sign(builder: ir.IRBuilder, type: ElementType, operand: ir.Value) -> ir.Value:
    """-1, 0 or 1."""
    zero = integer(operand.type, 0)
    positive = builder.zext(builder.icmp_signed(">", operand, zero), operand.type)
    return builder.sub(positive, builder.zext(builder.icmp_signed("<", operand, zero), operand.type))


def less(builder: ir.IRBuilder, type: ElementType, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Whether `lhs` is less, as signed or unsigned numbers."""
    compare = builder.icmp_signed if type.category == SIGNED else builder.icmp_unsigned
    return compare("<", lhs, rhs)


def maximum(builder: ir.IRBuilder, type: ElementType, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    return builder.select(less(builder, type, lhs, rhs), rhs, lhs)


def minimum(builder: ir.IRBuilder, type: ElementType, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    return builder.select(less(builder, type, lhs, rhs), lhs, rhs)


def divide(builder: ir.IRBuilder, type: ElementType, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The quotient towards zero; all bits set where the divisor is zero; min / -1 wraps to min."""
    quotient = _quotient(builder, type, lhs, _defined_divisor(builder, type, lhs, rhs))
    by_zero = builder.icmp_unsigned("==", rhs, integer(rhs.type, 0))
    return builder.select(by_zero, wrapped(builder, type, integer(rhs.type, -1)), quotient)


def remainder(builder: ir.IRBuilder, type: ElementType, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The remainder of `divide`, with the dividend's sign; the dividend if the divisor is zero."""
    divisor = _defined_divisor(builder, type, lhs, rhs)
    rest = builder.sub(lhs, builder.mul(_quotient(builder, type, lhs, divisor), divisor))
    by_zero = builder.icmp_unsigned("==", rhs, integer(rhs.type, 0))
    return builder.select(by_zero, lhs, rest)


def _defined_divisor(builder: ir.IRBuilder, type: ElementType, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The divisor; 1 where it is zero or the quotient would not fit, which min / 1 = min serves as well."""
    if isinstance(rhs, ir.Constant) and rhs.constant not in (0, -1):
        return rhs
    undefined = builder.icmp_unsigned("==", rhs, integer(rhs.type, 0))
    if type.category == SIGNED:
        is_min = builder.icmp_signed("==", lhs, integer(lhs.type, storage_range(type)[0]))
        minus_one = builder.icmp_signed("==", rhs, integer(rhs.type, -1))
        undefined = builder.or_(undefined, builder.and_(is_min, minus_one))
    return builder.select(undefined, integer(rhs.type, 1), rhs)


def _quotient(builder: ir.IRBuilder, type: ElementType, lhs: ir.Value, divisor: ir.Value) -> ir.Value:
    """The quotient towards zero by a divisor that is not zero.

    There are no vector instructions for it: LLVM multiplies for constant divisors, but no vectors of 64 bits;
    in f64 a quotient of integers up to 32 bits keeps its fraction, which the conversion discards.
    """
    signed = type.category == SIGNED
    is_shift = isinstance(divisor, ir.Constant) and abs(divisor.constant).bit_count() == 1
    if type.width == 64 and has_conversions_of_i64() and not is_shift:
        return vector_variants.quotient(builder, lhs, divisor, signed)
    if isinstance(divisor, ir.Constant) or type.width == 64:
        return builder.sdiv(lhs, divisor) if signed else builder.udiv(lhs, divisor)
    to_float = builder.sitofp if signed else builder.uitofp
    quotient = builder.fdiv(to_float(lhs, F64), to_float(divisor, F64))
    if type.width == 32 and not signed:
        return builder.fptoui(quotient, I32)
    truncated = builder.fptosi(quotient, I32)
    return truncated if lhs.type == I32 else builder.trunc(truncated, lhs.type)


def power(builder: ir.IRBuilder, type: ElementType, base: ir.Value, exponent: ir.Value) -> ir.Value:
    """The base multiplied by itself; with a negative exponent the reciprocal, its fraction discarded."""
    carrier = base.type
    zero, one = integer(carrier, 0), integer(carrier, 1)
    result, square = one, base
    for bit in range(_exponent_bits(type, exponent)):
        is_set = builder.trunc(builder.lshr(exponent, integer(carrier, bit)), BIT)
        result = builder.mul(result, builder.select(is_set, square, one))
        square = builder.mul(square, square)
    if type.category != SIGNED:
        return wrapped(builder, type, result)
    odd = builder.trunc(exponent, BIT)
    is_one = builder.icmp_signed("==", base, one)
    is_unit = builder.or_(is_one, builder.icmp_signed("==", base, integer(carrier, -1)))
    # 1 and -1 are their own reciprocals; all other reciprocals have no whole part.
    reciprocal = builder.select(is_unit, builder.select(odd, base, one), zero)
    negative = builder.icmp_signed("<", exponent, zero)
    return wrapped(builder, type, builder.select(negative, reciprocal, result))


def _exponent_bits(type: ElementType, exponent: ir.Value) -> int:
    """The number of bits that a non-negative exponent may have."""
    if isinstance(exponent, ir.Constant) and exponent.constant >= 0:
        return int(exponent.constant).bit_length()
    return type.width - 1 if type.category == SIGNED else type.width


def bitwise_and(builder: ir.IRBuilder, type: ElementType, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The bits that are set in both."""
    return builder.and_(lhs, rhs)


def bitwise_or(builder: ir.IRBuilder, type: ElementType, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The bits that are set in either."""
    return builder.or_(lhs, rhs)


def bitwise_xor(builder: ir.IRBuilder, type: ElementType, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The bits that are set in one of both."""
    return builder.xor(lhs, rhs)


def bitwise_not(builder: ir.IRBuilder, type: ElementType, operand: ir.Value) -> ir.Value:
    """The bits that are not set."""
    return wrapped(builder, type, builder.xor(operand, integer(operand.type, -1)))


def _bits(builder: ir.IRBuilder, type: ElementType, value: ir.Value) -> ir.Value:
    """The bits of the type alone: above them lie zeros, not the sign."""
    if type.width >= value.type.width:
        return value
    return builder.and_(value, integer(value.type, (1 << type.width) - 1))


def _within_width(builder: ir.IRBuilder, type: ElementType, amount: ir.Value) -> ir.Value:
    return builder.icmp_unsigned("<", amount, integer(amount.type, type.width))


def shift_left(builder: ir.IRBuilder, type: ElementType, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The bits moved up by an unsigned amount; zeros follow."""
    amount = _bits(builder, type, rhs)
    shifted = builder.shl(lhs, amount)
    in_range = builder.select(_within_width(builder, type, amount), shifted, integer(lhs.type, 0))
    return wrapped(builder, type, in_range)


def shift_right_logical(builder: ir.IRBuilder, type: ElementType, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The bits moved down by an unsigned amount; zeros follow."""
    amount = _bits(builder, type, rhs)
    shifted = builder.lshr(_bits(builder, type, lhs), amount)
    in_range = builder.select(_within_width(builder, type, amount), shifted, integer(lhs.type, 0))
    return wrapped(builder, type, in_range)


def shift_right_arithmetic(
    builder: ir.IRBuilder, type: ElementType, lhs: ir.Value, rhs: ir.Value
) -> ir.Value:
    """The bits moved down by an unsigned amount; copies of the highest bit follow."""
    amount = _bits(builder, type, rhs)
    last = integer(amount.type, type.width - 1)
    amount = builder.select(_within_width(builder, type, amount), amount, last)
    spare = integer(lhs.type, lhs.type.width - type.width)
    signed = builder.ashr(builder.shl(lhs, spare), spare)
    return wrapped(builder, type, builder.ashr(signed, amount))


def count_bits(builder: ir.IRBuilder, type: ElementType, operand: ir.Value) -> ir.Value:
    """The number of set bits."""
    return wrapped(builder, type, call(builder, "llvm.ctpop", _bits(builder, type, operand)))


def count_leading_zeros(builder: ir.IRBuilder, type: ElementType, operand: ir.Value) -> ir.Value:
    """The number of leading zero bits."""
    count = builder.ctlz(_bits(builder, type, operand), BIT(0))
    above = integer(operand.type, operand.type.width - type.width)
    return wrapped(builder, type, builder.sub(count, above))
