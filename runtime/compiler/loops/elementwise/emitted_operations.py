"""Whether there is code for an elementwise operation, by what its declaration says of emitters.

This is asked before any code is generated, so this module does not import LLVM.

Source: specification, section "Ops"; the definition of CHLO.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ....program.ir import BoolAttribute, EnumAttribute, FloatAttribute, IntegerAttribute, Operation
from ....program.ops.framework.declaration import declaration_of
from ....program.ops.framework.emitters import Emit
from ....program.ops.numerics.result_accuracy import is_fast
from ....types import COMPLEX, ElementType, TensorType

MAX_NARROW_SIGNIFICANT_BITS: Final = 8
"""Bits of the significand up to which a function of floats is computed in f32."""


def emits(operation: Operation) -> bool:
    """Whether there is code for an operation, by its name, element types and attributes."""
    types = element_types(operation)
    if types is None:
        return False
    *operands, result = types
    emit = declaration_of(operation).emit
    if not emit.by_attributes:
        return emit.covers(operands[-1])
    return CONDITIONS[emit.by_attributes](operation, operands, result)


def element_types(operation: Operation) -> list[ElementType] | None:
    """The element types of the operands, and of the one result; None if there are others."""
    if len(operation.results) != 1 or not operation.operands:
        return None
    types = [value.type for value in (*operation.operands, *operation.results)]
    elements = [
        type.element_type
        for type in types
        if isinstance(type, TensorType) and isinstance(type.element_type, ElementType)
    ]
    return elements if len(elements) == len(types) else None


def narrow_function_of(emit: Emit, type: ElementType) -> str:
    """The name of the function of floats narrower than f32 that is computed in f32; "" if there is none."""
    if type.name == "f16":
        return emit.half_function
    return emit.narrow_function if _significant_bits(type) <= MAX_NARROW_SIGNIFICANT_BITS else ""


def is_function_in_f32(operation: Operation, type: ElementType) -> bool:
    """Whether an operation's function of floats is computed in f32."""
    return is_fast(operation, type) or bool(narrow_function_of(declaration_of(operation).emit, type))


def _significant_bits(type: ElementType) -> int:
    """Bits of a float's significand, the one that is not stored included."""
    from ..llvm.float_formats import FORMATS

    if type.name in FORMATS:
        return FORMATS[type.name].mantissa_bits + 1
    return {"bf16": 8, "f8E8M0FNU": 1}.get(type.name, 24)


def _always(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> bool:
    return True


def _clamp(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> bool:
    from ....program.ops.elementwise.comparison import Maximum, Minimum

    return all(each.emit.covers(result) for each in (Maximum, Minimum))


def _compare(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> bool:
    return isinstance(operation.attributes.get("comparison_direction"), EnumAttribute)


def _bitcast_convert(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> bool:
    """Each element is reinterpreted as exactly one element."""
    (source,) = operands
    return source.width == result.width and (source.category == COMPLEX) == (result.category == COMPLEX)


def _reduce_precision(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> bool:
    bits = [operation.attributes.get(f"{field}_bits") for field in ("exponent", "mantissa")]
    return all(isinstance(attribute, IntegerAttribute) for attribute in bits)


def _next_after(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> bool:
    from ..llvm.float_formats import has_ordered_bit_patterns

    return has_ordered_bit_patterns(result)


def _constant_like(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> bool:
    return isinstance(operation.attributes.get("value"), (BoolAttribute, FloatAttribute, IntegerAttribute))


CONDITIONS: Final[dict[str, Callable[[Operation, Sequence[ElementType], ElementType], bool]]] = {
    "bitcast_convert": _bitcast_convert,
    "clamp": _clamp,
    "compare": _compare,
    "complex_number": _always,
    "constant_like": _constant_like,
    "convert": _always,
    "next_after": _next_after,
    "reduce_precision": _reduce_precision,
    "select": _always,
}
"""Whether each rule of `rules.BY_ATTRIBUTES` serves an operation; both tables have the same keys."""
