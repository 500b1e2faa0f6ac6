"""Reductions of contiguous rows in blocks on small arrays: a row is reduced in registers."""

from __future__ import annotations

from ....program.ir import Operation
from ..llvm.values import I64
from ..reductions import vector_reduce
from ..reductions.reducers import Reducer
from ..scalars import Emitter, Storage
from ..scalars.elements import element_pointer
from ..scalars.emitter import Target


def row_totals(
    emitter: Emitter, reduction: Operation, values: Storage, rows: int, length: int
) -> Target | None:
    """The totals of rows, by the tree of adjacent pairs; None if vectors do not compute them.

    Args:
        reduction: of one input, which accumulates in its own type.
        values: the rows, one after the other.
        rows: their number.
        length: of each.
    """
    builder = emitter.builder
    reducer = Reducer(builder, reduction, "declared")
    if not vector_reduce.is_vectorized(reducer, length):
        return None
    totals = emitter.allocate_scratch(values.type.with_shape((rows,)))
    scratch = reducer.allocate(vector_reduce.scratch_elements(reducer, length))
    for row in emitter.loop(rows):
        start = element_pointer(builder, values, emitter.builder.mul(row, I64(length)))
        (total,) = vector_reduce.reduce_row(reducer, reducer.arrays([start]), (scratch, scratch), length)
        emitter.put(totals, row, total)
    return totals
