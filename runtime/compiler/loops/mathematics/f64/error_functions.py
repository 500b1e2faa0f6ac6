"""erf, erfc and erf_inv.

Below 3/4, erf is a polynomial; from there on erfc is exp(-x^2) times a slowly varying function, a polynomial
in t = 4 / (4 + x). The rounding errors of x^2, of t and of the products are computed as well. erf_inv(x) / x
is one of three polynomials in w = -log(1 - x^2), or in its square root.
"""

from __future__ import annotations

import math

from ..coefficients import (
    ERF_INV_FAR,
    ERF_INV_MIDDLE,
    ERF_INV_NEAR,
    ERF_SLOPE,
    ERFC_MIDDLE,
    EXP,
    FAR_SLOPE,
    HALF_ROOT_PI,
    INVERSE_LOG_OF_2,
    LARGE_ERFC,
    LOG,
    MIDDLE_SLOPE,
    SHORT_LOG_OF_2,
    SMALL_ERF,
)
from ..reals import Real, exact_product, mantissa_and_exponent, polynomial, where
from .exponential import times_power

_ERFC_REACH = 28.0
"""erfc of larger arguments is 0."""

NEAR_END = 5.0
"""-log(1 - x^2) below which the first approximation of erf_inv serves."""

_FAR_START = 14.0
"""-log(1 - x^2) from which on the third approximation of erf_inv serves."""


def _small_erf(x: Real) -> Real:
    """erf(x), for |x| < 3/4."""
    z = x * x
    slope, slope_rest = ERF_SLOPE
    return x + x.fma(slope, x * z.fma(polynomial(z, SMALL_ERF), slope_rest))


def _large_erfc(x: Real) -> Real:
    """erfc(x), for x >= 3/4."""
    x = x.within(None, _ERFC_REACH)
    below = x + 4.0
    t = 4.0 / below
    # The rounding error of t, relative to t.
    t_low = ((-t).fma(below, 4.0) - t * (x - (below - 4.0))) * 0.25
    at = (t - 0.5) + t * t_low
    rising = at * polynomial(at, LARGE_ERFC)
    middle, middle_rest = ERFC_MIDDLE
    scaled = middle + rising
    scaled_low = ((middle - scaled) + rising) + middle_rest
    exp_minus_1, k = _exp_minus_1_of_square(x)
    product, product_low = exact_product(scaled, t)
    product_low = product_low + product.fma(t_low, scaled_low * t)
    rise = product.fma(exp_minus_1, product_low.fma(exp_minus_1, product_low))
    return times_power(product + rise, k)


def _exp_minus_1_of_square(x: Real) -> tuple[Real, Real]:
    """p and k, where exp(-x^2) is 2^k (1 + p)."""
    square, square_low = exact_product(x, x)
    magic = x.layout.magic
    k = (magic - square * INVERSE_LOG_OF_2[0]) - magic
    step, step_rest = SHORT_LOG_OF_2
    r = (-k).fma(step_rest, (-k).fma(step, -square) - square_low)
    return (r * r).fma(polynomial(r, EXP), r), k


def erf(x: Real) -> Real:
    """The error function; error 1.1."""
    magnitude = abs(x)
    value = where(magnitude.compare("<", 0.75), _small_erf(magnitude), 1.0 - _large_erfc(magnitude))
    return value.with_sign_of(x)


def erfc(x: Real) -> Real:
    """1 - erf(x); error 3, where it is small."""
    magnitude = abs(x)
    tail = _large_erfc(magnitude)
    value = where(x.compare("<", 0.0), 2.0 - tail, tail)
    return where(magnitude.compare("<", 0.75), 1.0 - _small_erf(x), value)


def minus_log(y: Real) -> Real:
    """-log(y), for y from 2^-60 to 1; the absolute error is far below 1 ulp of 1."""
    m, e = mantissa_and_exponent(y, math.sqrt(0.5))
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    step, step_rest = SHORT_LOG_OF_2
    product_low = (s * z).fma(polynomial(z, LOG), e * step_rest)
    return -e.fma(step, s.fma(2.0, product_low))


def erf_inv_center(x: Real, w: Real) -> Real:
    """erf_inv(x), for w = -log(1 - x^2) below NEAR_END; error 2.3."""
    slope, slope_rest = HALF_ROOT_PI
    rise = w.fma(polynomial(w - NEAR_END / 2, ERF_INV_NEAR), slope_rest)
    # Zeros keep their signs.
    return x.fma(slope, x * rise).with_sign_of(x)


def erf_inv_tail(x: Real, w: Real) -> Real:
    """erf_inv(x), for other w; error 2.3."""
    root = w.sqrt()
    t = root - 3.0
    middle = t.fma(polynomial(t, ERF_INV_MIDDLE), MIDDLE_SLOPE[1])
    t = root - 5.0
    tail = t.fma(polynomial(t, ERF_INV_FAR), FAR_SLOPE[1])
    is_tail = w.compare(">=", _FAR_START)
    slope = where(is_tail, FAR_SLOPE[0], x.like(MIDDLE_SLOPE[0]))
    return x.fma(slope, x * where(is_tail, tail, middle))


def erf_inv(x: Real, w: Real) -> Real:
    """erf_inv(x), for w = -log(1 - x^2), which is that of 0 unless |x| < 1."""
    magnitude = abs(x)
    value = where(w.compare("<", NEAR_END), erf_inv_center(x, w), erf_inv_tail(x, w))
    pole = where(magnitude.compare("==", 1.0), x.like(math.inf).with_sign_of(x), math.nan)
    return where(magnitude.compare("<", 1.0), value, pole)
