"""`sort` with any comparator as native code: a stable merge sort that moves the elements of all inputs.

Runs of 1, 2, 4, ... elements are merged. Binary search finds the insertion point of each element of the
second run in the first, and never before its predecessor's: whatever the comparator returns, the order of
comparisons is that of the reference, and the result is a permutation.

The task `CHUNKS` sorts aligned chunks of rows; `MERGES` with a number merges two runs of that many chunks.
Their pointers are those of the inputs, of the captured values, of the results, of scratch copies, and of the
insertion points: [rows, n + 1] of i32.

Source: `nimblehlo.program.ops.sorting.sort.merge_sort`.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ....kernels.named_tuples import NamedTuple
from ....program.ir import Region, plain_element_type
from ....program.ir import Value as IrValue
from ..llvm.functions import Variable
from ..llvm.loops import Loop, While, address_of, min_index
from ..llvm.tasks import define_task
from ..llvm.values import I64
from .region_function import FunctionBuilder, OperandArrays, RegionFunction

CHUNKS = "chunks"
MERGES = "merges{}"

_INDEX = ir.IntType(32)
_BATCH = 16
"""Elements that are searched for at the same time."""
_NO_INSERTION = 2**31 - 1
"""The insertion point after the last one: the second run is exhausted."""


class SortPlan(NamedTuple):
    """`rows` rows of `length` elements, sorted by chunks of a power of two."""

    rows: int
    length: int
    chunk: int

    @property
    def chunks(self) -> int:
        return -(-self.length // self.chunk)

    @property
    def levels(self) -> int:
        """The number of merge passes over all elements."""
        return (self.length - 1).bit_length()

    @property
    def widths(self) -> list[int]:
        """The lengths of the runs that are merged after the chunks are sorted, in chunks."""
        return [1 << k for k in range((self.chunks - 1).bit_length())]

    def pairs(self, width: int) -> int:
        """The number of pairs of runs, each of that many chunks, in a row."""
        return -(-self.chunks // (2 * width))


def sort_module(comparator: Region, captured: Sequence[IrValue], plan: SortPlan) -> ir.Module:
    """The module with the task `CHUNKS` and a task `MERGES` for each of the plan's widths."""
    module = ir.Module("region_sort")
    sorter = MergeSort(module, comparator, captured, plan)
    define_task(module, CHUNKS, sorter.chunks(), plan.rows * plan.chunks, 1)
    for width in plan.widths:
        define_task(module, MERGES.format(width), sorter.merges(width), plan.rows * plan.pairs(width), 1)
    return module


class MergeSort:
    """The functions that sort by a comparator, in a module.

    Args:
        module: where to define them.
        comparator: one that `check_region` accepts.
        captured: the captured values that it takes as arguments (`captured_arguments`).
        plan: what is sorted.
    """

    def __init__(
        self,
        module: ir.Module,
        comparator: Region,
        captured: Sequence[IrValue],
        plan: SortPlan,
    ) -> None:
        self.module = module
        self.captured = captured
        self.plan = plan
        self.types = [plain_element_type(value) for value in comparator.block.arguments[::2]]
        self.count = len(self.types)
        self.comparator = RegionFunction(module, comparator, captured)
        self.search = self._search()
        self.merge = self._merge()

    def _search(self) -> ir.Function:
        """`void search(i64 start, i64 middle, i64 end, i64 iterations, source..., points)`.

        The insertion point in [start, middle] of each element from `middle` to `end`. Batches of elements are
        searched together with a fixed number of iterations, so that their comparisons overlap.
        """
        function = FunctionBuilder(self.module, "search", 4, self.count + 1, self.captured)
        builder, points = function.builder, function.pointers[-1]
        start, middle, end, iterations = function.integers
        lows, highs = function.allocate_scratch(_INDEX, _BATCH), function.allocate_scratch(_INDEX, _BATCH)
        lower_bound = function.variable(start)
        count = builder.sub(end, middle)
        blocks = builder.udiv(builder.add(count, I64(_BATCH - 1)), I64(_BATCH))
        with Loop(builder, I64(0), blocks) as block:
            first = builder.add(middle, builder.mul(block, I64(_BATCH)))
            batch_size = min_index(builder, I64(_BATCH), builder.sub(end, first))
            with Loop(builder, I64(0), batch_size) as number:
                for bounds, limit in ((lows, start), (highs, middle)):
                    builder.store(builder.trunc(limit, _INDEX), address_of(builder, bounds, number, _INDEX))
            with Loop(builder, I64(0), iterations), Loop(builder, I64(0), batch_size) as number:
                low_at, high_at = (address_of(builder, bounds, number, _INDEX) for bounds in (lows, highs))
                self._probe(function, builder.add(first, number), low_at, high_at)
            with Loop(builder, I64(0), batch_size) as number:
                index = builder.add(first, number)
                point = builder.load(address_of(builder, lows, number, _INDEX), typ=_INDEX)
                point, previous = builder.zext(point, I64), lower_bound.get()
                point = builder.select(builder.icmp_signed(">", point, previous), point, previous)
                lower_bound.set(point)
                builder.store(
                    builder.trunc(point, _INDEX),
                    address_of(builder, points, index, _INDEX),
                )
        builder.store(_INDEX(_NO_INSERTION), address_of(builder, points, end, _INDEX))
        builder.ret_void()
        return function.compiled_once()

    def _probe(self, function: FunctionBuilder, index: ir.Value, low_at: ir.Value, high_at: ir.Value) -> None:
        """An iteration of the search for an element: halves the range of its insertion point."""
        builder, source = function.builder, function.arrays(self.types, 0)
        low, high = builder.load(low_at, typ=_INDEX), builder.load(high_at, typ=_INDEX)
        searching = builder.icmp_unsigned("<", low, high)
        probe = builder.lshr(builder.add(low, high), _INDEX(1))
        last = builder.trunc(builder.sub(function.integers[1], I64(1)), _INDEX)
        probe = builder.select(builder.icmp_unsigned("<", probe, last), probe, last)
        pairs = zip(source.load(index), source.load(builder.zext(probe, I64)), strict=True)
        arguments = [value for pair in pairs for value in pair]
        ((is_before,),) = self.comparator.on_scalars(builder, arguments, function.captured_bindings)
        takes_upper_half = builder.and_(searching, builder.not_(is_before))
        builder.store(builder.select(builder.and_(searching, is_before), probe, high), high_at)
        builder.store(builder.select(takes_upper_half, builder.add(probe, _INDEX(1)), low), low_at)

    def _merge(self) -> ir.Function:
        """`void merge(i64 start, i64 width, i64 limit, i64 iterations, source..., target..., points)`.

        Merges two runs of `width` elements from `start` on, clamped to `limit`.
        """
        function = FunctionBuilder(self.module, "merge", 4, 2 * self.count + 1, self.captured)
        builder, source, target = (
            function.builder,
            function.arrays(self.types, 0),
            function.arrays(self.types, self.count),
        )
        points = function.pointers[-1]
        start, width, limit, iterations = function.integers
        middle = min_index(builder, builder.add(start, width), limit)
        end = min_index(builder, builder.add(middle, width), limit)
        with builder.if_else(builder.icmp_signed("<", middle, end)) as (has_two, has_one):
            with has_two:
                builder.call(
                    self.search,
                    [start, middle, end, iterations, *source.pointers, points, *function.captured_pointers],
                )
                first, second = function.variable(start), function.variable(middle)
                with Loop(builder, start, end) as index:
                    upper, lower = second.get(), first.get()
                    point = builder.load(address_of(builder, points, upper, _INDEX), typ=_INDEX)
                    takes_upper = builder.icmp_signed("<=", builder.sext(point, I64), lower)
                    target.copy(index, source, builder.select(takes_upper, upper, lower))
                    advance = builder.zext(takes_upper, I64)
                    second.set(builder.add(upper, advance))
                    first.set(builder.add(lower, builder.sub(I64(1), advance)))
            with has_one, Loop(builder, start, middle) as index:
                target.copy(index, source, index)
        builder.ret_void()
        return function.compiled_once()

    def chunks(self) -> ir.Function:
        """`void (i64 task, pointers...)`: sorts a chunk of an input row."""
        function, plan = self._task("chunk"), self.plan
        builder = function.builder
        inputs, copies, points = self._row(function, plan.chunks)
        number = builder.urem(function.integers[0], I64(plan.chunks))
        begin = builder.mul(number, I64(plan.chunk))
        limit = min_index(builder, builder.add(begin, I64(plan.chunk)), I64(plan.length))
        levels = min(plan.levels, (plan.chunk - 1).bit_length())
        # The copies alternate as targets, so that the last target is the result.
        source = [function.variable(pointer) for pointer in inputs.pointers]
        first = (plan.levels - 1) % 2
        targets, spares = (
            [function.variable(pointer) for pointer in copies[number].pointers]
            for number in (first, 1 - first)
        )
        with Loop(builder, I64(0), I64(levels)) as level:
            width = builder.shl(I64(1), level)
            start = function.variable(begin)
            current_source, current_target = self._current(builder, source), self._current(builder, targets)
            with While(builder) as continue_if:
                continue_if(builder.icmp_signed("<", start.get(), limit))
                iterations = builder.add(level, I64(1))
                self._call_merge(
                    function, start.get(), width, limit, iterations, current_source, current_target, points
                )
                start.set(builder.add(start.get(), builder.shl(width, I64(1))))
            for source_pointer, target, spare in zip(source, targets, spares, strict=True):
                written, free = target.get(), spare.get()
                source_pointer.set(written)
                target.set(free)
                spare.set(written)
        builder.ret_void()
        return function.function

    def _current(self, builder: ir.IRBuilder, variables: Sequence[Variable]) -> OperandArrays:
        return OperandArrays(builder, self.types, [variable.get() for variable in variables])

    def merges(self, width: int) -> ir.Function:
        """`void (i64 task, pointers...)`: merges two runs of `width` chunks."""
        function, plan = self._task("pair"), self.plan
        builder = function.builder
        pairs = plan.pairs(width)
        _, copies, points = self._row(function, pairs)
        number = builder.urem(function.integers[0], I64(pairs))
        length = width * plan.chunk
        start = builder.mul(number, I64(2 * length))
        level = (length - 1).bit_length()
        target = (plan.levels - 1 - level) % 2
        source, limit = copies[1 - target], I64(plan.length)
        iterations = I64(length.bit_length())
        self._call_merge(function, start, I64(length), limit, iterations, source, copies[target], points)
        builder.ret_void()
        return function.function

    def _call_merge(
        self,
        function: FunctionBuilder,
        start: ir.Value,
        width: ir.Value,
        limit: ir.Value,
        iterations: ir.Value,
        source: OperandArrays,
        target: OperandArrays,
        points: ir.Value,
    ) -> None:
        first = self.count
        captured_pointers = function.pointers[first : first + len(self.captured)]
        arguments = [start, width, limit, iterations, *source.pointers, *target.pointers, points]
        function.builder.call(self.merge, [*arguments, *captured_pointers])

    def _task(self, name: str) -> FunctionBuilder:
        return FunctionBuilder(self.module, name, 1, 3 * self.count + 1 + len(self.captured))

    def _row(
        self, function: FunctionBuilder, tasks_per_row: int
    ) -> tuple[OperandArrays, tuple[OperandArrays, OperandArrays], ir.Value]:
        """A task's row: its inputs, its two copies, the first of which is the result, and its insertion
        points.

        Args:
            tasks_per_row: how many tasks share a row.
        """
        builder, plan = function.builder, self.plan
        row = builder.udiv(function.integers[0], I64(tasks_per_row))
        start = builder.mul(row, I64(plan.length))
        first = self.count + len(self.captured)
        copies = (
            function.arrays(self.types, first).from_index(start),
            function.arrays(self.types, first + self.count).from_index(start),
        )
        first_point = builder.mul(row, I64(plan.length + 1))
        points = address_of(builder, function.pointers[-1], first_point, _INDEX)
        return function.arrays(self.types, 0).from_index(start), copies, points
