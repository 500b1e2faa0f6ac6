"""Loops whose rows end one by one: which shards end by themselves, with the bits of the whole loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.loops import while_function
from nimblehlo.compiler.plan.implementations import native_loops
from nimblehlo.kernels.launch import threads
from tests.compiler.loops.test_while_function import loop_to_compile_of
from tests.support.running import same_bits

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(12)
ROWS = 16
N, X = f"tensor<{ROWS}xi32>", f"tensor<{ROWS}x6xf32>"
FLAGS, WIDE_FLAGS = f"tensor<{ROWS}xi1>", f"tensor<{ROWS}x6xi1>"


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of little work, whatever they repeat, for two threads wherever these tests run."""
    monkeypatch.setattr(native_loops, "_MIN_SHARD_WORK", 1 << 7)
    monkeypatch.setattr(native_loops, "_MAX_REDUNDANT_WORK", 100.0)
    monkeypatch.setattr(threads, "chosen_threads", lambda most: most or 2)


LIVE = f"%live = stablehlo.compare GT, %n, %none : ({N}, {N}) -> {FLAGS}"
ANY_LIVE = f"""{LIVE}
      %go = stablehlo.reduce(%live init: %false) applies stablehlo.or across dimensions = [0]
        : ({FLAGS}, tensor<i1>) -> tensor<i1>"""
KEPT = f"""{LIVE}
      %m = stablehlo.subtract %n, %one : {N}
      %n2 = stablehlo.select %live, %m, %n : {FLAGS}, {N}
      %wide = stablehlo.broadcast_in_dim %live, dims = [0] : ({FLAGS}) -> {WIDE_FLAGS}
      %x2 = stablehlo.select %wide, %y, %x : {WIDE_FLAGS}, {X}"""
TANH = f"%y = stablehlo.tanh %x : {X}"


def program(body: str = TANH, cond: str = ANY_LIVE, kept: str = KEPT) -> str:
    """A loop that counts %n down and changes %x; `kept` selects the next values, of which %y is one."""
    return f"""
  func.func @main(%n0 : {N}, %x0 : {X}, %w : tensor<6x6xf32>) -> ({N}, {X}) {{
    %none = stablehlo.constant dense<0> : {N}
    %one = stablehlo.constant dense<1> : {N}
    %false = stablehlo.constant dense<false> : tensor<i1>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %all:2 = stablehlo.while(%n = %n0, %x = %x0) : {N}, {X}
    cond {{
      {cond}
      stablehlo.return %go : tensor<i1>
    }} do {{
      {body}
      {kept}
      stablehlo.return %n2, %x2 : {N}, {X}
    }}
    return %all#0, %all#1 : {N}, {X}
  }}
"""


def shards_of(text: str, count: int) -> int:
    """The number of shards of a program's only loop, for so many threads."""
    loop = loop_to_compile_of(text, count)
    assert isinstance(loop, native_loops.LoopToCompile), loop
    return loop.count


def check_bits(text: str) -> None:
    """The same bits on one and two threads as by the regions' plans; rows end at different times."""
    inputs = RNG.permutation(3 * ROWS)[:ROWS].astype(np.int32) - 3, _floats(ROWS, 6), 0.4 * _floats(6, 6)
    expected = nimblehlo.execute(text, inputs, options=Options(compile="never"))
    for count in (1, 2):
        options = Options(compile="eager", threads=count)
        for got, want in zip(nimblehlo.execute(text, inputs, options=options), expected, strict=True):
            assert same_bits(np.asarray(got), np.asarray(want))


def _floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


INDICES = f"""%i = stablehlo.convert %x : ({X}) -> tensor<{ROWS}x6xi32>
      %k = stablehlo.reshape %i : (tensor<{ROWS}x6xi32>) -> tensor<{ROWS}x6x1xi32>"""
DROPPED = f"""%away = stablehlo.constant dense<6> : tensor<{ROWS}x6x1xi32>
      %mask = stablehlo.broadcast_in_dim %live, dims = [0] : ({FLAGS}) -> tensor<{ROWS}x6x1xi1>
      %masked = stablehlo.select %mask, %k, %away : tensor<{ROWS}x6x1xi1>, tensor<{ROWS}x6x1xi32>
      %x2 = "stablehlo.scatter"(%x, %masked, %y) <{{scatter_dimension_numbers = #stablehlo.scatter<
        input_batching_dims = [0], scatter_indices_batching_dims = [0], inserted_window_dims = [1],
        scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}}> ({{
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %r = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %r : tensor<f32>
      }}) : ({X}, tensor<{ROWS}x6x1xi32>, {X}) -> {X}"""
BODIES = {
    "elementwise": TANH,
    "rows times a matrix": f"""%y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : ({X}, tensor<6x6xf32>) -> {X}""",
    "elements at indices of each row": f"""{INDICES}
      %y = "stablehlo.gather"(%x, %k) <{{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1],
        operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1],
        index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}}> : ({X}, tensor<{ROWS}x6x1xi32>) -> {X}""",
    "columns of all rows": f"""%o = stablehlo.constant dense<[3, 1, 0, 5, 2, 4]> : tensor<6xi32>
      %y = "stablehlo.gather"(%x, %o) <{{dimension_numbers = #stablehlo.gather<offset_dims = [0],
        collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>,
        slice_sizes = array<i64: {ROWS}, 1>}}> : ({X}, tensor<6xi32>) -> {X}""",
    "the place of each row's maximum": f"""%least = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %c = stablehlo.iota dim = 1 : tensor<{ROWS}x6xi32>
      %best:2 = stablehlo.reduce(%x init: %least), (%c init: %zero) across dimensions = [1]
        : ({X}, tensor<{ROWS}x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<{ROWS}xf32>, {N})
        reducer(%a: tensor<f32>, %b: tensor<f32>) (%f: tensor<i32>, %g: tensor<i32>) {{
          %1 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %3 = stablehlo.or %1, %2 : tensor<i1>
          %4 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %5 = stablehlo.compare LT, %f, %g, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %6 = stablehlo.and %4, %5 : tensor<i1>
          %7 = stablehlo.or %3, %6 : tensor<i1>
          %8 = stablehlo.select %3, %a, %b : tensor<i1>, tensor<f32>
          %9 = stablehlo.select %7, %f, %g : tensor<i1>, tensor<i32>
          stablehlo.return %8, %9 : tensor<f32>, tensor<i32>
        }}
      %h = stablehlo.convert %best#1 : ({N}) -> tensor<{ROWS}xf32>
      %l = stablehlo.broadcast_in_dim %h, dims = [0] : (tensor<{ROWS}xf32>) -> {X}
      %d = stablehlo.subtract %x, %l : {X}
      %y = stablehlo.cosine %d : {X}""",
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_shards_end_with_their_rows(name: str) -> None:
    text = program(BODIES[name])
    assert shards_of(text, 1) == shards_of(text, 2) > 2
    check_bits(text)


@pytest.mark.parametrize("most", [3, 4, 1])
def test_the_number_of_shards_is_limited(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_loops, "_MAX_ENDING_SHARDS", most)
    assert shards_of(program(), 1) == (2 if most == 3 else most)


@pytest.mark.parametrize("count", [1, 2])
def test_shards_of_a_thread_share_a_workspace(count: int) -> None:
    text = program(BODIES["rows times a matrix"])
    executable = nimblehlo.compile(text, options=Options(compile="eager", threads=count))
    (native,) = [
        one.implementation
        for one in executable._static_program.plan.steps
        if isinstance(one.implementation, native_loops.NativeLoop)
    ]
    loop = native.loop
    workspace = while_function.workspace_bytes(loop.operation, loop.captured)
    assert loop.count > 2 and workspace > 0
    assert native.scratch_bytes == count * workspace + (loop.count - 1) * native._copied_bytes()


def test_shards_that_take_several_runs_end_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_loops, "FIRST_CALL_ITERATIONS", 3)
    check_bits(program())


KEEPING = {
    "updates that are dropped": f"""{LIVE}
      %m = stablehlo.subtract %n, %one : {N}
      %n2 = stablehlo.select %live, %m, %n : {FLAGS}, {N}
      {INDICES}
      {DROPPED}""",
    "a flag of the opposite": f"""%done = stablehlo.compare LE, %n, %none : ({N}, {N}) -> {FLAGS}
      %m = stablehlo.subtract %n, %one : {N}
      %n2 = stablehlo.select %done, %n, %m : {FLAGS}, {N}
      %wide = stablehlo.broadcast_in_dim %done, dims = [0] : ({FLAGS}) -> {WIDE_FLAGS}
      %x2 = stablehlo.select %wide, %x, %y : {WIDE_FLAGS}, {X}""",
}
NOT_DONE = f"""%done = stablehlo.compare LE, %n, %none : ({N}, {N}) -> {FLAGS}
      %live = stablehlo.not %done : {FLAGS}
      %go = stablehlo.reduce(%live init: %false) applies stablehlo.or across dimensions = [0]
        : ({FLAGS}, tensor<i1>) -> tensor<i1>"""


@pytest.mark.parametrize(("name", "cond"), zip(KEEPING, (ANY_LIVE, NOT_DONE), strict=True))
def test_bodies_that_keep_ended_rows(name: str, cond: str) -> None:
    text = program(cond=cond, kept=KEEPING[name])
    assert shards_of(text, 1) > 1
    check_bits(text)


TOGETHER = {
    "rows go on after their end": program(kept=KEPT.replace("%y, %x :", "%y, %y :")),
    "another flag": program(kept=KEPT.replace("compare GT, %n, %none", "compare GE, %n, %none")),
    "all flags": program(cond=ANY_LIVE.replace("stablehlo.or", "stablehlo.and").replace("%false", "%true")
        .replace(LIVE, f"{LIVE}\n      %true = stablehlo.constant dense<true> : tensor<i1>")),
    "rows that read others": program(f"%y = stablehlo.reverse %x, dims = [0] : {X}"),
    "updates at the last index": program(
        kept=KEEPING["updates that are dropped"].replace("dense<6>", "dense<5>")
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOGETHER)
def test_rows_that_do_not_end_by_themselves_stay_together(name: str) -> None:
    assert shards_of(TOGETHER[name], 1) == shards_of(TOGETHER[name], 2) == 1
    check_bits(TOGETHER[name])
