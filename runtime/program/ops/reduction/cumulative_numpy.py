"""Scans of many values at once, by the tree of `cumulative`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....types import Array
from ..numerics.broadcast_shapes import broadcast_pair
from .cumulative import SCAN_BLOCK, SCAN_GROUP
from .reducer import Arrays, Reducer


def scan(values: Arrays, init_values: Arrays, reducer: Reducer) -> Arrays:
    """The scan along the middle axis of [outer, n, inner] arrays, n > 0."""
    pads = _pads(init_values, values[0].shape[1], reducer)
    return combine_broadcast(pads, _prefixes(values, (SCAN_BLOCK, SCAN_GROUP), reducer), reducer)


def combine_broadcast(left: Sequence[Array], right: Sequence[Array], reducer: Reducer) -> Arrays:
    pairs = [broadcast_pair(a, b) for a, b in zip(left, right, strict=True)]
    return reducer.combine(tuple([pair[0] for pair in pairs]), tuple([pair[1] for pair in pairs]))


def _prefixes(values: Arrays, sizes: Sequence[int], reducer: Reducer) -> Arrays:
    """Inclusive prefixes along the middle axis of [outer, n, inner] arrays.

    Each block of `sizes[0]` values is scanned with the other sizes, and combined with the totals of the
    blocks before it, which are reduced from the left.
    """
    outer, count, inner = values[0].shape
    if not sizes:
        return _from_left(values, reducer)
    size, *inner_sizes = sizes
    if count <= size:
        return _prefixes(values, inner_sizes, reducer)
    block_count, covered = count // size, count // size * size
    blocks = tuple([array[:, :covered].reshape(outer * block_count, size, inner) for array in values])
    results = _prefixes(blocks, inner_sizes, reducer)
    scanned = [array.reshape(outer, block_count, size, inner) for array in results]
    block_totals = _from_left(tuple([array[:, :, -1] for array in scanned]), reducer)
    _combine_into(
        [array[:, 1:] for array in scanned], [array[:, :-1, np.newaxis] for array in block_totals], reducer
    )
    results = tuple([array.reshape(outer, covered, inner) for array in results])
    if covered == count:
        return results
    tail = _prefixes(tuple([array[:, covered:] for array in values]), inner_sizes, reducer)
    _combine_into(tail, [array[:, -1:] for array in block_totals], reducer)
    return tuple([np.concatenate(pair, axis=1) for pair in zip(results, tail, strict=True)])


def _combine_into(right: Sequence[Array], left: Sequence[Array], reducer: Reducer) -> None:
    """Combine arrays that broadcast; the results overwrite the right operands."""
    if reducer.ufunc is not None:
        reducer.ufunc(left[0], right[0], out=right[0])
        return
    for array, combined in zip(right, combine_broadcast(left, right, reducer), strict=True):
        array[...] = combined


def _from_left(values: Arrays, reducer: Reducer) -> Arrays:
    """Inclusive prefixes along the middle axis, reduced from the left."""
    if reducer.ufunc is not None:
        return (reducer.ufunc.accumulate(values[0], axis=1, dtype=values[0].dtype),)
    results = tuple([np.array(array) for array in values])
    for position in range(1, values[0].shape[1]):
        left = [array[:, position - 1 : position] for array in results]
        _combine_into([array[:, position : position + 1] for array in results], left, reducer)
    return results


def _pads(init_values: Arrays, count: int, reducer: Reducer) -> Arrays:
    """pads(0), pads(1), ... as [1, n, 1] arrays; [1, 1, 1] where all are the same."""
    if is_idempotent(init_values, reducer):
        return tuple([np.reshape(value, (1, 1, 1)) for value in init_values])
    repeated = tuple([np.full((1, count, 1), value, value.dtype) for value in init_values])
    return tuple([array[:, ::-1] for array in _from_left(repeated, reducer)])


def is_idempotent(init_values: Arrays, reducer: Reducer) -> bool:
    """Whether init values combined with themselves are the same bits."""
    return all(
        np.asarray(twice).tobytes() == np.asarray(once).tobytes()
        for twice, once in zip(reducer.combine(init_values, init_values), init_values, strict=True)
    )
