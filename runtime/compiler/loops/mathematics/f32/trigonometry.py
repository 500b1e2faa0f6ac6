"""sin, cos and tan in f32, after a reduction of the angle in f64. The errors stated are in ulps of f32."""

from __future__ import annotations

from llvmlite import ir

from .....kernels.named_tuples import NamedTuple
from ...llvm.values import F32, F64, I32, integer
from ..coefficients import FAST_COS, FAST_SIN, FAST_TAN, HALF_PI
from ..reals import Real, by_horner, exact_sum_ordered, rounded_to_integer, square_and_cube, where
from ..trigonometry import is_odd, products_with_two_over_pi

_MULTIPLE = 16.0
"""Turns of a quarter circle that are dropped together: a multiple of 4, so large that dividing by it leaves a
number of which adding 1.5 * 2^52 makes the nearest integer."""


class ReducedAngle(NamedTuple):
    """|x| = turns * pi / 2 + (angle + tail), where |angle| < 0.9 and the tail is small. The number of quarter
    turns is in the lowest bits.
    """

    angle: Real
    tail: Real
    turns: ir.Value


def reduced(x: Real) -> ReducedAngle:
    """|x| less a multiple of pi / 2.

    In the sum of the products either two numbers cancel, and the rest is exact, or their sum loses no more
    than an ulp of f64.
    """
    first, second, third, fourth = products_with_two_over_pi(abs(x).as_type(F64))
    first, second = ((-rounded_to_integer(p, 1 / _MULTIPLE)[0]).fma(_MULTIPLE, p) for p in (first, second))
    k, shifted = rounded_to_integer(first + second, 1.0)
    angle = ((((first - k) + second) + third) + fourth) * HALF_PI[0]
    r = angle.as_type(F32)
    return ReducedAngle(r, (angle - r.as_type(F64)).as_type(F32), x.builder.trunc(shifted, I32))


def _sine_and_cosine(r: Real, tail: Real) -> tuple[Real, Real]:
    z = r * r
    half = z * 0.5
    near = 1.0 - half
    rest = (1.0 - near) - half
    sine = r + (r * z).fma(by_horner(z, FAST_SIN), tail)
    return sine, near + (z * z).fma(by_horner(z, FAST_COS), (-r).fma(tail, rest))


def _sign_bit(x: Real, k: ir.Value) -> ir.Value:
    """The second lowest bit of k as a sign."""
    return x.builder.shl(x.builder.lshr(k, integer(I32, 1)), integer(I32, 31))


def sin(x: Real) -> Real:
    """The sine; error 0.90."""
    return sine_of_reduced(x, reduced(x))


def sine_of_reduced(x: Real, reduced: ReducedAngle) -> Real:
    """The sine of a reduced x."""
    builder = x.builder
    r, tail, k = reduced
    sine, cosine = _sine_and_cosine(r, tail)
    value = where(is_odd(builder, k), cosine, sine)
    sign = builder.xor(_sign_bit(x, k), builder.and_(x.bits(), integer(I32, 1 << 31)))
    return where(x.compare("==", 0.0), x, x.from_bits(builder.xor(value.bits(), sign)))


def cos(x: Real) -> Real:
    """The cosine; error 0.90."""
    return cosine_of_reduced(x, reduced(x))


def cosine_of_reduced(x: Real, reduced: ReducedAngle) -> Real:
    """The cosine of a reduced x."""
    builder = x.builder
    r, tail, k = reduced
    sine, cosine = _sine_and_cosine(r, tail)
    value = where(is_odd(builder, k), sine, cosine)
    sign = _sign_bit(x, builder.add(k, integer(I32, 1)))
    return x.from_bits(builder.xor(value.bits(), sign))


def tan(x: Real) -> Real:
    """The tangent; error 0.97."""
    return tangent_of_reduced(x, reduced(x))


def tangent_of_reduced(x: Real, reduced: ReducedAngle) -> Real:
    """The tangent of a reduced x."""
    builder = x.builder
    r, tail, k = reduced
    z, cube, cube_low = square_and_cube(r)
    # The slope of the tangent is nearly 1 + z + 0.75 z^2.
    rise = tail.fma(z * z.fma(0.75, 1.0), tail)
    p = by_horner(z, FAST_TAN)
    high, low = exact_sum_ordered(r, cube.fma(p, p.fma(cube_low, rise)))
    inverse = -1.0 / high
    # 1 + inverse * (high + low) is the relative error of the inverse.
    turned = inverse.fma(inverse.fma(low, inverse.fma(high, 1.0)), inverse)
    value = where(is_odd(builder, k), turned, high)
    sign = builder.and_(x.bits(), integer(I32, 1 << 31))
    return where(x.compare("==", 0.0), x, x.from_bits(builder.xor(value.bits(), sign)))
