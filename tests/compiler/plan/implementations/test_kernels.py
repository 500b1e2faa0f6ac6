"""Which operations get a kernel, and that kernels and references give the same bits."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.loops import native_code
from nimblehlo.kernels.linalg import linalg
from nimblehlo.kernels.reduction import reduce_window
from nimblehlo.program.ops.numerics.decompositions import has_kernels
from tests.support.running import run_every_way

RNG = np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    """Random floats with NaN, infinities and zeros of both signs among them."""
    array = RNG.standard_normal(shape).astype(np.float32)
    flat = array.reshape(-1)
    flat[RNG.integers(0, flat.size, flat.size // 16)] = np.nan
    flat[RNG.integers(0, flat.size, flat.size // 16)] = -0.0
    flat[RNG.integers(0, flat.size, flat.size // 16)] = 0.0
    flat[RNG.integers(0, flat.size, flat.size // 32)] = -np.inf
    return array


def indices(high: int, *shape: int) -> np.ndarray[Any, Any]:
    """Random indices, some of them out of range."""
    return RNG.integers(-2, high + 2, shape).astype(np.int32)


REDUCE = """
func.func @main(%a: tensor<37x1000xf32>) -> tensor<37xf32> {{
  %0 = stablehlo.constant dense<{init}> : tensor<f32>
  %1 = stablehlo.reduce(%a init: %0) applies stablehlo.{name} across dimensions = [1]
    : (tensor<37x1000xf32>, tensor<f32>) -> tensor<37xf32>
  return %1 : tensor<37xf32>
}}
"""

CUMULATIVE = """
func.func @main(%a: tensor<20x300xf32>) -> tensor<20x300xf32> {{
  %0 = stablehlo.constant dense<{init}> : tensor<f32>
  %1 = "stablehlo.reduce_window"(%a, %0) <{{
    window_dimensions = array<i64: 1, 300>, padding = dense<[[0, 0], [299, 0]]> : tensor<2x2xi64>
  }}> ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %2 = stablehlo.{name} %x, %y : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }}) : (tensor<20x300xf32>, tensor<f32>) -> tensor<20x300xf32>
  return %1 : tensor<20x300xf32>
}}
"""

SCATTER = """
func.func @main(%a: tensor<50x8xf32>, %i: tensor<400x1xi32>, %u: tensor<400x8xf32>) -> tensor<50x8xf32> {{
  %0 = "stablehlo.scatter"(%a, %i, %u) <{{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }}> ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    {body}
    stablehlo.return %r : tensor<f32>
  }}) : (tensor<50x8xf32>, tensor<400x1xi32>, tensor<400x8xf32>) -> tensor<50x8xf32>
  return %0 : tensor<50x8xf32>
}}
"""

GATHER = """
func.func @main(%a: tensor<50x600xf32>, %i: tensor<400x1xi32>) -> tensor<400x600xf32> {
  %0 = "stablehlo.gather"(%a, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 600>
  }> : (tensor<50x600xf32>, tensor<400x1xi32>) -> tensor<400x600xf32>
  return %0 : tensor<400x600xf32>
}
"""

POOL_GRADIENT = """
func.func @main(%a: tensor<8x16xf32>, %s: tensor<4x8xf32>) -> tensor<8x16xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = "stablehlo.select_and_scatter"(%a, %s, %0) <{
    window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>
  }> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %2 = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %2 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<8x16xf32>, tensor<4x8xf32>, tensor<f32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
"""

SORT = """
func.func @main(%a: tensor<9x200xf32>, %b: tensor<9x200xi32>) -> (tensor<9x200xf32>, tensor<9x200xi32>) {{
  %0:2 = "stablehlo.sort"(%a, %b) <{{dimension = 1 : i64, is_stable = true}}> ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
    %1 = stablehlo.compare {direction}, %x, %y, {kind} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }}) : (tensor<9x200xf32>, tensor<9x200xi32>) -> (tensor<9x200xf32>, tensor<9x200xi32>)
  return %0#0, %0#1 : tensor<9x200xf32>, tensor<9x200xi32>
}}
"""

TOP_K = """
func.func @main(%a: tensor<90x200xf32>) -> (tensor<90x7xf32>, tensor<90x7xi32>) {
  %0:2 = chlo.top_k(%a, k = 7) : tensor<90x200xf32> -> (tensor<90x7xf32>, tensor<90x7xi32>)
  return %0#0, %0#1 : tensor<90x7xf32>, tensor<90x7xi32>
}
"""

ROWS = [floats(50, 8), indices(50, 400, 1), floats(400, 8)]

CASES = {
    "cumulative add": (CUMULATIVE.format(name="add", init="0.0"), [RNG.random((20, 300), np.float32)]),
    "cumulative maximum": (CUMULATIVE.format(name="maximum", init="0xFF800000"), [floats(20, 300)]),
    "scatter add": (SCATTER.format(body="%r = stablehlo.add %x, %y : tensor<f32>"), ROWS),
    "scatter minimum": (SCATTER.format(body="%r = stablehlo.minimum %x, %y : tensor<f32>"), ROWS),
    "select_and_scatter": (POOL_GRADIENT, [floats(8, 16), floats(4, 8)]),
    "sort ascending": (
        SORT.format(direction="LT", kind="TOTALORDER"),
        [floats(9, 200), indices(5, 9, 200)],
    ),
    "sort descending": (
        SORT.format(direction="GT", kind="FLOAT"),
        [RNG.integers(0, 9, (9, 200)).astype(np.float32), indices(5, 9, 200)],
    ),
    "top_k": (TOP_K, [floats(90, 200)]),
}


@pytest.mark.parametrize("name", CASES)
def test_kernels_serve_and_give_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_code, "MAX_SMALL_ELEMENTS", -1)
    text, inputs = CASES[name]
    assert "[kernel:" in nimblehlo.compile(text, options=Options(compile="eager")).explain()
    assert "[numpy:" in nimblehlo.compile(text, options=Options(compile="never")).explain()
    run_every_way(text, *inputs)


@pytest.mark.parametrize(("name", "init"), [("add", "0.5"), ("maximum", "0xFF800000"), ("minimum", "0.0")])
def test_reductions_of_many_elements_are_generated(name: str, init: str) -> None:
    text = REDUCE.format(name=name, init=init)
    assert "[generated:" in nimblehlo.compile(text, options=Options(compile="eager")).explain()
    run_every_way(text, RNG.random((37, 1000), np.float32) if name == "add" else floats(37, 1000))


def test_gathers_of_long_rows_are_generated() -> None:
    assert "[generated:" in nimblehlo.compile(GATHER, options=Options(compile="eager")).explain()
    run_every_way(GATHER, floats(50, 600), ROWS[1])


WINDOWS = """
func.func @main(%a: tensor<9x{columns}x{type}>) -> tensor<{results}x{type}> {{
  %0 = stablehlo.constant dense<0.0> : tensor<{type}>
  %1 = "stablehlo.reduce_window"(%a, %0) <{{
    window_dimensions = array<i64: 2, {window}>, base_dilations = array<i64: 1, {dilation}>
  }}> ({{
  ^bb0(%x: tensor<{type}>, %y: tensor<{type}>):
    %2 = stablehlo.add %x, %y : tensor<{type}>
    stablehlo.return %2 : tensor<{type}>
  }}) : (tensor<9x{columns}x{type}>, tensor<{type}>) -> tensor<{results}x{type}>
  return %1 : tensor<{results}x{type}>
}}
"""


@pytest.mark.parametrize(
    ("type", "columns", "window", "dilation", "served_by"),
    [
        ("f32", 200, 3, 1, "generated"),
        ("f32", 258, 3, 1, "kernel"),
        ("f32", 200, 5, 1, "kernel"),  # ten positions
        ("f32", 300, 3, 2, "generated"),
        ("bf16", 200, 3, 1, "kernel"),
        ("bf16", 300, 3, 2, "numpy"),
    ],
)
def test_short_rows_of_small_windows_are_generated(
    type: str, columns: int, window: int, dilation: int, served_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_code, "MAX_SMALL_ELEMENTS", -1)
    results = f"8x{(columns - 1) * dilation + 2 - window}"
    text = WINDOWS.format(type=type, columns=columns, window=window, dilation=dilation, results=results)
    assert f"[{served_by}:" in nimblehlo.compile(text, options=Options(compile="eager")).explain()
    values = RNG.standard_normal((9, columns)).astype(np.float32)
    run_every_way(text, values.astype(ml_dtypes.bfloat16) if type == "bf16" else values)


@pytest.mark.parametrize(
    ("type", "body", "shape", "served_by"),
    [
        ("f64", "add", (40, 300), "generated"),
        ("i64", "maximum", (40, 300), "generated"),
        ("f64", "add", (20, 300), "kernel"),
        ("f64", "maximum", (40, 300), "kernel"),
        ("f32", "add", (40, 300), "kernel"),
        ("f64", "add", (40, 300, 2), "kernel"),
    ],
)
def test_scans_of_many_wide_rows_are_generated(
    type: str, body: str, shape: tuple[int, ...], served_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_code, "MAX_SMALL_ELEMENTS", -1)
    tensor, rest = f"tensor<{'x'.join(map(str, shape))}x{type}>", len(shape) - 2
    text = f"""
func.func @main(%a: {tensor}, %b: tensor<{type}>) -> {tensor} {{
  %0 = "stablehlo.reduce_window"(%a, %b) <{{
    window_dimensions = array<i64: 1, 300{", 1" * rest}>,
    padding = dense<[[0, 0], [299, 0]{", [0, 0]" * rest}]> : tensor<{len(shape)}x2xi64>
  }}> ({{
  ^bb0(%x: tensor<{type}>, %y: tensor<{type}>):
    %1 = stablehlo.{body} %x, %y : tensor<{type}>
    stablehlo.return %1 : tensor<{type}>
  }}) : ({tensor}, tensor<{type}>) -> {tensor}
  return %0 : {tensor}
}}"""
    assert f"[{served_by}:" in nimblehlo.compile(text, options=Options(compile="eager")).explain()
    values = RNG.integers(-9, 9, shape) if type == "i64" else RNG.standard_normal(shape)
    dtype = {"f32": np.float32, "f64": np.float64, "i64": np.int64}[type]
    run_every_way(text, values.astype(dtype), np.zeros((), dtype))


def test_other_bodies_have_native_loops_of_their_own() -> None:
    body = "%z = stablehlo.multiply %y, %y : tensor<f32>\n %r = stablehlo.add %x, %z : tensor<f32>"
    text = SCATTER.format(body=body)
    assert "[generated:" in nimblehlo.compile(text, options=Options(compile="eager")).explain()
    run_every_way(text, *ROWS)


@pytest.mark.skipif(not has_kernels(), reason="LAPACK serves")
@pytest.mark.parametrize(
    ("routine", "text"),
    [
        ("cholesky", "%0 = stablehlo.cholesky %a, lower = true : tensor<4x4xf32>"),
        (
            "triangular_solve",
            '%0 = "stablehlo.triangular_solve"(%a, %a) {left_side = true, lower = true, '
            "unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : "
            "(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>",
        ),
        (
            "cholesky",
            "%0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {api_version = 4 : i32, "
            'mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>)',
        ),
    ],
)
def test_linear_algebra_uses_no_more_threads_than_allowed(
    routine: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []
    original = getattr(linalg, routine)

    def prepare(*arguments: Any) -> Any:
        threads.append(arguments[-1])
        return original(*arguments)

    monkeypatch.setattr(linalg, routine, prepare)
    program = (
        f"func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {{\n{text}\n"
        f"return {'%0#0' if '%0:2' in text else '%0'} : tensor<4x4xf32>\n}}"
    )
    nimblehlo.execute(program, [np.eye(4, dtype=np.float32)], options=Options(threads=3))
    assert threads == [3]


@pytest.mark.parametrize("mode", ["auto", "eager"])
def test_references_run_where_a_kernel_turns_out_not_to_serve(
    mode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel may say so when it is prepared: of windows it takes a number of positions only."""
    monkeypatch.setattr(reduce_window, "_MAX_POSITIONS", 4)
    text = """
    func.func @main(%a: tensor<200x2000xf32>, %z: tensor<f32>) -> tensor<200x1996xf32> {
      %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 5>}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %s = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %s : tensor<f32>
      }) : (tensor<200x2000xf32>, tensor<f32>) -> tensor<200x1996xf32>
      return %0 : tensor<200x1996xf32>
    }
    """
    executable = nimblehlo.compile(text, options=Options(compile=mode))
    if mode == "eager":
        assert "[numpy: no kernel reduces windows of 5 positions]" in executable.explain("plan")
    ones = np.ones((200, 2000), np.float32)
    assert (executable(ones, np.float32(1))[0] == 6).all()


def test_a_sort_takes_its_kernel_from_the_first_call_on() -> None:
    """Its code is compiled with the package, and needs no Numba."""
    text = SORT.format(direction="LT", kind="TOTALORDER").replace("9x200", "90x200")
    assert "[kernel: the comparator is recognized]" in nimblehlo.compile(text).explain("plan")
    assert "[tiered: top-k selection, after warm-up]" in nimblehlo.compile(TOP_K).explain("plan")
