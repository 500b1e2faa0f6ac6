"""A fusion tiled by rows (`plan_row_tiling`) as one native loop nest.

The module defines a task `void rows(int64 task, int8 **pointers)`: `pointers` are those of the block's
arguments, then of its results; task `t` computes the rows from `t * size` on, up to `size` of them.
Reductions combine adjacent pairs, level by level, in order, as `reduce` does; reducers that give the same
bits in every order combine halves.
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
from ..elementwise.elementwise import emit, side_by_side
from ..llvm.functions import aligned_scratch, outlined_function
from ..llvm.loops import Loop, address_of, min_index
from ..llvm.tasks import begin_task
from ..llvm.values import I64, Value, constant_element, load, rounded, store, stored_type
from .iteration_space import accumulator_type, element_type_of
from .reduce import F32, combine, emit_reduce, index_to_element
from .row_tiling import (
    NAME,
    RowTilePlan,
    pass_count,
    pass_outputs,
    reductions_in_pass,
    rows_per_group,
)
from .short_rows import ShortRows, short_row_group
from .vector_reduce import can_vectorize_row, emit_row_reduce


def rows_module(block: Block, plan: RowTilePlan, view_of: ViewOf, size: int) -> ir.Module:
    """The module with the task `NAME`.

    Args:
        block: of the fusion.
        plan: from `plan_row_tiling`.
        view_of: gives an operation's view.
        size: rows of a task.
    """
    module = ir.Module(NAME)
    group = short_row_group(plan, block, size)
    if group is not None:
        function = ShortRows(module, block, plan, view_of, group).function
    else:
        group = rows_per_group(plan, block)
        function = _Rows(module, block, plan, view_of, group).function
    _define_task(module, function, plan.rows, size, group)
    return module


def _define_task(module: ir.Module, body: ir.Function, rows: int, size: int, group: int) -> None:
    """Define the task `NAME`, which calls a function for each group [first, last) of its rows."""
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

    Each pass computes all rows of the group: the end of a row's reduction, a chain of dependent operations,
    then overlaps with the next row's pass.
    """

    def __init__(
        self, module: ir.Module, block: Block, plan: RowTilePlan, view_of: ViewOf, group: int
    ) -> None:
        self.module = module
        self.block = block
        self.plan = plan
        self.view_of = view_of
        self.group = group
        self.results = list(dict.fromkeys(block.terminator.operands))
        count = len(block.arguments) + len(block.terminator.operands)
        self.function = outlined_function(module, "group", 2, count)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.pointers = dict(zip(block.arguments, self.function.args[2:], strict=False))
        self.result_pointers = self.function.args[2 + len(block.arguments) :]
        self.kept_buffers = {
            value: aligned_scratch(self.builder, stored_type(element_type_of(value)), group * plan.columns)
            for value in plan.buffered
            if not self._is_buffered_in_result(value)
        }
        self.reduced_buffers: dict[IrValue, ir.Value] = {}
        self._generate()

    def _is_buffered_in_result(self, value: IrValue) -> bool:
        return value in self.results and self.plan.column_stride(value) == 1

    def _generate(self) -> None:
        pass_total = pass_count(self.plan, self.block)
        scratch_buffers = [self._reduce_buffers(pass_index) for pass_index in range(pass_total)]
        for pass_index in range(pass_total):
            with Loop(self.builder, *self.function.args[:2]) as row:
                self._enter_row(row)
                self._generate_pass(pass_index, scratch_buffers[pass_index])
                if pass_index == pass_total - 1:
                    self._store_row_values()
        self.builder.ret_void()

    def _enter_row(self, row: ir.Value) -> None:
        """Reset the state of a row at the start of a pass over it."""
        self.indices = self._row_indices(row)
        self.row_in_group = self.builder.sub(row, self.function.args[0])
        self.rows: dict[IrValue, Value] = {}
        self.buffers = {value: self._buffer_address(value) for value in self.plan.buffered}

    def _row_indices(self, row: ir.Value) -> list[ir.Value]:
        """The row's index along each of the dimensions that number the rows."""
        rest, indices = row, []
        for size in reversed(self.plan.shape[1 : self.plan.row_rank]):
            indices.append(self.builder.urem(rest, I64(size)))
            rest = self.builder.udiv(rest, I64(size))
        return [rest, *reversed(indices)][: self.plan.row_rank]

    def _buffer_address(self, value: IrValue) -> ir.Value:
        """The address of a row's buffered value: in a result, or on the stack."""
        scratch = self.kept_buffers.get(value)
        if scratch is None:
            position = list(self.block.terminator.operands).index(value)
            return self._row_address(self.result_pointers[position], value)
        start = self.builder.mul(self.row_in_group, I64(self.plan.columns))
        return address_of(self.builder, scratch, start, stored_type(element_type_of(value)))

    def _generate_pass(
        self, pass_index: int, scratch_buffers: dict[Operation, tuple[ir.Value, ir.Value]]
    ) -> None:
        targets = self._targets(pass_index, scratch_buffers)
        if targets:
            self._column_pass(pass_index, targets)
        for operation, (first, second) in scratch_buffers.items():
            result = operation.result
            self.rows[result] = self._reduce(operation, first, second)
            store(self.builder, element_type_of(result), self.rows[result], self._reduced_address(result))

    def _reduced_address(self, value: IrValue) -> ir.Value:
        """The address of the current row's value of a reduction."""
        stored = stored_type(element_type_of(value))
        return address_of(self.builder, self.reduced_buffers[value], self.row_in_group, stored)

    def _store_row_values(self) -> None:
        for position, value in enumerate(self.block.terminator.operands):
            if not self.plan.varies_along_columns(value):
                pointer = self._row_address(self.result_pointers[position], value)
                store(self.builder, element_type_of(value), self.row_value(value), pointer)

    def _reduce_buffers(self, pass_index: int) -> dict[Operation, tuple[ir.Value, ir.Value]]:
        """Two buffers for each reduction of a pass, allocated once for all rows."""
        scratch_buffers = {}
        for operation in reductions_in_pass(self.plan, self.block, pass_index):
            type, columns = stored_type(accumulator_type(operation, F32)), self.plan.columns
            scratch_buffers[operation] = (
                aligned_scratch(self.builder, type, columns),
                aligned_scratch(self.builder, type, columns),
            )
            result = operation.result
            stored = stored_type(element_type_of(result))
            self.reduced_buffers[result] = aligned_scratch(self.builder, stored, self.group)
        return scratch_buffers

    def _targets(
        self, pass_index: int, scratch_buffers: dict[Operation, tuple[ir.Value, ir.Value]]
    ) -> list[tuple[IrValue, ElementType, ir.Value, int]]:
        """The outputs of a pass: value, stored element type, address of its row, column stride."""
        targets = []
        outputs = pass_outputs(self.plan, self.block, pass_index)
        for operation, (first, _) in scratch_buffers.items():
            if self._in_memory(operation) is None:
                targets.append((operation.operands[0], accumulator_type(operation, F32), first, 1))
        for position, value in enumerate(self.block.terminator.operands):
            if value in outputs and self.plan.varies_along_columns(value):
                step = self.plan.column_stride(value)
                assert step is not None
                pointer = self._row_address(self.result_pointers[position], value)
                targets.append((value, element_type_of(value), pointer, step))
        for value in self.kept_buffers:
            if value in outputs:
                targets.append((value, element_type_of(value), self.buffers[value], 1))
        return targets

    def _in_memory(self, operation: Operation) -> ir.Value | None:
        """The address of a reduction's operand, if it is contiguous in memory in the accumulator type."""
        value = operation.operands[0]
        if accumulator_type(operation, F32) is not element_type_of(value):
            return None
        if value in self.buffers:
            return self.buffers[value]
        is_row = value in self.pointers and self.plan.column_stride(value) == 1
        return self._row_address(self.pointers[value], value) if is_row else None

    def _column_pass(
        self, pass_index: int, targets: Sequence[tuple[IrValue, ElementType, ir.Value, int]]
    ) -> None:
        # Row values are computed before the loop, so that they dominate it.
        self._compute_row_values([value for value, *_ in targets], pass_index)
        loop = Loop(self.builder, I64(0), I64(self.plan.columns))
        with loop as column:
            columns: dict[IrValue, Value] = {}
            for value, element_type, pointer, step in targets:
                element = self.column_value(value, pass_index, column, columns)
                row_in_group = self.builder.mul(column, I64(step)) if step != 1 else column
                row_in_group = address_of(self.builder, pointer, row_in_group, stored_type(element_type))
                store(self.builder, element_type, element, row_in_group)
            operations = [value.owner for value in columns]
            loop.side_by_side = side_by_side([one for one in operations if isinstance(one, Operation)])

    def _compute_row_values(self, values: Sequence[IrValue], pass_index: int) -> None:
        """Compute all values that are the same for all columns and that a pass needs for these."""
        pending, visited = list(values), set[IrValue]()
        while pending:
            value = pending.pop()
            if value in visited:
                continue
            visited.add(value)
            if not self.plan.varies_along_columns(value):
                self.row_value(value)
            elif isinstance(value.owner, Operation) and not self._is_buffered(value, pass_index):
                pending += value.owner.operands

    def _is_buffered(self, value: IrValue, pass_index: int) -> bool:
        return value in self.buffers and self.plan.pass_of[value] < pass_index

    def row_value(self, value: IrValue) -> Value:
        """A value that is the same for all columns, computed here or before."""
        if value not in self.rows:
            if value in self.reduced_buffers:
                row_in_group = self._reduced_address(value)
                self.rows[value] = load(self.builder, element_type_of(value), row_in_group)
            else:
                self.rows[value] = self._compute(value, self.row_value, None)
        return self.rows[value]

    def column_value(
        self, value: IrValue, pass_index: int, column: ir.Value, columns: dict[IrValue, Value]
    ) -> Value:
        """A value at a column, in the pass of that level."""
        if not self.plan.varies_along_columns(value):
            return self.rows[value]
        if value not in columns:
            if self._is_buffered(value, pass_index):
                stored = stored_type(element_type_of(value))
                pointer = address_of(self.builder, self.buffers[value], column, stored)
                columns[value] = load(self.builder, element_type_of(value), pointer)
            else:
                columns[value] = self._compute(
                    value, lambda operand: self.column_value(operand, pass_index, column, columns), column
                )
        return columns[value]

    def _compute(self, value: IrValue, operand_value: Any, column: ir.Value | None) -> Value:
        operation = value.owner
        if not isinstance(operation, Operation):
            return self._load(value, column)
        if operation.name == "stablehlo.constant":
            return constant_element(operation)
        if operation.name == "stablehlo.iota":
            return self._iota(value, operation, column)
        operands = [operand_value(operand) for operand in operation.operands]
        if operation.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
            (moved,) = operands
            same: Value = moved
            return same
        return emit(self.builder, operation, operands)

    def _load(self, value: IrValue, column: ir.Value | None) -> Value:
        pointer = self._row_address(self.pointers[value], value)
        step = self.plan.column_stride(value)
        if column is not None and step:
            row_in_group = column if step == 1 else self.builder.mul(column, I64(step))
            pointer = address_of(self.builder, pointer, row_in_group, stored_type(element_type_of(value)))
        return load(self.builder, element_type_of(value), pointer)

    def _row_address(self, pointer: ir.Value, value: IrValue) -> ir.Value:
        """The address of the current row of a value."""
        offset: ir.Value = I64(0)
        for index, step in zip(self.indices, self.plan.strides(value), strict=False):
            if step:
                offset = self.builder.add(offset, self.builder.mul(index, I64(step)))
        return address_of(self.builder, pointer, offset, stored_type(element_type_of(value)))

    def _iota(self, value: IrValue, operation: Operation, column: ir.Value | None) -> Value:
        """The index along the iota's dimension of the iteration space."""
        d = self.view_of(operation).iota_dimension
        axis = self.plan.index_maps[value][d]
        if axis is None:
            index: ir.Value = I64(0)
        elif axis < self.plan.row_rank:
            index = self.indices[axis]
        else:
            assert column is not None
            inner = math.prod(self.plan.shape[axis + 1 :])
            index = self.builder.urem(self.builder.udiv(column, I64(inner)), I64(self.plan.shape[axis]))
        return index_to_element(self.builder, index, element_type_of(value))

    def _reduce(self, operation: Operation, first: ir.Value, second: ir.Value) -> Value:
        """A reduction's result from the values in its first buffer."""
        builder, body = self.builder, operation.regions[0].block
        element_type, accumulator = element_type_of(operation.result), accumulator_type(operation, F32)
        self._compute_row_values([operation.operands[1]], 0)
        initial = self.row_value(operation.operands[1])
        source = self._in_memory(operation)
        values, scratch_buffers = (first, (second, first)) if source is None else (source, (first, second))
        if can_vectorize_row(operation, self.plan.columns):
            value: Value = (
                emit_row_reduce(builder, operation, values, scratch_buffers[0], self.plan.columns),
            )
        else:
            value = emit_reduce(
                builder, body, self.view_of, accumulator, values, scratch_buffers, self.plan.columns
            )
        combined = combine(builder, body, self.view_of, accumulator, initial, value)
        if accumulator is element_type:
            return combined
        return (rounded(builder, element_type, combined[0]),)
