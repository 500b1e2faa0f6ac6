"""Starts a worker for each test file, another one where it ends early, and adds up their journals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .comparing import FAULTS
from .journal import Journal
from .worker import LEFT, Plan

CRASHED = "crashed"
TIMED_OUT = "timed out"
_POLL = 0.5


@dataclass
class Tally:
    """What came of one test file.

    Attributes:
        file: its name.
        tests: how many test methods ended in which way, `CRASHED` and `TIMED_OUT` among them.
        counts: how many computations there were of each kind.
        programs: how many different programs.
        faults: a record of each fault, with the name of its test.
        failures: what JAX's own tests say where they fail, by the names of the tests.
        seconds: how long the tests took, and how much of it was comparing.
    """

    file: str
    tests: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    programs: int = 0
    faults: list[dict[str, str]] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    comparing: float = 0.0

    @property
    def computations(self) -> int:
        """How many computations were executed."""
        return sum(self.counts.values())

    @property
    def is_clean(self) -> bool:
        """Whether nothing went wrong."""
        return not (self.faults or self.tests[CRASHED] or self.tests[TIMED_OUT])


def run_file(
    plan: Plan, time_limit: float, environment: Mapping[str, str], worker: str = "tests.jax_suite.worker"
) -> Tally:
    """Run a test file to its end, whatever its processes do.

    Args:
        plan: what to run.
        time_limit: most seconds that one test method may take.
        environment: variables for the processes, besides those of this one.
        worker: the module that runs test methods.
    """
    journal = Journal(Path(plan.journal))
    path = Path(plan.journal).with_suffix(".plan.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(plan)))
    command = [sys.executable, "-m", worker, str(path)]
    while True:
        interrupted = journal.interrupted()
        if interrupted is not None:
            journal.end(interrupted, CRASHED, 0.0, {"detail": "the process was stopped"})
        status = _watched(command, journal, time_limit, {**os.environ, **environment})
        interrupted = journal.interrupted()
        if interrupted is not None:
            outcome = TIMED_OUT if status is None else CRASHED
            journal.end(interrupted, outcome, 0.0, {"detail": f"status {status}"})
        elif status == 0:
            break
        elif status is None:
            raise SystemExit(f"{plan.file}: the worker began no test within {time_limit:.0f} s; run it again")
        elif status != LEFT:
            raise SystemExit(f"{plan.file}: the worker ended with status {status} outside of any test")
    return tally(plan.file, journal.finished())


def _watched(command: list[str], journal: Journal, limit: float, environment: dict[str, str]) -> int | None:
    """The exit status of a worker; None if a test method took too long and the worker was killed."""
    with subprocess.Popen(command, env=environment) as worker:
        changed, size = time.time(), -1
        while worker.poll() is None:
            time.sleep(_POLL)
            now = journal.path.stat().st_size if journal.path.exists() else 0
            if now != size:
                changed, size = time.time(), now
            elif time.time() - changed > limit:
                worker.kill()
                worker.wait()
                return None
        return worker.returncode


def tally(file: str, entries: Mapping[str, Mapping[str, Any]]) -> Tally:
    """The sum of a journal's entries."""
    total = Tally(file)
    programs: set[str] = set()
    for test, entry in entries.items():
        total.tests[entry["outcome"]] += 1
        if entry["outcome"] in (CRASHED, TIMED_OUT):
            total.faults.append(
                {"test": test, "kind": entry["outcome"], "detail": entry["detail"], "program": ""}
            )
        total.counts.update(entry.get("counts", {}))
        programs.update(entry.get("programs", ()))
        total.faults += [{"test": test, **fault} for fault in entry.get("faults", ())]
        if entry.get("failure"):
            total.failures[test] = entry["failure"]
        total.seconds += entry["seconds"]
        total.comparing += entry.get("comparing", 0.0)
    total.programs = len(programs)
    return total


def printed(totals: Iterable[Tally], examples: int) -> str:
    """A report for people: counts of each file, then faults of one kind together, `examples` of each."""
    lines = []
    for total in totals:
        tests = ", ".join(f"{count} {outcome}" for outcome, count in sorted(total.tests.items()))
        lines.append(f"{total.file}: {sum(total.tests.values())} tests ({tests}) in {total.seconds:.0f} s")
        lines.append(f"  {total.computations} computations of {total.programs} programs")
        lines += [f"  {count:8}  {kind}" for kind, count in sorted(total.counts.items(), key=_faults_last)]
        lines += [
            f"  JAX's own test fails: {test}: {text.splitlines()[-1][:200]}"
            for test, text in sorted(total.failures.items())
        ]
        by_reason: dict[tuple[str, str], list[dict[str, str]]] = {}
        for fault in total.faults:
            reason = fault["detail"].splitlines()[0] if fault["kind"] not in FAULTS[:1] else ""
            by_reason.setdefault((fault["kind"], reason), []).append(fault)
        for (kind, reason), faults in sorted(by_reason.items()):
            lines.append(f"  FAULT {kind}, {len(faults)} times{': ' if reason else ''}{reason[:300]}")
            for fault in faults[:examples]:
                lines.append(f"    {fault['test']}: program {fault['program']}: {fault['detail'][:200]}")
    return "\n".join(lines)


def _faults_last(item: tuple[str, int]) -> tuple[bool, str]:
    return item[0] in FAULTS, item[0]
