"""Which faults in references the suite finds."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from nimblehlo import NimbleError
from nimblehlo.checks.conformance.suite import FULL, Program, legal_programs
from nimblehlo.checks.conformance.verdicts import FAILURES, Judge, verdict_on
from nimblehlo.checks.error_bounds.ulps import equal_elements
from nimblehlo.checks.json_lines import JsonLines
from tests.checks.conformance.faults import Fault, FaultyReferences


@dataclass(frozen=True)
class Outcome:
    """What the suite says of a fault.

    Attributes:
        operation: the operation that has the fault.
        kind: the fault.
        found_by: the id of the first program whose verdict is a failure or a refusal; empty: it is missed.
        changed: the id of the first program of which the fault changes a bit of a result; empty: of none.
    """

    operation: str
    kind: str
    found_by: str
    changed: str

    def __str__(self) -> str:
        program = self.found_by or self.changed
        return f"{self.operation}, {self.kind}: {self.state} {program}".rstrip()

    @property
    def state(self) -> str:
        """What became of the fault."""
        if self.found_by:
            return "found"
        return "missed" if self.changed else "without effect"


def outcomes(
    faults: Iterable[Fault], level: str = FULL, seconds: float = 1e9, journal: Path | None = None
) -> Iterator[Outcome]:
    """Run the suite on each fault until a program finds it.

    Args:
        faults: those of an operation follow one another.
        level: the level of the suite.
        seconds: the time after which no further fault is begun.
        journal: a file to which each outcome is appended; those that it has are not made again.
    """
    deadline = time.monotonic() + seconds
    operation, judges = "", []
    lines = JsonLines(journal, {"level": level})
    stored = {(one["operation"], one["kind"]): Outcome(**one) for one in lines.stored}
    lines.rewrite([asdict(one) for one in stored.values()])
    for fault in faults:
        known = stored.get((fault.operation, fault.kind))
        if known is not None:
            yield known
            continue
        if time.monotonic() > deadline:
            return
        if fault.operation != operation:
            operation = fault.operation
            judges = [(one, Judge(one)) for one in legal_programs(operation, level)]
        judged = outcome(fault, judges)
        lines.append(asdict(judged))
        yield judged


def outcome(fault: Fault, judges: Sequence[tuple[Program, Judge]]) -> Outcome:
    """Run programs on a fault until one finds it."""
    backend, changed = FaultyReferences(fault), ""
    for program, judge in judges:
        allowed = judge.allowed  # computed before the fault is put into the references
        try:
            results = backend.run_text(program.text, program.inputs)
        except NimbleError:
            return Outcome(fault.operation, fault.kind, program.id, program.id)
        signs = program.has_signed_zeros
        if verdict_on(allowed, results, has_signed_zeros=signs)[0] in FAILURES:
            return Outcome(fault.operation, fault.kind, program.id, program.id)
        pairs = zip(results, allowed.results, strict=True)
        if not changed and not all(_same(np.asarray(one), bound.value) for one, bound in pairs):
            changed = program.id
    return Outcome(fault.operation, fault.kind, "", changed)


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two results have the same values, and zeros of the same sign."""
    return one.tobytes() == other.tobytes() or (
        bool(equal_elements(one, other).all()) and one[one == 0].tobytes() == other[other == 0].tobytes()
    )
