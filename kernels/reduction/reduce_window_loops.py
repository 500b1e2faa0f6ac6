"""The loops of `window`, whose text gives the order."""

import functools
from typing import Any

from numba import types

from ..launch.compilation import Kernel, kernel
from ..simd.arithmetic import combine, get, load, put, store
from ..simd.monoids import Combination
from ..simd.vectors import (
    I64,
    ReadAhead,
    Value,
    apply,
    cgutils,
    data_of,
    for_columns,
    intrinsic,
    literal,
    load_lanes,
    selected,
    splat,
    store_lanes,
)

_FIELDS = 7
_PADDING = -(1 << 62)
FARTHEST = 2


@kernel(inline=True)
def element_at(axis: Any, at: int, window: int, offset: int) -> int:
    """The element at an offset of a window along an axis, or -1 in the padding and in holes."""
    place = window * get(axis, at + 2) + offset * get(axis, at + 4) - get(axis, at + 5)
    dilation = get(axis, at + 3)
    element = place // dilation if dilation > 1 else place
    return element if element * dilation == place and 0 <= element < get(axis, at) else -1


@kernel
def find_starts(row: int, offsets: int, axes: Any, along: Any, inner: int, starts: Any, at: int) -> None:
    """For each position of the windows, where in the operand the first window of a row has it; or _PADDING.

    It may lie before the operand, where only later windows lie inside.
    """
    rank, positions = axes.size // _FIELDS, get(along, 1)
    windows = at + offsets * positions
    current = windows + rank
    for axis in range(rank - 1, -1, -1):
        count = get(axes, axis * _FIELDS + 6)
        put(starts, windows + axis, row % count)
        put(starts, current + axis, 0)
        row //= count
    for number in range(offsets):
        outer = 0
        for axis in range(rank):
            element = element_at(
                axes, axis * _FIELDS, get(starts, windows + axis), get(starts, current + axis)
            )
            outer = outer * get(axes, axis * _FIELDS) + element if element >= 0 and outer >= 0 else -1
        for position in range(positions):
            start = (outer * get(along, 0) + position * get(along, 4) - get(along, 5)) * inner
            put(starts, at + number * positions + position, start if outer >= 0 else _PADDING)
        axis = rank - 1
        while axis >= 0:
            following = get(starts, current + axis) + 1
            put(starts, current + axis, following if following < get(axes, axis * _FIELDS + 1) else 0)
            if following < get(axes, axis * _FIELDS + 1):
                break
            axis -= 1


@kernel
def find_edge_starts(
    positions: int, along: Any, window: int, inner: int, starts: Any, at: int, to: int
) -> None:  # fmt: skip
    """For each position of one window, which may be outside along the row, where it lies; or _PADDING."""
    length = get(along, 1)
    for offset in range(length):
        element = element_at(along, 0, window, offset)
        move = (element - offset * get(along, 4) + get(along, 5)) * inner
        for position in range(offset, positions, length):
            start = get(starts, at + position)
            is_outside = element < 0 or start == _PADDING
            put(starts, to + position, _PADDING if is_outside else start + move)


@functools.cache
def fold_windows(element: str, monoid: str, apart: int) -> Kernel:
    """Fold windows along a row, `width` values each, into `folded[to:]`.

    They are `windows` from window number `window` on, counted from where `starts` says that positions lie.
    In the operand their values are side by side where `apart` is 1, else a stride apart.
    """

    @kernel(inline=True)
    def item(operand: Any, base: int, column: int, stride: int) -> Any:
        return load(element, operand, base + (column if apart == 1 else column * stride))

    @kernel
    def fold(
        operand: Any,
        start: Any,
        positions: int,
        along: Any,
        window: int,
        inner: int,
        windows: int,
        width: int,
        starts: Any,
        at: int,
        folded: Any,
        to: int,
    ) -> None:
        stride = get(along, 2)
        for column in range(to, to + windows * width):
            put(folded, column, start)
        position = 0
        while position < positions:
            a = b = c = d = get(starts, at + position)
            if position + 3 < positions:
                b = get(starts, at + position + 1)
                c = get(starts, at + position + 2)
                d = get(starts, at + position + 3)
                if min(a, b, c, d) != _PADDING:
                    for number in range(windows):
                        shift = (window + number) * stride * inner
                        target = to + number * width
                        for column in range(width):
                            value = get(folded, target + column)
                            first = item(operand, a + shift, column, stride)
                            value = combine(element, monoid, value, first)
                            second = item(operand, b + shift, column, stride)
                            value = combine(element, monoid, value, second)
                            third = item(operand, c + shift, column, stride)
                            value = combine(element, monoid, value, third)
                            fourth = item(operand, d + shift, column, stride)
                            value = combine(element, monoid, value, fourth)
                            put(folded, target + column, value)
                    position += 4
                    continue
            if a != _PADDING:
                for number in range(windows):
                    shift = (window + number) * stride * inner
                    target = to + number * width
                    for column in range(width):
                        value = item(operand, a + shift, column, stride)
                        value = combine(element, monoid, get(folded, target + column), value)
                        put(folded, target + column, value)
            else:
                for column in range(to, to + windows * width):
                    put(folded, column, combine(element, monoid, get(folded, column), start))
            position += 1

    return fold


@intrinsic(prefer_literal=True)
def fold_inside(
    typing_context: Any, element: Any, monoid: Any, apart: Any, operand: Any, starts: Any, at: Any,
    positions: Any, shift: Any, width: Any, initial: Any, result: Any, to: Any,
) -> Any:  # fmt: skip
    """`result[to + i]`, for each i below `width`, becomes the initial value and the elements at
    `i * apart + shift` behind `positions` starts, folded from the left; the initial value stands for those in
    the padding. `apart` is at most FARTHEST."""
    stride = int(literal(apart))
    kind = Combination(literal(element), literal(monoid))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first_start, number, distance, columns, target = (arguments[index] for index in (5, 6, 7, 8, 11))
        data = data_of(context, builder, operand, arguments[3], kind.element)
        initial_data = data_of(context, builder, initial, arguments[9], kind.element)
        result_data = data_of(context, builder, result, arguments[10], kind.element)
        start_data = context.make_array(starts)(context, builder, arguments[4]).data
        alone = load_lanes(builder, kind.element, initial_data, I64(0), 1)

        def fold(column: Any, lanes: int) -> None:
            start = [splat(builder, part, lanes) for part in alone]
            slots = [cgutils.alloca_once_value(builder, part) for part in start]
            with cgutils.for_range(builder, number, intp=I64) as loop:
                base = builder.load(builder.gep(start_data, [builder.add(first_start, loop.index)]))
                is_padding = builder.icmp_signed("==", base, I64(_PADDING))
                with builder.if_else(is_padding, likely=False) as (outside, inside):
                    with outside:
                        _combine_with(builder, kind, slots, tuple(start))
                    with inside:
                        first = builder.add(builder.add(base, distance), builder.mul(column, I64(stride)))
                        ReadAhead(builder, kind.element, data, first, lanes * stride).after_step()
                        item = _every_other(builder, kind, data, first, lanes, stride)
                        _combine_with(builder, kind, slots, item)
            total = tuple(builder.load(slot) for slot in slots)
            store_lanes(builder, kind.element, result_data, builder.add(target, column), total, lanes)

        for_columns(builder, kind.element, columns, fold)
        return context.get_dummy_value()

    numbers = (types.intp,) * 4
    names = (element, monoid, apart)
    return types.void(*names, operand, starts, *numbers, initial, result, types.intp), generate


def _every_other(builder: Any, kind: Combination, data: Any, first: Any, lanes: int, stride: int) -> Value:
    """Values from a place on, side by side or every other one. Nothing is read behind the last of them."""
    near = load_lanes(builder, kind.element, data, first, lanes)
    if stride == 1 or lanes == 1:
        return near
    far = load_lanes(builder, kind.element, data, builder.add(first, I64(lanes - 1)), lanes)
    order = [*range(0, lanes, 2), *range(lanes + 1, 2 * lanes, 2)]
    return tuple(selected(builder, a, order, b) for a, b in zip(near, far, strict=True))


def _combine_with(builder: Any, kind: Combination, slots: list[Any], value: Value) -> None:
    total = apply(builder, kind, tuple(builder.load(slot) for slot in slots), value)
    for slot, part in zip(slots, total, strict=True):
        builder.store(part, slot)


@kernel
def inner_range(along: Any) -> tuple[int, int]:
    """The first window, and the one after the last, of which all positions along the row are elements."""
    size, window, stride, dilation, low = (
        get(along, 0),
        get(along, 1),
        get(along, 2),
        get(along, 4),
        get(along, 5),
    )
    count = get(along, 6)
    if get(along, 3) > 1:
        return count, count
    begin = max(0, (low + stride - 1) // stride)
    room = size - 1 + low - (window - 1) * dilation
    end = room // stride + 1 if room >= 0 else 0
    return min(begin, count), max(min(begin, count), min(end, count))


@functools.cache
def rows(element: str, monoid: str, apart: int) -> Kernel:
    """Rows of results: along one axis, each of its elements `inner` values.

    `axes` and `along` hold _FIELDS numbers an axis; `chunk` windows along the row are folded at a time.
    """
    fold = fold_windows(element, monoid, apart)

    @kernel(parallel=True)
    def body(
        task: int,
        size: int,
        count: int,
        chunk: int,
        offsets: int,
        inner: int,
        axes: Any,
        along: Any,
        starts: Any,
        folded: Any,
        operand: Any,
        initial: Any,
        result: Any,
    ) -> None:
        start = load(element, initial, 0)
        total = get(along, 6)
        positions = offsets * get(along, 1)
        chunks = (total + chunk - 1) // chunk
        at = task * 2 * (positions + axes.size // _FIELDS)
        edge = at + positions + 2 * (axes.size // _FIELDS)
        own = task * chunk * inner
        side_by_side = inner == 1 or get(along, 2) == 1
        begin, end = inner_range(along)
        for unit in range(task * size, min((task + 1) * size, count * chunks)):
            row = unit // chunks
            first = (unit - row * chunks) * chunk
            last = min(first + chunk, total)
            if first == 0 or unit == task * size:
                find_starts(row, offsets, axes, along, inner, starts, at)
            left, right = min(max(begin, first), last), min(max(end, first), last)
            window = first
            while window < last:
                checked = not left <= window < right
                taken, source, number = right - window, at, window
                if checked:
                    find_edge_starts(positions, along, window, inner, starts, at, edge)
                    taken, source, number = 1, edge, 0
                each = taken if side_by_side else 1
                if apart <= FARTHEST:
                    for before in range(0, taken, each):
                        to = (row * total + window + before) * inner
                        shift = (number + before) * get(along, 2) * inner
                        fold_inside(
                            element, monoid, apart, operand, starts, source, positions, shift, each * inner,
                            initial, result, to,
                        )  # fmt: skip
                    window += taken
                    continue
                fold(
                    operand,
                    start,
                    positions,
                    along,
                    number,
                    inner,
                    taken // each,
                    each * inner,
                    starts,
                    source,
                    folded,
                    own,
                )
                for column in range(taken * inner):
                    store(element, result, (row * total + window) * inner + column, get(folded, own + column))
                window += taken

    return body
