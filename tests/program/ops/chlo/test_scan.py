"""`chlo.scan`, against loops in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import nimblehlo
from nimblehlo.program.ops.chlo import scan as chlo_scan
from nimblehlo.program.ops.chlo.scan import Scan
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.types import ELEMENT_TYPES
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import assert_complete, assert_inputs_rejected, assert_rejected, rows
from tests.program.ops.texts import elements, tensor
from tests.support.running import run_every_way


def scan(
    inputs: str = "tensor<2x3xf32>",
    inits: str = "tensor<2xf32>",
    outputs: str = "tensor<2x3xf32>",
    carries: str = "tensor<2xf32>",
    dimension: int = 1,
    attributes: str = "",
    slices: str = "tensor<2xf32>",
) -> str:
    """A scan that adds; `slices` is the type of what body computes with."""
    return f"""func.func @main(%x: {inputs}, %init: {inits}) -> ({outputs}, {carries}) {{
      %0:2 = chlo.scan(%x) inits(%init) dimension={dimension} attributes {{{attributes}}} {{
      ^bb0(%slice: {slices}, %carry: {slices}):
        %1 = stablehlo.add %carry, %slice : {slices}
        stablehlo.return %1, %1 : {slices}, {slices}
      }} : ({inputs}, {inits}) -> ({outputs}, {carries})
      return %0#0, %0#1 : {outputs}, {carries}
    }}"""


@pytest.mark.sampled(("is_reverse", "dimension"))
@pytest.mark.parametrize("name", ELEMENT_TYPES)
@pytest.mark.parametrize("is_reverse", [False, True])
@pytest.mark.parametrize("dimension", [0, 1, 2])
def test_sums(name: str, is_reverse: bool, dimension: int) -> None:
    shape = (2, 3, 4)
    rest = shape[:dimension] + shape[dimension + 1 :]
    x, init = elements(shape, name), elements(rest, name)
    types = tensor(shape, name), tensor(rest, name)
    text = scan(types[0], types[1], *types, dimension, f"is_reverse = {str(is_reverse).lower()}", types[1])
    outputs, carry = nimblehlo.execute(text, [x, init])
    add = f"""func.func @main(%a: {types[1]}, %b: {types[1]}) -> {types[1]} {{
      %0 = stablehlo.add %a, %b : {types[1]}
      return %0 : {types[1]}
    }}"""
    order = range(shape[dimension])
    total, expected = init, np.empty(shape, x.dtype)
    for position in reversed(order) if is_reverse else order:
        at = (slice(None),) * dimension + (position,)
        (total,) = nimblehlo.execute(add, [total, x[at]])
        expected[at] = total
    assert outputs.tobytes() == expected.tobytes()
    assert carry.tobytes() == total.tobytes()


def test_several_inputs_and_carries() -> None:
    """Running maximum, its position, and a constant of every step, which no input feeds."""
    text = """func.func @main(%x: tensor<5xi32>, %n: tensor<5xi32>, %a: tensor<i32>, %b: tensor<i32>)
        -> (tensor<5xi32>, tensor<5xi1>, tensor<5xf32>, tensor<i32>, tensor<i32>) {
      %0:5 = chlo.scan(%x, %n) inits(%a, %b) dimension=0 {
      ^bb0(%value: tensor<i32>, %number: tensor<i32>, %best: tensor<i32>, %where: tensor<i32>):
        %1 = stablehlo.compare GT, %value, %best : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %2 = stablehlo.select %1, %value, %best : tensor<i1>, tensor<i32>
        %3 = stablehlo.select %1, %number, %where : tensor<i1>, tensor<i32>
        %4 = stablehlo.constant dense<0.5> : tensor<f32>
        stablehlo.return %3, %1, %4, %2, %3
            : tensor<i32>, tensor<i1>, tensor<f32>, tensor<i32>, tensor<i32>
      } : (tensor<5xi32>, tensor<5xi32>, tensor<i32>, tensor<i32>)
          -> (tensor<5xi32>, tensor<5xi1>, tensor<5xf32>, tensor<i32>, tensor<i32>)
      return %0#0, %0#1, %0#2, %0#3, %0#4
          : tensor<5xi32>, tensor<5xi1>, tensor<5xf32>, tensor<i32>, tensor<i32>
    }"""
    values = np.array([3, 1, 4, 4, 5], np.int32)
    results = run_every_way(text, values, np.arange(5, dtype=np.int32), np.int32(-9), np.int32(-1))
    assert [result.tolist() for result in results] == [
        [0, 0, 2, 2, 4],
        [True, False, True, False, True],
        [0.5] * 5,
        5,
        4,
    ]


COUNTING = """func.func @main(%start: tensor<i32>) -> (tensor<SIZExi32>, tensor<i32>) {
  %0:2 = "chlo.scan"(%start) <{dimension = 0 : i64, scan_dim_size = SIZE : i64,
      operandSegmentSizes = array<i32: 0, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%carry: tensor<i32>):
    %1 = stablehlo.add %carry, %carry : tensor<i32>
    stablehlo.return %carry, %1 : tensor<i32>, tensor<i32>
  }) : (tensor<i32>) -> (tensor<SIZExi32>, tensor<i32>)
  return %0#0, %0#1 : tensor<SIZExi32>, tensor<i32>
}"""


@pytest.mark.parametrize("size", [0, 1, 4])
def test_without_inputs(size: int) -> None:
    outputs, carry = run_every_way(COUNTING.replace("SIZE", str(size)), np.int32(1))
    assert outputs.tolist() == [1, 2, 4, 8][:size]
    assert carry.tolist() == 2**size


def test_without_slices() -> None:
    sliced, rest = "tensor<2x0xf32>", "tensor<2xf32>"
    outputs, carry = evaluate(
        scan(sliced, rest, sliced, rest), np.zeros((2, 0), np.float32), np.ones(2, np.float32)
    )
    assert outputs.shape == (2, 0)
    assert carry.tolist() == [1, 1]


def test_unknown_sizes() -> None:
    text = scan(
        "tensor<?x?xf32>", "tensor<?xf32>", "tensor<?x?xf32>", "tensor<?xf32>", slices="tensor<?xf32>"
    )
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    outputs, carry = nimblehlo.execute(text, [x, np.zeros(2, np.float32)])
    np.testing.assert_array_equal(outputs, np.cumsum(x, 1))
    np.testing.assert_array_equal(carry, x.sum(1))


RETURN = "stablehlo.return %1, %1 : tensor<2xf32>, tensor<2xf32>"
WIDENED = """%2 = stablehlo.convert %1 : (tensor<2xf32>) -> tensor<2xf64>
        stablehlo.return %1, %2 : tensor<2xf32>, tensor<2xf64>"""

REJECTED: dict[type[Op], dict[str, str]] = {
    Scan: {
        "C1": """func.func @main(%init: tensor<f32>) {
          %0 = chlo.scan() inits(%init) dimension=0 {
          ^bb0(%carry: tensor<f32>):
            stablehlo.return %carry : tensor<f32>
          } : (tensor<f32>) -> tensor<f32>
          return
        }""",
        "C2": scan(dimension=2),
        "C3": COUNTING.replace("SIZE : i64", "-1 : i64").replace("SIZE", "1"),
        "C4": scan(outputs="tensor<2x4xf32>"),
        "C5": scan(inits="tensor<3xf32>"),
        "C6": scan(outputs="tensor<3x3xf32>"),
        "C7": scan(carries="tensor<2xf64>").replace(RETURN, WIDENED),
    },
}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, chlo_scan)


def test_inputs() -> None:
    assert_inputs_rejected(
        scan(attributes="is_reverse = true, is_associative = true, scan_dim_size = 3 : i64")
    )
