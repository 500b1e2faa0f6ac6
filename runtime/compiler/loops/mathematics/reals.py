"""Operator notation for arithmetic on `double` and `float` values.

Functions in this notation are emitted as LLVM IR: into generated loops, for which LLVM makes machine code,
and into functions of their own, which `tools/c_functions.py` prints as C
(`kernels/math/elementary_functions.h`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from llvmlite import ir

from ....kernels.launch.processor import has_fast_memory_operands, has_scalef, has_slow_subnormals
from ....kernels.named_tuples import NamedTuple
from ..llvm import vector_variants
from ..llvm.values import F32, F64, I32, I64, call, floating, integer
from ..llvm.vector_variants import ENTRIES, entry


class _IeeeLayout(NamedTuple):
    """The bit layout of a floating-point type.

    Attributes:
        bits: the type of integers of its width.
        mantissa: bits of the mantissa.
        bias: of the exponent.
        struct_format: how `struct` names it.
    """

    bits: ir.Type
    mantissa: int
    bias: int
    struct_format: str

    @property
    def magic(self) -> float:
        """Added to a small number it leaves the nearest integer in the lowest bits."""
        return float(1.5 * 2.0**self.mantissa)


_LAYOUTS = {F32: _IeeeLayout(I32, 23, 127, "f"), F64: _IeeeLayout(I64, 52, 1023, "d")}


class Real:
    """A `double` or `float`, and the place where code that computes with it goes; each operation rounds."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: ir.IRBuilder, value: ir.Value) -> None:
        self.builder = builder
        self.value = value

    def like(self, value: Real | float) -> Real:
        """A Python number as a value of this type; a value itself."""
        return value if isinstance(value, Real) else Real(self.builder, floating(self.value.type, value))

    def nearest(self, value: float) -> float:
        """The nearest number of this type."""
        number_format = "<" + self.layout.struct_format
        return float(struct.unpack(number_format, struct.pack(number_format, value))[0])

    @property
    def layout(self) -> _IeeeLayout:
        """The bit layout of the type."""
        return _LAYOUTS[self.value.type]

    def _called(self, name: str, *others: Real | float) -> Real:
        return Real(self.builder, call(self.builder, name, self.value, *[self.like(o).value for o in others]))

    def __add__(self, other: Real | float) -> Real:
        return Real(self.builder, self.builder.fadd(self.value, self.like(other).value))

    def __sub__(self, other: Real | float) -> Real:
        return Real(self.builder, self.builder.fsub(self.value, self.like(other).value))

    def __rsub__(self, other: float) -> Real:
        return self.like(other) - self

    def __mul__(self, other: Real | float) -> Real:
        return Real(self.builder, self.builder.fmul(self.value, self.like(other).value))

    def __truediv__(self, other: Real | float) -> Real:
        return Real(self.builder, self.builder.fdiv(self.value, self.like(other).value))

    def __rtruediv__(self, other: float) -> Real:
        return self.like(other) / self

    def __neg__(self) -> Real:
        return Real(self.builder, self.builder.fneg(self.value))

    def __abs__(self) -> Real:
        return self._called("llvm.fabs")

    __radd__ = __add__
    __rmul__ = __mul__

    def fma(self, factor: Real | float, addend: Real | float) -> Real:
        """self * factor + addend, rounded once."""
        return self._called("llvm.fma", factor, addend)

    def sqrt(self) -> Real:
        """The square root."""
        return self._called("llvm.sqrt")

    def rint(self) -> Real:
        """The nearest integer; of two, the even one."""
        return self._called("llvm.roundeven")

    def with_sign_of(self, other: Real) -> Real:
        """The magnitude with the sign of another value."""
        return self._called("llvm.copysign", other)

    def compare(self, relation: str, other: Real | float) -> Condition:
        """Whether an ordered relation holds; it does not where either is NaN."""
        holds = self.builder.fcmp_ordered(relation, self.value, self.like(other).value)
        return Condition(self.builder, holds)

    def is_nan(self) -> Condition:
        return Condition(self.builder, self.builder.fcmp_unordered("uno", self.value, self.value))

    def is_number(self) -> Condition:
        return self.compare("==", self)

    def has_sign(self) -> Condition:
        """Whether the sign bit is set."""
        bits = self.layout.bits
        return Condition(self.builder, self.builder.icmp_signed("<", self.bits(), integer(bits, 0)))

    def within(self, low: float | None, high: float | None) -> Real:
        """The nearest value between two bounds; NaN stays."""
        value = self
        if high is not None:
            value = where(value.compare(">", high), high, value)
        if low is not None:
            value = where(value.compare("<", low), low, value)
        return value

    def as_type(self, type: ir.Type) -> Real:
        """The value in the other type, rounded if that is `float`."""
        convert = self.builder.fpext if type == F64 else self.builder.fptrunc
        return Real(self.builder, convert(self.value, type))

    def bits(self) -> ir.Value:
        """Its bits as an integer."""
        return self.builder.bitcast(self.value, self.layout.bits)

    def from_bits(self, bits: ir.Value) -> Real:
        return Real(self.builder, self.builder.bitcast(bits, self.value.type))


class Condition:
    """A truth value, and the place where code that computes with it goes."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: ir.IRBuilder, value: ir.Value) -> None:
        self.builder = builder
        self.value = value

    def __and__(self, other: Condition) -> Condition:
        return Condition(self.builder, self.builder.and_(self.value, other.value))

    def __or__(self, other: Condition) -> Condition:
        return Condition(self.builder, self.builder.or_(self.value, other.value))

    def __xor__(self, other: Condition) -> Condition:
        return Condition(self.builder, self.builder.xor(self.value, other.value))

    def __invert__(self) -> Condition:
        return Condition(self.builder, self.builder.not_(self.value))


class DoubleDouble(NamedTuple):
    """The unevaluated sum high + low, where low is small: it has about twice the digits of one number."""

    high: Real
    low: Real


def where(condition: Condition, chosen: Real | float, other: Real | float) -> Real:
    """`chosen` where the condition holds, `other` elsewhere; one of them at least is no Python number."""
    template = chosen if isinstance(chosen, Real) else other
    assert isinstance(template, Real)
    builder = template.builder
    value = builder.select(condition.value, template.like(chosen).value, template.like(other).value)
    return Real(builder, value)


def polynomial(x: Real, coefficients: Sequence[float], in_registers: bool = False) -> Real:
    """The polynomial with these coefficients, which begin with that of the lowest power.

    Even and odd powers are summed separately, so that the sums do not depend on each other. If there are few
    registers, coefficients are read from memory where they are added; with `in_registers`, a short loop keeps
    some of them.
    """
    if len(coefficients) < 5:
        return by_horner(x, coefficients, in_registers)
    square = x * x
    odd, even = (by_horner(square, coefficients[start::2], in_registers) for start in (1, 0))
    return odd.fma(x, even)


def by_horner(x: Real, coefficients: Sequence[float], in_registers: bool = False) -> Real:
    """Horner's scheme: the fewest operations, each of which depends on the previous one."""
    from_memory = x.value.type == F64 and has_fast_memory_operands() and not in_registers
    value = x.like(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        if from_memory:
            value = Real(x.builder, vector_variants.fma(x.builder, value.value, x.value, coefficient))
        else:
            value = value.fma(x, coefficient)
    return value


def exact_sum(a: Real | float, b: Real | float) -> DoubleDouble:
    """The rounded sum and its rounding error.

    One of the two numbers at least is no Python number.
    """
    total = _total(a, b)
    rounded_b = total - a
    return DoubleDouble(total, (a - (total - rounded_b)) + (b - rounded_b))


def exact_sum_ordered(a: Real | float, b: Real | float) -> DoubleDouble:
    """`exact_sum` where a is zero or |a| >= |b|."""
    total = _total(a, b)
    return DoubleDouble(total, (a - total) + b)


def _total(a: Real | float, b: Real | float) -> Real:
    total = a + b
    assert isinstance(total, Real)
    return total


def exact_product(a: Real, b: Real | float) -> DoubleDouble:
    """The rounded product and its rounding error."""
    product = a * b
    return DoubleDouble(product, a.fma(b, -product))


def square_and_cube(x: Real) -> tuple[Real, Real, Real]:
    """x^2 rounded, and x^3 rounded with its rounding error."""
    square, square_low = exact_product(x, x)
    cube, cube_low = exact_product(x, square)
    return square, cube, x.fma(square_low, cube_low)


def rounded_to_integer(x: Real, scale: float) -> tuple[Real, ir.Value]:
    """The integer nearest to x * scale, a small one: as a float, and as the lowest bits of an integer."""
    magic = x.layout.magic
    shifted = x.fma(scale, magic)
    return shifted - magic, shifted.bits()


def times_power(x: Real, exponent: ir.Value) -> Real:
    """x * 2^exponent, where the exponent is in the lowest bits; x and the result must be normal, or x NaN."""
    builder, layout = x.builder, x.layout
    return x.from_bits(builder.add(x.bits(), builder.shl(exponent, integer(layout.bits, layout.mantissa))))


def scaled(x: Real, shifted: ir.Value) -> Real:
    """x * 2^k, rounded once.

    Args:
        x: positive and below 2, so that its product with 2^-80 is normal; or NaN.
        shifted: what `rounded_to_integer` gave for k, an integer between -160 and 130; NaN where
            x is.
    """
    if x.value.type == F32 and has_scalef():
        return _scaled_by_instruction(x, x.from_bits(shifted) - x.layout.magic)
    return _scaled_by_rounding(x, shifted, _scaled) if has_slow_subnormals() else _scaled(x, shifted)


def scaled_by_factors(x: Real, shifted: ir.Value) -> Real:
    """`scaled` on every processor: by two factors, without rounding by the first of them."""
    return _scaled_by_rounding(x, shifted, _product_of_factors)


def _scaled_by_instruction(x: Real, k: Real) -> Real:
    """`scaled` of f32 by instructions that LLVM does not find: see `_scaled_by_rounding`."""
    _, mantissa, bias, _ = x.layout
    if not has_slow_subnormals():
        return Real(x.builder, vector_variants.times_power(x.builder, x.value, k.value))
    is_small = k.compare("<", float(2 - bias))
    k = where(is_small, k + float(bias + mantissa - 1), k)
    value = Real(x.builder, vector_variants.times_power(x.builder, x.value, k.value))
    return where(is_small, x.from_bits(vector_variants.nearest_integer(x.builder, value.value)), value)


def _scaled(x: Real, shifted: ir.Value) -> Real:
    """`scaled` by the instruction for it, if there is one."""
    if not has_scalef():
        return _product_of_factors(x, shifted)
    builder, exponent = x.builder, _signed_exponent(x, shifted)
    types = [x.value.type, exponent.type]
    function = builder.module.declare_intrinsic("llvm.ldexp", types, ir.FunctionType(types[0], types))
    return Real(builder, builder.call(function, [x.value, exponent]))


def _product_of_factors(x: Real, shifted: ir.Value) -> Real:
    builder, exponent = x.builder, _signed_exponent(x, shifted)
    half = builder.ashr(exponent, integer(exponent.type, 1))
    return x * power_of_two(x, half) * power_of_two(x, builder.sub(exponent, half))


def _signed_exponent(x: Real, shifted: ir.Value) -> ir.Value:
    """The integer whose lowest bits `rounded_to_integer` gave."""
    return x.builder.sub(shifted, x.like(x.layout.magic).bits())


def _scaled_by_rounding(x: Real, shifted: ir.Value, scale: Callable[[Real, ir.Value], Real]) -> Real:
    """`scaled` without an instruction whose result is subnormal, or underflows to zero.

    The bits of a subnormal number, and of the least normal ones, are the multiple of the smallest number that
    it is.
    """
    builder, (bits, mantissa, bias, _) = x.builder, x.layout
    k = x.from_bits(shifted)
    is_small = k.compare("<", x.layout.magic - (bias - 2))
    value = scale(x, where(is_small, k + float(bias + mantissa - 1), k).bits())
    multiple = where(is_small, value, 0.0).rint()
    return where(is_small, x.from_bits(builder.fptosi(multiple.value, bits)), value)


def power_of_two(x: Real, exponent: ir.Value) -> Real:
    """2^exponent, where the exponent is in the lowest bits; x has the builder."""
    builder, (bits, mantissa, bias, _) = x.builder, x.layout
    return x.from_bits(builder.shl(builder.add(exponent, integer(bits, bias)), integer(bits, mantissa)))


def integral_power_of_two(k: Real) -> Real:
    """2^k of an integer k within the range of normal exponents.

    The addition moves k and the exponent's bias to the lowest bits.
    """
    layout = k.layout
    shifted = (k + (layout.magic + layout.bias)).bits()
    return k.from_bits(k.builder.shl(shifted, integer(layout.bits, layout.mantissa)))


def mantissa_and_exponent(x: Real, lower: float) -> tuple[Real, Real]:
    """The m with lower <= m < 2 * lower and the integer k with x = m * 2^k.

    x is positive and normal, and lower is at most 1. No instruction turns vectors of i64 into floats: k
    becomes the lowest bits of one.
    """
    builder, (bits, mantissa, bias, struct_format) = x.builder, x.layout
    first, one = bits_of(lower, struct_format), bits_of(1.0, struct_format)
    biased = builder.add(x.bits(), integer(bits, one - first)) if lower < 1 else x.bits()
    m = x.from_bits(
        builder.add(builder.and_(biased, integer(bits, (1 << mantissa) - 1)), integer(bits, first))
    )
    exponent_scale = 2.0**mantissa
    exponent_field = builder.lshr(biased, integer(bits, mantissa))
    k = x.from_bits(builder.or_(exponent_field, integer(bits, bits_of(exponent_scale, struct_format))))
    return m, k - (exponent_scale + bias)


def looked_up(builder: ir.IRBuilder, name: str, table: Sequence[int], index: ir.Value) -> ir.Value:
    """The entry of a table of i64 whose number is in the lowest bits of `index`; the length is a power of
    two.

    Args:
        name: of the table, which each module has once.
    """
    table_pointer = _table(builder, name, table)
    if len(table) == ENTRIES:
        return entry(builder, table_pointer, index)
    wrapped_index = builder.and_(index, integer(I64, len(table) - 1))
    return builder.load(builder.gep(table_pointer, [integer(I64, 0), wrapped_index], inbounds=True), typ=I64)


def _table(builder: ir.IRBuilder, name: str, table: Sequence[int]) -> ir.Value:
    table_pointer = builder.module.globals.get(name)
    if table_pointer is None:
        type = ir.ArrayType(I64, len(table))
        table_pointer = ir.GlobalVariable(builder.module, type, name)
        table_pointer.linkage, table_pointer.global_constant, table_pointer.align = "internal", True, 64
        table_pointer.initializer = ir.Constant(type, [integer(I64, number) for number in table])
    return table_pointer


def bits_of(value: float, struct_format: str = "d") -> int:
    """A float's bits as an integer, by its width's name for `struct`."""
    return int.from_bytes(struct.pack("<" + struct_format, value), "little")
