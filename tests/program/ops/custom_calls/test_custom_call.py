"""Custom calls: targets of the runtime and of users, configuration, layouts, aliases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, UnsupportedError, VerifyError
from nimblehlo.program.ops.custom_calls import custom_call
from nimblehlo.program.ops.custom_calls.custom_call import register_custom_call, unregister_custom_call
from nimblehlo.program.ops.custom_calls.targets import BUILT_IN
from nimblehlo.program.ops.framework.declaration import Op
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    parse_and_verify,
    program,
    rows,
)
from tests.program.ops.texts import declaration

Register = Callable[..., None]

F, N, P = "tensor<2xf32>", "tensor<i64>", "tensor<i1>"
VALUES = np.array([1, 2], np.float32)


def call(target: str, operands: list[str], results: list[str], attributes: str = "") -> str:
    rest = f", {attributes}" if attributes else ""
    return program("stablehlo.custom_call", operands, results, f'call_target_name = "{target}"{rest}')


def returning(target: str, inputs: str = F, results: str = F, attributes: str = "") -> str:
    """A program that returns the single result of a custom call."""
    return f"""func.func @main(%x: {inputs}) -> {results} {{
      %0 = stablehlo.custom_call @{target}(%x) {{{attributes}}} : ({inputs}) -> {results}
      return %0 : {results}
    }}"""


def view(text: str) -> Any:
    """The view of the first custom call."""
    operations = parse_and_verify(text).functions["main"].body.block.operations
    return Op.of(next(operation for operation in operations if operation.name == "stablehlo.custom_call"))


@pytest.fixture
def register() -> Iterator[Register]:
    """`register_custom_call`, taken back after the test."""
    names = []

    def enter(target: str, function: Any, **options: Any) -> None:
        register_custom_call(target, function, **options)
        names.append(target)

    yield enter
    for name in names:
        unregister_custom_call(name)


def test_a_registered_function_is_called(register: Register) -> None:
    register("tests.double", lambda x: x * 2)
    assert nimblehlo.execute(returning("tests.double"), [VALUES])[0].tolist() == [2, 4]
    register("tests.sums", lambda x, n: (x + n.astype(np.float32), np.array(3)))
    text = f"""func.func @main(%x: {F}, %n: {N}) -> ({N}, {F}) {{
      %0:2 = stablehlo.custom_call @tests.sums(%x, %n) : ({F}, {N}) -> ({F}, {N})
      return %0#1, %0#0 : {N}, {F}
    }}"""
    results = nimblehlo.execute(text, [VALUES, np.array(5)])
    assert [value.tolist() for value in results] == [3, [6, 7]]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("", None),
        ('backend_config = ""', None),
        ('backend_config = "fast"', "fast"),
        (
            "api_version = 4 : i32, backend_config = {a = 1 : i64, b = [2.5 : f32, true], "
            'c = {d = "x"}, e = array<i64: 1, 2>}',
            {"a": 1, "b": (2.5, True), "c": {"d": "x"}, "e": (1, 2)},
        ),
        ('backend_config = "", mhlo.backend_config = {uplo = 76 : ui8}', {"uplo": 76}),
    ],
)
def test_a_function_gets_the_configuration(register: Register, attributes: str, expected: Any) -> None:
    seen = []

    def function(x: Any, backend_config: Any = None) -> Any:
        seen.append(backend_config)
        return x

    register("tests.configured", function)
    nimblehlo.execute(returning("tests.configured", attributes=attributes), [VALUES])
    assert seen == [expected]


def test_constants_in_a_configuration_are_arrays(register: Register) -> None:
    register("tests.weights", lambda x, backend_config: x * backend_config["weights"])
    attributes = "api_version = 4 : i32, backend_config = {weights = dense<[2.0, 3.0]> : tensor<2xf32>}"
    assert nimblehlo.execute(returning("tests.weights", attributes=attributes), [VALUES])[0].tolist() == [
        2,
        6,
    ]


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (np.zeros(3, np.float32), r"float32 of shape \(3,\) for tensor<2xf32>"),
        (np.zeros(2, np.float64), "float64"),
        ((VALUES, VALUES), "2 values for 1 result"),
        (None, "0 values for 1 result"),
    ],
)
def test_what_a_function_returns_is_checked(register: Register, result: Any, reason: str) -> None:
    register("tests.wrong", lambda x: result)
    with pytest.raises(ExecutionError, match=reason) as caught:
        nimblehlo.execute(returning("tests.wrong"), [VALUES])
    assert caught.value.operation == "stablehlo.custom_call"
    assert str(caught.value.location).startswith("<text>:2")


def test_what_a_function_raises_is_an_execution_error(register: Register) -> None:
    def function(x: Any) -> Any:
        raise KeyError("absent")

    register("tests.raising", function)
    with pytest.raises(ExecutionError, match=r"function of @\S+ raised KeyError: 'absent'"):
        nimblehlo.execute(returning("tests.raising"), [VALUES])


def test_a_function_without_results_runs(register: Register) -> None:
    seen = []
    register("tests.seen", lambda x: seen.append(x.tolist()))
    text = f"""func.func @main(%x: {F}) {{
      stablehlo.custom_call @tests.seen(%x) : ({F}) -> ()
      return
    }}"""
    assert nimblehlo.execute(text, [VALUES]) == []
    assert seen == [[1, 2]]


def test_names_of_the_runtime_are_taken() -> None:
    for target in BUILT_IN:
        with pytest.raises(ValueError, match="target of the runtime itself"):
            register_custom_call(target, lambda x: x)
    with pytest.raises(KeyError):
        unregister_custom_call("tests.never_registered")


@pytest.mark.parametrize("has_side_effect", [False, True])
def test_purity(register: Register, has_side_effect: bool) -> None:
    register("tests.impure", lambda x: x)
    register("tests.pure", lambda x: x, pure=True)
    attributes = f"has_side_effect = {str(has_side_effect).lower()}"
    assert not view(returning("tests.impure", attributes=attributes)).pure
    assert view(returning("tests.pure", attributes=attributes)).pure is not has_side_effect
    assert view(returning("Sharding", attributes=attributes)).pure is not has_side_effect


def test_an_unknown_target_is_not_supported() -> None:
    with pytest.raises(UnsupportedError, match=r"no target @tests\.unknown") as caught:
        nimblehlo.load(returning("tests.unknown"))
    assert caught.value.operation == "stablehlo.custom_call"
    assert str(caught.value.location).startswith("<text>:2")


@pytest.mark.parametrize(
    "target",
    [
        "Sharding",
        "SPMDFullToShardShape",
        "SPMDShardToFullShape",
        "LayoutConstraint",
        "annotate_device_placement",
        "xla.sdy.FuncResultSharding",
        "xla.sdy.GlobalToLocalShape",
        "xla.sdy.LocalToGlobalShape",
    ],
)
def test_annotations_hand_on(target: str) -> None:
    assert nimblehlo.execute(returning(target), [VALUES])[0].tolist() == [1, 2]
    with pytest.raises(UnsupportedError, match="changes the type of a value"):
        nimblehlo.load(returning(target, results="tensor<1xf32>"))


def test_a_group_of_shardings_has_no_results() -> None:
    text = """func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      stablehlo.custom_call @xla.sdy.ShardingGroup(%a) {has_side_effect = true} : (tensor<2xf32>) -> ()
      return %a : tensor<2xf32>
    }"""
    assert nimblehlo.execute(text, [VALUES])[0].tolist() == [1, 2]
    with pytest.raises(VerifyError, match="must have no results"):
        nimblehlo.load(returning("xla.sdy.ShardingGroup"))


CHECKS = [
    ("check.expect_eq", 1.0, 1.0, True),
    ("check.expect_eq", 1.0, 1.0000001, False),
    ("check.expect_almost_eq", 1.0, 1.0009, True),
    ("check.expect_almost_eq", 1.0, 1.0011, False),
    ("check.expect_close", 1.0, 1 + 3 * 2.0**-23, True),
    ("check.expect_close", 1.0, 1 + 4 * 2.0**-23, False),
]


@pytest.mark.parametrize(("target", "actual", "expected", "holds"), CHECKS)
def test_expectations(target: str, actual: float, expected: float, holds: bool) -> None:
    text = f"""func.func @main(%a: tensor<f32>, %b: tensor<f32>) {{
      stablehlo.custom_call @{target}(%a, %b) {{has_side_effect = true}} : (tensor<f32>, tensor<f32>) -> ()
      return
    }}"""
    values = [np.array(actual, np.float32), np.array(expected, np.float32)]
    assert not view(text).pure
    if holds:
        assert nimblehlo.execute(text, values) == []
    else:
        with pytest.raises(ExecutionError, match="1 of 1 elements differ"):
            nimblehlo.execute(text, values)


@pytest.mark.parametrize(
    ("element_type", "actual", "expected", "holds"),
    [
        ("i32", 3, 3, True),
        ("i32", 3, 4, False),
        ("f32", 1.0, 1.00009, True),
        ("f32", 1.0, 1.00011, False),
        ("f32", np.nan, np.nan, True),
    ],
)
def test_eq(element_type: str, actual: Any, expected: Any, holds: bool) -> None:
    scalar = f"tensor<{element_type}>"
    text = f"""func.func @main(%a: {scalar}, %b: {scalar}) -> {P} {{
      %0 = stablehlo.custom_call @check.eq(%a, %b) : ({scalar}, {scalar}) -> {P}
      return %0 : {P}
    }}"""
    dtype = np.int32 if element_type == "i32" else np.float32
    values = [np.array(actual, dtype), np.array(expected, dtype)]
    if holds:
        (result,) = nimblehlo.execute(text, values)
        assert result.dtype == np.bool_
        assert result
    else:
        with pytest.raises(ExecutionError, match="1 of 1 elements differ"):
            nimblehlo.execute(text, values)


@pytest.mark.parametrize(
    ("target", "operands", "results"),
    [
        ("check.expect_eq", [F], []),
        ("check.expect_eq", [F, N], []),
        ("check.expect_eq", [F, F], [P]),
        ("check.expect_close", [N, N], []),
        ("check.expect_almost_eq", [P, P], []),
        ("check.eq", [F, F], [N]),
        ("check.eq", [F, F], []),
        ("shape_assertion", [], []),
        ("shape_assertion", [P, F], []),
        ("shape_assertion", [P, N], []),
    ],
)
def test_inputs_and_results_of_targets_are_checked(target: str, operands: Any, results: Any) -> None:
    with pytest.raises(VerifyError, match=f"@{target} "):
        parse_and_verify(call(target, operands, results))


ASSERTION = f"""func.func @main(%p: {P}, %a: {N}, %b: tensor<i32>) {{
  stablehlo.custom_call @shape_assertion(%p, %a, %b) {{
    api_version = 2 : i32, has_side_effect = true, error_message = "{{1}} after {{0}}, {{2}}, {{0:99}}, {{x}}"
  }} : ({P}, {N}, tensor<i32>) -> ()
  return
}}"""


def test_shape_assertion() -> None:
    inputs = [np.array(7), np.array(-3, np.int32)]
    assert nimblehlo.execute(ASSERTION, [np.array(True), *inputs]) == []
    with pytest.raises(ExecutionError) as caught:
        nimblehlo.execute(ASSERTION, [np.array(False), *inputs])
    assert caught.value.reason == "-3 after 7, {2}, {0:99}, {x}"


def alias(outputs: list[int], operand: int, parts: list[int]) -> str:
    return (
        f"output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = {outputs}, "
        f"operand_index = {operand}, operand_tuple_indices = {parts}>]"
    )


def layouts(operands: list[str], results: list[str]) -> str:
    def listed(values: list[str]) -> str:
        types = (f"tensor<{len(value.split(',')) if value else 0}xindex>" for value in values)
        return ", ".join(f"dense<[{value}]> : {type}" for value, type in zip(values, types, strict=True))

    return f"operand_layouts = [{listed(operands)}], result_layouts = [{listed(results)}]"


CALL = declaration("custom_call")
MATRIX = "tensor<2x3xf32>"
REJECTED: dict[type[Op], dict[str, str]] = {
    CALL: {
        "I4": call("Sharding", [F], [F], 'api_version = 4 : i32, backend_config = "x"'),
        "I5": call("Sharding", [F], [F], "api_version = 5 : i32"),
        "I7": call("Sharding", [F], [F], alias([], 1, [])),
        "I8_I9": call("Sharding", [MATRIX], [MATRIX], layouts(["0, 1"], ["0, 0"])),
        "I10": call("Sharding", [MATRIX], [MATRIX], "result_tilings = [[], []]"),
    }
}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, custom_call)


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("I4", call("Sharding", [F], [F], "api_version = 3 : i32, backend_config = {a = 1 : i32}")),
        ("I5", call("Sharding", [F], [F], "api_version = -1 : i32")),
        ("I7", call("Sharding", [F], [F], alias([], -1, []))),
        ("I7", call("Sharding", [F], [F], alias([0], 0, []))),
        ("I7", call("Sharding", [F], [F], alias([], 0, [0]))),
        ("I7", call("Sharding", [F, N], [F, N], alias([0], 1, []))),
        ("I7", call("Sharding", [F, N], [F, N], alias([2], 1, []))),
        ("I8_I9", call("Sharding", [MATRIX], [MATRIX], layouts(["0, 1"], []))),
        ("I8_I9", call("Sharding", [MATRIX], [MATRIX], layouts(["0"], ["0, 1"]))),
        (
            "I8_I9",
            call("Sharding", [MATRIX], [MATRIX], "operand_layouts = [dense<[0, 1]> : tensor<2xindex>]"),
        ),
    ],
)
def test_more_rejected(label: str, text: str) -> None:
    assert_rejected(CALL, label, text)


@pytest.mark.parametrize(
    "text",
    [
        call("Sharding", [F, N], [F, N], alias([1], 1, [])),
        call("Sharding", [F], [F], alias([], 0, [])),
        call("Sharding", [MATRIX], [MATRIX], "result_tilings = []"),
        call(
            "LayoutConstraint",
            [MATRIX],
            [MATRIX],
            "result_tilings = [[dense<[16, 128]> : tensor<2xindex>, dense<[2, 1]> : tensor<2xindex>]]",
        ),
        call(
            "Sharding",
            [MATRIX, "!stablehlo.token"],
            [MATRIX, "!stablehlo.token"],
            layouts(["1, 0", ""], ["0, 1", ""]),
        ),
    ],
)
def test_accepted(text: str) -> None:
    parse_and_verify(text)


def test_inputs(register: Register) -> None:
    """Operands may have any type, so that the call has none."""
    register("tests.nothing", lambda: None)
    assert_inputs_rejected(call("tests.nothing", [], []))
