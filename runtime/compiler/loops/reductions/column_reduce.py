"""Tree reductions of rows, column by column, while they are computed, as LLVM code.

A group of rows is reduced to one in registers and pushed on a stack of rows. The two rows on top are merged
whenever they stand for equally many groups (pairwise summation by a binary counter): after n groups the stack
has as many rows as n has bits set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from ..llvm.loops import Loop
from ..llvm.values import BIT, I64, Value
from ..llvm.vector_loops import QuickVectorLoop
from ..regions.region_function import OperandArrays
from .reducers import Reducer

ComputeRow = Callable[[ir.Value, ir.Value], Sequence[Sequence[Value]]]
"""The operands of each reduction at a row and a column."""
BeforeGroup = Callable[[ir.Value, int, ir.Value], None]
"""Emits what comes before a group: its first row, and how many rows and columns it has."""


class PairwiseRowStacks:
    """The stacks of rows of some reductions.

    Args:
        reducers: of the reductions.
        width: the columns of a row.
        groups: how many groups of rows there are at most.
        before_group: called before the code of each group of rows.
    """

    def __init__(
        self,
        builder: ir.IRBuilder,
        reducers: Sequence[Reducer],
        width: int,
        groups: int,
        before_group: BeforeGroup | None = None,
    ) -> None:
        self.builder = builder
        self.width = width
        self.before_group = before_group
        depth = 1 + groups.bit_length()
        self.stacks = [(reducer, reducer.allocate(depth * width)) for reducer in reducers]

    def reduce(
        self,
        groups: ir.Value | None,
        interleaved: int,
        remainder: int,
        has_remainder: ir.Value,
        columns: ir.Value,
        compute: ComputeRow,
    ) -> list[OperandArrays]:
        """Reduce rows; returns the addresses of each reduction's row of totals.

        Args:
            groups: number of groups of `interleaved` rows; None: none.
            remainder: number of the rows that may follow on the groups.
            has_remainder: whether they do.
            columns: how many columns are computed.
        """
        builder = self.builder
        stack_height: ir.Value = I64(0)
        if groups is not None:
            is_any = builder.icmp_signed(">", groups, I64(0))
            with builder.if_then(is_any), Loop(builder, I64(0), groups, True) as number:
                stack_height = builder.ctpop(number)
                self._reduce_group(
                    builder.mul(number, I64(interleaved)), interleaved, stack_height, columns, compute
                )
                self._merge(stack_height, builder.cttz(builder.not_(number), ir.Constant(BIT, 0)), columns)
            stack_height = builder.ctpop(groups)
        if remainder:
            with builder.if_then(has_remainder):
                first = I64(0) if groups is None else builder.mul(groups, I64(interleaved))
                self._reduce_group(first, remainder, stack_height, columns, compute)
            stack_height = builder.add(stack_height, builder.zext(has_remainder, I64))
        self._merge(builder.sub(stack_height, I64(1)), builder.sub(stack_height, I64(1)), columns)
        return [buffers for _, buffers in self.stacks]

    def _reduce_group(
        self, first: ir.Value, count: int, stack_height: ir.Value, columns: ir.Value, compute: ComputeRow
    ) -> None:
        """Compute `count` rows and store their totals into a row of the stack."""
        builder = self.builder
        if self.before_group is not None:
            self.before_group(first, count, columns)
        with QuickVectorLoop(builder, I64(0), columns, True) as column:
            rows = [compute(builder.add(first, I64(k)), column) for k in range(count)]
            for (reducer, buffers), *values in zip(self.stacks, *rows, strict=True):
                buffers.store(self._index(stack_height, column), reducer.reduce(values))

    def _merge(self, top: ir.Value, count: ir.Value, columns: ir.Value) -> None:
        """Merge the stack's row `top` into the one below, then that one, `count` times."""
        builder = self.builder
        is_any = builder.icmp_signed(">", count, I64(0))
        with builder.if_then(is_any), Loop(builder, I64(0), count, True) as merged:
            lower = builder.sub(builder.sub(top, merged), I64(1))
            with QuickVectorLoop(builder, I64(0), columns, True) as column:
                for reducer, buffers in self.stacks:
                    index = self._index(lower, column)
                    upper = buffers.load(builder.add(index, I64(self.width)))
                    buffers.store(index, reducer.combine(buffers.load(index), upper))

    def _index(self, stack_height: ir.Value, column: ir.Value) -> ir.Value:
        return self.builder.add(self.builder.mul(stack_height, I64(self.width)), column)
