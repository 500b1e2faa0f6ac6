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
from .convolution_tasks import are_finite

__all__ = ["Axis", "Numbers", "are_finite", "prepare", "prepare_scaling", "supports"]

Convolution = Callable[[np.ndarray, np.ndarray], np.ndarray]
Writer = Callable[[np.ndarray, np.ndarray, np.ndarray], None]

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


def supports(shapes: Sequence[Sequence[int]], dtype: Any) -> bool:
    """Whether there are loops for lhs, rhs and the result of these shapes, all of this element type."""
    has_elements = all(0 not in shape for shape in shapes)
    few_axes = len(shapes[0]) - 2 < tasks.MOST_AXES
    return has_elements and few_axes and bool(tasks.supports(np.dtype(dtype).name, tasks.best_level()))


def _by_strides(make: Callable[..., Writer], shape: Sequence[int], dtype: np.dtype[Any]) -> Convolution:
    """What `make` makes of operands and result for their strides; what lies in no such way is copied."""
    made: dict[Any, Writer] = {}

    def run(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        lhs, rhs, result = _readable(lhs), _readable(rhs), np.empty(shape, dtype)
        key = lhs.strides, rhs.strides
        write = made.get(key)
        if write is None:
            if len(made) >= _MOST_PLANS:
                made.clear()
            write = made[key] = make(lhs, rhs, result)
        write(lhs, rhs, result)
        return result

    return run


def _readable(array: np.ndarray) -> np.ndarray:
    """The array, or a copy where items lie backwards, upon each other, or not at multiples of their size."""
    flags = array.flags
    lies_well = flags.c_contiguous or all(
        size == 1 or (stride > 0 and stride % array.itemsize == 0)
        for size, stride in zip(array.shape, array.strides, strict=True)
    )
    return array if lies_well and flags.aligned else np.ascontiguousarray(array)


def _steps(array: np.ndarray, dimensions: Sequence[int]) -> list[int]:
    """The strides of these dimensions, in items."""
    return [array.strides[d] // array.itemsize for d in dimensions]


class _Geometry(NamedTuple):
    """Axes of windows in the order in which the result has them in memory: each number among the spatial
    dimensions, -1 for the batch dimension, and (windows, positions, step in the result, places)."""

    numbers: list[int]
    axes: list[tuple[int, int, int, np.ndarray]]
    along: np.ndarray

    @property
    def windows(self) -> int:
        return prod(axis[0] for axis in self.axes)

    @property
    def last(self) -> int:
        """The number of the last axis that has several positions; -1 where there is none."""
        several = [number for number, axis in zip(self.numbers, self.axes, strict=True) if axis[1] > 1]
        return several[-1] if several else -1

    @property
    def inner(self) -> int:
        """How many windows one after another lie equally far apart in the result."""
        step, inner = self.axes[-1][2], 1
        for windows, _, apart, _ in reversed(self.axes):
            if windows > 1 and apart != step * inner:
                break
            inner *= windows
        return inner


def _geometry(
    batch: int, axes: Sequence[Axis], lhs_steps: Sequence[int], result_steps: Sequence[int]
) -> _Geometry:
    found = []
    for number, axis in enumerate((Axis(batch, 1, batch), *axes)):
        step = result_steps[number]
        places = axis.places(lhs_steps[number])
        found.append((axis.windows > 1, -step, number - 1, (axis.windows, axis.window, step, places)))
    found.sort(key=lambda one: one[:3])
    order = [number for _, _, number, _ in found]
    sizes = [axis.window for axis in axes]
    positions = np.indices(sizes).reshape(len(sizes), prod(sizes))
    along = np.zeros((prod(sizes), len(order)), np.int64)
    for column, number in enumerate(order):
        if number >= 0:
            along[:, column] = positions[number]
    return _Geometry(order, [one[3] for one in found], along)


class _Problem(NamedTuple):
    """A convolution, whatever way its arrays lie; `groups` are those of features and of batches."""

    batch: int
    axes: tuple[Axis, ...]
    features: int
    outputs: int
    numbers: Numbers
    groups: tuple[int, int]
    dtype: np.dtype[Any]
    threads: int | None


class _Part(NamedTuple):
    """A convolution of a part of rhs, to a part of the result."""

    problem: _Problem
    rhs: tuple[slice, ...]
    result: tuple[slice, ...]


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
    groups = (feature_group_count, batch_group_count)
    problem = _problem(shapes, axes, numbers, np.dtype(dtype), groups, threads)
    everything = (slice(None),) * len(numbers.lhs)
    whole = _Part(problem, everything, everything)
    parts = _without_holes(whole)

    def make(lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray) -> Writer:
        if parts == [whole] or problem.dtype.kind != "f":
            return _written(parts, lhs, rhs, result)
        made: dict[bool, Writer] = {}

        def write(lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray) -> None:
            # Holes are zeros, which change nothing unless they are multiplied with what is not finite.
            by_parts = are_finite(rhs)
            if by_parts not in made:
                made[by_parts] = _written(parts if by_parts else [whole], lhs, rhs, result)
            made[by_parts](lhs, rhs, result)

        return write

    return _by_strides(make, shapes[2], problem.dtype)


def _problem(
    shapes: Sequence[Sequence[int]],
    axes: Sequence[Axis],
    numbers: Numbers,
    dtype: np.dtype[Any],
    groups: tuple[int, int],
    threads: int | None,
) -> _Problem:
    lhs, rhs, result = shapes
    if not supports(shapes, dtype):
        raise ValueError(f"no loops convolve {dtype}{list(lhs)} with {list(rhs)}")
    features, outputs = (rhs[d] for d in numbers.rhs[-2:])
    batch = result[numbers.result[0]]
    return _Problem(batch, tuple(axes), features, outputs, numbers, groups, dtype, threads)


def _without_holes(whole: _Part) -> list[_Part]:
    """A convolution with base dilation as several without: windows apart by whole holes share positions."""
    parts = [whole]
    for number, axis in enumerate(whole.problem.axes):
        divided = []
        for part in parts:
            for without, positions, windows in _phases(axis):
                axes, rhs, result = list(part.problem.axes), list(part.rhs), list(part.result)
                axes[number] = without
                rhs[part.problem.numbers.rhs[number]] = positions
                result[part.problem.numbers.result[number + 1]] = windows
                divided.append(_Part(part.problem._replace(axes=tuple(axes)), tuple(rhs), tuple(result)))
        parts = divided
    return parts


def _phases(axis: Axis) -> list[tuple[Axis, slice, slice]]:
    """Axes without base dilation, each with its positions in rhs and its windows; some have no positions."""
    dilation = axis.base_dilation
    if dilation == 1:
        return [(axis, slice(None), slice(None))]
    apart = dilation // gcd(axis.stride, dilation)
    between = dilation // gcd(axis.window_dilation, dilation)
    found = []
    for first in range(min(apart, axis.windows)):
        starts = first * axis.stride - axis.low + np.arange(min(between, axis.window)) * axis.window_dilation
        inside = np.flatnonzero(starts % dilation == 0)
        position = int(inside[0]) if len(inside) else axis.window
        positions = range(position, axis.window, between)
        without = Axis(
            axis.size,
            len(positions),
            len(range(first, axis.windows, apart)),
            apart * axis.stride // dilation,
            -(int(starts[position]) // dilation) if positions else 0,
            1,
            between * axis.window_dilation // dilation,
            axis.is_reversed,
        )
        begin, end = (positions[0], positions[-1]) if positions else (0, -1)
        if axis.is_reversed:
            begin, end = axis.window - 1 - end, axis.window - 1 - begin
        chosen = slice(begin, end + 1, between) if positions else slice(0, 0)
        found.append((without, chosen, slice(first, None, apart)))
    return found


def _written(parts: Sequence[_Part], lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray) -> Writer:
    """What writes the parts of a result, for arrays with these strides."""
    empty, made = [], []
    for part in parts:
        if all(axis.window for axis in part.problem.axes):
            parts_of = (rhs, rhs[part.rhs]), (result, result[part.result])
            offsets = [some.ctypes.data - whole.ctypes.data for whole, some in parts_of]
            made.append(_products(part.problem, lhs, rhs[part.rhs], result[part.result], offsets))
        else:
            empty.append(part)
    if len(made) == 1 and not empty:
        return made[0]

    def write(lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray) -> None:
        for part in empty:
            result[part.result] = 0
        for multiply in made:
            multiply(lhs, rhs, result)

    return write


def _products(
    problem: _Problem, lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray, offsets: Sequence[int]
) -> tasks.Products:
    """The products of a part; `offsets`: bytes from the beginnings of rhs and of the result to it."""
    axes, numbers, name, features = problem.axes, problem.numbers, problem.dtype.name, problem.features
    level, groups = tasks.best_level(), max(problem.groups)
    lanes, most = tasks.vectors(name, level)
    columns = problem.outputs // groups
    lhs_steps, rhs_steps = _steps(lhs, numbers.lhs), _steps(rhs, numbers.rhs)
    result_steps = _steps(result, numbers.result)
    geometry = _geometry(problem.batch, axes, lhs_steps, result_steps)
    feature_step, output_step = lhs_steps[-1], result_steps[-1]
    group_step = features * feature_step if problem.groups[1] == 1 else problem.batch * lhs_steps[0]
    windows, positions = geometry.windows, len(geometry.along)
    by_windows = problem.outputs > 1 and output_step > 1
    # Windows of all groups lie so that what is taken for one of them, zeros too, serves for the others.
    is_alike = problem.groups[1] == 1 and (feature_step == 1 or features * groups == 1)
    is_direct = not by_windows and is_alike
    merged = 1
    is_dense = is_direct and groups == 1 and geometry.last == len(axes) - 1 >= 0
    is_dense = is_dense and lhs_steps[-2] == features
    if is_dense and axes[-1].window_dilation == axes[-1].base_dilation == 1:
        merged = axes[-1].window
    terms, has_holes = positions * features, any(axis.base_dilation > 1 for axis in axes)
    part = -(-terms // -(-terms // tasks.PART))
    segments, parts = _segments(terms, part, merged, features)
    inner = geometry.inner if by_windows else 1
    by_groups = groups > columns == 1 and group_step == output_step == rhs_steps[-1] == 1
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
    if by_groups:
        blocks, vectors = -(-windows // tasks.FEW), most
        while vectors > 1 and blocks * groups < _UNITS // 2 * vectors * lanes:
            vectors //= 2
        units = blocks * -(-groups // (vectors * lanes))
    streams = len(parts) == 2 and result.nbytes >= tasks.LARGE
    layout = {
        "terms": (positions, features, has_holes, merged, groups, columns, terms, part, len(parts) - 1),
        "steps": (feature_step, group_step, output_step, geometry.axes[-1][2] if by_windows else 1),
        "factor_steps": rhs_steps[-2:],
        "tiles": (by_windows, by_groups, is_direct, windows, inner, block, rows, vectors, last_vectors),
        "strips": (strips, padded, strip_group, units, streams),
    }
    tables = {
        "along": geometry.along,
        "factor_places": _factor_places(axes, rhs_steps),
        "segments": segments,
        "parts": parts,
    }
    seconds = work / _TERMS_A_SECOND
    return tasks.Products(name, level, geometry.axes, tables, layout, offsets, seconds, problem.threads)


def _segments(terms: int, part: int, merged: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Terms that lie side by side, as (position, skipped features, length), and where parts begin in them."""
    run = merged * features
    begins = np.arange(0, terms, part)
    starts = np.union1d(np.arange(0, terms, run), begins)
    lengths = np.diff(starts, append=terms)
    segments = np.stack([starts // run * merged, starts % run, lengths], 1)
    return segments, np.append(np.searchsorted(starts, begins), len(starts))


def _factor_places(axes: Sequence[Axis], steps: Sequence[int]) -> np.ndarray:
    """Where rhs has the factors of each position."""
    places = np.zeros([axis.window for axis in axes], np.int64)
    for number, (axis, step) in enumerate(zip(axes, steps, strict=False)):
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
    problem = _problem(shapes, axes, numbers, np.dtype(dtype), (1, 1), threads)

    def make(lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray) -> Writer:
        steps = _steps(rhs, numbers.rhs)
        if problem.outputs == 1 or steps[-1] == 1:
            return _scaling(problem, lhs, result, steps)
        ordered = _ordered(rhs, numbers)
        scale = _scaling(problem, lhs, result, _steps(ordered, range(ordered.ndim)))
        return lambda lhs, rhs, result: scale(lhs, _ordered(rhs, numbers), result)

    return _by_strides(make, shapes[2], problem.dtype)


def _ordered(rhs: np.ndarray, numbers: Numbers) -> np.ndarray:
    """A rhs with its output features side by side."""
    return np.ascontiguousarray(rhs.transpose(numbers.rhs))


def _scaling(
    problem: _Problem, lhs: np.ndarray, result: np.ndarray, rhs_steps: Sequence[int]
) -> tasks.Scaling:
    channels, name = problem.outputs, problem.dtype.name
    lhs_steps, result_steps = _steps(lhs, problem.numbers.lhs), _steps(result, problem.numbers.result)
    geometry = _geometry(problem.batch, problem.axes, lhs_steps, result_steps)
    channel_steps = lhs_steps[-1], result_steps[-1]
    by_channels = channels > 1 and channel_steps == (1, 1)
    in_line, positions = geometry.axes[-1][0], len(geometry.along)
    lines = geometry.windows // in_line
    line = geometry.numbers[-1]
    axis = problem.axes[line] if line >= 0 else Axis(in_line, 1, in_line)
    runs, line_places = _runs(axis, lhs_steps[line + 1])
    line_block = max(16, _LINE_ITEMS // channels) if by_channels else _LINE_ITEMS // tasks.LINES
    line_block = min(line_block, in_line)
    channel_block = channels if by_channels else min(channels, tasks.CHANNELS)
    line_blocks, channel_blocks = -(-in_line // line_block), -(-channels // channel_block)
    units = -(-lines // tasks.LINES) * line_blocks * channel_blocks
    streams = positions <= tasks.ENTRIES and result.nbytes >= tasks.LARGE
    layout = {
        "blocks": (channels, lines, line_blocks, line_block, channel_blocks, channel_block),
        "steps": (by_channels, *channel_steps, units, streams),
    }
    tables = {
        "along": geometry.along,
        "line_places": line_places,
        "factor_places": _factor_places(problem.axes, rhs_steps),
        "runs": runs,
    }
    seconds = geometry.windows * channels * (positions + 2) / _SCALED_A_SECOND
    return tasks.Scaling(name, tasks.best_level(), geometry.axes, tables, layout, seconds, problem.threads)


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
