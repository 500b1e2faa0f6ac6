"""Integer matrix multiplication of stacks of matrices, [batch, row, k] by [batch, k, column].

Integers of up to 16 bits are multiplied by instructions that add several products (`low_precision_matmul`),
where the processor has them, others in the width of the sums (`matmul`, `gemv`). Sums wrap modulo two to the
width of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..launch.no_kernel import NoKernel
from ..named_tuples import NamedTuple
from . import gemv, low_precision_matmul, matmul

__all__ = ["Implementation", "implementation_of", "prepare"]

Product = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Implementation(NamedTuple):
    """An implementation of `low_precision_matmul`, and the element types to which operands are converted."""

    name: str
    lhs: np.dtype[Any]
    rhs: np.dtype[Any]


def implementation_of(lhs: Any, rhs: Any, result: Any, k: int) -> Implementation | None:
    """The algorithm that multiplies integers of these types.

    Args:
        lhs, rhs, result: NumPy element types.
        k: the contracted size.

    Returns:
        The fastest implementation; None if they are multiplied in the width of the sums.
    """
    largest = prod(max(-int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)) for dtype in (lhs, rhs))
    if np.dtype(result).itemsize > 4 and largest * k >= 1 << 31:
        return None
    operand_types = [(np.dtype(lhs), np.dtype(rhs))]
    if all(np.can_cast(dtype, np.int16) for dtype in (lhs, rhs)):
        operand_types.append((np.dtype(np.int16),) * 2)
    for types in operand_types:
        names = low_precision_matmul.implementations(types[0].name, types[1].name, "int32")
        if names:
            return Implementation(names[0], *types)
    return None


def prepare(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    lhs_dtype: Any,
    rhs_dtype: Any,
    result_dtype: Any,
    *,
    threads: int | None = None,
) -> Product:
    """Prepare a product, `(lhs [batch, rows, k], rhs [batch, k, columns]) -> [batch, rows, columns]`.

    Args:
        lhs_shape, rhs_shape: shapes without a size of zero.
        lhs_dtype, rhs_dtype, result_dtype: NumPy element types.
        threads: maximum number of threads; None: all.

    Raises:
        NoKernel: an element type is no integer, or a size is zero.
    """
    lhs_type, rhs_type, result_type = np.dtype(lhs_dtype), np.dtype(rhs_dtype), np.dtype(result_dtype)
    (batch, rows, k), columns = lhs_shape, rhs_shape[2]
    are_integers = all(dtype.kind in "iu" for dtype in (lhs_type, rhs_type, result_type))
    if not are_integers or 0 in (batch, rows, k, columns):
        raise NoKernel(
            f"no kernel multiplies {lhs_type}{lhs_shape} and {rhs_type}{rhs_shape} as {result_type}"
        )
    implementation = implementation_of(lhs_type, rhs_type, result_type, k)
    multiply: Callable[[np.ndarray, np.ndarray], np.ndarray | None]
    if implementation is not None:
        name, left_type, right_type = implementation
        multiply = low_precision_matmul.Product(
            lhs_shape, rhs_shape, left_type, right_type, np.int32, threads, name
        )
    else:
        left_type = right_type = np.dtype(np.int32 if result_type.itemsize <= 4 else np.int64)
        multiply = _multiply_wide(1 in (rows, columns), threads)

    def run(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        sums = multiply(lhs.astype(left_type, copy=False), rhs.astype(right_type, copy=False))
        return np.asarray(sums).astype(result_type, copy=False)

    return run


def _multiply_wide(is_vector: bool, threads: int | None) -> Product:
    """The product of operands whose element type is that of the sums."""
    if not matmul.is_available():
        return np.matmul
    multiply_stacks = gemv.multiply if is_vector else matmul.multiply
    return lambda lhs, rhs: multiply_stacks(lhs, rhs, threads)
