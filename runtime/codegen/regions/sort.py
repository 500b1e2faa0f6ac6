"""`sort` with any comparator as native code: a stable merge sort that moves the elements of all inputs.

Runs of 1, 2, 4, ... elements are merged. Where an element of the second of two runs goes in the first is
found by binary search, and no earlier than its predecessor: whatever the comparator says, the steps are those
of the reference, and the result is a permutation.

The task `CHUNKS` sorts aligned chunks of rows; `MERGES` with a number merges two runs of that many chunks.
Their pointers are those of the inputs, of the values from outside, of the results, of room for other copies,
and of room for the places found: [rows, n + 1] of i32.

Source: `nimblehlo.ops.reduction.sort.merge_sort`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from llvmlite import ir

from ...ir import Region
from ...ir import Value as IrValue
from ..coverage import ViewOf
from ..llvm.loops import Loop, While, address_of, min_index
from ..llvm.tasks import define_task
from ..llvm.values import I64
from ..reductions.iteration_space import element_type_of
from .region_function import LoopFunction, OperandArrays, RegionFunction, Variable

CHUNKS = "chunks"
MERGES = "merges{}"

_PLACE = ir.IntType(32)
_BATCH = 16
"""Elements whose places are searched for side by side."""
_LAST = 2**31 - 1
"""Behind the last place: nothing more comes from the second run."""


class SortPlan(NamedTuple):
    """What is sorted: so many rows of `length` elements, by chunks of a power of two."""

    rows: int
    length: int
    chunk: int

    @property
    def chunks(self) -> int:
        """Chunks of a row."""
        return -(-self.length // self.chunk)

    @property
    def levels(self) -> int:
        """How many times all elements are moved."""
        return (self.length - 1).bit_length()

    @property
    def widths(self) -> list[int]:
        """The lengths of the runs that are merged after the chunks are sorted, in chunks."""
        return [1 << k for k in range((self.chunks - 1).bit_length())]

    def pairs(self, width: int) -> int:
        """How many pairs of runs of that many chunks a row has."""
        return -(-self.chunks // (2 * width))


def sort_module(comparator: Region, passed: Sequence[IrValue], plan: SortPlan, view_of: ViewOf) -> ir.Module:
    """The module with the task `CHUNKS` and a task `MERGES` for each of the form's widths."""
    module = ir.Module("region_sort")
    made = _Sort(module, comparator, passed, plan, view_of)
    define_task(module, CHUNKS, made.chunks(), plan.rows * plan.chunks, 1)
    for width in plan.widths:
        define_task(module, MERGES.format(width), made.merges(width), plan.rows * plan.pairs(width), 1)
    return module


class _Sort:
    def __init__(
        self,
        module: ir.Module,
        comparator: Region,
        passed: Sequence[IrValue],
        plan: SortPlan,
        view_of: ViewOf,
    ) -> None:
        self.module = module
        self.passed = passed
        self.plan = plan
        self.types = [element_type_of(value) for value in comparator.block.arguments[::2]]
        self.count = len(self.types)
        self.comparator = RegionFunction(module, comparator, passed, view_of)
        self.search = self._search()
        self.merge = self._merge()

    def columns(self, function: LoopFunction, first: int) -> OperandArrays:
        """The arrays, one for each input, whose pointers a function takes from a number on."""
        return OperandArrays(function.builder, self.types, function.pointers[first : first + self.count])

    def _search(self) -> ir.Function:
        """`void search(i64 start, i64 middle, i64 end, i64 steps, source..., places)`.

        The place in [start, middle] of each element from `middle` to `end`. Those of some elements are found
        side by side, always in so many steps: no search waits for another one's comparison.
        """
        function = LoopFunction(self.module, "search", 4, self.count + 1, self.passed)
        builder, places = function.builder, function.pointers[-1]
        start, middle, end, steps = function.integers
        lows, highs = function.allocate_scratch(_PLACE, _BATCH), function.allocate_scratch(_PLACE, _BATCH)
        greatest = function.variable(start)
        count = builder.sub(end, middle)
        blocks = builder.udiv(builder.add(count, I64(_BATCH - 1)), I64(_BATCH))
        with Loop(builder, I64(0), blocks) as block:
            first = builder.add(middle, builder.mul(block, I64(_BATCH)))
            together = min_index(builder, I64(_BATCH), builder.sub(end, first))
            with Loop(builder, I64(0), together) as number:
                for room, limit in ((lows, start), (highs, middle)):
                    builder.store(builder.trunc(limit, _PLACE), address_of(builder, room, number, _PLACE))
            with Loop(builder, I64(0), steps), Loop(builder, I64(0), together) as number:
                low_at, high_at = (address_of(builder, room, number, _PLACE) for room in (lows, highs))
                self._probe(function, builder.add(first, number), low_at, high_at)
            with Loop(builder, I64(0), together) as number:
                index = builder.add(first, number)
                found = builder.load(address_of(builder, lows, number, _PLACE), typ=_PLACE)
                found, known = builder.zext(found, I64), greatest.get()
                found = builder.select(builder.icmp_signed(">", found, known), found, known)
                greatest.set(found)
                builder.store(builder.trunc(found, _PLACE), address_of(builder, places, index, _PLACE))
        builder.store(_PLACE(_LAST), address_of(builder, places, end, _PLACE))
        builder.ret_void()
        return function.in_one_place()

    def _probe(self, function: LoopFunction, index: ir.Value, low_at: ir.Value, high_at: ir.Value) -> None:
        """A step of the search for an element: halves the range in which its place lies."""
        builder, source = function.builder, self.columns(function, 0)
        low, high = builder.load(low_at, typ=_PLACE), builder.load(high_at, typ=_PLACE)
        searching = builder.icmp_unsigned("<", low, high)
        probe = builder.lshr(builder.add(low, high), _PLACE(1))
        last = builder.trunc(builder.sub(function.integers[1], I64(1)), _PLACE)
        probe = builder.select(builder.icmp_unsigned("<", probe, last), probe, last)
        pairs = zip(source.load(index), source.load(builder.zext(probe, I64)), strict=True)
        arguments = [value for pair in pairs for value in pair]
        ((before,),) = self.comparator.on_scalars(builder, arguments, function.passed)
        goes_high = builder.and_(searching, builder.not_(before))
        builder.store(builder.select(builder.and_(searching, before), probe, high), high_at)
        builder.store(builder.select(goes_high, builder.add(probe, _PLACE(1)), low), low_at)

    def _merge(self) -> ir.Function:
        """`void merge(i64 start, i64 width, i64 limit, i64 steps, source..., target..., places)`.

        Two runs of `width` elements from `start` on, as far as they lie below `limit`.
        """
        function = LoopFunction(self.module, "merge", 4, 2 * self.count + 1, self.passed)
        builder, source, target = (
            function.builder,
            self.columns(function, 0),
            self.columns(function, self.count),
        )
        places = function.pointers[-1]
        start, width, limit, steps = function.integers
        middle = min_index(builder, builder.add(start, width), limit)
        end = min_index(builder, builder.add(middle, width), limit)
        with builder.if_else(builder.icmp_signed("<", middle, end)) as (two, one):
            with two:
                builder.call(
                    self.search, [start, middle, end, steps, *source.pointers, places, *function.outside]
                )
                first, second = function.variable(start), function.variable(middle)
                with Loop(builder, start, end) as index:
                    upper, lower = second.get(), first.get()
                    place = builder.load(address_of(builder, places, upper, _PLACE), typ=_PLACE)
                    takes_second = builder.icmp_signed("<=", builder.sext(place, I64), lower)
                    target.copy(index, source, builder.select(takes_second, upper, lower))
                    step = builder.zext(takes_second, I64)
                    second.set(builder.add(upper, step))
                    first.set(builder.add(lower, builder.sub(I64(1), step)))
            with one, Loop(builder, start, middle) as index:
                target.copy(index, source, index)
        builder.ret_void()
        return function.in_one_place()

    def chunks(self) -> ir.Function:
        """`void (i64 part, pointers...)`: sorts a chunk of a row, from the input on."""
        function, plan = self._task("chunk"), self.plan
        builder = function.builder
        inputs, copies, places = self._row(function, plan.chunks)
        number = builder.urem(function.integers[0], I64(plan.chunks))
        begin = builder.mul(number, I64(plan.chunk))
        limit = min_index(builder, builder.add(begin, I64(plan.chunk)), I64(plan.length))
        levels = min(plan.levels, (plan.chunk - 1).bit_length())
        # The copies are filled in turn, so that the last one is the result.
        source = [function.variable(pointer) for pointer in inputs.pointers]
        first = (plan.levels - 1) % 2
        targets, others = (
            [function.variable(pointer) for pointer in copies[number].pointers]
            for number in (first, 1 - first)
        )
        with Loop(builder, I64(0), I64(levels)) as level:
            width = builder.shl(I64(1), level)
            start = function.variable(begin)
            now, then = self._current(builder, source), self._current(builder, targets)
            with While(builder) as goes_on:
                goes_on(builder.icmp_signed("<", start.get(), limit))
                steps = builder.add(level, I64(1))
                self._call_merge(function, start.get(), width, limit, steps, now, then, places)
                start.set(builder.add(start.get(), builder.shl(width, I64(1))))
            for one, target, other in zip(source, targets, others, strict=True):
                filled, free = target.get(), other.get()
                one.set(filled)
                target.set(free)
                other.set(filled)
        builder.ret_void()
        return function.function

    def _current(self, builder: ir.IRBuilder, variables: Sequence[Variable]) -> OperandArrays:
        return OperandArrays(builder, self.types, [variable.get() for variable in variables])

    def merges(self, width: int) -> ir.Function:
        """`void (i64 part, pointers...)`: merges two runs of `width` chunks."""
        function, plan = self._task("pair"), self.plan
        builder = function.builder
        pairs = plan.pairs(width)
        _, copies, places = self._row(function, pairs)
        number = builder.urem(function.integers[0], I64(pairs))
        length = width * plan.chunk
        start = builder.mul(number, I64(2 * length))
        level = (length - 1).bit_length()
        target = (plan.levels - 1 - level) % 2
        source, limit = copies[1 - target], I64(plan.length)
        steps = I64(length.bit_length())
        self._call_merge(function, start, I64(length), limit, steps, source, copies[target], places)
        builder.ret_void()
        return function.function

    def _call_merge(
        self,
        function: LoopFunction,
        start: ir.Value,
        width: ir.Value,
        limit: ir.Value,
        steps: ir.Value,
        source: OperandArrays,
        target: OperandArrays,
        places: ir.Value,
    ) -> None:
        first = self.count
        outside = function.pointers[first : first + len(self.passed)]
        arguments = [start, width, limit, steps, *source.pointers, *target.pointers, places]
        function.builder.call(self.merge, [*arguments, *outside])

    def _task(self, name: str) -> LoopFunction:
        return LoopFunction(self.module, name, 1, 3 * self.count + 1 + len(self.passed))

    def _row(
        self, function: LoopFunction, parts: int
    ) -> tuple[OperandArrays, tuple[OperandArrays, OperandArrays], ir.Value]:
        """A task's row, of which there are so many parts: its inputs, its two copies and its places.

        The first copy is the result's.
        """
        builder, plan = function.builder, self.plan
        row = builder.udiv(function.integers[0], I64(parts))
        start = builder.mul(row, I64(plan.length))
        first = self.count + len(self.passed)
        copies = (
            self.columns(function, first).moved(start),
            self.columns(function, first + self.count).moved(start),
        )
        place = builder.mul(row, I64(plan.length + 1))
        places = address_of(builder, function.pointers[-1], place, _PLACE)
        return self.columns(function, 0).moved(start), copies, places
