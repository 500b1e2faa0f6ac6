"""The RFC on quantization of reductions: its example, and each row of its table for each operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options, VerifyError
from nimblehlo.program.frontend import parse_type
from nimblehlo.program.ops.framework.rules import expressed_type
from nimblehlo.program.ops.numerics.quantization import dequantizer, quantizer
from nimblehlo.types import QuantizedType, TensorType
from tests.support.running import run_every_way, same_bits

UI8 = "!quant.uniform<ui8:f32, 0.5:128>"
UI8_OUT = "!quant.uniform<ui8:f32, 0.75:100>"
I32 = "!quant.uniform<i32:f32, 0.25:3>"
I32_OF_F64 = "!quant.uniform<i32:f64, 0.25:3>"
ROWS = {
    "A": (UI8, I32, UI8_OUT),
    "A back to the same": (UI8, I32, UI8),
    "B": ("f32", I32, "f32"),
    "B by way of another float": ("f16", I32, "f16"),
    "C": (UI8, "f32", UI8_OUT),
    "C to another float": (UI8, "f64", UI8),
    "D": ("f32", "i32", "f32"),
    "E": ("i32", "f32", "i32"),
    "E unsigned": ("ui8", "f32", "ui8"),
    "F": ("f16", "f32", "f16"),
    "F of bf16": ("bf16", "f64", "bf16"),
    "G": ("i8", "i32", "i8"),
    "G kept wide": ("i8", "i32", "i32"),
    "H": ("complex<f32>", "complex<f64>", "complex<f32>"),
}
"""From the table: element types of operands, of the body, and of the result."""


def body(element_type: str) -> str:
    scalar = f"tensor<{element_type}>"
    return f"""^bb0(%lhs: {scalar}, %rhs: {scalar}):
        %sum = "stablehlo.add"(%lhs, %rhs) : ({scalar}, {scalar}) -> {scalar}
        "stablehlo.return"(%sum) : ({scalar}) -> ()"""


def program(arguments: list[str], result: str, operation: str) -> str:
    named = ", ".join(f"%a{k}: {type}" for k, type in enumerate(arguments))
    return f"func.func @main({named}) -> {result} {{\n  %0 = {operation}\n  return %0 : {result}\n}}"


def reduce(element_type: str, inner: str, outer: str) -> str:
    types = [f"tensor<5x3x{element_type}>", f"tensor<{element_type}>"]
    return program(
        types,
        f"tensor<5x{outer}>",
        f""""stablehlo.reduce"(%a0, %a1) ({{ {body(inner)} }}) {{dimensions = array<i64: 1>}}
        : ({", ".join(types)}) -> tensor<5x{outer}>""",
    )


def reduce_window(element_type: str, inner: str, outer: str) -> str:
    types = [f"tensor<5x3x{element_type}>", f"tensor<{element_type}>"]
    return program(
        types,
        f"tensor<4x3x{outer}>",
        f""""stablehlo.reduce_window"(%a0, %a1) ({{ {body(inner)} }}) {{window_dimensions = array<i64: 2, 1>}}
        : ({", ".join(types)}) -> tensor<4x3x{outer}>""",
    )


def select_and_scatter(element_type: str, inner: str, outer: str) -> str:
    scalar = f"tensor<{element_type}>"
    types = [f"tensor<5x3x{element_type}>", f"tensor<4x3x{element_type}>", scalar]
    return program(
        types,
        f"tensor<5x3x{outer}>",
        f""""stablehlo.select_and_scatter"(%a0, %a1, %a2) ({{
        ^bb0(%lhs: {scalar}, %rhs: {scalar}):
          %ge = "stablehlo.compare"(%lhs, %rhs) {{comparison_direction = #stablehlo<comparison_direction EQ>}}
            : ({scalar}, {scalar}) -> tensor<i1>
          "stablehlo.return"(%ge) : (tensor<i1>) -> ()
        }}, {{ {body(inner)} }}) {{window_dimensions = array<i64: 2, 1>}}
        : ({", ".join(types)}) -> tensor<5x3x{outer}>""",
    )


def scatter(element_type: str, inner: str, outer: str) -> str:
    types = [f"tensor<5x3x{element_type}>", "tensor<4x1xi32>", f"tensor<4x3x{element_type}>"]
    return program(
        types,
        f"tensor<5x3x{outer}>",
        f""""stablehlo.scatter"(%a0, %a1, %a2) ({{ {body(inner)} }}) {{
          scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
            scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}
        : ({", ".join(types)}) -> tensor<5x3x{outer}>""",
    )


def element_type(text: str) -> Any:
    type = parse_type(f"tensor<{text}>")
    assert isinstance(type, TensorType)
    return type.element_type


def values(text: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Stored values of an element type; floats have a fraction, integers stay small."""
    random, type = np.random.default_rng(seed), element_type(text)
    if isinstance(type, QuantizedType):
        return random.integers(90, 170, shape).astype(type.storage.dtype)
    dtype = TensorType((), type).dtype
    if str(type).startswith(("i", "ui")):
        return random.integers(0, 40, shape).astype(dtype)
    drawn = random.integers(-400, 400, (2, *shape)) / 8
    return (drawn[0] + 1j * drawn[1] if dtype.kind == "c" else drawn[0]).astype(dtype)


def converted(array: np.ndarray, source: str, target: str) -> np.ndarray:
    """The table, written out by the definitions of quantization."""
    from nimblehlo.program.ops.numerics.element_types import converter

    a, b = element_type(source), element_type(target)
    real = dequantizer(TensorType((), a))(array)
    return quantizer(TensorType((), b))(converter(expressed_type(a), expressed_type(b))(real))


def added(inner: str) -> Callable[[Any, Any], Any]:
    """The body, on stored values."""
    type = TensorType((), element_type(inner))
    enter, leave = dequantizer(type), quantizer(type)
    return lambda a, b: leave(np.add(enter(a), enter(b)))


def reduced(array: np.ndarray, initial: np.ndarray, inner: str) -> np.ndarray:
    """Three values along the last axis: adjacent ones first, then the odd one, then init_value."""
    add = added(inner)
    return add(initial, add(add(array[..., 0], array[..., 1]), array[..., 2]))


@pytest.mark.parametrize("row", ROWS)
def test_reduce(row: str) -> None:
    source, inner, outer = ROWS[row]
    operand, initial = values(source, (5, 3), 1), values(source, (), 2)
    wanted = reduced(converted(operand, source, inner), converted(initial, source, inner), inner)
    (got,) = run_every_way(reduce(source, inner, outer), operand, initial)
    assert same_bits(got, np.asarray(converted(wanted, inner, outer)))


@pytest.mark.parametrize("row", ROWS)
def test_reduce_window(row: str) -> None:
    source, inner, outer = ROWS[row]
    operand, initial = values(source, (5, 3), 3), values(source, (), 4)
    wide, start, add = converted(operand, source, inner), converted(initial, source, inner), added(inner)
    wanted = add(add(start, wide[:-1]), wide[1:])
    (got,) = run_every_way(reduce_window(source, inner, outer), operand, initial)
    assert same_bits(got, np.asarray(converted(wanted, inner, outer)))


@pytest.mark.parametrize("row", ROWS)
def test_select_and_scatter(row: str) -> None:
    source, inner, outer = ROWS[row]
    operand = np.arange(15).reshape(5, 3).astype(values(source, (1,), 0).dtype)
    updates, initial = values(source, (4, 3), 5), values(source, (), 6)
    add, start = added(inner), converted(initial, source, inner)
    wanted = np.full((5, 3), start, np.asarray(start).dtype)
    # No two elements are equal: select takes the second one of each window.
    wanted[1:] = add(wanted[1:], converted(updates, source, inner))
    (got,) = run_every_way(select_and_scatter(source, inner, outer), operand, updates, initial)
    assert same_bits(got, np.asarray(converted(wanted, inner, outer)))


@pytest.mark.parametrize("row", ROWS)
def test_scatter(row: str) -> None:
    source, inner, outer = ROWS[row]
    operand, updates = values(source, (5, 3), 7), values(source, (4, 3), 8)
    indices, add = np.array([[2], [0], [2], [9]], np.int32), added(inner)
    wanted, wide = converted(operand, source, inner).copy(), converted(updates, source, inner)
    for k, (row_index,) in enumerate(indices[:3]):
        wanted[row_index] = add(wanted[row_index], wide[k])
    (got,) = run_every_way(scatter(source, inner, outer), operand, indices, updates)
    assert same_bits(got, np.asarray(converted(wanted, inner, outer)))


def test_example_of_the_introduction() -> None:
    """A sum of ui8 in i32, which ui8 cannot hold: the wider type keeps what would saturate."""
    ui8, i32 = "!quant.uniform<ui8:f32, 1.0:0>", "!quant.uniform<i32:f32, 1.0:0>"
    operand = np.array([[200, 200, 200]] * 5, np.uint8)
    text = reduce(ui8, i32, "!quant.uniform<ui8:f32, 4.0:0>")
    (got,) = run_every_way(text, operand, np.uint8(0))
    assert got.tolist() == [150] * 5
    (got,) = run_every_way(reduce(ui8, ui8, ui8), operand, np.uint8(0))
    assert got.tolist() == [255] * 5


@pytest.mark.parametrize("count", [1000, 100_000])
def test_long_sums_of_quantized_values(count: int) -> None:
    """Also where single steps of f32 round: each step is quantized."""
    text = reduce(UI8, I32, I32).replace("5x3x", f"2x{count}x").replace("tensor<5x", "tensor<2x")
    operand = np.random.default_rng(count).integers(0, 256, (2, count)).astype(np.uint8)
    run_every_way(text, operand, np.uint8(7))
    plan = nimblehlo.compile(text, options=Options(compile="eager")).explain("plan")
    assert "a sum of stored integers" in plan


REJECTED = {
    "narrower floats": ("f32", "f16", "f32"),
    "narrower integers": ("i32", "i8", "i8"),
    "narrower quantized types": (I32, UI8, I32),
    "another kind for good": ("f32", "i32", "i32"),
    "complex numbers": ("f32", "complex<f32>", "f32"),
    "truth values": ("i1", "i32", "i1"),
    "a third type": ("f16", "f64", "f32"),
    "another storage": (UI8, I32, "!quant.uniform<i8:f32, 0.5:0>"),
}


@pytest.mark.parametrize("case", REJECTED)
@pytest.mark.parametrize("write", [reduce, reduce_window, select_and_scatter, scatter])
def test_other_conversions_are_rejected(case: str, write: Callable[..., str]) -> None:
    with pytest.raises(VerifyError):
        nimblehlo.load(write(*REJECTED[case]))
