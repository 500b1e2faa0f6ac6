"""Verdicts: whether what a backend does with a program is allowed by the specification."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ...api import load
from ...errors import NimbleError
from ...options import Options
from ...program.ops import lookup
from ...types import Array
from ..backends import Backend, BackendExit, BackendTimeout
from ..error_bounds import Accuracy, ResultBound, accuracy
from ..error_bounds.ulps import equal_elements
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
    OUTSIDE = "outside"
    """The results are not allowed, or the program breaks a constraint and was run."""
    REFUSED = "refused"
    """The program is legal, and the backend refuses it."""
    ENDED = "ended the process"
    TIMED_OUT = "timed out"


FAILURES: Final = (Verdict.OUTSIDE, Verdict.ENDED, Verdict.TIMED_OUT)
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
    """

    id: str
    backend: str
    verdict: Verdict
    detail: str = ""
    section: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.id, self.backend


class Judge:
    """Judges what backends do with a program.

    Args:
        program: a program of the suite.

    Raises:
        NimbleError: the references do not run the program.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._allowed: Accuracy | None = None

    @property
    def allowed(self) -> Accuracy:
        """The results that the specification allows, computed at their first use."""
        if self._allowed is None:
            self._allowed = accuracy(load(self._program.text), self._program.inputs, options=REFERENCES)
        return self._allowed

    def judge(self, backend: Backend) -> Judgement:
        """Run the program on a backend."""
        program = self._program
        try:
            results = backend.run_text(program.text, program.inputs)
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
        violations = self.allowed.violations(results)
        if violations:
            detail = "; ".join(map(str, violations))
            return self._judgement(backend, Verdict.OUTSIDE, detail, section_of(self._program))
        is_open = any(map(_differs_where_open, self.allowed.results, results))
        return self._judgement(backend, Verdict.OPEN if is_open else Verdict.WITHIN)

    def _judgement(
        self, backend: Backend, verdict: Verdict, detail: str = "", section: str = ""
    ) -> Judgement:
        return Judgement(self._program.id, backend.name, verdict, detail[:MAX_DETAIL], section)


def is_specified(operation: str) -> bool:
    """Whether the specification has a section on an operation; CHLO's definitions state no constraints."""
    declaration = lookup(operation)
    return operation.startswith("stablehlo.") and declaration is not None and declaration.is_specified


def section_of(program: Program) -> str:
    """Where the semantics of a program's operation, or the constraint that it breaks, are defined."""
    dialect, _, name = program.operation.partition(".")
    where = f'specification, section "{name}"' if dialect == "stablehlo" else f"CHLO dialect, {name}"
    return f"{where}, ({program.label})" if program.label else where


def _differs_where_open(bound: ResultBound, result: Array) -> bool:
    """Whether a result has other elements where any value is allowed."""
    differs = ~equal_elements(np.asarray(result), bound.value)
    return bool((differs & (bound.may_vary | np.isinf(bound.bound))).any())
