"""Reads of memory that nothing has written."""

from __future__ import annotations

import numpy as np
import pytest

from nimblehlo.inspection.sanitizer.memory import Shadows
from tests.inspection.sanitizer.findings import findings_of, line_of, only_finding

ALLOCATE = "%b = stablehlo.custom_call @AllocateBuffer() : () -> tensor<4xf32>"


def program(lines: str, result: str, type: str = "tensor<4xf32>") -> str:
    return f"""
    func.func @main(%a: tensor<2xf32>, %i: tensor<i32>) -> {type} {{
      {ALLOCATE}
      {lines}
      return {result} : {type}
    }}"""


INPUTS = (np.ones(2, np.float32), np.int32(1))
UPDATE = (
    "%u = stablehlo.dynamic_update_slice %b, %a, %i "
    ": (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<4xf32>"
)


def test_a_buffer_that_is_returned_is_read() -> None:
    text = program("", "%b")
    finding = only_finding(text, *INPUTS)
    assert (finding.check, finding.operation) == ("uninitialized_memory", "func.return")
    assert (finding.index, finding.value, finding.count) == ((0,), 0.0, 4)
    assert finding.location == f"<text>:{line_of(text, 'return')}:7"


def test_what_is_written_may_be_read() -> None:
    lines = f"""{UPDATE}
      %s = stablehlo.slice %u [1:3] : (tensor<4xf32>) -> tensor<2xf32>
      %r = stablehlo.add %s, %s : tensor<2xf32>"""
    assert not findings_of(program(lines, "%r", "tensor<2xf32>"), *INPUTS)
    finding = only_finding(program(lines, "%r", "tensor<2xf32>"), INPUTS[0], np.int32(0))
    assert (finding.operation, finding.index, finding.count) == ("stablehlo.add", (1,), 1)


@pytest.mark.parametrize(
    ("line", "type", "index"),
    [
        ("%r = stablehlo.reshape %u : (tensor<4xf32>) -> tensor<2x2xf32>", "tensor<2x2xf32>", (0, 0)),
        ("%r = stablehlo.reverse %u, dims = [0] : tensor<4xf32>", "tensor<4xf32>", (0,)),
        ("%r = stablehlo.slice %u [1:4] : (tensor<4xf32>) -> tensor<3xf32>", "tensor<3xf32>", (2,)),
        (
            "%r = stablehlo.concatenate %a, %u, dim = 0 : (tensor<2xf32>, tensor<4xf32>) -> tensor<6xf32>",
            "tensor<6xf32>",
            (2,),
        ),
        (
            "%r = stablehlo.broadcast_in_dim %u, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>",
            "tensor<2x4xf32>",
            (0, 0),
        ),
        (
            "%r = stablehlo.dynamic_slice %u, %i, sizes = [3] "
            ": (tensor<4xf32>, tensor<i32>) -> tensor<3xf32>",
            "tensor<3xf32>",
            (2,),
        ),
        ("%r = stablehlo.optimization_barrier %u : tensor<4xf32>", "tensor<4xf32>", (0,)),
    ],
)
def test_moved_elements_stay_unwritten(line: str, type: str, index: tuple[int, ...]) -> None:
    finding = only_finding(program(f"{UPDATE}\n      {line}", "%r", type), *INPUTS)
    assert (finding.operation, finding.index) == ("func.return", index)


def test_an_element_that_is_not_selected_is_not_read() -> None:
    lines = f"""{UPDATE}
      %p = stablehlo.constant dense<[false, true, true, false]> : tensor<4xi1>
      %z = stablehlo.constant dense<0.0> : tensor<4xf32>
      %r = stablehlo.select %p, %u, %z : tensor<4xi1>, tensor<4xf32>"""
    assert not findings_of(program(lines, "%r"), *INPUTS)
    assert only_finding(program(lines, "%r"), INPUTS[0], np.int32(0)).index == (2,)


def scatter(body: str) -> str:
    return f"""
      %n = stablehlo.constant dense<[[0], [3]]> : tensor<2x1xi32>
      {UPDATE}
      %r = "stablehlo.scatter"(%u, %n, %a) ({{
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %s = {body} : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }}) {{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
            scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}
        : (tensor<4xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<4xf32>"""


def test_scatter_writes_or_adds() -> None:
    writes = program(scatter("stablehlo.add %x, %y"), "%r").replace("return %s", "return %y")
    assert not findings_of(writes, *INPUTS)
    finding = only_finding(program(scatter("stablehlo.add %x, %y"), "%r"), *INPUTS)
    assert (finding.operation, finding.index, finding.count) == ("stablehlo.scatter", (0,), 2)
    assert only_finding(writes, INPUTS[0], np.int32(0)).operation == "func.return"


def test_scatter_reads_what_it_updates_alone() -> None:
    text = program(scatter("stablehlo.add %x, %y").replace("[[0], [3]]", "[[1], [2]]"), "%r")
    finding = only_finding(text, *INPUTS)
    assert (finding.operation, finding.index, finding.count) == ("func.return", (0,), 2)


def test_a_loop_that_fills_a_buffer() -> None:
    text = """
    func.func @main(%n: tensor<i32>) -> tensor<4xf32> {
      %b = stablehlo.custom_call @AllocateBuffer() : () -> tensor<4xf32>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %x = stablehlo.constant dense<2.0> : tensor<1xf32>
      %0:2 = stablehlo.while(%i = %zero, %c = %b) : tensor<i32>, tensor<4xf32>
      cond {
        %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %u = stablehlo.dynamic_update_slice %c, %x, %i
          : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %u : tensor<i32>, tensor<4xf32>
      }
      return %0#1 : tensor<4xf32>
    }"""
    assert not findings_of(text, np.int32(4))
    finding = only_finding(text, np.int32(3))
    assert (finding.operation, finding.index, finding.count) == ("func.return", (3,), 1)


def test_what_a_size_adds_is_not_written() -> None:
    text = """
    func.func @main(%a: tensor<3xf32>, %n: tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<5>> {
      %0 = "stablehlo.set_dimension_size"(%a, %n) {dimension = 0 : i64}
        : (tensor<3xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<5>>
      %1 = stablehlo.abs %0 : tensor<?xf32, #stablehlo.bounds<5>>
      return %1 : tensor<?xf32, #stablehlo.bounds<5>>
    }"""
    assert not findings_of(text, np.ones(3, np.float32), np.int32(2))
    finding = only_finding(text, np.ones(3, np.float32), np.int32(5))
    assert (finding.operation, finding.index, finding.count) == ("stablehlo.abs", (3,), 2)


def test_shadows_are_not_stored() -> None:
    shadows = Shadows()
    array = np.zeros(3)
    shadows.enter(array, np.array([True, False, True]))
    assert shadows.of(array) is not None
    assert shadows.of(np.zeros(3)) is None
    del array
    assert not shadows._shadows
