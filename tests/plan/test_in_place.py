"""Writing into operands that die changes no bit: random programs, their arrays of any size overwritten."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("jaxlib")

import nimblehlo
from nimblehlo import NimbleError, Options
from nimblehlo.plan import all_steps, lowering
from tests.fuzzing.programs import random_program
from tests.fuzzing.variants import for_runtime

SAMPLE = 150


def results_of(program: Any, options: Options) -> tuple[list[bytes] | str, int]:
    """The bits of two calls, or the error; and how many steps may overwrite operands."""
    module, inputs = for_runtime(program, program.results, {})
    before = [array.tobytes() for array in inputs]
    try:
        executable = nimblehlo.compile(nimblehlo.load(str(module)), options=options)
        results = [*executable(*inputs), *executable(*inputs)]
    except NimbleError as error:
        return str(error), 0
    assert [array.tobytes() for array in inputs] == before
    assert executable._only is not None
    return [result.tobytes() for result in results], sum(
        bool(step.overwrites) for step in all_steps(executable._only._plan)
    )


def compare(seeds: range, options: Options, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run programs with and without writing in place; how many steps could."""
    overwriting = 0
    for seed in seeds:
        program = random_program(seed)
        monkeypatch.setattr(lowering, "_LEAST_OVERWRITTEN_BYTES", 1 << 60)
        expected, _ = results_of(program, options)
        monkeypatch.setattr(lowering, "_LEAST_OVERWRITTEN_BYTES", 1)
        found, steps = results_of(program, options)
        assert found == expected, f"seed {seed}"
        overwriting += steps
    return overwriting


def test_random_programs_give_the_same_bits_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare(range(SAMPLE), Options(compile="never"), monkeypatch) > SAMPLE // 10


def test_random_clusters_give_the_same_bits_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(range(SAMPLE), Options(compile="auto"), monkeypatch)
