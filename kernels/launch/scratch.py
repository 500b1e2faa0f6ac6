"""Scratch memory, cached between calls: the page faults of new memory cost more than a loop over it."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .poison import max_cached_bytes

_MAX_CACHED_BYTES = max_cached_bytes(1 << 26)
_ALIGNMENT = 64
_cached: list[np.ndarray] = []


@contextlib.contextmanager
def borrow_scratch(*requests: tuple[int, Any]) -> Iterator[Sequence[np.ndarray]]:
    """Uninitialized one-dimensional arrays of these (size, dtype) for the duration of the context.

    They are aligned to cache lines: loads of vectors that straddle two cache lines take twice as long. Any
    number of threads may borrow at the same time.
    """
    sizes = [-(-size * np.dtype(dtype).itemsize // _ALIGNMENT) * _ALIGNMENT for size, dtype in requests]
    memory = _take(sum(sizes))
    arrays, offset = [], 0
    for (size, dtype), nbytes in zip(requests, sizes, strict=True):
        arrays.append(memory[offset : offset + nbytes].view(dtype)[:size])
        offset += nbytes
    yield arrays
    if memory.nbytes <= _MAX_CACHED_BYTES and not _cached:
        _cached.append(memory)


def _take(nbytes: int) -> np.ndarray:
    try:
        memory = _cached.pop()
    except IndexError:
        return aligned_bytes(nbytes)
    return memory if memory.nbytes >= nbytes else aligned_bytes(nbytes)


def aligned_bytes(nbytes: int) -> np.ndarray:
    """Uninitialized bytes that begin at a cache line."""
    memory = np.empty(nbytes + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + nbytes]
