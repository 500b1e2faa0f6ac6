"""Programs that several processes run: which there are, what is allowed of them, and who runs them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nimblehlo import Options
from nimblehlo.checks.backends import Backend, BackendError, IsolatedBackend
from nimblehlo.checks.backends.backend import CallableBackend, NimbleBackend
from nimblehlo.checks.conformance import Judge, Program, Verdict, conformance
from nimblehlo.checks.conformance.grid_results import GridResults, results_on
from nimblehlo.checks.conformance.suite import SMOKE, legal_programs
from nimblehlo.checks.conformance.verdicts import REFERENCES, verdict_on
from nimblehlo.errors import UnsupportedError
from nimblehlo.program.ops.collectives.process_grid import Grid

Array = np.ndarray[Any, Any]
GROUPED = (
    *("all_gather", "all_reduce", "all_to_all"),
    *("collective_broadcast", "collective_reduce", "reduce_scatter"),
)
OTHERS = ("collective_permute", "replica_id", "partition_id", "async_start")
SAMPLE = 5
"""One of so many programs of f32 runs here."""


@functools.cache
def on_grids(operation: str) -> dict[str, Program]:
    """The programs of f32 of an operation that several processes run, by their names."""
    chosen = [one for one in legal_programs(f"stablehlo.{operation}") if one.grid.size > 1]
    return {one.id.rpartition("/")[2]: one for one in chosen if one.element_type == "f32"}


@pytest.mark.parametrize("operation", GROUPED)
def test_groups_of_two_to_eight_processes_in_all_modes(operation: str) -> None:
    programs = on_grids(operation)
    assert {one.grid.size for one in programs.values()} == {2, 4, 8}
    assert any("_channel_" in name for name in programs)
    assert any(one.grid.replicas > 1 and one.grid.partitions > 1 for one in programs.values())
    has_global_ids = any("use_global_device_ids" in one.text for one in programs.values())
    assert has_global_ids == (operation not in ("all_to_all", "collective_broadcast"))
    has_dynamic_root = any(name.endswith("_dynamic_root") for name in programs)
    assert has_dynamic_root == (operation in ("collective_broadcast", "collective_reduce"))
    is_uneven = any("-1" in one.text.partition("replica_groups")[2] for one in programs.values())
    assert is_uneven == (operation == "all_reduce")


def test_some_programs_belong_to_the_level_smoke() -> None:
    for operation in (*GROUPED, "collective_permute"):
        smoke = [one for one in legal_programs(f"stablehlo.{operation}", SMOKE) if one.grid.size > 1]
        assert {one.grid.size for one in smoke} == {2}


@pytest.mark.parametrize("operation", GROUPED + OTHERS)
def test_nimblehlo_is_within(operation: str) -> None:
    chosen = list(on_grids(operation).values())[::SAMPLE]
    backends: list[Backend] = [NimbleBackend(Options(compile=mode)) for mode in ("eager", "never")]
    for program in chosen:
        for backend in backends:
            assert Judge(program).judge(backend).verdict == Verdict.WITHIN, program.id


def test_each_process_has_inputs_of_its_own() -> None:
    program = on_grids("all_gather")["2x1_groups_01"]
    first, second = program.inputs_by_process
    assert len(first) == len(second) == 1
    assert not np.array_equal(first[0], second[0], equal_nan=True)
    assert program.inputs == [*first, *second]


def test_results_of_processes_that_are_swapped_are_outside() -> None:
    for operation in ("all_to_all", "collective_permute", "partition_id"):
        program = next(one for one in on_grids(operation).values() if one.grid.partitions > 1)
        right = results_on(NimbleBackend(), program)
        judged = verdict_on(Judge(program).allowed, right[1:] + right[:1])
        assert judged[0] == Verdict.OUTSIDE, program.id


def test_sums_have_bounds_and_maxima_are_exact() -> None:
    programs = on_grids("all_reduce")
    sums = GridResults(programs["8x1_groups_01234567_add"], REFERENCES).results
    assert all((one.bound > 0).all() and (one.bound < 1e-4).all() for one in sums)
    maxima = GridResults(programs["8x1_groups_01234567_maximum"], REFERENCES).results
    assert not any(one.bound.any() for one in maxima)
    value = sums[0].value
    off = [one.value + np.spacing(one.value) for one in sums]
    assert verdict_on(GridResults(programs["8x1_groups_01234567_add"], REFERENCES), off)[0] == Verdict.WITHIN
    wrong = [value * 1.001, *off[1:]]
    assert (
        verdict_on(GridResults(programs["8x1_groups_01234567_add"], REFERENCES), wrong)[0] == Verdict.OUTSIDE
    )


def test_a_reduction_that_rounds_otherwise_has_no_bounds() -> None:
    program = on_grids("all_reduce")["2x1_groups_01_add"]
    multiplies = replace(program, text=program.text.replace("stablehlo.add", "stablehlo.multiply"))
    with pytest.raises(UnsupportedError, match=r"no bounds of stablehlo\.all_reduce"):
        GridResults(multiplies, REFERENCES)


def test_a_backend_without_a_grid_refuses() -> None:
    def nothing(module: object, inputs: Sequence[Array]) -> list[Array]:
        raise AssertionError("must not run")

    program = on_grids("all_gather")["2x1_groups_01"]
    report = conformance([CallableBackend(nothing, "one")], chosen=[program])
    (judgement,) = report.judgements
    assert (judgement.verdict, judgement.detail) == (
        Verdict.REFUSED,
        "one runs a program as one process only",
    )


def test_devices_of_jax_run_the_processes() -> None:
    pytest.importorskip("jax")
    backend = IsolatedBackend("jax:cpu")
    for operation, name in (
        ("all_reduce", "8x1_groups_7142_0356_add"),
        ("collective_permute", "1x8_pairs_01_14_27_32_45_50_63_76_channel_1"),
        ("replica_id", "4x2"),
    ):
        program = on_grids(operation)[name]
        assert Judge(program).judge(backend).verdict == Verdict.WITHIN, program.id
    assert backend.processor_seconds > 0
    with pytest.raises(BackendError, match="has 8 devices, but the grid is 16 x 1"):
        backend.run_on_grid(program.text, [()] * 16, Grid(16))
