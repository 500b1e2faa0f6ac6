"""The NumPy implementation of `select_and_scatter`: all windows at once, position by position."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ....types import Array
from ...ir.affine import row_major_strides
from ..framework.declaration import Evaluate
from .bodies import VectorizedRegion, vectorize_region
from .reduce_window import SelectAndScatter
from .reducer import Reducer
from .reduction_tree_numpy import reduce_by_tree
from .window_geometry import Window, window_positions

_ELEMENTS_PER_CHUNK: Final = 1 << 17
"""About how many elements are compared at a time, so that windows stay in the cache."""


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
    if not shape or not view.windows[0].is_trivial:
        return _selected_in_rows(view.windows, selection, operand, shape, select)
    selected = np.empty(shape, np.int64)
    row_size = math.prod(operand.shape[1:])
    rows_per_chunk = max(1, _ELEMENTS_PER_CHUNK // max(1, row_size))
    for first in range(0, shape[0], rows_per_chunk):
        rows = slice(first, first + rows_per_chunk)
        chunk = selected[rows]
        chunk[...] = _selected_in_rows(view.windows, selection, operand[rows], chunk.shape, select)
        np.add(chunk, first * row_size, out=chunk, where=chunk >= 0)
    return selected


def _selected_in_rows(
    windows: Sequence[Window],
    selection: VectorizedRegion,
    operand: Array,
    shape: tuple[int, ...],
    select: Evaluate,
) -> Array:
    """`_selected` of an operand whose windows are taken all at once."""
    strides = row_major_strides(operand.shape)
    sizes = [window.size for window in windows]
    selected = np.full(shape, -1, np.int64)
    values = np.zeros(shape, operand.dtype)
    have_all_selected = False
    for number, spans in enumerate(window_positions(windows, operand.shape, shape)):
        if spans is None:
            continue
        of_windows: tuple[Any, ...] = (*spans[0], ...)
        of_elements: tuple[Any, ...] = (*spans[1], ...)
        elements = operand[of_elements]
        (prefers,) = selection(select, values[of_windows], elements)
        replaced = ~prefers if have_all_selected else ~prefers | (selected[of_windows] < 0)
        # From the start of its window; the starts are added once all positions are done.
        offset = np.dot(np.unravel_index(number, sizes), strides)
        _replace(values[of_windows], elements, replaced)
        _replace(selected[of_windows], np.array(offset), replaced)
        have_all_selected = have_all_selected or elements.shape == tuple(shape)
    is_empty = selected < 0
    for axis, (window, stride) in enumerate(zip(windows, strides, strict=True)):
        along_axis = np.moveaxis(selected, axis, -1)
        along_axis += (np.arange(shape[axis]) * window.stride - window.low) * stride
    if not have_all_selected:
        selected[is_empty] = -1
    return selected


def _replace(target: Array, values: Array, where: Array) -> None:
    """`np.copyto(target, values, where=where)`, in a fifth of the time where `where` follows no pattern.

    It computes with the bits of the elements, since processors cannot predict `copyto`'s branches.
    """
    if target.itemsize > 8:
        np.copyto(target, values, where=where)
        return
    bits = target.view(f"u{target.itemsize}")
    difference = np.negative(where, dtype=bits.dtype, casting="unsafe")
    difference &= bits ^ values.view(bits.dtype)
    bits ^= difference


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
