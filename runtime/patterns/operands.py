"""Operands of functions of traced values, converted to one tape, one element type and one shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..types import ElementType, element_type_of
from . import operations as ops
from .arrays import array_of
from .element_types import is_number
from .failures import violation_error
from .tape import Shape, Tape, Value, active_tape


def as_traced(operands: Sequence[object], pattern: str) -> tuple[Tape, list[Any]]:
    """The tape of operands, and each operand as a value on it; Python's numbers are returned unchanged.

    Raises:
        VerifyError: they are on different tapes, or an operand is not an array.
    """
    tape = next((operand.tape for operand in operands if isinstance(operand, Value)), active_tape())
    if tape is None:
        raise violation_error(
            pattern, "has no traced operand: it must be called in a function that a pattern traces"
        )
    return tape, [to_traced(tape, operand, pattern) for operand in operands]


def to_traced(tape: Tape, operand: object, pattern: str) -> Any:
    """An operand as a value on a tape; a Python number as it is.

    Arrays are captured: the same object is captured once. Lists are captured at each use, because they may
    change.
    """
    if isinstance(operand, Value):
        tape.check(operand, pattern)
        return operand
    if is_number(operand):
        return operand
    array = array_of(operand, "an operand", pattern)
    if isinstance(operand, np.generic):
        return ops.filled(tape, array, (), element_type_of(array.dtype))
    return tape.capture(array if isinstance(operand, (list, tuple)) else operand, array)


def value_of(tape: Tape, operand: object, pattern: str) -> Value:
    """An operand as a value on a tape; a Python number as a constant of NumPy's type for it."""
    value = to_traced(tape, operand, pattern)
    if isinstance(value, Value):
        return value
    array = array_of(value, "an operand", pattern)
    return ops.filled(tape, array, (), element_type_of(array.dtype))


def shape_of(value: object) -> Shape:
    """The shape of a value; a Python number has none."""
    return value.shape if isinstance(value, Value) else ()


def cast_and_broadcast(
    tape: Tape, value: Any, shape: Shape, element_type: ElementType, pattern: str
) -> Value:
    """A value or Python number in another element type, broadcast."""
    if isinstance(value, Value):
        return ops.broadcast_to(ops.convert(value, element_type), shape)
    return ops.constant(tape, value, shape, element_type, pattern)
