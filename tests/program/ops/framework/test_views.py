"""Views of operations: what those of operations that are alike share, and what not."""

import pytest

from nimblehlo import load
from nimblehlo.errors import VerifyError
from nimblehlo.program.ir import DenseArrayAttribute, Operation, Value
from nimblehlo.program.ops.framework import declaration
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.types import ELEMENT_TYPES, TensorType

F32 = ELEMENT_TYPES["f32"]
I64 = ELEMENT_TYPES["i64"]
VECTOR = TensorType((4,), F32)
MATRIX = TensorType((2, 4), F32)


def broadcast(value: Value, dimensions: tuple[int, ...], result: TensorType = MATRIX) -> Operation:
    attributes = {"broadcast_dimensions": DenseArrayAttribute(I64, dimensions)}
    return Operation("stablehlo.broadcast_in_dim", [value], [result], attributes)


def argument(type: TensorType) -> Value:
    return Operation("stablehlo.after_all", [], [type]).result


def test_views_follow_what_changes_in_an_operation() -> None:
    operation = broadcast(argument(VECTOR), (1,))
    assert Op.of(operation).broadcast_dimensions == (1,)
    operation.attributes = {"broadcast_dimensions": DenseArrayAttribute(I64, (0,))}
    assert Op.of(operation).broadcast_dimensions == (0,)
    wider = TensorType((2, 5), F32)
    operation.results[0].type = wider
    assert Op.of(operation).result is wider
    operation.operands = (argument(TensorType((5,), F32)),)
    assert Op.of(operation).operand.shape == (5,)


def test_what_is_wrong_is_said_each_time() -> None:
    operation = broadcast(argument(VECTOR), (1,))
    del operation.attributes["broadcast_dimensions"]
    for _ in range(2):
        with pytest.raises(VerifyError, match="broadcast_dimensions is missing"):
            Op.of(operation)


def test_variadic_parts_and_regions_belong_to_one_view() -> None:
    text = """func.func @main(%a: tensor<4xf32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0 = stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = [0]
      : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.reduce(%a init: %b) applies stablehlo.maximum across dimensions = [0]
      : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}"""
    body = load(text).functions["main"].body
    assert body is not None
    first, second = (Op.of(operation) for operation in body.block.operations[:2])
    assert first.inputs == second.inputs and first.inputs is not second.inputs
    assert first.body is body.block.operations[0].regions[0]
    assert second.body is body.block.operations[1].regions[0]
    first.inputs.append(VECTOR)
    assert len(Op.of(body.block.operations[1]).inputs) == 1


def test_no_more_is_known_than_stated() -> None:
    value = argument(VECTOR)
    for number in range(2 * declaration.MAX_CACHED_VIEWS):
        assert Op.of(broadcast(value, (number,))).broadcast_dimensions == (number,)
    assert len(declaration._field_cache) <= declaration.MAX_CACHED_VIEWS
