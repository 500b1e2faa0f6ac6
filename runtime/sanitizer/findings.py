"""Findings of the sanitizer: their record and the action on each."""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, overload

from ..errors import UndefinedBehaviorError

MAX_FINDINGS_PER_OPERATION: Final = 16
"""Maximum number of stored findings per check and operation; all are counted."""

Key = tuple[str, str, str]
"""A check, an operation's name and its location."""


class SanitizerWarning(RuntimeWarning):
    """Tells of a finding under `Options(sanitize_action="warn")`."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation that a check found in one run of an operation.

    Attributes:
        index: where, in the array that the check speaks of.
        value: what is there, as Python's own numbers.
        message: all of it in words.
        count: how many elements are like that.
    """

    index: tuple[int, ...]
    value: Any
    message: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding. docs/sanitizer.md describes index and value for each check.

    Attributes:
        check: which check found it, one of `nimblehlo.options.CHECKS`.
        operation: name of the operation, such as ``"stablehlo.gather"``.
        location: where it stands in the program, as text.
        index: of the first element concerned, in the array as the operation was run on it.
        value: what is there.
        message: what is wrong, in words.
        count: how many elements of this run of the operation are concerned.
        source: ``file:line`` of the source line that the operation comes from, for programs of JAX the user's
            Python line; None where the location names none.
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

    Of each check, operation and location the first MOST_KEPT are kept.

    Args:
        action: see `Options.sanitize_action`.

    Attributes:
        totals: how many there were for each (check, operation, location), those that are not kept included.
        observers: are called with each finding, before anything is done with it.
    """

    def __init__(self, action: str = "collect") -> None:
        self.action = action
        self.totals: Counter[Key] = Counter()
        self.observers: list[Callable[[Finding], None]] = []
        self._findings: list[Finding] = []
        self._lock = threading.Lock()

    def report(self, finding: Finding) -> None:
        """Enter a finding, and act on it.

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
        """Forget all of them."""
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

    def __repr__(self) -> str:
        return f"Findings({self._findings!r})"
