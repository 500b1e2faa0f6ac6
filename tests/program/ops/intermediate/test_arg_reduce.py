"""The reference of reductions that search an extreme and its position."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.program.ops.intermediate import arg_reduce
from nimblehlo.program.ops.intermediate.arg_reduce import ArgReduce

SEARCH = """
func.func @main(%x: tensor<{shape}x{type}>, %v: tensor<{type}>) -> (tensor<{kept}{type}>, tensor<{kept}i8>) {{
  %i = stablehlo.iota dim = {axis} : tensor<{shape}xi8>
  %p = stablehlo.constant dense<0> : tensor<i8>
  %r:2 = stablehlo.reduce(%x init: %v), (%i init: %p) across dimensions = [{axis}]
    : (tensor<{shape}x{type}>, tensor<{shape}xi8>, tensor<{type}>, tensor<i8>)
    -> (tensor<{kept}{type}>, tensor<{kept}i8>)
  reducer(%a: tensor<{type}>, %c: tensor<{type}>) (%b: tensor<i8>, %d: tensor<i8>) {{
    %better = stablehlo.compare {direction}, %a, %c : (tensor<{type}>, tensor<{type}>) -> tensor<i1>
    %nan = stablehlo.compare NE, %a, %a : (tensor<{type}>, tensor<{type}>) -> tensor<i1>
    %wins = stablehlo.or %better, %nan : tensor<i1>
    %same = stablehlo.compare EQ, %a, %c : (tensor<{type}>, tensor<{type}>) -> tensor<i1>
    %lower = stablehlo.compare LT, %b, %d : (tensor<i8>, tensor<i8>) -> tensor<i1>
    %tie = stablehlo.and %same, %lower : tensor<i1>
    %first = stablehlo.or %wins, %tie : tensor<i1>
    %value = stablehlo.select %wins, %a, %c : tensor<i1>, tensor<{type}>
    %index = stablehlo.select %first, %b, %d : tensor<i1>, tensor<i8>
    stablehlo.return %value, %index : tensor<{type}>, tensor<i8>
  }}
  return %r#0, %r#1 : tensor<{kept}{type}>, tensor<{kept}i8>
}}
"""

SPECIAL = np.array([0x7FC00001, 0x7FC00002, 0xFFC00003, 0x80000000, 0, 0x3F800000, 0xBF800000], np.uint32)
"""Two NaNs, one with a sign, zeros of both signs, and numbers."""

SEARCHES = ArgReduce._search


def search(shape: tuple[int, ...], type: str, axis: int, direction: str, operands: list[Any]) -> list[Any]:
    kept = "".join([f"{size}x" for d, size in enumerate(shape) if d != axis])
    text = SEARCH.format(
        shape="x".join(map(str, shape)), kept=kept, type=type, axis=axis, direction=direction
    )
    return nimblehlo.compile(text, options=Options(compile="never"))(*operands)


@pytest.mark.parametrize("type", ["f32", "i32"])
@pytest.mark.parametrize("direction", ["GT", "LT"])
def test_a_search_by_numpy_gives_the_bits_of_the_body(
    type: str, direction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(0)
    for shape, axis, choices in itertools.product([(9,), (40, 13), (3, 5, 7), (2, 128)], [0, 1], [7, 5, 2]):
        if axis >= len(shape):
            continue
        values = generator.choice(SPECIAL[-choices:], shape)
        operand = values.view("f") if type == "f32" else values.view(np.int32)
        initial = operand.dtype.type(-3 if direction == "GT" else 3)
        monkeypatch.setattr(ArgReduce, "_search", SEARCHES)
        found = search(shape, type, axis, direction, [operand, initial])
        monkeypatch.setattr(ArgReduce, "_search", lambda self, operand: None)
        expected = search(shape, type, axis, direction, [operand, initial])
        assert [array.tobytes() for array in found] == [array.tobytes() for array in expected]


def test_positions_that_their_type_cannot_count_are_not_searched_for() -> None:
    operand = np.zeros((300,), np.float32)
    operand[[200, 290]] = 1
    value, position = search((300,), "f32", 0, "GT", [operand, np.float32(-1)])
    # Positions wrap: 200 is -56, and 290 is 34.
    assert (value, position) == (1, -56)


def test_the_body_is_analyzed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    analyzed: list[Any] = []
    analyze = arg_reduce.arg_reducer
    monkeypatch.setattr(arg_reduce, "arg_reducer", lambda body: (analyzed.append(body), analyze(body))[1])
    text = SEARCH.format(shape="9", kept="", type="f32", axis=0, direction="GT")
    executable = nimblehlo.compile(text, options=Options(compile="never"))
    for _ in range(3):
        executable(np.arange(9, dtype=np.float32), np.float32(0))
    assert len(analyzed) == 1


def test_generated_loops_read_no_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """They count them, so that there is no array of as many positions as the operand has elements."""
    text = SEARCH.format(shape="3x4", kept="3x", type="f32", axis=1, direction="GT")
    counts: list[Any] = []
    positions = ArgReduce.positions.fget
    assert positions is not None
    monkeypatch.setattr(
        ArgReduce, "positions", property(lambda view: (counts.append(view), positions(view))[1])
    )
    executable = nimblehlo.compile(text, options=Options(compile="eager"))
    assert "one loop around" in executable.explain("plan") and not counts
    for _ in range(2):
        results = executable(np.float32([[1, 3, 2, 0], [9, 1, 2, 3], [0, 0, 0, 4]]), np.float32(-1))
        assert results[1].tolist() == [1, 0, 3]
    assert not counts
