"""`explore`: run a program under many schedules and report where and why results differ."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...api import load
from ...compiler.plan.tiering.background import BACKGROUND
from ...errors import NimbleError
from ...execution.memory import RECYCLING, Retention, run_with
from ...inspection.progress import Progress
from ...kernels.launch.free_memory import limits
from ...kernels.launch.garbage import gc_paused
from ...kernels.launch.threads import available_threads
from ...options import Options
from ...program.ir import UNKNOWN, source_line
from ...types import Array, TensorType, TupleType, Type
from .comparison import Comparison, ElementDifference, Extremes, Range, compare, difference_at
from .grouped import GroupedComparisons, GroupedResult, compare_grouped_results
from .report import Exploration, Failure, OperationReport, ResultReport
from .responsibility import (
    FAILURE,
    Call,
    LocalDifference,
    Recording,
    find_affected_results,
    find_local_differences,
    flatten_results,
    shrink,
)
from .runs import ExploredExecutable, Run
from .schedules import Schedule, draw_schedules

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


MIN_PARALLEL_SECONDS: Final = 1e-3
"""Minimum duration of a run in seconds for which runs use several threads."""

MEMORY_SHARE: Final = 0.5
"""The share of the available memory that concurrent runs may use."""

MAX_PENDING_PER_WORKER: Final = 2
"""Runs per worker that are in progress or wait to be compared, so that no worker idles."""

MAX_WITNESSES: Final = 6
"""Maximum number of schedules used to search for the responsible operations."""


def explore(
    module: object,
    inputs: Sequence[object] = (),
    *,
    schedules: int = 32,
    seed: int = 0,
    entry: str = "main",
    options: Options | None = None,
) -> Exploration:
    """Find the results that depend on an order which the specification does not define, and the reason.

    The program runs under several schedules. A schedule sets the order in which `scatter` applies its
    updates, and the tree by which `reduce`, `reduce_window` and `select_and_scatter` reduce. The first run is
    called the baseline run. Operations whose order cannot matter, such as sums of integers, are not varied.
    Source: specification, sections "scatter", "reduce", "reduce_window" and "select_and_scatter", which do
    not define these orders.

    Args:
        module: as for `load`.
        inputs: as for `execute`.
        schedules: the number of schedules, at least 2.
        seed: the seed of the schedules, at least 0; the first n schedules of a seed do not depend on their
            number.
        entry: the name of the function to run.
        options: the options of all runs; `scatter_schedule` and `reduction_tree` apply to the baseline run.
            Nothing is donated or sanitized.

    Returns:
        A report for each result, and one for each responsible operation.

    Raises:
        ValueError: `schedules` or `seed` is too small or not an integer.
        NimbleError: as by `execute`, in the baseline run. Failures of other runs are reported.
    """
    # Pause garbage collection first: importing modules has created many objects.
    explorer = _start_exploration(module, inputs, schedules, seed, entry, options)
    return explorer if isinstance(explorer, Exploration) else run_with(RECYCLING, _Explorer.finish, explorer)


@gc_paused
def _start_exploration(
    module: object, inputs: Sequence[object], schedules: int, seed: int, entry: str, options: Options | None
) -> _Explorer | Exploration:
    """An explorer after the baseline run, or the finished exploration if no more runs are needed."""
    if not isinstance(schedules, int) or schedules < 2:
        raise ValueError(f"schedules is {schedules!r}, but must be an integer from 2 on")
    if not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed is {seed!r}, but must be an integer from 0 on")

    def begin(_: None) -> _Explorer | Exploration:
        explorer = _Explorer(module, tuple(inputs), entry, options or Options())
        explorer.begin(schedules, seed)
        return explorer if explorer.has_runs else explorer.finish()

    # Background compilation would use a processor, and its code would be ready too late.
    with BACKGROUND.held():
        return run_with(RECYCLING, begin, None)


class _Explorer:
    """One exploration.

    Attributes:
        start: the time at which it began.
        seconds: the duration of the baseline run.
        schedules: the schedules to run; the first one is the baseline run's.
        results_seen: the differences and ranges of each result.
        failures: runs that failed.
        recorded_calls: the calls of explored steps in the baseline run; None if they take too much memory.
        grouped_results: results of the baseline run, as in `Run`.
        replayed: the result's differences under schedules for which only the explored step was repeated.
        is_probed: whether each run stores values of probes.
        workers: the number of concurrent runs.
    """

    def __init__(self, module: Any, inputs: tuple[Any, ...], entry: str, options: Options) -> None:
        self.start = time.perf_counter()
        options = dataclasses.replace(options, donate=(), sanitize=False)
        self.executable = ExploredExecutable(load(module), entry, options)
        self.inputs = self.executable.converted(inputs)
        self.base = Schedule(options.scatter_schedule, options.reduction_tree)
        self.schedules = [self.base]
        self.results_seen: list[_ResultDifferences] = []
        self.failures: list[Failure] = []
        self.recorded_calls: list[Call] | None = None
        self.grouped_results: dict[int, GroupedResult] = {}
        self.replayed: dict[Schedule, Extremes | None] = {}
        self.is_probed = options.probe_directory is not None
        self.workers = 1
        self.seconds = 0.0

    def begin(self, count: int, seed: int) -> None:
        """Run the program under the first one of `count` schedules, and repeat what need not be run."""
        start = time.perf_counter()
        recording = Recording(int(_available_memory_bytes() * MEMORY_SHARE) // 4)
        run = Run(self.base, observer=recording)
        results = self.executable.run(run, self.inputs)
        self.recorded_calls = recording.calls
        self.seconds = time.perf_counter() - start
        baseline, types = flatten_results(results), list(_types(self.executable.output_types))
        tensors = [
            (name, type.with_shape(array.shape), array)
            for (name, type), array in zip(types, baseline, strict=True)
            if isinstance(type, TensorType)
        ]
        self.tensor_positions = [
            number for number, (_, type) in enumerate(types) if isinstance(type, TensorType)
        ]
        self.results_seen = [_ResultDifferences(name, type, array) for name, type, array in tensors]
        self.grouped_results = {
            id(array): run.grouped_results[id(array)]
            for _, _, array in tensors
            if id(array) in run.grouped_results
        }
        self.schedules = draw_schedules(self.base, count, seed, self.executable.max_updates)
        self._compare_replays()

    @property
    def has_runs(self) -> bool:
        """Whether the program must be run under further schedules."""
        return bool(self.executable.steps) and any(
            schedule not in self.replayed for schedule in self.schedules[1:]
        )

    def finish(self) -> Exploration:
        """Run all schedules and return the exploration."""
        if self.executable.steps:
            self._run_all()
        operations, responsible = self.responsible()
        return Exploration(
            [result.report(responsible[number]) for number, result in enumerate(self.results_seen)],
            operations,
            len(self.executable.steps),
            self.executable.unexplored,
            self.schedules,
            self.failures,
            time.perf_counter() - self.start,
            self.workers,
        )

    def _run_all(self) -> None:
        """Run each schedule and add its differences to the results."""
        progress = Progress(len(self.schedules) - 1)
        for schedule, comparisons in self._all():
            if isinstance(comparisons, NimbleError):
                self.failures.append(Failure(schedule, str(comparisons)))
            else:
                for result, comparison in zip(self.results_seen, comparisons, strict=True):
                    if comparison is not None:
                        result.add(comparison, (self.base, schedule))
            progress.advance()
        progress.clear()

    def _all(self) -> Iterator[tuple[Schedule, Any]]:
        """The outcome of each schedule, in order."""
        others = self.schedules[1:]
        # Calls with probes must not overlap.
        is_parallel = self.has_runs and self.seconds > MIN_PARALLEL_SECONDS and not self.is_probed
        self.workers = self._max_workers() if is_parallel else 1
        # The memory in use at a time, including comparisons: later runs reuse what earlier ones free.
        self._retention = Retention(2 * MAX_PENDING_PER_WORKER * self.workers * self._needed())
        if self.workers == 1:
            yield from zip(others, map(self._compared, others), strict=True)
            return
        # Explorations without further runs need not wait for this import.
        from concurrent.futures import ThreadPoolExecutor

        compared = functools.partial(run_with, RECYCLING, self._compared)
        with ThreadPoolExecutor(self.workers) as pool:
            try:
                yield from zip(others, _map_in_order(pool, compared, others, self.workers), strict=True)
            finally:
                pool.shutdown(cancel_futures=True)

    def _max_workers(self) -> int:
        """The number of runs that fit in memory at the same time."""
        runs_in_memory = int(_available_memory_bytes() * MEMORY_SHARE) // max(
            MAX_PENDING_PER_WORKER * self._needed(), 1
        )
        return max(1, min(available_threads(), len(self.schedules) - 1, runs_in_memory))

    def _needed(self) -> int:
        """Bytes that a run and its results need."""
        memory = self.executable.memory()
        return memory.results + memory.temporaries

    def _compared(self, schedule: Schedule) -> Sequence[Extremes | None] | NimbleError:
        """The differences of each result from the baseline run under a schedule, or the reason why the run
        fails.
        """
        if schedule in self.replayed:
            return [
                self.replayed[schedule] if self._is_grouped_scatter(result) else None
                for result in self.results_seen
            ]
        run = Run(schedule)
        try:
            arrays = self._run(run)
        except NimbleError as error:
            return error
        return [
            self._difference(result, array, run.grouped_results.get(id(array)))
            for result, array in zip(self.results_seen, arrays, strict=True)
        ]

    def _difference(
        self, result: _ResultDifferences, array: Array, grouped: GroupedResult | None
    ) -> Comparison | None:
        """Compare a result with that of the baseline run, by groups of updates if both share them."""
        baseline = self.grouped_results.get(id(result.baseline))
        if baseline is not None and grouped is not None and baseline.groups is grouped.groups:
            return compare_grouped_results(baseline, grouped, result.type)
        return compare(result.baseline, array, result.type)

    def _compare_replays(self) -> None:
        """Replay the scatter alone under the schedules for which its updates are grouped, if the program only
        returns its result."""
        if (
            not (self.executable.only_returns and self.grouped_results and self.recorded_calls)
            or self.is_probed
        ):
            return
        (call,), (baseline,) = self.recorded_calls, self.grouped_results.values()
        schedules = [schedule for schedule in dict.fromkeys(self.schedules[1:]) if call.step.groups(schedule)]
        comparisons = call.step.compare(baseline, schedules)
        self.replayed = dict(zip(schedules, comparisons.extremes, strict=True))
        if any(extremes is not None for extremes in comparisons.extremes):
            for result in filter(self._is_grouped_scatter, self.results_seen):
                result.take(comparisons)

    def _is_grouped_scatter(self, result: _ResultDifferences) -> bool:
        """Whether a scatter that groups its updates computed a result."""
        return id(result.baseline) in self.grouped_results

    def _run(self, run: Run) -> list[Array]:
        results = flatten_results(self.executable.run(run, self.inputs))
        return [results[position] for position in self.tensor_positions]

    def responsible(self) -> tuple[list[OperationReport], list[tuple[int, ...]]]:
        """The operations that are responsible, and their numbers for each result."""
        changed = {number for number, result in enumerate(self.results_seen) if result.first is not None}
        if self.failures:
            changed.add(FAILURE)
        if not changed:
            return [], [() for _ in self.results_seen]
        schedules = [self.base, *self._witnesses()]
        local_differences = find_local_differences(
            self.executable, self.inputs, schedules, self.recorded_calls, self.grouped_results, self.replayed
        )
        # Few operations run alone under all of their schedules, many operations under two each.
        max_schedules = max(2, 2 * len(self.schedules) // max(1, len(local_differences)))
        affected = [
            self._affected_results(local, max_schedules, changed) if len(local_differences) > 1 else changed
            for local in local_differences
        ]
        # If no operation alone changes a result, all operations that differ are reported.
        together = changed - set().union(*affected)
        groups: dict[tuple[str, str], list[int]] = {}
        for number, local in enumerate(local_differences):
            if affected[number] or together:
                groups.setdefault(_operation_key(local), []).append(number)
        changes = [set().union(*[affected[number] for number in group]) for group in groups.values()]
        operations = [
            self._report([local_differences[number] for number in group], changed_alone)
            for group, changed_alone in zip(groups.values(), changes, strict=True)
        ]
        return operations, [
            tuple(
                [
                    operation_index
                    for operation_index, affected_alone in enumerate(changes)
                    if result in affected_alone or result in together
                ]
            )
            for result in range(len(self.results_seen))
        ]

    def _witnesses(self) -> list[Schedule]:
        """Schedules under which results differ, those of the reported differences first."""
        differences = [result.first for result in self.results_seen] + [
            result.largest for result in self.results_seen
        ]
        witnesses = [difference.schedules[1] for difference in differences if difference is not None]
        witnesses += [failure.schedule for failure in self.failures[:1]]
        return list(dict.fromkeys(witnesses))[:MAX_WITNESSES]

    def _affected_results(self, local: LocalDifference, max_schedules: int, changed: set[int]) -> set[int]:
        """The results that one operation changes by itself under at most `max_schedules` schedules."""
        baseline = [(result.baseline, result.type) for result in self.results_seen]
        return find_affected_results(self._run, local, local.schedules[:max_schedules], baseline, changed)

    def _report(self, locals: list[LocalDifference], affected_results: set[int]) -> OperationReport:
        """The report of an operation, which may occur several times in the specialized program."""
        local = locals[0]
        operation = local.step.view.operation
        module, inputs = shrink(local)
        return OperationReport(
            operation.name,
            str(operation.location),
            local.step.order_option,
            sum(difference.calls for difference in locals),
            local.result,
            local.first,
            local.largest,
            tuple([self.results_seen[number].name for number in sorted(affected_results - {FAILURE})]),
            FAILURE in affected_results,
            module,
            inputs,
            source_line(operation.location),
        )


class _ResultDifferences:
    """The differences of one result between schedules."""

    def __init__(self, name: str, type: TensorType, baseline: Array) -> None:
        self.name = name
        self.type = type
        self.baseline = baseline
        self.first: ElementDifference | None = None
        self.largest: ElementDifference | None = None
        self.schedules = 0
        self._first_element = baseline.size
        self._largest_distance = -1
        self._range = Range(baseline, type)

    def take(self, comparisons: GroupedComparisons) -> None:
        """Start with the value range over some schedules, whose differences are to be added too."""
        self._range.take(
            comparisons.order_dependent, comparisons.differs, comparisons.minimum, comparisons.maximum
        )

    def add(self, comparison: Extremes, schedules: tuple[Schedule, Schedule]) -> None:
        """Add the differences under one more schedule."""
        self.schedules += 1
        element = comparison.element(comparison.first)
        if element < self._first_element:
            self._first_element = element
            self.first = difference_at(comparison.first, comparison, self.type, schedules)
        if comparison.distance > self._largest_distance:
            self._largest_distance = comparison.distance
            self.largest = difference_at(comparison.largest, comparison, self.type, schedules)
        if isinstance(comparison, Comparison):
            self._range.add(comparison)

    def report(self, operations: tuple[int, ...]) -> ResultReport:
        return ResultReport(
            self.name,
            self.type,
            self.baseline,
            self.first,
            self.largest,
            self._range.elements,
            self.schedules,
            operations,
            self._range,
        )


def _operation_key(local: LocalDifference) -> tuple[str, str]:
    """A key that identifies an operation, even if calls are inlined and loops unrolled."""
    operation = local.step.view.operation
    number = f"#{local.step.number}" if operation.location == UNKNOWN else ""
    return operation.name, f"{operation.location}{number}"


def _map_in_order(
    pool: ThreadPoolExecutor, function: Callable[[Any], Any], items: Sequence[object], workers: int
) -> Iterator[Any]:
    """Yield the results of the function for the items, in order; only a few results are pending at a time."""
    max_pending = MAX_PENDING_PER_WORKER * workers
    pending = [pool.submit(function, item) for item in items[:max_pending]]
    for index in range(len(items)):
        result = pending.pop(0).result()
        if index + max_pending < len(items):
            pending.append(pool.submit(function, items[index + max_pending]))
        yield result


def _types(types: Sequence[Type], prefix: str = "") -> Iterator[tuple[str, Type]]:
    """Names and types of results, those in tuples too."""
    for number, type in enumerate(types):
        name = f"{prefix}{number}"
        if isinstance(type, TupleType):
            yield from _types(type.types, f"{name}.")
        else:
            yield name, type


def _available_memory_bytes() -> int:
    """The memory that is left; if unknown, an amount that admits two concurrent runs of any program."""
    return min([limit.left for limit in limits()], default=1 << 62)
