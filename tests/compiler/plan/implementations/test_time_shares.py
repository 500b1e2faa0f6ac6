"""In which code of a native loop its iterations are expected to spend their time."""

from __future__ import annotations

import pytest

import nimblehlo
from nimblehlo.compiler.cost_model import native_seconds
from nimblehlo.compiler.loops.arrays import launched_operations, with_launches
from nimblehlo.compiler.plan.implementations import time_shares
from nimblehlo.program.ir import Operation

LARGE, SMALL = "tensor<300x300xf32>", "tensor<8x8xf32>"


def loop(limit: str, inline: str) -> Operation:
    """A `while` that launches tanh in an inner loop, and a transposition beside that."""
    text = f"""
    func.func @main(%x: {LARGE}, %m: {SMALL}, %n: tensor<i32>) -> ({LARGE}, {SMALL}, tensor<i32>) {{
      %one = stablehlo.constant dense<1> : tensor<i32>
      %four = stablehlo.constant dense<4> : tensor<i32>
      %r:3 = stablehlo.while(%a = %x, %b = %m, %i = %n) : {LARGE}, {SMALL}, tensor<i32>
      cond {{
        %c = stablehlo.compare LT, %i, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }} do {{
        %s:2 = stablehlo.while(%d = %a, %k = %n) : {LARGE}, tensor<i32>
        cond {{
          %e = stablehlo.compare LT, %k, {limit} : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %e : tensor<i1>
        }} do {{
          %f = stablehlo.tanh %d : {LARGE}
          %l = stablehlo.add %k, %one : tensor<i32>
          stablehlo.return %f, %l : {LARGE}, tensor<i32>
        }}
        %t = stablehlo.transpose %s#0, dims = [1, 0] : ({LARGE}) -> {LARGE}
        {inline}
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %t, %p, %j : {LARGE}, {SMALL}, tensor<i32>
      }}
      return %r#0, %r#1, %r#2 : {LARGE}, {SMALL}, tensor<i32>
    }}"""
    (function,) = nimblehlo.load(text).functions.values()
    (found,) = [one for one in function.body.block.operations if one.name == "stablehlo.while"]
    return with_launches(found, lambda operation: True, None)


ADD = f"%p = stablehlo.add %b, %b : {SMALL}"
DOT = f"%p = stablehlo.dot_general %b, %b, contracting_dims = [1] x [0] : ({SMALL}, {SMALL}) -> {SMALL}"


@pytest.mark.parametrize(
    ("limit", "runs"), [("%four", 4), ("%n", time_shares._ITERATIONS)], ids=["constant", "unknown"]
)
@pytest.mark.parametrize(
    ("inline", "multiplications"), [(ADD, 0), (DOT, 8 * 8 * 8)], ids=["addition", "product"]
)
def test_shares_are_those_of_the_estimated_times(
    limit: str, runs: int, inline: str, multiplications: int
) -> None:
    launching = loop(limit, inline)
    tanh, transposed = launched_operations([launching])
    shares = time_shares.time_shares(launching)
    assert sum(shares.values()) == pytest.approx(1.0)
    seconds = {one: native_seconds(one.regions[0].block.operations[0]) for one in (tanh, transposed)}
    assert shares[tanh] / shares[transposed] == pytest.approx(runs * seconds[tanh] / seconds[transposed])
    assert seconds[tanh] > 3 * seconds[transposed]
    own = shares[None] * seconds[transposed] / shares[transposed]
    expected = time_shares._MULTIPLICATION_SECONDS * multiplications
    assert expected <= own < expected + seconds[transposed] / 100


class Call:
    """A launch that has taken some seconds."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds


def test_shares_are_measured_once_the_loop_has_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A code may have several launches, a launch several codes, or one twice; equal launches share a call."""
    clock = [1.0]
    monkeypatch.setattr(time_shares, "monotonic", lambda: clock[0])
    shares, first, second, kernel = time_shares.MeasuredShares("own", 0.1), Call(), Call(), Call()
    shares.add(["a", "b", "a"], 0.6, first)
    shares.add(["b"], 0.1, second)
    shares.add(["b"], 0.1, second)
    shares.add([], 0.1, kernel)
    estimated = {key: shares.of(key) for key in ("own", "a", "b", "c")}
    assert estimated == pytest.approx({"own": 0.1, "a": 0.6, "b": 0.8, "c": 0.0})
    first.seconds = 1.0
    assert shares.of("a") == pytest.approx(0.6)
    look = 1.01 * time_shares._LOOK_SECONDS
    clock[0] += look
    # Launches that have not run yet have their estimates beside the first one's 0.6.
    assert shares.of("b") == pytest.approx(0.9 * 0.8 / 0.9)
    second.seconds, kernel.seconds = 2.0, 6.0
    clock[0] += look
    measured = {key: shares.of(key) for key in ("own", "a", "b", "c")}
    assert measured == pytest.approx({"own": 0.1, "a": 0.1, "b": 0.3, "c": 0.0})
