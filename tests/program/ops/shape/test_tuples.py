"""Tuples: values that go in come out."""

from __future__ import annotations

import numpy as np
import pytest

import nimblehlo
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.shape import tuples
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    program,
    rows,
)
from tests.program.ops.texts import declaration
from tests.support.running import run_every_way

F, N, TOKEN = "tensor<2xf32>", "tensor<i64>", "!stablehlo.token"
NESTED = f"tuple<{F}, tuple<{N}, {F}>>"


def get(operand: str, index: int, result: str) -> str:
    text = program("stablehlo.get_tuple_element", ["!" + operand], [result], f"index = {index} : i32")
    return text.replace("!tuple", "tuple")


def make(val: list[str], result: str) -> str:
    return program("stablehlo.tuple", val, [result])


def test_elements_come_out() -> None:
    text = f"""func.func @main(%a: {F}, %b: {N}) -> ({N}, {F}, {F}) {{
      %0 = stablehlo.tuple %b, %a : tuple<{N}, {F}>
      %1 = stablehlo.tuple %a, %0 : {NESTED}
      %2 = stablehlo.get_tuple_element %1[1] : ({NESTED}) -> tuple<{N}, {F}>
      %3 = stablehlo.get_tuple_element %2[0] : (tuple<{N}, {F}>) -> {N}
      %4 = stablehlo.get_tuple_element %2[1] : (tuple<{N}, {F}>) -> {F}
      %5 = stablehlo.get_tuple_element %1[0] : ({NESTED}) -> {F}
      return %3, %4, %5 : {N}, {F}, {F}
    }}"""
    a, b = np.array([1, 2], np.float32), np.array(7)
    results = nimblehlo.execute(text, [a, b])
    assert [value.tolist() for value in results] == [7, [1, 2], [1, 2]]


def test_a_tuple_of_nothing_and_of_a_token() -> None:
    text = f"""func.func @main() -> {N} {{
      %0 = "stablehlo.tuple"() : () -> tuple<>
      %1 = stablehlo.create_token : {TOKEN}
      %2 = stablehlo.tuple %0, %1 : tuple<tuple<>, {TOKEN}>
      %3 = stablehlo.get_tuple_element %2[1] : (tuple<tuple<>, {TOKEN}>) -> {TOKEN}
      %4 = stablehlo.after_all %3, %1 : {TOKEN}
      %5 = stablehlo.constant dense<3> : {N}
      return %5 : {N}
    }}"""
    assert nimblehlo.execute(text, [])[0] == 3


TUPLE, GET = declaration("tuple"), declaration("get_tuple_element")
REJECTED: dict[type[Op], dict[str, str]] = {
    TUPLE: {"C1": make([F, N], f"tuple<{N}, {F}>")},
    GET: {"C1": get(NESTED, 2, F), "C2": get(NESTED, 1, F)},
}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


@pytest.mark.parametrize(
    ("declaration", "label", "text"),
    [
        (TUPLE, "C1", make([F], f"tuple<{F}, {F}>")),
        (GET, "C1", get(NESTED, -1, F)),
        (GET, "C1", get("tuple<>", 0, F)),
    ],
)
def test_more_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, tuples)


def test_inputs() -> None:
    assert_inputs_rejected(get(NESTED, 0, F))


def test_quantized_elements_stay_as_they_are_stored() -> None:
    quantized = "tensor<3x!quant.uniform<i8:f32, 0.5:-3>>"
    text = (
        f"func.func @main(%a: {quantized}, %b: tensor<2xi32>) -> {quantized} {{\n"
        f"  %0 = stablehlo.tuple %a, %b : tuple<{quantized}, tensor<2xi32>>\n"
        f"  %1 = stablehlo.get_tuple_element %0[0] : (tuple<{quantized}, tensor<2xi32>>) -> {quantized}\n"
        f"  return %1 : {quantized}\n}}"
    )
    stored = np.array([-128, 0, 10], np.int8)
    (result,) = run_every_way(text, stored, np.array([1, 2], np.int32))
    assert np.array_equal(result, stored)
