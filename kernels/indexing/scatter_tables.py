"""Scatters to few elements: each task combines its updates in tables of its own first.

They are for what any order combines to the same bits, so that neither tasks nor neighbouring updates wait for
each other.
"""

from typing import Any

import numpy as np

from ..launch.prepared import BYTES_A_SECOND, ArrayParam, KernelCall, Scratch
from ..launch.threads import division
from ..simd.block_sizes import INTERLEAVED_TABLES
from ..simd.monoids import Combination, storage_dtype

_TASKS = 16
_MOST_WAYS_KEYS = 1 << 11
_APART = 128  # bytes: tasks that write to one cache line wait for each other


class Tables:
    """Tables for `total` units of one element, with an element for each of so many keys."""

    def __init__(self, kind: Combination, total: int, keys: int) -> None:
        storage = storage_dtype(kind.element)
        self._kind = kind
        self._total = total
        self._keys = keys
        self._ways = INTERLEAVED_TABLES if keys <= _MOST_WAYS_KEYS else 1
        self._width = 1 + keys + _APART // storage.itemsize
        self._size = max(1, -(-total // _TASKS))
        self._tasks = -(-total // self._size)
        self._identity = np.array([_identity(kind)]).view(storage)
        self.room: Scratch = (self._tasks * self._ways * self._width, storage)
        """The memory that tables need."""

    def works(
        self, units: tuple[Any, ...], tables: ArrayParam, result: ArrayParam, seconds: float
    ) -> list[KernelCall]:
        """What combines units in the tables, and these with the result.

        `units` are what `scatter_loops.update_tables` takes as `where`, `sample`, `values` and `value_step`.
        """
        from .scatter_loops import combine_tables, update_tables

        update, combine = update_tables(*self._kind), combine_tables(*self._kind)
        layout = (self._ways, self._width, self._identity, tables)
        count = self._tasks * self._ways
        tasks, size = division(self._keys, count * tables.dtype.itemsize)
        combining = self._keys * count * tables.dtype.itemsize / BYTES_A_SECOND
        return [
            KernelCall(update, self._tasks, (self._size, self._total, *units, *layout), seconds),
            KernelCall(combine, tasks, (size, self._keys, count, self._width, tables, result), combining),
        ]


def _identity(kind: Combination) -> np.generic:
    """The value that changes nothing that it is combined with."""
    element, monoid = np.dtype(kind.element), kind.monoid
    if element.kind in "iu":
        limits = np.iinfo(element)
        known = {"multiply": 1, "minimum": limits.max, "maximum": limits.min, "and": ~element.type(0)}
        return element.type(known.get(monoid, 0))
    return element.type(np.inf if monoid == "minimum" else -np.inf)
