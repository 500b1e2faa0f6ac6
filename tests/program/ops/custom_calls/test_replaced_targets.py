"""Custom calls that an operation replaces, whose declaration verifies them when their sizes are known."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, Options, UnsupportedError, VerifyError
from nimblehlo.program.ops.custom_calls import approx_top_k, sized_by_operands
from nimblehlo.program.ops.custom_calls.approx_top_k import ApproxTopK, DynamicApproxTopK
from nimblehlo.program.ops.custom_calls.sized_by_operands import (
    DynamicReduceWindow,
    DynamicRngBitGenerator,
    DynamicTopK,
)
from tests.program.ops.rejections import assert_complete, rows
from tests.support.running import run_every_way

FUNCTIONS = """
func.func private @greater(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func private @less(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func private @add(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %a, %b : tensor<f32>
  return %0 : tensor<f32>
}
func.func private @swap(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>)
  -> (tensor<f32>, tensor<f32>) {
  return %b, %a : tensor<f32>, tensor<f32>
}
func.func private @add_i32(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.add %a, %b : tensor<i32>
  return %0 : tensor<i32>
}
func.func private @add_f64(%a: tensor<f64>, %b: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.add %a, %b : tensor<f64>
  return %0 : tensor<f64>
}
"""


def call(target: str, operands: list[str], results: list[str], attributes: str) -> str:
    """A program of one custom call; an operand that is an attribute, ``dense<...> : type``, is a constant."""
    constants = {index: text for index, text in enumerate(operands) if text.startswith("dense")}
    types = [text.partition(" : ")[2] if index in constants else text for index, text in enumerate(operands)]
    inputs = ", ".join(f"%a{index}: {type}" for index, type in enumerate(types) if index not in constants)
    lines = [f"  %a{index} = stablehlo.constant {text}" for index, text in constants.items()]
    arguments = ", ".join(f"%a{index}" for index in range(len(operands)))
    returned = ", ".join(f"%r#{index}" for index in range(len(results)))
    outputs = ", ".join(results)
    lines.append(f"  %r:{len(results)} = stablehlo.custom_call @{target}({arguments}) {{{attributes}}}")
    lines.append(f"    : ({', '.join(types)}) -> ({outputs})")
    lines.append(f"  return {returned} : {outputs}")
    body = "\n".join(lines)
    return f"{FUNCTIONS}func.func @main({inputs}) -> ({outputs}) {{\n{body}\n}}\n"


CONFIGURATION = {
    "aggregate_to_topk": "true",
    "recall_target": "8.5e-01 : f32",
    "reduction_dim": "1 : i64",
    "reduction_input_size_override": "-1 : i64",
    "top_k": "4 : i64",
}


def top_k(
    operands: str = "2x9xf32 2x9xi32 f32 i32",
    results: str = "2x4xf32 2x4xi32",
    comparator: str = "greater",
    target: str = "ApproxTopK",
    more: tuple[str, ...] = (),
    rest: str = "",
    **changed: str,
) -> str:
    """A program that calls `ApproxTopK`, or its form with an operand for `top_k`."""
    configuration = {**CONFIGURATION, **changed}
    if target != "ApproxTopK":
        del configuration["top_k"]
    entries = ", ".join(f"{name} = {value}" for name, value in configuration.items())
    attributes = f"called_computations = [@{comparator}], mhlo.backend_config = {{{entries}}}{rest}"
    tensors = [f"tensor<{type}>" for type in operands.split()]
    return call(target, [*tensors, *more], [f"tensor<{type}>" for type in results.split()], attributes)


def dynamic_top_k(k: str = "tensor<i32>", results: str = "2x?xf32 2x?xi32", **changed: Any) -> str:
    return top_k(target="stablehlo.dynamic_approx_top_k", results=results, more=(k,), **changed)


APPROX = {
    "C1": {"operands": "2x9xf32 f32"},
    "C2": {"operands": "2x9xf32 2x4xi32 f32 i32"},
    "C3": {"operands": "2x9xf32 2x9xi32 f32 f32"},
    "C4": {"reduction_dim": "2 : i64"},
    "C5": {"comparator": "less"},
    "C7": {"results": "2x4xf32 3x4xi32"},
    "C9": {"operands": "?x9xf32 ?x9xi32 f32 i32", "results": "2x4xf32 3x4xi32"},
    "C10": {"recall_target": "1.5 : f32"},
}


def windows(
    operands: str = "6xf32", initial: str = "f32", results: str = "?xf32", body: str = "add", **sizes: str
) -> str:
    """A program that calls `dynamic_reduce_window`; `sizes` are constants in the place of operands."""
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    vectors = [f"dense<{sizes[name]}>" if name in sizes else "tensor<1xi32>" for name in names]
    vectors = [f"{text} : tensor<1xi32>" if text.startswith("dense") else text for text in vectors]
    if "lengths" in sizes:
        name, length = sizes["lengths"].split(":")
        vectors[names.index(name)] = f"tensor<{length}xi32>"
    padding = sizes.get("padding", "tensor<1x2xi32>")
    types = [f"tensor<{type}>" for type in (*operands.split(), *initial.split())]
    declared = [f"tensor<{type}>" for type in results.split()]
    attributes = f"called_computations = [@{body}]"
    return call("stablehlo.dynamic_reduce_window", [*types, *vectors, padding], declared, attributes)


def random_bits(
    state: str = "tensor<2xui64>",
    shape: str = "tensor<2xi32>",
    results: tuple[str, str] = ("tensor<2xui64>", "tensor<?x3xui32>"),
    algorithm: str = "PHILOX",
) -> str:
    attributes = f"rng_algorithm = #stablehlo<rng_algorithm {algorithm}>"
    return call("stablehlo.dynamic_rng_bit_generator", [state, shape], list(results), attributes)


def greatest(operand: str = "3x5xf32", k: str = "tensor<i32>", results: str = "3x?xf32 3x?xi32") -> str:
    declared = [f"tensor<{type}>" for type in results.split()]
    return call("stablehlo.dynamic_top_k", [f"tensor<{operand}>", k], declared, "api_version = 2 : i32")


REJECTED = {
    ApproxTopK: {
        **{label: top_k(**changed) for label, changed in APPROX.items()},
        "C6": top_k(top_k="10 : i64", results="2x10xf32 2x10xi32"),
        "C8": top_k(aggregate_to_topk="false", results="2x3xf32 2x3xi32"),
    },
    DynamicApproxTopK: {
        **{label: dynamic_top_k(**changed) for label, changed in APPROX.items()},
        "C6": dynamic_top_k("dense<10> : tensor<i32>"),
        "C8": dynamic_top_k(aggregate_to_topk="false"),
    },
    DynamicReduceWindow: {
        "C1": windows(operands="", initial=""),
        "C2": windows(operands="6xf32 5xf32", initial="f32 f32", results="?xf32 ?xf32"),
        "C3": windows(initial="f64"),
        "C4": windows(lengths="window_dimensions:2"),
        "C5": windows(window_dimensions="0"),
        "C6": windows(lengths="window_strides:2"),
        "C7": windows(window_strides="-1"),
        "C8": windows(lengths="base_dilations:2"),
        "C9": windows(base_dilations="0"),
        "C10": windows(lengths="window_dilations:2"),
        "C11": windows(window_dilations="0"),
        "C13": windows(body="add_i32"),
        "C14": windows(operands="6xf32 6xf32", initial="f32 f32", results="2xf32 3xf32", body="swap"),
        "C16": windows(body="add_f64"),
    },
    DynamicRngBitGenerator: {
        "I2": random_bits("tensor<2xui32>", results=("tensor<2xui32>", "tensor<?x3xui32>")),
        "C1": random_bits("tensor<3xui64>"),
        "C2": random_bits(
            "tensor<3xui64>", results=("tensor<3xui64>", "tensor<?x3xui32>"), algorithm="THREE_FRY"
        ),
        "C3": random_bits(shape="dense<[2, 2]> : tensor<2xi32>"),
    },
    DynamicTopK: {
        "C1": greatest("f32", results="?xf32 ?xi32"),
        "C2": greatest(k="dense<6> : tensor<i32>"),
        "C3": greatest(results="3x?xf32 3x?xi64"),
    },
}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: Any, label: str, text: str) -> None:
    """The error names the custom call, its target and its location."""
    with pytest.raises(VerifyError) as caught:
        nimblehlo.load(text)
    error = caught.value
    assert (error.operation, error.label) == ("stablehlo.custom_call", label), str(error)
    target = re.search(r"@[\w.]+", text[text.index("stablehlo.custom_call") :])
    assert target is not None and error.reason.startswith(f"{target[0]}: ")
    assert error.location is not None
    line, column = map(int, error.location.split(":")[-2:])
    assert "custom_call" in text.splitlines()[line - 1][column - 1 :]


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, approx_top_k, sized_by_operands)


UNLABELLED = {
    "no computation": (windows().replace("[@add]", "[]"), "has 0 regions, but must have 1"),
    "a computation that is not there": (windows(body="other"), "no function @other"),
    "a missing attribute": (top_k().replace("top_k = 4", "other = 4"), r"\(I4\).*top_k is missing"),
    "an attribute of another kind": (top_k(top_k="4.0 : f32"), r"\(I4\).*top_k must be an integer"),
    "an operand of another kind": (random_bits(shape="tensor<2xf32>"), r"\(I3\).*output_shape must be"),
    "too few operands": (
        greatest().replace("(%a0, %a1)", "(%a0)").replace("xf32>, tensor<i32>)", "xf32>)"),
        "has 1 operand, but must have 2",
    ),
}


@pytest.mark.parametrize("name", UNLABELLED)
def test_malformed_calls_are_rejected(name: str) -> None:
    text, reason = UNLABELLED[name]
    with pytest.raises(VerifyError, match=reason):
        nimblehlo.load(text)


def test_a_computation_must_not_call_itself() -> None:
    text = windows().replace("func.func @main(", "func.func @test(")
    call = text[text.index("  %r:1") : text.index("  return %r#0")]
    body = "func.func private @add(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {\n"
    values = [
        "1.0> : tensor<6xf32>",
        "1.0> : tensor<f32>",
        *["1> : tensor<1xi32>"] * 4,
        "1> : tensor<1x2xi32>",
    ]
    constants = "".join(f"%a{index} = stablehlo.constant dense<{text}\n" for index, text in enumerate(values))
    with pytest.raises(UnsupportedError, match="@add calls itself"):
        nimblehlo.load(text.replace(body, f"{body}{constants}{call}"))


def test_approx_top_k() -> None:
    operand = np.random.default_rng(0).permutation(18).reshape(2, 9).astype(np.float32)
    positions = np.broadcast_to(np.arange(9, dtype=np.int32), (2, 9))
    order = np.argsort(-operand, axis=1)
    initial = (np.float32(-np.inf), np.int32(-1))
    for k, aggregate in ((4, "true"), (3, "false")):
        text = top_k(aggregate_to_topk=aggregate, top_k=f"{k} : i64")
        values, found = run_every_way(text, operand, positions, *initial)
        assert found.tolist() == order[:, :4].tolist()
        assert values.tolist() == np.take_along_axis(operand, order[:, :4], 1).tolist()
    for k in (0, 3, 9):
        values, found = run_every_way(dynamic_top_k(), operand, positions, *initial, np.int32(k))
        assert found.tolist() == order[:, :k].tolist()
    with pytest.raises(ExecutionError, match="top_k is 10") as caught:
        nimblehlo.execute(dynamic_top_k(), [operand, positions, *initial, np.int32(10)])
    assert caught.value.label == "C6"


def sized(*shapes: str, results: str = "?x4xf32 ?x4xi32") -> str:
    """A program that calls `ApproxTopK` with the shapes of its results as operands."""
    indices = ", indices_of_shape_operands = dense<[4, 5]> : tensor<2xi64>"
    return top_k("?x9xf32 ?x9xi32 f32 i32", results, more=shapes, rest=indices)


def test_shapes_that_are_operands_must_agree() -> None:
    """JAX passes the shapes of the results to calls on operands of unknown sizes."""
    operand = np.arange(18, dtype=np.float32).reshape(2, 9)
    arguments = [operand, operand.astype(np.int32), np.float32(0), np.int32(0)]
    shape = np.array([2, 4], np.int32)
    text = sized("tensor<2xi32>", "tensor<2xi32>")
    values, found = run_every_way(text, *arguments, shape, shape)
    assert values.tolist() == found.tolist() == [[8, 7, 6, 5], [17, 16, 15, 14]]
    for constant, reason in (("[2, 3]", "0. is tensor<2x3xf32>"), ("[-5, 4]", "must not be negative")):
        shapes = [f"dense<{constant}> : tensor<2xi32>"] * 2
        with pytest.raises(VerifyError, match=reason):
            nimblehlo.load(sized(*shapes, results="?x?xf32 ?x?xi32"))


def test_dynamic_reduce_window() -> None:
    operand = np.arange(6, dtype=np.float32)
    size, one, none = np.array([2], np.int32), np.array([1], np.int32), np.zeros((1, 2), np.int32)
    (sums,) = run_every_way(windows(), operand, np.float32(0), size, one, one, one, none)
    assert sums.tolist() == [1, 3, 5, 7, 9]
    with pytest.raises(ExecutionError, match="must be positive") as caught:
        nimblehlo.execute(windows(), [operand, np.float32(0), size, 0 * one, one, one, none])
    assert caught.value.label == "C7"
    with pytest.raises(ExecutionError) as caught:
        nimblehlo.execute(windows(results="4xf32"), [operand, np.float32(0), size, one, one, one, none])
    assert caught.value.label == "C15"


def test_dynamic_rng_bit_generator() -> None:
    """It returns the declared shapes, and says which limit sizes exceed."""
    state = np.array([1, 2], np.uint64)
    static = """
    func.func @main(%a0: tensor<2xui64>) -> (tensor<2xui64>, tensor<4x3xui32>) {
      %r:2 = stablehlo.rng_bit_generator %a0, algorithm = PHILOX
        : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x3xui32>)
      return %r#0, %r#1 : tensor<2xui64>, tensor<4x3xui32>
    }
    """
    expected = nimblehlo.execute(static, [state])
    got = run_every_way(random_bits(), state, np.array([4, 3], np.int32))
    assert [array.tolist() for array in got] == [array.tolist() for array in expected]
    for sizes, reason in (
        ([4, 2], r"output has shape \[\?, 3\], but output_shape is \[4, 2\]"),
        ([-1, 3], r"output_shape\[0\] is -1, but must not be negative"),
    ):
        with pytest.raises(ExecutionError, match=reason) as caught:
            nimblehlo.execute(random_bits(), [state, np.array(sizes, np.int32)])
        assert caught.value.label == "C3"
    huge = random_bits(shape="tensor<2xi64>")
    for size, reason in ((1 << 45, "but the process may have"), (1 << 62, "than can be addressed")):
        for options in (Options(compile="never"), Options(compile="eager")):
            with pytest.raises(ExecutionError, match=reason) as caught:
                nimblehlo.execute(huge, [state, np.array([size, 3])], options=options)
            assert caught.value.operation == "stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator"
