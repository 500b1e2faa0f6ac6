"""Predicts how long a call takes on more threads than this machine has, from its tasks on one thread.

`record` runs a program's launches on one thread and notes how long each task takes. `simulate` shares the
tasks of each launch among threads as the pool does (`kernels/launch/task_pool.h`): consecutive ones for each
thread, which then takes what others have left. What lies between launches runs on one thread. The costs of
waking threads, of launches and tasks, and the bandwidth that the threads share are the machine's
(`machine.py`), beyond its own number of threads by the rules of `shared_bandwidth`.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from ...kernels.launch.native import record_launches, waking_limits
from ...kernels.named_tuples import NamedTuple
from .machine import Machine
from .profile import Profile

Result = TypeVar("Result")

_ATTEMPTS: Final = 40
"""How often a call is profiled at most."""
_MIX: Final = 0.5
"""The share of the reads in the bytes of a launch."""

SOCKET_THREADS: Final = 64
"""Processors that share one memory, in the simulation."""
SOCKET_BYTES_PER_SECOND: Final = 460e9
"""The bandwidth of one memory: 12 channels of DDR5-4800, as of servers with Zen 4 or Zen 5."""
AWAKE_SECONDS: Final = 5e-5
"""Threads poll for so long after a launch, then they sleep (POOL_SPINS of task_pool.h)."""
LONG_SECONDS, SOON_SECONDS = waking_limits()
"""Longer launches always wake threads; shorter ones do if they follow so soon on others."""


class RecordedLaunch(NamedTuple):
    """A launch of a call, recorded on one thread.

    Attributes:
        step: the path of its step in the plan; empty: unknown.
        operation: that step's operation.
        before: seconds from the end of the launch before it, or from the call's begin.
        threads: the number of threads that it may use.
        in_order: whether tasks begin in order.
        estimate: seconds on one thread that the plan expected.
        tasks: seconds of each task.
        bytes: bytes that it moves, at least.
    """

    step: str
    operation: str
    before: float
    threads: int
    in_order: bool
    estimate: float
    tasks: tuple[float, ...]
    bytes: float

    @property
    def seconds(self) -> float:
        """Seconds of all tasks on one thread."""
        return sum(self.tasks)


class RecordedCall(NamedTuple):
    """A call, recorded on one thread.

    Attributes:
        launches: in order.
        after: seconds after the last launch.
    """

    launches: tuple[RecordedLaunch, ...]
    after: float

    @property
    def serial_seconds(self) -> float:
        """Seconds outside of launches, or in launches for one thread."""
        alone = sum([one.seconds for one in self.launches if not is_shared(one)])
        return self.after + sum([one.before for one in self.launches]) + alone

    @property
    def seconds(self) -> float:
        """Seconds on one thread."""
        return self.after + sum([one.before + one.seconds for one in self.launches])


def is_shared(launch: RecordedLaunch) -> bool:
    """Whether several threads may run a launch."""
    return launch.threads > 1 and len(launch.tasks) > 1


Noted = tuple[int, int, bool, float, Any]
"""A launch, as `record_launches` notes it."""


class Recorder:
    """Records calls of a program on one thread.

    Calls are not profiled while they are recorded: noting the time of each step would lengthen them. One
    profiled call tells the step of each launch.

    Args:
        run: makes a call.
        profiled: makes the profile of one call with the same inputs; of another one if the next call has
            other launches, for instance because code was compiled meanwhile.

    Raises:
        RuntimeError: the call after the profiled one had other launches, each time.
    """

    def __init__(self, run: Callable[[], object], profiled: Callable[[], Profile]) -> None:
        self._run = run
        for _ in range(_ATTEMPTS):
            noted: list[Noted] = []
            profile = _noting(noted, profiled)
            launches = _within(noted, profile.call_starts[0], profile.call_seconds[0])
            self._shape = _shape(launches)
            self._described = _described(profile, launches)
            if self.calls(1):
                return
        raise RuntimeError("the launches of the recorded calls differ from those of the profiled one")

    def calls(self, count: int) -> list[RecordedCall]:
        """Make so many calls, one after the other.

        Returns:
            those with the launches of the profiled call; others are left out.
        """
        noted: list[Noted] = []
        spans = _noting(noted, lambda: [_timed(self._run) for _ in range(count)])
        recorded = [(start, seconds, _within(noted, start, seconds)) for start, seconds in spans]
        return [self._call(*one) for one in recorded if _shape(one[2]) == self._shape]

    def _call(self, start: float, seconds: float, noted: list[Noted]) -> RecordedCall:
        *befores, after = _between(start, seconds, noted)
        launches = [
            one._replace(before=before, tasks=tuple((durations * 1e-9).tolist()))
            for one, before, (*_, durations) in zip(self._described, befores, noted, strict=True)
        ]
        return RecordedCall(tuple(launches), after)


def record(run: Callable[[], object], profiled: Callable[[], Profile], calls: int) -> RecordedCall:
    """Record calls, one after the other: of all calls the least time of each task, and of what lies between
    launches.

    Args:
        run, profiled: see `Recorder`.
        calls: how many, besides the one that `Recorder` makes; those that have other launches than the
            profiled one do not count.

    Raises:
        RuntimeError: see `Recorder`; or no other call had these launches.
    """
    recorded = Recorder(run, profiled).calls(calls)
    if not recorded:
        raise RuntimeError("the launches of the recorded calls differ from those of the profiled one")
    return _least(recorded)


def _least(calls: Sequence[RecordedCall]) -> RecordedCall:
    """The least of each time of calls with the same launches."""
    launches = [
        one[0]._replace(
            before=min([launch.before for launch in one]),
            tasks=tuple(np.min([launch.tasks for launch in one], axis=0).tolist()),
        )
        for one in zip(*[call.launches for call in calls], strict=True)
    ]
    return RecordedCall(tuple(launches), min([call.after for call in calls]))


def _noting(noted: list[Noted], action: Callable[[], Result]) -> Result:
    """Run something while launches are noted in a list."""
    record_launches(noted)
    try:
        return action()
    finally:
        record_launches(None)


def _timed(run: Callable[[], object]) -> tuple[float, float]:
    """When a call began, and its seconds."""
    start = time.perf_counter()
    run()
    return start, time.perf_counter() - start


def _within(noted: Sequence[Noted], start: float, seconds: float) -> list[Noted]:
    """The launches of a call."""
    return [one for one in noted if start <= one[0] * 1e-9 <= start + seconds]


def _shape(launches: Sequence[Noted]) -> list[int]:
    return [len(durations) for *_, durations in launches]


def _between(start: float, seconds: float, launches: Sequence[Noted]) -> list[float]:
    """Seconds before each launch of a call, and after the last one."""
    now, between = start, []
    for begin, *_, durations in launches:
        between.append(max(0.0, begin * 1e-9 - now))
        now = (begin + float(durations.sum())) * 1e-9
    return [*between, max(0.0, start + seconds - now)]


def _described(profile: Profile, launches: Sequence[Noted]) -> list[RecordedLaunch]:
    """The launches of the profiled call, with their steps."""
    steps = [_step_at(profile, one[0] * 1e-9) for one in launches]
    totals: dict[int, float] = {}
    for step, (*_, durations) in zip(steps, launches, strict=True):
        totals[step] = totals.get(step, 0.0) + float(durations.sum())
    described = []
    for step, (_, threads, in_order, estimate, durations) in zip(steps, launches, strict=True):
        figures = profile.steps[profile.step_numbers[step]] if step >= 0 else None
        share = float(durations.sum()) / max(totals[step], 1.0)
        described.append(
            RecordedLaunch(
                figures.path if figures else "",
                figures.operation if figures else "",
                0.0,
                threads,
                in_order,
                estimate,
                tuple((durations * 1e-9).tolist()),
                figures.bytes * share if figures else 0.0,
            )
        )
    return described


def _step_at(profile: Profile, time: float) -> int:
    """The run of a step during which a time lies, the innermost one; -1 if there is none."""
    starts, seconds = profile.step_times[:, 0], profile.step_times[:, 1]
    inside = np.flatnonzero((starts <= time) & (time <= starts + seconds))
    return int(inside[np.argmin(seconds[inside])]) if inside.size else -1


def shared_bandwidth(machine: Machine, size: float, threads: int) -> float:
    """Bytes a second at which some threads move so many bytes together.

    Up to the machine's own number of threads it is what was measured. More threads add what each of these
    moves, up to the bandwidth of the memories for what no cache holds: `SOCKET_THREADS` have a cache of the
    third level for each group of the machine's own, and share one memory.
    """
    measured_threads = min(threads, machine.measured_threads[-1])
    groups = threads / measured_threads
    rate = (
        size / machine.moving_seconds(_MIX * size, (1 - _MIX) * size, measured_threads) * groups
        if size
        else float("inf")
    )
    caches = groups * (sum(machine.cache_bytes[:2]) * measured_threads + machine.cache_bytes[2])
    if size <= caches or threads == measured_threads:
        return rate
    memories = -(-threads // SOCKET_THREADS)
    return min(rate, memories * SOCKET_BYTES_PER_SECOND * size / (size - caches))


class SimulatedLaunch(NamedTuple):
    """A launch on some threads.

    Attributes:
        seconds: from its begin to its end.
        by_tasks: seconds that the tasks take, were memory as fast as for one thread.
        by_memory: seconds that its bytes take at the bandwidth that the threads share.
        is_parallel: whether other threads than the caller ran tasks.
        woken: whether they had to be woken.
    """

    seconds: float
    by_tasks: float
    by_memory: float
    is_parallel: bool
    woken: bool


def simulate(call: RecordedCall, machine: Machine, threads: int) -> tuple[float, list[SimulatedLaunch]]:
    """Seconds of a call on some threads, and its launches.

    The call is one of many: threads may still poll for work since the call before it.
    """
    idle = float("inf")
    for _ in range(2):
        total, launches = call.after, []
        for launch in call.launches:
            idle += launch.before
            simulated = _simulated(launch, machine, threads, idle)
            idle = 0.0 if simulated.is_parallel else idle + simulated.seconds
            total += launch.before + simulated.seconds
            launches.append(simulated)
        idle += call.after
    return total, launches


def _simulated(launch: RecordedLaunch, machine: Machine, threads: int, idle: float) -> SimulatedLaunch:
    """A launch that begins when threads have been idle for so long."""
    count = min(threads, len(launch.tasks))
    if not is_shared(launch) or count < 2:
        return SimulatedLaunch(launch.seconds, launch.seconds, 0.0, False, False)
    max_threads = machine.measured_threads[-1]
    join = machine.rate("seconds launch", max_threads)
    is_asleep = idle > AWAKE_SECONDS
    wakes = launch.estimate > LONG_SECONDS or idle < SOON_SECONDS
    if is_asleep and not wakes:
        return SimulatedLaunch(launch.seconds, launch.seconds, 0.0, False, False)
    delay = machine.rate("seconds wake", max_threads) if is_asleep else join
    by_tasks = join + makespan(
        launch.tasks,
        [0.0] + [delay] * (count - 1),
        machine.rate("seconds task", 1),
        machine.rate("seconds steal", max_threads),
        in_order=launch.in_order,
    )
    by_memory = launch.bytes / shared_bandwidth(machine, launch.bytes, count)
    return SimulatedLaunch(max(by_tasks, by_memory), by_tasks, by_memory, True, is_asleep)


def makespan(
    tasks: Sequence[float],
    begins: Sequence[float],
    task_seconds: float,
    steal_seconds: float,
    *,
    in_order: bool,
) -> float:
    """Seconds until all tasks have ended, as the pool shares them.

    Args:
        tasks: seconds of each task.
        begins: for each thread when it begins; the first is the caller, which begins with task 0.
        task_seconds: what it costs to begin a task of one's own share.
        steal_seconds: what it costs to begin one of another's share, or of a share that all have.
        in_order: whether all tasks are one share.
    """
    count, total = len(begins), len(tasks)
    shares = 1 if in_order else count
    nexts = [total * number // shares if number else 1 for number in range(shares)]
    ends = [total * (number + 1) // shares for number in range(shares)]
    ready = [(begin + (tasks[0] if number == 0 else 0.0), number) for number, begin in enumerate(begins)]
    heapq.heapify(ready)
    last = tasks[0] + begins[0]
    while ready:
        now, thread = heapq.heappop(ready)
        for distance in range(shares):
            share = (thread + distance) % shares
            if nexts[share] < ends[share]:
                cost = task_seconds if distance == 0 and shares > 1 else steal_seconds
                now += cost + tasks[nexts[share]]
                nexts[share] += 1
                last = max(last, now)
                heapq.heappush(ready, (now, thread))
                break
    return last
