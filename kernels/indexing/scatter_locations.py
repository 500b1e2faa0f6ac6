"""Destinations of update slices, block by block. Importing this module imports Numba.

All kernels of scatter take the argument `geometry`, which is constant for a call: a tuple of `slice_space`,
`components` and `clipped_component` (those of `scatter_layout.SliceLayout`), the addresses of the first index
of each component, `index_dtype_tag`, an empty array of the indices' type, the minimum index, and `schedule`,
which numbers the slices unless it is empty. `destination_dtype_tag` is an empty array of the type in which
kernels hold destinations and update offsets: int32 if these fit, else int64.
"""

from typing import Any

import numpy as np

from ..launch.compilation import Kernel, kernel
from ..simd.arithmetic import get, put
from ..simd.block_sizes import CACHE_LINE_BYTES
from ..simd.copy_bytes import item_at, prefetch_read
from .scatter_destinations import accumulate_destinations
from .scatter_layout import (
    ADDEND,
    BOUND,
    CLIPPED_ADDEND,
    CLIPPED_BOUND,
    CLIPPED_NUMBER,
    COMPONENT_INPUT_STRIDE,
    COMPONENT_STRIDES,
    INDEX_STRIDE,
    INPUT_STRIDE,
    MIN_START,
    NUMBER,
    SIZE,
    UPDATE_STRIDE,
)

BLOCK = 1 << 14
"""Slices located at a time: their destinations stay in a core's own caches."""
PREFETCH_GROUP = 16
"""Slices between two calls of `prefetch_indices`: their indices of 32 bits fill a cache line."""


@kernel
def _add_outer_offsets(fiber: int, inner: int, slice_space: np.ndarray, bases: np.ndarray) -> None:
    """Add to `bases` the offsets of the outer coordinates of that fiber of slices."""
    for axis in range(inner - 1, -1, -1):
        outer = fiber // slice_space[axis, SIZE]
        coordinate = fiber - outer * slice_space[axis, SIZE]
        fiber = outer
        for column in range(bases.size):
            bases[column] += coordinate * slice_space[axis, INDEX_STRIDE + column]


@kernel
def index_at(index_dtype_tag: np.ndarray, address: int, offset: int, min_index: int, addend: int) -> Any:
    """An index, with `addend` if it is negative; far out of bounds if it is below `min_index`, as unsigned
    integers above 2**63 are."""
    start = np.int64(item_at(index_dtype_tag, address, offset))
    start = start if start >= min_index else np.int64(-(2**63))
    return start + addend if start < 0 else start


@kernel
def _add_component(
    index_dtype_tag: np.ndarray, address: int, min_index: int, index_base: int, index_stride: int,
    component: Any, window_offset: int, window_stride: int, destinations: np.ndarray, at: int, count: int,
) -> None:  # fmt: skip
    """Add one component of the index vectors to the destinations of one fiber; -1 if it is out of bounds."""
    bound, input_stride, addend = component[BOUND], component[COMPONENT_INPUT_STRIDE], component[ADDEND]
    for i in range(count):
        start = index_at(index_dtype_tag, address, index_base + i * index_stride, min_index, addend)
        start += window_offset + i * window_stride
        destination = np.int64(get(destinations, at + i))
        inside = (start >= 0) & (start < bound) & (destination >= 0)
        put(destinations, at + i, destination + start * input_stride if inside else np.int64(-1))


@kernel
def _clamp_starts(
    index_dtype_tag: np.ndarray, address: int, min_index: int, index_base: int, index_stride: int,
    clipped_component: Any, clamped_starts: np.ndarray, at: int, count: int,
) -> None:  # fmt: skip
    """The starts of the runs of one fiber along the clipped dimension, clamped to the range from the least
    start that matters to the bound."""
    min_start, bound = clipped_component[MIN_START], clipped_component[CLIPPED_BOUND]
    addend = clipped_component[CLIPPED_ADDEND]
    for i in range(count):
        start = index_at(index_dtype_tag, address, index_base + i * index_stride, min_index, addend)
        put(clamped_starts, at + i, min(max(start, min_start), bound))


def _component_kernel(from_base: int) -> Kernel:
    @kernel
    def move(
        index_dtype_tag: np.ndarray, address: int, first: int, index_stride: int, min_index: int,
        window_offset: int, row: Any, base: int, destinations: np.ndarray, at: int, count: int,
    ) -> None:  # fmt: skip
        if index_stride != 1:
            accumulate_destinations(
                64, from_base, index_dtype_tag, address, first, index_stride, min_index, window_offset, row,
                base, destinations, at, count,
            )  # fmt: skip
        elif window_offset == 0 and index_dtype_tag.itemsize <= 4 and destinations.itemsize == 4:
            accumulate_destinations(
                32, from_base, index_dtype_tag, address, first, 1, min_index, window_offset, row, base,
                destinations, at, count,
            )  # fmt: skip
        else:
            accumulate_destinations(
                64, from_base, index_dtype_tag, address, first, 1, min_index, window_offset, row, base,
                destinations, at, count,
            )  # fmt: skip

    return move


_set_destinations = _component_kernel(from_base=1)
"""Write the destinations of one fiber, from `base` and the first component of the index vectors."""
_add_to_destinations = _component_kernel(from_base=0)
"""Add one component of the index vectors to the destinations of one fiber."""


@kernel
def _locate_fiber(
    at: int, count: int, inner: int, bases: np.ndarray, geometry: Any, destinations: np.ndarray,
    update_offsets: np.ndarray, clamped_starts: np.ndarray,
) -> None:  # fmt: skip
    """Destinations, update offsets and clamped starts of `count` slices that differ in the innermost
    coordinate only."""
    slice_space, components, clipped_component, addresses, index_dtype_tag, min_index, _ = geometry
    index_stride, destination_stride = slice_space[inner, INDEX_STRIDE], slice_space[inner, INPUT_STRIDE]
    update_stride = slice_space[inner, UPDATE_STRIDE]
    if update_offsets.size > 0:
        for i in range(count):
            put(update_offsets, at + i, bases[2] + i * update_stride)
    if clamped_starts.size > 0:
        _clamp_starts(
            index_dtype_tag, addresses[clipped_component[CLIPPED_NUMBER]], min_index, bases[0], index_stride,
            clipped_component, clamped_starts, at, count,
        )  # fmt: skip
    rows = components.shape[0]
    from_base = destination_stride == 0 and rows > 0 and slice_space[inner, COMPONENT_STRIDES] == 0
    if not from_base:
        for i in range(count):
            put(destinations, at + i, bases[1] + i * destination_stride)
    for row in range(rows):
        component, address = components[row], addresses[components[row, NUMBER]]
        window_offset, window_stride = bases[3 + row], slice_space[inner, COMPONENT_STRIDES + row]
        if window_stride != 0:
            _add_component(
                index_dtype_tag, address, min_index, bases[0], index_stride, component, window_offset,
                window_stride, destinations, at, count,
            )  # fmt: skip
            continue
        first = bases[0]
        if from_base and row == 0:
            _set_destinations(
                index_dtype_tag, address, first, index_stride, min_index, window_offset, component, bases[1],
                destinations, at, count,
            )  # fmt: skip
        else:
            _add_to_destinations(
                index_dtype_tag, address, first, index_stride, min_index, window_offset, component, 0,
                destinations, at, count,
            )  # fmt: skip


@kernel
def locate_slices(
    first: int, count: int, geometry: Any, destinations: np.ndarray, update_offsets: np.ndarray,
    clamped_starts: np.ndarray,
) -> None:  # fmt: skip
    """Write the destinations of `count` slices from number `first` on, -1 for a slice that is out of bounds.

    Unless the arrays are empty, the update offsets and the clamped starts are written too.
    """
    slice_space, _, _, _, _, _, schedule = geometry
    inner = slice_space.shape[0] - 1
    inner_size = slice_space[inner, SIZE]
    bases = np.empty(slice_space.shape[1] - 1, np.int64)
    done = 0
    while done < count:
        slice_number = first + done
        if schedule.size > 0:
            slice_number = schedule[slice_number]
        fiber = slice_number // inner_size
        coordinate = slice_number - fiber * inner_size
        fiber_count = 1 if schedule.size > 0 else min(inner_size - coordinate, count - done)
        for column in range(bases.size):
            bases[column] = coordinate * slice_space[inner, INDEX_STRIDE + column]
        _add_outer_offsets(fiber, inner, slice_space, bases)
        _locate_fiber(
            done, fiber_count, inner, bases, geometry, destinations, update_offsets, clamped_starts
        )
        done += fiber_count


@kernel
def index_stream(slice_number: int, geometry: Any) -> tuple[int, int]:
    """The address of that slice's first index, and the distance in bytes to the next slice's along the
    innermost dimension; (0, 0) if the slices have no indices. For `prefetch_indices` only: the number may be
    too large, and a schedule is ignored."""
    slice_space, components, _, addresses, index_dtype_tag, _, _ = geometry
    if components.shape[0] == 0:
        return 0, 0
    inner, offset = slice_space.shape[0] - 1, 0
    for axis in range(inner, -1, -1):
        outer = slice_number // slice_space[axis, SIZE]
        offset += (slice_number - outer * slice_space[axis, SIZE]) * slice_space[axis, INDEX_STRIDE]
        slice_number = outer
    address = addresses[components[0, NUMBER]] + offset * index_dtype_tag.itemsize
    return address, slice_space[inner, INDEX_STRIDE] * index_dtype_tag.itemsize


@kernel
def prefetch_indices(stream: Any, position: int) -> None:
    """Prefetch the indices of PREFETCH_GROUP slices, `position` slices after the start of `index_stream`.

    While updates are applied, nothing else requests the indices of the next block: the hardware's prefetchers
    begin only once that block is located.
    """
    address, stride = stream
    begin = address + position * stride
    prefetch_read(begin)
    if stride * PREFETCH_GROUP > CACHE_LINE_BYTES:
        prefetch_read(begin + CACHE_LINE_BYTES)


@kernel
def first_slice(first_destination: int, count: int, geometry: Any) -> int:
    """The number of the first of `count` slices whose destination is `first_destination` or more, if the
    slices are one fiber, moved by one component, with ascending destinations; any number from 0 to `count`
    otherwise."""
    slice_space, components, _, addresses, index_dtype_tag, min_index, _ = geometry
    component, index_stride = components[0], slice_space[0, INDEX_STRIDE]
    address, bound = addresses[component[NUMBER]], -(-first_destination // component[COMPONENT_INPUT_STRIDE])
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        index = np.int64(item_at(index_dtype_tag, address, middle * index_stride))
        # Unsigned indices from 2**63 on are below the minimum index.
        if index >= min_index and (index + component[ADDEND] if index < 0 else index) < bound:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def mask_outside(destinations: np.ndarray, count: int, first: int, width: int) -> None:
    """Replace the first `count` destinations outside of [`first`, `first + width`) by -1."""
    for position in range(count):
        destination = np.int64(get(destinations, position))
        put(
            destinations,
            position,
            destination if (destination >= first) & (destination < first + width) else np.int64(-1),
        )
