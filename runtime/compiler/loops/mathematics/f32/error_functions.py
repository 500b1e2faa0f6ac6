"""erf in f32."""

from __future__ import annotations

from ..coefficients import FAST_ERF, FAST_LOG_ERFC
from ..reals import Real, by_horner, where
from .exponential import scale_and_expm1

_NEAR_END = 1.0
"""Arguments up to which a polynomial gives erf; beyond, another one gives log(1 - erf)."""
_SATURATION = 4.0
"""erf of larger arguments is 1."""


def erf(x: Real) -> Real:
    """The error function; error 0.992."""
    a = abs(x).within(None, _SATURATION)
    near = a.fma(by_horner(a * a, FAST_ERF), a)
    scale, p = scale_and_expm1(by_horner(a, FAST_LOG_ERFC))
    far = (-scale).fma(p, 1.0 - scale)
    return where(a.compare("<", _NEAR_END), near, far).with_sign_of(x)
