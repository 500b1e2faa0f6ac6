"""A fusion tiled by rows (`plan_row_tiling`) as one native loop nest.

The module defines a task `void rows(int64 task, int64 *closure)`. The closure holds pointers to the block's
arguments, then to its results, then three integers: the first row, the rows of a task, and the row after
the last one. Task `t` computes up to `rows_per_task` rows from `first_row + t * rows_per_task` on.
Reductions combine values as `reducers` says.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ....kernels.named_tuples import NamedTuple
from ....program.ir import Block, Operation, plain_element_type
from ....program.ir import Value as IrValue
from ....types import ElementType
from ..chunks import prefetch_chunk
from ..element_costs import interleave_count
from ..llvm.functions import aligned_scratch
from ..llvm.loops import Loop, address_of, min_index
from ..llvm.tasks import begin_task
from ..llvm.values import I64, Value, load, store, stored_type
from ..llvm.vector_loops import QuickVectorLoop
from ..nests.nontemporal_stores import copy_nontemporal
from ..regions.region_function import OperandArrays
from .element_emitter import Indices
from .reducers import Reducer
from .row_chunks import row_chunks
from .row_emitter import RowEmitter
from .row_tiling import (
    NAME,
    RowTilePlan,
    operations_after_reductions,
    pass_count,
    pass_outputs,
    reductions_in_pass,
    rows_per_call,
    rows_per_group,
)
from .short_rows import ShortRows, short_row_group
from .vector_reduce import reduce_row

PassReducers = dict[Reducer, tuple[OperandArrays, OperandArrays]]
"""The reductions of a pass, each with two buffers."""


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
        rows = _Rows(module, block, plan, rows_per_group(plan, block))
        function, group = rows.function, rows.rows_per_call
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


class _Target(NamedTuple):
    """An output of a pass.

    Attributes:
        value: what is computed.
        element_type: as which it is stored.
        pointer: to its row.
        stride: elements between columns.
        is_result: whether it is stored to a result of the fusion.
    """

    value: IrValue
    element_type: ElementType
    pointer: ir.Value
    stride: int
    is_result: bool = False


class _Rows(RowEmitter):
    """Computes a group of rows, one after the other.

    Each pass computes all rows of the group: the end of a row's reduction, a chain of dependent operations,
    then overlaps with the next row's pass. The indices of an element are (column,), or () if all columns
    share it. Where it takes long to compute results from the reductions of a row, a loop over the rows of
    several groups computes them, which is vectorized.

    Attributes:
        rows_per_call: the maximum number of rows of a call.
    """

    def __init__(self, module: ir.Module, block: Block, plan: RowTilePlan, group: int) -> None:
        super().__init__(module, block, plan, group)
        self.results = list(dict.fromkeys(block.terminator.operands))
        self.stack_buffers = {
            value: aligned_scratch(self.builder, stored_type(plain_element_type(value)), group * plan.columns)
            for value in plan.buffered
            if not self._is_buffered_in_result(value)
        }
        self.rows_per_call = rows_per_call(plan, block, group)
        self.reduced_buffers: dict[IrValue, ir.Value] = {}
        self.chunks = row_chunks(plan, block, group)
        self.chunk_buffers: dict[IrValue, ir.Value] = {}
        if self.chunks:
            for value in self.chunks.results:
                stored = stored_type(plain_element_type(value))
                self.chunk_buffers[value] = aligned_scratch(self.builder, stored, self.chunks.columns)
        self._generate()

    def _is_buffered_in_result(self, value: IrValue) -> bool:
        return value in self.results and self.plan.column_stride(value) == 1

    def _generate(self) -> None:
        builder = self.builder
        pass_total = pass_count(self.plan, self.block)
        reductions = [self._reducers(pass_index) for pass_index in range(pass_total)]
        if self.rows_per_call == self.group:
            self._generate_passes(reductions, self.first, self.last, stores_row_values=True)
        else:
            rows = builder.sub(self.last, self.first)
            count = builder.udiv(builder.add(rows, I64(self.group - 1)), I64(self.group))
            with Loop(builder, I64(0), count, rolled=True) as number:
                first = builder.add(self.first, builder.mul(number, I64(self.group)))
                last = min_index(builder, builder.add(first, I64(self.group)), self.last)
                self._generate_passes(reductions, first, last, stores_row_values=False)
            loop = Loop(builder, self.first, self.last)
            with loop as row:
                self._enter_row(row, self.first, pass_total)
                self._store_row_values()
                operations = operations_after_reductions(self.plan, self.block)
                loop.interleave_count = interleave_count(operations, self.rows_per_call)
        builder.ret_void()

    def _generate_passes(
        self, reductions: Sequence[PassReducers], first: ir.Value, last: ir.Value, stores_row_values: bool
    ) -> None:
        """Generate all passes over the rows [first, last) of a group.

        Args:
            reductions: those of each pass.
            stores_row_values: whether the last pass stores the results that all columns share.
        """
        for pass_index, reducers in enumerate(reductions):
            with Loop(self.builder, first, last) as row:
                self._enter_row(row, first, pass_index)
                self._generate_pass(reducers)
                if stores_row_values and pass_index == len(reductions) - 1:
                    self._store_row_values()

    def _enter_row(self, row: ir.Value, first: ir.Value, pass_index: int) -> None:
        """Reset the state of a row at the start of a pass over it; `first` is the first row of its group."""
        self.pass_index = pass_index
        self.row = row
        self.indices = self.row_indices(row)
        self.row_in_group = self.builder.sub(row, first)
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

    def _reducers(self, pass_index: int) -> PassReducers:
        """The reductions of a pass with two buffers each, allocated once for all rows."""
        reducers: PassReducers = {}
        for operation in reductions_in_pass(self.plan, self.block, pass_index):
            reducer = Reducer(self.builder, operation)
            reducers[reducer] = reducer.allocate(self.plan.columns), reducer.allocate(self.plan.columns)
            stored = stored_type(plain_element_type(operation.result))
            self.reduced_buffers[operation.result] = aligned_scratch(
                self.builder, stored, self.rows_per_call
            )
        return reducers

    def _generate_pass(self, reducers: PassReducers) -> None:
        targets = self._targets(reducers)
        if targets:
            # Row values are computed before the loop, so that they dominate it.
            self._compute_row_values([target.value for target in targets])
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
        row = self.builder.sub(self.row, self.first)
        return address_of(self.builder, self.reduced_buffers[value], row, stored)

    def _store_row_values(self) -> None:
        for position, value in enumerate(self.block.terminator.operands):
            if not self.plan.varies_along_columns(value):
                pointer = self.row_address(self.result_pointers[position], value, self.indices)
                store(self.builder, plain_element_type(value), self.row_value(value), pointer)

    def _targets(self, reducers: PassReducers) -> list[_Target]:
        """The outputs of a pass."""
        targets: list[_Target] = []
        outputs = pass_outputs(self.plan, self.block, self.pass_index)
        for reducer, (first, _) in reducers.items():
            if self._in_memory(reducer) is None:
                targets.append(_Target(reducer.operation.operands[0], reducer.types[0], first.pointers[0], 1))
        for position, value in enumerate(self.block.terminator.operands):
            if value in outputs and self.plan.varies_along_columns(value):
                stride = self.plan.column_stride(value)
                assert stride is not None
                pointer = self.row_address(self.result_pointers[position], value, self.indices)
                targets.append(_Target(value, plain_element_type(value), pointer, stride, True))
        for value in self.stack_buffers:
            if value in outputs:
                targets.append(_Target(value, plain_element_type(value), self.buffers[value], 1))
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

    def _columns(self, targets: Sequence[_Target]) -> None:
        """Compute the outputs of a pass over a row, by chunks where one of them, or the pass, asks for it."""
        columns, chunks = self.plan.columns, self.chunks
        if chunks is None or not (self._prefetches() or any(map(self._bypasses_caches, targets))):
            self._chunk(targets, I64(0), columns)
            return
        prefetched = chunks.prefetched if self._prefetches() else ()
        rows = [self._row_after_group(value) for value in prefetched]
        with Loop(self.builder, I64(0), I64(columns // chunks.columns), rolled=True) as number:
            first = self.builder.mul(number, I64(chunks.columns))
            for value, row in zip(prefetched, rows, strict=True):
                address = address_of(self.builder, row, first, stored_type(plain_element_type(value)))
                nbytes = chunks.columns * plain_element_type(value).dtype.itemsize
                prefetch_chunk(self.builder, address, 0, nbytes, chunks.locality)
            self._chunk(targets, first, chunks.columns)
        rest = columns % chunks.columns
        if rest:
            self._chunk(targets, I64(columns - rest), rest)

    def _prefetches(self) -> bool:
        """Whether this pass prefetches later rows."""
        return self.chunks is not None and self.pass_index == self.chunks.prefetching_pass

    def _row_after_group(self, value: IrValue) -> ir.Value:
        """The address of the row that follows the current one by the rows of a group."""
        indices = self.row_indices(self.builder.add(self.row, I64(self.group)))
        return self.row_address(self.pointers[value], value, indices)

    def _bypasses_caches(self, target: _Target) -> bool:
        """Whether a chunk of an output is buffered, and written past the caches."""
        return target.is_result and target.value in self.chunk_buffers

    def _chunk(self, targets: Sequence[_Target], first: ir.Value, count: int) -> None:
        """Compute `count` columns of a row's outputs, from column `first` on."""
        builder = self.builder
        loop = QuickVectorLoop(builder, first, builder.add(first, I64(count)))
        with loop as column:
            elements: dict[IrValue, Value] = {}
            for target in targets:
                element = self.element(target.value, (column,), elements)
                pointer, offset = target.pointer, column
                if self._bypasses_caches(target):
                    pointer, offset = self.chunk_buffers[target.value], builder.sub(column, first)
                elif target.stride != 1:
                    offset = builder.mul(column, I64(target.stride))
                address = address_of(builder, pointer, offset, stored_type(target.element_type))
                store(builder, target.element_type, element, address)
            owners = [value.owner for value in elements]
            operations = [owner for owner in owners if isinstance(owner, Operation)]
            loop.interleave_count = interleave_count(operations, count)
        for target in filter(self._bypasses_caches, targets):
            address = address_of(builder, target.pointer, first, stored_type(target.element_type))
            itemsize = target.element_type.dtype.itemsize
            copy_nontemporal(builder, self.chunk_buffers[target.value], address, I64(count), itemsize)

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
