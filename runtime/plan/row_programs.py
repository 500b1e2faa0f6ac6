"""Clusters as programs that run NumPy's loops row by row, on all threads, until native code pays.

A program's loops are those that the references of the cluster's operations call, so that the results have the
same bits; what passes between operations stays in the cache, and nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ..codegen.row_form import RowForm, row_form
from ..codegen.space import AxesOf, is_computed, shape_of
from ..ir import Block, DenseElementsAttribute, Operation, Value
from ..ir.likeness import likeness
from ..ops.reduction import Reduce
from ..ops.verify import view_of
from ..recent import Recent
from ..types import TensorType
from .estimates import IN_SCIPY
from .ufunc_traces import Traced, Untraceable, trace

COLUMNS_AT_A_TIME: Final = 1024
"""Columns that are computed at a time where no row is reduced."""

LEAST_COLUMNS: Final = 64
"""Of fewer columns, calling the loops would take longer than they do."""

_SHARE = 0.3
"""A program's share of the time that references take on whole arrays, on one thread."""

_MOST_OPERANDS = 3
_ALIGNMENT = 64
_BYTES_A_SECOND = 1e10
_SAME_PLACES = frozenset({"stablehlo.broadcast_in_dim", "stablehlo.reshape"})
_REDUCED_BY_UFUNC = {"maximum": np.maximum, "minimum": np.minimum}


class _Value:
    """A value of a program.

    Attributes:
        source: the number of its array, `SCRATCH` or `CONSTANT`.
        word: its offset in bytes, or a constant's bits.
        item: bytes of an element.
        is_whole: whether it differs from column to column.
        column_step, row_steps: in bytes.
        last: the last instruction that uses it.
    """

    __slots__ = ("column_step", "is_whole", "item", "last", "row_steps", "source", "word")

    def __init__(self, source: int, item: int, is_whole: bool, word: int = 0) -> None:
        self.source = source
        self.item = item
        self.is_whole = is_whole
        self.word = word
        self.column_step = item if is_whole else 0
        self.row_steps: Sequence[int] = ()
        self.last = -1


class _Program:
    """Takes down a block's loops; a `Recorder`."""

    def __init__(self, block: Block, form: RowForm) -> None:
        from ..kernels import row_programs

        self.kinds = row_programs
        self.block = block
        self.form = form
        self.values: list[_Value] = []
        self.instructions: list[tuple[int, tuple[int, int], bool, tuple[int, ...], int, int]] = []
        self.traced: dict[Value, Traced] = {}
        self.reduces = False
        for number, argument in enumerate(block.arguments):
            self.traced[argument] = Traced(self, self.array(number, argument), _dtype(argument))
        for operation in block.operations[:-1]:
            self.traced[operation.result] = self.result_of(operation)
        for number, result in enumerate(block.terminator.operands, len(block.arguments)):
            self.write(number, result)

    def add(self, value: _Value) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def array(self, number: int, value: Value) -> int:
        """An operand's or result's elements."""
        made = _Value(number, _dtype(value).itemsize, self.form.along_columns(value))
        self.place(made, value)
        return self.add(made)

    def place(self, made: _Value, value: Value) -> None:
        """Let a value be where an array's elements are."""
        step = self.form.column_step(value)
        if step is None:
            raise Untraceable("has columns that are not at one distance")
        made.column_step = step * made.item
        made.row_steps = [step * made.item for step in self.form.steps(value)[: self.form.row_rank]]

    def constant(self, value: Any) -> int:
        """See `Recorder`."""
        if value.dtype.itemsize > 8:
            raise Untraceable("has large elements")
        bits = int.from_bytes(value.tobytes().ljust(8, b"\0"), "little", signed=True)
        return self.add(_Value(self.kinds.CONSTANT, value.dtype.itemsize, False, bits))

    def apply(self, loop: tuple[int, int], operands: tuple[int, ...], result: np.dtype[Any]) -> int:
        """See `Recorder`."""
        if len(operands) > _MOST_OPERANDS:
            raise Untraceable("has too many operands")
        is_whole = any(self.values[number].is_whole for number in operands)
        return self.enter(self.kinds.APPLY, loop, is_whole, operands, result.itemsize, is_whole)

    def enter(
        self,
        kind: int,
        loop: tuple[int, int],
        takes_whole: bool,
        operands: tuple[int, ...],
        item: int,
        is_whole: bool,
    ) -> int:
        """Enter an instruction; the number of its result."""
        made = self.add(_Value(self.kinds.SCRATCH, item, is_whole))
        self.instructions.append((kind, loop, takes_whole, operands, item, made))
        return made

    def result_of(self, operation: Operation) -> Traced:
        """An operation's result."""
        operands = [self.traced[operand] for operand in operation.operands]
        if operation.name in _SAME_PLACES:
            return operands[0]
        if operation.name == "stablehlo.constant":
            attribute = operation.attributes["value"]
            if not isinstance(attribute, DenseElementsAttribute) or not is_computed(operation):
                raise Untraceable("has a constant of several elements")
            return Traced(self, self.constant(attribute.array.flat[0]), attribute.array.dtype)
        view = view_of(operation)
        if isinstance(view, Reduce):
            return self.reduction(view, operands[0], operands[1])
        if operation.regions or operation.name == "stablehlo.iota":
            raise Untraceable(f"has {operation.name}")
        return trace(view.bind(), tuple(operands))

    def reduction(self, view: Reduce, operand: Traced, init_value: Traced) -> Traced:
        """The reduction of each row."""
        self.reduces = True
        analysis, dtype = view.analysis, operand.dtype
        fold = analysis.monoid_fold(view.ordering.accumulate)
        if not self.values[operand.number].is_whole or dtype != _dtype(view.operation.result):
            raise Untraceable("reduces what does not differ, or to another type")
        if analysis.finds_extreme:
            return self.extreme(str(analysis.monoid), operand, init_value)
        if fold is None or fold.ufunc is None or fold.dtypes[0] != dtype:
            raise Untraceable("reduces by what is no function of NumPy's")
        kind, item = self.kinds.REDUCE if fold.is_exact else self.kinds.FOLD, dtype.itemsize
        loop = self.reducing_loop(fold.ufunc, dtype)
        operands = (operand.number, self.add(_Value(self.kinds.SCRATCH, item, True)))
        total = Traced(self, self.enter(kind, loop, True, operands, item, False), dtype)
        return trace(fold.ufunc, (init_value, total))

    def extreme(self, name: str, operand: Traced, init_value: Traced) -> Traced:
        """The greatest or least float of each row, where the init value changes nothing."""
        identity = np.array(-np.inf if name == "maximum" else np.inf, operand.dtype)
        initial, item = self.values[init_value.number], operand.dtype.itemsize
        if (
            initial.source != self.kinds.CONSTANT
            or initial.word != self.values[self.constant(identity[()])].word
        ):
            raise Untraceable("begins with a value that counts")
        kind = self.kinds.GREATEST if name == "maximum" else self.kinds.LEAST
        loop = self.reducing_loop(_REDUCED_BY_UFUNC[name], operand.dtype)
        number = self.enter(kind, loop, True, (operand.number, operand.number), item, False)
        return Traced(self, number, operand.dtype)

    def reducing_loop(self, function: np.ufunc, dtype: np.dtype[Any]) -> tuple[int, int]:
        loop = self.kinds.loop_of(function, (dtype, dtype, dtype))
        if loop is None:
            raise Untraceable(f"{function.__name__} has no loop for {dtype}")
        return loop

    def write(self, number: int, result: Value) -> None:
        """Let a result stand in its array."""
        traced, dtype = self.traced[result], _dtype(result)
        value = self.values[traced.number]
        if value.source == self.kinds.SCRATCH and value.is_whole == self.form.along_columns(result):
            value.source = number
            self.place(value, result)
            return
        address = self.kinds.cast_of(dtype, dtype)
        if address is None:
            raise Untraceable("has large elements")
        target = self.array(number, result)
        takes_whole = self.values[target].is_whole
        self.instructions.append((
            self.kinds.APPLY, (address, 0), takes_whole, (traced.number,), dtype.itemsize, target
        ))  # fmt: skip

    @property
    def columns_at_a_time(self) -> int:
        return self.form.columns if self.reduces else min(COLUMNS_AT_A_TIME, self.form.columns)

    def lay_out(self) -> None:
        """Give the values that pass between instructions their places: those that are not used any more make
        room for others."""
        for number, (_, _, _, operands, _, result) in enumerate(self.instructions):
            for used in (*operands, result):
                self.values[used].last = number
        free: dict[int, list[int]] = {}
        placed: dict[int, tuple[int, int]] = {}
        end = 0
        for number, (_, _, _, operands, _, result) in enumerate(self.instructions):
            for used in dict.fromkeys((*operands, result)):
                value = self.values[used]
                if value.source != self.kinds.SCRATCH or used in placed:
                    continue
                count = self.columns_at_a_time if value.is_whole else 1
                size = -(-count * value.item // _ALIGNMENT) * _ALIGNMENT + _ALIGNMENT
                places = free.setdefault(size, [])
                value.word = places.pop() if places else end
                end = max(end, value.word + size)
                placed[used] = value.word, size
            for used in dict.fromkeys((*operands, result)):
                if used in placed and self.values[used].last == number:
                    place, size = placed[used]
                    free[size].append(place)
        count = len(self.block.arguments) + len(self.block.terminator.operands)
        if (
            end > self.kinds.SCRATCH_BYTES
            or len(self.values) > self.kinds.MOST_VALUES
            or count > self.kinds.ARRAYS
        ):
            raise Untraceable("takes too much memory, or too many values")

    def words(self, units_per_task: int) -> tuple[int, ...]:
        """See `row_programs.h`."""
        form = self.form
        rank = form.row_rank
        words = [form.rows, form.columns, self.columns_at_a_time, units_per_task]
        words += [rank, len(self.values), len(self.instructions), *form.shape[:rank]]
        for value in self.values:
            words += [value.source, value.word, value.column_step, *(value.row_steps or [0] * rank)]
        for kind, (function, data), takes_whole, operands, item, result in self.instructions:
            given = [*operands, item] if kind != self.kinds.APPLY else [*operands, 0, 0]
            words += [kind, function, data, int(takes_whole), len(operands), *given[:_MOST_OPERANDS], result]
        return tuple(words)


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
    identity, kept = likeness(block)
    key = identity, threads
    known = _known.get(key)
    if known is None:
        program = _program_of(block)
        made = None
        if program is not None:
            made = RowProgram(_function(block, program, threads, reference_seconds * _SHARE), identity)
        known = made, kept
        _known.keep(key, known)
    return known[0]


def _program_of(block: Block) -> _Program | None:
    form = _form_of(block)
    if (
        form is None
        or form.columns < LEAST_COLUMNS
        or any(operation.name in IN_SCIPY for operation in block.operations)
    ):
        return None
    try:
        program = _Program(block, form)
        program.lay_out()
    except Untraceable:
        return None
    return program


def _form_of(block: Block) -> RowForm | None:
    if any(operation.name == "stablehlo.reduce" for operation in block.operations):
        return row_form(block, view_of)
    shape = shape_of(block.terminator.operands[0])
    axes = AxesOf(shape, range(len(shape)), view_of).of(block)
    if axes is None or not all(shape):
        return None
    for row_rank in range(len(shape)):
        form = RowForm(shape, row_rank, axes)
        if all(form.column_step(value) is not None for value in block.arguments):
            return form
    return None


def _function(block: Block, program: _Program, threads: int | None, seconds: float) -> Callable[..., Any]:
    from ..kernels.native import Launch, NativeFunction
    from ..kernels.threads import division

    form = program.form
    units = form.rows * -(-form.columns // program.columns_at_a_time)
    tasks, units_per_task = division(units, seconds / units * _BYTES_A_SECOND)
    results = block.terminator.operands
    count = len(block.arguments) + len(results)
    accesses = tuple([(number if number < count else 0, 0) for number in range(program.kinds.ARRAYS)])
    launch = Launch(program.kinds.address(), tasks, accesses, program.words(units_per_task), seconds)
    return NativeFunction(
        [_tensor(value).size * _dtype(value).itemsize for value in block.arguments],
        [(shape_of(value), _dtype(value)) for value in results],
        [launch],
        threads,
    )


_known: Recent[tuple[Hashable, int | None], tuple[RowProgram | None, list[object]]] = Recent(64)
"""By a block's likeness and the threads, with what that stands for: layers have equal clusters."""


def _tensor(value: Value) -> TensorType:
    assert isinstance(value.type, TensorType)
    return value.type


def _dtype(value: Value) -> np.dtype[Any]:
    return _tensor(value).dtype
