"""What is recognised in bodies and comparators, and how they are applied to arrays."""

from __future__ import annotations

import numpy as np
import pytest

import nimblehlo
from nimblehlo.checks.fuzzing.edge_values import float_values, integer_values
from nimblehlo.program.frontend.parser import parse
from nimblehlo.program.ir import Region
from nimblehlo.program.ops.reduction.bodies import (
    MONOIDS,
    Order,
    SortKey,
    arg_reducer,
    comparator,
    identity,
    is_scalar_elementwise,
    monoid,
    overwrites,
    vectorize_region,
)
from nimblehlo.types import BOOLEAN, COMPLEX, ELEMENT_TYPES, INTEGER
from tests.program.ops.bodies import canonical, combining, comparing, region

F32 = "tensor<f32>"
SHAPED = f"""%s = stablehlo.reshape %a : ({F32}) -> tensor<1xf32>
    %r = stablehlo.reshape %s : (tensor<1xf32>) -> {F32}"""
FIRST = SortKey(0, "value", descending=False, order=Order.FLOAT)


def region_of(text: str, before: str = "") -> Region:
    """The region of a text, as that of an operation after the statements `before`."""
    program = f'func.func @main(%x: {F32}) {{\n{before}\n  "test.op"() ({{{text}}}) : () -> ()\n  return\n}}'
    return parse(program).functions["main"].body.block.operations[-2].regions[0]


@pytest.mark.parametrize("name", MONOIDS)
@pytest.mark.parametrize("operands", ["%a, %b", "%b, %a"])
def test_monoid(name: str, operands: str) -> None:
    scalar = "tensor<i32>"
    text = region([scalar, scalar], f"%r = stablehlo.{name} {operands} : {scalar}", [f"%r : {scalar}"])
    assert monoid(region_of(text)) == name


@pytest.mark.parametrize(
    "text",
    [
        combining("subtract"),
        region([F32, F32], f"%r = stablehlo.add %a, %a : {F32}", [f"%r : {F32}"]),
        region([F32, F32], f"%r = stablehlo.add %x, %a : {F32}", [f"%r : {F32}"]),
        region(
            [F32, F32],
            f"%s = stablehlo.add %a, %b : {F32}\n%r = stablehlo.negate %s : {F32}",
            [f"%r : {F32}"],
        ),
        region([F32, F32], "", [f"%b : {F32}"]),
        region([F32] * 4, f"%r = stablehlo.add %a, %b : {F32}", [f"%r : {F32}", f"%r : {F32}"]),
    ],
)
def test_no_monoid(text: str) -> None:
    assert monoid(region_of(text)) is None


def test_monoid_beside_a_dead_constant() -> None:
    statements = f"%c = stablehlo.constant dense<1.0> : {F32}\n%r = stablehlo.add %b, %a : {F32}"
    assert monoid(region_of(region([F32, F32], statements, [f"%r : {F32}"]))) == "add"


def test_overwrites() -> None:
    assert overwrites(region_of(region([F32, F32], "", [f"%b : {F32}"])))
    assert overwrites(region_of(region([F32] * 4, "", [f"%c : {F32}", f"%d : {F32}"])))
    assert not overwrites(region_of(region([F32, F32], "", [f"%a : {F32}"])))
    assert not overwrites(region_of(region([F32] * 4, "", [f"%d : {F32}", f"%c : {F32}"])))


def test_elementwise() -> None:
    assert is_scalar_elementwise(
        region_of(region([F32], f"%r = stablehlo.add %a, %x : {F32}", [f"%r : {F32}"]))
    )
    assert not is_scalar_elementwise(region_of(region([F32], SHAPED, [f"%r : {F32}"])))


def test_vectorize_region_gives_constants_the_shape_of_arguments() -> None:
    text = region([F32], f"%c = stablehlo.constant dense<1.0> : {F32}", [f"%c : {F32}", f"%a : {F32}"])
    constant, same = vectorize_region(region_of(text))(
        lambda array: (np.float32(1), array), np.zeros((2, 3), "f")
    )
    assert constant.shape == same.shape == (2, 3)


def test_vectorize_region_calls_other_regions_for_each_element() -> None:
    vectorized = vectorize_region(region_of(region([F32], SHAPED, [f"%r : {F32}"])))
    seen = []

    def function(value: np.ndarray) -> tuple[np.ndarray]:
        assert value.shape == ()
        seen.append(float(value))
        return (np.reshape(value, (1,)).reshape(()),)

    (result,) = vectorized(function, np.arange(6, dtype="f").reshape(2, 3))
    assert seen == result.ravel().tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (comparing("LT"), (FIRST,)),
        (comparing("GT"), (SortKey(0, "value", True, Order.FLOAT),)),
        (comparing("LT", "i32", ["f32"], "SIGNED"), (FIRST,)),
        (comparing("GT", compare_type="TOTALORDER"), (SortKey(0, "value", True, Order.TOTAL),)),
        (
            region(
                [F32, F32],
                canonical("l", "%a")
                + canonical("r", "%b")
                + f"%p = stablehlo.compare LT, %l, %r, TOTALORDER : ({F32}, {F32}) -> tensor<i1>",
                ["%p : tensor<i1>"],
            ),
            (SortKey(0, "value", False, Order.CANONICAL),),
        ),
        (
            region(
                [F32, F32, "tensor<ui8>", "tensor<ui8>"],
                f"""%lt = stablehlo.compare GT, %b, %a, FLOAT : ({F32}, {F32}) -> tensor<i1>
                %eq = stablehlo.compare EQ, %b, %a, FLOAT : ({F32}, {F32}) -> tensor<i1>
                %next = stablehlo.compare GT, %c, %d, UNSIGNED : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
                %both = stablehlo.and %next, %eq : tensor<i1>
                %r = stablehlo.or %both, %lt : tensor<i1>""",
                ["%r : tensor<i1>"],
            ),
            (FIRST, SortKey(1, "value", True, Order.FLOAT)),
        ),
        (
            region(
                ["tensor<complex<f32>>"] * 2,
                f"""%l = stablehlo.imag %a : (tensor<complex<f32>>) -> {F32}
                %r = stablehlo.imag %b : (tensor<complex<f32>>) -> {F32}
                %p = stablehlo.compare LT, %l, %r, TOTALORDER : ({F32}, {F32}) -> tensor<i1>""",
                ["%p : tensor<i1>"],
            ),
            (SortKey(0, "imag", False, Order.TOTAL),),
        ),
    ],
)
def test_comparator(text: str, keys: tuple[SortKey, ...]) -> None:
    assert comparator(region_of(text)) == keys


def test_comparator_with_captured_constants() -> None:
    inner = canonical("l", "%a").replace("%lzero = stablehlo.constant dense<0.0> : tensor<f32>", "")
    text = region(
        [F32, F32],
        inner.replace("%lzero", "%zero")
        + canonical("r", "%b")
        + f"%p = stablehlo.compare LT, %l, %r, TOTALORDER : ({F32}, {F32}) -> tensor<i1>",
        ["%p : tensor<i1>"],
    )
    found = comparator(region_of(text, f"%zero = stablehlo.constant dense<0.0> : {F32}"))
    assert found == (SortKey(0, "value", False, Order.CANONICAL),)


@pytest.mark.parametrize(
    "text",
    [
        comparing("LE"),
        comparing("EQ"),
        region(
            [F32, F32],
            f"%r = stablehlo.compare LT, %a, %a : ({F32}, {F32}) -> tensor<i1>",
            ["%r : tensor<i1>"],
        ),
        region(
            [F32] * 4,
            f"%r = stablehlo.compare LT, %a, %d : ({F32}, {F32}) -> tensor<i1>",
            ["%r : tensor<i1>"],
        ),
        region(
            [F32, F32],
            f"""%l = stablehlo.abs %a : {F32}
            %m = stablehlo.abs %b : {F32}
            %r = stablehlo.compare LT, %l, %m : ({F32}, {F32}) -> tensor<i1>""",
            ["%r : tensor<i1>"],
        ),
        region(
            [F32, F32],
            canonical("l", "%a", nan="0xFFC00000")
            + canonical("r", "%b", nan="0xFFC00000")
            + f"%p = stablehlo.compare LT, %l, %r, TOTALORDER : ({F32}, {F32}) -> tensor<i1>",
            ["%p : tensor<i1>"],
        ),
        region(
            [F32, F32],
            canonical("l", "%a")
            + canonical("r", "%b")
            + f"%p = stablehlo.compare LT, %l, %b, TOTALORDER : ({F32}, {F32}) -> tensor<i1>",
            ["%p : tensor<i1>"],
        ),
    ],
)
def test_no_known_comparator(text: str) -> None:
    assert comparator(region_of(text)) is None


ARGUMENT = """
    %wins = stablehlo.compare {direction}, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %nan = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %pick = stablehlo.or %wins, %nan : tensor<i1>
    %same = stablehlo.compare EQ, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %lower = stablehlo.compare {tie}, %b, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %both = stablehlo.and %same, %lower : tensor<i1>
    %pick_index = stablehlo.or %pick, %both : tensor<i1>
    %value = stablehlo.select %pick, %a, %c : tensor<i1>, tensor<f32>
    %index = stablehlo.select %pick_index, %b, %d : tensor<i1>, tensor<i32>
"""
PAIRS = [F32, "tensor<i32>"] * 2
FOUND = [f"%value : {F32}", "%index : tensor<i32>"]


@pytest.mark.parametrize(("direction", "name"), [("GT", "maximum"), ("LT", "minimum")])
def test_arg_reducer(direction: str, name: str) -> None:
    text = region(PAIRS, ARGUMENT.format(direction=direction, tie="LT"), FOUND)
    assert arg_reducer(region_of(text)) == name


@pytest.mark.parametrize(("direction", "tie"), [("GE", "LT"), ("GT", "GT"), ("GT", "LE")])
def test_no_arg_reducer(direction: str, tie: str) -> None:
    text = region(PAIRS, ARGUMENT.format(direction=direction, tie=tie), FOUND)
    assert arg_reducer(region_of(text)) is None


REDUCTION = """
func.func @main(%x: tensor<SIZExTYPE>, %initial: tensor<TYPE>) -> tensor<SIZExTYPE> {
  %0 = stablehlo.reshape %x : (tensor<SIZExTYPE>) -> tensor<SIZEx1xTYPE>
  %1 = stablehlo.reduce(%0 init: %initial) applies stablehlo.NAME across dimensions = [1]
    : (tensor<SIZEx1xTYPE>, tensor<TYPE>) -> tensor<SIZExTYPE>
  return %1 : tensor<SIZExTYPE>
}
"""


@pytest.mark.parametrize("name", [name for name, one in ELEMENT_TYPES.items() if one.category != COMPLEX])
def test_a_reduction_that_starts_with_the_identity_keeps_every_value(name: str) -> None:
    element_type = ELEMENT_TYPES[name]
    is_integer = bool(element_type.category & (INTEGER | BOOLEAN))
    values = integer_values(name) if is_integer else float_values(name)
    for combination in MONOIDS:
        initial = identity(combination, element_type)
        if combination in ("and", "or", "xor") and not is_integer:
            continue
        if initial is None:
            assert (name, combination) == ("f8E8M0FNU", "add")
            continue
        text = REDUCTION.replace("NAME", combination).replace("TYPE", name).replace("SIZE", str(values.size))
        (result,) = nimblehlo.execute(text, [values, initial])
        same = (result == values) | ((result != result) & (values != values))
        assert np.asarray(same).all(), combination
