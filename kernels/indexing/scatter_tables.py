"""Scatters to few elements: each task first combines its updates in tables of its own.

Only for combiners that give the same bits in any order: then neither tasks nor neighbouring updates depend on
each other.
"""

from typing import Any

import numpy as np

from ..launch.compilation import kernel_at
from ..launch.prepared import BYTES_A_SECOND, ArrayParam, KernelCall, Scratch
from ..launch.threads import division
from ..simd.block_sizes import INTERLEAVED_TABLES
from ..simd.monoids import Combination, storage_dtype

_MAX_TASKS = 16
_MAX_REPLICATED_DESTINATIONS = 1 << 11
_PADDING_BYTES = 128  # keeps the tables of two tasks in different cache lines


class Tables:
    """Tables for `total` slices of one element, with an element for each destination."""

    def __init__(self, kind: Combination, total: int, destination_count: int) -> None:
        storage = storage_dtype(kind.element)
        self._kind = kind
        self._total = total
        self._destination_count = destination_count
        self._replicas = INTERLEAVED_TABLES if destination_count <= _MAX_REPLICATED_DESTINATIONS else 1
        self._table_stride = 1 + destination_count + _PADDING_BYTES // storage.itemsize
        self._size = max(1, -(-total // _MAX_TASKS))
        self._tasks = -(-total // self._size)
        self._identity = np.array([_identity(kind)]).view(storage)
        self.scratch: Scratch = (self._tasks * self._replicas * self._table_stride, storage)
        """The scratch memory of the tables."""

    def calls(
        self, all_slices: tuple[Any, ...], tables: ArrayParam, result: ArrayParam, seconds: float
    ) -> list[KernelCall]:
        """The launches that combine slices in the tables, then the tables with the result.

        `all_slices` are the arguments `geometry`, `destination_dtype_tag`, `values` and `value_stride` of
        `scatter_loops.update_tables`.
        """
        loops = f"{__package__}.scatter_loops"
        update = kernel_at(loops, "update_tables", *self._kind)
        combine = kernel_at(loops, "combine_tables", *self._kind)
        table_layout = (self._replicas, self._table_stride, self._identity, tables)
        tables_count = self._tasks * self._replicas
        tasks, size = division(self._destination_count, tables_count * tables.dtype.itemsize)
        seconds_to_combine = self._destination_count * tables_count * tables.dtype.itemsize / BYTES_A_SECOND
        return [
            KernelCall(update, self._tasks, (self._size, self._total, *all_slices, *table_layout), seconds),
            KernelCall(
                combine,
                tasks,
                (size, self._destination_count, tables_count, self._table_stride, tables, result),
                seconds_to_combine,
            ),
        ]


def _identity(kind: Combination) -> np.generic:
    element, monoid = np.dtype(kind.element), kind.monoid
    if element.kind in "iu":
        limits = np.iinfo(element)
        identities = {"multiply": 1, "minimum": limits.max, "maximum": limits.min, "and": ~element.type(0)}
        return element.type(identities.get(monoid, 0))
    return element.type(np.inf if monoid == "minimum" else -np.inf)
