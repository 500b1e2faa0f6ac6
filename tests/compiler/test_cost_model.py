"""What steps are said to cost decides what is compiled."""

from __future__ import annotations

import sys

import pytest

import nimblehlo
from nimblehlo.compiler.cost_model import compiler_load_seconds, estimate
from nimblehlo.compiler.loops.llvm import compiler_processes

UNARY = """
func.func @main(%x: tensor<{size}x{type}>) -> tensor<{size}x{result}> {{
  %0 = stablehlo.{name} %x : (tensor<{size}x{type}>) -> tensor<{size}x{result}>
  return %0 : tensor<{size}x{result}>
}}
"""


@pytest.mark.parametrize(
    ("name", "type", "result", "is_compiled"),
    [
        ("abs", "complex<f32>", "f32", True),
        ("abs", "f32", "f32", False),
        ("tanh", "f32", "f32", True),
        ("negate", "complex<f32>", "complex<f32>", True),
        ("negate", "f32", "f32", False),
    ],
)
def test_native_code_is_made_of_what_numpy_takes_long_for(
    name: str, type: str, result: str, is_compiled: bool
) -> None:
    text = UNARY.format(size=3000, name=name, type=type, result=result)
    assert ("tiered" in nimblehlo.compile(text).explain("plan")) == is_compiled


@pytest.mark.parametrize(
    ("name", "type", "is_compiled"),
    [("multiply", "complex<f64>", True), ("add", "complex<f64>", False), ("multiply", "f64", False)],
)
def test_products_of_complex_numbers_are_native(name: str, type: str, is_compiled: bool) -> None:
    """NumPy takes several passes for one, as products are defined, and one for a sum."""
    tensor = f"tensor<3000x{type}>"
    text = f"""
      func.func @main(%x: {tensor}, %y: {tensor}) -> {tensor} {{
        %0 = stablehlo.{name} %x, %y : {tensor}
        return %0 : {tensor}
      }}
    """
    assert ("tiered" in nimblehlo.compile(text).explain("plan")) == is_compiled


def baseline_seconds(text: str) -> float:
    """What the baselines of a function's operations are expected to take."""
    (function,) = nimblehlo.load(text).functions.values()
    assert function.body is not None
    return estimate(function.body.block).baseline_seconds


def test_baselines_of_narrow_floats_are_quicker_than_numpy_s_functions() -> None:
    seconds = {
        type: baseline_seconds(UNARY.format(size=1 << 20, name="tanh", type=type, result=type))
        for type in ("bf16", "f16", "f32")
    }
    assert seconds["bf16"] < seconds["f16"] < seconds["f32"]


def test_gathers_of_whole_rows_cost_less_for_each_element() -> None:
    gather = """
    func.func @main(%x: tensor<100x{columns}xf32>, %i: tensor<{rows}x1xi32>)
        -> tensor<{rows}x{columns}xf32> {{
      %0 = "stablehlo.gather"(%x, %i) {{
        dimension_numbers = #stablehlo.gather<
          offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
        slice_sizes = array<i64: 1, {columns}>
      }} : (tensor<100x{columns}xf32>, tensor<{rows}x1xi32>) -> tensor<{rows}x{columns}xf32>
      return %0 : tensor<{rows}x{columns}xf32>
    }}"""
    rows, elements = (
        baseline_seconds(gather.format(rows=(1 << 20) // columns, columns=columns)) for columns in (64, 1)
    )
    assert 3 * rows < elements


@pytest.mark.parametrize(
    ("is_imported", "have_compiled", "expected"),
    [(False, False, True), (True, False, False), (False, True, False)],
)
def test_loading_the_compiler_takes_time_until_it_is_here_or_a_process_has_compiled(
    is_imported: bool, have_compiled: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "llvmlite.binding", raising=False)
    if is_imported:
        monkeypatch.setitem(sys.modules, "llvmlite.binding", type(sys)("llvmlite.binding"))
    monkeypatch.setattr(compiler_processes.CompilerProcesses, "have_compiled", have_compiled)
    assert (compiler_load_seconds() > 0.0) is expected
