"""A fusion of short rows (`plan_row_tiling`) as native code: each vector lane computes a row.

A group of rows is first transposed into scratch memory: the elements of all rows for each column. Contiguous
rows are transposed tile by tile, others element by element. Each pass loops over the columns; results are
transposed back.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ....program.ir import Block, Operation, plain_element_type
from ....program.ir import Value as IrValue
from ....program.ops.framework.costs import EXPENSIVE_COST
from ....program.ops.framework.declaration import declaration_of
from ..element_costs import cost_of
from ..llvm.functions import aligned_scratch
from ..llvm.loops import Loop, address_of
from ..llvm.values import BIT, I8, I64, Value, load, store, stored_type
from ..llvm.vector_loops import QuickVectorLoop
from ..nests.transposition import MAX_TILED_ITEMSIZE, load_transposed, store_transposed, tile_lanes
from ..regions.region_function import OperandArrays
from .column_reduce import PairwiseRowStacks
from .element_emitter import Indices
from .iteration_space import collapsed_stride
from .reducers import Reducer
from .reduction_tiling import interleaved_rows
from .row_emitter import RowEmitter
from .row_tiling import RowTilePlan, pass_count, pass_outputs, reductions_in_pass

_MAX_COLUMNS = 48
"""Columns of a short row, at most. From 56 on, softmax, norms and sums take 1.2 to 2.2 times as long as by
`rows`; with 24 columns `rows` takes 1.1 to 1.3 times as long, with 40 and 48 0.8 to 1.4 times (Zen 4)."""
_MAX_STRIDED_COLUMNS = 16
"""Columns of rows that are not contiguous: copying them costs less than an expensive operation a row."""
_MIN_ROWS = 16
"""Rows of a group, at least: those of a vector of f32."""
_MAX_ROWS = 64
"""Rows of a group, at most."""
_GROUP_BYTES = 1 << 15
"""Bytes of scratch memory, which should stay in the L1 cache."""


def short_row_group(plan: RowTilePlan, block: Block, rows_per_task: int) -> int | None:
    """The number of rows of a group; None if rows are long, or not contiguous and too cheap.

    Args:
        plan: from `plan_row_tiling`.
        rows_per_task: the number of rows of a task.
    """
    values = [*block.arguments, *block.terminator.operands, *plan.buffered]
    itemsizes = [plain_element_type(value).dtype.itemsize for value in values]
    if plan.columns > _MAX_COLUMNS or plan.rows < _MIN_ROWS or max(itemsizes) > MAX_TILED_ITEMSIZE:
        return None
    matrices = [value for value in values if plan.varies_along_columns(value) and _varies(plan, value)]
    strided = [value for value in matrices if not _is_contiguous(plan, value)]
    if strided and (plan.columns > _MAX_STRIDED_COLUMNS or not _is_expensive(block)):
        return None
    if any(value in strided for value in block.terminator.operands):
        return None
    rows = _MAX_ROWS
    while rows > _MIN_ROWS and (
        rows * plan.columns * sum(itemsizes) > _GROUP_BYTES or rows >= 2 * rows_per_task
    ):
        rows //= 2
    return rows


def _is_expensive(block: Block) -> bool:
    """Whether there is an expensive operation, which vectorizing over rows speeds up."""
    return any(cost_of(operation) >= EXPENSIVE_COST for operation in _operations_around_reductions(block))


def _operations_around_reductions(block: Block) -> list[Operation]:
    return [operation for operation in block.operations[:-1] if not declaration_of(operation).reduces]


def _varies(plan: RowTilePlan, value: IrValue) -> bool:
    """Whether a value depends on the row."""
    return any(plan.strides(value)[: plan.row_rank])


def _is_contiguous(plan: RowTilePlan, value: IrValue) -> bool:
    rank = plan.row_rank
    row_step = collapsed_stride(plan.shape[:rank], plan.strides(value)[:rank])
    return row_step == plan.columns and plan.column_stride(value) == 1


class ShortRows(RowEmitter):
    """Computes a group of rows in vectors of rows.

    The indices of an element are (column, row), the row by its number in the group.

    Attributes:
        scratch_buffers: of the group's values, [columns, rows] or [rows].
    """

    def __init__(self, module: ir.Module, block: Block, plan: RowTilePlan, group: int) -> None:
        super().__init__(module, block, plan, group)
        self.count = self.builder.sub(self.last, self.first)
        self.results = list(zip(block.terminator.operands, self.result_pointers, strict=True))
        self.scratch_buffers: dict[IrValue, ir.Value] = {}
        self.row_index_buffers: dict[int, ir.Value] = {}
        self._load_operands()
        for pass_index in range(pass_count(plan, block)):
            self._emit_pass(pass_index)
        self._store_results()
        self.builder.ret_void()

    def _allocate(self, value: IrValue) -> ir.Value:
        columns = self.plan.columns if self.plan.varies_along_columns(value) else 1
        return aligned_scratch(self.builder, stored_type(plain_element_type(value)), columns * self.group)

    def _load_operands(self) -> None:
        """Load all operands that depend on the row into scratch memory."""
        rank = self.plan.row_rank
        for value, pointer in self.pointers.items():
            if _varies(self.plan, value):
                self.scratch_buffers[value] = scratch = self._allocate(value)
                columns = self.plan.columns if self.plan.varies_along_columns(value) else 1
                self._clear(scratch, plain_element_type(value).dtype.itemsize, columns * self.group)
                self._copy(value, pointer, scratch, is_load=True)
        counted = [operation for operation in self.block.operations if declaration_of(operation).is_iota]
        for axis in dict.fromkeys(map(self.iota_axis, counted)):
            if axis is not None and axis < rank and rank > 1:
                self.row_index_buffers[axis] = scratch = aligned_scratch(self.builder, I64, self.group)
                self._clear(scratch, 8, self.group)
                with Loop(self.builder, I64(0), self.count) as row:
                    index = self.row_indices(self.builder.add(self.first, row))[axis]
                    self.builder.store(index, address_of(self.builder, scratch, row, I64))

    def _clear(self, scratch: ir.Value, itemsize: int, count: int) -> None:
        """Zero the scratch memory of an incomplete group: all its rows are computed, of defined values."""
        builder, byte = self.builder, I8
        begin = builder.bitcast(scratch, byte.as_pointer())
        is_short = builder.icmp_signed("<", self.count, I64(self.group))
        with builder.if_then(is_short), Loop(builder, I64(0), I64(itemsize * count), True) as byte_index:
            builder.store(byte(0), builder.gep(begin, [byte_index], inbounds=True))

    def _address_in_group(self, pointer: ir.Value, value: IrValue, row: ir.Value) -> ir.Value:
        """The address of a row by its number in the group."""
        return self.row_address(pointer, value, self.row_indices(self.builder.add(self.first, row)))

    def _copy(self, value: IrValue, pointer: ir.Value, scratch: ir.Value, is_load: bool) -> None:
        """Transpose a value's rows to or from scratch memory: full tiles in registers, then elements."""
        builder, plan = self.builder, self.plan
        itemsize, columns = plain_element_type(value).dtype.itemsize, plan.columns
        first: ir.Value = I64(0)
        if plan.varies_along_columns(value) and _is_contiguous(plan, value):
            lanes = tile_lanes(itemsize)
            full_rows = self.count
            if is_load:
                # Vector loads may read past the end of a row, but not past that of the last row.
                overread_rows = -(-lanes // columns)
                readable_rows = builder.sub(I64(plan.rows - overread_rows), self.first)
                readable_rows = builder.select(
                    builder.icmp_signed(">", readable_rows, I64(0)), readable_rows, I64(0)
                )
                full_rows = builder.select(
                    builder.icmp_signed("<", readable_rows, full_rows), readable_rows, full_rows
                )
            tiles = builder.udiv(full_rows, I64(lanes))
            transpose = load_transposed if is_load else store_transposed
            is_any = builder.icmp_signed(">", tiles, I64(0))
            with builder.if_then(is_any), Loop(builder, I64(0), tiles, True) as number:
                row = builder.mul(number, I64(lanes))
                start = self._address_in_group(pointer, value, row)
                transpose(builder, itemsize, start, columns, scratch, row, self.group)
            first = builder.mul(tiles, I64(lanes))
        is_any = builder.icmp_signed("<", first, self.count)
        with builder.if_then(is_any), Loop(builder, first, self.count, True) as row:
            self._copy_row(value, pointer, scratch, row, is_load)

    def _copy_row(
        self, value: IrValue, pointer: ir.Value, scratch: ir.Value, row: ir.Value, is_load: bool
    ) -> None:
        builder = self.builder
        item = ir.IntType(8 * plain_element_type(value).dtype.itemsize)
        start, step = self._address_in_group(pointer, value, row), self.plan.column_stride(value)
        columns = self.plan.columns if self.plan.varies_along_columns(value) else 1
        assert step is not None
        with Loop(builder, I64(0), I64(columns), True) as column:
            element_index = builder.add(builder.mul(column, I64(self.group)), row)
            scratch_address = builder.gep(
                builder.bitcast(scratch, item.as_pointer()), [element_index], inbounds=True
            )
            array_address = address_of(builder, start, builder.mul(column, I64(step)), item)
            source, target = (array_address, scratch_address) if is_load else (scratch_address, array_address)
            builder.store(builder.load(source, typ=item), target)

    def _emit_pass(self, pass_index: int) -> None:
        """Compute a pass: reductions, results, and values that later passes need."""
        reductions = reductions_in_pass(self.plan, self.block, pass_index)
        accumulated = [operation.operands[0] for operation in reductions]
        stored_values = {value for value, _ in self.results} | set(self.plan.buffered)
        outputs = [
            value
            for value in pass_outputs(self.plan, self.block, pass_index)
            if value not in self.scratch_buffers
        ]
        self._compute_row_values([*outputs, *accumulated])
        scratch_buffers = {value: self._allocate(value) for value in outputs if value in stored_values}

        def compute(column: ir.Value, row: ir.Value) -> list[list[Value]]:
            elements: dict[IrValue, Value] = {}
            self._store_elements(scratch_buffers, (column, row), elements)
            return [[self.element(value, (column, row), elements)] for value in accumulated]

        columns, rows = self.plan.columns, I64(self.group)
        if reductions:
            reducers = [Reducer(self.builder, operation) for operation in reductions]
            interleaved = interleaved_rows(self._cost())
            stacks = PairwiseRowStacks(self.builder, reducers, self.group, columns // interleaved)
            groups = I64(columns // interleaved) if columns >= interleaved else None
            yes = BIT(1)
            totals = stacks.reduce(groups, interleaved, columns % interleaved, yes, rows, compute)
            for reducer, buffers in zip(reducers, totals, strict=True):
                self._finish(reducer, buffers)
        elif scratch_buffers:
            first = I64(0)
            with (
                Loop(self.builder, first, I64(columns)) as column,
                QuickVectorLoop(self.builder, first, rows, True) as row,
            ):
                compute(column, row)
        self.scratch_buffers.update(scratch_buffers)

    def _store_elements(
        self, scratch_buffers: dict[IrValue, ir.Value], indices: Indices, elements: dict[IrValue, Value]
    ) -> None:
        """Compute values at some indices and store them into scratch memory."""
        for value, scratch in scratch_buffers.items():
            element = self.element(value, indices, elements)
            store(self.builder, plain_element_type(value), element, self._address(value, scratch, indices))

    def _cost(self) -> int:
        """The cost of an element."""
        return sum(
            cost_of(operation)
            for operation in _operations_around_reductions(self.block)
            if self.plan.varies_along_columns(operation.result)
        )

    def _finish(self, reducer: Reducer, totals: OperandArrays) -> None:
        """A reduction's results from the totals of all rows."""
        result, initial = reducer.operation.result, reducer.operation.operands[1]
        scratch = self._allocate(result)
        with QuickVectorLoop(self.builder, I64(0), I64(self.group), True) as row:
            indices = (I64(0), row)
            element = self.element(initial, indices, {})
            (value,) = reducer.finish([element], totals.load(row))
            store(self.builder, plain_element_type(result), value, self._address(result, scratch, indices))
        self.scratch_buffers[result] = scratch

    def _compute_row_values(self, values: Sequence[IrValue]) -> None:
        """Compute once for each row the values that are the same for all columns."""
        needed = self.plan.row_values(values, self.scratch_buffers.__contains__)
        operations = [(value, value.owner) for value in needed if isinstance(value.owner, Operation)]
        row_values = [value for value, owner in operations if not owner.is_constant]
        scratch_buffers = {value: self._allocate(value) for value in row_values}
        if scratch_buffers:
            with QuickVectorLoop(self.builder, I64(0), I64(self.group), True) as row:
                self._store_elements(scratch_buffers, (I64(0), row), {})
        self.scratch_buffers.update(scratch_buffers)

    def _store_results(self) -> None:
        self._compute_row_values(
            [value for value, _ in self.results if not self.plan.varies_along_columns(value)]
        )
        for value, pointer in self.results:
            if value not in self.scratch_buffers:
                scratch = self._allocate(value)
                with QuickVectorLoop(self.builder, I64(0), I64(self.group), True) as row:
                    self._store_elements({value: scratch}, (I64(0), row), {})
                self.scratch_buffers[value] = scratch
            self._copy(value, pointer, self.scratch_buffers[value], is_load=False)

    def _address(self, value: IrValue, scratch: ir.Value, indices: Indices) -> ir.Value:
        """The address of a value's element in its scratch buffer."""
        column, row = indices
        if self.plan.varies_along_columns(value):
            row = self.builder.add(self.builder.mul(column, I64(self.group)), row)
        return address_of(self.builder, scratch, row, stored_type(plain_element_type(value)))

    def element(self, value: IrValue, indices: Indices, elements: dict[IrValue, Value]) -> Value:
        scratch = self.scratch_buffers.get(value)
        if scratch is not None and value not in elements:
            address = self._address(value, scratch, indices)
            elements[value] = load(self.builder, plain_element_type(value), address)
        return super().element(value, indices, elements)

    def load(self, value: IrValue, indices: Indices) -> Value:
        stride, type = self.plan.column_stride(value), plain_element_type(value)
        assert stride is not None
        offset = self.builder.mul(indices[0], I64(stride))
        return load(
            self.builder, type, address_of(self.builder, self.pointers[value], offset, stored_type(type))
        )

    def index(self, axis: int, indices: Indices) -> ir.Value:
        column, row = indices
        if axis in self.row_index_buffers:
            address = address_of(self.builder, self.row_index_buffers[axis], row, I64)
            return self.builder.load(address, typ=I64)
        if axis < self.plan.row_rank:
            return self.builder.add(self.first, row)
        return self.column_index(column, axis)
