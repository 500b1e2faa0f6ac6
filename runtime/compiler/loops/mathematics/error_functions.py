"""erf and related functions of f32 arguments; results are correct once rounded to f32 or less.

CPUs that gather quickly read erf or erfc and its slope at the nearest of evenly spaced places c, and add what
is between: with u = c d and z = d^2 the integral of exp(-t^2) from c to c + d is d exp(-c^2) times that of
exp(-2 u s - z s^2) over s from 0 to 1, a series in u and z.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

from ....kernels.launch.processor import has_fast_gather
from .coefficients import (
    ERF_DIVIDEND,
    ERF_DIVISOR,
    ERF_INV_DIVIDEND,
    ERF_INV_DIVISOR,
    ERFC_DIVIDEND,
    ERFC_DIVISOR,
    HALF_ROOT_PI,
    TWO_OVER_ROOT_PI,
)
from .exponential import exp
from .logarithm import positive_log
from .reals import Real, bits_of, looked_up, polynomial, rounded_to_integer, where

ERF_REACH = 3.938
"""erf of larger arguments is 1 in f32."""

_ERFC_REACH = 10.2
"""erfc of larger arguments is 0 in f32."""

_ENTRIES_PER_UNIT = 128
"""Entries of the tables in each interval of length 1."""

_ERF_DEGREES, _ERFC_DEGREES = (4, 2, 1), (7, 5, 2)
"""The degrees in u of the coefficients of 1, z and z^2, in the series between two entries."""


def erf(x: Real) -> Real:
    """The error function; error 0.6 up to 1, then growing to 13 where it is almost 1; by table 2.5.

    x times the limit of erf(x) / x, whose digits count most for small x, and what the quotient is less.
    """
    if has_fast_gather():
        at, slope, mean = _next_to(abs(x).within(None, ERF_REACH), "erf", _ERF_DEGREES)
        return slope.fma(mean, at).with_sign_of(x)
    return erf_by_quotient(x.within(-ERF_REACH, ERF_REACH))


def erf_by_quotient(x: Real) -> Real:
    """The error function without a table, for |x| <= ERF_REACH."""
    z = x * x
    correction = z * polynomial(z, ERF_DIVIDEND) / polynomial(z, ERF_DIVISOR)
    high, low = TWO_OVER_ROOT_PI
    return x.fma(high, x * (correction + low))


def erfc(x: Real) -> Real:
    """1 - erf(x); error 7.4, by table 1."""
    if has_fast_gather():
        at, slope, mean = _next_to(abs(x).within(None, _ERFC_REACH), "erfc", _ERFC_DEGREES)
        value = (-slope).fma(mean, at)
        return where(x.compare("<", 0.0), 2.0 - value, value)
    return erfc_by_quotient(x, lambda exponent: exp(exponent, lower=None, upper=None))


def erfc_by_quotient(x: Real, power: Callable[[Real], Real]) -> Real:
    """1 - erf(x) without a table; `power` is exp, for arguments from -105 to 0."""
    a = abs(x).within(None, _ERFC_REACH)
    value = power(-(a * a)) * polynomial(a, ERFC_DIVIDEND) / polynomial(a, ERFC_DIVISOR)
    return where(x.compare("<", 0.0), 2.0 - value, value)


def erf_inv(x: Real) -> Real:
    """The inverse of the error function; error 1.5."""
    correction = (-x).fma(x, 1.0)
    w = -positive_log(correction)
    quotient = polynomial(w, ERF_INV_DIVIDEND) / polynomial(w, ERF_INV_DIVISOR)
    slope, slope_rest = HALF_ROOT_PI
    value = x.fma(slope, x * w.fma(quotient, slope_rest)).with_sign_of(x)
    a = abs(x)
    value = where(a.compare("==", 1.0), value.like(math.inf).with_sign_of(x), value)
    return where(a.compare("<=", 1.0), value, math.nan)


def _next_to(a: Real, name: str, degrees: Sequence[int]) -> tuple[Real, Real, Real]:
    """The function at the place next to a, and two factors of how much erf rises from there to a."""
    k, bits = rounded_to_integer(a, float(_ENTRIES_PER_UNIT))
    entry_count = math.ceil((ERF_REACH if name == "erf" else _ERFC_REACH) * _ENTRIES_PER_UNIT) + 1
    at = a.from_bits(looked_up(a.builder, f"{name}_values", _values(name, entry_count), bits))
    slope = a.from_bits(looked_up(a.builder, f"{name}_slopes", _values("slopes", entry_count), bits))
    d = (-k).fma(1 / _ENTRIES_PER_UNIT, a)
    u, z = k * d, d * d
    mean = polynomial(u, _mean_decay(degrees[-1], len(degrees) - 1))
    for power in reversed(range(len(degrees) - 1)):
        mean = z.fma(mean, polynomial(u, _mean_decay(degrees[power], power)))
    return at, slope * d, mean


def _mean_decay(degree: int, power: int) -> list[float]:
    """The coefficients of 1, _ENTRIES_PER_UNIT u, (_ENTRIES_PER_UNIT u)^2, ... in the coefficient of z^power
    of the integral of exp(-2 u s - z s^2) over s from 0 to 1.
    """
    sign = (-1) ** power
    divisors = [math.factorial(j) * math.factorial(power) * (j + 2 * power + 1) for j in range(degree + 1)]
    return [sign * (-2 / _ENTRIES_PER_UNIT) ** j / divisor for j, divisor in enumerate(divisors)]


_DIGITS = 256
"""Fractional bits of the numbers from which tables are computed; the first 154 of erfc(10.2) are zeros."""


@functools.cache
def _values(name: str, entry_count: int) -> tuple[int, ...]:
    """The bits of "erf", "erfc" or their "slopes" at the entries, then zeros up to a power of two."""
    slopes, complements = _slopes_and_complements()
    one = 1 << _DIGITS
    samples = {"slopes": slopes, "erfc": complements, "erf": [one - value for value in complements]}[name]
    entries = [bits_of(value / one) for value in samples[:entry_count]]
    return (*entries, *[0] * ((1 << (entry_count - 1).bit_length()) - entry_count))


@functools.cache
def _slopes_and_complements() -> tuple[list[int], list[int]]:
    """The slope of erf and the value of erfc, times 2^_DIGITS, at each table entry up to 13; beyond, both are
    0."""
    bell = _bell(2 * _ENTRIES_PER_UNIT, 13)
    complements = [0]
    for middle in reversed(range(1, len(bell), 2)):
        complements.append(complements[-1] + (bell[middle] * _interval_mean(middle) >> _DIGITS))
    complements.reverse()
    scale = complements[0]
    slopes = [(value * _ENTRIES_PER_UNIT << _DIGITS) // scale for value in bell[::2]]
    return slopes, [(value << _DIGITS) // scale for value in complements]


def _bell(steps: int, reach: int) -> list[int]:
    """exp(-x^2) at x = 0, 1 / steps, 2 / steps, ... up to the reach, times 2^_DIGITS."""
    ratio = term = one = 1 << _DIGITS
    order = 1
    while term:
        term = -(term // (steps * steps * order))
        ratio, order = ratio + term, order + 1
    values, square = [one], ratio * ratio >> _DIGITS
    for _ in range(steps * reach):
        values.append(values[-1] * ratio >> _DIGITS)
        ratio = ratio * square >> _DIGITS
    return values


def _interval_mean(center: int) -> int:
    """The mean of exp(m^2 - x^2) over the step whose middle m is that many half steps, times 2^_DIGITS.

    It is the sum for even n of H(n, m) / ((2 _ENTRIES_PER_UNIT)^n (n + 1)!) with Hermite's polynomials, of
    which H(n + 1, m) = 2 m H(n, m) - 2 n H(n - 1, m).
    """
    last, value = 0, 1 << _DIGITS
    total, order = value, 0
    while abs(last) + abs(value) >> (_DIGITS - 72):
        order += 1
        last, value = value, (center * value - last) // (2 * _ENTRIES_PER_UNIT * _ENTRIES_PER_UNIT * order)
        if order % 2 == 0:
            total += value // (order + 1)
    return total
