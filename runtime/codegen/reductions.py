"""Reductions with the elementwise work before them (`reduction_form`) as native loop nests.

The module defines two tasks, each `void (int64 task, int8 **pointers)`. `pointers` are those of the block's
arguments, of its results, and for each reduction two of memory for totals: [outer, blocks, inner] elements,
and as many with half the blocks. `partial` computes blocks from `task * size` on, up to `size` of them;
`finish` folds the totals at one outer place.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..ir import Block, DenseElementsAttribute, Operation
from ..ir import Value as IrValue
from ..types import ElementType
from .blocks import INT64, POINTER, ViewOf
from .elementwise import emit
from .folding import (
    F32,
    Loop,
    address_of,
    combine,
    define_task,
    element_type_of,
    generate_column_fold,
    generate_fold,
    index_as,
    least,
)
from .reduction_form import ReductionForm, Steps, reductions_of
from .space import folded_type
from .values import Value, constant, load, rounded, store, stored_type

PARTIAL = "partial"
FINISH = "finish"


def reductions_module(block: Block, form: ReductionForm, view_of: ViewOf, size: int) -> ir.Module:
    """The module with the tasks `PARTIAL` and `FINISH`.

    Args:
        block: the cluster's.
        form: its `reduction_form`.
        view_of: gives an operation's view.
        size: how many blocks a task of `PARTIAL` computes.
    """
    module = ir.Module("reductions")
    folds = _Folds(module, form, view_of)
    define_task(module, PARTIAL, _Blocks(module, block, form, view_of, folds).function, form.units, size)
    define_task(module, FINISH, _Totals(module, block, form, view_of, folds).function, form.outer, 1)
    return module


class _Folds:
    """The functions that fold values, one for each reduction."""

    def __init__(self, module: ir.Module, form: ReductionForm, view_of: ViewOf) -> None:
        self.module = module
        self.form = form
        self.view_of = view_of
        self.made: dict[Operation, ir.Function] = {}

    def call(
        self,
        builder: ir.IRBuilder,
        operation: Operation,
        values: ir.Value,
        room: ir.Value,
        count: ir.Value,
        columns: ir.Value,
        step: ir.Value,
    ) -> ir.Value:
        """Fold rows of values; returns where the totals begin.

        Args:
            values, room: the rows, and room for half as many.
            count: number of rows.
            columns: elements of a row.
            step: how far apart rows begin.
        """
        function = self.made.get(operation)
        if function is None:
            function = self.made[operation] = self.generate(operation)
        if self.form.inner == 1:
            return builder.call(function, [values, room, count])
        return builder.call(function, [values, room, count, columns, step])

    def generate(self, operation: Operation) -> ir.Function:
        long = self.form.inner == 1
        sizes = [INT64] if long else [INT64] * 3
        type = ir.FunctionType(POINTER, [POINTER, POINTER, *sizes])
        function = ir.Function(self.module, type, self.module.get_unique_name("fold"))
        function.linkage = "internal"
        function.attributes.add("noinline")
        by = generate_fold if long else generate_column_fold
        by(function, operation.regions[0].block, self.view_of, folded_type(operation, F32))
        return function


class _Part:
    """Generates `void part(int64 number, ptr noalias...)` with the pointers of the tasks."""

    def __init__(
        self, module: ir.Module, block: Block, form: ReductionForm, view_of: ViewOf, folds: _Folds
    ) -> None:
        self.block = block
        self.form = form
        self.view_of = view_of
        self.folds = folds
        self.reductions = reductions_of(block)
        count = len(block.arguments) + len(block.terminator.operands) + 2 * len(self.reductions)
        type = ir.FunctionType(ir.VoidType(), [INT64, *[POINTER] * count])
        self.function = ir.Function(module, type, module.get_unique_name("part"))
        self.function.linkage = "internal"
        self.function.attributes.add("noinline")
        for argument in self.function.args[1:]:
            argument.add_attribute("noalias")
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        pointers = list(self.function.args[1:])
        self.operands = dict(zip(block.arguments, pointers, strict=False))
        self.results = pointers[len(block.arguments) : -2 * len(self.reductions)]
        totals = pointers[-2 * len(self.reductions) :]
        self.totals = dict(zip(self.reductions, zip(totals[::2], totals[1::2], strict=True), strict=True))
        self.generate()
        self.builder.ret_void()

    def generate(self) -> None:
        raise NotImplementedError

    def value(self, value: IrValue, place: tuple[ir.Value, ...], known: dict[IrValue, Value]) -> Value:
        """A value at a place (outer, reduced, inner)."""
        if value not in known:
            known[value] = self.computed(value, place, known)
        return known[value]

    def computed(self, value: IrValue, place: tuple[ir.Value, ...], known: dict[IrValue, Value]) -> Value:
        operation = value.owner
        if not isinstance(operation, Operation):
            pointer = self.at(self.operands[value], value, place)
            return load(self.builder, element_type_of(value), pointer)
        if operation.name == "stablehlo.constant":
            attribute = operation.attributes["value"]
            assert isinstance(attribute, DenseElementsAttribute)
            return constant(element_type_of(value), attribute.array.flat[0])
        if operation.name == "stablehlo.iota":
            return self.iota(value, operation, place)
        operands = [self.value(operand, place, known) for operand in operation.operands]
        if operation.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
            return operands[0]
        return emit(self.builder, operation, operands)

    def at(self, pointer: ir.Value, value: IrValue, place: tuple[ir.Value, ...]) -> ir.Value:
        """The address of a value's element at a place."""
        steps = self.form.steps(value)
        assert steps is not None
        return address_of(
            self.builder, pointer, self.offset(steps, place), stored_type(element_type_of(value))
        )

    def offset(self, steps: Steps, place: tuple[ir.Value, ...]) -> ir.Value:
        offset: ir.Value = INT64(0)
        for index, step in zip(place, steps, strict=True):
            if step:
                offset = self.builder.add(offset, self.builder.mul(index, INT64(step)))
        return offset

    def iota(self, value: IrValue, operation: Operation, place: tuple[ir.Value, ...]) -> Value:
        """The index along the space's dimension that the counted one follows."""
        axis = self.form.axes[value][self.view_of(operation).iota_dimension]
        index: ir.Value = INT64(0)
        if axis is not None:
            first, last = self.form.first, self.form.last
            group = 0 if axis < first else 1 if axis < last else 2
            end = (first, last, len(self.form.shape))[group]
            within = 1
            for size in self.form.shape[axis + 1 : end]:
                within *= size
            index = self.builder.udiv(place[group], INT64(within))
            index = self.builder.urem(index, INT64(self.form.shape[axis]))
        return index_as(self.builder, index, element_type_of(value))


class _Blocks(_Part):
    """One block: its totals, and its part of other results."""

    def generate(self) -> None:
        builder, form = self.builder, self.form
        rest, inner_block = self.divided(self.function.args[0], form.inner_blocks)
        outer, block = self.divided(rest, form.blocks)
        first = builder.mul(block, INT64(form.block_reduced))
        count = least(builder, INT64(form.block_reduced), builder.sub(INT64(form.reduced), first))
        left = builder.mul(inner_block, INT64(form.block_inner))
        columns = least(builder, INT64(form.block_inner), builder.sub(INT64(form.inner), left))
        rooms = {operation: self.rooms(operation) for operation in self.reductions}
        with Loop(builder, INT64(0), count) as row, Loop(builder, INT64(0), columns) as column:
            place = (outer, builder.add(first, row), builder.add(left, column))
            self.step(rooms, place, builder.add(builder.mul(row, INT64(form.block_inner)), column))
        for operation, (values, room) in rooms.items():
            folded = self.folds.call(
                builder, operation, values, room, count, columns, INT64(form.block_inner)
            )
            line = builder.add(builder.mul(outer, INT64(form.blocks)), block)
            start = builder.add(builder.mul(line, INT64(form.inner)), left)
            self.copy(operation, folded, start, columns)

    def divided(self, number: ir.Value, by: int) -> tuple[ir.Value, ir.Value]:
        return self.builder.udiv(number, INT64(by)), self.builder.urem(number, INT64(by))

    def rooms(self, operation: Operation) -> tuple[ir.Value, ir.Value]:
        """A block's values of a reduction on the stack, and room to fold them."""
        type = stored_type(folded_type(operation, F32))
        count = self.form.block_reduced * self.form.block_inner
        return self.room(type, count), self.room(type, -(-count // 2))

    def room(self, type: ir.Type, count: int) -> ir.Value:
        room = self.builder.alloca(ir.ArrayType(type, count))
        room.align = 64
        return self.builder.gep(room, [INT64(0), INT64(0)], inbounds=True)

    def step(self, rooms: dict[Operation, Any], place: tuple[ir.Value, ...], position: ir.Value) -> None:
        """What is computed at one place; `position` is that in the block."""
        builder, known = self.builder, dict[IrValue, Value]()
        for operation, (values, _) in rooms.items():
            folded = folded_type(operation, F32)
            value = self.value(operation.operands[0], place, known)
            store(builder, folded, value, address_of(builder, values, position, stored_type(folded)))
        for pointer, result in zip(self.results, self.block.terminator.operands, strict=True):
            if not any(result is operation.result for operation in self.reductions):
                value = self.value(result, place, known)
                store(builder, element_type_of(result), value, self.at(pointer, result, place))

    def copy(self, operation: Operation, source: ir.Value, start: ir.Value, columns: ir.Value) -> None:
        """Write a block's totals to those of all blocks."""
        builder, folded = self.builder, folded_type(operation, F32)
        with Loop(builder, INT64(0), columns) as column:
            total = load(builder, folded, address_of(builder, source, column, stored_type(folded)))
            target = address_of(
                builder, self.totals[operation][0], builder.add(start, column), stored_type(folded)
            )
            store(builder, folded, total, target)


class _Totals(_Part):
    """The results at one outer place, from the totals of all blocks."""

    def generate(self) -> None:
        builder, form = self.builder, self.form
        outer = self.function.args[0]
        for operation in self.reductions:
            folded = folded_type(operation, F32)
            totals, room = self.totals[operation]
            start = builder.mul(outer, INT64(form.blocks * form.inner))
            half = builder.mul(outer, INT64(-(-form.blocks // 2) * form.inner))
            line = self.folds.call(
                builder,
                operation,
                address_of(builder, totals, start, stored_type(folded)),
                address_of(builder, room, half, stored_type(folded)),
                INT64(form.blocks),
                INT64(form.inner),
                INT64(form.inner),
            )
            with Loop(builder, INT64(0), INT64(form.inner)) as column:
                self.finish(operation, folded, line, (outer, INT64(0), column))

    def finish(
        self, operation: Operation, folded: ElementType, line: ir.Value, place: tuple[ir.Value, ...]
    ) -> None:
        """Combine a total with the initial value, and write the result wherever it is handed on."""
        builder = self.builder
        element_type = element_type_of(operation.result)
        initial = self.value(operation.operands[1], place, {})
        total = load(builder, folded, address_of(builder, line, place[2], stored_type(folded)))
        body = operation.regions[0].block
        value = combine(builder, body, self.view_of, folded, initial, total)
        if folded is not element_type:
            value = (rounded(builder, element_type, value[0]),)
        for pointer, result in zip(self.results, self.block.terminator.operands, strict=True):
            if result is operation.result:
                store(builder, element_type, value, self.at(pointer, result, place))
