"""The memory of the arrays of a native function: one workspace, in which each array has an offset.

A function is generated statement by statement. An array is live from the statement that defines it to the
last statement that reads it. Arrays that are never live at the same statement may share bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from llvmlite import ir

from ....kernels.simd.block_sizes import CACHE_LINE_BYTES
from ....types import Array, TensorType
from ..llvm.functions import aligned_scratch, opaque
from ..llvm.values import I8, I64

WORKSPACE_BYTES = "workspace_bytes"
"""The function `int64 workspace_bytes()` of a module whose code takes a workspace as an argument."""


def scratch_bytes(type: TensorType) -> int:
    """The bytes of an array, rounded up to a multiple of the cache line."""
    return -(-type.size * type.dtype.itemsize // CACHE_LINE_BYTES) * CACHE_LINE_BYTES


def define_workspace_bytes(module: ir.Module, bytes: int) -> None:
    """Define the function `WORKSPACE_BYTES` of a module, which returns the size of the workspace."""
    function = ir.Function(module, ir.FunctionType(I64, []), WORKSPACE_BYTES)
    ir.IRBuilder(function.append_basic_block()).ret(I64(bytes))


class Buffer:
    """The memory of an array.

    Attributes:
        bytes: its size.
        first, last: the first and the last statement at which it is live.
        offset: from the beginning of the workspace; 0 until `Workspace.assign_offsets`.
    """

    __slots__ = ("_offset", "bytes", "first", "last")

    def __init__(self, bytes: int, statement: int, offset: ir.Constant) -> None:
        self.bytes = bytes
        self.first = self.last = statement
        self._offset = offset

    @property
    def offset(self) -> int:
        return int(self._offset.constant)

    @offset.setter
    def offset(self, offset: int) -> None:
        # The IR refers to this constant, and is printed only after offsets are assigned.
        self._offset.constant = offset


class Workspace:
    """Memory for arrays, aligned to a cache line. Code is generated before its size and offsets are decided.

    Args:
        pointer: the address, an argument of the generated function; None: the workspace is on the stack.
    """

    def __init__(self, builder: ir.IRBuilder, pointer: ir.Value | None = None) -> None:
        self._memory: ir.Value | None = None
        self.is_argument = pointer is not None
        if pointer is None:
            with builder.goto_entry_block():
                pointer = opaque(aligned_scratch(builder, I8, 1))
            self._memory = pointer.pointer
        self.pointer = pointer
        self.statement = 0
        self.buffers: dict[ir.Value, Buffer] = {}

    def allocate(self, builder: ir.IRBuilder, type: TensorType) -> ir.Value:
        """Allocate memory for an array that the current statement defines."""
        offset = I64(0)
        with builder.goto_entry_block():
            address = builder.gep(self.pointer, [offset], inbounds=True, source_etype=I8)
        self.buffers[address] = Buffer(scratch_bytes(type), self.statement, offset)
        return address

    def release(self, pointer: ir.Value) -> None:
        """Free memory that no code reads or writes."""
        self.buffers[pointer].bytes = 0

    def use(self, pointers: Iterable[ir.Value]) -> None:
        """Extend the lifetimes of arrays to the current statement; pointers to other memory are ignored."""
        for pointer in pointers:
            buffer = self.buffers.get(pointer)
            if buffer is not None:
                buffer.last = self.statement

    def end_loop(self, start: int) -> None:
        """Extend the lifetimes of outer arrays that a loop uses to its end: each iteration reads them."""
        self.statement += 1
        for buffer in self.buffers.values():
            if buffer.first <= start < buffer.last:
                buffer.last = self.statement

    def assign_offsets(self) -> int:
        """Assign all offsets; returns the size of the workspace in bytes."""
        buffers = [buffer for buffer in self.buffers.values() if buffer.bytes]
        offsets = assign_offsets([(buffer.first, buffer.last, buffer.bytes) for buffer in buffers])
        for buffer, offset in zip(buffers, offsets, strict=True):
            buffer.offset = offset
        total = max([buffer.offset + buffer.bytes for buffer in buffers], default=0)
        if self._memory is not None:
            self._memory.allocated_type = ir.ArrayType(I8, total)
        return total


def assign_offsets(intervals: Sequence[tuple[int, int, int]]) -> list[int]:
    """Offsets at which no two arrays that are live at the same statement overlap.

    Arrays are placed in sequence, each in the smallest sufficient gap between the arrays that are
    live with it, or behind them. Three orders are tried, by size, lifetime and first statement.

    Args:
        intervals: (first statement, last statement, bytes) of each array.
    """
    if not intervals:
        return []
    table = np.array(intervals, np.int64)
    first, last, sizes = table.T
    min_total = max(int(sizes[(first <= start) & (start <= last)].sum()) for start in set(first.tolist()))
    best, best_total = np.zeros(0, np.int64), None
    for keys in ((first, first - last, -sizes), (-sizes, first, first - last), (-sizes, first)):
        offsets = _offsets_in_order(table, np.lexsort(keys))
        total = int((offsets + sizes).max())
        if best_total is None or total < best_total:
            best, best_total = offsets, total
        if best_total == min_total:
            break
    return [int(offset) for offset in best]


def _offsets_in_order(table: Array, order: Array) -> Array:
    """Offsets of arrays that are placed in an order; `table` has a row for each interval."""
    first, last, sizes = table[order].T
    offsets = np.zeros(len(table), np.int64)
    placed = np.zeros(len(table), np.int64)
    for number in range(len(table)):
        is_live = (first[:number] <= last[number]) & (last[:number] >= first[number])
        placed[number] = _best_gap(placed[:number][is_live], sizes[:number][is_live], int(sizes[number]))
    offsets[order] = placed
    return offsets


def _best_gap(starts: Array, sizes: Array, needed: int) -> int:
    """The offset of the smallest gap of at least `needed` bytes, or the end of the arrays."""
    if not len(starts):
        return 0
    order = np.argsort(starts, kind="stable")
    starts = starts[order]
    ends = np.maximum.accumulate(starts + sizes[order])
    begins = np.concatenate(([0], ends[:-1]))
    gaps = starts - begins
    fitting = np.flatnonzero(gaps >= needed)
    return int(ends[-1] if not len(fitting) else begins[fitting[np.argmin(gaps[fitting])]])
