"""`reduce` of values beside their indices: the largest or the smallest value, and where it is.

The body that is computed takes `(value_a, index_a)` and `(value_b, index_b)` and keeps a's value where it
is better than b's (greater for "maximum", less for "minimum") or a NaN, b's otherwise; it keeps a's index
in the same cases, and where the values are equal and a's index is the lower one. JAX's argmax and argmin
reduce with it. In the order that the specification asks for this is associative, so that the result does
not depend on the tree: the first NaN wins, else the best value with its lowest index (of equal zeros, the
last one's sign).
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..launch.compilation import flat
from ..launch.threads import division
from ..simd.block_sizes import ARGUMENT_BLOCK, ARGUMENT_CHUNK
from ..simd.monoids import computing_dtype, storage_dtype, supports_element
from .dimension_groups import check_dimensions, groups_of

_SHORT = 32
"""Elements of rows that are short."""

ArgReduction = Callable[[np.ndarray, np.ndarray | None, Any, Any], tuple[np.ndarray, np.ndarray]]


def supports_arg(shape: Sequence[int], dtype: Any, index_dtype: Any, dimensions: Sequence[int]) -> bool:
    """Whether `prepare_arg` serves: real values, integer indices, neighbouring dimensions."""
    if not supports_element(dtype) or np.dtype(dtype).kind in "bc" or np.dtype(index_dtype).kind not in "iu":
        return False
    reduced = sum(group.reduced for group in groups_of(shape, dimensions))
    return reduced == 1 and prod(shape) > 0


def prepare_arg(
    shape: Sequence[int],
    dtype: Any,
    index_dtype: Any,
    dimensions: Sequence[int],
    direction: str,
    *,
    threads: int | None = None,
) -> ArgReduction:
    """A function `(operand, indices, init_value, init_index) -> (value, index)`.

    `direction` is "maximum" or "minimum". `indices` has the operand's shape and `index_dtype`; None stands
    for the position in row-major order of the reduced dimensions, which then is not read from memory.
    Raises ValueError where no kernel serves. Source: the specification's section on reduce.
    """
    check_dimensions(shape, dimensions)
    if direction not in ("maximum", "minimum"):
        raise ValueError(f"direction is {direction!r}, but must be 'maximum' or 'minimum'")
    if not supports_arg(shape, dtype, index_dtype, dimensions):
        raise ValueError(
            f"no kernel finds the {direction} of {np.dtype(dtype).name} along {tuple(dimensions)}"
        )
    groups = groups_of(shape, dimensions)
    number = next(number for number, group in enumerate(groups) if group.reduced)
    outer = prod(group.size for group in groups[:number])
    length = groups[number].size
    inner = prod(group.size for group in groups[number + 1 :])
    result_shape = tuple(size for dimension, size in enumerate(shape) if dimension not in dimensions)
    element = np.dtype(dtype).name
    make = _columns if inner > 1 else _rows
    reduction = make(element, direction, outer, length, inner, threads)
    storage, index_type = storage_dtype(element), np.dtype(index_dtype)

    def run(
        operand: np.ndarray, indices: np.ndarray | None, init_value: Any, init_index: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        value, index = np.empty(result_shape, dtype), np.empty(result_shape, index_type)
        initial = flat(np.asarray(init_value, dtype), storage), flat(np.asarray(init_index, index_type))
        given = flat(np.empty(0, index_type) if indices is None else indices)
        reduction(flat(operand, storage), given, *initial, value.reshape(-1).view(storage), index.reshape(-1))
        return value, index

    return run


def _rows(
    element: str, direction: str, outer: int, length: int, inner: int, threads: int | None
) -> Callable[..., None]:
    """The reduced values lie side by side: the best of each block is found first, then where it is; of short
    rows many are searched at the same time."""
    if length <= _SHORT:
        return _columns(element, direction, 1, length, outer, threads, turned=True)
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
        work = (size, outer, blocks, length, operand, indices, *partial)
        arg_reduce_loops.rows(element, direction)(tasks, *work, threads=threads)
        rest = (finish_size, outer, blocks, *partial, init_value, init_index, *results)
        arg_reduce_loops.finish(element, direction)(finish_tasks, *rest, threads=threads)

    return reduction


def _columns(
    element: str,
    direction: str,
    outer: int,
    length: int,
    inner: int,
    threads: int | None,
    turned: bool = False,
) -> Callable[..., None]:
    """The columns lie side by side, and are searched from top to bottom; `turned`: they are short rows."""
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
        lines = np.empty(tasks * ARGUMENT_CHUNK * length if turned else 0, computing_dtype(element))
        work = (size, outer, length, inner, operand, indices, *best, lines, init_value, init_index, *results)
        arg_reduce_loops.columns(element, direction, turned)(tasks, *work, threads=threads)

    return reduction
