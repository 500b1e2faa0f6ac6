"""erf and its kin. Arguments are values that f32 holds; results are right once rounded to f32 or less."""

from __future__ import annotations

import math

from .coefficients import (
    ERF_DIVIDEND,
    ERF_DIVISOR,
    ERF_INV_DIVIDEND,
    ERF_INV_DIVISOR,
    ERFC_DIVIDEND,
    ERFC_DIVISOR,
    TWO_OVER_ROOT_PI,
)
from .exponential import exp
from .logarithm import positive_log
from .reals import Real, polynomial, where

_ERF_REACH = 3.938
"""Beyond it erf is 1 in f32."""

_ERFC_REACH = 10.2
"""Beyond it erfc is 0 in f32."""


def erf(x: Real) -> Real:
    """The error function; error 0.6 up to 1, then growing to 13 where it is almost 1.

    x times the limit of erf(x) / x, whose digits count most for small x, and what the quotient is less.
    """
    x = x.within(-_ERF_REACH, _ERF_REACH)
    z = x * x
    rest = z * polynomial(z, ERF_DIVIDEND) / polynomial(z, ERF_DIVISOR)
    high, low = TWO_OVER_ROOT_PI
    return x.fma(high, x * (rest + low))


def erfc(x: Real) -> Real:
    """1 - erf(x); error 6.5."""
    near = 1.0 - erf(x)
    a = x.within(0.0, _ERFC_REACH)
    far = exp(-(a * a)) * polynomial(a, ERFC_DIVIDEND) / polynomial(a, ERFC_DIVISOR)
    return where(x.compare(">", 0.5), far, near)


def erf_inv(x: Real) -> Real:
    """The inverse of the error function; error 3."""
    rest = (-x).fma(x, 1.0)
    w = -positive_log(rest)
    value = x * polynomial(w, ERF_INV_DIVIDEND) / polynomial(w, ERF_INV_DIVISOR)
    a = abs(x)
    value = where(a.compare("==", 1.0), value.like(math.inf).with_sign_of(x), value)
    return where(a.compare("<=", 1.0), value, math.nan)
