"""Composites: their decompositions, and functions that users register for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, Options, register_composite
from nimblehlo.program.ops.control import composite
from nimblehlo.program.ops.control.composite import Composite, unregister_composite
from nimblehlo.program.ops.framework.declaration import Op
from tests.program.ops.rejections import assert_complete, assert_inputs_rejected, assert_rejected, rows
from tests.support.running import run_every_way
from tests.support.threads import on_threads

Register = Callable[..., None]

F = "tensor<2xf32>"
VALUES = np.array([1, 2], np.float32)
DOUBLE = f"""
func.func private @double(%x: {F}) -> {F} {{
  %0 = stablehlo.add %x, %x : {F}
  return %0 : {F}
}}"""


def program(name: str, attributes: str = "", results: str = F) -> str:
    """A program that returns the result of a composite whose decomposition doubles."""
    return f"""func.func @main(%x: {F}) -> {results} {{
      %0 = stablehlo.composite "{name}" %x {{
        decomposition = @double, version = 1 : i32, composite_attributes = {{{attributes}}}
      }} : ({F}) -> {results}
      return %0 : {results}
    }}{DOUBLE}"""


IN_REGIONS = f"""func.func @main(%x: {F}, %n: tensor<i32>) -> {F} {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, {F}
  cond {{
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }} do {{
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = func.call @inner(%y) : ({F}) -> {F}
    stablehlo.return %1, %2 : tensor<i32>, {F}
  }}
  return %0#1 : {F}
}}
func.func private @inner(%x: {F}) -> {F} {{
  %0 = stablehlo.composite "tests.step" %x {{decomposition = @double}} : ({F}) -> {F}
  return %0 : {F}
}}{DOUBLE}"""


@pytest.fixture
def register() -> Iterator[Register]:
    """`register_composite`, taken back after the test."""
    names = set()

    def enter(name: str, function: Any, **options: Any) -> None:
        register_composite(name, function, **options)
        names.add(name)

    yield enter
    for name in names:
        unregister_composite(name)


def test_the_decomposition_runs_where_nothing_is_registered() -> None:
    assert run_every_way(program("tests.nothing"), VALUES)[0].tolist() == [2, 4]


@pytest.mark.parametrize("compile", ["never", "eager", "auto"])
def test_a_registered_function_runs_instead(register: Register, compile: Any) -> None:
    seen = []

    def function(x: Any, **attributes: Any) -> Any:
        seen.append(attributes)
        return x + np.float32(attributes["by"])

    register("tests.plus", function)
    text = program("tests.plus", 'by = 3 : i64, how = "fast"')
    assert nimblehlo.execute(text, [VALUES], options=Options(compile=compile))[0].tolist() == [4, 5]
    assert seen == [{"by": 3, "how": "fast"}]


def test_it_runs_inside_of_regions_and_called_functions(register: Register) -> None:
    inputs = VALUES, np.array(3, np.int32)
    assert run_every_way(IN_REGIONS, *inputs)[0].tolist() == [8, 16]
    register("tests.step", lambda x: x + 1)
    assert run_every_way(IN_REGIONS, *inputs)[0].tolist() == [4, 5]


def test_the_last_registration_holds_when_compiling(register: Register) -> None:
    module = nimblehlo.load(program("tests.replaced"))
    plain = nimblehlo.compile(module)
    register("tests.replaced", lambda x: x + 1)
    first = nimblehlo.compile(module)
    register("tests.replaced", lambda x: x + 2)
    second = nimblehlo.compile(module)
    assert [run(VALUES)[0].tolist() for run in (plain, first, second)] == [[2, 4], [2, 3], [3, 4]]


def test_several_results(register: Register) -> None:
    register("tests.pair", lambda x: (x + 1, np.array(7)))
    text = f"""func.func @main(%x: {F}) -> ({F}, tensor<i64>) {{
      %0:2 = stablehlo.composite "tests.pair" %x {{decomposition = @f}} : ({F}) -> ({F}, tensor<i64>)
      return %0#0, %0#1 : {F}, tensor<i64>
    }}
    func.func private @f(%x: {F}) -> ({F}, tensor<i64>) {{
      %0 = stablehlo.constant dense<1> : tensor<i64>
      return %x, %0 : {F}, tensor<i64>
    }}"""
    assert [value.tolist() for value in nimblehlo.execute(text, [VALUES])] == [[2, 3], 7]


def test_unknown_sizes(register: Register) -> None:
    register("tests.sized", lambda x: x + 1)
    text = program("tests.sized").replace("2xf32", "?xf32")
    assert nimblehlo.execute(text, [VALUES])[0].tolist() == [2, 3]


@pytest.mark.parametrize(("pure", "calls"), [(False, 2), (True, 0)])
def test_purity(register: Register, pure: bool, calls: int) -> None:
    seen = []

    def function(x: Any) -> Any:
        seen.append(1)
        return x

    register("tests.unused", function, pure=pure)
    unused = f'stablehlo.composite "tests.unused" %x {{decomposition = @double}} : ({F}) -> {F}'
    text = f"func.func @main(%x: {F}) -> {F} {{\n%0 = {unused}\n%1 = {unused}\nreturn %x : {F}\n}}{DOUBLE}"
    nimblehlo.execute(text, [VALUES])
    assert len(seen) == calls


@pytest.mark.parametrize(
    ("result", "reason"),
    [(np.zeros(3, np.float32), "of shape"), (VALUES.astype(np.float64), "float64"), (None, "0 values for 1")],
)
def test_what_a_function_returns_is_checked(register: Register, result: Any, reason: str) -> None:
    register("tests.wrong", lambda x: result)
    with pytest.raises(ExecutionError, match=reason) as caught:
        nimblehlo.execute(program("tests.wrong"), [VALUES])
    assert caught.value.operation == "stablehlo.composite"
    assert str(caught.value.location).startswith("<text>:2")


def test_names(register: Register) -> None:
    for name in ("", "plain", "a.", "1a.b"):
        with pytest.raises(ValueError, match="namespace"):
            register_composite(name, lambda x: x)
    with pytest.raises(KeyError):
        unregister_composite("tests.never_registered")


def test_threads_register_at_the_same_time(register: Register) -> None:
    """Each thread sees a function, its own or a later one, and none fails."""
    results: list[float] = []

    def work(number: int) -> None:
        for _ in range(20):
            register("tests.support.threads", lambda x: x + np.float32(number + 1))
            results.append(float(nimblehlo.execute(program("tests.support.threads"), [VALUES])[0][0]))

    on_threads(4, work)
    assert len(results) == 80
    assert set(results) <= {2.0, 3.0, 4.0, 5.0}


REJECTED: dict[type[Op], dict[str, str]] = {Composite: {"C1": program("without_namespace")}}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


@pytest.mark.parametrize("name", ["", "a.", "1a.b"])
def test_more_names_rejected(name: str) -> None:
    assert_rejected(Composite, "C1", program(name))


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, composite)


def test_inputs() -> None:
    assert_inputs_rejected(program("a.b"))


def test_a_composite_named_after_a_chlo_operation_is_that_operation() -> None:
    """jaxlib wraps CHLO operations so; the decomposition, which doubles here, does not run."""
    (result,) = nimblehlo.execute(program("chlo.erfc"), [VALUES])
    np.testing.assert_allclose(result, [math.erfc(1), math.erfc(2)], rtol=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        program("chlo.erfc").replace("version = 1", "version = 2"),
        program("chlo.erfc", "largest = false"),
        program("chlo.erfc", "unknown = 1 : i32"),
        program("chlo.next_after"),
        program("chlo.unknown"),
    ],
    ids=["version", "flag", "attribute", "operands", "name"],
)
def test_other_composites_of_chlo_are_their_decompositions(text: str) -> None:
    (result,) = nimblehlo.execute(text, [VALUES])
    np.testing.assert_array_equal(result, [2, 4])


def test_a_registered_function_goes_before_the_chlo_operation(register: Register) -> None:
    register("chlo.erfc", lambda x: x + 1)
    (result,) = nimblehlo.execute(program("chlo.erfc"), [VALUES])
    np.testing.assert_array_equal(result, [2, 3])
