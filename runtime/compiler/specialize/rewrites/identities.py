"""Recognizes operations that change nothing once sizes are known."""

from __future__ import annotations

from typing import Final

from ....program.ir import Operation, Value
from ....program.ops.framework.declaration import Op
from ....program.ops.framework.rules import call_target, constant_operand
from ..framework.rewriter import Rewriter

_IDENTITY_IF_SAME_TYPE: Final = frozenset(
    {"stablehlo.convert", "stablehlo.reshape", "stablehlo.slice", "tensor.cast", "arith.index_cast"}
)
"""Operations that return their operand if both have the same type."""


def identity_operand(operation: Operation) -> Value | None:
    """The operand that an operation returns unchanged; None if it changes or has none."""
    if operation.name not in _IDENTITY_IF_SAME_TYPE:
        return None
    if len(operation.operands) != 1 or len(operation.results) != 1:
        return None
    (operand,) = operation.operands
    return operand if operand.type == operation.result.type else None


def identity(operation: Operation, rewriter: Rewriter) -> Value | None:
    """The operand of an operation that returns it unchanged."""
    return identity_operand(operation)


def asserted_condition(operation: Operation) -> bool | None:
    """The condition of a ``shape_assertion`` whose operands are known; None for any other operation."""
    if call_target(operation) != "shape_assertion":
        return None
    values = [constant_operand(operation, position) for position in range(len(operation.operands))]
    if not values or any(value is None for value in values):
        return None
    return bool(values[0])


def raise_failed_assertion(operation: Operation) -> None:
    """Raise the error of a ``shape_assertion`` whose condition is false.

    Raises:
        ExecutionError: its message.
    """
    values = [constant_operand(operation, position) for position in range(len(operation.operands))]
    Op.of(operation).reference(*values)
