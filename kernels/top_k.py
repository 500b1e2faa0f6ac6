"""`chlo.top_k`: the largest values along the last dimension and their places, by selection.

Values are in total order: -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN. Of equal values the first ones
are taken, and come first. A few values are kept sorted while a row is read once; for many values, encoded
values with their places are partitioned by NumPy, and only those selected are sorted.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from . import sort
from .compilation import flat
from .sort_encoding import bits_dtype, encoding
from .threads import division

_FEW = 64
_MOST_POSITIONS = 1 << 31

TopK = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def supports(dtype: Any) -> bool:
    """Whether kernels find the largest of elements of this type."""
    return sort.supports([dtype], [sort.Key(0)])


def prepare(shape: Sequence[int], dtype: Any, k: int, *, threads: int | None = None) -> TopK:
    """A function `operand -> (values, indices)`, both of the operand's shape with `k` as the last size;
    indices are int32.

    Raises ValueError where no kernel serves, or the last dimension has fewer than `k` elements.
    """
    dtype = np.dtype(dtype)
    if not supports(dtype) or not shape or shape[-1] >= _MOST_POSITIONS:
        raise ValueError(f"no kernel finds the largest {dtype.name} values of the shape {tuple(shape)}")
    if not 0 <= k <= shape[-1]:
        raise ValueError(f"k is {k}, but the last dimension has size {shape[-1]}")
    length = shape[-1]
    rows = prod(shape[:-1])
    if rows == 0 or k == 0:
        return lambda operand: (np.empty((*shape[:-1], k), dtype), np.empty((*shape[:-1], k), np.int32))
    if k <= _FEW:
        places = _few(dtype, rows, length, k, threads)
    elif dtype.itemsize <= 4:
        places = _partitioned(dtype, rows, length, k, threads)
    else:
        places = _sorted(dtype, rows, length, k, threads)

    def run(operand: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lines = np.ascontiguousarray(operand).reshape(rows, length)
        indices = places(lines)
        values = np.take_along_axis(lines, indices, 1)
        return values.reshape(*shape[:-1], k), indices.reshape(*shape[:-1], k)

    return run


def _few(
    dtype: np.dtype, rows: int, length: int, k: int, threads: int | None
) -> Callable[[np.ndarray], np.ndarray]:
    """The places of the best so far are kept while a row is read."""
    code = encoding(dtype, sort.Key(0)).words
    tasks, size = division(rows, length * dtype.itemsize)

    def places(lines: np.ndarray) -> np.ndarray:
        from . import top_k_loops

        indices = np.empty((rows, k), np.int32)
        best = np.empty(tasks * k, bits_dtype(dtype))
        operand = flat(lines, bits_dtype(dtype))
        work = (size, rows, length, k, code, best, operand, indices.reshape(-1))
        top_k_loops.few(tasks, *work, threads=threads)
        return indices

    return places


def _partitioned(
    dtype: np.dtype, rows: int, length: int, k: int, threads: int | None
) -> Callable[[np.ndarray], np.ndarray]:
    """The k smallest of numbers that hold a value, descending, above its place: no two of them are equal."""
    code = encoding(dtype, sort.Key(0, descending=True)).words
    tasks, size = division(rows, 8 * length)

    def places(lines: np.ndarray) -> np.ndarray:
        from . import sort_loops

        packed = np.empty(rows * length, np.uint64)
        work = (size, rows, length, code, flat(lines, bits_dtype(dtype)), packed)
        sort_loops.pack_rows(tasks, *work, threads=threads)
        by_row = packed.reshape(rows, length)
        if k < length:
            by_row.partition(k - 1, axis=-1)
        chosen = np.sort(by_row[:, :k], axis=-1)
        return chosen.astype(np.uint32).view(np.int32)

    return places


def _sorted(
    dtype: np.dtype, rows: int, length: int, k: int, threads: int | None
) -> Callable[[np.ndarray], np.ndarray]:
    """Values of 64 bits do not fit into one number with their places: whole rows are sorted."""
    order = [sort.Key(0, descending=True)]
    run = sort.prepare((rows, length), [dtype], 1, order, kept=(), positions=np.int32, threads=threads)

    def places(lines: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(run(lines)[0][:, :k])

    return places
