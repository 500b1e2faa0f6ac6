"""Operations that the specializer has made must satisfy their declarations."""

from __future__ import annotations

from typing import Any

import pytest

import nimblehlo
from nimblehlo.compiler.specialize import specialize
from nimblehlo.execution.verification import verification_level
from nimblehlo.execution.verification.operations import InvalidOperation, verify_operations
from nimblehlo.program.ir import Function, Operation

TEXT = """
func.func @main(%a: tensor<4x3xf32>) -> tensor<3x4xf32> {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.sine %0 : tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}
"""


def specialized() -> Function:
    return specialize(nimblehlo.load(TEXT), "main")


def test_an_operation_whose_result_has_another_type_is_found() -> None:
    function = specialized()
    verify_operations(function)
    operation = operation_of(function, "stablehlo.transpose")
    operation.result.type = operation.operands[0].type
    with pytest.raises(InvalidOperation, match=r"transpose at .* violates \(C"):
        verify_operations(function)


def test_a_simplified_body_of_an_asynchronous_operation_is_valid() -> None:
    sliced = "{start_indices = array<i64: 0>, limit_indices = array<i64: 4>, strides = array<i64: 1>}"
    text = f"""
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{
  %future = "stablehlo.async_start"(%a) ({{
  ^bb0(%x: tensor<4xf32>):
    %0 = "stablehlo.slice"(%x) {sliced} : (tensor<4xf32>) -> tensor<4xf32>
    "stablehlo.return"(%0) : (tensor<4xf32>) -> ()
  }}) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
  %r = "stablehlo.async_done"(%future) : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}}
"""
    verify_operations(specialize(nimblehlo.load(text), "main"))


def operation_of(function: Function, name: str) -> Operation:
    assert function.body is not None
    return next(operation for operation in function.body.walk() if operation.name == name)


def test_compiled_programs_are_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    from nimblehlo import api

    def broken(*arguments: Any, **settings: Any) -> Function:
        function = specialize(*arguments, **settings)
        operation = operation_of(function, "stablehlo.sine")
        operation.result.type = operation.result.type.with_shape((4, 3))  # type: ignore[union-attr]
        return function

    monkeypatch.setattr(api, "specialize", broken)
    for level in ("plans", "steps"):
        with verification_level(level), pytest.raises(InvalidOperation, match="sine"):  # type: ignore[arg-type]
            nimblehlo.compile(TEXT)
