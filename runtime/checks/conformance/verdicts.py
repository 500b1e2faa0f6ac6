"""Verdicts: whether what a backend does with a program is allowed by the specification."""

from __future__ import annotations

import enum
import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import numpy as np

from ...api import load
from ...errors import NimbleError
from ...options import Options
from ...program.ops import lookup
from ...types import Array
from ..backends import Backend, BackendError, BackendExit, BackendTimeout
from ..error_bounds import BoundViolation, ResultBound, accuracy
from ..error_bounds.ulps import distance, equal_elements, is_inexact
from .grid_results import GridResults, results_on
from .suite import Program

REFERENCES: Final = Options(reference=True)
"""Allowed results are computed by the text of the specification, operation by operation."""
MAX_DETAIL: Final = 500
"""Characters of a backend's message that a judgement keeps."""


class Verdict(enum.StrEnum):
    """What the specification says of a backend's behaviour."""

    WITHIN = "within"
    """The results are allowed, or the program breaks a constraint and was refused."""
    OPEN = "open"
    """What the backend does is allowed because the specification leaves it open: the elements that differ
    from ours, also those that depend on subnormal numbers, which a processor may flush; or the operation, on
    which it has no section, where the backend runs a program that breaks a constraint of ours."""
    ZERO_SIGN = "zero sign"
    """Only zeros have the other sign, and the operation's results have one correct value (IEEE 754)."""
    OUTSIDE = "outside"
    """The results are not allowed, or the program breaks a constraint and was run."""
    REFUSED = "refused"
    """The program is legal, and the backend refuses it."""
    ENDED = "ended the process"
    TIMED_OUT = "timed out"


FAILURES: Final = (Verdict.ZERO_SIGN, Verdict.OUTSIDE, Verdict.ENDED, Verdict.TIMED_OUT)
"""The verdicts that contradict the specification: a backend may support less, but not something else."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on a program and a backend.

    Attributes:
        id: of the program.
        backend: the backend's name.
        verdict: what the specification says.
        detail: the elements that are outside and by how much, or the backend's message.
        section: where the specification says it; empty where nothing is wrong.
        library: the library that the backend runs (`Description.library`).
        seconds: the processor time of the run and of the judgement, of which the first one on a program also
            computes the allowed results; 0 if it was not measured.
    """

    id: str
    backend: str
    verdict: Verdict
    detail: str = ""
    section: str = ""
    library: str = ""
    seconds: float = field(default=0.0, compare=False, repr=False)

    @property
    def key(self) -> tuple[str, str]:
        return self.id, self.backend


class AllowedResults(Protocol):
    """The results that the specification allows: computed (`Accuracy`), or read from an archive."""

    @property
    def results(self) -> Sequence[ResultBound]:
        """The bounds of each result."""

    def violations(self, actual: Sequence[object]) -> list[BoundViolation]:
        """The results that exceed their bounds."""

    def complete(self) -> None:
        """Make the bounds the widest ones, whatever they are compared with."""


class Judge:
    """Judges what backends do with a program.

    Args:
        program: a program of the suite.
        allowed: the allowed results; None: they are computed by references.

    Raises:
        NimbleError: the references do not run the program.
    """

    def __init__(self, program: Program, allowed: AllowedResults | None = None) -> None:
        self._program = program
        self._allowed = allowed

    @property
    def allowed(self) -> AllowedResults:
        """The results that the specification allows, computed at their first use."""
        if self._allowed is None:
            self._allowed = allowed_results(self._program)
        return self._allowed

    def judge(self, backend: Backend) -> Judgement:
        """Run the program on a backend."""
        start = time.process_time() + backend.processor_seconds
        judged = replace(self._judged(backend), library=self._library(backend))
        seconds = time.process_time() + backend.processor_seconds - start
        return replace(judged, seconds=round(seconds, 6))

    @staticmethod
    def _library(backend: Backend) -> str:
        try:
            return backend.description.library
        except BackendError:
            return ""

    def _judged(self, backend: Backend) -> Judgement:
        program = self._program
        try:
            results = results_on(backend, program)
        except BackendExit as error:
            return self._judgement(backend, Verdict.ENDED, str(error), section_of(program))
        except BackendTimeout as error:
            return self._judgement(backend, Verdict.TIMED_OUT, str(error), section_of(program))
        except NimbleError as error:
            verdict = Verdict.WITHIN if program.label else Verdict.REFUSED
            return self._judgement(backend, verdict, "" if program.label else str(error))
        if program.label:
            detail = f"runs a program that breaks ({program.label}): {program.rule}"
            verdict = Verdict.OUTSIDE if is_specified(program.operation) else Verdict.OPEN
            return self._judgement(backend, verdict, detail, section_of(program))
        return self._judged_results(backend, results)

    def _judged_results(self, backend: Backend, results: Sequence[Array]) -> Judgement:
        signs = self._program.has_signed_zeros
        verdict, detail = verdict_on(self.allowed, results, has_signed_zeros=signs)
        section = section_of(self._program) if verdict in FAILURES else ""
        return self._judgement(backend, verdict, detail, section)

    def _judgement(
        self, backend: Backend, verdict: Verdict, detail: str = "", section: str = ""
    ) -> Judgement:
        return Judgement(self._program.id, backend.name, verdict, detail[:MAX_DETAIL], section)


def allowed_results(program: Program) -> AllowedResults:
    """The results that the specification allows of a program, computed by references.

    Raises:
        NimbleError: the references do not run the program.
    """
    if program.grid.size > 1:
        return GridResults(program, REFERENCES)
    return accuracy(load(program.text), program.inputs, options=REFERENCES)


def verdict_on(
    allowed: AllowedResults, results: Sequence[Array], *, has_signed_zeros: bool = False
) -> tuple[Verdict, str]:
    """The verdict on a backend's results, and what is wrong with them.

    Args:
        allowed: the allowed results of the program.
        results: the backend's.
        has_signed_zeros: whether the specification says which sign results have that are zero.
    """
    violations = allowed.violations(results)
    if violations:
        return Verdict.OUTSIDE, "; ".join(map(str, violations))
    pairs = list(zip(allowed.results, results, strict=True))
    if has_signed_zeros:
        signs = [_other_signs(index, *pair) for index, pair in enumerate(pairs)]
        if any(signs):
            return Verdict.ZERO_SIGN, "; ".join(filter(None, signs))
    open_elements = [_open_elements(index, *pair) for index, pair in enumerate(pairs)]
    is_open = any(open_elements)
    return (Verdict.OPEN if is_open else Verdict.WITHIN), "; ".join(filter(None, open_elements))


def _other_signs(index: int, bound: ResultBound, result: Array) -> str:
    """A sentence on the zeros of a result that have the sign of no allowed value; empty if there are none."""
    value = bound.value
    if not is_inexact(value.dtype):
        return ""
    # Each alternative stands for itself: one that does not allow an element has no say in its sign.
    has_allowed_sign = [
        (distance(result, one.value) <= one.bound) & ~_zeros_of_other_sign(one, result)
        for one in (bound, *bound.others)
    ]
    wrong = ~functools.reduce(np.logical_or, has_allowed_sign)
    if not wrong.any():
        return ""
    first = tuple(np.argwhere(wrong)[0].tolist())
    return (
        f"result {index}: {result[first]} instead of {value[first]} at {list(first)} "
        f"({int(wrong.sum())} of {value.size} elements)"
    )


def _zeros_of_other_sign(bound: ResultBound, result: Array) -> Array:
    """Which elements have, in a component if complex, a zero of the other sign where one value is allowed."""
    components = [(bound.value, result)]
    if bound.value.dtype.kind == "c":
        components = [(bound.value.real, result.real), (bound.value.imag, result.imag)]
    wrong = np.zeros(bound.value.shape, np.bool_)
    for ours, theirs in components:
        # NumPy has the sign of zero of its own types only.
        with np.errstate(invalid="ignore"):  # NaN that signals
            signs = [np.signbit(np.asarray(one).astype(np.float64)) for one in (ours, theirs)]
        wrong |= (signs[0] != signs[1]) & (ours == 0) & (theirs == 0)
    return np.asarray(wrong & (bound.bound == 0))


def is_specified(operation: str) -> bool:
    """Whether the specification has a section on an operation; CHLO's definitions state no constraints."""
    declaration = lookup(operation)
    return operation.startswith("stablehlo.") and declaration is not None and declaration.is_specified


def section_of(program: Program) -> str:
    """Where the semantics of a program's operation, or the constraint that it breaks, are defined."""
    dialect, _, name = program.operation.partition(".")
    where = f'specification, section "{name}"' if dialect == "stablehlo" else f"CHLO dialect, {name}"
    return f"{where}, ({program.label})" if program.label else where


def _open_elements(index: int, bound: ResultBound, result: Array) -> str:
    """A sentence on the elements that differ where any value is allowed; empty if there are none."""
    differs = ~equal_elements(np.asarray(result), bound.value)
    differs &= bound.may_vary | np.isinf(bound.bound)
    if not differs.any():
        return ""
    first = tuple(np.argwhere(differs)[0].tolist())
    return (
        f"result {index}: {result[first]} and {bound.value[first]} are allowed at {list(first)} "
        f"({int(differs.sum())} of {differs.size} elements)"
    )
