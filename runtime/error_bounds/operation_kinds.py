"""The operations that round, and those that are rounded correctly."""

from __future__ import annotations

from typing import Any, Final

from ..ir import Operation
from ..types import COMPLEX, ElementType, TensorType

_CORRECTLY_ROUNDED: Final = frozenset({"add", "subtract", "multiply", "divide", "sqrt", "convert", "square"})
_EXACT_NAMES: Final = """
abs bitcast_convert broadcast broadcast_in_dim case ceil clamp complex concatenate conj constant constant_like
dynamic_broadcast_in_dim dynamic_gather dynamic_iota dynamic_pad dynamic_reshape dynamic_slice
dynamic_update_slice floor gather get_tuple_element if imag iota maximum minimum negate next_after
optimization_barrier pad real real_dynamic_slice reduce_precision remainder reshape reverse round_nearest_afz
round_nearest_even select sign slice sort top_k torch_index_select transpose tuple while
"""
_EXACT: Final = frozenset(_EXACT_NAMES.split())


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
    return base_name(operation) in ("abs", "sign") and bool(category(operation.operands[0]) & COMPLEX)


def is_exact(operation: Operation) -> bool:
    """Whether an operation moves or compares values, or rounds them to integers, without rounding errors."""
    return base_name(operation) in _EXACT and not is_modulus(operation)


def is_correctly_rounded(operation: Operation) -> bool:
    """Whether a result has only one correct value, although the operation rounds (IEEE 754, section 4.3)."""
    if base_name(operation) not in _CORRECTLY_ROUNDED or operation.name == "chlo.scan":
        return False
    if base_name(operation) in ("add", "subtract"):
        return True
    return not any(category(value) & COMPLEX for value in operation.operands)
