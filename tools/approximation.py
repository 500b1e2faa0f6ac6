"""What `tools/polynomials.py` approximates, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
from mpmath import mpf


class Approximation(NamedTuple):
    """A polynomial, or a quotient of polynomials.

    Attributes:
        name: of the constant.
        text: what it approximates.
        function: the same.
        interval: where.
        degree, divisor_degree: of the polynomial, or of dividend and divisor, whose constant term is 1.
        is_single: whether coefficients are rounded to f32, not f64.
        weight: the effect of an error on the function for which it serves; None: the same everywhere.
    """

    name: str
    text: str
    function: Callable[[Any], Any]
    interval: tuple[Any, Any]
    degree: int
    divisor_degree: int = 0
    is_single: bool = False
    weight: Callable[[Any], Any] | None = None


def series(start: Callable[[Any], Any], limit: Any) -> Callable[[Any], Any]:
    """A function whose value near 0, where its formula divides by 0, is `limit`."""
    return lambda t: limit if abs(t) < mpf(10) ** -30 else start(t)


def erf_inv_ratio(w: Any) -> Any:
    """erf_inv(x) / x, where w = -log(1 - x^2)."""
    if w == 0:
        return mpmath.sqrt(mpmath.pi) / 2
    x = mpmath.sqrt(-mpmath.expm1(-w))
    # For arguments near 1 the complement keeps the digits.
    rest = mpmath.exp(-w) / (1 + x)
    start = float(mpmath.erfinv(mpf(float(x)))) if rest > 1e-15 else float(mpmath.sqrt(w))
    root = mpmath.findroot(
        lambda t: mpmath.log(mpmath.erfc(t)) - mpmath.log(rest), mpf(start), tol=mpf(10) ** -150
    )
    return root / x
