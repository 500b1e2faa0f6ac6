"""Control flow: loops, branches, calls, barriers, tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import UnsupportedError, VerifyError
from nimblehlo.program.ops.control import control
from nimblehlo.program.ops.framework.declaration import Op
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    parse_and_verify,
    rows,
)
from tests.program.ops.texts import declaration
from tests.support.running import run_every_way

F, N, P = "tensor<f32>", "tensor<i64>", "tensor<i1>"


def function(inputs: str, body: str, results: str = "", functions: str = "") -> str:
    arrow = f" -> ({results})" if results else ""
    return f"func.func @main({inputs}){arrow} {{\n{body}\n}}\n{functions}"


COUNTING = function(
    f"%n: {N}, %step: {F}",
    f"""
    %zero = stablehlo.constant dense<0> : {N}
    %one = stablehlo.constant dense<1> : {N}
    %sum = stablehlo.constant dense<0.0> : {F}
    %0:2 = stablehlo.while(%i = %zero, %s = %sum) : {N}, {F}
    cond {{
      %c = stablehlo.compare LT, %i, %n : ({N}, {N}) -> {P}
      stablehlo.return %c : {P}
    }} do {{
      %next = stablehlo.add %i, %one : {N}
      %more = stablehlo.add %s, %step : {F}
      stablehlo.return %next, %more : {N}, {F}
    }}
    return %0#0, %0#1 : {N}, {F}""",
    f"{N}, {F}",
)


@pytest.mark.parametrize("count", [0, 1, 10])
def test_while_repeats_until_the_condition_fails(count: int) -> None:
    """Both regions use values from outside."""
    i, s = run_every_way(COUNTING, np.array(count), np.array(0.5, np.float32))
    assert (i, s) == (count, 0.5 * count)


def test_while_within_while() -> None:
    text = function(
        f"%n: {N}",
        f"""
        %zero = stablehlo.constant dense<0> : {N}
        %one = stablehlo.constant dense<1> : {N}
        %0:2 = stablehlo.while(%i = %zero, %s = %zero) : {N}, {N}
        cond {{
          %c = stablehlo.compare LT, %i, %n : ({N}, {N}) -> {P}
          stablehlo.return %c : {P}
        }} do {{
          %1:2 = stablehlo.while(%j = %zero, %t = %s) : {N}, {N}
          cond {{
            %c = stablehlo.compare LT, %j, %i : ({N}, {N}) -> {P}
            stablehlo.return %c : {P}
          }} do {{
            %next = stablehlo.add %j, %one : {N}
            %more = stablehlo.add %t, %i : {N}
            stablehlo.return %next, %more : {N}, {N}
          }}
          %next = stablehlo.add %i, %one : {N}
          stablehlo.return %next, %1#1 : {N}, {N}
        }}
        return %0#1 : {N}""",
        N,
    )
    (total,) = run_every_way(text, np.array(7))
    assert total == sum(i * i for i in range(7))


def test_while_exchanges_its_values() -> None:
    text = function(
        f"%a: {N}, %b: {N}",
        f"""
        %0:2 = stablehlo.while(%x = %a, %y = %b) : {N}, {N}
        cond {{
          %c = stablehlo.compare LT, %x, %y : ({N}, {N}) -> {P}
          stablehlo.return %c : {P}
        }} do {{
          stablehlo.return %y, %x : {N}, {N}
        }}
        return %0#0, %0#1 : {N}, {N}""",
        f"{N}, {N}",
    )
    assert [int(value) for value in run_every_way(text, np.array(1), np.array(2))] == [2, 1]


@pytest.mark.parametrize(("pred", "expected"), [(True, [5, 7]), (False, [4, 5])])
def test_control_flow_hands_quantized_values_on_as_they_are(pred: bool, expected: list[int]) -> None:
    """Values pass an `if`, a `while` and a barrier without being requantized."""
    quantized = "tensor<2x!quant.uniform<i8:f32, 0.5:3>>"
    text = function(
        f"%p: {P}, %a: {quantized}",
        f"""
        %0 = "stablehlo.if"(%p) ({{
          %sum = stablehlo.add %a, %a : {quantized}
          stablehlo.return %sum : {quantized}
        }}, {{
          stablehlo.return %a : {quantized}
        }}) : ({P}) -> {quantized}
        %false = stablehlo.constant dense<false> : {P}
        %1:2 = stablehlo.while(%go = %p, %v = %0) : {P}, {quantized}
        cond {{
          stablehlo.return %go : {P}
        }} do {{
          stablehlo.return %false, %v : {P}, {quantized}
        }}
        %2 = stablehlo.optimization_barrier %1#1 : {quantized}
        return %2 : {quantized}""",
        quantized,
    )
    (result,) = run_every_way(text, np.array(pred), np.array([4, 5], np.int8))
    assert result.tolist() == expected


@pytest.mark.parametrize("pred", [False, True])
def test_if_runs_one_branch(pred: bool) -> None:
    text = function(
        f"%p: {P}, %x: {F}",
        f"""
        %0:2 = "stablehlo.if"(%p) ({{
          %1 = stablehlo.add %x, %x : {F}
          stablehlo.return %1, %x : {F}, {F}
        }}, {{
          %1 = stablehlo.negate %x : {F}
          stablehlo.return %x, %1 : {F}, {F}
        }}) : ({P}) -> ({F}, {F})
        return %0#0, %0#1 : {F}, {F}""",
        f"{F}, {F}",
    )
    results = run_every_way(text, np.array(pred), np.array(3, np.float32))
    assert [float(value) for value in results] == ([6, 3] if pred else [3, -3])


def test_a_branch_that_is_not_taken_does_not_run() -> None:
    text = function(
        f"%p: {P}, %x: {F}",
        f"""
        "stablehlo.if"(%p) ({{
          check.expect_eq_const %x, dense<1.0> : {F}
          stablehlo.return
        }}, {{
          stablehlo.return
        }}) : ({P}) -> ()
        return""",
    )
    assert nimblehlo.execute(text, [np.array(False), np.array(2, np.float32)]) == []
    with pytest.raises(
        nimblehlo.ExecutionError, match=r"first at index \[\]: actual is 2.0, expected is 1.0"
    ):
        nimblehlo.execute(text, [np.array(True), np.array(2, np.float32)])


CASE = function(
    "%index: tensor<i32>",
    f"""
    %a = stablehlo.constant dense<10> : {N}
    %b = stablehlo.constant dense<11> : {N}
    %0 = "stablehlo.case"(%index) ({{
      stablehlo.return %a : {N}
    }}, {{
      stablehlo.return %b : {N}
    }}, {{
      %1 = stablehlo.add %a, %b : {N}
      stablehlo.return %1 : {N}
    }}) : (tensor<i32>) -> {N}
    return %0 : {N}""",
    N,
)


@pytest.mark.parametrize(
    ("index", "expected"),
    [(0, 10), (1, 11), (2, 21), (3, 21), (-1, 21), (-3, 21), (2**31 - 1, 21), (-(2**31), 21)],
)
def test_case_takes_the_last_branch_out_of_range(index: int, expected: int) -> None:
    assert run_every_way(CASE, np.array(index, np.int32))[0] == expected


def test_calls_run_their_functions() -> None:
    text = function(
        f"%x: {F}",
        f"""
        %0:2 = call @twice(%x) : ({F}) -> ({F}, {F})
        %1 = func.call @inner(%0#0) : ({F}) -> {F}
        return %0#1, %1 : {F}, {F}""",
        f"{F}, {F}",
        f"""
        func.func private @twice(%x: {F}) -> ({F}, {F}) {{
          %0 = call @inner(%x) : ({F}) -> {F}
          return %0, %x : {F}, {F}
        }}
        func.func private @inner(%x: {F}) -> {F} {{
          %0 = stablehlo.add %x, %x : {F}
          return %0 : {F}
        }}""",
    )
    results = run_every_way(text, np.array(1.5, np.float32))
    assert [float(value) for value in results] == [1.5, 6]


def test_barriers_and_tokens_hand_on() -> None:
    text = function(
        f"%x: {F}, %i: {N}",
        f"""
        %token = stablehlo.create_token : !stablehlo.token
        %0:3 = stablehlo.optimization_barrier %x, %token, %i : {F}, !stablehlo.token, {N}
        %1 = stablehlo.after_all %0#1, %token : !stablehlo.token
        %2 = "stablehlo.after_all"() : () -> !stablehlo.token
        stablehlo.optimization_barrier ()
        return %0#2, %0#0 : {N}, {F}""",
        f"{N}, {F}",
    )
    results = run_every_way(text, np.array(1.5, np.float32), np.array(4))
    assert [float(value) for value in results] == [4, 1.5]


def loop(
    condition: str = f"%c : {P}", step: str = f"%i : {N}", inputs: str = f"%i: {N}", result: str = N
) -> str:
    """A loop over one value, whose regions return what is said."""
    return_condition, return_step = (
        f"stablehlo.return {returned}" if returned else "stablehlo.return" for returned in (condition, step)
    )
    return function(
        f"%n: {N}, %c: {P}, %f: {F}",
        f"""
        %0 = "stablehlo.while"(%n) ({{
        ^bb0({inputs}):
          {return_condition}
        }}, {{
        ^bb0({inputs}):
          {return_step}
        }}) : ({N}) -> {result}
        return""",
    )


def branches(
    name: str, selector: str, returned: list[str], arguments: str = "", results: str = N, count: int = 2
) -> str:
    """A choice among branches that return what is said."""
    start = f"^bb0({arguments}):\n" if arguments else ""
    regions = ", ".join(f"{{\n{start}stablehlo.return {values}\n}}" for values in returned[:count])
    bound = "%0 = " if results else ""
    return function(
        f"%s: {selector}, %n: {N}, %f: {F}",
        f'{bound}"stablehlo.{name}"(%s) ({regions}) : ({selector}) -> ({results})\nreturn',
    )


WHILE, IF, CASES = declaration("while"), declaration("if"), declaration("case")
INTEGERS, MIXED = [f"%n : {N}", f"%n : {N}"], [f"%n : {N}", f"%f : {F}"]
REJECTED: dict[type[Op], dict[str, str]] = {
    WHILE: {
        "C1": loop(condition=f"%i : {N}"),
        "C2": loop(step=f"%f : {F}"),
        "C3": loop(result="tensor<i32>"),
    },
    IF: {
        "C1": branches("if", P, INTEGERS, arguments=f"%x: {N}"),
        "C2": branches("if", P, MIXED),
        "C3": branches("if", P, INTEGERS, results=F),
    },
    CASES: {
        "I1": branches("case", N, INTEGERS),
        "C1": branches("case", "tensor<i32>", [], results=""),
        "C2": branches("case", "tensor<i32>", INTEGERS, arguments=f"%x: {N}"),
        "C3": branches("case", "tensor<i32>", MIXED),
        "C4": branches("case", "tensor<i32>", INTEGERS, results=F),
    },
    declaration("optimization_barrier"): {
        "C1": function(f"%x: {F}", f'%0 = "stablehlo.optimization_barrier"(%x) : ({F}) -> {N}\nreturn')
    },
}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


@pytest.mark.parametrize(
    ("declaration", "label", "text"),
    [
        (WHILE, "C1", loop(inputs=f"%i: {F}", step=f"%n : {N}")),
        (WHILE, "C1", loop(condition="")),
        (WHILE, "C1", loop(condition=f"%c, %c : {P}, {P}")),
        (WHILE, "C2", loop(step=f"%i, %i : {N}, {N}")),
        (CASES, "C3", branches("case", "tensor<i32>", [f"%n : {N}", f"%n, %n : {N}, {N}"])),
    ],
)
def test_more_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, control)


@pytest.mark.parametrize(
    "text",
    [
        loop(),
        branches("if", P, INTEGERS),
    ],
)
def test_inputs(text: str) -> None:
    assert_inputs_rejected(text)


@pytest.mark.parametrize(
    ("call", "error", "reason"),
    [
        (f"call @missing(%x) : ({F}) -> {F}", VerifyError, "no function @missing"),
        (f"call @f(%x, %x) : ({F}, {F}) -> {F}", VerifyError, "@f takes"),
        (f"call @f(%x) : ({F}) -> {N}", VerifyError, "@f returns"),
        (f"call @main(%x) : ({F}) -> ()", UnsupportedError, "calls itself"),
    ],
)
def test_calls_rejected(call: str, error: Any, reason: str) -> None:
    bound = "" if call.endswith("()") else "%0 = "
    text = function(
        f"%x: {F}",
        f"{bound}{call}\nreturn",
        functions=f"func.func private @f(%x: {F}) -> {F} {{\nreturn %x : {F}\n}}",
    )
    with pytest.raises(error, match=reason):
        parse_and_verify(text)
