"""Compares the simulation of this machine's threads with calls on them, in rounds.

Other guests of the host change the speed of a virtual machine within seconds. So calls are recorded on one
thread and timed on all threads in turn, in rounds of some tens of milliseconds, and each round has a
difference of its own. Before, between and after the two halves of a round a short loop runs on all threads: a
round in which its time changed, or in which the system took a processor from this process, does not count.
What the simulation takes from the machine is measured at the begin, in the middle and at the end.
"""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nimblehlo.inspection.profiling.machine import Machine
from nimblehlo.inspection.profiling.measuring import sharing_figures
from nimblehlo.inspection.profiling.stored_machine import measured
from nimblehlo.inspection.profiling.thread_simulation import RecordedCall, Recorder, simulate
from nimblehlo.kernels.launch.threads import usable_processors
from nimblehlo.kernels.rates import rates

from .measuring import Action, seconds

MAX_SPEED_CHANGE = 0.05
"""Maximum relative difference between the times of the loop in a round that counts. The loop itself
repeats to 1 or 2 % on an idle machine."""
_LOOP_REPEATS, _LOOP_RUNS = 12_000, 4
"""Repetitions of the loop, some 30 us, and runs of which the fastest counts."""
_HALF_SECONDS, _MAX_CALLS = 0.01, 20
"""Seconds of calls in half of a round, and the most calls."""
_MIN_ROUNDS, _STEADY_ROUNDS, _CHECK_SECONDS = 8, 30, 20.0
"""Rounds at least, steady rounds that suffice, and seconds after which there are no more."""
_BATCHES = 2
"""Batches of rounds, between which the machine is measured."""


class Round(NamedTuple):
    """One round.

    Attributes:
        recorded: the calls on one thread that have the launches of the profiled one.
        timed: median seconds of a call on all threads.
        speeds: seconds of the loop before, between and after the halves; NaN: the threads did not run at the
            same time.
        interruptions: how often the system took a processor from this process.
    """

    recorded: list[RecordedCall]
    timed: float
    speeds: tuple[float, float, float]
    interruptions: int

    @property
    def is_steady(self) -> bool:
        """Whether the machine had the same speed in both halves."""
        if not self.recorded or self.interruptions or any(map(math.isnan, self.speeds)):
            return False
        return max(self.speeds) <= (1 + MAX_SPEED_CHANGE) * min(self.speeds)


class Check(NamedTuple):
    """Medians of the steady rounds; NaN if there were none.

    Attributes:
        alone: seconds of a call on one thread, as recorded.
        timed: seconds of a call on all threads of this machine.
        simulated: seconds that the simulation gives for them.
        difference: of `simulated` from `timed`, as a share of `timed`; the median of the rounds'.
        lower, upper: quartiles of the rounds' differences.
        steady, rejected: how many rounds counted, and how many did not.
    """

    alone: float
    timed: float
    simulated: float
    difference: float
    lower: float
    upper: float
    steady: int
    rejected: int


def checked(call: Action, profiled: Callable[[], Any]) -> Check:
    """Check the simulation of a program that is warm in this process.

    Args:
        call: makes a call on all threads of this machine.
        profiled: makes the profile of one call.

    Raises:
        RuntimeError: see `Recorder`.
    """
    machine = measured(usable_processors())
    threads = machine.measured_threads[-1]
    recorder = Recorder(call, profiled)
    rounds: list[Round] = []
    figures = [sharing_figures(threads, machine.cache_bytes)]
    for batch in range(1, _BATCHES + 1):
        rounds += _rounds(recorder, call, threads, batch)
        figures.append(sharing_figures(threads, machine.cache_bytes))
    return summary(rounds, with_medians(machine, figures))


def _rounds(recorder: Recorder, call: Action, threads: int, batch: int) -> list[Round]:
    """The rounds of one batch."""
    calls = max(1, min(_MAX_CALLS, int(_HALF_SECONDS / max(seconds(call), 1e-6))))
    rounds: list[Round] = []
    end = time.perf_counter() + _CHECK_SECONDS / _BATCHES
    while len(rounds) < _MIN_ROUNDS / _BATCHES or (
        sum(one.is_steady for one in rounds) < _STEADY_ROUNDS / _BATCHES and time.perf_counter() < end
    ):
        rounds.append(_round(recorder, call, threads, calls))
    return rounds


def _round(recorder: Recorder, call: Action, threads: int, calls: int) -> Round:
    """One round. The first call of each half is not measured: it moves data between the threads' caches."""
    interruptions = _interruptions()
    before = _loop_seconds(threads)
    recorder.calls(1)
    recorded = recorder.calls(calls)
    between = _loop_seconds(threads)
    call()
    timed = float(np.median([seconds(call) for _ in range(calls)]))
    after = _loop_seconds(threads)
    return Round(recorded, timed, (before, between, after), _interruptions() - interruptions)


def _interruptions() -> int:
    """How often the system has taken a processor from this process for another one."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def _loop_seconds(threads: int) -> float:
    """Seconds of a short loop of instructions on all threads at once; NaN if they never ran at once."""
    settings = {"width": rates.vector_bytes(), "repeats": _LOOP_REPEATS, "threads": threads}
    runs = [rates.seconds_of("instructions", "f32", **settings) for _ in range(_LOOP_RUNS)]
    return min([one for one in runs if not math.isnan(one)], default=math.nan)


def with_medians(machine: Machine, figures: Sequence[dict[str, float]]) -> Machine:
    """The machine with the medians of figures that were measured several times."""
    names = set.intersection(*map(set, figures))
    medians = {name: float(np.median([one[name] for one in figures])) for name in names}
    fields = {**machine.as_dict(), "figures": {**machine.figures, **medians}}
    return Machine.from_dict(fields)


def summary(rounds: Sequence[Round], machine: Machine) -> Check:
    """The medians of the steady ones of some rounds."""
    threads = machine.measured_threads[-1]
    steady = [one for one in rounds if one.is_steady]
    rows = []
    for one in steady:
        alone = float(np.median([call.seconds for call in one.recorded]))
        simulated = float(np.median([simulate(call, machine, threads)[0] for call in one.recorded]))
        rows.append((alone, one.timed, simulated, simulated / one.timed - 1))
    counts = len(steady), len(rounds) - len(steady)
    if not rows:
        return Check(*[math.nan] * 6, *counts)
    medians = np.median(rows, axis=0).tolist()
    return Check(*medians, *np.percentile([row[3] for row in rows], [25, 75]).tolist(), *counts)


def agreement(checks: Sequence[Check], threads: int) -> str:
    """How far the simulation of this machine's threads is from the times."""
    differences = [abs(one.difference) for one in checks if one.steady]
    total = sum(one.steady + one.rejected for one in checks)
    rejected = sum(one.rejected for one in checks)
    text = f"{rejected} of {total} rounds were rejected, as the machine's speed changed in them"
    if not differences:
        return f"no program had a steady round: {text}"
    within = sum(one <= 0.05 for one in differences)
    median = 100 * float(np.median(differences))
    return (
        f"{len(differences)} of {len(checks)} programs have steady rounds: the simulation of {threads} "
        f"threads differs from the time by {median:.1f} % in the median, by at most 5 % for {within}; {text}"
    )
