"""Which operations make results depend on the schedule.

An operation is *responsible* for a result where it gives other values under another schedule for the operands
of the plain run, and where running it alone under that schedule changes the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ..errors import NimbleError
from ..ir import Block, Builder, Function, Module, Operation, Region, Value, captured_values
from ..ir.record import Distinct
from ..ops.framework.verify import verify
from ..types import FunctionType, TensorType
from .differences import Difference, Extremes, compare, difference_at
from .grouped import Made, compare_made
from .runs import Explored, ExploredExecutable, Run
from .schedules import Schedule

FAILURE: Final = -1
"""Stands among the numbers of results for that a run fails."""

MOST_RECORDED: Final = 1000
"""How many calls of the plain run are kept."""


@dataclass(eq=False, repr=False)
class Local:
    """What an operation does by itself, for operands of the plain run.

    Attributes:
        step: the operation's step.
        calls: how many of its calls differed.
        result: which of its results differs first.
        first, greatest: differences in that result, of the first such call.
        operands, captures: what that call was given.
        schedules: those under which it differs.
    """

    step: Explored
    calls: int
    result: int
    first: Difference
    greatest: Difference
    operands: tuple[Any, ...]
    captures: tuple[Any, ...]
    schedules: list[Schedule] = field(default_factory=list)


class Call(Distinct):
    """One call of an explored step in the plain run."""

    step: Explored
    operands: tuple[Any, ...]
    regions: Mapping[str, Any]
    results: tuple[Any, ...]


class Recording:
    """An observer that keeps the calls of a run, as long as they hold few bytes.

    Args:
        most_bytes: of operands and results; once there are more, nothing is kept.
    """

    def __init__(self, most_bytes: int) -> None:
        self.calls: list[Call] | None = []
        self._left = most_bytes

    def __call__(self, *call: Any) -> None:
        if self.calls is not None:
            self.calls.append(Call(*call))
            self._left -= sum(array.nbytes for array in (*call[1], *call[3]))
            if self._left < 0 or len(self.calls) > MOST_RECORDED:
                self.calls = None


def find_local(
    executable: ExploredExecutable,
    inputs: tuple[Any, ...],
    schedules: Sequence[Schedule],
    recorded: Sequence[Call] | None,
    made: dict[int, Made],
    alone: Mapping[Schedule, Extremes | None],
) -> list[Local]:
    """The operations that differ by themselves under one of the schedules, in the order of their first call.

    Args:
        schedules: the first one is the plain run's.
        recorded: the calls of the plain run; None: it is run again.
        made: what is known of results of the plain run, as in `Run`.
        alone: how the one result of the only recorded call differs under some schedules, where that is known.
    """
    found: dict[int, Local] = {}

    def look(*call: Any) -> None:
        _look(Call(*call), schedules, made, alone, found)

    if recorded is None:
        executable.run(Run(schedules[0], observer=look), inputs)
    with np.errstate(all="ignore"):
        for call in recorded or ():
            _look(call, schedules, made, alone, found)
    return list(found.values())


def _look(
    call: Call,
    schedules: Sequence[Schedule],
    made: dict[int, Made],
    alone: Mapping[Schedule, Extremes | None],
    found: dict[int, Local],
) -> None:
    """Enter what a call differs in."""
    step, differs = call.step, False
    for schedule in schedules[1:]:
        if getattr(schedule, step.knob) == getattr(step.base, step.knob):
            continue
        try:
            comparisons = [alone[schedule]] if schedule in alone else _compared(call, schedule, made)
        except NimbleError:
            continue
        for result, extremes in enumerate(comparisons):
            if extremes is None:
                continue
            differs = True
            if step.number not in found:
                found[step.number] = _local(call, result, extremes, (schedules[0], schedule))
            if schedule not in found[step.number].schedules:
                found[step.number].schedules.append(schedule)
            break
    if differs:
        found[step.number].calls += 1


def _compared(call: Call, schedule: Schedule, made: dict[int, Made]) -> list[Extremes | None]:
    """How each of a call's results differs under another schedule."""
    plain = made.get(id(call.results[0]))
    if plain is not None:
        other = call.step.made(schedule, call.operands, is_whole=False)
        if other is not None and other.groups is plain.groups:
            return [compare_made(plain, other, _type(call, 0))]
    others = call.step.results(schedule, call.operands, call.regions)
    return [
        compare(*arrays, _type(call, number))
        for number, arrays in enumerate(zip(call.results, others, strict=True))
    ]


def _type(call: Call, number: int) -> TensorType:
    """The type of one of a call's results, with the sizes that it has."""
    type = call.step.view.operation.results[number].type
    assert isinstance(type, TensorType)
    return type.with_shape(call.results[number].shape)


def _local(call: Call, result: int, extremes: Extremes, schedules: tuple[Schedule, Schedule]) -> Local:
    """What a call whose result differs tells of its operation."""
    first, greatest = [
        difference_at(place, extremes, _type(call, result), schedules)
        for place in (extremes.first, extremes.greatest)
    ]
    captures = next((region.captures for region in call.regions.values()), ())
    return Local(call.step, 0, result, first, greatest, call.operands, captures)


def find_reached(
    run: Callable[[Run], Sequence[Any]],
    local: Local,
    schedules: Sequence[Schedule],
    plain: Sequence[tuple[Any, TensorType]],
    wanted: set[int],
) -> set[int]:
    """The results, out of those wanted, that change where one operation alone follows another schedule.

    Args:
        run: gives the results of a run.
        local: what the operation does by itself.
        schedules: those that it follows, one after the other.
        plain: the results of the plain run and their types.
        wanted: numbers of results, and FAILURE where runs fail.
    """
    reached: set[int] = set()
    for schedule in schedules:
        try:
            results = run(Run(schedule, frozenset([local.step.number])))
        except NimbleError:
            reached.add(FAILURE)
            continue
        for number in wanted - reached - {FAILURE}:
            array, type = plain[number]
            if compare(array, results[number], type) is not None:
                reached.add(number)
        if reached >= wanted:
            break
    return reached & wanted


def leaves(values: Sequence[Any]) -> list[Any]:
    """The arrays among results, those in tuples too."""
    found: list[Any] = []
    for value in values:
        found += leaves(value) if isinstance(value, tuple) else [value]
    return found


def shrink(local: Local) -> tuple[Module, list[Any]]:
    """A program of one operation, and the operands for which it depends on the schedule."""
    operation = local.step.view.operation
    captured = captured_values(operation.regions)
    if len(captured) != len(local.captures):
        raise NimbleError("captures values that are not known", operation=operation.name)
    values = [*operation.operands, *captured]
    arrays = [*local.operands, *local.captures]
    types = [_known(value, array) for value, array in zip(values, arrays, strict=True)]
    module = _module_of(operation, values, types)
    verify(module)
    return module, arrays


def _known(value: Value, array: Any) -> Any:
    """A value's type, with the sizes that it has."""
    type = value.type
    return type.with_shape(array.shape) if isinstance(type, TensorType) and not type.is_static else type


def _module_of(operation: Operation, values: Sequence[Value], types: Sequence[Any]) -> Module:
    block = Block(types)
    builder = Builder(block)
    # A value that occurs several times has as many arguments, the last one of which is what regions capture.
    mapping: dict[Value, Value] = dict(zip(values, block.arguments, strict=True))
    copied = builder.copy(operation, mapping)
    count = len(operation.operands)
    copied.operands = tuple(block.arguments[:count])
    builder.create("func.return", copied.results, location=operation.location)
    results = [result.type for result in copied.results]
    function = Function("main", FunctionType(types, results), Region([block]), location=operation.location)
    return Module([function])
