"""Kernels that apply a scatter's update slices of runs of elements. Importing this module imports Numba.

`update_runs_in_order` applies slices as `scatter_buckets.locate_slices` finds them, others a partition or
bucket a task.
"""

import functools
from typing import Any

import numpy as np

from ..launch.compilation import Kernel, kernel
from ..simd.arithmetic import get, put
from ..simd.monoids import OVERWRITE, storage_dtype
from ..simd.searches import COMPRESS_PADDING, select_in_range
from .scatter_buckets import BLOCK, first_slice, locate_slices, mask_outside
from .scatter_loops import MIN_PREFETCHED_BYTES
from .scatter_slices import (
    CACHE_LINE_BYTES,
    L1_DISTANCE_DIVISOR,
    combine_run,
    combine_short_run,
    copy_run,
    initialize_columns,
    initialize_partition,
    is_cache_line_aligned,
    partition_buffer,
    prefetch_cache_lines,
    reduce_row,
    run_lanes,
    write_back,
)

PREFETCHED_CACHE_LINES = 128
"""Cache lines of runs that are prefetched ahead."""
CACHED_BYTES = 1 << 20
"""A core's own cache still holds this much of a result that a task has just written."""
MAX_PREFETCH_LINES = 4
"""Cache lines of a run that are prefetched; the hardware prefetcher follows from there."""


@kernel
def _prefetch_distance(items: int, itemsize: int) -> int:
    """Slices between the prefetch of a run and its update."""
    cache_lines = min(-(-items * itemsize // CACHE_LINE_BYTES), MAX_PREFETCH_LINES)
    return max(2, PREFETCHED_CACHE_LINES // cache_lines)


@kernel
def _exceeds_cache(size: int, initial: Any, result: Any) -> bool:
    """Whether a task prefetches the `size` elements of the result that it updates; elements that the task has
    just initialized are cached."""
    return size * result.itemsize > (CACHED_BYTES if initial.size > 0 else MIN_PREFETCHED_BYTES)


@functools.cache
def _apply_runs(element: str, combiner: str) -> Kernel:
    """Apply slices of runs from number `begin` to `end`, in order.

    `runs` has a row (input offset, update offset) for each run of a slice. A run has `chunk_count` chunks of
    `chunk_items` elements; with `clamped_starts`, only the chunks in bounds, from 0 to `bound`.
    """
    cache_line_items, vector_items = CACHE_LINE_BYTES // storage_dtype(element).itemsize, run_lanes(element)
    two_cache_lines = 2 * cache_line_items

    @kernel
    def combine_clipped(
        destination: int, update_offset: int, clamped_start: int, bound: int, runs: Any, chunk_count: int,
        chunk_items: int, values: Any, result: Any,
    ) -> None:  # fmt: skip
        begin, end = max(0, -clamped_start) * chunk_items, min(
            chunk_count, bound - clamped_start
        ) * chunk_items
        for run in range(runs.shape[0]):
            offset, start = destination + clamped_start * chunk_items + runs[
                run, 0
            ], update_offset + runs[run, 1]
            combine_run(element, combiner, result, offset + begin, values, start + begin, end - begin)

    @kernel(inline=True)
    def combine_rows(
        begin: int, end: int, destinations: Any, update_offsets: Any, record_stride: int, row_items: int,
        items: int, cache_lines: int, prefetch_distance: int, prefetches_result: bool, is_short: bool,
        values: Any, result: Any,
    ) -> None:  # fmt: skip
        l1_distance = prefetch_distance // L1_DISTANCE_DIVISOR
        for position in range(begin, end):
            l2_offset, l1_offset = min(
                position + prefetch_distance, end - 1
            ) * record_stride, min(position + l1_distance, end - 1) * record_stride
            prefetch_cache_lines(
                values, np.int64(get(update_offsets, l2_offset)), np.int64(get(update_offsets, l1_offset)),
                cache_lines,
            )  # fmt: skip
            if prefetches_result:
                far_destination = max(np.int64(get(destinations, l2_offset)), np.int64(0))
                near_destination = max(np.int64(get(destinations, l1_offset)), np.int64(0))
                prefetch_cache_lines(
                    result, far_destination * row_items, near_destination * row_items, cache_lines
                )
            destination = np.int64(get(destinations, position * record_stride))
            if destination >= 0:
                update_offset = np.int64(get(update_offsets, position * record_stride))
                if is_short:
                    combine_short_run(
                        element, combiner, result, destination * row_items, values, update_offset, items
                    )
                else:
                    combine_run(
                        element, combiner, result, destination * row_items, values, update_offset, items
                    )

    @kernel
    def body(
        begin: int, end: int, destinations: Any, update_offsets: Any, clamped_starts: Any, record_stride: int,
        row_items: int, bound: int, runs: Any, chunk_count: int, chunk_items: int, prefetches_result: bool,
        values: Any, result: Any,
    ) -> None:  # fmt: skip
        items = chunk_count * chunk_items
        cache_lines = min(-(-items * values.itemsize // CACHE_LINE_BYTES), MAX_PREFETCH_LINES)
        prefetch_distance = _prefetch_distance(items, values.itemsize)
        if clamped_starts.size == 0 and runs.shape[0] == 1:
            # Constant arguments specialize the inlined loop.
            if items == cache_line_items and record_stride == 1:
                combine_rows(
                    begin, end, destinations, update_offsets, 1, row_items, cache_line_items, 1,
                    prefetch_distance, prefetches_result, False, values, result,
                )  # fmt: skip
            elif items == two_cache_lines and record_stride == 1:
                combine_rows(
                    begin, end, destinations, update_offsets, 1, row_items, two_cache_lines, 2,
                    prefetch_distance, prefetches_result, False, values, result,
                )  # fmt: skip
            elif items < vector_items:
                combine_rows(
                    begin, end, destinations, update_offsets, record_stride, row_items, items, 1,
                    prefetch_distance, prefetches_result, True, values, result,
                )  # fmt: skip
            else:
                combine_rows(
                    begin, end, destinations, update_offsets, record_stride, row_items, items, cache_lines,
                    prefetch_distance, prefetches_result, False, values, result,
                )  # fmt: skip
            return
        l1_distance = prefetch_distance // L1_DISTANCE_DIVISOR
        for position in range(begin, end):
            l2_offset, l1_offset = min(
                position + prefetch_distance, end - 1
            ) * record_stride, min(position + l1_distance, end - 1) * record_stride
            prefetch_cache_lines(
                values, np.int64(get(update_offsets, l2_offset)), np.int64(get(update_offsets, l1_offset)),
                cache_lines,
            )  # fmt: skip
            if prefetches_result:
                far_destination = max(np.int64(get(destinations, l2_offset)), np.int64(0))
                near_destination = max(np.int64(get(destinations, l1_offset)), np.int64(0))
                prefetch_cache_lines(
                    result, far_destination * row_items, near_destination * row_items, cache_lines
                )
            destination, update_offset = (
                np.int64(get(destinations, position * record_stride)) * row_items,
                np.int64(get(update_offsets, position * record_stride)),
            )
            if destination < 0:
                continue
            if clamped_starts.size > 0:
                clamped_start = np.int64(get(clamped_starts, position * record_stride))
                combine_clipped(
                    destination, update_offset, clamped_start, bound, runs, chunk_count, chunk_items, values,
                    result,
                )  # fmt: skip
            else:
                for run in range(runs.shape[0]):
                    combine_run(
                        element, combiner, result, destination + runs[run, 0], values,
                        update_offset + runs[run, 1], items,
                    )  # fmt: skip

    return body


@functools.cache
def update_runs(element: str, combiner: str) -> Kernel:
    """Slices of runs. Bucket t has `size` elements, and of each row of `offsets` the slices from the t-th
    offset to the next one."""
    apply = _apply_runs(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, offsets: Any, destinations: Any, update_offsets: Any, clamped_starts: Any,
        record_stride: int, row_items: int, bound: int, runs: Any, chunk_count: int, chunk_items: int,
        values: Any, size: int, initial: Any, result: Any,
    ) -> None:  # fmt: skip
        initialize_partition(task, offsets.shape[1] - 1, size, initial, result)
        prefetches_result = _exceeds_cache(size, initial, result)
        for row in range(offsets.shape[0]):
            begin, end = offsets[row, task], offsets[row, task + 1]
            apply(
                begin, end, destinations, update_offsets, clamped_starts, record_stride, row_items, bound,
                runs, chunk_count, chunk_items, prefetches_result, values, result,
            )  # fmt: skip

    return body


@functools.cache
def update_runs_in_order(element: str, combiner: str) -> Kernel:
    """Slices of runs, `size` a task.

    If `initial` is not empty, task t initializes the t-th `width` rows of the result.
    """
    apply = _apply_runs(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, size: int, count: int, width: int, geometry: Any, sample: Any, row_items: int, bound: int,
        runs: Any, chunk_count: int, chunk_items: int, values: Any, initial: Any, result: Any,
    ) -> None:  # fmt: skip
        initialize_partition(task, -(-count // size), width * row_items, initial, result)
        destinations, update_offsets = np.empty(BLOCK, sample.dtype), np.empty(BLOCK, sample.dtype)
        clamped_starts = np.empty(BLOCK if geometry[2].size > 0 else 0, sample.dtype)
        prefetches_result = _exceeds_cache(width * row_items if width > 0 else result.size, initial, result)
        end = min(count, (task + 1) * size)
        for first in range(task * size, end, BLOCK):
            block_count = min(BLOCK, end - first)
            locate_slices(0, first, block_count, geometry, destinations, update_offsets, clamped_starts)
            apply(
                0, block_count, destinations, update_offsets, clamped_starts, 1, row_items, bound, runs,
                chunk_count, chunk_items, prefetches_result, values, result,
            )  # fmt: skip

    return body


@functools.cache
def update_filtered_runs(element: str, combiner: str) -> Kernel:
    """Slices of runs that are not clipped. Task t has `width` rows of the result, the last task the rest, and
    filters its slices out of all; the updates of slice n begin at n times `update_stride`."""
    apply = _apply_runs(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, partitions: int, width: int, count: int, update_stride: int, geometry: Any, sample: Any,
        row_items: int, runs: Any, chunk_items: int, values: Any, initial: Any, result: Any,
    ) -> None:  # fmt: skip
        initialize_partition(task, partitions, width * row_items, initial, result)
        buffer = partition_buffer(task, partitions, width * row_items, result)
        destinations, empty = np.empty(BLOCK, sample.dtype), np.empty(0, sample.dtype)
        capacity = BLOCK + COMPRESS_PADDING
        chosen_destinations, update_offsets = np.empty(
            capacity, sample.dtype
        ), np.empty(capacity, sample.dtype)
        prefetches_result = _exceeds_cache(width * row_items, initial, result)
        for first in range(0, count, BLOCK):
            block_count = min(BLOCK, count - first)
            locate_slices(0, first, block_count, geometry, destinations, empty, empty)
            start = first * update_stride
            chosen_count = select_in_range(
                destinations, block_count, task * width, width, start, update_stride, chosen_destinations,
                update_offsets,
            )  # fmt: skip
            apply(
                0, chosen_count, chosen_destinations, update_offsets, empty, 1, row_items, 0, runs, 1,
                chunk_items, prefetches_result, values, buffer,
            )  # fmt: skip
        write_back(task, width * row_items, buffer, result)

    return body


@functools.cache
def update_columns_of_rows(element: str, combiner: str) -> Kernel:
    """Slices of one complete row each, in order. Task t has `width` columns of all rows; the updates of slice
    n begin at n times `update_stride`, which the hardware prefetcher follows."""
    cache_line_items = CACHE_LINE_BYTES // storage_dtype(element).itemsize
    two_cache_lines = 2 * cache_line_items

    @kernel(inline=True)
    def combine_columns(
        count: int, destinations: Any, first: int, update_stride: int, row_items: int, items: int,
        values: Any, result: Any,
    ) -> None:  # fmt: skip
        for position in range(count):
            destination = np.int64(get(destinations, position))
            if destination >= 0:
                update_offset = (first + position) * update_stride
                combine_run(element, combiner, result, destination * row_items, values, update_offset, items)

    @kernel(parallel=True)
    def body(
        task: int, width: int, count: int, update_stride: int, geometry: Any, sample: Any, row_items: int,
        values: Any, initial: Any, result: Any,
    ) -> None:  # fmt: skip
        column = task * width
        if initial.size > 0:
            initialize_columns(column, width, row_items, initial, result)
        destinations, empty = np.empty(BLOCK, sample.dtype), np.empty(0, sample.dtype)
        column_values, column_result = values[column:], result[column:]
        for first in range(0, count, BLOCK):
            block_count = min(BLOCK, count - first)
            locate_slices(0, first, block_count, geometry, destinations, empty, empty)
            # Constant arguments specialize the inlined loop.
            if width == cache_line_items:
                combine_columns(
                    block_count, destinations, first, update_stride, row_items, cache_line_items,
                    column_values, column_result,
                )  # fmt: skip
            elif width == two_cache_lines:
                combine_columns(
                    block_count, destinations, first, update_stride, row_items, two_cache_lines,
                    column_values, column_result,
                )  # fmt: skip
            else:
                combine_columns(
                    block_count, destinations, first, update_stride, row_items, width, column_values,
                    column_result,
                )  # fmt: skip

    return body


@functools.cache
def update_sorted_runs(element: str, combiner: str) -> Kernel:
    """Slices of runs with ascending destinations. Task t has `width` rows of the result, the last task the
    rest, and finds its slices by binary search; slices of other tasks among them are masked."""
    apply = _apply_runs(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, partitions: int, width: int, count: int, geometry: Any, sample: Any, row_items: int,
        runs: Any, chunk_items: int, values: Any, initial: Any, result: Any,
    ) -> None:  # fmt: skip
        initialize_partition(task, partitions, width * row_items, initial, result)
        destinations, update_offsets = np.empty(BLOCK, sample.dtype), np.empty(BLOCK, sample.dtype)
        empty = np.empty(0, sample.dtype)
        prefetches_result = _exceeds_cache(width * row_items, initial, result)
        first_destination = task * width
        end = first_slice(first_destination + width, count, geometry)
        for first in range(first_slice(first_destination, count, geometry), end, BLOCK):
            block_count = min(BLOCK, end - first)
            locate_slices(0, first, block_count, geometry, destinations, update_offsets, empty)
            mask_outside(destinations, block_count, first_destination, width)
            apply(
                0, block_count, destinations, update_offsets, empty, 1, row_items, 0, runs, 1, chunk_items,
                prefetches_result, values, result,
            )  # fmt: skip

    return body


@functools.cache
def reduce_rows(element: str, combiner: str) -> Kernel:
    """Compute the result of slices of one run each. Bucket t has `partition_rows` rows, the last bucket the
    rest, and of each row of `offsets` the slices from the t-th offset to the next one.

    The task groups its slices by row, in `grouped`, so that it writes each element of the result once. With
    `nontemporal`, rows that the slices fill and that are whole cache lines bypass the caches.
    """
    is_overwritten = combiner == OVERWRITE

    @kernel
    def group(
        task: int, offsets: Any, destinations: Any, update_offsets: Any, record_stride: int, first_row: int,
        ends: Any, grouped: Any,
    ) -> int:  # fmt: skip
        begin = 0
        for row in range(offsets.shape[0]):
            begin += offsets[row, task] - offsets[row, 0]
            for position in range(offsets[row, task], offsets[row, task + 1]):
                offset = np.int64(get(destinations, position * record_stride)) - first_row
                put(ends, offset, 1 if is_overwritten else get(ends, offset) + 1)
        total = begin
        for row in range(ends.size):
            row_count = int(get(ends, row))
            put(ends, row, total + row_count if is_overwritten else total)
            total += row_count
        for row in range(offsets.shape[0]):
            for position in range(offsets[row, task], offsets[row, task + 1]):
                offset = np.int64(get(destinations, position * record_stride)) - first_row
                position_in_group = np.int64(get(ends, offset))
                if is_overwritten:
                    put(grouped, position_in_group - 1, get(update_offsets, position * record_stride))
                else:
                    put(grouped, position_in_group, get(update_offsets, position * record_stride))
                    put(ends, offset, position_in_group + 1)
        return begin

    @kernel(parallel=True)
    def body(
        task: int, offsets: Any, destinations: Any, update_offsets: Any, record_stride: int, grouped: Any,
        partition_rows: int, row_items: int, items: int, values: Any, initial: Any, nontemporal: int,
        result: Any,
    ) -> None:  # fmt: skip
        first_row = task * partition_rows
        row_count = partition_rows if task < offsets.shape[1] - 2 else result.size // row_items - first_row
        ends = np.zeros(row_count, destinations.dtype)
        begin = group(task, offsets, destinations, update_offsets, record_stride, first_row, ends, grouped)
        prefetch_distance, last = _prefetch_distance(items, values.itemsize), np.int64(
            get(ends, row_count - 1)
        ) - 1
        is_nontemporal = nontemporal != 0 and is_cache_line_aligned(result, items)
        is_broadcast = initial.size == 1
        broadcast_row = np.empty(row_items if is_broadcast else 0, result.dtype)
        for column in range(broadcast_row.size):
            put(broadcast_row, column, get(initial, 0))
        initial_rows = broadcast_row if is_broadcast else initial
        for row in range(row_count):
            offset, end = (first_row + row) * row_items, np.int64(get(ends, row))
            start = 0 if is_broadcast else offset
            reduce_row(
                element, combiner, result, offset, initial_rows, start, items, values, grouped, begin, end,
                prefetch_distance, last, is_nontemporal,
            )  # fmt: skip
            if items < row_items:
                copy_run(result, offset + items, initial_rows, start + items, row_items - items)
            begin = end

    return body
