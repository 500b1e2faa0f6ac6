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

from ..ir import Block, DenseElementsAttribute, Operation
from ..ir import Value as IrValue
from ..types import ELEMENT_TYPES, FLOAT, INTEGER, ElementType, TensorType
from .blocks import INT64, POINTER, BlockEmitter, Elements, ViewOf
from .elementwise import emit
from .row_form import (
    WIDENED,
    RowForm,
    combines_by,
    folded_type,
    is_exact,
    pass_count,
    reductions_at,
    sinks,
)
from .values import Value, constant, load, rounded, store, stored_type, value_types, wrapped

NAME = "rows"
TASK_TYPE = ir.FunctionType(ir.VoidType(), [INT64, POINTER])
_F32 = ELEMENT_TYPES["f32"]


def rows_module(block: Block, form: RowForm, view_of: ViewOf, size: int) -> ir.Module:
    """The module with the task `NAME`.

    Args:
        block: the cluster's.
        form: its `row_form`.
        view_of: gives an operation's view.
        size: how many rows a task computes.
    """
    module = ir.Module(NAME)
    row = _Row(module, block, form, view_of).function
    task = ir.Function(module, TASK_TYPE, NAME)
    builder = ir.IRBuilder(task.append_basic_block("entry"))
    number, pointers = task.args
    arguments = [
        builder.load(_element(builder, pointers, INT64(k), POINTER), typ=POINTER)
        for k in range(len(row.args) - 1)
    ]
    first = builder.mul(number, INT64(size))
    after = builder.add(first, INT64(size))
    last = builder.select(builder.icmp_signed("<", after, INT64(form.rows)), after, INT64(form.rows))
    with _Loop(builder, first, last) as index:
        builder.call(row, [index, *arguments])
    builder.ret_void()
    return module


class _Loop:
    """A loop over [first, last), at least one step; the builder stands in its body, then behind it."""

    def __init__(self, builder: ir.IRBuilder, first: ir.Value, last: ir.Value) -> None:
        self.builder = builder
        self.first = first
        self.last = last

    def __enter__(self) -> ir.Value:
        builder = self.builder
        before = builder.block
        self.body = builder.append_basic_block("body")
        builder.branch(self.body)
        builder.position_at_end(self.body)
        self.index = builder.phi(INT64)
        self.index.add_incoming(self.first, before)
        return self.index

    def __exit__(self, *_: object) -> None:
        builder = self.builder
        following = builder.add(self.index, INT64(1), flags=("nsw",))
        self.index.add_incoming(following, builder.block)
        end = builder.append_basic_block("end")
        builder.cbranch(builder.icmp_signed("<", following, self.last), self.body, end)
        builder.position_at_end(end)


class _Row:
    """Generates `void row(int64 row, T* noalias...)`, which computes one row."""

    def __init__(self, module: ir.Module, block: Block, form: RowForm, view_of: ViewOf) -> None:
        self.module = module
        self.block = block
        self.form = form
        self.view_of = view_of
        self.results = list(dict.fromkeys(block.terminator.operands))
        values = [*block.arguments, *block.terminator.operands]
        pointers = [POINTER] * len(values)
        self.function = ir.Function(module, ir.FunctionType(ir.VoidType(), [INT64, *pointers]), "row")
        self.function.linkage = "internal"
        self.function.attributes.add("noinline")
        for argument in self.function.args[1:]:
            argument.add_attribute("noalias")
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.pointers = dict(zip(block.arguments, self.function.args[1:], strict=False))
        self.result_pointers = self.function.args[1 + len(block.arguments) :]
        self.rows: dict[IrValue, Value] = {}
        self.folds: dict[tuple[str, str], ir.Function] = {}
        self.indices = self._row_indices()
        self.buffers = self._buffers()
        self._generate()

    def _row_indices(self) -> list[ir.Value]:
        """The row's index along each of the dimensions that number the rows."""
        rest, indices = self.function.args[0], []
        for size in reversed(self.form.shape[1 : self.form.row_rank]):
            indices.append(self.builder.urem(rest, INT64(size)))
            rest = self.builder.udiv(rest, INT64(size))
        return [rest, *reversed(indices)][: self.form.row_rank]

    def _buffers(self) -> dict[IrValue, ir.Value]:
        """Where values are kept for later passes: in the memory of a result, or on the stack."""
        buffers = {}
        for value in self.form.saved:
            if value in self.results and self._is_row_of_result(value):
                position = list(self.block.terminator.operands).index(value)
                buffers[value] = self._at_row(self.result_pointers[position], value)
            else:
                buffers[value] = self._room(stored_type(_element_type(value)))
        return buffers

    def _is_row_of_result(self, value: IrValue) -> bool:
        return self.form.column_step(value) == 1

    def _room(self, type: ir.Type) -> ir.Value:
        room = self.builder.alloca(ir.ArrayType(type, self.form.columns))
        room.align = 64
        return self.builder.gep(room, [INT64(0), INT64(0)], inbounds=True)

    def _generate(self) -> None:
        passes = pass_count(self.form, self.block)
        rooms = [self._fold_rooms(level) for level in range(passes)]
        for level in range(passes):
            targets = self._targets(level, rooms[level])
            if targets:
                self._column_pass(level, targets)
            for operation, (first, second) in rooms[level].items():
                self.rows[operation.result] = self._folded(operation, first, second)
        for position, value in enumerate(self.block.terminator.operands):
            if not self.form.along_columns(value):
                pointer = self._at_row(self.result_pointers[position], value)
                store(self.builder, _element_type(value), self.row_value(value), pointer)
        self.builder.ret_void()

    def _fold_rooms(self, level: int) -> dict[Operation, tuple[ir.Value, ir.Value]]:
        """Two buffers for each reduction of a pass; on the stack's top once, whatever the number of rows."""
        rooms = {}
        for operation in reductions_at(self.form, self.block, level):
            type = stored_type(folded_type(operation, _F32))
            rooms[operation] = (self._room(type), self._room(type))
        return rooms

    def _targets(
        self, level: int, rooms: dict[Operation, tuple[ir.Value, ir.Value]]
    ) -> list[tuple[IrValue, ElementType, ir.Value, int]]:
        """What a pass computes: value, element type to store it as, where its row begins, column step."""
        targets = []
        wanted = sinks(self.form, self.block, level)
        for operation, (first, _) in rooms.items():
            targets.append((operation.operands[0], folded_type(operation, _F32), first, 1))
        for position, value in enumerate(self.block.terminator.operands):
            if value in wanted and self.form.along_columns(value):
                step = self.form.column_step(value)
                assert step is not None
                pointer = self._at_row(self.result_pointers[position], value)
                targets.append((value, _element_type(value), pointer, step))
        for value, buffer in self.buffers.items():
            if value in wanted and not any(target[2] is buffer for target in targets):
                kept_in_result = value in self.results and self._is_row_of_result(value)
                if not kept_in_result:
                    targets.append((value, _element_type(value), buffer, 1))
        return targets

    def _column_pass(self, level: int, targets: Sequence[tuple[IrValue, ElementType, ir.Value, int]]) -> None:
        # Row values are computed before the loop, so that they dominate it.
        self._prepare_rows([value for value, *_ in targets], level)
        with _Loop(self.builder, INT64(0), INT64(self.form.columns)) as column:
            columns: dict[IrValue, Value] = {}
            for value, element_type, pointer, step in targets:
                element = self.column_value(value, level, column, columns)
                place = self.builder.mul(column, INT64(step)) if step != 1 else column
                place = _element(self.builder, pointer, place, stored_type(element_type))
                store(self.builder, element_type, element, place)

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

    def _is_kept(self, value: IrValue, level: int) -> bool:
        return value in self.buffers and self.form.levels[value] < level

    def row_value(self, value: IrValue) -> Value:
        """A value that does not vary along the columns, computed where the builder stands or before."""
        if value not in self.rows:
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
                stored = stored_type(_element_type(value))
                pointer = _element(self.builder, self.buffers[value], column, stored)
                columns[value] = load(self.builder, _element_type(value), pointer)
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
            attribute = operation.attributes["value"]
            assert isinstance(attribute, DenseElementsAttribute)
            return constant(_element_type(value), attribute.array.flat[0])
        if operation.name == "stablehlo.iota":
            return self._iota(value, operation, column)
        operands = [operand_value(operand) for operand in operation.operands]
        if operation.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
            (moved,) = operands
            same: Value = moved
            return same
        return emit(self.builder, operation, operands)

    def _loaded(self, value: IrValue, column: ir.Value | None) -> Value:
        pointer = self._at_row(self.pointers[value], value)
        step = self.form.column_step(value)
        if column is not None and step:
            place = column if step == 1 else self.builder.mul(column, INT64(step))
            pointer = _element(self.builder, pointer, place, stored_type(_element_type(value)))
        return load(self.builder, _element_type(value), pointer)

    def _at_row(self, pointer: ir.Value, value: IrValue) -> ir.Value:
        """Where the present row of a value in memory begins."""
        offset: ir.Value = INT64(0)
        for index, step in zip(self.indices, self.form.steps(value), strict=False):
            if step:
                offset = self.builder.add(offset, self.builder.mul(index, INT64(step)))
        return _element(self.builder, pointer, offset, stored_type(_element_type(value)))

    def _iota(self, value: IrValue, operation: Operation, column: ir.Value | None) -> Value:
        """The index along the space's dimension that the counted one follows."""
        d = self.view_of(operation).iota_dimension
        axis = self.form.axes[value][d]
        if axis is None:
            index: ir.Value = INT64(0)
        elif axis < self.form.row_rank:
            index = self.indices[axis]
        else:
            assert column is not None
            inner = math.prod(self.form.shape[axis + 1 :])
            index = self.builder.urem(self.builder.udiv(column, INT64(inner)), INT64(self.form.shape[axis]))
        return _number(self.builder, index, _element_type(value))

    def _folded(self, operation: Operation, first: ir.Value, second: ir.Value) -> Value:
        """A reduction's result from the values in its first buffer."""
        builder, body = self.builder, operation.regions[0].block
        element_type, folded = _element_type(operation.result), folded_type(operation, _F32)
        self._prepare_rows([operation.operands[1]], 0)
        initial = self.row_value(operation.operands[1])
        function = self._fold(operation, folded)
        total = builder.call(function, [first, second, INT64(self.form.columns)])
        value = load(builder, folded, total)
        combined = _combined(builder, body, self.view_of, folded, initial, value)
        if folded is element_type:
            return combined
        return (rounded(builder, element_type, combined[0]),)

    def _fold(self, operation: Operation, folded: ElementType) -> ir.Function:
        """`T* fold(T* values, T* room, int64 count)`, which folds values and returns where the result is."""
        body = operation.regions[0].block
        type = ir.FunctionType(POINTER, [POINTER, POINTER, INT64])
        function = ir.Function(self.module, type, self.module.get_unique_name("fold"))
        function.linkage = "internal"
        function.attributes.add("noinline")
        _generate_fold(function, body, self.view_of, folded)
        return function


def _combined(
    builder: ir.IRBuilder, body: Block, view_of: ViewOf, folded: ElementType, left: Value, right: Value
) -> Value:
    """Two values combined by a body, in the element type in which it is folded."""
    argument: Any = body.arguments[0].type
    if folded is not argument.element_type:
        name = combines_by(body)
        assert name in WIDENED
        by = builder.fadd if name == "stablehlo.add" else builder.fmul
        return (by(left[0], right[0]),)
    (result,) = BlockEmitter(builder, view_of).emit_block(body, [Elements((left,)), Elements((right,))])
    assert isinstance(result, Elements)
    return result.scalar


def _generate_fold(function: ir.Function, body: Block, view_of: ViewOf, folded: ElementType) -> None:
    """Level by level from one buffer into the other: by pairs, or by halves where the order does not matter."""
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    values, room, count = function.args
    stored = stored_type(folded)
    level, inner, last, end = (function.append_basic_block(name) for name in ("level", "pairs", "odd", "end"))
    entry = builder.block
    builder.cbranch(builder.icmp_signed(">", count, INT64(1)), level, end)
    builder.position_at_end(level)
    source, target = builder.phi(values.type), builder.phi(values.type)
    length = builder.phi(INT64)
    half = builder.lshr(length, INT64(1))
    rest = builder.and_(length, INT64(1))
    left = builder.add(half, rest)
    builder.branch(inner)
    builder.position_at_end(inner)
    index = builder.phi(INT64)
    if is_exact(body):
        places = (index, builder.add(index, left))
    else:
        twice = builder.shl(index, INT64(1))
        places = (twice, builder.add(twice, INT64(1)))
    first, second = (load(builder, folded, _element(builder, source, place, stored)) for place in places)
    result = _combined(builder, body, view_of, folded, first, second)
    store(builder, folded, result, _element(builder, target, index, stored))
    following = builder.add(index, INT64(1), flags=("nsw",))
    index.add_incoming(INT64(0), level)
    index.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, half), inner, last)
    builder.position_at_end(last)
    odd = half if is_exact(body) else builder.shl(half, INT64(1))
    with builder.if_then(builder.icmp_signed("!=", rest, INT64(0))):
        spare = load(builder, folded, _element(builder, source, odd, stored))
        store(builder, folded, spare, _element(builder, target, half, stored))
    for phi, begin, later in ((source, values, target), (target, room, source), (length, count, left)):
        phi.add_incoming(begin, entry)
        phi.add_incoming(later, builder.block)
    finished = builder.block
    builder.cbranch(builder.icmp_signed(">", left, INT64(1)), level, end)
    builder.position_at_end(end)
    where = builder.phi(values.type)
    where.add_incoming(values, entry)
    where.add_incoming(target, finished)
    builder.ret(where)


def _element(builder: ir.IRBuilder, pointer: ir.Value, index: ir.Value, stored: ir.Type) -> ir.Value:
    """The address of an element of an array."""
    return builder.gep(pointer, [index], inbounds=True, source_etype=stored)


def _element_type(value: IrValue) -> ElementType:
    assert isinstance(value.type, TensorType) and isinstance(value.type.element_type, ElementType)
    return value.type.element_type


def _number(builder: ir.IRBuilder, index: ir.Value, element_type: ElementType) -> Value:
    """An index as an element of a type."""
    if element_type.category & INTEGER:
        type = value_types(element_type)[0]
        same = index if type == INT64 else builder.trunc(index, type)
        return (wrapped(builder, element_type, same),)
    part = ELEMENT_TYPES["f64"] if element_type.width == 128 else _F32
    real = element_type if element_type.category == FLOAT else part
    number = rounded(builder, real, builder.sitofp(index, ir.DoubleType()))
    if element_type.category == FLOAT:
        return (number,)
    return (number, ir.Constant(number.type, 0.0))
