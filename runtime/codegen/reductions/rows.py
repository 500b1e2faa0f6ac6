"""A cluster of rows (`row_form`) as one native loop nest.

The module defines a task `void rows(int64 task, int8 **pointers)`: `pointers` are those of the block's
arguments, then of its results; task `t` computes the rows from `t * size` on, up to `size` of them.
Reductions fold adjacent pairs, level by level, in order, as `reduce` does; where every order gives the same
bits, halves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from ...ir import Block, Operation
from ...ir import Value as IrValue
from ...types import ElementType
from ..coverage import ViewOf
from ..elementwise.elementwise import emit, emit_decay, side_by_side
from ..elementwise.floats import divide_by, reciprocal
from ..llvm.functions import aligned_room, outlined_function
from ..llvm.loops import Loop, address_of, min_index, prefetch_after
from ..llvm.tasks import begin_task
from ..llvm.values import I64, Value, constant_element, load, rounded, store, stored_type
from .iteration_space import element_type_of, folded_type
from .reduce import F32, FETCHED_ELEMENTS, combine, emit_fold, index_as, parts_of
from .row_tiling import (
    NAME,
    RowForm,
    group_size,
    is_less_its_greatest,
    pass_count,
    reductions_at,
    row_divisor,
    sinks,
)
from .short_rows import ShortRows, short_group
from .vector_reduce import emit_row_fold, folds_rows


def rows_module(block: Block, form: RowForm, view_of: ViewOf, size: int) -> ir.Module:
    """The module with the task `NAME`.

    Args:
        block: the cluster's.
        form: its `row_form`.
        view_of: gives an operation's view.
        size: how many rows a task computes.
    """
    module = ir.Module(NAME)
    group = short_group(form, block, size)
    if group is not None:
        function = ShortRows(module, block, form, view_of, group).function
    else:
        group = group_size(form, block)
        function = _Rows(module, block, form, view_of, group).function
    _define_task(module, function, form.rows, size, group)
    return module


def _define_task(module: ir.Module, body: ir.Function, rows: int, size: int, group: int) -> None:
    """Define the task `NAME`, which calls a function for each group of its rows: the first, where it ends."""
    builder, number, arguments = begin_task(module, NAME, len(body.args) - 2)
    first = builder.mul(number, I64(size))
    last = min_index(builder, builder.add(first, I64(size)), I64(rows))
    count = builder.udiv(builder.add(builder.sub(last, first), I64(group - 1)), I64(group))
    with Loop(builder, I64(0), count) as index:
        start = builder.add(first, builder.mul(index, I64(group)))
        builder.call(body, [start, min_index(builder, builder.add(start, I64(group)), last), *arguments])
    builder.ret_void()


class _Rows:
    """Generates `void rows(int64 first, int64 last, T* noalias...)`, which computes a group of rows.

    Each pass goes through all of them, so that the end of a row's reduction, whose steps wait for each other,
    runs beside the next row's pass.
    """

    def __init__(self, module: ir.Module, block: Block, form: RowForm, view_of: ViewOf, group: int) -> None:
        self.module = module
        self.block = block
        self.form = form
        self.view_of = view_of
        self.group = group
        self.results = list(dict.fromkeys(block.terminator.operands))
        count = len(block.arguments) + len(block.terminator.operands)
        self.function = outlined_function(module, "group", 2, count)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.pointers = dict(zip(block.arguments, self.function.args[2:], strict=False))
        self.result_pointers = self.function.args[2 + len(block.arguments) :]
        self.kept_rooms = {
            value: aligned_room(self.builder, stored_type(element_type_of(value)), group * form.columns)
            for value in form.saved
            if not self._is_kept_in_result(value)
        }
        self.reduced_rooms: dict[IrValue, ir.Value] = {}
        self._generate()

    def _is_kept_in_result(self, value: IrValue) -> bool:
        return value in self.results and self.form.column_step(value) == 1

    def _generate(self) -> None:
        passes = pass_count(self.form, self.block)
        rooms = [self._fold_rooms(level) for level in range(passes)]
        for level in range(passes):
            with Loop(self.builder, *self.function.args[:2]) as row:
                self._begin_row(row)
                self._generate_pass(level, rooms[level])
                if level == passes - 1:
                    self._store_row_values()
        self.builder.ret_void()

    def _begin_row(self, row: ir.Value) -> None:
        """What is known of a row where a pass over it begins."""
        self.indices = self._row_indices(row)
        self.place = self.builder.sub(row, self.function.args[0])
        self.rows: dict[IrValue, Value] = {}
        self.reciprocals: dict[IrValue, ir.Value] = {}
        self.buffers = {value: self._buffer(value) for value in self.form.saved}

    def _row_indices(self, row: ir.Value) -> list[ir.Value]:
        """The row's index along each of the dimensions that number the rows."""
        rest, indices = row, []
        for size in reversed(self.form.shape[1 : self.form.row_rank]):
            indices.append(self.builder.urem(rest, I64(size)))
            rest = self.builder.udiv(rest, I64(size))
        return [rest, *reversed(indices)][: self.form.row_rank]

    def _buffer(self, value: IrValue) -> ir.Value:
        """Where a row's value is kept for later passes: in the memory of a result, or on the stack."""
        room = self.kept_rooms.get(value)
        if room is None:
            position = list(self.block.terminator.operands).index(value)
            return self._at_row(self.result_pointers[position], value)
        start = self.builder.mul(self.place, I64(self.form.columns))
        return address_of(self.builder, room, start, stored_type(element_type_of(value)))

    def _generate_pass(self, level: int, rooms: dict[Operation, tuple[ir.Value, ir.Value]]) -> None:
        targets = self._targets(level, rooms)
        if targets:
            self._column_pass(level, targets)
        elif level == self._fetching_level():
            self._prefetch(I64(0), self.form.columns)
        for operation, (first, second) in rooms.items():
            result = operation.result
            self.rows[result] = self._folded(operation, first, second)
            store(self.builder, element_type_of(result), self.rows[result], self._reduced_place(result))

    def _reduced_place(self, value: IrValue) -> ir.Value:
        """Where the present row's value of a reduction is for later passes."""
        stored = stored_type(element_type_of(value))
        return address_of(self.builder, self.reduced_rooms[value], self.place, stored)

    def _store_row_values(self) -> None:
        for position, value in enumerate(self.block.terminator.operands):
            if not self.form.along_columns(value):
                pointer = self._at_row(self.result_pointers[position], value)
                store(self.builder, element_type_of(value), self.row_value(value), pointer)

    def _prefetch(self, first: ir.Value, count: int) -> None:
        """Ask for so many columns, from the first on, of this row of the arguments' next group; where what is
        computed meanwhile takes long, and is kept, also of this one's results that later passes write."""
        for value in self.block.arguments:
            if self.form.column_step(value) == 1 and any(self.form.steps(value)[: self.form.row_rank]):
                self._ask_for(value, self.pointers[value], first, count, self.group * self.form.columns)
        for position, value in enumerate(self.block.terminator.operands if self.kept_rooms else ()):
            is_later = self.form.along_columns(value) and self.form.levels[value] > self._fetching_level()
            if is_later and self.form.column_step(value) == 1:
                self._ask_for(value, self.result_pointers[position], first, count, 0, is_written=True)

    def _ask_for(
        self, value: IrValue, pointer: ir.Value, first: ir.Value, count: int, distance: int,
        is_written: bool = False,
    ) -> None:  # fmt: skip
        """`prefetch_after` for so many elements of this row of a value that lies at a pointer."""
        element_type = element_type_of(value)
        item = element_type.dtype.itemsize
        place = address_of(self.builder, self._at_row(pointer, value), first, stored_type(element_type))
        prefetch_after(self.builder, place, count * item, distance * item, is_written)

    def _fetching_level(self) -> int:
        """The pass that fetches what the next group's first pass reads: the second, in which memory has
        nothing to do, if there is one."""
        return 1 if pass_count(self.form, self.block) > 1 else 0

    def _fold_rooms(self, level: int) -> dict[Operation, tuple[ir.Value, ir.Value]]:
        """Two buffers for each reduction of a pass; on the stack's top once, whatever the number of rows."""
        rooms = {}
        for operation in reductions_at(self.form, self.block, level):
            type, columns = stored_type(folded_type(operation, F32)), self.form.columns
            rooms[operation] = (
                aligned_room(self.builder, type, columns),
                aligned_room(self.builder, type, columns),
            )
            result = operation.result
            stored = stored_type(element_type_of(result))
            self.reduced_rooms[result] = aligned_room(self.builder, stored, self.group)
        return rooms

    def _targets(
        self, level: int, rooms: dict[Operation, tuple[ir.Value, ir.Value]]
    ) -> list[tuple[IrValue, ElementType, ir.Value, int]]:
        """What a pass computes: value, element type to store it as, where its row begins, column step."""
        targets = []
        wanted = sinks(self.form, self.block, level)
        for operation, (first, _) in rooms.items():
            if self._in_memory(operation) is None:
                targets.append((operation.operands[0], folded_type(operation, F32), first, 1))
        for position, value in enumerate(self.block.terminator.operands):
            if value in wanted and self.form.along_columns(value):
                step = self.form.column_step(value)
                assert step is not None
                pointer = self._at_row(self.result_pointers[position], value)
                targets.append((value, element_type_of(value), pointer, step))
        for value in self.kept_rooms:
            if value in wanted:
                targets.append((value, element_type_of(value), self.buffers[value], 1))
        return targets

    def _in_memory(self, operation: Operation) -> ir.Value | None:
        """Where what a reduction folds lies already, in order and in the type in which it is folded."""
        value = operation.operands[0]
        if folded_type(operation, F32) is not element_type_of(value):
            return None
        if value in self.buffers:
            return self.buffers[value]
        is_row = value in self.pointers and self.form.column_step(value) == 1
        return self._at_row(self.pointers[value], value) if is_row else None

    def _column_pass(self, level: int, targets: Sequence[tuple[IrValue, ElementType, ir.Value, int]]) -> None:
        # Row values are computed before the loop, so that they dominate it.
        self._prepare_rows([value for value, *_ in targets], level)
        if level != self._fetching_level():
            self._columns(level, targets, I64(0), I64(self.form.columns))
            return
        with parts_of(self.builder, I64(self.form.columns)) as (first, last):
            self._prefetch(first, min(self.form.columns, FETCHED_ELEMENTS))
            self._columns(level, targets, first, last)

    def _columns(
        self,
        level: int,
        targets: Sequence[tuple[IrValue, ElementType, ir.Value, int]],
        first: ir.Value,
        last: ir.Value,
    ) -> None:
        loop = Loop(self.builder, first, last)
        with loop as column:
            columns: dict[IrValue, Value] = {}
            for value, element_type, pointer, step in targets:
                element = self.column_value(value, level, column, columns)
                place = self.builder.mul(column, I64(step)) if step != 1 else column
                place = address_of(self.builder, pointer, place, stored_type(element_type))
                store(self.builder, element_type, element, place)
            owners = [value.owner for value in columns]
            loop.side_by_side = side_by_side([one for one in owners if isinstance(one, Operation)])

    def _prepare_rows(self, values: Sequence[IrValue], level: int) -> None:
        """Compute all values that do not vary along the columns and that these need in a pass."""
        pending, seen = list(values), set[IrValue]()
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            if not self.form.along_columns(value):
                self.row_value(value)
            elif isinstance(value.owner, Operation) and not self._is_kept(value, level):
                pending += value.owner.operands
                divisor = row_divisor(self.form, value.owner)
                if divisor is not None and divisor not in self.reciprocals:
                    self.reciprocals[divisor] = reciprocal(self.builder, self.row_value(divisor)[0])

    def _is_kept(self, value: IrValue, level: int) -> bool:
        return value in self.buffers and self.form.levels[value] < level

    def row_value(self, value: IrValue) -> Value:
        """A value that does not vary along the columns, computed where the builder stands or before."""
        if value not in self.rows:
            if value in self.reduced_rooms:
                place = self._reduced_place(value)
                self.rows[value] = load(self.builder, element_type_of(value), place)
            else:
                self.rows[value] = self._computed(value, self.row_value, None)
        return self.rows[value]

    def column_value(
        self, value: IrValue, level: int, column: ir.Value, columns: dict[IrValue, Value]
    ) -> Value:
        """A value at a column, in the pass of that level."""
        if not self.form.along_columns(value):
            return self.rows[value]
        if value not in columns:
            if self._is_kept(value, level):
                stored = stored_type(element_type_of(value))
                pointer = address_of(self.builder, self.buffers[value], column, stored)
                columns[value] = load(self.builder, element_type_of(value), pointer)
            else:
                columns[value] = self._computed(
                    value, lambda operand: self.column_value(operand, level, column, columns), column
                )
        return columns[value]

    def _computed(self, value: IrValue, operand_value: Any, column: ir.Value | None) -> Value:
        operation = value.owner
        if not isinstance(operation, Operation):
            return self._loaded(value, column)
        if operation.name == "stablehlo.constant":
            return constant_element(operation)
        if operation.name == "stablehlo.iota":
            return self._iota(value, operation, column)
        operands = [operand_value(operand) for operand in operation.operands]
        divisor = row_divisor(self.form, operation)
        if column is not None and divisor is not None:
            return (divide_by(self.builder, operands[0][0], self.reciprocals[divisor]),)
        if operation.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
            (moved,) = operands
            same: Value = moved
            return same
        if operation.name == "stablehlo.exponential" and is_less_its_greatest(operation.operands[0]):
            return emit_decay(self.builder, operation, operands)
        return emit(self.builder, operation, operands)

    def _loaded(self, value: IrValue, column: ir.Value | None) -> Value:
        pointer = self._at_row(self.pointers[value], value)
        step = self.form.column_step(value)
        if column is not None and step:
            place = column if step == 1 else self.builder.mul(column, I64(step))
            pointer = address_of(self.builder, pointer, place, stored_type(element_type_of(value)))
        return load(self.builder, element_type_of(value), pointer)

    def _at_row(self, pointer: ir.Value, value: IrValue) -> ir.Value:
        """Where the present row of a value in memory begins."""
        offset: ir.Value = I64(0)
        for index, step in zip(self.indices, self.form.steps(value), strict=False):
            if step:
                offset = self.builder.add(offset, self.builder.mul(index, I64(step)))
        return address_of(self.builder, pointer, offset, stored_type(element_type_of(value)))

    def _iota(self, value: IrValue, operation: Operation, column: ir.Value | None) -> Value:
        """The index along the space's dimension that the counted one follows."""
        d = self.view_of(operation).iota_dimension
        axis = self.form.axes[value][d]
        if axis is None:
            index: ir.Value = I64(0)
        elif axis < self.form.row_rank:
            index = self.indices[axis]
        else:
            assert column is not None
            inner = math.prod(self.form.shape[axis + 1 :])
            index = self.builder.urem(self.builder.udiv(column, I64(inner)), I64(self.form.shape[axis]))
        return index_as(self.builder, index, element_type_of(value))

    def _folded(self, operation: Operation, first: ir.Value, second: ir.Value) -> Value:
        """A reduction's result from the values in its first buffer."""
        builder, body = self.builder, operation.regions[0].block
        element_type, folded = element_type_of(operation.result), folded_type(operation, F32)
        self._prepare_rows([operation.operands[1]], 0)
        initial = self.row_value(operation.operands[1])
        source = self._in_memory(operation)
        values, rooms = (first, (second, first)) if source is None else (source, (first, second))
        if folds_rows(operation, self.form.columns):
            value: Value = (emit_row_fold(builder, operation, values, rooms[0], self.form.columns),)
        else:
            value = emit_fold(builder, body, self.view_of, folded, values, rooms, self.form.columns)
        combined = combine(builder, body, self.view_of, folded, initial, value)
        if folded is element_type:
            return combined
        return (rounded(builder, element_type, combined[0]),)
