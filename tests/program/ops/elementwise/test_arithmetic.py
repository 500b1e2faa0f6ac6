"""Elementwise arithmetic and mathematical functions, against plain Python numbers and wider floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from nimblehlo.errors import UnsupportedError
from nimblehlo.program.ops.elementwise import arithmetic, functions
from nimblehlo.types import ELEMENT_TYPES
from tests.program.ops.oracles import (
    BYTE_FLOATS,
    COMMON_FLOATS,
    INTEGERS,
    all_values,
    assert_within_an_ulp,
    float_values,
    integer_values,
    nearest,
    same,
    wrapped,
)
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    parse_and_verify,
    program,
    rows,
)
from tests.program.ops.texts import PER_TENSOR, declaration, per_axis, tensor

Array = np.ndarray[Any, Any]


def apply(name: str, *operands: Array, result: str | None = None, attributes: str = "") -> Array:
    """The result of one operation on arrays; of the first operand's type unless `result` says otherwise."""
    by_dtype = {declared.dtype: text for text, declared in ELEMENT_TYPES.items()}
    types = [tensor(operand.shape, by_dtype[operand.dtype]) for operand in operands]
    text = program(f"stablehlo.{name}", types, [result or types[0]], attributes)
    (array,) = evaluate(text, *operands)
    return np.asarray(array)


def pairs(values: Array) -> tuple[Array, Array]:
    """All pairs of values, as two arrays."""
    return np.repeat(values, len(values)), np.tile(values, len(values))


def quotient(a: int, b: int) -> int:
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def power(a: int, b: int) -> int:
    if b >= 0:
        return pow(a, b, 1 << 128)
    return a ** (-b % 2) if abs(a) == 1 else 0


INTEGER_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": quotient,
    "remainder": lambda a, b: a - quotient(a, b) * b if b else a,
    "power": power,
}


@pytest.mark.parametrize("name", INTEGER_FUNCTIONS)
@pytest.mark.parametrize("element_type", INTEGERS)
def test_integers(name: str, element_type: str) -> None:
    lhs, rhs = pairs(integer_values(element_type))
    function = INTEGER_FUNCTIONS[name]
    expected = [wrapped(function(int(a), int(b)), element_type) for a, b in zip(lhs, rhs, strict=True)]
    assert [int(value) for value in apply(name, lhs, rhs)] == expected


@pytest.mark.parametrize("element_type", [name for name in INTEGERS if name.startswith("i")])
def test_signed_integers(element_type: str) -> None:
    values = integer_values(element_type)
    numbers = [int(value) for value in values]
    assert [int(v) for v in apply("abs", values)] == [wrapped(abs(n), element_type) for n in numbers]
    assert [int(v) for v in apply("sign", values)] == [(n > 0) - (n < 0) for n in numbers]


@pytest.mark.parametrize("element_type", INTEGERS)
def test_negate_integers(element_type: str) -> None:
    values = integer_values(element_type)
    assert [int(v) for v in apply("negate", values)] == [wrapped(-int(v), element_type) for v in values]


def test_booleans() -> None:
    lhs, rhs = pairs(np.array([False, True]))
    assert apply("add", lhs, rhs).tolist() == [False, True, True, True]
    assert apply("multiply", lhs, rhs).tolist() == [False, False, False, True]


EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "remainder": lambda a, b: a - math.trunc(a / b) * b,
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("element_type", [name for name in BYTE_FLOATS if name != "f8E8M0FNU"])
def test_narrow_floats_round_once(name: str, element_type: str) -> None:
    lhs, rhs = pairs(all_values(element_type)[:: 3 if ELEMENT_TYPES[element_type].width == 8 else 1])
    got = apply(name, lhs, rhs)
    for a, b, result in zip(lhs.astype(float), rhs.astype(float), got.astype(float), strict=True):
        if not (math.isfinite(a) and math.isfinite(b)) or (b == 0 and name in ("divide", "remainder")):
            continue
        exact = EXACT[name](Fraction(a), Fraction(b))
        assert result == nearest(exact, element_type) or same(result, nearest(exact, element_type)), (a, b)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "remainder"])
@pytest.mark.parametrize("element_type", ["f16", "bf16", "f32", "f64"])
def test_special_values(name: str, element_type: str) -> None:
    dtype = ELEMENT_TYPES[element_type].dtype
    lhs, rhs = pairs(np.array([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan]).astype(dtype))

    def expected(a: float, b: float) -> float:
        if name == "divide" and b == 0:
            return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
        if name == "remainder":
            return math.fmod(a, b) if b != 0 and not math.isinf(a) else math.nan
        return {"add": a + b, "subtract": a - b, "multiply": a * b}.get(name, a / b if b else 0.0)

    for a, b, result in zip(lhs, rhs, apply(name, lhs, rhs), strict=True):
        assert same(float(result), expected(float(a), float(b))), (a, b)


def python(function: Callable[[float], float]) -> Callable[[float], float]:
    """A function of `math` that gives infinity and NaN where `math` raises."""

    def call(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.inf
        except (ValueError, ZeroDivisionError):
            return math.nan

    return call


def logarithm(x: float) -> float:
    return math.log(x) if x else -math.inf


def log_plus_one(x: float) -> float:
    return math.log1p(x) if x != -1 else -math.inf


def rsqrt(x: float) -> float:
    return 1 / math.sqrt(x) if x else math.copysign(math.inf, x)


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


UNARY: dict[str, Callable[[float], float]] = {
    "cbrt": lambda x: float(np.cbrt(np.longdouble(x))),
    "cosine": math.cos,
    "exponential": math.exp,
    "exponential_minus_one": math.expm1,
    "log": logarithm,
    "log_plus_one": log_plus_one,
    "logistic": logistic,
    "rsqrt": rsqrt,
    "sine": math.sin,
    "sqrt": math.sqrt,
    "tan": math.tan,
    "tanh": math.tanh,
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("element_type", COMMON_FLOATS)
def test_real_functions(name: str, element_type: str) -> None:
    values = float_values(element_type)
    function = python(UNARY[name])
    for value, result in zip(values, apply(name, values), strict=True):
        wanted = math.nan if math.isnan(float(value)) else function(float(value))
        assert_within_an_ulp(result, wanted, element_type)


@pytest.mark.parametrize(
    "name", ["cbrt", "exponential_minus_one", "log_plus_one", "sine", "tan", "tanh", "sqrt"]
)
def test_sign_of_zero_is_kept(name: str) -> None:
    assert np.signbit(apply(name, np.array([-0.0, 0.0], np.float32))).tolist() == [True, False]


@pytest.mark.parametrize("name", ["exponential", "logistic", "rsqrt", "tanh"])
def test_large_arrays_are_computed_as_small_ones(name: str) -> None:
    values = np.abs(np.random.default_rng(0).standard_normal((3, 1 << 14)).astype(np.float32))
    whole = apply(name, values)
    assert whole[2, 5:9].tobytes() == apply(name, values[2, 5:9].copy()).tobytes()
    turned = apply(name, np.ascontiguousarray(values.T))
    assert turned.tobytes() == np.ascontiguousarray(whole.T).tobytes()


@pytest.mark.parametrize("element_type", COMMON_FLOATS)
def test_atan2_and_power(element_type: str) -> None:
    lhs, rhs = pairs(float_values(element_type)[: 40 if ELEMENT_TYPES[element_type].width > 8 else None : 3])

    def pow_of(x: float, y: float) -> float:
        if x == 0 and y < 0:
            odd = math.isfinite(y) and y == math.trunc(y) and math.fmod(y, 2) != 0
            return math.copysign(math.inf, x) if odd else math.inf
        try:
            return math.pow(x, y)
        except OverflowError:
            return -math.inf if x < 0 and math.fmod(y, 2) != 0 else math.inf
        except ValueError:
            return math.nan

    for name, function in (("atan2", math.atan2), ("power", pow_of)):
        for a, b, result in zip(lhs, rhs, apply(name, lhs, rhs), strict=True):
            assert_within_an_ulp(result, function(float(a), float(b)), element_type)


@pytest.mark.parametrize("element_type", COMMON_FLOATS)
def test_rounding(element_type: str) -> None:
    values = float_values(element_type)

    def away(x: float) -> float:
        return math.copysign(math.floor(abs(x)) + (abs(x) - math.floor(abs(x)) >= 0.5), x)

    functions: dict[str, Callable[[float], float]] = {
        "ceil": lambda x: math.copysign(math.ceil(x), x),
        "floor": lambda x: math.copysign(math.floor(x), x),
        "round_nearest_afz": away,
        "round_nearest_even": lambda x: math.copysign(round(x), x),
        "abs": abs,
        "negate": lambda x: -x,
        "sign": lambda x: math.copysign(float((x > 0) - (x < 0)), x),
        "real": lambda x: x,
        "imag": lambda x: 0.0,
    }
    for name, function in functions.items():
        for value, result in zip(values, apply(name, values), strict=True):
            x = float(value)
            if math.isfinite(x) or name in ("abs", "negate", "sign", "imag"):
                wanted = function(x) if not math.isnan(x) or name == "imag" else math.nan
                finest = float(np.array(wanted).astype(ELEMENT_TYPES[element_type].dtype))
                assert same(float(result), finest), (name, x)
            else:
                assert same(float(result), x), (name, x)


def test_ties_next_to_a_half() -> None:
    below = math.nextafter(0.5, 0)
    values = np.array([below, -below, 4503599627370497.5, 0.5, -0.5])
    assert apply("round_nearest_afz", values).tolist() == [0.0, -0.0, 4503599627370498.0, 1.0, -1.0]


@pytest.mark.parametrize(("part", "whole"), [("f32", "complex<f32>"), ("f64", "complex<f64>")])
def test_complex_and_its_components(part: str, whole: str) -> None:
    real, imaginary = pairs(np.array([0.0, -0.0, 1.5, math.inf, math.nan], ELEMENT_TYPES[part].dtype))
    made = apply("complex", real, imaginary, result=tensor(real.shape, whole))
    assert apply("real", made, result=tensor(real.shape, part)).tobytes() == real.tobytes()
    assert apply("imag", made, result=tensor(real.shape, part)).tobytes() == imaginary.tobytes()


def test_dynamic_sizes() -> None:
    text = program("stablehlo.add", ["tensor<?x2xf32>", "tensor<3x?xf32>"], ["tensor<3x2xf32>"])
    (array,) = evaluate(text, np.ones((3, 2), np.float32), np.ones((3, 2), np.float32))
    assert array.tolist() == [[2.0, 2.0]] * 3


@pytest.mark.parametrize(("part", "whole"), [(np.float32, "complex<f32>"), (np.float64, "complex<f64>")])
def test_products_of_complex_numbers_round_each_step(part: type[np.floating[Any]], whole: str) -> None:
    generator = np.random.default_rng(0)
    dtype = np.result_type(part, np.complex64)
    lhs, rhs = (generator.standard_normal((2, 74)).astype(part).view(dtype)[row] for row in (0, 1))
    pairs = [(complex_parts(a, part), complex_parts(b, part)) for a, b in zip(lhs, rhs, strict=True)]
    expected = [(a * c - b * d, a * d + b * c) for (a, b), (c, d) in pairs]
    for step in (1, 3):
        product = apply("multiply", lhs[::step], rhs[::step], result=tensor(lhs[::step].shape, whole))
        assert [complex_parts(value, part) for value in product] == expected[::step]


def complex_parts(value: Any, part: type[np.floating[Any]]) -> tuple[Any, Any]:
    return part(value.real), part(value.imag)


def test_complex_remainder_is_left_open() -> None:
    text = program("stablehlo.remainder", ["tensor<complex<f32>>"] * 2, ["tensor<complex<f32>>"])
    with pytest.raises(UnsupportedError, match=r"stablehlo\.remainder.*complex"):
        parse_and_verify(text)


def accuracy(mode: str, atol: float = 0.0, ulps: int = 0) -> str:
    return (
        f"result_accuracy = #stablehlo.result_accuracy<atol = {atol}, rtol = 0.0, ulps = {ulps}, "
        f"mode = #stablehlo.result_accuracy_mode<{mode}>>"
    )


@pytest.mark.parametrize("name", [*UNARY])
def test_result_accuracy(name: str) -> None:
    values = np.array([0.5], np.float32)
    expected = apply(name, values)
    for attributes in (accuracy("DEFAULT"), accuracy("HIGHEST"), accuracy("TOLERANCE", 0.5, 3)):
        assert apply(name, values, attributes=attributes).tobytes() == expected.tobytes()
    for attributes in (accuracy("HIGHEST", ulps=4), accuracy("DEFAULT", 1.0), accuracy("TOLERANCE", ulps=-1)):
        text = program(f"stablehlo.{name}", ["tensor<f32>"], ["tensor<f32>"], attributes)
        assert_rejected(declaration(name), "I2", text)


@pytest.mark.parametrize(
    ("name", "element_type", "bounds", "supported"),
    [
        ("exponential", "f32", (0.0, 0.0, 0), False),
        ("exponential", "f32", (0.0, 0.0, 1), True),
        ("exponential", "f32", (0.0, 2.0**-23, 0), True),
        ("exponential", "f32", (0.0, 2.0**-25, 0), False),
        ("exponential", "f32", (1.0, 0.0, 0), False),
        ("exponential", "bf16", (0.0, 2.0**-7, 0), True),
        ("exponential", "f64", (0.0, 2.0**-23, 0), True),
        ("logistic", "f64", (0.0, 0.0, 2), False),
        ("logistic", "f64", (0.0, 0.0, 3), True),
        ("logistic", "f64", (0.0, 2.0**-52, 2), True),
        ("tanh", "f32", (1e-6, 0.0, 0), True),
        ("tanh", "f32", (1e-9, 0.0, 0), False),
        ("tanh", "complex<f32>", (1.0, 0.0, 0), False),
        ("tanh", "complex<f32>", (0.0, 0.0, 1), True),
        ("tanh", "complex<f64>", (0.0, 0.0, 4), False),
        ("tanh", PER_TENSOR, (0.0, 0.0, 0), False),
    ],
)
def test_tolerances(name: str, element_type: str, bounds: tuple[float, float, int], supported: bool) -> None:
    """A tolerance that a function cannot promise to keep is refused."""
    atol, rtol, ulps = bounds
    attribute = (
        f"result_accuracy = #stablehlo.result_accuracy<atol = {atol:.40f}, rtol = {rtol:.40f}, "
        f"ulps = {ulps}, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>"
    )
    text = program(f"stablehlo.{name}", [tensor([2], element_type)], [tensor([2], element_type)], attribute)
    if supported:
        parse_and_verify(text)
    else:
        with pytest.raises(UnsupportedError, match=r"may be off by .* ulps, more than atol"):
            parse_and_verify(text)


def unary(name: str, operand: str, result: str) -> str:
    return program(f"stablehlo.{name}", [operand], [result])


def binary(name: str, lhs: str, rhs: str, result: str) -> str:
    return program(f"stablehlo.{name}", [lhs, rhs], [result])


Q = tensor([2], PER_TENSOR)
OTHER_STORAGE = tensor([2], "!quant.uniform<i16:f32, 0.5:1>")
OTHER_EXPRESSED = tensor([2], "!quant.uniform<i8:bf16, 0.5:1>")
AXIS_0, AXIS_1 = tensor([2, 2], per_axis(0)), tensor([2, 2], per_axis(1))
F2, F3 = tensor([2]), tensor([3])

REJECTED: dict[Any, dict[str, str]] = {
    declaration(name): {"C1": unary(name, F2, F3)}
    for name in (*UNARY, "ceil", "floor", "negate", "round_nearest_afz", "round_nearest_even", "sign")
}
REJECTED |= {
    declaration(name): {"C1": binary(name, F2, tensor([2], "f64"), F2)}
    for name in ("atan2", "divide", "multiply", "power", "remainder", "subtract")
}
REJECTED |= {
    declaration(name): {
        "C1": unary(name, tensor([2], "complex<f32>"), F3),
        "C2": unary(name, tensor([2], "complex<f32>"), tensor([2], "f64")),
    }
    for name in ("abs", "imag", "real")
}
REJECTED |= {
    declaration("add"): {
        "C1": binary("add", F2, F3, F2),
        "C2": binary("add", Q, F2, Q),
        "C3": binary("add", Q, OTHER_STORAGE, Q),
        "C4": binary("add", Q, OTHER_EXPRESSED, Q),
        "C5": binary("add", AXIS_0, AXIS_0, tensor([2, 2], PER_TENSOR)),
        "C6": binary("add", AXIS_1, AXIS_0, AXIS_0),
        "C7": binary("add", AXIS_0, AXIS_1, AXIS_0),
    },
    declaration("complex"): {
        "I1": binary("complex", tensor([2], "f16"), F2, tensor([2], "complex<f32>")),
        "I2": binary("complex", F2, tensor([2], "bf16"), tensor([2], "complex<f32>")),
        "C1": binary("complex", F2, tensor([2], "f64"), tensor([2], "complex<f32>")),
        "C2": binary("complex", F2, F2, tensor([3], "complex<f32>")),
        "C3": binary("complex", F2, F2, tensor([2], "complex<f64>")),
    },
}


@pytest.mark.parametrize(("declared", "label", "text"), rows(REJECTED))
def test_rejected(declared: Any, label: str, text: str) -> None:
    assert_rejected(declared, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, arithmetic, functions)


@pytest.mark.parametrize(
    "text",
    [
        binary("add", Q, tensor([2], "!quant.uniform<i8:f32, 0.25:3>"), Q),
        binary("add", AXIS_0, tensor([2, 2], per_axis(0, "1.0:0, 2.0:1")), AXIS_0),
        binary("divide", Q, tensor([2], "!quant.uniform<i8:f32, 0.25:3>"), Q),
        binary("complex", F2, F2, tensor([2], "complex<f32>")),
        program("stablehlo.tanh", [F2], [F2], accuracy("TOLERANCE", 0.5)),
        unary("abs", tensor([2], "complex<f32>"), F2),
        unary("real", tensor(["?"], "complex<f32>"), F2),
    ],
)
def test_inputs(text: str) -> None:
    assert_inputs_rejected(text)
