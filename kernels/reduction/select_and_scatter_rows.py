"""Vectorized windows along a row, for the kernels of `select_and_scatter`. Importing this module imports
Numba.

A window's choice is the number of the position that it selects, NO_CHOICE if it has no element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numba import types

from ..named_tuples import NamedTuple
from ..simd.block_sizes import CACHE_LINE_BYTES
from ..simd.monoids import Combination, computing_dtype, storage_dtype
from ..simd.vectors import (
    I32,
    I64,
    apply,
    cgutils,
    data_of,
    intrinsic,
    lanes_of,
    literal,
    load_lanes,
    load_strided,
    merged_lanes,
    splat,
    store_lanes,
)

NO_CHOICE = -1
MAX_UNROLLED = 3  # rows, their elements, and pairs for which there is unrolled code
MAX_VECTOR_STRIDE = 9  # the literal of all greater strides, which are then read from an argument


@intrinsic(prefer_literal=True)
def choose(
    typing_context: Any, element: Any, direction: Any, column_stride: Any, size: Any, operand: Any,
    rows: Any, numbers: Any, rows_start: Any, count: Any, first: Any, step: Any, begin: Any, end: Any,
    windows: Any, stride: Any, width: Any, choices: Any, choices_start: Any,
) -> Any:  # fmt: skip
    """Write the choices of a row of windows.

    Window w has, in column c, the elements
    `operand[rows[rows_start + r] + first + w * stride + c * column_stride + p * step]` for each r < `count`
    and p from `begin` to `end`. The number of such an element is `numbers[rows_start + r] + p`.

    Args:
        element, direction: literals: the element type, and the comparison of the selected element with
            the next one for which it stays selected.
        column_stride: literal: 1, or the stride between windows, whose columns then are the windows
            themselves; MAX_VECTOR_STRIDE: the argument `stride`.
        size: literal: the elements of a row of a window for which few rows are unrolled; 0: none.
        operand: flat, of the storage type of `element`.
        rows, numbers: int64: the offset of each row of elements, and the number of its first position.
        rows_start, count: intp: the range of `rows` and `numbers`.
        first, step, stride: intp, in elements.
        begin, end: intp: the positions of a row that are in the operand.
        windows, width: intp: the number of windows, and of columns of each.
        choices: int32; receives the number of the selected element of each window and column, in row-major
            order, from `choices_start` on.
    """
    name, distance, unrolled_size = literal(element), int(literal(column_stride)), int(literal(size))
    compare = _comparison(name, literal(direction))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        operand_arg, rows_arg, numbers_arg, rows_start, count, first, step, begin, end = arguments[4:13]
        windows, stride, width, choices_arg, choices_start = arguments[13:]
        data = data_of(context, builder, operand, operand_arg, name)
        row_data, number_data, choice_data = (
            context.make_array(type)(context, builder, array).data
            for array, type in ((rows_arg, rows), (numbers_arg, numbers), (choices_arg, choices))
        )
        code = _ChoosingCode(
            builder, name, compare, data, (row_data, number_data), rows_start,
            (count, first, step, begin, end), distance if distance < MAX_VECTOR_STRIDE else stride,
            (windows, stride, width), (choice_data, choices_start),
        )  # fmt: skip
        code.emit(unrolled_size)
        return context.get_dummy_value()

    lists = (operand, rows, numbers)
    names = (element, direction, column_stride, size)
    return types.void(*names, *lists, *(types.intp,) * 9, choices, types.intp), generate


class _ChoosingCode(NamedTuple):
    """The code of `choose`, whose arguments it names.

    Attributes:
        builder, element, compare: emit code, for the element type and the comparison.
        operand: the pointer to the operand's elements.
        rows: the pointers to the rows' offsets and to their numbers.
        rows_start: where both begin.
        positions: count, first, step, begin and end.
        distance: the elements between columns.
        windows: their number, the elements between them, and the columns of each.
        choices: the pointer to the choices, and where they begin.
    """

    builder: Any
    element: str
    compare: Callable[[Any, Any, Any], Any]
    operand: Any
    rows: tuple[Any, Any]
    rows_start: Any
    positions: tuple[Any, Any, Any, Any, Any]
    distance: Any
    windows: tuple[Any, Any, Any]
    choices: tuple[Any, Any]

    def emit(self, unrolled_size: int) -> None:
        """Emit the code for all windows; `unrolled_size` is the literal `size`."""
        builder, (count, _, _, begin, end), (_, _, width) = self.builder, self.positions, self.windows
        is_few = builder.icmp_signed("==", builder.sub(end, begin), I64(unrolled_size))
        is_unrolled = builder.and_(is_few, builder.icmp_signed("==", begin, I64(0)))
        number = builder.select(is_unrolled, count, I64(0))
        numbers = range(1, MAX_UNROLLED + 1) if unrolled_size else ()
        with builder.if_else(_is_narrow(builder, self.element, width)) as (narrow, wide):
            with narrow:
                self.looped(True)
            with wide:
                _for_number(
                    builder, number, numbers, lambda rows: self.unrolled(rows, unrolled_size), self.looped
                )

    def row_at(self, row: Any) -> tuple[Any, Any]:
        """The offset of a row's first position, and its number."""
        builder, first = self.builder, self.positions[1]
        index = builder.add(self.rows_start, row)
        offset, number = (builder.load(builder.gep(data, [index])) for data in self.rows)
        return builder.add(offset, first), builder.trunc(number, I32)

    def element_at(self, row: tuple[Any, Any], position: Any) -> tuple[Any, Any]:
        """The offset and the number of a position of a row."""
        builder, (offset, number), step = self.builder, row, self.positions[2]
        offset = builder.add(offset, builder.mul(position, step))
        return offset, builder.add(number, builder.trunc(position, I32))

    def values(self, offset: Any, column: Any, lanes: int) -> Any:
        """The elements of columns."""
        builder, distance = self.builder, self.distance
        first = builder.add(
            offset, builder.mul(column, I64(distance) if isinstance(distance, int) else distance)
        )
        return load_strided(builder, self.element, self.operand, first, lanes, distance)[0]

    def better(self, best: Any, chosen: Any, other: Any, number: Any) -> tuple[Any, Any]:
        """The selected element and its number after a comparison with the next one."""
        keeps_best = self.compare(self.builder, best, other)
        select = self.builder.select
        return select(keeps_best, best, other), select(keeps_best, chosen, number)

    def sweep(self, elements: Callable[[Any, Any, int], Any], fills_no_vector: bool) -> None:
        """Write `elements(start, column, lanes)`, for all windows."""
        builder, (windows, stride, width), (choice_data, choices_start) = (
            self.builder, self.windows, self.choices,
        )  # fmt: skip
        with cgutils.for_range(builder, windows, intp=I64) as window:
            start = builder.mul(window.index, stride)
            target = builder.add(choices_start, builder.mul(window.index, width))

            def write(column: Any, lanes: int) -> None:
                chosen = elements(start, column, lanes)
                store_lanes(builder, "int32", choice_data, builder.add(target, column), (chosen,), lanes)

            _for_columns(builder, self.element, width, fills_no_vector, write)

    def unrolled(self, rows: int, size: int) -> None:
        """Emit code for a number of rows of `size` elements each."""
        builder = self.builder
        window_rows = [self.row_at(I64(row)) for row in range(rows)]
        positions = [self.element_at(row, I64(position)) for row in window_rows for position in range(size)]

        def elements(start: Any, column: Any, lanes: int) -> Any:
            (origin, number), *others = positions
            best = self.values(builder.add(origin, start), column, lanes)
            chosen = splat(builder, number, lanes)
            for origin, number in others:
                other = self.values(builder.add(origin, start), column, lanes)
                best, chosen = self.better(best, chosen, other, splat(builder, number, lanes))
            return chosen

        self.sweep(elements, False)

    def looped(self, fills_no_vector: bool = False) -> None:
        """Emit code for any number of rows."""
        builder, (count, _, _, begin, end) = self.builder, self.positions

        def elements(start: Any, column: Any, lanes: int) -> Any:
            origin, number = self.element_at(self.row_at(I64(0)), begin)
            first = self.values(builder.add(origin, start), column, lanes)
            best = cgutils.alloca_once_value(builder, first)
            chosen = cgutils.alloca_once_value(builder, splat(builder, number, lanes))
            with cgutils.for_range(builder, count, intp=I64) as loop:
                row = self.row_at(loop.index)
                positions = cgutils.for_range_slice(builder, begin, end, I64(1), intp=I64, inc=True)
                with positions as (position, _):
                    origin, number = self.element_at(row, position)
                    other = self.values(builder.add(origin, start), column, lanes)
                    before = builder.load(best), builder.load(chosen)
                    after = self.better(*before, other, splat(builder, number, lanes))
                    builder.store(after[0], best)
                    builder.store(after[1], chosen)
            return builder.load(chosen)

        self.sweep(elements, fills_no_vector)


def _for_columns(
    builder: Any, element: str, width: Any, is_few: bool, body: Callable[[Any, int], None]
) -> None:
    """`body(column, count)` for vectors of the columns below `width`; the last vector may repeat columns.

    With `is_few` the columns fill no vector, and `count` is 1.
    """
    lanes = lanes_of(element)
    if is_few:
        with cgutils.for_range(builder, width, intp=I64) as loop:
            body(loop.index, 1)
        return
    last = builder.sub(width, I64(lanes))
    with cgutils.for_range_slice(builder, I64(0), width, I64(lanes), intp=I64, inc=True) as (column, _):
        body(builder.select(builder.icmp_signed("<", column, last), column, last), lanes)


def _is_narrow(builder: Any, element: str, width: Any) -> Any:
    return builder.icmp_signed("<", width, I64(lanes_of(element)))


def _for_number(
    builder: Any, number: Any, unrolled_numbers: Sequence[int], unrolled: Callable[[int], None],
    looped: Callable[[], None],
) -> None:  # fmt: skip
    """Code for a number, specialized for each of `unrolled_numbers`."""
    if not unrolled_numbers:
        looped()
        return
    with builder.if_else(builder.icmp_signed("==", number, I64(unrolled_numbers[0]))) as (this, other):
        with this:
            unrolled(unrolled_numbers[0])
        with other:
            _for_number(builder, number, unrolled_numbers[1:], unrolled, looped)


@intrinsic(prefer_literal=True)
def interleave(
    typing_context: Any, element: Any, phases: Any, phase_results: Any, start: Any, phase_stride: Any,
    count: Any, result: Any, result_start: Any,
) -> Any:  # fmt: skip
    """Interleave the elements of phases: `result[result_start + i * phases + p]` becomes
    `phase_results[start + p * phase_stride + i]`.

    Args:
        element, phases: literals: the element type of the result, and the number of phases.
        phase_results: flat, of the computing type of `element`.
        start, phase_stride, count, result_start: intp; `count` is the number of elements of a phase.
        result: flat, of the storage type of `element`.
    """
    kind, number = literal(element), int(literal(phases))
    computed = computing_dtype(kind).name

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        phase_results_arg, start, phase_stride, count, result_arg, result_start = arguments[2:]
        phase_data = data_of(context, builder, phase_results, phase_results_arg, computed)
        result_data = data_of(context, builder, result, result_arg, kind)

        def write(column: Any, lanes: int) -> None:
            first = builder.add(start, column)
            offsets = [builder.add(first, builder.mul(phase_stride, I64(phase))) for phase in range(number)]
            values = [load_lanes(builder, computed, phase_data, offset, lanes)[0] for offset in offsets]
            target = builder.add(result_start, builder.mul(column, I64(number)))
            for vector in range(number):
                positions = range(vector * lanes, (vector + 1) * lanes)
                sources = [(position % number, position // number) for position in positions]
                value = values[vector] if lanes == 1 else merged_lanes(builder, values, sources)
                offset = builder.add(target, I64(vector * lanes))
                store_lanes(builder, kind, result_data, offset, (value,), lanes)

        with builder.if_else(_is_narrow(builder, kind, count)) as (narrow, wide):
            with narrow:
                _for_columns(builder, kind, count, True, write)
            with wide:
                _for_columns(builder, kind, count, False, write)
        return context.get_dummy_value()

    numbers = (types.intp,) * 3
    return types.void(element, phases, phase_results, *numbers, result, types.intp), generate


def _comparison(element: str, direction: str) -> Callable[[Any, Any, Any], Any]:
    """Code for the test whether the selected element stays selected."""
    relation = {"GE": ">=", "GT": ">", "LE": "<=", "LT": "<"}[direction]

    def compare(builder: Any, left: Any, right: Any) -> Any:
        if element.startswith("uint"):
            return builder.icmp_unsigned(relation, left, right)
        if element.startswith("int"):
            return builder.icmp_signed(relation, left, right)
        return builder.fcmp_ordered(relation, left, right)

    return compare


@intrinsic(prefer_literal=True)
def collect(
    typing_context: Any, element: Any, monoid: Any, stored: Any, choices: Any, source: Any, initial: Any,
    pairs: Any, ends: Any, ends_start: Any, shift: Any, begin: Any, end: Any, phase_stride: Any, count: Any,
    window_stride: Any, stride: Any, width: Any, nontemporal: Any, result: Any, result_start: Any,
) -> Any:  # fmt: skip
    """Combine the elements of phases `begin` to `end` with the values of the windows that chose them.

    The phase of an element is its distance from the beginning of the last window before it: elements of a
    phase are at the same positions of the windows that contain them. A pair (offset of a choice, offset of a
    value of the source, number of the position) stands for a window that contains the elements of a phase.
    Starting from the initial value, an element is combined, in the order of the pairs, with the values of
    those windows whose choice is the position's number.

    Args:
        element, monoid, stored: literals: the element type of the sums, the combining function, and the
            element type of the result.
        choices: int32, from `choose`.
        source: the values of the windows, flat, of the computing type of `element`.
        initial: one element of that type.
        pairs: int64; those of phase p are `pairs[ends[ends_start + p]:ends[ends_start + p + 1]]`, three
            numbers each.
        ends: int64.
        ends_start, begin, end: intp.
        shift: intp: is added to the offsets of all pairs.
        phase_stride, stride: intp: the elements of the result between phases, and between windows.
        count, window_stride: intp: the number of windows, and the elements of `choices` and `source` between
            them.
        width: intp: the contiguous columns of each element.
        nontemporal: intp: not 0: use nontemporal stores if all vectors are aligned to cache lines.
        result: flat, of the storage type of `stored`; phase 0 of window 0 is at `result_start`.
    """
    kind, target = Combination(literal(element), literal(monoid)), literal(stored)
    computed = computing_dtype(kind.element).name

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        choices_arg, source_arg, initial_arg, pairs_arg, ends_arg, ends_start, shift = arguments[3:10]
        begin, end, phase_stride, count, window_stride, stride, width, nontemporal = arguments[10:18]
        result_arg, result_start = arguments[18:]
        source_data = data_of(context, builder, source, source_arg, computed)
        initial_data = data_of(context, builder, initial, initial_arg, computed)
        result_data = data_of(context, builder, result, result_arg, target)
        choice_data, pair_data, end_data = (
            context.make_array(type)(context, builder, array).data
            for array, type in ((choices_arg, choices), (pairs_arg, pairs), (ends_arg, ends))
        )
        itemsize = storage_dtype(target).itemsize
        is_nontemporal = builder.icmp_signed("!=", nontemporal, I64(0))
        distances = builder.mul(builder.or_(result_start, width), I64(itemsize))
        bits = builder.and_(
            builder.or_(builder.ptrtoint(result_data, I64), distances), I64(CACHE_LINE_BYTES - 1)
        )
        is_nontemporal = builder.and_(is_nontemporal, builder.icmp_signed("==", bits, I64(0)))
        alone = load_lanes(builder, computed, initial_data, I64(0), 1)
        code = _CollectingCode(
            builder, kind, computed, choice_data, source_data, alone[0], (pair_data, shift),
            (count, window_stride, stride, width), (target, result_data, is_nontemporal),
        )  # fmt: skip
        with cgutils.for_range_slice(builder, begin, end, I64(1), intp=I64, inc=True) as (phase, _):
            number = builder.add(ends_start, phase)
            indices = (number, builder.add(number, I64(1)))
            first, last = (builder.load(builder.gep(end_data, [index])) for index in indices)
            code.emit(builder.add(result_start, builder.mul(phase, phase_stride)), first, last)
        return context.get_dummy_value()

    lists = (choices, source, initial, pairs, ends)
    return types.void(element, monoid, stored, *lists, *(types.intp,) * 10, result, types.intp), generate


class _CollectingCode(NamedTuple):
    """The code of `collect`, whose arguments it names.

    Attributes:
        builder, kind, computed: emit code, for the combining function and the computing type.
        choices, source: the pointers to their elements.
        initial: the initial value.
        pairs: the pointer to the pairs, and what is added to their offsets.
        windows: their number, the elements between them in `choices` and `source` and in the result, and the
            columns of each.
        result: its element type, the pointer to its elements, and whether to use nontemporal stores.
    """

    builder: Any
    kind: Combination
    computed: str
    choices: Any
    source: Any
    initial: Any
    pairs: tuple[Any, Any]
    windows: tuple[Any, Any, Any, Any]
    result: tuple[str, Any, Any]

    def emit(self, start: Any, first: Any, last: Any) -> None:
        """Emit code for a phase that begins at `start` in the result, and for its range of pairs."""
        builder, (_, _, _, width), (element, _, _) = self.builder, self.windows, self.result
        with builder.if_else(_is_narrow(builder, element, width)) as (narrow, wide):
            with narrow:
                self.looped(start, first, last, True)
            with wide:
                number = builder.udiv(builder.sub(last, first), I64(3))
                _for_number(
                    builder, number, range(1, MAX_UNROLLED + 1),
                    lambda pairs: self.unrolled(start, first, pairs),
                    lambda: self.looped(start, first, last, False),
                )  # fmt: skip

    def pair_at(self, offset: Any) -> tuple[Any, ...]:
        """A pair: the offsets of its choice and of its value, and the number of the position."""
        builder, (data, shift) = self.builder, self.pairs
        choice, value, number = (
            builder.load(builder.gep(data, [builder.add(offset, I64(field))])) for field in range(3)
        )
        return builder.add(choice, shift), builder.add(value, shift), builder.trunc(number, I32)

    def combine_pair(self, total: Any, pair: tuple[Any, ...], column_offset: Any, lanes: int) -> Any:
        """The total, combined with the values of the columns whose window has chosen the element."""
        builder, (choice, value, number) = self.builder, pair
        (chosen,) = load_lanes(builder, "int32", self.choices, builder.add(choice, column_offset), lanes)
        added = load_lanes(builder, self.computed, self.source, builder.add(value, column_offset), lanes)
        (new,) = apply(builder, self.kind, (total,), added)
        is_chosen = builder.icmp_signed("==", chosen, splat(builder, number, lanes))
        return builder.select(is_chosen, new, total)

    def sweep(self, start: Any, totals: Callable[[Any, Any, int], Any], fills_no_vector: bool) -> None:
        """Write `totals(total, column_offset, lanes)` of the initial value, for all windows."""
        builder, (element, data, is_nontemporal) = self.builder, self.result
        count, window_stride, stride, width = self.windows
        with cgutils.for_range(builder, count, intp=I64) as window:
            window_offset = builder.mul(window.index, window_stride)
            offset = builder.add(start, builder.mul(window.index, stride))

            def write(column: Any, lanes: int) -> None:
                initial = splat(builder, self.initial, lanes)
                total = totals(initial, builder.add(window_offset, column), lanes)
                result_offset = builder.add(offset, column)
                if lanes < lanes_of(element):
                    store_lanes(builder, element, data, result_offset, (total,), lanes)
                    return
                with builder.if_else(is_nontemporal) as (nontemporal_branch, temporal_branch):
                    with nontemporal_branch:
                        store_lanes(builder, element, data, result_offset, (total,), lanes, True)
                    with temporal_branch:
                        store_lanes(builder, element, data, result_offset, (total,), lanes)

            _for_columns(builder, element, width, fills_no_vector, write)

    def unrolled(self, start: Any, first: Any, number: int) -> None:
        """Emit code for a number of pairs."""
        pairs = [self.pair_at(self.builder.add(first, I64(3 * pair))) for pair in range(number)]

        def totals(total: Any, column_offset: Any, lanes: int) -> Any:
            for pair in pairs:
                total = self.combine_pair(total, pair, column_offset, lanes)
            return total

        self.sweep(start, totals, False)

    def looped(self, start: Any, first: Any, last: Any, fills_no_vector: bool) -> None:
        """Emit code for any number of pairs."""
        builder = self.builder

        def totals(total: Any, column_offset: Any, lanes: int) -> Any:
            slot = cgutils.alloca_once_value(builder, total)
            pairs = cgutils.for_range_slice(builder, first, last, I64(3), intp=I64, inc=True)
            with pairs as (offset, _):
                combined = self.combine_pair(builder.load(slot), self.pair_at(offset), column_offset, lanes)
                builder.store(combined, slot)
            return builder.load(slot)

        self.sweep(start, totals, fills_no_vector)
