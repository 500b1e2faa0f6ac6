"""Arrays of native code share bytes where no statement needs both, and give the same bits."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.loops.arrays.workspace import assign_offsets
from nimblehlo.compiler.plan import all_steps
from nimblehlo.compiler.plan.implementations.native_loops import NativeLoop
from tests.checks.fuzzing.loops import random_loop

ARRAY = "tensor<64xf32>"

LOOP = """
func.func @main(%n: tensor<i32>, %x: tensor<64xf32>, %y: tensor<64xf32>)
    -> (tensor<64xf32>, tensor<64xf32>) {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %all:3 = stablehlo.while(%i = %zero, %v = %x, %w = %y) : tensor<i32>, tensor<64xf32>, tensor<64xf32>
  cond {{
    %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  }} do {{
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    {body}
    stablehlo.return %next, {handed_on} : tensor<i32>, tensor<64xf32>, tensor<64xf32>
  }}
  return %all#1, %all#2 : tensor<64xf32>, tensor<64xf32>
}}
"""


def reversals(source: str, count: int) -> tuple[str, str]:
    """The text of sines of reversals, in sequence, and the last one's name."""
    lines = []
    for _ in range(count):
        lines.append(f"{source}r = stablehlo.reverse {source}, dims = [0] : {ARRAY}")
        lines.append(f"{source}rs = stablehlo.sine {source}r : {ARRAY}")
        source = f"{source}rs"
    return "\n".join(lines), source


def case(first: str, second: str) -> str:
    """A choice by the number of the iteration, of two blocks that begin with reversals of an array."""
    regions = []
    for source in (first, second):
        text, last = reversals(source, 3)
        regions.append(f"{{\n{text}\nstablehlo.return {last} : {ARRAY}\n}}")
    return f'%c = "stablehlo.case"(%i) ({", ".join(regions)}) : (tensor<i32>) -> {ARRAY}'


def inner_loop(body: str, handed_on: str) -> str:
    """A loop on `%u`, which begins as `%w`."""
    return f"""%inner:2 = stablehlo.while(%j = %zero, %u = %w) : tensor<i32>, {ARRAY}
    cond {{
      %more = stablehlo.compare LT, %j, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    }} do {{
      %after = stablehlo.add %j, %one : tensor<i32>
      {body}
      stablehlo.return %after, {handed_on} : tensor<i32>, {ARRAY}
    }}"""


def scratch_arrays(body: str, handed_on: str, *shape: int) -> float:
    """How many arrays of a shape, 64 elements if omitted, the workspace of the loop holds.

    Its results are those of its plan.
    """
    shape = shape or (64,)
    type = f"tensor<{'x'.join(map(str, shape))}xf32>"
    text = LOOP.format(body=body, handed_on=handed_on).replace(ARRAY, type)
    executable = nimblehlo.compile(text, options=Options(compile="eager"))
    (loop,) = [
        step.implementation
        for step in all_steps(executable._static_program.plan)
        if isinstance(step.implementation, NativeLoop) and not step.implementation.is_inner
    ]
    inputs = [np.int32(5), *np.random.default_rng(0).standard_normal((2, *shape)).astype(np.float32)]
    expected = nimblehlo.compile(text, options=Options(compile="never"))(*inputs)
    for result, other in zip(executable(*inputs), expected, strict=True):
        assert result.tobytes() == other.tobytes()
    counted, of_values = executable.memory().temporaries, executable.memory_of_values().temporaries
    assert of_values <= counted <= of_values + loop.scratch_bytes
    return loop.scratch_bytes / (4 * math.prod(shape))


CHAIN, LAST = reversals("%v", 7)
LONG_INNER, LAST_OF_INNER = reversals("%u", 4)

SCRATCH = {
    "an elementwise update is made in place": ("%s = stablehlo.add %v, %w : " + ARRAY, "%s, %w", 0),
    "another one takes turns": (f"%s = stablehlo.reverse %v, dims = [0] : {ARRAY}", "%s, %w", 1),
    "a value that is read later takes turns": (
        f"%s = stablehlo.add %v, %w : {ARRAY}\n%t = stablehlo.multiply %w, %v : {ARRAY}",
        "%s, %t",
        1,
    ),
    "arrays that are exchanged": ("", "%w, %v", 2),
    "a chain needs two arrays besides": (CHAIN, f"{LAST}, %w", 2),
    "branches overlap": (case("%v", "%w"), "%c, %w", 2),
    "an inner loop": (inner_loop(LONG_INNER, LAST_OF_INNER), "%inner#1, %v", 3),
    "an array that an inner loop reads lives as long": (
        f"%k = stablehlo.reverse %v, dims = [0] : {ARRAY}\n"
        + inner_loop(
            f"%s = stablehlo.add %u, %k : {ARRAY}\n%t = stablehlo.reverse %s, dims = [0] : {ARRAY}", "%t"
        ),
        "%inner#1, %v",
        3,
    ),
    "branches that hand on an array at its position": (
        f'%c = "stablehlo.case"(%i) ({{\nstablehlo.return %v : {ARRAY}\n}}, {{\n'
        f"%s = stablehlo.sine %w : {ARRAY}\nstablehlo.return %s : {ARRAY}\n}}) : (tensor<i32>) -> {ARRAY}",
        "%c, %w",
        0,
    ),
    "branches that hand on an array elsewhere": (
        f'%c:2 = "stablehlo.case"(%i) ({{\nstablehlo.return %v, %w : {ARRAY}, {ARRAY}\n}}, {{\n'
        f"stablehlo.return %w, %v : {ARRAY}, {ARRAY}\n}}) : (tensor<i32>) -> ({ARRAY}, {ARRAY})",
        "%c#0, %c#1",
        2,
    ),
    "an inner loop that begins with an array at its position": (
        inner_loop(f"%s = stablehlo.sine %u : {ARRAY}", "%s"),
        "%v, %inner#1",
        0,
    ),
    "a broadcast is read where its operand lies": (
        f"""%k = stablehlo.slice %v [0:32] : ({ARRAY}) -> tensor<32xf32>
        %b = stablehlo.broadcast_in_dim %k, dims = [0] : (tensor<32xf32>) -> tensor<32x2xf32>
        %m = stablehlo.reshape %w : ({ARRAY}) -> tensor<32x2xf32>
        %o = stablehlo.multiply %b, %m : tensor<32x2xf32>
        %s = stablehlo.reshape %o : (tensor<32x2xf32>) -> {ARRAY}""",
        "%s, %w",
        1.5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCRATCH)
def test_arrays_share_bytes(name: str) -> None:
    body, handed_on, count = SCRATCH[name]
    assert scratch_arrays(body, handed_on) == count


@pytest.mark.parametrize(("k", "count"), [(1, 0), (2, 1)])
def test_outer_products_are_added_in_place(k: int, count: int) -> None:
    """A product that contracts one element is computed by the loop that adds it; another has memory."""
    factor = f"tensor<64x{k}xf32>"
    body = f"""%l = stablehlo.slice %w [0:64, 0:{k}] : ({ARRAY}) -> {factor}
    %r = stablehlo.negate %l : {factor}
    %p = stablehlo.dot_general %l, %r, contracting_dims = [1] x [1] : ({factor}, {factor}) -> {ARRAY}
    %s = stablehlo.add %v, %p : {ARRAY}
    %t = stablehlo.negate %w : {ARRAY}"""
    assert int(scratch_arrays(body, "%s, %t", 64, 64)) == count


LARGE_ARRAY = "tensor<1024xf32>"
SUMS = "\n".join(
    f"""%sum{k} = stablehlo.reduce(%r{k} init: %none) applies stablehlo.add across dimensions = [0]
      : ({LARGE_ARRAY}, tensor<f32>) -> tensor<f32>"""
    for k in range(4)
)
REVERSALS = "\n".join(
    f"""%c{k} = stablehlo.multiply %v, %u{k} : {LARGE_ARRAY}
    %u{k + 1} = stablehlo.sine %c{k} : {LARGE_ARRAY}
    %r{k} = stablehlo.reverse %c{k}, dims = [0] : {LARGE_ARRAY}"""
    for k in range(4)
)

ORDERED = {
    "values that wait for their readers are made later": (
        "%none = stablehlo.constant dense<0.0> : tensor<f32>\n"
        f"%u0 = stablehlo.cosine %v : {LARGE_ARRAY}\n" + REVERSALS + "\n" + SUMS
        + f"""
        %t0 = stablehlo.add %sum0, %sum1 : tensor<f32>
        %t1 = stablehlo.add %sum2, %sum3 : tensor<f32>
        %t = stablehlo.add %t0, %t1 : tensor<f32>
        %b = stablehlo.broadcast_in_dim %t, dims = [] : (tensor<f32>) -> {LARGE_ARRAY}
        %s = stablehlo.add %v, %b : {LARGE_ARRAY}""",
        "%s, %w",
        pytest.approx(2, abs=0.25),  # the totals of a sum's vectors take as much as these are long
    ),
    "a branch makes its result in place": (
        f"""%c = "stablehlo.case"(%i) ({{
          %r = stablehlo.reverse %v, dims = [0] : {LARGE_ARRAY}
          stablehlo.return %r : {LARGE_ARRAY}
        }}, {{
          %r = stablehlo.sine %w : {LARGE_ARRAY}
          stablehlo.return %r : {LARGE_ARRAY}
        }}) : (tensor<i32>) -> {LARGE_ARRAY}
        %r = stablehlo.reverse %c, dims = [0] : {LARGE_ARRAY}
        %s = stablehlo.add %c, %r : {LARGE_ARRAY}
        %t = stablehlo.add %v, %s : {LARGE_ARRAY}""",
        "%t, %w",
        1,
    ),
    "one loop reads a transpose where its operand lies": (
        f"""%first = stablehlo.slice %w [0:500] : ({LARGE_ARRAY}) -> tensor<500xf32>
        %second = stablehlo.slice %w [500:1024] : ({LARGE_ARRAY}) -> tensor<524xf32>
        %m = stablehlo.concatenate %second, %first, dim = 0
          : (tensor<524xf32>, tensor<500xf32>) -> {LARGE_ARRAY}
        %a = stablehlo.reshape %m : ({LARGE_ARRAY}) -> tensor<16x64xf32>
        %e = stablehlo.reshape %v : ({LARGE_ARRAY}) -> tensor<64x16xf32>
        %c = "stablehlo.case"(%i) ({{
          %b = stablehlo.transpose %a, dims = [1, 0] : (tensor<16x64xf32>) -> tensor<64x16xf32>
          %d = stablehlo.add %b, %e : tensor<64x16xf32>
          stablehlo.return %d : tensor<64x16xf32>
        }}, {{
          %d = stablehlo.sine %e : tensor<64x16xf32>
          stablehlo.return %d : tensor<64x16xf32>
        }}) : (tensor<i32>) -> tensor<64x16xf32>
        %r = stablehlo.reshape %c : (tensor<64x16xf32>) -> {LARGE_ARRAY}
        %s = stablehlo.add %r, %m : {LARGE_ARRAY}
        %t = stablehlo.subtract %r, %w : {LARGE_ARRAY}""",
        "%s, %t",
        2 + 1 / 64,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDERED)
def test_order_of_operations(name: str) -> None:
    body, handed_on, count = ORDERED[name]
    assert scratch_arrays(body, handed_on, 1024) == count


@pytest.mark.parametrize("size", [1000, 5000])
def test_arrays_replace_those_that_are_dead(size: int) -> None:
    body = f"%r = stablehlo.reverse %v, dims = [0] : {ARRAY}\n%s = stablehlo.add %r, %w : {ARRAY}"
    text = LOOP.format(body=body, handed_on="%s, %w")
    text = text.replace("tensor<64xf32>", f"tensor<{size}xf32>")
    executable = nimblehlo.compile(text, options=Options(compile="eager"))
    (step,) = [
        one for one in executable._static_program.plan.steps if isinstance(one.implementation, NativeLoop)
    ]
    held = -(-size * 4 // 64) * 64
    assert step.implementation.scratch_bytes == held
    inputs = [np.int32(5), *np.random.default_rng(0).standard_normal((2, size)).astype(np.float32)]
    result, _ = executable(*inputs)
    expected, _ = nimblehlo.compile(text, options=Options(compile="never"))(*inputs)
    assert np.array_equal(result, expected)


def test_native_code_takes_the_arrays_of_a_list() -> None:
    """Those to which nothing else refers are updated where they are; others are copied."""
    body = f"%r = stablehlo.reverse %v, dims = [0] : {ARRAY}\n%s = stablehlo.add %r, %w : {ARRAY}"
    text = LOOP.format(body=body, handed_on="%s, %r").replace("tensor<64xf32>", "tensor<5000xf32>")
    executable = nimblehlo.compile(text, options=Options(compile="eager"))
    (step,) = [
        one for one in executable._static_program.plan.steps if isinstance(one.implementation, NativeLoop)
    ]
    assert len(step.implementation.loop.captured) == 1  # the number of iterations
    first, second = np.random.default_rng(0).standard_normal((2, 5000), np.float32)
    expected = executable(np.int32(5), first, second)
    values = [np.array(0, np.int32), first.copy(), second]
    address, kept = values[1].ctypes.data, second.copy()
    captured = [np.array(5, np.int32)]
    _, *results = step.implementation.prepare()(values, captured, lambda count: None)
    assert values == [None, None, None] and results[0].ctypes.data == address
    assert all(map(np.array_equal, results, expected))
    assert np.array_equal(second, kept)


@pytest.mark.sampled(share=2)
@pytest.mark.parametrize("seed", range(10))
def test_random_loops(seed: int) -> None:
    text, inputs = random_loop(seed)
    results = nimblehlo.compile(text, options=Options(compile="eager"))(*inputs)
    expected = nimblehlo.compile(text, options=Options(compile="never"))(*inputs)
    for result, other in zip(results, expected, strict=True):
        assert np.array_equal(result, other, equal_nan=True)


@pytest.mark.parametrize("seed", range(5))
def test_arrays_that_are_live_together_do_not_overlap(seed: int) -> None:
    chosen = random.Random(seed)
    intervals = []
    for _ in range(60):
        first = chosen.randint(0, 100)
        intervals.append((first, first + chosen.randint(0, 30), 64 * chosen.randint(1, 40)))
    offsets = assign_offsets(intervals)
    held = [(*interval, offset) for interval, offset in zip(intervals, offsets, strict=True)]
    for number, (first, last, size, offset) in enumerate(held):
        for other_first, other_last, other_size, other in held[:number]:
            if first <= other_last and other_first <= last:
                assert offset + size <= other or other + other_size <= offset
    end = max(size + offset for _, _, size, offset in held)
    live = [sum(size for a, b, size, _ in held if a <= now <= b) for now in range(131)]
    assert max(live) <= end <= 1.25 * max(live)


def test_nothing_needs_no_memory() -> None:
    assert assign_offsets([]) == []
