"""The NumPy implementation of `select_and_scatter`: all windows at once, position by position."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....types import Array
from ..framework.declaration import Evaluate
from .bodies import VectorizedRegion, vectorize_region
from .reduce_window import SelectAndScatter
from .reducer import Reducer
from .reduction_tree_numpy import reduce_by_tree
from .window_geometry import window_positions


def bind(view: SelectAndScatter) -> Callable[..., Any]:
    """The function of operand, source, init_value and both regions."""
    selection = vectorize_region(view.select)

    def select_and_scatter(
        operand: Array, source: Array, init_value: Array, *, select: Evaluate, scatter: Evaluate
    ) -> Array:
        destinations = _selected(view, selection, operand, source.shape, select).ravel()
        reducer = view.analysis.reducer(scatter, view.ordering.accumulate)
        types = [view.source]
        (values,) = view.analysis.enter([source.ravel()], types, reducer)
        (initial,) = view.analysis.enter([np.asarray(init_value)], types, reducer)
        reduced = np.full(operand.size, initial, initial.dtype)
        if (destinations < 0).any():
            values, destinations = values[destinations >= 0], destinations[destinations >= 0]
        if view.ordering.reduction_tree != "blocked":
            _reduce_groups(reduced, destinations, values, initial, reducer, view.ordering.reduction_tree)
        elif reducer.ufunc is not None:
            reducer.ufunc.at(reduced, destinations, values)
        else:
            _reduce_into(reduced, destinations, values, reducer)
        return view.analysis.leave([reduced.reshape(operand.shape)], reducer)[0]

    return select_and_scatter


def _selected(
    view: SelectAndScatter,
    selection: VectorizedRegion,
    operand: Array,
    shape: tuple[int, ...],
    select: Evaluate,
) -> Array:
    """The row-major position of the selected element of each window, -1 for windows without elements."""
    positions = np.arange(operand.size).reshape(operand.shape)
    selected = np.full(shape, -1)
    values = np.zeros(shape, operand.dtype)
    for spans in window_positions(view.windows, operand.shape, shape):
        if spans is None:
            continue
        windows: tuple[Any, ...] = (*spans[0], ...)
        elements: tuple[Any, ...] = (*spans[1], ...)
        (prefers,) = selection(select, values[windows], operand[elements])
        replaced = ~prefers | (selected[windows] < 0)
        np.copyto(values[windows], operand[elements], where=replaced)
        np.copyto(selected[windows], positions[elements], where=replaced)
    return selected


def _reduce_into(reduced: Array, destinations: Array, values: Array, reducer: Reducer) -> None:
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


def _reduce_groups(
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
