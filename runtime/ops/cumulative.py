"""Scans: cumulative windows of `reduce_window`.

The n values, from the last to the first where the padding is above, are split into blocks of SCAN_BLOCK. With

- local(i): the values of i's block up to i, folded from the left,
- carry(b): the blocks before block b, each folded from the left, these totals folded from the left,
- pads(i): n - i init values, folded from the left; one, where that combined with itself is the same,

result i is body(pads(i), local(i)) in the first block and body(body(pads(i), carry(b)), local(i)) in
the others; where the padding is above, the operands of every body are exchanged.

Source: specification, section "reduce_window".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from .declaration import Array
from .fold import Arrays, Fold

SCAN_BLOCK: Final = 256


def scan(values: Arrays, init_values: Arrays, fold: Fold) -> Arrays:
    """The scan along the middle axis of [outer, n, inner] arrays, n > 0."""
    outer, count, inner = values[0].shape
    pads = _pads(init_values, count, fold)
    full = count // SCAN_BLOCK * SCAN_BLOCK
    parts: list[Arrays] = []
    carries: Arrays = ()
    if full:
        blocks = tuple([array[:, :full].reshape(outer, -1, SCAN_BLOCK, inner) for array in values])
        local = _prefixes(blocks, 2, fold)
        lead = tuple([array[:, :full].reshape(1, -1, min(SCAN_BLOCK, array.size), 1) for array in pads])
        carries = _prefixes(tuple([array[:, :, -1] for array in local]), 1, fold)
        parts.append(combine_broadcast([x[:, :1] for x in lead], [x[:, :1] for x in local], fold))
        ahead = [array[:, :-1, np.newaxis] for array in carries]
        later = combine_broadcast([x if x.shape[1] == 1 else x[:, 1:] for x in lead], ahead, fold)
        parts.append(combine_broadcast(later, [array[:, 1:] for array in local], fold))
    if full < count:
        local = _prefixes(tuple([array[:, np.newaxis, full:] for array in values]), 2, fold)
        lead = tuple([x.reshape(1, 1, -1, 1)[:, :, full if x.size > 1 else 0 :] for x in pads])
        if carries:
            lead = combine_broadcast(lead, [array[:, -1:, np.newaxis] for array in carries], fold)
        parts.append(combine_broadcast(lead, local, fold))
    flat = [[array.reshape(outer, -1, inner) for array in part] for part in parts]
    return tuple([np.concatenate(arrays, axis=1) for arrays in zip(*flat, strict=True)])


def combine_broadcast(left: Sequence[Array], right: Sequence[Array], fold: Fold) -> Arrays:
    """Combine arrays that broadcast."""
    pairs = [np.broadcast_arrays(a, b) for a, b in zip(left, right, strict=True)]
    return fold.combine(tuple([pair[0] for pair in pairs]), tuple([pair[1] for pair in pairs]))


def _prefixes(values: Arrays, axis: int, fold: Fold) -> Arrays:
    """Inclusive prefixes along an axis, from the left."""
    if fold.ufunc is not None:
        return (fold.ufunc.accumulate(values[0], axis=axis, dtype=values[0].dtype),)
    results = tuple([np.empty(array.shape, array.dtype) for array in values])
    moved = [np.moveaxis(array, axis, 0) for array in values]
    folded = tuple([array[:1] for array in moved])
    for position in range(values[0].shape[axis]):
        if position:
            folded = fold.combine(folded, tuple([array[position : position + 1] for array in moved]))
        for result, array in zip(results, folded, strict=True):
            np.moveaxis(result, axis, 0)[position : position + 1] = array
    return results


def _pads(init_values: Arrays, count: int, fold: Fold) -> Arrays:
    """pads(0), pads(1), ... as [1, n] arrays; [1, 1] where all are the same."""
    if is_idempotent(init_values, fold):
        return tuple([np.reshape(value, (1, 1)) for value in init_values])
    repeated = _prefixes(tuple([np.full((1, count), value, value.dtype) for value in init_values]), 1, fold)
    return tuple([array[:, ::-1] for array in repeated])


def is_idempotent(init_values: Arrays, fold: Fold) -> bool:
    """Whether init values combined with themselves are the same bits."""
    return all(
        np.asarray(twice).tobytes() == np.asarray(once).tobytes()
        for twice, once in zip(fold.combine(init_values, init_values), init_values, strict=True)
    )
