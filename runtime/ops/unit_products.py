"""Products of floats that bf16 holds, by the processor's matrix unit where it has one.

References and kernels call the same function: the order in which the unit adds is its own. It adds in f32.
Which products it is given hangs on their shapes, their least numbers and the processor, so that all ways give
the same bits: numbers so small that it would lose them are left to BLAS.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..types import ELEMENT_TYPES, FLOAT, ElementType
from .declaration import Array
from .numerics import converter

_BF16: Final = ELEMENT_TYPES["bf16"]
_F32: Final = ELEMENT_TYPES["f32"]

_LEAST_TERMS: Final = 1 << 12
"""Smaller products of matrices are left to BLAS."""


def are_served(lhs: ElementType, rhs: ElementType, result: ElementType) -> bool:
    """Whether the unit multiplies operands of these element types, of sizes that suit it."""
    if not all(type.category == FLOAT for type in (lhs, rhs, result)) or result.width > _F32.width:
        return False
    if not all(type is _BF16 or type.width <= 8 for type in (lhs, rhs)):
        return False
    from ..kernels import matrix_unit

    return matrix_unit.supports("bfloat16", "bfloat16", "float32")


def suits(rows: int, terms: int, columns: int) -> bool:
    """Whether the unit multiplies matrices of these sizes."""
    return rows * terms * columns >= _LEAST_TERMS


def unit_multiplier(
    lhs: ElementType, rhs: ElementType, result: ElementType, otherwise: Callable[[Array, Array], Array]
) -> Callable[..., Array]:
    """The product of stacks of matrices of element types that are served.

    Args:
        lhs, rhs, result: the element types.
        otherwise: multiplies where sizes do not suit, or numbers are too small.

    Returns:
        A function of two arrays and, by name, `threads`: most threads to use, None: all.
    """
    enter_lhs, enter_rhs = converter(lhs, _BF16), converter(rhs, _BF16)
    summed = _BF16 if result is _BF16 else _F32
    leave = converter(summed, result)

    def multiply(a: Array, b: Array, threads: int | None = 1) -> Array:
        shape, other = a.shape, b.shape
        batch, (rows, terms), columns = shape[:-2], shape[-2:], other[-1]
        if batch != other[:-2] or 0 in batch or not suits(rows, terms, columns):
            return otherwise(a, b)
        left, right = enter_lhs(a), enter_rhs(b)
        if len(batch) != 1:
            count = math.prod(batch)
            left, right = left.reshape(count, rows, terms), right.reshape(count, terms, columns)
        product = prepared(left.shape, right.shape, summed.dtype, threads)(left, right)
        if product is None:
            return otherwise(a, b)
        return np.asarray(leave(product if len(batch) == 1 else product.reshape(*batch, rows, columns)))

    return multiply


@functools.lru_cache(1 << 8)
def prepared(
    lhs: Sequence[int], rhs: Sequence[int], result: np.dtype[Any], threads: int | None
) -> Callable[[Array, Array], Array | None]:
    """The product of stacks of bf16 of these shapes; its result is None where numbers are too small."""
    from ..kernels import matrix_unit

    return matrix_unit.Product(lhs, rhs, _BF16.dtype, _BF16.dtype, result, threads)
