"""Programs that run NumPy's loops row by row, on all threads: clusters until native code pays, and operations
on elements that have none.

A program's loops are those that the references of the cluster's operations call, so that the results have the
same bits; what passes between operations stays in the cache, and nothing is compiled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Any, Final, NamedTuple

from ...codegen.reductions.iteration_space import AxesOf, shape_of
from ...codegen.reductions.row_tiling import RowForm, row_form
from ...ir import Block, Operation
from ...ir.structural_key import structural_key
from ...kernels.launch import ufunc_program as kinds
from ...kernels.launch.native import Launch, NativeFunction
from ...kernels.launch.threads import division
from ...ops.elementwise.base import Elementwise
from ...ops.framework.declaration import Op, lookup
from ...ops.framework.memory_limit import bytes_of
from ...ops.framework.verify import view_of
from ...recent import Recent
from ...specialize.utils.rewriter import tensor_type
from ..tiering.cost_model import BYTES_A_SECOND, IN_SCIPY
from .ufunc_recorder import MOST_OPERANDS, RowRecorder, RowValue
from .ufunc_traces import Untraceable

COLUMNS_AT_A_TIME: Final = 1024
"""Columns that are computed at a time where no row is reduced."""

LEAST_COLUMNS: Final = 64
"""Of fewer columns, calling the loops would take longer than they do."""

_SHARE = 0.3
"""A program's share of the time that references take on whole arrays, on one thread."""

_ALIGNMENT = 64


class RowProgram(NamedTuple):
    """A cluster as a program.

    Attributes:
        function: from operands to the result or results.
        kind: clusters of one kind are equal, as long as they are there.
    """

    function: Callable[..., Any]
    kind: Hashable


def row_program(block: Block, threads: int | None, reference_seconds: float) -> RowProgram | None:
    """A cluster's program, or None where there can be none.

    Args:
        block: the cluster's.
        threads: most threads that it may use; None: all.
        reference_seconds: how long references take on whole arrays, one by one.
    """
    identity, kept = structural_key(block)
    key = identity, threads
    known = _known.get(key)
    if known is None:
        function = _function(block, threads, reference_seconds * _SHARE)
        known = None if function is None else RowProgram(function, identity), kept
        _known.keep(key, known)
    return known[0]


_known: Recent[tuple[Hashable, int | None], tuple[RowProgram | None, list[object]]] = Recent(64)
"""By a block's likeness and the threads, with what that stands for: layers have equal clusters."""


def _function(block: Block, threads: int | None, seconds: float) -> NativeFunction | None:
    results = block.terminator.operands
    count = len(block.arguments) + len(results)
    recorded = recorded_program(block)
    if recorded is None:
        return None
    recorder, at_a_time = recorded
    form = recorder.form
    units = form.rows * -(-form.columns // at_a_time)
    tasks, units_per_task = division(units, seconds / units * BYTES_A_SECOND)
    accesses = tuple([(number if number < count else 0, 0) for number in range(kinds.ARRAYS)])
    words = _words(recorder, at_a_time, units_per_task)
    return NativeFunction(
        [bytes_of(value.type) for value in block.arguments],
        [(shape_of(value), tensor_type(value).dtype) for value in results],
        [Launch(kinds.address(), tasks, accesses, words, seconds)],
        threads,
    )


def recorded_program(block: Block) -> tuple[RowRecorder, int] | None:
    """A cluster's instructions, whose values have their places, and how many columns are computed at a time;
    None where there can be no program."""
    count = len(block.arguments) + len(block.terminator.operands)
    form = _form_of(block)
    if form is None or form.columns < LEAST_COLUMNS or count > kinds.ARRAYS:
        return None
    try:
        recorder = RowRecorder(block, form)
        at_a_time = form.columns if recorder.reduces else min(COLUMNS_AT_A_TIME, form.columns)
        _lay_out(recorder, at_a_time)
    except Untraceable:
        return None
    return recorder, at_a_time


def _form_of(block: Block) -> RowForm | None:
    """The cluster in a space of rows and columns."""
    names = {operation.name for operation in block.operations}
    # SciPy's loops may warn and raise, for which other threads have no place; and importing it takes long.
    if names & IN_SCIPY:
        return None
    if "stablehlo.reduce" in names:
        return row_form(block, view_of)
    shape = shape_of(block.terminator.operands[0])
    axes = AxesOf(shape, range(len(shape)), view_of, _is_elementwise).of(block)
    if axes is None or not all(shape):
        return None
    for row_rank in range(len(shape)):
        form = RowForm(shape, row_rank, axes)
        if all(form.column_step(value) is not None for value in block.arguments):
            return form
    return None


def _is_elementwise(operation: Operation) -> bool:
    return issubclass(lookup(operation.name) or Op, Elementwise)


def _lay_out(recorder: RowRecorder, at_a_time: int) -> None:
    """Give the values that pass between instructions their places: those that are not used any more make room
    for others.

    Raises:
        Untraceable: there is not enough room.
    """
    uses = [dict.fromkeys((*one.operands, one.result)) for one in recorder.instructions]
    last = {number: place for place, used in enumerate(uses) for number in used}
    free: defaultdict[int, list[int]] = defaultdict(list)
    placed: set[int] = set()
    end = 0
    for place, used in enumerate(uses):
        between = [number for number in used if recorder.values[number].source == kinds.SCRATCH]
        for number in between:
            if number not in placed:
                value = recorder.values[number]
                size = room_of(value, at_a_time)
                value.word = free[size].pop() if free[size] else end
                end = max(end, value.word + size)
                placed.add(number)
        for number in between:
            if last[number] == place:
                value = recorder.values[number]
                free[room_of(value, at_a_time)].append(value.word)
    if end > kinds.SCRATCH_BYTES or len(recorder.values) > kinds.MOST_VALUES:
        raise Untraceable("takes too much memory, or too many values")


def room_of(value: RowValue, at_a_time: int) -> int:
    """The bytes that a value takes, in whole lines of the cache, and one more for what a fold carries up."""
    count = at_a_time if value.is_whole else 1
    return (-(-count * value.item // _ALIGNMENT) + 1) * _ALIGNMENT


def _words(recorder: RowRecorder, at_a_time: int, units_per_task: int) -> tuple[int, ...]:
    """The program as words: see `kernels/launch/ufunc_program.h`."""
    form, rank = recorder.form, recorder.form.row_rank
    words = [form.rows, form.columns, at_a_time, units_per_task]
    words += [rank, len(recorder.values), len(recorder.instructions), *form.shape[:rank]]
    for value in recorder.values:
        words += [value.source, value.word, value.column_step, *(value.row_steps or [0] * rank)]
    for one in recorder.instructions:
        item = recorder.values[one.result].item
        given = [*one.operands, *([0] * MOST_OPERANDS if one.kind == kinds.APPLY else [item])]
        words += [one.kind, *one.loop, int(one.takes_whole), len(one.operands)]
        words += [*given[:MOST_OPERANDS], one.result]
    return tuple(words)
