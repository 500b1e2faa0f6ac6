"""`reduce_window` with a monoid: pooling, sliding windows, and cumulative windows as prefix scans.

The order. A cumulative window, along one dimension of size n > 1 with window n, padding n - 1 on one side and
nothing else, is reduced as `scan` says. For all other windows, the values of a window, padded positions and
holes between dilated elements counting as init_value, are reduced from the left in row-major order, starting
with init_value. For monoids without regard to order and repetition (minimum, maximum, and, or) dimensions may
be reduced in sequence, which gives the same bits.

Sums and products of float16 and bfloat16 are computed in float32 and rounded once at the end, but in
cumulative windows, where every operation is rounded; `accumulate` chooses otherwise (`monoids.normalized`).
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..launch.compilation import flat, kernel_at
from ..launch.no_kernel import NoKernel
from ..launch.threads import MAX_TASKS, division
from ..simd.monoids import WIDENED, Combination, is_exact, normalized, storage_dtype, supports
from . import scan
from .window_axes import MAX_CONSTANT_STRIDE, Axis, axes_of, axis_table, merged

__all__ = ["Axis", "axes_of", "is_faster", "prepare", "supports", "supports_tree"]

CHUNK = 1024
_MAX_POSITIONS = 1 << 22
_MAX_SCRATCH_BYTES = 1 << 27  # offsets of the elements of a window, for all tasks
_PASS_COST = 2  # loads that cost as much as to write an element for another pass and to read it
_MIN_ROW = 256
_MAX_SHORT_POSITIONS = 9
"""Generated loops reduce shorter rows of smaller windows in about half the time (measured on Zen 4)."""
_MIN_WIDE_SCANS = 32
"""Generated loops scan as many contiguous rows of 8 bytes an element in half the time; fewer keep no threads
busy."""

WindowReduction = Callable[[np.ndarray, Any], np.ndarray]


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
    """Prepare a reduction of windows, `(operand, init_value) -> result`.

    Args:
        shape: sizes of the operand.
        dtype: element type of the operand and the result.
        monoid: the name of the combining function (`monoids`).
        window_dimensions: size of the window along each dimension.
        window_strides, base_dilations, window_dilations: for each dimension; None: ones.
        padding: (low, high) for each dimension; None: none.
        accumulate: the type of the sums, as in `monoids.normalized`.
        threads: maximum number of threads; None: all.

    Raises:
        NoKernel: no kernel supports the operands.

    Source: specification, section "reduce_window".
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
    windowed = [number for number, axis in enumerate(axes) if not axis.is_unwindowed]
    scanned = cumulative_axis(axes)
    if scanned is not None:
        return _cumulative(kind, dtype, axes, scanned, threads)
    positions = prod(axis.window for axis in axes)
    separable = (
        is_exact(kind) and kind.monoid in ("minimum", "maximum", "and", "or") and all(a.size for a in axes)
    )
    if separable and len(windowed) > 1:
        passes = _separate(axes, windowed)
        # Each pass but the last also writes its results, which the next one reads from memory.
        written = sum(_PASS_COST * prod(axis.windows for axis in one) for one in passes[:-1])
        if positions > _MAX_POSITIONS or sum(map(_loads, passes)) + written <= _loads(axes):
            return _in_passes([_prepared(kind, dtype, one, threads) for one in passes])
    if positions > _MAX_POSITIONS:
        raise NoKernel(f"no kernel reduces windows of {positions} positions")
    return sliding(kind, dtype, axes, threads)


def _separate(axes: list[Axis], windowed: list[int]) -> list[list[Axis]]:
    """The axes of each pass that reduces one windowed dimension, the one with the smallest result first."""
    passes: list[list[Axis]] = []
    current_axes = [Axis(axis.size) for axis in axes]
    for number in sorted(windowed, key=lambda number: axes[number].windows / max(1, axes[number].size)):
        current_axes[number] = axes[number]
        passes.append(list(current_axes))
        current_axes[number] = Axis(axes[number].windows)
    return passes


def _loads(axes: list[Axis]) -> int:
    """Elements that are loaded to reduce each window by itself; with a stride in memory they count twice."""
    is_strided = axes[-1].windows > 1 and axes[-1].stride > 1
    return prod(axis.window * axis.windows for axis in axes) * (2 if is_strided else 1)


def _in_passes(passes: list[WindowReduction]) -> WindowReduction:
    def run(operand: np.ndarray, init_value: Any) -> np.ndarray:
        for reduce_axis in passes:
            operand = reduce_axis(operand, init_value)
        return operand

    return run


def cumulative_axis(axes: Sequence[Axis]) -> int | None:
    """The dimension with cumulative windows, which hold everything up to, or from, their position; None if
    there is none."""
    windowed = [number for number, axis in enumerate(axes) if not axis.is_unwindowed]
    if len(windowed) != 1:
        return None
    axis = axes[windowed[0]]
    size, rest = axis.size, axis.size - 1
    cumulative_axes = (Axis(size, window=size, low=rest), Axis(size, window=size, high=rest))
    return windowed[0] if size > 1 and axis in cumulative_axes else None


def supports_tree(axes: Sequence[Axis], dtype: Any, monoid: str, tree: Any) -> bool:
    """Whether `prepare` reduces windows by a tree: if order changes bits, by "blocked", which stands for the
    order above, and by "left" if windows are not cumulative."""
    if tree == "blocked":
        return True
    if tree in ("balanced", "left", "right") and is_exact(normalized(dtype, monoid)):
        return True
    return tree == "left" and cumulative_axis(axes) is None


def is_faster(axes: Sequence[Axis], dtype: Any, monoid: str) -> bool:
    """Whether `prepare` reduces windows faster than a generated loop: not short rows of small windows, nor
    rows with base dilation, each of whose windows is an edge here, nor many scans of wide elements."""
    element, scanned = np.dtype(dtype), cumulative_axis(axes)
    if scanned is not None:
        is_float_extreme = element.kind == "f" and monoid in ("minimum", "maximum")
        outer, inner = (prod(axis.size for axis in part) for part in (axes[:scanned], axes[scanned + 1 :]))
        return element.itemsize < 8 or is_float_extreme or inner > 1 or outer < _MIN_WIDE_SCANS
    if not axes or axes[-1].is_unwindowed:
        return True
    if axes[-1].base_dilation > 1:
        return False
    is_widened = element.name in WIDENED and monoid in ("add", "multiply")  # none is generated
    positions = prod(axis.window for axis in axes)
    return is_widened or axes[-1].windows >= _MIN_ROW or positions > _MAX_SHORT_POSITIONS


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


def sliding(
    kind: Combination, dtype: np.dtype, axes: list[Axis], threads: int | None
) -> WindowReduction:
    """Reduce each window by itself: rows of results along one axis, with a short unwindowed axis inside it.
    """
    shape = tuple(axis.windows for axis in axes)
    *outer, row = merged(axes)
    inner = 1
    if outer and row.is_unwindowed and row.size < CHUNK // 2:
        inner = row.size
        row = outer.pop()
    chunk = min(CHUNK // inner, row.windows)
    chunks = -(-row.windows // chunk)
    rows = prod(axis.windows for axis in outer)
    offsets = prod(axis.window for axis in outer)
    storage = storage_dtype(kind.element)
    offset_count = 2 * (offsets * row.window + len(outer))
    max_tasks = max(1, min(MAX_TASKS, _MAX_SCRATCH_BYTES // (8 * offset_count)))
    item_bytes = (offsets * row.window + 1) * chunk * inner * storage.itemsize
    tasks, size = division(rows * chunks, item_bytes, max_tasks)
    outer_table, row_table = axis_table(outer), axis_table([row])
    column_stride = row.stride if inner == 1 else 1

    def run(operand: np.ndarray, init_value: Any) -> np.ndarray:
        result = np.empty(shape, dtype)
        initial = flat(np.asarray(init_value, dtype), storage)
        window_offsets = np.empty(tasks * offset_count, np.int64)
        is_constant = column_stride <= MAX_CONSTANT_STRIDE
        constant_stride = column_stride if is_constant else 0
        body = kernel_at(f"{__package__}.reduce_window_loops", "rows", *kind, constant_stride)
        arguments = (
            size, rows, chunk, offsets, inner, outer_table, row_table, window_offsets,
            flat(operand, storage), initial,
        )  # fmt: skip
        body(tasks, *arguments, result.reshape(-1).view(storage), threads=threads)
        return result

    return run
