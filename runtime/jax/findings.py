"""Reports the findings of the sanitizer and the explorer in JAX programs.

A thread's `sanitize` and `explore` contexts get what the programs find that this thread calls within them.
What is found outside of any context, with settings of the process or the environment, goes to warnings and
errors alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from ..inspection.sanitizer import Finding, Findings
from .settings import configured

if TYPE_CHECKING:
    from ..checks.explorer import Exploration, OperationReport


class ScheduleWarning(RuntimeWarning):
    """The results of a program depend on an order that the specification leaves open."""


@dataclass(frozen=True)
class ProgramExploration:
    """One call of a program that was repeated under several schedules.

    Attributes:
        program: the name of JAX's module, such as ``"jit_train_step"``.
        exploration: the whole report.
    """

    program: str
    exploration: Exploration

    @property
    def depends(self) -> bool:
        """Whether a result depends on the schedule."""
        return self.exploration.depends

    @property
    def operations(self) -> list[OperationReport]:
        """The operations that are responsible; `source` is the user's Python line."""
        return list(self.exploration.operations)

    def __str__(self) -> str:
        return f"{self.program}: {self.exploration}"


_FINDINGS: Final[ContextVar[tuple[Findings, ...]]] = ContextVar("findings", default=())
"""The open contexts of `sanitize`, the innermost last. A call with a time limit runs on another thread, in a
copy of the caller's context (`timed_calls`)."""
_EXPLORATIONS: Final[ContextVar[tuple[list[ProgramExploration], ...]]] = ContextVar(
    "explorations", default=()
)
"""The open contexts of `explore`, the innermost last."""


def report(finding: Finding) -> None:
    """Add a finding to the contexts of this thread."""
    for context in _FINDINGS.get():
        context.report(finding)


def report_exploration(program: str, exploration: Exploration) -> None:
    """Add an exploration to the contexts of this thread; without a context, warn if results depend on the
    order.
    """
    record = ProgramExploration(program, exploration)
    for context in _EXPLORATIONS.get():
        context.append(record)
    if not _EXPLORATIONS.get() and record.depends:
        warnings.warn(str(record), ScheduleWarning, stacklevel=2)


@contextmanager
def sanitize(
    *checks: str, action: Literal["raise", "warn", "collect"] = "collect", **settings: object
) -> Iterator[Findings]:
    """A context manager that detects undefined behaviour in programs that this thread runs through JAX.

    Functions that were compiled outside of it are compiled again, and run operation by operation;
    docs/sanitizer.md says what is looked for.

    Args:
        checks: names of checks out of `nimblehlo.options.CHECKS`; without any, all are made.
        action: what is done with a finding, see `nimblehlo.Options.sanitize_action`. What is raised comes
            from the call or, as a `JaxRuntimeError` with the finding's message, when its results are waited
            for.
        settings: other settings, see `configure`.

    Yields:
        The findings so far; each one's `source` is the user's Python line.

    Raises:
        ValueError: there is no such check or setting.
    """
    findings = Findings("collect")
    with configured(sanitize=checks or True, sanitize_action=action, **settings):
        _FINDINGS.set((*_FINDINGS.get(), findings))
        try:
            yield findings
        finally:
            _FINDINGS.set(tuple([other for other in _FINDINGS.get() if other is not findings]))


@contextmanager
def explore(*, schedules: int = 32, seed: int = 0, **settings: object) -> Iterator[list[ProgramExploration]]:
    """A context manager that repeats each call that this thread makes through JAX under many schedules.

    docs/explore.md says what is varied. A call returns what its baseline run does. Callbacks are called in
    each run.

    Args:
        schedules: how many, from 2 on.
        seed: of the schedules.
        settings: others, see `configure`.

    Yields:
        A record of each call of a program so far, including calls that do not depend on the schedule.

    Raises:
        ValueError: a name is not a setting, or a value is not allowed.
    """
    records: list[ProgramExploration] = []
    with configured(explore=schedules, explore_seed=seed, **settings):
        _EXPLORATIONS.set((*_EXPLORATIONS.get(), records))
        try:
            yield records
        finally:
            _EXPLORATIONS.set(tuple([other for other in _EXPLORATIONS.get() if other is not records]))
