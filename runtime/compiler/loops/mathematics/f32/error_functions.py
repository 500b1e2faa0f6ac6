"""erf and erfc in f32. The errors stated are in ulps of f32."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ..coefficients import FAST_ERF, FAST_ERFC, FAST_ERFC_LINE, FAST_ERFC_VARIABLE, FAST_LOG_ERFC
from ..reals import Real, by_horner, exact_product, exact_sum_ordered, polynomial, scaled, where
from .exponential import exp_of_sum, scale_and_expm1

_NEAR_END = 1.0
"""Arguments up to which a polynomial gives erf; beyond, another one gives log(1 - erf)."""
_SATURATION = 4.0
"""erf of larger arguments is 1."""
_COMPLEMENT_NEAR_END = 0.7
"""Arguments up to which erfc is 1 - erf."""
_COMPLEMENT_REACH = 10.1
"""erfc of larger arguments is 0."""


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
