"""Rewrites of control flow: known branches, what leaves a loop, unrolled loops, results that nothing uses."""

from __future__ import annotations

import numpy as np
import pytest

import nimblehlo
from nimblehlo.compiler.specialize.rewrites import loops
from tests.compiler.specialize.simplified import assert_becomes, assert_same_bits, function, left, simplified


def branches(predicate: str) -> str:
    return function(
        "%p: tensor<i1>, %a: tensor<4xf32>",
        "tensor<4xf32>, tensor<4xf32>",
        f"""%c = stablehlo.constant dense<{predicate}> : tensor<i1>
        %0:2 = "stablehlo.if"({"%c" if predicate != "%p" else "%p"}) ({{
          %1 = stablehlo.sine %a : tensor<4xf32>
          stablehlo.return %1, %a : tensor<4xf32>, tensor<4xf32>
        }}, {{
          %2 = stablehlo.cosine %a : tensor<4xf32>
          stablehlo.return %a, %2 : tensor<4xf32>, tensor<4xf32>
        }}) : (tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>)
        return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>""",
    )


@pytest.mark.parametrize(("predicate", "expected"), [("true", ["sine"]), ("false", ["cosine"])])
def test_if_with_a_known_predicate(predicate: str, expected: list[str]) -> None:
    assert_becomes(branches(predicate), expected)


@pytest.mark.parametrize(("index", "expected"), [(-1, "cosine"), (0, "sine"), (1, "cosine"), (2, "cosine")])
def test_case_with_a_known_index(index: int, expected: str) -> None:
    body = f"""%c = stablehlo.constant dense<{index}> : tensor<i32>
    %0 = "stablehlo.case"(%c) ({{
      %1 = stablehlo.sine %a : tensor<4xf32>
      stablehlo.return %1 : tensor<4xf32>
    }}, {{
      %2 = stablehlo.cosine %a : tensor<4xf32>
      stablehlo.return %2 : tensor<4xf32>
    }}) : (tensor<i32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>"""
    assert_becomes(function("%a: tensor<4xf32>", "tensor<4xf32>", body), [expected])


def test_effects_of_the_branch_that_is_taken_stay() -> None:
    body = """%c = stablehlo.constant dense<true> : tensor<i1>
    "stablehlo.if"(%c) ({
      check.expect_eq %a, %b : tensor<4xf32>
      stablehlo.return
    }, {
      check.expect_eq %a, %a : tensor<4xf32>
      stablehlo.return
    }) : (tensor<i1>) -> ()
    return %a : tensor<4xf32>"""
    text = function("%a: tensor<4xf32>, %b: tensor<4xf32>", "tensor<4xf32>", body)
    assert left(simplified(text)) == ["check.expect_eq"]
    with pytest.raises(nimblehlo.ExecutionError, match="expect_eq"):
        nimblehlo.execute(text, [np.zeros(4, np.float32), np.ones(4, np.float32)])


def loop(
    limit: str,
    body: str,
    returned: str,
    *,
    start: int = 0,
    direction: str = "LT",
    step: int = 1,
    type: str = "i32",
) -> str:
    """A loop that carries a counter %i and %x, %y of 4 elements; %a and %n are arguments."""
    bound = f"stablehlo.constant dense<{limit}> : tensor<{type}>" if limit != "%n" else ""
    line = f"%m = {bound}" if bound else ""
    return function(
        f"%a: tensor<4xf32>, %b: tensor<4xf32>, %n: tensor<{type}>",
        f"tensor<{type}>, tensor<4xf32>, tensor<4xf32>",
        f"""%zero = stablehlo.constant dense<{start}> : tensor<{type}>
        %one = stablehlo.constant dense<{step}> : tensor<{type}>
        {line}
        %0:3 = stablehlo.while(%i = %zero, %x = %a, %y = %b) : tensor<{type}>, tensor<4xf32>, tensor<4xf32>
        cond {{
          %p = stablehlo.compare {direction}, %i, {"%m" if bound else "%n"} : (tensor<{type}>, tensor<{type}>)
            -> tensor<i1>
          stablehlo.return %p : tensor<i1>
        }} do {{
          {body}
          %j = stablehlo.add %i, %one : tensor<{type}>
          stablehlo.return %j, {returned} : tensor<{type}>, tensor<4xf32>, tensor<4xf32>
        }}
        return %0#0, %0#1, %0#2 : tensor<{type}>, tensor<4xf32>, tensor<4xf32>""",
    )


SUM = "%s = stablehlo.add %x, %y : tensor<4xf32>"
INPUTS = (np.array([1, -0.0, np.inf, 3e-41], np.float32), np.array([0.1, -0.0, 7, 1], np.float32))


@pytest.mark.parametrize(
    ("limit", "start", "direction", "step", "rounds"),
    [
        (3, 0, "LT", 1, 3),
        (3, 0, "LE", 1, 4),
        (7, 1, "LT", 3, 2),
        (0, 0, "LT", 1, 0),
        (-5, 3, "LE", 1, 0),
        (8, 0, "LT", 1, 8),
    ],
)
def test_short_loops_are_unrolled(limit: int, start: int, direction: str, step: int, rounds: int) -> None:
    text = loop(str(limit), SUM, "%s, %y", start=start, direction=direction, step=step)
    assert_becomes(text, ["add"] * rounds, *INPUTS, np.array(0, np.int32))


@pytest.mark.parametrize(
    "text",
    [
        loop("100", SUM, "%s, %y"),
        loop("%n", SUM, "%s, %y"),
        loop("3", SUM, "%s, %y", direction="NE"),
    ],
)
def test_other_loops_stay(text: str) -> None:
    assert "while" in left(simplified(text))
    assert_same_bits(text, *INPUTS, np.array(4, np.int32))


def test_a_counter_that_wraps_around_is_not_unrolled() -> None:
    text = loop("127", SUM, "%s, %y", start=120, direction="LT", step=5, type="i8")
    made = left(simplified(text))
    assert "while" in made


def test_carried_values_that_never_change_are_captured() -> None:
    made = simplified(loop("100", SUM, "%s, %y"))
    assert made.body is not None
    (loop_left,) = [one for one in made.body.block.operations if one.name == "stablehlo.while"]
    assert len(loop_left.operands) == 2
    assert_same_bits(loop("100", SUM, "%s, %y"), *INPUTS, np.array(4, np.int32))


@pytest.mark.parametrize("function", ["exponential", "chlo.square"])
def test_what_is_the_same_in_each_round_leaves_the_loop(function: str) -> None:
    body = f"""%c = stablehlo.constant dense<2.0> : tensor<4xf32>
    %e = "{function if "." in function else f"stablehlo.{function}"}"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %f = stablehlo.multiply %e, %c : tensor<4xf32>
    %s = stablehlo.add %x, %f : tensor<4xf32>"""
    text = loop("100", body, "%s, %x")
    made = simplified(text)
    assert made.body is not None
    outer = [operation.name.removeprefix("stablehlo.") for operation in made.body.block.operations]
    assert outer.index(function) < outer.index("multiply") < outer.index("while")
    assert_same_bits(text, *INPUTS, np.array(4, np.int32))


def test_an_operation_with_two_results_leaves_the_loop() -> None:
    body = """%t:2 = chlo.top_k(%a, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
    %positions = stablehlo.convert %t#1 : (tensor<2xi32>) -> tensor<2xf32>
    %c = stablehlo.concatenate %t#0, %positions, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
    %s = stablehlo.add %x, %c : tensor<4xf32>"""
    text = loop("100", body, "%s, %x")
    made = simplified(text)
    assert made.body is not None
    assert "chlo.top_k" in [operation.name for operation in made.body.block.operations]
    assert_same_bits(text, *INPUTS, np.array(4, np.int32))


def test_views_alone_stay_in_the_loop() -> None:
    body = """%e = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
    %q = stablehlo.slice %a [0:1] : (tensor<4xf32>) -> tensor<1xf32>
    %r = stablehlo.broadcast_in_dim %q, dims = [0] : (tensor<1xf32>) -> tensor<4xf32>
    %s = stablehlo.add %e, %r : tensor<4xf32>"""
    made = simplified(loop("100", body, "%s, %x"))
    assert made.body is not None
    assert "stablehlo.broadcast_in_dim" not in [operation.name for operation in made.body.block.operations]


LARGE_SIZE = loops.MIN_INDEX_BYTES // 4
MANY = loops.MAX_INDEX_OPERATIONS


@pytest.mark.parametrize(
    ("size", "count", "last", "leaves"),
    [
        (LARGE_SIZE, MANY, "subtract", False),
        (LARGE_SIZE - 1, MANY, "subtract", True),
        (LARGE_SIZE, MANY + 1, "subtract", True),
        (LARGE_SIZE, 1, "divide", True),
    ],
)
def test_cheap_index_arithmetic_on_large_arrays_stays_in_the_loop(
    size: int, count: int, last: str, leaves: bool
) -> None:
    type = f"tensor<{size}xi32>"
    products = "\n".join(f"%j{k + 1} = stablehlo.multiply %j{k}, %j0 : {type}" for k in range(count - 1))
    body = f"""%j0 = stablehlo.iota dim = 0 : {type}
    %c = stablehlo.constant dense<3> : {type}
    {products}
    %d = stablehlo.{last} %j{count - 1}, %c : {type}
    %f = stablehlo.convert %d : ({type}) -> tensor<{size}xf32>
    %s = stablehlo.add %x, %f : tensor<{size}xf32>"""
    text = loop("100", body, "%s, %x").replace("tensor<4xf32>", f"tensor<{size}xf32>")
    made = simplified(text)
    assert made.body is not None
    outer = [operation.name.removeprefix("stablehlo.") for operation in made.body.block.operations]
    assert (last in outer) == leaves
    assert_same_bits(text, *[np.ones(size, np.float32)] * 2, np.array(4, np.int32))


def test_effects_and_failures_do_not_leave_the_loop() -> None:
    body = """check.expect_eq %a, %b : tensor<4xf32>
    %s = stablehlo.add %x, %y : tensor<4xf32>"""
    text = loop("%n", body, "%s, %x")
    nimblehlo.execute(text, [*INPUTS, np.array(0, np.int32)])
    with pytest.raises(nimblehlo.ExecutionError, match="expect_eq"):
        nimblehlo.execute(text, [*INPUTS, np.array(1, np.int32)])


def test_a_division_of_sizes_by_zero_fails_only_where_the_loop_runs() -> None:
    body = """%q = arith.divsi %n, %n : tensor<i32>
    %f = stablehlo.convert %q : (tensor<i32>) -> tensor<f32>
    %r = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %s = stablehlo.add %x, %r : tensor<4xf32>"""
    text = loop("%n", body, "%s, %y")
    for count in (0, 2):
        _, result, _ = nimblehlo.execute(text, [*INPUTS, np.array(count, np.int32)])
        assert (result == INPUTS[0] + np.float32(count)).all()


def test_bounds_of_a_counter_decide_comparisons() -> None:
    body = """%low = stablehlo.constant dense<0> : tensor<i32>
    %size = stablehlo.constant dense<100> : tensor<i32>
    %q = stablehlo.compare LT, %i, %low : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %k = stablehlo.add %i, %size : tensor<i32>
    %l = stablehlo.select %q, %k, %i : tensor<i1>, tensor<i32>
    %v = stablehlo.convert %l : (tensor<i32>) -> tensor<f32>
    %w = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %s = stablehlo.add %x, %w : tensor<4xf32>"""
    text = loop("100", body, "%s, %y")
    assert "select" not in left(simplified(text))
    assert_same_bits(text, *INPUTS, np.array(4, np.int32))


def test_carried_values_that_nothing_needs_go() -> None:
    text = loop("100", SUM, "%s, %s").replace(
        "return %0#0, %0#1, %0#2 : tensor<i32>, tensor<4xf32>, tensor<4xf32>", "return %0#0 : tensor<i32>"
    )
    text = text.replace("-> (tensor<i32>, tensor<4xf32>, tensor<4xf32>) {", "-> (tensor<i32>) {")
    assert_becomes(text, ["while", "compare", "add"], *INPUTS, np.array(4, np.int32))


def test_branches_return_what_is_used() -> None:
    text = branches("%p").replace("%c = stablehlo.constant dense<%p> : tensor<i1>", "")
    text = text.replace("return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>", "return %0#0 : tensor<4xf32>")
    text = text.replace("-> (tensor<4xf32>, tensor<4xf32>) {", "-> (tensor<4xf32>) {")
    assert_becomes(text, ["if", "sine"])


def sort(comparator: str, returned: int) -> str:
    return function(
        "%a: tensor<9xf32>, %b: tensor<9xi32>",
        "tensor<9xf32>" if returned == 0 else "tensor<9xi32>",
        f"""%0:2 = "stablehlo.sort"(%a, %b) ({{
        ^bb0(%c: tensor<f32>, %d: tensor<f32>, %e: tensor<i32>, %f: tensor<i32>):
          {comparator}
          stablehlo.return %p : tensor<i1>
        }}) {{dimension = 0 : i64, is_stable = true}} : (tensor<9xf32>, tensor<9xi32>)
          -> (tensor<9xf32>, tensor<9xi32>)
        return %0#{returned} : tensor<9x{"f32" if returned == 0 else "i32"}>""",
    )


@pytest.mark.parametrize(
    ("operands", "type", "returned", "inputs"),
    [("%c, %d", "f32", 0, 1), ("%c, %d", "f32", 1, 2), ("%e, %f", "i32", 1, 1), ("%e, %f", "i32", 0, 2)],
)
def test_sort_of_what_is_used(operands: str, type: str, returned: int, inputs: int) -> None:
    comparator = f"%p = stablehlo.compare LT, {operands} : (tensor<{type}>, tensor<{type}>) -> tensor<i1>"
    made = assert_becomes(sort(comparator, returned), ["sort", "compare"])
    assert made.body is not None
    assert len(made.body.block.operations[0].operands) == inputs


@pytest.mark.parametrize(("second", "inputs"), [("%d, %f", 2), ("%c, %e", 4)])
def test_reduce_of_what_is_used(second: str, inputs: int) -> None:
    """The first result is used; it depends on the second input where the body says so."""
    body = f"""%z = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = "stablehlo.reduce"(%a, %b, %z, %z) ({{
    ^bb0(%c: tensor<i32>, %d: tensor<i32>, %e: tensor<i32>, %f: tensor<i32>):
      %1 = stablehlo.add %c, %e : tensor<i32>
      %2 = stablehlo.maximum %d, %f : tensor<i32>
      %3 = stablehlo.add {second} : tensor<i32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<i32>
    }}) {{dimensions = array<i64: 0>}} : (tensor<9xi32>, tensor<9xi32>, tensor<i32>, tensor<i32>)
      -> (tensor<i32>, tensor<i32>)
    return %0#0 : tensor<i32>"""
    if inputs == 4:
        body = body.replace("%1 = stablehlo.add %c, %e", "%1 = stablehlo.add %c, %f")
    made = assert_becomes(
        function("%a: tensor<9xi32>, %b: tensor<9xi32>", "tensor<i32>", body),
        ["reduce", "add"] + ["maximum"] * (inputs == 4),
    )
    assert made.body is not None
    (reduce,) = [one for one in made.body.block.operations if one.name == "stablehlo.reduce"]
    assert len(reduce.operands) == inputs
