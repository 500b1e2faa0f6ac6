"""The loop of `select_and_scatter`, whose text gives the order."""

import functools
from typing import Any

import numpy as np

from .arithmetic import combine, get, load, put, store
from .compilation import Kernel, kernel
from .monoids import Combination, computing_element

_FIELDS = 5
COUNTERS = 6


@functools.cache
def stays(comparison_direction: str) -> Kernel:
    """Whether the element selected so far stays selected."""
    if comparison_direction in ("LE", "LT"):
        reversed_order = stays("GE" if comparison_direction == "LE" else "GT")

        @kernel(inline=True)
        def compare_reversed(selected: Any, item: Any) -> bool:
            return bool(reversed_order(item, selected))

        return compare_reversed
    or_equal = comparison_direction == "GE"

    @kernel(inline=True)
    def compare(selected: Any, item: Any) -> bool:
        return bool(selected >= item) if or_equal else bool(selected > item)

    return compare


@kernel
def reset(counters: Any, at: int, axes: Any, field: int) -> None:
    """Counters of each axis, as three rows: the current index, the first one, the end (from a field)."""
    rank = axes.size // _FIELDS
    for axis in range(rank):
        put(counters, at + axis, 0)
        put(counters, at + rank + axis, 0)
        put(counters, at + 2 * rank + axis, get(axes, axis * _FIELDS + field))


@kernel
def advance(counters: Any, at: int, rank: int) -> bool:
    """Go to the next index in row-major order; after the last, to the first, and return False."""
    for axis in range(at + rank - 1, at - 1, -1):
        following = get(counters, axis) + 1
        if following < get(counters, axis + 2 * rank):
            put(counters, axis, following)
            return True
        put(counters, axis, get(counters, axis + rank))
    return False


@kernel
def place_of(counters: Any, windows: int, offsets: int, axes: Any) -> int:
    """The row of the operand at an offset of a window; -1 in the padding."""
    place = 0
    for axis in range(axes.size // _FIELDS):
        at = axis * _FIELDS
        element = (
            get(counters, windows + axis) * get(axes, at + 2)
            + get(counters, offsets + axis)
            - get(axes, at + 3)
        )
        if element < 0 or element >= get(axes, at):
            return -1
        place = place * get(axes, at) + element
    return place


@kernel
def own_windows(counters: Any, at: int, axes: Any, owned: int, begin: int, end: int) -> bool:
    """Restrict the windows along the owned axis to those that reach into its range; False where none does."""
    rank, field = axes.size // _FIELDS, owned * _FIELDS
    window, stride, low = get(axes, field + 1), get(axes, field + 2), get(axes, field + 3)
    first = max(0, (begin + low - window) // stride + 1)
    last = min(get(axes, field + 4) - 1, (end - 1 + low) // stride)
    put(counters, at + owned, first)
    put(counters, at + rank + owned, first)
    put(counters, at + 2 * rank + owned, last + 1)
    return bool(first <= last)


@functools.cache
def select(element: str, comparison_direction: str) -> Kernel:
    """For each of `inner` values side by side, the operand's row that a window selects; False for none."""
    keeps = stays(comparison_direction)

    @kernel
    def select_rows(
        operand: Any, counters: Any, at: int, axes: Any, inner: int, best: Any, chosen: Any, own: int
    ) -> bool:
        rank = axes.size // _FIELDS
        offsets = at + 3 * rank
        found = False
        more = True
        while more:
            place = place_of(counters, at, offsets, axes)
            more = advance(counters, offsets, rank)
            if place < 0:
                continue
            row = chosen.dtype.type(place)
            if not found:
                found = True
                for column in range(inner):
                    put(best, own + column, load(element, operand, place * inner + column))
                    put(chosen, own + column, row)
                continue
            for column in range(inner):
                item = load(element, operand, place * inner + column)
                selected = get(best, own + column)
                before = get(chosen, own + column)
                kept = keeps(selected, item)
                put(best, own + column, selected if kept else item)
                put(chosen, own + column, before if kept else row)
        return found

    return select_rows


@functools.cache
def windows(element: str, kind: Combination, comparison_direction: str) -> Kernel:
    """All windows that reach into the rows that a task owns along axis `owned`."""
    select_rows = select(element, comparison_direction)
    combined, monoid = kind
    folded = computing_element(combined)

    @kernel(parallel=True)
    def body(
        task: int,
        size: int,
        owned: int,
        inner: int,
        axes: Any,
        counters: Any,
        best: Any,
        chosen: Any,
        operand: Any,
        source: Any,
        result: Any,
    ) -> None:
        rank = axes.size // _FIELDS
        at, own = task * COUNTERS * rank, task * inner
        begin, end = task * size, min((task + 1) * size, get(axes, owned * _FIELDS))
        reset(counters, at, axes, 4)
        reset(counters, at + 3 * rank, axes, 1)
        below = 1
        for axis in range(owned + 1, rank):
            below *= get(axes, axis * _FIELDS)
        more = own_windows(counters, at, axes, owned, begin, end)
        while more:
            window = 0
            for axis in range(rank):
                window = window * get(axes, axis * _FIELDS + 4) + get(counters, at + axis)
            reach = get(counters, at + owned) * get(axes, owned * _FIELDS + 2) - get(
                axes, owned * _FIELDS + 3
            )
            inside = begin <= reach and reach + get(axes, owned * _FIELDS + 1) <= end
            found = select_rows(operand, counters, at, axes, inner, best, chosen, own)
            more = advance(counters, at, rank)
            for column in range(inner if found else 0):
                place = np.int64(get(chosen, own + column))
                if inside or begin <= place // below % get(axes, owned * _FIELDS) < end:
                    to = place * inner + column
                    value = load(combined, source, window * inner + column)
                    store(folded, result, to, combine(combined, monoid, load(folded, result, to), value))

    return body


@functools.cache
def rounded(element: str) -> Kernel:
    """Computed values rounded to their element type."""

    @kernel(parallel=True)
    def body(task: int, size: int, folded: Any, result: Any) -> None:
        for position in range(task * size, min((task + 1) * size, folded.size)):
            store(element, result, position, get(folded, position))

    return body
