"""The speed of this machine, with which the times of steps are compared."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ...kernels.launch.threads import chosen_threads
from ...program.ir.record import Record

_COPIED_BYTES = 1 << 25
"""Bytes that each thread copies: beyond the L2 cache, and most of the L3 cache."""
_PRODUCT_SIZE = 512
"""Rows and columns of the matrices that are multiplied: BLAS reaches its speed from about 400."""
_REPETITIONS = 3


class Machine(Record):
    """The peak rates of this machine with all threads that a program may use.

    Attributes:
        threads: their number.
        bytes_per_second: read and written by copying arrays that no cache holds.
        multiplications_per_second: multiply-add pairs of a product of f32 matrices by BLAS.
    """

    threads: int
    bytes_per_second: float
    multiplications_per_second: float


@functools.cache
def measured(threads: int | None) -> Machine:
    """Measure the machine, once a process; takes about 0.1 s.

    Args:
        threads: maximum number of threads; None: all.
    """
    count = chosen_threads(threads)
    pairs = [(np.ones(_COPIED_BYTES // 8), np.empty(_COPIED_BYTES // 8)) for _ in range(count)]

    def copy() -> None:
        for _ in pool.map(lambda pair: np.copyto(pair[1], pair[0]), pairs):
            pass

    matrix = np.ones((_PRODUCT_SIZE, _PRODUCT_SIZE), np.float32)
    with ThreadPoolExecutor(count) as pool:
        copy_seconds = _fastest(copy)
    product_seconds = _fastest(lambda: matrix @ matrix)
    return Machine(count, 2 * count * _COPIED_BYTES / copy_seconds, _PRODUCT_SIZE**3 / product_seconds)


def _fastest(action: Callable[[], object]) -> float:
    """The seconds of the fastest of a few calls, the first of which is not counted."""
    seconds = []
    for _ in range(1 + _REPETITIONS):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])
