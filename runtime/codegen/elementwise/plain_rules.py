"""Rules of elementwise operations whose code depends on the name and one element type alone.

Source: specification, section "Ops"; the definition of CHLO.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from llvmlite import ir

from ...types import COMPLEX, FLOAT, ElementType
from ..coverage import (
    COMPLEX64_FUNCTIONS,
    COMPLEX128_FUNCTIONS,
    COMPLEX_NUMBERS,
    FLOATS,
    INTEGERS,
    MATHEMATICS,
    PREDICATES,
    is_narrow_function,
)
from ..llvm.values import F32, F64, Value, rounded
from ..mathematics import FUNCTIONS, FUNCTIONS_OF_F64, NARROW_FUNCTIONS, Function
from . import complex64, complex128, floats, integers

Rule = Callable[[ir.IRBuilder, Sequence[Value]], Value]
"""The code of one operation, its types and attributes known."""

_KEEP_DIGITS: Final = frozenset(
    {"stablehlo.imag", "stablehlo.real", "chlo.conj"}
    | {f"stablehlo.{name}" for name in ("abs", "ceil", "floor", "maximum", "minimum", "negate", "sign")}
    | {"stablehlo.round_nearest_afz", "stablehlo.round_nearest_even"}
)
"""Of `FLOATS` those whose results need no more digits than operands have, and so no rounding."""


def plain_rule(name: str, type: ElementType) -> Rule:
    """The code of an operation that depends only on name and element type."""
    if type.category == COMPLEX:
        return _complex_rule(name, type)
    if type.category != FLOAT:
        on_integers = getattr(integers, INTEGERS[name][1])
        return lambda builder, operands: (on_integers(builder, type, *singles(operands)),)
    if name in PREDICATES:
        is_so = getattr(floats, PREDICATES[name])
        return lambda builder, operands: (is_so(builder, *singles(operands)),)
    if is_narrow_function(name, type):
        return _in_f32(name, type)
    if name in MATHEMATICS:
        return _in_f64((FUNCTIONS_OF_F64 if type.width == 64 else FUNCTIONS)[name], type)
    on_floats = getattr(floats, FLOATS[name])
    if name in _KEEP_DIGITS and type.name in ("bf16", "f16"):
        return lambda builder, operands: (on_floats(builder, *singles(operands)),)
    return lambda builder, operands: (
        rounded(builder, type, on_floats(builder, *singles(operands)), any_nan=False),
    )


def _complex_rule(name: str, type: ElementType) -> Rule:
    if name in COMPLEX_NUMBERS:
        function = getattr(floats, COMPLEX_NUMBERS[name])
    elif type.width == 64:
        function = getattr(complex64, COMPLEX64_FUNCTIONS[name])
    else:
        function = getattr(complex128, COMPLEX128_FUNCTIONS[name])
    return lambda builder, operands: function(builder, *operands)


def singles(operands: Sequence[Value]) -> list[ir.Value]:
    return [value for (value,) in operands]


def _in_f32(name: str, type: ElementType) -> Rule:
    """A function of a type whose values all differ in f32."""
    function = NARROW_FUNCTIONS[name]
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
