"""Kernels that apply a scatter's update slices of runs of elements. Importing this module imports Numba.

`update_runs_in_order` applies slices as `scatter_locations.locate_slices` finds them, others a
partition of the result a task.
"""

import functools
from typing import Any

import numpy as np

from ..launch.compilation import Kernel, kernel
from ..simd.arithmetic import get, put
from ..simd.block_sizes import CACHE_LINE_BYTES
from ..simd.monoids import OVERWRITE
from ..simd.searches import COMPRESS_PADDING, select_in_range
from .scatter_locations import BLOCK, first_slice, locate_slices, mask_outside
from .scatter_loops import MIN_PREFETCHED_BYTES
from .scatter_slices import (
    L1_DISTANCE_DIVISOR,
    combine_run,
    combine_short_run,
    copy_run,
    initialize_partition,
    is_cache_line_aligned,
    partition_buffer,
    prefetch_cache_lines,
    reduce_row,
    run_lanes,
    write_back,
)

PREFETCHED_CACHE_LINES = 256
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
def _exceeds_cache(size: int, initial: np.ndarray, result: np.ndarray) -> bool:
    """Whether a task prefetches the `size` elements of the result that it updates; elements that the task has
    just initialized are cached."""
    return size * result.itemsize > (CACHED_BYTES if initial.size > 0 else MIN_PREFETCHED_BYTES)


@functools.cache
def _apply_runs(element: str, combiner: str) -> Kernel:
    """Apply `count` slices of runs, in order.

    `runs` has a row (input offset, update offset) for each run of a slice. A run has `chunk_count` chunks of
    `chunk_items` elements; with `clamped_starts`, only the chunks in bounds, from 0 to `bound`.
    """
    vector_items = run_lanes(element)

    @kernel
    def combine_clipped(
        destination: int, update_offset: int, clamped_start: int, bound: int, runs: Any, chunk_count: int,
        chunk_items: int, values: np.ndarray, result: np.ndarray,
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
        vectors: int, short: int, count: int, destinations: np.ndarray, update_offsets: np.ndarray,
        clamped_starts: np.ndarray, row_items: int, bound: int, runs: Any, chunk_count: int, chunk_items: int,
        prefetches_result: bool, values: np.ndarray, result: np.ndarray,
    ) -> None:  # fmt: skip
        items = chunk_count * chunk_items
        cache_lines = min(-(-items * values.itemsize // CACHE_LINE_BYTES), MAX_PREFETCH_LINES)
        l2_distance = _prefetch_distance(items, values.itemsize)
        l1_distance = l2_distance // L1_DISTANCE_DIVISOR
        if vectors > 0:
            items = vectors * vector_items + (items & (vector_items - 1))
        for position in range(count):
            far, near = min(position + l2_distance, count - 1), min(position + l1_distance, count - 1)
            if short == 0:  # the hardware prefetches short runs
                prefetch_cache_lines(
                    values, np.int64(get(update_offsets, far)), np.int64(get(update_offsets, near)),
                    cache_lines,
                )  # fmt: skip
            if prefetches_result:
                far_destination = max(np.int64(get(destinations, far)), np.int64(0))
                near_destination = max(np.int64(get(destinations, near)), np.int64(0))
                prefetch_cache_lines(
                    result, far_destination * row_items, near_destination * row_items, cache_lines
                )
            destination = np.int64(get(destinations, position)) * row_items
            if destination < 0:
                continue
            update_offset = np.int64(get(update_offsets, position))
            if vectors > 0:
                combine_run(element, combiner, result, destination, values, update_offset, items)
            elif short > 0:
                combine_short_run(element, combiner, result, destination, values, update_offset, short)
            elif clamped_starts.size > 0:
                clamped_start = np.int64(get(clamped_starts, position))
                combine_clipped(
                    destination, update_offset, clamped_start, bound, runs, chunk_count, chunk_items, values,
                    result,
                )  # fmt: skip
            elif items < vector_items:
                for run in range(runs.shape[0]):
                    combine_short_run(
                        element, combiner, result, destination + runs[run, 0], values,
                        update_offset + runs[run, 1], items,
                    )  # fmt: skip
            else:
                for run in range(runs.shape[0]):
                    combine_run(
                        element, combiner, result, destination + runs[run, 0], values,
                        update_offset + runs[run, 1], items,
                    )  # fmt: skip

    @kernel
    def body(
        count: int, destinations: np.ndarray, update_offsets: np.ndarray, clamped_starts: np.ndarray,
        row_items: int, bound: int, runs: Any, chunk_count: int, chunk_items: int, prefetches_result: bool,
        values: np.ndarray, result: np.ndarray,
    ) -> None:  # fmt: skip
        is_single_run = clamped_starts.size == 0 and runs.shape[0] == 1
        items = chunk_count * chunk_items
        vectors = items // vector_items if is_single_run else 0
        short = items if is_single_run and vectors == 0 else 0
        # A constant number of elements, or of whole vectors, unrolls the loop over them.
        if vectors == 1:
            combine_rows(
                1, 0, count, destinations, update_offsets, clamped_starts, row_items, bound, runs,
                chunk_count, chunk_items, prefetches_result, values, result,
            )  # fmt: skip
        elif vectors == 2:
            combine_rows(
                2, 0, count, destinations, update_offsets, clamped_starts, row_items, bound, runs,
                chunk_count, chunk_items, prefetches_result, values, result,
            )  # fmt: skip
        elif short == 2:
            combine_rows(
                0, 2, count, destinations, update_offsets, clamped_starts, row_items, bound, runs,
                chunk_count, chunk_items, prefetches_result, values, result,
            )  # fmt: skip
        elif short == 3:
            combine_rows(
                0, 3, count, destinations, update_offsets, clamped_starts, row_items, bound, runs,
                chunk_count, chunk_items, prefetches_result, values, result,
            )  # fmt: skip
        elif short == 4:
            combine_rows(
                0, 4, count, destinations, update_offsets, clamped_starts, row_items, bound, runs,
                chunk_count, chunk_items, prefetches_result, values, result,
            )  # fmt: skip
        else:
            combine_rows(
                0, 0, count, destinations, update_offsets, clamped_starts, row_items, bound, runs,
                chunk_count, chunk_items, prefetches_result, values, result,
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
        task: int, size: int, count: int, width: int, geometry: Any, destination_dtype_tag: np.ndarray,
        row_items: int, bound: int, runs: Any, chunk_count: int, chunk_items: int, values: np.ndarray,
        initial: np.ndarray, result: np.ndarray,
    ) -> None:  # fmt: skip
        initialize_partition(task, -(-count // size), width * row_items, initial, result)
        destinations, update_offsets = (
            np.empty(BLOCK, destination_dtype_tag.dtype),
            np.empty(BLOCK, destination_dtype_tag.dtype),
        )
        clipped_component = geometry[2]
        clamped_starts = np.empty(BLOCK if clipped_component.size > 0 else 0, destination_dtype_tag.dtype)
        prefetches_result = _exceeds_cache(width * row_items if width > 0 else result.size, initial, result)
        end = min(count, (task + 1) * size)
        for first in range(task * size, end, BLOCK):
            block_count = min(BLOCK, end - first)
            locate_slices(first, block_count, geometry, destinations, update_offsets, clamped_starts)
            apply(
                block_count, destinations, update_offsets, clamped_starts, row_items, bound, runs,
                chunk_count, chunk_items, prefetches_result, values, result,
            )  # fmt: skip

    return body


@functools.cache
def update_filtered_runs(element: str, combiner: str) -> Kernel:
    """Slices of runs that are not clipped. Task t has `width` rows of the result, the last task the rest, and
    filters its slices out of all; the updates of slice n begin at n times `update_stride`. If `is_row`, a
    slice is within its row."""
    apply = _apply_runs(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, partitions: int, width: int, count: int, update_stride: int, geometry: Any,
        destination_dtype_tag: np.ndarray, row_items: int, is_row: bool, runs: Any, chunk_items: int,
        values: np.ndarray, initial: np.ndarray, result: np.ndarray,
    ) -> None:  # fmt: skip
        initialize_partition(task, partitions, width * row_items, initial, result)
        buffer = result[task * width * row_items :]
        if is_row:
            buffer = partition_buffer(task, partitions, width * row_items, result)
        destinations, empty = (
            np.empty(BLOCK, destination_dtype_tag.dtype),
            np.empty(0, destination_dtype_tag.dtype),
        )
        capacity = BLOCK + COMPRESS_PADDING
        chosen_destinations, update_offsets = np.empty(
            capacity, destination_dtype_tag.dtype
        ), np.empty(capacity, destination_dtype_tag.dtype)
        prefetches_result = _exceeds_cache(width * row_items, initial, result)
        for first in range(0, count, BLOCK):
            block_count = min(BLOCK, count - first)
            locate_slices(first, block_count, geometry, destinations, empty, empty)
            start = first * update_stride
            chosen_count = select_in_range(
                destinations, block_count, task * width, width, start, update_stride, chosen_destinations,
                update_offsets,
            )  # fmt: skip
            apply(
                chosen_count, chosen_destinations, update_offsets, empty, row_items, 0, runs, 1, chunk_items,
                prefetches_result, values, buffer,
            )  # fmt: skip
        if is_row:
            write_back(task, width * row_items, buffer, result)

    return body


@functools.cache
def update_sorted_runs(element: str, combiner: str) -> Kernel:
    """Slices of runs with ascending destinations. Task t has `width` rows of the result, the last task the
    rest, and finds its slices by binary search; slices of other tasks among them are masked."""
    apply = _apply_runs(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, partitions: int, width: int, count: int, geometry: Any, destination_dtype_tag: np.ndarray,
        row_items: int, runs: Any, chunk_items: int, values: np.ndarray, initial: np.ndarray,
        result: np.ndarray,
    ) -> None:  # fmt: skip
        initialize_partition(task, partitions, width * row_items, initial, result)
        destinations, update_offsets = (
            np.empty(BLOCK, destination_dtype_tag.dtype),
            np.empty(BLOCK, destination_dtype_tag.dtype),
        )
        empty = np.empty(0, destination_dtype_tag.dtype)
        prefetches_result = _exceeds_cache(width * row_items, initial, result)
        first_destination = task * width
        end = first_slice(first_destination + width, count, geometry)
        for first in range(first_slice(first_destination, count, geometry), end, BLOCK):
            block_count = min(BLOCK, end - first)
            locate_slices(first, block_count, geometry, destinations, update_offsets, empty)
            mask_outside(destinations, block_count, first_destination, width)
            apply(
                block_count, destinations, update_offsets, empty, row_items, 0, runs, 1, chunk_items,
                prefetches_result, values, result,
            )  # fmt: skip

    return body


@functools.cache
def reduce_rows(element: str, combiner: str) -> Kernel:
    """Compute the result of slices of one run each. Task t has `width` rows of the result, the last task the
    rest; the updates of slice n begin at n times `update_stride`.

    The task groups its slices by row, so that it writes each element of the result once. With `nontemporal`,
    rows that the slices fill and that are whole cache lines bypass the caches.
    """
    is_overwritten = combiner == OVERWRITE

    @kernel
    def group(
        count: int, rows: Any, update_offsets: np.ndarray, ends: np.ndarray, grouped: np.ndarray
    ) -> None:
        """Write the update offsets of `count` slices to `grouped`, by row, and where each row's group ends to
        `ends`. If slices overwrite, a group has the last slice only."""
        for position in range(count):
            row = np.int64(get(rows, position))
            put(ends, row, 1 if is_overwritten else get(ends, row) + 1)
        total = 0
        for number in range(ends.size):
            group_size = int(get(ends, number))
            put(ends, number, total + group_size if is_overwritten else total)
            total += group_size
        for position in range(count):
            row = np.int64(get(rows, position))
            end = np.int64(get(ends, row)) + (0 if is_overwritten else 1)
            put(grouped, end - 1, get(update_offsets, position))
            put(ends, row, end)

    @kernel(parallel=True)
    def body(
        task: int, partitions: int, width: int, count: int, update_stride: int, geometry: Any,
        destination_dtype_tag: np.ndarray, row_items: int, items: int, values: np.ndarray,
        initial: np.ndarray, nontemporal: int, result: np.ndarray,
    ) -> None:  # fmt: skip
        first_row = task * width
        row_count = width if task < partitions - 1 else result.size // row_items - first_row
        destinations, empty = (
            np.empty(BLOCK, destination_dtype_tag.dtype),
            np.empty(0, destination_dtype_tag.dtype),
        )
        rows = np.empty(count + COMPRESS_PADDING, destination_dtype_tag.dtype)
        update_offsets = np.empty(count + COMPRESS_PADDING, destination_dtype_tag.dtype)
        chosen = 0
        for first in range(0, count, BLOCK):
            block_count = min(BLOCK, count - first)
            locate_slices(first, block_count, geometry, destinations, empty, empty)
            chosen += select_in_range(
                destinations, block_count, first_row, row_count, first * update_stride, update_stride,
                rows[chosen:], update_offsets[chosen:],
            )  # fmt: skip
        ends, grouped = (
            np.zeros(row_count, destination_dtype_tag.dtype),
            np.empty(chosen, destination_dtype_tag.dtype),
        )
        group(chosen, rows, update_offsets, ends, grouped)
        last = np.int64(get(ends, row_count - 1)) - 1
        prefetch_distance = _prefetch_distance(items, values.itemsize)
        is_nontemporal = nontemporal != 0 and is_cache_line_aligned(result, items)
        is_broadcast = initial.size == 1
        broadcast_row = np.empty(row_items if is_broadcast else 0, result.dtype)
        for column in range(broadcast_row.size):
            put(broadcast_row, column, get(initial, 0))
        initial_rows = broadcast_row if is_broadcast else initial
        begin = np.int64(0)
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
