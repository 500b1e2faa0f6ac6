"""The logarithm of the gamma function, and its derivative.

Arguments are values that f32 holds; results are right once rounded to f32 or less, except for digamma of few
numbers below 0.
"""

from __future__ import annotations

import math

from .coefficients import COT_PI, DIGAMMA, DIGAMMA_FAR, DIGAMMA_ROOT, LGAMMA, LGAMMA_FAR, SIN_PI
from .logarithm import positive_log
from .reals import Real, polynomial, where

_FAR = 6.5
"""Stirling's formula and its derivative are used for larger arguments."""


def lgamma(x: Real) -> Real:
    """The logarithm of the gamma function's absolute value; error 3, below 0 absolute, in ulps of the terms.

    Below 0 it is log(pi / (|x| sin(pi |x|))) - lgamma(|x|).
    """
    a = abs(x)
    above = _positive_lgamma(a)
    distance = abs(a - a.rint())
    sine = distance * polynomial(distance * distance, SIN_PI)
    below = (math.log(math.pi) - positive_log(a * sine)) - above
    value = where(x.compare("<", 0.0), where(sine.compare("==", 0.0), math.inf, below), above)
    is_infinite = a.compare("==", 0.0) | a.compare("==", math.inf)
    return where(is_infinite, math.inf, where(x.is_nan(), x, value))


def _positive_lgamma(a: Real) -> Real:
    """lgamma of a positive number: from that of a + 2, a + 1 or a - n, which is 2 + t with |t| <= 1/2."""
    is_small, is_least, is_far = a.compare("<", 1.5), a.compare("<", 0.5), a.compare(">=", _FAR)
    near, product = a, a.like(1.0)
    for threshold in (2.5, 3.5, 4.5, 5.5):
        beyond, less = a.compare(">=", threshold), near - 1.0
        near, product = where(beyond, less, near), where(beyond, product * less, product)
    t = where(is_small, where(is_least, a, a - 1.0), near - 2.0)
    factor = where(is_small, where(is_least, a * (a + 1.0), a), product)
    log = positive_log(where(is_far, a, factor))
    value = t.fma(polynomial(t, LGAMMA), where(is_small, -log, log))
    inverse = 1.0 / a
    rest = inverse.fma(polynomial(inverse * inverse, LGAMMA_FAR), math.log(2 * math.pi) / 2 - 0.5)
    return where(is_far, (a - 0.5).fma(log - 1.0, rest), value)


def digamma(x: Real) -> Real:
    """The derivative of lgamma; error 3, below 0 absolute, in ulps of the terms.

    Below 0 it is digamma(1 - x) - pi cot(pi x), and NaN at its poles; at 0 and -0 it is -infinity.
    """
    is_negative = x.compare("<", 0.0)
    above = _positive_digamma(where(is_negative, 1.0 - x, x))
    rest = x - x.rint()
    z = rest * rest
    cotangent = z.fma(polynomial(z, COT_PI), 1.0) / rest
    value = where(is_negative, above - cotangent, above)
    is_pole = is_negative & rest.compare("==", 0.0)
    value = where(x.compare("==", math.inf), x, value)
    value = where(x.compare("==", 0.0), -math.inf, value)
    return where(is_pole | x.compare("==", -math.inf), math.nan, value)


def _positive_digamma(a: Real) -> Real:
    """digamma of a positive number: from that of a + 1 or a - n, which lies between 1 and 2."""
    is_small, is_far = a.compare("<", 1.0), a.compare(">=", _FAR)
    near = where(is_small, a + 1.0, a)
    # The sum of the reciprocals of a - 1, ..., a - n as one quotient.
    dividend, divisor = where(is_small, -1.0, a.like(0.0)), where(is_small, a, a.like(1.0))
    for threshold in (2.0, 3.0, 4.0, 5.0, 6.0):
        beyond, less = a.compare(">=", threshold), near - 1.0
        dividend = where(beyond, dividend.fma(less, divisor), dividend)
        divisor = where(beyond, divisor * less, divisor)
        near = where(beyond, less, near)
    quotient = where(is_far, 1.0, dividend) / where(is_far, a, divisor)
    high, low = DIGAMMA_ROOT
    value = ((near - high) - low).fma(polynomial(near - 1.5, DIGAMMA), quotient)
    square = quotient * quotient
    far = positive_log(a) - quotient.fma(0.5, square * polynomial(square, DIGAMMA_FAR))
    return where(is_far, far, value)
