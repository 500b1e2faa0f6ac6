"""Elementwise operations on the bits of booleans and integers.

Source: specification, section "Ops".
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ....types import BOOLEAN, ELEMENT_TYPES, INTEGER, Array, ElementType
from ..framework import costs
from ..framework.declaration import Operand, Result
from ..framework.emitters import Emit
from ..numerics import element_types
from ..numerics.element_types import ArrayFunction
from .base import Binary, Unary


class Logical(Binary):
    """Base of binary operations on booleans and bits."""

    cost = costs.INSTRUCTION

    lhs = Operand(BOOLEAN | INTEGER)
    rhs = Operand(BOOLEAN | INTEGER)
    result = Result(BOOLEAN | INTEGER)


class And(Logical, name="stablehlo.and", functions={BOOLEAN | INTEGER: np.bitwise_and}):
    """Bitwise AND."""

    emit = Emit(integers="bitwise_and", integer_types=BOOLEAN | INTEGER)
    interval = "and"
    any_order_on = BOOLEAN | INTEGER


class CountLeadingZeros(Unary, name="stablehlo.count_leading_zeros"):
    """The number of leading zero bits."""

    cost = costs.Cost(costs.EXPENSIVE_COST, numpy_calls=9)
    emit = Emit(integers="count_leading_zeros")

    operand = Operand(INTEGER)
    result = Result(INTEGER)

    @classmethod
    @functools.cache
    def function_of(cls, element_type: ElementType) -> ArrayFunction:
        to_bits, from_bits = element_types.unsigned_bits(element_type)

        def count(operand: Array) -> Any:
            bits = to_bits(operand)
            distance = 1
            while distance < element_type.width:
                bits = bits | (bits >> bits.dtype.type(distance))
                distance *= 2
            return from_bits((element_type.width - np.bitwise_count(bits)).astype(bits.dtype))

        return count


class Not(Unary, name="stablehlo.not", functions={BOOLEAN | INTEGER: np.invert}):
    """Bitwise NOT."""

    cost = costs.INSTRUCTION
    emit = Emit(integers="bitwise_not", integer_types=BOOLEAN | INTEGER)

    operand = Operand(BOOLEAN | INTEGER)
    result = Result(BOOLEAN | INTEGER)


class Or(Logical, name="stablehlo.or", functions={BOOLEAN | INTEGER: np.bitwise_or}):
    """Bitwise OR."""

    emit = Emit(integers="bitwise_or", integer_types=BOOLEAN | INTEGER)
    any_order_on = BOOLEAN | INTEGER


class Popcnt(Unary, name="stablehlo.popcnt"):
    """The number of set bits."""

    emit = Emit(integers="count_bits")

    operand = Operand(INTEGER)
    result = Result(INTEGER)

    @classmethod
    @functools.cache
    def function_of(cls, element_type: ElementType) -> ArrayFunction:
        to_bits, from_bits = element_types.unsigned_bits(element_type)

        def count(operand: Array) -> Any:
            bits = to_bits(operand)
            return from_bits(np.bitwise_count(bits).astype(bits.dtype))

        return count


class Shift(Binary):
    """Base of shifts: the amount is unsigned, and nothing is left after the type's width."""

    lhs = Operand(INTEGER)
    rhs = Operand(INTEGER)
    result = Result(INTEGER)


class ShiftLeft(Shift, name="stablehlo.shift_left"):
    """lhs with its bits moved up by rhs; zeros follow."""

    emit = Emit(integers="shift_left")

    @classmethod
    @functools.cache
    def function_of(cls, element_type: ElementType) -> ArrayFunction:
        return _shift(element_type, np.left_shift)


class ShiftRightLogical(Shift, name="stablehlo.shift_right_logical"):
    """lhs with its bits moved down by rhs; zeros follow."""

    emit = Emit(integers="shift_right_logical")
    interval = "shift_right"

    @classmethod
    @functools.cache
    def function_of(cls, element_type: ElementType) -> ArrayFunction:
        return _shift(element_type, np.right_shift)


class ShiftRightArithmetic(Shift, name="stablehlo.shift_right_arithmetic"):
    """lhs with its bits moved down by rhs; copies of its highest bit follow."""

    emit = Emit(integers="shift_right_arithmetic")
    interval = "shift_right"

    @classmethod
    @functools.cache
    def function_of(cls, element_type: ElementType) -> ArrayFunction:
        to_bits, _ = element_types.unsigned_bits(element_type)
        signed = ELEMENT_TYPES[f"i{element_type.width}"]
        to_signed, from_signed = (
            element_types.converter(element_type, signed),
            element_types.converter(signed, element_type),
        )
        dtype = element_types.carrier(signed)

        def shift(lhs: Array, rhs: Array) -> Any:
            amount = np.minimum(to_bits(rhs), element_type.width - 1).astype(dtype)
            return from_signed((to_signed(lhs).astype(dtype) >> amount).astype(signed.dtype))

        return shift


def _shift(element_type: ElementType, move: Callable[[Array, Array], Array]) -> ArrayFunction:
    """A shift on the unsigned bits of `element_type`; NumPy returns zero for amounts beyond its own widths.
    """
    to_bits, from_bits = element_types.unsigned_bits(element_type)
    return lambda lhs, rhs: from_bits(move(to_bits(lhs), to_bits(rhs)))


class Xor(Logical, name="stablehlo.xor", functions={BOOLEAN | INTEGER: np.bitwise_xor}):
    """Bitwise XOR."""

    emit = Emit(integers="bitwise_xor", integer_types=BOOLEAN | INTEGER)
    any_order_on = BOOLEAN | INTEGER
