"""What conversions and operations give, on numbers as `formats` has them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from .formats import BOOLEAN, INFINITY, NAN, ZERO, FloatFormat, IntegerFormat, Number

_ROOT_DIGITS = 600
"""Digits of a root after its point, more than those of any format; one more says whether there are others."""


def converted(source: FloatFormat | IntegerFormat, target: FloatFormat | IntegerFormat, code: int) -> int:
    """The code that `convert` gives for a code."""
    number: Any = source.decode(code)
    if target is BOOLEAN:
        return int(isinstance(number, Fraction) or number != 0)
    if isinstance(source, IntegerFormat):
        if isinstance(target, IntegerFormat):
            return target.encode(number)
        return target.encode(Fraction(number) if number else ZERO)
    if isinstance(target, FloatFormat):
        return target.encode(number)
    low, high = target.limits
    if isinstance(number, float):
        if math.isinf(number):
            return target.encode(high if number > 0 else low)
        return 0
    return target.encode(min(max(math.trunc(number), low), high))


def _class(number: Number) -> float:
    """A float of the same sign and kind."""
    if isinstance(number, float):
        return number
    return 1.0 if number > 0 else -1.0


def _signed_zero(like: Number) -> float:
    return math.copysign(0.0, _class(like))


def add(a: Number, b: Number) -> Number:
    """a + b; a zero of two opposite numbers is positive."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a + b or ZERO
    if isinstance(a, Fraction) and b == 0:
        return a
    if isinstance(b, Fraction) and a == 0:
        return b
    return _class(a) + _class(b)


def subtract(a: Number, b: Number) -> Number:
    """a - b."""
    return add(a, -b)


def multiply(a: Number, b: Number) -> Number:
    """a * b."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a * b
    return _class(a) * _class(b)


def divide(a: Number, b: Number) -> Number:
    """a / b."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a / b
    if b == 0:
        return NAN if a == 0 or a != a else math.copysign(INFINITY, _class(a) * math.copysign(1, _class(b)))
    return _class(a) / _class(b)


def remainder(a: Number, b: Number) -> Number:
    """What is left of a after division by b, with the sign of a."""
    if a != a or b != b or b == 0 or a in (INFINITY, -INFINITY):
        return NAN
    if a == 0 or b in (INFINITY, -INFINITY):
        return a
    assert isinstance(a, Fraction) and isinstance(b, Fraction)
    return a - math.trunc(a / b) * b or _signed_zero(a)


def _key(number: Number) -> tuple[Number, float]:
    return (number, math.copysign(1, _class(number)))


def maximum(a: Number, b: Number) -> Number:
    """The greater one; NaN where either is, and -0 is less than 0."""
    return NAN if a != a or b != b else max(a, b, key=_key)


def minimum(a: Number, b: Number) -> Number:
    """The lesser one; NaN where either is, and -0 is less than 0."""
    return NAN if a != a or b != b else min(a, b, key=_key)


def square_root(a: Number) -> Number:
    """The root, with more digits than any format has, and one more where it does not end there."""
    if isinstance(a, float):
        return NAN if a < 0 else math.sqrt(a) if math.isfinite(a) else a
    if a < 0:
        return NAN
    scaled = (a.numerator << (2 * _ROOT_DIGITS)) // a.denominator
    root = math.isqrt(scaled)
    exact = root * root * a.denominator == a.numerator << (2 * _ROOT_DIGITS)
    return Fraction(2 * root + (not exact), 2 << _ROOT_DIGITS)


def _integral(function: Callable[[Fraction], int]) -> Callable[[Number], Number]:
    def compute(a: Number) -> Number:
        if isinstance(a, float):
            return a
        return Fraction(function(a)) or _signed_zero(a)

    return compute


def _away(a: Fraction) -> int:
    size = math.floor(abs(a) + Fraction(1, 2))
    return size if a > 0 else -size


def sign(a: Number) -> Number:
    """-1, 1, a zero as it is, or NaN."""
    return Fraction(1 if a > 0 else -1) if a != 0 and a == a else _class(a)


FLOAT_UNARY: dict[str, Callable[[Number], Number]] = {
    "abs": lambda a: abs(a),
    "ceil": _integral(math.ceil),
    "floor": _integral(math.floor),
    "negate": lambda a: -a,
    "round_nearest_afz": _integral(_away),
    "round_nearest_even": _integral(round),
    "sign": sign,
    "sqrt": square_root,
}
FLOAT_BINARY: dict[str, Callable[[Number, Number], Number]] = {
    "add": add,
    "divide": divide,
    "maximum": maximum,
    "minimum": minimum,
    "multiply": multiply,
    "remainder": remainder,
    "subtract": subtract,
}
DIRECTIONS: dict[str, Callable[[Any, Any], bool]] = {
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "GE": lambda a, b: a >= b,
    "GT": lambda a, b: a > b,
    "LE": lambda a, b: a <= b,
    "LT": lambda a, b: a < b,
}


def total_order_key(format: FloatFormat, code: int) -> tuple[int, Number, int]:
    """What orders codes by IEEE-754's totalOrder: NaNs by their payloads beyond all numbers of their sign."""
    number = format.decode(code)
    if format.kind == "fnuz":
        # The place of the one NaN is open; here it is first.
        return (-1, 0, 0) if number != number else (0, number, 0)
    side = -1 if code & format.sign_bit else 1
    return (side, 0, side * (code & ~format.sign_bit)) if number != number else (0, number, side)


def next_after(format: FloatFormat, a: int, b: int) -> int | None:
    """The code next to a's on the way to b's number, b's where the numbers are equal; None is any NaN."""
    x, y = format.decode(a), format.decode(b)
    if x != x or y != y:
        return None
    if x == y:
        return b
    if abs(x) == format.least and (y > x) != (x > 0):
        return format.encode(_signed_zero(x))
    if x == 0:
        return 1 | (0 if y > 0 else format.sign_bit)
    return a + (1 if (y > x) == (x > 0) else -1)


def _step(format: FloatFormat, exact: Number) -> Number:
    """A number as the format holds it."""
    return format.decode(format.encode(exact))


def _in(format: FloatFormat, number: float) -> Number:
    return _step(format, Fraction(number) if number else ZERO)


def quantized(format: FloatFormat, number: Number, low: int, high: int, scale: float, zero_point: int) -> int:
    """The stored value of a number: each step is rounded to the expressed type; NaN becomes 0."""
    scaled = _step(format, divide(number, _in(format, scale)))
    shifted = _step(format, add(scaled, _in(format, zero_point)))
    clamped = minimum(maximum(shifted, _in(format, low)), _in(format, high))
    if clamped != clamped:
        return 0
    # The limits may be rounded, even to infinity, on their way to the expressed type.
    return high if clamped > high else low if clamped < low else round(clamped)


def dequantized(format: FloatFormat, stored: int, scale: float, zero_point: int) -> Number:
    """The number of a stored value."""
    return multiply(_in(format, stored - zero_point), _in(format, scale))


def _divide_integers(format: IntegerFormat, a: int, b: int) -> int:
    """The quotient without its fraction; by zero all bits are set."""
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _power(format: IntegerFormat, a: int, b: int) -> int:
    """a to the b; the reciprocal without its fraction where b is negative."""
    if b >= 0:
        return pow(a, b, 1 << (2 * format.width))
    return {1: 1, -1: -1 if b & 1 else 1}.get(a, 0)


def _shift(format: IntegerFormat, a: int, b: int, kind: str) -> int:
    """A shift; a negative amount counts as unsigned, and so as too great."""
    amount, code = min(format.encode(b), 2 * format.width), format.encode(a)
    if kind == "left":
        return code << amount
    if kind == "right":
        return code >> amount
    return (code - (code >> (format.width - 1) << format.width)) >> amount


INTEGER_UNARY: dict[str, Callable[[IntegerFormat, int], int]] = {
    "abs": lambda _, a: abs(a),
    "count_leading_zeros": lambda format, a: format.width - format.encode(a).bit_length(),
    "negate": lambda _, a: -a,
    "not": lambda _, a: ~a,
    "popcnt": lambda format, a: format.encode(a).bit_count(),
    "sign": lambda _, a: (a > 0) - (a < 0),
}
INTEGER_BINARY: dict[str, Callable[[IntegerFormat, int, int], int]] = {
    "add": lambda _, a, b: a + b,
    "and": lambda _, a, b: a & b,
    "divide": _divide_integers,
    "maximum": lambda _, a, b: max(a, b),
    "minimum": lambda _, a, b: min(a, b),
    "multiply": lambda _, a, b: a * b,
    "or": lambda _, a, b: a | b,
    "power": _power,
    "remainder": lambda f, a, b: a - _divide_integers(f, a, b) * b,
    "shift_left": lambda f, a, b: _shift(f, a, b, "left"),
    "shift_right_arithmetic": lambda f, a, b: _shift(f, a, b, "arithmetic"),
    "shift_right_logical": lambda f, a, b: _shift(f, a, b, "right"),
    "subtract": lambda _, a, b: a - b,
    "xor": lambda _, a, b: a ^ b,
}
