"""Convolutions, for any order of dimensions: products of windows with rhs, and scaled elements.

The loops are compiled ahead of time; `convolution_tasks.h` states the order in which they add terms. Here is
decided what they do: which side of a product windows are, how work is divided, and where elements lie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import gcd, prod
from typing import Any, NamedTuple

import numpy as np

from . import convolution_tasks as tasks

__all__ = ["Axis", "Numbers", "prepare", "prepare_scaling", "supports"]

Convolution = Callable[[np.ndarray, np.ndarray], np.ndarray]

_UNITS = 16
"""So many units, or more, are made of work that is worth them."""
_UNIT_TERMS = 1 << 20
"""Least terms of a unit for which work is divided further."""
_TERMS_A_SECOND = 3e10
_SCALED_A_SECOND = 8e9
_LINE_ITEMS = 1 << 14
"""Items of the windows of a line that are scaled at a time, about."""
_MOST_PLANS = 8
"""Plans that are kept, one for each strides of operands."""


class Axis(NamedTuple):
    """One spatial dimension of lhs, and how windows lie along it; `windows` is how many there are."""

    size: int
    window: int
    windows: int
    stride: int = 1
    low: int = 0
    base_dilation: int = 1
    window_dilation: int = 1
    is_reversed: bool = False

    def places(self, step: int) -> np.ndarray:
        """Where the windows have their elements, `step` apart, OUTSIDE in the padding: [window, position]."""
        starts = np.arange(self.windows)[:, np.newaxis] * self.stride - self.low
        positions = np.arange(self.window) * self.window_dilation
        elements, holes = np.divmod(starts + positions, self.base_dilation)
        inside = (holes == 0) & (elements >= 0) & (elements < self.size)
        return np.where(inside, elements * step, tasks.OUTSIDE)


class Numbers(NamedTuple):
    """Dimensions of lhs and of the result as (batch, spatial..., feature), of rhs as (spatial..., input
    feature, output feature)."""

    lhs: Sequence[int]
    rhs: Sequence[int]
    result: Sequence[int]


def supports(dtype: Any) -> bool:
    """Whether there are loops for this element type, which lhs, rhs and the result must have."""
    return bool(tasks.supports(np.dtype(dtype).name, tasks.best_level()))


def _by_strides(
    make: Callable[[tuple[int, ...], tuple[int, ...]], Convolution], dtype: np.dtype[Any]
) -> Convolution:
    """What `make` makes for the strides of operands, in items; what lies in no such way is copied."""
    made: dict[Any, Convolution] = {}

    def run(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        lhs, rhs = _readable(lhs), _readable(rhs)
        key = lhs.strides, rhs.strides
        found = made.get(key)
        if found is None:
            if len(made) >= _MOST_PLANS:
                made.clear()
            steps = [tuple([stride // dtype.itemsize for stride in strides]) for strides in key]
            found = made[key] = make(steps[0], steps[1])
        return found(lhs, rhs)

    return run


def _readable(array: np.ndarray) -> np.ndarray:
    """The array, or a copy where elements lie backwards or not at multiples of their size."""
    if all(stride >= 0 and stride % array.itemsize == 0 for stride in array.strides) and array.flags.aligned:
        return array
    return np.ascontiguousarray(array)


def _steps_of(shape: Sequence[int]) -> list[int]:
    """The strides of a contiguous array, in items."""
    return [prod(shape[number + 1 :]) for number in range(len(shape))]


class _Geometry(NamedTuple):
    """Axes of windows in the order in which the result has them in memory: each number among the spatial
    dimensions, -1 for the batch dimension, and (windows, positions, step in the result, places)."""

    numbers: list[int]
    axes: list[tuple[int, int, int, np.ndarray]]
    along: np.ndarray

    @property
    def windows(self) -> int:
        return prod(axis[0] for axis in self.axes)


def _geometry(
    batch: int, axes: Sequence[Axis], numbers: Numbers, lhs_steps: Sequence[int], result_steps: Sequence[int]
) -> _Geometry:
    found = []
    for number, axis in enumerate((Axis(batch, 1, batch), *axes), -1):
        places = axis.places(lhs_steps[numbers.lhs[number + 1]])
        step = result_steps[numbers.result[number + 1]]
        found.append((axis.windows > 1, -step, number, (axis.windows, axis.window, step, places)))
    found.sort(key=lambda one: one[:3])
    order = [number for _, _, number, _ in found]
    sizes = [axis.window for axis in axes]
    positions = np.indices(sizes).reshape(len(sizes), prod(sizes))
    along = np.zeros((prod(sizes), len(order)), np.int64)
    for column, number in enumerate(order):
        if number >= 0:
            along[:, column] = positions[number]
    return _Geometry(order, [one[3] for one in found], along)


def prepare(
    shapes: Sequence[Sequence[int]],
    axes: Sequence[Axis],
    numbers: Numbers,
    dtype: Any,
    *,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    threads: int | None = None,
) -> Convolution:
    """A function of lhs and rhs that convolves them: products of windows with rhs.

    Args:
        shapes: of lhs, rhs and the result.
        axes: the spatial dimensions of lhs.
        numbers: what the dimensions are.
        dtype: the element type of all.
        feature_group_count, batch_group_count: as in the specification.
        threads: most threads to use; None: all.

    Raises ValueError where there are no loops. Source: the specification's section on convolution.
    """
    dtype = np.dtype(dtype)
    if not supports(dtype) or 0 in shapes[1] or 0 in shapes[2] or len(axes) >= tasks.MOST_AXES:
        raise ValueError(f"no loops convolve {dtype}{list(shapes[0])} with {list(shapes[1])}")
    groups = feature_group_count, batch_group_count
    return _by_strides(
        lambda lhs, rhs: _products(shapes, axes, numbers, dtype.name, groups, threads, lhs, rhs), dtype
    )


def _products(
    shapes: Sequence[Sequence[int]],
    axes: Sequence[Axis],
    numbers: Numbers,
    name: str,
    counts: tuple[int, int],
    threads: int | None,
    lhs_steps: Sequence[int],
    rhs_steps: Sequence[int],
) -> Convolution:
    lhs_shape, rhs_shape, result_shape = shapes
    level, groups = tasks.best_level(), max(counts)
    lanes, most = tasks.vectors(name, level)
    features, columns = rhs_shape[numbers.rhs[-2]], rhs_shape[numbers.rhs[-1]] // groups
    result_steps = _steps_of(result_shape)
    batch = lhs_shape[numbers.lhs[0]] // counts[1]
    geometry = _geometry(batch, axes, numbers, lhs_steps, result_steps)
    feature_step, output_step = lhs_steps[numbers.lhs[-1]], result_steps[numbers.result[-1]]
    group_step = features * feature_step if counts[1] == 1 else batch * lhs_steps[numbers.lhs[0]]
    windows, positions = geometry.windows, len(geometry.along)
    by_windows = output_step > 1
    # Windows of all groups lie so that what is taken for one of them, zeros too, serves for the others.
    is_direct = not by_windows and counts[1] == 1 and (feature_step == 1 or features * groups == 1)
    merged = 1
    if is_direct and groups == 1 and axes:
        is_dense = axes[-1].window_dilation == axes[-1].base_dilation == 1
        merged = axes[-1].window if is_dense and lhs_steps[numbers.lhs[-2]] == features else 1
    terms = positions * features
    segments, parts = _segments(terms, merged, features)
    inner = prod(result_shape[numbers.result[-1] + 1 :]) if by_windows else 1
    vectors = min(most, -(-(inner if by_windows else columns) // lanes))
    rows = 6 if vectors == most else 8
    if by_windows:
        strips, last_vectors, block = -(-columns // rows), vectors, vectors * lanes
        padded, blocks = strips * rows, windows // inner * -(-inner // block)
    else:
        strips = -(-columns // (vectors * lanes))
        last_vectors = -(-(columns - (strips - 1) * vectors * lanes) // lanes)
        padded = ((strips - 1) * vectors + last_vectors) * lanes
        block = tasks.BLOCK if windows > tasks.BLOCK * _UNITS else tasks.BLOCK // 2
        blocks = -(-windows // block)
    work = windows * columns * groups * terms
    across = max(1, min(groups * strips, min(_UNITS, work // _UNIT_TERMS) // blocks))
    strip_group = -(-groups * strips // across)
    units = blocks * -(-groups * strips // strip_group)
    layout = {
        "terms": (positions, features, merged, groups, columns, terms, len(parts) - 1),
        "steps": (feature_step, group_step, output_step, *[rhs_steps[d] for d in numbers.rhs[-2:]]),
        "tiles": (by_windows, is_direct, windows, inner, block, rows, vectors, last_vectors),
        "strips": (strips, padded, strip_group, units),
    }
    tables = {
        "along": geometry.along,
        "factor_places": _factor_places(axes, [rhs_steps[d] for d in numbers.rhs[:-2]]),
        "segments": segments,
        "parts": parts,
    }
    return tasks.Products(
        name, level, geometry.axes, tables, layout, result_shape, work / _TERMS_A_SECOND, threads
    )


def _segments(terms: int, merged: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Terms that lie side by side, as (position, skipped features, length), and where parts begin in them."""
    run = merged * features
    starts = np.unique(np.concatenate([np.arange(0, terms, run), np.arange(0, terms, tasks.PART)]))
    lengths = np.diff(starts, append=terms)
    segments = np.stack([starts // run * merged, starts % run, lengths], 1)
    return segments, np.append(np.searchsorted(starts, np.arange(0, terms, tasks.PART)), len(starts))


def _factor_places(axes: Sequence[Axis], steps: Sequence[int]) -> np.ndarray:
    """Where rhs has the factors of each position."""
    places = np.zeros([axis.window for axis in axes], np.int64)
    for number, (axis, step) in enumerate(zip(axes, steps, strict=True)):
        along = np.arange(axis.window)[:: -1 if axis.is_reversed else 1] * step
        places += along.reshape([-1 if other == number else 1 for other in range(len(axes))])
    return places.reshape(-1)


def prepare_scaling(
    shapes: Sequence[Sequence[int]],
    axes: Sequence[Axis],
    numbers: Numbers,
    dtype: Any,
    *,
    threads: int | None = None,
) -> Convolution:
    """The same where each feature of lhs is a group, which has one feature of the result; rhs is finite.

    Arguments and errors as of `prepare`.
    """
    dtype = np.dtype(dtype)
    if not supports(dtype) or 0 in shapes[1] or 0 in shapes[2] or len(axes) >= tasks.MOST_AXES:
        raise ValueError(f"no loops convolve {dtype}{list(shapes[0])} with {list(shapes[1])}")
    reversals = tuple([slice(None, None, -1 if axis.is_reversed else 1) for axis in axes])
    channels = shapes[1][numbers.rhs[-1]]

    def make(lhs_steps: Sequence[int], rhs_steps: Sequence[int]) -> Convolution:
        scale = _scaling(shapes, axes, numbers, dtype.name, threads, lhs_steps)

        def run(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
            factors = rhs.transpose(numbers.rhs)[reversals]
            return scale(lhs, np.ascontiguousarray(factors).reshape(-1, channels))

        return run

    return _by_strides(make, dtype)


def _scaling(
    shapes: Sequence[Sequence[int]],
    axes: Sequence[Axis],
    numbers: Numbers,
    name: str,
    threads: int | None,
    lhs_steps: Sequence[int],
) -> Convolution:
    lhs_shape, rhs_shape, result_shape = shapes
    channels = rhs_shape[numbers.rhs[-1]]
    result_steps = _steps_of(result_shape)
    geometry = _geometry(lhs_shape[numbers.lhs[0]], axes, numbers, lhs_steps, result_steps)
    channel_steps = lhs_steps[numbers.lhs[-1]], result_steps[numbers.result[-1]]
    by_channels = channels > 1 and channel_steps == (1, 1)
    in_line, positions = geometry.axes[-1][0], len(geometry.along)
    lines = geometry.windows // in_line
    line = geometry.numbers[-1]
    axis = axes[line] if line >= 0 else Axis(in_line, 1, in_line)
    runs, line_places = _runs(axis, lhs_steps[numbers.lhs[line + 1]])
    line_block = max(16, _LINE_ITEMS // channels) if by_channels else _LINE_ITEMS // tasks.LINES
    line_block = min(line_block, in_line)
    channel_block = channels if by_channels else min(channels, tasks.CHANNELS)
    line_blocks, channel_blocks = -(-in_line // line_block), -(-channels // channel_block)
    units = -(-lines // tasks.LINES) * line_blocks * channel_blocks
    layout = {
        "blocks": (channels, lines, line_blocks, line_block, channel_blocks, channel_block),
        "steps": (by_channels, *channel_steps, units),
    }
    tables = {"along": geometry.along, "line_places": line_places, "runs": runs}
    seconds = geometry.windows * channels * (positions + 2) / _SCALED_A_SECOND
    return tasks.Scaling(
        name, tasks.best_level(), geometry.axes, tables, layout, result_shape, seconds, threads
    )


def _runs(axis: Axis, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Windows along an axis that have the same positions inside of lhs.

    Returns:
        (first window, from one to the next, how many, from one to the next in lhs) of each run, and the
        places of the first window: [run, position].
    """
    places = axis.places(step)
    apart = axis.base_dilation // gcd(axis.stride, axis.base_dilation)
    lhs_step = apart * axis.stride // axis.base_dilation * step
    runs, kept = [], []
    for phase in range(min(apart, axis.windows)):
        inside = places[phase::apart] >= 0
        changes = np.flatnonzero((inside[1:] != inside[:-1]).any(1)) + 1
        bounds = [0, *changes.tolist(), len(inside)]
        for begin, end in pairwise(bounds):
            runs.append((phase + begin * apart, apart, end - begin, lhs_step))
            kept.append(places[phase + begin * apart])
    return np.array(runs, np.int64), np.array(kept, np.int64)
