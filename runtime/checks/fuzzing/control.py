"""Random control flow, calls and tuples."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...program.ir import Function
from ...program.ops.elementwise.comparison import ComparisonDirection
from ...types import ELEMENT_TYPES, FunctionType, TensorType, TupleType
from .elementwise import EXACT_BINARY, EXACT_UNARY, scalar_expression
from .generator import CannotGenerate, Generator, Producers
from .tensor_values import TensorValue as Value

_PRED = TensorType((), ELEMENT_TYPES["i1"])
_INDEX = TensorType((), ELEMENT_TYPES["i32"])


def body(g: Generator, types: Sequence[TensorType]) -> Callable[..., list[Value]]:
    """The contents of a region: operations on whole tensors, its arguments and captured values.

    In small programs all are exactly rounded: the interpreter's results within a region are not known.
    """

    def fill(*arguments: Value) -> list[Value]:
        for _ in range(g.random.randrange(1, 4)):
            if g.large and g.chance(0.5):
                g.append_any()
            else:
                _exact(g)
        if g.chance(0.15):
            g.random.choice((if_, while_, case))(g)
        return [_region_result(g, type) for type in types]

    return fill


def _exact(g: Generator) -> None:
    """One exactly rounded elementwise operation."""
    operand = g.value()
    category = operand.type.category
    names = [name for name, categories in EXACT_BINARY.items() if categories & category]
    if g.chance(0.4):
        names = [name for name, categories in EXACT_UNARY.items() if categories & category] or names
    name = g.random.choice(names)
    pair = [operand, g.operand(operand.type)] if name in EXACT_BINARY else [operand]
    g.add(f"stablehlo.{name}", pair, [operand.type])


def _region_result(g: Generator, type: TensorType) -> Value:
    alike = [value for value in g.visible if value.type == type]
    return g.random.choice(alike[-3:]) if alike and g.chance(0.9) else g.constant(type)


def _results(g: Generator) -> list[TensorType]:
    types = []
    for _ in range(g.random.choice((1, 1, 2, 3))):
        value = g.existing()
        types.append(value.type if value and g.chance(0.8) else g.type())
    return types


def if_(g: Generator) -> None:
    """A choice of two branches."""
    types = _results(g)
    pred = g.operand(_PRED)
    branches = [g.region([], body(g, types), captures=True) for _ in range(2)]
    g.add("stablehlo.if", [pred], types, branches)


def case(g: Generator) -> None:
    """A choice of several branches; the index may be out of range."""
    types = _results(g)
    index = g.operand(_INDEX)
    branches = [g.region([], body(g, types), captures=True) for _ in range(g.random.randrange(1, 4))]
    g.add("stablehlo.case", [index], types, branches)


def while_(g: Generator) -> None:
    """A loop of at most six iterations, which may also end by its data."""
    types = [_INDEX, *_results(g)]
    carried = [g.constant(_INDEX, np.array(0)), *[g.operand(type) for type in types[1:]]]
    rounds = g.random.randrange(0, 7)

    def continues(*arguments: Value) -> list[Value]:
        limit = g.constant(_INDEX, np.array(rounds))
        (pred,) = g.add(
            "stablehlo.compare", [arguments[0], limit], [_PRED], comparison_direction=ComparisonDirection.LT
        )
        scalars = [value for value in arguments[1:] if value.type.shape == ()]
        if scalars and g.chance(0.4):
            other = scalar_expression(g, scalars, _PRED, 2)
            (pred,) = g.add("stablehlo.and", [pred, other], [_PRED])
        return [pred]

    def advance(*arguments: Value) -> list[Value]:
        one = g.constant(_INDEX, np.array(1))
        (next_index,) = g.add("stablehlo.add", [arguments[0], one], [_INDEX])
        return [next_index, *body(g, types[1:])(*arguments)]

    cond = g.region(types, continues, captures=g.chance(0.3))
    step = g.region(types, advance, captures=g.chance(0.5))
    g.add("stablehlo.while", carried, types, [cond, step])


def tuples(g: Generator) -> None:
    """A tuple, nested at times, and an element of it."""
    values = [g.value() for _ in range(g.random.randrange(1, 4))]
    outer = TupleType([value.type for value in values])
    (tuple_value,) = g.add("stablehlo.tuple", values, [outer])
    if g.chance(0.3):
        (nested,) = g.add("stablehlo.tuple", [tuple_value, values[0]], [TupleType([outer, values[0].type])])
        (tuple_value,) = g.add("stablehlo.get_tuple_element", [nested], [outer], index=0)
    index = g.random.randrange(len(values))
    g.add("stablehlo.get_tuple_element", [tuple_value], [values[index].type], index=index)


def call(g: Generator) -> None:
    """A call of a new function, or of one that is there; directly or as a composite."""
    if g.in_region:
        raise CannotGenerate("functions are made at the top")
    if g.program.functions and g.chance(0.3):
        function = g.random.choice(g.program.functions)
    else:
        inputs = [g.value().type for _ in range(g.random.randrange(1, 4))]
        results = _results(g)
        region = g.region(inputs, body(g, results), terminator="func.return")
        name = f"f{len(g.program.functions)}"
        function = Function(name, FunctionType(inputs, results), region, visibility="private")
        g.program.functions.append(function)
    operands = [g.operand(type) for type in function.type.inputs if isinstance(type, TensorType)]
    if g.chance(0.3):
        g.add(
            "stablehlo.composite",
            operands,
            function.type.results,
            composite_name="fuzzing.composite",
            decomposition=function.name,
        )
    else:
        g.add("func.call", operands, function.type.results, callee=function.name)


def optimization_barrier(g: Generator) -> None:
    values = [g.value() for _ in range(g.random.randrange(1, 3))]
    g.add("stablehlo.optimization_barrier", values, [value.type for value in values])


PRODUCERS: Producers = [
    (0.8, if_),
    (0.8, case),
    (1.2, while_),
    (0.3, tuples),
    (0.7, call),
    (0.2, optimization_barrier),
]
"""The operation producers of this module, with their relative frequencies."""
