"""The kernels of `reduce_window`, which documents the order."""

import functools
from typing import Any

import numpy as np
from numba import types

from ..launch.compilation import Kernel, kernel
from ..simd.arithmetic import get, put
from ..simd.monoids import Combination
from ..simd.vectors import (
    I64,
    Value,
    apply,
    cgutils,
    data_of,
    for_columns,
    intrinsic,
    literal,
    load_lanes,
    load_strided,
    read_ahead,
    splat,
    store_lanes,
)
from .window_axes import BASE_DILATION, FIELDS, LOW, SIZE, STRIDE, WINDOW, WINDOW_DILATION, WINDOWS

_PADDING = -(1 << 62)
_VECTORS = 4  # vectors of contiguous windows that are reduced together, as independent chains


@kernel(inline=True)
def element_at(axis: Any, fields_start: int, window: int, offset: int) -> int:
    """The element at an offset of a window along an axis, or -1 in the padding and in holes."""
    padded_index = window * get(axis, fields_start + STRIDE) - get(axis, fields_start + LOW)
    padded_index += offset * get(axis, fields_start + WINDOW_DILATION)
    dilation = get(axis, fields_start + BASE_DILATION)
    element = padded_index // dilation if dilation > 1 else padded_index
    size = get(axis, fields_start + SIZE)
    return element if element * dilation == padded_index and 0 <= element < size else -1


@kernel
def find_window_offsets(
    row: int, offsets: int, axes: Any, row_axis: Any, inner: int, starts: np.ndarray, first_start: int
) -> None:
    """The operand's offset of each position of the first window of a row, or _PADDING.

    It may be before the operand, if only later windows are inside.
    """
    rank, positions = axes.size // FIELDS, get(row_axis, WINDOW)
    windows = first_start + offsets * positions
    current = windows + rank
    for axis in range(rank - 1, -1, -1):
        count = get(axes, axis * FIELDS + WINDOWS)
        put(starts, windows + axis, row % count)
        put(starts, current + axis, 0)
        row //= count
    for number in range(offsets):
        outer = 0
        for axis in range(rank):
            element = element_at(
                axes, axis * FIELDS, get(starts, windows + axis), get(starts, current + axis)
            )
            outer = outer * get(axes, axis * FIELDS + SIZE) + element if element >= 0 and outer >= 0 else -1
        for position in range(positions):
            start = outer * get(row_axis, SIZE) + position * get(row_axis, WINDOW_DILATION)
            start = (start - get(row_axis, LOW)) * inner
            put(starts, first_start + number * positions + position, start if outer >= 0 else _PADDING)
        axis = rank - 1
        while axis >= 0:
            following = get(starts, current + axis) + 1
            put(starts, current + axis, following if following < get(axes, axis * FIELDS + WINDOW) else 0)
            if following < get(axes, axis * FIELDS + WINDOW):
                break
            axis -= 1


@kernel
def find_edge_offsets(
    positions: int, row_axis: Any, window: int, inner: int, starts: np.ndarray, first_start: int,
    first_edge: int,
) -> None:  # fmt: skip
    """The operand's offset of each position of one window that may be outside along the row, or _PADDING."""
    length = get(row_axis, WINDOW)
    for offset in range(length):
        element = element_at(row_axis, 0, window, offset)
        displacement = (element - offset * get(row_axis, WINDOW_DILATION) + get(row_axis, LOW)) * inner
        for position in range(offset, positions, length):
            start = get(starts, first_start + position)
            is_outside = element < 0 or start == _PADDING
            put(starts, first_edge + position, _PADDING if is_outside else start + displacement)


@intrinsic(prefer_literal=True)
def reduce_windows(
    typing_context: Any, element: Any, monoid: Any, constant_stride: Any, operand: Any, starts: Any,
    first_start: Any, positions: Any, shift: Any, stride: Any, width: Any, initial: Any, result: Any,
    result_start: Any,
) -> Any:  # fmt: skip
    """Reduce `width` windows, each from the left: the initial value, then its value at each position.

    Window i has the values `operand[starts[first_start + p] + shift + i * stride]` for p < `positions`; a
    start of _PADDING stands for the initial value.

    Args:
        element, monoid: literals: the element type and the combining function.
        constant_stride: literal: `stride`, or 0 for any.
        operand: flat, of the storage type of `element`.
        starts: int64: offsets in the operand.
        first_start, positions, shift, stride, width: intp.
        initial: one element, of the storage type.
        result: flat, of the storage type; receives the results from `result_start` on.
    """
    constant = int(literal(constant_stride))
    kind = Combination(literal(element), literal(monoid))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first_start, number, distance, any_stride, columns = arguments[5:10]
        initial_array, result_array, target = arguments[10:]
        stride = constant or any_stride
        data = data_of(context, builder, operand, arguments[3], kind.element)
        initial_data = data_of(context, builder, initial, initial_array, kind.element)
        result_data = data_of(context, builder, result, result_array, kind.element)
        start_data = context.make_array(starts)(context, builder, arguments[4]).data
        alone = load_lanes(builder, kind.element, initial_data, I64(0), 1)

        def reduce_column(column: Any, lanes: int) -> None:
            start = [splat(builder, component, lanes) for component in alone]
            accumulators = [cgutils.alloca_once_value(builder, component) for component in start]
            with cgutils.for_range(builder, number, intp=I64) as loop:
                base = builder.load(builder.gep(start_data, [builder.add(first_start, loop.index)]))
                is_padding = builder.icmp_signed("==", base, I64(_PADDING))
                with builder.if_else(is_padding, likely=False) as (padding_branch, element_branch):
                    with padding_branch:
                        _combine_with(builder, kind, accumulators, tuple(start))
                    with element_branch:
                        offset = builder.mul(column, I64(constant) if constant else any_stride)
                        first = builder.add(builder.add(base, distance), offset)
                        read_ahead(builder, kind.element, data, first, lanes * max(constant, 1))
                        item = load_strided(builder, kind.element, data, first, lanes, stride)
                        _combine_with(builder, kind, accumulators, item)
            total = tuple(builder.load(accumulator) for accumulator in accumulators)
            store_lanes(builder, kind.element, result_data, builder.add(target, column), total, lanes)

        for_columns(builder, kind.element, columns, reduce_column, _VECTORS if constant == 1 else 1)
        return context.get_dummy_value()

    numbers = (types.intp,) * 5
    names = (element, monoid, constant_stride)
    return types.void(*names, operand, starts, *numbers, initial, result, types.intp), generate


def _combine_with(builder: Any, kind: Combination, accumulators: list[Any], value: Value) -> None:
    total = apply(builder, kind, tuple(builder.load(accumulator) for accumulator in accumulators), value)
    for accumulator, component in zip(accumulators, total, strict=True):
        builder.store(component, accumulator)


@kernel
def inner_range(row_axis: Any) -> tuple[int, int]:
    """The first window, and the one after the last, whose positions along the row are all elements."""
    size, window, stride = get(row_axis, SIZE), get(row_axis, WINDOW), get(row_axis, STRIDE)
    dilation, low = get(row_axis, WINDOW_DILATION), get(row_axis, LOW)
    count = get(row_axis, WINDOWS)
    if get(row_axis, BASE_DILATION) > 1:
        return count, count
    begin = max(0, (low + stride - 1) // stride)
    last_start = size - 1 + low - (window - 1) * dilation
    end = last_start // stride + 1 if last_start >= 0 else 0
    return min(begin, count), max(min(begin, count), min(end, count))


@functools.cache
def rows(element: str, monoid: str, constant_stride: int) -> Kernel:
    """Rows of results along one axis, each of whose elements has `inner` values.

    `axes` and `row_axis` hold FIELDS numbers an axis; `chunk` windows along the row are reduced at a time.
    `constant_stride` is the windows' stride if elements are single values, 1 if they are not, 0 for any.
    """

    @kernel(parallel=True)
    def body(
        task: int, size: int, count: int, chunk: int, offsets: int, inner: int, axes: Any, row_axis: Any,
        starts: np.ndarray, operand: np.ndarray, initial: np.ndarray, result: np.ndarray,
    ) -> None:  # fmt: skip
        total, stride = get(row_axis, WINDOWS), get(row_axis, STRIDE)
        positions = offsets * get(row_axis, WINDOW)
        chunks = (total + chunk - 1) // chunk
        first_start = task * 2 * (positions + axes.size // FIELDS)
        first_edge = first_start + positions + 2 * (axes.size // FIELDS)
        side_by_side = inner == 1 or stride == 1
        begin, end = inner_range(row_axis)
        for work_item in range(task * size, min((task + 1) * size, count * chunks)):
            row = work_item // chunks
            first = (work_item - row * chunks) * chunk
            last = min(first + chunk, total)
            if first == 0 or work_item == task * size:
                find_window_offsets(row, offsets, axes, row_axis, inner, starts, first_start)
            left, right = min(max(begin, first), last), min(max(end, first), last)
            window = first
            while window < last:
                is_edge = not left <= window < right
                window_count, source, number = right - window, first_start, window
                if is_edge:
                    find_edge_offsets(positions, row_axis, window, inner, starts, first_start, first_edge)
                    window_count, source, number = 1, first_edge, 0
                windows_together = window_count if side_by_side else 1
                for window_index in range(0, window_count, windows_together):
                    reduce_windows(
                        element, monoid, constant_stride, operand, starts, source, positions,
                        (number + window_index) * stride * inner, stride, windows_together * inner, initial,
                        result, (row * total + window + window_index) * inner,
                    )  # fmt: skip
                window += window_count

    return body
