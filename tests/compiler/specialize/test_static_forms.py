"""Dynamic operations become static ones once their sizes are constants."""

from __future__ import annotations

import numpy as np
import pytest

import nimblehlo
from nimblehlo.compiler.specialize.rewrites.identities import (
    asserted_condition,
    identity_operand,
    raise_failed_assertion,
)
from nimblehlo.compiler.specialize.shapes import result_types
from nimblehlo.compiler.specialize.size_propagation import static_form
from nimblehlo.program.ir import Operation
from nimblehlo.program.ops.shape.static_forms import STATIC_FORMS
from tests.program.ops.rejections import program


def last(text: str) -> Operation:
    """The operation of a program."""
    function = nimblehlo.load(text).functions["main"]
    assert function.body is not None
    return function.body.block.operations[-2]


def sizes(*values: int) -> str:
    return f"dense<{list(values)}> : tensor<{len(values)}xi64>"


GATHER = (
    "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], "
    "start_index_map = [0], index_vector_dim = 1>"
)
CONVOLUTION = (
    "batch_group_count = 1 : i64, feature_group_count = 1 : i64, "
    "dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>"
)
DYNAMIC = [
    (
        program(
            "stablehlo.dynamic_broadcast_in_dim",
            ["tensor<?xf32>", sizes(2, 3)],
            ["tensor<?x?xf32>"],
            "broadcast_dimensions = array<i64: 1>, known_expanding_dimensions = array<i64: 0>",
        ),
        "stablehlo.broadcast_in_dim",
        "tensor<2x3xf32>",
    ),
    (
        program("stablehlo.dynamic_reshape", ["tensor<6xf32>", sizes(2, 3)], ["tensor<?x?xf32>"]),
        "stablehlo.reshape",
        "tensor<2x3xf32>",
    ),
    (
        program("stablehlo.dynamic_iota", [sizes(2, 3)], ["tensor<?x?xf32>"], "iota_dimension = 1 : i64"),
        "stablehlo.iota",
        "tensor<2x3xf32>",
    ),
    (
        program(
            "stablehlo.dynamic_pad",
            ["tensor<2xf32>", "tensor<f32>", sizes(1), sizes(-1), sizes(2)],
            ["tensor<?xf32>"],
        ),
        "stablehlo.pad",
        "tensor<4xf32>",
    ),
    (
        program(
            "stablehlo.real_dynamic_slice",
            ["tensor<5xf32>", sizes(1), sizes(5), sizes(2)],
            ["tensor<?xf32>"],
        ),
        "stablehlo.slice",
        "tensor<2xf32>",
    ),
    (
        program(
            "stablehlo.dynamic_gather",
            ["tensor<3x4xf32>", "tensor<5x1xi64>", sizes(1, 2)],
            ["tensor<5x?xf32>"],
            GATHER,
        ),
        "stablehlo.gather",
        "tensor<5x2xf32>",
    ),
    (
        program(
            "stablehlo.dynamic_conv",
            ["tensor<1x4x1xf32>", "tensor<3x1x1xf32>", "dense<[[1, 1]]> : tensor<1x2xi64>"],
            ["tensor<1x?x1xf32>"],
            CONVOLUTION,
        ),
        "stablehlo.convolution",
        "tensor<1x4x1xf32>",
    ),
]


@pytest.mark.parametrize(("text", "name", "type"), DYNAMIC)
def test_known_sizes_give_the_static_operation(text: str, name: str, type: str) -> None:
    dynamic = last(text)
    static = static_form(dynamic)
    assert static.name == STATIC_FORMS[dynamic.name].name == name
    assert str(static.result.type) == type
    assert static.location is dynamic.location


def test_the_dialect_has_no_other_dynamic_operation() -> None:
    named = {name for name in STATIC_FORMS if name.startswith("stablehlo.")}
    assert named == {last(text).name for text, _, _ in DYNAMIC}


def test_sizes_that_are_not_constant_leave_the_operation() -> None:
    text = program("stablehlo.dynamic_reshape", ["tensor<6xf32>", "tensor<2xi64>"], ["tensor<?x?xf32>"])
    dynamic = last(text)
    assert static_form(dynamic) is dynamic


def test_sizes_that_break_a_constraint_are_left_to_the_run() -> None:
    """A branch that is never taken may hold them: they are no error before."""
    text = """
    func.func @main(%p: tensor<i1>, %a: tensor<6xf32>) -> tensor<6xf32> {
      %two = stablehlo.constant dense<2> : tensor<1xi64>
      %0 = "stablehlo.if"(%p) ({
        %n = stablehlo.add %two, %two : tensor<1xi64>
        %1 = stablehlo.dynamic_reshape %a, %n : (tensor<6xf32>, tensor<1xi64>) -> tensor<6xf32>
        stablehlo.return %1 : tensor<6xf32>
      }, {
        stablehlo.return %a : tensor<6xf32>
      }) : (tensor<i1>) -> tensor<6xf32>
      %2 = stablehlo.reshape %0 : (tensor<6xf32>) -> tensor<6xf32>
      return %2 : tensor<6xf32>
    }
    """
    a = np.arange(6, dtype=np.float32)
    (result,) = nimblehlo.execute(text, [np.array(False), a])
    assert result.tolist() == a.tolist()
    with pytest.raises(nimblehlo.ExecutionError):
        nimblehlo.execute(text, [np.array(True), a])


@pytest.mark.parametrize(
    ("text", "type"),
    [
        (program("stablehlo.convert", ["tensor<3xi32>"], ["tensor<?xf32>"]), "tensor<3xf32>"),
        (program("stablehlo.bitcast_convert", ["tensor<3xi32>"], ["tensor<?x4xi8>"]), "tensor<3x4xi8>"),
        (program("stablehlo.bitcast_convert", ["tensor<3x4xi8>"], ["tensor<?xi32>"]), "tensor<3xi32>"),
        (program("stablehlo.bitcast_convert", ["tensor<3xi32>"], ["tensor<?xf32>"]), "tensor<3xf32>"),
        (program("stablehlo.cholesky", ["tensor<2x3x3xf32>"], ["tensor<?x3x3xf32>"]), "tensor<2x3x3xf32>"),
        (
            program("stablehlo.reshape", ["tensor<3x2xf32>"], ["tensor<2x?xf32, #stablehlo.bounds<?, 5>>"]),
            "tensor<2x3xf32>",
        ),
        (
            program(
                "stablehlo.broadcast_in_dim",
                ["tensor<2xf32>"],
                ["tensor<?x?xf32, #stablehlo.bounds<5, 4>>"],
                "broadcast_dimensions = array<i64: 0>",
            ),
            "tensor<2x4xf32>",
        ),
    ],
)
def test_shapes_follow_from_operands(text: str, type: str) -> None:
    assert [str(one) for one in result_types(last(text))] == [type]


def test_operations_that_change_nothing() -> None:
    same = last(program("stablehlo.reshape", ["tensor<2xf32>"], ["tensor<2xf32>"]))
    assert identity_operand(same) is same.operands[0]
    other = last(program("stablehlo.reshape", ["tensor<2xf32>"], ["tensor<2x1xf32>"]))
    assert identity_operand(other) is None


@pytest.mark.parametrize(
    ("condition", "holds"),
    [("dense<true> : tensor<i1>", True), ("dense<false> : tensor<i1>", False), ("tensor<i1>", None)],
)
def test_assertions_on_constants(condition: str, holds: bool | None) -> None:
    attributes = 'call_target_name = "shape_assertion", error_message = "no"'
    assertion = last(program("stablehlo.custom_call", [condition], [], attributes))
    assert asserted_condition(assertion) is holds
    if holds is False:
        with pytest.raises(nimblehlo.ExecutionError, match="no"):
            raise_failed_assertion(assertion)
