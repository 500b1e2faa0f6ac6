"""`reduce` by any body as native code: adjacent pairs, level by level, several inputs at once.

Blocks of 2^k values are subtrees, so values are reduced in the order of memory: the total of a block waits on
a stack for its sibling's total. One loop combines a tile of adjacent results.

The module defines the tasks `PARTIAL`, which reduces a chunk of values, and `FINISH`, which reduces the
totals of chunks and the init values. Their pointers are those of the inputs, of the init values, of the
captured values, of the results, and, for several chunks, of the totals: [outer, chunks, inner].

Source: `nimblehlo.ops.reduction.reduction_tree`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from llvmlite import ir

from ...ir import Region
from ...ir import Value as IrValue
from ..blocks.emitter import instructions
from ..coverage import ViewOf
from ..llvm.loops import Loop, While, min_index
from ..llvm.tasks import define_task
from ..llvm.values import I64, stored_type
from ..reductions.iteration_space import element_type_of
from .region_function import LoopFunction, OperandArrays, RegionFunction

PARTIAL = "partial"
FINISH = "finish"

_MAX_UNROLLED_INSTRUCTIONS = 800
"""Instructions of a fully unrolled tree, at most."""
_BLOCK = 256
"""Values of one result that are reduced level by level before their total goes to the stack."""


class RegionReducePlan(NamedTuple):
    """The layout of the values, and how they are divided into tasks.

    Attributes:
        outer, length, inner: the inputs' sizes; `length` is the reduced one.
        chunk: how many values of a result a task reduces: all, or a power of two that is a multiple of a
            block.
        tile: how many adjacent results.
    """

    outer: int
    length: int
    inner: int
    chunk: int
    tile: int

    @property
    def chunks(self) -> int:
        return -(-self.length // self.chunk)

    @property
    def tiles(self) -> int:
        return -(-self.inner // self.tile)

    @property
    def tasks(self) -> int:
        """The number of chunks of all tiles."""
        return self.outer * self.chunks * self.tiles


def reduction_module(
    body: Region, passed: Sequence[IrValue], plan: RegionReducePlan, view_of: ViewOf, size: int
) -> ir.Module:
    """The module with the task `PARTIAL`, and `FINISH` where there are several chunks.

    Args:
        size: how many chunks a task of `PARTIAL` reduces.
    """
    module = ir.Module("region_reduction")
    if plan.inner == 1 and plan.length * instructions(body.block) <= _MAX_UNROLLED_INSTRUCTIONS:
        row = _Row(module, body, passed, plan, view_of)
        define_task(module, PARTIAL, row.function, plan.tasks, size)
        return module
    reduction = _Reduction(module, body, passed, plan, view_of)
    define_task(module, PARTIAL, reduction.partial(), plan.tasks, size)
    if plan.chunks > 1:
        define_task(module, FINISH, reduction.finish(), plan.outer * plan.tiles, 1)
    return module


class _Row:
    """Generates `void (i64 row, pointers...)` for few values of each result: the tree is fully unrolled."""

    def __init__(
        self,
        module: ir.Module,
        body: Region,
        passed: Sequence[IrValue],
        plan: RegionReducePlan,
        view_of: ViewOf,
    ) -> None:
        types = [element_type_of(value) for value in body.block.terminator.operands]
        count = len(types)
        combine = RegionFunction(module, body, passed, view_of)
        function = LoopFunction(module, "row", 1, 3 * count + len(passed))
        builder, (row,) = function.builder, function.integers
        inputs, initial, results = (
            OperandArrays(builder, types, function.pointers[first : first + count])
            for first in (0, count, 2 * count + len(passed))
        )
        outside = function.read(passed, function.pointers[2 * count : 2 * count + len(passed)])
        first = builder.mul(row, I64(plan.length))
        values = [inputs.load(builder.add(first, I64(k))) for k in range(plan.length)]
        while len(values) > 1:
            odd = values[len(values) // 2 * 2 :]
            pairs = zip(values[::2], values[1::2], strict=False)
            values = [combine.on_scalars(builder, [*left, *right], outside) for left, right in pairs] + odd
        total = combine.on_scalars(builder, [*initial.load(I64(0)), *values[0]], outside)
        results.store(row, total)
        builder.ret_void()
        self.function = function.function


class _Reduction:
    def __init__(
        self,
        module: ir.Module,
        body: Region,
        passed: Sequence[IrValue],
        plan: RegionReducePlan,
        view_of: ViewOf,
    ) -> None:
        self.module = module
        self.passed = passed
        self.plan = plan
        self.types = [element_type_of(value) for value in body.block.terminator.operands]
        self.count = len(self.types)
        self.body = RegionFunction(module, body, passed, view_of)
        self.onto = self._onto()
        self.pairs = self._pairs(adjacent=plan.inner == 1)
        self.tree = self._tree()

    def columns(self, function: LoopFunction, first: int) -> OperandArrays:
        """The arrays of all operands, whose pointers begin at argument `first`."""
        return OperandArrays(function.builder, self.types, function.pointers[first : first + self.count])

    def _onto(self) -> ir.Function:
        """`void onto(i64 count, left..., right...)`: right = body(left, right)."""
        function = LoopFunction(self.module, "onto", 1, 2 * self.count, self.passed)
        builder = function.builder
        left, right = self.columns(function, 0), self.columns(function, self.count)
        with Loop(builder, I64(0), function.integers[0]) as index:
            values = [*left.load(index), *right.load(index)]
            right.store(index, self.body.on_scalars(builder, values, function.passed))
        builder.ret_void()
        return function.compiled_once()

    def _pairs(self, adjacent: bool) -> ir.Function:
        """`void pairs(i64 count, ...)`: combines two rows of values into a third.

        Its pointers are those of the three rows; with `adjacent`, of one row whose even and odd values are
        the first two, and of the third.
        """
        function = LoopFunction(self.module, "pairs", 1, (2 if adjacent else 3) * self.count, self.passed)
        builder = function.builder
        lower = self.columns(function, 0)
        upper = lower if adjacent else self.columns(function, self.count)
        target = self.columns(function, len(function.pointers) - self.count)
        with Loop(builder, I64(0), function.integers[0]) as index:
            indices = [index, index]
            if adjacent:
                indices[0] = builder.shl(index, I64(1))
                indices[1] = builder.add(indices[0], I64(1))
            values = [*lower.load(indices[0]), *upper.load(indices[1])]
            target.store(index, self.body.on_scalars(builder, values, function.passed))
        builder.ret_void()
        return function.compiled_once()

    def _tree(self) -> ir.Function:
        """`void tree(i64 count, i64 columns, values..., target...)`: a chunk's total, for each column."""
        function = LoopFunction(self.module, "tree", 2, 2 * self.count, self.passed)
        builder, plan = function.builder, self.plan
        count, width = function.integers
        values, total = self.columns(function, 0), self.columns(function, self.count)
        leaf = _BLOCK if plan.inner == 1 else 2
        leaves = builder.udiv(builder.add(count, I64(leaf - 1)), I64(leaf))
        longest = max(plan.chunk, plan.chunks)
        levels = (-(-longest // leaf)).bit_length()
        buffers = [function.allocate_scratch(stored_type(type), levels * plan.tile) for type in self.types]
        stack = OperandArrays(builder, self.types, buffers)
        scratch_buffers = self._allocate_levels(function) if plan.inner == 1 else []
        with Loop(builder, I64(0), leaves) as number:
            first = builder.mul(number, I64(leaf))
            length = min_index(builder, I64(leaf), builder.sub(count, first))
            if plan.inner == 1:
                self._leaf_of_one(function, values.from_index(first), length, scratch_buffers, total)
            else:
                self._leaf_of_columns(function, values, first, length, width, total)
            self._push(function, stack, number, width, total)
        self._unwind(function, stack, leaves, width, total)
        builder.ret_void()
        return function.compiled_once()

    def _allocate_levels(self, function: LoopFunction) -> list[OperandArrays]:
        """Two buffers for levels of a block."""
        levels = []
        for size in (_BLOCK // 2, _BLOCK // 4):
            buffers = [function.allocate_scratch(stored_type(type), size) for type in self.types]
            levels.append(OperandArrays(function.builder, self.types, buffers))
        return levels

    def _leaf_of_one(
        self,
        function: LoopFunction,
        values: OperandArrays,
        length: ir.Value,
        scratch_buffers: Sequence[OperandArrays],
        total: OperandArrays,
    ) -> None:
        """The total of a block of values of one result, level by level."""
        builder = function.builder
        remaining = function.variable(length)
        source = values
        longest = min(_BLOCK, max(self.plan.chunk, self.plan.chunks))
        for level in range((longest - 1).bit_length()):
            target = scratch_buffers[level % 2]
            count = remaining.get()
            half = builder.lshr(count, I64(1))
            with builder.if_then(builder.icmp_signed(">", half, I64(0))):
                builder.call(self.pairs, [half, *source.pointers, *target.pointers, *function.outside])
            with builder.if_then(builder.icmp_signed("!=", builder.and_(count, I64(1)), I64(0))):
                target.copy(half, source, builder.sub(count, I64(1)))
            remaining.set(builder.sub(count, half))
            source = target
        total.copy(I64(0), source, I64(0))

    def _leaf_of_columns(
        self,
        function: LoopFunction,
        values: OperandArrays,
        first: ir.Value,
        length: ir.Value,
        width: ir.Value,
        total: OperandArrays,
    ) -> None:
        """Combine two rows of values, or copy the last one."""
        builder, inner = function.builder, I64(self.plan.inner)
        lower = values.from_index(builder.mul(first, inner))
        upper = lower.from_index(inner)
        with builder.if_else(builder.icmp_signed(">", length, I64(1))) as (has_two, has_one):
            with has_two:
                builder.call(
                    self.pairs, [width, *lower.pointers, *upper.pointers, *total.pointers, *function.outside]
                )
            with has_one:
                self._copy(builder, total, lower, width)

    def _copy(
        self, builder: ir.IRBuilder, target: OperandArrays, source: OperandArrays, width: ir.Value
    ) -> None:
        with Loop(builder, I64(0), width) as index:
            target.copy(index, source, index)

    def _row(self, builder: ir.IRBuilder, stack: OperandArrays, level: ir.Value) -> OperandArrays:
        return stack.from_index(builder.mul(level, I64(self.plan.tile)))

    def _push(
        self,
        function: LoopFunction,
        stack: OperandArrays,
        number: ir.Value,
        width: ir.Value,
        total: OperandArrays,
    ) -> None:
        """Combine a block's total with the pending totals of its siblings, and push the result.

        Block `number` has as many pending siblings as trailing ones in binary.
        """
        builder = function.builder
        level = function.variable(I64(0))
        with While(builder) as goes_on:
            bit = builder.and_(builder.lshr(number, level.get()), I64(1))
            goes_on(builder.icmp_signed("!=", bit, I64(0)))
            pending = self._row(builder, stack, level.get())
            builder.call(self.onto, [width, *pending.pointers, *total.pointers, *function.outside])
            level.set(builder.add(level.get(), I64(1)))
        self._copy(builder, self._row(builder, stack, level.get()), total, width)

    def _unwind(
        self,
        function: LoopFunction,
        stack: OperandArrays,
        leaves: ir.Value,
        width: ir.Value,
        total: OperandArrays,
    ) -> None:
        """Combine the pending totals, from the smallest subtree; the carried one is on the right."""
        builder = function.builder
        level = function.variable(I64(0))
        is_first = function.variable(ir.IntType(1)(1))
        with While(builder) as goes_on:
            remaining_levels = builder.lshr(leaves, level.get())
            goes_on(builder.icmp_signed("!=", remaining_levels, I64(0)))
            is_pending = builder.icmp_signed("!=", builder.and_(remaining_levels, I64(1)), I64(0))
            with builder.if_then(is_pending):
                row = self._row(builder, stack, level.get())
                with builder.if_else(is_first.get()) as (first, later):
                    with first:
                        self._copy(builder, total, row, width)
                        is_first.set(ir.IntType(1)(0))
                    with later:
                        builder.call(self.onto, [width, *row.pointers, *total.pointers, *function.outside])
            level.set(builder.add(level.get(), I64(1)))

    def partial(self) -> ir.Function:
        """`void (i64 task, pointers...)`: reduces a chunk."""
        function, plan = self._task("chunk"), self.plan
        builder = function.builder
        outer_chunk, tile = self._divmod(builder, function.integers[0], plan.tiles)
        outer, chunk = self._divmod(builder, outer_chunk, plan.chunks)
        first = builder.mul(chunk, I64(plan.chunk))
        count = min_index(builder, I64(plan.chunk), builder.sub(I64(plan.length), first))
        first_column, width = self._tile(builder, tile)
        row = builder.add(builder.mul(outer, I64(plan.length)), first)
        values = self.columns(function, 0).from_index(
            builder.add(builder.mul(row, I64(plan.inner)), first_column)
        )
        last = self.columns(function, len(function.pointers) - self.count)
        result_row = builder.add(builder.mul(outer, I64(plan.chunks)), chunk)
        target = last.from_index(builder.add(builder.mul(result_row, I64(plan.inner)), first_column))
        self._call_tree(function, values, count, width, target, with_init=plan.chunks == 1)
        builder.ret_void()
        return function.function

    def finish(self) -> ir.Function:
        """`void (i64 task, pointers...)`: reduces the totals of chunks."""
        function, plan = self._task("totals"), self.plan
        builder = function.builder
        outer, tile = self._divmod(builder, function.integers[0], plan.tiles)
        first_column, width = self._tile(builder, tile)
        row = builder.mul(outer, I64(plan.chunks))
        totals = self.columns(function, len(function.pointers) - self.count)
        values = totals.from_index(builder.add(builder.mul(row, I64(plan.inner)), first_column))
        results = self.columns(function, len(function.pointers) - 2 * self.count)
        target = results.from_index(builder.add(builder.mul(outer, I64(plan.inner)), first_column))
        self._call_tree(function, values, I64(plan.chunks), width, target, with_init=True)
        builder.ret_void()
        return function.function

    def _call_tree(
        self,
        function: LoopFunction,
        values: OperandArrays,
        count: ir.Value,
        width: ir.Value,
        target: OperandArrays,
        with_init: bool,
    ) -> None:
        """Reduce into `target`, for the final result with the init values."""
        builder, plan = function.builder, self.plan
        first = 2 * self.count
        outside = function.pointers[first : first + len(self.passed)]
        builder.call(self.tree, [count, width, *values.pointers, *target.pointers, *outside])
        if not with_init:
            return
        scratch_buffers = [function.allocate_scratch(stored_type(type), plan.tile) for type in self.types]
        initial, row = self.columns(function, self.count), OperandArrays(builder, self.types, scratch_buffers)
        with Loop(builder, I64(0), width) as index:
            row.copy(index, initial, I64(0))
        builder.call(self.onto, [width, *scratch_buffers, *target.pointers, *outside])

    def _task(self, name: str) -> LoopFunction:
        arrays = 3 + (self.plan.chunks > 1)
        return LoopFunction(self.module, name, 1, arrays * self.count + len(self.passed))

    def _tile(self, builder: ir.IRBuilder, tile: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The first column of a tile, and how many columns it has."""
        first_column = builder.mul(tile, I64(self.plan.tile))
        return first_column, min_index(
            builder, I64(self.plan.tile), builder.sub(I64(self.plan.inner), first_column)
        )

    def _divmod(self, builder: ir.IRBuilder, number: ir.Value, by: int) -> tuple[ir.Value, ir.Value]:
        return builder.udiv(number, I64(by)), builder.urem(number, I64(by))
