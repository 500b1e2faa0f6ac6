"""Scatters whose updates are grouped once, against calls under the same schedules."""

from __future__ import annotations

import gc
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nimblehlo
from nimblehlo import Options
from nimblehlo.checks.explorer import driver, responsibility
from nimblehlo.checks.explorer.grouped import GroupedScatter
from nimblehlo.checks.explorer.runs import ExploredExecutable, Run
from nimblehlo.checks.explorer.schedules import MAX_PERMUTED_UPDATES, Schedule
from nimblehlo.compiler.plan.tiering.background import BACKGROUND
from nimblehlo.kernels.exploration import update_groups
from nimblehlo.program.ops.custom_calls.custom_call import unregister_custom_call
from tests.checks.explorer.test_explore import scatter_inputs, scatter_line, scatter_text
from tests.compiler.transforms.test_batching_dims import returning
from tests.program.ops.bodies import combining
from tests.program.ops.indexing.index_cases import IndexCase, index_cases
from tests.program.ops.indexing.test_scatter import binary, case_program
from tests.support.running import same_bits

ORDERS = ("lexicographic", "reverse", ("shuffled", 1), ("shuffled", 2))
SCHEDULES = [Schedule(order, "blocked") for order in ORDERS]


def assert_runs(executable: ExploredExecutable, text: str, inputs: list[Any]) -> None:
    """Each run has the bits of a call under these options."""
    before = [value.copy() for value in inputs]
    for schedule in SCHEDULES:
        (found,) = executable.run(Run(schedule), tuple(inputs))
        (wanted,) = nimblehlo.execute(text, inputs, options=schedule.options(Options(compile="never")))
        assert same_bits(found, wanted), schedule
    assert all(same_bits(one, other) for one, other in zip(inputs, before, strict=True))


@given(index_cases(), st.sampled_from(["f32", "f64"]), st.sampled_from(["add", "multiply"]))
def test_windows_and_updates_outside(case: IndexCase, name: str, operation: str) -> None:
    text = returning(case_program(case, [name], binary(operation, name), [name]))
    generator = np.random.default_rng(1)
    dtype = nimblehlo.types.ELEMENT_TYPES[name].dtype
    inputs = [
        np.asarray(generator.standard_normal(case.shape)).astype(dtype),
        case.indices,
        np.asarray(generator.standard_normal(case.space)).astype(dtype),
    ]
    executable = ExploredExecutable(nimblehlo.load(text), "main", Options(compile="never"))
    assert_runs(executable, text, inputs)


def test_operands_that_change_are_grouped_again() -> None:
    text = scatter_text("f32", combining("add", "f32"))
    executable = ExploredExecutable(nimblehlo.load(text), "main", Options(compile="never"))
    inputs, others = scatter_inputs(np.float32), scatter_inputs(np.float32, seed=1)
    others[0] = others[0] * np.float32(3)
    assert executable.steps[0]._grouped is not None
    for changed in ([], [0], [1], [2], [0, 1, 2], [], [2]):
        assert_runs(executable, text, [others[k] if k in changed else inputs[k] for k in range(3)])
    # Equal operands in other memory are the same operands.
    assert_runs(executable, text, [value.copy() for value in inputs])


def runs_and_comparisons(
    inputs: list[Any], name: str, operation: str = "add"
) -> tuple[nimblehlo.Exploration, nimblehlo.Exploration]:
    """An exploration, and one that compares whole results."""
    rows, updates = inputs[0].size, inputs[2].size
    text = scatter_text(name, combining(operation, name), rows, updates)
    explored = nimblehlo.explore(text, inputs, schedules=12)
    with mock.patch.object(GroupedScatter, "of", return_value=None):
        whole = nimblehlo.explore(text, inputs, schedules=12)
    return explored, whole


@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize("operation", ["add", "multiply"])
def test_what_is_found_is_what_whole_results_show(name: str, operation: str) -> None:
    dtype = nimblehlo.types.ELEMENT_TYPES[name].dtype
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e-40, 1e30, -1e30, 3.0]
    # Many updates, so that schedules are shuffled ones; elements have no, one, two and several of them.
    updates = MAX_PERMUTED_UPDATES + 5
    for rows in (updates, updates // 4):
        inputs = scatter_inputs(dtype, rows, updates, seed=rows)
        with np.errstate(all="ignore"):
            inputs[2][::7] = np.resize(np.array(special).astype(dtype), inputs[2][::7].shape)
        explored, whole = runs_and_comparisons(inputs, name, operation)
        for one, other in zip(explored.results, whole.results, strict=True):
            assert (one.first, one.elements, one.schedules) == (other.first, other.elements, other.schedules)
            assert str(one.largest) == str(other.largest)
            assert same_bits(one.baseline, other.baseline)
            assert one.minimum is not None and other.minimum is not None
            assert one.maximum is not None and other.maximum is not None
            assert same_bits(one.minimum, other.minimum) and same_bits(one.maximum, other.maximum)


def test_two_updates_that_commute_are_settled() -> None:
    grouped = np.array([1, 2, 3, 1e8, 1, 4, 5, 6], np.float32)
    starts = np.array([0, 2, 2, 3, 5, 8], np.int32)
    result = np.array([1, 7, 1, -1e8, 1], np.float32)
    elements, initials, bounds, values = update_groups.combine_order_independent(
        "add", starts, grouped, result
    )
    assert list(elements) == [3, 4] and list(bounds) == [0, 2, 5]
    assert list(initials) == [-1e8, 1]
    # The last two have the value in either order, and the updates.
    assert list(values) == [1, 0, 4, 5, 6]
    assert list(result) == [4, 7, 4, -1e8, 1]


RETURNED = {
    "%s": 1,
    "%s, %n": 1,
    "%s, %s": 32,
    "%s, %t": 32,
    "%s, %c": 32,
}


@pytest.mark.parametrize(("returned", "runs"), RETURNED.items())
def test_the_program_runs_once_where_a_scatter_is_all_that_varies(returned: str, runs: int) -> None:
    updates = MAX_PERMUTED_UPDATES
    type, given = "tensor<4xf32>", f"tensor<{updates}xf32>"
    lines = [scatter_line("f32", combining("add", "f32"), 4, updates)]
    lines += [f"%n = stablehlo.negate %u : {given}"] * ("%n" in returned)
    lines += [f"%t = stablehlo.add %s, %x : {type}"] * ("%t" in returned)
    lines += [f"%c = stablehlo.custom_call @counted(%x) : ({type}) -> {type}"] * ("%c" in returned)
    types = ", ".join([given if name == "%n" else type for name in returned.split(", ")])
    text = f"""func.func @main(%x: {type}, %i: tensor<{updates}x1xi32>, %u: {given}) -> ({types}) {{
      {chr(10).join(lines)}
      return {returned} : {types}
    }}"""
    calls = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return x * 2

    nimblehlo.register_custom_call("counted", counted)
    try:
        inputs = scatter_inputs(np.float32, 4, updates)
        run = ExploredExecutable.run
        with mock.patch.object(ExploredExecutable, "run", autospec=True, side_effect=run) as counting:
            explored = nimblehlo.explore(text, inputs)
        assert counting.call_count == runs and len(calls) == ("%c" in returned) * runs
        with mock.patch.object(GroupedScatter, "of", return_value=None):
            whole = nimblehlo.explore(text, inputs)
    finally:
        unregister_custom_call("counted")
    assert [str(one.largest) for one in explored.results] == [str(one.largest) for one in whole.results]
    assert explored.as_dict() == {**whole.as_dict(), "seconds": explored.seconds, "workers": explored.workers}
    assert explored.results[0].depends


def test_neither_garbage_is_looked_for_nor_jobs_begin_while_a_scatter_alone_is_repeated() -> None:
    updates = MAX_PERMUTED_UPDATES
    text = scatter_text("f32", combining("add", "f32"), updates=updates)
    inputs = scatter_inputs(np.float32, updates=updates)
    seen: list[tuple[bool, int]] = []

    def find_local_differences(*arguments: Any) -> list[Any]:
        seen.append((gc.isenabled(), BACKGROUND.holds))
        return responsibility.find_local_differences(*arguments)

    with mock.patch.object(driver, "find_local_differences", find_local_differences):
        nimblehlo.explore(text, inputs, schedules=4)
        assert seen == [(False, 1)] and gc.isenabled() and not BACKGROUND.holds
        with mock.patch.object(GroupedScatter, "of", return_value=None):
            nimblehlo.explore(text, inputs, schedules=4)
        assert seen[1:] == [(True, 0)]
