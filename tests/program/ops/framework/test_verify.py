"""Verification of whole modules, and that each declared operation has its rejected programs."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from nimblehlo.errors import NimbleError, UnsupportedError, VerifyError
from nimblehlo.program.frontend import parse
from nimblehlo.program.ir import Module
from nimblehlo.program.ops import declarations
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.framework.verify import verify
from tests.program.ops.rejections import modules_of_tests

IDENTITY = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> }"

REJECTED = {
    "a symbol twice": (IDENTITY + IDENTITY, "defined twice"),
    "other results than declared": (
        "func.func @main(%a: tensor<2xf32>) -> tensor<3xf32> { return %a : tensor<2xf32> }",
        "declared to return",
    ),
    "a value of another branch": (
        """
        func.func @main(%p: tensor<i1>, %a: tensor<f32>) -> tensor<f32> {
          %0 = "stablehlo.if"(%p) ({
            %1 = stablehlo.negate %a : tensor<f32>
            stablehlo.return %1 : tensor<f32>
          }, {
            %2 = stablehlo.negate %1 : tensor<f32>
            stablehlo.return %2 : tensor<f32>
          }) : (tensor<i1>) -> tensor<f32>
          return %0 : tensor<f32>
        }
        """,
        "%1|definition",
    ),
    "a callee that is not there": (
        """
        func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
          %0 = func.call @other(%a) : (tensor<2xf32>) -> tensor<2xf32>
          return %0 : tensor<2xf32>
        }
        """,
        "no function @other",
    ),
    "a callee with other inputs": (
        """
        func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
          %0 = func.call @other(%a) : (tensor<2xf32>) -> tensor<2xf32>
          return %0 : tensor<2xf32>
        }
        func.func private @other(%a: tensor<3xf32>) -> tensor<2xf32> {
          %0 = stablehlo.constant dense<1.0> : tensor<2xf32>
          return %0 : tensor<2xf32>
        }
        """,
        "takes",
    ),
    "a callee with other results": (
        """
        func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
          %0 = func.call @other(%a) : (tensor<2xf32>) -> tensor<2xf32>
          return %0 : tensor<2xf32>
        }
        func.func private @other(%a: tensor<2xf32>) -> tensor<3xf32> {
          %0 = stablehlo.constant dense<1.0> : tensor<3xf32>
          return %0 : tensor<3xf32>
        }
        """,
        "returns",
    ),
    "a callee without a body": (
        """
        func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
          %0 = func.call @other(%a) : (tensor<2xf32>) -> tensor<2xf32>
          return %0 : tensor<2xf32>
        }
        func.func private @other(tensor<2xf32>) -> tensor<2xf32>
        """,
        "no body",
    ),
    "a return in the middle": (
        """
        func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
          return %a : tensor<2xf32>
          %0 = stablehlo.negate %a : tensor<2xf32>
          return %a : tensor<2xf32>
        }
        """,
        "last of its block",
    ),
    "no return": (
        "func.func @main(%a: tensor<2xf32>) { %0 = stablehlo.negate %a : tensor<2xf32> }",
        "return",
    ),
    "a result that does not follow": (
        """
        func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
          %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
          return %0 : tensor<2x3xf32>
        }
        """,
        "transpose",
    ),
}


@pytest.mark.parametrize("name", REJECTED)
def test_rejected(name: str) -> None:
    text, pattern = REJECTED[name]
    with pytest.raises((VerifyError, NimbleError), match=pattern):
        verify(parse(text))


UNSUPPORTED = {
    "recursion": (
        """
        func.func @main(%a: tensor<f32>) -> tensor<f32> {
          %0 = func.call @f(%a) : (tensor<f32>) -> tensor<f32>
          return %0 : tensor<f32>
        }
        func.func private @f(%a: tensor<f32>) -> tensor<f32> {
          %0 = func.call @g(%a) : (tensor<f32>) -> tensor<f32>
          return %0 : tensor<f32>
        }
        func.func private @g(%a: tensor<f32>) -> tensor<f32> {
          %0 = func.call @f(%a) : (tensor<f32>) -> tensor<f32>
          return %0 : tensor<f32>
        }
        """,
        "calls itself",
    ),
    "an operation in generic form": (
        'func.func @main() { "other.operation"() : () -> () return }',
        r"other\.operation",
    ),
    "an unranked type": (
        "func.func @main(%a: tensor<*xf32>) -> tensor<*xf32> { return %a : tensor<*xf32> }",
        "unranked",
    ),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_unsupported(name: str) -> None:
    text, pattern = UNSUPPORTED[name]
    with pytest.raises(UnsupportedError, match=pattern) as caught:
        verify(parse(text))
    assert caught.value.operation
    assert caught.value.location


def test_many_calls_without_recursion_are_quick() -> None:
    levels = 60
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
    verify(parse("\n".join(functions)))


def test_nested_modules_are_verified() -> None:
    with pytest.raises(VerifyError, match="declared to return"):
        verify(parse("module { module @inner { " + REJECTED["other results than declared"][0] + " } }"))


def test_each_declared_operation_has_its_rejected_programs() -> None:
    covered: set[object] = set()
    for module in modules_of_tests():
        table = getattr(module, "REJECTED", {})
        covered.update(key for key in table if isinstance(key, type))
    missing = [
        declaration.name
        for declaration in declarations()
        if declaration.declared_constraints and declaration not in covered and not declaration.is_internal
    ]
    assert not missing


GATHER = """
    %{name} = "stablehlo.gather"(%a, %i) <{{
      dimension_numbers = #stablehlo.gather<
        offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = {index}>,
      slice_sizes = array<i64: {sizes}>, indices_are_sorted = false
    }}> : (tensor<4x3xf32>, tensor<2x1xi64>) -> tensor<2x3xf32>"""


@pytest.mark.parametrize(
    ("index", "sizes", "reason"), [("1", "1, 4", "slice_sizes"), ("true", "1, 3", "index_vector_dim")]
)
def test_an_operation_that_only_resembles_one_before_is_checked(index: str, sizes: str, reason: str) -> None:
    good = GATHER.format(name=0, index=1, sizes="1, 3") + GATHER.format(name=1, index=1, sizes="1, 3")
    text = """
        func.func @main(%a: tensor<4x3xf32>, %i: tensor<2x1xi64>) -> tensor<2x3xf32> {{
          {}
          return %0 : tensor<2x3xf32>
        }}"""
    verify(parse(text.format(good)))
    with pytest.raises(NimbleError, match=reason):
        verify(parse(text.format(good + GATHER.format(name=2, index=index, sizes=sizes))))


def test_constants_of_operands_are_looked_at_each_time() -> None:
    text = """
        func.func @main(%a: tensor<4xf32>) -> tensor<?xf32> {{
          %s = stablehlo.constant dense<4> : tensor<1xi64>
          %t = stablehlo.constant dense<{}> : tensor<1xi64>
          %0 = stablehlo.dynamic_reshape %a, %s : (tensor<4xf32>, tensor<1xi64>) -> tensor<?xf32>
          %1 = stablehlo.dynamic_reshape %a, %t : (tensor<4xf32>, tensor<1xi64>) -> tensor<?xf32>
          return %1 : tensor<?xf32>
        }}"""
    verify(parse(text.format(4)))
    with pytest.raises(VerifyError, match="dynamic_reshape"):
        verify(parse(text.format(5)))


SUM = "stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0]" + (
    " : (tensor<4xf32>, tensor<f32>) -> tensor<f32>"
)
BODY = """"stablehlo.reduce"(%a, %z) ({{
          ^bb0(%x: tensor<f32>, %y: tensor<f32>):
            %s = stablehlo.add %x, {} : tensor<f32>
            stablehlo.return %s : {}
          }}) {{dimensions = array<i64: 0>}} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>"""


def reductions(*lines: str) -> Module:
    """A module with these operations in sequence."""
    operations = [*lines, "stablehlo.negate %z : tensor<f32>"]
    named = "\n".join(f"%{place} = {line}" for place, line in enumerate(operations))
    return parse(f"func.func @main(%a: tensor<4xf32>, %z: tensor<f32>) {{\n{named}\nreturn\n}}\n")


def views_checked(module: Module) -> int:
    """How many operations are looked at in full."""
    with patch.object(Op, "of", wraps=Op.of) as looked:
        verify(module)
    return looked.call_count


def test_operations_with_equal_regions_are_checked_once() -> None:
    assert views_checked(reductions(SUM, SUM, SUM)) == views_checked(reductions(SUM))
    good = BODY.format("%y", "tensor<f32>")
    assert views_checked(reductions(good, good)) == views_checked(reductions(good))
    # What comes from outside is looked at each time.
    outer = BODY.format("%z", "tensor<f32>")
    assert views_checked(reductions(outer, outer)) > views_checked(reductions(outer))


@pytest.mark.parametrize("bad", [BODY.format("%x, %y", "tensor<f32>"), BODY.format("%y", "tensor<f64>")])
def test_regions_that_only_resemble_others_are_checked(bad: str) -> None:
    good = BODY.format("%y", "tensor<f32>")
    with pytest.raises(NimbleError):
        verify(reductions(good, good, bad))
