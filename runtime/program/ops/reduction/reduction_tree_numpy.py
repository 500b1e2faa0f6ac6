"""Reductions by the trees of `reduction_tree` over many values at once, level by level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ....types import Array
from .reducer import Arrays, Reducer
from .reduction_tree import random_tree

MAX_VALUES: Final = 1 << 16
"""Number of values reduced at a time, so that they fit the caches."""

MAX_INNER_SIZE: Final = 1 << 12
"""Maximum number of result elements reduced at a time where each has many values."""


def reduce_by_tree(values: Arrays, init_values: Arrays, reducer: Reducer, tree: Any) -> Arrays:
    """Reduce the middle axis of [outer, n, inner] arrays and init values (0-dimensional) by a tree.

    Returns:
        Arrays of shape [outer, inner].
    """
    outer, count, inner = values[0].shape
    if not outer * inner:
        return tuple([np.empty((outer, inner), array.dtype) for array in values])
    if isinstance(tree, tuple):
        return _reduce_random(values, init_values, reducer, tree[1])
    initial = tuple([np.full((outer, inner), value, value.dtype) for value in init_values])
    if not count:
        return initial
    if tree == "left":
        return _from_left(initial, values, reducer)
    if tree == "right":
        return _from_left(initial, tuple([array[:, ::-1] for array in values]), reducer.swapped())
    if tree == "balanced":
        return reducer.combine(initial, _contract(values, _balanced(count), reducer))
    return reducer.combine(initial, reduce_adjacent(values, reducer))


def _from_left(reduced: Arrays, values: Arrays, reducer: Reducer) -> Arrays:
    """Combine [outer, inner] arrays with one value of the middle axis after another."""
    outer, count, inner = values[0].shape
    if reducer.ufunc is None or outer * inner > MAX_INNER_SIZE:
        for position in range(count):
            reduced = reducer.combine(reduced, tuple([array[:, position] for array in values]))
        return reduced
    (total,) = reduced
    for chunk in _cut(values, 1, max(1, MAX_VALUES // (outer * inner))):
        row = np.concatenate([total[:, np.newaxis], chunk[0]], axis=1)
        total = reducer.ufunc.accumulate(row, axis=1, dtype=row.dtype)[:, -1]
    return (total,)


def _reduce_random(values: Arrays, init_values: Arrays, reducer: Reducer, seed: int) -> Arrays:
    outer, count, inner = values[0].shape
    is_init_value, ranks = random_tree(count, seed)
    leaves = []
    for array, value in zip(values, init_values, strict=True):
        values_and_init = np.full((outer, len(is_init_value), inner), value, array.dtype)
        values_and_init[:, ~is_init_value] = array
        leaves.append(values_and_init)
    return _contract(tuple(leaves), ranks, reducer)


def _balanced(count: int) -> Array:
    """For each gap between neighbours of `count` values, minus the depth of the node that splits there."""
    ranks = np.empty(count - 1, np.int64)
    depth, spans = 0, np.array([[0, count]])
    while len(spans):
        spans = spans[spans[:, 1] - spans[:, 0] > 1]
        middles = (spans[:, 0] + spans[:, 1] + 1) // 2
        ranks[middles - 1] = -depth
        lower = np.stack([spans[:, 0], middles], axis=1)
        spans = np.concatenate([lower, np.stack([middles, spans[:, 1]], axis=1)])
        depth += 1
    return ranks


def _contract(values: Arrays, ranks: Array, reducer: Reducer) -> Arrays:
    """Combine neighbours along the middle axis across one gap after the other, lowest rank first.

    All gaps that come before both of their neighbours are taken at once, which gives the same tree.
    """
    while len(ranks):
        first = np.ones(len(ranks), np.bool_)
        first[1:] &= ranks[1:] < ranks[:-1]
        first[:-1] &= ranks[:-1] < ranks[1:]
        gaps = np.flatnonzero(first)
        left = tuple([array[:, gaps] for array in values])
        reduced = reducer.combine(left, tuple([array[:, gaps + 1] for array in values]))
        values = tuple([np.delete(array, gaps + 1, axis=1) for array in values])
        for array, combined in zip(values, reduced, strict=True):
            array[:, gaps - np.arange(len(gaps))] = combined
        ranks = ranks[~first]
    return tuple([array[:, 0] for array in values])


def reduce_adjacent(
    values: Arrays, reducer: Reducer, enter: Callable[[Arrays], Arrays] = lambda values: values
) -> Arrays:
    """Reduce the middle axis of [outer, n, inner] arrays, n > 0, by adjacent pairs, without init values.

    Aligned blocks of 2^k values are subtrees: where there are many values, each block is reduced by itself.

    Args:
        enter: converts values element by element, block by block, to the NumPy types of the reducer.

    Returns:
        Arrays of shape [outer, inner].
    """
    outer, count, inner = values[0].shape
    if outer * count * inner <= MAX_VALUES:
        return _reduce_levels(enter(values), reducer)
    for axis, size, max_size in ((0, outer, MAX_VALUES // (count * inner)), (2, inner, MAX_INNER_SIZE)):
        if size > max(1, max_size):
            totals_by_chunk = [
                reduce_adjacent(chunk, reducer, enter) for chunk in _cut(values, axis, max(1, max_size))
            ]
            return _join(totals_by_chunk, axis // 2)
    block = 1 << max(1, (MAX_VALUES // inner).bit_length() - 1)
    totals = [_reduce_levels(enter(chunk), reducer) for chunk in _cut(values, 1, block)]
    return _reduce_levels(tuple([array[np.newaxis] for array in _join(totals, 0)]), reducer)


def _reduce_levels(values: Arrays, reducer: Reducer) -> Arrays:
    """Reduce the middle axis by adjacent pairs, level by level."""
    count = values[0].shape[1]
    while count > 1:
        paired = count - count % 2
        left = tuple([array[:, 0:paired:2] for array in values])
        reduced = reducer.combine(left, tuple([array[:, 1:paired:2] for array in values]))
        if paired < count:
            reduced = _join([reduced, tuple([array[:, paired:] for array in values])], 1)
        values, count = reduced, (count + 1) // 2
    return tuple([array[:, 0] for array in values])


def _cut(values: Arrays, axis: int, size: int) -> list[Arrays]:
    """Split the arrays into chunks of `size` values along an axis."""
    before = (slice(None),) * axis
    starts = range(0, values[0].shape[axis], size)
    return [tuple([array[(*before, slice(start, start + size))] for array in values]) for start in starts]


def _join(chunks: Sequence[Arrays], axis: int) -> Arrays:
    """Concatenate the chunks of each operand."""
    return tuple([np.concatenate(arrays, axis) for arrays in zip(*chunks, strict=True)])
