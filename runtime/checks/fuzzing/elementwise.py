"""Random elementwise operations, conversions among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ...program.ir import FloatAttribute, IntegerAttribute
from ...program.ops import Op, declarations, lookup
from ...program.ops.chlo.broadcast import BroadcastBinary
from ...program.ops.elementwise.base import Elementwise
from ...program.ops.elementwise.comparison import ComparisonDirection, ComparisonType
from ...types import (
    BOOLEAN,
    COMPLEX,
    ELEMENT_TYPES,
    FLOAT,
    INTEGER,
    PLAIN,
    QUANTIZED,
    SIGNED,
    ElementType,
    TensorType,
)
from .generator import CannotGenerate, Generator, Producers
from .tensor_values import TensorValue as Value

_BOOLEAN_TYPE = ELEMENT_TYPES["i1"]
_WIDTHS: dict[int, list[ElementType]] = {}
for _element_type in ELEMENT_TYPES.values():
    _WIDTHS.setdefault(_element_type.width, []).append(_element_type)

EXACT_UNARY = {
    "abs": SIGNED | FLOAT,
    "ceil": FLOAT,
    "floor": FLOAT,
    "negate": INTEGER | FLOAT | COMPLEX,
    "not": BOOLEAN | INTEGER,
    "popcnt": INTEGER,
    "count_leading_zeros": INTEGER,
    "round_nearest_even": FLOAT,
    "round_nearest_afz": FLOAT,
    "sign": SIGNED | FLOAT,
}
EXACT_BINARY = {
    "add": BOOLEAN | INTEGER | FLOAT | COMPLEX,
    "subtract": INTEGER | FLOAT | COMPLEX,
    "multiply": BOOLEAN | INTEGER | FLOAT,
    "maximum": BOOLEAN | INTEGER | FLOAT,
    "minimum": BOOLEAN | INTEGER | FLOAT,
    "and": BOOLEAN | INTEGER,
    "or": BOOLEAN | INTEGER,
    "xor": BOOLEAN | INTEGER,
    "shift_left": INTEGER,
    "shift_right_logical": INTEGER,
    "shift_right_arithmetic": INTEGER,
}
"""Operations whose results have one right value for each element type, and the categories they take."""


@cache
def _declared(kind: type[Op]) -> tuple[type[Op], ...]:
    return tuple(declaration for declaration in declarations() if issubclass(declaration, kind))


_FUNCTIONS = ("divide", "exponential", "log", "logistic", "power", "remainder", "rsqrt", "sine", "tanh")
"""Functions of floats for the bodies of large programs."""


def elementwise(g: Generator) -> None:
    """Any elementwise operation of the registry."""
    declaration = g.random.choice([d for d in _declared(Elementwise) if d.name not in _SPECIAL])
    if (
        any(result.categories & PLAIN == 0 for result in declaration.declared_results)
        or "quantize" in declaration.name
    ):
        raise CannotGenerate("quantized")
    apply(g, declaration.name)


def apply(g: Generator, name: str, first: Value | None = None) -> Value:
    """An elementwise operation whose operands and result have related types; `first` among the operands."""
    declaration: Any = lookup(name)
    operands = declaration.declared_operands
    categories = operands[-1].categories & ~QUANTIZED
    if name == "stablehlo.complex":
        type = TensorType(g.shape(), ELEMENT_TYPES[g.random.choice(("f32", "f64"))])
        first = g.operand(type)
    elif first is None:
        first = g.value(categories)
    type = first.type
    if name in ("stablehlo.real", "stablehlo.imag") and g.chance(0.7):
        type = TensorType(type.shape, g.element_type(COMPLEX))
        first = g.operand(type)
    values = [first, *[g.operand(type) for _ in operands[1:]]]
    g.random.shuffle(values)
    if name in ("stablehlo.divide", "stablehlo.remainder") and type.category & INTEGER:
        values[1] = _nonzero(g, values[1])
    result = type.with_element_type(declaration.result_element_type(type.element_type))
    return g.add(name, values, [result])[0]


def _nonzero(g: Generator, value: Value) -> Value:
    """A divisor without zeros: dividing by zero ends the reference interpreter."""
    one = g.constant(value.type, g.np_random.integers(0, 1, value.type.shape).astype("i1") + 1)
    zero = g.constant(value.type, np.zeros(value.type.shape, np.int8))
    pred_type = value.type.with_element_type(_BOOLEAN_TYPE)
    (is_zero,) = g.add(
        "stablehlo.compare", [value, zero], [pred_type], comparison_direction=ComparisonDirection.EQ
    )
    return g.add("stablehlo.select", [is_zero, one, value], [value.type])[0]


def convert(g: Generator) -> None:
    """A conversion to any element type."""
    operand = g.value()
    g.add("stablehlo.convert", [operand], [operand.type.with_element_type(g.element_type())])


def compare(g: Generator) -> None:
    """A comparison; complex values are only compared for equality, as the interpreter does."""
    lhs = g.value()
    comparison(g, lhs, g.operand(lhs.type))


def comparison(g: Generator, lhs: Value, rhs: Value) -> Value:
    """A comparison of two values of one type."""
    category = lhs.type.category
    directions = list(ComparisonDirection) if category != COMPLEX else ["EQ", "NE"]
    kinds = {
        FLOAT: [ComparisonType.FLOAT, ComparisonType.TOTALORDER],
        COMPLEX: [ComparisonType.FLOAT],
        SIGNED: [ComparisonType.SIGNED],
    }.get(category, [ComparisonType.UNSIGNED])
    return g.add(
        "stablehlo.compare",
        [lhs, rhs],
        [lhs.type.with_element_type(_BOOLEAN_TYPE)],
        comparison_direction=ComparisonDirection(g.random.choice(directions)),
        # In a region NaN's sign, which the specification leaves open, would decide.
        compare_type=g.random.choice([None, *(kinds[:1] if g.in_region else kinds)]),
    )[0]


def select(g: Generator) -> None:
    """A selection by a predicate of the same shape or of rank 0."""
    on_true = g.value()
    shape = on_true.type.shape if g.chance(0.7) else ()
    pred = g.operand(TensorType(shape, _BOOLEAN_TYPE))
    g.add("stablehlo.select", [pred, on_true, g.operand(on_true.type)], [on_true.type])


def clamp(g: Generator) -> None:
    """A clamp with bounds of the same shape or of rank 0."""
    operand = g.value(PLAIN & ~COMPLEX)
    scalar = operand.type.with_shape(())
    bounds = [g.operand(operand.type if g.chance(0.5) else scalar) for _ in range(2)]
    g.add("stablehlo.clamp", [bounds[0], operand, bounds[1]], [operand.type])


def reduce_precision(g: Generator) -> None:
    """A reduction of precision, to fewer bits or to more."""
    operand = g.value(FLOAT)
    g.add(
        "stablehlo.reduce_precision",
        [operand],
        [operand.type],
        exponent_bits=g.random.choice((1, 2, 3, 4, 5, 8, 11)),
        mantissa_bits=g.random.choice((0, 1, 2, 3, 7, 10, 23, 52)),
    )


def bitcast_convert(g: Generator) -> None:
    """A bitcast to a type of the same width, or one that splits or joins elements."""
    operand = g.value()
    source = operand.type.element_type
    shape = operand.type.shape
    widths = [width for width in _WIDTHS if width % source.width == 0 or source.width % width == 0]
    target = g.random.choice(_WIDTHS[g.random.choice(widths)])
    if (source.category == COMPLEX) != (target.category == COMPLEX):
        raise CannotGenerate("complex elements stay complex")
    if target.width < source.width:
        shape = (*shape, source.width // target.width)
    elif target.width > source.width:
        if not shape or shape[-1] * source.width != target.width:
            shape = (*shape[:2], target.width // source.width)
            operand = g.operand(TensorType(shape, source))
        shape = shape[:-1]
    g.add("stablehlo.bitcast_convert", [operand], [TensorType(shape, target)])


def chlo_broadcast(g: Generator) -> None:
    """One of CHLO's binary operations that broadcast their operands."""
    declaration: Any = g.random.choice(
        [d for d in _declared(BroadcastBinary) if d.name.startswith("chlo.broadcast_")]
    )
    lhs_declared, rhs_declared = declaration.elementwise.declared_operands[:2]
    element_type = g.element_type(lhs_declared.categories & rhs_declared.categories & ~QUANTIZED)
    if declaration.name == "chlo.broadcast_complex":
        element_type = ELEMENT_TYPES["f32"]
    shape = g.shape(g.random.randrange(1, 4), g.largest // 2)
    cut = g.random.randrange(len(shape) + 1)
    shapes = [shape, tuple(1 if g.chance(0.3) else size for size in shape[cut:])]
    g.random.shuffle(shapes)
    lhs, rhs = [g.operand(TensorType(one, element_type)) for one in shapes]
    if (
        declaration.name in ("chlo.broadcast_divide", "chlo.broadcast_remainder")
        and element_type.category & INTEGER
    ):
        rhs = _nonzero(g, rhs)
    attributes: dict[str, Any] = {}
    result_type = declaration.elementwise.result_element_type(element_type)
    if declaration.name == "chlo.broadcast_compare":
        attributes["comparison_direction"] = ComparisonDirection(g.random.choice(("EQ", "NE")))
        result_type = _BOOLEAN_TYPE
    g.add(declaration.name, [lhs, rhs], [TensorType(shape, result_type)], **attributes)


def constant_like(g: Generator) -> None:
    """A constant of an operand's shape."""
    operand = g.value()
    element_type = g.element_type(INTEGER | FLOAT)
    value: Any
    if element_type.category == FLOAT:
        value = FloatAttribute(g.random.choice((-1.0, 0.5, 2.0)), element_type)
    else:
        value = IntegerAttribute(1, element_type)
    g.add("chlo.constant_like", [operand], [operand.type.with_element_type(element_type)], value=value)


def scalar_expression(g: Generator, arguments: Sequence[Value], target: TensorType, length: int) -> Value:
    """A value of type `target` from exactly rounded operations on values of rank 0."""
    values = [argument for argument in arguments if isinstance(argument.type, TensorType)]
    for _ in range(length):
        values.append(_scalar_operation(g, values))
    alike = [value for value in values if value.type == target]
    if alike:
        return alike[-1]
    return g.add("stablehlo.convert", [values[-1]], [target])[0] if values else g.constant(target)


def _scalar_operation(g: Generator, values: Sequence[Value]) -> Value:
    operand = g.random.choice(values) if values else g.constant(g.type(rank=0))
    category = operand.type.category
    if g.large and category == FLOAT and g.chance(0.2):
        return apply(g, f"stablehlo.{g.random.choice(_FUNCTIONS)}", operand)
    choices: list[Callable[[], Value]] = []
    unary = [name for name, categories in EXACT_UNARY.items() if categories & category]
    binary = [name for name, categories in EXACT_BINARY.items() if categories & category]

    def other() -> Value:
        alike = [value for value in values if value.type == operand.type]
        return g.random.choice(alike) if alike and g.chance(0.7) else g.constant(operand.type)

    if unary:
        choices.append(lambda: g.add(f"stablehlo.{g.random.choice(unary)}", [operand], [operand.type])[0])
    pair = (operand, other())
    choices += 2 * [lambda: g.add(f"stablehlo.{g.random.choice(binary)}", pair, [operand.type])[0]]
    if category != COMPLEX:

        def choose() -> Value:
            pred = comparison(g, *pair)
            return g.add("stablehlo.select", [pred, other(), operand], [operand.type])[0]

        choices.append(choose)
    return g.random.choice(choices)()


_SPECIAL: dict[str, Callable[[Generator], None]] = {
    "stablehlo.convert": convert,
    "stablehlo.compare": compare,
    "stablehlo.select": select,
    "stablehlo.clamp": clamp,
    "stablehlo.reduce_precision": reduce_precision,
}

PRODUCERS: Producers = [
    (6, elementwise),
    (1.5, convert),
    (1, compare),
    (0.7, select),
    (0.5, clamp),
    (0.5, reduce_precision),
    (1, bitcast_convert),
    (1, chlo_broadcast),
    (0.1, constant_like),
]
"""The operation producers of this module, with their relative frequencies."""

__all__ = ["PRODUCERS", "apply", "comparison", "scalar_expression"]
