"""`chlo.top_k`: the largest values along the last dimension and their places, by selection.

Values are in total order: -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN. Of equal values the first ones
are taken, and come first. A few values are kept sorted while a row is read once. More values are collected
with their places, and sorted out now and then: those not above the last of the best so far are passed over.
Where a good part of a row is wanted, encoded values with their places are partitioned by NumPy. The few long
rows there are become parts, so that threads share them; the best of all parts' best are those of the row.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..launch.compilation import flat
from ..launch.threads import division
from . import sort
from .numpy_sort import sort_address
from .sort_encoding import bits_dtype, encoding

_FEW = 64
_MOST_SHARE = 64  # one in so many elements is collected at most
_SPARE = 512  # numbers that are collected beyond twice as many as are wanted
_UNITS = 16  # rows are cut where there are fewer
_LEAST_PART = 1 << 14  # elements
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
    find = _of_lines(dtype, rows, length, k, threads)

    def run(operand: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, indices = find(np.ascontiguousarray(operand).reshape(rows, length))
        return values.reshape(*shape[:-1], k), indices.reshape(*shape[:-1], k)

    return run


def _of_lines(dtype: np.dtype, rows: int, length: int, k: int, threads: int | None) -> TopK:
    """The same for rows of that length."""
    if k > _FEW and (dtype.itemsize > 4 or k * _MOST_SHARE > length):
        places = (_sorted if dtype.itemsize > 4 else _partitioned)(dtype, rows, length, k, threads)
        return lambda lines: _taken(lines, places(lines))
    parts = max(1, min(-(-_UNITS // rows), length // max(_LEAST_PART, k * _MOST_SHARE)))
    find = (_few if k <= _FEW else _collected)(dtype, rows, length, parts, k, threads)
    if parts == 1:
        return find
    best_of = _of_lines(dtype, rows, parts * k, k, threads)

    def of_parts(lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, places = find(lines)
        values, chosen = best_of(values)
        return values, np.take_along_axis(places, chosen, 1)

    return of_parts


def _taken(lines: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.take_along_axis(lines, places, 1), places


def _few(dtype: np.dtype, rows: int, length: int, parts: int, k: int, threads: int | None) -> TopK:
    """The best so far are kept while a part is read; those of all parts of a row, in order of the parts."""
    code, bits = encoding(dtype, sort.Key(0)).words, bits_dtype(dtype)
    word = np.dtype(np.uint64 if dtype.itemsize == 8 else np.uint32)  # of these NumPy sorts few quickly
    units, part = rows * parts, length // parts
    tasks, size = division(units, part * dtype.itemsize)

    def find(lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from ..simd import searches
        from . import top_k_loops

        values, indices = np.empty((rows, parts * k), dtype), np.empty((rows, parts * k), np.int32)
        groups, best = np.empty(tasks * searches.SEARCH_BLOCK, word), np.empty(tasks * k, bits)
        results = values.reshape(-1).view(bits), indices.reshape(-1)
        work = (size, units, parts, part, length, k, sort_address(word), code, groups, best)
        top_k_loops.few(tasks, *work, flat(lines, bits), *results, threads=threads)
        return values, indices

    return find


def _collected(dtype: np.dtype, rows: int, length: int, parts: int, k: int, threads: int | None) -> TopK:
    """What may be among the best is collected while a part is read; the best of all parts as above."""
    code, bits = encoding(dtype, sort.Key(0)).words, bits_dtype(dtype)
    units, part, room = rows * parts, length // parts, 2 * k + _SPARE
    tasks, size = division(units, part * dtype.itemsize)

    def find(lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from . import top_k_loops

        values, indices = np.empty((rows, parts * k), dtype), np.empty((rows, parts * k), np.int32)
        numbers, address = np.empty(tasks * room, np.uint64), sort_address(np.uint64)
        results = values.reshape(-1).view(bits), indices.reshape(-1)
        work = (size, units, parts, part, length, k, room, address, code, numbers)
        top_k_loops.collected(tasks, *work, flat(lines, bits), *results, threads=threads)
        return values, indices

    return find


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
