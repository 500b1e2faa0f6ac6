"""Generated code that would read memory which holds another value by then is rejected as it is generated."""

from __future__ import annotations

from typing import Any

import pytest

from nimblehlo.compiler.loops.arrays import ArrayEmitter, check_step
from nimblehlo.compiler.loops.scalars.emitter import emit_rule_of
from nimblehlo.compiler.loops.steps import steps_module
from nimblehlo.compiler.loops.while_function import check_while_function, while_module
from nimblehlo.execution.verification.plans import InvalidPlan
from nimblehlo.program.frontend import parse
from nimblehlo.program.ir import Block, captured_values
from nimblehlo.program.ops.framework.verify import verify
from tests.execution.verification.storage import verifying_storage

STEPS = """
func.func @main(%a: tensor<8xf32>, %b: tensor<2xf32>, %i: tensor<i32>, %p: tensor<i1>) -> tensor<8xf32> {
  %0 = stablehlo.reverse %a, dims = [0] : tensor<8xf32>
  %1 = stablehlo.dynamic_update_slice %0, %b, %i : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) ->
  tensor<8xf32> %2 = stablehlo.reshape %1 : (tensor<8xf32>) -> tensor<2x4xf32> %3 = stablehlo.transpose %2,
  dims = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32> %4 = stablehlo.reshape %3 : (tensor<4x2xf32>) ->
  tensor<8xf32> %5 = stablehlo.subtract %4, %0 : tensor<8xf32> %6 = "stablehlo.if"(%p) ({
    %7 = stablehlo.add %5, %0 : tensor<8xf32>
    stablehlo.return %7 : tensor<8xf32>
  }, {
    %8 = stablehlo.reverse %0, dims = [0] : tensor<8xf32>
    stablehlo.return %8 : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  return %6 : tensor<8xf32>
}
"""

LOOP = """
func.func @main(%n: tensor<i32>, %x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<64xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %r:3 = stablehlo.while(%i = %c, %v = %x, %w = %y) : tensor<i32>, tensor<64xf32>, tensor<64xf32>
  cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %u = stablehlo.reverse %v, dims = [0] : tensor<64xf32>
    %t = stablehlo.reverse %w, dims = [0] : tensor<64xf32>
    %s = stablehlo.add %u, %v : tensor<64xf32>
    stablehlo.return %j, %s, %t : tensor<i32>, tensor<64xf32>, tensor<64xf32>
  }
  return %r#1 : tensor<64xf32>
}
"""


def block_of(text: str) -> Block:
    module = parse(text)
    verify(module)
    body = module.functions["main"].body
    assert body is not None
    return body.block


def generate_steps() -> None:
    block = block_of(STEPS)
    assert all(check_step(operation) is None for operation in block.operations[:-1])
    with verifying_storage():
        steps_module(block)


def generate_loop() -> None:
    block = block_of(LOOP)
    (operation,) = [one for one in block.operations if one.name == "stablehlo.while"]
    captured = captured_values(operation.regions)
    assert check_while_function(operation, captured) is None
    with verifying_storage():
        while_module(operation, captured)


@pytest.mark.parametrize("generate", [generate_steps, generate_loop])
def test_code_as_it_is_generated_is_accepted(generate: Any) -> None:
    generate()


def test_an_update_in_place_of_what_is_read_later_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        ArrayEmitter, "updated", lambda emitter, operation: emitter.bindings[operation.operands[0]]
    )
    monkeypatch.setattr(ArrayEmitter, "emit_outlined", lambda self, one: emit_rule_of(one).emit(self, one))
    with pytest.raises(InvalidPlan, match="reads tensor<8xf32> in memory that holds another value"):
        generate_steps()


@pytest.mark.parametrize("generate", [generate_steps, generate_loop])
def test_two_arrays_in_one_place_are_found(generate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each array of a size gets the first one's memory, though that is still read."""
    allocate = ArrayEmitter.allocate_scratch
    allocated: dict[Any, Any] = {}

    def same(self: ArrayEmitter, type: Any) -> Any:
        key = (id(self), type.size)
        found = allocated.setdefault(key, None) or allocate(self, type)
        allocated[key] = found
        return found.__class__(type, found.pointer)

    monkeypatch.setattr(ArrayEmitter, "allocate_scratch", same)
    monkeypatch.setattr(ArrayEmitter, "allocate_result", lambda emitter, value: same(emitter, value.type))
    with pytest.raises(InvalidPlan, match="in memory that holds another value"):
        generate()
