"""log and log1p in f32. The errors stated are in ulps of f32."""

from __future__ import annotations

import math

import numpy as np

from ..coefficients import FAST_LOG, NARROW_LOG_OF_2
from ..logarithm import with_poles
from ..reals import (
    Real,
    exact_sum,
    exact_sum_ordered,
    integral_power_of_two,
    mantissa_and_exponent,
    polynomial,
    times_power,
    where,
)

_MIN_MANTISSA = float(np.float32(math.sqrt(0.5)))
_MIN_NORMAL, _RAISED = 2.0**-126, 24


def _log_of_scaled(f: Real, k: Real, f_low: Real | None = None) -> Real:
    """log((1 + f + f_low) * 2^k), whose large terms k * log(2) and f are added as a sum of two."""
    high, low = NARROW_LOG_OF_2
    # k * high is exact.
    total, lost = exact_sum_ordered(k * high, f)
    rest = k.fma(low, lost)
    if f_low is not None:
        # f_low / (1 + f) is at most half an ulp of f: the first two terms are enough.
        rest = rest + (-f_low).fma(f, f_low)
    z = f * f
    return total + z.fma(-0.5, (z * f).fma(polynomial(f, FAST_LOG), rest))


def log(x: Real) -> Real:
    """The natural logarithm; error 0.86."""
    is_subnormal = x.compare("<", _MIN_NORMAL)
    m, k = mantissa_and_exponent(where(is_subnormal, x * 2.0**_RAISED, x), _MIN_MANTISSA)
    k = where(is_subnormal, k - float(_RAISED), k)
    return with_poles(_log_of_scaled(m - 1.0, k), x, 0.0)


def log1p(x: Real) -> Real:
    """log(1 + x); error 0.87. With 1 + x = (1 + f) * 2^k, f = x * 2^-k + (2^-k - 1)."""
    builder, layout = x.builder, x.layout
    _, k = mantissa_and_exponent(x + 1.0, _MIN_MANTISSA)
    exponent = builder.sub(x.like(layout.magic).bits(), (k + layout.magic).bits())
    # 2^-k may be subnormal, and twice as much is not.
    f, low = exact_sum(integral_power_of_two(1.0 - k).fma(0.5, -1.0), times_power(x, exponent))
    return with_poles(_log_of_scaled(f, k, low), x, -1.0)
