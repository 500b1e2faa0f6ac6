"""Element types as formats: the number of each code, and the code nearest to a number."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

Number = Fraction | float
"""A Fraction is a finite number other than zero; a float is a zero, an infinity or NaN."""

ZERO, NEGATIVE_ZERO, INFINITY, NAN = 0.0, -0.0, math.inf, math.nan


@dataclass(frozen=True)
class FloatFormat:
    """A floating-point format.

    Attributes:
        name: of the element type.
        exponent_bits, mantissa_bits: how many.
        bias: what is subtracted from the exponent's code.
        kind: ``"ieee"``: the greatest exponent is for infinities and NaN; ``"fn"``: no infinity, NaN is all
            ones but the sign; ``"fnuz"``: no infinity, no -0, whose code is NaN; ``"finite"``: neither;
            ``"scale"``: a power of two alone, without sign or zero, NaN is all ones.
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    kind: str

    @property
    def width(self) -> int:
        """Bits of a code."""
        return self.exponent_bits + self.mantissa_bits + (self.kind != "scale")

    @property
    def sign_bit(self) -> int:
        """The code of the sign; 0 where there is none."""
        return 0 if self.kind == "scale" else 1 << (self.width - 1)

    @property
    def nan(self) -> int | None:
        """A code of NaN."""
        ones = (1 << (self.exponent_bits + self.mantissa_bits)) - 1
        quiet = ones ^ ((1 << self.mantissa_bits >> 1) - 1) if self.mantissa_bits else ones
        return {"ieee": quiet, "fn": ones, "scale": ones, "fnuz": self.sign_bit, "finite": None}[self.kind]

    @functools.cached_property
    def greatest(self) -> int:
        """The code of the greatest number."""
        ones = (1 << (self.exponent_bits + self.mantissa_bits)) - 1
        if self.kind == "ieee":
            return ones - (1 << self.mantissa_bits)
        return ones - (self.kind in ("fn", "scale"))

    @functools.cached_property
    def least(self) -> Number:
        """The least number beyond zero."""
        return self.decode(0 if self.kind == "scale" else 1)

    def decode(self, code: int) -> Number:
        """The number of a code."""
        size, negative = code & ~self.sign_bit, bool(code & self.sign_bit)
        if self.kind == "fnuz" and code == self.sign_bit:
            return NAN
        if size > self.greatest:
            is_infinite = self.kind == "ieee" and size == self.greatest + 1
            return (-INFINITY if negative else INFINITY) if is_infinite else NAN
        exponent, mantissa = divmod(size, 1 << self.mantissa_bits)
        if self.kind == "scale":
            return Fraction(2) ** (exponent - self.bias)
        if size == 0:
            return NEGATIVE_ZERO if negative else ZERO
        digits = mantissa + (exponent > 0) * (1 << self.mantissa_bits)
        value = digits * Fraction(2) ** (max(exponent, 1) - self.bias - self.mantissa_bits)
        return -value if negative else value

    def encode(self, number: Number) -> int:
        """The code of the nearest number, ties to even."""
        if isinstance(number, float):
            return self._encode_special(number)
        if self.kind == "scale":
            return self._encode_power(number)
        sign = self.sign_bit if number < 0 else 0
        size = self._size(abs(number))
        if size > self.greatest:
            return self._encode_special(-INFINITY if sign else INFINITY)
        return size if size == 0 and self.kind == "fnuz" else size | sign

    def _size(self, number: Fraction) -> int:
        """The code of a positive number; beyond `greatest` where it overflows."""
        exponent = max(_exponent(number), 1 - self.bias)
        quotient, rest = _divided(number, exponent - self.mantissa_bits)
        digits = quotient + (rest > 0 or (rest == 0 and quotient & 1))
        # The leading digit adds one to the exponent's code; subnormal numbers have none.
        return digits + ((exponent + self.bias - 1) << self.mantissa_bits)

    def _encode_special(self, number: float) -> int:
        sign = self.sign_bit if math.copysign(1, number) < 0 else 0
        if math.isnan(number):
            # Types without NaN give -0.
            return self.sign_bit if self.nan is None else self.nan
        if math.isinf(number):
            if self.kind == "ieee":
                return (self.greatest + 1) | sign
            return self.greatest | sign if self.nan is None else self.nan
        if self.kind == "scale":
            assert self.nan is not None
            return self.nan
        return 0 if self.kind == "fnuz" else sign

    def _encode_power(self, number: Fraction) -> int:
        """The nearest power of two; halfway the greater one, for one digit is odd."""
        assert self.nan is not None
        if number < 0:
            return self.nan
        exponent = _exponent(number)
        up = number * 2 >= 3 * Fraction(2) ** exponent
        return min(max(exponent + up + self.bias, 0), self.nan)


def _exponent(number: Fraction) -> int:
    """The greatest e with 2^e <= number."""
    numerator, denominator = number.numerator, number.denominator
    exponent = numerator.bit_length() - denominator.bit_length()
    shifted = numerator << max(-exponent, 0), denominator << max(exponent, 0)
    return exponent if shifted[0] >= shifted[1] else exponent - 1


def _divided(number: Fraction, exponent: int) -> tuple[int, int]:
    """number / 2^exponent as an integer, and how the rest compares with a half: below 0, 0 or above."""
    numerator = number.numerator << max(-exponent, 0)
    denominator = number.denominator << max(exponent, 0)
    quotient, rest = divmod(numerator, denominator)
    return quotient, (2 * rest > denominator) - (2 * rest < denominator)


@dataclass(frozen=True)
class IntegerFormat:
    """An integer format; i1 is unsigned with one bit.

    Attributes:
        name: of the element type.
        width: bits.
        signed: whether in two's complement.
    """

    name: str
    width: int
    signed: bool

    def decode(self, code: int) -> int:
        """The number of a code."""
        code &= (1 << self.width) - 1
        return code - (1 << self.width) if self.signed and code >> (self.width - 1) else code

    def encode(self, number: int) -> int:
        """The code of a number, wrapped."""
        return number & ((1 << self.width) - 1)

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest number."""
        if self.signed:
            return -(1 << (self.width - 1)), (1 << (self.width - 1)) - 1
        return 0, (1 << self.width) - 1


FLOATS = {
    name: FloatFormat(name, *layout)
    for name, layout in {
        "f4E2M1FN": (2, 1, 1, "finite"),
        "f6E2M3FN": (2, 3, 1, "finite"),
        "f6E3M2FN": (3, 2, 3, "finite"),
        "f8E3M4": (3, 4, 3, "ieee"),
        "f8E4M3": (4, 3, 7, "ieee"),
        "f8E4M3FN": (4, 3, 7, "fn"),
        "f8E4M3FNUZ": (4, 3, 8, "fnuz"),
        "f8E4M3B11FNUZ": (4, 3, 11, "fnuz"),
        "f8E5M2": (5, 2, 15, "ieee"),
        "f8E5M2FNUZ": (5, 2, 16, "fnuz"),
        "f8E8M0FNU": (8, 0, 127, "scale"),
        "bf16": (8, 7, 127, "ieee"),
        "f16": (5, 10, 15, "ieee"),
        "f32": (8, 23, 127, "ieee"),
        "f64": (11, 52, 1023, "ieee"),
    }.items()
}
INTEGERS = {
    f"{prefix}{width}": IntegerFormat(f"{prefix}{width}", width, prefix == "i")
    for prefix in ("i", "ui")
    for width in (2, 4, 8, 16, 32, 64)
}
BOOLEAN = IntegerFormat("i1", 1, False)
FORMATS: dict[str, FloatFormat | IntegerFormat] = {"i1": BOOLEAN, **INTEGERS, **FLOATS}
"""Every element type that is neither complex nor quantized."""


@functools.cache
def numbers(name: str) -> list[Number]:
    """The numbers of all codes of a narrow type."""
    format = FORMATS[name]
    return [format.decode(code) for code in range(1 << format.width)]
