"""Rewrites of conversions between element types."""

from __future__ import annotations

from typing import Final

from ...ir import Operation, Value, plain_element_type
from ...types import BOOLEAN, FLOAT, INTEGER, SIGNED, UNSIGNED, ElementType
from ..utils.rewriter import Rewriter, defined_by

_PRECISION: Final = {"bf16": 8, "f16": 11, "f32": 24, "f64": 53}
"""Bits of the significand of the floating-point types whose conversions are joined."""

_EXPONENT: Final = {"bf16": 8, "f16": 5, "f32": 8, "f64": 11}


def identity_convert(operation: Operation, rewriter: Rewriter) -> Value | None:
    operand = operation.operands[0]
    return operand if operand.type == operation.result.type else None


def convert_twice(operation: Operation, rewriter: Rewriter) -> Value | None:
    """Two conversions, the first of which is exact, become one if it gives the same values."""
    inner = defined_by(operation.operands[0], "stablehlo.convert")
    if inner is None:
        return None
    source, middle, target = [
        plain_element_type(value) for value in (inner.operands[0], inner.result, operation.result)
    ]
    if not _keeps_values(source, middle) or not _converts_at_once(source, middle, target):
        return None
    return rewriter.create(operation.name, inner.operands, operation.result.type)


def _keeps_values(source: ElementType, target: ElementType) -> bool:
    if source.category == BOOLEAN:
        return bool(target.category & (BOOLEAN | INTEGER)) or target.name in _PRECISION
    if source.category & INTEGER:
        digits = source.width - (source.category == SIGNED)
        if target.category == UNSIGNED:
            return source.category == UNSIGNED and source.width <= target.width
        if target.category == SIGNED:
            return digits <= target.width - 1
        return digits <= _PRECISION.get(target.name, 0)
    if source.name not in _PRECISION or target.name not in _PRECISION:
        return False
    return (
        _PRECISION[source.name] <= _PRECISION[target.name]
        and _EXPONENT[source.name] <= _EXPONENT[target.name]
    )


def _converts_at_once(source: ElementType, middle: ElementType, target: ElementType) -> bool:
    """Whether converting directly gives the same values as converting to `middle` first.

    Floats are only converted directly to floats: values beyond an integer type's range depend on `middle`.
    """
    if source.category == BOOLEAN or target == source:
        return True
    if source.category == FLOAT:
        return target.name in _PRECISION
    if middle.category & INTEGER:
        return bool(target.category & (INTEGER | BOOLEAN)) or target.name in _PRECISION
    return target.name in _PRECISION
