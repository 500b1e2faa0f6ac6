"""Draws the pictures of the documents' first page from real runs.

    python tools/front_page.py

Takes about a minute. Needs JAX: XLA:CPU is what NimbleHLO is compared with. Each picture is stored in
docs/images; the third one depends on the machine and the versions, which it names with the date.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import nimblehlo
from benchmarks.pictures import WIDTH, Colour, Picture
from nimblehlo.differences import find_faulty_operation

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
EXAMPLE = ROOT / "examples" / "transformer.mlir"
LEFT, RIGHT = 14, WIDTH - 14
MAX_ULPS = 1e4
"""Distances beyond it are drawn as long as it: near zero they have no end."""
SECONDS = 30.0
"""Seconds from the start of compiling that the third picture shows."""

UNORDERED = """func.func @main(%x: tensor<40xf32>, %i: tensor<4000x1xi32>, %u: tensor<4000xf32>)
    -> tensor<40xf32> {
  %0 = stablehlo.sine %u : tensor<4000xf32>
  %1 = "stablehlo.scatter"(%x, %i, %0) <{scatter_dimension_numbers = #stablehlo.scatter<
    inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) : (tensor<40xf32>, tensor<4000x1xi32>, tensor<4000xf32>) -> tensor<40xf32>
  return %1 : tensor<40xf32>
}"""


def faulty(module: Any, inputs: Sequence[Any]) -> list[Any]:
    """A backend that computes `exponential_minus_one` where a program says `exponential`."""
    text = str(module).replace('"stablehlo.exponential"', '"stablehlo.exponential_minus_one"')
    return nimblehlo.execute(text, inputs)


def draw_difference() -> Picture:
    """The distance of each operation of a transformer on that backend, up to the wrong one."""
    report = find_faulty_operation(EXAMPLE, [np.load(EXAMPLE.with_suffix(".input0.npy"))], faulty)
    assert report.first is not None
    checks = report.operations
    picture = Picture("The first wrong operation of a program", 232)
    picture.text(LEFT, 28, "nimblehlo diff: the first wrong operation", bold=True)
    picture.text(LEFT, 52, f"distance of {len(checks)} operations in ulps", "quiet")
    step = (RIGHT - LEFT) / len(checks)
    base = 166
    picture.line([(LEFT, base), (RIGHT, base)], "quiet")
    for index, check in enumerate(checks):
        height = 4 + 86 * math.log10(min(check.ulps, MAX_ULPS) + 1) / math.log10(MAX_ULPS + 1)
        colour = "ours" if check.is_within else "bad"
        picture.bar(LEFT + index * step, base - height, max(step - 2, 1), height, colour)
    wrong = checks[-1]
    picture.text(
        RIGHT,
        base + 26,
        f"{wrong.operation}: beyond its bound",
        "bad",
        "end",
        bold=True,
    )
    line = (wrong.source or wrong.location).rpartition("/")[2]
    picture.text(RIGHT, base + 50, f"{line}; all before it: within", "quiet", "end")
    return picture


def draw_order() -> Picture:
    """How far the results of a scatter spread under schedules that the specification allows."""
    rng = np.random.default_rng(0)
    indices = rng.integers(0, 40, (4000, 1), np.int32)
    values = (rng.standard_normal(4000) * 10).astype(np.float32)
    exploration = nimblehlo.explore(UNORDERED, [np.zeros(40, np.float32), indices, values])
    (result,), (operation,) = exploration.results, exploration.operations
    assert result.minimum is not None and result.maximum is not None
    below, above = result.minimum - result.baseline, result.maximum - result.baseline
    most = max(float(-below.min()), float(above.max()))
    picture = Picture("Results that depend on an order which the specification leaves open", 232)
    picture.text(LEFT, 28, "nimblehlo explore: does order matter?", bold=True)
    picture.text(
        LEFT, 52, f"{result.elements} of {result.baseline.size} sums differ: by up to {most:.1g}", "quiet"
    )
    middle, step = 118, (RIGHT - LEFT) / result.baseline.size
    picture.line([(LEFT, middle), (RIGHT, middle)], "quiet")
    for index in range(result.baseline.size):
        x = LEFT + (index + 0.5) * step
        top, bottom = (middle - 50 * float(value[index]) / most for value in (above, below))
        picture.line([(x, top), (x, bottom)], "theirs", 4)
    line = operation.source or operation.location
    picture.text(RIGHT, 196, f"{operation.name}, line {line.rpartition(':')[2]}", "theirs", "end", bold=True)
    picture.text(
        RIGHT,
        220,
        f"{len(exploration.schedules)} schedules, {exploration.explored} operation",
        "quiet",
        "end",
    )
    return picture


def finished_calls(compile: Callable[[], Callable[[], object]]) -> list[float]:
    """Seconds from the start of compiling to the end of each call, for `SECONDS`."""
    start = time.perf_counter()
    call = compile()
    ends = []
    while not ends or ends[-1] < SECONDS:
        call()
        ends.append(time.perf_counter() - start)
    return ends


def measure(runtime: str) -> list[float]:
    """The calls of a training step of a GPT-2 with 4 layers by a runtime, in a process without a cache."""
    import jax

    from tests.support.large_programs import gpt2

    function, arguments = gpt2(4)
    lowered = jax.jit(function).lower(*arguments)

    def by_xla() -> Callable[[], object]:
        compiled = lowered.compile()
        return lambda: jax.block_until_ready(compiled(*arguments))

    def by_nimblehlo() -> Callable[[], object]:
        executable = nimblehlo.compile(lowered)
        flat = jax.tree.leaves(arguments)
        return lambda: executable(*flat)

    return finished_calls(by_xla if runtime == "XLA:CPU" else by_nimblehlo)


def measured(runtime: str, folder: str) -> list[float]:
    """`measure` in a process of its own, with an empty cache of compiled code."""
    environment = {**os.environ, "NIMBLEHLO_CACHE_DIR": folder, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, __file__, "--measure", runtime]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT)
    return list(map(float, ran.stdout.splitlines()[-1].split()))


def draw_calls() -> Picture:
    """The calls that are finished after each second, of NimbleHLO and of XLA:CPU."""
    from tempfile import TemporaryDirectory

    from benchmarks.machine import machine

    with TemporaryDirectory() as folder:
        runs = {name: measured(name, folder) for name in ("NimbleHLO", "XLA:CPU")}
    most = max(map(len, runs.values()))
    picture = Picture("Finished calls from the first second", 316)
    picture.text(LEFT, 28, "Calls since compiling began", bold=True)
    picture.text(LEFT, 52, "a training step of a GPT-2, 4 layers", "quiet")
    base, height = 226, 104
    picture.line([(LEFT, base), (RIGHT, base)], "quiet")
    colours: Sequence[Colour] = ("ours", "theirs")
    for index, ((name, ends), colour) in enumerate(zip(runs.items(), colours, strict=True)):
        scaled = [
            (LEFT + min(second / SECONDS, 1) * (RIGHT - LEFT), base - count / most * height)
            for second, count in _steps(ends)
        ]
        picture.line(scaled, colour, 2.5)
        text = (
            f"{name}: first after {ends[0]:.1f} s, {sum(end <= SECONDS for end in ends):,} in {SECONDS:.0f} s"
        )
        picture.text(LEFT, 78 + 24 * index, text, colour)
    picture.text(LEFT, base + 22, "0", "quiet")
    picture.text(RIGHT, base + 22, f"{SECONDS:.0f} s", "quiet", "end")
    processor, cores, _, _, _, *versions = machine().split(", ")
    picture.text(LEFT, base + 48, f"{date.today()}: {processor}, {cores}", "quiet")
    picture.text(LEFT, base + 72, ", ".join(versions), "quiet")
    return picture


def _steps(ends: Sequence[float]) -> list[tuple[float, int]]:
    """At most some 200 points of the curve of finished calls."""
    stride = max(1, len(ends) // 200)
    counts = [*range(0, len(ends), stride), len(ends) - 1]
    return [(0.0, 0), (ends[0], 0), *[(ends[index], index + 1) for index in counts]]


def main() -> None:
    """Draw all pictures, or measure one runtime."""
    if "--measure" in sys.argv:
        print(*(f"{end:.4f}" for end in measure(sys.argv[-1])))
        return
    draw_difference().save(IMAGES / "difference.svg")
    draw_order().save(IMAGES / "order.svg")
    draw_calls().save(IMAGES / "calls.svg")


if __name__ == "__main__":
    main()
