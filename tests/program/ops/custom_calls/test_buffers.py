"""Buffers: how they are made, handed on, updated by users' functions, and read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, VerifyError
from nimblehlo.program.ops.custom_calls.custom_call import register_custom_call, unregister_custom_call
from tests.program.ops.rejections import parse_and_verify, program
from tests.support.running import run_every_way

T, B = "tensor<2xf32>", "memref<2xf32>"
VALUES = np.array([1, 2], np.float32)
ALIAS = (
    "output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = {}, "
    "operand_index = {}, operand_tuple_indices = {}>]"
)


def call(target: str, operands: list[str], results: list[str], attributes: str = "") -> str:
    """A program of one custom call of its inputs."""
    inputs = [f"%{index}: {type}" for index, type in enumerate(operands)]
    used = ", ".join(f"%{index}" for index in range(len(operands)))
    bound = f"%r:{len(results)} = " if results else ""
    return f"""func.func @main({", ".join(inputs)}) {{
      {bound}"stablehlo.custom_call"({used}) {{
        call_target_name = "{target}", api_version = 4 : i32{", " if attributes else ""}{attributes}
      }} : ({", ".join(operands)}) -> ({", ".join(results)})
      return
    }}"""


@pytest.fixture(autouse=True)
def increment() -> Iterator[None]:
    register_custom_call("tests.increment", lambda x: x + 1)
    yield
    unregister_custom_call("tests.increment")


UPDATE = f"""
    %1 = stablehlo.custom_call @tests.increment(%0) {{{ALIAS.format([], 0, [])}}} : ({B}) -> {B}"""


def test_pin_update_and_unpin() -> None:
    text = f"""func.func @main(%x: {T}) -> ({T}, {T}) {{
    %0 = stablehlo.custom_call @Pin(%x) {{api_version = 4 : i32}} : ({T}) -> {B}{UPDATE}
    %2 = stablehlo.custom_call @Unpin(%1) {{api_version = 4 : i32}} : ({B}) -> {T}
    return %2, %x : {T}, {T} }}"""
    updated, same = run_every_way(text, VALUES)
    assert updated.tolist() == [2, 3] and same.tolist() == [1, 2]


def test_a_buffer_in_a_loop_and_in_a_tuple() -> None:
    text = f"""func.func @main(%n: tensor<i32>) -> {T} {{
    %new = stablehlo.custom_call @CreateBuffer() {{api_version = 4 : i32}} : () -> {B}
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %0 = %new) : tensor<i32>, {B}
    cond {{
      %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    }} do {{
      %next = stablehlo.add %i, %one : tensor<i32>{UPDATE}
      stablehlo.return %next, %1 : tensor<i32>, {B}
    }}
    %t = stablehlo.tuple %r#0, %r#1 : tuple<tensor<i32>, {B}>
    %b = stablehlo.get_tuple_element %t[1] : (tuple<tensor<i32>, {B}>) -> {B}
    %2 = stablehlo.custom_call @Unpin(%b) {{api_version = 4 : i32}} : ({B}) -> {T}
    return %2 : {T} }}"""
    assert run_every_way(text, np.array(3, np.int32))[0].tolist() == [3, 3]


def test_buffers_as_inputs_and_results() -> None:
    text = f"func.func @main(%0: {B}) -> ({B}, {B}) {{ {UPDATE}\n return %0, %1 : {B}, {B} }}"
    kept, updated = run_every_way(text, VALUES)
    assert kept.tolist() == [1, 2] and updated.tolist() == [2, 3]
    assert kept is not VALUES
    with pytest.raises(ExecutionError, match="input 0 has shape"):
        nimblehlo.execute(text, [np.zeros(3, np.float32)])


def test_allocated_tensors_have_their_type() -> None:
    text = """func.func @main() -> tensor<2x0xbf16> {
    %0 = stablehlo.custom_call @AllocateBuffer() : () -> tensor<2x0xbf16>
    return %0 : tensor<2x0xbf16> }"""
    (result,) = run_every_way(text)
    assert (result.shape, result.dtype.name) == ((2, 0), "bfloat16")


def test_what_a_function_returns_for_a_buffer_is_checked() -> None:
    register_custom_call("tests.narrow", lambda x: x.astype(np.float16))
    try:
        text = f"func.func @main(%0: {B}) -> {B} {{ {UPDATE}\n return %1 : {B} }}".replace(
            "increment", "narrow"
        )
        with pytest.raises(ExecutionError, match=r"returned float16 of shape \(2,\) for memref<2xf32>"):
            nimblehlo.execute(text, [VALUES])
    finally:
        unregister_custom_call("tests.narrow")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (call("CreateBuffer", [T], [B]), "must have no inputs"),
        (call("CreateBuffer", [], [T]), "must have one result, a buffer"),
        (call("CreateBuffer", [], []), "must have one result, a buffer"),
        (call("AllocateBuffer", [], [T, T]), "must have one result, a tensor"),
        (call("Pin", [], [B]), "must have one input, a tensor"),
        (call("Pin", [B], [B]), "must have one input, a tensor"),
        (call("Pin", [T], [T]), "must have one result, a buffer"),
        (call("Pin", [T], ["memref<3xf32>"]), "must be the same"),
        (call("Unpin", [B], [B]), "must have one result, a tensor"),
        (call("Unpin", [T], [T]), "must have one input, a buffer"),
        (call("Unpin", [B], ["tensor<2xi32>"]), "must be the same"),
        (call("Pin", [T], [B], ALIAS.format([], 0, [])), "an alias of tensor<2xf32> as memref<2xf32>"),
        (call("tests.increment", [B], [B]), "result 0 at .* has 0 aliases"),
        (call("tests.increment", [B], [B, B], ALIAS.format([1], 0, [])), "result 0 at .* has 0 aliases"),
        (
            call("tests.increment", [B], [B, B], ALIAS.format([0], 0, []).replace(
                "]>]", "]>, " + ALIAS.format([1], 0, []).partition("[")[2])),
            "operand 0 at .* has several aliases",
        ),
        (
            call("tests.increment", [B, B], [B], ALIAS.format([], 0, []).replace(
                "]>]", "]>, " + ALIAS.format([], 1, []).partition("[")[2])),
            "result 0 at .* has 2 aliases",
        ),
        (
            call("tests.increment", [f"tuple<tuple<{B}>, {B}>"], [f"tuple<{B}, {T}>"],
                 ALIAS.format([1], 0, [1])),
            "an alias of memref<2xf32> as tensor<2xf32>",
        ),
        (call("CreateBuffer", [], ["memref<?xf32>"]), "unknown sizes"),
        (program("stablehlo.add", [T, T], [B]).replace(T, B), "must be"),
    ],
)  # fmt: skip
def test_rejected(text: str, reason: Any) -> None:
    with pytest.raises(VerifyError, match=reason):
        parse_and_verify(text)


def test_aliases_of_parts_of_tuples() -> None:
    inner = f"tuple<tuple<{B}>, {B}>"
    parse_and_verify(call("tests.increment", [inner], [f"tuple<{B}, {T}>"], ALIAS.format([0], 0, [0, 0])))
