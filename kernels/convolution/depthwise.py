"""Plans of depthwise convolutions with any dimension numbers: elements of lhs are scaled and added.

The loops are compiled ahead of time; `convolution_tasks.h` states their summation order, and `planes_tasks.h`
how rows are copied and scaled, and `row_tiles.h` how neighbouring windows share the elements that they read.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import gcd
from typing import Any

import numpy as np

from . import convolution_tasks as tasks
from .axis import Axis
from .convolution import Convolution, Writer, geometry_of, rhs_offsets, strides_of
from .problem import DimensionNumbers, Problem, problem_of
from .work_division import MIN_WORK_ITEMS

__all__ = ["prepare"]

_SCALED_PER_SECOND = 8e9
_ROW_ELEMENTS = 1 << 14
"""Approximate number of result elements of one row that are scaled at a time."""
_MAX_COPIED_ELEMENTS = 1 << 15
"""Maximum elements of planes that a work item copies, unless a row of windows reads more: copies stay in the
L2 cache."""
_MIN_INTERLEAVED_POSITIONS = 16
"""Minimum positions of a window for which copies of contiguous channels pay: copies have no edges, and each
element is read as often. On one thread of a Sapphire Rapids 5x5 and 7x7 windows take 0.5 to 0.9 of the time
of reading lhs itself position by position, 3x3 windows 1.0 to 1.3 of it; tiles of registers
(`row_tiles.h`) take 0.5 to 0.9 of the time of copies."""

_TILED_WINDOWS = (3, 5, 7)
"""The sizes of windows along a row for which `row_tiles.h` has tiles."""
_MAX_TILED_STRIDE = 2
_MIN_TILED_ITEMS = 4
"""Groups of rows of windows from which on work items of tiles have all channels: large planes are read at the
memory's speed then, and small ones are in the caches."""
_TILED_CHANNELS = 64
"""Channels of a work item of tiles, or a multiple, where there are fewer groups of rows."""


def prepare(
    shapes: Sequence[Sequence[int]],
    axes: Sequence[Axis],
    numbers: DimensionNumbers,
    dtype: Any,
    *,
    threads: int | None = None,
) -> Convolution:
    """Prepare a depthwise convolution: each feature of lhs is a group and gives one feature of the result.

    Args:
        shapes: of lhs, rhs and the result.
        axes: the window along each spatial dimension.
        numbers: which dimension of lhs, rhs and the result is which.
        dtype: of both operands and the result; elements of rhs are finite.
        threads: maximum number of threads; None: all.

    Raises:
        ValueError: as `prepare`.
    """
    problem = problem_of(shapes, axes, numbers, np.dtype(dtype), (1, 1), threads)

    def make(lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray) -> Writer:
        planes = _planes(problem, lhs, rhs, result)
        if planes is not None:
            return planes
        strides = strides_of(rhs, numbers.rhs)
        if problem.outputs == 1 or strides[-1] == 1:
            return _scaling(problem, lhs, result, strides)
        contiguous_rhs = _feature_contiguous(rhs, numbers)
        scale = _scaling(problem, lhs, result, strides_of(contiguous_rhs, range(contiguous_rhs.ndim)))
        return lambda lhs, rhs, result: scale(lhs, _feature_contiguous(rhs, numbers), result)

    return tasks.CachedByStrides(make, tuple(shapes[2]), problem.dtype)


def _feature_contiguous(rhs: np.ndarray, numbers: DimensionNumbers) -> np.ndarray:
    """A copy of rhs with contiguous output features."""
    return np.ascontiguousarray(rhs.transpose(numbers.rhs))


def _scaling(
    problem: Problem, lhs: np.ndarray, result: np.ndarray, rhs_strides: Sequence[int]
) -> tasks.Scaling:
    channels, name = problem.outputs, problem.dtype.name
    lhs_strides = strides_of(lhs, problem.numbers.lhs)
    result_strides = strides_of(result, problem.numbers.result)
    geometry = geometry_of(problem.batch, problem.axes, lhs_strides, result_strides)
    channel_strides = lhs_strides[-1], result_strides[-1]
    by_channels = channels > 1 and channel_strides == (1, 1)
    row_length, positions = geometry.axes[-1][0], len(geometry.along)
    rows = geometry.windows // row_length
    row_axis = geometry.numbers[-1]
    axis = problem.axes[row_axis] if row_axis >= 0 else Axis(row_length, 1, row_length)
    is_tiled = by_channels and row_axis >= 0 and _has_tiles(axis, positions, problem.dtype)
    runs, row_offsets = _runs(axis, lhs_strides[row_axis + 1])
    if is_tiled:
        runs = runs[:0]
    row_block = max(16, _ROW_ELEMENTS // channels) if by_channels else _ROW_ELEMENTS // tasks.WINDOW_ROWS
    row_block = min(row_block, row_length)
    row_blocks = -(-row_length // row_block)
    item_rows = tasks.WINDOW_ROWS
    # Threads begin with as many rows each: planes of networks have few.
    if is_tiled and rows > item_rows:
        item_rows = max(1, min(item_rows, rows * row_blocks // MIN_WORK_ITEMS))
    row_items = -(-rows // item_rows) * row_blocks
    channel_block = channels if by_channels else min(channels, tasks.CHANNELS)
    if is_tiled and row_items < _MIN_TILED_ITEMS:
        fewest = -(-channels * row_items // MIN_WORK_ITEMS)
        channel_block = min(channels, -(-fewest // _TILED_CHANNELS) * _TILED_CHANNELS)
    channel_blocks = -(-channels // channel_block)
    work_items = row_items * channel_blocks
    is_nontemporal = positions <= tasks.MAX_ENTRIES and result.nbytes >= tasks.NONTEMPORAL_BYTES
    layout = {
        "blocks": (channels, rows, item_rows, row_blocks, row_block, channel_blocks, channel_block),
        "strides": (by_channels, *channel_strides, work_items, is_nontemporal),
        "tiles": (axis.stride, axis.low, axis.size, lhs_strides[row_axis + 1]) if is_tiled else (0, 0, 0, 0),
    }
    tables = {
        "position_indices": geometry.along,
        "run_offsets": row_offsets,
        "factor_offsets": rhs_offsets(problem.axes, rhs_strides),
        "runs": runs,
    }
    seconds = geometry.windows * channels * (positions + 2) / _SCALED_PER_SECOND
    return tasks.Scaling(name, tasks.best_level(), geometry.axes, tables, layout, seconds, problem.threads)


def _has_tiles(axis: Axis, positions: int, dtype: np.dtype[Any]) -> bool:
    """Whether there are tiles of windows along an axis, for so many positions along all axes."""
    has_dilation = axis.base_dilation > 1 or axis.window_dilation > 1
    has_tiles = axis.window in _TILED_WINDOWS and axis.stride <= _MAX_TILED_STRIDE and dtype.kind == "f"
    return has_tiles and not has_dilation and positions <= tasks.MAX_ENTRIES


def _runs(axis: Axis, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """Runs of windows along an axis that have the same positions inside of lhs.

    Returns:
        (first window, window step, number of windows, stride in lhs) of each run, and the offsets into lhs of
        its first window: [run, position].
    """
    offsets = axis.offsets(stride)
    window_step = axis.base_dilation // gcd(axis.stride, axis.base_dilation)
    lhs_stride = window_step * axis.stride // axis.base_dilation * stride
    runs, run_offsets = [], []
    for phase in range(min(window_step, axis.windows)):
        inside = offsets[phase::window_step] >= 0
        changes = np.flatnonzero((inside[1:] != inside[:-1]).any(1)) + 1
        bounds = [0, *changes.tolist(), len(inside)]
        for begin, end in pairwise(bounds):
            runs.append((phase + begin * window_step, window_step, end - begin, lhs_stride))
            run_offsets.append(offsets[phase + begin * window_step])
    return np.array(runs, np.int64), np.array(run_offsets, np.int64)


def _planes(problem: Problem, lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray) -> tasks.Planes | None:
    """The launch where channels of lhs are planes or contiguous, and so are the result's; None elsewhere."""
    lhs_strides, rhs_strides, result_strides = map(
        strides_of, (lhs, rhs, result), (problem.numbers.lhs, problem.numbers.rhs, problem.numbers.result)
    )
    if len(problem.axes) != 2 or problem.outputs == 1:
        return None
    rows, columns = problem.axes
    positions = rows.window * columns.window
    reads_vectors, stores_vectors = lhs_strides[-1] == 1, result_strides[-1] == 1
    are_planes = reads_vectors or lhs_strides[1:3] == [columns.size, 1]
    are_planes = are_planes and (stores_vectors or result_strides[1:3] == [columns.windows, 1])
    is_interleaved = reads_vectors and stores_vectors
    if is_interleaved:
        has_tiles = _has_tiles(columns, positions, problem.dtype)
        are_planes = positions >= _MIN_INTERLEAVED_POSITIONS and not has_tiles
    has_windows = all(axis.base_dilation == 1 and axis.low >= 0 for axis in problem.axes)
    if not (are_planes and has_windows and positions <= tasks.MAX_ENTRIES):
        return None
    lanes = tasks.tile_shape(problem.dtype.name, tasks.best_level())[0]
    vectors = -(-problem.outputs // lanes)
    pitch = _read_elements(columns, columns.windows)
    # Without copies a row of contiguous channels is divided.
    reads_long_rows = rows.window_dilation > 1 or is_interleaved
    copies_too_much = reads_long_rows and _read_elements(rows, 1) * pitch * lanes > _MAX_COPIED_ELEMENTS
    # Where one array has planes and the other one contiguous channels, no other loop has vectors.
    fills_few_lanes = reads_vectors == stores_vectors and 2 * problem.outputs <= vectors * lanes
    if fills_few_lanes or copies_too_much:
        return None
    channel_blocks = problem.batch * vectors
    wanted_blocks = max(1, MIN_WORK_ITEMS // channel_blocks)
    block = min(rows.windows, -(-rows.windows // wanted_blocks))
    while block > 1 and _read_elements(rows, block) * pitch * lanes > _MAX_COPIED_ELEMENTS:
        block = -(-block // 2)
    offsets = np.add.outer(
        np.arange(rows.window) * rows.window_dilation * pitch,
        np.arange(columns.window) * columns.window_dilation,
    )
    layout = {
        "sizes": (problem.batch, problem.outputs, rows.size, columns.size, rows.windows, columns.windows),
        "windows": (rows.low, columns.low, rows.stride, columns.stride),
        "lhs_strides": lhs_strides,
        "result_strides": result_strides,
        "stores": (rhs_strides[-1], result.nbytes >= tasks.NONTEMPORAL_BYTES),
        "blocks": (block, _read_elements(rows, block), pitch),
    }
    tables = {"copy_offsets": offsets.ravel(), "factor_offsets": rhs_offsets(problem.axes, rhs_strides)}
    seconds = result.size * (positions + 2) / _SCALED_PER_SECOND
    return tasks.Planes(problem.dtype.name, tasks.best_level(), tables, layout, seconds, problem.threads)


def _read_elements(axis: Axis, windows: int) -> int:
    """The elements along an axis, padding included, that consecutive windows read."""
    return (windows - 1) * axis.stride + (axis.window - 1) * axis.window_dilation + 1
