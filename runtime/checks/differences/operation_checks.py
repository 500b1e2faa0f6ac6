"""What a comparison found of each operation: how far a backend's results are from ours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ...inspection.tables import Column, Style, Table, short_operation
from ...program.ir import Operation, source_line
from ...program.ir.record import Record
from ...types import Array
from ..error_bounds.ulps import distance, is_inexact, ulp


class OperationCheck(Record):
    """An operation whose results were compared, the worst of its runs.

    Attributes:
        operation: its name.
        location: its source location.
        source: ``file:line`` of the user's code, or None.
        ulps: the largest distance from NimbleHLO's results, in units in the last place; infinite where one of
            them is NaN or infinite, or where integers or booleans differ.
        is_within: whether all results lie within their bounds.
        runs: how many runs were compared.
    """

    operation: str
    location: str
    source: str | None
    ulps: float
    is_within: bool
    runs: int = 1


class OperationChecks:
    """Collects the checks of operations."""

    def __init__(self) -> None:
        self._checks: dict[tuple[str, str], OperationCheck] = {}

    def add(
        self, operation: Operation, ours: Sequence[Array], theirs: Sequence[Array], is_within: bool
    ) -> None:
        """Note a run of an operation."""
        location = str(operation.location)
        before = self._checks.get((operation.name, location))
        ulps = largest_distance(zip(ours, theirs, strict=True))
        self._checks[operation.name, location] = OperationCheck(
            operation.name,
            location,
            source_line(operation.location),
            max(ulps, before.ulps if before else 0.0),
            is_within and (before is None or before.is_within),
            1 + (before.runs if before else 0),
        )

    def listed(self) -> tuple[OperationCheck, ...]:
        """The operations in the order in which they were first compared."""
        return tuple(self._checks.values())


def largest_distance(pairs: Iterable[tuple[Array, Array]]) -> float:
    """The largest distance between results, in units in the last place of the first ones."""
    largest = 0.0
    for ours, theirs in pairs:
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return math.inf
        if not ours.size or ours.tobytes() == theirs.tobytes():
            continue
        if not is_inexact(ours.dtype):
            return math.inf
        with np.errstate(over="ignore", invalid="ignore"):
            ulps = distance(theirs, ours) / ulp(ours)
        largest = max(largest, float(np.nan_to_num(ulps, nan=math.inf).max()))
    return largest


def checks_table(checks: Sequence[OperationCheck]) -> Table:
    """The operations that differ, those beyond their bounds first."""
    differing = [check for check in checks if check.ulps or not check.is_within]
    differing.sort(key=lambda check: (check.is_within, -check.ulps))
    columns = (
        Column("operation", shrinks=True, short=short_operation),
        Column("ulps", right=True),
        Column("bound"),
        Column("runs", right=True),
        Column("at", shrinks=True),
    )
    rows = [
        (
            check.operation,
            f"{check.ulps:.3g}",
            "within" if check.is_within else "beyond",
            str(check.runs),
            check.source or check.location,
        )
        for check in differing
    ]
    styles: list[Style] = ["" if check.is_within else "bad" for check in differing]
    return Table(columns, rows, styles)
