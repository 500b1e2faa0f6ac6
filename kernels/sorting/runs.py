"""Splits rows into runs, which several threads sort, and merges pairs of runs.

The sorted order is unique, so that the number of threads may choose the split.
"""

from typing import NamedTuple

from ..launch.threads import chosen_threads

MERGE_BLOCK = 1 << 13
"""Items merged at a time: they stay in L2 for the next operation."""
_MIN_RUN = 1 << 15
"""Minimum length of a run."""
_MAX_RUNS = 16
_BYTES_PER_ITEM = 8
"""Bytes that could be moved in the time in which one item is sorted."""


class Runs(NamedTuple):
    """Each row consists of `run_count` runs, a power of two, of `length` numbers; the last may have fewer."""

    run_count: int
    length: int


def cut(rows: int, length: int, threads: int | None) -> Runs:
    """Split rows into runs; into one run each if there are as many rows as threads."""
    run_count, run, thread_count = 1, length, chosen_threads(threads)
    while run_count < _MAX_RUNS and rows * run_count < thread_count and run >= 2 * _MIN_RUN:
        run_count *= 2
        run = -(-length // run_count)
    return Runs(run_count, run)


def sorting_bytes(run: int, itemsize: int) -> int:
    """The bytes that could be moved in the time in which a run is sorted."""
    return _BYTES_PER_ITEM * run * itemsize
