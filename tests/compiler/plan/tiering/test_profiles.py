"""When a call waits for the code of all steps of its program."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest

from nimblehlo.compiler import cost_model
from nimblehlo.compiler.plan.tiering import profiles
from nimblehlo.compiler.plan.tiering.background import BACKGROUND, Job
from nimblehlo.compiler.plan.tiering.profiles import ProfiledLoop, ProgramProfile, StepProfile

COMPILE_SECONDS = 0.1


class Step:
    """A step whose code takes COMPILE_SECONDS to compile, as its profile is told."""

    def __init__(self, seconds: float, is_nested: bool = False) -> None:
        self.profile = StepProfile()
        self.profile.seconds = seconds
        self.compile_seconds = COMPILE_SECONDS
        self.is_nested = is_nested
        self.is_timed_but_undecided = True
        self.is_superseded = False
        self.is_due = True
        self.begun = 0

    def begin(self) -> None:
        self.begun += 1
        self.profile.job = BACKGROUND.submit(Job(lambda: None, has_priority=True))


class Loop(ProfiledLoop):
    """A loop that has run by its plan, and for which there is no code."""

    def __init__(self, seconds: float, runs: int) -> None:
        super().__init__(COMPILE_SECONDS)
        self.profile.seconds = seconds
        self.runs = runs
        self.begun = 0

    def begin(self) -> None:
        self.begun += 1
        self.job = self.profile.job = BACKGROUND.submit(Job(lambda: None, has_priority=True))


def test_baselines_tell_what_code_is_expected_to_take_in_a_call() -> None:
    step = Step(0.9)
    assert step.profile.baseline_seconds_of_calls() == 0.9
    step.profile.program = ProgramProfile([step])
    step.profile.program.calls = 3
    assert step.profile.baseline_seconds_of_calls() == pytest.approx(0.3)


def considered(steps: Sequence[Step | Loop], runs: int = profiles._MIN_RUNS) -> list[bool]:
    """Which steps a call has compiled and waits for."""
    program = ProgramProfile(steps)
    program.seconds = sum(step.profile.seconds for step in steps)
    program.consider(runs)
    for step in steps:
        assert step.profile.job is None or step.profile.job.ended
    return [step.begun == 1 for step in steps]


@pytest.mark.parametrize(
    ("is_nested", "share"),
    [(False, cost_model.PROGRAM_WAIT), (True, cost_model.PROGRAM_WAIT_IN_REGIONS)],
)
@pytest.mark.parametrize("load_seconds", [0.0, COMPILE_SECONDS])
def test_a_call_waits_once_all_steps_together_have_taken_long(
    is_nested: bool, share: float, load_seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiles, "compiler_load_seconds", lambda: load_seconds)
    for factor, waits in ((0.99, False), (1.01, True)):
        # The compiler is loaded once for both.
        seconds = factor * share * (COMPILE_SECONDS + load_seconds / 2)
        assert considered([Step(seconds, is_nested), Step(seconds)]) == [waits, waits]


def test_no_call_waits_for_a_program_that_has_run_once_or_twice() -> None:
    for runs in range(5):
        assert considered([Step(1.0), Step(1.0)], runs) == [runs >= 3] * 2


def test_a_call_goes_on_without_code_that_takes_longer_than_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a busy machine. It waits again once the baselines have taken as long."""
    monkeypatch.setattr(profiles, "compiler_load_seconds", lambda: 0.0)
    gate = threading.Event()
    # Not for ever, so that the test fails where a call waits for it.
    job = BACKGROUND.submit(Job(lambda: gate.wait(10), has_priority=True))
    while job in BACKGROUND.waiting:
        time.sleep(1e-3)
    steps = [Step(1.0), Step(1.0)]
    for step in steps:
        step.profile.job = job
    program = ProgramProfile(steps)
    program.seconds = 2.0
    program.consider(profiles._MIN_RUNS)
    waited = profiles._PATIENCE * 2 * COMPILE_SECONDS
    assert not job.ended and program.next_look == pytest.approx(2.0 + waited)
    gate.set()
    BACKGROUND.wait()


def test_one_step_is_not_waited_for_with_itself() -> None:
    assert considered([Step(1.0)]) == [False]


def test_steps_of_little_time_are_left_out() -> None:
    rest = (1 - cost_model.PROGRAM_SHARE) * 0.9
    assert considered([Step(1.0), Step(rest), Step(1.0)]) == [True, False, True]


def test_a_loop_is_waited_for_in_place_of_its_steps() -> None:
    loop, steps = Loop(1.0, profiles._MIN_RUNS - 1), [Step(1.0, is_nested=True), Step(1.0, is_nested=True)]
    for step in steps:
        step.is_superseded = loop.replaces_regions
    assert considered([*steps, loop, Step(1.0)]) == [False, False, True, True]
    assert not loop.replaces_regions and not loop.is_timed_but_undecided


def test_a_loop_that_has_run_once_is_not_waited_for() -> None:
    assert considered([Loop(1.0, profiles._MIN_RUNS - 2), Step(1.0), Step(1.0)]) == [False, True, True]


def test_a_program_looks_at_its_steps_seldom() -> None:
    steps = [Step(1e-3), Step(1e-3)]
    program = ProgramProfile(steps)
    first = profiles._MIN_SHARE * (2 * COMPILE_SECONDS + cost_model.compiler_load_seconds())
    assert program.next_look == pytest.approx(first)
    program.seconds = first
    program.consider(3)
    assert program.next_look == pytest.approx(profiles._GROWTH * first)
    for step in steps:
        step.profile.seconds = 1.0
    program.consider(4)
    assert not any(step.begun for step in steps)


def test_what_is_due_begins_beside_what_the_caller_compiles() -> None:
    due, later, sharing, compiled = (Step(1.0) for _ in range(4))
    later.is_due = False
    sharing.profile = compiled.profile
    ProgramProfile([due, later, sharing, compiled]).begin_due(compiled.profile)
    assert [step.begun for step in (due, later, sharing, compiled)] == [1, 0, 0, 0]
    BACKGROUND.wait()


class ExpectedLoop(Loop):
    """A loop that is expected to run long."""

    is_expected_to_begin = True


def test_loops_that_are_expected_to_run_long_begin_with_another_one() -> None:
    expected, inner, short, step = ExpectedLoop(0.0, 0), ExpectedLoop(0.0, 0), Loop(0.0, 0), Step(1.0)
    inner.set_enclosing(expected)
    ProgramProfile([step, expected, inner, short]).begin_loops()
    assert [one.begun for one in (expected, inner, short, step)] == [1, 0, 0, 0]
    BACKGROUND.wait()
