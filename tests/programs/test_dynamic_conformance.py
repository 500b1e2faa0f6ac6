"""The public programs with unknown sizes: accepted, with StableHLO's results for some sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import nimblehlo
from nimblehlo import NimbleError, Options
from tests.conftest import conformance_folder
from tests.support.dynamic_reference import Aborted, Rejected, StableHLO, called_with, inputs_of
from tests.support.running import Array, assert_close, run_xla, same_bits

SIZES = [3, 1, 5]
ROUNDING = 5e-7
"""How far results that are rounded may lie from the interpreter's, relative to the largest result."""


def _programs() -> list[Path]:
    folder = conformance_folder()
    return sorted((folder / "dynamic").glob("*.mlir")) if folder else []


PROGRAMS = _programs()
pytestmark = pytest.mark.skipif(not PROGRAMS, reason="there is no folder of conformance programs")


@pytest.fixture(scope="module")
def children() -> Iterator[list[StableHLO]]:
    """Two child processes, so that both of a small machine's processors have work."""
    pytest.importorskip("jaxlib")
    both = [StableHLO(), StableHLO()]
    yield both
    for child in both:
        child.stop()


def test_each_program_is_accepted() -> None:
    for program in PROGRAMS:
        nimblehlo.load(program)


def _results(text: str, inputs: Sequence[Array]) -> list[Array] | str:
    """The results, or why there are none."""
    try:
        return nimblehlo.execute(text, inputs, options=Options(compile="never"))
    except NimbleError as error:
        return str(error)


def disagreement(program: Path, size: int, stablehlo: StableHLO) -> str | None:
    """How the results for a size differ from StableHLO's; None if they do not, or both reject it."""
    text = program.read_text()
    inputs = inputs_of(text, size)
    called = called_with(text, inputs)
    got = _results(text, inputs)
    specialized = _results(called, ())
    try:
        static = stablehlo.refine(called)
    except Rejected as rejected:
        both_reject = isinstance(got, str) and isinstance(specialized, str)
        return None if both_reject else f"ran, but StableHLO says: {rejected}"
    if isinstance(got, str) or isinstance(specialized, str):
        return f"{got}; with its sizes as constants: {specialized}"
    if not all(map(same_bits, got, specialized)):
        return "other results with its sizes as constants"
    try:
        want = stablehlo.evaluate(static)
    except Aborted:
        want = run_xla(static)
    try:
        assert_close(got, want, ROUNDING)
    except AssertionError as difference:
        return str(difference)
    return None


@pytest.mark.parametrize("size", SIZES)
def test_results_are_those_of_stablehlo(size: int, children: list[StableHLO], is_campaign: bool) -> None:
    """Each program with one of the sizes, in a campaign with each of them."""
    programs = PROGRAMS if is_campaign else PROGRAMS[SIZES.index(size) :: len(SIZES)]

    def judge(part: int) -> list[str]:
        found = []
        for program in programs[part :: len(children)]:
            reason = disagreement(program, size, children[part])
            if reason is not None:
                found.append(f"{program.name}: {reason}")
        return found

    with ThreadPoolExecutor(len(children)) as threads:
        failures = [failure for part in threads.map(judge, range(len(children))) for failure in part]
    assert not failures, "\n".join(failures)
