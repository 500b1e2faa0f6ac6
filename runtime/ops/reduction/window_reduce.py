"""Windows of arrays folded by a body: one position after another, or by a tree; and scattered values.

Source: specification, sections "reduce_window" and "select_and_scatter".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..framework.declaration import Array
from .reduction_tree import fold_tree
from .vectorize_region import Arrays, Fold
from .window_geometry import Window, element_positions, window_positions

MOST_GATHERED: Final = 1 << 20
"""Values of windows that are brought together at a time, to be folded by a tree."""


def fold_windows(inputs: Arrays, init_values: Arrays, windows: Sequence[Window], fold: Fold) -> Arrays:
    """The left fold of init values and each window in row-major order, literally."""
    shape = inputs[0].shape
    counts = [window.count(size) for window, size in zip(windows, shape, strict=True)]
    folded = tuple([np.full(counts, value, value.dtype) for value in init_values])
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
        folded = fold.combine(folded, tuple(values))
    return folded


def fold_elements(array: Array, init_value: Array, windows: Sequence[Window], fold: Fold) -> Array:
    """`fold_windows` where combining with `init_value` once more changes nothing: padding is left out."""
    shape = array.shape
    counts = [window.count(size) for window, size in zip(windows, shape, strict=True)]
    folded = np.full(counts, init_value, init_value.dtype)
    for spans in window_positions(windows, shape, counts):
        if spans is None:
            continue
        windows_there: tuple[Any, ...] = (*spans[0], ...)
        part = folded[windows_there]
        if fold.ufunc is not None:
            fold.ufunc(part, array[spans[1]], out=part)
        else:
            (part[...],) = fold.combine((part,), (array[spans[1]],))
    return folded


def fold_by_tree(
    inputs: Arrays, init_values: Arrays, windows: Sequence[Window], fold: Fold, tree: Any
) -> Arrays:
    """Each window folded by a tree as `reduce` folds, padded positions and holes as init values."""
    shape = inputs[0].shape
    counts = [window.count(size) for window, size in zip(windows, shape, strict=True)]
    results = tuple([np.empty(counts, array.dtype) for array in inputs])
    padded = [np.append(array.reshape(-1), value) for array, value in zip(inputs, init_values, strict=True)]
    together = max(1, MOST_GATHERED // math.prod(window.size for window in windows))
    for start in range(0, results[0].size, together):
        positions = element_positions(windows, shape, counts, start, min(start + together, results[0].size))
        values = tuple([array[positions][:, :, np.newaxis] for array in padded])
        for result, folded in zip(results, fold_tree(values, init_values, fold, tree), strict=True):
            result.reshape(-1)[start : start + together] = folded[:, 0]
    return results


def fold_into(folded: Array, destinations: Array, values: Array, fold: Fold) -> None:
    """Combine each value into `folded` at its destination, those of one destination in order.

    The first values of all destinations go at once, then the second ones, and so on.
    """
    order = np.argsort(destinations, kind="stable")
    grouped = destinations[order]
    starts = np.flatnonzero(np.diff(grouped, prepend=-1))
    counts = np.diff(starts, append=len(grouped))
    for turn in range(int(counts.max(initial=0))):
        chosen = order[starts[counts > turn] + turn]
        targets = destinations[chosen]
        (folded[targets],) = fold.combine((folded[targets],), (values[chosen],))


def fold_groups(
    folded: Array, destinations: Array, values: Array, initial: Array, fold: Fold, tree: Any
) -> None:
    """Write into `folded` at each destination its values, in order, folded with `initial` by a tree.

    Destinations that have equally many values are folded side by side.
    """
    order = np.argsort(destinations, kind="stable")
    counts = np.bincount(destinations, minlength=folded.size)
    starts = np.cumsum(counts) - counts
    for count in np.unique(counts):
        targets = np.flatnonzero(counts == count)
        chosen = order[starts[targets, np.newaxis] + np.arange(count)]
        (totals,) = fold_tree((values[chosen][:, :, np.newaxis],), (initial,), fold, tree)
        folded[targets] = totals[:, 0]
