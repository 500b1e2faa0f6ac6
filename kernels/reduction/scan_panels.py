"""Scans of SCAN_LANES lines of at most SCAN_BLOCK values side by side: a panel. `scan` says in which order.

Squares of values are transposed in registers, so that each line is a lane. Lines are neighbouring rows, or
neighbouring blocks of one row: line r begins at `first + r * apart`, and goes back in memory for a reverse
scan. All have `count` values, the last one `last`. Importing this module imports Numba.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types

from ..simd.block_sizes import SCAN_BLOCK, SCAN_GROUP, SCAN_LANES
from ..simd.monoids import Combination, computing_dtype, result_storage_dtype, storage_dtype
from ..simd.vectors import (
    I64,
    Value,
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

LINE_BYTES = 64
_PIECE = 4
_NUMBERS = ir.Constant(ir.VectorType(I64, SCAN_LANES), [I64(lane) for lane in range(SCAN_LANES)])


class _Lines(NamedTuple):
    """Where the lines of a panel lie, for code under construction."""

    builder: Any
    reverse: bool
    first: Any
    apart: Any
    lines: Any
    count: Any
    last: Any

    def place(self, line: int, column: Any) -> Any:
        """Where SCAN_GROUP values of a line begin in memory, from `column` on in the scan."""
        builder = self.builder
        start = builder.add(self.first, builder.mul(self.apart, I64(line)))
        if self.reverse:
            return builder.sub(start, builder.add(column, I64(SCAN_GROUP - 1)))
        return builder.add(start, column)

    def mask(self, line: int, column: Any) -> Any:
        """Which of these values there are, in the order of memory."""
        builder = self.builder
        following = builder.icmp_signed("<", I64(line + 1), self.lines)
        is_last = builder.icmp_signed("==", I64(line + 1), self.lines)
        size = builder.select(following, self.count, builder.select(is_last, self.last, I64(0)))
        left = splat(builder, builder.sub(size, column), SCAN_LANES)
        order = ir.Constant(_NUMBERS.type, [I64(SCAN_LANES - 1 - lane) for lane in range(SCAN_LANES)])
        return builder.icmp_signed("<", order if self.reverse else _NUMBERS, left)

    def rows(self, column: Any, is_whole: bool) -> Iterator[tuple[Any, Any]]:
        """For each line where these values begin, and the mask where there may be fewer."""
        for line in range(SCAN_LANES):
            yield self.place(line, column), None if is_whole else self.mask(line, column)

    def in_cache_lines(self, data: Any, item_bytes: int) -> Any:
        """Whether these values begin where a cache line does, in all lines."""
        builder = self.builder
        numbers = (self.place(0, I64(0)), self.apart)
        start, apart = (builder.mul(number, I64(item_bytes)) for number in numbers)
        both = builder.or_(builder.add(builder.ptrtoint(data, I64), start), apart)
        return builder.icmp_signed("==", builder.and_(both, I64(LINE_BYTES - 1)), I64(0))

    def fetch(self, element: str, data: Any, column: Any, distance: Any) -> None:
        """Fetch values that lie so much further on: with each square those of one line, since processors
        fetch more by themselves of what is asked for in order."""
        builder, itemsize = self.builder, storage_dtype(element).itemsize
        line = builder.udiv(column, I64(SCAN_GROUP))
        start = builder.add(builder.add(self.first, distance), builder.mul(self.apart, line))
        move = builder.sub if self.reverse else builder.add
        for place in range(0, SCAN_BLOCK, max(1, LINE_BYTES // itemsize)):
            prefetch(builder, element, data, move(start, I64(place)))

    def for_squares(self, body: Callable[[Any, bool], None]) -> None:
        """`body(column, is_whole)` for each square of SCAN_GROUP columns; one not whole lacks some values."""
        builder = self.builder
        shortest = builder.select(builder.icmp_signed("<", self.count, self.last), self.count, self.last)
        is_full = builder.icmp_signed("==", self.lines, I64(SCAN_LANES))
        end = builder.select(is_full, builder.and_(shortest, I64(-SCAN_GROUP)), I64(0))
        longest = builder.select(builder.icmp_signed(">", self.lines, I64(1)), self.count, self.last)
        step = I64(SCAN_GROUP)
        with cgutils.for_range_slice(builder, I64(0), end, step, intp=I64, inc=True) as (column, _):
            body(column, True)
        with cgutils.for_range_slice(builder, end, longest, step, intp=I64, inc=True) as (column, _):
            body(column, False)


def _transposed(builder: Any, rows: Sequence[Any]) -> list[Any]:
    """The columns of a square of vectors: first within pieces of _PIECE lanes, then by whole pieces."""
    lanes = len(rows)
    starts = range(0, lanes, _PIECE)

    def both(a: Any, b: Any, order: Sequence[int]) -> list[Any]:
        """Two vectors, the pieces of which take these lanes from those of a and, from _PIECE on, of b."""
        picked = [start + lane % _PIECE + lane // _PIECE * lanes for start in starts for lane in order]
        return selected(builder, a, picked, b)

    def whole(a: Any, b: Any, odd: int) -> Any:
        """The even or the odd pieces of two vectors."""
        pieces = range(odd * _PIECE, 2 * lanes, 2 * _PIECE)
        return selected(builder, a, [lane for start in pieces for lane in range(start, start + _PIECE)], b)

    low, high, near, far = (0, 4, 1, 5), (2, 6, 3, 7), (0, 1, 4, 5), (2, 3, 6, 7)
    quads: list[list[Any]] = []
    for start in starts:
        a, b, c, d = rows[start : start + _PIECE]
        halves = [(both(a, b, order), both(c, d, order)) for order in (low, high)]
        quads.append([both(*half, order) for half in halves for order in (near, far)])
    columns: list[Any] = [None] * lanes
    for number, (a, b, c, d) in enumerate(zip(*quads, strict=True)):
        for odd in (0, 1):
            ab, cd = whole(a, b, odd), whole(c, d, odd)
            columns[odd * _PIECE + number] = whole(ab, cd, 0)
            columns[(odd + 2) * _PIECE + number] = whole(ab, cd, 1)
    return columns


def _turned(builder: Any, values: Sequence[Value]) -> list[Value]:
    """A square of values with lines as lanes where they were vectors, or the other way round."""
    return list(zip(*[_transposed(builder, part) for part in zip(*values, strict=True)], strict=True))


def in_scan_order(builder: Any, kind: Combination, reverse: bool, left: Value, right: Value) -> Value:
    """What is folded so far with what follows; in a reverse scan that stands on the left."""
    return apply(builder, kind, *((right, left) if reverse else (left, right)))


def _room(builder: Any, kind: Combination) -> list[Any]:
    """Room on the stack for a value of each line."""
    vector = ir.VectorType(component(kind.element), SCAN_LANES)
    return [cgutils.alloca_once(builder, vector) for _ in range(component_count(kind.element))]


def either(builder: Any, condition: Any, value: Value, other: Value) -> Value:
    """One of two values, or in each lane one of them."""
    return tuple(builder.select(condition, *pair) for pair in zip(value, other, strict=True))


def get_value(builder: Any, slots: Sequence[Any]) -> Value:
    """What is held in room for each part of a value."""
    return tuple(builder.load(slot) for slot in slots)


def put_value(builder: Any, slots: Sequence[Any], value: Sequence[Any]) -> None:
    """Let room for each part hold a value."""
    for slot, part in zip(slots, value, strict=True):
        builder.store(part, slot)


@intrinsic(prefer_literal=True)
def fold_panel(
    typing_context: Any, element: Any, monoid: Any, reverse: Any, operand: Any, first: Any, apart: Any,
    lines: Any, count: Any, last: Any, next: Any, local: Any, local_at: Any, totals: Any, totals_at: Any,
) -> Any:  # fmt: skip
    """Scan each line of a panel by itself, into `local` from a place on, a vector a column; the totals of
    whole blocks go to `totals` from a place on. What lies `next` further on is fetched for the next panel."""
    kind, is_reverse = Combination(literal(element), literal(monoid)), literal(reverse)
    computed = computing_dtype(kind.element).name

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, operand, arguments[3], kind.element)
        panel = _Lines(builder, is_reverse, *arguments[4:9])
        local_data = data_of(context, builder, local, arguments[10], computed)
        totals_data = data_of(context, builder, totals, arguments[12], computed)
        ahead = _room(builder, kind)

        def square(column: Any, is_whole: bool) -> None:
            rows = [
                load_lanes(builder, kind.element, data, place, SCAN_GROUP, mask)
                for place, mask in panel.rows(column, is_whole)
            ]
            if is_whole:
                panel.fetch(kind.element, data, column, arguments[9])
            values = _turned(builder, rows)
            values = values[::-1] if is_reverse else values
            for place in range(1, SCAN_GROUP):
                values[place] = in_scan_order(builder, kind, is_reverse, values[place - 1], values[place])
            slots = [[cgutils.alloca_once_value(builder, part) for part in value] for value in values]
            with builder.if_then(builder.icmp_signed(">", column, I64(0))):
                before = get_value(builder, ahead)
                for value, places in zip(values, slots, strict=True):
                    put_value(builder, places, in_scan_order(builder, kind, is_reverse, before, value))
            put_value(builder, ahead, get_value(builder, slots[-1]))
            for number, places in enumerate(slots):
                place = builder.add(arguments[11], _column_at(builder, column, number))
                store_lanes(builder, computed, local_data, place, get_value(builder, places), SCAN_LANES)

        panel.for_squares(square)
        store_lanes(builder, computed, totals_data, arguments[13], get_value(builder, ahead), SCAN_LANES)
        return context.get_dummy_value()

    numbers = (types.intp,) * 6
    lists = (local, types.intp, totals, types.intp)
    return types.void(element, monoid, reverse, operand, *numbers, *lists), generate


@intrinsic(prefer_literal=True)
def write_panel(
    typing_context: Any, element: Any, monoid: Any, reverse: Any, local: Any, local_at: Any, carries: Any,
    carries_at: Any, first_carried: Any, pads: Any, pad: Any, pad_apart: Any, first: Any, apart: Any,
    lines: Any, count: Any, last: Any, past_caches: Any, result: Any,
) -> Any:  # fmt: skip
    """Combine what `fold_panel` wrote with the lines' `carries`, from `first_carried` on, and with `pads`.

    Pads lie as values do, from `pad` on and `pad_apart` from line to line; where `pad` is negative all are
    the same. `past_caches` is for results that are whole cache lines.
    """
    kind, is_reverse = Combination(literal(element), literal(monoid)), literal(reverse)
    computed = computing_dtype(kind.element).name
    row_bytes = SCAN_GROUP * result_storage_dtype(kind.element).itemsize

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pad, lines = arguments[9], arguments[11:16]
        panel = _Lines(builder, is_reverse, *lines)
        pads_at = _Lines(builder, is_reverse, pad, arguments[10], *lines[2:])
        local_data = data_of(context, builder, local, arguments[3], computed)
        carry_data = data_of(context, builder, carries, arguments[5], computed)
        pads_data = data_of(context, builder, pads, arguments[8], computed)
        result_data = data_of(context, builder, result, arguments[17], kind.element)
        carry = load_lanes(builder, computed, carry_data, arguments[6], SCAN_LANES)
        is_carried = builder.icmp_signed(">=", _NUMBERS, splat(builder, arguments[7], SCAN_LANES))
        some_carried = builder.icmp_signed("<", arguments[7], I64(SCAN_LANES))
        pads_vary = builder.icmp_signed(">=", pad, I64(0))
        is_past = builder.icmp_signed("!=", arguments[16], I64(0))
        is_past = builder.and_(is_past, panel.in_cache_lines(result_data, row_bytes // SCAN_GROUP))

        def square(column: Any, is_whole: bool) -> None:
            slots = []
            for number in range(SCAN_GROUP):
                source = builder.add(arguments[4], _column_at(builder, column, number))
                value = load_lanes(builder, computed, local_data, source, SCAN_LANES)
                slots.append([cgutils.alloca_once_value(builder, part) for part in value])
            with builder.if_then(some_carried):
                for places in slots:
                    value = get_value(builder, places)
                    joined = in_scan_order(builder, kind, is_reverse, carry, value)
                    put_value(builder, places, either(builder, is_carried, joined, value))
            values = [get_value(builder, places) for places in slots]
            rows = list(panel.rows(column, is_whole))
            turned = _turned(builder, values[::-1] if is_reverse else values)
            for line, ((_, mask), value) in enumerate(zip(rows, turned, strict=True)):
                source = builder.select(pads_vary, pads_at.place(line, column), I64(0))
                lead = load_lanes(builder, computed, pads_data, source, SCAN_GROUP, mask)
                turned[line] = in_scan_order(builder, kind, is_reverse, lead, value)

            def write(past: bool) -> None:
                for (place, mask), value in zip(rows, turned, strict=True):
                    store_lanes(builder, kind.element, result_data, place, value, SCAN_GROUP, past, mask)

            if is_whole and row_bytes % LINE_BYTES == 0:
                with builder.if_else(is_past) as (past, through):
                    with past:
                        write(True)
                    with through:
                        write(False)
            else:
                write(False)

        panel.for_squares(square)
        return context.get_dummy_value()

    names = (element, monoid, reverse)
    lists = (local, types.intp, carries, types.intp, types.intp, pads, types.intp, types.intp)
    return types.void(*names, *lists, *(types.intp,) * 6, result), generate


def _column_at(builder: Any, column: Any, number: int) -> Any:
    """Where in a panel the values of a column behind another one begin."""
    return builder.mul(builder.add(column, I64(number)), I64(SCAN_LANES))
