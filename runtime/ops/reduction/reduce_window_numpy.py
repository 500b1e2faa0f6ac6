"""Reduce windows of arrays, position by position or by a tree, and reduce scattered values.

Source: specification, sections "reduce_window" and "select_and_scatter".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...types import Array
from .reducer import Arrays, Reducer
from .reduction_tree import reduce_by_tree
from .window_geometry import Window, element_positions, window_positions

MAX_GATHERED: Final = 1 << 20
"""Number of window elements gathered at a time for a reduction by a tree."""


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


def reduce_into(reduced: Array, destinations: Array, values: Array, reducer: Reducer) -> None:
    """Combine each value into `reduced` at its destination, in the order of the values.

    One vectorized step combines the first value of every destination, the next one the second, and so on.
    """
    order = np.argsort(destinations, kind="stable")
    grouped = destinations[order]
    starts = np.flatnonzero(np.diff(grouped, prepend=-1))
    counts = np.diff(starts, append=len(grouped))
    for rank in range(int(counts.max(initial=0))):
        selected = order[starts[counts > rank] + rank]
        targets = destinations[selected]
        (reduced[targets],) = reducer.combine((reduced[targets],), (values[selected],))


def reduce_groups(
    reduced: Array, destinations: Array, values: Array, initial: Array, reducer: Reducer, tree: Any
) -> None:
    """Reduce the values of each destination, in order, with `initial` by a tree, and store them in `reduced`.

    Destinations with the same number of values are reduced together.
    """
    order = np.argsort(destinations, kind="stable")
    counts = np.bincount(destinations, minlength=reduced.size)
    starts = np.cumsum(counts) - counts
    for count in np.flatnonzero(np.bincount(counts)):
        targets = np.flatnonzero(counts == count)
        selected = order[starts[targets, np.newaxis] + np.arange(count)]
        (totals,) = reduce_by_tree((values[selected][:, :, np.newaxis],), (initial,), reducer, tree)
        reduced[targets] = totals[:, 0]
