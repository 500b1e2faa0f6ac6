"""Runs random programs on a backend, and reports what differs from NimbleHLO, one finding for each cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..api import execute, load
from ..backends import Backend, BackendError, IsolatedBackend
from ..backends.constant_inputs import with_constant_inputs
from ..differences import Difference, find_difference
from ..differences.search import same_values
from ..error_bounds import accuracy
from ..errors import NimbleError
from ..ir import Module
from ..minimizer import reduce
from ..options import Options
from ..types import BOOLEAN, COMPLEX, FLOAT, TensorType
from .known_causes import KnownCause, known_cause, operation_of
from .programs import random_program
from .report import Finding, FuzzReport, without_numbers
from .workers import reports_of_workers

Array = np.ndarray[Any, Any]

MINIMIZING_SECONDS: Final = 20.0
"""Seconds for making a finding's program smaller."""
PROGRAM_SECONDS: Final = 60.0
"""Seconds that a backend may take for a program."""
ENDS: Final = (
    "The program is valid. A backend that does not run it has to say so by an error; this one ends its"
    " process."
)
"""The explanation of crashes."""
_PLAIN: Final = Options(compile="never")


def fuzz(
    against: str | Backend,
    *,
    count: int,
    seed: int = 0,
    minimizes: bool = True,
    jobs: int = 1,
    progress: Callable[[FuzzReport], object] | None = None,
) -> FuzzReport:
    """Run random programs on a backend, and compare results with ours.

    Args:
        against: the name of a backend, which then runs in a process of its own; or a backend.
        count: the number of programs.
        seed: of the first program; the others follow.
        minimizes: whether the program of each finding is made smaller.
        jobs: how many processes run programs at the same time. More than one need the name of a backend.
        progress: called after some programs with the report so far.

    Raises:
        ValueError: there are several jobs, but no name.
    """
    if jobs > 1:
        if not isinstance(against, str):
            raise ValueError("several jobs need the name of a backend")
        return reports_of_workers(against, count, seed, minimizes, jobs, progress)
    fuzzer = Fuzzer(against, minimizes)
    report = FuzzReport(fuzzer.backend.name, seed)
    for number in range(seed, seed + count):
        fuzzer.run(number, report)
        if progress is not None:
            progress(report)
    return report


class Fuzzer:
    """Compares one program after another, and makes the first program of each cause smaller.

    Args:
        against: what `fuzz` takes.
        minimizes: whether programs are made smaller.
    """

    def __init__(self, against: str | Backend, minimizes: bool) -> None:
        self.backend = IsolatedBackend(against, PROGRAM_SECONDS) if isinstance(against, str) else against
        self._minimizes = minimizes
        self._minimized: set[str] = set()

    def run(self, seed: int, report: FuzzReport) -> None:
        """Compare the program of a seed, and add what comes of it to a report."""
        report.programs += 1
        try:
            self._compare(report, seed)
        except NimbleError:
            report.skipped += 1

    def _compare(self, report: FuzzReport, seed: int) -> None:
        module, inputs = random_module(seed)
        ours = [np.asarray(one) for one in execute(module, inputs, options=_PLAIN)]
        try:
            theirs = self.backend.run(module, inputs)
        except BackendError as error:
            message = without_numbers(str(error))
            if "ended its process" in message:
                fails = _ends(self.backend, message)
                self._add(report, message, ENDS, seed, "the process ends.", module, inputs, fails)
            else:
                report.rejected[message] += 1
            return
        if len(ours) == len(theirs) and all(map(same_values, ours, theirs)):
            report.equal += 1
            return
        departures = accuracy(module, inputs).departures(theirs)
        if not departures:
            report.inside += 1
            return
        first = find_difference(module, inputs, self.backend).first
        if first is None:
            title = "results that no operation explains"
            fails = _differs(self.backend, None)
            self._add(report, title, "", seed, str(departures[0]), module, inputs, fails)
            return
        known = known_cause(first)
        cause = _cause(first) if known is None else known.title
        fails = _differs(self.backend, known)
        explanation = "" if known is None else known.explanation
        self._add(report, cause, explanation, seed, str(first.departure), first.module, first.inputs, fails)

    def _add(
        self,
        report: FuzzReport,
        cause: str,
        explanation: str,
        seed: int,
        detail: str,
        module: Module,
        inputs: Sequence[Array],
        fails: Callable[[Module], bool] | None,
    ) -> None:
        """Count a finding; its program is made smaller the first time."""
        found = report.findings.get(cause)
        if found is not None:
            found.count += 1
            return
        closed = load(str(with_constant_inputs(module, inputs)))
        if fails is not None and not fails(closed):
            # A compiler may fold constants in another way than it computes.
            closed = load(str(with_constant_inputs(module, inputs, hides_constants=True)))
        if fails is not None and self._minimizes and cause not in self._minimized:
            self._minimized.add(cause)
            try:
                closed = reduce(closed, fails, seconds=MINIMIZING_SECONDS).module
            except NimbleError:
                detail += " With constant inputs, or without the operations around it, it is right."
        report.findings[cause] = Finding(cause, seed, detail, str(closed), explanation=explanation)


def random_module(seed: int) -> tuple[Module, list[Array]]:
    """The random program of a seed, verified, whose constants are arguments; and its inputs."""
    module, inputs = random_program(seed).with_arguments()
    return load(str(module)), inputs


def _differs(other: Backend, known: KnownCause | None) -> Callable[[Module], bool]:
    """Whether a program without arguments gives results beyond their bounds, and for the known cause."""

    def fails(module: Module) -> bool:
        if module.functions["main"].type.inputs:
            return False
        try:
            if not accuracy(module).departures(other.run(module, [])):
                return False
            if known is None:
                return True
            first = find_difference(module, [], other).first
            return first is not None and known.matches(first)
        except NimbleError:
            return False

    return fails


def _ends(other: Backend, message: str) -> Callable[[Module], bool]:
    """Whether a program without arguments ends the backend's process with a message."""

    def fails(module: Module) -> bool:
        if module.functions["main"].type.inputs:
            return False
        try:
            other.run(module, [])
        except BackendError as error:
            return without_numbers(str(error)) == message
        except NimbleError:
            return False
        return False

    return fails


_CATEGORIES: Final = {FLOAT: "floats", COMPLEX: "complex numbers", BOOLEAN: "booleans"}


def _cause(first: Difference) -> str:
    """The operation, its body, the kinds of its types and what is wrong: the reason is the same mostly."""
    operation = operation_of(first)
    types = [one.type for one in operation.operands]
    kinds = sorted(
        {_CATEGORIES.get(type.category, "integers") for type in types if isinstance(type, TensorType)}
    )
    inner = [one for region in operation.regions for one in region.walk()]
    bodies = sorted({one.name.partition(".")[2] for one in inner} - {"return"})
    body = f" of {' '.join(bodies)}" if bodies else ""
    return f"{first.operation}{body} on {', '.join(kinds)}: {_symptom(first)}"


def _symptom(first: Difference) -> str:
    departure = first.departure
    if departure.index is None:
        return "another type or shape"
    mine, other = (side[departure.result][departure.index] for side in (first.ours, first.theirs))
    if mine != mine or other != other:
        return "NaN on one side"
    if np.isinf(np.asarray(mine, np.complex128)) or np.isinf(np.asarray(other, np.complex128)):
        return "infinite on one side"
    return "other values"
