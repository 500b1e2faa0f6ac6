"""Arithmetic that functions of f64 share, most of it on unevaluated sums of two numbers.

Source: T. J. Dekker, "A floating-point technique for extending the available precision", Numerische
Mathematik 18, 1971.
"""

from __future__ import annotations

import math

from ..reals import DoubleDouble, Real, exact_product, exact_sum, exact_sum_ordered, where


def clamped(x: Real, low: float, high: float) -> Real:
    """The nearest value between two bounds; NaN stays.

    `Real.within` compares twice in a row, of which LLVM makes the fastest code; of this C compilers do.
    """
    return where(x.compare(">", high), high, where(x.compare("<", low), low, x))


def nan_of(x: Real) -> Real:
    """NaN, of NaN that NaN."""
    return where(x.is_number(), math.nan, x + x)


def double(x: Real, value: Real | float, low: Real | float = 0.0) -> DoubleDouble:
    """A number, or a number and what it lacks; x has the type."""
    return DoubleDouble(x.like(value), x.like(low))


def exact_difference(first: Real, second: Real) -> DoubleDouble:
    """The rounded difference and its rounding error."""
    difference = first - second
    shifted = difference - first
    return DoubleDouble(difference, (first - (difference - shifted)) - (second + shifted))


def scaled(value: DoubleDouble, scale: Real) -> DoubleDouble:
    """The product with a power of two."""
    return DoubleDouble(value.high * scale, value.low * scale)


def double_double_sum(first: DoubleDouble, second: DoubleDouble) -> DoubleDouble:
    """first + second."""
    high, low = exact_sum(first.high, second.high)
    return exact_sum_ordered(high, low + (first.low + second.low))


def double_double_product(first: DoubleDouble, second: DoubleDouble) -> DoubleDouble:
    """first * second."""
    product, error = exact_product(first.high, second.high)
    return DoubleDouble(product, error + first.high.fma(second.low, first.low * second.high))


def quotient(dividend: DoubleDouble, divisor: DoubleDouble) -> DoubleDouble:
    """dividend / divisor."""
    high = dividend.high / divisor.high
    rest = (-high).fma(divisor.high, dividend.high)
    return DoubleDouble(high, (rest + (dividend.low - high * divisor.low)) / divisor.high)


def square_root(square: DoubleDouble) -> DoubleDouble:
    """The square root; 0 of 0."""
    high = square.high.sqrt()
    rest = (-high).fma(high, square.high) + square.low
    return DoubleDouble(high, where(high.compare(">", 0.0), rest / (high * 2.0), 0.0))
