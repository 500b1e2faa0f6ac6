"""Functions as bytes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from nimblehlo import load
from nimblehlo.compiler.explanation import function_text
from nimblehlo.compiler.plan.implementations.native_loops import LoopToCompile
from nimblehlo.compiler.specialize.loop_sharding.loop_shard import CarriedSharding, LoopShard
from nimblehlo.program.ir import (
    Block,
    DenseElementsAttribute,
    Function,
    FunctionAttribute,
    Operation,
    Value,
)
from nimblehlo.program.ir.encoding import NotEncodable, decode, encode

LOOP = """
func.func @main(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ones = stablehlo.constant dense<1.0> : tensor<4xf32>
  %0:2 = stablehlo.while(%i = %n, %y = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %go = stablehlo.compare GT, %i, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %next = stablehlo.subtract %i, %one : tensor<i32>
      %sum = stablehlo.add %y, %ones : tensor<4xf32>
      stablehlo.return %next, %sum : tensor<i32>, tensor<4xf32>
    }
  return %0#1 : tensor<4xf32>
}
"""

VALUES = """
func.func @main(%a: tensor<2x!quant.uniform<i8:f32, 0.5:3>>, %b: tuple<tensor<2xi4>, tensor<bf16>>,
    %c: !stablehlo.token) -> (tensor<2x3xf8E4M3FN>, tensor<0x2xf32>) attributes {note = "text"} {
  %0 = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf8E4M3FN> loc("n"("f":1:2))
  %1 = stablehlo.constant dense<> : tensor<0x2xf32>
  return %0, %1 : tensor<2x3xf8E4M3FN>, tensor<0x2xf32>
}
"""


def decided(operation: Operation, value: Value, count: int) -> LoopToCompile:
    """What a pass could have decided."""
    return LoopToCompile(operation, LoopShard(operation, (CarriedSharding.ROWS,), value, 2, count))


def function_of(text: str) -> Function:
    return load(text).functions["main"]


def operations_of(function: Function) -> list[Operation]:
    assert function.body is not None
    return list(function.body.walk())


def constant_of(function: Function) -> DenseElementsAttribute:
    constant = operations_of(function)[0].constant_value
    assert constant is not None
    return constant


@pytest.mark.parametrize("text", [LOOP, VALUES])
def test_a_function_is_the_same_afterwards(text: str) -> None:
    function = function_of(text)
    callee = function_of(LOOP)
    function.callees = (callee,)
    decoded, _, extra = decode(encode(function, (), ("extra", function.type)))
    assert function_text(decoded) == function_text(function)
    assert [function_text(each) for each in decoded.callees] == [function_text(callee)]
    assert extra == ("extra", function.type)
    assert decoded.attributes == function.attributes
    for one, other in zip(operations_of(function), operations_of(decoded), strict=True):
        assert str(one.location) == str(other.location)
        assert [region.is_isolated for region in one.regions] == [
            region.is_isolated for region in other.regions
        ]


def test_what_objects_have_cached_is_not_written() -> None:
    function = function_of(LOOP)
    content = encode(function)
    str(function.type)
    for operation in operations_of(function):
        # A hash means nothing to another process.
        assert all(hash(result.type) and str(result.type) for result in operation.results)
    assert encode(function) == content


def test_repeated_elements_are_written_once() -> None:
    function = function_of(
        "func.func @main() -> tensor<1000x1000xf32> {\n"
        "  %0 = stablehlo.constant dense<2.5> : tensor<1000x1000xf32>\n"
        "  return %0 : tensor<1000x1000xf32>\n}"
    )
    content = encode(function)
    assert len(content) < 5000
    constant = constant_of(decode(content)[0])
    assert constant.is_splat and constant == constant_of(function)
    assert not constant.array.flags.writeable


def test_rows_that_repeat_are_written_once() -> None:
    function = function_of(
        "func.func @main() -> tensor<1000x4xi32> {\n"
        "  %0 = stablehlo.constant dense<7> : tensor<1000x4xi32>\n"
        "  return %0 : tensor<1000x4xi32>\n}"
    )
    operation = operations_of(function)[0]
    rows = np.broadcast_to(np.arange(4, dtype=np.int32), (1000, 4))
    operation.attributes = {"value": DenseElementsAttribute(constant_of(function).type, rows)}
    content = encode(function)
    assert len(content) < 5000
    assert np.array_equal(constant_of(decode(content)[0]).array, rows)


def test_chains_may_be_longer_than_calls_nest() -> None:
    count = 20_000
    lines = "\n".join(f"  %{k + 1} = stablehlo.negate %{k} : tensor<f32>" for k in range(count))
    function = function_of(
        f"func.func @main(%0: tensor<f32>) -> tensor<f32> {{\n{lines}\n  return %{count} : tensor<f32>\n}}"
    )
    assert len(operations_of(decode(encode(function))[0])) == count + 1


def test_decisions_refer_to_what_they_referred_to() -> None:
    function = function_of(LOOP)
    loop = operations_of(function)[2]
    copy = loop.clone(loop.operands)
    gone = loop.clone(loop.operands)
    outer = Block([result.type for result in loop.results]).arguments
    decisions = [
        (loop, decided(loop, loop.operands[1], 3)),
        (loop, decided(copy, outer[1], 4)),
        (gone, decided(gone, loop.operands[0], 5)),
    ]
    decoded, (first, second), _ = decode(encode(function, decisions))
    new_loop = operations_of(decoded)[2]
    assert first[0] is second[0] is new_loop
    assert isinstance(first[1], LoopToCompile) and isinstance(second[1], LoopToCompile)
    assert first[1].operation is new_loop
    assert first[1].shard is not None and second[1].shard is not None
    assert first[1].shard.first_row is new_loop.operands[1] and first[1].count == 3
    assert second[1].operation is second[1].shard.operation is not new_loop
    assert second[1].operation.operands == new_loop.operands
    first_row = second[1].shard.first_row
    assert str(first_row.type) == "tensor<4xf32>" and first_row.index == 1


@pytest.mark.parametrize("attribute", [FunctionAttribute(print), FunctionAttribute(lambda: None)])
def test_a_python_function_is_refused(attribute: FunctionAttribute) -> None:
    function = function_of(LOOP)
    operations_of(function)[0].attributes = {"function": attribute}
    with pytest.raises(NotEncodable, match="is a function of this process"):
        encode(function)


def test_a_value_before_its_operation_is_refused() -> None:
    function = function_of(LOOP)
    assert function.body is not None
    function.body.block.operations.reverse()
    with pytest.raises(NotEncodable, match="comes before"):
        encode(function)


class _Call:
    """Calls a function when it is read."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self._call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self._call


@pytest.mark.parametrize(
    "item", [_Call(print, "called"), _Call(load, LOOP), _Call(Fraction, 1, 2), _Call(np.zeros, 3)]
)
def test_bytes_of_others_call_nothing(item: object, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(pickle.UnpicklingError, match="a program has no"):
        decode(pickle.dumps(item))
    assert not capsys.readouterr().out
