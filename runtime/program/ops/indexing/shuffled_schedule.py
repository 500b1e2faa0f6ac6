"""The schedule ``("shuffled", seed)`` of scatter, which permutes the updates of each element separately.

Let element d of the flattened result have k updates, numbered in lexicographic order. The update with the
number ``(first + j * stride) % k`` is applied as number j. `first` and `stride` are random functions of d and
the seed; strides are primes greater than k, so that each update occurs once.
`nimblehlo.kernels.exploration.grouped_updates` computes the same order for updates that are already grouped
by element.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ....types import Array

STRIDES: Final = np.array(
    [
        2190947789, 2301948041, 2468911421, 2556617729, 2694076813, 2831206211, 3001871987, 3094792297,
        3250041787, 3360475813, 3501196571, 3682081619, 3814222513, 3901690021, 4058833151, 4172924863,
    ],
    np.uint64,
)  # fmt: skip
"""Primes between 2^31 and 2^32."""


def draw(destinations: Array, counts: Array, seed: int) -> tuple[Array, Array]:
    """`first` and `stride`, below the number of updates, for elements that have updates.

    Args:
        destinations: numbers of elements in the flattened result.
        counts: how many updates each has; not 0.
    """
    bits = destinations.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits += np.uint64((seed * 0xD1B54A32D192ED03 + 1) % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    sizes = counts.astype(np.uint64)
    first = ((bits & np.uint64(0xFFFFFFFF)) * sizes) >> np.uint64(32)
    stride = STRIDES[(bits >> np.uint64(60)).astype(np.int64)] % sizes
    return first.astype(np.int64), stride.astype(np.int64)


def order(result_index: Array, seed: int) -> Array:
    """The order in which updates are applied.

    Args:
        result_index: the number of each update's element, the updates in lexicographic order.
    """
    if not result_index.size:
        return np.empty(0, np.int64)
    by_destination = np.argsort(result_index, kind="stable")
    in_groups = result_index[by_destination]
    starts = np.flatnonzero(np.concatenate([[True], in_groups[1:] != in_groups[:-1]]))
    counts = np.diff(starts, append=len(in_groups))
    first, stride = draw(in_groups[starts], counts, seed)
    group = np.repeat(np.arange(len(starts)), counts)
    number = np.arange(len(in_groups)) - starts[group]
    positions: Array = by_destination[starts[group] + (first[group] + number * stride[group]) % counts[group]]
    return positions
