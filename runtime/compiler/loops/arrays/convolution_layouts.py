"""How the code of a small convolution goes through its arrays: the dimension of vectors, tiles, and copies.

All offsets and strides count elements.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

from ....kernels.convolution.axis import Axis, phases
from ....kernels.named_tuples import NamedTuple
from ....program.ir.affine import row_major_strides
from ....program.ops.reduction.window_geometry import overlap

_MAX_ROWS = 8
"""Maximum rows of a tile: rows share the elements of the operand that does not vary from row to row."""
_COPIED_ELEMENT = 1.5
"""What copying an element that has no contiguous neighbours costs, in vectors of multiply-adds."""


class LoopDimension(NamedTuple):
    """A dimension of the result: its size, and the strides along it in lhs, rhs and the result."""

    size: int
    lhs: int
    rhs: int
    result: int

    @property
    def strides(self) -> tuple[int, int, int]:
        return self.lhs, self.rhs, self.result


class LhsStrides(NamedTuple):
    """The strides of lhs."""

    batch: int
    group: int
    feature: int
    spatial: tuple[int, ...]


class RhsStrides(NamedTuple):
    """The offset of the first factor that is used, and the strides of rhs: positive, negative if reversed."""

    first: int
    group: int
    output: int
    feature: int
    spatial: tuple[int, ...]


class ResultStrides(NamedTuple):
    """The offset of the first element that is computed, and the strides of the result."""

    first: int
    batch: int
    group: int
    output: int
    spatial: tuple[int, ...]


class Problem(NamedTuple):
    """A convolution, or a subproblem that computes a slice of its result from a slice of rhs.

    Attributes:
        axes: the windows along each spatial dimension.
        batch, groups, outputs, features: the sizes of a group, and the number of groups.
        itemsize: bytes of a number that is added.
        registers: bytes of all vector registers.
    """

    axes: tuple[Axis, ...]
    batch: int
    groups: int
    outputs: int
    features: int
    lhs: LhsStrides
    rhs: RhsStrides
    result: ResultStrides
    itemsize: int
    registers: int

    @property
    def terms(self) -> int:
        """The number of products of a sum."""
        return self.features * math.prod([axis.window for axis in self.axes])

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the result: batches, groups, output features, windows."""
        return self.batch, self.groups, self.outputs, *[axis.windows for axis in self.axes]


def problem_of(
    axes: Sequence[Axis],
    groups: tuple[int, int],
    shapes: tuple[Sequence[int], Sequence[int], Sequence[int]],
    dimensions: tuple[Sequence[int], Sequence[int], Sequence[int]],
    itemsize: int,
    registers: int,
) -> Problem:
    """The problem of a convolution.

    Args:
        groups: of features, and of batches.
        shapes: of lhs, rhs and the result.
        dimensions: of lhs and the result (batch, spatial..., feature), of rhs (spatial..., input feature,
            output feature).
    """
    lhs, rhs, result = [
        [row_major_strides(shape)[d] for d in dims] for shape, dims in zip(shapes, dimensions, strict=True)
    ]
    count = max(groups)
    batch = shapes[2][dimensions[2][0]]
    features, outputs = [shapes[1][d] for d in dimensions[1][-2:]]
    outputs //= count
    group_stride = features * lhs[-1] if groups[1] == 1 else batch * lhs[0]
    return Problem(
        tuple(axes),
        batch,
        count,
        outputs,
        features,
        LhsStrides(lhs[0], group_stride, lhs[-1], tuple(lhs[1:-1])),
        _reversed(RhsStrides(0, outputs * rhs[-1], rhs[-1], rhs[-2], tuple(rhs[:-2])), axes),
        ResultStrides(0, result[0], outputs * result[-1], result[-1], tuple(result[1:-1])),
        itemsize,
        registers,
    )


def _reversed(rhs: RhsStrides, axes: Sequence[Axis]) -> RhsStrides:
    """The strides of factors whose first position along a reversed axis is the last one in rhs."""
    first, spatial = rhs.first, list(rhs.spatial)
    for number, axis in enumerate(axes):
        if axis.is_reversed:
            first += (axis.window - 1) * spatial[number]
            spatial[number] = -spatial[number]
    return rhs._replace(first=first, spatial=tuple(spatial))


def undilated(problem: Problem) -> list[Problem]:
    """Convolutions without base dilation, each of which computes some windows of a convolution."""
    split = [phases(axis) for axis in problem.axes]
    return [_of_phases(problem, chosen) for chosen in itertools.product(*split)]


def _of_phases(problem: Problem, chosen: Sequence[tuple[Axis, slice, slice]]) -> Problem:
    rhs, result = problem.rhs, problem.result
    rhs_first, result_first = rhs.first, result.first
    rhs_spatial, result_spatial = list(rhs.spatial), list(result.spatial)
    for number, (axis, positions, windows) in enumerate(chosen):
        before = problem.axes[number]
        if before.base_dilation == 1:
            continue
        # `phases` gives the slice of rhs as it lies in memory, the stride along it is that of its positions.
        first, *_ = range(before.window)[positions] or (0,)
        if axis.is_reversed and axis.window:
            first = before.window - 1 - range(before.window)[positions][-1]
        rhs_first += first * rhs_spatial[number]
        rhs_spatial[number] *= positions.step or 1
        result_first += (windows.start or 0) * result_spatial[number]
        result_spatial[number] *= windows.step or 1
    return problem._replace(
        axes=tuple([axis for axis, _, _ in chosen]),
        rhs=rhs._replace(first=rhs_first, spatial=tuple(rhs_spatial)),
        result=result._replace(first=result_first, spatial=tuple(result_spatial)),
    )


class Box(NamedTuple):
    """Elements that are copied: their sizes, and the offsets and strides of the copy and of the source."""

    sizes: tuple[int, ...]
    target_first: int
    target: tuple[int, ...]
    source_first: int
    source: tuple[int, ...]


class Copy(NamedTuple):
    """A copy of an operand: its size, and the boxes that are copied; other elements are zeros."""

    size: int
    boxes: tuple[Box, ...]

    @property
    def has_zeros(self) -> bool:
        return sum([math.prod(box.sizes) for box in self.boxes]) < self.size

    @property
    def cost(self) -> float:
        """About how long copying takes, in elements that are copied one by one."""
        return sum([math.prod(box.sizes) / _contiguous(box) for box in self.boxes]) + self.size / 16


def _contiguous(box: Box) -> int:
    """How many elements of a box are copied together: at most 16, a vector."""
    together = 1
    for size, target, source in reversed(list(zip(box.sizes, box.target, box.source, strict=True))):
        if size == 1:
            continue
        if not target == source == together:
            break
        together *= size
    return min(together, 16)


class Lhs(NamedTuple):
    """Where the windows of lhs lie.

    Attributes:
        first: the offset of the first element of the first window.
        batch, group, windows: the strides from window to window.
        terms: the offsets in a window of each position along each axis, and of each feature.
        copy: the copy in which they lie; None: lhs itself.
    """

    first: int
    batch: int
    group: int
    windows: tuple[int, ...]
    terms: tuple[Sequence[int], ...]
    copy: Copy | None


class Rhs(NamedTuple):
    """Where factors lie; attributes as of `Lhs`."""

    first: int
    group: int
    output: int
    terms: tuple[Sequence[int], ...]
    copy: Copy | None


class Layout(NamedTuple):
    """How the code goes through the arrays.

    Attributes:
        lane, lanes: the dimension of vectors, and the elements of a vector.
        row, rows: the dimension of the rows of a tile, each of which has a vector of sums; and their number.
        outer: the dimensions of the loops around tiles.
        lhs, rhs: where windows and factors lie.
    """

    lane: LoopDimension
    lanes: int
    row: LoopDimension
    rows: int
    outer: tuple[LoopDimension, ...]
    lhs: Lhs
    rhs: Rhs

    @property
    def copies(self) -> list[Copy]:
        """The copies of operands."""
        return [copy for copy in (self.lhs.copy, self.rhs.copy) if copy is not None]

    @property
    def terms(self) -> tuple[list[int], list[int]]:
        """The offsets in lhs and rhs of the factors of each product of a sum, in order."""
        return _sums(self.lhs.terms), _sums(self.rhs.terms)


def _sums(offsets: Sequence[Sequence[int]]) -> list[int]:
    """The sums of one offset of each list, row-major."""
    return [sum(chosen) for chosen in itertools.product(*offsets)]


_BATCH, _GROUP, _OUTPUT, _WINDOWS = range(4)
"""The numbers of the dimensions in `Problem.sizes`; the axes follow the last one."""


@functools.lru_cache(1 << 8)
def layout_of(problem: Problem) -> Layout:
    """The layout for which the estimated time is least."""
    numbers = [number for number, size in enumerate(problem.sizes) if size > 1] or [_OUTPUT]
    layouts = []
    for lane in numbers:
        lhs, rhs = _lhs_for(problem, lane), _rhs_for(problem, lane)
        loops = _loops(problem, lhs, rhs)
        rows = [number for number in numbers if number != lane] or [_BATCH if lane != _BATCH else _GROUP]
        layouts += [_layout(problem, (lhs, rhs), loops, (lane, row)) for row in rows]
    return min(layouts, key=lambda layout: _cost(problem, layout))


def _loops(problem: Problem, lhs: Lhs, rhs: Rhs) -> list[LoopDimension]:
    """The dimensions of the result."""
    result = problem.result
    return [
        LoopDimension(problem.batch, lhs.batch, 0, result.batch),
        LoopDimension(problem.groups, lhs.group, rhs.group, result.group),
        LoopDimension(problem.outputs, 0, rhs.output, result.output),
        *[
            LoopDimension(axis.windows, stride, 0, result_stride)
            for axis, stride, result_stride in zip(problem.axes, lhs.windows, result.spatial, strict=True)
        ],
    ]


def _layout(
    problem: Problem, operands: tuple[Lhs, Rhs], loops: Sequence[LoopDimension], chosen: tuple[int, int]
) -> Layout:
    """The layout with these dimensions of lanes and rows."""
    lane, row = [loops[number] for number in chosen]
    lanes, rows = _tile(problem, lane.size, row.size)
    outer = [loop for number, loop in enumerate(loops) if number not in chosen and loop.size > 1]
    return Layout(lane, lanes, row, rows, tuple(outer), *operands)


def _tile(problem: Problem, lane_size: int, row_size: int) -> tuple[int, int]:
    """The lanes and the rows of a tile, whose sums take half of the registers at most."""
    items = problem.registers // 2 // problem.itemsize
    rows = min(range(1, _MAX_ROWS + 1), key=lambda rows: -(-row_size // rows) * (rows + 1))
    vector = _vector(problem)
    sizes = [1 << k for k in range(items.bit_length()) if 1 << k <= min(lane_size, items // rows)]
    lanes = min(reversed(sizes), key=lambda lanes: -(-lane_size // lanes) * (-(-lanes // vector) + 1))
    return lanes, rows


def _vector(problem: Problem) -> int:
    """The items of a vector of the processor, of which it has 32; or of half of one, if it has 16."""
    return problem.registers // 32 // problem.itemsize


def _cost(problem: Problem, layout: Layout) -> float:
    """About how long a convolution takes, in vectors of multiply-adds."""
    lane, row, lanes, rows = layout.lane, layout.row, layout.lanes, layout.rows
    vectors = -(-lanes // _vector(problem))
    tiles = -(-lane.size // lanes) * -(-row.size // rows) * math.prod([loop.size for loop in layout.outer])
    loads = [
        (vectors if along_lanes else 1) * (rows if along_rows else 1)
        for along_lanes, along_rows in ((lane.lhs, row.lhs), (lane.rhs, row.rhs))
    ]
    stores = rows * (vectors if lane.result == 1 or lanes == 1 else _COPIED_ELEMENT * lanes)
    copies = _COPIED_ELEMENT * sum([copy.cost for copy in layout.copies])
    return tiles * (problem.terms * (rows * vectors + sum(loads) / 2 + 1) + stores) + copies


def _lhs_for(problem: Problem, lane: int) -> Lhs:
    """The windows of lhs itself if nothing is padded and lanes are contiguous; in a copy otherwise."""
    lhs, axes = problem.lhs, problem.axes
    is_inside = all(
        axis.base_dilation == 1 and axis.low <= 0 and _extent(axis) - axis.low <= axis.size for axis in axes
    )
    windows = tuple([axis.stride * stride for axis, stride in zip(axes, lhs.spatial, strict=True)])
    lane_stride = (lhs.batch, lhs.group, 0, *windows)[lane]
    if not is_inside or (problem.sizes[lane] > 1 and lane_stride not in (0, 1)):
        return _padded(problem, lane)
    first = sum([-axis.low * stride for axis, stride in zip(axes, lhs.spatial, strict=True)])
    positions = [
        _multiples(axis.window, axis.window_dilation * stride)
        for axis, stride in zip(axes, lhs.spatial, strict=True)
    ]
    terms = *positions, _multiples(problem.features, lhs.feature)
    return Lhs(first, lhs.batch, lhs.group, windows, terms, None)


def _multiples(count: int, stride: int) -> list[int]:
    """The offsets of elements that are `stride` apart."""
    return [index * stride for index in range(count)]


def _extent(axis: Axis) -> int:
    """The elements that the windows along an axis read, with padding and holes."""
    return (axis.windows - 1) * axis.stride + (axis.window - 1) * axis.window_dilation + 1


class _CopyDimensions(NamedTuple):
    """The dimensions of a copy of lhs: batches, groups, features, phases of each axis, and elements of each.

    An axis has `stride` phases if its windows are lanes, and one otherwise. A phase is each `stride`th
    element, so that the elements that neighbouring windows have at one position are contiguous.
    """

    sizes: list[int]
    strides: list[int]
    rank: int

    @property
    def phases(self) -> list[tuple[int, int]]:
        """The number of phases of each axis, and the stride from one to the next."""
        begin, end = 3, 3 + self.rank
        return list(zip(self.sizes[begin:end], self.strides[begin:end], strict=True))

    @property
    def elements(self) -> list[tuple[int, int]]:
        """The number of elements of a phase of each axis, and their stride."""
        begin = 3 + self.rank
        return list(zip(self.sizes[begin:], self.strides[begin:], strict=True))


def _copy_dimensions(problem: Problem, lane: int) -> _CopyDimensions:
    """The dimensions of a copy of lhs in which lanes are contiguous."""
    axes = problem.axes
    steps = [axis.stride if lane == _WINDOWS + number else 1 for number, axis in enumerate(axes)]
    lengths = [-(-_extent(axis) // step) for axis, step in zip(axes, steps, strict=True)]
    sizes = [problem.batch, problem.groups, problem.features, *steps, *lengths]
    last = {_BATCH: 0, _GROUP: 1, _OUTPUT: len(sizes) - 1}.get(lane, 3 + len(axes) + lane - _WINDOWS)
    return _CopyDimensions(sizes, _strides_with_last(sizes, last), len(axes))


def _strides_with_last(sizes: Sequence[int], last: int) -> list[int]:
    """The strides of an array of these sizes in which the dimension `last` is contiguous."""
    order = [*[number for number in range(len(sizes)) if number != last], last]
    strides = dict(zip(order, row_major_strides([sizes[number] for number in order]), strict=True))
    return [strides[number] for number in range(len(sizes))]


def _padded(problem: Problem, lane: int) -> Lhs:
    """The windows in a copy of lhs with zeros around it, in which the elements of lanes are contiguous."""
    axes, dimensions = problem.axes, _copy_dimensions(problem, lane)
    batch, group, feature = dimensions.strides[:3]
    windows, positions = [], []
    for axis, (step, phase), (_, stride) in zip(axes, dimensions.phases, dimensions.elements, strict=True):
        windows.append(axis.stride // step * stride)
        indices = _multiples(axis.window, axis.window_dilation)
        positions.append([index % step * phase + index // step * stride for index in indices])
    copied = Copy(math.prod(dimensions.sizes), tuple(_boxes(problem, dimensions)))
    terms = *positions, _multiples(problem.features, feature)
    return Lhs(0, batch, group, tuple(windows), terms, copied)


def _boxes(problem: Problem, dimensions: _CopyDimensions) -> list[Box]:
    """The elements of each phase of a copy of lhs that lie in lhs."""
    boxes = []
    for chosen in itertools.product(*[range(step) for step, _ in dimensions.phases]):
        spans = [
            overlap(length, step, phase - axis.low, axis.size, axis.base_dilation)
            for (length, _), (step, _), phase, axis in zip(
                dimensions.elements, dimensions.phases, chosen, problem.axes, strict=True
            )
        ]
        inside = [span for span in spans if span is not None]
        if len(inside) == len(spans):
            firsts = [phase * stride for phase, (_, stride) in zip(chosen, dimensions.phases, strict=True)]
            boxes.append(_box(problem, dimensions, inside, sum(firsts)))
    return boxes


def _box(
    problem: Problem, dimensions: _CopyDimensions, spans: Sequence[tuple[slice, slice]], target_first: int
) -> Box:
    """The elements of lhs in these spans of the copy and of lhs along each axis."""
    lhs, source_first = problem.lhs, 0
    sides = list(zip(dimensions.sizes, dimensions.strides, (lhs.batch, lhs.group, lhs.feature), strict=False))
    for (to, at), (_, target), source in zip(spans, dimensions.elements, lhs.spatial, strict=True):
        sides.append((len(range(at.start, at.stop, at.step)), to.step * target, at.step * source))
        target_first += to.start * target
        source_first += at.start * source
    return _box_of(sides, target_first, source_first)


def _box_of(sides: Sequence[tuple[int, int, int]], target_first: int, source_first: int) -> Box:
    """A box whose elements are copied in the copy's order; `sides`: sizes, strides of copy and source."""
    ordered = sorted(sides, key=lambda side: -side[1])
    sizes, target, source = [tuple([side[number] for side in ordered]) for number in range(3)]
    return Box(sizes, target_first, target, source_first, source)


def _rhs_for(problem: Problem, lane: int) -> Rhs:
    """The factors in rhs itself if lanes are contiguous; in a copy otherwise."""
    rhs = problem.rhs
    windows = [axis.window for axis in problem.axes]
    lane_stride = {_GROUP: rhs.group, _OUTPUT: rhs.output}.get(lane, 0)
    if problem.sizes[lane] == 1 or lane_stride in (0, 1):
        terms = *map(_multiples, windows, rhs.spatial), _multiples(problem.features, rhs.feature)
        return Rhs(rhs.first, rhs.group, rhs.output, terms, None)
    sizes = [problem.groups, problem.outputs, *windows, problem.features]
    strides = _strides_with_last(sizes, 0 if lane == _GROUP else 1)
    source = (rhs.group, rhs.output, *rhs.spatial, rhs.feature)
    copied = Copy(math.prod(sizes), (_box_of(list(zip(sizes, strides, source, strict=True)), 0, rhs.first),))
    group, output, *of_terms = strides
    return Rhs(0, group, output, tuple(map(_multiples, (*windows, problem.features), of_terms)), copied)
