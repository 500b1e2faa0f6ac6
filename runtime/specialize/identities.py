"""Operations that change nothing once sizes are known: they become their operand, or go."""

from __future__ import annotations

from typing import Final

from ..ir import Operation, StringAttribute, Value
from ..ops.rules import constant_operand

_SAME_ELEMENTS: Final = frozenset(
    {"stablehlo.convert", "stablehlo.reshape", "tensor.cast", "arith.index_cast"}
)
"""Operations whose result is their operand where both have the same type."""


def operand_that_is_result(operation: Operation) -> Value | None:
    """The operand that an operation returns as it is, or None."""
    if operation.name not in _SAME_ELEMENTS or len(operation.operands) != 1 or len(operation.results) != 1:
        return None
    (operand,) = operation.operands
    return operand if operand.type == operation.result.type else None


def is_assertion_that_holds(operation: Operation) -> bool:
    """Whether an operation is a ``shape_assertion`` whose condition is known, and true."""
    if operation.name != "stablehlo.custom_call":
        return False
    target = operation.attributes.get("call_target_name")
    if not isinstance(target, StringAttribute) or target.value != "shape_assertion":
        return False
    condition = constant_operand(operation, 0)
    return condition is not None and bool(condition)
