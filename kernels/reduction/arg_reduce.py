"""`reduce` of values with their indices: argmax and argmin.

The body of the reduction takes `(value_a, index_a)` and `(value_b, index_b)` and keeps a's value if it is
better than b's (greater for "maximum", less for "minimum") or a NaN, b's otherwise; it keeps a's index in the
same cases, and if the values are equal and a's index is lower. JAX's argmax and argmin reduce with it. In the
order of the specification this is associative, so that the result does not depend on the tree: the first NaN
wins, else the best value with its lowest index (of equal zeros, the last one's sign).
"""

import itertools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..launch.compilation import flat
from ..launch.threads import division
from ..simd.block_sizes import ARGUMENT_BLOCK, ARGUMENT_CHUNK
from ..simd.monoids import computing_dtype, storage_dtype, supports_element

_MAX_SHORT_ROW = 32
"""The longest rows that are reduced across, many at a time."""



ArgReduction = Callable[[np.ndarray, np.ndarray | None, Any, Any], tuple[np.ndarray, np.ndarray]]


def supports_arg(shape: Sequence[int], dtype: Any, index_dtype: Any, dimensions: Sequence[int]) -> bool:
    """Whether `prepare_arg` has a kernel: real values, integer indices, neighbouring dimensions."""
    if not supports_element(dtype) or np.dtype(dtype).kind in "bc" or np.dtype(index_dtype).kind not in "iu":
        return False
    runs = [is_reduced for is_reduced, _ in _runs(shape, dimensions)]
    return runs.count(True) == 1 and prod(shape) > 0


def _runs(shape: Sequence[int], dimensions: Sequence[int]) -> list[tuple[bool, int]]:
    """The sizes of runs of dimensions that are all reduced (True) or all stay; those of size 1 are left out.
    """
    large = [d for d, size in enumerate(shape) if size != 1]
    return [
        (is_reduced, prod(shape[d] for d in run))
        for is_reduced, run in itertools.groupby(large, lambda d: d in dimensions)
    ]


def prepare_arg(
    shape: Sequence[int],
    dtype: Any,
    index_dtype: Any,
    dimensions: Sequence[int],
    direction: str,
    *,
    threads: int | None = None,
) -> ArgReduction:
    """Prepare a search for extremes, `(operand, indices, init_value, init_index) -> (value, index)`.

    Args:
        shape: sizes of the operand and of `indices`. Where a call gives None for `indices`, the index is the
            position in row-major order of the reduced dimensions, and nothing is read.
        dtype: the operand's element type.
        index_dtype: the integer type of the indices.
        dimensions: the reduced dimensions.
        direction: "maximum" or "minimum".
        threads: most threads to use; None: all.

    Raises:
        ValueError: no kernel serves.

    Source: specification, section "reduce".
    """
    if len(set(dimensions)) != len(dimensions) or not all(0 <= d < len(shape) for d in dimensions):
        raise ValueError(f"dimensions {tuple(dimensions)} do not fit the shape {tuple(shape)}")
    if direction not in ("maximum", "minimum"):
        raise ValueError(f"direction is {direction!r}, but must be 'maximum' or 'minimum'")
    if not supports_arg(shape, dtype, index_dtype, dimensions):
        raise ValueError(
            f"no kernel finds the {direction} of {np.dtype(dtype).name} along {tuple(dimensions)}"
        )
    runs = _runs(shape, dimensions)
    reduced_run = next(run for run, (is_reduced, _) in enumerate(runs) if is_reduced)
    outer, inner = (prod(size for _, size in side) for side in (runs[:reduced_run], runs[reduced_run + 1 :]))
    length = runs[reduced_run][1]
    result_shape = tuple(size for dimension, size in enumerate(shape) if dimension not in dimensions)
    element = np.dtype(dtype).name
    prepare_reduction = _columns if inner > 1 else _rows
    reduction = prepare_reduction(element, direction, outer, length, inner, threads)
    storage, index_type = storage_dtype(element), np.dtype(index_dtype)

    def run(
        operand: np.ndarray, indices: np.ndarray | None, init_value: Any, init_index: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        value, index = np.empty(result_shape, dtype), np.empty(result_shape, index_type)
        initial = flat(np.asarray(init_value, dtype), storage), flat(np.asarray(init_index, index_type))
        index_items = flat(np.empty(0, index_type) if indices is None else indices)
        reduction(
            flat(operand, storage), index_items, *initial, value.reshape(-1).view(storage), index.reshape(-1)
        )
        return value, index

    return run


def _rows(
    element: str, direction: str, outer: int, length: int, inner: int, threads: int | None
) -> Callable[..., None]:
    """Reduce contiguous rows: the best value of each block, then its index; short rows are transposed and
    reduced across."""
    if length <= _MAX_SHORT_ROW:
        return _columns(element, direction, 1, length, outer, threads, transposed=True)
    blocks = -(-length // ARGUMENT_BLOCK)
    tasks, size = division(outer * blocks, min(length, ARGUMENT_BLOCK) * storage_dtype(element).itemsize)
    finish_tasks, finish_size = division(outer, 16 * blocks)

    def reduction(
        operand: np.ndarray,
        indices: np.ndarray,
        init_value: np.ndarray,
        init_index: np.ndarray,
        *results: np.ndarray,
    ) -> None:
        from . import arg_reduce_loops

        partial = (
            np.empty(outer * blocks, computing_dtype(element)),
            np.empty(outer * blocks, init_index.dtype),
        )
        arguments = (size, outer, blocks, length, operand, indices, *partial)
        arg_reduce_loops.rows(element, direction)(tasks, *arguments, threads=threads)
        finish_arguments = (finish_size, outer, blocks, *partial, init_value, init_index, *results)
        arg_reduce_loops.finish(element, direction)(finish_tasks, *finish_arguments, threads=threads)

    return reduction


def _columns(
    element: str,
    direction: str,
    outer: int,
    length: int,
    inner: int,
    threads: int | None,
    transposed: bool = False,
) -> Callable[..., None]:
    """Reduce along columns of contiguous rows, or short rows if `transposed`."""
    chunks = -(-inner // ARGUMENT_CHUNK)
    tasks, size = division(
        outer * chunks, length * min(inner, ARGUMENT_CHUNK) * storage_dtype(element).itemsize
    )

    def reduction(
        operand: np.ndarray,
        indices: np.ndarray,
        init_value: np.ndarray,
        init_index: np.ndarray,
        *results: np.ndarray,
    ) -> None:
        from . import arg_reduce_loops

        best = (
            np.empty(tasks * ARGUMENT_CHUNK, computing_dtype(element)),
            np.empty(tasks * ARGUMENT_CHUNK, init_index.dtype),
        )
        transposed_rows = np.empty(
            tasks * ARGUMENT_CHUNK * length if transposed else 0, computing_dtype(element)
        )
        arguments = (
            size, outer, length, inner, operand, indices, *best, transposed_rows, init_value, init_index,
            *results,
        )  # fmt: skip
        arg_reduce_loops.columns(element, direction, transposed)(tasks, *arguments, threads=threads)

    return reduction
