"""Sorting rows of unsigned integers on several threads, by NumPy's functions.

Long rows are cut into runs, which are sorted by themselves and merged by twos.
"""

import numpy as np

from .numpy_sort import sort_address
from .threads import chosen_threads, division

_RUNS = 2
_LONG = 1 << 16
"""Length from which a row is cut, where there are few of them."""
_FEW_ROWS = 4
_COST = 8
"""Bytes that could be moved in the time in which one is sorted."""


def sort(numbers: np.ndarray, rows: int, length: int, threads: int | None) -> np.ndarray:
    """Rows of a flat array, each sorted. `numbers` is overwritten, and may be the result."""
    address = sort_address(numbers.dtype)
    if not address:
        numbers.reshape(rows, length).sort(axis=-1)
        return numbers
    from . import runs_loops

    # However numbers are cut, there is one sorted order: a single thread need not merge.
    runs = _RUNS if rows < _FEW_ROWS and length >= _LONG and chosen_threads(threads) > 1 else 1
    run = -(-length // runs)
    tasks, size = division(rows * runs, _COST * run * numbers.itemsize)
    runs_loops.sort_runs(tasks, size, rows, length, run, address, numbers, threads=threads)
    while run < length:
        merged = np.empty_like(numbers)
        tasks, size = division(numbers.size, 2 * numbers.itemsize)
        runs_loops.merge(tasks, size, length, run, numbers, merged, threads=threads)
        numbers, run = merged, 2 * run
    return numbers
