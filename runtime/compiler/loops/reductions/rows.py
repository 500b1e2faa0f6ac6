"""A fusion tiled by rows (`plan_row_tiling`) as one native loop nest.

The module defines a task `void rows(int64 task, int64 *closure)`. The closure holds pointers to the block's
arguments, then to its results, then three integers: the first row, the rows of a task, and the row after
the last one. Task `t` computes up to `rows_per_task` rows from `first_row + t * rows_per_task` on.
Reductions combine values as `reducers` says.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ....kernels.simd.prefetches import prefetch_address
from ....program.ir import Block, Operation, plain_element_type
from ....program.ir import Value as IrValue
from ....types import ElementType
from ..element_costs import interleave_count
from ..llvm.functions import aligned_scratch
from ..llvm.loops import Loop, address_of, min_index
from ..llvm.tasks import begin_task
from ..llvm.values import I64, Value, load, store, stored_type
from ..regions.region_function import OperandArrays
from .element_emitter import Indices
from .reducers import Reducer
from .row_emitter import RowEmitter
from .row_prefetches import (
    cache_lines,
    columns_of_cache_line,
    columns_of_chunk,
    prefetched_rows,
    prefetching_pass,
)
from .row_tiling import NAME, RowTilePlan, pass_count, pass_outputs, reductions_in_pass, rows_per_group
from .short_rows import ShortRows, short_row_group
from .vector_reduce import reduce_row


def rows_module(block: Block, plan: RowTilePlan, rows_per_task: int) -> ir.Module:
    """The module with the task `NAME`.

    Args:
        block: of the fusion.
        plan: from `plan_row_tiling`.
        rows_per_task: the number of rows of a task, on which the size of groups depends.
    """
    module = ir.Module(NAME)
    group = short_row_group(plan, block, rows_per_task)
    if group is not None:
        function = ShortRows(module, block, plan, group).function
    else:
        group = rows_per_group(plan, block)
        function = _Rows(module, block, plan, group).function
    _define_task(module, function, group)
    return module


def _define_task(module: ir.Module, body: ir.Function, group: int) -> None:
    """Define the task `NAME`, which calls a function for each group [first, last) of its rows."""
    builder, number, arguments = begin_task(module, NAME, len(body.args) - 2, 3)
    *arguments, first_row, rows_per_task, end = arguments
    first = builder.add(first_row, builder.mul(number, rows_per_task))
    last = min_index(builder, builder.add(first, rows_per_task), end)
    count = builder.udiv(builder.add(builder.sub(last, first), I64(group - 1)), I64(group))
    with Loop(builder, I64(0), count) as index:
        start = builder.add(first, builder.mul(index, I64(group)))
        builder.call(body, [start, min_index(builder, builder.add(start, I64(group)), last), *arguments])
    builder.ret_void()


class _Rows(RowEmitter):
    """Computes a group of rows, one after the other.

    Each pass computes all rows of the group: the end of a row's reduction, a chain of dependent operations,
    then overlaps with the next row's pass. The indices of an element are (column,), or () if all columns
    share it.
    """

    def __init__(self, module: ir.Module, block: Block, plan: RowTilePlan, group: int) -> None:
        super().__init__(module, block, plan, group)
        self.results = list(dict.fromkeys(block.terminator.operands))
        self.stack_buffers = {
            value: aligned_scratch(self.builder, stored_type(plain_element_type(value)), group * plan.columns)
            for value in plan.buffered
            if not self._is_buffered_in_result(value)
        }
        self.reduced_buffers: dict[IrValue, ir.Value] = {}
        self.prefetched = prefetched_rows(block, plan)
        self.prefetching_pass = prefetching_pass(block, plan)
        self._generate()

    def _is_buffered_in_result(self, value: IrValue) -> bool:
        return value in self.results and self.plan.column_stride(value) == 1

    def _generate(self) -> None:
        pass_total = pass_count(self.plan, self.block)
        reductions = [self._reducers(pass_index) for pass_index in range(pass_total)]
        for pass_index in range(pass_total):
            with Loop(self.builder, self.first, self.last) as row:
                self._enter_row(row, pass_index)
                self._generate_pass(reductions[pass_index])
                if pass_index == pass_total - 1:
                    self._store_row_values()
        self.builder.ret_void()

    def _enter_row(self, row: ir.Value, pass_index: int) -> None:
        """Reset the state of a row at the start of a pass over it."""
        self.pass_index = pass_index
        self.row = row
        self.indices = self.row_indices(row)
        self.row_in_group = self.builder.sub(row, self.first)
        self.rows: dict[IrValue, Value] = {}
        self.buffers = {value: self._buffer_address(value) for value in self.plan.buffered}

    def _buffer_address(self, value: IrValue) -> ir.Value:
        """The address of a row's buffered value: in a result, or on the stack."""
        scratch = self.stack_buffers.get(value)
        if scratch is None:
            position = list(self.block.terminator.operands).index(value)
            return self.row_address(self.result_pointers[position], value, self.indices)
        start = self.builder.mul(self.row_in_group, I64(self.plan.columns))
        return address_of(self.builder, scratch, start, stored_type(plain_element_type(value)))

    def _reducers(self, pass_index: int) -> dict[Reducer, tuple[OperandArrays, OperandArrays]]:
        """The reductions of a pass with two buffers each, allocated once for all rows."""
        reducers: dict[Reducer, tuple[OperandArrays, OperandArrays]] = {}
        for operation in reductions_in_pass(self.plan, self.block, pass_index):
            reducer = Reducer(self.builder, operation)
            reducers[reducer] = reducer.allocate(self.plan.columns), reducer.allocate(self.plan.columns)
            stored = stored_type(plain_element_type(operation.result))
            self.reduced_buffers[operation.result] = aligned_scratch(self.builder, stored, self.group)
        return reducers

    def _generate_pass(self, reducers: dict[Reducer, tuple[OperandArrays, OperandArrays]]) -> None:
        targets = self._targets(reducers)
        if targets:
            # Row values are computed before the loop, so that they dominate it.
            self._compute_row_values([value for value, *_ in targets])
            self._columns(targets)
        for reducer, (first, second) in reducers.items():
            operation = reducer.operation
            result, initial = operation.result, operation.operands[1]
            self._compute_row_values([initial])
            source, values, scratch = self._in_memory(reducer), first, (second, first)
            if source is not None:
                values, scratch = reducer.arrays([source]), (first, second)
            totals = reduce_row(reducer, values, scratch, self.plan.columns)
            (self.rows[result],) = reducer.finish([self.row_value(initial)], totals)
            store(self.builder, plain_element_type(result), self.rows[result], self._reduced_address(result))

    def _reduced_address(self, value: IrValue) -> ir.Value:
        """The address of the current row's value of a reduction."""
        stored = stored_type(plain_element_type(value))
        return address_of(self.builder, self.reduced_buffers[value], self.row_in_group, stored)

    def _store_row_values(self) -> None:
        for position, value in enumerate(self.block.terminator.operands):
            if not self.plan.varies_along_columns(value):
                pointer = self.row_address(self.result_pointers[position], value, self.indices)
                store(self.builder, plain_element_type(value), self.row_value(value), pointer)

    def _targets(
        self, reducers: dict[Reducer, tuple[OperandArrays, OperandArrays]]
    ) -> list[tuple[IrValue, ElementType, ir.Value, int]]:
        """The outputs of a pass: value, stored element type, address of its row, column stride."""
        targets = []
        outputs = pass_outputs(self.plan, self.block, self.pass_index)
        for reducer, (first, _) in reducers.items():
            if self._in_memory(reducer) is None:
                targets.append((reducer.operation.operands[0], reducer.types[0], first.pointers[0], 1))
        for position, value in enumerate(self.block.terminator.operands):
            if value in outputs and self.plan.varies_along_columns(value):
                stride = self.plan.column_stride(value)
                assert stride is not None
                pointer = self.row_address(self.result_pointers[position], value, self.indices)
                targets.append((value, plain_element_type(value), pointer, stride))
        for value in self.stack_buffers:
            if value in outputs:
                targets.append((value, plain_element_type(value), self.buffers[value], 1))
        return targets

    def _in_memory(self, reducer: Reducer) -> ir.Value | None:
        """The address of a reduction's operand, if it is contiguous in memory in the accumulator type."""
        value = reducer.operation.operands[0]
        if reducer.types[0] is not plain_element_type(value):
            return None
        if value in self.buffers:
            return self.buffers[value]
        is_row = value in self.pointers and self.plan.column_stride(value) == 1
        return self.row_address(self.pointers[value], value, self.indices) if is_row else None

    def _columns(self, targets: Sequence[tuple[IrValue, ElementType, ir.Value, int]]) -> None:
        columns = self.plan.columns
        prefetched = self.prefetched if self.pass_index == self.prefetching_pass else []
        chunk = columns_of_chunk(self.plan, prefetched) if prefetched else columns
        if chunk == columns:
            self._chunk_of_columns(targets, I64(0), columns)
            return
        pointers = [self._row_after_group(value) for value in prefetched]
        with Loop(self.builder, I64(0), I64(columns // chunk), rolled=True) as number:
            first = self.builder.mul(number, I64(chunk))
            for value, pointer in zip(prefetched, pointers, strict=True):
                self._prefetch(value, pointer, first, chunk)
            self._chunk_of_columns(targets, first, chunk)

    def _row_after_group(self, value: IrValue) -> ir.Value:
        """The address of the row that follows the current one by the rows of a group."""
        indices = self.row_indices(self.builder.add(self.row, I64(self.group)))
        return self.row_address(self.pointers[value], value, indices)

    def _prefetch(self, value: IrValue, row: ir.Value, first: ir.Value, count: int) -> None:
        """Prefetch `count` columns of a value's row, at an address, from column `first` on."""
        stored = stored_type(plain_element_type(value))
        for number in range(cache_lines(value, count)):
            column = self.builder.add(first, I64(number * columns_of_cache_line(value)))
            prefetch_address(self.builder, self.builder.gep(row, [column], source_etype=stored), locality=2)

    def _chunk_of_columns(
        self, targets: Sequence[tuple[IrValue, ElementType, ir.Value, int]], first: ir.Value, count: int
    ) -> None:
        """Compute `count` columns of the targets from column `first` on."""
        loop = Loop(self.builder, first, self.builder.add(first, I64(count)))
        with loop as column:
            elements: dict[IrValue, Value] = {}
            for value, element_type, pointer, stride in targets:
                element = self.element(value, (column,), elements)
                offset = self.builder.mul(column, I64(stride)) if stride != 1 else column
                address = address_of(self.builder, pointer, offset, stored_type(element_type))
                store(self.builder, element_type, element, address)
            owners = [value.owner for value in elements]
            operations = [owner for owner in owners if isinstance(owner, Operation)]
            loop.interleave_count = interleave_count(operations, count)

    def _compute_row_values(self, values: Sequence[IrValue]) -> None:
        """Compute all values that are the same for all columns and that this pass needs for these."""
        for value in self.plan.row_values(values, self._is_buffered):
            self.row_value(value)

    def _is_buffered(self, value: IrValue) -> bool:
        return value in self.buffers and self.plan.pass_of[value] < self.pass_index

    def row_value(self, value: IrValue) -> Value:
        """A value that is the same for all columns, computed here or before."""
        if value not in self.rows and value in self.reduced_buffers:
            self.rows[value] = load(self.builder, plain_element_type(value), self._reduced_address(value))
        return super().element(value, (), self.rows)

    def element(self, value: IrValue, indices: Indices, elements: dict[IrValue, Value]) -> Value:
        if not self.plan.varies_along_columns(value):
            return self.row_value(value)
        if value not in elements and self._is_buffered(value):
            type = plain_element_type(value)
            address = address_of(self.builder, self.buffers[value], indices[0], stored_type(type))
            elements[value] = load(self.builder, type, address)
        return super().element(value, indices, elements)

    def load(self, value: IrValue, indices: Indices) -> Value:
        pointer, type = self.row_address(self.pointers[value], value, self.indices), plain_element_type(value)
        stride = self.plan.column_stride(value)
        if indices and stride:
            offset = indices[0] if stride == 1 else self.builder.mul(indices[0], I64(stride))
            pointer = address_of(self.builder, pointer, offset, stored_type(type))
        return load(self.builder, type, pointer)

    def index(self, axis: int, indices: Indices) -> ir.Value:
        return self.indices[axis] if axis < self.plan.row_rank else self.column_index(indices[0], axis)
