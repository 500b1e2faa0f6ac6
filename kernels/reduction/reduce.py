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

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..launch.prepared import BYTES_A_SECOND, ArrayParam, KernelCall, LaunchPlan, Scratch, prepare_launches
from ..launch.threads import division
from ..simd.block_sizes import BATCH, COLUMN_BLOCK, COLUMN_CHUNK, ROW_BLOCK, RUN_BLOCK, SHORT_ROW
from ..simd.monoids import (
    Combination,
    computing_dtype,
    is_exact,
    normalized,
    result_storage_dtype,
    storage_dtype,
    supports,
    supports_result,
)
from .arg_reduce import prepare_arg, supports_arg
from .dimension_groups import Group, check_dimensions, groups_of, walk_of

__all__ = ["prepare", "prepare_arg", "supports", "supports_arg", "supports_result", "supports_tree"]

MOST_FROM_LEFT = 1 << 16
"""Most values of a result element that are folded from the left: each costs a few bytes a task."""

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
        return _without_tree(kind, dtype, result_dtype, result_shape, prod(shape) == 0, threads)
    make = _rows if groups[-1].reduced else _columns
    return _reduction(make(kind, groups), kind, dtype, shape, result_shape, result_dtype, threads)


def _reduction(
    steps: LaunchPlan,
    kind: Combination,
    dtype: Any,
    shape: Sequence[int],
    result_shape: tuple[int, ...],
    result_dtype: Any,
    threads: int | None,
) -> Reduction:
    """The function that takes the steps."""
    storage, result_storage = storage_dtype(kind.element), result_storage_dtype(kind.element)
    given = [
        ArrayParam(0, prod(shape), storage, is_written=False),
        ArrayParam(1, 1, storage, is_written=False),
        ArrayParam(2, prod(result_shape), result_storage),
        *[ArrayParam(number, size, room) for number, (size, room) in enumerate(steps.scratch, 3)],
    ]
    dtype = np.dtype(dtype)
    reduce = prepare_launches(
        lambda: steps.calls(*given),
        [prod(shape) * dtype.itemsize, dtype.itemsize],
        [(result_shape, result_dtype)],
        steps.scratch,
        threads,
    )

    def run(operand: np.ndarray, init_value: Any) -> np.ndarray:
        if type(init_value) is not np.ndarray or init_value.dtype is not dtype:
            init_value = np.asarray(init_value, dtype)
        result: np.ndarray = reduce(operand, init_value)
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
    from .reduce_window import Axis, sliding

    axes = [Axis(size, window=size if d in dimensions else 1) for d, size in enumerate(shape)]
    result_shape = tuple(size for d, size in enumerate(shape) if d not in dimensions)
    if prod(shape) == 0:
        return lambda operand, init_value: np.full(result_shape, init_value, result_dtype)
    fold = sliding(kind, np.dtype(dtype), axes, threads, np.dtype(result_dtype))
    return lambda operand, init_value: fold(operand, init_value).reshape(result_shape)


def _without_tree(
    kind: Combination,
    dtype: Any,
    result_dtype: Any,
    result_shape: tuple[int, ...],
    empty: bool,
    threads: int | None,
) -> Reduction:
    """For reductions of no value, and of one value, a result element."""
    if empty:
        return lambda operand, init_value: np.full(result_shape, init_value, result_dtype)
    count = prod(result_shape)
    tasks, size = division(count, 2 * storage_dtype(kind.element).itemsize)

    def works(operand: ArrayParam, initial: ArrayParam, result: ArrayParam) -> list[KernelCall]:
        return [_work("combined", kind, tasks, (size, operand, initial, result), count)]

    return _reduction(LaunchPlan([], works), kind, dtype, (count,), result_shape, result_dtype, threads)


def _rows(kind: Combination, groups: list[Group]) -> LaunchPlan:
    """The innermost group is reduced."""
    kept = [group for group in groups if not group.reduced]
    reduced = [group for group in groups if group.reduced]
    if len(reduced) == 1 and reduced[0].size < SHORT_ROW:
        return _short_rows(kind, kept, reduced[0].size)
    rows, length, run_length = prod(g.size for g in kept), prod(g.size for g in reduced), reduced[-1].size
    is_whole = run_length == length
    most = ROW_BLOCK if is_whole else RUN_BLOCK
    blocks = -(-length // most)
    storage = storage_dtype(kind.element)
    tasks, size = division(rows * blocks, min(length, most) * storage.itemsize)
    walk, runs = walk_of(kept), walk_of(reduced[:-1])
    collected = 0 if is_whole else tasks * min(length, most)

    def works(
        operand: ArrayParam, initial: ArrayParam, result: ArrayParam, partial: ArrayParam, block: ArrayParam
    ) -> list[KernelCall]:
        shared = (size, rows, blocks, length, *walk, operand, initial, partial, result)
        if is_whole:
            fold = _work("rows", kind, tasks, shared, rows * length)
        else:
            fold = _work("fragmented_rows", kind, tasks, (run_length, *runs, block, *shared), rows * length)
        return [fold, *_finish(kind, rows, blocks, 1, partial, initial, result)]

    return LaunchPlan([_room_of_blocks(kind, rows, blocks, 1), (collected, storage)], works)


def _short_rows(kind: Combination, kept: list[Group], length: int) -> LaunchPlan:
    """Contiguous rows of fewer than SHORT_ROW values."""
    rows, walk = prod(group.size for group in kept), walk_of(kept)
    computing = computing_dtype(kind.element)
    tasks, size = division(rows, length * computing.itemsize)

    def works(
        operand: ArrayParam, initial: ArrayParam, result: ArrayParam, block: ArrayParam
    ) -> list[KernelCall]:
        work = (size, rows, length, *walk, block, operand, initial, result)
        return [_work("short_rows", kind, tasks, work, rows * length)]

    return LaunchPlan([(tasks * BATCH * length, computing)], works)


def _columns(kind: Combination, groups: list[Group]) -> LaunchPlan:
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

    def works(
        operand: ArrayParam, initial: ArrayParam, result: ArrayParam, partial: ArrayParam, sums: ArrayParam
    ) -> list[KernelCall]:
        work = (*sizes, *walks, sums, operand, initial, partial, result)
        fold = _work("columns", kind, tasks, work, outer * length * inner)
        return [fold, *_finish(kind, outer, blocks, inner, partial, initial, result)]

    return LaunchPlan([_room_of_blocks(kind, outer, blocks, inner), (tasks * room, computing)], works)


def _room_of_blocks(kind: Combination, outer: int, blocks: int, inner: int) -> Scratch:
    """Scratch for the blocks' results, an array [outer, blocks, inner]; none where there is one block."""
    return (outer * blocks * inner if blocks > 1 else 0), computing_dtype(kind.element)


def _finish(
    kind: Combination, outer: int, blocks: int, inner: int, partial: ArrayParam, initial: ArrayParam,
    result: ArrayParam,
) -> list[KernelCall]:  # fmt: skip
    """What folds the blocks' results and the initial value."""
    if blocks == 1:
        return []
    name = "finish_columns" if inner > 1 else "finish_rows"
    units = outer * -(-inner // COLUMN_CHUNK)
    tasks, size = division(units, 2 * blocks * min(inner, COLUMN_CHUNK) * partial.dtype.itemsize)
    arguments = (size, units, blocks, inner, partial, initial, result)
    return [_work(name, kind, tasks, arguments, outer * blocks * inner)]


def _work(
    name: str, kind: Combination, tasks: int, arguments: Sequence[int | np.ndarray | ArrayParam],
    elements: int,
) -> KernelCall:  # fmt: skip
    """A launch of the loop of that name that reads so many elements. It imports Numba."""
    from . import reduce_loops

    loop = getattr(reduce_loops, name)(*kind)
    return KernelCall(
        loop, tasks, arguments, elements * storage_dtype(kind.element).itemsize / BYTES_A_SECOND
    )
