"""Find the coefficients of the approximations in `loops/mathematics` and `kernels/math/real_functions.h`.

    python tools/polynomials.py            # print the module and the header with coefficients and errors
    python tools/polynomials.py --write    # write them to
    runtime/compiler/loops/mathematics/coefficients.py and
                                           # kernels/math/real_function_coefficients.h

Each approximation interpolates its function at Chebyshev nodes, in 80 digits: that is within a small factor
of the best one. Coefficients are then rounded to f64; the error that is printed is that of the rounded
coefficients, evaluated exactly.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import numpy as np
from mpmath import mpf

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "runtime" / "compiler" / "loops" / "mathematics" / "coefficients.py"
KERNELS_TARGET = ROOT / "kernels" / "math" / "real_function_coefficients.h"
HEADER = '''"""Coefficients of approximations, the lowest power's first. Written by tools/polynomials.py.

Errors are those of exact evaluation, relative to the largest absolute value in the interval; for quotients
relative to each value.
"""

from typing import Final
'''
KERNELS_HEADER = """\
/* Coefficients of approximations, the highest power's first. Written by tools/polynomials.py. Errors are
   those of exact evaluation, relative to the largest absolute value in the interval. */
"""
EXP_STEPS, LONG_EXP_STEPS = 1024, 16
"""Entries of the tables of powers of two between 1 and 2."""


class Approximation(NamedTuple):
    """A polynomial, or a quotient of polynomials.

    Attributes:
        name: of the constant.
        text: what it approximates.
        function: the same.
        interval: where.
        degree, divisor_degree: of the polynomial, or of dividend and divisor, whose constant term is 1.
        is_single: whether coefficients are rounded to f32, not f64.
    """

    name: str
    text: str
    function: Callable[[Any], Any]
    interval: tuple[Any, Any]
    degree: int
    divisor_degree: int = 0
    is_single: bool = False


def _inverse_root(m: Any) -> Any:
    return 1 / mpmath.cbrt(m)


def _erf_inv(w: Any) -> Any:
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


def _erfc_over(t: Any) -> Any:
    """exp(x^2) erfc(x) / t, where t = 4 / (4 + x)."""
    x = 4 / t - 4
    return mpmath.exp(x * x) * mpmath.erfc(x) / t


def _stirling(w: Any) -> Any:
    """(lgamma(x) - Stirling's formula) * x, where w = 1 / x^2."""
    x = 1 / mpmath.sqrt(w)
    formula = (x - mpf(1) / 2) * mpmath.log(x) - x + mpmath.log(2 * mpmath.pi) / 2
    return (mpmath.loggamma(x) - formula) * x


def _digamma_remainder(w: Any) -> Any:
    """(log(x) - 1 / (2 x) - digamma(x)) / w, where w = 1 / x^2."""
    x = 1 / mpmath.sqrt(w)
    return (mpmath.log(x) - 1 / (2 * x) - mpmath.digamma(x)) / w


def _series(start: Callable[[Any], Any], limit: Any) -> Callable[[Any], Any]:
    """A function whose value near 0, where its formula divides by 0, is `limit`."""
    return lambda t: limit if abs(t) < mpf(10) ** -30 else start(t)


def _exponential(degree: int) -> Approximation:
    """exp(r), where r is an argument reduced by multiples of log(2)."""
    return Approximation(
        "EXP",
        "(exp(r) - 1 - r) / r^2",
        _series(lambda r: (mpmath.expm1(r) - r) / r**2, mpf(1) / 2),
        (-LOG2 / 2 - mpf(2) ** -20, LOG2 / 2 + mpf(2) ** -20),
        degree,
    )


def _arctangent(limit: Any, degree: int) -> Approximation:
    """atan(t), for |t| up to `limit`."""
    return Approximation(
        "ATAN",
        "(atan(t) / t - 1) / z, where z = t^2",
        _series(lambda z: (mpmath.atan(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z, -mpf(1) / 3),
        (mpf(0), limit**2),
        degree,
    )


def _power(name: str, steps: int, degree: int) -> Approximation:
    """2^(t / steps), where t is the fraction that rounding to whole steps leaves."""
    limit = LOG2 / steps
    return Approximation(
        name,
        f"(2^(t / {steps}) - 1) / t",
        _series(lambda t: mpmath.expm1(t * limit) / t, limit),
        (mpf("-0.51"), mpf("0.51")),
        degree,
    )


with mpmath.workdps(80):
    LOG2 = mpmath.log(2)
    HALF_ROOT_PI = mpmath.sqrt(mpmath.pi) / 2
    QUARTER_PI = mpmath.pi / 4
    DIGAMMA_ROOT = mpmath.findroot(mpmath.digamma, mpf("1.46163"))
    LOG = Approximation(
        "LOG",
        "(2 atanh(s) / s - 2) / z, where z = s^2",
        _series(lambda z: (2 * mpmath.atanh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 2) / z, mpf(2) / 3),
        (mpf(0), mpf("0.02946")),
        6,
    )
    LOG_REST = Approximation(
        "LOG_REST",
        "(((2 atanh(s) / s - 2) / z - 2 / 3) / z - 2 / 5) / z, where z = s^2",
        _series(
            lambda z: (
                ((2 * mpmath.atanh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 2) / z - mpf(2) / 3) / z - mpf(2) / 5
            )
            / z,
            mpf(2) / 7,
        ),
        (mpf(0), mpf("0.02946")),
        7,
    )
    INVERSE_CBRT = Approximation("INVERSE_CBRT", "m^(-1/3)", _inverse_root, (mpf(1), mpf(2)), 6)
    SIN = Approximation(
        "SIN",
        "(sin(r) / r - 1) / z, where z = r^2",
        _series(lambda z: (mpmath.sin(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z, -mpf(1) / 6),
        (mpf(0), QUARTER_PI**2),
        6,
    )
    COS = Approximation(
        "COS",
        "((cos(r) - 1) / z + 1 / 2) / z, where z = r^2",
        _series(lambda z: ((mpmath.cos(mpmath.sqrt(z)) - 1) / z + mpf(1) / 2) / z, mpf(1) / 24),
        (mpf(0), QUARTER_PI**2),
        6,
    )
    ERF_QUOTIENT = Approximation(
        "ERF",
        "(erf(x) / x - 2 / sqrt(pi)) / z, where z = x^2",
        _series(
            lambda z: (mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) - 2 / mpmath.sqrt(mpmath.pi)) / z,
            -2 / mpmath.sqrt(mpmath.pi) / 3,
        ),
        (mpf(0), mpf("15.51")),
        10,
        11,
    )
    ERFC_QUOTIENT = Approximation(
        "ERFC",
        "exp(x^2) erfc(x)",
        lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
        (mpf(0), mpf("10.2")),
        12,
        13,
    )
    APPROXIMATIONS = (
        _exponential(10),
        *[
            _power(name, steps, degree)
            for name, steps, degree in (
                ("POWER_OF_TWO", 1, 9),
                ("POWER_OF_STEP", EXP_STEPS, 2),
                ("EXACT_POWER_OF_STEP", EXP_STEPS, 3),
                ("POWER_OF_LONG_STEP", LONG_EXP_STEPS, 5),
                ("EXACT_POWER_OF_LONG_STEP", LONG_EXP_STEPS, 6),
            )
        ],
        LOG,
        Approximation(
            "LOG_NEXT",
            "((2 atanh(s) / s - 2) / z - 2 / 3) / z, where z = s^2",
            _series(
                lambda z: ((2 * mpmath.atanh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 2) / z - mpf(2) / 3) / z,
                mpf(2) / 5,
            ),
            (mpf(0), mpf("0.02946")),
            7,
        ),
        SIN,
        COS,
        _arctangent(mpf(7) / 16, 11),
        Approximation(
            "ASIN",
            "(asin(t) / t - 1) / z, where z = t^2",
            _series(lambda z: (mpmath.asin(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z, mpf(1) / 6),
            (mpf(0), mpf(1) / 4),
            12,
        ),
        ERF_QUOTIENT,
        ERFC_QUOTIENT,
        Approximation(
            "ERF_INV",
            "(erf_inv(x) / x - sqrt(pi) / 2) / w, where w = -log(1 - x^2)",
            lambda w: (_erf_inv(w) - HALF_ROOT_PI) / w,
            (mpf(0), mpf("16.7")),
            13,
            14,
        ),
        Approximation(
            "LGAMMA",
            "lgamma(2 + t) / t",
            _series(lambda t: mpmath.loggamma(2 + t) / t, 1 - mpmath.euler),
            (-mpf(1) / 2, mpf(1) / 2),
            16,
        ),
        Approximation(
            "LGAMMA_FAR",
            "lgamma(x) x less Stirling's formula, where w = 1 / x^2",
            _series(_stirling, mpf(1) / 12),
            (mpf(0), 1 / mpf("6.5") ** 2),
            6,
        ),
        Approximation(
            "DIGAMMA",
            "digamma(1.5 + t) / (1.5 + t - root)",
            lambda t: mpmath.digamma(mpf("1.5") + t) / (mpf("1.5") + t - DIGAMMA_ROOT),
            (-mpf(1) / 2, mpf(1) / 2),
            20,
        ),
        Approximation(
            "DIGAMMA_FAR",
            "(log(x) - 1 / (2 x) - digamma(x)) / w, where w = 1 / x^2",
            _series(_digamma_remainder, mpf(1) / 12),
            (mpf(0), 1 / mpf("6.5") ** 2),
            6,
        ),
        Approximation(
            "COT_PI",
            "(pi r cot(pi r) - 1) / z, where z = r^2",
            _series(
                lambda z: (mpmath.pi * mpmath.sqrt(z) * mpmath.cot(mpmath.pi * mpmath.sqrt(z)) - 1) / z,
                -(mpmath.pi**2) / 3,
            ),
            (mpf(0), mpf(1) / 4),
            13,
        ),
        Approximation(
            "SIN_PI",
            "sin(pi r) / r, where z = r^2",
            _series(lambda z: mpmath.sinpi(mpmath.sqrt(z)) / mpmath.sqrt(z), mpmath.pi),
            (mpf(0), mpf(1) / 4),
            8,
        ),
        INVERSE_CBRT,
        Approximation(
            "SINGLE_EXP",
            "(exp(r) - 1 - r) / r^2",
            _series(lambda r: (mpmath.expm1(r) - r) / r**2, mpf(1) / 2),
            (-LOG2 / 2 - mpf(2) ** -12, LOG2 / 2 + mpf(2) ** -12),
            4,
            is_single=True,
        ),
        Approximation(
            "SINGLE_LOG",
            "log(1 + f) / f",
            _series(lambda f: mpmath.log1p(f) / f, mpf(1)),
            (mpmath.sqrt(mpf(1) / 2) - 1, mpmath.sqrt(mpf(2)) - 1),
            9,
            is_single=True,
        ),
        Approximation(
            "SINGLE_ERF",
            "erf(x) / x, where z = x^2",
            _series(lambda z: mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z), 2 / mpmath.sqrt(mpmath.pi)),
            (mpf(0), mpf(9)),
            12,
            is_single=True,
        ),
    )

    HALF = mpf("0.5")
    TWO_OVER_ROOT_PI = 2 / mpmath.sqrt(mpmath.pi)
    ERF_INV_NEAR, ERF_INV_FAR = mpf(5), mpf(14)
    ERF_INV_MIDDLE_ROOT, ERF_INV_FAR_ROOT = mpf(3), mpf(5)
    MIDDLE_SLOPE, FAR_SLOPE = (_erf_inv(root**2) for root in (ERF_INV_MIDDLE_ROOT, ERF_INV_FAR_ROOT))
    KERNELS_APPROXIMATIONS = (
        Approximation(
            "ERF",
            "(erf(x) / x - 2 / sqrt(pi)) / z, where z = x^2",
            _series(
                lambda z: (mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) - TWO_OVER_ROOT_PI) / z,
                -TWO_OVER_ROOT_PI / 3,
            ),
            (mpf(0), mpf("0.5625")),
            11,
        ),
        Approximation(
            "ERFC",
            "(exp(x^2) erfc(x) / t - 2 exp(16) erfc(4)) / r,\n   where t = 4 / (4 + x) and r = t - 1 / 2",
            _series(lambda r: (_erfc_over(r + HALF) - _erfc_over(HALF)) / r, mpmath.diff(_erfc_over, HALF)),
            (mpf("-0.375"), mpf("0.3425")),
            19,
        ),
        _exponential(11),
        _power("POWER_OF_TWO", 1, 9),
        ERF_QUOTIENT,
        ERFC_QUOTIENT,
        LOG,
        LOG_REST,
        Approximation(
            "ERF_INV_NEAR",
            "(erf_inv(x) / x - sqrt(pi) / 2) / w, where w = -log(1 - x^2) = t + 2.5",
            lambda t: (_erf_inv(t + ERF_INV_NEAR / 2) - HALF_ROOT_PI) / (t + ERF_INV_NEAR / 2),
            (-ERF_INV_NEAR / 2, ERF_INV_NEAR / 2),
            21,
        ),
        *[
            Approximation(
                f"ERF_INV_{name}",
                f"(erf_inv(x) / x - {name}_SLOPE) / t, where -log(1 - x^2) = (t + {int(root)})^2",
                _series(
                    lambda t, root=root, slope=slope: (_erf_inv((t + root) ** 2) - slope) / t,
                    mpmath.diff(lambda t, root=root: _erf_inv((t + root) ** 2), mpf(0)),
                ),
                (mpmath.sqrt(low) - root, mpmath.sqrt(high) - root),
                degree,
            )
            for name, root, slope, low, high, degree in (
                ("MIDDLE", ERF_INV_MIDDLE_ROOT, MIDDLE_SLOPE, ERF_INV_NEAR, ERF_INV_FAR, 20),
                ("FAR", ERF_INV_FAR_ROOT, FAR_SLOPE, ERF_INV_FAR, mpf("36.8"), 19),
            )
        ],
        SIN,
        COS,
        Approximation(
            "TANH",
            "((tanh(x) / x - 1) / z + 1 / 3) / z, where z = x^2",
            _series(
                lambda z: ((mpmath.tanh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z + mpf(1) / 3) / z,
                mpf(2) / 15,
            ),
            (mpf(0), mpf("0.81")),
            14,
        ),
        INVERSE_CBRT,
        _arctangent(mpf(1) / 4, 8),
        Approximation(
            "EXP_CUBE",
            "(exp(r) - 1 - r - r^2 / 2) / r^3",
            _series(lambda r: (mpmath.expm1(r) - r - r**2 / 2) / r**3, mpf(1) / 6),
            (-LOG2 / 2 - mpf(2) ** -20, LOG2 / 2 + mpf(2) ** -20),
            10,
        ),
    )


def chebyshev_nodes(interval: tuple[Any, Any], count: int) -> list[Any]:
    """Chebyshev nodes."""
    low, high = interval
    middle, half = (low + high) / 2, (high - low) / 2
    return [middle + half * mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * count)) for k in range(count)]


def fit(wanted: Approximation) -> tuple[list[float], list[float]]:
    """The coefficients of the dividend and of the divisor."""
    count = wanted.degree + 1 + wanted.divisor_degree
    points = chebyshev_nodes(wanted.interval, count)
    values = [wanted.function(point) for point in points]
    rows = [
        [point**k for k in range(wanted.degree + 1)]
        + [-value * point**k for k in range(1, wanted.divisor_degree + 1)]
        for point, value in zip(points, values, strict=True)
    ]
    solution = mpmath.lu_solve(mpmath.matrix(rows), mpmath.matrix(values))
    found = [float(np.float32(value)) if wanted.is_single else float(value) for value in solution]
    return found[: wanted.degree + 1], found[wanted.degree + 1 :]


def error(wanted: Approximation, dividend: Sequence[float], divisor: Sequence[float]) -> float:
    """The largest error of the approximation on a grid."""
    worst, scale = mpf(0), mpf(0)
    for point in chebyshev_nodes(wanted.interval, 301):
        top = mpmath.polyval([mpf(value) for value in reversed(dividend)], point)
        bottom = mpmath.polyval([*map(mpf, reversed(divisor)), mpf(1)], point)
        true = wanted.function(point)
        difference = abs(top / bottom - true)
        worst = max(worst, difference / abs(true) if divisor else difference)
        scale = max(scale, abs(true))
    return float(worst if divisor else worst / scale)


def python_constant(name: str, values: Sequence[float]) -> str:
    """A constant of the Python module, a tuple of numbers."""
    return "\n".join([f"{name}: Final = (", *[f"    {value!r}," for value in values], ")"])


def python_constants(wanted: Approximation) -> str:
    """The constants of an approximation in Python, with a comment."""
    dividend, divisor = fit(wanted)
    low, high = (mpmath.nstr(bound, 6) for bound in wanted.interval)
    found = mpmath.log(error(wanted, dividend, divisor), 2)
    lines = [f"# {wanted.text}, in [{low}, {high}]: error 2^{mpmath.nstr(found, 4)}."]
    if not divisor:
        return "\n".join([*lines, python_constant(wanted.name, dividend)])
    return "\n".join(
        [
            *lines,
            python_constant(f"{wanted.name}_DIVIDEND", dividend),
            python_constant(f"{wanted.name}_DIVISOR", [1.0, *divisor]),
        ]
    )


def c_macros(wanted: Approximation) -> str:
    """An approximation in C: macros that apply FIRST to the first two coefficients, TERM to each other."""
    dividend, divisor = fit(wanted)
    low, high = (mpmath.nstr(bound, 6) for bound in wanted.interval)
    found = mpmath.nstr(mpmath.log(error(wanted, dividend, divisor), 2), 4)
    comment = f"/* {wanted.text}, in [{low}, {high}]: error 2^{found}. */"
    if not divisor:
        return f"{comment}\n{polynomial_macro(wanted.name, dividend)}"
    parts = [
        polynomial_macro(f"{wanted.name}_DIVIDEND", dividend),
        polynomial_macro(f"{wanted.name}_DIVISOR", [1.0, *divisor]),
    ]
    return "\n".join([comment, *parts])


def polynomial_macro(name: str, values: Sequence[float]) -> str:
    """The macro of one polynomial."""
    first, second, *others = reversed(values)
    terms = [f"    FIRST({first!r}, {second!r})", *[f"    TERM({value!r})" for value in others]]
    return "\n".join([f"#define {name}_TERMS(FIRST, TERM) \\", " \\\n".join(terms)])


def c_numbers() -> list[str]:
    """Constants in C with more digits than an f64 has, as sums of several."""
    found = []
    for name, text, value, bits in (
        ("TWO_OVER_ROOT_PI", "2 / sqrt(pi)", TWO_OVER_ROOT_PI, None),
        ("ERF_SLOPE", "2 / sqrt(pi) - 1", TWO_OVER_ROOT_PI - 1, None),
        ("ERFC_MIDDLE", "2 exp(16) erfc(4)", _erfc_over(HALF), None),
        ("LOG_OF_2", "log(2), the first of 42 bits,", LOG2, 42),
        ("NEAR_SLOPE", "sqrt(pi) / 2", HALF_ROOT_PI, None),
        ("MIDDLE_SLOPE", "erf_inv(x) / x, where -log(1 - x^2) = 9,", MIDDLE_SLOPE, None),
        ("FAR_SLOPE", "erf_inv(x) / x, where -log(1 - x^2) = 25,", FAR_SLOPE, None),
        ("TANH_SLOPE", "-1 / 3", -mpf(1) / 3, None),
        ("TWO_THIRDS", "2 / 3", mpf(2) / 3, None),
        ("TWO_FIFTHS", "2 / 5", mpf(2) / 5, None),
        ("ATAN_OF_HALF", "atan(1 / 2)", mpmath.atan(HALF), None),
        ("ATAN_OF_ONE", "atan(1)", mpmath.atan(1), None),
    ):
        first, rest = split_number(value, bits)
        lines = [f"/* {text} in two parts. */", f"#define {name} {first!r}", f"#define {name}_REST {rest!r}"]
        found.append("\n".join(lines))
    digits, half_pi = [], mpmath.pi / 2
    for name in ("HALF_PI", "HALF_PI_NEXT", "HALF_PI_REST"):
        digits.append(f"#define {name} {float(half_pi)!r}")
        half_pi -= float(half_pi)
    found.append("\n".join(["/* pi / 2 in three parts. */", *digits]))
    for name, text, value in (
        ("INVERSE_LOG_OF_2", "1 / log(2)", 1 / LOG2),
        ("INVERSE_HALF_PI", "2 / pi", 2 / mpmath.pi),
        ("ROOT_OF_HALF", "sqrt(1 / 2)", mpmath.sqrt(mpf(1) / 2)),
        ("CBRT_OF_HALF", "cbrt(1 / 2)", mpmath.cbrt(mpf(1) / 2)),
        ("CBRT_OF_TWO", "cbrt(2)", mpmath.cbrt(2)),
        ("ERF_INV_NEAR", "-log(1 - x^2) below which the first approximation of erf_inv serves", ERF_INV_NEAR),
        ("ERF_INV_FAR", "the same of the second", ERF_INV_FAR),
    ):
        found.append(f"/* {text}. */\n#define {name} {float(value)!r}")
    return found


def two_over_pi(bits: int, count: int) -> str:
    """2 / pi as a sum of `count` floats of `bits` bits each."""
    rest, parts = 2 / mpmath.pi, []
    for k in range(count):
        part = mpmath.floor(mpmath.ldexp(rest, bits * (k + 1)))
        parts.append(float(mpmath.ldexp(part, -bits * (k + 1))))
        rest -= mpmath.ldexp(part, -bits * (k + 1))
    return f"# 2 / pi in parts of {bits} bits.\n" + python_constant("TWO_OVER_PI", parts)


def split_constant(name: str, text: str, value: Any, bits: int | None = None, second: Any = float) -> str:
    """A constant that `split_number` splits, in Python."""
    return f"# {text} in two parts.\n" + python_constant(name, split_number(value, bits, second))


def split_number(value: Any, bits: int | None = None, second: Any = float) -> list[float]:
    """A number as the sum of two floats.

    Args:
        bits: after the binary point of the first one; None: as many as f64 has.
        second: rounds the second one.
    """
    first = float(value if bits is None else mpmath.ldexp(mpmath.floor(mpmath.ldexp(value, bits)), -bits))
    return [first, float(second(value - first))]


def python_numbers() -> list[str]:
    """Constants in Python with more digits than an f64 has, as sums of several."""
    return [
        split_constant("LOG_OF_2", "log(2)", mpmath.log(2)),
        split_constant("INVERSE_LOG_OF_2", "1 / log(2)", 1 / mpmath.log(2)),
        split_constant(
            "SINGLE_LOG_OF_2", "log(2), as f32, the first of 15 bits,", mpmath.log(2), 15, np.float32
        ),
        split_constant("SHORT_LOG_OF_2", "log(2), the first of 42 bits,", mpmath.log(2), 42),
        split_constant("TWO_THIRDS", "2 / 3", mpf(2) / 3),
        split_constant("TWO_OVER_ROOT_PI", "2 / sqrt(pi)", 2 / mpmath.sqrt(mpmath.pi)),
        split_constant("HALF_ROOT_PI", "sqrt(pi) / 2", HALF_ROOT_PI),
        split_constant("DIGAMMA_ROOT", "the positive root of digamma", DIGAMMA_ROOT),
        split_constant("HALF_PI", "pi / 2", mpmath.pi / 2),
        *[
            split_constant(f"ATAN_OF_{name}", f"atan({mpmath.nstr(value, 2)})", mpmath.atan(value))
            for name, value in (("HALF", mpf("0.5")), ("ONE", mpf(1)), ("THREE_HALVES", mpf("1.5")))
        ],
        two_over_pi(29, 7),
    ]


def main() -> None:
    """Print or write the module and the header."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files")
    options = parser.parse_args()
    with mpmath.workdps(80):
        parts = [HEADER, *[python_constants(wanted) for wanted in APPROXIMATIONS], *python_numbers()]
    module = "\n".join(parts[:1]) + "\n" + "\n\n".join(parts[1:]) + "\n"
    with mpmath.workdps(80):
        parts = [KERNELS_HEADER, *map(c_macros, KERNELS_APPROXIMATIONS), *c_numbers()]
    header = "\n".join([parts[0], "\n\n".join(parts[1:]), ""])
    if options.write:
        TARGET.write_text(module, encoding="utf-8")
        KERNELS_TARGET.write_text(header, encoding="utf-8")
    else:
        print(module + header)


if __name__ == "__main__":
    main()
