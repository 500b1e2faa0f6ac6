"""Parallel copies of arrays: threads share the page faults of a new array as well as the copying."""

import numpy as np

from ..launch.compilation import flat, kernel_at
from ..launch.threads import division

_SERIAL_BYTES = 1 << 20


def copied(array: np.ndarray, out: np.ndarray | None = None, threads: int | None = None) -> np.ndarray:
    """A C-contiguous copy of an array, in `out` if given (C-contiguous, of the same shape and type)."""
    result = np.empty(array.shape, array.dtype) if out is None else out
    if array.nbytes < _SERIAL_BYTES or not array.flags.c_contiguous:
        np.copyto(result, array)
        return result
    tasks, size = division(array.nbytes, 2.0)
    copy_range = kernel_at(f"{__package__}.copy_loops", "copy_range")
    copy_range(
        tasks, size, array.nbytes, flat(array, np.uint8), result.reshape(-1).view(np.uint8), threads=threads
    )
    return result
