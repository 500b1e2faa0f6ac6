"""CHLO operations, against plain Python and known values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.errors import UnsupportedError
from nimblehlo.program.ops import lookup
from nimblehlo.program.ops.chlo import broadcast, elementwise, functions
from nimblehlo.types import ELEMENT_TYPES
from tests.program.ops.oracles import (
    COMMON_FLOATS,
    FLOATS,
    INTEGERS,
    assert_within_an_ulp,
    float_values,
    integer_values,
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
from tests.program.ops.texts import array, tensor

MODULES = (elementwise, functions, broadcast)


def apply(name: str, *operands: Any, result: str | None = None, attributes: str = "") -> Any:
    """The result of one operation on arrays; of the first operand's type unless `result` says otherwise."""
    by_dtype = {declared.dtype: text for text, declared in ELEMENT_TYPES.items()}
    types = [tensor(operand.shape, by_dtype[operand.dtype]) for operand in operands]
    (value,) = evaluate(program(f"chlo.{name}", types, [result or types[0]], attributes), *operands)
    return np.asarray(value)


def reached(function: Callable[[float], float], x: float) -> float:
    """A function of `math` that gives infinity and NaN where `math` raises."""
    try:
        return function(x)
    except OverflowError:
        return math.copysign(math.inf, x) if function in (math.sinh,) else math.inf
    except ValueError:
        return math.inf if function is math.lgamma and not math.isnan(x) else math.nan


def atanh(x: float) -> float:
    return math.copysign(math.inf, x) if abs(x) == 1 else math.atanh(x)


UNARY: dict[str, Callable[[float], float]] = {
    "acos": math.acos,
    "acosh": math.acosh,
    "asin": math.asin,
    "asinh": math.asinh,
    "atan": math.atan,
    "atanh": atanh,
    "conj": lambda x: x,
    "cosh": math.cosh,
    "erf": math.erf,
    "erfc": math.erfc,
    "lgamma": math.lgamma,
    "sinh": math.sinh,
    "square": lambda x: x * x,
    "tan": math.tan,
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("element_type", [name for name in COMMON_FLOATS if name != "f64"])
def test_real_functions(name: str, element_type: str) -> None:
    values = float_values(element_type)
    for value, result in zip(values, apply(name, values), strict=True):
        x = float(value)
        if math.isnan(x):
            assert math.isnan(float(result))
        else:
            assert_within_an_ulp(result, reached(UNARY[name], x), element_type)


@pytest.mark.parametrize("name", UNARY)
def test_real_functions_in_f64(name: str) -> None:
    values = np.random.default_rng(0).uniform(
        1.01 if name == "acosh" else -0.99, 3 if name == "acosh" else 0.99, 200
    )
    # Near its zeros and between its poles lgamma is a difference of greater numbers.
    absolute = 1e-15 if name == "lgamma" else 0.0
    for value, result in zip(values, apply(name, values), strict=True):
        assert math.isclose(result, UNARY[name](value), rel_tol=2e-15, abs_tol=absolute)


def test_known_values() -> None:
    def one(name: str, *arguments: float) -> float:
        return float(apply(name, *(np.array(argument) for argument in arguments)))

    euler = 0.5772156649015329
    assert math.isclose(one("digamma", 1.0), -euler, rel_tol=1e-15)
    assert math.isclose(one("digamma", -0.5), 2 - euler - 2 * math.log(2), rel_tol=1e-14)
    assert math.isclose(one("digamma", -0.996720832427865), -304.5239876944925083, rel_tol=1e-15)
    assert math.isclose(one("digamma", -7 - 2.0**-40), 1099511627778.0156, rel_tol=1e-15)
    assert one("digamma", 0.0) == one("digamma", -0.0) == one("polygamma", 0.0, 0.0) == -math.inf
    assert math.isnan(one("digamma", -3.0))
    assert math.isclose(one("zeta", 2.0, 1.0), math.pi**2 / 6, rel_tol=1e-15)
    assert math.isclose(one("zeta", 4.0, 2.0), math.pi**4 / 90 - 1, rel_tol=1e-14)
    assert [one("zeta", x, 100.0) for x in (1e9, 7e15, 1e300, math.inf)] == [0.0] * 4
    assert math.isclose(one("zeta", 1e15, 1 + 2.0**-50), math.exp(-1e15 * 2.0**-50), rel_tol=1e-12)
    assert one("zeta", 7e15, 1.0) == one("zeta", math.inf, 1.0) == 1.0
    assert one("zeta", 1e13, 0.5) == math.inf and math.isnan(one("zeta", math.nan, 2.0))
    assert one("zeta", 1.0, 2.0) == math.inf
    assert math.isnan(one("zeta", 0.5, 2.0))
    assert one("zeta", 2.0, -1.0) == math.inf
    assert math.isnan(one("zeta", 3.0, -1.0))
    assert math.isclose(one("polygamma", 1.0, 1.0), math.pi**2 / 6, rel_tol=1e-15)
    assert math.isclose(one("polygamma", 0.0, 1.0), -euler, rel_tol=1e-15)
    assert math.isclose(one("polygamma", 2.0, 1.0), -2 * 1.2020569031595942, rel_tol=1e-14)
    assert math.isnan(one("polygamma", 1.5, 1.0))
    assert math.isnan(one("polygamma", -1.0, 1.0))
    assert math.isclose(one("bessel_i1e", 1.0), 0.5651591039924851 / math.e, rel_tol=1e-15)
    assert math.isclose(one("bessel_i1e", -1.0), -0.5651591039924851 / math.e, rel_tol=1e-15)
    assert one("erf_inv", 1.0) == math.inf
    assert math.isnan(one("erf_inv", 1.5))
    assert math.copysign(1, one("erf_inv", -0.0)) == -1


@pytest.mark.parametrize("element_type", ["f16", "bf16", "f32"])
def test_erf_inv_inverts_erf(element_type: str) -> None:
    values = np.linspace(-0.99, 0.99, 101).astype(ELEMENT_TYPES[element_type].dtype)
    back = [math.erf(float(value)) for value in apply("erf_inv", values)]
    assert np.abs(np.array(back) - values.astype(np.float64)).max() <= np.finfo(np.float32).eps * (
        1 if element_type == "f32" else 1 << 16
    )


@pytest.mark.parametrize("element_type", FLOATS)
def test_predicates(element_type: str) -> None:
    values = float_values(element_type)
    numbers = [float(value) for value in values]
    result = tensor(values.shape, "i1")
    assert apply("is_inf", values, result=result).tolist() == [math.isinf(x) for x in numbers]
    assert apply("is_neg_inf", values, result=result).tolist() == [x == -math.inf for x in numbers]
    assert apply("is_pos_inf", values, result=result).tolist() == [x == math.inf for x in numbers]


@pytest.mark.parametrize("element_type", ["f8E5M2", "bf16", "f16", "f32", "f64"])
def test_next_after(element_type: str) -> None:
    dtype = ELEMENT_TYPES[element_type].dtype
    x = np.array([1.0, 1.0, 1.0, 0.0, 0.0, math.nan, 1.0, math.inf]).astype(dtype)
    y = np.array([2.0, 0.0, 1.0, 1.0, -1.0, 1.0, math.nan, 0.0]).astype(dtype)
    got = apply("next_after", x, y)
    bits = f"i{dtype.itemsize}"
    steps = got.view(bits)[:3].astype(int) - x.view(bits)[:3].astype(int)
    assert steps.tolist() == [1, -1, 0]
    assert int(got[3:4].view(bits)[0]) == 1
    assert same(float(got[4]), -float(got[3]))
    assert np.isnan(got[5:7].astype(np.float64)).all()
    assert math.isfinite(float(got[7]))


@pytest.mark.parametrize("element_type", INTEGERS)
def test_mulhi(element_type: str) -> None:
    values, width = integer_values(element_type), ELEMENT_TYPES[element_type].width
    lhs, rhs = np.repeat(values, len(values)), np.tile(values, len(values))
    expected = [wrapped(int(a) * int(b) >> width, element_type) for a, b in zip(lhs, rhs, strict=True)]
    assert [int(value) for value in apply("mulhi", lhs, rhs)] == expected


def test_constants() -> None:
    (value,) = evaluate(
        program("chlo.constant", [], ["tensor<2xi8>"], "value = dense<[1, -1]> : tensor<2xi8>")
    )
    assert value.tolist() == [1, -1]
    operand = np.zeros((2, 3), np.int8)
    value = apply("constant_like", operand, result=tensor([2, 3]), attributes="value = 1.5 : f32")
    assert value.tolist() == [[1.5] * 3] * 2


@pytest.mark.parametrize("options", [Options(reference=True), Options(compile="eager")])
def test_constants_of_both_zeros_differ(options: Options) -> None:
    text = f"""func.func @main(%x: {tensor([2])}) -> ({tensor([2])}, {tensor([2])}) {{
      %0 = "chlo.constant_like"(%x) {{value = 0.0 : f32}} : ({tensor([2])}) -> {tensor([2])}
      %1 = "chlo.constant_like"(%x) {{value = -0.0 : f32}} : ({tensor([2])}) -> {tensor([2])}
      return %0, %1 : {tensor([2])}, {tensor([2])}
    }}"""
    results = nimblehlo.compile(text, options=options)(np.ones(2, np.float32))
    assert [np.signbit(zeros).tolist() for zeros in results] == [[False, False], [True, True]]


def test_pretty_forms() -> None:
    text = """func.func @main(%x: tensor<4xf32>, %n: tensor<4xi32>) -> tensor<2xf32> {
      %0 = chlo.constant dense<1.0> : tensor<4xf32>
      %1 = chlo.next_after %x, %0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
      %2 = chlo.zeta %1, %0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
      %3 = chlo.polygamma %0, %2 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
      %4 = chlo.mulhi %n, %n : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
      %5 = chlo.asin %x : tensor<4xf32> -> tensor<4xf32>
      %6 = chlo.is_inf %x : tensor<4xf32> -> tensor<4xi1>
      %7 = chlo.broadcast_add %5, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %8 = chlo.broadcast_select %6, %7, %5 : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %9 = chlo.broadcast_compare %8, %5 {comparison_direction = #chlo<comparison_direction LT>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
      %10:2 = chlo.top_k(%x, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
      %11:2 = chlo.top_k(%x, k = 2, is_stable = false) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
      return %11#0 : tensor<2xf32>
    }"""  # noqa: E501
    values, _ = evaluate(text, np.array([1, 5, 3, 2], np.float32), np.zeros(4, np.int32))
    assert values.tolist() == [5.0, 3.0]


BROADCAST: dict[str, Callable[[Any, Any], Any]] = {
    "broadcast_add": np.add,
    "broadcast_atan2": np.arctan2,
    "broadcast_divide": np.divide,
    "broadcast_maximum": np.maximum,
    "broadcast_minimum": np.minimum,
    "broadcast_multiply": np.multiply,
    "broadcast_next_after": np.nextafter,
    "broadcast_power": np.power,
    "broadcast_remainder": np.fmod,
    "broadcast_subtract": np.subtract,
}
BROADCAST_INTEGERS: dict[str, Callable[[Any, Any], Any]] = {
    "broadcast_and": np.bitwise_and,
    "broadcast_or": np.bitwise_or,
    "broadcast_xor": np.bitwise_xor,
    "broadcast_shift_left": np.left_shift,
    "broadcast_shift_right_arithmetic": np.right_shift,
    "broadcast_shift_right_logical": np.right_shift,
}
CASES = [((2, 3), (2, 3), None), ((2, 3), (3,), None), ((3,), (2, 3), None), ((), (2, 3), None)]
CASES += [((2, 1), (1, 3), None), ((2, 3), (2,), (0,)), ((2,), (2, 3), (0,)), ((2, 3), (), ())]


@pytest.mark.sampled
@pytest.mark.parametrize(("lhs_shape", "rhs_shape", "dimensions"), CASES)
@pytest.mark.parametrize("name", [*BROADCAST, *BROADCAST_INTEGERS])
def test_broadcasting(name: str, lhs_shape: Any, rhs_shape: Any, dimensions: Any) -> None:
    integers = name in BROADCAST_INTEGERS
    function = {**BROADCAST, **BROADCAST_INTEGERS}[name]
    dtype = np.int32 if integers else np.float64
    lhs = (np.arange(math.prod(lhs_shape)).reshape(lhs_shape) + 2).astype(dtype)
    rhs = (np.arange(math.prod(rhs_shape)).reshape(rhs_shape) + 1).astype(dtype)
    attributes = "" if dimensions is None else f"broadcast_dimensions = {array(*dimensions)}"
    result = apply(name, lhs, rhs, result=tensor((2, 3), "i32" if integers else "f64"), attributes=attributes)
    a, b = ((x[:, None] if dimensions == (0,) and x.ndim == 1 else x) for x in (lhs, rhs))
    np.testing.assert_allclose(result, np.broadcast_to(function(a, b), (2, 3)), rtol=1e-15)


def test_broadcasting_to_other_types() -> None:
    lhs, rhs = np.array([1.0, 2.0], np.float32), np.array(2.0, np.float32)
    assert apply("broadcast_complex", lhs, rhs, result=tensor([2], "complex<f32>")).tolist() == [
        1 + 2j,
        2 + 2j,
    ]
    attributes = "comparison_direction = #chlo<comparison_direction LT>"
    assert apply("broadcast_compare", lhs, rhs, result=tensor([2], "i1"), attributes=attributes).tolist() == [
        True,
        False,
    ]
    chosen = apply("broadcast_select", np.array([[True], [False]]), lhs, rhs, result=tensor([2, 2]))
    assert chosen.tolist() == [[1.0, 2.0], [2.0, 2.0]]
    two, half = np.array(2.0), np.array([0.5, 1.0])
    assert (
        apply("broadcast_zeta", two, half, result=tensor([2], "f64")).tolist()
        == apply("zeta", np.full(2, 2.0), half).tolist()
    )
    assert (
        apply("broadcast_polygamma", two, half, result=tensor([2], "f64")).tolist()
        == apply("polygamma", np.full(2, 2.0), half).tolist()
    )


def test_broadcasting_comparison_of_quantized_elements() -> None:
    """-1 and 7 have the values 1 and 5, 1 and 3 the values 2 and 3."""
    element_type = "!quant.uniform<i8:f32, 0.5:-3>"
    types = [f"tensor<2x1x{element_type}>", f"tensor<2x{element_type}>"]
    attributes = "comparison_direction = #chlo<comparison_direction LT>"
    text = program("chlo.broadcast_compare", types, ["tensor<2x2xi1>"], attributes)
    operands = [np.array([[-1], [7]], np.int8), np.array([1, 3], np.int8)]
    (value,) = evaluate(text, *operands)
    assert value.tolist() == [[True, True], [False, False]]


def test_broadcasting_of_dynamic_sizes() -> None:
    text = program("chlo.broadcast_add", ["tensor<?x3xf32>", "tensor<?xf32>"], ["tensor<?x3xf32>"])
    (value,) = evaluate(text, np.ones((2, 3), np.float32), np.ones(1, np.float32))
    assert value.tolist() == [[2.0] * 3] * 2


@pytest.mark.parametrize("element_type", ["complex<f32>", "complex<f64>"])
def test_complex_bessel_function(element_type: str) -> None:
    z = np.array([0.5 + 0.25j, -2 + 1j, 1j, 0, 3]).astype(ELEMENT_TYPES[element_type].dtype)
    for value, result in zip(z.tolist(), apply("bessel_i1e", z), strict=True):
        terms = [(value / 2) ** (2 * k + 1) / (math.factorial(k) * math.factorial(k + 1)) for k in range(40)]
        expected = sum(terms) * math.exp(-abs(value.real))
        assert abs(result - expected) <= 4 * np.finfo(z.real.dtype).eps * abs(expected)


@pytest.mark.parametrize("element_type", ["complex<f32>", "complex<f64>"])
def test_asin_acos_kernel(element_type: str) -> None:
    parts = np.array([-1e10, -3.0, -1.0, -0.25, 1e-20, 0.5, 1.0, 2.5])
    z = (parts[:, None] + 1j * parts[None, :]).ravel().astype(ELEMENT_TYPES[element_type].dtype)
    w, turned = apply("_asin_acos_kernel", z), apply("_asin_acos_kernel", (1j * z).astype(z.dtype))
    close = 4 * np.finfo(z.real.dtype).eps
    assembled = {
        "asin": np.arctan2(z.real, w.real) + 1j * np.sign(z.imag) * w.imag,
        "acos": np.arctan2(w.real, z.real) - 1j * np.sign(z.imag) * w.imag,
        "asinh": np.sign(z.real) * turned.imag + 1j * np.arctan2(z.imag, turned.real),
        "acosh": w.imag + 1j * np.sign(z.imag) * np.arctan2(w.real, z.real),
    }
    for name, value in assembled.items():
        np.testing.assert_allclose(value, apply(name, z), rtol=close)


def test_broadcasting_remainder_of_complex_numbers_is_not_supported() -> None:
    text = program("chlo.broadcast_remainder", ["tensor<complex<f32>>"] * 2, ["tensor<complex<f32>>"])
    with pytest.raises(UnsupportedError, match=r"chlo\.broadcast_remainder"):
        parse_and_verify(text)


def test_lgamma_of_subnormal_numbers() -> None:
    smallest = np.array([5e-324, -5e-324, 2.5e-308, 0.0, -0.0])
    expected = [math.lgamma(5e-324)] * 2 + [math.lgamma(2.5e-308), math.inf, math.inf]
    assert np.allclose(apply("lgamma", smallest), expected, rtol=1e-15, atol=0)


def near(points: list[float], *distances: float) -> np.ndarray[Any, Any]:
    return np.array(
        [point + sign * distance for point in points for distance in distances for sign in (-1, 1)]
    )


def test_lgamma_next_to_its_zeros() -> None:
    mpmath = pytest.importorskip("mpmath")
    values = near([1.0, 2.0], 2**-50, 1e-9, 1e-4, 0.1, 0.3, 0.4999, 0.5)
    with mpmath.workprec(200):
        expected = [float(mpmath.loggamma(mpmath.mpf(value))) for value in values]
    assert np.allclose(apply("lgamma", values), expected, rtol=1e-15, atol=0)
    assert apply("lgamma", np.array([1.0, 2.0])).tolist() == [0, 0]


def test_lgamma_does_not_hang_on_how_many_elements_there_are() -> None:
    values = np.random.default_rng(0).uniform(0.4, 2.6, 9000)
    one_by_one = np.concatenate([apply("lgamma", values[k : k + 9]) for k in range(0, len(values), 9)])
    assert apply("lgamma", values).tobytes() == one_by_one.tobytes()


def test_erfc_of_great_numbers() -> None:
    mpmath = pytest.importorskip("mpmath")
    values = np.append(near([1.0, 5.0, 26.0], 0.0, 0.3, 0.49), 26.543)
    with mpmath.workprec(200):
        expected = [float(mpmath.erfc(mpmath.mpf(value))) for value in values]
    assert np.allclose(apply("erfc", values), expected, rtol=1.5e-15, atol=0)
    far = np.array([28.0, 31.0, 1e300, math.inf, -math.inf, -1e300, math.nan, 0.0, -0.0])
    np.testing.assert_array_equal(apply("erfc", far), [0, 0, 0, 0, 2, 2, math.nan, 1, 1])


F2, F3, B2, I2 = tensor([2]), tensor([3]), tensor([2], "i1"), tensor([2], "i32")


def rejected_unary(name: str) -> dict[str, str]:
    return {"C1": program(name, [F2], [tensor([3], "i1") if ".is_" in name else F3])}


def rejected_broadcast(name: str) -> dict[str, str]:
    bits = name.split("_", 1)[1] in ("and", "or", "xor") or "shift" in name
    operand = I2 if bits else F2
    operand_3 = tensor([3], "i32") if bits else F3
    result = tensor([2], "complex<f32>") if name.endswith("complex") else operand
    extra, longer = "", tensor([3], "complex<f32>") if name.endswith("complex") else operand_3
    if name.endswith("compare"):
        extra, result, longer = "comparison_direction = #chlo<comparison_direction LT>", B2, tensor([3], "i1")
    labels = {
        "C1": program(name, [operand, tensor([2], "f64")], [result], extra),
        "C2": program(
            name, [operand, operand], [result], f"broadcast_dimensions = {array(0, 1)}, {extra}".strip(", ")
        ),
        "C3": program(name, [operand, operand], [longer], extra),
    }
    if name.endswith("compare"):
        labels["C4"] = program(
            name, [operand, operand], [result], f"{extra}, compare_type = #chlo<comparison_type SIGNED>"
        )
    return labels


def declared(name: str) -> Any:
    return lookup(f"chlo.{name}")


REJECTED: dict[Any, dict[str, str]] = {
    declared(name): rejected_unary(f"chlo.{name}")
    for name in (*UNARY, "bessel_i1e", "digamma", "erf_inv", "is_inf", "is_neg_inf", "is_pos_inf")
}
REJECTED[declared("_asin_acos_kernel")] = {
    "C1": program("chlo._asin_acos_kernel", ["tensor<2xcomplex<f32>>"], ["tensor<3xcomplex<f32>>"])
}
REJECTED |= {
    declared(name): rejected_broadcast(f"chlo.{name}")
    for name in (
        *BROADCAST,
        *BROADCAST_INTEGERS,
        "broadcast_compare",
        "broadcast_complex",
        "broadcast_polygamma",
        "broadcast_zeta",
    )
}
REJECTED |= {
    declared("next_after"): {"C1": program("chlo.next_after", [F2, F3], [F2])},
    declared("polygamma"): {"C1": program("chlo.polygamma", [F2, F3], [F2])},
    declared("zeta"): {"C1": program("chlo.zeta", [F2, tensor([2], "f64")], [F2])},
    declared("mulhi"): {"C1": program("chlo.mulhi", [I2, tensor([2], "ui32")], [I2])},
    declared("constant"): {"C1": program("chlo.constant", [], [F3], "value = dense<1.0> : tensor<2xf32>")},
    declared("constant_like"): {
        "C1": program("chlo.constant_like", [F2], [F3], "value = 1.0 : f32"),
        "C2": program("chlo.constant_like", [F2], [F2], "value = 1.0 : f64"),
    },
    declared("broadcast_select"): {
        "C1": program("chlo.broadcast_select", [B2, F2, I2], [F2]),
        "C2": program("chlo.broadcast_select", [B2, F2, F2], [F3]),
    },
}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: Any, label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, *MODULES)


@pytest.mark.parametrize(
    ("lhs", "rhs", "dimensions"),
    [
        (tensor([2, 3]), tensor([2]), ""),
        (tensor([2, 3]), tensor([2]), "broadcast_dimensions = array<i64: 1>"),
        (tensor([2, 3]), tensor([2]), "broadcast_dimensions = array<i64: 2>"),
        (tensor([2, 3]), tensor([3, 2]), "broadcast_dimensions = array<i64: 1, 0>"),
        (tensor([2, 2]), tensor([2, 2]), "broadcast_dimensions = array<i64: 0, 0>"),
    ],
)
def test_shapes_that_do_not_broadcast(lhs: str, rhs: str, dimensions: str) -> None:
    with pytest.raises(Exception, match=r"chlo\.broadcast_add: \(C[23]\)"):
        parse_and_verify(program("chlo.broadcast_add", [lhs, rhs], [lhs], dimensions))


@pytest.mark.parametrize(
    "text",
    [
        program("chlo.erf", [F2], [F2]),
        program("chlo.is_inf", [F2], [B2]),
        program("chlo.zeta", [F2, F2], [F2]),
        program("chlo.broadcast_add", [F2, tensor([])], [F2], "broadcast_dimensions = array<i64>"),
        program("chlo.broadcast_select", [B2, F2, F2], [F2]),
        program("chlo.constant_like", [F2], [F2], "value = 1.0 : f32"),
    ],
)
def test_inputs(text: str) -> None:
    assert_inputs_rejected(text)


def test_complex_values_of_other_parts_than_f32_and_f64() -> None:
    halves = tensor([2], "bf16")
    text = program("chlo.broadcast_complex", [halves, halves], [tensor([2], "complex<f32>")])
    with pytest.raises(UnsupportedError, match=r"stablehlo\.complex of bf16"):
        parse_and_verify(text)


@pytest.mark.parametrize("shape", [(300,), (3, 1000), (2, 3, 257), (0, 300)])
@pytest.mark.parametrize("distinct", [2, 40, 10**6])
def test_a_selection_equals_a_sort(shape: tuple[int, ...], distinct: int) -> None:
    values = np.random.default_rng(0).integers(-distinct, distinct, shape).astype(np.int32)
    sizes = "x".join(map(str, shape))
    lead = "x".join(map(str, (*shape[:-1], 9)))
    text = f"""
      func.func @main(%x: tensor<{sizes}xi32>) -> (tensor<{lead}xi32>, tensor<{lead}xi32>) {{
        %y:2 = chlo.top_k(%x, k = 9) : tensor<{sizes}xi32> -> (tensor<{lead}xi32>, tensor<{lead}xi32>)
        return %y#0, %y#1 : tensor<{lead}xi32>, tensor<{lead}xi32>
      }}"""
    found, places = nimblehlo.execute(text, [values], options=Options(compile="never"))
    order = np.argsort(-values, axis=-1, kind="stable")[..., :9]
    assert (places == order).all()
    assert (found == np.take_along_axis(values, order, axis=-1)).all()


def test_lgamma_does_not_depend_on_the_number_of_elements() -> None:
    values = np.random.default_rng(11).uniform(0.4, 2.6, 10_000)
    whole = apply("lgamma", values)
    alone = np.concatenate([apply("lgamma", values[k : k + 1]) for k in range(300)])
    assert whole[:300].tobytes() == alone.tobytes()
    assert whole[5000:].tobytes() == apply("lgamma", values[5000:]).tobytes()
