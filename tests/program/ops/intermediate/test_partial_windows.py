"""Scatters that drop partial windows entirely, as XLA's do: `Options(scatter_out_of_bounds="window")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import nimblehlo
from nimblehlo import Options
from tests.support.running import MODES as COMPILE_MODES
from tests.support.running import run_xla, same_bits

Array = np.ndarray[Any, Any]

BODIES = {
    "add": "stablehlo.add %x, %y : tensor<f32>",
    "overwrite": "stablehlo.maximum %y, %y : tensor<f32>",
    "affine": "stablehlo.subtract %y, %x : tensor<f32>",
}


def scatter(a: str, indices: str, updates: str, numbers: str, body: str = BODIES["add"]) -> str:
    return f"""
    func.func @main(%a: {a}, %i: {indices}, %u: {updates}) -> {a} {{
      %0 = "stablehlo.scatter"(%a, %i, %u) ({{
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %s = {body}
        stablehlo.return %s : tensor<f32>
      }}) {{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}
        : ({a}, {indices}, {updates}) -> {a}
      return %0 : {a}
    }}"""


def windows_left_out(text: str, *inputs: Array) -> Array:
    """The result in every mode under the option, which have the same bits."""
    module = nimblehlo.load(text)
    results = []
    for options in COMPILE_MODES.values():
        chosen = Options(options.compile, options.threads, scatter_out_of_bounds="window")
        (result,) = nimblehlo.execute(module, inputs, options=chosen)
        results.append(result)
    assert all(same_bits(result, results[0]) for result in results)
    return results[0]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("index_type", ["i8", "i32", "i64", "ui64"])
def test_windows_are_left_out_as_by_xla(index_type: str, body: str) -> None:
    generator = np.random.default_rng(1)
    numbers = "update_window_dims = [1, 2], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1"
    text = scatter("tensor<5x6xf32>", f"tensor<9x2x{index_type}>", "tensor<9x2x3xf32>", numbers, BODIES[body])
    dtype = np.dtype(index_type.replace("ui64", "u8").replace("i32", "i4").replace("i64", "i8"))
    dtype = np.dtype(np.int8) if index_type == "i8" else dtype
    indices = generator.integers(0 if dtype.kind == "u" else -2, 7, (9, 2)).astype(dtype)
    indices[0], indices[1] = np.iinfo(dtype).min, np.iinfo(dtype).max
    inputs = [
        generator.random((5, 6), np.float32),
        indices,
        generator.random((9, 2, 3), np.float32),
    ]
    (expected,) = run_xla(text, *inputs)
    found = windows_left_out(text, *inputs)
    assert same_bits(found, expected)
    assert not same_bits(found, nimblehlo.execute(text, inputs)[0])


def test_batching_dimensions_and_trailing_index_vectors() -> None:
    numbers = (
        "update_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [1], "
        "scatter_dims_to_operand_dims = [1], index_vector_dim = 2"
    )
    text = scatter("tensor<2x4xf32>", "tensor<3x2xi32>", "tensor<3x2x2xf32>", numbers)
    indices = np.array([[0, 3], [-1, 2], [2, 1]], np.int32)
    updates = np.arange(1, 13, dtype=np.float32).reshape(3, 2, 2)
    found = windows_left_out(text, np.zeros((2, 4), np.float32), indices, updates)
    assert found.tolist() == [[1, 2, 9, 10], [0, 11, 12 + 7, 8]]


def test_sizes_that_are_known_at_run_time_only() -> None:
    text = """
    func.func @main(%a: tensor<4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x2xf32>, %n: tensor<i32>)
        -> tensor<4xf32> {
      %j = "stablehlo.set_dimension_size"(%i, %n) {dimension = 0 : i64}
        : (tensor<3x1xi32>, tensor<i32>) -> tensor<?x1xi32, #stablehlo.bounds<3, ?>>
      %v = "stablehlo.set_dimension_size"(%u, %n) {dimension = 0 : i64}
        : (tensor<3x2xf32>, tensor<i32>) -> tensor<?x2xf32, #stablehlo.bounds<3, ?>>
      %0 = "stablehlo.scatter"(%a, %j, %v) ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %s = stablehlo.add %x, %y : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
            scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
        : (tensor<4xf32>, tensor<?x1xi32, #stablehlo.bounds<3, ?>>, tensor<?x2xf32, #stablehlo.bounds<3, ?>>)
        -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    inputs = [
        np.zeros(4, np.float32),
        np.array([[3], [1], [0]], np.int32),
        np.ones((3, 2), np.float32),
        np.int32(2),
    ]
    assert windows_left_out(text, *inputs).tolist() == [0, 1, 1, 0]


def test_windows_of_one_element_need_nothing() -> None:
    numbers = "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
    text = scatter("tensor<4xf32>", "tensor<3x1xi32>", "tensor<3xf32>", numbers)
    executable = nimblehlo.compile(text, options=Options(scatter_out_of_bounds="window"))
    assert "exclude_partial_windows" not in executable.explain("program")
    (found,) = executable(
        np.zeros(4, np.float32), np.array([[4], [1], [-1]], np.int32), np.ones(3, np.float32)
    )
    assert found.tolist() == [0, 1, 0, 0]


def test_constant_indices_that_fit_need_nothing() -> None:
    numbers = "update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
    text = scatter("tensor<4xf32>", "tensor<2x1xi32>", "tensor<2x2xf32>", numbers)
    updates = np.ones((2, 2), np.float32)
    for last, needed, expected in ((2, False, [1, 1, 1, 1]), (3, True, [1, 1, 0, 0])):
        constant = f"%i = stablehlo.constant dense<[[0], [{last}]]> : tensor<2x1xi32>\n%0 ="
        fixed = text.replace("%i: tensor<2x1xi32>, ", "").replace("%0 =", constant)
        executable = nimblehlo.compile(fixed, options=Options(scatter_out_of_bounds="window"))
        assert ("exclude_partial_windows" in executable.explain("program")) == needed
        assert executable(np.zeros(4, np.float32), updates)[0].tolist() == expected


@pytest.mark.parametrize("value", ["elements", None, 1, []])
def test_other_values_are_rejected(value: Any) -> None:
    with pytest.raises(ValueError, match="must be one of \\('auto', 'element', 'window'\\)"):
        Options(scatter_out_of_bounds=value)


ROWS = "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "


def test_whole_rows_need_nothing() -> None:
    """A window of one element along each scattered dimension is inside or outside as a whole."""
    text = scatter("tensor<4x3xf32>", "tensor<5x1xi32>", "tensor<5x3xf32>", f"{ROWS}index_vector_dim = 1")
    executable = nimblehlo.compile(text, options=Options(scatter_out_of_bounds="window"))
    assert "exclude_partial_windows" not in executable.explain("program")
    indices = np.array([[0], [-1], [4], [3], [3]], np.int32)
    (found,) = executable(np.zeros((4, 3), np.float32), indices, np.ones((5, 3), np.float32))
    assert found[:, 0].tolist() == [1, 0, 0, 2]


def test_indices_whose_bounds_fit_need_nothing() -> None:
    """JAX clamps the indices of the scatter that a batch of `dynamic_update_slice` becomes."""

    def update(table: Any, starts: Any) -> Any:
        return jax.vmap(lambda t, s: lax.dynamic_update_slice(t, t[:2] + 1, (s, 0)))(table, starts)

    inputs = np.zeros((4, 9, 3), np.float32), np.array([-3, 0, 7, 12], np.int32)
    lowered = jax.jit(update).lower(*inputs)
    executable = nimblehlo.compile(lowered)
    assert "scatter" in executable.explain("program")
    assert "exclude_partial_windows" not in executable.explain("program")
    assert same_bits(executable(*inputs)[0], np.asarray(lowered.compile()(*inputs)))


def test_a_constant_component_that_fits_needs_nothing() -> None:
    """The component along which windows have several elements is a constant; the other one is any row."""
    inputs = np.zeros((6, 9), np.float32), np.array([0, 5, 6, -9], np.int32), np.ones((4, 3), np.float32)
    for start, needed in ((3, False), (6, False), (7, True)):

        def update(table: Any, rows: Any, values: Any, start: int = start) -> Any:
            indices = jnp.stack([rows, jnp.full_like(rows, start)], 1)
            numbers = lax.ScatterDimensionNumbers((1,), (0,), (0, 1))
            return lax.scatter_add(table, indices, values, numbers)

        lowered = jax.jit(update).lower(*inputs)
        executable = nimblehlo.compile(lowered)
        assert ("exclude_partial_windows" in executable.explain("program")) == needed
        assert same_bits(executable(*inputs)[0], np.asarray(lowered.compile()(*inputs)))


CUT = lax.ScatterDimensionNumbers((1, 2), (), (1, 0))
BATCHED = lax.ScatterDimensionNumbers((2, 3), (), (2, 1), (0,), (0,))
SCATTERS: dict[str, Callable[..., Any]] = {
    "scatter": lax.scatter,
    "scatter_add": lax.scatter_add,
    "scatter_sub": lax.scatter_sub,
    "scatter_mul": lax.scatter_mul,
    "scatter_min": lax.scatter_min,
    "scatter_max": lax.scatter_max,
    "scatter_apply": lambda a, i, u, numbers, **options: lax.scatter_apply(
        a, i, jnp.square, numbers, update_shape=u.shape, **options
    ),
}
MODES = [lax.GatherScatterMode.FILL_OR_DROP, lax.GatherScatterMode.CLIP]


def cut_windows(count: int, shape: tuple[int, ...], dtype: Any, batch: tuple[int, ...] = ()) -> list[Array]:
    """An input, index vectors of which many start windows of 2 x 3 partly outside, and updates."""
    generator = np.random.default_rng(count)
    sizes = np.array(shape)[::-1]
    return [
        generator.integers(1, 9, (*batch, *shape)).astype(dtype),
        (generator.integers(0, sizes + 4, (*batch, count, 2)) - 2).astype(np.int32),
        generator.integers(1, 9, (*batch, count, 2, 3)).astype(dtype),
    ]


SMALL, LARGE = (9, (5, 6)), (1500, (150, 200))


@pytest.mark.parametrize(
    ("dtype", "sizes", "names"),
    [
        (np.float32, SMALL, tuple(SCATTERS)),
        (np.int32, SMALL, tuple(SCATTERS)),
        (np.float16, SMALL, tuple(SCATTERS)),
        (np.float32, LARGE, ("scatter", "scatter_add")),
        (np.int32, LARGE, ("scatter_add", "scatter_max")),
    ],
)
def test_what_jax_lowers_is_run_as_by_xla(dtype: Any, sizes: Any, names: tuple[str, ...]) -> None:
    """Scatters of JAX, in every mode, with and without batching dimensions, in every way of running."""

    def function(*inputs: Any) -> list[Any]:
        return [
            SCATTERS[name](*inputs[start : start + 3], numbers, mode=mode)
            for start, numbers in ((0, CUT), (3, BATCHED))
            for mode in MODES
            for name in names
        ]

    inputs = [*cut_windows(*sizes, dtype), *cut_windows(*sizes, dtype, (3,))]
    lowered = jax.jit(function).lower(*inputs)
    want = [np.asarray(value) for value in lowered.compile()(*inputs)]
    module = nimblehlo.load(lowered.as_text())
    compile_modes = [*COMPILE_MODES.values()]
    if sizes is SMALL:
        checks = ["unique_indices", "dropped_updates"]
        compile_modes.append(Options(sanitize=checks, sanitize_action="collect"))
    for options in compile_modes:
        got = nimblehlo.execute(module, inputs, options=options)
        for index, (a, b) in enumerate(zip(got, want, strict=True)):
            assert same_bits(a, b), index


@pytest.mark.parametrize(
    ("low", "high", "needed"),
    [
        ((0, 0), (3, 4), False),
        ((0, -9), (3, 99), False),  # Windows have one element along the second dimension.
        ((-1, 0), (3, 4), True),
        ((0, 0), (4, 4), True),
    ],
)
@pytest.mark.parametrize("form", ["clamp", "minimum of maximum", "broadcast bounds"])
def test_bounds_of_each_component_count(
    low: tuple[int, int], high: tuple[int, int], needed: bool, form: str
) -> None:
    """Windows of 2 x 1 in 5 x 6: starts of the first component must lie in [0, 3]."""
    vectors = "tensor<7x2xi32>"
    bounds = [[list(bound)] * 7 for bound in (low, high)]
    if form == "broadcast bounds":
        made = [
            f"""%{name}r = stablehlo.constant dense<{list(bound)}> : tensor<2xi32>
      %{name} = stablehlo.broadcast_in_dim %{name}r, dims = [1] : (tensor<2xi32>) -> {vectors}"""
            for name, bound in (("low", low), ("high", high))
        ]
    else:
        made = [
            f"%{name} = stablehlo.constant dense<{bound}> : {vectors}"
            for name, bound in zip(("low", "high"), bounds, strict=True)
        ]
    if form == "minimum of maximum":
        clamped = f"""%m = stablehlo.maximum %low, %i : {vectors}
      %j = stablehlo.minimum %m, %high : {vectors}"""
    else:
        clamped = f"%j = stablehlo.clamp %low, %i, %high : {vectors}"
    numbers = "update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1"
    text = scatter("tensor<5x6xf32>", vectors, "tensor<7x2x1xf32>", numbers)
    lines = "\n      ".join([*made, clamped])
    text = text.replace("%0 =", f"{lines}\n      %0 =").replace("(%a, %i, %u) ({", "(%a, %j, %u) ({")
    executable = nimblehlo.compile(text, options=Options(scatter_out_of_bounds="window"))
    assert ("exclude_partial_windows" in executable.explain("program")) == needed
    indices = np.random.default_rng(1).integers(-20, 20, (7, 2)).astype(np.int32)
    inputs = [np.zeros((5, 6), np.float32), indices, np.ones((7, 2, 1), np.float32)]
    assert same_bits(executable(*inputs)[0], run_xla(text, *inputs)[0])
