"""The code of elementwise operations: from an element of each operand to one of the result.

The bits are those of the operations' references. It is straight-line code throughout: LLVM's vectoriser turns
a loop around it into one on vectors.

Source: specification, section "Ops"; the definition of CHLO.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from llvmlite import ir

from ...ir import Operation
from ...ir import Value as IrValue
from ...types import COMPLEX, FLOAT, SIGNED, ElementType
from ..coverage import (
    COMPLEX64_FUNCTIONS,
    COMPLEX128_FUNCTIONS,
    COMPLEX_NUMBERS,
    FLOATS,
    INTEGERS,
    MATHEMATICS,
    PREDICATES,
    element_types,
    emits,
)
from ..llvm.float_formats import FORMATS
from ..llvm.values import F32, F64, Value, bits_of, constant, integer, is_nan, rounded
from ..mathematics import FUNCTIONS, FUNCTIONS_OF_F64, MAX_NARROW_SIGNIFICANT_BITS, NARROW_FUNCTIONS, Function
from . import complex64, complex128, conversion, floats, integers

Rule = Callable[[ir.IRBuilder, Sequence[Value]], Value]
"""The code of one operation, its types and attributes known."""

_KEEP_DIGITS: Final = frozenset(
    {"stablehlo.imag", "stablehlo.real", "chlo.conj"}
    | {f"stablehlo.{name}" for name in ("abs", "ceil", "floor", "maximum", "minimum", "negate", "sign")}
    | {"stablehlo.round_nearest_afz", "stablehlo.round_nearest_even"}
)
"""Of `FLOATS` those whose results need no more digits than operands have, and so no rounding."""


_CHAIN, _FUNCTION, _LONG_FUNCTION = 16, 40, 44
"""Work, as a multiple of that of a sum: of the shortest chain that is worth interleaving, of a function that
takes less time than memory accesses, and of a function that takes more."""
_LONG_FUNCTIONS = frozenset({"chlo.digamma", "chlo.erf_inv", "chlo.lgamma", "chlo.sinh", "chlo.tan"}) | {
    f"stablehlo.{name}" for name in ("atan2", "cbrt", "cosine", "power", "sine", "tan")
}
_WORK: Final = (
    dict.fromkeys(MATHEMATICS, _FUNCTION)
    | dict.fromkeys(_LONG_FUNCTIONS, _LONG_FUNCTION)
    | {"stablehlo.rsqrt": _CHAIN}
)
_INTERLEAVE_COUNT, _INTERLEAVE_COUNT_IN_F32, _INTERLEAVE_COUNT_OF_SPILLING = 4, 8, 2
_SPILLING_FUNCTIONS = frozenset({"chlo.atanh", "stablehlo.log", "stablehlo.log_plus_one"})
_MAX_WORK_OF_SPILLING = 45
"""Four vectors of these functions do not fit 32 registers: two take 6 to 17 % less time (Zen 4) up to this
work, as the processor looks ahead as far as the next two. In longer chains four take less time."""
_MAX_LIVE_RESULTS = 2
"""Results of a chain that are live at once where eight vectors of it, with operands and constants, fit 32
registers. Random bits by Threefry have three: eight vectors take up to 1.5 times as long as four (Zen 4)."""


def is_long(operations: Sequence[Operation]) -> bool:
    """Whether the operations take longer than the memory accesses of an element."""
    return _work(operations) >= _LONG_FUNCTION


def interleave_count(operations: Sequence[Operation]) -> int:
    """The number of vectors of elements that a loop should interleave; 0 where LLVM may choose.

    In a long chain of dependent instructions, the next element's instructions lie beyond the processor's
    reorder window, so they must be interleaved in the code. Chains in f32 are shorter. Too many live vectors
    would be spilled.
    """
    work = _work(operations)
    if work < _CHAIN:
        return 0
    if work >= _FUNCTION and _is_in_f32(operations) and _live_results(operations) <= _MAX_LIVE_RESULTS:
        return _INTERLEAVE_COUNT_IN_F32
    spills = any(operation.name in _SPILLING_FUNCTIONS for operation in operations)
    return _INTERLEAVE_COUNT_OF_SPILLING if spills and work <= _MAX_WORK_OF_SPILLING else _INTERLEAVE_COUNT


def _live_results(operations: Sequence[Operation]) -> int:
    """The maximum number of these results that are live at once."""
    last_use = {
        operand: number for number, operation in enumerate(operations) for operand in operation.operands
    }
    live: set[IrValue] = set()
    max_live = 0
    for number, operation in enumerate(operations):
        if operation.name == "stablehlo.constant":
            continue
        live -= {operand for operand in operation.operands if last_use[operand] == number}
        live |= {result for result in operation.results if result in last_use}
        max_live = max(max_live, len(live))
    return max_live


def _work(operations: Sequence[Operation]) -> int:
    return sum([_WORK.get(operation.name, 1) for operation in operations])


def _is_in_f32(operations: Sequence[Operation]) -> bool:
    """Whether no function among these is computed in f64."""
    return not any(
        operation.name in MATHEMATICS
        and not _is_narrow_function(operation.name, _type_of(operation))
        for operation in operations
    )


def _type_of(operation: Operation) -> ElementType:
    types = element_types(operation)
    assert types is not None
    return types[-1]


def emit(builder: ir.IRBuilder, operation: Operation, operands: Sequence[Value]) -> Value:
    """The element of the operation's result; `coverage.emits` must hold."""
    assert emits(operation), f"{operation.name} is not generated"
    return _rule(operation)(builder, operands)


def _rule(operation: Operation) -> Rule:
    types = element_types(operation)
    assert types is not None
    *operands, result = types
    special = _WITH_ATTRIBUTES.get(operation.name)
    if special is not None:
        return special(operation, operands, result)
    return _plain_rule(operation.name, operands[-1])


def _plain_rule(name: str, type: ElementType) -> Rule:
    """The code of an operation that depends only on name and element type."""
    if type.category == COMPLEX:
        return _complex_rule(name, type)
    if type.category != FLOAT:
        on_integers = getattr(integers, INTEGERS[name][1])
        return lambda builder, operands: (on_integers(builder, type, *_singles(operands)),)
    if name in PREDICATES:
        is_so = getattr(floats, PREDICATES[name])
        return lambda builder, operands: (is_so(builder, *_singles(operands)),)
    if _is_narrow_function(name, type):
        return _in_f32(name, type)
    if name in MATHEMATICS:
        return _in_f64((FUNCTIONS_OF_F64 if type.width == 64 else FUNCTIONS)[name], type)
    on_floats = getattr(floats, FLOATS[name])
    if name in _KEEP_DIGITS and type.name in ("bf16", "f16"):
        return lambda builder, operands: (on_floats(builder, *_singles(operands)),)
    return lambda builder, operands: (
        rounded(builder, type, on_floats(builder, *_singles(operands)), any_nan=False),
    )


def _complex_rule(name: str, type: ElementType) -> Rule:
    if name in COMPLEX_NUMBERS:
        function = getattr(floats, COMPLEX_NUMBERS[name])
    elif type.width == 64:
        function = getattr(complex64, COMPLEX64_FUNCTIONS[name])
    else:
        function = getattr(complex128, COMPLEX128_FUNCTIONS[name])
    return lambda builder, operands: function(builder, *operands)


def _singles(operands: Sequence[Value]) -> list[ir.Value]:
    return [value for (value,) in operands]


def _is_narrow_function(name: str, type: ElementType) -> bool:
    """Whether a function of floats is computed in f32."""
    return name in NARROW_FUNCTIONS and _significant_bits(type) <= MAX_NARROW_SIGNIFICANT_BITS


def _significant_bits(type: ElementType) -> int:
    """Bits of a float's significand, the one that is not stored included."""
    if type.name in FORMATS:
        return FORMATS[type.name].mantissa_bits + 1
    return {"bf16": 8, "f8E8M0FNU": 1}.get(type.name, 24)


def _in_f32(name: str, type: ElementType) -> Rule:
    """A function of a type whose values all differ in f32."""
    function = NARROW_FUNCTIONS[name]
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
    greater, less = (_plain_rule(f"stablehlo.{name}", result) for name in ("maximum", "minimum"))
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
            a, b = (total_order(builder, type, value) for (value,) in values)
            return (builder.icmp_signed(relation, a, b),)
        compare = builder.icmp_signed if type.category == SIGNED else builder.icmp_unsigned
        return (compare(relation, lhs[0], rhs[0]),)

    return rule


def total_order(builder: ir.IRBuilder, type: ElementType, value: ir.Value) -> ir.Value:
    """An integer for a float, whose order is IEEE-754's totalOrder of the floats."""
    bits = bits_of(builder, value)
    if type.name in FORMATS and FORMATS[type.name].specials != "infinities":
        # As f32 such types have one NaN of each sign.
        quiet = builder.or_(builder.and_(bits, integer(bits.type, 1 << 31)), integer(bits.type, 0x7FC00000))
        bits = builder.select(is_nan(builder, value), quiet, bits)
    negative = builder.ashr(bits, integer(bits.type, bits.type.width - 1))
    return builder.xor(bits, builder.and_(negative, integer(bits.type, (1 << (bits.type.width - 1)) - 1)))


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


def _complex(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    return lambda builder, values: (values[0][0], values[1][0])


def _constant_like(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> Rule:
    value: Any = operation.attributes["value"]
    return lambda builder, values: constant(result, value.value)


_WITH_ATTRIBUTES: Final[dict[str, Callable[..., Rule]]] = {
    "stablehlo.bitcast_convert": _bitcast_convert,
    "stablehlo.clamp": _clamp,
    "stablehlo.compare": _compare,
    "stablehlo.complex": _complex,
    "stablehlo.convert": _convert,
    "stablehlo.reduce_precision": _reduce_precision,
    "stablehlo.select": _select,
    "chlo.constant_like": _constant_like,
    "chlo.next_after": _next_after,
}
"""Operations whose code depends on more than the name and one element type."""
