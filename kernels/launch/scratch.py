"""Memory for intermediate arrays, kept between calls: the first touch of new pages costs more than a loop
over them."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .poison import most_kept

_MOST_KEPT_BYTES = most_kept(1 << 26)
_ALIGNMENT = 64
_kept: list[np.ndarray] = []


@contextlib.contextmanager
def borrow_scratch(*wanted: tuple[int, Any]) -> Iterator[Sequence[np.ndarray]]:
    """One-dimensional arrays of these sizes and types, uninitialized, for the time of the context.

    They begin where cache lines do: vectors that straddle two lines are read half as fast.

    Any number of threads may borrow at the same time.
    """
    sizes = [-(-size * np.dtype(dtype).itemsize // _ALIGNMENT) * _ALIGNMENT for size, dtype in wanted]
    memory = _take(sum(sizes))
    arrays, at = [], 0
    for (size, dtype), nbytes in zip(wanted, sizes, strict=True):
        arrays.append(memory[at : at + nbytes].view(dtype)[:size])
        at += nbytes
    yield arrays
    if memory.nbytes <= _MOST_KEPT_BYTES and not _kept:
        _kept.append(memory)


def _take(nbytes: int) -> np.ndarray:
    try:
        memory = _kept.pop()
    except IndexError:
        return _aligned(nbytes)
    return memory if memory.nbytes >= nbytes else _aligned(nbytes)


def _aligned(nbytes: int) -> np.ndarray:
    memory = np.empty(nbytes + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + nbytes]
