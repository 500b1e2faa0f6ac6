"""Operations of known forms on few elements: loops generated for them give the reference's bits."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from tests.support.running import run_every_way

Array = np.ndarray[Any, Any]

DTYPES = {
    "f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i32": np.int32,
    "i8": np.int8, "ui16": np.uint16, "i64": np.int64,
}  # fmt: skip

SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, -1e-45, 3.4e38)


def values(type: str, *shape: int, seed: int = 0) -> Array:
    """Random values with many equal ones, and with special floats or extreme integers among them."""
    generator = np.random.default_rng(seed)
    dtype = np.dtype(DTYPES[type])
    with np.errstate(all="ignore"):
        array = np.asarray(generator.integers(-4, 5, shape) / 2).astype(dtype)
        places = generator.random(shape) < 0.2
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            array[places] = generator.choice(np.array([info.min, info.max], dtype), int(places.sum()))
        else:
            array[places] = generator.choice(np.array(SPECIAL), int(places.sum())).astype(dtype)
    return array


def is_generated(text: str) -> bool:
    """Whether the one operation that counts is served by generated loops."""
    return "[generated:" in nimblehlo.compile(text, options=Options(compile="eager")).explain("plan")


REDUCE = """
func.func @main(%a: tensor<6x7x5x{type}>, %i: tensor<{type}>) -> tensor<{shape}x{type}> {{
  %0 = stablehlo.reduce(%a init: %i) applies stablehlo.{name} across dimensions = [{dimension}]
    : (tensor<6x7x5x{type}>, tensor<{type}>) -> tensor<{shape}x{type}>
  return %0 : tensor<{shape}x{type}>
}}
"""


@pytest.mark.sampled(pairs=True)
@pytest.mark.parametrize("type", DTYPES)
@pytest.mark.parametrize("name", ["add", "multiply", "minimum", "maximum"])
@pytest.mark.parametrize(("dimension", "shape"), [(0, "7x5"), (1, "6x5"), (2, "6x7")])
def test_reductions(type: str, name: str, dimension: int, shape: str) -> None:
    text = REDUCE.format(type=type, name=name, dimension=dimension, shape=shape)
    run_every_way(text, values(type, 6, 7, 5), values(type, seed=1))
    assert is_generated(text)


SCATTER = """
func.func @main(%a: tensor<9x6x{type}>, %i: tensor<40x1xi32>, %u: tensor<40x6x{type}>)
    -> tensor<9x6x{type}> {{
  %0 = "stablehlo.scatter"(%a, %i, %u) <{{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }}> ({{
  ^bb0(%x: tensor<{type}>, %y: tensor<{type}>):
    {body}
  }}) : (tensor<9x6x{type}>, tensor<40x1xi32>, tensor<40x6x{type}>) -> tensor<9x6x{type}>
  return %0 : tensor<9x6x{type}>
}}
"""


@pytest.mark.parametrize("type", DTYPES)
@pytest.mark.parametrize("name", ["add", "multiply", "minimum", "maximum", None])
def test_scatters(type: str, name: str | None) -> None:
    combined = f"%r = stablehlo.{name} %x, %y : tensor<{type}>\n" if name else ""
    returned = "%r" if name else "%y"
    text = SCATTER.format(type=type, body=f"{combined} stablehlo.return {returned} : tensor<{type}>")
    indices = np.random.default_rng(2).integers(-2, 11, (40, 1)).astype(np.int32)
    indices[:2, 0] = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    run_every_way(text, values(type, 9, 6), indices, values(type, 40, 6, seed=1))
    assert is_generated(text) or type in ("f16", "bf16")


SORT = """
func.func @main(%a: tensor<{shape}x{type}>, %b: tensor<{shape}xi32>)
    -> (tensor<{shape}x{type}>, tensor<{shape}xi32>) {{
  %0:2 = "stablehlo.sort"(%a, %b) <{{dimension = {dimension} : i64, is_stable = true}}> ({{
  ^bb0(%x: tensor<{type}>, %y: tensor<{type}>, %p: tensor<i32>, %q: tensor<i32>):
    %1 = stablehlo.compare {direction}, %x, %y{kind} : (tensor<{type}>, tensor<{type}>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }}) : (tensor<{shape}x{type}>, tensor<{shape}xi32>) -> (tensor<{shape}x{type}>, tensor<{shape}xi32>)
  return %0#0, %0#1 : tensor<{shape}x{type}>, tensor<{shape}xi32>
}}
"""


@pytest.mark.sampled(pairs=True)
@pytest.mark.parametrize("type", DTYPES)
@pytest.mark.parametrize("direction", ["LT", "GE"])
@pytest.mark.parametrize("dimension", [0, 1])
def test_sorts(type: str, direction: str, dimension: int) -> None:
    kinds = ["", ", TOTALORDER"] if "f" in type else [""]
    for kind in kinds:
        text = SORT.format(type=type, shape="13x7", direction=direction, dimension=dimension, kind=kind)
        numbers = np.arange(91, dtype=np.int32).reshape(13, 7)
        run_every_way(text, values(type, 13, 7), numbers)
        leaves_nan_anywhere = "f" in type and direction == "LT" and not kind
        assert is_generated(text) != leaves_nan_anywhere


WINDOWS = """
func.func @main(%a: tensor<6x8x{type}>, %i: tensor<{type}>) -> tensor<3x8x{type}> {{
  %0 = "stablehlo.reduce_window"(%a, %i) <{{
    window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 1>,
    padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>
  }}> ({{
  ^bb0(%x: tensor<{type}>, %y: tensor<{type}>):
    %1 = stablehlo.{name} %x, %y : tensor<{type}>
    stablehlo.return %1 : tensor<{type}>
  }}) : (tensor<6x8x{type}>, tensor<{type}>) -> tensor<3x8x{type}>
  return %0 : tensor<3x8x{type}>
}}
"""

SELECTION = """
func.func @main(%a: tensor<6x8x{type}>, %s: tensor<3x4x{type}>, %i: tensor<{type}>) -> tensor<6x8x{type}> {{
  %0 = "stablehlo.select_and_scatter"(%a, %s, %i) <{{
    window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>
  }}> ({{
  ^bb0(%x: tensor<{type}>, %y: tensor<{type}>):
    %1 = stablehlo.compare GE, %x, %y : (tensor<{type}>, tensor<{type}>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }}, {{
  ^bb0(%x: tensor<{type}>, %y: tensor<{type}>):
    %1 = stablehlo.{name} %x, %y : tensor<{type}>
    stablehlo.return %1 : tensor<{type}>
  }}) : (tensor<6x8x{type}>, tensor<3x4x{type}>, tensor<{type}>) -> tensor<6x8x{type}>
  return %0 : tensor<6x8x{type}>
}}
"""


@pytest.mark.sampled
@pytest.mark.parametrize("type", DTYPES)
@pytest.mark.parametrize("name", ["add", "maximum"])
def test_windows(type: str, name: str) -> None:
    text = WINDOWS.format(type=type, name=name)
    run_every_way(text, values(type, 6, 8), values(type, seed=1))
    assert is_generated(text) or type in ("f16", "bf16")
    text = SELECTION.format(type=type, name=name)
    run_every_way(text, values(type, 6, 8), values(type, 3, 4, seed=1), values(type, seed=2))
    assert is_generated(text) or type in ("f16", "bf16")


def test_kernels_serve_many_elements() -> None:
    text = WINDOWS.replace("6x8", "60x800").replace("3x8", "30x800").format(type="f32", name="add")
    assert not is_generated(text)


POSITIONS = """
func.func @main(%a: tensor<6x8x{type}>, %v: tensor<{type}>) -> (tensor<6x{type}>, tensor<6xi32>) {{
  %p = stablehlo.iota dim = 1 : tensor<6x8xi32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%a init: %v), (%p init: %i) across dimensions = [1]
      : (tensor<6x8x{type}>, tensor<6x8xi32>, tensor<{type}>, tensor<i32>)
      -> (tensor<6x{type}>, tensor<6xi32>)
    reducer(%x: tensor<{type}>, %y: tensor<{type}>) (%j: tensor<i32>, %k: tensor<i32>) {{
      %1 = stablehlo.compare GT, %x, %y : (tensor<{type}>, tensor<{type}>) -> tensor<i1>
      %2 = stablehlo.compare NE, %x, %x : (tensor<{type}>, tensor<{type}>) -> tensor<i1>
      %3 = stablehlo.or %1, %2 : tensor<i1>
      %4 = stablehlo.compare EQ, %x, %y : (tensor<{type}>, tensor<{type}>) -> tensor<i1>
      %5 = stablehlo.compare LT, %j, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %6 = stablehlo.and %4, %5 : tensor<i1>
      %7 = stablehlo.or %3, %6 : tensor<i1>
      %8 = stablehlo.select %3, %x, %y : tensor<i1>, tensor<{type}>
      %9 = stablehlo.select %7, %j, %k : tensor<i1>, tensor<i32>
      stablehlo.return %8, %9 : tensor<{type}>, tensor<i32>
    }}
  return %0#0, %0#1 : tensor<6x{type}>, tensor<6xi32>
}}
"""


@pytest.mark.parametrize("type", DTYPES)
def test_positions(type: str) -> None:
    text = POSITIONS.format(type=type)
    run_every_way(text, values(type, 6, 8), values(type, seed=1))
    plan = nimblehlo.compile(text, options=Options(compile="eager")).explain("plan")
    assert "arg_reduce" in plan and "[generated:" in plan


CUMULATIVE = """
func.func @main(%a: tensor<{shape}x{type}>, %i: tensor<{type}>) -> tensor<{shape}x{type}> {{
  %0 = "stablehlo.reduce_window"(%a, %i) ({{
  ^bb0(%x: tensor<{type}>, %y: tensor<{type}>):
    {body}
    stablehlo.return %r : tensor<{type}>
  }}) {{window_dimensions = array<i64: {windows}>, padding = dense<{padding}> : tensor<{rank}x2xi64>}}
    : (tensor<{shape}x{type}>, tensor<{type}>) -> tensor<{shape}x{type}>
  return %0 : tensor<{shape}x{type}>
}}
"""
BODIES = {
    "sum": "%r = stablehlo.add %x, %y : tensor<{type}>",
    "maximum": "%r = stablehlo.maximum %x, %y : tensor<{type}>",
    "not associative": """%s = stablehlo.multiply %x, %x : tensor<{type}>
    %r = stablehlo.subtract %s, %y : tensor<{type}>""",
}


@pytest.mark.sampled(("type", "body"), ("body", "is_reverse", "shape"))
@pytest.mark.parametrize("type", ["f32", "f64", "bf16", "i32", "i8"])
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("is_reverse", [False, True])
@pytest.mark.parametrize(("shape", "axis"), [((9,), 0), ((16,), 0), ((300,), 0), ((3, 40, 2), 1)])
def test_cumulative_windows(
    type: str, body: str, is_reverse: bool, shape: tuple[int, ...], axis: int
) -> None:
    padding = [[0, 0] for _ in shape]
    padding[axis][is_reverse] = shape[axis] - 1
    text = CUMULATIVE.format(
        type=type,
        body=BODIES[body].format(type=type),
        shape="x".join(map(str, shape)),
        rank=len(shape),
        windows=", ".join([str(size if d == axis else 1) for d, size in enumerate(shape)]),
        padding=padding,
    )
    for init in (0, 1.5):
        with np.errstate(all="ignore"):
            init_value = np.asarray(init).astype(DTYPES[type])
        run_every_way(text, values(type, *shape), init_value)
    assert is_generated(text)


@pytest.mark.parametrize("type", ["f32", "f64", "f16", "bf16"])
@pytest.mark.parametrize(("exponent", "mantissa"), [(5, 3), (8, 7), (4, 0), (2, 1)])
def test_reductions_of_precision(type: str, exponent: int, mantissa: int) -> None:
    text = f"""
func.func @main(%a: tensor<40x{type}>) -> tensor<40x{type}> {{
  %0 = stablehlo.reduce_precision %a, format = e{exponent}m{mantissa} : tensor<40x{type}>
  return %0 : tensor<40x{type}>
}}
"""
    run_every_way(text, values(type, 40))
    assert is_generated(text)


@pytest.mark.parametrize("type", ["i8", "ui16", "i32", "i64"])
def test_counts_of_leading_zeros(type: str) -> None:
    text = f"""
func.func @main(%a: tensor<40x{type}>) -> tensor<40x{type}> {{
  %0 = stablehlo.count_leading_zeros %a : tensor<40x{type}>
  return %0 : tensor<40x{type}>
}}
"""
    run_every_way(text, values(type, 40))


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_choices_between_some_thousand_elements_are_generated(name: str) -> None:
    """NumPy takes several passes for them."""
    text = """func.func @main(%a: tensor<{0}xf32>, %b: tensor<{0}xf32>) -> tensor<{0}xf32> {{
      %0 = stablehlo.{1} %a, %b : tensor<{0}xf32>
      return %0 : tensor<{0}xf32>
    }}"""
    assert is_generated(text.format(8000, name))
    assert not is_generated(text.format(100, name))
    run_every_way(text.format(8000, name), values("f32", 8000), values("f32", 8000, seed=1))
