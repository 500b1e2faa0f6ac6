"""`reduce_window` with a monoid: pooling, sliding windows, and cumulative windows as prefix scans.

The order. A cumulative window, along one dimension of size n > 1 with window n, padding n - 1 on one side
and nothing else, is folded as `scan` says. For all other windows, the values of a window, padded positions
and holes between dilated elements counting as init_value, are folded from the left in row-major order,
starting with init_value. For monoids to which neither order nor repetition matters (minimum, maximum, and,
or) several dimensions may be folded one after the other, which gives the same bits.

Sums and products of float16 and bfloat16 are computed in float32 and rounded once at the end, but in
cumulative windows, where every step is rounded; `accumulate` chooses another way (`monoids.normalized`).
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..launch.compilation import flat
from ..launch.threads import division
from ..simd.monoids import (
    Combination,
    computing_dtype,
    is_exact,
    normalized,
    result_storage_dtype,
    storage_dtype,
    supports,
)
from . import scan

__all__ = ["prepare", "supports", "supports_tree"]

CHUNK = 1024
_MOST_POSITIONS = 1 << 22
_SEPARABLE_FROM = 9

WindowReduction = Callable[[np.ndarray, Any], np.ndarray]


class Axis(NamedTuple):
    """One dimension of the operand, and how windows lie along it."""

    size: int
    window: int = 1
    stride: int = 1
    base_dilation: int = 1
    window_dilation: int = 1
    low: int = 0
    high: int = 0

    @property
    def dilated(self) -> int:
        return (self.size - 1) * self.base_dilation + 1 if self.size else 0

    @property
    def windows(self) -> int:
        """How many windows there are: the size of the result."""
        padded = self.low + self.dilated + self.high
        span = (self.window - 1) * self.window_dilation + 1
        return 0 if padded <= 0 or span > padded else (padded - span) // self.stride + 1

    @property
    def plain(self) -> bool:
        """Whether every element is a window."""
        return self == Axis(self.size)


def axes_of(
    shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    base_dilations: Sequence[int] | None = None,
    window_dilations: Sequence[int] | None = None,
    padding: Sequence[Sequence[int]] | None = None,
) -> list[Axis]:
    """The dimensions of a windowed operation; what is None is as if absent.

    Raises ValueError where lengths differ, or a size that must be positive is not.
    """
    rank = len(shape)
    ones = (1,) * rank
    columns = [window_dimensions, window_strides or ones, base_dilations or ones, window_dilations or ones]
    edges = [(0, 0)] * rank if padding is None else padding
    if any(len(column) != rank for column in (*columns, edges)) or any(
        least < 1 for c in columns for least in c
    ):
        raise ValueError(f"the windows {columns} with padding {edges} do not fit the shape {tuple(shape)}")
    return [
        Axis(size, window, stride, base_dilation, window_dilation, *edge)
        for size, window, stride, base_dilation, window_dilation, edge in zip(
            shape, *columns, edges, strict=True
        )
    ]


def prepare(
    shape: Sequence[int],
    dtype: Any,
    monoid: str,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    base_dilations: Sequence[int] | None = None,
    window_dilations: Sequence[int] | None = None,
    padding: Sequence[Sequence[int]] | None = None,
    *,
    accumulate: str = "wide",
    threads: int | None = None,
) -> WindowReduction:
    """A function `(operand, init_value) -> result` that folds windows of an operand of this shape.

    Raises ValueError where no kernel serves. Source: the specification's section on reduce_window.
    """
    axes = axes_of(shape, window_dimensions, window_strides, base_dilations, window_dilations, padding)
    if accumulate == "wide" and cumulative_axis(axes) is not None:
        accumulate = "declared"
    kind = normalized(dtype, monoid, accumulate)
    result_shape = tuple(axis.windows for axis in axes)
    if prod(result_shape) == 0:
        return lambda operand, init_value: np.empty(result_shape, dtype)
    return _prepared(kind, np.dtype(dtype), axes, threads)


def _prepared(kind: Combination, dtype: np.dtype, axes: list[Axis], threads: int | None) -> WindowReduction:
    windowed = [number for number, axis in enumerate(axes) if not axis.plain]
    scanned = cumulative_axis(axes)
    if scanned is not None:
        return _cumulative(kind, dtype, axes, scanned, threads)
    positions = prod(axis.window for axis in axes)
    separable = (
        is_exact(kind) and kind.monoid in ("minimum", "maximum", "and", "or") and all(a.size for a in axes)
    )
    if separable and len(windowed) > 1 and positions >= _SEPARABLE_FROM:
        return _one_after_the_other(kind, dtype, axes, windowed, threads)
    if positions > _MOST_POSITIONS:
        raise ValueError(f"no kernel folds windows of {positions} positions")
    return sliding(kind, dtype, axes, threads)


def _one_after_the_other(
    kind: Combination, dtype: np.dtype, axes: list[Axis], windowed: list[int], threads: int | None
) -> WindowReduction:
    """One windowed dimension at a time, first where most values fall away."""
    steps: list[WindowReduction] = []
    now = [Axis(axis.size) for axis in axes]
    for number in sorted(windowed, key=lambda number: axes[number].windows / max(1, axes[number].size)):
        now[number] = axes[number]
        steps.append(_prepared(kind, dtype, list(now), threads))
        now[number] = Axis(axes[number].windows)

    def run(operand: np.ndarray, init_value: Any) -> np.ndarray:
        for step in steps:
            operand = step(operand, init_value)
        return operand

    return run


def cumulative_axis(axes: Sequence[Axis]) -> int | None:
    """The dimension along which windows hold everything up to, or from, their position, if they do."""
    windowed = [number for number, axis in enumerate(axes) if not axis.plain]
    if len(windowed) != 1:
        return None
    axis = axes[windowed[0]]
    size, rest = axis.size, axis.size - 1
    ways = (Axis(size, window=size, low=rest), Axis(size, window=size, high=rest))
    return windowed[0] if size > 1 and axis in ways else None


def supports_tree(axes: Sequence[Axis], dtype: Any, monoid: str, tree: Any) -> bool:
    """Whether `prepare` folds windows by a tree of reductions: where order changes bits, by "blocked", which
    stands for the order above, and by "left" where windows are not cumulative."""
    if tree == "blocked":
        return True
    if tree in ("balanced", "left", "right") and is_exact(normalized(dtype, monoid)):
        return True
    return tree == "left" and cumulative_axis(axes) is None


def _cumulative(
    kind: Combination, dtype: np.dtype, axes: list[Axis], number: int, threads: int | None
) -> WindowReduction:
    """A prefix scan along one dimension."""
    size = axes[number].size
    reverse = axes[number].high > 0
    outer, inner = prod(a.size for a in axes[:number]), prod(a.size for a in axes[number + 1 :])
    shape = tuple(a.size for a in axes)
    run_scan = scan.prepare(kind, outer, size, inner, reverse, threads)
    storage = storage_dtype(kind.element)

    def run(operand: np.ndarray, init_value: Any) -> np.ndarray:
        result = np.empty(shape, dtype)
        initial = flat(np.asarray(init_value, dtype), storage)
        run_scan(flat(operand, storage), initial, result.reshape(-1).view(storage))
        return result

    return run


def merged(axes: Sequence[Axis]) -> list[Axis]:
    """The axes with neighbouring plain ones taken as one, and those without any effect left out."""
    found: list[Axis] = []
    for axis in axes:
        if axis == Axis(1):
            continue
        if axis.plain and found and found[-1].plain:
            found[-1] = Axis(found[-1].size * axis.size)
        else:
            found.append(axis)
    return found or [Axis(1)]


def sliding(
    kind: Combination,
    dtype: np.dtype,
    axes: list[Axis],
    threads: int | None,
    result_dtype: np.dtype | None = None,
) -> WindowReduction:
    """Each window by itself: rows of results along one axis, with a short plain axis inside it."""
    shape = tuple(axis.windows for axis in axes)
    *outer, row = merged(axes)
    inner = 1
    if outer and row.plain and row.size < CHUNK // 2:
        inner = row.size
        row = outer.pop()
    chunk = min(CHUNK // inner, row.windows)
    chunks = -(-row.windows // chunk)
    rows = prod(axis.windows for axis in outer)
    offsets = prod(axis.window for axis in outer)
    storage, computing = storage_dtype(kind.element), computing_dtype(kind.element)
    tasks, size = division(rows * chunks, (offsets * row.window + 1) * chunk * inner * storage.itemsize)
    table, along = _numbers(outer), _numbers([row])
    apart = row.stride if inner == 1 else 1

    def run(operand: np.ndarray, init_value: Any) -> np.ndarray:
        from . import reduce_window_loops

        result = np.empty(shape, dtype if result_dtype is None else result_dtype)
        initial = flat(np.asarray(init_value, dtype), storage)
        starts = np.empty(tasks * 2 * (offsets * row.window + len(outer)), np.int64)
        folded = np.empty(tasks * chunk * inner, computing)
        body = reduce_window_loops.rows(*kind, min(apart, reduce_window_loops.FARTHEST + 1))
        work = (
            size,
            rows,
            chunk,
            offsets,
            inner,
            table,
            along,
            starts,
            folded,
            flat(operand, storage),
            initial,
        )
        written = result.reshape(-1).view(result_storage_dtype(kind.element))
        body(tasks, *work, written, threads=threads)
        return result

    return run


def _numbers(axes: Sequence[Axis]) -> np.ndarray:
    """The axes as loops read them: size, window, stride, the dilations, low padding, windows."""
    return np.array([(*axis[:6], axis.windows) for axis in axes], np.int64).reshape(-1)
