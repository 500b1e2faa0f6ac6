"""Products of bf16 and narrower floats by the processor's low-precision instructions.

The instructions accumulate in f32. Those that multiply pairs of bf16 add in the order of `float_matmul`. The
matrix unit has its own order and is used only where NIMBLEHLO_MATRIX_UNIT=1 allows it: references and kernels
call the same function; shapes and the least magnitudes of the operands decide. Operands so small that the
instructions would flush results to zero are multiplied by `float_matmul`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from ....types import ELEMENT_TYPES, FLOAT, Array, DType, ElementType
from ..numerics.element_types import converter

_BF16: Final = ELEMENT_TYPES["bf16"]
_F32: Final = ELEMENT_TYPES["f32"]

_MIN_MULTIPLICATIONS_MATRIX_UNIT: Final = 1 << 12
"""Minimum number of multiplications in a matrix product for the matrix unit."""
_MIN_MULTIPLICATIONS_PAIRS: Final = 1 << 10
"""Minimum number of multiplications in a matrix product for instructions that multiply pairs."""


def supports_types(lhs: ElementType, rhs: ElementType, result: ElementType) -> bool:
    """Whether the processor can multiply operands of these element types, for suitable sizes."""
    if not all(type.category == FLOAT for type in (lhs, rhs, result)) or result.width > _F32.width:
        return False
    return all(type is _BF16 or type.width <= 8 for type in (lhs, rhs)) and bf16_implementation() is not None


def bf16_implementation() -> str | None:
    """The processor's implementation for bf16; None if none is faster than that for f32."""
    from ....kernels.matmul import low_precision_matmul, matrix_unit

    implementations = low_precision_matmul.implementations("bfloat16", "bfloat16", "float32")
    if not matrix_unit.sums_floats():
        implementations = tuple(one for one in implementations if one != low_precision_matmul.AMX)
    return next(filter(low_precision_matmul.is_fast, implementations), None)


def adds_in_f32_order() -> bool:
    """Whether the products have the same bits as matrix products of `float_matmul`, with the same order of
    terms.
    """
    from ....kernels.matmul import low_precision_matmul

    return bf16_implementation() == low_precision_matmul.AVX512_BF16


def supports_sizes(rows: int, k: int, columns: int) -> bool:
    """Whether matrices of these sizes are multiplied by these instructions. Vectors are not if f32 has
    another order.
    """
    if adds_in_f32_order():
        return 1 not in (rows, columns) and rows * k * columns >= _MIN_MULTIPLICATIONS_PAIRS
    return rows * k * columns >= _MIN_MULTIPLICATIONS_MATRIX_UNIT


def low_precision_multiplier(
    lhs: ElementType, rhs: ElementType, result: ElementType, otherwise: Callable[[Array, Array], Array]
) -> Callable[..., Array]:
    """The product of stacks of matrices of supported element types.

    Args:
        lhs, rhs, result: the element types.
        otherwise: multiplies where sizes do not suit, or numbers are too small.

    Returns:
        A function of two arrays and, by name, `threads`: maximum number of threads to use, None: all.
    """
    enter_lhs, enter_rhs = converter(lhs, _BF16), converter(rhs, _BF16)
    summed = _BF16 if result is _BF16 else _F32
    implementation = bf16_implementation()
    leave = converter(summed, result)

    def multiply(a: Array, b: Array, threads: int | None = 1) -> Array:
        shape, other = a.shape, b.shape
        product = prepare_product(shape, other, summed.dtype, threads, implementation)
        if product is None:
            return otherwise(a, b)
        left, right = enter_lhs(a), enter_rhs(b)
        batch = shape[:-2]
        if len(batch) != 1:
            count = math.prod(batch)
            left, right = left.reshape(count, *shape[-2:]), right.reshape(count, *other[-2:])
        total = product(left, right)
        if total is None:
            return otherwise(a, b)
        return np.asarray(leave(total if len(batch) == 1 else total.reshape(*batch, shape[-2], other[-1])))

    return multiply


@functools.lru_cache(1 << 8)
def prepare_product(
    lhs: Sequence[int],
    rhs: Sequence[int],
    result: DType,
    threads: int | None,
    implementation: str | None = None,
) -> Callable[[Array, Array], Array | None] | None:
    """The product of bf16 matrices of these shapes, as stacks with one batching dimension; None if
    unsuitable.

    Its result is None if numbers are too small. `implementation` is `bf16_implementation()`.
    """
    from ....kernels.matmul import low_precision_matmul

    batch, (rows, k), columns = lhs[:-2], lhs[-2:], rhs[-1]
    if tuple(batch) != tuple(rhs[:-2]) or 0 in batch or not supports_sizes(rows, k, columns):
        return None
    stacks = (math.prod(batch), rows, k), (math.prod(batch), k, columns)
    return low_precision_matmul.Product(*stacks, _BF16.dtype, _BF16.dtype, result, threads, implementation)
