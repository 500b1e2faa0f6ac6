"""Custom calls that stand for operations of CHLO, for XLA's TopK and for LAPACK's routines."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nimblehlo
from nimblehlo import UnsupportedError, VerifyError
from nimblehlo.program.ops.custom_calls import compared_top_k
from nimblehlo.program.ops.custom_calls.compared_top_k import ComparedTopK
from nimblehlo.program.ops.custom_calls.encoded_operations import ENCODED
from nimblehlo.program.ops.framework.declaration import Op
from tests.program.ops.rejections import assert_complete, rows
from tests.support.running import assert_close, assert_same_bits, run_every_way, run_xla

F32 = "tensor<2x4xf32>"
X = np.random.default_rng(0).uniform(-0.9, 0.9, (2, 4)).astype(np.float32)
UNARY = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "erf", "erfc", "sinh", "tan")
VERSION = "mhlo.version = 1 : i64"


def call(target: str, attributes: str, operands: str = F32, results: str = F32, count: int = 1) -> str:
    """A function that passes its operands to a custom call, and returns its results."""
    types = operands.split(", ")
    names = [f"%{index}" for index in range(len(types))]
    arguments = ", ".join(f"{name}: {type}" for name, type in zip(names, types, strict=True))
    returned = ", ".join(f"%r#{index}" for index in range(count))
    return f"""func.func @main({arguments}) -> ({results}) {{
  %r:{count} = stablehlo.custom_call @{target}({", ".join(names)}) {{{attributes}}}
    : ({operands}) -> ({results})
  return {returned} : {results}
}}"""


def test_each_unary_operation_is_tested() -> None:
    others = {
        "mhlo.topk",
        "chlo.top_k",
        "chlo.ragged_dot",
        # Tested with their producers.
        "mhlo.custom_call",
        "mhlo.dynamic_reshape",
        "mhlo.real_dynamic_slice",
        *(f"{dialect}.{name}" for dialect in ("mhlo", "chlo") for name in OTHERS),
    }
    assert set(ENCODED) == others | {f"{dialect}.{name}" for dialect in ("mhlo", "chlo") for name in UNARY}


OTHERS = ("mulhi", "scan")


@pytest.mark.parametrize("name", UNARY)
def test_unary_operations(name: str) -> None:
    operand = 1 / X if name == "acosh" else X
    (want,) = nimblehlo.execute(
        f"func.func @main(%x: {F32}) -> {F32} {{ %r = chlo.{name} %x : {F32} -> {F32} return %r : {F32} }}",
        [operand],
    )
    text = call(f"mhlo.{name}", f"mhlo.attributes = {{}}, {VERSION}")
    (got,) = run_every_way(text, operand)
    assert_same_bits(got, want)
    (named,) = nimblehlo.execute(call(f"chlo.{name}", 'backend_config = ""'), [operand])
    assert_same_bits(named, want)
    if name not in ("atan", "erfc"):  # XLA has no call of these names.
        assert_close([got], run_xla(text, operand), 1e-6)


def test_high_half_of_products() -> None:
    integers = np.array([2**30, -7, 2**31 - 1], np.int32)
    type = "tensor<3xi32>"
    text = call("mhlo.mulhi", f"mhlo.attributes = {{}}, {VERSION}", f"{type}, {type}", type)
    (got,) = run_every_way(text, integers, integers)
    np.testing.assert_array_equal(got, integers.astype(np.int64) ** 2 >> 32)


SCAN = """func.func @main(%x: tensor<3x2xf32>, %i: tensor<2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>) {
  %r:2 = stablehlo.custom_call @mhlo.scan(%x, %i) {called_computations = [@step], mhlo.version = 1 : i64,
    mhlo.attributes = {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>,
                       resultSegmentSizes = array<i32: 1, 1>}}
    : (tensor<3x2xf32>, tensor<2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>)
  return %r#0, %r#1 : tensor<3x2xf32>, tensor<2xf32>
}
func.func private @step(%x: tensor<2xf32>, %c: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = stablehlo.add %x, %c : tensor<2xf32>
  return %0, %0 : tensor<2xf32>, tensor<2xf32>
}"""


def test_scan_calls_a_function() -> None:
    operand = np.arange(6, dtype=np.float32).reshape(3, 2)
    rows, carry = run_every_way(SCAN, operand, np.ones(2, np.float32))
    np.testing.assert_array_equal(rows, 1 + operand.cumsum(0))
    np.testing.assert_array_equal(carry, rows[-1])


TOP = "tensor<2x3xf32>, tensor<2x3xi32>"


@pytest.mark.parametrize("flags", ["", ", largest = true", ', mhlo.frontend_attributes = {a = "b"}'])
def test_top_k(flags: str) -> None:
    text = call("mhlo.topk", f"mhlo.attributes = {{k = 3 : i64{flags}}}, {VERSION}", F32, TOP, 2)
    values, indices = run_every_way(text, X)
    np.testing.assert_array_equal(indices, np.argsort(-X, axis=1, kind="stable")[:, :3])
    np.testing.assert_array_equal(values, np.take_along_axis(X, indices, 1))


COMPARISON = """
func.func private @first(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {{
  %0 = stablehlo.compare {}, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}}"""
TUPLE = f"""func.func @main(%x: {F32}) -> ({TOP}) {{
  %t = stablehlo.custom_call @TopK(%x) {{called_computations = [@first]}} : ({F32}) -> tuple<{TOP}>
  %v = stablehlo.get_tuple_element %t[0] : (tuple<{TOP}>) -> tensor<2x3xf32>
  %i = stablehlo.get_tuple_element %t[1] : (tuple<{TOP}>) -> tensor<2x3xi32>
  return %v, %i : {TOP}
}}"""
COMPARED = call("TopK", "called_computations = [@first]", F32, TOP, 2)


@pytest.mark.parametrize("text", [TUPLE, COMPARED], ids=["tuple", "results"])
@pytest.mark.parametrize(("direction", "sign"), [("GT", -1), ("LT", 1)])
def test_top_k_by_a_comparator(text: str, direction: str, sign: int) -> None:
    equal = np.array([[1, 2, 1, 2], [3, -0.0, 0.0, np.inf]], np.float32)
    for operand in (X, equal[:1].repeat(2, 0), equal):
        values, indices = run_every_way(text + COMPARISON.format(direction), operand)
        keys = operand + np.where((operand == 0) & np.signbit(operand), np.float32(-1e-9), 0)
        np.testing.assert_array_equal(indices, np.argsort(sign * keys, axis=1, kind="stable")[:, :3])
        assert_same_bits(values, np.take_along_axis(operand, indices, 1))


def test_top_k_by_a_comparator_of_unknown_rows() -> None:
    text = (COMPARED + COMPARISON.format("GT")).replace("tensor<2x", "tensor<?x")
    values, indices = run_every_way(text, X)
    np.testing.assert_array_equal(indices, np.argsort(-X, axis=1, kind="stable")[:, :3])
    np.testing.assert_array_equal(values, np.take_along_axis(X, indices, 1))


@pytest.mark.parametrize("target", ["MoveToHost", "MoveToDevice", "mhlo.copy"])
def test_placements_return_their_operand(target: str) -> None:
    (got,) = run_every_way(call(target, 'backend_config = ""'), X)
    assert_same_bits(got, X)
    with pytest.raises(UnsupportedError, match="changes the type"):
        nimblehlo.load(call(target, "", F32, "tensor<4x2xf32>"))


@pytest.mark.parametrize("element", ["f32", "f64", "complex<f32>", "complex<f64>"])
def test_reflectors_of_tpus(element: str) -> None:
    matrices, taus = f"tensor<2x4x3x{element}>", f"tensor<2x3x{element}>"
    factors = f"tuple<{matrices}, {taus}>"
    text = f"""func.func @main(%a: {matrices}) -> ({matrices}, {matrices}) {{
      %r:2 = stablehlo.custom_call @Qr(%a) : ({matrices}) -> ({matrices}, {taus})
      %t = stablehlo.custom_call @Qr(%a) : ({matrices}) -> {factors}
      %taus = stablehlo.get_tuple_element %t[1] : ({factors}) -> {taus}
      %q = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%r#0, %taus)
        {{api_version = 1 : i32}} : ({matrices}, {taus}) -> {matrices}
      return %r#0, %q : {matrices}, {matrices}
    }}"""
    random = np.random.default_rng(1)
    dtype = {"f32": np.float32, "f64": np.float64, "complex<f32>": np.complex64}.get(element, np.complex128)
    operand = random.normal(size=(2, 4, 3)).astype(dtype)
    if operand.dtype.kind == "c":
        operand += 1j * random.normal(size=(2, 4, 3)).astype(operand.real.dtype)
    packed, q = run_every_way(text, operand)
    bound = 50 * np.finfo(dtype).eps
    np.testing.assert_allclose(q @ np.triu(packed[:, :3]), operand, rtol=0, atol=bound)
    np.testing.assert_allclose(
        np.conj(q.swapaxes(1, 2)) @ q, np.eye(3)[None].repeat(2, 0), rtol=0, atol=bound
    )


GREATEST = COMPARED + COMPARISON.format("GT")
REJECTED: dict[type[Op], dict[str, str]] = {
    ComparedTopK: {
        "C1": GREATEST.replace("tensor<2x4xf32>", "tensor<f32>"),
        "C2": GREATEST.replace("%j: tensor<i32>", "%j: tensor<i64>"),
        "C3": GREATEST.replace("2x3xi32", "2x3xi64"),
        "C4": GREATEST.replace("2x3x", "2x5x"),
    }
}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    with pytest.raises(VerifyError, match="@TopK: ") as caught:
        nimblehlo.load(text)
    assert (caught.value.operation, caught.value.label) == ("stablehlo.custom_call", label)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, compared_top_k)


REFUSED = {
    "other results": (call("mhlo.erf", "", F32, "tensor<2x4xf64>"), VerifyError, "(C1) @mhlo.erf: result"),
    "integers": (call("mhlo.erf", "", "tensor<2xi32>", "tensor<2xi32>"), VerifyError, "(I1) @mhlo.erf"),
    "operands": (call("mhlo.erf", "", f"{F32}, {F32}"), VerifyError, "has 2 operands"),
    "version": (call("mhlo.erf", "mhlo.version = 2 : i64"), UnsupportedError, "mhlo.version must be 1"),
    "attributes": (call("mhlo.erf", "mhlo.attributes = 1"), VerifyError, "must be a dictionary"),
    "string": (call("mhlo.erf", 'backend_config = "k"'), VerifyError, "must be a dictionary"),
    "unknown": (call("mhlo.erf", "mhlo.attributes = {k = 1}"), VerifyError, "k, which chlo.erf lacks"),
    "smallest": (
        call("mhlo.topk", "mhlo.attributes = {k = 3, largest = false}", F32, TOP, 2),
        UnsupportedError,
        "largest = true alone",
    ),
    "k": (
        call("mhlo.topk", "mhlo.attributes = {k = 2}", F32, TOP, 2),
        VerifyError,
        "(C3) @mhlo.topk: values is tensor<2x3xf32>",
    ),
    "no comparator": (call("TopK", "", F32, TOP, 2), VerifyError, "@TopK"),
    "integer matrices": (
        call("Qr", "", "tensor<2x2xi32>", "tensor<2x2xi32>, tensor<2xi32>", 2),
        VerifyError,
        "@Qr: operand 0 is tensor<2x2xi32>",
    ),
    "taus": (
        call("ProductOfElementaryHouseholderReflectors", "", f"{F32}, {F32}"),
        VerifyError,
        "batch sizes",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    text, error, message = REFUSED[name]
    with pytest.raises(error, match=re.escape(message)):
        nimblehlo.load(text)


NUMBERS = ", ".join(
    f"dense<{values}> : tensor<{len(values)}xi64>" for values in ([], [], [1], [1], [0], [0])
).replace("dense<[]>", "dense<>")
RAGGED = f"ragged_dot_dimension_numbers = [{NUMBERS}], precision_config = [%s]"


@pytest.mark.parametrize(
    "call_text",
    [
        "stablehlo.custom_call @chlo.ragged_dot(%a, %b, %g)"
        " {mhlo.attributes = {ATTRIBUTES}, mhlo.version = 1 : i64}",
        'stablehlo.composite "chlo.ragged_dot" %a, %b, %g {'
        " composite_attributes = {ATTRIBUTES}, decomposition = @none, version = 1 : i32}",
    ],
    ids=["custom call", "composite"],
)
def test_ragged_products_have_their_attributes_as_arrays(call_text: str) -> None:
    """XLA writes fields as arrays, and precisions as strings: versioned programs have none of CHLO's."""
    text = f"""
    func.func @main(%a: tensor<5x2xf32>, %b: tensor<3x2x4xf32>, %g: tensor<3xi32>) -> tensor<5x4xf32> {{
      %0 = {call_text.replace("ATTRIBUTES", RAGGED % '"HIGHEST", "DEFAULT"')}
        : (tensor<5x2xf32>, tensor<3x2x4xf32>, tensor<3xi32>) -> tensor<5x4xf32>
      return %0 : tensor<5x4xf32>
    }}
    func.func private @none(%a: tensor<5x2xf32>, %b: tensor<3x2x4xf32>, %g: tensor<3xi32>)
        -> tensor<5x4xf32> {{
      %0 = stablehlo.constant dense<7.0> : tensor<5x4xf32>
      return %0 : tensor<5x4xf32>
    }}"""
    generator = np.random.default_rng(0)
    a = generator.integers(-9, 9, (5, 2)).astype(np.float32)
    b = generator.integers(-9, 9, (3, 2, 4)).astype(np.float32)
    groups = np.repeat(np.arange(3), [2, 1, 2])
    expected = np.stack([row @ b[group] for group, row in zip(groups, a, strict=True)])
    sizes = np.array([2, 1, 2], np.int32)
    assert_same_bits(run_every_way(text, a, b, sizes)[0], expected)


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        (RAGGED % '"SOME"', "no such value: 'SOME'"),
        (RAGGED.replace("dense<[0]> : tensor<1xi64>, ", "", 1) % "", "an array of lhs_batching"),
    ],
    ids=["precision", "fields"],
)
def test_attributes_of_ragged_products_that_are_wrong(attributes: str, reason: str) -> None:
    text = f"""
    func.func @main(%a: tensor<5x2xf32>, %b: tensor<3x2x4xf32>, %g: tensor<3xi32>) -> tensor<5x4xf32> {{
      %0 = stablehlo.custom_call @chlo.ragged_dot(%a, %b, %g) {{mhlo.attributes = {{{attributes}}}}}
        : (tensor<5x2xf32>, tensor<3x2x4xf32>, tensor<3xi32>) -> tensor<5x4xf32>
      return %0 : tensor<5x4xf32>
    }}"""
    with pytest.raises(VerifyError, match=reason):
        nimblehlo.load(text)
