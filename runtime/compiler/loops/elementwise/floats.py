"""Functions of floats and complex values that are no more than exact or rounded arithmetic, one element each.

Those of floats compute in the carrier, `float` or `double`; who calls them rounds the result to the element
type. Those of complex values take and give pairs.

Source: specification, section "Ops".
"""

from __future__ import annotations

import math
from collections.abc import Callable

from llvmlite import ir

from ....kernels.launch.processor import has_range
from ....kernels.simd.narrow_floats import magnitude
from ....types import ElementType
from ..llvm import vector_variants
from ..llvm.float_formats import FORMATS
from ..llvm.values import F32, F64, Value, bits_of, call, float_of, floating, integer, is_nan, rarely

Combine = Callable[[ir.Value, ir.Value], ir.Value]


def zero_like(value: ir.Value) -> ir.Constant:
    """0 of the value's type."""
    return floating(value.type, 0.0)


def add(builder: ir.IRBuilder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    return builder.fadd(lhs, rhs)


def subtract(builder: ir.IRBuilder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    return builder.fsub(lhs, rhs)


def multiply(builder: ir.IRBuilder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    return builder.fmul(lhs, rhs)


def divide(builder: ir.IRBuilder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    return builder.fdiv(lhs, rhs)


def remainder(builder: ir.IRBuilder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The exact remainder of lhs divided by rhs, with the sign of lhs."""
    return vector_variants.remainder(builder, lhs, rhs)


def maximum(builder: ir.IRBuilder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The greater; NaN where either is NaN, and +0 is greater than -0."""
    for value, other in ((lhs, rhs), (rhs, lhs)):
        if _is_positive_zero(other):
            return _rectified(builder, value)
    return _extreme(builder, ">", builder.and_, lhs, rhs)


def _is_positive_zero(value: ir.Value) -> bool:
    return isinstance(value, ir.Constant) and value.constant == 0 and math.copysign(1, value.constant) > 0


def _rectified(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The greater of a value and +0. One instruction selects it, NaN or -0; adding +0 makes NaN quiet and
    -0 positive."""
    zero = zero_like(value)
    return builder.fadd(builder.select(builder.fcmp_ordered(">", zero, value), zero, value), zero)


def minimum(builder: ir.IRBuilder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The lesser; NaN where either is NaN, and -0 is less than +0."""
    return _extreme(builder, "<", builder.or_, lhs, rhs)


def _extreme(
    builder: ir.IRBuilder, relation: str, of_equal: Combine, lhs: ir.Value, rhs: ir.Value
) -> ir.Value:
    """The operand for which the relation holds; of zeros, what `of_equal` makes of their bits.

    One instruction selects an operand, and of equal ones the second. In both orders of the operands it
    selects the same value, or both zeros, so `of_equal` combines the two selections; with a constant other
    than zero one of them is enough, which also selects NaN, as it is, if that is quiet already. vrangeps does
    all of this where the processor has it. LLVM's own functions test the sign first, which takes longer.
    """

    def select(first: ir.Value, second: ir.Value) -> ir.Value:
        return builder.select(builder.fcmp_ordered(relation, first, second), first, second)

    has_number = _is_nonzero_number(lhs) or _is_nonzero_number(rhs)
    for value, number in ((lhs, rhs), (rhs, lhs)):
        if _is_nonzero_number(number) and _is_arithmetic(value):
            return select(number, value)
    if has_range() and not has_number:
        return vector_variants.extreme(builder, relation, lhs, rhs)
    if has_number:
        chosen = select(lhs, rhs)
    else:
        bits = of_equal(bits_of(builder, select(lhs, rhs)), bits_of(builder, select(rhs, lhs)))
        chosen = float_of(builder, bits)
    return rarely(builder, builder.fcmp_unordered("uno", lhs, rhs), builder.fadd(lhs, rhs), chosen)


def _is_nonzero_number(value: ir.Value) -> bool:
    return isinstance(value, ir.Constant) and value.constant != 0 and not math.isnan(value.constant)


def _is_arithmetic(value: ir.Value) -> bool:
    """Whether a value is the result of arithmetic, which has no signaling NaN.

    LLVM drops arithmetic with some constants, but no addition of +0.
    """
    if not isinstance(value, ir.Instruction) or value.opname not in ("fadd", "fsub", "fmul", "fdiv"):
        return False
    constants = [operand for operand in value.operands if isinstance(operand, ir.Constant)]
    return not constants or (value.opname == "fadd" and all(map(_is_positive_zero, constants)))


def negate(builder: ir.IRBuilder, operand: ir.Value) -> ir.Value:
    """The value with the opposite sign."""
    return builder.fneg(operand)


def same(builder: ir.IRBuilder, operand: ir.Value) -> ir.Value:
    return operand


def no_imaginary_part(builder: ir.IRBuilder, operand: ir.Value) -> ir.Value:
    """The imaginary part of a real value: zero."""
    return zero_like(operand)


def absolute(builder: ir.IRBuilder, operand: ir.Value) -> ir.Value:
    return magnitude(builder, operand)


def square(builder: ir.IRBuilder, operand: ir.Value) -> ir.Value:
    """The value times itself."""
    return builder.fmul(operand, operand)


def square_root(builder: ir.IRBuilder, operand: ir.Value) -> ir.Value:
    return call(builder, "llvm.sqrt", operand)


def floor(builder: ir.IRBuilder, operand: ir.Value) -> ir.Value:
    """The largest integer that is not greater."""
    return call(builder, "llvm.floor", operand)


def ceil(builder: ir.IRBuilder, operand: ir.Value) -> ir.Value:
    """The smallest integer that is not less than the operand."""
    return call(builder, "llvm.ceil", operand)


def round_nearest_even(builder: ir.IRBuilder, operand: ir.Value) -> ir.Value:
    """The nearest integer; of two, the even one."""
    return call(builder, "llvm.roundeven", operand)


def round_nearest_afz(builder: ir.IRBuilder, operand: ir.Value) -> ir.Value:
    """The nearest integer; of two, the one away from zero."""
    truncated = call(builder, "llvm.trunc", operand)
    fraction = magnitude(builder, builder.fsub(operand, truncated))
    one = floating(operand.type, 1.0)
    away = builder.select(
        builder.fcmp_ordered(">=", fraction, floating(operand.type, 0.5)), one, zero_like(one)
    )
    return call(builder, "llvm.copysign", builder.fadd(magnitude(builder, truncated), away), operand)


def sign(builder: ir.IRBuilder, operand: ir.Value) -> ir.Value:
    """-1, 1, the zero itself, or NaN."""
    one = call(builder, "llvm.copysign", floating(operand.type, 1.0), operand)
    return builder.select(builder.fcmp_ordered("one", operand, zero_like(operand)), one, operand)


def is_finite(builder: ir.IRBuilder, operand: ir.Value) -> ir.Value:
    """Whether a number is finite."""
    return builder.fcmp_ordered("<", magnitude(builder, operand), floating(operand.type, math.inf))


def is_infinite(builder: ir.IRBuilder, operand: ir.Value) -> ir.Value:
    return builder.fcmp_ordered("==", magnitude(builder, operand), floating(operand.type, math.inf))


def is_positive_infinity(builder: ir.IRBuilder, operand: ir.Value) -> ir.Value:
    return builder.fcmp_ordered("==", operand, floating(operand.type, math.inf))


def is_negative_infinity(builder: ir.IRBuilder, operand: ir.Value) -> ir.Value:
    return builder.fcmp_ordered("==", operand, floating(operand.type, -math.inf))


def add_complex(builder: ir.IRBuilder, lhs: Value, rhs: Value) -> Value:
    return (builder.fadd(lhs[0], rhs[0]), builder.fadd(lhs[1], rhs[1]))


def subtract_complex(builder: ir.IRBuilder, lhs: Value, rhs: Value) -> Value:
    return (builder.fsub(lhs[0], rhs[0]), builder.fsub(lhs[1], rhs[1]))


def multiply_complex(builder: ir.IRBuilder, lhs: Value, rhs: Value) -> Value:
    """The product by its definition, each step rounded."""
    (a, b), (c, d) = lhs, rhs
    real = builder.fsub(builder.fmul(a, c), builder.fmul(b, d))
    return (real, builder.fadd(builder.fmul(a, d), builder.fmul(b, c)))


def negate_complex(builder: ir.IRBuilder, operand: Value) -> Value:
    """The value with the opposite sign."""
    return (builder.fneg(operand[0]), builder.fneg(operand[1]))


def conjugate(builder: ir.IRBuilder, operand: Value) -> Value:
    return (operand[0], builder.fneg(operand[1]))


def real_part(builder: ir.IRBuilder, operand: Value) -> Value:
    return (operand[0],)


def imaginary_part(builder: ir.IRBuilder, operand: Value) -> Value:
    return (operand[1],)


def square_complex(builder: ir.IRBuilder, operand: Value) -> Value:
    """operand * operand in f64 as ((x - y) * (x + y), x * y * 2); a factor may overflow while the other one
    is zero.
    """
    narrow = operand[0].type == F32
    x, y = (builder.fpext(component, F64) for component in operand) if narrow else operand
    equal = builder.fcmp_ordered("==", magnitude(builder, x), magnitude(builder, y))
    balanced = builder.and_(is_finite(builder, x), equal)
    product = builder.fmul(builder.fsub(x, y), builder.fadd(x, y))
    real = builder.select(balanced, zero_like(x), product)
    imaginary = builder.fmul(builder.fmul(x, y), floating(F64, 2.0))
    if narrow:
        return (builder.fptrunc(real, F32), builder.fptrunc(imaginary, F32))
    return (real, imaginary)


def compare(builder: ir.IRBuilder, relation: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Whether a relation of IEEE-754 holds between floats."""
    if relation == "!=":
        return builder.fcmp_unordered(relation, lhs, rhs)
    return builder.fcmp_ordered(relation, lhs, rhs)


def compare_complex(builder: ir.IRBuilder, relation: str, lhs: Value, rhs: Value) -> ir.Value:
    """Whether a relation holds between complex values: by real, then by imaginary parts."""
    (a, b), (c, d) = lhs, rhs
    if relation in ("==", "!="):
        join = builder.and_ if relation == "==" else builder.or_
        return join(compare(builder, relation, a, c), compare(builder, relation, b, d))
    decided = builder.fcmp_ordered(relation[0], a, c)
    decided = builder.and_(decided, builder.fcmp_ordered("ord", b, d))
    equal = builder.fcmp_ordered("==", a, c)
    return builder.or_(decided, builder.and_(equal, builder.fcmp_ordered(relation, b, d)))


def maximum_complex(builder: ir.IRBuilder, lhs: Value, rhs: Value) -> Value:
    """The greater; the first of them that has a NaN component."""
    return _chosen(builder, ">=", lhs, rhs)


def minimum_complex(builder: ir.IRBuilder, lhs: Value, rhs: Value) -> Value:
    """The lesser; the first of them that has a NaN component."""
    return _chosen(builder, "<=", lhs, rhs)


def _chosen(builder: ir.IRBuilder, relation: str, lhs: Value, rhs: Value) -> Value:
    nan = builder.or_(is_nan(builder, lhs[0]), is_nan(builder, lhs[1]))
    first = builder.or_(nan, compare_complex(builder, relation, lhs, rhs))
    return (builder.select(first, lhs[0], rhs[0]), builder.select(first, lhs[1], rhs[1]))


def total_order(builder: ir.IRBuilder, type: ElementType, value: ir.Value) -> ir.Value:
    """An integer for a float, whose order is IEEE-754's totalOrder of the floats."""
    bits = bits_of(builder, value)
    if type.name in FORMATS and FORMATS[type.name].specials != "infinities":
        # As f32 such types have one NaN of each sign.
        quiet = builder.or_(builder.and_(bits, integer(bits.type, 1 << 31)), integer(bits.type, 0x7FC00000))
        bits = builder.select(is_nan(builder, value), quiet, bits)
    negative = builder.ashr(bits, integer(bits.type, bits.type.width - 1))
    return builder.xor(bits, builder.and_(negative, integer(bits.type, (1 << (bits.type.width - 1)) - 1)))
