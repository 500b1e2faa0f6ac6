"""Rules of elementwise operations whose code depends on the name and one element type alone.

Source: specification, section "Ops"; the definition of CHLO.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from ....program.ops.framework.emitters import Emit
from ....types import COMPLEX, FLOAT, ElementType
from ..llvm.values import F32, F64, Value, rounded
from ..mathematics import Function, function_of
from . import complex64, complex128, floats, integers
from .emitted_operations import is_narrow_function

Rule = Callable[[ir.IRBuilder, Sequence[Value]], Value]
"""The code of one operation, its types and attributes known."""

def plain_rule(emit: Emit, type: ElementType) -> Rule:
    """The code of an operation that depends only on name and element type."""
    if type.category == COMPLEX:
        return _complex_rule(emit, type)
    if type.category != FLOAT:
        on_integers = getattr(integers, emit.integers)
        return lambda builder, operands: (on_integers(builder, type, *singles(operands)),)
    if emit.predicate:
        is_so = getattr(floats, emit.predicate)
        return lambda builder, operands: (is_so(builder, *singles(operands)),)
    if is_narrow_function(emit, type):
        return _in_f32(function_of(emit.narrow_function), type)
    if emit.function:
        return _in_f64(function_of(emit.f64_function if type.width == 64 else emit.function), type)
    on_floats = getattr(floats, emit.floats)
    if emit.keeps_digits and type.name in ("bf16", "f16"):
        return lambda builder, operands: (on_floats(builder, *singles(operands)),)
    return lambda builder, operands: (
        rounded(builder, type, on_floats(builder, *singles(operands)), any_nan=False),
    )


def _complex_rule(emit: Emit, type: ElementType) -> Rule:
    if emit.complex_numbers:
        function = getattr(floats, emit.complex_numbers)
    elif type.width == 64:
        function = getattr(complex64, emit.complex64)
    else:
        function = getattr(complex128, emit.complex128)
    return lambda builder, operands: function(builder, *operands)


def singles(operands: Sequence[Value]) -> list[ir.Value]:
    return [value for (value,) in operands]


def _in_f32(function: Function, type: ElementType) -> Rule:
    """A function of a type whose values all differ in f32."""
    return lambda builder, operands: (
        rounded(builder, type, function(builder, *singles(operands)), any_nan=False),
    )


def _in_f64(function: Function, type: ElementType) -> Rule:
    """A function that is computed in f64 and rounded, as ml_dtypes does it through f32 to its own types."""

    def rule(builder: ir.IRBuilder, operands: Sequence[Value]) -> Value:
        values = singles(operands)
        wide = values if type.width == 64 else [builder.fpext(value, F64) for value in values]
        value = function(builder, *wide)
        if type.width < 32 and type.name != "f16":
            value = builder.fptrunc(value, F32)
        return (rounded(builder, type, value, any_nan=False),)

    return rule
