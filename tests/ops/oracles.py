"""Values of every element type and arithmetic on them, in plain Python."""

from __future__ import annotations

import bisect
import functools
import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from nimblehlo.types import ELEMENT_TYPES, FLOAT, INTEGER, SIGNED

Array = np.ndarray[Any, Any]

INTEGERS = [name for name, declared in ELEMENT_TYPES.items() if declared.category & INTEGER]
FLOATS = [name for name, declared in ELEMENT_TYPES.items() if declared.category == FLOAT]
BYTE_FLOATS = [name for name in FLOATS if ELEMENT_TYPES[name].width <= 8]
COMMON_FLOATS = ["f8E4M3FN", "f8E5M2", "bf16", "f16", "f32", "f64"]


def integer_values(name: str) -> Array:
    """All values of a narrow integer type; of a wide one its extremes and numbers between them."""
    declared = ELEMENT_TYPES[name]
    signed = declared.category == SIGNED
    low = -(1 << (declared.width - 1)) if signed else 0
    high = low + (1 << declared.width) - 1
    if declared.width <= 4:
        numbers = list(range(low, high + 1))
    else:
        chosen = {low, low + 1, high, high - 1, 0, 1, 2, 3, 7, 100, declared.width, declared.width - 1}
        chosen |= {high // 3, high // 2 + 1, high // 7, -1, -2, -3, -100, low // 3}
        numbers = sorted(number for number in chosen if low <= number <= high)
    if declared.width == 64:
        return np.array(numbers, declared.dtype)
    return np.array(numbers, np.int64).astype(declared.dtype)


def wrapped(number: int, name: str) -> int:
    """The value of an integer type that is equal to `number` modulo 2^width."""
    declared = ELEMENT_TYPES[name]
    number &= (1 << declared.width) - 1
    if declared.category == SIGNED and number >> (declared.width - 1):
        number -= 1 << declared.width
    return number


def all_values(name: str) -> Array:
    """Every value of a floating-point type of at most 8 bits."""
    declared = ELEMENT_TYPES[name]
    return np.arange(1 << declared.width).astype(np.uint8).view(declared.dtype)


def float_values(name: str, seed: int = 0) -> Array:
    """Values of a floating-point type: specials, subnormals, extremes, halves, and random ones."""
    declared = ELEMENT_TYPES[name]
    if declared.width <= 8:
        return all_values(name)
    layout = ml_dtypes.finfo(declared.dtype)
    largest, smallest = float(layout.max), float(layout.smallest_subnormal)
    fixed = [0.0, -0.0, math.inf, -math.inf, math.nan, largest, -largest, smallest, -smallest, 1.0, -1.0]
    fixed += [float(layout.tiny), 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.0, -3.0, 0.25, 10.0, -10.0, 88.0, -88.0]
    random = np.random.default_rng(seed)
    bits = random.integers(0, 1 << 62, 60, dtype=np.int64).astype(f"u{declared.dtype.itemsize}")
    values = np.concatenate([np.array(fixed), random.standard_normal(40) * 3]).astype(declared.dtype)
    return np.concatenate([values, bits.view(declared.dtype)])


@functools.cache
def _finite_values(name: str) -> tuple[list[Fraction], list[int]]:
    """The finite values of a type of at most 8 bits, ascending, and their codes."""
    found = {}
    for code, value in enumerate(all_values(name)):
        if math.isfinite(float(value)):
            found.setdefault(Fraction(float(value)), code)
    ordered = sorted(found)
    return ordered, [found[value] for value in ordered]


def nearest(exact: Fraction, name: str) -> float:
    """The value of a floating-point type of at most 8 bits nearest to `exact`; of two the even one.

    Beyond the largest by half a step or more it is what the type makes of infinity.
    """
    values, codes = _finite_values(name)
    step = values[-1] - values[-2]
    beyond = abs(exact) - values[-1]
    if beyond > step / 2 or (beyond == step / 2 and _overflows_at_tie(name)):
        return float(np.array(math.copysign(math.inf, exact)).astype(ELEMENT_TYPES[name].dtype))
    position = bisect.bisect_left(values, exact)
    around = [index for index in (position - 1, position) if 0 <= index < len(values)]
    # Where the only digit of a value is the leading one, it is odd: ties go up.
    one_digit = name == "f8E8M0FNU"
    chosen = min(
        around, key=lambda index: (abs(values[index] - exact), -index if one_digit else codes[index] & 1)
    )
    return float(values[chosen])


def same(a: float, b: float) -> bool:
    """Whether two floats are equal with their sign, or both NaN."""
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))


def _overflows_at_tie(name: str) -> bool:
    """Whether the largest value has an odd last bit, so that a tie above it goes up."""
    declared = ELEMENT_TYPES[name]
    largest = np.array(ml_dtypes.finfo(declared.dtype).max).astype(declared.dtype)
    return bool(int(largest.view(np.uint8)) & 1)


def ulp(value: float, name: str) -> float:
    """The distance of representable numbers at `value`."""
    layout = ml_dtypes.finfo(ELEMENT_TYPES[name].dtype)
    exponent = max(math.frexp(value)[1] - 1 if value else int(layout.minexp), int(layout.minexp))
    return math.ldexp(1.0, exponent - int(layout.nmant))


def assert_within_an_ulp(got: Any, want: float, name: str) -> None:
    """`got` must be `want`, or the nearest number of the type on either side of it."""
    got, largest = float(got), float(ml_dtypes.finfo(ELEMENT_TYPES[name].dtype).max)
    if math.isnan(want):
        assert math.isnan(got), (got, want)
    elif abs(want) > largest - ulp(largest, name):
        with np.errstate(over="ignore"):
            overflow = float(np.array(want).astype(ELEMENT_TYPES[name].dtype))
        assert got in (overflow, math.copysign(largest, want)) or math.isnan(overflow), (got, want)
    else:
        assert abs(got - want) <= ulp(want, name), (got, want, (got - want) / ulp(want, name))
        if want == 0:
            assert got == 0
