"""The code of elementwise operations: from an element of each operand to one of the result.

The bits are those of the operations' references. It is straight-line code throughout: LLVM's vectoriser turns
a loop around it into one on vectors.

Source: specification, section "Ops"; the definition of CHLO.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from llvmlite import ir

from ....program.ir import Operation
from ....program.ops.elementwise.comparison import Maximum, Minimum
from ....program.ops.framework.declaration import declaration_of
from ....program.ops.framework.emitters import Emit
from ....program.ops.numerics.result_accuracy import is_fast
from ....types import COMPLEX, FLOAT, SIGNED, ElementType
from ..llvm.values import F32, F64, Value, constant, rounded
from ..mathematics import Function, function_of
from . import conversion, floats, integers
from .emitted_operations import element_types, emits, narrow_function_of

Rule = Callable[[ir.IRBuilder, Sequence[Value]], Value]
"""The code of one operation, its types and attributes known."""


def emit(builder: ir.IRBuilder, operation: Operation, operands: Sequence[Value]) -> Value:
    """The element of the operation's result; `emits` must hold."""
    assert emits(operation), f"{operation.name} is not generated"
    return _rule(operation)(builder, operands)


def _rule(operation: Operation) -> Rule:
    """The rule of an operation, by its declaration."""
    types = element_types(operation)
    assert types is not None
    *operands, result = types
    emit = declaration_of(operation).emit
    if is_fast(operation, result):
        return _in_f32(function_of(emit.fast_function), result)
    if not emit.by_attributes:
        return _plain_rule(emit, operands[-1])
    return BY_ATTRIBUTES[emit.by_attributes](operation, operands, result)


def _plain_rule(emit: Emit, type: ElementType) -> Rule:
    """The code of an operation that depends only on name and element type."""
    if type.category == COMPLEX:
        return _complex_rule(emit, type)
    if type.category != FLOAT:
        on_integers = getattr(integers, emit.integers)
        return lambda builder, operands: (on_integers(builder, type, *_singles(operands)),)
    if emit.predicate:
        is_so = getattr(floats, emit.predicate)
        return lambda builder, operands: (is_so(builder, *_singles(operands)),)
    if narrow_function := narrow_function_of(emit, type):
        return _in_f32(function_of(narrow_function), type)
    if emit.function:
        return _in_f64(function_of(emit.f64_function if type.width == 64 else emit.function), type)
    on_floats = getattr(floats, emit.floats)
    if emit.keeps_digits and type.name in ("bf16", "f16"):
        return lambda builder, operands: (on_floats(builder, *_singles(operands)),)
    return lambda builder, operands: (
        rounded(builder, type, on_floats(builder, *_singles(operands)), any_nan=False),
    )


def _complex_rule(emit: Emit, type: ElementType) -> Rule:
    if emit.complex_numbers:
        function = getattr(floats, emit.complex_numbers)
    elif type.width == 64:
        from . import complex64  # here, as few programs have complex numbers

        function = getattr(complex64, emit.complex64)
    else:
        from . import complex128

        function = getattr(complex128, emit.complex128)
    return lambda builder, operands: function(builder, *operands)


def _singles(operands: Sequence[Value]) -> list[ir.Value]:
    return [value for (value,) in operands]


def _in_f32(function: Function, type: ElementType) -> Rule:
    """A function of a type whose values all differ in f32."""
    return lambda builder, operands: (
        rounded(builder, type, function(builder, *_singles(operands)), any_nan=False),
    )


def _in_f64(function: Function, type: ElementType) -> Rule:
    """A function that is computed in f64 and rounded, as ml_dtypes does it through f32 to its own types."""

    def rule(builder: ir.IRBuilder, operands: Sequence[Value]) -> Value:
        values = _singles(operands)
        wide = values if type.width == 64 else [builder.fpext(value, F64) for value in values]
        value = function(builder, *wide)
        if type.width < 32 and type.name != "f16":
            value = builder.fptrunc(value, F32)
        return (rounded(builder, type, value, any_nan=False),)

    return rule


def _select(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    def rule(builder: ir.IRBuilder, values: Sequence[Value]) -> Value:
        (pred,), on_true, on_false = values
        return tuple([builder.select(pred, a, b) for a, b in zip(on_true, on_false, strict=True)])

    return rule


def _clamp(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    greater, less = (_plain_rule(each.emit, result) for each in (Maximum, Minimum))
    return lambda builder, values: less(builder, [greater(builder, [values[1], values[0]]), values[2]])


_RELATIONS: Final = {"EQ": "==", "NE": "!=", "GE": ">=", "GT": ">", "LE": "<=", "LT": "<"}


def _compare(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    attributes: Any = operation.attributes
    relation = _RELATIONS[attributes["comparison_direction"].value]
    is_total = "compare_type" in attributes and attributes["compare_type"].value == "TOTALORDER"
    type = operands[0]

    def rule(builder: ir.IRBuilder, values: Sequence[Value]) -> Value:
        lhs, rhs = values
        if type.category == COMPLEX:
            return (floats.compare_complex(builder, relation, lhs, rhs),)
        if type.category == FLOAT and not is_total:
            return (floats.compare(builder, relation, lhs[0], rhs[0]),)
        if type.category == FLOAT:
            a, b = (floats.total_order(builder, type, value) for (value,) in values)
            return (builder.icmp_signed(relation, a, b),)
        icmp = builder.icmp_signed if type.category == SIGNED else builder.icmp_unsigned
        return (icmp(relation, lhs[0], rhs[0]),)

    return rule


def _convert(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    (source,) = operands
    return lambda builder, values: conversion.converted(builder, source, result, values[0])


def _bitcast_convert(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    (source,) = operands
    return lambda builder, values: conversion.recast(builder, source, result, values[0])


def _reduce_precision(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    attributes: Any = operation.attributes
    exponent, mantissa = (attributes[f"{field}_bits"].value for field in ("exponent", "mantissa"))
    return lambda builder, values: (
        conversion.with_precision(builder, result, exponent, mantissa, values[0][0]),
    )


def _next_after(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    return lambda builder, values: (conversion.neighbour(builder, result, *_singles(values)),)


def _complex_number(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    return lambda builder, values: (values[0][0], values[1][0])


def _constant_like(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    value: Any = operation.attributes["value"]
    return lambda builder, values: constant(result, value.value)


BY_ATTRIBUTES: Final[dict[str, Callable[[Operation, Sequence[ElementType], ElementType], Rule]]] = {
    "bitcast_convert": _bitcast_convert,
    "clamp": _clamp,
    "compare": _compare,
    "complex_number": _complex_number,
    "constant_like": _constant_like,
    "convert": _convert,
    "next_after": _next_after,
    "reduce_precision": _reduce_precision,
    "select": _select,
}
"""What depends on attributes or several element types, by the names that declarations state, the keys of
`emitted_operations.CONDITIONS`."""
