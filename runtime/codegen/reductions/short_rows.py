"""A cluster of short rows (`row_form`) as native code: many rows side by side, a row in each lane of vectors.

A group of rows is first copied to the stack, turned on its side: for each column the elements of all rows.
Those that lie one after the other are copied tile by tile, others one by one. Each pass goes through the
columns, and results are turned back at last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from llvmlite import ir

from ...ir import Block, Operation
from ...ir import Value as IrValue
from ..coverage import ViewOf
from ..elementwise.elementwise import emit
from ..elementwise.floats import divide_by, reciprocal
from ..llvm.functions import aligned_room, outlined_function
from ..llvm.loops import Loop, address_of
from ..llvm.values import F64, I64, Value, constant_element, load, rounded, store, stored_type
from ..nests.transposition import MAX_TILED_ITEMSIZE, load_transposed, store_transposed, tile_lanes
from .column_reduce import RowStacks
from .iteration_space import element_type_of, folded_type, one_step
from .reduce import F32, combine, index_as
from .reduction_tiling import rows_together
from .row_tiling import EXPENSIVE, RowForm, cost_of, pass_count, reductions_at, row_divisor, sinks

_MOST_COLUMNS = 48
_MOST_APART = 16
"""Columns of rows that lie apart: to copy them one by one costs less than an expensive operation a row."""
_LEAST_ROWS = 16
_MOST_ROWS = 64
_GROUP_BYTES = 1 << 15
"""What lies on the stack should stay in the nearest cache."""


def short_group(form: RowForm, block: Block, size: int) -> int | None:
    """How many rows are computed side by side; None where they are long, or lie apart and it does not pay.

    Args:
        form: the block's `row_form`.
        size: how many rows a task has.
    """
    values = [*block.arguments, *block.terminator.operands, *form.saved]
    itemsizes = [element_type_of(value).dtype.itemsize for value in values]
    if form.columns > _MOST_COLUMNS or form.rows < _LEAST_ROWS or max(itemsizes) > MAX_TILED_ITEMSIZE:
        return None
    wide = [value for value in values if form.along_columns(value) and _varies(form, value)]
    apart = [value for value in wide if not _is_dense(form, value)]
    if apart and (form.columns > _MOST_APART or not _is_expensive(block)):
        return None
    if any(value in apart for value in block.terminator.operands):
        return None
    rows = _MOST_ROWS
    while rows > _LEAST_ROWS and (rows * form.columns * sum(itemsizes) > _GROUP_BYTES or rows >= 2 * size):
        rows //= 2
    return rows


def _is_expensive(block: Block) -> bool:
    """Whether there is an operation that takes long, which vectors of rows share."""
    done = [operation for operation in block.operations[:-1] if operation.name != "stablehlo.reduce"]
    return any(cost_of(operation) >= EXPENSIVE for operation in done)


def _varies(form: RowForm, value: IrValue) -> bool:
    """Whether a value differs from row to row."""
    return any(form.steps(value)[: form.row_rank])


def _is_dense(form: RowForm, value: IrValue) -> bool:
    """Whether a value's rows lie one after the other."""
    rank = form.row_rank
    row_step = one_step(form.shape[:rank], form.steps(value)[:rank])
    return row_step == form.columns and form.column_step(value) == 1


class ShortRows:
    """Generates `void rows(int64 first, int64 last, T* noalias...)`, which computes a group of rows.

    Attributes:
        rooms: memory for values of the group, by columns and rows, or by rows alone.
    """

    def __init__(self, module: ir.Module, block: Block, form: RowForm, view_of: ViewOf, group: int) -> None:
        self.block = block
        self.form = form
        self.view_of = view_of
        self.group = group
        count = len(block.arguments) + len(block.terminator.operands)
        self.function = outlined_function(module, "group", 2, count)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.first, last, *pointers = self.function.args
        self.count = self.builder.sub(last, self.first)
        self.pointers = dict(zip(block.arguments, pointers, strict=False))
        self.results = list(zip(block.terminator.operands, pointers[len(block.arguments) :], strict=True))
        self.rooms: dict[IrValue, ir.Value] = {}
        self.reciprocals: dict[IrValue, ir.Value] = {}
        self.index_rooms: dict[int, ir.Value] = {}
        self._bring_in()
        for level in range(pass_count(form, block)):
            self._pass(level)
        self._take_out()
        self.builder.ret_void()

    def _room_of(self, value: IrValue) -> ir.Value:
        columns = self.form.columns if self.form.along_columns(value) else 1
        return aligned_room(self.builder, stored_type(element_type_of(value)), columns * self.group)

    def _bring_in(self) -> None:
        """Copy all that varies from row to row."""
        rank = self.form.row_rank
        for value, pointer in self.pointers.items():
            if _varies(self.form, value):
                self.rooms[value] = room = self._room_of(value)
                columns = self.form.columns if self.form.along_columns(value) else 1
                self._clear(room, element_type_of(value).dtype.itemsize, columns * self.group)
                self._copy(value, pointer, room, inwards=True)
        counted = [operation for operation in self.block.operations if operation.name == "stablehlo.iota"]
        axes = {self._counted_axis(operation) for operation in counted}
        for axis in axes:
            if axis is not None and axis < rank and rank > 1:
                self.index_rooms[axis] = room = aligned_room(self.builder, I64, self.group)
                self._clear(room, 8, self.group)
                with Loop(self.builder, I64(0), self.count) as row:
                    index = self._row_indices(row)[axis]
                    self.builder.store(index, address_of(self.builder, room, row, I64))

    def _clear(self, room: ir.Value, itemsize: int, count: int) -> None:
        """Where rows are missing, all are computed nevertheless: of values that are defined."""
        builder, byte = self.builder, ir.IntType(8)
        begin = builder.bitcast(room, byte.as_pointer())
        is_short = builder.icmp_signed("<", self.count, I64(self.group))
        with builder.if_then(is_short), Loop(builder, I64(0), I64(itemsize * count), True) as place:
            builder.store(byte(0), builder.gep(begin, [place], inbounds=True))

    def _row_indices(self, row: ir.Value) -> list[ir.Value]:
        """A row's index along each of the dimensions that number the rows, by its number in the group."""
        rest, indices = self.builder.add(self.first, row), []
        for size in reversed(self.form.shape[1 : self.form.row_rank]):
            indices.append(self.builder.urem(rest, I64(size)))
            rest = self.builder.udiv(rest, I64(size))
        return [rest, *reversed(indices)][: self.form.row_rank]

    def _at_row(self, pointer: ir.Value, value: IrValue, row: ir.Value) -> ir.Value:
        """Where a row of a value in memory begins."""
        builder, offset = self.builder, I64(0)
        for index, step in zip(self._row_indices(row), self.form.steps(value), strict=False):
            if step:
                offset = builder.add(offset, builder.mul(index, I64(step)))
        item = ir.IntType(8 * element_type_of(value).dtype.itemsize)
        return address_of(builder, pointer, offset, item)

    def _copy(self, value: IrValue, pointer: ir.Value, room: ir.Value, inwards: bool) -> None:
        """Turn a value's rows on their side, or back: tiles in registers, the rest by single elements."""
        builder, form = self.builder, self.form
        itemsize, columns = element_type_of(value).dtype.itemsize, form.columns
        first: ir.Value = I64(0)
        if form.along_columns(value) and _is_dense(form, value):
            lanes = tile_lanes(itemsize)
            whole = self.count
            if inwards:
                # Vectors reach past the ends of rows, but not past that of the last one.
                spare = -(-lanes // columns)
                left = builder.sub(I64(form.rows - spare), self.first)
                left = builder.select(builder.icmp_signed(">", left, I64(0)), left, I64(0))
                whole = builder.select(builder.icmp_signed("<", left, whole), left, whole)
            tiles = builder.udiv(whole, I64(lanes))
            turned = load_transposed if inwards else store_transposed
            is_any = builder.icmp_signed(">", tiles, I64(0))
            with builder.if_then(is_any), Loop(builder, I64(0), tiles, True) as number:
                row = builder.mul(number, I64(lanes))
                start = self._at_row(pointer, value, row)
                turned(builder, itemsize, start, columns, room, row, self.group)
            first = builder.mul(tiles, I64(lanes))
        is_any = builder.icmp_signed("<", first, self.count)
        with builder.if_then(is_any), Loop(builder, first, self.count, True) as row:
            self._copy_row(value, pointer, room, row, inwards)

    def _copy_row(
        self, value: IrValue, pointer: ir.Value, room: ir.Value, row: ir.Value, inwards: bool
    ) -> None:
        builder = self.builder
        item = ir.IntType(8 * element_type_of(value).dtype.itemsize)
        start, step = self._at_row(pointer, value, row), self.form.column_step(value)
        columns = self.form.columns if self.form.along_columns(value) else 1
        assert step is not None
        with Loop(builder, I64(0), I64(columns), True) as column:
            place = builder.add(builder.mul(column, I64(self.group)), row)
            inside = builder.gep(builder.bitcast(room, item.as_pointer()), [place], inbounds=True)
            outside = address_of(builder, start, builder.mul(column, I64(step)), item)
            source, target = (outside, inside) if inwards else (inside, outside)
            builder.store(builder.load(source, typ=item), target)

    def _pass(self, level: int) -> None:
        """Compute what can be known in a pass: reductions, results, and what later passes need."""
        reductions = reductions_at(self.form, self.block, level)
        folded = {operation.operands[0] for operation in reductions}
        kept = {value for value, _ in self.results} | set(self.form.saved)
        wanted = [value for value in sinks(self.form, self.block, level) if value not in self.rooms]
        self._prepare([*wanted, *folded])
        rooms = {value: self._room_of(value) for value in wanted if value in kept}

        def compute(column: ir.Value, row: ir.Value) -> list[Value]:
            known: dict[IrValue, Value] = {}
            for value, room in rooms.items():
                element = self.value(value, column, row, known)
                store(self.builder, element_type_of(value), element, self._place(value, room, column, row))
            return [self.value(operation.operands[0], column, row, known) for operation in reductions]

        columns, rows = self.form.columns, I64(self.group)
        if reductions:
            together = rows_together(self._work())
            stacks = RowStacks(self.builder, reductions, self.view_of, self.group, columns // together)
            groups = I64(columns // together) if columns >= together else None
            yes = ir.Constant(ir.IntType(1), 1)
            for operation, totals in stacks.fold(
                groups, together, columns % together, yes, rows, compute
            ).items():
                self._finish(operation, totals)
        elif rooms:
            first = I64(0)
            with (
                Loop(self.builder, first, I64(columns)) as column,
                Loop(self.builder, first, rows, True) as row,
            ):
                compute(column, row)
        self.rooms.update(rooms)

    def _work(self) -> int:
        done = [operation for operation in self.block.operations[:-1] if operation.name != "stablehlo.reduce"]
        return sum(cost_of(operation) for operation in done if self.form.along_columns(operation.result))

    def _finish(self, operation: Operation, totals: ir.Value) -> None:
        """A reduction's results from the totals of all rows."""
        builder, result, folded = self.builder, operation.result, folded_type(operation, F32)
        element_type, body = element_type_of(result), operation.regions[0].block
        room = self._room_of(result)
        with Loop(builder, I64(0), I64(self.group), True) as row:
            initial = self.value(operation.operands[1], I64(0), row, {})
            total = load(builder, folded, address_of(builder, totals, row, stored_type(folded)))
            value = combine(builder, body, self.view_of, folded, initial, total)
            if folded is not element_type:
                value = (rounded(builder, element_type, value[0]),)
            store(builder, element_type, value, self._place(result, room, I64(0), row))
        self.rooms[result] = room

    def _prepare(self, values: Sequence[IrValue]) -> None:
        """Compute once for each row what does not vary along the columns and is needed at each of them."""
        found, divisors = dict[IrValue, None](), dict[IrValue, None]()
        pending, seen = list(values), set[IrValue]()
        while pending:
            value = pending.pop()
            operation = value.owner
            if value in seen or value in self.rooms or not isinstance(operation, Operation):
                continue
            seen.add(value)
            if not self.form.along_columns(value):
                if operation.name != "stablehlo.constant":
                    found[value] = None
                continue
            pending += operation.operands
            divisor = row_divisor(self.form, operation)
            if divisor is not None and divisor not in self.reciprocals:
                divisors[divisor] = None
        rooms = {value: self._room_of(value) for value in found}
        inverses = {value: aligned_room(self.builder, F64, self.group) for value in divisors}
        if not rooms and not inverses:
            return
        with Loop(self.builder, I64(0), I64(self.group), True) as row:
            known: dict[IrValue, Value] = {}
            for value, room in rooms.items():
                element = self.value(value, I64(0), row, known)
                store(self.builder, element_type_of(value), element, self._place(value, room, I64(0), row))
            for value, room in inverses.items():
                inverse = reciprocal(self.builder, self.value(value, I64(0), row, known)[0])
                self.builder.store(inverse, address_of(self.builder, room, row, F64))
        self.rooms.update(rooms)
        self.reciprocals.update(inverses)

    def _take_out(self) -> None:
        """Write the results."""
        self._prepare([value for value, _ in self.results if not self.form.along_columns(value)])
        for value, pointer in self.results:
            if value not in self.rooms:
                self.rooms[value] = room = self._room_of(value)
                with Loop(self.builder, I64(0), I64(self.group), True) as row:
                    element = self.value(value, I64(0), row, {})
                    place = self._place(value, room, I64(0), row)
                    store(self.builder, element_type_of(value), element, place)
            self._copy(value, pointer, self.rooms[value], inwards=False)

    def _place(self, value: IrValue, room: ir.Value, column: ir.Value, row: ir.Value) -> ir.Value:
        """Where a value of a column and a row lies in its room."""
        if self.form.along_columns(value):
            row = self.builder.add(self.builder.mul(column, I64(self.group)), row)
        return address_of(self.builder, room, row, stored_type(element_type_of(value)))

    def value(self, value: IrValue, column: ir.Value, row: ir.Value, known: dict[IrValue, Value]) -> Value:
        """A value at a column and a row of the group."""
        if value not in known:
            room = self.rooms.get(value)
            if room is None:
                known[value] = self._computed(value, column, row, known)
            else:
                place = self._place(value, room, column, row)
                known[value] = load(self.builder, element_type_of(value), place)
        return known[value]

    def _computed(
        self, value: IrValue, column: ir.Value, row: ir.Value, known: dict[IrValue, Value]
    ) -> Value:
        operation = value.owner
        element_type = element_type_of(value)
        if not isinstance(operation, Operation):
            step = self.form.column_step(value)
            assert step is not None
            place = self.builder.mul(column, I64(step))
            pointer = address_of(self.builder, self.pointers[value], place, stored_type(element_type))
            return load(self.builder, element_type, pointer)
        if operation.name == "stablehlo.constant":
            return constant_element(operation)
        if operation.name == "stablehlo.iota":
            return index_as(self.builder, self._index(operation, column, row), element_type)
        divisor = row_divisor(self.form, operation)
        if divisor is not None and divisor in self.reciprocals:
            (dividend,) = self.value(operation.operands[0], column, row, known)
            place = address_of(self.builder, self.reciprocals[divisor], row, F64)
            return (divide_by(self.builder, dividend, self.builder.load(place, typ=F64)),)
        operands = [self.value(operand, column, row, known) for operand in operation.operands]
        if operation.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
            return operands[0]
        return emit(self.builder, operation, operands)

    def _counted_axis(self, operation: Operation) -> int | None:
        dimension: int = self.view_of(operation).iota_dimension
        return self.form.axes[operation.result][dimension]

    def _index(self, operation: Operation, column: ir.Value, row: ir.Value) -> ir.Value:
        """The index along the space's dimension that an iota counts."""
        axis = self._counted_axis(operation)
        if axis is None:
            return I64(0)
        if axis in self.index_rooms:
            place = address_of(self.builder, self.index_rooms[axis], row, I64)
            return self.builder.load(place, typ=I64)
        if axis < self.form.row_rank:
            return self.builder.add(self.first, row)
        inner = I64(math.prod(self.form.shape[axis + 1 :]))
        size = I64(self.form.shape[axis])
        return self.builder.urem(self.builder.udiv(column, inner), size)
