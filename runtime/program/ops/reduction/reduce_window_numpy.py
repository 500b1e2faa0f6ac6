"""The NumPy implementation of `reduce_window`: all windows at once, position by position or by a tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ....types import COMPLEX, QUANTIZED, Array
from ..framework.declaration import Evaluate
from .cumulative_numpy import combine_broadcast, is_idempotent, scan
from .reduce_window import ReduceWindow
from .reducer import Arrays, Reducer
from .reduction_tree_numpy import reduce_by_tree
from .window_geometry import Window, cumulative_axis, element_positions, window_positions

MAX_GATHERED: Final = 1 << 20
"""Number of window elements gathered at a time for a reduction by a tree."""


def bind(view: ReduceWindow) -> Callable[..., Any]:
    """The function of inputs, init values and body."""

    def reduce_window(*operands: Array, body: Evaluate) -> Arrays:
        reducer = view.analysis.reducer(body, view.accumulate)
        count = len(operands) // 2
        inputs = view.analysis.enter(operands[:count], view.inputs, reducer)
        init_values = view.analysis.enter(operands[count:], view.init_values, reducer)
        return view.analysis.leave(_reduce_windows(view, inputs, init_values, reducer), reducer)

    return reduce_window


def _reduce_windows(view: ReduceWindow, inputs: Arrays, init_values: Arrays, reducer: Reducer) -> Arrays:
    """Reduce the windows in the body's types."""
    tree = view.ordering.reduction_tree
    if tree != "blocked":
        return reduce_windows_by_tree(inputs, init_values, view.windows, reducer, tree)
    shape = inputs[0].shape
    axis = cumulative_axis(view.windows, shape)
    if axis is not None and inputs[0].size:
        return _scan(view, inputs, init_values, reducer, axis)
    # Combining a monoid's total with an idempotent init value again changes nothing, except complex -0, and
    # quantized elements: their sums saturate, so that the extreme one is idempotent, but not associative.
    category = view.analysis.element_types[0].category
    is_absorbed = view.analysis.monoid is not None and not category & (COMPLEX | QUANTIZED)
    if not is_absorbed or not is_idempotent(init_values, reducer):
        return reduce_windows(inputs, init_values, view.windows, reducer)
    (array,), (init_value,) = inputs, init_values
    if not reducer.is_exact:
        return (reduce_elements(array, init_value, view.windows, reducer),)
    for axis, window in enumerate(view.windows):
        window_along_axis = [window if other == axis else Window(1) for other in range(array.ndim)]
        if not window.is_trivial:
            array = reduce_elements(array, init_value, window_along_axis, reducer)
    return combine_broadcast((init_value,), (array,), reducer)


def _scan(view: ReduceWindow, inputs: Arrays, init_values: Arrays, reducer: Reducer, axis: int) -> Arrays:
    """Cumulative windows along `axis`."""
    shape = inputs[0].shape
    merged = (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))
    values = [array.reshape(merged) for array in inputs]
    if view.windows[axis].low:
        scanned = scan(tuple(values), init_values, reducer)
    else:
        reverse = scan(tuple([array[:, ::-1] for array in values]), init_values, reducer.swapped())
        scanned = tuple([array[:, ::-1] for array in reverse])
    return tuple([array.reshape(shape) for array in scanned])


def reduce_windows(
    inputs: Arrays, init_values: Arrays, windows: Sequence[Window], reducer: Reducer
) -> Arrays:
    """Reduce each window from the left in row-major order, starting from the init values."""
    shape = inputs[0].shape
    counts = [window.count(size) for window, size in zip(windows, shape, strict=True)]
    reduced = tuple([np.full(counts, value, value.dtype) for value in init_values])
    for spans in window_positions(windows, shape, counts):
        values = []
        for array, init_value in zip(inputs, init_values, strict=True):
            if spans is not None and array[spans[1]].shape == tuple(counts):
                values.append(array[spans[1]])
                continue
            padded = np.full(counts, init_value, init_value.dtype)
            if spans is not None:
                padded[spans[0]] = array[spans[1]]
            values.append(padded)
        reduced = reducer.combine(reduced, tuple(values))
    return reduced


def reduce_elements(array: Array, init_value: Array, windows: Sequence[Window], reducer: Reducer) -> Array:
    """`reduce_windows` where combining with `init_value` again changes nothing, so padding is omitted."""
    shape = array.shape
    counts = [window.count(size) for window, size in zip(windows, shape, strict=True)]
    reduced = np.full(counts, init_value, init_value.dtype)
    for spans in window_positions(windows, shape, counts):
        if spans is None:
            continue
        window_slices: tuple[Any, ...] = (*spans[0], ...)
        overlapping = reduced[window_slices]
        if reducer.ufunc is not None:
            reducer.ufunc(overlapping, array[spans[1]], out=overlapping)
        else:
            (overlapping[...],) = reducer.combine((overlapping,), (array[spans[1]],))
    return reduced


def reduce_windows_by_tree(
    inputs: Arrays, init_values: Arrays, windows: Sequence[Window], reducer: Reducer, tree: Any
) -> Arrays:
    """Reduce each window by a tree like `reduce`; padding and holes count as init values."""
    shape = inputs[0].shape
    counts = [window.count(size) for window, size in zip(windows, shape, strict=True)]
    results = tuple([np.empty(counts, array.dtype) for array in inputs])
    padded = [np.append(array.reshape(-1), value) for array, value in zip(inputs, init_values, strict=True)]
    chunk_size = max(1, MAX_GATHERED // math.prod(window.size for window in windows))
    for start in range(0, results[0].size, chunk_size):
        positions = element_positions(windows, shape, counts, start, min(start + chunk_size, results[0].size))
        values = tuple([array[positions][:, :, np.newaxis] for array in padded])
        for result, reduced in zip(results, reduce_by_tree(values, init_values, reducer, tree), strict=True):
            result.reshape(-1)[start : start + chunk_size] = reduced[:, 0]
    return results
