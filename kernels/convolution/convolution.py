"""Plans of convolutions with any dimension numbers: matrix products of windows with rhs.

The loops are compiled ahead of time; `convolution_tasks.h` states their summation order. This module decides
which side of the product the windows are, how work is divided, and computes the offsets of elements.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..named_tuples import NamedTuple
from . import convolution_tasks as tasks
from .axis import Axis, phases
from .convolution_tasks import are_finite
from .copies import copies_lhs, in_order, prefers_contiguous_features, prefers_contiguous_groups
from .problem import DimensionNumbers, Problem, problem_of, supports
from .sliding import Layout, sliding
from .work_division import Product, divided_tiles, items_of_groups, packed_items, shared_items

__all__ = ["Axis", "DimensionNumbers", "are_finite", "prepare", "supports"]

Convolution = Callable[[np.ndarray, np.ndarray], np.ndarray]
Writer = Callable[[np.ndarray, np.ndarray, np.ndarray], None]

_MAX_WINDOWS_OF_ITEMS = 128
"""Maximum number of windows for which each work item packs its own part of rhs: that is read once or twice,
and packed parts stay in the cache of the thread that uses them."""
_FMAS_PER_SECOND = 3e10
_MIN_ROW_POSITIONS = 8
"""Minimum positions along the last spatial dimension for which windows are packed by transposing."""
_MIN_FACTOR_RUN = 8
"""Minimum number of contiguous factors of an output feature that are transposed together."""


def strides_of(array: np.ndarray, dimensions: Sequence[int]) -> list[int]:
    """The strides of these dimensions, in elements."""
    return [array.strides[d] // array.itemsize for d in dimensions]


class _Geometry(NamedTuple):
    """Axes of windows in the result's memory order.

    Attributes:
        numbers: the spatial dimension of each axis, -1 for the batch dimension.
        axes: (windows, positions, stride in the result, offsets into lhs) of each axis.
        along: for each position of a window its index along each axis: [position, axis].
    """

    numbers: list[int]
    axes: list[tuple[int, int, int, np.ndarray]]
    along: np.ndarray

    @property
    def windows(self) -> int:
        return prod(axis[0] for axis in self.axes)

    @property
    def inner(self) -> int:
        """Number of consecutive windows that have one stride in the result."""
        stride, inner = self.axes[-1][2], 1
        for windows, _, axis_stride, _ in reversed(self.axes):
            if windows > 1 and axis_stride != stride * inner:
                break
            inner *= windows
        return inner


def geometry_of(
    batch: int, axes: Sequence[Axis], lhs_strides: Sequence[int], result_strides: Sequence[int]
) -> _Geometry:
    records = []
    for number, axis in enumerate((Axis(batch, 1, batch), *axes)):
        stride = result_strides[number]
        offsets = axis.offsets(lhs_strides[number])
        records.append(
            (axis.windows > 1, -stride, number - 1, (axis.windows, axis.window, stride, offsets))
        )
    records.sort(key=lambda record: record[:3])
    order = [number for _, _, number, _ in records]
    sizes = [axis.window for axis in axes]
    positions = np.indices(sizes).reshape(len(sizes), prod(sizes))
    along = np.zeros((prod(sizes), len(order)), np.int64)
    for column, number in enumerate(order):
        if number >= 0:
            along[:, column] = positions[number]
    return _Geometry(order, [record[3] for record in records], along)


class WriterByFactors:
    """A writer for factors that are finite, and one for others.

    The zeros of padding and base dilation matter only where rhs has infinities or NaNs.

    Args:
        make: gives the writer for factors of which all are finite, or not.
    """

    def __init__(self, make: Callable[[bool], Writer]) -> None:
        self.of = functools.cache(make)

    def __call__(self, lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray) -> None:
        self.of(are_finite(rhs))(lhs, rhs, result)


class Writers:
    """Writers of slices of a result.

    Args:
        writers: the writers.
        empty: slices that no writer writes, which are 0.
    """

    def __init__(self, writers: list[Writer], empty: list[tuple[slice, ...]]) -> None:
        self.writers, self.empty = writers, empty

    def __call__(self, lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray) -> None:
        for slices in self.empty:
            result[slices] = 0
        for write in self.writers:
            write(lhs, rhs, result)


class _Subproblem(NamedTuple):
    """A convolution of a slice of rhs that writes a slice of the result."""

    problem: Problem
    rhs: tuple[slice, ...]
    result: tuple[slice, ...]


def prepare(
    shapes: Sequence[Sequence[int]],
    axes: Sequence[Axis],
    numbers: DimensionNumbers,
    dtype: Any,
    *,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    threads: int | None = None,
    is_rhs_constant: bool = False,
    may_copy: bool = True,
) -> Convolution:
    """Prepare a convolution by matrix products of windows with rhs, `(lhs, rhs) -> result`.

    Args:
        shapes: shapes of lhs, rhs and the result.
        axes: spatial dimensions of lhs.
        numbers: dimension numbers.
        dtype: NumPy element type of all arrays, which may have any strides.
        feature_group_count, batch_group_count: as in the specification.
        threads: maximum number of threads; None: all.
        is_rhs_constant: whether rhs has the same elements in all calls. The function then keeps a packed copy
            of rhs.
        may_copy: whether the function may copy operands and return a transposed view.

    Raises NoKernel if no loops exist. Source: the specification's section on convolution.
    """
    groups = (feature_group_count, batch_group_count)
    problem = problem_of(shapes, axes, numbers, np.dtype(dtype), groups, threads)
    problem = problem._replace(is_rhs_constant=is_rhs_constant)
    if may_copy and prefers_contiguous_groups(problem):
        return _by_copies_of_groups(problem, shapes)
    if may_copy and prefers_contiguous_features(problem, shapes):
        return _by_copies(problem, shapes)
    everything = (slice(None),) * len(numbers.lhs)
    full_problem = _Subproblem(problem, everything, everything)
    subproblems = _undilated(full_problem)

    def make(lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray) -> Writer:
        if subproblems == [full_problem] or problem.dtype.kind != "f":
            return _writer(subproblems, lhs, rhs, result)
        by_finiteness = {True: subproblems, False: [full_problem]}
        return WriterByFactors(lambda is_finite: _writer(by_finiteness[is_finite], lhs, rhs, result))

    return tasks.CachedByStrides(make, tuple(shapes[2]), problem.dtype)


def _by_copies_of_groups(problem: Problem, shapes: Sequence[Sequence[int]]) -> Convolution:
    """The convolution of copies of lhs and rhs with batch groups last, whose result is copied."""
    lhs_dims, rhs_dims, result_dims = problem.numbers
    lhs_dims = (*lhs_dims[1:], lhs_dims[0])
    order, orders = tuple(range(len(lhs_dims))), (lhs_dims, rhs_dims, result_dims)
    convolve = prepare(
        [[shape[d] for d in dims] for shape, dims in zip(shapes, orders, strict=True)],
        problem.axes,
        DimensionNumbers((order[-1], *order[:-1]), order, order),
        problem.dtype,
        batch_group_count=problem.groups[1],
        threads=problem.threads,
    )
    order_of_result = np.argsort(result_dims).tolist()

    def run(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        lhs, rhs = in_order(lhs, lhs_dims, problem.threads), in_order(rhs, rhs_dims, problem.threads)
        return in_order(convolve(lhs, rhs), order_of_result, problem.threads)

    return run


def _by_copies(problem: Problem, shapes: Sequence[Sequence[int]]) -> Convolution:
    """The convolution of lhs with features last, which is copied if that pays. The result is a view."""
    lhs_dims, rhs_dims, result_dims = problem.numbers
    order = tuple(range(len(lhs_dims)))
    convolve = prepare(
        ([shapes[0][d] for d in lhs_dims], shapes[1], [shapes[2][d] for d in result_dims]),
        problem.axes,
        DimensionNumbers(order, rhs_dims, order),
        problem.dtype,
        feature_group_count=problem.groups[0],
        batch_group_count=problem.groups[1],
        threads=problem.threads,
        is_rhs_constant=problem.is_rhs_constant,
    )
    order_of_result, is_copied = np.argsort(result_dims).tolist(), copies_lhs(problem)

    def run(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        lhs = in_order(lhs, lhs_dims, problem.threads) if is_copied else lhs.transpose(lhs_dims)
        return convolve(lhs, rhs).transpose(order_of_result)

    return run


def _undilated(full_problem: _Subproblem) -> list[_Subproblem]:
    """Split a convolution with base dilation into convolutions without, one for each phase."""
    subproblems = [full_problem]
    for number, axis in enumerate(full_problem.problem.axes):
        split = []
        for source in subproblems:
            for phase_axis, positions, windows in phases(axis):
                axes, rhs, result = list(source.problem.axes), list(source.rhs), list(source.result)
                axes[number] = phase_axis
                rhs[source.problem.numbers.rhs[number]] = positions
                result[source.problem.numbers.result[number + 1]] = windows
                split.append(
                    _Subproblem(source.problem._replace(axes=tuple(axes)), tuple(rhs), tuple(result))
                )
        subproblems = split
    return subproblems


def _writer(
    subproblems: Sequence[_Subproblem], lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray
) -> Writer:
    """A writer of all slices of a result, for arrays with these strides."""
    empty: list[tuple[slice, ...]] = []
    writers: list[Writer] = []
    for subproblem in subproblems:
        if all(axis.window for axis in subproblem.problem.axes):
            views = (rhs, rhs[subproblem.rhs]), (result, result[subproblem.result])
            offsets = [view.ctypes.data - base.ctypes.data for base, view in views]
            writers.append(
                _sliding_or_products(
                    subproblem.problem, lhs, rhs[subproblem.rhs], result[subproblem.result], offsets
                )
            )
        else:
            empty.append(subproblem.result)
    if len(writers) == 1 and not empty:
        return writers[0]
    return Writers(writers, empty)


def _sliding_or_products(
    problem: Problem, lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray, offsets: Sequence[int]
) -> Writer:
    """The writer of a subproblem; `offsets`: byte offsets of its slices of rhs and of the result."""
    axes, numbers = problem.axes, problem.numbers
    if max(problem.groups) == 1:
        lhs_strides, rhs_strides = strides_of(lhs, numbers.lhs), strides_of(rhs, numbers.rhs)
        result_strides, factor_offsets = strides_of(result, numbers.result), rhs_offsets(axes, rhs_strides)
        arrays = Layout(problem.dtype, lhs_strides, rhs_strides, result_strides, factor_offsets, offsets)
        features = problem.features, problem.outputs
        slide = sliding(problem.batch, axes, features, arrays, problem.threads)
        if slide is not None:
            return slide
    return _products(problem, lhs, rhs, result, offsets)


def _products(
    problem: Problem, lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray, offsets: Sequence[int]
) -> tasks.Products:
    """The products of a subproblem; `offsets`: byte offsets of its slices of rhs and of the result."""
    axes, numbers, name, features = problem.axes, problem.numbers, problem.dtype.name, problem.features
    level, groups = tasks.best_level(), max(problem.groups)
    columns = problem.outputs // groups
    lhs_strides, rhs_strides = strides_of(lhs, numbers.lhs), strides_of(rhs, numbers.rhs)
    result_strides = strides_of(result, numbers.result)
    geometry = geometry_of(problem.batch, axes, lhs_strides, result_strides)
    feature_stride, output_stride = lhs_strides[-1], result_strides[-1]
    group_stride = features * feature_stride if problem.groups[1] == 1 else problem.batch * lhs_strides[0]
    windows, positions = geometry.windows, len(geometry.along)
    # A single output feature fills one lane of each vector: windows that are packed anyhow fill all.
    by_windows = output_stride > 1 if problem.outputs > 1 else feature_stride > 1
    # The loops may read windows in place: the offsets and the zeros of one group serve for all.
    groups_share_windows = problem.groups[1] == 1 and (feature_stride == 1 or features * groups == 1)
    is_direct = not by_windows and groups_share_windows
    product = Product(windows, columns, groups, positions * features)
    k, has_holes = product.k, any(axis.base_dilation > 1 for axis in axes)
    k_block = -(-k // -(-k // tasks.K_BLOCK))
    # Windows that are packed tell padding position by position.
    run_positions = _contiguous_positions(problem, geometry, lhs_strides) if is_direct else 1
    # The addresses of a window's elements take longer than packing if no two of them are contiguous.
    is_direct = is_direct and (features * run_positions > 1 or positions == 1)
    segments, k_blocks = _segments(k, k_block, features, run_positions)
    inner = geometry.inner if by_windows else 1
    by_groups = groups > columns == 1 and group_stride == output_stride == rhs_strides[-1] == 1
    shape = tasks.tile_shape(name, level)
    tiles = divided_tiles(product, inner, by_windows, shape)
    packs_items = is_direct and not by_groups and rhs_strides[-1] == 1 and windows <= _MAX_WINDOWS_OF_ITEMS
    packs_items = packs_items and not problem.is_rhs_constant
    if packs_items or by_windows:
        items = packed_items(product, tiles, packs_items, problem.threads)
    else:
        items = shared_items(product, tiles, lhs.size, problem.dtype.itemsize, problem.threads)
    vectors, work_items = items_of_groups(product, shape) if by_groups else (tiles.vectors, items.item_count)
    rows = None if is_direct or by_groups else _element_rows(axes, lhs_strides)
    is_nontemporal = len(k_blocks) == 2 and result.nbytes >= tasks.NONTEMPORAL_BYTES
    window_stride = geometry.axes[-1][2] if by_windows else 1
    layout: dict[str, Sequence[int]] = {
        "contraction": (positions, features, has_holes, groups, columns, k, k_block, len(k_blocks) - 1),
        "strides": (feature_stride, group_stride, output_stride, window_stride),
        "factor_strides": rhs_strides[-2:],
        "tiles": (
            by_windows, by_groups, is_direct, windows, inner, tiles.block, tiles.rows, vectors,
            tiles.last_vectors,
        ),
        "strips": (tiles.strips, tiles.padded, items.strips, work_items, is_nontemporal),
        "items": (packs_items, items.windows, items.windows_first),
        "row_axis": () if rows is None else (geometry.numbers.index(len(axes) - 1),),
    }  # fmt: skip
    tables = {"position_indices": geometry.along, "segments": segments, "k_block_segments": k_blocks}
    if rows is not None:
        tables["row_begins"], tables["row_ends"] = rows
    _add_factors(problem, rhs_strides, layout, tables)
    seconds = product.fmas / _FMAS_PER_SECOND
    return tasks.Products(
        name, level, geometry.axes, tables, layout, offsets, seconds, problem.threads, problem.is_rhs_constant
    )


def _add_factors(
    problem: Problem,
    rhs_strides: Sequence[int],
    layout: dict[str, Sequence[int]],
    tables: dict[str, np.ndarray],
) -> None:
    """Add where the factors lie in rhs, and how they are packed, to a layout and its tables."""
    tables["factor_offsets"] = rhs_offsets(problem.axes, rhs_strides)
    factors = factor_runs(tables["factor_offsets"], problem.features, rhs_strides)
    layout["factor_run"], tables["factor_positions"] = (factors.run, factors.first), factors.positions


def _element_rows(axes: Sequence[Axis], lhs_strides: Sequence[int]) -> tuple[np.ndarray, np.ndarray] | None:
    """The begin and end of the positions along the last spatial dimension that are inside of lhs, by window.

    None if elements are not contiguous from position to position, or if these are few: fewer than the windows
    in a row, which are then packed together.
    """
    if not axes or axes[-1].window < max(_MIN_ROW_POSITIONS, axes[-1].windows) or axes[-1].base_dilation > 1:
        return None
    axis = axes[-1]
    if axis.window_dilation * lhs_strides[-2] != 1:
        return None
    first = np.arange(axis.windows) * axis.stride - axis.low
    begins = np.clip(-first, 0, axis.window)
    return begins, np.maximum(np.clip(axis.size - first, 0, axis.window), begins)


def _contiguous_positions(problem: Problem, geometry: _Geometry, lhs_strides: Sequence[int]) -> int:
    """Number of consecutive positions whose features are contiguous in lhs, wherever the padding has none."""
    if not problem.axes or max(problem.groups) > 1 or lhs_strides[-1] != 1:
        return 1
    axis, number = problem.axes[-1], len(problem.axes) - 1
    is_innermost = geometry.numbers[-1] == number
    is_contiguous = lhs_strides[-2] == problem.features and axis.base_dilation == axis.window_dilation == 1
    return axis.window if is_innermost and is_contiguous else 1


def _segments(k: int, k_block: int, features: int, positions: int) -> tuple[np.ndarray, np.ndarray]:
    """Contiguous runs of the contracted size k, as (position, skipped features, length), and where k blocks
    begin among them; `positions` of a window are contiguous."""
    begins = np.arange(0, k, k_block)
    # NumPy's functions on sets import its masked arrays, which takes 7 ms.
    starts = np.array(sorted({*range(0, k, features * positions), *range(0, k, k_block)}), np.int64)
    segments = np.stack([starts // features, starts % features, np.diff(starts, append=k)], 1)
    return segments, np.append(np.searchsorted(starts, begins), len(starts))


def rhs_offsets(axes: Sequence[Axis], strides: Sequence[int]) -> np.ndarray:
    """Offset into rhs of each position of a window."""
    offsets = np.zeros([axis.window for axis in axes], np.int64)
    for number, (axis, stride) in enumerate(zip(axes, strides, strict=False)):
        axis_offsets = np.arange(axis.window)[:: -1 if axis.is_reversed else 1] * stride
        offsets += axis_offsets.reshape([-1 if other == number else 1 for other in range(len(axes))])
    return offsets.reshape(-1)


class FactorRuns(NamedTuple):
    """Factors that are contiguous in rhs, where those of output features are not.

    Attributes:
        run: the number of contiguous factors of an output feature: all, or those of one input feature; 0:
            there are no runs that are long enough to be transposed.
        first: the offset of the first one into rhs.
        positions: the position of each factor of an input feature, in the order of rhs.
    """

    run: int
    first: int
    positions: np.ndarray


def factor_runs(offsets: np.ndarray, features: int, strides: Sequence[int]) -> FactorRuns:
    """The runs of factors whose positions have these offsets into rhs, an array of these strides."""
    count, (feature_stride, output_stride) = len(offsets), strides[-2:]
    positions, first = np.argsort(offsets), int(offsets.min())
    is_contiguous = int(offsets.max()) - first == count - 1
    run = count * features if feature_stride == count or features == 1 else count
    is_long = is_contiguous and output_stride > 1 and run >= _MIN_FACTOR_RUN
    return FactorRuns(run if is_long else 0, first, positions)
