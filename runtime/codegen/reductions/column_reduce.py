"""Tree reductions of rows, column by column, while they are computed, as LLVM code.

A group of rows is reduced to one in registers and pushed on a stack of rows. The two rows on top are merged
whenever they stand for equally many groups (pairwise summation by a binary counter): after n groups the stack
has as many rows as n has bits set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from llvmlite import ir

from ...ir import Operation
from ..coverage import ViewOf
from ..llvm.functions import aligned_scratch
from ..llvm.loops import Loop, address_of
from ..llvm.values import BIT, I64, Value, load, store, stored_type
from .iteration_space import accumulator_type
from .reduce import F32, combine

ComputeRow = Callable[[ir.Value, ir.Value], Sequence[Value]]
"""The operand of each reduction at a row and a column."""


class PairwiseRowStacks:
    """The stacks of rows of some reductions.

    Args:
        operations: the reductions.
        width: the columns of a row.
        groups: how many groups of rows there are at most.
    """

    def __init__(
        self,
        builder: ir.IRBuilder,
        operations: Sequence[Operation],
        view_of: ViewOf,
        width: int,
        groups: int,
    ) -> None:
        self.builder = builder
        self.view_of = view_of
        self.width = width
        depth = 1 + groups.bit_length()
        self.scratch_buffers = {
            operation: aligned_scratch(builder, stored_type(accumulator_type(operation, F32)), depth * width)
            for operation in operations
        }

    def reduce(
        self,
        groups: ir.Value | None,
        interleaved: int,
        remainder: int,
        has_remainder: ir.Value,
        columns: ir.Value,
        compute: ComputeRow,
    ) -> dict[Operation, ir.Value]:
        """Reduce rows; returns the address of each reduction's row of totals.

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
        return dict(self.scratch_buffers)

    def _reduce_group(
        self, first: ir.Value, count: int, stack_height: ir.Value, columns: ir.Value, compute: ComputeRow
    ) -> None:
        """Compute `count` rows and store their totals into a row of the stack."""
        builder = self.builder
        with Loop(builder, I64(0), columns, True) as column:
            rows = [compute(builder.add(first, I64(k)), column) for k in range(count)]
            for operation, *values in zip(self.scratch_buffers, *rows, strict=True):
                while len(values) > 1:
                    paired = len(values) & ~1
                    pairs = list(pairwise(values))[:paired:2]
                    values = [self._combined(operation, *pair) for pair in pairs] + values[paired:]
                accumulator = accumulator_type(operation, F32)
                store(builder, accumulator, values[0], self._element_address(operation, stack_height, column))

    def _merge(self, top: ir.Value, count: ir.Value, columns: ir.Value) -> None:
        """Merge the stack's row `top` into the one below, then that one, `count` times."""
        builder = self.builder
        is_any = builder.icmp_signed(">", count, I64(0))
        with builder.if_then(is_any), Loop(builder, I64(0), count, True) as merged:
            lower = builder.sub(builder.sub(top, merged), I64(1))
            with Loop(builder, I64(0), columns, True) as column:
                for operation in self.scratch_buffers:
                    accumulator, address = (
                        accumulator_type(operation, F32),
                        self._element_address(operation, lower, column),
                    )
                    stored = stored_type(accumulator)
                    upper_address = builder.gep(
                        address, [I64(self.width)], inbounds=True, source_etype=stored
                    )
                    pair = [load(builder, accumulator, pointer) for pointer in (address, upper_address)]
                    store(builder, accumulator, self._combined(operation, *pair), address)

    def _combined(self, operation: Operation, left: Value, right: Value) -> Value:
        body = operation.regions[0].block
        return combine(self.builder, body, self.view_of, accumulator_type(operation, F32), left, right)

    def _element_address(self, operation: Operation, stack_height: ir.Value, column: ir.Value) -> ir.Value:
        address = self.builder.add(self.builder.mul(stack_height, I64(self.width)), column)
        stored = stored_type(accumulator_type(operation, F32))
        return address_of(self.builder, self.scratch_buffers[operation], address, stored)
