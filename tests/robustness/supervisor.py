"""Tries many mutants in processes of limited memory; a process that ends or hangs is a finding."""

from __future__ import annotations

import multiprocessing
import resource
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from .mutation import Mutator
from .trial import Outcome, Phase

Trial = Callable[[str, Callable[[Phase], None]], Outcome]
"""What is done with a mutant: it raises an exception that is a defect, and calls its second argument as each
phase begins."""

CHUNK = 500
"""Mutants that a process is given at a time."""
GRACE = 6.0
"""How many times the allowed processor time may pass on the clock before a process is ended."""


@dataclass(frozen=True)
class Limits:
    """What one mutant may take.

    Attributes:
        seconds: processor time.
        bytes: memory beyond what the process has when it starts.
    """

    seconds: float = 5.0
    bytes: int = 1 << 30


@dataclass(frozen=True)
class Finding:
    """A mutant that showed a defect.

    Attributes:
        index: its number.
        phase: where it happened.
        what: the kind of defect in one line; findings of one cause have the same.
        detail: a traceback, or nothing.
    """

    index: int
    phase: Phase
    what: str
    detail: str = ""


@dataclass
class Summary:
    """What came of all mutants.

    Attributes:
        tried: how many.
        phases: how many got how far.
        findings: the defects.
        failures: what no step of a run foresaw and yet failed with; for each the number of one mutant.
        slowest: (seconds, number, phase) of the slowest.
        stopped: numbers of the mutants whose run had to be ended from outside.
        repeated: how many were the same program as an earlier one.
        peak: greatest resident memory of a process beyond what it started with, in bytes.
    """

    tried: int = 0
    phases: Counter[Phase] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    failures: dict[str, int] = field(default_factory=dict)
    slowest: tuple[float, int, Phase] = (0.0, -1, Phase.LOAD)
    stopped: list[int] = field(default_factory=list)
    repeated: int = 0
    peak: int = 0

    def enter(self, report: dict[str, Any]) -> None:
        """Add the report of a chunk."""
        self.tried += report["tried"]
        self.phases.update(report["phases"])
        self.repeated += report["repeated"]
        self.findings += report["findings"]
        self.failures = {**report["failures"], **self.failures}
        self.slowest = max(self.slowest, report["slowest"])
        self.peak = max(self.peak, report["peak"])


def run(
    texts: list[str],
    count: int,
    seed: int,
    jobs: int,
    trial: Trial,
    limits: Limits,
    *,
    first: int = 0,
    progress: Callable[[Summary], None] = lambda summary: None,
) -> Summary:
    """Try mutants number `first` to `first + count`.

    Args:
        texts: the corpus.
        count, seed: how many mutants of which series.
        jobs: processes.
        trial: what is done with each mutant.
        limits: for each mutant.
        first: number of the first.
        progress: called now and then.
    """
    summary = Summary()
    mutator = Mutator(texts)
    chunks = iter([(n, min(n + CHUNK, first + count)) for n in range(first, first + count, CHUNK)])
    workers = [_Worker(mutator, seed, trial, limits) for _ in range(jobs)]
    busy = [worker for worker in workers if worker.take(chunks)]
    while busy:
        wait([worker.connection for worker in busy], timeout=0.5)
        for worker in list(busy):
            if worker.poll(summary) and not worker.take(chunks):
                busy.remove(worker)
        progress(summary)
    for worker in workers:
        worker.end()
    return summary


class _Worker:
    """A child process, replaced when it ends or hangs."""

    def __init__(self, mutator: Mutator, seed: int, trial: Trial, limits: Limits) -> None:
        self.arguments = (mutator, seed, trial, limits)
        self.limits = limits
        self.context = multiprocessing.get_context("fork")
        self.state = self.context.RawArray("d", 3)
        self.chunk = (0, 0)
        self.start()

    def start(self) -> None:
        self.connection, other = self.context.Pipe()
        self.process = self.context.Process(
            target=_work, args=(other, self.state, *self.arguments), daemon=True
        )
        self.process.start()
        other.close()

    def take(self, chunks: Iterator[tuple[int, int]]) -> bool:
        """Begin the next chunk; False where there is none."""
        chunk = next(chunks, None)
        if chunk is not None:
            self.begin(chunk)
        return chunk is not None

    def begin(self, chunk: tuple[int, int]) -> None:
        self.chunk = chunk
        self.state[:] = [chunk[0], Phase.LOAD, time.monotonic()]
        self.connection.send(chunk)

    def poll(self, summary: Summary) -> bool:
        """Take in what happened; True where the chunk is done."""
        index, phase = int(self.state[0]), Phase(int(self.state[1]))
        try:
            if self.connection.poll():
                summary.enter(self.connection.recv())
                return True
        except (EOFError, ConnectionError):
            self.process.join()
            what = f"the process ended with status {self.process.exitcode}"
            return self.go_on(summary, Finding(index, phase, what))
        if time.monotonic() - self.state[2] > GRACE * self.limits.seconds:
            if phase == Phase.RUN:
                summary.stopped.append(index)
                return self.go_on(summary, None)
            return self.go_on(summary, Finding(index, phase, "does not end"))
        return False

    def go_on(self, summary: Summary, finding: Finding | None) -> bool:
        """Replace the process and go on after the mutant that ended it."""
        self.end()
        index = int(self.state[0])
        summary.tried += index + 1 - self.chunk[0]
        if finding is not None:
            summary.findings.append(finding)
        self.start()
        if index + 1 >= self.chunk[1]:
            return True
        self.begin((index + 1, self.chunk[1]))
        return False

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def _work(
    connection: Connection, state: Any, mutator: Mutator, seed: int, trial: Trial, limits: Limits
) -> None:
    """Try the chunks that come over the connection."""
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    most = _virtual_bytes() + limits.bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while True:
        start, end = connection.recv()
        report: dict[str, Any] = {
            "tried": end - start,
            "phases": Counter(),
            "findings": [],
            "failures": {},
            "repeated": 0,
            "slowest": (0.0, -1, Phase.LOAD),
        }
        for index in range(start, end):
            state[0], state[2] = index, time.monotonic()
            _try_one(mutator.mutant(seed, index), index, state, trial, limits, report)
        report["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - base
        connection.send(report)


def _try_one(
    text: str, index: int, state: Any, trial: Trial, limits: Limits, report: dict[str, Any]
) -> None:
    started = time.process_time()
    entered = [started] * len(Phase)

    def enter(phase: Phase) -> None:
        state[1] = phase
        entered[phase] = time.process_time()

    try:
        outcome = trial(text, enter)
        report["phases"][outcome.phase] += 1
        report["repeated"] += outcome.is_repeated
        if outcome.cause is not None:
            report["failures"].setdefault(_cause(outcome.cause), index)
    except Exception as error:
        at = Phase(int(state[1]))
        report["findings"].append(Finding(index, at, _cause(error), traceback.format_exc()))
    seconds = time.process_time() - started
    at = Phase(int(state[1]))
    before_run = (entered[Phase.RUN] if at >= Phase.RUN else time.process_time()) - started
    if before_run > limits.seconds:
        report["findings"].append(Finding(index, at, f"takes more than {limits.seconds:g} s before it runs"))
    report["slowest"] = max(report["slowest"], (seconds, index, at))


def _cause(error: BaseException) -> str:
    """The kind of an exception and the last line of the runtime that it passed."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, AssertionError):
        return f"{type(error).__name__}: {error}"
    own = [frame for frame in frames if "/runtime/" in frame.filename or "/kernels/" in frame.filename]
    where = f"{own[-1].filename.rpartition('/runtime/')[2]}:{own[-1].lineno}" if own else "outside"
    return f"{type(error).__name__} at {where}"


def _virtual_bytes() -> int:
    """Bytes of address space that this process has."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
