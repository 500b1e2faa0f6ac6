"""What the patterns mean, element by element, in plain Python."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

COMBINE = {
    "kUpdate": lambda there, written: written,
    "kAdd": lambda there, written: there + written,
    "kMul": lambda there, written: there * written,
    "kMin": np.minimum,
    "kMax": np.maximum,
}


def gather(table: Array, indices: Array, dims: Sequence[int], lengths: Sequence[int]) -> Array:
    """One slice for each index vector, moved back into the table where it would leave it."""
    dims = [d % table.ndim for d in dims]
    sizes = [lengths[dims.index(d)] if d in dims else table.shape[d] for d in range(table.ndim)]
    result = np.empty((*indices.shape[:-1], *sizes), table.dtype)
    for batch in np.ndindex(*indices.shape[:-1]):
        start = [0] * table.ndim
        for d, place in zip(dims, indices[batch].tolist(), strict=True):
            start[d] = min(max(place, 0), table.shape[d] - sizes[d])
        result[batch] = table[tuple(slice(s, s + n) for s, n in zip(start, sizes, strict=True))]
    return result


def scatter(operand: Array, update: Array, indices: Array, dims: Sequence[int], rmw_op: str) -> Array:
    """One element after another; those that lie outside are left out."""
    dims = [d % operand.ndim for d in dims]
    result = operand.copy()
    batch_rank = indices.ndim - 1
    for batch in np.ndindex(*indices.shape[:-1]):
        start = [0] * operand.ndim
        for d, place in zip(dims, indices[batch].tolist(), strict=True):
            start[d] = place
        for offset in itertools.product(*map(range, update.shape[batch_rank:])):
            place = tuple(s + o for s, o in zip(start, offset, strict=True))
            if all(0 <= p < size for p, size in zip(place, operand.shape, strict=True)):
                with np.errstate(all="ignore"):
                    result[place] = COMBINE[rmw_op](result[place], update[batch + offset])
    return result
