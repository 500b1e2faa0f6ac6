"""`reduce` of values with their indices: argmax and argmin.

The body of the reduction takes `(value_a, index_a)` and `(value_b, index_b)` and keeps a's value if it is
better than b's (greater for "maximum", less for "minimum") or a NaN, b's otherwise; it keeps a's index in the
same cases, and if the values are equal and a's index is lower. JAX's argmax and argmin reduce with it. In the
order of the specification this is associative, so that the result does not depend on the tree: the first NaN
wins, else the best value with its lowest index (of equal zeros, the last one's sign).
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..launch.compilation import flat, kernel_at
from ..launch.no_kernel import NoKernel
from ..launch.threads import division
from ..simd.block_sizes import ARGUMENT_BLOCK
from ..simd.monoids import computing_dtype, storage_dtype, supports_element

_LOOPS = f"{__package__}.arg_reduce_loops"
_MIN_ROW = 64
"""Generated loops reduce shorter rows, which do not fill an `ARGUMENT_GROUP`, and columns. On rows of 64 to
127 they take 2 to 3 times as long (Zen 4)."""

ArgReduction = Callable[[np.ndarray, np.ndarray | None, Any, Any], tuple[np.ndarray, np.ndarray]]


def supports_arg(shape: Sequence[int], dtype: Any, index_dtype: Any, dimensions: Sequence[int]) -> bool:
    """Whether `prepare_arg` has a kernel: real values, integer indices, contiguous rows of some length."""
    if not supports_element(dtype) or np.dtype(dtype).kind in "bc" or np.dtype(index_dtype).kind not in "iu":
        return False
    outer, length = _rows(shape, dimensions)
    return outer > 0 and length >= _MIN_ROW


def _rows(shape: Sequence[int], dimensions: Sequence[int]) -> tuple[int, int]:
    """The number of contiguous rows that are reduced, and their length; (0, 0) if rows are not contiguous."""
    large = [d for d, size in enumerate(shape) if size != 1]
    unreduced_count = sum(d not in dimensions for d in large)
    if any(d in dimensions for d in large[:unreduced_count]):
        return 0, 0
    return prod(shape[d] for d in large[:unreduced_count]), prod(shape[d] for d in large[unreduced_count:])


def prepare_arg(
    shape: Sequence[int],
    dtype: Any,
    index_dtype: Any,
    dimensions: Sequence[int],
    direction: str,
    *,
    threads: int | None = None,
) -> ArgReduction:
    """Prepare an arg reduction, `(operand, indices, init_value, init_index) -> (value, index)`.

    Args:
        shape: sizes of the operand and of `indices`. If a call passes None for `indices`, the index of an
            element is its position in row-major order of the reduced dimensions.
        dtype: the operand's element type.
        index_dtype: the integer type of the indices.
        dimensions: the reduced dimensions.
        direction: "maximum" or "minimum".
        threads: maximum number of threads; None: all.

    Raises:
        NoKernel: no kernel supports the operands.

    Source: specification, section "reduce".
    """
    if len(set(dimensions)) != len(dimensions) or not all(0 <= d < len(shape) for d in dimensions):
        raise ValueError(f"dimensions {tuple(dimensions)} do not fit the shape {tuple(shape)}")
    if direction not in ("maximum", "minimum"):
        raise ValueError(f"direction is {direction!r}, but must be 'maximum' or 'minimum'")
    if not supports_arg(shape, dtype, index_dtype, dimensions):
        raise NoKernel(
            f"no kernel finds the {direction} of {np.dtype(dtype).name} along {tuple(dimensions)}"
        )
    outer, length = _rows(shape, dimensions)
    result_shape = tuple(size for dimension, size in enumerate(shape) if dimension not in dimensions)
    element = np.dtype(dtype).name
    blocks = -(-length // ARGUMENT_BLOCK)
    tasks, size = division(outer * blocks, min(length, ARGUMENT_BLOCK) * storage_dtype(element).itemsize)
    finish_tasks, finish_size = division(outer, 16 * blocks)
    storage, index_type = storage_dtype(element), np.dtype(index_dtype)

    def run(
        operand: np.ndarray, indices: np.ndarray | None, init_value: Any, init_index: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        value, index = np.empty(result_shape, dtype), np.empty(result_shape, index_type)
        initial = flat(np.asarray(init_value, dtype), storage), flat(np.asarray(init_index, index_type))
        index_items = flat(np.empty(0, index_type) if indices is None else indices)
        partial = np.empty(outer * blocks, computing_dtype(element)), np.empty(outer * blocks, index_type)
        arguments = (size, outer, blocks, length, flat(operand, storage), index_items, *partial)
        kernel_at(_LOOPS, "rows", element, direction)(tasks, *arguments, threads=threads)
        results = value.reshape(-1).view(storage), index.reshape(-1)
        finish_arguments = (finish_size, outer, blocks, *partial, *initial, *results)
        kernel_at(_LOOPS, "finish", element, direction)(finish_tasks, *finish_arguments, threads=threads)
        return value, index

    return run
