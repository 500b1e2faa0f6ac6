"""Find the coefficients of the approximations in `loops/mathematics`, of functions of f32 and of f64.

    python tools/polynomials.py            # print the module with coefficients and errors
    python tools/polynomials.py --write    # write it to runtime/compiler/loops/mathematics/coefficients.py

`tools/c_functions.py` then writes the functions of f64 in C.

Each approximation interpolates its function at Chebyshev nodes, in 80 digits: that is within a small factor
of the best one. Coefficients are then rounded to f64; the error that is printed is that of the rounded
coefficients, evaluated exactly.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from mpmath import mpf

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.approximation import Approximation, erf_inv_ratio, series
from tools.fast_approximations import (
    ERF_INV_CENTERS,
    ERFC_LINE,
    ERFC_VARIABLE,
    fast_approximations,
)

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "runtime" / "compiler" / "loops" / "mathematics" / "coefficients.py"
HEADER = '''"""Coefficients of approximations, the lowest power's first. Written by tools/polynomials.py.

Errors are those of exact evaluation, relative to the largest absolute value in the interval; for quotients
relative to each value. Those of FAST_... are relative to the values of the functions that they serve.
"""

from typing import Final

# fmt: off
'''
EXP_STEPS, LONG_EXP_STEPS = 1024, 16
"""Entries of the tables of powers of two between 1 and 2."""


def _inverse_root(m: Any) -> Any:
    return 1 / mpmath.cbrt(m)


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


def _arctangent(name: str, limit: Any, degree: int) -> Approximation:
    """atan(t), for |t| up to `limit`."""
    return Approximation(
        name,
        "(atan(t) / t - 1) / z, where z = t^2",
        series(lambda z: (mpmath.atan(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z, -mpf(1) / 3),
        (mpf(0), limit**2),
        degree,
    )


def _power(name: str, steps: int, degree: int) -> Approximation:
    """2^(t / steps), where t is the fraction that rounding to whole steps leaves."""
    limit = LOG2 / steps
    return Approximation(
        name,
        f"(2^(t / {steps}) - 1) / t",
        series(lambda t: mpmath.expm1(t * limit) / t, limit),
        (mpf("-0.51"), mpf("0.51")),
        degree,
    )


with mpmath.workdps(80):
    LOG2 = mpmath.log(2)
    HALF = mpf("0.5")
    TWO_OVER_ROOT_PI = 2 / mpmath.sqrt(mpmath.pi)
    HALF_ROOT_PI = mpmath.sqrt(mpmath.pi) / 2
    QUARTER_PI = mpmath.pi / 4
    DIGAMMA_ROOT = mpmath.findroot(mpmath.digamma, mpf("1.46163"))
    ERF_INV_NEAR, ERF_INV_FAR = mpf(5), mpf(14)
    ERF_INV_MIDDLE_ROOT, ERF_INV_FAR_ROOT = mpf(3), mpf(5)
    MIDDLE_SLOPE, FAR_SLOPE = (erf_inv_ratio(root**2) for root in (ERF_INV_MIDDLE_ROOT, ERF_INV_FAR_ROOT))
    APPROXIMATIONS = (
        Approximation(
            "EXP",
            "(exp(r) - 1 - r) / r^2",
            series(lambda r: (mpmath.expm1(r) - r) / r**2, mpf(1) / 2),
            (-LOG2 / 2 - mpf(2) ** -20, LOG2 / 2 + mpf(2) ** -20),
            11,
        ),
        Approximation(
            "EXP_CUBE",
            "(exp(r) - 1 - r - r^2 / 2) / r^3",
            series(lambda r: (mpmath.expm1(r) - r - r**2 / 2) / r**3, mpf(1) / 6),
            (-LOG2 / 2 - mpf(2) ** -20, LOG2 / 2 + mpf(2) ** -20),
            10,
        ),
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
        Approximation(
            "LOG",
            "(2 atanh(s) / s - 2) / z, where z = s^2",
            series(lambda z: (2 * mpmath.atanh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 2) / z, mpf(2) / 3),
            (mpf(0), mpf("0.02946")),
            6,
        ),
        Approximation(
            "LOG_NEXT",
            "((2 atanh(s) / s - 2) / z - 2 / 3) / z, where z = s^2",
            series(
                lambda z: ((2 * mpmath.atanh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 2) / z - mpf(2) / 3) / z,
                mpf(2) / 5,
            ),
            (mpf(0), mpf("0.02946")),
            7,
        ),
        Approximation(
            "LOG_REST",
            "(((2 atanh(s) / s - 2) / z - 2 / 3) / z - 2 / 5) / z, where z = s^2",
            series(
                lambda z: (
                    (
                        ((2 * mpmath.atanh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 2) / z - mpf(2) / 3) / z
                        - mpf(2) / 5
                    )
                    / z
                ),
                mpf(2) / 7,
            ),
            (mpf(0), mpf("0.02946")),
            7,
        ),
        Approximation(
            "SIN",
            "(sin(r) / r - 1) / z, where z = r^2",
            series(lambda z: (mpmath.sin(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z, -mpf(1) / 6),
            (mpf(0), QUARTER_PI**2),
            6,
        ),
        Approximation(
            "COS",
            "((cos(r) - 1) / z + 1 / 2) / z, where z = r^2",
            series(lambda z: ((mpmath.cos(mpmath.sqrt(z)) - 1) / z + mpf(1) / 2) / z, mpf(1) / 24),
            (mpf(0), QUARTER_PI**2),
            6,
        ),
        Approximation(
            "TANH",
            "((tanh(x) / x - 1) / z + 1 / 3) / z, where z = x^2",
            series(
                lambda z: ((mpmath.tanh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z + mpf(1) / 3) / z,
                mpf(2) / 15,
            ),
            (mpf(0), mpf("0.81")),
            14,
        ),
        _arctangent("ATAN", mpf(7) / 16, 11),
        _arctangent("NEAR_ATAN", mpf(1) / 4, 8),
        Approximation(
            "ASIN",
            "(asin(t) / t - 1) / z, where z = t^2",
            series(lambda z: (mpmath.asin(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z, mpf(1) / 6),
            (mpf(0), mpf(1) / 4),
            12,
        ),
        Approximation(
            "SMALL_ERF",
            "(erf(x) / x - 2 / sqrt(pi)) / z, where z = x^2",
            series(
                lambda z: (mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) - TWO_OVER_ROOT_PI) / z,
                -TWO_OVER_ROOT_PI / 3,
            ),
            (mpf(0), mpf("0.5625")),
            11,
        ),
        Approximation(
            "LARGE_ERFC",
            "(exp(x^2) erfc(x) / t - 2 exp(16) erfc(4)) / r, where t = 4 / (4 + x) and r = t - 1 / 2",
            series(lambda r: (_erfc_over(r + HALF) - _erfc_over(HALF)) / r, mpmath.diff(_erfc_over, HALF)),
            (mpf("-0.375"), mpf("0.3425")),
            19,
        ),
        Approximation(
            "ERF",
            "(erf(x) / x - 2 / sqrt(pi)) / z, where z = x^2",
            series(
                lambda z: (mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) - 2 / mpmath.sqrt(mpmath.pi)) / z,
                -2 / mpmath.sqrt(mpmath.pi) / 3,
            ),
            (mpf(0), mpf("15.51")),
            10,
            11,
        ),
        Approximation(
            "ERFC",
            "exp(x^2) erfc(x)",
            lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
            (mpf(0), mpf("10.2")),
            12,
            13,
        ),
        Approximation(
            "ERF_INV",
            "(erf_inv(x) / x - sqrt(pi) / 2) / w, where w = -log(1 - x^2)",
            lambda w: (erf_inv_ratio(w) - HALF_ROOT_PI) / w,
            (mpf(0), mpf("16.7")),
            13,
            14,
        ),
        Approximation(
            "ERF_INV_NEAR",
            "(erf_inv(x) / x - sqrt(pi) / 2) / w, where w = -log(1 - x^2) = t + 2.5",
            lambda t: (erf_inv_ratio(t + ERF_INV_NEAR / 2) - HALF_ROOT_PI) / (t + ERF_INV_NEAR / 2),
            (-ERF_INV_NEAR / 2, ERF_INV_NEAR / 2),
            21,
        ),
        *[
            Approximation(
                f"ERF_INV_{name}",
                f"(erf_inv(x) / x - {name}_SLOPE) / t, where -log(1 - x^2) = (t + {int(root)})^2",
                series(
                    lambda t, root=root, slope=slope: (erf_inv_ratio((t + root) ** 2) - slope) / t,
                    mpmath.diff(lambda t, root=root: erf_inv_ratio((t + root) ** 2), mpf(0)),
                ),
                (mpmath.sqrt(low) - root, mpmath.sqrt(high) - root),
                degree,
            )
            for name, root, slope, low, high, degree in (
                ("MIDDLE", ERF_INV_MIDDLE_ROOT, MIDDLE_SLOPE, ERF_INV_NEAR, ERF_INV_FAR, 20),
                ("FAR", ERF_INV_FAR_ROOT, FAR_SLOPE, ERF_INV_FAR, mpf("36.8"), 19),
            )
        ],
        Approximation(
            "LGAMMA",
            "lgamma(2 + t) / t",
            series(lambda t: mpmath.loggamma(2 + t) / t, 1 - mpmath.euler),
            (-mpf(1) / 2, mpf(1) / 2),
            16,
        ),
        Approximation(
            "LGAMMA_FAR",
            "lgamma(x) x less Stirling's formula, where w = 1 / x^2",
            series(_stirling, mpf(1) / 12),
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
            series(_digamma_remainder, mpf(1) / 12),
            (mpf(0), 1 / mpf("6.5") ** 2),
            6,
        ),
        Approximation(
            "COT_PI",
            "(pi r cot(pi r) - 1) / z, where z = r^2",
            series(
                lambda z: (mpmath.pi * mpmath.sqrt(z) * mpmath.cot(mpmath.pi * mpmath.sqrt(z)) - 1) / z,
                -(mpmath.pi**2) / 3,
            ),
            (mpf(0), mpf(1) / 4),
            13,
        ),
        Approximation(
            "SIN_PI",
            "sin(pi r) / r, where z = r^2",
            series(lambda z: mpmath.sinpi(mpmath.sqrt(z)) / mpmath.sqrt(z), mpmath.pi),
            (mpf(0), mpf(1) / 4),
            8,
        ),
        Approximation("INVERSE_CBRT", "m^(-1/3)", _inverse_root, (mpf(1), mpf(2)), 6),
        Approximation(
            "NARROW_EXP",
            "(exp(r) - 1 - r) / r^2",
            series(lambda r: (mpmath.expm1(r) - r) / r**2, mpf(1) / 2),
            (-LOG2 / 2 - mpf(2) ** -12, LOG2 / 2 + mpf(2) ** -12),
            4,
            is_single=True,
        ),
        Approximation(
            "NARROW_LOG",
            "log(1 + f) / f",
            series(lambda f: mpmath.log1p(f) / f, mpf(1)),
            (mpmath.sqrt(mpf(1) / 2) - 1, mpmath.sqrt(mpf(2)) - 1),
            9,
            is_single=True,
        ),
        *fast_approximations(),
        Approximation(
            "NARROW_ERF",
            "erf(x) / x, where z = x^2",
            series(lambda z: mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z), 2 / mpmath.sqrt(mpmath.pi)),
            (mpf(0), mpf(9)),
            12,
            is_single=True,
        ),
    )


def chebyshev_nodes(interval: tuple[Any, Any], count: int) -> list[Any]:
    """Chebyshev nodes."""
    low, high = interval
    middle, half = (low + high) / 2, (high - low) / 2
    return [middle + half * mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * count)) for k in range(count)]


def fit(wanted: Approximation) -> tuple[list[float], list[float]]:
    """The coefficients of the dividend and of the divisor."""
    if wanted.weight is not None:
        return weighted_fit(wanted, wanted.weight), []
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


def weighted_fit(wanted: Approximation, weight: Callable[[Any], Any]) -> list[float]:
    """The coefficients of f32 with the least sum of weighted squares of errors.

    They are rounded one after another; those that follow make up for the rounding errors.
    """
    points = chebyshev_nodes(wanted.interval, 6 * wanted.degree)
    weights = [weight(point) for point in points]
    rest = [wanted.function(point) for point in points]
    coefficients: list[float] = []
    for first in range(wanted.degree + 1):
        rows = [
            [w * point**k for k in range(first, wanted.degree + 1)]
            for w, point in zip(weights, points, strict=True)
        ]
        values = [w * value for w, value in zip(weights, rest, strict=True)]
        solution = mpmath.lu_solve(mpmath.matrix(rows), mpmath.matrix(values))
        coefficients.append(float(np.float32(solution[0])))
        rest = [
            value - mpf(coefficients[-1]) * point**first for value, point in zip(rest, points, strict=True)
        ]
    return coefficients


def error(wanted: Approximation, dividend: Sequence[float], divisor: Sequence[float]) -> float:
    """The largest error of the approximation on a grid."""
    worst, scale = mpf(0), mpf(0)
    for point in chebyshev_nodes(wanted.interval, 301):
        top = mpmath.polyval([mpf(value) for value in reversed(dividend)], point)
        bottom = mpmath.polyval([*map(mpf, reversed(divisor)), mpf(1)], point)
        true = wanted.function(point)
        difference = abs(top / bottom - true)
        if wanted.weight is not None:
            worst, scale = max(worst, difference * abs(wanted.weight(point))), mpf(1)
            continue
        worst = max(worst, difference / abs(true) if divisor else difference)
        scale = max(scale, abs(true))
    return float(worst if divisor else worst / scale)


def python_constant(name: str, values: Sequence[float]) -> str:
    """A constant of the Python module, a tuple of numbers."""
    numbers = textwrap.wrap(", ".join(map(repr, values)), 106)
    return "\n".join([f"{name}: Final = (", *[f"    {line}" for line in numbers], ")"])


def python_constants(wanted: Approximation) -> str:
    """The constants of an approximation in Python, with a comment."""
    dividend, divisor = fit(wanted)
    low, high = (mpmath.nstr(bound, 6) for bound in wanted.interval)
    found = mpmath.log(error(wanted, dividend, divisor), 2)
    text = f"# {wanted.text}, in [{low}, {high}]: error 2^{mpmath.nstr(found, 4)}."
    lines = textwrap.wrap(text, 110, subsequent_indent="# ")
    if not divisor:
        return "\n".join([*lines, python_constant(wanted.name, dividend)])
    return "\n".join(
        [
            *lines,
            python_constant(f"{wanted.name}_DIVIDEND", dividend),
            python_constant(f"{wanted.name}_DIVISOR", [1.0, *divisor]),
        ]
    )


def two_over_pi(bits: int, count: int) -> str:
    """2 / pi as a sum of `count` floats of `bits` bits each."""
    rest, parts = 2 / mpmath.pi, []
    for k in range(count):
        part = mpmath.floor(mpmath.ldexp(rest, bits * (k + 1)))
        parts.append(float(mpmath.ldexp(part, -bits * (k + 1))))
        rest -= mpmath.ldexp(part, -bits * (k + 1))
    return f"# 2 / pi in parts of {bits} bits.\n" + python_constant("TWO_OVER_PI", parts)


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
    splits = [
        ("LOG_OF_2", "log(2)", LOG2, None, float),
        ("SHORT_LOG_OF_2", "log(2), the first of 42 bits,", LOG2, 42, float),
        ("NARROW_LOG_OF_2", "log(2), as f32, the first of 15 bits,", LOG2, 15, np.float32),
        *[
            (
                f"FAST_ERF_INV_{name}_CENTER",
                f"erf_inv(x) / x, where -log(1 - x^2) = {center}, as f32,",
                erf_inv_ratio(mpf(center)),
                22,
                np.float32,
            )
            for name, center in ERF_INV_CENTERS.items()
        ],
        ("NARROW_HALF_PI", "pi / 2, as f32,", mpmath.pi / 2, 23, np.float32),
        *[
            (name, text, value, None, float)
            for name, text, value in (
                ("INVERSE_LOG_OF_2", "1 / log(2)", 1 / LOG2),
                ("TWO_THIRDS", "2 / 3", mpf(2) / 3),
                ("TWO_FIFTHS", "2 / 5", mpf(2) / 5),
                ("MINUS_THIRD", "-1 / 3", -mpf(1) / 3),
                ("TWO_OVER_ROOT_PI", "2 / sqrt(pi)", TWO_OVER_ROOT_PI),
                ("ERF_SLOPE", "2 / sqrt(pi) - 1", TWO_OVER_ROOT_PI - 1),
                ("ERFC_MIDDLE", "2 exp(16) erfc(4)", _erfc_over(HALF)),
                ("HALF_ROOT_PI", "sqrt(pi) / 2", HALF_ROOT_PI),
                ("MIDDLE_SLOPE", "erf_inv(x) / x, where -log(1 - x^2) = 9,", MIDDLE_SLOPE),
                ("FAR_SLOPE", "erf_inv(x) / x, where -log(1 - x^2) = 25,", FAR_SLOPE),
                ("DIGAMMA_ROOT", "the positive root of digamma", DIGAMMA_ROOT),
                ("ATAN_OF_HALF", "atan(1 / 2)", mpmath.atan(HALF)),
                ("ATAN_OF_ONE", "atan(1)", QUARTER_PI),
                ("ATAN_OF_THREE_HALVES", "atan(3 / 2)", mpmath.atan(mpf("1.5"))),
            )
        ],
    ]
    return [
        *[
            f"# {text} in two parts.\n{python_constant(name, split_number(value, bits, second))}"
            for name, text, value, bits, second in splits
        ],
        *[
            f"# {text}.\n{name}: Final = {float(value)!r}"
            for name, text, value in (
                ("CBRT_OF_TWO", "cbrt(2)", mpmath.cbrt(2)),
                ("CBRT_OF_HALF", "cbrt(1 / 2)", mpmath.cbrt(HALF)),
            )
        ],
        "# exp(x^2) erfc(x) is nearly 1 / (slope x + offset), with the root of pi as slope.\n"
        + python_constant("FAST_ERFC_LINE", ERFC_LINE),
        "# The variable of FAST_ERFC is 1 / (x + shift) - center.\n"
        + python_constant("FAST_ERFC_VARIABLE", ERFC_VARIABLE),
        "# pi / 2 in three parts.\n" + python_constant("HALF_PI", successive_parts(mpmath.pi / 2, 3)),
        two_over_pi(29, 7),
    ]


def successive_parts(value: Any, count: int) -> list[float]:
    """A number as the sum of floats, each of which is the nearest to what the former leave."""
    parts: list[float] = []
    for _ in range(count):
        parts.append(float(value))
        value -= parts[-1]
    return parts


def main() -> None:
    """Print or write the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the file")
    options = parser.parse_args()
    with mpmath.workdps(80):
        parts = [HEADER, *[python_constants(wanted) for wanted in APPROXIMATIONS], *python_numbers()]
    module = "\n".join(parts[:1]) + "\n" + "\n\n".join(parts[1:]) + "\n"
    if options.write:
        TARGET.write_text(module, encoding="utf-8")
    else:
        print(module)


if __name__ == "__main__":
    main()
