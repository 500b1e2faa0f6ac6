"""The bit layouts of floats narrower than f32.

Source: specification, section "Types"; the formats are those of the OCP and FNUZ eight-bit floats.
"""

from __future__ import annotations

import math
from typing import Final

from ....kernels.named_tuples import NamedTuple
from ....types import ElementType


class Format(NamedTuple):
    """A float format narrower than f32 with a sign bit.

    Attributes:
        exponent_bits, mantissa_bits, bias: of its encoding.
        specials: the special values: "infinities" and NaNs as in IEEE-754, one "nan" for each sign,
            "unsigned nan" instead of -0, or "none".
    """

    exponent_bits: int
    mantissa_bits: int
    bias: int
    specials: str

    @property
    def dropped(self) -> int:
        """The number of mantissa bits by which f32 exceeds the format."""
        return 23 - self.mantissa_bits

    @property
    def sign_shift(self) -> int:
        """Position of the sign bit."""
        return self.exponent_bits + self.mantissa_bits

    @property
    def max_bit_pattern(self) -> int:
        """The bit pattern of the largest finite value."""
        count = 1 << self.sign_shift
        if self.specials == "infinities":
            return count - (1 << self.mantissa_bits) - 1
        return count - 2 if self.specials == "nan" else count - 1

    @property
    def max_value(self) -> float:
        """The largest finite value."""
        return self.value_of(self.max_bit_pattern)

    @property
    def overflow(self) -> float:
        """The midpoint of the largest finite value and its successor with an unbounded exponent."""
        return (self.max_value + self.value_of(self.max_bit_pattern + 1)) / 2

    @property
    def min_normal(self) -> float:
        """The smallest positive normal value."""
        return math.ldexp(1.0, 1 - self.bias)

    def value_of(self, bit_pattern: int) -> float:
        """The value of a bit pattern with sign bit 0, if none were special."""
        exponent, mantissa = divmod(bit_pattern, 1 << self.mantissa_bits)
        if exponent:
            mantissa += 1 << self.mantissa_bits
        return math.ldexp(mantissa, max(exponent, 1) - self.bias - self.mantissa_bits)


FORMATS: Final = {
    "f4E2M1FN": Format(2, 1, 1, "none"),
    "f6E2M3FN": Format(2, 3, 1, "none"),
    "f6E3M2FN": Format(3, 2, 3, "none"),
    "f8E3M4": Format(3, 4, 3, "infinities"),
    "f8E4M3": Format(4, 3, 7, "infinities"),
    "f8E4M3FN": Format(4, 3, 7, "nan"),
    "f8E4M3FNUZ": Format(4, 3, 8, "unsigned nan"),
    "f8E4M3B11FNUZ": Format(4, 3, 11, "unsigned nan"),
    "f8E5M2": Format(5, 2, 15, "infinities"),
    "f8E5M2FNUZ": Format(5, 2, 16, "unsigned nan"),
    "f16": Format(5, 10, 15, "infinities"),
}
"""The formats with a sign whose exponents are narrower than those of f32.

`kernels.simd.narrow_floats` converts f16; this table converts the others.
"""


def has_ordered_bit_patterns(type: ElementType) -> bool:
    """Whether bit patterns of each sign begin at a zero, and the next one is the next larger magnitude."""
    if type.name == "f8E8M0FNU":
        return False
    return type.name not in FORMATS or FORMATS[type.name].specials != "unsigned nan"
