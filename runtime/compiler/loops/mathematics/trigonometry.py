"""Circular functions and their inverses. Arguments are values that f32 holds, however great."""

from __future__ import annotations

import math
from collections.abc import Callable

from llvmlite import ir

from ..llvm.values import BIT, I64, integer
from .coefficients import (
    ASIN,
    ATAN,
    ATAN_OF_HALF,
    ATAN_OF_ONE,
    ATAN_OF_THREE_HALVES,
    COS,
    HALF_PI,
    SIN,
    TWO_OVER_PI,
)
from .reals import (
    Condition,
    Real,
    exact_product,
    exact_sum,
    exact_sum_ordered,
    polynomial,
    rounded_to_integer,
    where,
)

_CHUNK_BITS = 29


def _reduced(x: Real) -> tuple[Real, Real, ir.Value]:
    """|x| as k * pi / 2 + (r + tail), |r| <= pi / 4; the lowest bits of the third are those of k."""
    first, second, third, fourth = products_with_two_over_pi(abs(x))
    first, second = (p - (p * 0.25).rint() * 4.0 for p in (first, second))
    high, low = exact_sum(first, second)
    k, exponent = rounded_to_integer(high + third, 1.0)
    turns, turns_low = exact_sum(high - k, third)
    low = low + turns_low + fourth
    angle, angle_low = exact_product(turns, HALF_PI[0])
    angle_low = angle_low + turns.fma(HALF_PI[1], low * HALF_PI[0])
    r, tail = exact_sum_ordered(angle, angle_low)
    return r, tail, exponent


def products_with_two_over_pi(a: Real) -> list[Real]:
    """Numbers whose sum is a * 2 / pi, up to a multiple of 4, for a that f32 holds and is not negative.

    Digits of 2 / pi whose product with a is a multiple of 4 do not count, and of the others 116 bits do. With
    the 24 bits of a each product of a chunk of 29 bits is exact.
    """
    chunks = [a.like(TWO_OVER_PI[j]) for j in range(4)]
    for skipped in (1, 2, 3):
        large = a.compare(">=", 2.0 ** (25 + _CHUNK_BITS * skipped))
        chunks = [where(large, TWO_OVER_PI[j + skipped], chunk) for j, chunk in enumerate(chunks)]
    return [a * chunk for chunk in chunks]


def _sine_and_cosine(r: Real, tail: Real) -> tuple[Real, Real]:
    z = r * r
    sine = r + tail.fma(z.fma(-0.5, 1.0), r * z * polynomial(z, SIN))
    half = z * 0.5
    near = 1.0 - half
    rest = (1.0 - near) - half
    return sine, near + (rest + (z * z).fma(polynomial(z, COS), -(r * tail)))


def is_odd(builder: ir.IRBuilder, k: ir.Value) -> Condition:
    """Whether the lowest bit of an integer is set."""
    return Condition(builder, builder.trunc(k, BIT))


def negated(value: Real, k: ir.Value) -> Real:
    """The value, negated where the second lowest bit of k is set."""
    builder = value.builder
    sign = builder.shl(builder.lshr(k, integer(I64, 1)), integer(I64, 63))
    return value.from_bits(builder.xor(value.bits(), sign))


def sin(x: Real) -> Real:
    """The sine; error 0.65."""
    r, tail, k = _reduced(x)
    sine, cosine = _sine_and_cosine(r, tail)
    value = negated(where(is_odd(x.builder, k), cosine, sine), k)
    return where(x.compare("<", 0.0), -value, where(x.compare("==", 0.0), x, value))


def cos(x: Real) -> Real:
    """The cosine; error 0.7."""
    r, tail, k = _reduced(x)
    sine, cosine = _sine_and_cosine(r, tail)
    value = where(is_odd(x.builder, k), sine, cosine)
    return negated(value, x.builder.add(k, integer(I64, 1)))


def tan(x: Real) -> Real:
    """The tangent; error 1.3."""
    r, tail, k = _reduced(x)
    sine, cosine = _sine_and_cosine(r, tail)
    odd = is_odd(x.builder, k)
    value = where(odd, -cosine, sine) / where(odd, sine, cosine)
    return where(x.compare("<", 0.0), -value, where(x.compare("==", 0.0), x, value))


def _angle(y: Real, x: Real) -> tuple[Real, Real]:
    """The angle of the point (x, y) as a sum; neither is negative, and one of them is finite and not zero.

    It is atan(t) + atan((y - t x) / (x + t y)), with t the nearest of 0, 1/2, 1, 3/2 and infinity.
    """
    dividend, divisor = y, x
    base, base_low = y.like(0.0), y.like(0.0)
    steps = (
        (7 / 16, 0.5, ATAN_OF_HALF),
        (11 / 16, 1.0, ATAN_OF_ONE),
        (19 / 16, 1.5, ATAN_OF_THREE_HALVES),
        (39 / 16, None, HALF_PI),
    )
    for threshold, t, angle in steps:
        beyond = y.compare(">", x * threshold)
        dividend = where(beyond, -x if t is None else x.fma(-t, y), dividend)
        divisor = where(beyond, y if t is None else y.fma(t, x), divisor)
        base, base_low = where(beyond, angle[0], base), where(beyond, angle[1], base_low)
    z = dividend / divisor
    square = z * z
    rest = z.fma(square * polynomial(square, ATAN), base_low)
    high, low = exact_sum_ordered(base, z)
    return high, low + rest


def atan(x: Real) -> Real:
    """The angle whose tangent is x; error 0.55."""
    high, low = _angle(abs(x).within(None, 2.0**200), x.like(1.0))
    return (high + low).with_sign_of(x)


def atan2(y: Real, x: Real) -> Real:
    """The angle of the point (x, y); error 0.8."""
    a, b = abs(y), abs(x)
    both_infinite = a.compare("==", math.inf) & b.compare("==", math.inf)
    a, b = where(both_infinite, 1.0, a), where(both_infinite, 1.0, b)
    a, b = a.within(None, 2.0**400), b.within(None, 2.0**400)
    both_zero = a.compare("==", 0.0) & b.compare("==", 0.0)
    high, low = _angle(a, where(both_zero, 1.0, b))
    left, left_low = exact_sum_ordered(high.like(2 * HALF_PI[0]), -high)
    behind = left + (left_low + (2 * HALF_PI[1] - low))
    return where(x.has_sign(), behind, high + low).with_sign_of(y)


def half_angle(
    x: Real, series: Callable[[Real], Real], tiny_root: float
) -> tuple[Real, Real, Condition]:
    """asin(|x|) for |x| <= 1/2, beyond asin(sqrt((1 - |x|) / 2)); as a sum, and whether it is beyond.

    Args:
        x: a number of at most 1.
        series: (asin(t) - t) / t^3, of z = t^2 <= 1/4.
        tiny_root: is added to a root, which avoids a division of zero by zero and changes no other root.
    """
    a = abs(x)
    beyond = a.compare(">", 0.5)
    half = (1.0 - a) * 0.5
    root = half.sqrt()
    z = where(beyond, half, a * a)
    t = where(beyond, root, a)
    # The rounding error of the root.
    root_low = (-root).fma(root, half) / (root * 2.0 + tiny_root)
    return t, (t * z).fma(series(z), where(beyond, root_low, 0.0)), beyond


def _half_angle(x: Real) -> tuple[Real, Real, Condition]:
    return half_angle(x, lambda z: polynomial(z, ASIN), 2.0**-1000)


def asin(x: Real) -> Real:
    """The angle whose sine is x; error 0.55."""
    t, rest, beyond = _half_angle(x)
    high, low = exact_sum_ordered(t.like(HALF_PI[0]), t * -2.0)
    far = high + (low + (HALF_PI[1] - rest * 2.0))
    return where(beyond, far, t + rest).with_sign_of(x)


def acos(x: Real) -> Real:
    """The angle whose cosine is x; error 0.55."""
    t, rest, beyond = _half_angle(x)
    negative = x.compare("<", 0.0)
    signed, signed_rest = where(negative, -t, t), where(negative, -rest, rest)
    high, low = exact_sum_ordered(t.like(HALF_PI[0]), -signed)
    near = high + (low + (HALF_PI[1] - signed_rest))
    left, left_low = exact_sum_ordered(t.like(2 * HALF_PI[0]), t * -2.0)
    far_left = left + (left_low + (2 * HALF_PI[1] - rest * 2.0))
    return where(beyond, where(negative, far_left, (t + rest) * 2.0), near)
