"""Values of every element type and arithmetic on them, in plain Python."""

from __future__ import annotations

import bisect
import functools
import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from nimblehlo.checks.fuzzing.edge_values import all_values as all_values
from nimblehlo.checks.fuzzing.edge_values import float_values as float_values
from nimblehlo.checks.fuzzing.edge_values import integer_values as integer_values
from nimblehlo.types import ELEMENT_TYPES, FLOAT, INTEGER, SIGNED

Array = np.ndarray[Any, Any]

INTEGERS = [name for name, declared in ELEMENT_TYPES.items() if declared.category & INTEGER]
FLOATS = [name for name, declared in ELEMENT_TYPES.items() if declared.category == FLOAT]
BYTE_FLOATS = [name for name in FLOATS if ELEMENT_TYPES[name].width <= 8]
COMMON_FLOATS = ["f8E4M3FN", "f8E5M2", "bf16", "f16", "f32", "f64"]


def wrapped(number: int, name: str) -> int:
    """The value of an integer type that is equal to `number` modulo 2^width."""
    declared = ELEMENT_TYPES[name]
    number &= (1 << declared.width) - 1
    if declared.category == SIGNED and number >> (declared.width - 1):
        number -= 1 << declared.width
    return number


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
