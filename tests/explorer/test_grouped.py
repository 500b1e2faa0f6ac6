"""Scatters whose updates are grouped once, against calls under the same schedules."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import nimblehlo
from nimblehlo import Options
from nimblehlo.explorer.runs import ExploredExecutable, Run
from nimblehlo.explorer.schedules import Schedule
from tests.explorer.test_explore import scatter_inputs, scatter_text
from tests.ops.bodies import combining
from tests.ops.index_cases import IndexCase, index_cases
from tests.ops.test_scatter import binary, case_program
from tests.running import same_bits
from tests.transforms.test_batching_dims import returning

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
