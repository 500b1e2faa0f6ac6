"""Which faults in references the suite finds."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from nimblehlo import NimbleError
from nimblehlo.checks.conformance.grid_results import results_on
from nimblehlo.checks.conformance.suite import FULL, Program, legal_programs
from nimblehlo.checks.conformance.verdicts import FAILURES, Judge, verdict_on
from nimblehlo.checks.error_bounds.ulps import equal_elements, is_inexact
from nimblehlo.checks.json_lines import JsonLines
from tests.checks.conformance.faulty_references import Fault, FaultyReferences


@dataclass(frozen=True)
class Outcome:
    """What the suite says of a fault.

    Attributes:
        operation: the operation that has the fault.
        kind: the fault.
        found_by: the id of the first program whose verdict is a failure or a refusal; empty: there is none.
        changed: the id of the first program of which the fault changes a value within finite bounds; else of
            the first one of which it changes only elements that may have any value; empty: of none.
        is_open: whether only elements that may have any value change.
        is_called: whether the wrong reference is called at all.
    """

    operation: str
    kind: str
    found_by: str
    changed: str
    is_open: bool = False
    is_called: bool = True

    def __str__(self) -> str:
        program = self.found_by or self.changed
        return f"{self.operation}, {self.kind}: {self.state} {program}".rstrip()

    @property
    def state(self) -> str:
        """What became of the fault."""
        if self.found_by:
            return "found"
        if self.changed:
            return "open" if self.is_open else "missed"
        return "without effect" if self.is_called else "never called"


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
    backend, changed, is_open = FaultyReferences(fault), "", True
    for program, judge in judges:
        allowed = judge.allowed  # computed before the fault is put into the references
        try:
            results = results_on(backend, program)
        except NimbleError:
            return Outcome(fault.operation, fault.kind, program.id, program.id)
        signs = program.has_signed_zeros
        if verdict_on(allowed, results, has_signed_zeros=signs)[0] in FAILURES:
            return Outcome(fault.operation, fault.kind, program.id, program.id)
        for one, bound in zip(results, allowed.results, strict=True):
            differs = _differs(np.asarray(one), bound.value)
            if not differs.any():
                continue
            may_be_any = bool((bound.may_vary | np.isinf(bound.bound))[differs].all())
            if not changed or (is_open and not may_be_any):
                changed = program.id
            is_open = is_open and may_be_any
    return Outcome(fault.operation, fault.kind, "", changed, bool(changed) and is_open, backend.calls > 0)


def _differs(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Which elements have other values, or are zeros of the other sign."""
    values = ~equal_elements(one, other)
    if not is_inexact(one.dtype) or one.dtype.kind == "c":
        return values
    signs = [np.signbit(array.astype(np.float64)) for array in (one, other)]
    return np.asarray(values | ((one == 0) & (other == 0) & (signs[0] != signs[1])))
