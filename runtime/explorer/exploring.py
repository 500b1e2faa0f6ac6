"""`explore`: the runs, and what is made of them."""

from __future__ import annotations

import dataclasses
import functools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..api import load
from ..errors import NimbleError
from ..garbage import gc_paused
from ..ir import UNKNOWN
from ..memory import RECYCLING, Retention, run_with
from ..options import Options
from ..plan.tiering.background import BACKGROUND
from ..progress import Progress
from ..types import TensorType, TupleType, Type
from .differences import Comparison, Difference, Extremes, Range, compare, difference_at
from .exploration import Exploration, Failure, OperationReport, ResultReport
from .grouped import GroupedComparisons, Made, compare_made
from .responsibility import FAILURE, Call, Local, Recording, find_local, find_reached, leaves, shrink
from .runs import ExploredExecutable, Run
from .schedules import Schedule, draw_schedules

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Array = np.ndarray[Any, Any]

LEAST_PARALLEL_SECONDS: Final = 1e-3
"""How long a run takes that is worth a thread."""

MEMORY_SHARE: Final = 0.5
"""The share of the free memory that runs at the same time may take."""

WAITING: Final = 2
"""Runs a worker that are under way or wait to be compared: workers do not wait then."""

MOST_WITNESSES: Final = 6
"""Schedules under which the operations that are responsible are looked for."""


def explore(
    module: object,
    inputs: Sequence[Any] = (),
    *,
    schedules: int = 32,
    seed: int = 0,
    entry: str = "main",
    options: Options | None = None,
) -> Exploration:
    """Find out which results depend on the order that the specification leaves open, and why.

    The program is run under as many schedules: orders in which `scatter` applies its updates, and trees by
    which `reduce`, `reduce_window` and `select_and_scatter` fold. The plain run is the first one. Operations
    whose order cannot matter, such as sums of integers, are not varied. Source: specification, sections
    "scatter", "reduce", "reduce_window" and "select_and_scatter", which leave these orders open.

    Args:
        module: what `load` takes.
        inputs: what `execute` takes.
        schedules: how many, from 2 on.
        seed: of the schedules, from 0 on; the first n schedules of a seed are the same whatever their number.
        entry: name of the function to run.
        options: how it is run; `scatter_schedule` and `reduction_tree` are those of the plain run. Nothing
            is donated or sanitized.

    Returns:
        A report for each result, and one for each operation that is responsible.

    Raises:
        ValueError: `schedules` or `seed` is none of these.
        NimbleError: what `execute` raises in the plain run. That another run fails is part of what is found.
    """
    # The first thing of all: what was imported before has made many objects.
    begun = _begun(module, inputs, schedules, seed, entry, options)
    return begun if isinstance(begun, Exploration) else run_with(RECYCLING, _Explorer.found, begun)


@gc_paused
def _begun(
    module: object, inputs: Sequence[Any], schedules: int, seed: int, entry: str, options: Options | None
) -> _Explorer | Exploration:
    """An exploration after the plain run; what it finds where it takes no more runs."""
    if not isinstance(schedules, int) or schedules < 2:
        raise ValueError(f"schedules is {schedules!r}, but must be an integer from 2 on")
    if not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed is {seed!r}, but must be an integer from 0 on")

    def begin(_: None) -> _Explorer | Exploration:
        explorer = _Explorer(module, tuple(inputs), entry, options or Options())
        explorer.begin(schedules, seed)
        return explorer if explorer.has_runs else explorer.found()

    # What is compiled beside takes a processor, and makes nothing that is needed as soon.
    with BACKGROUND.held():
        return run_with(RECYCLING, begin, None)


class _Explorer:
    """One exploration.

    Attributes:
        start: when it began.
        seconds: how long the plain run took.
        schedules: those to run, the first one being the plain run's.
        spreads: what is known of each result.
        failures: runs that failed.
        recorded: the calls of explored steps in the plain run; None where that would take much memory.
        made: what is known of results of the plain run, as in `Run`.
        alone: how the result differs under schedules under which the explored step alone was repeated.
        is_probed: whether each run writes what it is asked to observe.
        workers: how many runs there are at a time.
    """

    def __init__(self, module: Any, inputs: tuple[Any, ...], entry: str, options: Options) -> None:
        self.start = time.perf_counter()
        options = dataclasses.replace(options, donate=(), sanitize=False)
        self.executable = ExploredExecutable(load(module), entry, options)
        self.inputs = self.executable.converted(inputs)
        self.base = Schedule(options.scatter_schedule, options.reduction_tree)
        self.schedules = [self.base]
        self.spreads: list[_Spread] = []
        self.failures: list[Failure] = []
        self.recorded: list[Call] | None = None
        self.made: dict[int, Made] = {}
        self.alone: dict[Schedule, Extremes | None] = {}
        self.is_probed = options.probe_directory is not None
        self.workers = 1
        self.seconds = 0.0

    def begin(self, count: int, seed: int) -> None:
        """Run the program under the first one of `count` schedules, and repeat what need not be run."""
        start = time.perf_counter()
        recording = Recording(int(_free_bytes() * MEMORY_SHARE) // 4)
        run = Run(self.base, observer=recording)
        results = self.executable.run(run, self.inputs)
        self.recorded = recording.calls
        self.seconds = time.perf_counter() - start
        plain, types = leaves(results), list(_types(self.executable.output_types))
        tensors = [
            (name, type.with_shape(array.shape), array)
            for (name, type), array in zip(types, plain, strict=True)
            if isinstance(type, TensorType)
        ]
        self.places = [number for number, (_, type) in enumerate(types) if isinstance(type, TensorType)]
        self.spreads = [_Spread(name, type, array) for name, type, array in tensors]
        self.made = {id(array): run.made[id(array)] for _, _, array in tensors if id(array) in run.made}
        self.schedules = draw_schedules(self.base, count, seed, self.executable.most_updates)
        self._repeat_alone()

    @property
    def has_runs(self) -> bool:
        """Whether the program has to be run under other schedules."""
        return bool(self.executable.steps) and any(one not in self.alone for one in self.schedules[1:])

    def found(self) -> Exploration:
        """What is found, once all schedules have had their runs."""
        if self.executable.steps:
            self._run_all()
        operations, responsible = self.responsible()
        return Exploration(
            [one.report(responsible[number]) for number, one in enumerate(self.spreads)],
            operations,
            len(self.executable.steps),
            self.executable.unexplored,
            self.schedules,
            self.failures,
            time.perf_counter() - self.start,
            self.workers,
        )

    def _run_all(self) -> None:
        """Take in what each schedule gives."""
        progress = Progress(len(self.schedules) - 1)
        for schedule, found in self._all():
            if isinstance(found, NimbleError):
                self.failures.append(Failure(schedule, str(found)))
            else:
                for spread, comparison in zip(self.spreads, found, strict=True):
                    if comparison is not None:
                        spread.add(comparison, (self.base, schedule))
            progress.advance()
        progress.clear()

    def _all(self) -> Iterator[tuple[Schedule, Any]]:
        """What each schedule gives, in their order."""
        others = self.schedules[1:]
        # Calls that probe must not overlap.
        is_parallel = self.has_runs and self.seconds > LEAST_PARALLEL_SECONDS and not self.is_probed
        self.workers = self._most_workers() if is_parallel else 1
        # So much is held at a time, comparisons included: what one run frees the next ones take.
        self._retention = Retention(2 * WAITING * self.workers * self._needed())
        if self.workers == 1:
            yield from zip(others, map(self._compared, others), strict=True)
            return
        # Explorations that take no more runs need not wait for its import.
        from concurrent.futures import ThreadPoolExecutor

        compared = functools.partial(run_with, RECYCLING, self._compared)
        with ThreadPoolExecutor(self.workers) as pool:
            try:
                yield from zip(others, _in_turn(pool, compared, others, self.workers), strict=True)
            finally:
                pool.shutdown(cancel_futures=True)

    def _most_workers(self) -> int:
        """How many runs the memory has room for at the same time."""
        room = int(_free_bytes() * MEMORY_SHARE) // max(WAITING * self._needed(), 1)
        return max(1, min(os.cpu_count() or 1, len(self.schedules) - 1, room))

    def _needed(self) -> int:
        """How many bytes a run and its results take."""
        memory = self.executable.memory()
        return memory.results + memory.temporaries

    def _compared(self, schedule: Schedule) -> Sequence[Extremes | None] | NimbleError:
        """What differs from the plain run under a schedule, for each result; or why the run fails."""
        if schedule in self.alone:
            return [self.alone[schedule] if self._is_made(spread) else None for spread in self.spreads]
        run = Run(schedule)
        try:
            arrays = self._run(run)
        except NimbleError as error:
            return error
        return [
            self._difference(spread, array, run.made.get(id(array)))
            for spread, array in zip(self.spreads, arrays, strict=True)
        ]

    def _difference(self, spread: _Spread, array: Array, made: Made | None) -> Comparison | None:
        """How a result differs from that of the plain run, given what is known of it."""
        plain = self.made.get(id(spread.plain))
        if plain is not None and made is not None and plain.groups is made.groups:
            return compare_made(plain, made, spread.type)
        return compare(spread.plain, array, spread.type)

    def _repeat_alone(self) -> None:
        """Repeat the explored step alone under schedules that it groups its updates under, where the program
        does nothing else with it."""
        if not (self.executable.only_returns and self.made and self.recorded) or self.is_probed:
            return
        (call,), (plain,) = self.recorded, self.made.values()
        schedules = [schedule for schedule in dict.fromkeys(self.schedules[1:]) if call.step.groups(schedule)]
        found = call.step.compare(plain, schedules)
        self.alone = dict(zip(schedules, found.extremes, strict=True))
        if any(extremes is not None for extremes in found.extremes):
            for spread in filter(self._is_made, self.spreads):
                spread.take(found)

    def _is_made(self, spread: _Spread) -> bool:
        """Whether a result is that of a scatter which groups its updates."""
        return id(spread.plain) in self.made

    def _run(self, run: Run) -> list[Array]:
        results = leaves(self.executable.run(run, self.inputs))
        return [results[place] for place in self.places]

    def responsible(self) -> tuple[list[OperationReport], list[tuple[int, ...]]]:
        """The operations that are responsible, and their numbers for each result."""
        changed = {number for number, spread in enumerate(self.spreads) if spread.first is not None}
        if self.failures:
            changed.add(FAILURE)
        if not changed:
            return [], [() for _ in self.spreads]
        schedules = [self.base, *self._witnesses()]
        found = find_local(self.executable, self.inputs, schedules, self.recorded, self.made, self.alone)
        # Few operations are run alone under all of their schedules, many of them under two each.
        most = max(2, 2 * len(self.schedules) // max(1, len(found)))
        reached = [self._reached(local, most, changed) if len(found) > 1 else changed for local in found]
        # What no operation changes alone takes several of them: all that differ are named.
        together = changed - set().union(*reached)
        groups: dict[tuple[str, str], list[int]] = {}
        for number, local in enumerate(found):
            if reached[number] or together:
                groups.setdefault(_place_of(local), []).append(number)
        changes = [set().union(*[reached[number] for number in group]) for group in groups.values()]
        operations = [
            self._report([found[number] for number in group], changed_alone)
            for group, changed_alone in zip(groups.values(), changes, strict=True)
        ]
        return operations, [
            tuple([place for place, alone in enumerate(changes) if result in alone or result in together])
            for result in range(len(self.spreads))
        ]

    def _witnesses(self) -> list[Schedule]:
        """Schedules under which results differ: those that are reported first, then others."""
        differences = [spread.first for spread in self.spreads] + [spread.greatest for spread in self.spreads]
        named = [one.schedules[1] for one in differences if one is not None]
        named += [failure.schedule for failure in self.failures[:1]]
        return list(dict.fromkeys(named))[:MOST_WITNESSES]

    def _reached(self, local: Local, most: int, changed: set[int]) -> set[int]:
        """The results that one operation changes by itself, under so many schedules at most."""
        plain = [(spread.plain, spread.type) for spread in self.spreads]
        return find_reached(self._run, local, local.schedules[:most], plain, changed)

    def _report(self, locals: list[Local], reached: set[int]) -> OperationReport:
        """The report of an operation, which may stand in several places of the program that runs."""
        local = locals[0]
        operation = local.step.view.operation
        module, inputs = shrink(local)
        return OperationReport(
            operation.name,
            str(operation.location),
            local.step.knob,
            sum(one.calls for one in locals),
            local.result,
            local.first,
            local.greatest,
            tuple([self.spreads[number].name for number in sorted(reached - {FAILURE})]),
            FAILURE in reached,
            module,
            inputs,
        )


class _Spread:
    """What is known of one result: where and how far its values differ."""

    def __init__(self, name: str, type: TensorType, plain: Array) -> None:
        self.name = name
        self.type = type
        self.plain = plain
        self.first: Difference | None = None
        self.greatest: Difference | None = None
        self.schedules = 0
        self._first_element = plain.size
        self._greatest_distance = -1
        self._range = Range(plain, type)

    def take(self, found: GroupedComparisons) -> None:
        """Begin with the range that the elements have under some schedules, which are to be added too."""
        self._range.take(*found[1:])

    def add(self, comparison: Extremes, schedules: tuple[Schedule, Schedule]) -> None:
        """Take in what differs under one more schedule."""
        self.schedules += 1
        element = comparison.element(comparison.first)
        if element < self._first_element:
            self._first_element = element
            self.first = difference_at(comparison.first, comparison, self.type, schedules)
        if comparison.distance > self._greatest_distance:
            self._greatest_distance = comparison.distance
            self.greatest = difference_at(comparison.greatest, comparison, self.type, schedules)
        if isinstance(comparison, Comparison):
            self._range.add(comparison)

    def report(self, operations: tuple[int, ...]) -> ResultReport:
        """The report of it."""
        return ResultReport(
            self.name,
            self.type,
            self.plain,
            self.first,
            self.greatest,
            self._range.elements,
            self.schedules,
            operations,
            self._range,
        )


def _place_of(local: Local) -> tuple[str, str]:
    """What tells an operation from others, though calls are inlined and loops unrolled."""
    operation = local.step.view.operation
    number = f"#{local.step.number}" if operation.location == UNKNOWN else ""
    return operation.name, f"{operation.location}{number}"


def _in_turn(
    pool: ThreadPoolExecutor, function: Callable[[Any], Any], items: Sequence[Any], workers: int
) -> Iterator[Any]:
    """What the function gives for each item, in order; no more than a few results wait to be taken."""
    most = WAITING * workers
    waiting = [pool.submit(function, item) for item in items[:most]]
    for index in range(len(items)):
        result = waiting.pop(0).result()
        if index + most < len(items):
            waiting.append(pool.submit(function, items[index + most]))
        yield result


def _types(types: Sequence[Type], prefix: str = "") -> Iterator[tuple[str, Type]]:
    """Names and types of results, those in tuples too."""
    for number, type in enumerate(types):
        name = f"{prefix}{number}"
        if isinstance(type, TupleType):
            yield from _types(type.types, f"{name}.")
        else:
            yield name, type


def _free_bytes() -> int:
    """The machine's free memory; where it does not tell, enough for two runs of anything."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 1 << 62
