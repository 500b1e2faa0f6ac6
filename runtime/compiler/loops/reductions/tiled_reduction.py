"""Reductions with the elementwise operations around them (`plan_reduction_tiling`), as native loops.

The module defines two tasks, each `void (int64 task, int8 **pointers)`. `pointers` are those of the block's
arguments, of the values that bodies capture, of the block's results, and for each input of each
reduction a buffer for partial results, [outer, blocks, inner]. `partial` computes up to `size` blocks from
`task * size` on; `finish` reduces the partial results of some inner indices at one outer index. If one block
has the whole reduced extent, there are neither buffers nor `finish`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from llvmlite import ir

from ....kernels.launch.processor import prefetch_distance_bytes
from ....kernels.named_tuples import NamedTuple
from ....kernels.simd.block_sizes import CACHE_LINE_BYTES
from ....kernels.simd.prefetches import prefetch_address
from ....program.ir import Block, Operation, plain_element_type
from ....program.ir import Value as IrValue
from ....program.ops.framework.declaration import declaration_of
from ....types import ELEMENT_TYPES
from ..chunks import prefetch_chunk
from ..element_costs import interleave_count
from ..llvm.functions import begin_function, internal_function
from ..llvm.loops import Loop, address_of, min_index
from ..llvm.tasks import define_task
from ..llvm.values import BIT, I64, Value, load, store, stored_type
from ..llvm.vector_loops import QuickVectorLoop
from ..regions.region_function import OperandArrays, bind_captured
from ..scalars.emitter import instructions
from .column_reduce import BeforeGroup, ComputeRow, PairwiseRowStacks
from .element_emitter import ElementEmitter, Indices
from .iteration_space import reductions_of, shape_of
from .reducers import Reducer
from .reduction_tiling import MAX_INTERLEAVED_ROWS, ReductionTilePlan, Runs, Strides
from .vector_reduce import BF16, reduce_row

PAGE_BYTES = 4096
"""Hardware prefetchers follow a row of a page or more by themselves."""
MIN_PREFETCHED_BYTES = 1 << 24
"""Smaller operands mostly lie in caches, where prefetches take up to a sixth of the time. Without them sums
of 8 to 12 MB take 0.84 to 0.97 times as long, of 24 to 65 MB 1.1 to 1.7 times (Zen 4, L3 cache of 32 MB)."""
MIN_PREFETCHED_RUNS_BYTES = 1 << 21
"""Operands in runs from which these are prefetched: the hardware does not follow them from one to the next.
Sums of 4 to 24 MB take 0.7 to 0.95 times as long, of 0.4 MB, which lie in the L2 cache, 1.1 times (Zen 4)."""

PARTIAL = "partial"
FINISH = "finish"


class Accumulation(NamedTuple):
    """The types in which reductions accumulate, and the values that their bodies capture.

    Attributes:
        accumulate: see `accumulator_types`.
        captured: the captured values, whose pointers follow those of the arguments.
    """

    accumulate: str = "wide"
    captured: Sequence[IrValue] = ()


def reductions_module(
    block: Block, plan: ReductionTilePlan, blocks_per_task: int, accumulation: Accumulation
) -> ir.Module:
    """The module with the tasks `PARTIAL` and `FINISH`.

    Args:
        block: of the fusion.
        plan: from `plan_reduction_tiling`.
        blocks_per_task: the number of blocks of a task of `PARTIAL`.
        accumulation: how the reductions accumulate.
    """
    module = ir.Module("reductions")
    is_short = _is_short(block, plan)
    block_function_class: type[_Blocks] = _ShortRowBlocks if is_short else _RowBlocks
    if plan.runs is not None and not is_short:
        block_function_class = _RunBlocks
    if plan.inner != 1:
        are_few = is_short and plan.blocks == 1 and plan.reduced <= MAX_INTERLEAVED_ROWS
        is_any_prefetched = any(_is_prefetched(plan, value) for value in block.arguments)
        block_function_class = _FewRowsBlocks if are_few and not is_any_prefetched else _ColumnBlocks
    partial = block_function_class(module, block, plan, accumulation)
    define_task(module, PARTIAL, partial.function, plan.total_blocks, blocks_per_task)
    if plan.blocks > 1:
        finish = _FinishFunction(module, block, plan, accumulation)
        define_task(module, FINISH, finish.function, plan.outer * plan.inner_blocks, 1)
    return module


_MAX_UNROLLED_INSTRUCTIONS = 800
"""Instructions of a tree that is fully unrolled, at most."""


def _is_short(block: Block, plan: ReductionTilePlan) -> bool:
    """Whether a row's tree is fully unrolled."""
    bodies = [block, *(operation.regions[0].block for operation in reductions_of(block))]
    return plan.reduced * sum(map(instructions, bodies)) <= _MAX_UNROLLED_INSTRUCTIONS


def _is_prefetched(plan: ReductionTilePlan, value: IrValue) -> bool:
    """Whether the rows of an argument are prefetched, which are short and of a large array."""
    strides, itemsize = plan.strides(value), -(-plain_element_type(value).width // 8)
    if strides is None or strides.inner != 1 or not strides.reduced:
        return False
    return plan.block_inner * itemsize < PAGE_BYTES and (
        math.prod(shape_of(value)) * itemsize >= MIN_PREFETCHED_BYTES
    )


class _BlockFunction(ElementEmitter):
    """Generates `void block(int64 number, ptr noalias...)`, which takes the pointers of the tasks.

    The indices of an element are (outer, reduced, inner).

    Attributes:
        is_inlined: whether LLVM may join the function with the task's loop over blocks.
        first_column, columns: the first inner index of the block, and the number of them.
    """

    is_inlined = False
    first_column: ir.Value
    columns: ir.Value

    def __init__(
        self,
        module: ir.Module,
        block: Block,
        plan: ReductionTilePlan,
        accumulation: Accumulation,
    ) -> None:
        self.block = block
        self.plan = plan
        self.index_maps = plan.index_maps
        reductions = reductions_of(block)
        captured, results = accumulation.captured, block.terminator.operands
        buffers = sum(len(operation.results) for operation in reductions) if plan.blocks > 1 else 0
        counts = (len(block.arguments), len(captured), len(results), buffers)
        self.function = internal_function(module, "block", 1, sum(counts))
        if not self.is_inlined:
            self.function.attributes.add("noinline")
        self.builder = begin_function(self.function)
        pointers = iter(self.function.args[1:])
        arguments, captured_pointers, targets, partials = [
            [next(pointers) for _ in range(count)] for count in counts
        ]
        self.arguments = dict(zip(block.arguments, arguments, strict=True))
        self.results = list(zip(results, targets, strict=True))
        regions = [region for operation in reductions for region in operation.regions]
        captured_bindings = bind_captured(self.builder, regions, captured, captured_pointers)
        self.reducers = [
            Reducer(self.builder, operation, accumulation.accumulate, captured_bindings)
            for operation in reductions
        ]
        remaining = iter(partials)
        self.partials = [
            reducer.arrays([next(remaining) for _ in reducer.types] if partials else [])
            for reducer in self.reducers
        ]
        self.generate()
        self.builder.ret_void()

    def generate(self) -> None:
        raise NotImplementedError

    def load(self, value: IrValue, indices: Indices) -> Value:
        address = self.address(self.arguments[value], value, indices)
        return load(self.builder, plain_element_type(value), address)

    def address(self, pointer: ir.Value, value: IrValue, indices: Indices) -> ir.Value:
        """The address of a value's element at some indices."""
        if self.plan.has_runs(value):
            offset = self.offset_in_runs(indices)
        else:
            strides = self.plan.strides(value)
            assert strides is not None
            offset = self.offset(strides, indices)
        return address_of(self.builder, pointer, offset, stored_type(plain_element_type(value)))

    def offset(self, strides: Strides, indices: Indices) -> ir.Value:
        offset: ir.Value = I64(0)
        for index, stride in zip(indices, strides, strict=True):
            if stride:
                offset = self.builder.add(offset, self.builder.mul(index, I64(stride)))
        return offset

    def offset_in_runs(self, indices: Indices) -> ir.Value:
        """The offset of an element of a value that has `Runs`."""
        runs, (outer, reduced, inner) = self.runs, indices
        first = self.builder.add(self.strided_offset(outer, runs.outer), inner)
        return self.builder.add(first, self.strided_offset(reduced, runs.reduced))

    @property
    def runs(self) -> Runs:
        assert self.plan.runs is not None
        return self.plan.runs

    def strided_offset(self, index: ir.Value, dims: Sequence[tuple[int, int]]) -> ir.Value:
        """The offset of an index that counts the elements of dimensions, of given sizes and strides."""
        offset: ir.Value = I64(0)
        for number, (size, stride) in reversed([*enumerate(dims)]):
            along = index
            if number:
                index, along = self.divmod_by(index, size)
            offset = self.builder.add(offset, self.builder.mul(along, I64(stride)))
        return offset

    def index(self, axis: int, indices: Indices) -> ir.Value:
        first, last = self.plan.first, self.plan.last
        group = 0 if axis < first else 1 if axis < last else 2
        end = (first, last, len(self.plan.shape))[group]
        within = 1
        for size in self.plan.shape[axis + 1 : end]:
            within *= size
        index = self.builder.udiv(indices[group], I64(within))
        is_outermost = axis == (0, first, last)[group]
        return index if is_outermost else self.builder.urem(index, I64(self.plan.shape[axis]))

    def reduce_rows(
        self,
        rows: ir.Value,
        is_last: ir.Value,
        interleaved: int,
        max_rows: int,
        total_rows: int,
        compute: ComputeRow,
        before_group: BeforeGroup | None = None,
    ) -> list[OperandArrays]:
        """Reduce rows of this function's columns; returns the addresses of each reduction's totals.

        Args:
            rows: how many there are.
            is_last: whether they are the last ones, and may not fill groups.
            interleaved: rows of a group.
            max_rows: the maximum of `rows`.
            total_rows: the number of rows of all calls.
            before_group: see `PairwiseRowStacks`.
        """
        groups = self.builder.udiv(rows, I64(interleaved)) if total_rows >= interleaved else None
        stacks = PairwiseRowStacks(
            self.builder, self.reducers, self.plan.block_inner, max_rows // interleaved, before_group
        )
        return stacks.reduce(groups, interleaved, total_rows % interleaved, is_last, self.columns, compute)

    def locate_columns(self) -> tuple[ir.Value, ir.Value, ir.Value]:
        """The number of this block without its inner block, its first column, and its columns."""
        builder, plan = self.builder, self.plan
        rest, inner_block = self.divmod_by(self.function.args[0], plan.inner_blocks)
        first = builder.mul(inner_block, I64(plan.block_inner))
        columns: ir.Value = I64(plan.block_inner)
        if plan.inner % plan.block_inner:
            columns = min_index(builder, columns, builder.sub(I64(plan.inner), first))
        return rest, first, columns

    def divmod_by(self, number: ir.Value, by: int) -> tuple[ir.Value, ir.Value]:
        return self.builder.udiv(number, I64(by)), self.builder.urem(number, I64(by))

    def partials_row(self, row: ir.Value) -> ir.Value:
        """The index of the first of this block's columns in a row of partial results."""
        return self.builder.add(self.builder.mul(row, I64(self.plan.inner)), self.first_column)

    def finish(self, totals: Sequence[OperandArrays], outer: ir.Value) -> None:
        """Combine the rows of totals with the init values, and store what is computed of them."""
        with QuickVectorLoop(self.builder, I64(0), self.columns, True) as column:
            indices = (outer, I64(0), self.builder.add(self.first_column, column))
            self.finish_column([row.load(column) for row in totals], indices)

    def finish_column(self, totals: Sequence[Sequence[Value]], indices: Indices) -> None:
        """Combine the totals of a column with the init values, and store what is computed of them."""
        elements = dict[IrValue, Value]()
        for reducer, column_totals in zip(self.reducers, totals, strict=True):
            operation = reducer.operation
            init_values = operation.operands[len(reducer.types) :]
            initial = [self.element(value, indices, elements) for value in init_values]
            values = reducer.finish(initial, column_totals)
            elements.update(zip(operation.results, values, strict=True))
        for result, pointer in self.results:
            if self.plan.is_unreduced(result):
                value = self.element(result, indices, elements)
                address = self.address(pointer, result, indices)
                store(self.builder, plain_element_type(result), value, address)


class _Blocks(_BlockFunction):
    """One block: its partial results, or the results if it is the only one, and its slice of others."""

    def generate(self) -> None:
        builder, plan = self.builder, self.plan
        rest, self.first_column, self.columns = self.locate_columns()
        self.outer, self.block_number = self.divmod_by(rest, plan.blocks)
        self.first = builder.mul(self.block_number, I64(plan.block_reduced))
        self.count = min_index(builder, I64(plan.block_reduced), builder.sub(I64(plan.reduced), self.first))
        self.is_last = builder.icmp_signed("==", self.block_number, I64(plan.blocks - 1))
        self.reduce_block()

    def reduce_block(self) -> None:
        """Compute the block, and store its results."""
        builder, plan = self.builder, self.plan
        totals = self.totals()
        if plan.blocks == 1:
            self.finish(totals, self.outer)
            return
        row = builder.add(builder.mul(self.outer, I64(plan.blocks)), self.block_number)
        start = self.partials_row(row)
        for row_totals, partials in zip(totals, self.partials, strict=True):
            with QuickVectorLoop(builder, I64(0), self.columns, True) as column:
                partials.store(builder.add(start, column), row_totals.load(column))

    def totals(self) -> list[OperandArrays]:
        """The addresses of each reduction's row of totals."""
        raise NotImplementedError

    def compute_at(self, indices: Indices) -> list[list[Value]]:
        """The operands of each reduction at some indices; also stores the other results there."""
        elements = dict[IrValue, Value]()
        values = []
        for reducer in self.reducers:
            operands = reducer.operation.operands[: len(reducer.types)]
            inputs = [self.element(value, indices, elements) for value in operands]
            values.append(reducer.to_accumulators(inputs))
        for result, pointer in self.results:
            if not self.plan.is_unreduced(result):
                value = self.element(result, indices, elements)
                store(self.builder, plain_element_type(result), value, self.address(pointer, result, indices))
        return values


class _ShortRowBlocks(_Blocks):
    """Blocks of few values without inner dimensions, which are reduced in registers: LLVM computes several
    rows side by side."""

    is_inlined = True

    def totals(self) -> list[OperandArrays]:
        rows = [self.compute_at((self.outer, I64(k), I64(0))) for k in range(self.plan.reduced)]
        buffers = [reducer.allocate(1) for reducer in self.reducers]
        for reducer, buffer, *values in zip(self.reducers, buffers, *rows, strict=True):
            buffer.store(I64(0), reducer.reduce(values))
        return [*buffers]


class _RowBlocks(_Blocks):
    """Blocks without inner dimensions: values are reduced where they lie, or on the stack."""

    def totals(self) -> list[OperandArrays]:
        builder, plan = self.builder, self.plan
        size = min(plan.block_reduced, plan.reduced)
        buffers = [(reducer.allocate(size), reducer.allocate(-(-size // 2))) for reducer in self.reducers]
        sources = [self.in_memory(reducer) for reducer in self.reducers]
        if None in sources or not all(plan.is_unreduced(result) for result, _ in self.results):
            pairs = zip(buffers, sources, strict=True)
            self.compute_row([buffer if source is None else None for (buffer, _), source in pairs])

        def reduce(count: int) -> None:
            for reducer, (first, second), source in zip(self.reducers, buffers, sources, strict=True):
                values, scratch = (first, (second, first)) if source is None else (source, (first, second))
                first.store(I64(0), reduce_row(reducer, values, scratch, count))

        remainder = plan.reduced % size
        if not remainder:
            reduce(size)
        else:
            with builder.if_else(self.is_last) as (last, other):
                with last:
                    reduce(remainder)
                with other:
                    reduce(size)
        return [first for first, _ in buffers]

    def compute_row(self, targets: Sequence[OperandArrays | None]) -> None:
        """Compute the values of a row, and store those of reductions that have a target."""
        self.compute_columns(I64(0), self.count, targets)

    def compute_columns(
        self, first: ir.Value, last: ir.Value, targets: Sequence[OperandArrays | None]
    ) -> None:
        """Compute the values of the columns [first, last) of a row."""
        plan = self.plan
        loop = QuickVectorLoop(self.builder, first, last)
        size = min(plan.block_reduced, plan.reduced)
        loop.interleave_count = interleave_count(plan.reduced_operations(self.block), size)
        with loop as index:
            values = self.compute_at((self.outer, self.builder.add(self.first, index), I64(0)))
            for target, value in zip(targets, values, strict=True):
                if target is not None:
                    target.store(index, value)

    def in_memory(self, reducer: Reducer) -> OperandArrays | None:
        """The addresses of a reduction's operands, if they are contiguous and of the accumulator types.

        Arrays of bf16 serve accumulators of f32 as well, also through a conversion.
        """
        operands = [self._stored(value) for value in reducer.operation.operands[: len(reducer.types)]]
        for value, type in zip(operands, reducer.types, strict=True):
            is_row = value in self.arguments and not self.plan.has_runs(value)
            strides = self.plan.strides(value) if is_row else None
            element_type = plain_element_type(value)
            is_widened = element_type is BF16 and type is ELEMENT_TYPES["f32"]
            if strides is None or strides.reduced != 1 or not (is_widened or type is element_type):
                return None
        indices = (self.outer, self.first, I64(0))
        pointers = [self.address(self.arguments[value], value, indices) for value in operands]
        return OperandArrays(self.builder, [plain_element_type(value) for value in operands], pointers)

    def _stored(self, value: IrValue) -> IrValue:
        """The argument of bf16 that a value is converted from, else the value itself."""
        owner = value.owner
        if not isinstance(owner, Operation) or declaration_of(owner).emit.by_attributes != "convert":
            return value
        (source,) = owner.operands
        return source if source in self.arguments and plain_element_type(source) is BF16 else value


class _RunBlocks(_RowBlocks):
    """Blocks without inner dimensions whose values lie in runs (`Runs`).

    Attributes:
        run_offset: the offset of the run that is read, less the index of its first value.
    """

    run_offset: ir.Value

    def compute_row(self, targets: Sequence[OperandArrays | None]) -> None:
        builder, runs = self.builder, self.runs
        length = I64(runs.reduced[-1][0])
        last = builder.sub(builder.add(self.first, self.count), I64(1))
        outer = self.strided_offset(self.outer, runs.outer)
        end = builder.add(builder.udiv(last, length), I64(1))
        with Loop(builder, builder.udiv(self.first, length), end, rolled=True) as run:
            start = builder.mul(run, length)
            offset = builder.add(outer, self.strided_offset(run, runs.reduced[:-1]))
            self.run_offset = builder.sub(offset, start)
            self.prefetch_runs(outer, run)
            column = builder.sub(start, self.first)
            end_column = min_index(builder, builder.add(column, length), self.count)
            is_begun = builder.icmp_signed("<", column, I64(0))
            self.compute_columns(builder.select(is_begun, I64(0), column), end_column, targets)

    def prefetch_runs(self, outer: ir.Value, run: ir.Value) -> None:
        """Prefetch the run that is read a page later of arguments that are large, whose runs are not."""
        builder, length = self.builder, self.runs.reduced[-1][0]
        for value, pointer in self.arguments.items():
            type = plain_element_type(value)
            itemsize = -(-type.width // 8)
            is_large = math.prod(shape_of(value)) * itemsize >= MIN_PREFETCHED_RUNS_BYTES
            if self.plan.has_runs(value) and is_large and length * itemsize < PAGE_BYTES:
                later = builder.add(run, I64(-(-PAGE_BYTES // (length * itemsize))))
                offset = builder.add(outer, self.strided_offset(later, self.runs.reduced[:-1]))
                address = address_of(builder, pointer, offset, stored_type(type))
                prefetch_chunk(builder, address, 0, length * itemsize)

    def offset_in_runs(self, indices: Indices) -> ir.Value:
        return self.builder.add(self.run_offset, indices[1])


class _ColumnBlocks(_Blocks):
    """Blocks with inner dimensions: rows are reduced while they are computed."""

    def totals(self) -> list[OperandArrays]:
        plan = self.plan
        max_rows = min(plan.block_reduced, plan.reduced)
        interleaved = plan.interleaved_rows(self.block)
        return self.reduce_rows(
            self.count,
            self.is_last,
            interleaved,
            max_rows,
            plan.reduced,
            self.compute_in_row,
            self.prefetch_rows,
        )

    def prefetch_rows(self, first: ir.Value, count: int, columns: ir.Value) -> None:
        """Prefetch the rows that are read `prefetch_distance_bytes` after a group of rows, or next.

        Rows of a group are read side by side. If they are short, the hardware prefetcher reaches the end of
        each before it follows it. LLVM does not vectorize loops with prefetches, so these have their own.
        """
        for value, pointer in self.arguments.items():
            if not _is_prefetched(self.plan, value):
                continue
            itemsize = -(-plain_element_type(value).width // 8)
            rows_ahead = max(count, -(-prefetch_distance_bytes() // (self.plan.block_inner * itemsize)))
            lanes = CACHE_LINE_BYTES // itemsize
            with Loop(self.builder, I64(0), self.builder.udiv(columns, I64(lanes)), True) as cache_line:
                column = self.builder.mul(cache_line, I64(lanes))
                for row in range(rows_ahead, rows_ahead + count):
                    indices = self.indices_in_row(self.builder.add(first, I64(row)), column)
                    prefetch_address(self.builder, self.address(pointer, value, indices), locality=2)

    def indices_in_row(self, row: ir.Value, column: ir.Value) -> Indices:
        return self.outer, self.builder.add(self.first, row), self.builder.add(self.first_column, column)

    def compute_in_row(self, row: ir.Value, column: ir.Value) -> list[list[Value]]:
        return self.compute_at(self.indices_in_row(row, column))


class _FewRowsBlocks(_ColumnBlocks):
    """Blocks of few rows, which are the whole reduced extent: the totals of a column stay in registers."""

    def reduce_block(self) -> None:
        with QuickVectorLoop(self.builder, I64(0), self.columns, True) as column:
            rows = [self.compute_in_row(I64(k), column) for k in range(self.plan.reduced)]
            totals = [
                reducer.reduce(values) for reducer, *values in zip(self.reducers, *rows, strict=True)
            ]
            self.finish_column(totals, self.indices_in_row(I64(0), column))


class _FinishFunction(_BlockFunction):
    """The results at one outer index and some inner ones, from the partial results of all blocks."""

    def generate(self) -> None:
        builder, blocks = self.builder, self.plan.blocks
        outer, self.first_column, self.columns = self.locate_columns()
        first = builder.mul(outer, I64(blocks))

        def compute(row: ir.Value, column: ir.Value) -> list[list[Value]]:
            index = builder.add(self.partials_row(builder.add(first, row)), column)
            return [partials.load(index) for partials in self.partials]

        yes = BIT(1)
        totals = self.reduce_rows(I64(blocks), yes, MAX_INTERLEAVED_ROWS, blocks, blocks, compute)
        self.finish(totals, outer)
