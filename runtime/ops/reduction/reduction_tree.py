"""Trees of reductions: in which order the values of a result element are combined.

THE TREE. The specification leaves the shape of the tree open, not the order of its leaves. Of the n values of
a result element, in order, each name that `Options(reduction_tree=...)` takes stands for one tree:

- ``"blocked"``: adjacent pairs, level by level: (v0 op v1), (v2 op v3), ..., an odd last one carried up as it
  is, until one is left. The result is ``body(init_value, total)``;
- ``"balanced"``: each node has the first half of its values, rounded up, on its left and the others on its
  right. The result is ``body(init_value, total)``;
- ``"left"``: ``body(...body(body(init_value, v0), v1)..., vn-1)``;
- ``"right"``: ``body(v0, ...body(vn-2, body(vn-1, init_value))...)``;
- ``("random", seed)``: one to three init values are put at random places among the values; then neighbours
  are combined in random order until one is left. The seed and n decide the tree, alike for all result
  elements.

Without values, the result is `init_value`, or the random tree of init values.

Source: specification, section "reduce".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..framework.declaration import Array
from .vectorize_region import Arrays, Fold

MOST_VALUES: Final = 1 << 16
"""Values that are folded at a time: few enough for the caches."""

MOST_COLUMNS: Final = 1 << 12
"""Result elements that are folded side by side where there are many values."""

MOST_INIT_VALUES: Final = 3
"""Most leaves of a random tree that are init values."""


def fold_tree(values: Arrays, init_values: Arrays, fold: Fold, tree: Any) -> Arrays:
    """Fold the middle axis of [outer, n, inner] arrays and init values (0-dimensional) by a tree.

    Returns:
        Arrays of shape [outer, inner].
    """
    outer, count, inner = values[0].shape
    if not outer * inner:
        return tuple([np.empty((outer, inner), array.dtype) for array in values])
    if isinstance(tree, tuple):
        return _fold_random(values, init_values, fold, tree[1])
    initial = tuple([np.full((outer, inner), value, value.dtype) for value in init_values])
    if not count:
        return initial
    if tree == "left":
        return _from_left(initial, values, fold)
    if tree == "right":
        return _from_left(initial, tuple([array[:, ::-1] for array in values]), fold.exchanged())
    if tree == "balanced":
        return fold.combine(initial, _contract(values, _balanced(count), fold))
    return fold.combine(initial, fold_adjacent(values, fold))


def _from_left(folded: Arrays, values: Arrays, fold: Fold) -> Arrays:
    """Combine [outer, inner] arrays with one value of the middle axis after another."""
    outer, count, inner = values[0].shape
    if fold.ufunc is None or outer * inner > MOST_COLUMNS:
        for position in range(count):
            folded = fold.combine(folded, tuple([array[:, position] for array in values]))
        return folded
    (total,) = folded
    for part in _cut(values, 1, max(1, MOST_VALUES // (outer * inner))):
        row = np.concatenate([total[:, np.newaxis], part[0]], axis=1)
        total = fold.ufunc.accumulate(row, axis=1, dtype=row.dtype)[:, -1]
    return (total,)


def _fold_random(values: Arrays, init_values: Arrays, fold: Fold, seed: int) -> Arrays:
    outer, count, inner = values[0].shape
    generator = np.random.Generator(np.random.PCG64([seed, count]))
    initial = int(generator.integers(1, MOST_INIT_VALUES, endpoint=True))
    places = np.zeros(count + initial, np.bool_)
    places[generator.choice(count + initial, initial, replace=False)] = True
    leaves = []
    for array, value in zip(values, init_values, strict=True):
        mixed = np.full((outer, count + initial, inner), value, array.dtype)
        mixed[:, ~places] = array
        leaves.append(mixed)
    return _contract(tuple(leaves), generator.permutation(count + initial - 1), fold)


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


def _contract(values: Arrays, ranks: Array, fold: Fold) -> Arrays:
    """Combine neighbours along the middle axis across one gap after the other, least rank first.

    All gaps that come before both of their neighbours are taken at once, which gives the same tree.
    """
    while len(ranks):
        first = np.ones(len(ranks), np.bool_)
        first[1:] &= ranks[1:] < ranks[:-1]
        first[:-1] &= ranks[:-1] < ranks[1:]
        gaps = np.flatnonzero(first)
        left = tuple([array[:, gaps] for array in values])
        folded = fold.combine(left, tuple([array[:, gaps + 1] for array in values]))
        values = tuple([np.delete(array, gaps + 1, axis=1) for array in values])
        for array, combined in zip(values, folded, strict=True):
            array[:, gaps - np.arange(len(gaps))] = combined
        ranks = ranks[~first]
    return tuple([array[:, 0] for array in values])


def fold_adjacent(values: Arrays, fold: Fold) -> Arrays:
    """Fold the middle axis of [outer, n, inner] arrays, n > 0, by adjacent pairs, without init values.

    Aligned blocks of 2^k values are subtrees: where there are many values, blocks are folded one by one.

    Returns:
        Arrays of shape [outer, inner].
    """
    outer, count, inner = values[0].shape
    if outer * count * inner <= MOST_VALUES:
        return _fold_levels(values, fold)
    for axis, size, most in ((0, outer, MOST_VALUES // (count * inner)), (2, inner, MOST_COLUMNS)):
        if size > max(1, most):
            parts = [fold_adjacent(part, fold) for part in _cut(values, axis, max(1, most))]
            return _join(parts, axis // 2)
    block = 1 << max(1, (MOST_VALUES // inner).bit_length() - 1)
    totals = [_fold_levels(part, fold) for part in _cut(values, 1, block)]
    return _fold_levels(tuple([array[np.newaxis] for array in _join(totals, 0)]), fold)


def _fold_levels(values: Arrays, fold: Fold) -> Arrays:
    """Fold the middle axis by adjacent pairs, level by level."""
    count = values[0].shape[1]
    while count > 1:
        paired = count - count % 2
        left = tuple([array[:, 0:paired:2] for array in values])
        folded = fold.combine(left, tuple([array[:, 1:paired:2] for array in values]))
        if paired < count:
            folded = _join([folded, tuple([array[:, paired:] for array in values])], 1)
        values, count = folded, (count + 1) // 2
    return tuple([array[:, 0] for array in values])


def _cut(values: Arrays, axis: int, size: int) -> list[Arrays]:
    """The arrays in parts of so many values along an axis."""
    before = (slice(None),) * axis
    starts = range(0, values[0].shape[axis], size)
    return [tuple([array[(*before, slice(start, start + size))] for array in values]) for start in starts]


def _join(parts: Sequence[Arrays], axis: int) -> Arrays:
    """For each operand, its parts one after another."""
    return tuple([np.concatenate(arrays, axis) for arrays in zip(*parts, strict=True)])
