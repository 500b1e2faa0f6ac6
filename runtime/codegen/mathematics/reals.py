"""Arithmetic on `double` values of generated code, written as one writes formulas."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from llvmlite import ir

from ..values import F64, I64, call, floating, integer

_MAGIC = 1.5 * 2.0**52
"""Added to a small number it leaves the nearest integer in the lowest bits."""


class Real:
    """A `double`, and the place where code that computes with it goes; each operation rounds."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: ir.IRBuilder, value: ir.Value) -> None:
        self.builder = builder
        self.value = value

    def like(self, value: Real | float) -> Real:
        """A Python number as a value beside this one; values themselves."""
        return value if isinstance(value, Real) else Real(self.builder, floating(F64, value))

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

    def floor(self) -> Real:
        """The greatest integer that is not greater."""
        return self._called("llvm.floor")

    def with_sign_of(self, other: Real) -> Real:
        """The magnitude with the sign of another value."""
        return self._called("llvm.copysign", other)

    def compare(self, relation: str, other: Real | float) -> ir.Value:
        """Whether an ordered relation holds; it does not where either is NaN."""
        return self.builder.fcmp_ordered(relation, self.value, self.like(other).value)

    def is_nan(self) -> ir.Value:
        """Whether it is NaN."""
        return self.builder.fcmp_unordered("uno", self.value, self.value)

    def within(self, low: float | None, high: float | None) -> Real:
        """The nearest value between two bounds; NaN stays."""
        value = self
        if high is not None:
            value = where(value.compare(">", high), high, value)
        if low is not None:
            value = where(value.compare("<", low), low, value)
        return value

    def bits(self) -> ir.Value:
        """Its bits as i64."""
        return self.builder.bitcast(self.value, I64)

    def from_bits(self, bits: ir.Value) -> Real:
        """The value with these bits."""
        return Real(self.builder, self.builder.bitcast(bits, F64))


def where(condition: ir.Value, chosen: Real | float, other: Real | float) -> Real:
    """`chosen` where the condition holds, `other` elsewhere; one of them at least is no Python number."""
    place = chosen if isinstance(chosen, Real) else other
    assert isinstance(place, Real)
    builder = place.builder
    return Real(builder, builder.select(condition, place.like(chosen).value, place.like(other).value))


def polynomial(x: Real, coefficients: Sequence[float]) -> Real:
    """The polynomial with these coefficients, the lowest power's first."""
    value = x.like(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = value.fma(x, coefficient)
    return value


def exact_sum(a: Real, b: Real) -> tuple[Real, Real]:
    """The rounded sum and its rounding error."""
    total = a + b
    rest = total - a
    return total, (a - (total - rest)) + (b - rest)


def exact_sum_ordered(a: Real, b: Real) -> tuple[Real, Real]:
    """`exact_sum` where a is zero or |a| >= |b|."""
    total = a + b
    return total, b - (total - a)


def exact_product(a: Real, b: Real | float) -> tuple[Real, Real]:
    """The rounded product and its rounding error."""
    product = a * b
    return product, a.fma(b, -product)


def rounded_to_integer(x: Real, scale: float) -> tuple[Real, ir.Value]:
    """The integer nearest to x * scale, below 2^51: as a float, and as the lowest bits of an i64."""
    shifted = x.fma(scale, _MAGIC)
    return shifted - _MAGIC, shifted.bits()


def times_power(x: Real, exponent: ir.Value) -> Real:
    """x * 2^exponent, whose exponent stands in the lowest bits; x and the result must be normal, or x NaN."""
    builder = x.builder
    return x.from_bits(builder.add(x.bits(), builder.shl(exponent, integer(I64, 52))))


def power_of_two(x: Real, exponent: ir.Value) -> Real:
    """2^exponent, whose exponent stands in the lowest bits; x says where the code goes."""
    builder = x.builder
    return x.from_bits(builder.shl(builder.add(exponent, integer(I64, 1023)), integer(I64, 52)))


def parted(x: Real, least: float) -> tuple[Real, Real]:
    """The m with least <= m < 2 * least and the integer k with x = m * 2^k, for positive normal x.

    No instruction turns vectors of i64 into floats: k becomes the lowest bits of one.
    """
    builder = x.builder
    offset = builder.sub(x.bits(), integer(I64, _bits_of(least)))
    exponent_field = builder.and_(offset, integer(I64, -1 << 52))
    m = x.from_bits(builder.sub(x.bits(), exponent_field))
    biased = builder.lshr(builder.xor(offset, integer(I64, 1 << 63)), integer(I64, 52))
    k = x.from_bits(builder.or_(biased, integer(I64, _bits_of(2.0**52)))) - (2.0**52 + 2048)
    return m, k


def _bits_of(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")
