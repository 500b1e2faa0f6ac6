"""The loop of `select_and_scatter`, whose text gives the order."""

import functools
from collections.abc import Callable
from typing import Any

from numba import types

from .arithmetic import get, put, store
from .compilation import Kernel, kernel
from .monoids import Combination, computing_element
from .vectors import (
    I32,
    I64,
    apply,
    cgutils,
    data_of,
    for_columns,
    intrinsic,
    literal,
    load_lanes,
    splat,
    store_lanes,
)

_FIELDS = 5
COUNTERS = 6


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


@kernel
def find_places(
    counters: Any, at: int, axes: Any, relative: Any, owned: int, begin: int, end: int, inner: int,
    places: Any, targets: Any, to: int,
) -> int:  # fmt: skip
    """Where the values at each position of a window begin, in `places`, and in `targets` where they lie in
    the task's range, -1 elsewhere; positions in the padding are left out. Returns how many there are."""
    rank, base, within = axes.size // _FIELDS, 0, relative.size > 0
    below, first = 1, 0
    for axis in range(rank):
        field = axis * _FIELDS
        start = get(counters, at + axis) * get(axes, field + 2) - get(axes, field + 3)
        if start < 0 or start + get(axes, field + 1) > get(axes, field):
            within = False
        base = base * get(axes, field) + start
        below = below * get(axes, field) if axis > owned else 1
        first = start if axis == owned else first
    field = owned * _FIELDS
    inside = begin <= first and first + get(axes, field + 1) <= end
    if within and inside:
        for position in range(relative.size):
            place = (base + get(relative, position)) * inner
            put(places, to + position, place)
            put(targets, to + position, place)
        return int(relative.size)
    count, offsets, more = 0, at + 3 * rank, True
    while more:
        place = place_of(counters, at, offsets, axes)
        more = advance(counters, offsets, rank)
        if place >= 0:
            own = inside or begin <= place // below % get(axes, field) < end
            put(places, to + count, place * inner)
            put(targets, to + count, place * inner if own else -1)
            count += 1
    return count


@intrinsic(prefer_literal=True)
def scatter_window(
    typing_context: Any, element: Any, combined: Any, monoid: Any, direction: Any, tiles: Any, apart: Any,
    operand: Any, places: Any, targets: Any, at: Any, count: Any, width: Any, step: Any, source: Any,
    first: Any, initial: Any, result: Any,
) -> Any:  # fmt: skip
    """For each of `width` windows, combine a value of the source with that of the result at the place that
    the window selects, of `count` places; those with a negative target are left as they are.

    The next window's places are one further, or, where windows are `apart`, `step` further. Where windows
    tile the operand, no result has a value yet: each takes `initial`, combined or as it is. Positions are
    taken from the last to the first, so that each result is combined with its windows in order.
    """
    name, kind = literal(element), Combination(literal(combined), literal(monoid))
    folded, compare = computing_element(kind.element), _comparison(name, literal(direction))
    is_first, is_apart = literal(tiles), literal(apart)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        begin, number, columns, distance, source_first = (arguments[index] for index in (9, 10, 11, 12, 14))
        operand_data = data_of(context, builder, operand, arguments[6], name)
        source_data = data_of(context, builder, source, arguments[13], kind.element)
        initial_data = data_of(context, builder, initial, arguments[15], folded)
        result_data = data_of(context, builder, result, arguments[16], folded)
        place_data, target_data = (
            context.make_array(type)(context, builder, arguments[index]).data
            for index, type in ((7, places), (8, targets))
        )

        def at_position(data: Any, position: Any) -> Any:
            return builder.load(builder.gep(data, [builder.add(begin, position)]))

        def places_from(place: Any, column: Any, lanes: int) -> list[Any]:
            if not is_apart:
                return [builder.add(place, column)]
            numbers = [builder.add(column, I64(lane)) for lane in range(lanes)]
            return [builder.add(place, builder.mul(number, distance)) for number in numbers]

        def values(column: Any, lanes: int) -> None:
            def item(position: Any) -> Any:
                found = places_from(at_position(place_data, position), column, lanes)
                return _gathered(builder, name, operand_data, found, lanes)

            best = cgutils.alloca_once_value(builder, item(I64(0)))
            chosen = cgutils.alloca_once_value(builder, splat(builder, I32(0), lanes))
            others = cgutils.for_range_slice(builder, I64(1), number, I64(1), intp=I64, inc=True)
            with others as (position, _):
                now, before, other = builder.load(best), builder.load(chosen), item(position)
                stays, this = compare(builder, now, other), builder.trunc(position, I32)
                builder.store(builder.select(stays, now, other), best)
                builder.store(builder.select(stays, before, splat(builder, this, lanes)), chosen)
            value = load_lanes(builder, kind.element, source_data, builder.add(source_first, column), lanes)
            taken = builder.load(chosen)
            with cgutils.for_range(builder, number, intp=I64) as loop:
                position = builder.sub(builder.sub(number, I64(1)), loop.index)
                target = at_position(target_data, position)
                with builder.if_then(builder.icmp_signed(">=", target, I64(0)), likely=True):
                    found = places_from(target, column, lanes)
                    if is_first:
                        (start,) = load_lanes(builder, folded, initial_data, I64(0), 1)
                        old = splat(builder, start, lanes)
                    else:
                        old = _gathered(builder, folded, result_data, found, lanes)
                    (new,) = apply(builder, kind, (old,), value)
                    this = splat(builder, builder.trunc(position, I32), lanes)
                    new = builder.select(builder.icmp_signed("==", taken, this), new, old)
                    _scatter(builder, folded, result_data, found, new, lanes)

        for_columns(builder, name, columns, values)
        return context.get_dummy_value()

    names = (element, combined, monoid, direction, tiles, apart)
    numbers = (types.intp,) * 4
    arrays = (source, types.intp, initial, result)
    return types.void(*names, operand, places, targets, *numbers, *arrays), generate


def _gathered(builder: Any, element: str, data: Any, places: list[Any], lanes: int) -> Any:
    """The values at so many places, or of neighbours from a single one on."""
    if len(places) == 1:
        return load_lanes(builder, element, data, places[0], lanes)[0]
    items = [load_lanes(builder, element, data, place, 1)[0] for place in places]
    values = splat(builder, items[0], lanes)
    for lane, item in enumerate(items):
        values = builder.insert_element(values, item, I32(lane))
    return values


def _scatter(builder: Any, element: str, data: Any, places: list[Any], values: Any, lanes: int) -> None:
    """Write values to so many places, or to neighbours from a single one on."""
    if len(places) == 1:
        store_lanes(builder, element, data, places[0], (values,), lanes)
        return
    for lane, place in enumerate(places):
        store_lanes(builder, element, data, place, (builder.extract_element(values, I32(lane)),), 1)


def _comparison(element: str, direction: str) -> Callable[[Any, Any, Any], Any]:
    """Code that tells whether the number selected so far stays selected."""
    relation = {"GE": ">=", "GT": ">", "LE": "<=", "LT": "<"}[direction]

    def compare(builder: Any, left: Any, right: Any) -> Any:
        if element.startswith("uint"):
            return builder.icmp_unsigned(relation, left, right)
        if element.startswith("int"):
            return builder.icmp_signed(relation, left, right)
        return builder.fcmp_ordered(relation, left, right)

    return compare


@functools.cache
def windows(element: str, kind: Combination, direction: str, tiles: bool, apart: bool) -> Kernel:
    """All windows that reach into the rows that a task owns along axis `owned`.

    Where elements are single values (`inner` is 1), windows side by side along the last axis that lie inside
    of the operand are taken together.

    Where windows do not tile the operand, results take `initial` first: just before the first window reaches
    them if a task's results lie side by side, so that they are still in the cache.
    """
    combined, monoid = kind

    @kernel(parallel=True)
    def body(
        task: int, size: int, owned: int, inner: int, axes: Any, relative: Any, counters: Any, room: int,
        places: Any, targets: Any, operand: Any, source: Any, source_step: int, initial: Any, result: Any,
    ) -> None:  # fmt: skip
        rank = axes.size // _FIELDS
        at, own, extent = task * COUNTERS * rank, task * room, get(axes, owned * _FIELDS)
        begin, end = task * size, min((task + 1) * size, extent)
        step = get(axes, (rank - 1) * _FIELDS + 2) if inner == 1 else 1
        reset(counters, at, axes, 4)
        reset(counters, at + 3 * rank, axes, 1)
        below = inner
        for axis in range(owned + 1, rank):
            below *= get(axes, axis * _FIELDS)
        start = get(initial, 0)
        filled, limit = begin * below, end * below
        if not tiles and owned > 0:
            for group in range(result.size // (extent * below)):
                for place in range(group * extent * below + filled, group * extent * below + limit):
                    put(result, place, start)
        gradually = not tiles and owned == 0
        more = own_windows(counters, at, axes, owned, begin, end)
        while more:
            window = 0
            for axis in range(rank):
                window = window * get(axes, axis * _FIELDS + 4) + get(counters, at + axis)
            count = find_places(counters, at, axes, relative, owned, begin, end, inner, places, targets, own)
            together = 1
            if inner == 1 and count == relative.size and (owned != rank - 1 or end - begin == extent):
                row = (rank - 1) * _FIELDS
                room_left = get(axes, row) + get(axes, row + 3) - get(axes, row + 1)
                inside = min(get(axes, row + 4), room_left // get(axes, row + 2) + 1)
                together = inside - get(counters, at + rank - 1)
                put(counters, at + rank - 1, inside - 1)
            more = advance(counters, at, rank)
            if count == 0:
                continue
            if gradually:
                until = min(get(places, own + count - 1) + inner + (together - 1) * step, limit)
                for place in range(filled, until):
                    put(result, place, start)
                filled = max(filled, until)
            first = window * inner * source_step
            scatter_window(
                element, combined, monoid, direction, tiles, apart, operand, places, targets, own, count,
                inner * together, step, source, first, initial, result,
            )  # fmt: skip
        if gradually:
            for place in range(filled, limit):
                put(result, place, start)

    return body


@functools.cache
def rounded(element: str) -> Kernel:
    """Computed values rounded to their element type."""

    @kernel(parallel=True)
    def body(task: int, size: int, folded: Any, result: Any) -> None:
        for position in range(task * size, min((task + 1) * size, folded.size)):
            store(element, result, position, get(folded, position))

    return body
