"""Scatters of integers to few elements: each task combines its updates in tables of its own first.

Integers are combined exactly in any order, so neither tasks nor neighbouring updates wait for each other.
"""

from typing import Any

import numpy as np

from .monoids import Combination

_TASKS = 16
_MOST_WAYS_KEYS = 1 << 11
_APART = 128  # bytes: tasks that write to one cache line wait for each other
_UFUNCS = {
    "add": np.add, "multiply": np.multiply, "minimum": np.minimum, "maximum": np.maximum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


def combine_in_tables(
    kind: Combination, total: int, where: tuple[Any, ...], sample: np.ndarray, values: np.ndarray,
    value_step: int, result: np.ndarray, threads: int | None,
) -> None:  # fmt: skip
    """Combine `total` units of one element with `result`, which has an element for each key.

    `where` and `sample`, whose type keys have, are those of `scatter_loops`. With no units only compiles.
    """
    from .scatter_loops import WAYS, update_tables

    width = 1 + result.size + _APART // result.itemsize
    ways = WAYS if result.size <= _MOST_WAYS_KEYS else 1
    size = max(1, -(-total // _TASKS))
    tasks = -(-total // size)
    tables = np.full((tasks * ways, width), _identity(kind.monoid, result.dtype), result.dtype)
    given = (values, value_step, ways, width, tables.reshape(-1))
    update_tables(*kind)(tasks, size, total, where, sample, *given, threads=threads)
    if total:
        combine = _UFUNCS[kind.monoid]
        combined = combine.reduce(tables[:, 1 : 1 + result.size], axis=0, dtype=result.dtype)
        combine(result, combined, out=result)


def _identity(monoid: str, dtype: np.dtype) -> int:
    """The value that changes no integer that it is combined with."""
    limits = np.iinfo(dtype)
    known = {"multiply": 1, "minimum": limits.max, "maximum": limits.min}
    return int(np.array(-1).astype(dtype)) if monoid == "and" else int(known.get(monoid, 0))
