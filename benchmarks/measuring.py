"""Timing: two actions in turn, calls in a new process, and memory copies."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from nimblehlo.compiler.plan.tiering.background import BACKGROUND

from .counted_calls import Array, write_program

Action = Callable[[], object]

ROOT = Path(__file__).resolve().parent.parent

COPIED_BYTES = 64_000_000
"""Bytes that one timed copy reads, and that it writes: more than the caches hold."""

MAX_WARM_UP_SECONDS = 60.0
"""The longest warm-up of a program."""


@dataclass(frozen=True)
class Comparison:
    """Median times of two actions.

    Attributes:
        ours, other: seconds.
        ratio: the median over all pairs of `other / ours`.
    """

    ours: float
    other: float
    ratio: float


def rounded(value: float) -> float:
    """The value rounded to three significant digits."""
    return float(f"{value:.3g}")


def seconds(action: Action, clock: Callable[[], float] = time.perf_counter) -> float:
    """The seconds that one call takes by a clock."""
    started = clock()
    action()
    return clock() - started


class Named(Protocol):
    """A program or a case that a report lists."""

    @property
    def name(self) -> str: ...


Measured = TypeVar("Measured", bound=Named)
Outcome = TypeVar("Outcome")


def outcomes_of(
    programs: Iterable[Measured],
    measure: Callable[[Measured], Outcome],
    show: Callable[[str, Outcome], None],
) -> tuple[dict[str, Outcome], int]:
    """Measure programs, and show each outcome as soon as it is known.

    Args:
        programs: each is made at its turn.
        measure: measures one; its error is printed.
        show: prints the outcome of the program of this name.

    Returns:
        the outcomes by the programs' names, and how many programs failed.
    """
    outcomes: dict[str, Outcome] = {}
    failures = 0
    for program in programs:
        try:
            outcome = measure(program)
        except Exception as error:
            print(f"{program.name:40} FAILED {type(error).__name__}: {str(error)[:160]}", flush=True)
            failures += 1
            continue
        outcomes[program.name] = outcome
        show(program.name, outcome)
    return outcomes, failures


def report(
    programs: Iterable[Measured],
    compare: Callable[[Measured], Comparison],
    other: str,
    print_figures: Callable[[str, Comparison], None] | None = None,
) -> int:
    """Compare programs with another runtime and print a line for each, then the geometric mean of the ratios.

    Args:
        programs: the programs.
        compare: compares one; its error is printed.
        other: the name of the other runtime.
        print_figures: prints the line of a program in place of the times.

    Returns:
        1 if a program failed.
    """

    def print_times(name: str, times: Comparison) -> None:
        print(
            f"{name:40} {other} {times.other * 1e6:10.1f} µs, NimbleHLO {times.ours * 1e6:10.1f} µs, "
            f"{times.ratio:7.2f} times as fast",
            flush=True,
        )

    outcomes, failures = outcomes_of(programs, compare, print_figures or print_times)
    ratios = [times.ratio for times in outcomes.values()]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        slower = sum(ratio < 1 for ratio in ratios)
        print(f"{len(ratios)} programs: geometric mean {mean:.2f}, {slower} below 1, {failures} failed")
    return bool(failures)


def side_by_side(
    ours: Action,
    other: Action,
    *,
    for_seconds: float = 0.4,
    min_pairs: int = 5,
    max_pairs: int = 300,
    clock: Callable[[], float] = time.perf_counter,
) -> Comparison:
    """Time two actions alternately; the order alternates from pair to pair.

    Other load on the machine thus slows both actions. At least `min_pairs` and at most `max_pairs` pairs are
    timed; in between, `for_seconds` decides. `clock` is that of `seconds`.
    """
    pairs: list[tuple[float, float]] = []
    end = time.perf_counter() + for_seconds
    while len(pairs) < min_pairs or (len(pairs) < max_pairs and time.perf_counter() < end):
        if len(pairs) % 2:
            second = seconds(other, clock)
            pairs.append((seconds(ours, clock), second))
        else:
            pairs.append((seconds(ours, clock), seconds(other, clock)))
    times = np.array(pairs)
    return Comparison(*np.median(times, axis=0).tolist(), float(np.median(times[:, 1] / times[:, 0])))


def warm_up(action: Action, for_seconds: float = 1.0, min_calls: int = 3, max_calls: int = 100_000) -> None:
    """Call for `for_seconds`, and until background compilation has ended; at most `MAX_WARM_UP_SECONDS`."""
    calls, started = 0, time.perf_counter()
    end, limit = started + for_seconds, started + MAX_WARM_UP_SECONDS
    while calls < min_calls or (
        calls < max_calls and time.perf_counter() < (limit if BACKGROUND.is_busy else end)
    ):
        action()
        calls += 1


@contextmanager
def memory_copy() -> Iterator[Action]:
    """Copying `COPIED_BYTES` with all processors that this process may use."""
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    source, target = np.ones(COPIED_BYTES, np.uint8), np.zeros(COPIED_BYTES, np.uint8)
    shares = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
    with ThreadPoolExecutor(threads) as pool:
        yield lambda: list(pool.map(lambda share: np.copyto(*share), shares))


CHILD = """
import json, pathlib, sys, time
from benchmarks.counted_calls import read_program

def megabytes(field):
    # The figure of getrusage would count what the parent had when it made this process.
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return float(next(line for line in lines if line.startswith(field)).split()[1]) / 1e3

folder, calls, seconds = pathlib.Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
text, inputs = read_program(folder)
before = megabytes("VmRSS") if sys.platform == "linux" else None
started = time.perf_counter()
import nimblehlo
executable = nimblehlo.compile(text)
executable(*inputs)
times = [time.perf_counter() - started]
while len(times) < calls or sum(times) < seconds:
    started = time.perf_counter()
    executable(*inputs)
    times.append(time.perf_counter() - started)
peak = None if before is None else max(0.0, megabytes("VmHWM") - before)
print("FIGURES", json.dumps({"times": times, "peak_megabytes": peak}))
"""
"""It imports what a user's process would, and no JAX."""


@dataclass(frozen=True)
class FreshProcess:
    """Times and memory of a new process that starts with an empty cache of compiled code.

    Attributes:
        first_result: seconds from importing nimblehlo to the first call's results.
        later: seconds of each later call.
        peak_megabytes: most resident memory at any time, beyond that of Python, NumPy and the inputs; None
            where the system does not tell (it is read from Linux's /proc).
    """

    first_result: float
    later: list[float]
    peak_megabytes: float | None


@contextmanager
def stored_program(text: str, inputs: Sequence[Array]) -> Iterator[tuple[str, dict[str, str]]]:
    """A folder with a program (`counted_calls.write_program`), and the environment of processes that run it
    on the CPU and keep compiled code there, of which there is none at first.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_program(folder, text, inputs)
        yield name, {"NIMBLEHLO_CACHE_DIR": str(folder / "cache"), "JAX_PLATFORMS": "cpu"}


def figures(command: list[str], environment: dict[str, str], timeout: float | None = None) -> Any:
    """The JSON that a process prints after the word FIGURES.

    Args:
        command: starts the process.
        environment: variables that are added to those of this process.
        timeout: seconds after which the process is ended; None: it has as long as it needs.

    Raises:
        RuntimeError: the process failed, took longer or printed none; with the last line of its errors.
    """
    try:
        child = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"a process that was to print figures took more than {timeout:g} s") from None
    sys.stderr.write(child.stderr)
    lines = [line for line in child.stdout.splitlines() if line.startswith("FIGURES ")]
    if child.returncode or not lines:
        reason = (child.stderr.strip().splitlines() or ["it printed no error"])[-1]
        raise RuntimeError(
            f"a process that was to print figures ended with status {child.returncode}: {reason}"
        )
    return json.loads(lines[-1].removeprefix("FIGURES "))


def fresh_process(text: str, inputs: list[Array], calls: int = 3, for_seconds: float = 0.0) -> FreshProcess:
    """Compile a program in a new process, with an empty cache of compiled code, and call it.

    It is called at least `calls` times, and for at least `for_seconds`.
    """
    with stored_program(text, inputs) as (name, environment):
        measured = figures([sys.executable, "-c", CHILD, name, str(calls), str(for_seconds)], environment)
    first, *later = measured["times"]
    return FreshProcess(first, later, measured["peak_megabytes"])
