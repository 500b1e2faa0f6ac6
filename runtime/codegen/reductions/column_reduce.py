"""Folds of rows by adjacent pairs, column by column, while they are computed, as LLVM code.

Some rows at a time become one in registers. These totals go on a stack of rows; the two on top are folded
into one whenever they stand for equally many, so that after n groups there are as many rows as n has bits
set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from llvmlite import ir

from ...ir import Operation
from ..coverage import ViewOf
from ..llvm.functions import aligned_room
from ..llvm.loops import Loop, address_of
from ..llvm.values import BIT, I64, Value, load, store, stored_type
from .iteration_space import folded_type
from .reduce import F32, combine

Compute = Callable[[ir.Value, ir.Value], Sequence[Value]]
"""What each reduction takes of a row, by its number, at a column."""


class RowStacks:
    """The stacks of some reductions.

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
        self.rooms = {
            operation: aligned_room(builder, stored_type(folded_type(operation, F32)), depth * width)
            for operation in operations
        }

    def fold(
        self,
        groups: ir.Value | None,
        together: int,
        rest: int,
        has_rest: ir.Value,
        columns: ir.Value,
        compute: Compute,
    ) -> dict[Operation, ir.Value]:
        """Fold rows; returns where the line of each reduction's totals begins.

        Args:
            groups: number of groups of `together` rows; None: none.
            rest: number of the rows that may follow on the groups.
            has_rest: whether they do.
            columns: how many columns are computed.
        """
        builder = self.builder
        height: ir.Value = I64(0)
        if groups is not None:
            is_any = builder.icmp_signed(">", groups, I64(0))
            with builder.if_then(is_any), Loop(builder, I64(0), groups, True) as number:
                height = builder.ctpop(number)
                self._fold_group(builder.mul(number, I64(together)), together, height, columns, compute)
                self._merge(height, builder.cttz(builder.not_(number), ir.Constant(BIT, 0)), columns)
            height = builder.ctpop(groups)
        if rest:
            with builder.if_then(has_rest):
                first = I64(0) if groups is None else builder.mul(groups, I64(together))
                self._fold_group(first, rest, height, columns, compute)
            height = builder.add(height, builder.zext(has_rest, I64))
        self._merge(builder.sub(height, I64(1)), builder.sub(height, I64(1)), columns)
        return dict(self.rooms)

    def _fold_group(
        self, first: ir.Value, count: int, height: ir.Value, columns: ir.Value, compute: Compute
    ) -> None:
        """Compute so many rows, and put their totals into the stack's row of a number."""
        builder = self.builder
        with Loop(builder, I64(0), columns, True) as column:
            rows = [compute(builder.add(first, I64(k)), column) for k in range(count)]
            for operation, *values in zip(self.rooms, *rows, strict=True):
                while len(values) > 1:
                    paired = len(values) & ~1
                    pairs = list(pairwise(values))[:paired:2]
                    values = [self._combined(operation, *pair) for pair in pairs] + values[paired:]
                folded = folded_type(operation, F32)
                store(builder, folded, values[0], self._place(operation, height, column))

    def _merge(self, top: ir.Value, count: ir.Value, columns: ir.Value) -> None:
        """Fold the stack's row `top` into the one below, then that one, so many times."""
        builder = self.builder
        is_any = builder.icmp_signed(">", count, I64(0))
        with builder.if_then(is_any), Loop(builder, I64(0), count, True) as done:
            lower = builder.sub(builder.sub(top, done), I64(1))
            with Loop(builder, I64(0), columns, True) as column:
                for operation in self.rooms:
                    folded, place = folded_type(operation, F32), self._place(operation, lower, column)
                    stored = stored_type(folded)
                    above = builder.gep(place, [I64(self.width)], inbounds=True, source_etype=stored)
                    pair = [load(builder, folded, pointer) for pointer in (place, above)]
                    store(builder, folded, self._combined(operation, *pair), place)

    def _combined(self, operation: Operation, left: Value, right: Value) -> Value:
        body = operation.regions[0].block
        return combine(self.builder, body, self.view_of, folded_type(operation, F32), left, right)

    def _place(self, operation: Operation, height: ir.Value, column: ir.Value) -> ir.Value:
        place = self.builder.add(self.builder.mul(height, I64(self.width)), column)
        stored = stored_type(folded_type(operation, F32))
        return address_of(self.builder, self.rooms[operation], place, stored)
