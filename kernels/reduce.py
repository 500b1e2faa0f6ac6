"""`reduce` with a monoid, over any set of dimensions: the values of each result element are folded by a
fixed tree.

The tree. For one result element, take its n values in row-major order of the reduced dimensions, and fold
adjacent pairs, level by level: (v0 op v1), (v2 op v3), ..., an odd last one carried up as it is, until one
is left. The result is init_value (op) that total, or init_value alone where n is 0. The values stand in the
tree in order, as the specification asks.

Each aligned block of 2^k values is a subtree. So the work is cut into blocks, whose totals are folded by the
same rule, and no bit depends on the cut. Where the order changes no bit (integers, booleans, minimum and
maximum of real numbers, bitwise operations) a block is folded in whatever order is fastest.

Sums and products of float16 and bfloat16 are accumulated in float32 throughout, the initial value included,
and rounded once at the end, or not at all where the result is of float32; `accumulate` chooses another way
(`monoids.normalized`). Nothing of this depends on the number of threads.

The tree "left" folds the values from the left instead, starting with init_value: as one window of
reduce_window.
"""

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from .blocks import BATCH, COLUMN_BLOCK, COLUMN_CHUNK, ROW_BLOCK, RUN_BLOCK, SHORT_ROW
from .compilation import flat
from .groups import Group, check_dimensions, groups_of, walk_of
from .monoids import (
    Combination,
    computing_dtype,
    is_exact,
    normalized,
    result_storage_dtype,
    storage_dtype,
    supports,
    supports_result,
)
from .reduce_arg import prepare_arg, supports_arg
from .threads import division

__all__ = ["prepare", "prepare_arg", "supports", "supports_arg", "supports_result", "supports_tree"]

MOST_FROM_LEFT = 1 << 16
"""Most values of a result element that are folded from the left: each costs a few bytes a task."""

_LAST_BYTES = 1 << 18
"""Blocks' results of so many bytes are folded by one task: to launch others takes as long."""

_LEAST_UNITS = 64
"""Columns are taken by longer blocks where so many blocks are left to share."""

Reduction = Callable[[np.ndarray, Any], np.ndarray]


def supports_tree(
    shape: Sequence[int], dtype: Any, dimensions: Sequence[int], monoid: str, tree: Any
) -> bool:
    """Whether `prepare` serves a tree: where order changes bits, "blocked", and "left" of not too many."""
    if tree == "blocked":
        return True
    if tree in ("balanced", "left", "right") and is_exact(normalized(dtype, monoid)):
        return True
    return tree == "left" and prod(shape[d] for d in dimensions) <= MOST_FROM_LEFT


def prepare(
    shape: Sequence[int],
    dtype: Any,
    dimensions: Sequence[int],
    monoid: str,
    *,
    tree: str = "blocked",
    accumulate: str = "wide",
    result_dtype: Any = None,
    threads: int | None = None,
) -> Reduction:
    """A function `(operand, init_value) -> result` that reduces `dimensions` of an operand of this shape.

    The result has the operand's element type, or `result_dtype` (`supports_result`), and the operand's other
    dimensions, in row-major order. `tree` is one that `supports_tree`, `accumulate` as in
    `monoids.normalized`. Raises ValueError where no kernel serves. Source: the specification's section on
    reduce.
    """
    check_dimensions(shape, dimensions)
    result_dtype = dtype if result_dtype is None else result_dtype
    kind = normalized(dtype, monoid, accumulate, result_dtype)
    if not supports_tree(shape, dtype, dimensions, monoid, tree):
        raise ValueError(f"no kernel folds {monoid} of {np.dtype(dtype).name} by the tree {tree!r}")
    if tree == "left" and not is_exact(kind):
        return _from_left(kind, shape, dtype, dimensions, result_dtype, threads)
    result_shape = tuple(size for dimension, size in enumerate(shape) if dimension not in dimensions)
    groups = groups_of(shape, dimensions)
    if prod(shape) == 0 or not any(group.reduced for group in groups):
        return _without_tree(kind, dtype, result_dtype, result_shape, prod(shape) == 0)
    make = _rows if groups[-1].reduced else _columns
    reduction = make(kind, groups, threads)

    storage, result_storage = storage_dtype(kind.element), result_storage_dtype(kind.element)

    def run(operand: np.ndarray, init_value: Any) -> np.ndarray:
        result = np.empty(result_shape, result_dtype)
        reduction(
            flat(operand, storage),
            flat(np.asarray(init_value, dtype), storage),
            result.reshape(-1).view(result_storage),
        )
        return result

    return run


def _from_left(
    kind: Combination,
    shape: Sequence[int],
    dtype: Any,
    dimensions: Sequence[int],
    result_dtype: Any,
    threads: int | None,
) -> Reduction:
    """The reduced dimensions as one window, which is folded from the left."""
    from .window import Axis, sliding

    axes = [Axis(size, window=size if d in dimensions else 1) for d, size in enumerate(shape)]
    result_shape = tuple(size for d, size in enumerate(shape) if d not in dimensions)
    if prod(shape) == 0:
        return lambda operand, init_value: np.full(result_shape, init_value, result_dtype)
    fold = sliding(kind, np.dtype(dtype), axes, threads, np.dtype(result_dtype))
    return lambda operand, init_value: fold(operand, init_value).reshape(result_shape)


def _without_tree(
    kind: Combination, dtype: Any, result_dtype: Any, result_shape: tuple[int, ...], empty: bool
) -> Reduction:
    """For reductions of no value, and of one value, a result element."""
    if empty:
        return lambda operand, init_value: np.full(result_shape, init_value, result_dtype)
    storage = storage_dtype(kind.element)
    tasks, size = division(prod(result_shape), 2 * storage.itemsize)

    def run(operand: np.ndarray, init_value: Any) -> np.ndarray:
        result = np.empty(result_shape, result_dtype)
        initial = flat(np.asarray(init_value, dtype), storage)
        written = result.reshape(-1).view(result_storage_dtype(kind.element))
        _loops("combined", *kind)(tasks, size, flat(operand, storage), initial, written)
        return result

    return run


def _rows(kind: Combination, groups: list[Group], threads: int | None) -> Callable[..., None]:
    """The innermost group is reduced."""
    kept = [group for group in groups if not group.reduced]
    reduced = [group for group in groups if group.reduced]
    if len(reduced) == 1 and reduced[0].size < SHORT_ROW:
        return _short_rows(kind, kept, reduced[0].size, threads)
    rows, length, run_length = prod(g.size for g in kept), prod(g.size for g in reduced), reduced[-1].size
    most = ROW_BLOCK if run_length == length else RUN_BLOCK
    blocks = -(-length // most)
    storage = storage_dtype(kind.element)
    tasks, size = division(rows * blocks, min(length, most) * storage.itemsize)
    walk, runs = walk_of(kept), walk_of(reduced[:-1])
    finish = _Finish(kind, rows, blocks, 1, threads)

    def reduction(operand: np.ndarray, initial: np.ndarray, result: np.ndarray) -> None:
        partial, done = finish.room()
        shared = (size, rows, blocks, length, *walk, operand, initial, partial, done, result)
        if run_length == length:
            _loops("rows", *kind)(tasks, *shared, threads=threads)
        else:
            block = np.empty(tasks * min(length, most), storage)
            _loops("fragmented_rows", *kind)(tasks, run_length, *runs, block, *shared, threads=threads)
        finish(partial, initial, result)

    return reduction


def _short_rows(
    kind: Combination, kept: list[Group], length: int, threads: int | None
) -> Callable[..., None]:
    """Contiguous rows of fewer than SHORT_ROW values."""
    rows, walk = prod(group.size for group in kept), walk_of(kept)
    computing = computing_dtype(kind.element)
    tasks, size = division(rows, length * computing.itemsize)

    def reduction(operand: np.ndarray, initial: np.ndarray, result: np.ndarray) -> None:
        block = np.empty(tasks * BATCH * length, computing)
        work = (size, rows, length, *walk, block, operand, initial, result)
        _loops("short_rows", *kind)(tasks, *work, threads=threads)

    return reduction


def _columns(kind: Combination, groups: list[Group], threads: int | None) -> Callable[..., None]:
    """The innermost group is kept."""
    *outer_groups, innermost = groups
    kept = [group for group in outer_groups if not group.reduced]
    reduced = [group for group in outer_groups if group.reduced]
    outer, length, inner = prod(g.size for g in kept), prod(g.size for g in reduced), innermost.size
    chunks = -(-inner // COLUMN_CHUNK)
    most = COLUMN_BLOCK
    while most < length and outer * chunks * -(-length // (2 * most)) >= _LEAST_UNITS:
        most *= 2
    blocks = -(-length // most)
    storage, computing = storage_dtype(kind.element), computing_dtype(kind.element)
    tasks, size = division(
        outer * blocks * chunks, min(length, most) * min(inner, COLUMN_CHUNK) * storage.itemsize
    )
    walks, room = (*walk_of(kept), *walk_of(reduced)), most.bit_length() * min(inner, COLUMN_CHUNK)
    sizes = (size, outer, most, blocks, length, inner, room)
    finish = _Finish(kind, outer, blocks, inner, threads)

    def reduction(operand: np.ndarray, initial: np.ndarray, result: np.ndarray) -> None:
        partial, done = finish.room()
        sums = np.empty(tasks * room, computing)
        work = (*sizes, *walks, sums, operand, initial, partial, done, result)
        _loops("columns", *kind)(tasks, *work, threads=threads)
        finish(partial, initial, result)

    return reduction


class _Finish:
    """Folds the blocks' results, an array [outer, blocks, inner], and the initial value: called after the
    tasks that make them. Of few, the last of those has done it already."""

    def __init__(self, kind: Combination, outer: int, blocks: int, inner: int, threads: int | None) -> None:
        self.kind = kind
        self.sizes = (outer, blocks, inner)
        self.threads = threads
        self.computing = computing_dtype(kind.element)
        self.count = prod(self.sizes) if blocks > 1 else 0
        self.is_apart = self.count * self.computing.itemsize > _LAST_BYTES
        item_bytes = 2 * blocks * min(inner, COLUMN_CHUNK) * self.computing.itemsize
        self.units = outer * -(-inner // COLUMN_CHUNK)
        self.division = division(self.units, item_bytes)

    def room(self) -> tuple[np.ndarray, np.ndarray]:
        """Room for the blocks' results, and what counts the tasks that have ended where one of them is to
        fold."""
        counts = self.count > 0 and not self.is_apart
        return np.empty(self.count, self.computing), np.zeros(int(counts), np.int64)

    def __call__(self, partial: np.ndarray, initial: np.ndarray, result: np.ndarray) -> None:
        if self.is_apart:
            _, blocks, inner = self.sizes
            loop = _loops("finish_columns_apart" if inner > 1 else "finish_rows_apart", *self.kind)
            work = (self.units, blocks, inner, partial, initial, result)
            loop(*self.division, *work, threads=self.threads)


@functools.cache
def _loops(name: str, element: str, monoid: str) -> Any:
    """The loop of that name; it imports Numba."""
    from . import reduce_loops

    return getattr(reduce_loops, name)(element, monoid)
