"""The NumPy implementation of `top_k`, in blocks of rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....types import Array
from .top_k import TopK


def bind(view: TopK) -> Callable[..., Any]:
    """The function of operand."""

    def top_k(operand: Array) -> tuple[Array, Array]:
        size, count = operand.shape[-1], math.prod(operand.shape[:-1])
        rows, order = operand.reshape(count, size), np.empty((count, view.k), np.intp)
        # In blocks of rows, whose temporary arrays stay in caches and are reused for the next block.
        rows_per_chunk = max(1, _ELEMENTS_PER_CHUNK // max(1, size))
        for first in range(0, count, rows_per_chunk):
            sort_keys = view.keys_of(rows[first : first + rows_per_chunk])
            order[first : first + rows_per_chunk] = _smallest_keys(
                np.invert(sort_keys, out=sort_keys), view.k
            )
        shape = (*operand.shape[:-1], view.k)
        values = np.take_along_axis(rows, order, axis=-1).reshape(shape)
        return values, order.astype(np.int32).reshape(shape)

    return top_k


_MIN_LONG_ROW = 1 << 12
"""Number of elements of a row that is worth a call of its own."""
_MIN_BLOCKS = 64
"""Minimum number of blocks of a long row: their minima bound the elements that `_smallest_of_row` selects."""
_MIN_BLOCK = 8
"""Minimum number of elements of such a block."""


def _blocks_of_row(count: int) -> int:
    """The number of blocks of a long row from which `count` elements are selected.

    `count` blocks would leave more elements below the bound, more blocks would take longer to reduce.
    """
    return max(_MIN_BLOCKS, 2 * count)


def _smallest_of_row(sort_keys: Array, count: int) -> Array:
    """`_smallest_keys` of one long row: few elements are at most the `count`-th smallest block minimum."""
    number = _blocks_of_row(count)
    blocks = sort_keys[: len(sort_keys) // number * number].reshape(number, -1)
    bound = np.partition(blocks.min(axis=1), count - 1)[count - 1]
    candidates = np.flatnonzero(sort_keys <= bound)
    return candidates[np.argsort(sort_keys[candidates], kind="stable")[:count]]


_ELEMENTS_PER_CHUNK = 1 << 17
"""Maximum number of elements that are searched at a time."""


def _smallest_keys(sort_keys: Array, count: int) -> Array:
    """The indices of the smallest keys of each row, in ascending order; equal keys keep their order."""
    size = sort_keys.shape[-1]
    if not 0 < 8 * count < size:
        return np.argsort(sort_keys, axis=-1, kind="stable")[..., :count]
    if size >= max(_MIN_LONG_ROW, _MIN_BLOCK * _blocks_of_row(count)):
        return np.stack([_smallest_of_row(row, count) for row in sort_keys])
    last = np.partition(sort_keys, count - 1, axis=-1)[..., count - 1 : count]
    chosen = sort_keys <= last
    if np.count_nonzero(chosen) > chosen.size // size * count:
        needed = count - np.count_nonzero(sort_keys < last, axis=-1, keepdims=True)
        equal = sort_keys == last
        chosen &= ~(equal & (np.cumsum(equal, axis=-1) > needed))
    positions = np.nonzero(chosen)[-1].reshape(*sort_keys.shape[:-1], count)
    order = np.argsort(np.take_along_axis(sort_keys, positions, axis=-1), axis=-1, kind="stable")
    return np.take_along_axis(positions, order, axis=-1)
