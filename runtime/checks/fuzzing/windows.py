"""Random operations that reduce, select, sort and map with regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ...program.ir import EnumAttribute, Region
from ...program.ops.elementwise.comparison import ComparisonDirection, ComparisonType
from ...program.ops.reduction.bodies import identity
from ...program.ops.reduction.window_geometry import Window
from ...types import (
    BOOLEAN,
    COMPLEX,
    ELEMENT_TYPES,
    FLOAT,
    INTEGER,
    PLAIN,
    ElementType,
    TensorType,
)
from .elementwise import EXACT_BINARY, scalar_expression
from .generator import CannotGenerate, Generator, Producers
from .indexing import promoted
from .tensor_values import TensorValue as Value

MONOIDS = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")
_PRED = TensorType((), ELEMENT_TYPES["i1"])


def reducing_body(g: Generator, scalars: Sequence[TensorType]) -> Region:
    """A reduction body whose results do not depend on the order except for the rounding of floats."""
    count = len(scalars)
    named = [_monoids(scalar, count) for scalar in scalars]
    picks = count > 1 and all(scalar.category & (INTEGER | BOOLEAN) for scalar in scalars) and g.chance(0.6)

    def compute(*arguments: Value) -> list[Value]:
        if g.large and g.chance(0.4):
            return [scalar_expression(g, arguments, scalar, g.random.randrange(1, 5)) for scalar in scalars]
        if picks:
            return _lexicographic(g, arguments)
        results = []
        for index, names in enumerate(named):
            pair = [arguments[index], arguments[count + index]]
            g.random.shuffle(pair)
            results += _monoid(g, g.random.choice(names), pair)
        return results

    return g.region([*scalars, *scalars], compute)


def _monoids(scalar: TensorType, count: int) -> list[str]:
    """The monoids of a type. Narrow floats beside other operands are rounded at every step: none of sums."""
    if scalar.category == COMPLEX:
        return ["add", "multiply"]
    if scalar.category == FLOAT and count > 1 and scalar.dtype.itemsize < 4:
        return ["maximum", "minimum"]
    return [name for name in MONOIDS if EXACT_BINARY[name] & scalar.category]


def _monoid(g: Generator, name: str, pair: Sequence[Value]) -> list[Value]:
    """A monoid, by its own operation or by others."""
    type = pair[0].type
    plain = type.category & (INTEGER | BOOLEAN)
    if name in ("maximum", "minimum") and plain and g.chance(0.4):
        direction = ComparisonDirection("GT" if name == "maximum" else "LE")
        (pred,) = g.add("stablehlo.compare", pair, [_PRED], comparison_direction=direction)
        return g.add("stablehlo.select", [pred, *pair], [type])
    if name == "add" and type.category & INTEGER and g.chance(0.3):
        (negated,) = g.add("stablehlo.negate", [pair[1]], [type])
        return g.add("stablehlo.subtract", [pair[0], negated], [type])
    return g.add(f"stablehlo.{name}", pair, [type])


def _lexicographic(g: Generator, arguments: Sequence[Value]) -> list[Value]:
    """The smaller of two tuples, element by element: as in an argmin with its tie rule."""
    count = len(arguments) // 2
    lhs, rhs = arguments[:count], arguments[count:]
    less = g.constant(_PRED, np.array(True))
    for a, b in zip(reversed(lhs), reversed(rhs), strict=True):
        (lower,) = g.add("stablehlo.compare", [a, b], [_PRED], comparison_direction=ComparisonDirection.LT)
        (equal,) = g.add("stablehlo.compare", [a, b], [_PRED], comparison_direction=ComparisonDirection.EQ)
        (tied,) = g.add("stablehlo.and", [equal, less], [_PRED])
        (less,) = g.add("stablehlo.or", [lower, tied], [_PRED])
    return [g.add("stablehlo.select", [less, a, b], [a.type])[0] for a, b in zip(lhs, rhs, strict=True)]


def _reduction_operands(g: Generator) -> tuple[list[Value], list[Value], list[TensorType]]:
    """Inputs of one shape, init values, and the types in which they are reduced."""
    first = g.value()
    inputs = [first]
    if g.chance(0.3):
        categories = INTEGER | BOOLEAN if first.type.category & (INTEGER | BOOLEAN) else PLAIN
        inputs += [
            g.operand(TensorType(first.type.shape, g.element_type(categories)))
            for _ in range(g.random.choice((1, 2)))
        ]
    inits = [g.operand(value.type.with_shape(())) for value in inputs]
    return inputs, inits, [TensorType((), promoted(g, value.type.element_type)) for value in inputs]


def reduce(g: Generator) -> None:
    """A reduction over any dimensions."""
    inputs, inits, scalars = _reduction_operands(g)
    rank = inputs[0].type.rank
    dimensions = tuple(g.random.sample(range(rank), g.random.randrange(rank + 1)))
    result_shape = [size for d, size in enumerate(inputs[0].type.shape) if d not in dimensions]
    results = [scalar.with_shape(result_shape) for scalar in scalars]
    g.add("stablehlo.reduce", [*inputs, *inits], results, [reducing_body(g, scalars)], dimensions=dimensions)


def _windows(g: Generator, shape: Sequence[int], dilated: bool) -> list[Window]:
    windows = []
    for size in shape:
        if g.chance(0.15) and size and dilated:
            windows.append(Window(size, 1, *g.random.choice(((size - 1, 0), (0, size - 1)))))
            continue
        window = Window(
            g.pick((1, 1, 2, 3), (1, 1, 2, 3, 7, 16)),
            g.random.choice((1, 1, 2, 3)),
            g.random.choice((0, 0, 0, 1, 1, 2, -1, -2, 7)),
            g.random.choice((0, 0, 0, 1, 1, 2, -1, -2, 7)),
            g.random.choice((1, 1, 2, 3)) if dilated else 1,
            g.random.choice((1, 1, 2)) if dilated else 1,
        )
        windows.append(window if window.count(size) or g.chance(0.05) else Window(1))
    return windows


def _column(windows: Sequence[Window], name: str) -> tuple[int, ...]:
    return tuple([getattr(window, name) for window in windows])


def reduce_window(g: Generator) -> None:
    """A reduction of windows with strides, padding and dilations."""
    inputs, inits, scalars = _reduction_operands(g)
    shape = inputs[0].type.shape
    windows = _windows(g, shape, dilated=True)
    counts = [window.count(size) for window, size in zip(windows, shape, strict=True)]
    if np.prod(counts) * np.prod(_column(windows, "size")) > 10 * g.largest:
        raise CannotGenerate("large")
    results = [scalar.with_shape(counts) for scalar in scalars]
    g.add(
        "stablehlo.reduce_window",
        [*inputs, *inits],
        results,
        [reducing_body(g, scalars)],
        window_dimensions=_column(windows, "size"),
        window_strides=_column(windows, "stride"),
        base_dilations=_column(windows, "base_dilation"),
        window_dilations=_column(windows, "window_dilation"),
        padding=tuple([(window.low, window.high) for window in windows]),
    )


def select_and_scatter(g: Generator) -> None:
    """A scatter to the elements that windows select."""
    operand = g.value(INTEGER | FLOAT | BOOLEAN)
    shape = operand.type.shape
    windows = _windows(g, shape, dilated=False)
    counts = [window.count(size) for window, size in zip(windows, shape, strict=True)]
    source = g.operand(operand.type.with_shape(counts))
    scalar = operand.type.with_shape(())
    target = TensorType((), promoted(g, operand.type.element_type))
    body = reducing_body(g, [target])
    init = _identity(g, body, scalar)

    def prefers(a: Value, b: Value) -> list[Value]:
        if g.large and g.chance(0.3):
            return [scalar_expression(g, [a, b], _PRED, 2)]
        direction = ComparisonDirection(g.random.choice(("GE", "GT", "LE", "LT")))
        return g.add("stablehlo.compare", [a, b], [_PRED], comparison_direction=direction)

    g.add(
        "stablehlo.select_and_scatter",
        [operand, source, init],
        [operand.type.with_element_type(target.element_type)],
        [g.region([scalar, scalar], prefers), body],
        window_dimensions=_column(windows, "size"),
        window_strides=_column(windows, "stride"),
        padding=tuple([(window.low, window.high) for window in windows]),
    )


def _identity(g: Generator, body: Region, scalar: TensorType) -> Value:
    """The init value that changes nothing: how often `select_and_scatter` applies it is left open."""
    names = {operation.name.partition(".")[2] for operation in body.block.operations}
    names |= {
        _COMPARED_MONOIDS[direction] for direction in _directions(body) if direction in _COMPARED_MONOIDS
    }
    monoid = next((name for name in ("multiply", "and", "maximum", "minimum") if name in names), "add")
    assert isinstance(scalar.element_type, ElementType)
    value = identity(monoid, scalar.element_type)
    return g.constant(scalar, np.zeros(()) if value is None else value)


_COMPARED_MONOIDS: Final = {"GT": "maximum", "LE": "minimum"}
"""The monoid that a comparison and a selection compute."""


def _directions(body: Region) -> list[str]:
    directions = [operation.attributes.get("comparison_direction") for operation in body.block.operations]
    return [attribute.value for attribute in directions if isinstance(attribute, EnumAttribute)]


def sort(g: Generator) -> None:
    """A sort by the first input, or by several, ascending or descending."""
    first = g.value(PLAIN & ~COMPLEX)
    if not first.type.rank:
        raise CannotGenerate("rank 0")
    inputs = [first]
    if g.chance(0.5):
        inputs += [
            g.operand(TensorType(first.type.shape, g.element_type())) for _ in range(g.random.choice((1, 2)))
        ]
    scalars = [value.type.with_shape(()) for value in inputs for _ in range(2)]
    dimension = g.random.randrange(-first.type.rank, first.type.rank)
    direction = ComparisonDirection(g.random.choice(("LT", "GT")))
    total = ComparisonType.TOTALORDER if first.type.category == FLOAT and g.chance(0.5) else None

    def before(*arguments: Value) -> list[Value]:
        if g.large and g.chance(0.3):
            return [scalar_expression(g, arguments, _PRED, g.random.randrange(1, 4))]
        pair = list(arguments[:2])
        if total is None and g.chance(0.2) and first.type.category == FLOAT:
            pair = [g.add("stablehlo.negate", [value], [value.type])[0] for value in pair]
        return g.add("stablehlo.compare", pair, [_PRED], comparison_direction=direction, compare_type=total)

    region = g.region(scalars, before)
    types = [value.type for value in inputs]
    g.add("stablehlo.sort", inputs, types, [region], dimension=dimension, is_stable=True)


def map_(g: Generator) -> None:
    """A map of any exactly rounded expression."""
    first = g.value()
    inputs = [
        first,
        *[g.operand(first.type.with_element_type(g.element_type())) for _ in range(g.random.randrange(3))],
    ]
    target = TensorType((), g.element_type())

    def compute(*arguments: Value) -> list[Value]:
        return [scalar_expression(g, arguments, target, g.random.randrange(0, 5))]

    region = g.region([value.type.with_shape(()) for value in inputs], compute)
    dimensions = tuple(range(first.type.rank))
    g.add("stablehlo.map", inputs, [target.with_shape(first.type.shape)], [region], dimensions=dimensions)


def top_k(g: Generator) -> None:
    """The largest elements of the last dimension."""
    operand = g.value(INTEGER | FLOAT)
    if not operand.type.rank:
        raise CannotGenerate("rank 0")
    *leading, last = operand.type.shape
    k = g.random.randrange(last + 1)
    types = [operand.type.with_shape((*leading, k)), TensorType((*leading, k), ELEMENT_TYPES["i32"])]
    g.add("chlo.top_k", [operand], types, k=k)


PRODUCERS: Producers = [
    (2.5, reduce),
    (2.5, reduce_window),
    (1.5, select_and_scatter),
    (2, sort),
    (1.5, map_),
    (0.5, top_k),
]
"""The operation producers of this module, with their relative frequencies."""
