"""Rewrites of operations that move elements: reshape, broadcast, transpose, slice, pad, concatenate."""

from __future__ import annotations

import numpy as np
import pytest

import nimblehlo
from nimblehlo.execution.program import Program
from tests.compiler.specialize.simplified import assert_becomes, edge_values, function, left, simplified
from tests.support.running import same_bits

A = "%a: tensor<2x3x4xf32>"
SHAPED = {
    "reshape to the same": (
        "%0 = stablehlo.reshape %a : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>",
        "2x3x4xf32",
        [],
    ),
    "reshape twice": (
        """%1 = stablehlo.reshape %a : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
        %0 = stablehlo.reshape %1 : (tensor<6x4xf32>) -> tensor<24xf32>""",
        "24xf32",
        ["reshape"],
    ),
    "reshape there and back": (
        """%1 = stablehlo.reshape %a : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
        %0 = stablehlo.reshape %1 : (tensor<6x4xf32>) -> tensor<2x3x4xf32>""",
        "2x3x4xf32",
        [],
    ),
    "broadcast twice": (
        """%1 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<3xf32>) -> tensor<5x3xf32>
        %0 = stablehlo.broadcast_in_dim %1, dims = [2, 0] : (tensor<5x3xf32>) -> tensor<3x7x5xf32>""",
        "3x7x5xf32",
        ["broadcast_in_dim"],
    ),
    "broadcast of added ones": (
        """%1 = stablehlo.reshape %v : (tensor<3xf32>) -> tensor<3x1xf32>
        %0 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x4xf32>""",
        "3x4xf32",
        ["broadcast_in_dim"],
    ),
    "broadcast that only adds ones": (
        "%0 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<3xf32>) -> tensor<1x3x1xf32>",
        "1x3x1xf32",
        ["reshape"],
    ),
    "broadcast that only permutes": (
        "%0 = stablehlo.broadcast_in_dim %a, dims = [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>",
        "4x2x3xf32",
        ["transpose"],
    ),
    "broadcast that changes nothing": (
        "%0 = stablehlo.broadcast_in_dim %a, dims = [0, 1, 2] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>",
        "2x3x4xf32",
        [],
    ),
    "reshape of a broadcast": (
        """%1 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<3xf32>) -> tensor<5x3x1xf32>
        %0 = stablehlo.reshape %1 : (tensor<5x3x1xf32>) -> tensor<1x5x3xf32>""",
        "1x5x3xf32",
        ["broadcast_in_dim"],
    ),
    "reshape that joins a broadcast's dimensions": (
        """%1 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<3xf32>) -> tensor<5x3xf32>
        %0 = stablehlo.reshape %1 : (tensor<5x3xf32>) -> tensor<15xf32>""",
        "15xf32",
        ["broadcast_in_dim", "reshape"],
    ),
    "reshape of one element everywhere": (
        """%1 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<5x3xf32>
        %0 = stablehlo.reshape %1 : (tensor<5x3xf32>) -> tensor<15xf32>""",
        "15xf32",
        ["broadcast_in_dim"],
    ),
    "transpose twice": (
        """%1 = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
        %0 = stablehlo.transpose %1, dims = [2, 0, 1] : (tensor<4x2x3xf32>) -> tensor<3x4x2xf32>""",
        "3x4x2xf32",
        ["transpose"],
    ),
    "transpose there and back": (
        """%1 = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
        %0 = stablehlo.transpose %1, dims = [1, 2, 0] : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>""",
        "2x3x4xf32",
        [],
    ),
    "transpose of ones": (
        """%1 = stablehlo.slice %a [0:1, 0:3, 0:4] : (tensor<2x3x4xf32>) -> tensor<1x3x4xf32>
        %0 = stablehlo.transpose %1, dims = [1, 0, 2] : (tensor<1x3x4xf32>) -> tensor<3x1x4xf32>""",
        "3x1x4xf32",
        ["slice", "reshape"],
    ),
    "transpose of a broadcast": (
        """%1 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<3xf32>) -> tensor<5x3xf32>
        %0 = stablehlo.transpose %1, dims = [1, 0] : (tensor<5x3xf32>) -> tensor<3x5xf32>""",
        "3x5xf32",
        ["broadcast_in_dim"],
    ),
    "reverse twice": (
        """%1 = stablehlo.reverse %a, dims = [0, 1] : tensor<2x3x4xf32>
        %0 = stablehlo.reverse %1, dims = [1, 2] : tensor<2x3x4xf32>""",
        "2x3x4xf32",
        ["reverse", "reverse"],
    ),
    "reverse of a broadcast": (
        """%1 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<3xf32>) -> tensor<5x3xf32>
        %0 = stablehlo.reverse %1, dims = [0] : tensor<5x3xf32>""",
        "5x3xf32",
        ["broadcast_in_dim"],
    ),
    "slice of all": (
        "%0 = stablehlo.slice %a [0:2, 0:3, 0:4] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>",
        "2x3x4xf32",
        [],
    ),
    "slice of a slice": (
        """%1 = stablehlo.slice %a [1:2, 0:3:2, 1:4] : (tensor<2x3x4xf32>) -> tensor<1x2x3xf32>
        %0 = stablehlo.slice %1 [0:1, 1:2, 0:3:2] : (tensor<1x2x3xf32>) -> tensor<1x1x2xf32>""",
        "1x1x2xf32",
        ["slice"],
    ),
    "empty slice of a slice": (
        """%1 = stablehlo.slice %a [1:2, 0:3:2, 1:4] : (tensor<2x3x4xf32>) -> tensor<1x2x3xf32>
        %0 = stablehlo.slice %1 [0:1, 2:2, 0:3] : (tensor<1x2x3xf32>) -> tensor<1x0x3xf32>""",
        "1x0x3xf32",
        [],
    ),
    "slice of a broadcast": (
        """%1 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<3xf32>) -> tensor<5x3xf32>
        %0 = stablehlo.slice %1 [1:4, 1:3] : (tensor<5x3xf32>) -> tensor<3x2xf32>""",
        "3x2xf32",
        ["slice", "broadcast_in_dim"],
    ),
    "slice of a transpose": (
        """%1 = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
        %0 = stablehlo.slice %1 [1:4:2, 0:2, 1:2] : (tensor<4x2x3xf32>) -> tensor<2x2x1xf32>""",
        "2x2x1xf32",
        ["slice", "transpose"],
    ),
    "slice of one input": (
        """%1 = stablehlo.concatenate %v, %w, dim = 0 : (tensor<3xf32>, tensor<5xf32>) -> tensor<8xf32>
        %0 = stablehlo.slice %1 [4:7] : (tensor<8xf32>) -> tensor<3xf32>""",
        "3xf32",
        ["slice"],
    ),
    "slice of two of three inputs": (
        """%1 = stablehlo.concatenate %v, %w, %v, dim = 0 : (tensor<3xf32>, tensor<5xf32>, tensor<3xf32>)
          -> tensor<11xf32>
        %0 = stablehlo.slice %1 [4:10:2] : (tensor<11xf32>) -> tensor<3xf32>""",
        "3xf32",
        ["concatenate", "slice"],
    ),
    "pad of nothing": (
        """%0 = stablehlo.pad %w, %s, low = [0], high = [0], interior = [0] : (tensor<5xf32>, tensor<f32>)
          -> tensor<5xf32>""",
        "5xf32",
        [],
    ),
    "pad that only removes": (
        """%0 = stablehlo.pad %w, %s, low = [-1], high = [-2], interior = [0] : (tensor<5xf32>, tensor<f32>)
          -> tensor<2xf32>""",
        "2xf32",
        ["slice"],
    ),
    "pad between elements": (
        """%0 = stablehlo.pad %w, %s, low = [0], high = [0], interior = [1] : (tensor<5xf32>, tensor<f32>)
          -> tensor<9xf32>""",
        "9xf32",
        ["pad"],
    ),
    "pad of an empty operand": (
        """%1 = stablehlo.slice %w [2:2] : (tensor<5xf32>) -> tensor<0xf32>
        %0 = stablehlo.pad %1, %s, low = [2], high = [1], interior = [0] : (tensor<0xf32>, tensor<f32>)
          -> tensor<3xf32>""",
        "3xf32",
        ["pad"],
    ),
    "concatenate of one": (
        "%0 = stablehlo.concatenate %v, dim = 0 : (tensor<3xf32>) -> tensor<3xf32>",
        "3xf32",
        [],
    ),
    "concatenate with an empty input": (
        """%1 = stablehlo.slice %w [2:2] : (tensor<5xf32>) -> tensor<0xf32>
        %0 = stablehlo.concatenate %1, %v, %1, dim = 0 : (tensor<0xf32>, tensor<3xf32>, tensor<0xf32>)
          -> tensor<3xf32>""",
        "3xf32",
        [],
    ),
    "concatenate of empty inputs": (
        """%1 = stablehlo.slice %w [2:2] : (tensor<5xf32>) -> tensor<0xf32>
        %0 = stablehlo.concatenate %1, %1, dim = 0 : (tensor<0xf32>, tensor<0xf32>) -> tensor<0xf32>""",
        "0xf32",
        [],
    ),
    "concatenate of a concatenate": (
        """%1 = stablehlo.concatenate %v, %w, dim = 0 : (tensor<3xf32>, tensor<5xf32>) -> tensor<8xf32>
        %0 = stablehlo.concatenate %v, %1, dim = 0 : (tensor<3xf32>, tensor<8xf32>) -> tensor<11xf32>""",
        "11xf32",
        ["concatenate"],
    ),
    "concatenate of neighbours": (
        """%1 = stablehlo.slice %w [0:2] : (tensor<5xf32>) -> tensor<2xf32>
        %2 = stablehlo.slice %w [2:5] : (tensor<5xf32>) -> tensor<3xf32>
        %0 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>""",
        "5xf32",
        ["slice", "slice", "concatenate"],
    ),
    "concatenate of slices that do not meet": (
        """%1 = stablehlo.slice %w [0:2] : (tensor<5xf32>) -> tensor<2xf32>
        %2 = stablehlo.slice %w [3:5] : (tensor<5xf32>) -> tensor<2xf32>
        %0 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>""",
        "4xf32",
        ["slice", "slice", "concatenate"],
    ),
    "concatenate of one element everywhere": (
        """%1 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2xf32>
        %2 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<3xf32>
        %0 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>""",
        "5xf32",
        ["broadcast_in_dim", "broadcast_in_dim", "concatenate"],
    ),
    "dynamic_slice at constants": (
        """%1 = stablehlo.constant dense<-1> : tensor<i32>
        %2 = stablehlo.constant dense<9> : tensor<i32>
        %0 = stablehlo.dynamic_slice %a, %1, %2, %i, sizes = [1, 2, 4] : (tensor<2x3x4xf32>, tensor<i32>,
          tensor<i32>, tensor<i32>) -> tensor<1x2x4xf32>""",
        "1x2x4xf32",
        ["slice"],
    ),
    "dynamic_slice at an operand": (
        """%0 = stablehlo.dynamic_slice %a, %i, %i, %i, sizes = [2, 2, 4] : (tensor<2x3x4xf32>, tensor<i32>,
          tensor<i32>, tensor<i32>) -> tensor<2x2x4xf32>""",
        "2x2x4xf32",
        ["dynamic_slice"],
    ),
    "dynamic_update_slice of all": (
        """%1 = stablehlo.negate %w : tensor<5xf32>
        %0 = stablehlo.dynamic_update_slice %w, %1, %i : (tensor<5xf32>, tensor<5xf32>, tensor<i32>)
          -> tensor<5xf32>""",
        "5xf32",
        ["negate", "dynamic_update_slice"],
    ),
    "dynamic_update_slice of nothing": (
        """%1 = stablehlo.slice %w [2:2] : (tensor<5xf32>) -> tensor<0xf32>
        %0 = stablehlo.dynamic_update_slice %w, %1, %i : (tensor<5xf32>, tensor<0xf32>, tensor<i32>)
          -> tensor<5xf32>""",
        "5xf32",
        ["dynamic_update_slice"],
    ),
}


@pytest.mark.parametrize("case", SHAPED)
def test_movement(case: str) -> None:
    lines, type, expected = SHAPED[case]
    arguments = f"{A}, %v: tensor<3xf32>, %w: tensor<5xf32>, %s: tensor<f32>, %i: tensor<i32>"
    assert_becomes(function(arguments, f"tensor<{type}>", f"{lines}\nreturn %0 : tensor<{type}>"), expected)


@pytest.mark.parametrize(
    ("lines", "type", "expected"),
    [
        (
            "%0 = stablehlo.broadcast_in_dim %i, dims = [1] : (tensor<20000xi32>) -> tensor<3x20000xi32>",
            "3x20000",
            "broadcast_in_dim",
        ),
        ("%0 = stablehlo.reshape %i : (tensor<20000xi32>) -> tensor<20000x1xi32>", "20000x1", "reshape"),
        ("%0 = stablehlo.slice %i [0:17000] : (tensor<20000xi32>) -> tensor<17000xi32>", "17000", "slice"),
        ("%0 = stablehlo.slice %i [1:17001] : (tensor<20000xi32>) -> tensor<17000xi32>", "17000", "slice"),
    ],
)
def test_movements_of_iota(lines: str, type: str, expected: str) -> None:
    body = f"%i = stablehlo.iota dim = 0 : tensor<20000xi32>\n{lines}\nreturn %0 : tensor<{type}xi32>"
    made = assert_becomes(function("", f"tensor<{type}xi32>", body), ["iota", expected])
    assert made.body is not None


def test_unknown_sizes_are_left_alone() -> None:
    body = """%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<?x4xf32>) -> tensor<4x?xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x?xf32>) -> tensor<?x4xf32>
    return %1 : tensor<?x4xf32>"""
    assert left(simplified(function("%a: tensor<?x4xf32>", "tensor<?x4xf32>", body))) == [
        "transpose",
        "transpose",
    ]


def test_a_component_of_unknown_size_is_left_alone() -> None:
    """Even where the result's size is known: whether the sizes fit is seen at run time."""
    body = """%0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
    %1 = stablehlo.reshape %0 : (tensor<?xi32>) -> tensor<?x1xi32>
    %2 = stablehlo.concatenate %1, %a, dim = 1 : (tensor<?x1xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
    %3 = stablehlo.slice %2 [0:3, 1:2] : (tensor<3x2xi32>) -> tensor<3x1xi32>
    %4 = "stablehlo.gather"(%x, %2) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1],
      start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}
      : (tensor<3x4xf32>, tensor<3x2xi32>) -> tensor<3xf32>
    return %3, %4 : tensor<3x1xi32>, tensor<3xf32>"""
    arguments = "%n: tensor<1xi32>, %a: tensor<3x1xi32>, %x: tensor<3x4xf32>"
    text = function(arguments, "tensor<3x1xi32>, tensor<3xf32>", body)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    a = np.array([[2], [0], [3]], np.int32)
    column, taken = nimblehlo.execute(text, [np.array([3], np.int32), a, x])
    np.testing.assert_array_equal(column, a)
    np.testing.assert_array_equal(taken, x[[0, 1, 2], [2, 0, 3]])
    with pytest.raises(nimblehlo.ExecutionError, match="concatenate"):
        nimblehlo.execute(text, [np.array([2], np.int32), a, x])


@pytest.mark.parametrize(
    ("dims", "batch", "expected"),
    [("[1, 0]", "", ["transpose", "dot_general"]), ("[0, 1]", "", ["dot_general"])],
)
def test_dot_of_a_transpose(dims: str, batch: str, expected: list[str]) -> None:
    shape = "4x3" if dims == "[1, 0]" else "3x4"
    body = f"""%0 = stablehlo.transpose %a, dims = {dims} : (tensor<{shape}xf32>) -> tensor<3x4xf32>
    %1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x5xf32>)
      -> tensor<3x5xf32>
    return %1 : tensor<3x5xf32>"""
    arguments = f"%a: tensor<{shape}xf32>, %b: tensor<4x5xf32>"
    assert_becomes(function(arguments, "tensor<3x5xf32>", body), expected)


def test_dot_whose_free_dimensions_are_permuted_keeps_its_transpose() -> None:
    body = """%0 = stablehlo.transpose %a, dims = [1, 0, 2] : (tensor<3x2x4xf32>) -> tensor<2x3x4xf32>
    %1 = stablehlo.dot_general %0, %b, contracting_dims = [2] x [0] : (tensor<2x3x4xf32>, tensor<4x5xf32>)
      -> tensor<2x3x5xf32>
    return %1 : tensor<2x3x5xf32>"""
    arguments = "%a: tensor<3x2x4xf32>, %b: tensor<4x5xf32>"
    assert_becomes(function(arguments, "tensor<2x3x5xf32>", body), ["transpose", "dot_general"])


@pytest.mark.parametrize(
    ("name", "type", "initial", "goes"),
    [
        ("and", "i1", "true", True),
        ("or", "i1", "false", True),
        ("and", "i1", "false", False),
        ("add", "i32", "0", True),
        ("add", "i32", "1", False),
        ("maximum", "i8", "-128", True),
        ("minimum", "ui8", "255", True),
        ("minimum", "ui64", str(2**64 - 1), True),
        ("minimum", "ui64", str(2**64 - 2), False),
        ("add", "f32", "-0.0", True),
        ("add", "f32", "1.0", False),
        ("add", "bf16", "-0.0", True),
        ("multiply", "f64", "1.0", True),
        ("multiply", "f32", "-1.0", False),
        ("maximum", "f16", "0xFC00", True),
        ("maximum", "f32", "0xFF7FFFFF", False),
        ("minimum", "f32", "0x7F800000", True),
        ("minimum", "f32", "0xFF800000", False),
    ],
)
def test_reduce_over_one_element(name: str, type: str, initial: str, goes: bool) -> None:
    body = f"""%c = stablehlo.constant dense<{initial}> : tensor<{type}>
    %0 = stablehlo.reduce(%a init: %c) applies stablehlo.{name} across dimensions = [1]
      : (tensor<5x1xf32>, tensor<f32>) -> tensor<5xf32>
    return %0 : tensor<5xf32>""".replace("f32", type)
    expected = ["reshape"] if goes else ["reduce", name]
    assert_becomes(function(f"%a: tensor<5x1x{type}>", f"tensor<5x{type}>", body), expected)


@pytest.mark.parametrize("type", ["f32", "f64", "bf16", "f8E4M3FNUZ"])
def test_sum_of_one_float_from_zero_adds_zero(type: str) -> None:
    """But for a format without -0, of which 0 changes no element."""
    body = f"""%c = stablehlo.constant dense<0.0> : tensor<{type}>
    %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [1]
      : (tensor<99x1x{type}>, tensor<{type}>) -> tensor<99x{type}>
    return %0 : tensor<99x{type}>"""
    text = function(f"%a: tensor<99x1x{type}>", f"tensor<99x{type}>", body)
    made = assert_becomes(text, ["reshape"] if type.endswith("FNUZ") else ["reshape", "add"])
    operands = (edge_values(made.type.inputs[0]),)
    for tree in ("blocked", "balanced", "left", "right", ("random", 1)):
        for accumulate in ("wide", "declared", "float64"):
            options = nimblehlo.Options(compile="never", reduction_tree=tree, accumulate=accumulate)
            plain = Program(simplified(text, rewrite=False), options)
            (got,), (wanted,) = Program(made, options).run(operands), plain.run(operands)
            assert same_bits(np.asarray(got), np.asarray(wanted))


def test_reshapes_of_large_constants_are_constants() -> None:
    elements = np.arange(1 << 17, dtype=np.float32)
    text = function(
        "",
        "tensor<256x512xf32>",
        f"""%c = stablehlo.constant dense<"0x{elements.tobytes().hex()}"> : tensor<{elements.size}xf32>
    %0 = stablehlo.reshape %c : (tensor<{elements.size}xf32>) -> tensor<256x512xf32>
    return %0 : tensor<256x512xf32>""",
    )
    assert_becomes(text, [])
