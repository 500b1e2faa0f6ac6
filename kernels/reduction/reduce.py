"""`reduce` with a monoid, over any set of dimensions, by a fixed reduction tree.

The tree. For one result element, take its n values in row-major order of the reduced dimensions, and combine
adjacent pairs, level by level: (v0 op v1), (v2 op v3), ..., an odd last one carried up unchanged, until one
is left. The result is init_value (op) that total, or init_value alone if n is 0. The values stand in the tree
in order, as the specification asks.

Each aligned block of 2^k values is a subtree. So the values are divided into blocks, whose totals are
combined by the same rule, and no bit depends on the division. If the order changes no bit (integers,
booleans, minimum and maximum of real numbers, bitwise operations) a block is reduced in the fastest order.

Sums and products of float16 and bfloat16 accumulate in float32, the initial value included, and are rounded
once at the end, or not at all if the result is float32; `accumulate` chooses otherwise
(`monoids.normalized`). The bits do not depend on the number of threads.

The tree "left" reduces the values from the left instead, starting with init_value: as one window of
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
from .dimension_groups import Group, check_dimensions, dimension_groups, iteration_space

__all__ = ["prepare", "prepare_arg", "supports", "supports_arg", "supports_result", "supports_tree"]

MAX_SEQUENTIAL = 1 << 16
"""The maximum of values that are reduced from the left for a result element: each costs a few bytes a task.
"""

_MIN_WORK_ITEMS = 64
"""Blocks of columns are enlarged as long as this many work items are left for the threads."""

Reduction = Callable[[np.ndarray, Any], np.ndarray]


def supports_tree(
    shape: Sequence[int], dtype: Any, dimensions: Sequence[int], monoid: str, tree: Any
) -> bool:
    """Whether `prepare` has a kernel for a tree: if order changes bits, "blocked", and "left" up to
    MAX_SEQUENTIAL values."""
    if tree == "blocked":
        return True
    if tree in ("balanced", "left", "right") and is_exact(normalized(dtype, monoid)):
        return True
    return tree == "left" and prod(shape[d] for d in dimensions) <= MAX_SEQUENTIAL


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
    """Prepare a reduction, `(operand, init_value) -> result`.

    Args:
        shape: sizes of the operand; the result has those of the dimensions that stay, in row-major order.
        dtype: the operand's element type.
        dimensions: the reduced dimensions.
        monoid: the name of the combining function (`monoids`).
        tree: the order of combining, one that `supports_tree` accepts.
        accumulate: the type of the sums, as in `monoids.normalized`.
        result_dtype: the result's element type (`supports_result`); None: the operand's.
        threads: most threads to use; None: all.

    Raises:
        ValueError: no kernel serves.

    Source: specification, section "reduce".
    """
    check_dimensions(shape, dimensions)
    result_dtype = dtype if result_dtype is None else result_dtype
    kind = normalized(dtype, monoid, accumulate, result_dtype)
    if not supports_tree(shape, dtype, dimensions, monoid, tree):
        raise ValueError(f"no kernel reduces {monoid} of {np.dtype(dtype).name} by the tree {tree!r}")
    if tree == "left" and not is_exact(kind):
        return _sequential(kind, shape, dtype, dimensions, result_dtype, threads)
    result_shape = tuple(size for dimension, size in enumerate(shape) if dimension not in dimensions)
    groups = dimension_groups(shape, dimensions)
    if prod(shape) == 0 or not any(group.reduced for group in groups):
        return _elementwise(kind, dtype, result_dtype, result_shape, prod(shape) == 0, threads)
    prepare_launches = _rows if groups[-1].reduced else _columns
    return _reduction(prepare_launches(kind, groups), kind, dtype, shape, result_shape, result_dtype, threads)


def _reduction(
    launches: LaunchPlan,
    kind: Combination,
    dtype: Any,
    shape: Sequence[int],
    result_shape: tuple[int, ...],
    result_dtype: Any,
    threads: int | None,
) -> Reduction:
    """The function that runs the launches."""
    storage, result_storage = storage_dtype(kind.element), result_storage_dtype(kind.element)
    parameters = [
        ArrayParam(0, prod(shape), storage, is_written=False), ArrayParam(1, 1, storage, is_written=False),
        ArrayParam(2, prod(result_shape), result_storage),
        *[ArrayParam(number, size, item) for number, (size, item) in enumerate(launches.scratch, 3)],
    ]
    dtype = np.dtype(dtype)
    reduce = prepare_launches(
        lambda: launches.calls(*parameters),
        [prod(shape) * dtype.itemsize, dtype.itemsize],
        [(result_shape, result_dtype)],
        launches.scratch,
        threads,
    )

    def run(operand: np.ndarray, init_value: Any) -> np.ndarray:
        if type(init_value) is not np.ndarray or init_value.dtype is not dtype:
            init_value = np.asarray(init_value, dtype)
        result: np.ndarray = reduce(operand, init_value)
        return result

    return run


def _sequential(
    kind: Combination,
    shape: Sequence[int],
    dtype: Any,
    dimensions: Sequence[int],
    result_dtype: Any,
    threads: int | None,
) -> Reduction:
    """Reduce from the left: the reduced dimensions are one window."""
    from .reduce_window import Axis, sliding

    axes = [Axis(size, window=size if d in dimensions else 1) for d, size in enumerate(shape)]
    result_shape = tuple(size for d, size in enumerate(shape) if d not in dimensions)
    if prod(shape) == 0:
        return lambda operand, init_value: np.full(result_shape, init_value, result_dtype)
    reduce = sliding(kind, np.dtype(dtype), axes, threads, np.dtype(result_dtype))
    return lambda operand, init_value: reduce(operand, init_value).reshape(result_shape)


def _elementwise(
    kind: Combination,
    dtype: Any,
    result_dtype: Any,
    result_shape: tuple[int, ...],
    empty: bool,
    threads: int | None,
) -> Reduction:
    """Reductions of zero values or one value a result element."""
    if empty:
        return lambda operand, init_value: np.full(result_shape, init_value, result_dtype)
    count = prod(result_shape)
    tasks, size = division(count, 2 * storage_dtype(kind.element).itemsize)

    def calls(operand: ArrayParam, initial: ArrayParam, result: ArrayParam) -> list[KernelCall]:
        return [_launch("combined", kind, tasks, (size, operand, initial, result), count)]

    return _reduction(LaunchPlan([], calls), kind, dtype, (count,), result_shape, result_dtype, threads)


def _rows(kind: Combination, groups: list[Group]) -> LaunchPlan:
    """The innermost group is reduced."""
    kept = [group for group in groups if not group.reduced]
    reduced = [group for group in groups if group.reduced]
    if len(reduced) == 1 and reduced[0].size < SHORT_ROW:
        return _short_rows(kind, kept, reduced[0].size)
    rows, length, run_length = prod(g.size for g in kept), prod(g.size for g in reduced), reduced[-1].size
    is_contiguous = run_length == length
    max_values = ROW_BLOCK if is_contiguous else RUN_BLOCK
    blocks = -(-length // max_values)
    storage = storage_dtype(kind.element)
    tasks, size = division(rows * blocks, min(length, max_values) * storage.itemsize)
    kept_space, run_space = iteration_space(kept), iteration_space(reduced[:-1])
    gathered_items = 0 if is_contiguous else tasks * min(length, max_values)

    def calls(
        operand: ArrayParam, initial: ArrayParam, result: ArrayParam, partial: ArrayParam, block: ArrayParam
    ) -> list[KernelCall]:
        arguments = (
            size, rows, blocks, length, max_values, *kept_space, run_length, *run_space, operand, initial,
            partial, result, block,
        )  # fmt: skip
        launch = _launch("rows", kind, tasks, arguments, rows * length, is_contiguous)
        return [launch, *_finish(kind, rows, blocks, 1, partial, initial, result)]

    return LaunchPlan([_block_scratch(kind, rows, blocks, 1), (gathered_items, storage)], calls)


def _short_rows(kind: Combination, kept: list[Group], length: int) -> LaunchPlan:
    """Contiguous rows of fewer than SHORT_ROW values."""
    rows, kept_space = prod(group.size for group in kept), iteration_space(kept)
    computing = computing_dtype(kind.element)
    tasks, size = division(rows, length * computing.itemsize)

    def calls(
        operand: ArrayParam, initial: ArrayParam, result: ArrayParam, block: ArrayParam
    ) -> list[KernelCall]:
        arguments = (size, rows, length, *kept_space, block, operand, initial, result)
        return [_launch("short_rows", kind, tasks, arguments, rows * length)]

    return LaunchPlan([(tasks * BATCH * length, computing)], calls)


def _columns(kind: Combination, groups: list[Group]) -> LaunchPlan:
    """The innermost group is kept."""
    *outer_groups, innermost = groups
    kept = [group for group in outer_groups if not group.reduced]
    reduced = [group for group in outer_groups if group.reduced]
    outer, length, inner = prod(g.size for g in kept), prod(g.size for g in reduced), innermost.size
    chunks = -(-inner // COLUMN_CHUNK)
    max_rows = COLUMN_BLOCK
    while max_rows < length and outer * chunks * -(-length // (2 * max_rows)) >= _MIN_WORK_ITEMS:
        max_rows *= 2
    blocks = -(-length // max_rows)
    storage, computing = storage_dtype(kind.element), computing_dtype(kind.element)
    tasks, size = division(
        outer * blocks * chunks, min(length, max_rows) * min(inner, COLUMN_CHUNK) * storage.itemsize
    )
    spaces, scratch_size = (
        *iteration_space(kept), *iteration_space(reduced)
    ), max_rows.bit_length() * min(inner, COLUMN_CHUNK)
    sizes = (size, outer, max_rows, blocks, length, inner, scratch_size)

    def calls(
        operand: ArrayParam, initial: ArrayParam, result: ArrayParam, partial: ArrayParam, sums: ArrayParam
    ) -> list[KernelCall]:
        arguments = (*sizes, *spaces, sums, operand, initial, partial, result)
        launch = _launch("columns", kind, tasks, arguments, outer * length * inner)
        return [launch, *_finish(kind, outer, blocks, inner, partial, initial, result)]

    return LaunchPlan([_block_scratch(kind, outer, blocks, inner), (tasks * scratch_size, computing)], calls)


def _block_scratch(kind: Combination, outer: int, blocks: int, inner: int) -> Scratch:
    """Scratch for the blocks' results, an array [outer, blocks, inner]; empty for a single block."""
    return (outer * blocks * inner if blocks > 1 else 0), computing_dtype(kind.element)


def _finish(
    kind: Combination, outer: int, blocks: int, inner: int, partial: ArrayParam, initial: ArrayParam,
    result: ArrayParam,
) -> list[KernelCall]:  # fmt: skip
    """The launches that reduce the blocks' results and the initial value."""
    if blocks == 1:
        return []
    name = "finish_columns" if inner > 1 else "finish_rows"
    work_items = outer * -(-inner // COLUMN_CHUNK)
    tasks, size = division(work_items, 2 * blocks * min(inner, COLUMN_CHUNK) * partial.dtype.itemsize)
    arguments = (size, work_items, blocks, inner, partial, initial, result)
    return [_launch(name, kind, tasks, arguments, outer * blocks * inner)]


def _launch(
    name: str, kind: Combination, tasks: int, arguments: Sequence[int | np.ndarray | ArrayParam],
    elements: int, *options: bool,
) -> KernelCall:  # fmt: skip
    """A launch of the kernel that `name` makes, which reads `elements` elements. Imports Numba."""
    from . import reduce_loops

    loop = getattr(reduce_loops, name)(*kind, *options)
    return KernelCall(
        loop, tasks, arguments, elements * storage_dtype(kind.element).itemsize / BYTES_A_SECOND
    )
