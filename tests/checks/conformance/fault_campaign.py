"""Which faults in references the suite finds."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nimblehlo import NimbleError
from nimblehlo.checks.conformance.suite import FULL, Program, legal_programs
from nimblehlo.checks.conformance.verdicts import FAILURES, Judge, Verdict
from nimblehlo.checks.error_bounds.ulps import equal_elements
from tests.checks.conformance.faults import Fault, FaultyReferences


class Outcome(NamedTuple):
    """What the suite says of a fault.

    Attributes:
        fault: the fault.
        found_by: the id of the first program whose verdict is a failure or a refusal; empty: it is missed.
        changes: whether the fault changes a bit of a result of some program.
    """

    fault: Fault
    found_by: str
    changes: bool

    def __str__(self) -> str:
        return f"{self.fault.operation}, {self.fault.kind}: {self.state} {self.found_by}".rstrip()

    @property
    def state(self) -> str:
        """What became of the fault."""
        if self.found_by:
            return "found"
        return "missed" if self.changes else "without effect"


def outcomes(faults: Iterable[Fault], level: str = FULL, seconds: float = 1e9) -> Iterator[Outcome]:
    """Run the suite on each fault until a program finds it.

    Args:
        faults: those of an operation follow one another.
        level: the level of the suite.
        seconds: the time after which no further fault is begun.
    """
    deadline = time.monotonic() + seconds
    operation, judges = "", []
    for fault in faults:
        if time.monotonic() > deadline:
            return
        if fault.operation != operation:
            operation = fault.operation
            judges = [(one, Judge(one)) for one in legal_programs(operation, level)]
        yield outcome(fault, judges)


def outcome(fault: Fault, judges: Sequence[tuple[Program, Judge]]) -> Outcome:
    """Run programs on a fault until one finds it."""
    backend, changes = FaultyReferences(fault), False
    for program, judge in judges:
        judge.allowed  # noqa: B018 - computed before the fault is put into the references
        if judge.judge(backend).verdict in (*FAILURES, Verdict.REFUSED):
            return Outcome(fault, program.id, True)
        changes = changes or _changes(backend, program, judge)
    return Outcome(fault, "", changes)


def _changes(backend: FaultyReferences, program: Program, judge: Judge) -> bool:
    """Whether a fault changes a result of a program."""
    try:
        results = backend.run_text(program.text, program.inputs)
    except NimbleError:
        return True
    pairs = zip(results, judge.allowed.results, strict=True)
    return not all(equal_elements(np.asarray(one), bound.value).all() for one, bound in pairs)
