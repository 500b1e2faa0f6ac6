"""The benchmarks' programs are right before they are fast, and the measuring measures."""

import numpy as np
import pytest

pytest.importorskip("jax")

import jax

import nimblehlo
from benchmarks.programs import PROGRAMS, SIZES, Program
from tools.comparison import Array, difference

pytestmark = pytest.mark.models


@pytest.fixture(params=sorted(PROGRAMS))
def program(request: pytest.FixtureRequest) -> Program:
    """Each program in turn."""
    return PROGRAMS[request.param]


def disagreements(results: object, expected: object, bound: float) -> list[str]:
    """What tells two lists of results apart."""
    pairs = zip(jax.tree.leaves(results), jax.tree.leaves(expected), strict=True)
    reasons = (difference(np.asarray(one), np.asarray(other), bound) for one, other in pairs)
    return [reason for reason in reasons if reason is not None]


def test_programs_give_the_results_of_xla_and_of_numpy(program: Program) -> None:
    inputs = program.inputs(SIZES[0])
    lowered = program.lowered(inputs)
    with program.precision():
        expected = lowered.compile()(*inputs)
    results: list[Array] = nimblehlo.execute(lowered.as_text(), inputs)
    assert not disagreements(results, expected, program.bound)
    if program.numpy is not None:
        assert not disagreements(program.numpy(*inputs), results[0], program.bound)
