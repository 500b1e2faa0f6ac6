"""The time that steps have taken, by which a call waits for the code of all steps of its program together.

A program of thousands of operations has dozens of steps whose code waits to be compiled, and no single step
has taken long. While its calls go on, they and the compilers share the processors, and both take longer. So a
call waits once the steps together have taken long enough, as for the code of one step (`tiers`). It never
waits for steps that have run once or twice: their program may not be called again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from ...cost_model import PROGRAM_SHARE, PROGRAM_WAIT, PROGRAM_WAIT_IN_REGIONS, compiler_load_seconds
from ...implementation import Implementation, Replaceable
from .background import BACKGROUND, Job, optimize_quick_code

_MIN_RUNS = 3
"""Runs of a step from which on its program is likely to be called again."""
_MIN_SHARE = 0.02
"""The time in baselines, as a multiple of all compile times, before which no call looks at all steps."""
_GROWTH = 1.25
"""By how much the time in baselines grows between two looks at all steps."""

_PATIENCE = 5.0
"""For how long a call waits for the code of all steps, as a multiple of the expected time."""


class StepProfile:
    """The time that the steps of a program which share native code have taken, and are expected to take.

    Attributes:
        seconds: spent in their baselines so far.
        expected: of one call of the baseline of each step.
        job: compiles their code in the background.
        seconds_of_calls: that they take in a call of the program with code that is not optimized yet; 0.0
            before that has been timed.
        program: the profile of their program; None: they have none.
    """

    __slots__ = ("expected", "job", "program", "seconds", "seconds_of_calls")

    def __init__(self, expected: float = 0.0) -> None:
        self.seconds = 0.0
        self.expected = expected
        self.job: Job | None = None
        self.seconds_of_calls = 0.0
        self.program: ProgramProfile | None = None

    def optimize(self, share_of: Callable[[str], float] | None = None) -> None:
        """Have the code that this thread has prepared for them optimized, if it is not.

        Args:
            share_of: see `optimize_quick_code`.
        """
        optimize_quick_code(lambda: self.seconds_of_calls, self.baseline_seconds_of_calls, share_of)

    def baseline_seconds_of_calls(self) -> float:
        """The time of the baselines in a call of the program, about."""
        return self.seconds / (1 if self.program is None else self.program.calls)


class ProfiledStep(Protocol):
    """What a program's profile asks of a step (`tiers.Tiering`, or a native loop).

    Attributes:
        is_nested: whether the time is that of steps within regions.
        enclosing: the implementations within whose regions the step runs.
        baseline_seconds: that one run of its baseline is expected to take.
    """

    profile: StepProfile
    is_nested: bool
    enclosing: list[Implementation]
    baseline_seconds: float

    @property
    def compile_seconds(self) -> float:
        """Expected until the code is there, in seconds, once the compiler is loaded."""

    @property
    def is_timed_but_undecided(self) -> bool: ...

    @property
    def is_superseded(self) -> bool:
        """Whether the code of a loop around the step will replace it."""

    @property
    def is_due(self) -> bool:
        """Whether the step has taken so long that its code should be compiled in the background."""

    def begin(self) -> None: ...


class ProfiledLoop(Replaceable):
    """A loop that runs the plans of its regions until there is native code of all of it.

    Args:
        compile_seconds: see `ProfiledStep`.

    Attributes:
        program: the profile of the program.
        runs: how often the loop has run by the plans to its end.
    """

    is_nested = True
    baseline_seconds = 0.0

    def __init__(self, compile_seconds: float) -> None:
        super().__init__()
        self.compile_seconds = compile_seconds
        self.profile = StepProfile()
        self.job: Job | None = None
        self.runs = 0
        self.enclosing: list[Implementation] = []
        self.program: ProgramProfile | None = None

    def set_enclosing(self, enclosing: Implementation) -> None:
        self.enclosing.append(enclosing)

    @property
    def replaces_regions(self) -> bool:
        return self.native is not None or self.job is None or not self.job.ended

    @property
    def is_superseded(self) -> bool:
        """See `ProfiledStep`."""
        return any(one.replaces_regions for one in self.enclosing)

    @property
    def is_timed_but_undecided(self) -> bool:
        """Whether the loop has run by its plan, is likely to run again, and compiling it has not ended."""
        has_ended = self.job is not None and self.job.ended
        return self.runs + 1 >= _MIN_RUNS and self.native is None and not has_ended

    @property
    def is_due(self) -> bool:
        """No: the loop begins by itself, with each run."""
        return False

    @property
    def is_expected_to_begin(self) -> bool:
        """Whether one run of the loop is expected to take so long that it begins to compile."""
        return False

    def begin(self) -> None:
        """Begin to compile in the background."""
        raise NotImplementedError


class ProgramProfile:
    """The time that the baselines of a program's steps have taken.

    Args:
        steps: those that native code may replace.

    Attributes:
        seconds: of all baselines so far.
        next_look: the value of `seconds` at which a call looks at all steps again.
        calls: of the program, about: the most runs of a step outside of regions.
    """

    __slots__ = ("calls", "next_look", "seconds", "steps")

    def __init__(self, steps: Sequence[ProfiledStep]) -> None:
        self.steps = steps
        self.seconds, self.calls = 0.0, 1
        estimates = [step.compile_seconds for step in self.steps if not step.is_superseded]
        self.next_look = _MIN_SHARE * _seconds_of_all(estimates) if len(estimates) > 1 else math.inf

    def consider(self, runs: int) -> None:
        """Wait for the code of the steps that are not decided yet, if they have taken long enough.

        Args:
            runs: of the step that is run next.
        """
        if runs < _MIN_RUNS or self.seconds < self.next_look:
            return
        self.next_look = _GROWTH * self.seconds
        profiles = self._hottest()
        spent = sum(profile.seconds for profile in profiles)
        remaining = _seconds_of_all([step.compile_seconds for step in profiles.values()])
        is_nested = any(step.is_nested for step in profiles.values())
        if len(profiles) < 2 or spent < (PROGRAM_WAIT_IN_REGIONS if is_nested else PROGRAM_WAIT) * remaining:
            return
        for profile, step in profiles.items():
            if profile.job is None:
                step.begin()
        jobs = [profile.job for profile in profiles if profile.job is not None]
        BACKGROUND.wait_for(jobs, _PATIENCE * remaining)
        if not all(job.ended for job in jobs):
            # On a busy machine: it waits again once the baselines have taken as long.
            self.next_look = self.seconds + _PATIENCE * remaining

    def expected_seconds_within(self, enclosing: Implementation) -> float:
        """The time that the baselines in the regions of an implementation are expected to take, once each."""
        return sum([step.baseline_seconds for step in self.steps if enclosing in step.enclosing])

    def begin_due(self, begun: StepProfile) -> None:
        """Begin to compile the code that is due, for which later steps of a call would wait, too.

        Args:
            begun: of the step whose code the caller compiles.
        """
        for step in self.steps:
            if step.profile is not begun and step.profile.job is None and step.is_due:
                step.begin()

    def begin_loops(self) -> None:
        """Begin to compile the loops that are expected to begin, which the call may reach next."""
        for step in self.steps:
            is_expected = isinstance(step, ProfiledLoop) and step.is_expected_to_begin
            if is_expected and step.profile.job is None and not step.is_superseded:
                step.begin()

    def _hottest(self) -> dict[StepProfile, ProfiledStep]:
        """The undecided steps for which a call would wait, by their profiles: those with the most time for
        their compile time, which together have nearly all of the time."""
        undecided = {
            step.profile: step
            for step in self.steps
            if step.is_timed_but_undecided and not step.is_superseded
        }
        descending = sorted(
            undecided.items(), key=lambda item: item[0].seconds / item[1].compile_seconds, reverse=True
        )
        left = PROGRAM_SHARE * sum(profile.seconds for profile in undecided)
        hottest = {}
        for profile, step in descending:
            if left <= 0.0:
                break
            left -= profile.seconds
            hottest[profile] = step
        return hottest


def _seconds_of_all(compile_seconds: Sequence[float]) -> float:
    """Expected until the code of steps is there: the compiler is loaded once for all of them."""
    return sum(compile_seconds) + compiler_load_seconds()
