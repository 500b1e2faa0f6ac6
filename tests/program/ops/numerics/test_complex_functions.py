"""Mathematical functions of complex numbers, against Python's cmath and C99's special values."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import nimblehlo
from nimblehlo.types import ELEMENT_TYPES
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import program
from tests.program.ops.texts import tensor
from tests.support.running import MODES, assert_same_bits

Array = np.ndarray[Any, Any]

INF, NAN = math.inf, math.nan
TYPES = ["complex<f32>", "complex<f64>"]


def apply(name: str, element_type: str, *operands: Any, result: str | None = None) -> Any:
    arrays = [np.array(operand, ELEMENT_TYPES[element_type].dtype) for operand in operands]
    type = tensor(arrays[0].shape, element_type)
    (array,) = evaluate(program(name, [type] * len(arrays), [result or type]), *arrays)
    return array


def logistic(z: complex) -> complex:
    return cmath.exp(z / 2) / (2 * cmath.cosh(z / 2))


def cube_root(z: complex) -> complex:
    return cmath.rect(abs(z) ** (1 / 3), cmath.phase(z) / 3)


UNARY: dict[str, Callable[[complex], complex]] = {
    "stablehlo.cbrt": cube_root,
    "stablehlo.cosine": cmath.cos,
    "stablehlo.exponential": cmath.exp,
    "stablehlo.exponential_minus_one": lambda z: cmath.exp(z) - 1,
    "stablehlo.log": cmath.log,
    "stablehlo.log_plus_one": lambda z: cmath.log(1 + z),
    "stablehlo.logistic": logistic,
    "stablehlo.negate": lambda z: -z,
    "stablehlo.rsqrt": lambda z: 1 / cmath.sqrt(z),
    "stablehlo.sign": lambda z: z / abs(z),
    "stablehlo.sine": cmath.sin,
    "stablehlo.sqrt": cmath.sqrt,
    "stablehlo.tan": cmath.tan,
    "stablehlo.tanh": cmath.tanh,
    "chlo.acos": cmath.acos,
    "chlo.acosh": cmath.acosh,
    "chlo.asin": cmath.asin,
    "chlo.asinh": cmath.asinh,
    "chlo.atan": cmath.atan,
    "chlo.atanh": cmath.atanh,
    "chlo.conj": lambda z: z.conjugate(),
    "chlo.cosh": cmath.cosh,
    "chlo.sinh": cmath.sinh,
    "chlo.square": lambda z: z * z,
    "chlo.tan": cmath.tan,
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("element_type", TYPES)
def test_unary(name: str, element_type: str) -> None:
    random = np.random.default_rng(1)
    values = random.standard_normal(200) * 2 + 1j * random.standard_normal(200) * 2
    values = values.astype(ELEMENT_TYPES[element_type].dtype)
    tolerance = 4 * np.finfo(values.dtype).eps
    for z, result in zip(values.tolist(), apply(name, element_type, values).tolist(), strict=True):
        wanted = UNARY[name](z)
        assert abs(result - wanted) <= tolerance * abs(wanted) * (4 if name.endswith("one") else 1), z


BINARY: dict[str, Callable[[complex, complex], complex]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "power": lambda a, b: a**b,
    "atan2": lambda a, b: -1j * cmath.log((b + 1j * a) / cmath.sqrt(a * a + b * b)),
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("element_type", TYPES)
def test_binary(name: str, element_type: str) -> None:
    random = np.random.default_rng(2)
    dtype = ELEMENT_TYPES[element_type].dtype
    lhs, rhs = ((random.standard_normal(200) + 1j * random.standard_normal(200)).astype(dtype) for _ in "ab")
    results = apply(f"stablehlo.{name}", element_type, lhs, rhs).tolist()
    for a, b, result in zip(lhs.tolist(), rhs.tolist(), results, strict=True):
        wanted = BINARY[name](a, b)
        assert abs(result - wanted) <= 16 * np.finfo(dtype).eps * max(abs(wanted), abs(a), abs(b)), (a, b)


def test_atan2_is_exact_in_both_components() -> None:
    """Also where one is small beside the other, and wherever the arguments' magnitudes are."""
    random = np.random.default_rng(7)
    pairs = [(-88 + 2.05j, 2147483647.0 + 0j), (2j, 1 + 0j), (0.5j, 1 + 0j), (3 + 4j, -1 + 1e-8j)]
    for scale in (0, 3, 9, 100):
        parts = random.standard_normal((40, 4)) * 10 ** random.uniform(-scale, scale, (40, 4))
        pairs += [(complex(a, b), complex(c, d)) for a, b, c, d in parts]
    lhs, rhs = (np.array(values) for values in zip(*pairs, strict=True))
    results = apply("stablehlo.atan2", "complex<f64>", lhs, rhs)
    with mpmath.workprec(2500):
        for (y, x), result in zip(pairs, results.tolist(), strict=True):
            a, b = mpmath.mpc(y), mpmath.mpc(x)
            wanted = -1j * mpmath.log((b + 1j * a) / mpmath.sqrt(a * a + b * b))
            for got, true in ((result.real, wanted.real), (result.imag, wanted.imag)):
                assert abs(got - true) <= 1e-14 * abs(true) + 1e-300, (y, x)


@pytest.mark.parametrize("element_type", TYPES)
def test_modulus_neither_overflows_nor_loses_infinity(element_type: str) -> None:
    part = element_type[8:-1]
    largest = float(np.finfo(ELEMENT_TYPES[part].dtype).max)
    values = [3 + 4j, complex(largest / 2, largest / 2), complex(INF, NAN), complex(NAN, 1)]
    got = apply("stablehlo.abs", element_type, values, result=tensor([4], part)).tolist()
    assert got[0] == 5
    assert math.isclose(got[1], largest / math.sqrt(2), rel_tol=1e-6)
    assert got[2] == INF
    assert math.isnan(got[3])


def test_functions_of_large_and_small_numbers() -> None:
    huge, tiny = 1.5e308, 1e-300
    one = "complex<f64>"
    (result,) = apply("stablehlo.log_plus_one", one, [complex(tiny, 2 * tiny)])
    assert result == complex(tiny, 2 * tiny)
    (result,) = apply("stablehlo.log_plus_one", one, [complex(-1e-17, 1e-9)])
    assert math.isclose(result.real, -1e-17 + 5e-19, rel_tol=1e-12)
    (result,) = apply("stablehlo.log_plus_one", one, [complex(huge, huge)])
    assert math.isclose(result.real, math.log(huge) + math.log(2) / 2, rel_tol=1e-15)
    (result,) = apply("stablehlo.exponential_minus_one", one, [complex(tiny, tiny)])
    assert result == complex(tiny, tiny)
    (result,) = apply("stablehlo.cbrt", one, [complex(huge, huge)])
    assert math.isclose(abs(result), 2 ** (1 / 6) * math.cbrt(huge), rel_tol=1e-14)
    (result,) = apply("stablehlo.tanh", one, [complex(800, 1)])
    assert result == 1
    (result,) = apply("stablehlo.logistic", one, [complex(-800, 0)])
    assert result == 0
    (result,) = apply("stablehlo.divide", one, [complex(huge, huge)], [complex(huge, huge)])
    assert result == pytest.approx(1, rel=1e-15)


@pytest.mark.parametrize(
    ("a", "b", "real", "imaginary"),
    [
        (1 + 1j, 0j, INF, INF),
        (1 + 0j, complex(INF, INF), 0.0, 0.0),
        (complex(INF, 1), 1 + 1j, INF, -INF),
        (0j, 0j, NAN, NAN),
    ],
)
def test_division_by_zero_and_infinity(a: complex, b: complex, real: float, imaginary: float) -> None:
    (result,) = apply("stablehlo.divide", "complex<f32>", [a], [b])
    for got, wanted in ((result.real, real), (result.imag, imaginary)):
        assert got == wanted or (math.isnan(got) and math.isnan(wanted))


@pytest.mark.parametrize("element_type", TYPES)
def test_special_values(element_type: str) -> None:
    def one(name: str, z: complex) -> complex:
        return complex(apply(f"stablehlo.{name}", element_type, [z])[0])

    def is_nan(z: complex) -> bool:
        return math.isnan(z.real) and math.isnan(z.imag)

    assert one("exponential", complex(-INF, 1)) == 0
    assert one("exponential", complex(INF, 0)) == complex(INF, 0)
    assert one("exponential", complex(-INF, INF)) == 0
    assert is_nan(one("exponential", complex(1, INF)))
    assert one("sqrt", complex(1, INF)) == complex(INF, INF)
    assert one("sqrt", complex(-1, -0.0)) == complex(0, -1)
    assert one("log", complex(-1, 0)).imag == pytest.approx(math.pi)
    assert one("sign", 0j) == 0
    assert is_nan(one("sign", complex(NAN, 1)))
    assert one("rsqrt", complex(INF, 0)) == 0
    assert one("tanh", complex(INF, 1)) == 1


EDGES = [-INF, -2.0, -0.0, 0.0, 1.5, INF, NAN]

ANNEX_G_EXP = [
    (-INF, -INF, 0.0, -0.0),
    (-INF, INF, 0.0, 0.0),
    (-INF, NAN, 0.0, 0.0),
    (INF, -INF, INF, NAN),
    (INF, INF, INF, NAN),
    (INF, NAN, INF, NAN),
    (-INF, 0.0, 0.0, 0.0),
    (-INF, -0.0, 0.0, -0.0),
    (INF, 0.0, INF, 0.0),
    (INF, -0.0, INF, -0.0),
    (NAN, 0.0, NAN, 0.0),
    (NAN, -0.0, NAN, -0.0),
    (NAN, 1.5, NAN, NAN),
    (NAN, NAN, NAN, NAN),
    (1.5, INF, NAN, NAN),
    (1.5, NAN, NAN, NAN),
]
"""Components of numbers and of their exponentials in C99, G.6.3.1; where a sign is open, that of NumPy."""


def edge_numbers(element_type: str) -> Array:
    return np.array([complex(x, y) for x in EDGES for y in EDGES], ELEMENT_TYPES[element_type].dtype)


def at_edges(name: str, element_type: str) -> Array:
    """A function of all pairs of edges, with the same bits in every mode."""
    z = edge_numbers(element_type)
    type = tensor(z.shape, element_type)
    result = tensor(z.shape, element_type[8:-1]) if name == "stablehlo.abs" else type
    call = f'"{name}"(%z) : ({type}) -> {result}'
    text = f"func.func @main(%z: {type}) -> {result} {{ %r = {call} return %r : {result} }}"
    (want,) = evaluate(program(name, [type], [result]), z)
    for options in MODES.values():
        assert_same_bits(nimblehlo.execute(text, [z], options=options)[0], want)
    return want


@pytest.mark.parametrize("element_type", TYPES)
def test_exponentials_have_the_special_values_of_annex_g(element_type: str) -> None:
    z, got = edge_numbers(element_type), at_edges("stablehlo.exponential", element_type)
    for x, y, *want in ANNEX_G_EXP:
        is_y = np.isnan(z.imag) if math.isnan(y) else (z.imag == y) & (np.signbit(z.imag) == np.signbit(y))
        (index,) = np.flatnonzero(is_y & (np.isnan(z.real) if math.isnan(x) else z.real == x))
        np.testing.assert_array_equal([got[index].real, got[index].imag], want, f"exp({x}, {y})")
        if not any(map(math.isnan, want)):
            assert np.signbit([got[index].real, got[index].imag]).tolist() == np.signbit(want).tolist(), (
                x,
                y,
            )


NUMPY_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "stablehlo.abs": np.abs,
    "stablehlo.cosine": np.cos,
    "stablehlo.exponential": np.exp,
    "stablehlo.log": np.log,
    "stablehlo.log_plus_one": np.log1p,
    "stablehlo.sine": np.sin,
    "stablehlo.sqrt": np.sqrt,
    "stablehlo.tan": np.tan,
    "stablehlo.tanh": np.tanh,
    "chlo.acos": np.arccos,
    "chlo.acosh": np.arccosh,
    "chlo.asin": np.arcsin,
    "chlo.asinh": np.arcsinh,
    "chlo.atan": np.arctan,
    "chlo.atanh": np.arctanh,
    "chlo.cosh": np.cosh,
    "chlo.sinh": np.sinh,
}


@pytest.mark.parametrize("name", NUMPY_FUNCTIONS)
@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_values_of_functions_are_those_of_numpy(name: str, element_type: str) -> None:
    """Annex G leaves the sign of a component open beside one that is NaN."""
    got, want = at_edges(name, element_type), np.asarray(NUMPY_FUNCTIONS[name](edge_numbers(element_type)))
    tolerance = 8 * np.finfo(got.dtype).eps
    np.testing.assert_allclose(np.abs(got.real), np.abs(want.real), rtol=tolerance)
    np.testing.assert_allclose(np.abs(got.imag), np.abs(want.imag), rtol=tolerance)
    has_signs = ~np.isnan(want.real) & ~np.isnan(want.imag)
    np.testing.assert_array_equal(np.signbit(got.real)[has_signs], np.signbit(want.real)[has_signs])
    np.testing.assert_array_equal(np.signbit(got.imag)[has_signs], np.signbit(want.imag)[has_signs])


@pytest.mark.parametrize("element_type", TYPES)
def test_functions_without_an_entry_in_annex_g_follow_its_exponential(element_type: str) -> None:
    """exp(z) - 1 and 1 / (1 + exp(-z)), where an infinite divisor gives zero; also roots in every mode."""
    z = edge_numbers(element_type)
    exponential = at_edges("stablehlo.exponential", element_type)
    minus_one = at_edges("stablehlo.exponential_minus_one", element_type)
    is_great = np.isinf(z.real)
    np.testing.assert_array_equal(minus_one.real[is_great], exponential.real[is_great] - 1)
    np.testing.assert_array_equal(minus_one.imag, exponential.imag)
    logistic_values = at_edges("stablehlo.logistic", element_type)
    assert (logistic_values[z.real == -INF] == 0).all() and (logistic_values[z.real == INF] == 1).all()
    without_angle = np.isfinite(z.real) & ~np.isfinite(z.imag)
    assert np.isnan(logistic_values[without_angle].real).all()
    assert np.isnan(at_edges("stablehlo.sign", element_type)[~np.isfinite(z)]).all()
    root = at_edges("stablehlo.rsqrt", element_type)
    assert (root[np.isinf(z.real) | np.isinf(z.imag)] == 0).all()
    modulus = at_edges("stablehlo.abs", element_type)
    cube_roots = at_edges("stablehlo.cbrt", element_type)
    is_number = ~np.isnan(z)
    assert (np.isinf(cube_roots) == np.isinf(modulus))[is_number].all()


def test_powers_keep_their_digits() -> None:
    """As many ulps would be lost as the exponent of e is great, 280 here."""
    mpmath = pytest.importorskip("mpmath")
    lhs, rhs = complex(-4.189e-122, -7.5e-133), complex(0.85, -5.76)
    power = apply("stablehlo.power", "complex<f64>", lhs, rhs)
    with mpmath.workprec(200):
        expected = complex(mpmath.power(mpmath.mpc(lhs), mpmath.mpc(rhs)))
    has_more_digits = np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant
    assert abs(power - expected) <= (4e-16 if has_more_digits else 4e-13) * abs(expected)


@pytest.mark.parametrize("rhs", [complex(INF, 0), complex(0, INF), complex(NAN, 1), 2j, 0, -3, 1e308])
@pytest.mark.parametrize(
    "lhs", [0, complex(-0.0, -0.0), complex(INF, 0), complex(NAN, 0), 1e300 + 1e300j, 5e-324j]
)
def test_powers_at_the_edges_are_those_of_numpy(lhs: complex, rhs: complex) -> None:
    with np.errstate(all="ignore"):
        expected = np.power(np.complex128(lhs), np.complex128(rhs))
    np.testing.assert_allclose(apply("stablehlo.power", "complex<f64>", lhs, rhs), expected, rtol=1e-12)


@pytest.mark.parametrize("distance", [1e-3, 1e-8, 1e-8j, complex(-1e-8, 1e-7), complex(1e-5, -1e-12)])
@pytest.mark.parametrize("pole", [math.pi, -math.pi, 3 * math.pi])
def test_logistic_next_to_its_poles(pole: float, distance: complex) -> None:
    mpmath = pytest.importorskip("mpmath")
    operand = complex(0, pole) + distance
    with mpmath.workprec(200):
        expected = complex(1 / (1 + mpmath.exp(-mpmath.mpc(operand))))
    result = apply("stablehlo.logistic", "complex<f64>", operand)
    assert abs(result - expected) <= 1e-15 * abs(expected)


def test_single_quotients_and_roots_are_right_part_by_part():
    mpmath = pytest.importorskip("mpmath")
    generator = np.random.default_rng(4)
    lhs, rhs = (
        np.float32(generator.standard_normal((2, 300)) * 2.0 ** generator.integers(-60, 60, (2, 300)))
        for _ in range(2)
    )
    # Quotients of which one part almost vanishes.
    rhs[:, :100] = lhs[:, :100] * np.float32(3) + np.float32(1e-6) * rhs[:, :100]
    lhs, rhs = (np.ascontiguousarray(parts.T).view(np.complex64)[:, 0] for parts in (lhs, rhs))
    quotient = apply("stablehlo.divide", "complex<f32>", lhs, rhs)
    root = apply("stablehlo.sqrt", "complex<f32>", lhs)
    with mpmath.workprec(200):
        for a, b, got, got_root in zip(lhs, rhs, quotient, root, strict=True):
            exact = mpmath.mpc(complex(a))
            for part, true in zip(
                (got, got_root), (exact / mpmath.mpc(complex(b)), mpmath.sqrt(exact)), strict=True
            ):
                expected = [np.float32(float(true.real)), np.float32(float(true.imag))]
                assert [part.real, part.imag] == expected


def test_single_moduli_are_close_and_keep_their_range():
    mpmath = pytest.importorskip("mpmath")
    generator = np.random.default_rng(5)
    spread = 2.0 ** np.repeat([-140, -126, -61, 0, 59, 61, 126], 60)
    parts = np.float32(generator.standard_normal((2, spread.size)) * spread)
    operand = np.ascontiguousarray(parts.T).view(np.complex64)[:, 0]
    got = apply("stablehlo.abs", "complex<f32>", operand, result=tensor(operand.shape, "f32"))
    with mpmath.workprec(200):
        for value, modulus in zip(operand, got, strict=True):
            true = abs(mpmath.mpc(complex(value)))
            assert abs(mpmath.mpf(float(modulus)) - true) <= 1.2 * mpmath.mpf(float(np.spacing(modulus)))
