"""The operations that round, and those that are rounded correctly."""

from __future__ import annotations

from typing import Any

from ...program.ir import Operation
from ...program.ops.framework.accuracy import Rounding
from ...program.ops.framework.declaration import declaration_of
from ...types import COMPLEX, ElementType, TensorType


def base_name(operation: Operation) -> str:
    """The name without dialect, and without ``broadcast_`` for CHLO's broadcasting operations."""
    dialect, _, name = operation.name.partition(".")
    if dialect == "chlo" and name.startswith("broadcast_"):
        return name.removeprefix("broadcast_")
    return name


def category(value: Any) -> int:
    """The category of a value's element type; 0 if it is not a tensor, or quantized."""
    type = value.type
    return (
        int(type.category)
        if isinstance(type, TensorType) and isinstance(type.element_type, ElementType)
        else 0
    )


def is_modulus(operation: Operation) -> bool:
    """Whether an operation takes the modulus of complex numbers, which rounds."""
    return declaration_of(operation).takes_modulus and bool(category(operation.operands[0]) & COMPLEX)


def is_exact(operation: Operation) -> bool:
    """Whether an operation moves or compares values, or rounds them to integers, without rounding errors."""
    return declaration_of(operation).rounding is Rounding.EXACT and not is_modulus(operation)


def is_correctly_rounded(operation: Operation) -> bool:
    """Whether a result has only one correct value, although the operation rounds (IEEE 754, section 4.3)."""
    rounding = declaration_of(operation).rounding
    if rounding is Rounding.CORRECT_IF_REAL:
        return not any(category(value) & COMPLEX for value in operation.operands)
    return rounding is Rounding.CORRECT
