"""The kernels of `select_and_scatter`, which documents the order.

A row is everything along the last axis with windows, with several columns each if elements are not single
values. Windows form rows of windows, elements rows of elements; `axes` are the outer axes.
"""

import functools
from typing import Any

import numpy as np

from ..launch.compilation import Kernel, kernel
from ..simd.arithmetic import get, load, put, store
from ..simd.monoids import Combination, computing_element
from .select_and_scatter_rows import MAX_UNROLLED, MAX_VECTOR_STRIDE, NO_CHOICE, choose, collect, interleave
from .window_axes import FIELDS, LOW, SIZE, STRIDE, WINDOW, WINDOWS


@kernel
def find_rows(
    window_row: int, offsets: int, axes: Any, windowed_fields: int, window: int, row_size: int, rows: Any,
    numbers: np.ndarray, rows_start: int,
) -> int:  # fmt: skip
    """The operand's offsets of the rows of elements of a row of windows, and the number of the first position
    in each, without padding. Returns their count.

    `windowed_fields`: where the fields of the only axis with windows begin in `axes`, if that is the last
    axis: offsets are then those along it. -1: any axis may have windows.
    """
    count = 0
    if windowed_fields >= 0:
        size, windows = get(axes, windowed_fields + SIZE), get(axes, windowed_fields + WINDOWS)
        outer = window_row // windows
        start = (window_row - outer * windows) * get(axes, windowed_fields + STRIDE)
        start -= get(axes, windowed_fields + LOW)
        for offset in range(max(0, -start), min(offsets, size - start)):
            put(rows, rows_start + count, (outer * size + start + offset) * row_size)
            put(numbers, rows_start + count, offset * window)
            count += 1
        return count
    for offset in range(offsets):
        row_index, scale, is_inside = 0, 1, True
        row_numbers, window_position = window_row, offset
        for fields in range(axes.size - FIELDS, -1, -FIELDS):
            size = get(axes, fields + SIZE)
            element = row_numbers % get(axes, fields + WINDOWS) * get(axes, fields + STRIDE)
            element += window_position % get(axes, fields + WINDOW) - get(axes, fields + LOW)
            is_inside = is_inside and 0 <= element < size
            row_numbers //= get(axes, fields + WINDOWS)
            window_position //= get(axes, fields + WINDOW)
            row_index, scale = row_index + element * scale, scale * size
        if is_inside:
            put(rows, rows_start + count, row_index * row_size)
            put(numbers, rows_start + count, offset * window)
            count += 1
    return count


@kernel
def find_window_rows(
    row: int, offsets: int, axes: Any, windowed_fields: int, window: int, window_rows: Any,
    numbers: np.ndarray, rows_start: int,
) -> int:  # fmt: skip
    """The rows of windows that contain a row of elements, in order, and the number of the first position
    there. Returns their count. `windowed_fields` is as in `find_rows`."""
    count = 0
    if windowed_fields >= 0:
        size, stride = get(axes, windowed_fields + SIZE), get(axes, windowed_fields + STRIDE)
        windows = get(axes, windowed_fields + WINDOWS)
        outer = row // size
        start = row - outer * size + get(axes, windowed_fields + LOW)
        last = start // stride
        for number in range(max(0, (start - offsets) // stride + 1), min(last + 1, windows)):
            put(window_rows, rows_start + count, outer * windows + number)
            put(numbers, rows_start + count, (start - number * stride) * window)
            count += 1
        return count
    for offset in range(offsets - 1, -1, -1):
        window_row, scale, is_inside = 0, 1, True
        row_number, window_position = row, offset
        for fields in range(axes.size - FIELDS, -1, -FIELDS):
            size, windows = get(axes, fields + SIZE), get(axes, fields + WINDOWS)
            stride = get(axes, fields + STRIDE)
            start = row_number % size + get(axes, fields + LOW) - window_position % get(axes, fields + WINDOW)
            is_inside = is_inside and start >= 0 and start % stride == 0 and start // stride < windows
            row_number, window_position = row_number // size, window_position // get(axes, fields + WINDOW)
            window_row, scale = window_row + start // stride * scale, scale * windows
        if is_inside:
            put(window_rows, rows_start + count, window_row)
            put(numbers, rows_start + count, offset * window)
            count += 1
    return count


@functools.cache
def choose_row(element: str, direction: str, column_stride: int, unrolled_size: int) -> Kernel:
    """Write the choices of windows number `first` to `last` along a row to `choices[choices_start:]`;
    NO_CHOICE if there is no such window, or no element in it."""

    @kernel
    def body(
        operand: np.ndarray, rows: Any, numbers: np.ndarray, rows_start: int, count: int, row_axis: Any,
        inner: int, first: int, last: int, choices: np.ndarray, choices_start: int,
    ) -> None:  # fmt: skip
        size, width, stride = get(row_axis, SIZE), get(row_axis, WINDOW), get(row_axis, STRIDE)
        low_padding, windows = get(row_axis, LOW), get(row_axis, WINDOWS)
        begin, end = max(first, 0), min(last + 1, windows)
        if count == 0:
            end = begin
        inside = min(max((low_padding + stride - 1) // stride, begin), max(end, begin))
        inside_end = max(min((size - width + low_padding) // stride + 1, end), inside)
        number = first
        while number <= last:
            target, start = choices_start + (number - first) * inner, number * stride - low_padding
            window_count = inside_end - number if inside <= number < inside_end else 1
            first_position, end_position = max(0, -start), min(width, size - start)
            if begin <= number < end and first_position < end_position:
                choose(
                    element, direction, column_stride, unrolled_size, operand, rows, numbers, rows_start,
                    count, start * inner, inner, first_position, end_position,
                    1 if inner == 1 else window_count, stride * inner, window_count if inner == 1 else inner,
                    choices, target,
                )  # fmt: skip
            else:
                for column in range(target, target + inner):
                    put(choices, column, NO_CHOICE)
            number += window_count

    return body


@kernel
def find_pairs(
    window_rows: Any, numbers: np.ndarray, rows_start: int, count: int, first_window_row: int, row_axis: Any,
    inner: int, row_pitch: int, source_pitch: int, choices_start: int, values_start: int, pairs: np.ndarray,
    pairs_start: int, ends: np.ndarray, ends_start: int,
) -> None:  # fmt: skip
    """The pairs of each phase of a row of elements, as `collect` takes them."""
    width, stride = get(row_axis, WINDOW), get(row_axis, STRIDE)
    reach = (width - 1) // stride
    pair_index = pairs_start
    for phase in range(stride):
        put(ends, ends_start + phase, pair_index)
        for index in range(count):
            window_row = get(window_rows, rows_start + index) - first_window_row
            for windows_back in range(reach, -1, -1):
                offset = phase + windows_back * stride
                if offset < width:
                    window = (reach - windows_back) * inner
                    put(pairs, pair_index, choices_start + window_row * row_pitch + window)
                    put(pairs, pair_index + 1, values_start + window_row * source_pitch + window)
                    put(pairs, pair_index + 2, get(numbers, rows_start + index) + offset)
                    pair_index += 3
    put(ends, ends_start + stride, pair_index)


@functools.cache
def combine_row(combined: str, monoid: str) -> Kernel:
    """A row of elements, from index `x` to `x_end`, of several columns each or of windows with stride 1."""

    @kernel
    def body(
        choices: np.ndarray, values: np.ndarray, initial: np.ndarray, pairs: np.ndarray, ends: np.ndarray,
        ends_start: int, row_axis: Any, inner: int, row: int, x: int, x_end: int, phase_results: np.ndarray,
        phase_results_start: int, nontemporal: int, result: np.ndarray,
    ) -> None:  # fmt: skip
        stride, low_padding = get(row_axis, STRIDE), get(row_axis, LOW)
        first, last = (x + low_padding) // stride, (x_end - 1 + low_padding) // stride
        first_phase, last_phase = x + low_padding - first * stride, x_end - 1 + low_padding - last * stride
        origin = (row * get(row_axis, SIZE) + first * stride - low_padding) * inner
        window, windows = 0, last + 1 - first
        while window < windows:
            # Complete strides are combined at once; the first and the last one may be partial.
            window_count, begin, end = windows - window, 0, stride
            if window == 0 and first_phase > 0:
                window_count, begin = 1, first_phase
            elif last_phase < stride - 1 and window_count > 1:
                window_count -= 1
            if window + window_count == windows:
                end = last_phase + 1
            count, width = (1, window_count * inner) if stride == 1 else (window_count, inner)
            collect(
                combined, monoid, combined, choices, values, initial, pairs, ends, ends_start, window * inner,
                begin, end, inner, count, inner, stride * inner, width, nontemporal, result,
                origin + window * stride * inner,
            )  # fmt: skip
            window += window_count

    return body


@functools.cache
def combine_row_by_phases(combined: str, monoid: str, phases: int) -> Kernel:
    """A row of single elements: each phase into `phase_results`, then interleaved. `phases` is their number,
    0 for any number."""
    computed = computing_element(combined)

    @kernel
    def body(
        choices: np.ndarray, values: np.ndarray, initial: np.ndarray, pairs: np.ndarray, ends: np.ndarray,
        ends_start: int, row_axis: Any, inner: int, row: int, x: int, x_end: int, phase_results: np.ndarray,
        phase_results_start: int, nontemporal: int, result: np.ndarray,
    ) -> None:  # fmt: skip
        stride, low_padding = get(row_axis, STRIDE), get(row_axis, LOW)
        first = (x + low_padding) // stride
        windows = (x_end - 1 + low_padding) // stride + 1 - first
        collect(
            combined, monoid, computed, choices, values, initial, pairs, ends, ends_start, 0, 0, stride,
            windows, 1, 0, 0, windows, 0, phase_results, phase_results_start,
        )  # fmt: skip
        start = row * get(row_axis, SIZE) + first * stride - low_padding
        last_position = x_end + low_padding - first * stride
        window = 0
        while window < windows:
            begin = x + low_padding - first * stride if window == 0 else 0
            end = min(last_position - window * stride, stride)
            window_count = 1
            if phases and begin == 0 and end == stride:
                window_count = last_position // stride - window
                interleave(
                    combined, phases, phase_results, phase_results_start + window, windows, window_count,
                    result, start + window * stride,
                )  # fmt: skip
            else:
                for phase in range(begin, end):
                    value = get(phase_results, phase_results_start + phase * windows + window)
                    store(combined, result, start + window * stride + phase, value)
            window += window_count

    return body


@kernel
def count_inner_rows(axes: Any, fields: int) -> tuple[int, int]:
    """The rows of elements, and of windows, between neighbours along an axis."""
    rows, window_rows = 1, 1
    for inner_fields in range(fields + FIELDS, axes.size, FIELDS):
        rows *= get(axes, inner_fields + SIZE)
        window_rows *= get(axes, inner_fields + WINDOWS)
    return rows, window_rows


@kernel
def find_windows_of_block(
    begin: int, end: int, axes: Any, fields: int, outer: int, inner_window_rows: int
) -> tuple[int, int]:
    """The range of the rows of windows that reach into elements `begin` to `end` along an axis."""
    low, window, stride = get(axes, fields + LOW), get(axes, fields + WINDOW), get(axes, fields + STRIDE)
    windows = get(axes, fields + WINDOWS)
    first = max((begin + low - window) // stride + 1, 0)
    last = min((end - 1 + low) // stride, windows - 1)
    return (outer * windows + first) * inner_window_rows, (outer * windows + last + 1) * inner_window_rows


@functools.cache
def blocks(element: str, kind: Combination, direction: str, column_stride: int, window: int) -> Kernel:
    """Compute blocks of the result: the choices of all windows that reach into a block, then its elements.

    Blocks are cut along one of the outer axes and along rows. If elements are single values, and windows are
    `column_stride` > 1 apart, a row is computed phase by phase. The kernel takes:

      - size: the number of blocks of a task, which are consecutive; work_items: the number of all blocks
      - block_axis, block, chunk: the outer axis along which blocks are cut, their size along it, and their
        size along rows, in elements
      - axes, row_axis: `window_axes.axis_table` of the outer axes and of the axis of rows; inner: the
        contiguous columns of an element
      - offsets: the product of the outer axes' window sizes
      - max_rows, max_window_rows, row_pitch, max_pairs: the scratch memory of a task, as `_Blocks` of
        `select_and_scatter` describes it
      - rows, numbers: int64[tasks * max_rows], scratch
      - choices: int32, values: of the computing type, [tasks * max_window_rows * row_pitch], scratch; if
        `is_same`, all source values are equal, and `values` has [tasks * row_pitch]
      - pairs: int64[tasks * max_pairs], ends: int64[tasks * (stride + 1)], scratch of `find_pairs`
      - phase_results: [tasks * row_pitch * stride] of the computing type, scratch if `column_stride` > 1
      - operand, source: flat, of the storage type; initial: one element of the computing type
      - nontemporal: whether to use nontemporal stores for aligned vectors of the result
      - result: flat, of the storage type
    """
    combined, monoid = kind
    column_stride = min(column_stride, MAX_VECTOR_STRIDE)
    unrolled_size = window if window <= MAX_UNROLLED else 0
    choose_windows = choose_row(element, direction, column_stride, unrolled_size)
    phases = column_stride if column_stride < MAX_VECTOR_STRIDE else 0
    combine_elements = combine_row(combined, monoid) if column_stride == 1 else combine_row_by_phases(
        combined, monoid, phases
    )

    @kernel
    def load_values(
        source: Any, window_row: int, row_axis: Any, inner: int, first: int, last: int, values: np.ndarray,
        target: int,
    ) -> None:  # fmt: skip
        """The values of windows number `first` to `last` of a row, in the computing type."""
        windows = get(row_axis, WINDOWS)
        left, right = max(first, 0), min(last + 1, windows)
        target += (left - first) * inner
        origin = (window_row * windows + left) * inner
        for index in range((right - left) * inner):
            put(values, target + index, load(combined, source, origin + index))

    @kernel(parallel=True)
    def body(
        task: int, size: int, work_items: int, block_axis: int, block: int, chunk: int, axes: Any,
        row_axis: Any, inner: int, offsets: int, max_rows: int, max_window_rows: int, row_pitch: int,
        max_pairs: int, rows: Any, numbers: np.ndarray, choices: np.ndarray, values: np.ndarray,
        pairs: np.ndarray, ends: np.ndarray, phase_results: np.ndarray, operand: np.ndarray, source: Any,
        is_same: bool, initial: np.ndarray, nontemporal: int, result: np.ndarray,
    ) -> None:  # fmt: skip
        length, width = get(row_axis, SIZE), get(row_axis, WINDOW)
        stride, low = get(row_axis, STRIDE), get(row_axis, LOW)
        reach = (width - 1) // stride
        rows_start, choices_start = task * max_rows, task * max_window_rows * row_pitch
        values_start, source_pitch = (task * row_pitch, 0) if is_same else (choices_start, row_pitch)
        pairs_start, ends_start = task * max_pairs, task * (stride + 1)
        phase_results_start = task * (row_pitch * stride)
        if is_same:
            for index in range(values_start, values_start + row_pitch):
                put(values, index, load(combined, source, 0))
        fields = block_axis * FIELDS
        windowed_fields = fields if fields + FIELDS == axes.size else -1
        inner_rows, inner_window_rows = count_inner_rows(axes, fields)
        axis_size = get(axes, fields + SIZE)
        chunks, row_blocks = (length + chunk - 1) // chunk, (axis_size + block - 1) // block
        for work_item in range(task * size, min((task + 1) * size, work_items)):
            x, row_block = work_item % chunks * chunk, work_item // chunks
            outer, row_block = row_block // row_blocks, row_block % row_blocks
            x_end = min(x + chunk, length)
            first, last = (x + low) // stride, (x_end - 1 + low) // stride
            begin, end = row_block * block, min((row_block + 1) * block, axis_size)
            first_window_row, end_window_row = find_windows_of_block(
                begin, end, axes, fields, outer, inner_window_rows
            )
            for window_row in range(first_window_row, end_window_row):
                target = choices_start + (window_row - first_window_row) * row_pitch
                count = find_rows(
                    window_row, offsets, axes, windowed_fields, width, length * inner, rows, numbers,
                    rows_start,
                )
                choose_windows(
                    operand, rows, numbers, rows_start, count, row_axis, inner, first - reach, last, choices,
                    target,
                )  # fmt: skip
                if not is_same:
                    load_values(source, window_row, row_axis, inner, first - reach, last, values, target)
            for row in range(
                (outer * axis_size + begin) * inner_rows, (outer * axis_size + end) * inner_rows
            ):
                count = find_window_rows(
                    row, offsets, axes, windowed_fields, width, rows, numbers, rows_start
                )
                find_pairs(
                    rows, numbers, rows_start, count, first_window_row, row_axis, inner, row_pitch,
                    source_pitch, choices_start, values_start, pairs, pairs_start, ends, ends_start,
                )  # fmt: skip
                combine_elements(
                    choices, values, initial, pairs, ends, ends_start, row_axis, inner, row, x, x_end,
                    phase_results, phase_results_start, nontemporal, result,
                )  # fmt: skip

    return body
