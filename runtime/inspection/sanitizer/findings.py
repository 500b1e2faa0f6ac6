"""Findings of the sanitizer: their record and the action on each."""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, overload

from ...errors import UndefinedBehaviorError, counted
from ..tables import Column, Table, report_html

MAX_FINDINGS_PER_OPERATION: Final = 16
"""Maximum number of stored findings per check and operation; all are counted."""

Key = tuple[str, str, str]
"""A check, an operation's name and its location."""


class SanitizerWarning(RuntimeWarning):
    """The warning for a finding under `Options(sanitize_action="warn")`."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation that a check found in one run of an operation.

    Attributes:
        index: the index of the element, in the array that the check describes.
        value: the element, as a Python number.
        message: a sentence with index and value.
        count: the number of such elements.
    """

    index: tuple[int, ...]
    value: Any
    message: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding. docs/sanitizer.md describes index and value for each check.

    Attributes:
        check: the name of the check, one of `nimblehlo.options.CHECKS`.
        operation: the name of the operation, such as ``stablehlo.gather``.
        location: the location of the operation in the program, as text.
        index: the index of the first element that the finding is about, in the array on which the operation
            ran.
        value: the value of that element.
        message: the reason in words.
        count: the number of elements that the finding is about, in this run of the operation.
        source: ``file:line`` of the source line of the operation, which is the user's Python line for
            programs of JAX; None if the location has none.
    """

    check: str
    operation: str
    location: str
    index: tuple[int, ...]
    value: Any
    message: str
    count: int = 1
    source: str | None = None

    def __str__(self) -> str:
        return f"{self.operation}: ({self.check}) {self.message}, at {self.location}"


class Findings(Sequence[Finding]):
    """The findings so far, in order. Threads may add findings concurrently.

    The first MAX_FINDINGS_PER_OPERATION findings for each check, operation and location are kept.

    Args:
        action: see `Options.sanitize_action`.

    Attributes:
        totals: the number of findings for each (check, operation, location), including those that are not
            kept.
        observers: functions that are called with each finding before the action.
    """

    def __init__(self, action: str = "collect") -> None:
        self.action = action
        self.totals: Counter[Key] = Counter()
        self.observers: list[Callable[[Finding], None]] = []
        self._findings: list[Finding] = []
        self._lock = threading.Lock()

    def report(self, finding: Finding) -> None:
        """Add a finding and take the action.

        Raises:
            UndefinedBehaviorError: the action is ``"raise"``.
        """
        for observe in self.observers:
            observe(finding)
        key = (finding.check, finding.operation, finding.location)
        with self._lock:
            self.totals[key] += 1
            total = self.totals[key]
            if total <= MAX_FINDINGS_PER_OPERATION:
                self._findings.append(finding)
        if self.action == "raise":
            raise UndefinedBehaviorError(
                f"({finding.check}) {finding.message}", operation=finding.operation, location=finding.location
            )
        if self.action == "warn" and total == 1:
            warnings.warn(str(finding), SanitizerWarning, stacklevel=2)

    def clear(self) -> None:
        """Remove all findings."""
        with self._lock:
            self._findings.clear()
            self.totals.clear()

    def __len__(self) -> int:
        return len(self._findings)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> list[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | list[Finding]:
        return self._findings[index]

    def _repr_html_(self) -> str:
        """The findings for a notebook."""
        names = ("check", "operation", "what", "elements", "at")
        prose = ("what", "at")
        columns = [Column(name, right=name == "elements", shrinks=name in prose) for name in names]
        rows = [
            (one.check, one.operation, one.message, str(one.count), one.source or one.location)
            for one in self._findings
        ]
        title = f"{counted(sum(self.totals.values()), 'finding')} of the sanitizer"
        return report_html(title, (), *([Table(columns, rows)] if rows else []))

    def __repr__(self) -> str:
        return f"Findings({self._findings!r})"
