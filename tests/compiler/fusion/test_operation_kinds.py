"""Questions about operations that are asked once for each kind of them."""

from __future__ import annotations

import pytest

import nimblehlo
from nimblehlo.compiler.fusion.elementwise import form_fusions
from nimblehlo.compiler.fusion.operation_kinds import OperationKinds
from nimblehlo.compiler.specialize.framework.operation_classes import is_fusion
from nimblehlo.program.ir import Operation

REDUCE = """
    %{result} = "stablehlo.reduce"(%{operand}, %zero) ({{
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %body = stablehlo.{body} %x, %y : tensor<f32>
        stablehlo.return %body : tensor<f32>
    }}) {{dimensions = array<i64: {dimension}>}} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
"""


def questions(text: str) -> list[str]:
    """The operations of a program that a question is asked about, if each is asked about twice."""
    asked: list[str] = []

    def question(operation: Operation) -> str:
        asked.append(operation.name)
        return operation.name

    (body,) = [function.body for function in nimblehlo.load(text).functions.values()]
    assert body is not None
    answer = OperationKinds().by_kind(question)
    for operation in [*body.block.operations, *body.block.operations]:
        assert answer(operation) == operation.name
    return asked


def test_operations_of_one_name_and_type_are_one_kind() -> None:
    asked = questions("""
      func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf64>) -> tensor<4xf64> {
        %0 = stablehlo.add %a, %b : tensor<4xf32>
        %1 = stablehlo.add %0, %a : tensor<4xf32>
        %2 = stablehlo.multiply %1, %a : tensor<4xf32>
        %3 = stablehlo.add %c, %c : tensor<4xf64>
        return %3 : tensor<4xf64>
      }
    """)
    assert asked.count("stablehlo.add") == 2
    assert asked.count("stablehlo.multiply") == 1


def test_attributes_tell_kinds_apart() -> None:
    asked = questions("""
      func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
        %0 = stablehlo.reverse %a, dims = [0] : tensor<4x4xf32>
        %1 = stablehlo.reverse %0, dims = [1] : tensor<4x4xf32>
        return %1 : tensor<4x4xf32>
      }
    """)
    assert asked.count("stablehlo.reverse") == 2


def test_bodies_tell_kinds_apart() -> None:
    bodies = [("add", 0), ("maximum", 0), ("add", 1)]
    reductions = [
        REDUCE.format(result=f"r{number}", operand="a", body=body, dimension=dimension)
        for number, (body, dimension) in enumerate(bodies)
    ]
    asked = questions(f"""
      func.func @main(%a: tensor<4x4xf32>, %zero: tensor<f32>) -> tensor<4xf32> {{
        {"".join(reductions)}
        return %r0 : tensor<4xf32>
      }}
    """)
    assert asked.count("stablehlo.reduce") == 3


def test_operations_of_several_results_have_no_kind() -> None:
    types = "(tensor<4xf32>, tensor<4xf32>)"
    asked = questions(f"""
      func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {{
        %0:2 = "stablehlo.sort"(%a, %b) ({{
          ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>, %w: tensor<f32>):
            %less = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
            stablehlo.return %less : tensor<i1>
        }}) {{dimension = 0 : i64, is_stable = true}} : {types} -> {types}
        return %0#0 : tensor<4xf32>
      }}
    """)
    assert asked.count("stablehlo.sort") == 2


def fusions(text: str) -> list[Operation]:
    """The fusions of a program."""
    (body,) = [function.body for function in nimblehlo.load(text).functions.values()]
    assert body is not None
    form_fusions(body.block, lambda _: True)
    return [operation for operation in body.block.operations if is_fusion(operation)]


CHAINS = """
  func.func @main(%a: tensor<4xf32>, %b: tensor<5xf32>) -> tensor<4xf32> {{
    %0 = stablehlo.add %a, %a : tensor<4xf32>
    %1 = stablehlo.tanh %0 : tensor<4xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<4xf32>
    %3 = "stablehlo.reverse"(%2) {{dimensions = array<i64: 0>}} : (tensor<4xf32>) -> tensor<4xf32>
    %4 = "stablehlo.sort"(%3) ({{
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %less = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %less : tensor<i1>
    }}) {{dimension = 0 : i64, is_stable = true}} : (tensor<4xf32>) -> tensor<4xf32>
    %5 = stablehlo.add %4, %4 : tensor<4xf32>
    %6 = stablehlo.{function} %5 : tensor<4xf32>
    %7 = stablehlo.multiply %5, %6 : tensor<4xf32>
    return %7 : tensor<4xf32>
  }}
"""


@pytest.mark.parametrize(("function", "count"), [("tanh", 1), ("cosine", 2)])
def test_fusions_of_equal_bodies_are_one_kind(function: str, count: int) -> None:
    asked: list[Operation] = []
    answer = OperationKinds().by_kind(asked.append)
    formed = fusions(CHAINS.format(function=function))
    assert len(formed) == 2
    for fusion in formed:
        answer(fusion)
    assert len(asked) == count


def test_kinds_are_forgotten_with_their_regions() -> None:
    asked: list[Operation] = []
    kinds = OperationKinds()
    answer = kinds.by_kind(asked.append)
    first, second = fusions(CHAINS.format(function="cosine"))
    answer(first)
    first.regions = second.regions
    kinds.forget()
    answer(first)
    answer(second)
    assert asked == [first, first]
