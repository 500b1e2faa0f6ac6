"""The loops of `window`, whose text gives the order."""

import functools
from typing import Any

from .arithmetic import combine, get, load, put, store
from .compilation import Kernel, kernel

_FIELDS = 7


@kernel(inline=True)
def element_at(axis: Any, at: int, window: int, offset: int) -> int:
    """The element at an offset of a window along an axis, or -1 in the padding and in holes."""
    place = window * get(axis, at + 2) + offset * get(axis, at + 4) - get(axis, at + 5)
    dilation = get(axis, at + 3)
    element = place // dilation if dilation > 1 else place
    return element if element * dilation == place and 0 <= element < get(axis, at) else -1


@kernel
def find_starts(row: int, offsets: int, axes: Any, stride: int, places: Any, at: int) -> None:
    """For each offset in the windows of the outer axes, where its row of the operand starts; -1 for padding."""
    rank = axes.size // _FIELDS
    windows, current = at + offsets, at + offsets + rank
    for axis in range(rank - 1, -1, -1):
        count = get(axes, axis * _FIELDS + 6)
        put(places, windows + axis, row % count)
        put(places, current + axis, 0)
        row //= count
    for number in range(offsets):
        start = 0
        for axis in range(rank):
            element = element_at(axes, axis * _FIELDS, get(places, windows + axis), get(places, current + axis))
            start = start * get(axes, axis * _FIELDS) + element if element >= 0 and start >= 0 else -1
        put(places, at + number, start * stride if start >= 0 else -1)
        axis = rank - 1
        while axis >= 0:
            following = get(places, current + axis) + 1
            put(places, current + axis, following if following < get(axes, axis * _FIELDS + 1) else 0)
            if following < get(axes, axis * _FIELDS + 1):
                break
            axis -= 1


@functools.cache
def edge_window(element: str, monoid: str) -> Kernel:
    """One value of one window of which some positions along the row may lie outside."""

    @kernel
    def fold(
        operand: Any, start: Any, offsets: int, along: Any, window: int, inner: int, column: int, places: Any, at: int
    ) -> Any:
        total = start
        for number in range(offsets):
            base = get(places, at + number)
            for offset in range(get(along, 1)):
                place = element_at(along, 0, window, offset)
                if base >= 0 and place >= 0:
                    total = combine(element, monoid, total, load(element, operand, base + place * inner + column))
                else:
                    total = combine(element, monoid, total, start)
        return total

    return fold


@kernel(inline=True)
def source_of(position: int, along: Any, shift: int, inner: int, places: Any, at: int) -> int:
    """Where the operand's values for one position of the windows start; -1 for padding."""
    window = get(along, 1)
    number = position // window
    base = get(places, at + number)
    return base + (shift + (position - number * window) * get(along, 4)) * inner if base >= 0 else -1


@functools.cache
def inner_windows(element: str, monoid: str, contiguous: bool) -> Kernel:
    """Windows of which all positions along the row are elements: `width` values into `folded[to:]`.

    The values are those of one window, or of neighbouring windows from number `first` on; in the operand they are
    side by side, or `stride` apart.
    """

    @kernel(inline=True)
    def item(operand: Any, base: int, column: int, stride: int) -> Any:
        return load(element, operand, base + (column if contiguous else column * stride))

    @kernel
    def fold(
        operand: Any, start: Any, positions: int, along: Any, first: int, inner: int, width: int, places: Any, at: int,
        folded: Any, to: int,
    ) -> None:  # fmt: skip
        stride = get(along, 2)
        shift = first * stride - get(along, 5)
        for column in range(to, to + width):
            put(folded, column, start)
        position = 0
        while position < positions:
            a = source_of(position, along, shift, inner, places, at)
            b = c = d = -1
            if position + 3 < positions:
                b = source_of(position + 1, along, shift, inner, places, at)
                c = source_of(position + 2, along, shift, inner, places, at)
                d = source_of(position + 3, along, shift, inner, places, at)
            if min(a, b, c, d) >= 0:
                for column in range(width):
                    value = combine(element, monoid, get(folded, to + column), item(operand, a, column, stride))
                    value = combine(element, monoid, value, item(operand, b, column, stride))
                    value = combine(element, monoid, value, item(operand, c, column, stride))
                    put(folded, to + column, combine(element, monoid, value, item(operand, d, column, stride)))
                position += 4
                continue
            if a >= 0:
                for column in range(width):
                    value = item(operand, a, column, stride)
                    put(folded, to + column, combine(element, monoid, get(folded, to + column), value))
            else:
                for column in range(to, to + width):
                    put(folded, column, combine(element, monoid, get(folded, column), start))
            position += 1

    return fold


@kernel
def inner_range(along: Any) -> tuple[int, int]:
    """The first window, and the one after the last, of which all positions along the row are elements."""
    size, window, stride, dilation, low = get(along, 0), get(along, 1), get(along, 2), get(along, 4), get(along, 5)
    count = get(along, 6)
    if get(along, 3) > 1:
        return count, count
    begin = max(0, (low + stride - 1) // stride)
    room = size - 1 + low - (window - 1) * dilation
    end = room // stride + 1 if room >= 0 else 0
    return min(begin, count), max(min(begin, count), min(end, count))


@functools.cache
def rows(element: str, monoid: str, contiguous: bool) -> Kernel:
    """Rows of results: along one axis, each of its elements `inner` values.

    `axes` and `along` hold _FIELDS numbers an axis; `chunk` windows along the row are folded at a time.
    """
    edge = edge_window(element, monoid)
    fold = inner_windows(element, monoid, contiguous)

    @kernel(parallel=True)
    def body(
        task: int, size: int, count: int, chunk: int, offsets: int, inner: int, axes: Any, along: Any, places: Any,
        folded: Any, operand: Any, initial: Any, result: Any,
    ) -> None:  # fmt: skip
        start = load(element, initial, 0)
        total = get(along, 6)
        positions = offsets * get(along, 1)
        chunks = (total + chunk - 1) // chunk
        at = task * (offsets + 2 * (axes.size // _FIELDS))
        own = task * chunk * inner
        together = chunk if inner == 1 or get(along, 2) == 1 else 1
        begin, end = inner_range(along)
        for unit in range(task * size, min((task + 1) * size, count * chunks)):
            row = unit // chunks
            first = (unit - row * chunks) * chunk
            last = min(first + chunk, total)
            if first == 0 or unit == task * size:
                find_starts(row, offsets, axes, get(along, 0) * inner, places, at)
            left, right = min(max(begin, first), last), min(max(end, first), last)
            for window in range(first, last):
                if left <= window < right:
                    continue
                for column in range(inner):
                    value = edge(operand, start, offsets, along, window, inner, column, places, at)
                    store(element, result, (row * total + window) * inner + column, value)
            for window in range(left, right, together):
                width = min(together, right - window) * inner
                fold(operand, start, positions, along, window, inner, width, places, at, folded, own)
                for column in range(width):
                    store(element, result, (row * total + window) * inner + column, get(folded, own + column))

    return body
