"""Templates of control flow, tuples, tokens, random numbers and calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ....program.ir import Builder, Function, Region, StringAttribute, Value
from ....program.ops.elementwise.comparison import ComparisonDirection
from ....program.ops.framework.encoding import encode_attributes
from ....program.ops.random.random import RngAlgorithm, RngDistribution
from ....types import (
    BOOLEAN,
    ELEMENT_TYPES,
    FLOAT,
    INTEGER,
    AnyElementType,
    FunctionType,
    TensorType,
    TokenType,
    TupleType,
    Type,
)
from ..template import Template, constant, make, region, sizes_text, templates_of, tensor

_WIDE = ((2, 1, 3), (2, 3, 1, 4), (2, 1, 3, 2, 2), (2, 3, 1, 2, 1, 2))
"""Shapes of ranks 3 to 6."""
_SHAPES = ((), (0,), (3,), (3, 2), *_WIDE)
_TOKEN = TokenType()


def _constant(builder: Builder, type: TensorType, value: object) -> Value:
    return builder.create("stablehlo.constant", [], [type], {"value": constant(type, value)}).result


def _branch(types: Sequence[TensorType], value: int) -> Region:
    """A branch that returns constants."""
    return region([], lambda builder, _: [_constant(builder, type, value) for type in types])


@templates_of("stablehlo.if")
def _if(element_type: AnyElementType) -> Iterator[Template]:
    for value in (True, False):
        for shape in _SHAPES:
            types = [tensor(element_type, *shape), tensor("i32")]
            yield make(
                "stablehlo.if",
                f"{value}_{sizes_text(shape)}",
                [tensor("i1")],
                types,
                regions=[_branch(types, 1), _branch(types, 0)],
                inputs={0: value},
                is_basic=shape == (3,),
            )


@templates_of("stablehlo.case")
def _case(element_type: AnyElementType) -> Iterator[Template]:
    for count in (1, 3):
        for index in (0, 1, 2, 3, -1, 2**31 - 1, -(2**31)):
            types = [tensor(element_type, 2), tensor("i32")]
            yield make(
                "stablehlo.case",
                f"index_{index}_of_{count}",
                [tensor("i32")],
                types,
                # The second result tells the branches apart in every type.
                regions=[_numbered(types, number) for number in range(count)],
                inputs={0: index},
                is_basic=count == 3 and index in (1, -1, 3),
            )
    for shape in ((), (3, 2), *_WIDE):
        types = [tensor(element_type, *shape), tensor("i32")]
        yield make(
            "stablehlo.case",
            f"of_{sizes_text(shape)}",
            [tensor("i32")],
            types,
            regions=[_numbered(types, number) for number in range(2)],
            inputs={0: 1},
        )


def _numbered(types: Sequence[TensorType], number: int) -> Region:
    first, second = types
    return region(
        [], lambda builder, _: [_constant(builder, first, number % 2), _constant(builder, second, number)]
    )


@templates_of("stablehlo.while")
def _while(element_type: AnyElementType) -> Iterator[Template]:
    counter, pred = tensor("i32"), tensor("i1")
    less = encode_attributes("stablehlo.compare", {"comparison_direction": ComparisonDirection.LT})

    def loop(type: TensorType, count: int) -> list[Region]:
        def continues(builder: Builder, values: Sequence[Value]) -> list[Value]:
            limit = _constant(builder, counter, count)
            return [builder.create("stablehlo.compare", [values[0], limit], [pred], less).result]

        def advances(builder: Builder, values: Sequence[Value]) -> list[Value]:
            one = _constant(builder, counter, 1)
            following = builder.create("stablehlo.add", [values[0], one], [counter]).result
            name = "stablehlo.or" if type.category == BOOLEAN else "stablehlo.add"
            return [following, builder.create(name, [values[1], values[1]], [type]).result]

        return [region([counter, type], continues), region([counter, type], advances)]

    for count in (0, 1, 3):
        for shape in _SHAPES:
            type = tensor(element_type, *shape)
            yield make(
                "stablehlo.while",
                f"{count}_times_{sizes_text(shape)}",
                [counter, type],
                [counter, type],
                regions=loop(type, count),
                inputs={0: 0},
                is_basic=count == 3 and shape == (3,),
            )


@templates_of("stablehlo.optimization_barrier")
def _optimization_barrier(element_type: AnyElementType) -> Iterator[Template]:
    for shapes in (((3,),), ((2, 0), ()), ((1, 1), (5,), (2, 3, 1, 2, 1, 2)), _WIDE):
        types = [tensor(element_type, *shape) for shape in shapes]
        yield make(
            "stablehlo.optimization_barrier",
            f"of_{len(types)}",
            types,
            types,
            edges=True,
            is_basic=len(shapes) == 1,
        )


@templates_of("stablehlo.after_all")
def _after_all(_: AnyElementType) -> Iterator[Template]:
    for count in (0, 1, 3):
        yield make("stablehlo.after_all", f"of_{count}", [_TOKEN] * count, [_TOKEN], is_basic=True)


@templates_of("stablehlo.create_token")
def _create_token(_: AnyElementType) -> Iterator[Template]:
    yield make("stablehlo.create_token", "token", [], [_TOKEN], is_basic=True)


@templates_of("stablehlo.tuple")
def _tuple(element_type: AnyElementType) -> Iterator[Template]:
    one, other = tensor(element_type, 3), tensor("i32", 2, 0)
    variants: dict[str, list[Type]] = {
        "one": [one],
        "two": [one, other],
        "nested": [TupleType([other, one]), one],
        "of_all_ranks": [tensor(element_type, *shape) for shape in _SHAPES],
    }
    for variant, types in variants.items():
        yield make(
            "stablehlo.tuple", variant, types, [TupleType(types)], edges=True, is_basic=variant == "two"
        )


@templates_of("stablehlo.get_tuple_element")
def _get_tuple_element(element_type: AnyElementType) -> Iterator[Template]:
    types: list[Type] = [tensor(element_type, 3), tensor("i32", 2), TupleType([tensor(element_type, 1)])]
    for index, type in enumerate(types):
        yield make(
            "stablehlo.get_tuple_element",
            f"index_{index}",
            [TupleType(types)],
            [type],
            index=index,
            edges=True,
            is_basic=index == 0,
        )
    types = [tensor(element_type, *shape) for shape in _SHAPES]
    for index, type in enumerate(types):
        yield make(
            "stablehlo.get_tuple_element",
            f"index_{index}_of_all_ranks",
            [TupleType(types)],
            [type],
            index=index,
            edges=True,
        )


@templates_of("stablehlo.composite")
def _composite(element_type: AnyElementType) -> Iterator[Template]:
    for shape in _SHAPES:
        type = tensor(element_type, *shape)
        body = region([type], lambda _, values: [values[0], values[0]], "func.return")
        function = Function("decomposition", FunctionType([type], [type, type]), body, visibility="private")
        yield make(
            "stablehlo.composite",
            "decomposed" if shape == (3,) else f"shape_{sizes_text(shape)}",
            [type],
            [type, type],
            functions=[function],
            composite_name="conformance.twice",
            decomposition="decomposition",
            edges=True,
            is_basic=shape == (3,),
        )


@templates_of("stablehlo.custom_call")
def _custom_call(element_type: AnyElementType) -> Iterator[Template]:
    type = tensor(element_type, 2, 3)
    reversed_layouts: dict[str, Any] = {"operand_layouts": ((1, 0),), "result_layouts": ((1, 0),)}
    for variant, layouts in (("sharding", {}), ("layouts", reversed_layouts)):
        yield make(
            "stablehlo.custom_call",
            variant,
            [type],
            [type],
            call_target_name="Sharding",
            api_version=3,
            undeclared={"backend_config": StringAttribute("configuration")},
            edges=True,
            is_basic=variant == "sharding",
            **layouts,
        )
    for shape in _SHAPES:
        type = tensor(element_type, *shape)
        yield make(
            "stablehlo.custom_call",
            f"shape_{sizes_text(shape)}",
            [type],
            [type],
            call_target_name="Sharding",
            api_version=3,
        )


@templates_of("stablehlo.rng_bit_generator")
def _rng_bit_generator(element_type: AnyElementType) -> Iterator[Template]:
    for algorithm in RngAlgorithm:
        for words in (2, 3):
            for shape in ((), (0,), (1,), (7,), (2, 3), *_WIDE):
                state = tensor("ui64", words)
                yield make(
                    "stablehlo.rng_bit_generator",
                    f"{algorithm}_{words}_words_{sizes_text(shape)}",
                    [state],
                    [state, tensor(element_type, *shape)],
                    inputs={0: [3, 2**63 + 5, 17][:words]},
                    rng_algorithm=algorithm,
                    is_basic=shape == (7,) and words == 2,
                )
        if element_type.width == ELEMENT_TYPES["i8"].width:
            yield _random_bytes(algorithm, element_type)


def _random_bytes(algorithm: RngAlgorithm, element_type: AnyElementType) -> Template:
    """So many bytes that all numbers are among them."""
    state, numbers = tensor("ui64", 2), tensor(element_type, 5000)
    template = make(
        "stablehlo.rng_bit_generator",
        f"{algorithm}_bytes",
        [state],
        [state, numbers],
        inputs={0: [3, 5]},
        rng_algorithm=algorithm,
    )
    return replace(template, each_type=True)


@templates_of("stablehlo.rng")
def _rng(element_type: AnyElementType) -> Iterator[Template]:
    if not element_type.category & (BOOLEAN | INTEGER | FLOAT):
        return
    scalar = tensor(element_type)
    for distribution in RngDistribution:
        for shape in ((0,), (5,), (2, 3), *_WIDE):
            yield make(
                "stablehlo.rng",
                f"{distribution}_{'x'.join(map(str, shape))}",
                [scalar, scalar, constant(tensor("i64", len(shape)), shape)],
                [tensor(element_type, *shape)],
                inputs={0: 0, 1: 1},
                rng_distribution=distribution,
                is_basic=shape == (5,),
            )
