"""The result of an exploration: as objects, a table, JSON and a plot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import UnsupportedError
from ...inspection.tables import Column, Style, Table, Terminal, coloured, report_html, wrapped
from ...program.ir import Module
from ...program.ir.record import IdentityRecord, Record
from ...types import INTEGER, Array, TensorType
from .comparison import ElementDifference, Range
from .schedules import Schedule

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MAX_DRAWN_ELEMENTS = 2000
"""Maximum number of elements of a result that are plotted: those with the largest spread."""


class ResultReport(IdentityRecord):
    """A result of the program.

    Attributes:
        name: its number; ``"0.1"`` is element 1 of the tuple 0.
        type: its type.
        baseline: its value in the baseline run.
        first, largest: the first element that differs in some schedule, with the two schedules, and the
            element with the largest difference; None if the result is the same in all schedules.
        elements: the number of elements that differ in some schedule.
        schedules: the number of schedules whose results differ from the baseline run.
        operations: the indices of the responsible operations in `Exploration.operations`.
        range: the minimum and maximum of each element.
    """

    name: str
    type: TensorType
    baseline: Array
    first: ElementDifference | None
    largest: ElementDifference | None
    elements: int
    schedules: int
    operations: tuple[int, ...]
    range: Range

    @property
    def depends(self) -> bool:
        """Whether the result depends on the schedule."""
        return self.first is not None

    @property
    def minimum(self) -> Array | None:
        """The smallest value of each element of the flattened result in all schedules, except for NaN, in the
        result's type or f64; None if the result does not differ or is complex."""
        return self.range.minimum

    @property
    def maximum(self) -> Array | None:
        """The largest value of each element, likewise."""
        return self.range.maximum


class OperationReport(IdentityRecord):
    """An operation that makes results depend on the schedule.

    Attributes:
        name: for example ``stablehlo.scatter``.
        location: its source location.
        option: the option that determines its order.
        calls: the number of its calls in the baseline run whose results depend on the schedule.
        result: the index of its own result that differs.
        first, largest: the first and the largest difference in that result, in the first such call.
        results: the names of the program's results that change if only this operation changes its order.
        fails: whether runs fail if only this operation changes its order.
        module: a program that consists of this operation.
        inputs: the operands of that call, for `module`.
        source: ``file:line`` of the source line of the operation, which is the user's Python line for
            programs of JAX; None if the location has none.
    """

    name: str
    location: str
    option: str
    calls: int
    result: int
    first: ElementDifference
    largest: ElementDifference
    results: tuple[str, ...]
    fails: bool
    module: Module
    inputs: Sequence[Any]
    source: str | None = None

    def __str__(self) -> str:
        return f"{self.name} at {self.location}"


class Failure(Record):
    """A run that failed although the baseline run did not, because of a check in the program or a limit."""

    schedule: Schedule
    message: str


class Exploration(IdentityRecord):
    """The result of `nimblehlo.explore`; ``str()`` formats it as a table.

    Attributes:
        results: a report for each result.
        operations: the responsible operations, in the order in which they run.
        explored: the number of operations whose order was varied.
        unexplored: the number of operations, by name, whose order is undefined too, but which no option
            controls.
        schedules: the schedules of the runs; the first one is that of the options.
        failures: the runs that failed.
        seconds: the duration of the exploration.
        workers: the number of concurrent runs.
    """

    results: Sequence[ResultReport]
    operations: Sequence[OperationReport]
    explored: int
    unexplored: dict[str, int]
    schedules: Sequence[Schedule]
    failures: Sequence[Failure]
    seconds: float
    workers: int

    @property
    def depends(self) -> bool:
        """Whether a result depends on the schedule, or a run failed."""
        return bool(self.failures) or any(result.depends for result in self.results)

    def __str__(self) -> str:
        return self.table()

    def table(self, output: Terminal = Terminal()) -> str:  # noqa: B008 (records do not change)
        """A summary, a table of the results, and below it schedules and responsible operations.

        Args:
            output: the width that its lines fit, and whether they are coloured.
        """
        style: Style = "bad" if self.depends else "good"
        summary = [coloured(line, style, output) for line in wrapped(_summary(self), output)]
        details = [line for text in _details(self) for line in wrapped(text, output)]
        return "\n".join([*summary, *results_table(self).lines(output), *details])

    def _repr_html_(self) -> str:
        """The report for a notebook."""
        return report_html(_summary(self), (), results_table(self), closing_lines=list(_details(self)))

    def as_dict(self) -> dict[str, Any]:
        """Everything except arrays and modules, in the form of JSON."""
        return {
            "depends": self.depends,
            "results": [_result_dict(result, self.schedules) for result in self.results],
            "operations": [_operation_dict(operation, self.schedules) for operation in self.operations],
            "explored": self.explored,
            "unexplored": self.unexplored,
            "schedules": [_schedule_dict(schedule) for schedule in self.schedules],
            "failures": [
                {"schedule": list(self.schedules).index(failure.schedule), "message": failure.message}
                for failure in self.failures
            ],
            "seconds": self.seconds,
            "workers": self.workers,
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """`as_dict` as JSON text.

        Args:
            path: where it is stored too, or None.
        """
        text = json.dumps(self.as_dict(), indent=1)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw for each result that depends, and is not complex, how far its elements spread.

        Args:
            path: where the drawing is stored, in the form that its ending names; or None.

        Raises:
            UnsupportedError: matplotlib (the extra ``plot``) is not installed.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise UnsupportedError("drawing needs matplotlib: install the extra, 'nimblehlo[plot]'") from None
        drawn = [result for result in self.results if result.minimum is not None]
        figure = Figure(figsize=(8, 1 + 2.4 * max(1, len(drawn))), layout="constrained")
        for number, result in enumerate(drawn):
            axes = figure.add_subplot(len(drawn), 1, number + 1)
            _draw(axes, result, len(self.schedules))
        if not drawn:
            figure.text(0.5, 0.5, "no result depends on the schedule", ha="center", va="center")
        if path is not None:
            figure.savefig(path)
        return figure


def _draw(axes: Any, result: ResultReport, schedules: int) -> None:
    """Draw the range of each element relative to its value in the baseline run."""
    assert result.minimum is not None and result.maximum is not None
    baseline = result.baseline.reshape(-1).astype(np.float64)
    with np.errstate(all="ignore"):
        below, above = result.minimum - baseline, result.maximum - baseline
        gaps = np.nan_to_num(above - below, nan=0.0, posinf=np.inf)
    shown = np.flatnonzero(gaps > 0)
    if shown.size > MAX_DRAWN_ELEMENTS:
        shown = np.sort(shown[np.argsort(gaps[shown], kind="stable")[-MAX_DRAWN_ELEMENTS:]])
    axes.vlines(shown, below[shown], above[shown], lw=1)
    axes.plot(shown, np.zeros(shown.size), ".", ms=2, color="black")
    axes.set_title(f"result {result.name}: {result.type}, {schedules} schedules", fontsize="small")
    axes.set_xlabel("element", fontsize="small")
    axes.set_ylabel("value - baseline", fontsize="small")


_COLUMNS: Final = (
    Column("result"),
    Column("type", shrinks=True),
    Column("depends"),
    Column("elements", rank=1),
    Column("first", rank=5),
    Column("values", shrinks=True, least=24, rank=4),
    Column("distance", rank=3),
    Column("largest", rank=2),
)


def _summary(exploration: Exploration) -> str:
    dependent = sum(result.depends for result in exploration.results)
    tried = f"{len(exploration.schedules)} schedules of {exploration.explored} operations"
    if not exploration.explored:
        tried = "no operation has an order that could matter"
    return (
        f"{dependent} of {len(exploration.results)} results depend on the schedule; {tried}, "
        f"{exploration.seconds:.3g} s"
    )


def results_table(exploration: Exploration) -> Table:
    """A row for each result."""
    styles: list[Style] = ["bad" if result.depends else "" for result in exploration.results]
    return Table(_COLUMNS, list(map(_row, exploration.results)), styles)


def _details(exploration: Exploration) -> Iterator[str]:
    """The schedules between which results differ, and the responsible operations."""
    for result in exploration.results:
        if result.first is not None:
            yield f"result {result.name} differs between"
            yield from (f"  {schedule}" for schedule in result.first.schedules)
    for failure in exploration.failures[:1]:
        yield f"{len(exploration.failures)} runs fail, the first one under"
        yield f"  {failure.schedule}"
        yield f"  {failure.message}"
    for operation in exploration.operations:
        results = [f"result {name}" for name in operation.results]
        affected_results = ", ".join([*results, *["whether runs fail"] * operation.fails]) or "none by itself"
        yield f"responsible: {operation}"
        yield f"  changes: {affected_results}; calls that differ: {operation.calls}"
        yield f"  its own first difference: {_difference_text(operation.first, _distance_unit(operation))}"
    for name, count in exploration.unexplored.items():
        yield f"not explored: {count} {name}"


def _distance_unit(operation: OperationReport) -> str:
    type = operation.module.functions["main"].type.results[operation.result]
    return _distance_unit_of(type) if isinstance(type, TensorType) else ""


def _distance_unit_of(type: TensorType) -> str:
    return "" if type.category & INTEGER else "ulps"


def _row(result: ResultReport) -> Sequence[str]:
    if result.first is None or result.largest is None:
        return result.name, str(result.type), "no", "", "", "", "", ""
    unit = _distance_unit_of(result.type)
    return (
        result.name,
        str(result.type),
        "yes",
        f"{result.elements} of {result.baseline.size}",
        _index_text(result.first),
        _values_text(result.first),
        _distance_text(result.first, unit),
        f"{_distance_text(result.largest, unit)} at {_index_text(result.largest)}",
    )


def _index_text(difference: ElementDifference) -> str:
    return f"[{', '.join(map(str, difference.index))}]"


def _values_text(difference: ElementDifference) -> str:
    return " | ".join(map(str, difference.values))


def _distance_text(difference: ElementDifference, unit: str) -> str:
    if difference.distance == 1:
        unit = unit.removesuffix("s")
    return "NaN" if difference.distance is None else f"{difference.distance} {unit}".rstrip()


def _difference_text(difference: ElementDifference, unit: str) -> str:
    where, values = _index_text(difference), _values_text(difference)
    return f"{values} at {where}, {_distance_text(difference, unit)}"


def _schedule_dict(schedule: Schedule) -> dict[str, Any]:
    """Tuples become lists."""
    fields = schedule._asdict().items()
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields}


def _difference_dict(
    difference: ElementDifference | None, schedules: Sequence[Schedule]
) -> dict[str, Any] | None:
    """A difference; schedules by their numbers, values as text."""
    if difference is None:
        return None
    return {
        "index": list(difference.index),
        "values": [str(value) for value in difference.values],
        "distance": difference.distance,
        "schedules": [list(schedules).index(schedule) for schedule in difference.schedules],
    }


def _result_dict(result: ResultReport, schedules: Sequence[Schedule]) -> dict[str, Any]:
    return {
        "name": result.name,
        "type": str(result.type),
        "depends": result.depends,
        "elements": result.elements,
        "schedules": result.schedules,
        "operations": list(result.operations),
        "first": _difference_dict(result.first, schedules),
        "largest": _difference_dict(result.largest, schedules),
    }


def _operation_dict(operation: OperationReport, schedules: Sequence[Schedule]) -> dict[str, Any]:
    return {
        "name": operation.name,
        "location": operation.location,
        "option": operation.option,
        "calls": operation.calls,
        "result": operation.result,
        "results": list(operation.results),
        "fails": operation.fails,
        "first": _difference_dict(operation.first, schedules),
        "largest": _difference_dict(operation.largest, schedules),
        "module": str(operation.module),
    }
