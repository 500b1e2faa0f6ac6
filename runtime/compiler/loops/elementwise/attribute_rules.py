"""Rules of elementwise operations whose code depends on attributes or several element types.

Each takes the operation, the element types of its operands, and that of its result.

Source: specification, section "Ops"; the definition of CHLO.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from llvmlite import ir

from ....program.ir import Operation
from ....program.ops.elementwise.comparison import Maximum, Minimum
from ....types import COMPLEX, FLOAT, SIGNED, ElementType
from ..llvm.values import Value, constant
from . import conversion, floats
from .plain_rules import Rule, plain_rule, singles


def select(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    def rule(builder: ir.IRBuilder, values: Sequence[Value]) -> Value:
        (pred,), on_true, on_false = values
        return tuple([builder.select(pred, a, b) for a, b in zip(on_true, on_false, strict=True)])

    return rule


def clamp(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    greater, less = (plain_rule(each.emit, result) for each in (Maximum, Minimum))
    return lambda builder, values: less(builder, [greater(builder, [values[1], values[0]]), values[2]])


_RELATIONS: Final = {"EQ": "==", "NE": "!=", "GE": ">=", "GT": ">", "LE": "<=", "LT": "<"}


def compare(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
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


def convert(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    (source,) = operands
    return lambda builder, values: conversion.converted(builder, source, result, values[0])


def bitcast_convert(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    (source,) = operands
    return lambda builder, values: conversion.recast(builder, source, result, values[0])


def reduce_precision(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    attributes: Any = operation.attributes
    exponent, mantissa = (attributes[f"{field}_bits"].value for field in ("exponent", "mantissa"))
    return lambda builder, values: (
        conversion.with_precision(builder, result, exponent, mantissa, values[0][0]),
    )


def next_after(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    return lambda builder, values: (conversion.neighbour(builder, result, *singles(values)),)


def complex_number(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    return lambda builder, values: (values[0][0], values[1][0])


def constant_like(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    value: Any = operation.attributes["value"]
    return lambda builder, values: constant(result, value.value)
