"""The approximations in `loops/mathematics/f32`, for `tools/polynomials.py`.

Each is weighted by the effect of its error on the value of the function that it serves, so that the error of
that value is relative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
from mpmath import mpf

from tools.approximation import Approximation, erf_inv_ratio, series

ERFC_LINE = ERFC_SLOPE, ERFC_OFFSET = 1.7724539041519165, 0.8125
ERFC_VARIABLE = ERFC_SHIFT, ERFC_CENTER = 1.5, 0.265625
"""What the comments of the constants say. The polynomial's slope is small where erfc begins to use it, so
that rounding errors of the variable hardly count."""

_ERF_INV_FAR_ROOT = 3.25
ERF_INV_CENTERS = {"NEAR": 2.5, "FAR": _ERF_INV_FAR_ROOT**2}
"""Where the polynomials of erf_inv are centered: there, rounding errors count least."""

_MARGIN = mpf(2) ** -12
"""How far reduced exponents may lie beyond the ends of their interval, as the reduction rounds."""


def _approximation(
    name: str,
    text: str,
    function: Callable[[Any], Any],
    interval: tuple[Any, Any],
    degree: int,
    weight: Callable[[Any], Any],
) -> Approximation:
    """An approximation whose coefficients are numbers of f32."""
    return Approximation(f"FAST_{name}", text, function, interval, degree, is_single=True, weight=weight)


def _odd(name: str, function: Callable[[Any], Any], cubic: Any, limit: Any, degree: int) -> Approximation:
    """Of an odd function with slope 1 at 0, up to `limit`; `cubic` is the coefficient of its third power."""
    return _approximation(
        name,
        f"({name.lower()}(x) / x - 1) / z, where z = x^2",
        series(lambda z: (function(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z, cubic),
        (mpf(0), mpf(limit) ** 2),
        degree,
        lambda z: z * mpmath.sqrt(z) / function(mpmath.sqrt(z)),
    )


def _exponentials() -> tuple[Approximation, ...]:
    half_log_of_2 = mpmath.log(2) / 2
    return (
        _approximation(
            "EXP",
            "(exp(r) - 1 - r) / r^2",
            series(lambda r: (mpmath.expm1(r) - r) / r**2, mpf(1) / 2),
            (-half_log_of_2 - _MARGIN, half_log_of_2 + _MARGIN),
            4,
            lambda r: r**2 / mpmath.exp(r),
        ),
        _approximation(
            "EXPM1",
            "(exp(r) - 1 - r - r^2 / 2) / r^3",
            series(lambda r: (mpmath.expm1(r) - r - r**2 / 2) / r**3, mpf(1) / 6),
            (mpmath.log(mpf(3) / 4) - _MARGIN, mpmath.log(mpf(3) / 2) + _MARGIN),
            4,
            lambda r: r**3 / mpmath.expm1(r),
        ),
        _odd("SINH", mpmath.sinh, mpf(1) / 6, 1, 3),
        _odd("TANH", mpmath.tanh, -mpf(1) / 3, "0.975", 6),
    )


def _logarithms() -> tuple[Approximation, ...]:
    """The last two are those of powers, computed in f64."""
    log_of_2 = mpmath.log(2)
    mantissas = (mpmath.sqrt(mpf(1) / 2) - 1, mpmath.sqrt(mpf(2)) - 1)
    return (
        _approximation(
            "LOG",
            "(log(1 + f) - f + f^2 / 2) / f^3",
            series(lambda f: (mpmath.log1p(f) - f + f**2 / 2) / f**3, mpf(1) / 3),
            mantissas,
            7,
            lambda f: f**3 / mpmath.log1p(f),
        ),
        Approximation(
            "FAST_BINARY_LOG",
            "log2(1 + f) / f",
            series(lambda f: mpmath.log1p(f) / (f * log_of_2), 1 / log_of_2),
            mantissas,
            12,
        ),
        Approximation(
            "FAST_POWER_OF_TWO",
            "(2^t - 1) / t",
            series(lambda t: mpmath.expm1(t * log_of_2) / t, log_of_2),
            (-mpf(1) / 2, mpf(1) / 2),
            5,
        ),
    )


def _circular_functions() -> tuple[Approximation, ...]:
    return (
        _odd("SIN", mpmath.sin, -mpf(1) / 6, "0.9", 3),
        _approximation(
            "COS",
            "((cos(x) - 1) / z + 1 / 2) / z, where z = x^2",
            series(lambda z: ((mpmath.cos(mpmath.sqrt(z)) - 1) / z + mpf(1) / 2) / z, mpf(1) / 24),
            (mpf(0), mpf("0.81")),
            3,
            lambda z: z**2 / mpmath.cos(mpmath.sqrt(z)),
        ),
        _odd("TAN", mpmath.tan, mpf(1) / 3, "0.9", 7),
        _odd("ASIN", mpmath.asin, mpf(1) / 6, "0.5", 4),
        _odd("ATAN", mpmath.atan, -mpf(1) / 3, 1, 8),
    )


def _error_functions() -> tuple[Approximation, ...]:
    return (
        _approximation(
            "ERF",
            "erf(x) / x - 1, where z = x^2",
            series(
                lambda z: mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1, 2 / mpmath.sqrt(mpmath.pi) - 1
            ),
            (mpf(0), mpf(1)),
            6,
            lambda z: mpmath.sqrt(z) / mpmath.erf(mpmath.sqrt(z)),
        ),
        _approximation(
            "LOG_ERFC",
            "log(erfc(x))",
            lambda x: mpmath.log(mpmath.erfc(x)),
            (mpf(1), mpf("3.95")),
            6,
            lambda x: mpmath.erfc(x) / mpmath.erf(x),
        ),
        _approximation(
            "ERFC",
            f"exp(x^2) erfc(x) ({ERFC_SLOPE} x + {ERFC_OFFSET}) - 1, "
            f"where 1 / (x + {ERFC_SHIFT}) = t + {ERFC_CENTER}",
            _scaled_erfc,
            tuple(1 / (mpf(x) + ERFC_SHIFT) - ERFC_CENTER for x in ("10.2", "0.69")),
            9,
            lambda t: mpf(1),
        ),
    )


def _scaled_erfc(t: Any) -> Any:
    """What FAST_ERFC approximates."""
    x = 1 / (t + mpf(ERFC_CENTER)) - ERFC_SHIFT
    return mpmath.exp(x * x) * mpmath.erfc(x) * (ERFC_SLOPE * x + ERFC_OFFSET) - 1


def _erf_inv() -> tuple[Approximation, ...]:
    """The quotient of erf_inv(x) and x, a function of w = -log(1 - x^2), less its value at a center."""
    center, root = mpf(ERF_INV_CENTERS["NEAR"]), mpf(_ERF_INV_FAR_ROOT)
    far = (mpmath.sqrt(5) - root, mpmath.sqrt(mpf("16.7")) - root)
    return (
        _centered_erf_inv("NEAR", 0.25, f"t + {center}", lambda t: t + center, (-center, center), 8),
        _centered_erf_inv("FAR", 1.0, f"(t + {root})^2", lambda t: (t + root) ** 2, far, 8),
    )


def _centered_erf_inv(
    name: str, slope: float, text: str, w_of: Callable[[Any], Any], interval: tuple[Any, Any], degree: int
) -> Approximation:
    """One of the two; its variable is zero at the center, near which the quotient has nearly this slope."""

    def ratio(t: Any) -> Any:
        return erf_inv_ratio(w_of(t))

    center = ratio(mpf(0))
    return _approximation(
        f"ERF_INV_{name}",
        f"(erf_inv(x) / x - {mpmath.nstr(center, 5)}) / t - {slope}, where -log(1 - x^2) = {text}",
        series(lambda t: (ratio(t) - center) / t - slope, mpmath.diff(ratio, mpf(0)) - slope),
        interval,
        degree,
        lambda t: t / ratio(t),
    )


def fast_approximations() -> tuple[Approximation, ...]:
    """All of them; the precision of mpmath decides that of their intervals."""
    return (
        *_exponentials(),
        *_logarithms(),
        *_circular_functions(),
        _approximation(
            "INVERSE_CBRT", "m^(-1/3)", lambda m: 1 / mpmath.cbrt(m), (mpf(1), mpf(2)), 5, mpmath.cbrt
        ),
        *_error_functions(),
        *_erf_inv(),
    )
