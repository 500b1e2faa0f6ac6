"""Functions of complex<f64>: their errors, special values, and bits on each level of x86-64."""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from nimblehlo.kernels.math import complex_functions, real_functions
from tests.processors.levels import available_levels, environment

Array = np.ndarray[Any, Any]

FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], float]] = {
    "square_root": (mpmath.sqrt, np.sqrt, 0.8),
    "logarithm": (mpmath.log, np.log, 0.8),
    "log_plus_one": (lambda z: mpmath.log(1 + z), np.log1p, 1.5),
    "sinh": (mpmath.sinh, np.sinh, 0.9),
    "cosh": (mpmath.cosh, np.cosh, 0.9),
    "tanh": (mpmath.tanh, np.tanh, 1.0),
    "sine": (mpmath.sin, np.sin, 0.9),
    "cosine": (mpmath.cos, np.cos, 0.9),
    "tangent": (mpmath.tan, np.tan, 1.0),
    "asin": (mpmath.asin, np.arcsin, 1.3),
    "acos": (mpmath.acos, np.arccos, 1.3),
    "asinh": (mpmath.asinh, np.arcsinh, 1.3),
    "acosh": (mpmath.acosh, np.arccosh, 1.3),
    "atan": (mpmath.atan, np.arctan, 1.5),
    "atanh": (mpmath.atanh, np.arctanh, 1.5),
}
"""What a function is, NumPy's, and the maximum error in ulps of the modulus."""
EDGES = [0.0, -0.0, 0.5, 1.0, -1.0, -2.0, 30.0, 1e308, -1e308, math.inf, -math.inf, math.nan]


pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def operands() -> Array:
    """Numbers of all magnitudes, near the unit circle and near 1, where logarithms and angles cancel."""
    random = np.random.default_rng(0)
    count = 150

    def numbers(low: int, high: int) -> Array:
        """Without functions of NumPy, whose bits depend on the processor."""
        return np.ldexp(random.standard_normal(count), random.integers(low, high, count))

    angles = numbers(-33, 2)
    directions = real_functions.cosine(angles) + 1j * real_functions.sine(angles)
    return np.concatenate(
        [
            numbers(-66, 8) + 1j * numbers(-66, 8),
            1 + numbers(-50, 1) + 1j * numbers(-50, 1),
            (1 + numbers(-40, 1)) * directions,
        ]
    )


def ulps(got: complex, true: Any) -> float:
    exponent = max(mpmath.floor(mpmath.log(abs(true), 2)), -1022)
    return float(abs(mpmath.mpc(got) - true) / mpmath.mpf(2) ** (exponent - 52))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors(name: str) -> None:
    function, _, bound = FUNCTIONS[name]
    values = operands()
    with mpmath.workprec(300):
        for z, got in zip(values.tolist(), getattr(complex_functions, name)(values).tolist(), strict=True):
            assert ulps(got, function(mpmath.mpc(z))) <= bound, z


def agree(a: float, b: float) -> bool:
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return math.copysign(1, a) == math.copysign(1, b) and (a == b or abs(a - b) <= 1e-13 * abs(b))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_and_branch_cuts(name: str) -> None:
    """As annex G of C99 says, and NumPy's functions are; the sign of zero and infinity beside NaN is open."""
    grid = np.array([complex(x, y) for x in EDGES for y in EDGES])
    got, expected = getattr(complex_functions, name)(grid), FUNCTIONS[name][1](grid)
    for z, a, b in zip(grid.tolist(), got.tolist(), expected.tolist(), strict=True):
        for one, other, beside in ((a.real, b.real, b.imag), (a.imag, b.imag, b.real)):
            has_open_sign = math.isnan(beside) and other in (0, math.inf, -math.inf)
            assert agree(abs(one), abs(other)) if has_open_sign else agree(one, other), z


@pytest.mark.parametrize("imaginary", [2.0**-20, 2.0**-29, 1e-15, 1e-300])
def test_atanh_next_to_its_pole(imaginary: float) -> None:
    z = complex(1, imaginary)
    (got,) = complex_functions.atanh(np.array([z])).tolist()
    with mpmath.workprec(2500):
        assert ulps(got, mpmath.atanh(mpmath.mpc(z))) <= 1.3


def test_moduli() -> None:
    values = operands()
    values = np.concatenate([values, values * 1e300, values * 1e-300])
    with mpmath.workprec(200):
        for z, got in zip(values.tolist(), complex_functions.modulus(values).tolist(), strict=True):
            assert ulps(got, abs(mpmath.mpc(z))) <= 0.52, z
    edges = np.array([complex(math.inf, math.nan), complex(math.nan, 1), complex(-0.0, 0), 3 + 4j])
    np.testing.assert_array_equal(complex_functions.modulus(edges), [math.inf, math.nan, 0, 5])


def test_products_of_an_overflowing_power_and_a_small_sine_are_finite() -> None:
    got = complex_functions.sinh(np.array([720 + 1e-300j, 1300 + 1e-300j, 3000 + 1e-320j]))
    assert got.real.tolist() == [math.inf] * 3
    with mpmath.workprec(200):
        for z, imaginary in zip([720 + 1e-300j, 1300 + 1e-300j], got.imag[:2].tolist(), strict=True):
            true = mpmath.sinh(mpmath.mpc(z)).imag
            assert abs(imaginary - true) <= 4e-16 * true
    assert got.imag[2] == math.inf


def test_sines_of_great_angles() -> None:
    """The last one is the f64 that is nearest to a multiple of pi/2."""
    random = np.random.default_rng(1)
    magnitudes = np.ldexp(random.uniform(1, 2, 200), random.integers(30, 1022, 200))
    angles = np.concatenate([magnitudes, -magnitudes, [2.0**30, 1.7e308, 6381956970095103 * 2.0**797]])
    for name, function in (("sine", mpmath.sin), ("cosine", mpmath.cos), ("tangent", mpmath.tan)):
        got = getattr(real_functions, name)(angles).tolist()
        with mpmath.workprec(2300):
            for x, value in zip(angles.tolist(), got, strict=True):
                assert ulps(value, function(mpmath.mpf(x))) <= 1, x
    assert np.isnan(real_functions.sine(np.array([math.inf, -math.inf, math.nan]))).all()


def digest() -> str:
    """Of the bits of all functions."""
    bits = hashlib.sha256()
    values = np.concatenate([operands(), operands() * 1e100])
    with np.errstate(all="ignore"):
        for name in ("modulus", "asin_acos", *FUNCTIONS):
            bits.update(getattr(complex_functions, name)(values).tobytes())
        for name in ("sine", "cosine", "tangent"):
            bits.update(getattr(real_functions, name)(values.real * 1e10).tobytes())
    return bits.hexdigest()


@pytest.mark.parametrize("level", available_levels())
def test_levels_have_the_same_bits(level: str) -> None:
    code = "from tests.kernels.math.test_complex_functions import digest; print(digest())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(level), capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == digest()
