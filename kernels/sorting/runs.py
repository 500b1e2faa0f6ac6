"""How rows are cut into runs, which NumPy's functions sort on several threads, and which are merged by twos.

However a row is cut, it has one sorted order: the number of threads may decide.
"""

from typing import NamedTuple

from ..launch.threads import chosen_threads

MERGED = 1 << 13
"""Numbers that are merged at a time: they stay in the second cache for what is done with them next."""
_LEAST = 1 << 15
"""Length of the shortest run that a row is cut into."""
_MOST = 16
_COST = 8
"""Bytes that could be moved in the time in which one is sorted."""


class Runs(NamedTuple):
    """Each row consists of `parts` runs, a power of two, of `length` numbers; the last one may have fewer."""

    parts: int
    length: int


def cut(rows: int, length: int, threads: int | None) -> Runs:
    """How rows are cut: into one run where there are as many rows as threads."""
    parts, run, available = 1, length, chosen_threads(threads)
    while parts < _MOST and rows * parts < available and run >= 2 * _LEAST:
        parts *= 2
        run = -(-length // parts)
    return Runs(parts, run)


def sorting_bytes(run: int, itemsize: int) -> int:
    """How many bytes could be moved in the time in which a run is sorted."""
    return _COST * run * itemsize
