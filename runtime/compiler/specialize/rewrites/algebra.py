"""Rewrites of elementwise operations that keep every bit: identities, and results that bounds determine.

Rewrites of floats keep NaN, infinities and -0: ``x + -0`` becomes ``x``, but ``x + 0`` does not, since -0 + 0
is 0; ``x - x`` and ``x * 0`` stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from ....program.ir import Operation, Value, plain_element_type, tensor_type
from ....program.ops.framework.declaration import Op
from ....program.ops.numerics.element_types import has_negative_zero
from ....types import BOOLEAN, FLOAT, INTEGER, SIGNED, storage_range
from ..framework.rewriter import Rewriter, defined_by, is_splat_of, splat

if TYPE_CHECKING:
    from ....program.ops.elementwise.comparison import Compare

_COMMUTED: Final = {"EQ": "EQ", "NE": "NE", "LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}
_REAL: Final = BOOLEAN | INTEGER | FLOAT


def _is_integer(value: Value) -> bool:
    return bool(tensor_type(value).category & (INTEGER | BOOLEAN))


def _is_all_ones(value: Value) -> bool:
    """Whether each bit of each element is set."""
    element = splat(value)
    if element is None or not _is_integer(value):
        return False
    return int(element) == (-1 if tensor_type(value).category == SIGNED else _max_value(value))


def _max_value(value: Value) -> int:
    element_type = plain_element_type(value)
    return 1 if element_type.category == BOOLEAN else storage_range(element_type)[1]


def _min_value(value: Value) -> int:
    element_type = plain_element_type(value)
    return 0 if element_type.category == BOOLEAN else storage_range(element_type)[0]


def _zero(value: Value, rewriter: Rewriter) -> Value:
    return rewriter.constant(tensor_type(value), 0)


def add_zero(operation: Operation, rewriter: Rewriter) -> Value | None:
    """x + 0 of integers, x + -0 of floats."""
    for value, other in (operation.operands, operation.operands[::-1]):
        if _is_integer(value) and is_splat_of(other, 0.0):
            return value
        if value.type.category == FLOAT and is_splat_of(other, -0.0):
            return value if has_negative_zero(plain_element_type(value)) else None
    return None


def subtract_zero(operation: Operation, rewriter: Rewriter) -> Value | None:
    """x - 0, and x - x of integers."""
    lhs, rhs = operation.operands
    if is_splat_of(rhs, 0.0):
        return lhs
    if lhs is rhs and tensor_type(lhs).category & INTEGER:
        return _zero(lhs, rewriter)
    return None


def multiply_by_one(operation: Operation, rewriter: Rewriter) -> Value | None:
    """x * 1, and x * 0 of integers."""
    for value, other in (operation.operands, operation.operands[::-1]):
        if tensor_type(value).category & _REAL and is_splat_of(other, 1.0):
            return value
        if _is_integer(value) and is_splat_of(other, 0.0):
            return other
    return None


def divide_by_one(operation: Operation, rewriter: Rewriter) -> Value | None:
    """x / 1."""
    lhs, rhs = operation.operands
    return lhs if tensor_type(lhs).category & _REAL and is_splat_of(rhs, 1.0) else None


def simplify_and_or(operation: Operation, rewriter: Rewriter) -> Value | None:
    """``and`` and ``or`` of a value with itself, with 0 and with all ones."""
    conjunction = operation.name == "stablehlo.and"
    for value, other in (operation.operands, operation.operands[::-1]):
        if value is other:
            return value
        if is_splat_of(other, 0.0):
            return other if conjunction else value
        if _is_all_ones(other):
            return value if conjunction else other
    return None


def simplify_min_max(operation: Operation, rewriter: Rewriter) -> Value | None:
    """``maximum`` and ``minimum`` whose operands are equal, a limit of the type, or in disjoint ranges."""
    largest = operation.name == "stablehlo.maximum"
    for value, other in (operation.operands, operation.operands[::-1]):
        if value is other:
            return value
        if tensor_type(value).category == FLOAT and is_splat_of(other, -np.inf if largest else np.inf):
            return value
        element = splat(other)
        if element is not None and _is_integer(other):
            if int(element) == (_min_value(other) if largest else _max_value(other)):
                return value
            if int(element) == (_max_value(other) if largest else _min_value(other)):
                return other
    return _extreme_in_range(operation, rewriter)


def _extreme_in_range(operation: Operation, rewriter: Rewriter) -> Value | None:
    """One operand, if the intervals of both show that the other is never the result."""
    lhs, rhs = operation.operands
    left, right = rewriter.interval(lhs), rewriter.interval(rhs)
    if left is None or right is None:
        return None
    if left[0] >= right[1]:
        return lhs if operation.name == "stablehlo.maximum" else rhs
    if right[0] >= left[1]:
        return rhs if operation.name == "stablehlo.maximum" else lhs
    return None


def select_by_constant(operation: Operation, rewriter: Rewriter) -> Value | None:
    """``select`` whose predicate is constant, or whose branches are the same."""
    pred, on_true, on_false = operation.operands
    if on_true is on_false:
        return on_true
    element = splat(pred)
    if element is not None:
        return on_true if element else on_false
    return None


def select_of_broadcast(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A broadcast predicate of ``select`` becomes the scalar that it repeats."""
    pred, on_true, on_false = operation.operands
    inner = defined_by(pred, "stablehlo.broadcast_in_dim")
    if inner is None or tensor_type(inner.operands[0]).rank or not tensor_type(pred).rank:
        return None
    return rewriter.create(operation.name, [inner.operands[0], on_true, on_false], operation.result.type)


def compare_by_range(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A comparison of integers whose intervals determine the outcome."""
    lhs, rhs = operation.operands
    if not _is_integer(lhs):
        return None
    direction = cast("Compare", Op.of(operation)).comparison_direction.value
    outcome: bool | None = direction in ("EQ", "LE", "GE") if lhs is rhs else None
    if outcome is None:
        left, right = rewriter.interval(lhs), rewriter.interval(rhs)
        if left is None or right is None:
            return None
        outcome = _outcome(direction, left, right)
    return None if outcome is None else rewriter.constant(tensor_type(operation.result), outcome)


def _outcome(direction: str, left: tuple[int, int], right: tuple[int, int]) -> bool | None:
    """The outcome of comparing any values of two intervals; None if it depends on the values."""
    if direction in ("GT", "GE"):
        return _outcome(_COMMUTED[direction], right, left)
    if direction == "NE":
        equal = _outcome("EQ", left, right)
        return None if equal is None else not equal
    if direction == "EQ":
        if left[0] == left[1] == right[0] == right[1]:
            return True
        return False if left[1] < right[0] or right[1] < left[0] else None
    if left[1] < right[0] or (direction == "LE" and left[1] <= right[0]):
        return True
    return False if left[0] > right[1] or (direction == "LT" and left[0] >= right[1]) else None


def compare_with_boolean_constant(operation: Operation, rewriter: Rewriter) -> Value | None:
    """p == true and p != false are p; p == false and p != true are ``not p``."""
    view = cast("Compare", Op.of(operation))
    for value, other in (operation.operands, operation.operands[::-1]):
        truth: Any = splat(other)
        if tensor_type(value).category != BOOLEAN or truth is None:
            continue
        if view.comparison_direction.value not in ("EQ", "NE"):
            return None
        if (view.comparison_direction.value == "EQ") == bool(truth):
            return value
        return rewriter.create("stablehlo.not", [value], value.type)
    return None
