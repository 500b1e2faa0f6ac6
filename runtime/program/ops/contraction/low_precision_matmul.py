"""Products of bf16 and narrower floats, in the order of two chains (`kernels/matmul/low_precision_matmul.h`).

Shapes, types and `precision_config` alone choose the order. The matrix unit, instructions for pairs of bf16
and multiply-adds of f32 give the same bits. Operands so small that the instructions for bf16 would flush
results to zero are multiplied in f32, in the same order.

Products in the order of f32 use instructions for pairs of bf16 if these are faster.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from ....types import ELEMENT_TYPES, FLOAT, Array, DType, ElementType
from ..numerics.element_types import converter
from .float_matmul import ConstantMatmul, two_chain_matmul

_BF16: Final = ELEMENT_TYPES["bf16"]
_F32: Final = ELEMENT_TYPES["f32"]

_MIN_MULTIPLICATIONS_TWO_CHAINS: Final = 1 << 12
"""Minimum number of multiplications in a matrix product that is added in two chains: smaller ones gain
nothing."""
_MIN_MULTIPLICATIONS_PAIRS: Final = 1 << 10
"""Minimum number of multiplications in a matrix product for instructions that multiply pairs."""


class NarrowOrder(enum.Enum):
    """The order in which products of narrow floats are added: in two chains, or as products of f32 are."""

    TWO_CHAINS = enum.auto()
    F32 = enum.auto()


def supports_types(lhs: ElementType, rhs: ElementType, result: ElementType) -> bool:
    """Whether the operands are bf16 or narrower floats, and the result is f32 or a narrower one."""
    if not all(type.category == FLOAT for type in (lhs, rhs, result)) or result.width > _F32.width:
        return False
    return all(type is _BF16 or type.width <= 8 for type in (lhs, rhs))


def implementation_of(order: NarrowOrder) -> str | None:
    """The processor's fastest instructions for bf16 in this order; None: those for f32."""
    from ....kernels.matmul import low_precision_matmul as native

    is_chained = order is NarrowOrder.TWO_CHAINS
    suitable = (native.AMX, native.AVX512_BF16) if is_chained else (native.AVX512_BF16_AS_F32,)
    implementations = native.implementations("bfloat16", "bfloat16", "float32")
    return next((one for one in implementations if one in suitable and native.is_fast(one)), None)


def supports_sizes(order: NarrowOrder, rows: int, k: int, columns: int) -> bool:
    """Whether matrices of these sizes are multiplied in this order, or, in that of f32, by instructions for
    bf16. Products with a vector have an order of their own, which reads each element once.
    """
    least = (
        _MIN_MULTIPLICATIONS_TWO_CHAINS if order is NarrowOrder.TWO_CHAINS else _MIN_MULTIPLICATIONS_PAIRS
    )
    return 1 not in (rows, columns) and rows * k * columns >= least


def low_precision_multiplier(
    lhs: ElementType,
    rhs: ElementType,
    result: ElementType,
    order: NarrowOrder,
    otherwise: Callable[[Array, Array], Array],
    is_rhs_constant: bool = False,
) -> Callable[..., Array]:
    """The product of stacks of matrices of supported element types.

    Args:
        lhs, rhs, result: the element types.
        order: that of additions.
        otherwise: multiplies in the order of f32; where sizes do not suit, too.
        is_rhs_constant: whether the right operand has the same elements in all calls, of one shape.

    Returns:
        A function of two arrays and, by name, `threads`: maximum number of threads to use, None: all.
    """
    enter_lhs, enter_rhs = converter(lhs, _BF16), converter(rhs, _BF16)
    summed = _BF16 if result is _BF16 else _F32
    implementation = implementation_of(order)
    leave = converter(summed, result)
    is_chained = order is NarrowOrder.TWO_CHAINS
    in_two_chains = _two_chain_multiplier(lhs, rhs, result, is_rhs_constant) if is_chained else None
    # A product keeps the panels of its constant.
    prepare_constant = functools.lru_cache(1)(_prepare) if is_rhs_constant else None

    def in_f32(a: Array, b: Array, threads: int | None) -> Array:
        return otherwise(a, b) if in_two_chains is None else in_two_chains(a, b, threads)

    def multiply(a: Array, b: Array, threads: int | None = 1) -> Array:
        shape, other = a.shape, b.shape
        batch, (rows, k), columns = shape[:-2], shape[-2:], other[-1]
        if batch != other[:-2] or 0 in batch or not supports_sizes(order, rows, k, columns):
            return otherwise(a, b)
        if implementation is None:
            return in_f32(a, b, threads)
        left, right = enter_lhs(a), enter_rhs(b)
        if len(batch) != 1:
            count = math.prod(batch)
            left, right = left.reshape(count, *shape[-2:]), right.reshape(count, *other[-2:])
        prepare = prepare_constant or _prepare_cached
        dtype = summed.dtype
        product = prepare(left.shape, right.shape, dtype, threads, implementation, is_rhs_constant)
        total = product(left, right)
        if total is None:
            return in_f32(a, b, threads)
        return np.asarray(leave(total if len(batch) == 1 else total.reshape(*batch, shape[-2], other[-1])))

    return multiply


def _two_chain_multiplier(
    lhs: ElementType, rhs: ElementType, result: ElementType, is_rhs_constant: bool
) -> Callable[[Array, Array, int | None], Array]:
    """The product in two chains by instructions for f32, which flush nothing."""
    enter_lhs, enter_rhs, leave = converter(lhs, _F32), converter(rhs, _F32), converter(_F32, result)
    if is_rhs_constant:
        constant = ConstantMatmul(enter_rhs)
        return lambda a, b, threads: np.asarray(leave(constant(enter_lhs(a), b, threads)))
    return lambda a, b, threads: np.asarray(leave(two_chain_matmul(enter_lhs(a), enter_rhs(b), threads)))


def _prepare(
    lhs: Sequence[int],
    rhs: Sequence[int],
    result: DType,
    threads: int | None,
    implementation: str,
    is_rhs_constant: bool,
) -> Callable[[Array, Array], Array | None]:
    """The product of stacks of bf16 matrices of these shapes; its result is None if numbers are too small."""
    from ....kernels.matmul import low_precision_matmul

    dtypes = _BF16.dtype, _BF16.dtype, result
    return low_precision_matmul.Product(lhs, rhs, *dtypes, threads, implementation, is_rhs_constant)


_prepare_cached = functools.lru_cache(1 << 8)(_prepare)
