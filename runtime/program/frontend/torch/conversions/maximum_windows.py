"""Adaptive and fractional maximum pooling of PyTorch: windows that are not equidistant.

The elements of all windows are read into a last dimension, along which the maximum is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .....types import Array
from ....ir import Value
from ..emitter import F32, F64, I64, Emitter, element_type, shape_of
from ..table import NodeEmitter, converts
from .indexing import take_along
from .reductions import extreme_with_index


def _covered(size: int, result: int) -> Array:
    """The elements of each window of an adaptive pooling, the last one repeated: [result, largest window]."""
    index = np.arange(result)
    start, limit = index * size // result, -(-(index + 1) * size // result)
    offsets = np.arange(int((limit - start).max(initial=0)))
    covered: Array = np.minimum(start[:, None] + offsets, limit[:, None] - 1)
    return covered


def _maxima(e: NodeEmitter, x: Value, rank: int, members: Value) -> list[Value]:
    """The maximum of each window and its position in the plane, from the positions of its elements.

    Args:
        e: appends the operations; its result has the shape of the results.
        x: planes of the last `rank` dimensions.
        members: [planes, windows, elements of a window].
    """
    planes, windows, count = shape_of(members)
    spatial = math.prod(shape_of(x)[len(shape_of(x)) - rank :])
    flat = e.reshape(x, (planes, spatial))
    elements = take_along(e, flat, 1, e.reshape(members, (planes, windows * count)))
    elements = e.reshape(elements, (planes, windows, count))
    results = extreme_with_index(e, elements, 2, "GT", index=members)
    return e.reshaped(results)


def _adaptive(rank: int) -> Any:
    def convert(e: NodeEmitter, x: Value, output_size: Sequence[int]) -> list[Value]:
        outer, spatial = shape_of(x)[:-rank], shape_of(x)[-rank:]
        results = e.type.shape[-rank:]
        members: Array = np.zeros((1, 1), np.int64)
        for size, result in zip(spatial, results, strict=True):
            covered = _covered(size, result)
            sums = members[:, None, :, None] * size + covered[None, :, None, :]
            members = sums.reshape(len(members) * result, -1)
        constant = e.dense(members.astype(np.int64))
        return _maxima(e, x, rank, e.broadcast(constant, (math.prod(outer), *members.shape)))

    return convert


for _rank in (2, 3):
    converts(f"aten.adaptive_max_pool{_rank}d.default")(_adaptive(_rank))


def _starts(e: Emitter, sample: Value, size: int, window: int, result: int) -> Value:
    """The first element of each window of a fractional pooling: [planes, result].

    Source: Graham, "Fractional Max-Pooling", the pseudorandom sequence of increments.
    """
    planes, type = shape_of(sample)[0], element_type(sample)
    shape = (planes, result)
    last = e.full(size - window, shape, I64)
    if result == 1:
        return last
    # PyTorch computes the ratio in the samples' type, and truncates.
    ratio = e.full((size - window) / (result - 1), shape, type)
    broadcast_sample = e.broadcast_in_dim(sample, shape, [0])
    index = e.convert(e.iota(shape, 1), type)
    scaled = e.convert(e.multiply(e.add(index, broadcast_sample), ratio), I64)
    start = e.subtract(scaled, e.convert(e.multiply(broadcast_sample, ratio), I64))
    is_last = e.compare("EQ", e.iota(shape, 1), e.full(result - 1, shape, I64))
    return e.select(is_last, last, start)


def _fractional(rank: int) -> Any:
    def convert(
        e: NodeEmitter, x: Value, kernel_size: Sequence[int], output_size: Sequence[int], samples: Value
    ) -> list[Value]:
        spatial, results = shape_of(x)[-rank:], e.type.shape[-rank:]
        planes = math.prod(shape_of(x)[:-rank])
        computed = F64 if element_type(samples) is F64 else F32
        columns = e.convert(e.reshape(samples, (planes, rank)), computed)
        members = e.full(0, (planes, 1, 1), I64)
        for dim, (size, window, result) in enumerate(zip(spatial, kernel_size, results, strict=True)):
            # In two dimensions the first sample is that of the width.
            column = rank - 1 - dim if rank == 2 else dim
            sample = e.reshape(e.slice(columns, 1, column, column + 1), (planes,))
            starts = _starts(e, sample, size, window, result)
            members = _combined(e, members, size, starts, window)
        return _maxima(e, x, rank, members)

    return convert


def _combined(e: Emitter, members: Value, size: int, starts: Value, window: int) -> Value:
    """The positions of elements of windows with one more dimension of a size."""
    planes, windows, count = shape_of(members)
    shape = (planes, windows, shape_of(starts)[1], count, window)
    rows = e.broadcast_in_dim(e.multiply(members, e.like(members, size)), shape, [0, 1, 3])
    first = e.broadcast_in_dim(starts, shape, [0, 2])
    summed = e.add(rows, e.add(first, e.iota(shape, 4)))
    return e.reshape(summed, (planes, windows * shape[2], count * window))


for _rank in (2, 3):
    converts(f"aten.fractional_max_pool{_rank}d.default")(_fractional(_rank))
