"""Finds the operations that make results depend on the schedule.

An operation is *responsible* for a result if it has other values under another schedule for the operands of
the first run, called the baseline run, and if running only this operation under that schedule changes the
result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ...errors import NimbleError
from ...program.ir import Module, Value, captured_values, operation_module
from ...program.ir.record import IdentityRecord
from ...program.ops.framework.verify import verify
from ...types import Array, TensorType, Type
from .comparison import ElementDifference, Extremes, compare, difference_at
from .grouped import GroupedResult, compare_grouped_results
from .runs import ExploredExecutable, ExploredStep, Run
from .schedules import Schedule

FAILURE: Final = -1
"""Represents a failing run among the numbers of results."""

MAX_RECORDED_CALLS: Final = 1000
"""Maximum number of calls of the baseline run that are recorded."""


@dataclass(eq=False, repr=False)
class LocalDifference:
    """The differences of one operation between schedules, for its operands in the baseline run.

    Attributes:
        step: the operation's step.
        calls: the number of its calls whose results differ.
        result: the index of its first result that differs.
        first, largest: the first and the largest difference in that result, in the first such call.
        operands, captures: the operands of that call, and the values that its regions capture.
        schedules: the schedules under which it differs.
    """

    step: ExploredStep
    calls: int
    result: int
    first: ElementDifference
    largest: ElementDifference
    operands: tuple[Array, ...]
    captures: tuple[Array, ...]
    schedules: list[Schedule] = field(default_factory=list)


class Call(IdentityRecord):
    """One call of an explored step in the baseline run."""

    step: ExploredStep
    operands: tuple[Array, ...]
    regions: Mapping[str, Any]
    results: tuple[Array, ...]


class Recording:
    """An observer that records the calls of a run until they need too much memory.

    Args:
        max_bytes: the memory for operands and results; a run that needs more is not recorded.
    """

    def __init__(self, max_bytes: int) -> None:
        self.calls: list[Call] | None = []
        self._remaining_bytes = max_bytes

    def __call__(self, *call: Any) -> None:
        if self.calls is not None:
            self.calls.append(Call(*call))
            self._remaining_bytes -= sum(array.nbytes for array in (*call[1], *call[3]))
            if self._remaining_bytes < 0 or len(self.calls) > MAX_RECORDED_CALLS:
                self.calls = None


def find_local_differences(
    executable: ExploredExecutable,
    inputs: tuple[Any, ...],
    schedules: Sequence[Schedule],
    recorded_calls: Sequence[Call] | None,
    grouped: dict[int, GroupedResult],
    replayed: Mapping[Schedule, Extremes | None],
) -> list[LocalDifference]:
    """The operations that differ by themselves under one of the schedules, in the order of their first call.

    Args:
        schedules: the first one is the baseline run's.
        recorded_calls: the calls of the baseline run; None: the program is run again.
        grouped: results of the baseline run that scatters of grouped updates computed, as in `Run`.
        replayed: the differences of the only recorded call under the schedules for which it was repeated.
    """
    differences: dict[int, LocalDifference] = {}

    def observe(*call: Any) -> None:
        _record_differences(Call(*call), schedules, grouped, replayed, differences)

    if recorded_calls is None:
        executable.run(Run(schedules[0], observer=observe), inputs)
    with np.errstate(all="ignore"):
        for call in recorded_calls or ():
            _record_differences(call, schedules, grouped, replayed, differences)
    return list(differences.values())


def _record_differences(
    call: Call,
    schedules: Sequence[Schedule],
    grouped: dict[int, GroupedResult],
    replayed: Mapping[Schedule, Extremes | None],
    differences: dict[int, LocalDifference],
) -> None:
    """Record the differences of a call between schedules."""
    step, differs = call.step, False
    for schedule in schedules[1:]:
        if getattr(schedule, step.order_option) == getattr(step.base, step.order_option):
            continue
        try:
            comparisons = [replayed[schedule]] if schedule in replayed else _compared(call, schedule, grouped)
        except NimbleError:
            continue
        for result, extremes in enumerate(comparisons):
            if extremes is None:
                continue
            differs = True
            if step.number not in differences:
                differences[step.number] = _local_difference(call, result, extremes, (schedules[0], schedule))
            if schedule not in differences[step.number].schedules:
                differences[step.number].schedules.append(schedule)
            break
    if differs:
        differences[step.number].calls += 1


def _compared(call: Call, schedule: Schedule, grouped: dict[int, GroupedResult]) -> list[Extremes | None]:
    """The differences of each of a call's results under another schedule."""
    baseline = grouped.get(id(call.results[0]))
    if baseline is not None:
        grouped_result = call.step.grouped_result(schedule, call.operands, with_result=False)
        if grouped_result is not None and grouped_result.groups is baseline.groups:
            return [compare_grouped_results(baseline, grouped_result, _type(call, 0))]
    results = call.step.results(schedule, call.operands, call.regions)
    return [
        compare(*arrays, _type(call, number))
        for number, arrays in enumerate(zip(call.results, results, strict=True))
    ]


def _type(call: Call, number: int) -> TensorType:
    """The type of one of a call's results, with the sizes that it has."""
    type = call.step.view.operation.results[number].type
    assert isinstance(type, TensorType)
    return type.with_shape(call.results[number].shape)


def _local_difference(
    call: Call, result: int, extremes: Extremes, schedules: tuple[Schedule, Schedule]
) -> LocalDifference:
    """The difference of an operation, from a call whose result differs."""
    first, largest = [
        difference_at(position, extremes, _type(call, result), schedules)
        for position in (extremes.first, extremes.largest)
    ]
    captures = next((region.captures for region in call.regions.values()), ())
    return LocalDifference(call.step, 0, result, first, largest, call.operands, captures)


def find_affected_results(
    run: Callable[[Run], Sequence[Array]],
    local: LocalDifference,
    schedules: Sequence[Schedule],
    baseline: Sequence[tuple[Array, TensorType]],
    candidates: set[int],
) -> set[int]:
    """The results, among the wanted ones, that change if only one operation follows another schedule.

    Args:
        run: runs the program and returns its results.
        local: the operation, with its own differences.
        schedules: the schedules that it follows, one run each.
        baseline: the results of the baseline run and their types.
        candidates: the numbers of results, and FAILURE if runs fail.
    """
    affected_results: set[int] = set()
    for schedule in schedules:
        try:
            results = run(Run(schedule, frozenset([local.step.number])))
        except NimbleError:
            affected_results.add(FAILURE)
            continue
        for number in candidates - affected_results - {FAILURE}:
            array, type = baseline[number]
            if compare(array, results[number], type) is not None:
                affected_results.add(number)
        if affected_results >= candidates:
            break
    return affected_results & candidates


def flatten_results(values: Sequence[Any]) -> list[Array]:
    """The arrays among results, those in tuples too."""
    arrays: list[Array] = []
    for value in values:
        arrays += flatten_results(value) if isinstance(value, tuple) else [value]
    return arrays


def shrink(local: LocalDifference) -> tuple[Module, list[Array]]:
    """A program of one operation, and operands for which it depends on the schedule."""
    operation = local.step.view.operation
    captured = captured_values(operation.regions)
    if len(captured) != len(local.captures):
        raise NimbleError("captures unknown values", operation=operation.name)
    values = [*operation.operands, *captured]
    arrays = [*local.operands, *local.captures]
    types = [_static_type(value, array) for value, array in zip(values, arrays, strict=True)]
    module = operation_module(operation, captured, types)
    verify(module)
    return module, arrays


def _static_type(value: Value, array: Array) -> Type:
    """A value's type, with the sizes that it has."""
    type = value.type
    return type.with_shape(array.shape) if isinstance(type, TensorType) and not type.is_static else type
