"""Kernels that apply a scatter's update slices of one element. Importing this module imports Numba.

Kernels whose names end in `_in_order` apply slices as `scatter_locations.locate_slices` finds them, others a
partition of the result a task.
"""

import functools
from typing import Any

import numpy as np

from ..launch.compilation import Kernel, kernel
from ..simd.arithmetic import combine, get, load, put, store
from ..simd.block_sizes import INTERLEAVED_TABLES
from ..simd.copy_bytes import prefetch_write
from ..simd.monoids import OVERWRITE
from ..simd.searches import select_in_range
from .scatter_locations import (
    BLOCK,
    PREFETCH_GROUP,
    first_slice,
    index_stream,
    locate_slices,
    mask_outside,
    prefetch_indices,
)
from .scatter_slices import initialize_partition, partition_buffer, write_back

PREFETCH_DISTANCE = 32
"""Slices of one element between the prefetch of a destination and its update."""
MIN_PREFETCHED_BYTES = 1 << 18
"""Results up to this size are cached soon: their elements need no prefetch."""


@functools.cache
def _update(element: str, combiner: str) -> Kernel:
    """Combine one element of `result` with one of `values`."""
    if combiner == OVERWRITE:

        @kernel
        def overwrite(result: np.ndarray, offset: int, values: np.ndarray, update_offset: int) -> None:
            store(element, result, offset, load(element, values, update_offset))

        return overwrite

    @kernel
    def combined(result: np.ndarray, offset: int, values: np.ndarray, update_offset: int) -> None:
        value = combine(
            element, combiner, load(element, result, offset), load(element, values, update_offset)
        )
        store(element, result, offset, value)

    return combined


@functools.cache
def _apply_items(element: str, combiner: str) -> Kernel:
    """Apply `count` slices of one element in order; prefetch elements of large results."""
    apply = _update(element, combiner)

    @kernel
    def body(
        count: int, destinations: np.ndarray, values: np.ndarray, first: int, value_stride: int,
        result: np.ndarray,
    ) -> None:  # fmt: skip
        prefetched_end = max(0, count - PREFETCH_DISTANCE)
        if result.size * result.itemsize <= MIN_PREFETCHED_BYTES:
            prefetched_end = 0
        for position in range(prefetched_end):
            ahead = np.int64(get(destinations, position + PREFETCH_DISTANCE))
            prefetch_write(result, max(ahead, 0))
            destination = np.int64(get(destinations, position))
            if destination >= 0:
                apply(result, destination, values, (first + position) * value_stride)
        for position in range(prefetched_end, count):
            destination = np.int64(get(destinations, position))
            if destination >= 0:
                apply(result, destination, values, (first + position) * value_stride)

    return body


@functools.cache
def update_filtered_items(element: str, combiner: str) -> Kernel:
    """Slices of one element. Task t has `size` elements of the result, the last task the rest, and filters
    its slices out of all."""
    apply = _update(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, partitions: int, size: int, count: int, geometry: Any, destination_dtype_tag: np.ndarray,
        values: np.ndarray, value_stride: int, initial: np.ndarray, result: np.ndarray,
    ) -> None:  # fmt: skip
        initialize_partition(task, partitions, size, initial, result)
        buffer = partition_buffer(task, partitions, size, result)
        destinations, empty = (
            np.empty(BLOCK, destination_dtype_tag.dtype),
            np.empty(0, destination_dtype_tag.dtype),
        )
        capacity = BLOCK + PREFETCH_DISTANCE  # leaves more than COMPRESS_PADDING after the filtered ones
        chosen_destinations, update_offsets = np.zeros(
            capacity, destination_dtype_tag.dtype
        ), np.empty(capacity, destination_dtype_tag.dtype)
        first_destination = task * size
        width = size if task < partitions - 1 else result.size - first_destination
        prefetches_result = width * result.itemsize > MIN_PREFETCHED_BYTES
        for first in range(0, count, BLOCK):
            block_count = min(BLOCK, count - first)
            locate_slices(first, block_count, geometry, destinations, empty, empty)
            start = first * value_stride
            chosen_count = select_in_range(
                destinations, block_count, first_destination, width, start, value_stride, chosen_destinations,
                update_offsets,
            )  # fmt: skip
            if prefetches_result:
                for position in range(chosen_count):
                    prefetch_write(buffer, np.int64(get(chosen_destinations, position + PREFETCH_DISTANCE)))
                    apply(
                        buffer, np.int64(get(chosen_destinations, position)), values,
                        np.int64(get(update_offsets, position)),
                    )  # fmt: skip
            else:
                for position in range(chosen_count):
                    apply(
                        buffer, np.int64(get(chosen_destinations, position)), values,
                        np.int64(get(update_offsets, position)),
                    )  # fmt: skip
        write_back(task, size, buffer, result)

    return body


@functools.cache
def update_sorted_items(element: str, combiner: str) -> Kernel:
    """Slices of one element with ascending destinations. Task t has `size` elements of the result, the last
    task the rest, and finds its slices by binary search; slices of other tasks among them are masked."""
    apply = _apply_items(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, partitions: int, size: int, count: int, geometry: Any, destination_dtype_tag: np.ndarray,
        values: np.ndarray, value_stride: int, initial: np.ndarray, result: np.ndarray,
    ) -> None:  # fmt: skip
        initialize_partition(task, partitions, size, initial, result)
        destinations, empty = (
            np.empty(BLOCK, destination_dtype_tag.dtype),
            np.empty(0, destination_dtype_tag.dtype),
        )
        first_destination = task * size
        end = first_slice(first_destination + size, count, geometry)
        for first in range(first_slice(first_destination, count, geometry), end, BLOCK):
            block_count = min(BLOCK, end - first)
            locate_slices(first, block_count, geometry, destinations, empty, empty)
            mask_outside(destinations, block_count, first_destination, size)
            apply(block_count, destinations, values, first, value_stride, result)

    return body


@functools.cache
def update_items_in_order(element: str, combiner: str) -> Kernel:
    """Slices of one element, `size` a task."""
    apply = _apply_items(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, size: int, count: int, geometry: Any, destination_dtype_tag: np.ndarray,
        values: np.ndarray, value_stride: int, result: np.ndarray,
    ) -> None:  # fmt: skip
        destinations, empty = (
            np.empty(BLOCK, destination_dtype_tag.dtype),
            np.empty(0, destination_dtype_tag.dtype),
        )
        end = min(count, (task + 1) * size)
        for first in range(task * size, end, BLOCK):
            block_count = min(BLOCK, end - first)
            locate_slices(first, block_count, geometry, destinations, empty, empty)
            apply(block_count, destinations, values, first, value_stride, result)

    return body


def _table_loop(apply: Kernel) -> Kernel:
    """The loop of `update_tables` over a block: `apply(tables, offset, updates, number)` for each, where
    `updates` is an array, or the value of all."""

    @kernel(inline=True)
    def combine_block(
        block_count: int, destinations: np.ndarray, tables: np.ndarray, table_stride: int, updates: Any,
        first: int, next_indices: Any,
    ) -> None:  # fmt: skip
        vector_end = block_count - block_count % PREFETCH_GROUP
        for position in range(0, vector_end, PREFETCH_GROUP):
            prefetch_indices(next_indices, position)
            for number in range(PREFETCH_GROUP):
                offset = np.int64(get(destinations, position + number)) + 1
                offset += number % INTERLEAVED_TABLES * table_stride
                apply(tables, offset, updates, first + position + number)
        for position in range(vector_end, block_count):
            apply(tables, np.int64(get(destinations, position)) + 1, updates, first + position)

    return combine_block


@functools.cache
def update_tables(element: str, combiner: str) -> Kernel:
    """Slices of one element, `size` a task, which has `replicas` tables (1 or INTERLEAVED_TABLES) of `width`
    elements in `tables`: consecutive slices go to different replicas, so that their updates are independent.
    A table begins with an element that takes updates out of bounds, which avoids a branch. `identity` has the
    initial value of the tables."""

    @kernel
    def apply_value(tables: np.ndarray, offset: int, value: Any, _: int) -> None:
        store(element, tables, offset, combine(element, combiner, load(element, tables, offset), value))

    combine_values = _table_loop(_update(element, combiner))
    combine_value = _table_loop(apply_value)

    @kernel(parallel=True)
    def body(
        task: int, size: int, count: int, geometry: Any, destination_dtype_tag: np.ndarray,
        values: np.ndarray, value_stride: int, replicas: int, width: int, identity: np.ndarray,
        tables: np.ndarray,
    ) -> None:  # fmt: skip
        destinations, empty = (
            np.empty(BLOCK, destination_dtype_tag.dtype),
            np.empty(0, destination_dtype_tag.dtype),
        )
        task_tables = tables[task * replicas * width : (task + 1) * replicas * width]
        for offset in range(task_tables.size):
            put(task_tables, offset, get(identity, 0))
        table_stride = width if replicas > 1 else 0
        end = min(count, (task + 1) * size)
        for first in range(task * size, end, BLOCK):
            block_count = min(BLOCK, end - first)
            locate_slices(first, block_count, geometry, destinations, empty, empty)
            next_indices = index_stream(first + BLOCK, geometry)
            if value_stride == 0:
                value = load(element, values, 0)
                combine_value(
                    block_count, destinations, task_tables, table_stride, value, first, next_indices
                )
            else:
                combine_values(
                    block_count, destinations, task_tables, table_stride, values, first, next_indices
                )

    return body


@functools.cache
def combine_tables(element: str, combiner: str) -> Kernel:
    """Combine the first `destination_count` elements of `result` with those of `count` tables of
    `update_tables`; `size` elements a task."""
    apply = _update(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, size: int, destination_count: int, count: int, width: int, tables: np.ndarray,
        result: np.ndarray,
    ) -> None:  # fmt: skip
        for table in range(count):
            for destination in range(task * size, min(destination_count, (task + 1) * size)):
                apply(result, destination, tables, table * width + 1 + destination)

    return body
