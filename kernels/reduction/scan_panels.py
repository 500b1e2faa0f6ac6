"""Scans of panels: SCAN_LANES fibers of at most SCAN_BLOCK values, one a lane. `scan` documents the order.

Squares of values are transposed in registers, so that each fiber is a lane. Fibers are neighbouring rows, or
neighbouring blocks of one row: fiber r begins at `first + r * fiber_stride`, and descends in memory for a
reverse scan. All have `count` values, the last one `last`. Importing this module imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from llvmlite import ir
from numba import types
from numba.core.base import BaseContext as Context
from numba.core.typing import BaseContext as TypingContext
from numba.core.typing import Signature

from ..named_tuples import NamedTuple
from ..simd.block_sizes import CACHE_LINE_BYTES, SCAN_BLOCK, SCAN_GROUP, SCAN_LANES
from ..simd.monoids import Combination, computing_dtype, storage_dtype
from ..simd.vectors import (
    I64,
    TypedCode,
    Value,
    Values,
    apply,
    cgutils,
    component,
    component_count,
    data_of,
    intrinsic,
    literal,
    load_lanes,
    prefetch,
    selected,
    splat,
    store_lanes,
)

_CHUNK_LANES = 4
_NUMBERS = ir.Constant(ir.VectorType(I64, SCAN_LANES), [I64(lane) for lane in range(SCAN_LANES)])


class _Fibers(NamedTuple):
    """The fibers of a panel in memory, for code generation."""

    builder: ir.IRBuilder
    reverse: bool
    first: ir.Value
    fiber_stride: ir.Value
    fiber_count: ir.Value
    count: ir.Value
    last: ir.Value

    def offset(self, fiber: int, column: ir.Value) -> ir.Value:
        """The offset in memory of SCAN_GROUP values of a fiber, from `column` on in the scan."""
        builder = self.builder
        start = builder.add(self.first, builder.mul(self.fiber_stride, I64(fiber)))
        if self.reverse:
            return builder.sub(start, builder.add(column, I64(SCAN_GROUP - 1)))
        return builder.add(start, column)

    def mask(self, fiber: int, column: ir.Value) -> ir.Value:
        """The values that exist, in the order of memory."""
        builder = self.builder
        following = builder.icmp_signed("<", I64(fiber + 1), self.fiber_count)
        is_last = builder.icmp_signed("==", I64(fiber + 1), self.fiber_count)
        size = builder.select(following, self.count, builder.select(is_last, self.last, I64(0)))
        left = splat(builder, builder.sub(size, column), SCAN_LANES)
        order = ir.Constant(_NUMBERS.type, [I64(SCAN_LANES - 1 - lane) for lane in range(SCAN_LANES)])
        return builder.icmp_signed("<", order if self.reverse else _NUMBERS, left)

    def rows(self, column: ir.Value, is_full: bool) -> Iterator[tuple[ir.Value, ir.Value]]:
        """For each fiber the offset of these values, and a mask if some may be missing."""
        for fiber in range(SCAN_LANES):
            yield self.offset(fiber, column), None if is_full else self.mask(fiber, column)

    def in_cache_lines(self, data: ir.Value, item_bytes: int) -> ir.Value:
        """Whether these values are aligned to cache lines, in all fibers."""
        builder = self.builder
        numbers = (self.offset(0, I64(0)), self.fiber_stride)
        start, fiber_stride = (builder.mul(number, I64(item_bytes)) for number in numbers)
        both = builder.or_(builder.add(builder.ptrtoint(data, I64), start), fiber_stride)
        return builder.icmp_signed("==", builder.and_(both, I64(CACHE_LINE_BYTES - 1)), I64(0))

    def prefetch_fiber(self, element: str, data: ir.Value, column: ir.Value, distance: ir.Value) -> None:
        """Prefetch values `distance` further on: one fiber a square, since hardware prefetchers follow
        sequential accesses."""
        builder, itemsize = self.builder, storage_dtype(element).itemsize
        fiber = builder.udiv(column, I64(SCAN_GROUP))
        start = builder.add(builder.add(self.first, distance), builder.mul(self.fiber_stride, fiber))
        move = builder.sub if self.reverse else builder.add
        for offset in range(0, SCAN_BLOCK, max(1, CACHE_LINE_BYTES // itemsize)):
            prefetch(builder, element, data, move(start, I64(offset)))

    def for_squares(self, body: Callable[[ir.Value, bool], None]) -> None:
        """`body(column, is_full)` for each square of SCAN_GROUP columns; an incomplete one lacks some
        values."""
        builder = self.builder
        shortest = builder.select(builder.icmp_signed("<", self.count, self.last), self.count, self.last)
        is_full = builder.icmp_signed("==", self.fiber_count, I64(SCAN_LANES))
        end = builder.select(is_full, builder.and_(shortest, I64(-SCAN_GROUP)), I64(0))
        longest = builder.select(builder.icmp_signed(">", self.fiber_count, I64(1)), self.count, self.last)
        step = I64(SCAN_GROUP)
        with cgutils.for_range_slice(builder, I64(0), end, step, intp=I64, inc=True) as (column, _):
            body(column, True)
        with cgutils.for_range_slice(builder, end, longest, step, intp=I64, inc=True) as (column, _):
            body(column, False)


def _transpose(builder: ir.IRBuilder, rows: Sequence[ir.Value]) -> list[ir.Value]:
    """The columns of a square of vectors: first within chunks of _CHUNK_LANES lanes, then by complete chunks.
    """
    lanes = len(rows)
    starts = range(0, lanes, _CHUNK_LANES)

    def both(a: ir.Value, b: ir.Value, order: Sequence[int]) -> list[ir.Value]:
        """Two vectors, whose chunks take these lanes from a and, from _CHUNK_LANES on, from b."""
        picked = [
            start + lane % _CHUNK_LANES + lane // _CHUNK_LANES * lanes for start in starts for lane in order
        ]
        return selected(builder, a, picked, b)

    def chunks_of(a: ir.Value, b: ir.Value, odd: int) -> ir.Value:
        """The even or the odd chunks of two vectors."""
        chunks = range(odd * _CHUNK_LANES, 2 * lanes, 2 * _CHUNK_LANES)
        return selected(
            builder, a, [lane for start in chunks for lane in range(start, start + _CHUNK_LANES)], b
        )

    low, high, near, far = (0, 4, 1, 5), (2, 6, 3, 7), (0, 1, 4, 5), (2, 3, 6, 7)
    quads: list[list[ir.Value]] = []
    for start in starts:
        a, b, c, d = rows[start : start + _CHUNK_LANES]
        halves = [(both(a, b, order), both(c, d, order)) for order in (low, high)]
        quads.append([both(*half, order) for half in halves for order in (near, far)])
    columns: list[ir.Value] = [None] * lanes
    for number, (a, b, c, d) in enumerate(zip(*quads, strict=True)):
        for odd in (0, 1):
            ab, cd = chunks_of(a, b, odd), chunks_of(c, d, odd)
            columns[odd * _CHUNK_LANES + number] = chunks_of(ab, cd, 0)
            columns[(odd + 2) * _CHUNK_LANES + number] = chunks_of(ab, cd, 1)
    return columns


def _transpose_values(builder: ir.IRBuilder, values: Sequence[Value]) -> list[Value]:
    """A square of values with fibers as lanes where they were vectors, or the reverse."""
    return list(zip(*[_transpose(builder, item) for item in zip(*values, strict=True)], strict=True))


def apply_in_scan_order(
    builder: ir.IRBuilder, kind: Combination, reverse: bool, prefix: Value, value: Value
) -> Value:
    """Emit the combination of a prefix with the next value of the scan.

    In a reverse scan the value is the left operand, because it precedes the prefix in the array.
    """
    return apply(builder, kind, *((value, prefix) if reverse else (prefix, value)))


def _stack_slots(builder: ir.IRBuilder, kind: Combination) -> list[ir.Value]:
    vector = ir.VectorType(component(kind.element), SCAN_LANES)
    return [cgutils.alloca_once(builder, vector) for _ in range(component_count(kind.element))]


def select_value(builder: ir.IRBuilder, condition: ir.Value, value: Value, other: Value) -> Value:
    """Select between two values, or lane by lane."""
    return tuple(builder.select(condition, *pair) for pair in zip(value, other, strict=True))


def get_value(builder: ir.IRBuilder, slots: Sequence[ir.Value]) -> Value:
    """Load a value from its stack slots."""
    return tuple(builder.load(slot) for slot in slots)


def put_value(builder: ir.IRBuilder, slots: Sequence[ir.Value], value: Sequence[ir.Value]) -> None:
    """Store a value to its stack slots."""
    for slot, component_value in zip(slots, value, strict=True):
        builder.store(component_value, slot)


@intrinsic(prefer_literal=True)
def scan_panel(
    typing_context: TypingContext, element: types.Type, monoid: types.Type, reverse: types.Type,
    operand: types.Type, first: types.Type, fiber_stride: types.Type, fiber_count: types.Type,
    count: types.Type, last: types.Type, prefetch_distance: types.Type, local: types.Type,
    local_start: types.Type, totals: types.Type, totals_start: types.Type,
) -> TypedCode:  # fmt: skip
    """Scan each fiber of a panel by itself.

    Offsets and strides are intp and count elements.

    Args:
        element, monoid, reverse: literals: the element type, the combining function, whether fibers descend.
        operand: the values, flat, of the storage type of `element`.
        first: the offset of the first value of the first fiber.
        fiber_stride: between the first values of fibers.
        fiber_count: at most SCAN_LANES.
        count, last: the values of each fiber but the last, and of the last; at most SCAN_BLOCK.
        prefetch_distance: from each value to the one to prefetch, of the next panel.
        local: receives the scanned values from `local_start` on, as columns of SCAN_LANES values, of the
            computing type of `element`.
        totals: receives the last value of each fiber from `totals_start` on, of the same type; only those of
            complete blocks are valid.
    """
    kind, is_reverse = Combination(literal(element), literal(monoid)), literal(reverse)
    computed = computing_dtype(kind.element).name

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        operand_arg, *fiber_args, prefetch_distance, local_arg, local_start, totals_arg, totals_start = (
            arguments[3:]
        )
        data = data_of(context, builder, operand, operand_arg, kind.element)
        panel = _Fibers(builder, is_reverse, *fiber_args)
        local_data = data_of(context, builder, local, local_arg, computed)
        totals_data = data_of(context, builder, totals, totals_arg, computed)
        prefix = _stack_slots(builder, kind)

        def square(column: ir.Value, is_full: bool) -> None:
            rows = [
                load_lanes(builder, kind.element, data, offset, SCAN_GROUP, mask)
                for offset, mask in panel.rows(column, is_full)
            ]
            if is_full:
                panel.prefetch_fiber(kind.element, data, column, prefetch_distance)
            values = _transpose_values(builder, rows)
            values = values[::-1] if is_reverse else values
            for offset in range(1, SCAN_GROUP):
                before, value = values[offset - 1 : offset + 1]
                values[offset] = apply_in_scan_order(builder, kind, is_reverse, before, value)
            slots = [
                [cgutils.alloca_once_value(builder, component_value) for component_value in value]
                for value in values
            ]
            with builder.if_then(builder.icmp_signed(">", column, I64(0))):
                total = get_value(builder, prefix)
                for value, slot in zip(values, slots, strict=True):
                    put_value(builder, slot, apply_in_scan_order(builder, kind, is_reverse, total, value))
            put_value(builder, prefix, get_value(builder, slots[-1]))
            for number, slot in enumerate(slots):
                offset = builder.add(local_start, _column_offset(builder, column, number))
                store_lanes(builder, computed, local_data, offset, get_value(builder, slot), SCAN_LANES)

        panel.for_squares(square)
        store_lanes(builder, computed, totals_data, totals_start, get_value(builder, prefix), SCAN_LANES)
        return context.get_dummy_value()

    numbers = (types.intp,) * 6
    lists = (local, types.intp, totals, types.intp)
    return types.void(element, monoid, reverse, operand, *numbers, *lists), emit


@intrinsic(prefer_literal=True)
def write_panel(
    typing_context: TypingContext, element: types.Type, monoid: types.Type, reverse: types.Type,
    local: types.Type, local_start: types.Type, carries: types.Type, carries_start: types.Type,
    first_carried: types.Type, pads: types.Type, pad_start: types.Type, pad_stride: types.Type,
    first: types.Type, fiber_stride: types.Type, fiber_count: types.Type, count: types.Type,
    last: types.Type, nontemporal: types.Type, result: types.Type,
) -> TypedCode:  # fmt: skip
    """Combine the results of `scan_panel` with the totals before each fiber and with `pads`.

    Offsets and strides are intp and count elements; see `scan_panel` for the other arguments.

    Args:
        local: the columns that `scan_panel` wrote from `local_start` on.
        carries: the total before each fiber, from `carries_start` on, of the computing type of `element`.
        first_carried: the number of the first fiber that has a carry.
        pads: combined initial values, in the layout of the operand, of the computing type.
        pad_start: the offset of the first pad of the first fiber; negative: all pads equal `pads[0]`.
        pad_stride: between the first pads of fibers.
        nontemporal: whether to use nontemporal stores if all vectors are aligned to cache lines.
        result: flat, of the storage type of `element`, with the layout of the operand.
    """
    kind, is_reverse = Combination(literal(element), literal(monoid)), literal(reverse)
    computed = computing_dtype(kind.element).name
    row_bytes = SCAN_GROUP * storage_dtype(kind.element).itemsize

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        local_arg, local_start, carries_arg, carries_start, first_carried = arguments[3:8]
        pads_arg, pad_start, pad_stride, *fiber_args, nontemporal, result_arg = arguments[8:]
        panel = _Fibers(builder, is_reverse, *fiber_args)
        pad_fibers = _Fibers(builder, is_reverse, pad_start, pad_stride, *fiber_args[2:])
        local_data = data_of(context, builder, local, local_arg, computed)
        carry_data = data_of(context, builder, carries, carries_arg, computed)
        pads_data = data_of(context, builder, pads, pads_arg, computed)
        result_data = data_of(context, builder, result, result_arg, kind.element)
        carry = load_lanes(builder, computed, carry_data, carries_start, SCAN_LANES)
        is_carried = builder.icmp_signed(">=", _NUMBERS, splat(builder, first_carried, SCAN_LANES))
        some_carried = builder.icmp_signed("<", first_carried, I64(SCAN_LANES))
        pads_vary = builder.icmp_signed(">=", pad_start, I64(0))
        is_nontemporal = builder.icmp_signed("!=", nontemporal, I64(0))
        is_nontemporal = builder.and_(
            is_nontemporal, panel.in_cache_lines(result_data, row_bytes // SCAN_GROUP)
        )

        def square(column: ir.Value, is_full: bool) -> None:
            slots = []
            for number in range(SCAN_GROUP):
                source = builder.add(local_start, _column_offset(builder, column, number))
                value = load_lanes(builder, computed, local_data, source, SCAN_LANES)
                slots.append(
                    [cgutils.alloca_once_value(builder, component_value) for component_value in value]
                )
            with builder.if_then(some_carried):
                for slot in slots:
                    value = get_value(builder, slot)
                    combined = apply_in_scan_order(builder, kind, is_reverse, carry, value)
                    put_value(builder, slot, select_value(builder, is_carried, combined, value))
            values = [get_value(builder, slot) for slot in slots]
            rows = list(panel.rows(column, is_full))
            transposed = _transpose_values(builder, values[::-1] if is_reverse else values)
            for fiber, ((_, mask), value) in enumerate(zip(rows, transposed, strict=True)):
                source = builder.select(pads_vary, pad_fibers.offset(fiber, column), I64(0))
                pad_values = load_lanes(builder, computed, pads_data, source, SCAN_GROUP, mask)
                transposed[fiber] = apply_in_scan_order(builder, kind, is_reverse, pad_values, value)

            def write(nontemporal: bool) -> None:
                for (offset, mask), value in zip(rows, transposed, strict=True):
                    store_lanes(
                        builder, kind.element, result_data, offset, value, SCAN_GROUP, nontemporal, mask
                    )

            if is_full and row_bytes % CACHE_LINE_BYTES == 0:
                with builder.if_else(is_nontemporal) as (nontemporal_branch, temporal_branch):
                    with nontemporal_branch:
                        write(True)
                    with temporal_branch:
                        write(False)
            else:
                write(False)

        panel.for_squares(square)
        return context.get_dummy_value()

    names = (element, monoid, reverse)
    lists = (local, types.intp, carries, types.intp, types.intp, pads, types.intp, types.intp)
    return types.void(*names, *lists, *(types.intp,) * 6, result), emit


def _column_offset(builder: ir.IRBuilder, column: ir.Value, number: int) -> ir.Value:
    """The offset in a panel of the values of column `column + number`."""
    return builder.mul(builder.add(column, I64(number)), I64(SCAN_LANES))
