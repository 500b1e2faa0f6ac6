"""Finds the open elements of integer arithmetic.

An element of a result is *open* if the specification leaves its value to the implementation. The sanitizer
reports open elements, and `error_bounds` takes any value there for right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...program.ops.chlo.broadcast import BroadcastBinary
from ...program.ops.elementwise import arithmetic, bitwise, conversion
from ...program.ops.framework.declaration import Op
from ...program.ops.numerics import element_types
from ...program.ops.numerics.broadcast_shapes import broadcast_pair
from ...types import COMPLEX, FLOAT, INTEGER, SIGNED, Array, ElementType, storage_range

MarkOpenElements = Callable[[Sequence[Any]], Array | None]
"""A function of the operands, which returns a mask of the open elements, or None if there are none."""


def _integers(view: Op, *kinds: type[Op]) -> ElementType | None:
    """The integer type of an operation of one of these kinds, broadcasting ones included; None for others."""
    if not issubclass(view.elementwise if isinstance(view, BroadcastBinary) else type(view), kinds):
        return None
    element_type = getattr(view.operation.operands[0].type, "element_type", None)
    is_integer = isinstance(element_type, ElementType) and element_type.category & INTEGER
    return element_type if is_integer else None


def aligned_pair(view: Op, lhs: Array, rhs: Array) -> tuple[Array, Array]:
    """Both operands in the shape of the result."""
    if isinstance(view, BroadcastBinary):
        lhs, rhs = view.align(lhs, rhs), view.align(rhs, lhs)
    return broadcast_pair(lhs, rhs)


def division_by_zero(view: Op) -> MarkOpenElements | None:
    """`divide` and `remainder` of integers by zero."""
    element_type = _integers(view, arithmetic.Divide, arithmetic.Remainder)
    if element_type is None:
        return None
    dtype = element_types.carrier(element_type)

    def marks(operands: Sequence[Array]) -> Array | None:
        rhs = operands[1].astype(dtype, copy=False)
        if np.count_nonzero(rhs) == rhs.size:
            return None
        _, zero = aligned_pair(view, operands[0], rhs == 0)
        return zero

    return marks


def division_overflow(view: Op) -> MarkOpenElements | None:
    """`divide` and `remainder` of the smallest signed integer by -1."""
    element_type = _integers(view, arithmetic.Divide, arithmetic.Remainder)
    if element_type is None or not element_type.category & SIGNED:
        return None
    dtype, (low, _) = element_types.carrier(element_type), storage_range(element_type)

    def marks(operands: Sequence[Array]) -> Array | None:
        is_min = operands[0].astype(dtype, copy=False) == low
        if not np.count_nonzero(is_min):
            return None
        is_min, rhs = aligned_pair(view, is_min, operands[1].astype(dtype, copy=False))
        overflows: Array = is_min & (rhs == -1)
        return overflows

    return marks


def shift_amount(view: Op) -> MarkOpenElements | None:
    """Shifts by the width of the element type or more; amounts are unsigned."""
    element_type = _integers(view, bitwise.Shift)
    if element_type is None:
        return None
    to_bits, _ = element_types.unsigned_bits(element_type)
    width = element_type.width

    def marks(operands: Sequence[Array]) -> Array | None:
        excessive = to_bits(operands[1]) >= width
        if not np.count_nonzero(excessive):
            return None
        _, excessive = aligned_pair(view, operands[0], excessive)
        return excessive

    return marks


def float_to_integer(view: Op) -> MarkOpenElements | None:
    """`convert` of NaN, and of floats or real parts out of the range of the integer type."""
    if not isinstance(view, conversion.Convert):
        return None
    source, target = view.operand.plain_element_type, view.result.plain_element_type
    if not source.category & (FLOAT | COMPLEX) or not target.category & INTEGER:
        return None
    low, high = storage_range(target)
    dtype = element_types.carrier(element_types.real_type(source))
    lower, upper = dtype.type(low), dtype.type(high + 1)

    def marks(operands: Sequence[Array]) -> Array | None:
        truncated = np.trunc(operands[0].real.astype(dtype, copy=False))
        outside: Array = ~((truncated >= lower) & (truncated < upper))
        return outside

    return marks


INTEGER_ARITHMETIC: Final = (division_by_zero, division_overflow, shift_amount, float_to_integer)
"""All rules of this module."""
