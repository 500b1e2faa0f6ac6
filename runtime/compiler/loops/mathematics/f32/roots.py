"""The cubic root in f32."""

from __future__ import annotations

from ..coefficients import FAST_INVERSE_CBRT
from ..reals import Real
from ..roots import cbrt_by_inverse

_MIN_NORMAL = 2.0**-126


def cbrt(x: Real) -> Real:
    """The cubic root; error 0.51 ulps of f32."""
    return cbrt_by_inverse(x, _MIN_NORMAL, FAST_INVERSE_CBRT, lambda m, y: y)
