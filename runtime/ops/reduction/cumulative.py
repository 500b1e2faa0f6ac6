"""Scans: cumulative windows of `reduce_window`.

The n values, from the last to the first where the padding is above, are split into blocks of SCAN_BLOCK, and
these into groups of SCAN_GROUP. With

- in_group(i): the values of i's group up to i, folded from the left,
- in_block(i): in_group(i) in the first group of a block; in others body(groups, in_group(i)), where the
  totals of the block's groups before i's are folded from the left,
- in_row(i): in_block(i) in the first block; in others body(blocks, in_block(i)), where the totals of the
  blocks before i's are folded from the left,
- pads(i): n - i init values, folded from the left; one, where that combined with itself is the same,

result i is body(pads(i), in_row(i)). The total of a group is in_group of its last value, that of a block
in_block of its last value. Where the padding is above, the operands of every body are exchanged.

Source: specification, section "reduce_window".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ..framework.declaration import Array
from ..numerics.broadcast_shapes import broadcast_pair
from .vectorize_region import Arrays, Fold

SCAN_GROUP: Final = 16
SCAN_BLOCK: Final = 256


def scan(values: Arrays, init_values: Arrays, fold: Fold) -> Arrays:
    """The scan along the middle axis of [outer, n, inner] arrays, n > 0."""
    pads = _pads(init_values, values[0].shape[1], fold)
    return combine_broadcast(pads, _prefixes(values, (SCAN_BLOCK, SCAN_GROUP), fold), fold)


def combine_broadcast(left: Sequence[Array], right: Sequence[Array], fold: Fold) -> Arrays:
    """Combine arrays that broadcast."""
    pairs = [broadcast_pair(a, b) for a, b in zip(left, right, strict=True)]
    return fold.combine(tuple([pair[0] for pair in pairs]), tuple([pair[1] for pair in pairs]))


def _prefixes(values: Arrays, sizes: Sequence[int], fold: Fold) -> Arrays:
    """Inclusive prefixes along the middle axis of [outer, n, inner] arrays.

    Each part of the first of `sizes` is scanned with the other sizes, and combined with the totals of the
    parts before it, which are folded from the left.
    """
    outer, count, inner = values[0].shape
    if not sizes:
        return _from_left(values, fold)
    size, *finer = sizes
    if count <= size:
        return _prefixes(values, finer, fold)
    number, whole = count // size, count // size * size
    parts = tuple([array[:, :whole].reshape(outer * number, size, inner) for array in values])
    results = _prefixes(parts, finer, fold)
    scanned = [array.reshape(outer, number, size, inner) for array in results]
    ahead = _from_left(tuple([array[:, :, -1] for array in scanned]), fold)
    _combine_into([array[:, 1:] for array in scanned], [array[:, :-1, np.newaxis] for array in ahead], fold)
    results = tuple([array.reshape(outer, whole, inner) for array in results])
    if whole == count:
        return results
    rest = _prefixes(tuple([array[:, whole:] for array in values]), finer, fold)
    _combine_into(rest, [array[:, -1:] for array in ahead], fold)
    return tuple([np.concatenate(pair, axis=1) for pair in zip(results, rest, strict=True)])


def _combine_into(right: Sequence[Array], left: Sequence[Array], fold: Fold) -> None:
    """Combine arrays that broadcast, in place of those on the right."""
    if fold.ufunc is not None:
        fold.ufunc(left[0], right[0], out=right[0])
        return
    for array, combined in zip(right, combine_broadcast(left, right, fold), strict=True):
        array[...] = combined


def _from_left(values: Arrays, fold: Fold) -> Arrays:
    """Inclusive prefixes along the middle axis, folded from the left."""
    if fold.ufunc is not None:
        return (fold.ufunc.accumulate(values[0], axis=1, dtype=values[0].dtype),)
    results = tuple([np.array(array) for array in values])
    for position in range(1, values[0].shape[1]):
        left = [array[:, position - 1 : position] for array in results]
        _combine_into([array[:, position : position + 1] for array in results], left, fold)
    return results


def _pads(init_values: Arrays, count: int, fold: Fold) -> Arrays:
    """pads(0), pads(1), ... as [1, n, 1] arrays; [1, 1, 1] where all are the same."""
    if is_idempotent(init_values, fold):
        return tuple([np.reshape(value, (1, 1, 1)) for value in init_values])
    repeated = tuple([np.full((1, count, 1), value, value.dtype) for value in init_values])
    return tuple([array[:, ::-1] for array in _from_left(repeated, fold)])


def is_idempotent(init_values: Arrays, fold: Fold) -> bool:
    """Whether init values combined with themselves are the same bits."""
    return all(
        np.asarray(twice).tobytes() == np.asarray(once).tobytes()
        for twice, once in zip(fold.combine(init_values, init_values), init_values, strict=True)
    )
