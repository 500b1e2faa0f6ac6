"""Runs random programs on a backend, and reports what differs from NimbleHLO, one finding for each cause."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from ...api import execute, load
from ...errors import NimbleError, raised_by_signal_handler
from ...options import Options
from ...program.ir import Module
from ...types import BOOLEAN, COMPLEX, FLOAT, Array, TensorType
from ..backends import Backend, BackendError, IsolatedBackend
from ..backends.constant_inputs import with_constant_inputs
from ..differences import FaultyOperation, find_faulty_operation
from ..differences.search import same_values
from ..error_bounds import accuracy
from ..minimizer import minimize
from ..minimizer.search import FaultPredicate
from .accepted_programs import ENDED, accepted_program
from .crashes import crash_explanation
from .function_causes import operation_of
from .journal import Journal
from .known_causes import cause_of_result, known_cause
from .programs import random_program
from .report import FuzzReport, Outcome, without_numbers
from .workers import outcomes_of_workers

MINIMIZING_SECONDS: Final = 20.0
"""Seconds for making a finding's program smaller."""
PROGRAM_SECONDS: Final = 200.0
"""Seconds that a backend may take for a program."""
UNEXPLAINED: Final = "results that no operation explains"
"""The title of findings in which each operation and each prefix of the program gives correct results."""
VARIES: Final = "results that vary from run to run"
"""The title of findings where another run of the same program has other results."""
VARIES_BECAUSE: Final = (
    "The same program gives other results for the same inputs when it runs again, although nothing in it is"
    " random: the backend reads memory that it has not written."
)
REPEATS: Final = 3
"""Runs that tell whether results vary."""
_PLAIN: Final = Options(compile="never")


def fuzz(
    against: str | Backend,
    *,
    count: int,
    seed: int = 0,
    minimizes: bool = True,
    jobs: int = 1,
    journal: Path | None = None,
    repeats_findings: bool = False,
    progress: Callable[[FuzzReport], object] | None = None,
) -> FuzzReport:
    """Run random programs on a backend, and compare results with ours.

    Args:
        against: the name of a backend, which then runs in a separate process; or a backend.
        count: the number of programs.
        seed: the seed of the first program; the others have the following seeds.
        minimizes: whether the program of each finding is made smaller.
        jobs: the number of concurrent processes. More than one need the name of a backend.
        journal: a file to which the outcome of each program is appended. Programs that it contains are not
            run again, so that a stopped campaign continues.
        repeats_findings: whether programs that are findings in the journal run again.
        progress: called after some programs with the report so far.

    Raises:
        ValueError: there are several jobs, but no name; or the journal is of another backend.
    """
    if jobs > 1 and not isinstance(against, str):
        raise ValueError("jobs is more than 1, so that `against` must be the name of a backend")
    name = against if isinstance(against, str) else against.name
    report, seeds = FuzzReport(name, seed), range(seed, seed + count)
    with Journal(journal, name, repeats_findings) as stored:
        for outcome in stored.outcomes(seeds):
            report.add(outcome)
        remaining = [one for one in seeds if one not in stored]
        if jobs > 1 and isinstance(against, str):
            chunks = outcomes_of_workers(against, remaining, minimizes, jobs, report.findings.keys())
        else:
            fuzzer = Fuzzer(against, minimizes, report.findings)
            chunks = ([fuzzer.outcome(one)] for one in remaining)
        for outcomes in chunks:
            for outcome in outcomes:
                stored.append(outcome)
                report.add(outcome)
            if progress is not None:
                progress(report)
    return report


class Fuzzer:
    """Compares programs one by one, and minimizes the first program of each finding.

    Args:
        against: what `fuzz` takes.
        minimizes: whether programs are made smaller.
        reported_titles: titles of findings of which the report has a program.
    """

    def __init__(self, against: str | Backend, minimizes: bool, reported_titles: Iterable[str] = ()) -> None:
        self.backend = IsolatedBackend(against, PROGRAM_SECONDS) if isinstance(against, str) else against
        self.reported_titles = set(reported_titles)
        self._minimizes = minimizes

    def outcome(self, seed: int) -> Outcome:
        """Compare the program of a seed. An internal error of NimbleHLO is a finding as well."""
        try:
            return self._run_and_compare(seed)
        except NimbleError:
            return Outcome(seed, "skipped")
        except Exception as error:
            if raised_by_signal_handler(error):
                raise
            where = traceback.extract_tb(error.__traceback__)[-1]
            title = f"NimbleHLO itself fails with {type(error).__name__}: {without_numbers(str(error))}"
            detail = f"in {where.name}, {Path(where.filename).name}:{where.lineno}."
            program = "" if title in self.reported_titles else str(random_module(seed)[0])
            self.reported_titles.add(title)
            return Outcome(seed, "finding", title, detail, program)

    def _run_and_compare(self, seed: int) -> Outcome:
        module, inputs = random_module(seed)
        try:
            return self._compare(seed, module, inputs, self.backend.run(module, inputs))
        except BackendError as error:
            text, message = str(error), without_numbers(str(error))
            if ENDED in message:
                return self._crash(seed, module, inputs, message)
        try:
            accepted = accepted_program(module, inputs, self.backend, text)
        except BackendError:
            accepted = None
        if accepted is None:
            return Outcome(seed, "rejected", rejection=message)
        outcome = self._compare(seed, accepted.module, accepted.inputs, accepted.results)
        return replace(outcome, rejection=message)

    def _crash(self, seed: int, module: Module, inputs: Sequence[Array], message: str) -> Outcome:
        explanation = crash_explanation(message)
        finding = Outcome(seed, "finding", message, "the process ends.", explanation=explanation)
        return self._with_program(finding, module, inputs, crashes_with(self.backend, message))

    def _compare(
        self, seed: int, module: Module, inputs: Sequence[Array], theirs: Sequence[Array]
    ) -> Outcome:
        """Compare the backend's results of a program with ours."""
        ours = [np.asarray(one) for one in execute(module, inputs, options=_PLAIN)]
        if len(ours) == len(theirs) and all(map(same_values, ours, theirs)):
            return Outcome(seed, "equal")
        violations = accuracy(module, inputs).violations(theirs)
        if not violations:
            return Outcome(seed, "inside")
        cause = cause_of_result(module, inputs, violations[0], theirs)
        if cause is not None and cause.title in self.reported_titles:
            return Outcome(seed, "finding", cause.title, str(violations[0]), explanation=cause.explanation)
        first = find_faulty_operation(module, inputs, self.backend).first
        if first is None:
            title, explanation = UNEXPLAINED, ""
            if cause is not None:
                title, explanation = cause.title, cause.explanation
            elif self._varies(module, inputs, theirs):
                title, explanation = VARIES, VARIES_BECAUSE
            finding = Outcome(seed, "finding", title, str(violations[0]), explanation=explanation)
            return self._with_program(finding, module, inputs, exceeds_bounds_on(self.backend, None))
        cause = known_cause(first)
        title = title_of(first) if cause is None else cause.title
        explanation = "" if cause is None else cause.explanation
        finding = Outcome(seed, "finding", title, str(first.violation), explanation=explanation)
        return self._with_program(finding, first.module, first.inputs, exceeds_bounds_on(self.backend, title))

    def _varies(self, module: Module, inputs: Sequence[Array], theirs: Sequence[Array]) -> bool:
        """Whether the backend gives other results when the program runs again."""
        for _ in range(REPEATS):
            again = self.backend.run(module, inputs)
            if not all(map(same_values, theirs, again)):
                return True
        return False

    def _with_program(
        self, finding: Outcome, module: Module, inputs: Sequence[Array], shows_fault: FaultPredicate
    ) -> Outcome:
        """A finding with its program, which is made smaller; without one where its cause is known."""
        if finding.title in self.reported_titles:
            return finding
        self.reported_titles.add(finding.title)
        closed = load(str(with_constant_inputs(module, inputs)))
        if not shows_fault(closed):
            # A compiler may fold constants in another way than it computes.
            closed = load(str(with_constant_inputs(module, inputs, hides_constants=True)))
        if self._minimizes:
            try:
                closed = minimize(closed, shows_fault, seconds=MINIMIZING_SECONDS).module
            except NimbleError:
                detail = "With constant inputs, or without the operations around it, it is right."
                finding = replace(finding, detail=f"{finding.detail} {detail}")
        return replace(finding, program=str(closed))


def random_module(seed: int) -> tuple[Module, list[Array]]:
    """The random program of a seed, verified, whose constants are arguments; and its inputs."""
    module, inputs = random_program(seed).with_arguments()
    return load(str(module)), inputs


def exceeds_bounds_on(other: Backend, title: str | None) -> FaultPredicate:
    """A predicate of programs: without arguments, they give results beyond their bounds on a backend.

    Args:
        other: the backend.
        title: only a finding of this title counts, so that a smaller program does not show another cause.
            None: only one that no operation explains.
    """

    def shows_fault(module: Module) -> bool:
        if module.functions["main"].type.inputs:
            return False
        try:
            if not accuracy(module).violations(other.run(module, [])):
                return False
            first = find_faulty_operation(module, [], other).first
        except NimbleError:
            return False
        if first is None or title is None:
            return title is None and first is None
        cause = known_cause(first)
        return title == (title_of(first) if cause is None else cause.title)

    return shows_fault


def crashes_with(other: Backend, message: str) -> FaultPredicate:
    """A predicate of programs: without arguments, they end the backend's process with a message."""

    def shows_fault(module: Module) -> bool:
        if module.functions["main"].type.inputs:
            return False
        try:
            other.run(module, [])
        except BackendError as error:
            return without_numbers(str(error)) == message
        except NimbleError:
            return False
        return False

    return shows_fault


_CATEGORIES: Final = {FLOAT: "floats", COMPLEX: "complex numbers", BOOLEAN: "booleans"}


def title_of(first: FaultyOperation) -> str:
    """The title of a finding: the operation, its body, the kinds of its types and what is wrong.

    Findings that share these mostly have one cause.
    """
    operation = operation_of(first)
    types = [one.type for one in operation.operands]
    kinds = sorted(
        {_CATEGORIES.get(type.category, "integers") for type in types if isinstance(type, TensorType)}
    )
    inner = [one for region in operation.regions for one in region.walk()]
    bodies = sorted({one.name.partition(".")[2] for one in inner} - {"return"})
    body = f" of {' '.join(bodies)}" if bodies else ""
    return f"{first.operation}{body} on {', '.join(kinds)}: {_symptom(first)}"


def _symptom(first: FaultyOperation) -> str:
    violation = first.violation
    if violation.index is None:
        return "another type or shape"
    mine, other = (side[violation.result][violation.index] for side in (first.ours, first.theirs))
    if mine != mine or other != other:
        return "NaN on one side"
    if np.isinf(np.asarray(mine, np.complex128)) or np.isinf(np.asarray(other, np.complex128)):
        return "infinite on one side"
    return "other values"
