"""Quotients of complex<f64>: they are right, and infinite or zero where annex G says so."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from nimblehlo.kernels.math.complex_division import divide, quotient_by_annex_g

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(8)
PARTS = (0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1.7e308, -1e308, 5e-324, 1e-300)


def complex_numbers(real: Array, imaginary: Array) -> Array:
    values = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), np.complex128)
    values.real, values.imag = real, imaginary
    return values


def random_numbers(count: int, exponents: float) -> Array:
    parts = RNG.choice([-1, 1], (2, count)) * 10 ** RNG.uniform(-exponents, exponents, (2, count))
    return complex_numbers(*parts)


@pytest.mark.parametrize("exponents", [1, 60])
def test_quotients_are_close(exponents: float) -> None:
    lhs, rhs = random_numbers(400, exponents), random_numbers(400, exponents)
    for a, b, got in zip(lhs.tolist(), rhs.tolist(), divide(lhs, rhs).tolist(), strict=True):
        x, y, u, v = map(Fraction, (a.real, a.imag, b.real, b.imag))
        modulus = u * u + v * v
        real, imaginary = (x * u + y * v) / modulus, (y * u - x * v) / modulus
        error = max(abs(Fraction(got.real) - real), abs(Fraction(got.imag) - imaginary))
        assert error <= max(abs(real), abs(imaginary)) * Fraction(2) ** -51


@pytest.mark.parametrize("exponent", [-1074, -1060, -1024, -1000, 1015])
def test_divisors_at_the_ends_of_the_range(exponent: int) -> None:
    rhs = complex_numbers(*np.ldexp(RNG.choice([-7, -2, -1, 1, 3, 6], (2, 100)), exponent))
    wanted = random_numbers(100, 1)
    lhs = np.array([complex(w.real * z.real - w.imag * z.imag, w.real * z.imag + w.imag * z.real)
                    for w, z in zip(wanted, rhs, strict=True)])  # fmt: skip
    with np.errstate(over="ignore", invalid="ignore"):
        quotients = divide(lhs, rhs)
    for a, b, got in zip(lhs.tolist(), rhs.tolist(), quotients.tolist(), strict=True):
        x, y, u, v = map(Fraction, (a.real, a.imag, b.real, b.imag))
        modulus = u * u + v * v
        true = complex((x * u + y * v) / modulus, (y * u - x * v) / modulus)
        assert abs(got - true) <= 1e-15 * abs(true)


def test_finite_quotients_are_those_of_numpy() -> None:
    lhs, rhs = random_numbers(5000, 50), random_numbers(5000, 50)
    assert divide(lhs, rhs).tobytes() == np.divide(lhs, rhs).tobytes()


def test_special_values_are_those_of_annex_g() -> None:
    """Whether parts are infinite, zero or NaN, as the definition in C99 has it."""
    every = complex_numbers(np.array(PARTS)[:, None], np.array(PARTS)[None, :]).reshape(-1)
    infinite, finite = every[np.isinf(every)], every[np.isfinite(every)]
    nonzero = finite[finite != 0]
    with np.errstate(all="ignore"):
        assert np.isinf(divide(infinite[:, None], finite[None, :])).all()
        moderate = finite[np.maximum(abs(finite.real), abs(finite.imag)) < 1e300]
        assert (divide(moderate[:, None], infinite[None, :]) == 0).all()
        assert np.isinf(divide(nonzero[:, None], np.array([0j, complex(-0.0, 0.0)]))).all()
        assert np.isnan(divide(np.array([0j]), np.array([0j]))).all()
        assert (abs(divide(nonzero, nonzero) - 1) < 4e-16).all()


def test_annex_g_changes_quotients_of_two_nans_only() -> None:
    nan = complex(np.nan, np.nan)
    quotients = np.array([1 + 2j, complex(np.nan, 3), nan, nan, nan])
    lhs = np.array([np.inf, np.inf, complex(np.inf, 1), 3 - 4j, nan])
    rhs = np.array([0, 0, 2j, complex(0, -np.inf), 0j])
    with np.errstate(all="ignore"):
        got = quotient_by_annex_g(quotients, lhs, rhs)
    assert got[0] == 1 + 2j and np.isnan(got[1].real) and got[1].imag == 3
    assert np.isinf(got[2]) and got[3] == 0 and np.isnan(got[4])


@pytest.mark.parametrize("count", [0, 1, 7, 8, 255, 256, 257, 1000])
@pytest.mark.parametrize("step", [1, 3, -2])
def test_arrays_may_have_any_strides(count: int, step: int) -> None:
    """The same bits in whole vectors, in what is left, from elements that lie apart, beside NaN, in place."""
    lhs, rhs = (random_numbers(3 * count + 3, 3)[::step][:count] for _ in range(2))
    one_by_one = np.array([divide(a, b) for a, b in zip(lhs, rhs, strict=True)], np.complex128)
    target = np.zeros(2 * count, np.complex128)
    divide(lhs, rhs, out=target[::2])
    assert target[::2].tobytes() == one_by_one.tobytes() and not target[1::2].any()
    beside = rhs.copy()
    beside[count // 2 :][:1] = np.nan
    with np.errstate(invalid="ignore"):
        assert divide(lhs, beside)[: count // 2].tobytes() == one_by_one[: count // 2].tobytes()
    assert divide(lhs, np.complex128(2 + 1j)).tobytes() == divide(lhs, np.full(count, 2 + 1j)).tobytes()
    both = lhs.copy()
    divide(both, rhs, out=both)
    assert both.tobytes() == one_by_one.tobytes()
