"""Which blocks have code for any rows and columns of a matrix; `test_epilogues` runs it."""

from __future__ import annotations

import pytest

import nimblehlo
from nimblehlo.compiler.implementation import NoCode
from nimblehlo.compiler.loops.nests.matrix_code import matrix_nest
from nimblehlo.program.ir import Block

X = "tensor<3x4x50xf32>"


def block_of(body: str, types: str = f"%x: {X}", result: str = X) -> Block:
    text = f"func.func @main({types}) -> {result} {{\n{body}\n  return %r : {result}\n}}"
    region = nimblehlo.load(text).functions["main"].body
    assert region is not None
    return region.block


@pytest.mark.parametrize(
    ("body", "operand", "strides"),
    [
        (f"  %r = stablehlo.add %x, %y : {X}", X, (50, 1)),
        (
            f"  %b = stablehlo.broadcast_in_dim %y, dims = [2] : (tensor<50xf32>) -> {X}\n"
            f"  %r = stablehlo.add %x, %b : {X}",
            "tensor<50xf32>",
            (0, 1),
        ),
        (
            f"  %b = stablehlo.broadcast_in_dim %y, dims = [0, 1] : (tensor<3x4xf32>) -> {X}\n"
            f"  %r = stablehlo.add %x, %b : {X}",
            "tensor<3x4xf32>",
            (1, 0),
        ),
        (
            f"  %b = stablehlo.broadcast_in_dim %y, dims = [] : (tensor<f32>) -> {X}\n"
            f"  %r = stablehlo.add %x, %b : {X}",
            "tensor<f32>",
            (0, 0),
        ),
    ],
)
def test_operands_have_a_distance_for_rows_and_for_columns(
    body: str, operand: str, strides: tuple[int, int]
) -> None:
    nest = matrix_nest(block_of(body, f"%x: {X}, %y: {operand}"))
    assert len(nest.sizes) == 2
    assert [access.index_map.strides for access in nest.accesses] == [(50, 1), strides, (50, 1)]


@pytest.mark.parametrize(
    ("body", "types"),
    [
        (f"  %i = stablehlo.iota dim = 1 : {X}\n  %r = stablehlo.add %x, %i : {X}", f"%x: {X}"),
        (f"  %y = stablehlo.reverse %x, dims = [2] : {X}\n  %r = stablehlo.add %x, %y : {X}", f"%x: {X}"),
        (
            f"  %b = stablehlo.broadcast_in_dim %y, dims = [0, 2] : (tensor<3x50xf32>) -> {X}\n"
            f"  %r = stablehlo.add %x, %b : {X}",
            f"%x: {X}, %y: tensor<3x50xf32>",
        ),
        (
            "  %r = stablehlo.concatenate %x, %x, dim = 0 : "
            "(tensor<3x4x50xf32>, tensor<3x4x50xf32>) -> tensor<6x4x50xf32>",
            f"%x: {X}",
        ),
    ],
)
def test_others_have_none(body: str, types: str) -> None:
    result = "tensor<6x4x50xf32>" if "concatenate" in body else X
    with pytest.raises(NoCode):
        matrix_nest(block_of(body, types, result))


@pytest.mark.parametrize("count", [22, 23])
def test_the_code_takes_so_many_arrays(count: int) -> None:
    """With the first operand and the result there are 24 of them, or one more."""
    names = ["%x", *[f"%a{number}" for number in range(count)]]
    lines = [f"  %s0 = stablehlo.add %x, %a0 : {X}"]
    lines += [f"  %s{n} = stablehlo.add %s{n - 1}, %a{n} : {X}" for n in range(1, count)]
    lines.append(f"  %r = stablehlo.negate %s{count - 1} : {X}")
    block = block_of("\n".join(lines), ", ".join([f"{name}: {X}" for name in names]))
    if count == 22:
        assert len(matrix_nest(block).accesses) == 24
        return
    with pytest.raises(NoCode):
        matrix_nest(block)
