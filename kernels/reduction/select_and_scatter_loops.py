"""The loops of `select_and_scatter`, whose text gives the order.

A line is all that lies along the last axis with windows, of several columns each where elements are not
single values. Windows lie in lines of windows, elements in lines of elements; `axes` are the axes before.
"""

import functools
from typing import Any

from ..launch.compilation import Kernel, kernel
from ..simd.arithmetic import get, load, put, store
from ..simd.atomics import add_atomically
from ..simd.monoids import Combination, computing_element
from .select_and_scatter_rows import FARTHEST, FEW, NOTHING, choose, collect, interleave

_FIELDS = 5


@kernel
def find_rows(
    line: int, offsets: int, axes: Any, only: int, window: int, row_size: int, rows: Any, numbers: Any,
    at: int,
) -> int:  # fmt: skip
    """Where the rows of a line of windows begin in the operand, and the number of the first position in
    each; those in the padding are left out. Returns how many there are.

    Where no axis behind `only` has any effect, and none before it has windows, offsets are those along it.
    """
    count = 0
    if only >= 0:
        size, stride = get(axes, only), get(axes, only + 2)
        outer = line // get(axes, only + 4)
        start = (line - outer * get(axes, only + 4)) * stride - get(axes, only + 3)
        for offset in range(max(0, -start), min(offsets, size - start)):
            put(rows, at + count, (outer * size + start + offset) * row_size)
            put(numbers, at + count, offset * window)
            count += 1
        return count
    for offset in range(offsets):
        place, scale, inside = 0, 1, True
        lines, positions = line, offset
        for axis in range(axes.size - _FIELDS, -1, -_FIELDS):
            size = get(axes, axis)
            element = lines % get(axes, axis + 4) * get(axes, axis + 2) + positions % get(axes, axis + 1)
            element -= get(axes, axis + 3)
            inside = inside and 0 <= element < size
            lines, positions = lines // get(axes, axis + 4), positions // get(axes, axis + 1)
            place, scale = place + element * scale, scale * size
        if inside:
            put(rows, at + count, place * row_size)
            put(numbers, at + count, offset * window)
            count += 1
    return count


@kernel
def find_lines(
    row: int, offsets: int, axes: Any, only: int, window: int, lines: Any, numbers: Any, at: int
) -> int:
    """The lines of windows that a line of elements lies in, in order, and the number of the first
    position there. Returns how many there are. `only` is as above."""
    count = 0
    if only >= 0:
        size, stride, windows = get(axes, only), get(axes, only + 2), get(axes, only + 4)
        outer = row // size
        start = row - outer * size + get(axes, only + 3)
        last = start // stride
        for number in range(max(0, (start - offsets) // stride + 1), min(last + 1, windows)):
            put(lines, at + count, outer * windows + number)
            put(numbers, at + count, (start - number * stride) * window)
            count += 1
        return count
    for offset in range(offsets - 1, -1, -1):
        line, scale, inside = 0, 1, True
        elements, positions = row, offset
        for axis in range(axes.size - _FIELDS, -1, -_FIELDS):
            size, windows, stride = get(axes, axis), get(axes, axis + 4), get(axes, axis + 2)
            start = elements % size + get(axes, axis + 3) - positions % get(axes, axis + 1)
            inside = inside and start >= 0 and start % stride == 0 and start // stride < windows
            elements, positions = elements // size, positions // get(axes, axis + 1)
            line, scale = line + start // stride * scale, scale * windows
        if inside:
            put(lines, at + count, line)
            put(numbers, at + count, offset * window)
            count += 1
    return count


@functools.cache
def choose_line(element: str, direction: str, apart: int, few: int) -> Kernel:
    """The choices of the windows number `first` to `last` along a line, to `choices[to:]`; NOTHING where
    there is no such window, or no element in it."""

    @kernel
    def body(
        operand: Any, rows: Any, numbers: Any, at: int, count: int, along: Any, inner: int, first: int,
        last: int,
        choices: Any, to: int,
    ) -> None:  # fmt: skip
        size, width, stride = get(along, 0), get(along, 1), get(along, 2)
        low, windows = get(along, 3), get(along, 4)
        begin, end = max(first, 0), min(last + 1, windows)
        if count == 0:
            end = begin
        inside = min(max((low + stride - 1) // stride, begin), max(end, begin))
        inside_end = max(min((size - width + low) // stride + 1, end), inside)
        number = first
        while number <= last:
            target, start = to + (number - first) * inner, number * stride - low
            together = inside_end - number if inside <= number < inside_end else 1
            from_, until = max(0, -start), min(width, size - start)
            if begin <= number < end and from_ < until:
                choose(
                    element, direction, apart, few, operand, rows, numbers, at, count, start * inner, inner,
                    from_, until, 1 if inner == 1 else together, stride * inner,
                    together if inner == 1 else inner, choices, target,
                )  # fmt: skip
            else:
                for column in range(target, target + inner):
                    put(choices, column, NOTHING)
            number += together

    return body


@kernel
def find_pairs(
    lines: Any, numbers: Any, at: int, count: int, first_line: int, along: Any, inner: int, pitch: int,
    source_pitch: int, own: int, own_source: int, pairs: Any, to: int, ends: Any, ends_at: int,
) -> None:  # fmt: skip
    """The pairs of each phase of a line of elements, as `collect` takes them."""
    width, stride = get(along, 1), get(along, 2)
    reach = (width - 1) // stride
    place = to
    for phase in range(stride):
        put(ends, ends_at + phase, place)
        for index in range(count):
            line = get(lines, at + index) - first_line
            for back in range(reach, -1, -1):
                offset = phase + back * stride
                if offset < width:
                    window = (reach - back) * inner
                    put(pairs, place, own + line * pitch + window)
                    put(pairs, place + 1, own_source + line * source_pitch + window)
                    put(pairs, place + 2, get(numbers, at + index) + offset)
                    place += 3
    put(ends, ends_at + stride, place)


@functools.cache
def make_line(combined: str, monoid: str) -> Kernel:
    """A line of elements, from place `x` to `x_end`, of several columns each or of windows that are one
    apart."""

    @kernel
    def body(
        choices: Any, values: Any, initial: Any, pairs: Any, ends: Any, at: int, along: Any, inner: int,
        row: int,
        x: int, x_end: int, folded: Any, own_folded: int, past_caches: int, result: Any,
    ) -> None:  # fmt: skip
        stride, low = get(along, 2), get(along, 3)
        first, last = (x + low) // stride, (x_end - 1 + low) // stride
        first_phase, last_phase = x + low - first * stride, x_end - 1 + low - last * stride
        origin = (row * get(along, 0) + first * stride - low) * inner
        window, windows = 0, last + 1 - first
        while window < windows:
            # Whole strides are taken together, but for what there is of the first and of the last one.
            together, begin, end = windows - window, 0, stride
            if window == 0 and first_phase > 0:
                together, begin = 1, first_phase
            elif last_phase < stride - 1 and together > 1:
                together -= 1
            if window + together == windows:
                end = last_phase + 1
            count, width = (1, together * inner) if stride == 1 else (together, inner)
            collect(
                combined, monoid, combined, choices, values, initial, pairs, ends, at, window * inner,
                begin, end,
                inner, count, inner, stride * inner, width, past_caches, result,
                origin + window * stride * inner,
            )  # fmt: skip
            window += together

    return body


@functools.cache
def make_line_by_phases(combined: str, monoid: str, phases: int) -> Kernel:
    """A line of single elements: those of each phase into `folded` from a place on, then all in turn.
    There are so many phases, or where 0 any number."""
    computed = computing_element(combined)

    @kernel
    def body(
        choices: Any, values: Any, initial: Any, pairs: Any, ends: Any, at: int, along: Any, inner: int,
        row: int,
        x: int, x_end: int, folded: Any, own_folded: int, past_caches: int, result: Any,
    ) -> None:  # fmt: skip
        stride, low = get(along, 2), get(along, 3)
        first = (x + low) // stride
        windows = (x_end - 1 + low) // stride + 1 - first
        collect(
            combined, monoid, computed, choices, values, initial, pairs, ends, at, 0, 0, stride, windows,
            1, 0, 0,
            windows, 0, folded, own_folded,
        )  # fmt: skip
        start = row * get(along, 0) + first * stride - low
        whole = x_end + low - first * stride
        window = 0
        while window < windows:
            begin = x + low - first * stride if window == 0 else 0
            end = min(whole - window * stride, stride)
            together = 1
            if phases and begin == 0 and end == stride:
                together = whole // stride - window
                interleave(
                    combined, phases, folded, own_folded + window, windows, together, result,
                    start + window * stride,
                )  # fmt: skip
            else:
                for phase in range(begin, end):
                    value = get(folded, own_folded + phase * windows + window)
                    store(combined, result, start + window * stride + phase, value)
            window += together

    return body


@functools.cache
def blocks(element: str, kind: Combination, direction: str, apart: int, window: int) -> Kernel:
    """Blocks of the result, along axis `owned` and along the lines: the choices of all windows that reach
    into one, then its elements. `along` is the axis of the lines; a block has `block` lines of elements
    and `chunk` elements of them.

    Where elements are single values, `apart` in windows, a line is made phase after phase.
    """
    combined, monoid = kind
    apart, few = min(apart, FARTHEST), window if window <= FEW else 0
    choose_all = choose_line(element, direction, apart, few)
    phases = apart if apart < FARTHEST else 0
    make = make_line(combined, monoid) if apart == 1 else make_line_by_phases(combined, monoid, phases)

    @kernel(parallel=True)
    def body(
        task: int, taken: Any, units: int, owned: int, block: int, chunk: int, axes: Any, along: Any,
        inner: int,
        offsets: int, room: int, most_lines: int, pitch: int, most_pairs: int, rows: Any, numbers: Any,
        choices: Any,
        values: Any, pairs: Any, ends: Any, folded: Any, operand: Any, source: Any, is_same: bool,
        initial: Any,
        past_caches: int, result: Any,
    ) -> None:  # fmt: skip
        length, width, stride, low = get(along, 0), get(along, 1), get(along, 2), get(along, 3)
        reach = (width - 1) // stride
        at, own = task * room, task * most_lines * pitch
        own_source, source_pitch = (task * pitch, 0) if is_same else (own, pitch)
        own_pairs, own_ends, own_folded = task * most_pairs, task * (stride + 1), task * (pitch * stride)
        if is_same:
            for place in range(own_source, own_source + pitch):
                put(values, place, load(combined, source, 0))
        rank = axes.size // _FIELDS
        only = owned * _FIELDS if owned == rank - 1 else -1
        behind, windows_behind = 1, 1
        for axis in range(owned + 1, rank):
            behind *= get(axes, axis * _FIELDS)
            windows_behind *= get(axes, axis * _FIELDS + 4)
        owned_size, owned_low = get(axes, owned * _FIELDS), get(axes, owned * _FIELDS + 3)
        owned_width, owned_stride = get(axes, owned * _FIELDS + 1), get(axes, owned * _FIELDS + 2)
        owned_windows = get(axes, owned * _FIELDS + 4)
        chunks, parts = (length + chunk - 1) // chunk, (owned_size + block - 1) // block
        unit = add_atomically(taken, 0, 1)
        while unit < units:
            x, part = unit % chunks * chunk, unit // chunks
            outer, part = part // parts, part % parts
            x_end = min(x + chunk, length)
            first, last = (x + low) // stride, (x_end - 1 + low) // stride
            begin, end = part * block, min((part + 1) * block, owned_size)
            first_line = max((begin + owned_low - owned_width) // owned_stride + 1, 0)
            last_line = min((end - 1 + owned_low) // owned_stride, owned_windows - 1)
            first_line = (outer * owned_windows + first_line) * windows_behind
            last_line = (outer * owned_windows + last_line + 1) * windows_behind
            for line in range(first_line, last_line):
                to = own + (line - first_line) * pitch
                count = find_rows(line, offsets, axes, only, width, length * inner, rows, numbers, at)
                choose_all(operand, rows, numbers, at, count, along, inner, first - reach, last, choices, to)
                if not is_same:
                    windows = get(along, 4)
                    left, right = max(first - reach, 0), min(last + 1, windows)
                    to += (left - first + reach) * inner
                    origin = (line * windows + left) * inner
                    for place in range((right - left) * inner):
                        put(values, to + place, load(combined, source, origin + place))
            for row in range((outer * owned_size + begin) * behind, (outer * owned_size + end) * behind):
                count = find_lines(row, offsets, axes, only, width, rows, numbers, at)
                find_pairs(
                    rows, numbers, at, count, first_line, along, inner, pitch, source_pitch, own, own_source,
                    pairs, own_pairs, ends, own_ends,
                )  # fmt: skip
                make(
                    choices, values, initial, pairs, ends, own_ends, along, inner, row, x, x_end, folded,
                    own_folded,
                    past_caches, result,
                )  # fmt: skip
            unit = add_atomically(taken, 0, 1)

    return body
