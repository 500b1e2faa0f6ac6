"""Reductions fused with the elementwise operations before them (`plan_reduction_tiling`), as native loops.

The module defines two tasks, each `void (int64 task, int8 **pointers)`. `pointers` are those of the block's
arguments, of its results, and for each reduction two buffers for partial results: [outer, blocks, inner]
elements, and as many with half the blocks. `partial` computes up to `size` blocks from `task * size` on;
`finish` reduces the partial results at one outer index. If one block has the whole reduced extent, there are
neither buffers nor `finish`.
"""

from __future__ import annotations

from llvmlite import ir

from ...ir import Block, Operation
from ...ir import Value as IrValue
from ..coverage import ViewOf
from ..elementwise.elementwise import emit, side_by_side
from ..llvm.functions import aligned_scratch, outlined_function
from ..llvm.loops import Loop, address_of, min_index
from ..llvm.tasks import define_task
from ..llvm.values import I64, POINTER, Value, constant, constant_element, load, rounded, store, stored_type
from .column_reduce import PairwiseRowStacks
from .iteration_space import accumulator_type, element_type_of
from .reduce import (
    F32,
    combine,
    generate_column_reduce,
    generate_reduce,
    index_to_element,
)
from .reduction_tiling import ReductionTilePlan, Strides, reductions_of
from .vector_reduce import emit_row_reduce, identity_element

PARTIAL = "partial"
FINISH = "finish"


def reductions_module(block: Block, plan: ReductionTilePlan, view_of: ViewOf, size: int) -> ir.Module:
    """The module with the tasks `PARTIAL` and `FINISH`.

    Args:
        block: of the fusion.
        plan: from `plan_reduction_tiling`.
        view_of: gives an operation's view.
        size: blocks of a task of `PARTIAL`.
    """
    module = ir.Module("reductions")
    reduce_functions = _ReduceFunctions(module, plan, view_of)
    blocks = _RowBlocks if plan.inner == 1 else _ColumnBlocks
    define_task(
        module,
        PARTIAL,
        blocks(module, block, plan, view_of, reduce_functions).function,
        plan.total_blocks,
        size,
    )
    if plan.blocks > 1:
        define_task(
            module,
            FINISH,
            _FinishFunction(module, block, plan, view_of, reduce_functions).function,
            plan.outer,
            1,
        )
    return module


class _ReduceFunctions:
    """The functions that reduce rows of values, one for each reduction."""

    def __init__(self, module: ir.Module, plan: ReductionTilePlan, view_of: ViewOf) -> None:
        self.module = module
        self.plan = plan
        self.view_of = view_of
        self.functions: dict[Operation, ir.Function] = {}

    def call(
        self,
        builder: ir.IRBuilder,
        operation: Operation,
        values: ir.Value,
        scratch: ir.Value,
        count: ir.Value,
        columns: ir.Value,
        step: ir.Value,
    ) -> ir.Value:
        """Reduce rows of values; returns the address of the row of totals.

        Args:
            values, scratch: the rows, and a buffer for half as many.
            count: number of rows.
            columns: elements of a row.
            step: row stride, in elements.
        """
        function = self.functions.get(operation)
        if function is None:
            function = self.functions[operation] = self.generate(operation)
        if self.plan.inner == 1:
            return builder.call(function, [values, scratch, count])
        return builder.call(function, [values, scratch, count, columns, step])

    def generate(self, operation: Operation) -> ir.Function:
        is_row = self.plan.inner == 1
        sizes = [I64] if is_row else [I64] * 3
        type = ir.FunctionType(POINTER, [POINTER, POINTER, *sizes])
        function = ir.Function(self.module, type, self.module.get_unique_name("fold"))
        function.linkage = "internal"
        function.attributes.add("noinline")
        by = generate_reduce if is_row else generate_column_reduce
        by(function, operation.regions[0].block, self.view_of, accumulator_type(operation, F32))
        return function


class _BlockFunction:
    """Generates `void part(int64 number, ptr noalias...)`, which takes the pointers of the tasks."""

    def __init__(
        self,
        module: ir.Module,
        block: Block,
        plan: ReductionTilePlan,
        view_of: ViewOf,
        reduce_functions: _ReduceFunctions,
    ) -> None:
        self.block = block
        self.plan = plan
        self.view_of = view_of
        self.reduce_functions = reduce_functions
        self.reductions = reductions_of(block)
        count = len(block.arguments) + len(block.terminator.operands)
        scratch_buffers = 2 * len(self.reductions) if plan.blocks > 1 else 0
        self.function = outlined_function(module, "part", 1, count + scratch_buffers)
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

    def value(self, value: IrValue, point: tuple[ir.Value, ...], elements: dict[IrValue, Value]) -> Value:
        """A value at a point (outer, reduced, inner)."""
        if value not in elements:
            elements[value] = self.compute(value, point, elements)
        return elements[value]

    def compute(self, value: IrValue, point: tuple[ir.Value, ...], elements: dict[IrValue, Value]) -> Value:
        operation = value.owner
        if not isinstance(operation, Operation):
            pointer = self.address(self.operands[value], value, point)
            return load(self.builder, element_type_of(value), pointer)
        if operation.name == "stablehlo.constant":
            return constant_element(operation)
        if operation.name == "stablehlo.iota":
            return self.iota(value, operation, point)
        operands = [self.value(operand, point, elements) for operand in operation.operands]
        if operation.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
            return operands[0]
        return emit(self.builder, operation, operands)

    def address(self, pointer: ir.Value, value: IrValue, point: tuple[ir.Value, ...]) -> ir.Value:
        """The address of a value's element at a point."""
        strides = self.plan.strides(value)
        assert strides is not None
        return address_of(
            self.builder, pointer, self.offset(strides, point), stored_type(element_type_of(value))
        )

    def offset(self, strides: Strides, point: tuple[ir.Value, ...]) -> ir.Value:
        offset: ir.Value = I64(0)
        for index, step in zip(point, strides, strict=True):
            if step:
                offset = self.builder.add(offset, self.builder.mul(index, I64(step)))
        return offset

    def iota(self, value: IrValue, operation: Operation, point: tuple[ir.Value, ...]) -> Value:
        """The index along the iota's dimension of the iteration space."""
        axis = self.plan.index_maps[value][self.view_of(operation).iota_dimension]
        index: ir.Value = I64(0)
        if axis is not None:
            first, last = self.plan.first, self.plan.last
            group = 0 if axis < first else 1 if axis < last else 2
            end = (first, last, len(self.plan.shape))[group]
            within = 1
            for size in self.plan.shape[axis + 1 : end]:
                within *= size
            index = self.builder.udiv(point[group], I64(within))
            index = self.builder.urem(index, I64(self.plan.shape[axis]))
        return index_to_element(self.builder, index, element_type_of(value))

    def finish(
        self,
        operation: Operation,
        totals_row: ir.Value,
        outer: ir.Value,
        first_column: ir.Value,
        columns: ir.Value,
    ) -> None:
        """Combine a row of totals with the init value, and store the results.

        Args:
            outer, first_column: the point of the row's first element.
            columns: its number of elements.
        """
        builder, accumulator = self.builder, accumulator_type(operation, F32)
        element_type, body = element_type_of(operation.result), operation.regions[0].block
        with Loop(builder, I64(0), columns, True) as column:
            point = (outer, I64(0), builder.add(first_column, column))
            initial = self.value(operation.operands[1], point, {})
            total = load(
                builder, accumulator, address_of(builder, totals_row, column, stored_type(accumulator))
            )
            value = combine(builder, body, self.view_of, accumulator, initial, total)
            if accumulator is not element_type:
                value = (rounded(builder, element_type, value[0]),)
            for pointer, result in zip(self.results, self.block.terminator.operands, strict=True):
                if result is operation.result:
                    store(builder, element_type, value, self.address(pointer, result, point))


class _Blocks(_BlockFunction):
    """One block: its partial results, or the results if it is the only one, and its slice of others."""

    def generate(self) -> None:
        builder, plan = self.builder, self.plan
        rest, inner_block = self.divmod_by(self.function.args[0], plan.inner_blocks)
        self.outer, self.block_number = self.divmod_by(rest, plan.blocks)
        self.first = builder.mul(self.block_number, I64(plan.block_reduced))
        self.count = min_index(builder, I64(plan.block_reduced), builder.sub(I64(plan.reduced), self.first))
        self.first_column = builder.mul(inner_block, I64(plan.block_inner))
        self.columns: ir.Value = I64(plan.block_inner)
        if plan.inner % plan.block_inner:
            self.columns = min_index(builder, self.columns, builder.sub(I64(plan.inner), self.first_column))
        for operation, totals in self.totals_of_block().items():
            if plan.blocks == 1:
                self.finish(operation, totals, self.outer, self.first_column, self.columns)
            else:
                self.store_partials(operation, totals)

    def totals_of_block(self) -> dict[Operation, ir.Value]:
        """The address of each reduction's row of totals."""
        raise NotImplementedError

    def divmod_by(self, block_number: ir.Value, by: int) -> tuple[ir.Value, ir.Value]:
        return self.builder.udiv(block_number, I64(by)), self.builder.urem(block_number, I64(by))

    def compute_at(self, point: tuple[ir.Value, ...]) -> list[Value]:
        """The operand of each reduction at a point; also stores the other results there."""
        elements = dict[IrValue, Value]()
        values = [self.value(operation.operands[0], point, elements) for operation in self.reductions]
        for pointer, result in zip(self.results, self.block.terminator.operands, strict=True):
            if not any(result is operation.result for operation in self.reductions):
                value = self.value(result, point, elements)
                store(self.builder, element_type_of(result), value, self.address(pointer, result, point))
        return values

    def store_partials(self, operation: Operation, source: ir.Value) -> None:
        """Store a block's totals into the buffer of partial results."""
        builder, accumulator = self.builder, accumulator_type(operation, F32)
        totals_row = builder.add(builder.mul(self.outer, I64(self.plan.blocks)), self.block_number)
        start = builder.add(builder.mul(totals_row, I64(self.plan.inner)), self.first_column)
        with Loop(builder, I64(0), self.columns, True) as column:
            total = load(builder, accumulator, address_of(builder, source, column, stored_type(accumulator)))
            target = address_of(
                builder, self.totals[operation][0], builder.add(start, column), stored_type(accumulator)
            )
            store(builder, accumulator, total, target)


class _RowBlocks(_Blocks):
    """Blocks without inner dimensions: values are stored on the stack and reduced there."""

    def totals_of_block(self) -> dict[Operation, ir.Value]:
        builder, size = self.builder, self.plan.block_reduced
        types = [stored_type(accumulator_type(operation, F32)) for operation in self.reductions]
        scratch_buffers = [aligned_scratch(self.builder, type, size) for type in types]
        loop = Loop(builder, I64(0), self.count)
        loop.side_by_side = side_by_side([one for one in self.block.operations[:-1] if not one.regions])
        with loop as index:
            values = self.compute_at((self.outer, builder.add(self.first, index), I64(0)))
            for operation, scratch, value in zip(self.reductions, scratch_buffers, values, strict=True):
                self.store_value(operation, scratch, index, value)
        return {
            operation: self.accumulator(operation, scratch)
            for operation, scratch in zip(self.reductions, scratch_buffers, strict=True)
        }

    def store_value(self, operation: Operation, scratch: ir.Value, index: ir.Value, value: Value) -> None:
        accumulator = accumulator_type(operation, F32)
        store(
            self.builder,
            accumulator,
            value,
            address_of(self.builder, scratch, index, stored_type(accumulator)),
        )

    def accumulator(self, operation: Operation, scratch: ir.Value) -> ir.Value:
        builder, size, padding = self.builder, self.plan.block_reduced, identity_element(operation)
        accumulator = accumulator_type(operation, F32)
        if padding is None:
            other = aligned_scratch(builder, stored_type(accumulator), size // 2)
            return self.reduce_functions.call(builder, operation, scratch, other, self.count, I64(1), I64(1))
        is_short = builder.icmp_signed("<", self.count, I64(size))
        with builder.if_then(is_short), Loop(builder, self.count, I64(size)) as index:
            self.store_value(operation, scratch, index, constant(accumulator, padding))
        total = emit_row_reduce(builder, operation, scratch, scratch, size)
        self.store_value(operation, scratch, I64(0), (total,))
        return scratch


class _ColumnBlocks(_Blocks):
    """Blocks with inner dimensions: rows are reduced while they are computed."""

    def totals_of_block(self) -> dict[Operation, ir.Value]:
        builder, plan = self.builder, self.plan
        interleaved = plan.interleaved_rows(self.block)
        groups = builder.udiv(self.count, I64(interleaved)) if plan.reduced >= interleaved else None
        max_groups = plan.block_reduced // interleaved
        stacks = PairwiseRowStacks(builder, self.reductions, self.view_of, plan.block_inner, max_groups)
        is_last = builder.icmp_signed("==", self.block_number, I64(plan.blocks - 1))
        return stacks.reduce(
            groups, interleaved, plan.reduced % interleaved, is_last, self.columns, self.compute_in_row
        )

    def compute_in_row(self, row: ir.Value, column: ir.Value) -> list[Value]:
        point = (self.outer, self.builder.add(self.first, row), self.builder.add(self.first_column, column))
        return self.compute_at(point)


class _FinishFunction(_BlockFunction):
    """The results at one outer index, from the partial results of all blocks."""

    def generate(self) -> None:
        builder, plan = self.builder, self.plan
        outer = self.function.args[0]
        for operation in self.reductions:
            accumulator = accumulator_type(operation, F32)
            totals, scratch = self.totals[operation]
            start = builder.mul(outer, I64(plan.blocks * plan.inner))
            scratch_offset = builder.mul(outer, I64(-(-plan.blocks // 2) * plan.inner))
            totals_row = self.reduce_functions.call(
                builder,
                operation,
                address_of(builder, totals, start, stored_type(accumulator)),
                address_of(builder, scratch, scratch_offset, stored_type(accumulator)),
                I64(plan.blocks),
                I64(plan.inner),
                I64(plan.inner),
            )
            self.finish(operation, totals_row, outer, I64(0), I64(plan.inner))
