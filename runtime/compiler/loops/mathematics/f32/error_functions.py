"""erf, erfc and the inverse of erf in f32. The errors stated are in ulps of f32."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from llvmlite import ir

from ..coefficients import (
    FAST_ERF,
    FAST_ERF_INV_FAR,
    FAST_ERF_INV_FAR_CENTER,
    FAST_ERF_INV_NEAR,
    FAST_ERF_INV_NEAR_CENTER,
    FAST_ERFC,
    FAST_ERFC_LINE,
    FAST_ERFC_VARIABLE,
    FAST_LOG_ERFC,
)
from ..reals import (
    Real,
    by_horner,
    exact_product,
    exact_sum,
    exact_sum_ordered,
    mantissa_and_exponent,
    polynomial,
    scaled,
    where,
)
from .exponential import exp_of_sum, scale_and_expm1
from .logarithm import MIN_MANTISSA, log_of_scaled

_NEAR_END = 1.0
"""Arguments up to which a polynomial gives erf; beyond, another one gives log(1 - erf)."""
_SATURATION = 4.0
"""erf of larger arguments is 1."""
_COMPLEMENT_NEAR_END = 0.7
"""Arguments up to which erfc is 1 - erf."""
_COMPLEMENT_REACH = 10.1
"""erfc of larger arguments is 0."""
_INVERSE_NEAR_CENTER, _INVERSE_FAR_ROOT = 2.5, 3.25
"""Where the polynomials of the inverse are centered, in -log(1 - x^2) and in its square root."""
_INVERSE_NEAR_END = 5.0
"""Up to which the former one serves."""
_HALF_INVERSE = float(np.float32(-0.0547)), float(np.float32(0.338))
"""A line near 1 / (2 r), where r is the root of numbers from there on."""

_INVERSE_SCALE = 2.0**64
"""Factor of arguments whose product with another number may be subnormal."""


def erf(x: Real) -> Real:
    """The error function; error 0.992."""
    a = abs(x).within(None, _SATURATION)
    near = a.fma(by_horner(a * a, FAST_ERF), a)
    scale, p = scale_and_expm1(by_horner(a, FAST_LOG_ERFC))
    far = (-scale).fma(p, 1.0 - scale)
    return where(a.compare("<", _NEAR_END), near, far).with_sign_of(x)


def erfc(x: Real, scale: Callable[[Real, ir.Value], Real] = scaled) -> Real:
    """1 - erf(x); error 0.93. Beyond the near end it is exp(-x^2) times a number near 1, over a linear
    function.
    """
    z = x * x
    high, low = exact_sum_ordered(1.0, -x)
    near = high + (-x).fma(by_horner(z, FAST_ERF), low)
    a = abs(x).within(None, _COMPLEMENT_REACH)
    far = _tail(a, scale)
    far = where(x.compare("<", 0.0), 2.0 - far, far)
    return where(abs(x).compare("<", _COMPLEMENT_NEAR_END), near, far)


def _tail(a: Real, scale: Callable[[Real, ir.Value], Real]) -> Real:
    """erfc(a), for arguments from the near end on."""
    square, square_low = exact_product(a, a)
    high, low, k = exp_of_sum(-square, -square_low)
    (slope, offset), (shift, center) = FAST_ERFC_LINE, FAST_ERFC_VARIABLE
    # The dividend: exp(-a^2) (1 + correction).
    correction = polynomial(1.0 / (a + shift) - center, FAST_ERFC)
    top, top_low = exact_sum_ordered(high, high.fma(correction, low.fma(correction, low)))
    product, product_low = exact_product(a, slope)
    bottom, bottom_low = exact_sum_ordered(product, offset)
    inverse = 1.0 / bottom
    quotient = top * inverse
    rest = (-quotient).fma(bottom, top) + (-quotient).fma(bottom_low + product_low, top_low)
    return scale(rest.fma(inverse, quotient), k)


def erf_inv(x: Real) -> Real:
    """The inverse of the error function; error 0.8: x times a function of w = -log(1 - x^2), which is nearly
    linear in w up to 5, and in its root beyond.
    """
    m, k = mantissa_and_exponent((-x).fma(x, 1.0), MIN_MANTISSA)
    log, log_low = log_of_scaled(m - 1.0, k)
    w, w_low = exact_sum_ordered(-log, -log_low)
    near, near_low = exact_sum(w, -_INVERSE_NEAR_CENTER)
    root = w.sqrt()
    far, slope = root - _INVERSE_FAR_ROOT, root.fma(*_HALF_INVERSE)
    far_low = ((-root).fma(root, w) + w_low) * slope
    is_near = w.compare("<", _INVERSE_NEAR_END)
    t = where(is_near, near * 0.25, far)
    t_low = where(is_near, (near_low + w_low) * 0.25, far_low)
    rest = where(is_near, near * by_horner(near, FAST_ERF_INV_NEAR), far * by_horner(far, FAST_ERF_INV_FAR))
    center, center_low = (
        where(is_near, x.like(of_near), of_far)
        for of_near, of_far in zip(FAST_ERF_INV_NEAR_CENTER, FAST_ERF_INV_FAR_CENTER, strict=True)
    )
    high, low = exact_sum_ordered(center, t)
    high, low = exact_sum_ordered(high, low + (rest + (center_low + t_low)))
    a = abs(x)
    # The rounding error of the product must not be subnormal.
    is_tiny = a.compare("<", 1 / _INVERSE_SCALE)
    factor = where(is_tiny, x * _INVERSE_SCALE, x)
    value, lost = exact_product(factor, high)
    value = value + factor.fma(low, lost)
    value = where(is_tiny, value * (1 / _INVERSE_SCALE), value)
    value = where(a.compare("==", 1.0), math.inf, value).with_sign_of(x)
    return where(a.compare("<=", 1.0), value, math.nan)
