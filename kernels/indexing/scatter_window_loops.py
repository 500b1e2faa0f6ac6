"""The kernel that applies a scatter's updates window by window, where an index places windows. Importing this
module imports Numba."""

import functools
from typing import Any

import numpy as np

from ..launch.compilation import Kernel, kernel
from .scatter_layout import (
    ADDEND,
    BOUND,
    COMPONENT_INPUT_STRIDE,
    INDEX_STRIDE,
    INPUT_STRIDE,
    NUMBER,
    SIZE,
    UPDATE_STRIDE,
    WINDOW_SIZE,
)
from .scatter_locations import index_at
from .scatter_slices import combine_run, combine_short_run, run_lanes


@functools.cache
def update_windows(element: str, combiner: str) -> Kernel:
    """Windows in order. Task t applies the elements of all windows in the t-th `width` coordinates along
    component number `partitioned_component`.

    `slice_space`, `components`, `runs`, `items`, `inner` and `chunk_items` are those of
    `scatter_layout.WindowLayout`, `addresses`, `index_dtype_tag` and `min_index` as in `scatter_locations`.
    """
    vector_items = run_lanes(element)

    @kernel
    def apply_clipped(
        index_vector: Any, low: Any, high: Any, base: int, update_offset: int, runs: Any, items: int,
        inner: int, chunk_items: int, values: np.ndarray, result: np.ndarray,
    ) -> None:  # fmt: skip
        """Apply the elements of a window from `low` to `high` along each component."""
        begin, end = 0, items
        if inner >= 0:
            begin = max(0, low[inner] - index_vector[inner]) * chunk_items
            end = min(items // chunk_items, high[inner] - index_vector[inner]) * chunk_items
        for run in range(runs.shape[0]):
            is_inside = True
            for number in range(index_vector.size):
                coordinate = index_vector[number] + runs[run, 2 + number]
                is_inside &= (number == inner) | ((coordinate >= low[number]) & (coordinate < high[number]))
            if is_inside and begin < end:
                result_start = base + runs[run, 0] + begin
                update_start = update_offset + runs[run, 1] + begin
                combine_run(element, combiner, result, result_start, values, update_start, end - begin)

    @kernel(parallel=True)
    def body(
        task: int, count: int, partitioned_component: int, width: int, slice_space: np.ndarray,
        components: Any, addresses: Any, index_dtype_tag: np.ndarray, min_index: int, runs: Any,
        items: int, inner: int, chunk_items: int, values: np.ndarray, result: np.ndarray,
    ) -> None:  # fmt: skip
        index_vector = np.empty(components.shape[0], np.int64)
        low, high = np.zeros(index_vector.size, np.int64), components[:, BOUND].copy()
        low[partitioned_component] = task * width
        high[partitioned_component] = min(high[partitioned_component], low[partitioned_component] + width)
        length = slice_space[slice_space.shape[0] - 1, SIZE]
        for fiber in range(count // length):
            index, fiber_base, fiber_source, rest = 0, 0, 0, fiber
            for axis in range(slice_space.shape[0] - 2, -1, -1):
                coordinate = rest % slice_space[axis, SIZE]
                rest //= slice_space[axis, SIZE]
                index += coordinate * slice_space[axis, INDEX_STRIDE]
                fiber_base += coordinate * slice_space[axis, INPUT_STRIDE]
                fiber_source += coordinate * slice_space[axis, UPDATE_STRIDE]
            for i in range(length):
                index_offset = index + i * slice_space[slice_space.shape[0] - 1, INDEX_STRIDE]
                base = fiber_base + i * slice_space[slice_space.shape[0] - 1, INPUT_STRIDE]
                update_offset = fiber_source + i * slice_space[slice_space.shape[0] - 1, UPDATE_STRIDE]
                is_inside, is_touched = True, True
                for number in range(index_vector.size):
                    component = components[number]
                    start = index_at(
                        index_dtype_tag, addresses[component[NUMBER]], index_offset, min_index,
                        component[ADDEND],
                    )  # fmt: skip
                    index_vector[number] = start
                    base += start * component[COMPONENT_INPUT_STRIDE]
                    is_inside &= (start >= low[number]) & (start <= high[number] - component[WINDOW_SIZE])
                    is_touched &= (start > low[number] - component[WINDOW_SIZE]) & (start < high[number])
                if is_inside:
                    if items < vector_items:
                        for run in range(runs.shape[0]):
                            offset, first = base + runs[run, 0], update_offset + runs[run, 1]
                            combine_short_run(element, combiner, result, offset, values, first, items)
                    else:
                        for run in range(runs.shape[0]):
                            offset, first = base + runs[run, 0], update_offset + runs[run, 1]
                            combine_run(element, combiner, result, offset, values, first, items)
                elif is_touched:
                    apply_clipped(
                        index_vector, low, high, base, update_offset, runs, items, inner, chunk_items, values,
                        result,
                    )  # fmt: skip

    return body
