"""`chlo.top_k`: the largest values along the last dimension and their indices, by selection.

Values are in total order: -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN. Of equal values the first ones are
selected, and come first. A small k uses insertion into a sorted list while a row is read once. A larger k
collects candidates with their positions and sorts them whenever the scratch is full: values not above the
k-th candidate are skipped. Values of 64 bits, which do not fit into one integer with their positions, are
sorted. Few long rows are split into chunks for the threads; the largest of all chunks' results are those of
the row.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..launch.compilation import flat, kernel_at
from ..launch.no_kernel import NoKernel
from ..launch.threads import division
from ..simd.block_sizes import SEARCH_BLOCK
from . import sort
from .native_sort import sort_address
from .sort_encoding import bits_dtype, encoding_of

_LOOPS = f"{__package__}.top_k_loops"
_MAX_INSERTION_K = 64
_MAX_SHARE = 64  # of the elements of a chunk, at most one in 64 is collected
_SPARE_CAPACITY = 512  # candidates collected beyond 2 * k
_MIN_WORK_ITEMS = 16  # rows are split into chunks if there are fewer
_MIN_CHUNK = 1 << 14  # elements
MAX_POSITIONS = 1 << 31

TopK = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def supports(dtype: Any) -> bool:
    """Whether kernels exist for this element type."""
    return sort.supports([dtype], [sort.Key(0)])


def prepare(shape: Sequence[int], dtype: Any, k: int, *, threads: int | None = None) -> TopK:
    """Prepare a search for the largest elements of rows, `operand -> (values, indices)`.

    Args:
        shape: sizes of the operand; both results have `k` as the last size instead. Indices are int32.
        dtype: the operand's element type.
        k: number of elements of each row in the results.
        threads: maximum number of threads; None: all.

    Raises:
        NoKernel: no kernel supports the operands, or rows have fewer than `k` elements.
    """
    dtype = np.dtype(dtype)
    if not supports(dtype) or not shape or shape[-1] >= MAX_POSITIONS:
        raise NoKernel(f"no kernel finds the largest {dtype.name} values of the shape {tuple(shape)}")
    if not 0 <= k <= shape[-1]:
        raise ValueError(f"k is {k}, but the last dimension has size {shape[-1]}")
    length = shape[-1]
    rows = prod(shape[:-1])
    if rows == 0 or k == 0:
        return lambda operand: (np.empty((*shape[:-1], k), dtype), np.empty((*shape[:-1], k), np.int32))
    select = _of_rows(dtype, rows, length, k, threads)

    def run(operand: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, indices = select(np.ascontiguousarray(operand).reshape(rows, length))
        return values.reshape(*shape[:-1], k), indices.reshape(*shape[:-1], k)

    return run


def _of_rows(dtype: np.dtype, rows: int, length: int, k: int, threads: int | None) -> TopK:
    """`prepare` for operands [rows, length]."""
    if k > _MAX_INSERTION_K and dtype.itemsize > 4:
        return _sorted(dtype, rows, length, k, threads)
    chunks = max(1, min(-(-_MIN_WORK_ITEMS // rows), length // max(_MIN_CHUNK, k * _MAX_SHARE)))
    select = (_insertion if k <= _MAX_INSERTION_K else _filtered)(dtype, rows, length, chunks, k, threads)
    if chunks == 1:
        return select
    select_of_candidates = _of_rows(dtype, rows, chunks * k, k, threads)

    def of_chunks(row_data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, select_positions = select(row_data)
        values, selected = select_of_candidates(values)
        return values, np.take_along_axis(select_positions, selected, 1)

    return of_chunks


def _insertion(dtype: np.dtype, rows: int, length: int, chunks: int, k: int, threads: int | None) -> TopK:
    """Insert into the k best while a chunk is read; returns those of all chunks of a row, in order of the
    chunks."""
    encoding, bits = encoding_of(dtype, sort.Key(0)).as_array, bits_dtype(dtype)
    word = np.dtype(np.uint64 if dtype.itemsize == 8 else np.uint32)  # NumPy sorts short arrays fast
    work_items, chunk_size = rows * chunks, length // chunks
    tasks, size = division(work_items, chunk_size * dtype.itemsize)

    def select(row_data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, indices = np.empty((rows, chunks * k), dtype), np.empty((rows, chunks * k), np.int32)
        groups, best = np.empty(tasks * SEARCH_BLOCK, word), np.empty(tasks * k, bits)
        results = values.reshape(-1).view(bits), indices.reshape(-1)
        arguments = (size, work_items, chunks, chunk_size, length, k, sort_address(word), encoding, groups)
        insertion = kernel_at(_LOOPS, "insertion")
        insertion(tasks, *arguments, best, flat(row_data, bits), *results, threads=threads)
        return values, indices

    return select


def _filtered(dtype: np.dtype, rows: int, length: int, chunks: int, k: int, threads: int | None) -> TopK:
    """Collect candidates while a chunk is read; returns the best of all chunks as `_insertion` does."""
    encoding, bits = encoding_of(dtype, sort.Key(0)).as_array, bits_dtype(dtype)
    work_items, chunk_size, capacity = rows * chunks, length // chunks, 2 * k + _SPARE_CAPACITY
    tasks, size = division(work_items, chunk_size * dtype.itemsize)

    def select(row_data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, indices = np.empty((rows, chunks * k), dtype), np.empty((rows, chunks * k), np.int32)
        numbers = np.empty(tasks * capacity, np.uint64)
        address = sort_address(np.uint64, by_upper_half=True)
        results = values.reshape(-1).view(bits), indices.reshape(-1)
        arguments = (size, work_items, chunks, chunk_size, length, k, capacity, address, encoding, numbers)
        filtered = kernel_at(_LOOPS, "filtered")
        filtered(tasks, *arguments, flat(row_data, bits), *results, threads=threads)
        return values, indices

    return select


def _sorted(dtype: np.dtype, rows: int, length: int, k: int, threads: int | None) -> TopK:
    """Sort complete rows."""
    order = [sort.Key(0, descending=True)]
    run = sort.prepare((rows, length), [dtype], 1, order, returned=(), positions=np.int32, threads=threads)

    def select(row_data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        indices = np.ascontiguousarray(run(row_data)[0][:, :k])
        return np.take_along_axis(row_data, indices, 1), indices

    return select
