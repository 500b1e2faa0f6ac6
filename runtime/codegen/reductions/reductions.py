"""Reductions with the elementwise work before them (`reduction_form`) as native loop nests.

The module defines two tasks, each `void (int64 task, int8 **pointers)`. `pointers` are those of the block's
arguments, of its results, and for each reduction two of memory for totals: [outer, blocks, inner] elements,
and as many with half the blocks. `partial` computes blocks from `task * size` on, up to `size` of them;
`finish` folds the totals at one outer place. Where one block has all reduced places, there is neither memory
for totals nor `finish`.
"""

from __future__ import annotations

from llvmlite import ir

from ...ir import Block, Operation
from ...ir import Value as IrValue
from ...kernels.launch.processor import avoids_software_prefetch, prefetch_distance_bytes
from ..coverage import ViewOf
from ..elementwise.elementwise import emit, side_by_side
from ..llvm.functions import aligned_room, outlined_function
from ..llvm.loops import Loop, address_of, min_index, prefetch_after
from ..llvm.tasks import define_task
from ..llvm.values import I64, POINTER, Value, constant, constant_element, load, rounded, store, stored_type
from .column_reduce import RowStacks
from .iteration_space import element_type_of, folded_type
from .reduce import F32, FETCHED_ELEMENTS, combine, generate_column_fold, generate_fold, index_as, parts_of
from .reduction_tiling import ReductionForm, Steps, reductions_of
from .vector_reduce import emit_row_fold, neutral

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
    blocks = _LongBlocks if form.inner == 1 else _WideBlocks
    define_task(module, PARTIAL, blocks(module, block, form, view_of, folds).function, form.units, size)
    if form.blocks > 1:
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
        sizes = [I64] if long else [I64] * 3
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
        count = len(block.arguments) + len(block.terminator.operands)
        rooms = 2 * len(self.reductions) if form.blocks > 1 else 0
        self.function = outlined_function(module, "part", 1, count + rooms)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        pointers = list(self.function.args[1:])
        self.operands = dict(zip(block.arguments, pointers, strict=False))
        self.results = pointers[len(block.arguments) : count]
        totals = zip(pointers[count::2], pointers[count + 1 :: 2], strict=True)
        self.totals = dict(zip(self.reductions, totals, strict=False))
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
            return constant_element(operation)
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
        offset: ir.Value = I64(0)
        for index, step in zip(place, steps, strict=True):
            if step:
                offset = self.builder.add(offset, self.builder.mul(index, I64(step)))
        return offset

    def iota(self, value: IrValue, operation: Operation, place: tuple[ir.Value, ...]) -> Value:
        """The index along the space's dimension that the counted one follows."""
        axis = self.form.axes[value][self.view_of(operation).iota_dimension]
        index: ir.Value = I64(0)
        if axis is not None:
            first, last = self.form.first, self.form.last
            group = 0 if axis < first else 1 if axis < last else 2
            end = (first, last, len(self.form.shape))[group]
            within = 1
            for size in self.form.shape[axis + 1 : end]:
                within *= size
            index = self.builder.udiv(place[group], I64(within))
            index = self.builder.urem(index, I64(self.form.shape[axis]))
        return index_as(self.builder, index, element_type_of(value))

    def finish(
        self, operation: Operation, line: ir.Value, outer: ir.Value, left: ir.Value, columns: ir.Value
    ) -> None:
        """Combine a line of totals with the initial value, and write the results wherever they are handed on.

        Args:
            outer, left: the place of the line's first element.
            columns: its number of elements.
        """
        builder, folded = self.builder, folded_type(operation, F32)
        element_type, body = element_type_of(operation.result), operation.regions[0].block
        with Loop(builder, I64(0), columns, True) as column:
            place = (outer, I64(0), builder.add(left, column))
            initial = self.value(operation.operands[1], place, {})
            total = load(builder, folded, address_of(builder, line, column, stored_type(folded)))
            value = combine(builder, body, self.view_of, folded, initial, total)
            if folded is not element_type:
                value = (rounded(builder, element_type, value[0]),)
            for pointer, result in zip(self.results, self.block.terminator.operands, strict=True):
                if result is operation.result:
                    store(builder, element_type, value, self.at(pointer, result, place))


class _Blocks(_Part):
    """One block: its totals, or the results where there is no other, and its part of other results."""

    def generate(self) -> None:
        builder, form = self.builder, self.form
        rest, inner_block = self.divided(self.function.args[0], form.inner_blocks)
        self.outer, self.number = self.divided(rest, form.blocks)
        self.first = builder.mul(self.number, I64(form.block_reduced))
        self.count = min_index(builder, I64(form.block_reduced), builder.sub(I64(form.reduced), self.first))
        self.left = builder.mul(inner_block, I64(form.block_inner))
        self.columns: ir.Value = I64(form.block_inner)
        if form.inner % form.block_inner:
            self.columns = min_index(builder, self.columns, builder.sub(I64(form.inner), self.left))
        for operation, totals in self.totals_of_block().items():
            if form.blocks == 1:
                self.finish(operation, totals, self.outer, self.left, self.columns)
            else:
                self.hand_on(operation, totals)

    def totals_of_block(self) -> dict[Operation, ir.Value]:
        """Where each reduction's totals lie."""
        raise NotImplementedError

    def divided(self, number: ir.Value, by: int) -> tuple[ir.Value, ir.Value]:
        return self.builder.udiv(number, I64(by)), self.builder.urem(number, I64(by))

    def computed_at(self, place: tuple[ir.Value, ...]) -> list[Value]:
        """What each reduction takes at a place; other results are written there."""
        known = dict[IrValue, Value]()
        values = [self.value(operation.operands[0], place, known) for operation in self.reductions]
        for pointer, result in zip(self.results, self.block.terminator.operands, strict=True):
            if not any(result is operation.result for operation in self.reductions):
                value = self.value(result, place, known)
                store(self.builder, element_type_of(result), value, self.at(pointer, result, place))
        return values

    def hand_on(self, operation: Operation, source: ir.Value) -> None:
        """Write a block's totals to those of all blocks."""
        builder, folded = self.builder, folded_type(operation, F32)
        line = builder.add(builder.mul(self.outer, I64(self.form.blocks)), self.number)
        start = builder.add(builder.mul(line, I64(self.form.inner)), self.left)
        with Loop(builder, I64(0), self.columns, True) as column:
            total = load(builder, folded, address_of(builder, source, column, stored_type(folded)))
            target = address_of(
                builder, self.totals[operation][0], builder.add(start, column), stored_type(folded)
            )
            store(builder, folded, total, target)


class _LongBlocks(_Blocks):
    """Blocks without inner places: values go to the stack, where they are folded."""

    def totals_of_block(self) -> dict[Operation, ir.Value]:
        builder, size = self.builder, self.form.block_reduced
        types = [stored_type(folded_type(operation, F32)) for operation in self.reductions]
        rooms = [aligned_room(self.builder, type, size) for type in types]
        with parts_of(builder, self.count) as (first, last):
            self.read_ahead(builder.add(self.first, first))
            loop = Loop(builder, first, last)
            loop.side_by_side = side_by_side([one for one in self.block.operations[:-1] if not one.regions])
            with loop as index:
                values = self.computed_at((self.outer, builder.add(self.first, index), I64(0)))
                for operation, room, value in zip(self.reductions, rooms, values, strict=True):
                    self.put(operation, room, index, value)
        return {
            operation: self.folded(operation, room)
            for operation, room in zip(self.reductions, rooms, strict=True)
        }

    def read_ahead(self, first: ir.Value) -> None:
        """Fetch what lies ahead of a part of the operands that are read in order: while a block is folded,
        nothing is read."""
        if avoids_software_prefetch():
            return
        for value, pointer in self.operands.items():
            steps = self.form.steps(value)
            if steps is not None and steps.reduced == 1:
                place = self.at(pointer, value, (self.outer, first, I64(0)))
                size = FETCHED_ELEMENTS * element_type_of(value).dtype.itemsize
                prefetch_after(self.builder, place, size, prefetch_distance_bytes())

    def put(self, operation: Operation, room: ir.Value, index: ir.Value, value: Value) -> None:
        folded = folded_type(operation, F32)
        store(self.builder, folded, value, address_of(self.builder, room, index, stored_type(folded)))

    def folded(self, operation: Operation, room: ir.Value) -> ir.Value:
        builder, size, padding = self.builder, self.form.block_reduced, neutral(operation)
        folded = folded_type(operation, F32)
        if padding is None:
            other = aligned_room(builder, stored_type(folded), size // 2)
            return self.folds.call(builder, operation, room, other, self.count, I64(1), I64(1))
        is_short = builder.icmp_signed("<", self.count, I64(size))
        with builder.if_then(is_short), Loop(builder, self.count, I64(size)) as index:
            self.put(operation, room, index, constant(folded, padding))
        total = emit_row_fold(builder, operation, room, room, size)
        self.put(operation, room, I64(0), (total,))
        return room


class _WideBlocks(_Blocks):
    """Blocks of several inner places: rows along these are folded while they are computed."""

    def totals_of_block(self) -> dict[Operation, ir.Value]:
        builder, form = self.builder, self.form
        together = form.rows_together(self.block)
        groups = builder.udiv(self.count, I64(together)) if form.reduced >= together else None
        most = form.block_reduced // together
        stacks = RowStacks(builder, self.reductions, self.view_of, form.block_inner, most)
        is_last = builder.icmp_signed("==", self.number, I64(form.blocks - 1))
        return stacks.fold(
            groups, together, form.reduced % together, is_last, self.columns, self.computed_in_row
        )

    def computed_in_row(self, row: ir.Value, column: ir.Value) -> list[Value]:
        place = (self.outer, self.builder.add(self.first, row), self.builder.add(self.left, column))
        return self.computed_at(place)


class _Totals(_Part):
    """The results at one outer place, from the totals of all blocks."""

    def generate(self) -> None:
        builder, form = self.builder, self.form
        outer = self.function.args[0]
        for operation in self.reductions:
            folded = folded_type(operation, F32)
            totals, room = self.totals[operation]
            start = builder.mul(outer, I64(form.blocks * form.inner))
            half = builder.mul(outer, I64(-(-form.blocks // 2) * form.inner))
            line = self.folds.call(
                builder,
                operation,
                address_of(builder, totals, start, stored_type(folded)),
                address_of(builder, room, half, stored_type(folded)),
                I64(form.blocks),
                I64(form.inner),
                I64(form.inner),
            )
            self.finish(operation, line, outer, I64(0), I64(form.inner))
