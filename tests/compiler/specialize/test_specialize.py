"""The specializer: what it removes, what it keeps, and that results stay the same."""

from __future__ import annotations

import numpy as np
import pytest

from nimblehlo.compiler.specialize import inline, specialize
from nimblehlo.compiler.specialize.framework.constants import MAX_WORK
from nimblehlo.errors import ExecutionError, NimbleError, UnsupportedError
from nimblehlo.program.frontend import parse
from nimblehlo.program.ir import DenseElementsAttribute, Function
from nimblehlo.program.ir.location import source_line
from nimblehlo.program.ops.framework.verify import verify
from nimblehlo.types import ELEMENT_TYPES, TensorType


def specialized(text: str, *argument_types: TensorType) -> Function:
    module = parse(text)
    verify(module)
    return specialize(module, "main", argument_types or None)


def names(function: Function) -> list[str]:
    assert function.body is not None
    return [operation.name for operation in function.body.walk()]


def tensor(*shape: int, element_type: str = "f32") -> TensorType:
    return TensorType(shape, ELEMENT_TYPES[element_type])


def test_calls_are_inlined_however_deep() -> None:
    function = specialized("""
    func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %0 = func.call @outer(%a) : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }
    func.func private @outer(%a: tensor<2xf32>) -> tensor<2xf32> {
      %0 = func.call @inner(%a) : (tensor<2xf32>) -> tensor<2xf32>
      %1 = func.call @inner(%0) : (tensor<2xf32>) -> tensor<2xf32>
      return %1 : tensor<2xf32>
    }
    func.func private @inner(%a: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.exponential %a : tensor<2xf32>
      return %0 : tensor<2xf32>
    }
    """)
    assert names(function) == ["stablehlo.exponential", "stablehlo.exponential", "func.return"]


def test_calls_inside_regions_are_inlined() -> None:
    function = specialized("""
    func.func @main(%p: tensor<i1>, %a: tensor<f32>) -> tensor<f32> {
      %0 = "stablehlo.if"(%p) ({
        %1 = func.call @f(%a) : (tensor<f32>) -> tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }, {
        stablehlo.return %a : tensor<f32>
      }) : (tensor<i1>) -> tensor<f32>
      return %0 : tensor<f32>
    }
    func.func private @f(%a: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.negate %a : tensor<f32>
      return %0 : tensor<f32>
    }
    """)
    assert "func.call" not in names(function)
    assert "stablehlo.negate" in names(function)


def doubling_calls(levels: int) -> str:
    """A chain of functions that each call the next twice."""
    functions = [
        f"""
        func.func private @f{level}(%a: tensor<f32>) -> tensor<f32> {{
          %0 = func.call @f{level + 1}(%a) : (tensor<f32>) -> tensor<f32>
          %1 = func.call @f{level + 1}(%0) : (tensor<f32>) -> tensor<f32>
          return %1 : tensor<f32>
        }}"""
        for level in range(levels)
    ]
    functions.append(
        f"func.func private @f{levels}(%a: tensor<f32>) -> tensor<f32> {{ return %a : tensor<f32> }}"
    )
    functions.append("""
    func.func @main(%a: tensor<f32>) -> tensor<f32> {
      %0 = func.call @f0(%a) : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }""")
    return "\n".join(functions)


def test_inlining_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is copied before the operations are counted: copying up to the limit takes seconds."""
    module = parse(doubling_calls(9))
    body = module.functions["main"].body
    assert body is not None
    inliner = inline._Inliner(module)
    # Each level has two calls and a return for each function of the level before, and the last one a return.
    limit = 2 + 3 * (2**9 - 1) + 2**9
    assert inliner.inlined_operations(body) == limit
    monkeypatch.setattr(inline, "MAX_INLINED_OPERATIONS", limit)
    specialized(doubling_calls(9))
    monkeypatch.setattr(inline._Inliner, "copy_region", lambda *_: pytest.fail("a region was copied"))
    for levels in (10, 300):
        with pytest.raises(UnsupportedError, match=f"more than {limit} operations"):
            specialized(doubling_calls(levels))


def test_folded_constants_stay_within_bounds() -> None:
    function = specialized("""
    func.func @main() -> (tensor<4xi32>, tensor<500000xf32>, tensor<1000000xi32>) {
      %0 = stablehlo.iota dim = 0 : tensor<4xi32>
      %1 = stablehlo.add %0, %0 : tensor<4xi32>
      %2 = stablehlo.constant dense<2.0> : tensor<f32>
      %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<1000000xf32>
      %5 = stablehlo.slice %3 [0:1000000:2] : (tensor<1000000xf32>) -> tensor<500000xf32>
      %4 = stablehlo.iota dim = 0 : tensor<1000000xi32>
      return %1, %5, %4 : tensor<4xi32>, tensor<500000xf32>, tensor<1000000xi32>
    }
    """)
    assert names(function) == ["stablehlo.constant", "stablehlo.constant", "stablehlo.iota", "func.return"]
    assert function.body is not None
    first, second = (operation.attributes["value"] for operation in function.body.block.operations[:2])
    assert isinstance(first, DenseElementsAttribute)
    assert first.array.tolist() == [0, 2, 4, 6]
    assert isinstance(second, DenseElementsAttribute)
    assert second.is_splat


def test_folding_is_bounded() -> None:
    product = specialized("""
    func.func @main() -> tensor<1x1xf32> {
      %0 = stablehlo.constant dense<2.0> : tensor<1x1000000000xf32>
      %1 = stablehlo.constant dense<2.0> : tensor<1000000000x1xf32>
      %2 = stablehlo.dot %0, %1 : (tensor<1x1000000000xf32>, tensor<1000000000x1xf32>) -> tensor<1x1xf32>
      return %2 : tensor<1x1xf32>
    }
    """)
    assert "stablehlo.dot" in names(product)
    count = 2 * MAX_WORK // (3 * 16384)
    lines = [f"%{n + 1} = stablehlo.add %{n}, %{n} : tensor<16384xi32>" for n in range(count)]
    start = "%0 = stablehlo.iota dim = 0 : tensor<16384xi32>"
    result = f"return %{len(lines)} : tensor<16384xi32>"
    text = "\n".join(["func.func @main() -> tensor<16384xi32> {", start, *lines, result, "}"])
    assert 0 < names(specialized(text)).count("stablehlo.add") < len(lines)


def test_folding_leaves_errors_to_the_run() -> None:
    function = specialized("""
    func.func @main() {
      %0 = stablehlo.constant dense<1> : tensor<i32>
      check.expect_eq_const %0, dense<2> : tensor<i32>
      return
    }
    """)
    assert "check.expect_eq_const" in names(function)


def test_common_subexpressions_are_computed_once() -> None:
    function = specialized("""
    func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.exponential %a : tensor<2xf32>
      %1 = stablehlo.exponential %a : tensor<2xf32>
      %2 = stablehlo.subtract %0, %1 : tensor<2xf32>
      return %2 : tensor<2xf32>
    }
    """)
    assert names(function) == ["stablehlo.exponential", "stablehlo.subtract", "func.return"]


@pytest.mark.parametrize(("a", "b"), [("0.0", "-0.0"), ("1.0", "2.0")])
def test_different_constants_are_not_confused(a: str, b: str) -> None:
    function = specialized(f"""
    func.func @main() -> (tensor<f32>, tensor<f32>) {{
      %0 = stablehlo.constant dense<{a}> : tensor<f32>
      %1 = stablehlo.constant dense<{b}> : tensor<f32>
      return %0, %1 : tensor<f32>, tensor<f32>
    }}
    """)
    assert names(function).count("stablehlo.constant") == 2


def test_dead_code_goes_and_effects_stay() -> None:
    function = specialized("""
    func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.exponential %a : tensor<2xf32>
      %1 = stablehlo.negate %0 : tensor<2xf32>
      check.expect_eq %a, %a : tensor<2xf32>
      return %a : tensor<2xf32>
    }
    """)
    assert names(function) == ["check.expect_eq", "func.return"]


def test_regions_see_what_stands_for_removed_values() -> None:
    function = specialized("""
    func.func @main(%p: tensor<i1>, %a: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.exponential %a : tensor<f32>
      %1 = stablehlo.exponential %a : tensor<f32>
      %2 = "stablehlo.if"(%p) ({
        %3 = stablehlo.exponential %a : tensor<f32>
        stablehlo.return %3 : tensor<f32>
      }, {
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<i1>) -> tensor<f32>
      return %2 : tensor<f32>
    }
    """)
    assert names(function).count("stablehlo.exponential") == 1


def test_the_module_is_left_as_it_was() -> None:
    module = parse("""
    func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %0 = func.call @f(%a) : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }
    func.func private @f(%a: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.negate %a : tensor<2xf32>
      return %0 : tensor<2xf32>
    }
    """)
    verify(module)
    before = str(module)
    specialize(module, "main")
    assert str(module) == before


def test_sizes_follow_from_the_arguments() -> None:
    text = """
    func.func @main(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %0 = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
      %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
      %2 = stablehlo.constant dense<4> : tensor<1xi32>
      %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %4 = stablehlo.dynamic_iota %3, dim = 0 : (tensor<2xi32>) -> tensor<?x4xf32>
      %5 = stablehlo.add %a, %4 : tensor<?x4xf32>
      return %5 : tensor<?x4xf32>
    }
    """
    function = specialized(text, tensor(3, 4))
    assert function.body is not None
    assert function.type.results == (tensor(3, 4),)
    assert all(result.type.is_static for operation in function.body.walk() for result in operation.results)
    assert "stablehlo.get_dimension_size" not in names(function)


def test_sizes_that_contradict_are_named() -> None:
    text = """
    func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
      %0 = stablehlo.add %a, %b : tensor<?xf32>
      return %0 : tensor<?xf32>
    }
    """
    assert specialized(text, tensor(3), tensor(3)).type.results == (tensor(3),)
    with pytest.raises(ExecutionError) as caught:
        specialized(text, tensor(3), tensor(4))
    assert caught.value.operation == "stablehlo.add"
    assert caught.value.label
    assert caught.value.location


def test_loops_carry_sizes() -> None:
    text = """
    func.func @main(%a: tensor<?xf32>, %n: tensor<i32>) -> tensor<?xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<?xf32>
      cond {
        %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %j = stablehlo.add %i, %one : tensor<i32>
        %y = stablehlo.add %x, %x : tensor<?xf32>
        stablehlo.return %j, %y : tensor<i32>, tensor<?xf32>
      }
      return %0#1 : tensor<?xf32>
    }
    """
    assert specialized(text, tensor(5), tensor(element_type="i32")).type.results == (tensor(5),)


def test_loops_whose_sizes_change_stay_dynamic_and_run() -> None:
    import nimblehlo

    text = """
    func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.constant dense<3> : tensor<i32>
      %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<?xf32>
      cond {
        %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %j = stablehlo.add %i, %one : tensor<i32>
        %y = stablehlo.concatenate %x, %x, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
        stablehlo.return %j, %y : tensor<i32>, tensor<?xf32>
      }
      return %0#1 : tensor<?xf32>
    }
    """
    (result,) = nimblehlo.execute(text, [np.array([1, 2], np.float32)])
    assert result.tolist() == [1, 2] * 8


def test_entry_must_exist_and_have_a_body() -> None:
    module = parse("func.func private @f(tensor<f32>) -> tensor<f32>")
    with pytest.raises(NimbleError, match="no function @main"):
        specialize(module, "main")
    with pytest.raises(NimbleError, match="no body"):
        specialize(module, "f")


def test_equal_reductions_are_computed_once() -> None:
    text = """
      func.func @main(%x: tensor<4x6xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %a = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
            : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
        %b = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
            : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
        %c = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1]
            : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
        return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
      }"""
    function = specialize(parse(text), "main")
    assert function.body is not None
    names = [operation.name for operation in function.body.block.operations]
    assert names.count("stablehlo.reduce") == 2


def test_what_repeats_only_once_it_is_simpler_is_simplified_with_it() -> None:
    """Two ways to one shape are one operation after a pass, whose maximum with itself goes in another one."""
    function = specialized(
        """func.func @main(%a: tensor<6xi32>) -> tensor<2x3xi32> {
  %0 = stablehlo.reshape %a : (tensor<6xi32>) -> tensor<3x2xi32>
  %1 = stablehlo.reshape %0 : (tensor<3x2xi32>) -> tensor<2x3xi32>
  %2 = stablehlo.reshape %a : (tensor<6xi32>) -> tensor<1x6xi32>
  %3 = stablehlo.reshape %2 : (tensor<1x6xi32>) -> tensor<2x3xi32>
  %4 = stablehlo.maximum %1, %3 : tensor<2x3xi32>
  return %4 : tensor<2x3xi32>
}"""
    )
    assert names(function) == ["stablehlo.reshape", "func.return"]


def test_operations_of_callees_without_lines_name_those_of_their_calls() -> None:
    module = parse(
        """
        func.func @main(%x: tensor<f32>) -> tensor<f32> {
          %0 = func.call @outer(%x) : (tensor<f32>) -> tensor<f32> loc("call"("user.py":3:1))
          return %0 : tensor<f32>
        }
        func.func private @outer(%x: tensor<f32>) -> tensor<f32> {
          %0 = func.call @inner(%x) : (tensor<f32>) -> tensor<f32> loc("library")
          %1 = stablehlo.sine %0 : tensor<f32> loc("sin")
          return %1 : tensor<f32>
        }
        func.func private @inner(%x: tensor<f32>) -> tensor<f32> {
          %0 = stablehlo.cosine %x : tensor<f32> loc("cos")
          %1 = stablehlo.negate %0 : tensor<f32> loc("neg"("user.py":9:1))
          return %1 : tensor<f32>
        }
        """
    )
    body = inline.inline_calls(module, module.functions["main"]).body
    assert body is not None
    lines = {one.name: source_line(one.location) for one in body.walk()}
    assert lines["stablehlo.sine"] == "user.py:3" == lines["stablehlo.cosine"]
    assert lines["stablehlo.negate"] == "user.py:9"
