"""Fusions of rows as native code: the same bits as their operations one by one."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.loops.llvm import machine
from nimblehlo.compiler.loops.reductions import row_tiling, rows
from nimblehlo.compiler.specialize import specialize
from tests.support.running import run_every_way, same_bits

Array = np.ndarray[Any, Any]


def plan_of(text: str) -> tuple[Any, row_tiling.RowTilePlan | None]:
    """The block of a program's function and its form, were it a fusion."""
    function = specialize(nimblehlo.load(text), "main")
    assert function.body is not None
    return function.body.block, row_tiling.plan_row_tiling(function.body.block)


def by_rows(text: str, inputs: list[Array], size: int) -> list[Array]:
    """The results of a program's function, run as one fusion in tasks of `size` rows."""
    block, plan = plan_of(text)
    assert plan is not None
    code = str(rows.rows_module(block, plan, size))
    address = machine.function_address(machine.key_of(code), rows.NAME, lambda: code)
    task = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(address)
    types: list[Any] = [value.type for value in block.terminator.operands]
    results = [np.empty(type.shape, type.dtype) for type in types]
    pointers = [array.ctypes.data for array in (*inputs, *results)]
    closure = np.array([*pointers, 0, size, plan.rows], np.int64)
    for number in reversed(range(-(-plan.rows // size))):
        task(number, closure.ctypes.data)
    return results


def total(x: Any) -> Any:
    return x.sum(-1)


def check(function: Callable[..., Any], *arguments: Any, sizes: Sequence[int] = (3,)) -> None:
    """A function of JAX gives the same bits as its references, in tasks of `sizes` rows and in one task."""
    inputs = [np.asarray(argument) for argument in arguments]
    text = jax.jit(function).lower(*[jnp.asarray(array) for array in inputs]).as_text()
    expected = nimblehlo.execute(text, inputs, options=Options(compile="never"))
    _, plan = plan_of(text)
    assert plan is not None
    for size in {*sizes, plan.rows}:
        for got, want in zip(by_rows(text, inputs, size), expected, strict=True):
            assert same_bits(got, want)


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Array:
    values = np.random.default_rng(seed).standard_normal(shape) * 4
    return values.astype(dtype)


def layer_norm(x: Any, scale: Any, bias: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + bias


def test_the_cost_of_a_value_that_many_use_is_computed_once() -> None:
    """Otherwise the time doubles with each of these operations."""

    def after_sum(x: Any) -> Any:
        x = x - x.sum(-1, keepdims=True)
        for _ in range(60):
            x = x * x
        return x

    check(after_sum, numbers(3, 5))


SHAPES = [(1, 2), (3, 2), (5, 7), (2, 64), (11, 129), (2, 3, 5), (2, 2, 2, 33), (3, 5, 2, 65)]


@pytest.mark.sampled
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float16])
def test_softmax(shape: tuple[int, ...], dtype: Any) -> None:
    check(lambda x: jax.nn.softmax(x, -1), numbers(*shape, dtype=dtype), sizes=(1, 3))


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float64])
def test_rows_of_one_column(rows: int, dtype: Any) -> None:
    def normalised(x: Any) -> Any:
        return jax.nn.softmax(x, -1), layer_norm(x, x[0], x[-1]), x.max(-1), jax.nn.logsumexp(x, -1)

    with jax.enable_x64(True):
        x = numbers(rows, 1, dtype=dtype)
        softmax, *_ = run_every_way(jax.jit(normalised).lower(x).as_text(), x)
    assert (softmax == 1).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_layer_norm(shape: tuple[int, ...]) -> None:
    check(layer_norm, numbers(*shape), numbers(shape[-1], seed=1), numbers(shape[-1], seed=2), sizes=(1, 3))


@pytest.mark.parametrize("shape", [(6, 50), (9, 100)])
def test_log_softmax_and_logsumexp(shape: tuple[int, ...]) -> None:
    check(lambda x: (jax.nn.log_softmax(x), jax.nn.logsumexp(x, -1)), numbers(*shape))


@pytest.mark.parametrize(("columns", "expected"), [(63, 1), (64, 4), (256, 4), (512, 2), (1024, 1), (9, 1)])
def test_rows_of_middling_length_are_computed_together(columns: int, expected: int) -> None:
    text = jax.jit(lambda x: jax.nn.softmax(x, -1)).lower(numbers(8, columns)).as_text()
    block, plan = plan_of(text)
    assert plan is not None and row_tiling.rows_per_group(plan, block) == expected


def test_rows_of_a_group_keep_apart() -> None:
    """Reductions of several types, values kept in a result, results and operands of rows."""

    def function(x: Any, y: Any, z: Any) -> Any:
        e = jnp.exp(x * z[:, None])
        total, most = e.sum(-1), y.max(-1)
        scaled = e / total[:, None]
        return e, scaled, total, most, jnp.where(y == most[:, None], scaled, x), scaled.max(-1)

    y = np.random.default_rng(3).integers(-99, 99, (10, 96)).astype(np.int16)
    check(function, numbers(10, 96), y, numbers(10))


@pytest.mark.parametrize("shape", [(1, 80), (31, 80), (33, 80), (5, 14, 80), (70, 40)])
def test_results_of_rows_are_computed_after_several_groups(shape: tuple[int, ...]) -> None:
    """A logarithm of what the columns of a row share; a sum takes too little time for that."""
    x = np.random.default_rng(5).standard_normal(shape).astype(np.float32)

    def function(x: Any) -> Any:
        largest = x.max(-1)
        exponentials = jnp.exp(x - largest[..., None])
        return jnp.log(exponentials.sum(-1)) + largest, exponentials, largest

    check(function, x, sizes=(3, 33))
    calls = [
        row_tiling.rows_per_call(plan, block, 4)
        for block, plan in [plan_of(jax.jit(each).lower(x).as_text()) for each in (function, total)]
        if plan is not None
    ]
    assert calls == [row_tiling._ROWS_PER_CALL, 4]


def test_division_by_a_value_of_the_row() -> None:
    def divide(x: Any, y: Any) -> Any:
        return x.max(-1, keepdims=True) - x / y[:, None] + x / x.sum(-1, keepdims=True)

    generator = np.random.default_rng(4)
    bits = generator.integers(0, 1 << 32, (300, 64), np.uint64).astype(np.uint32).view(np.float32)
    divisors = np.concatenate([[0, -0.0, np.inf, np.nan, 1e-45, 3, 6e-45], numbers(293)]).astype(np.float32)
    tiny = (generator.integers(-99, 99, (300, 64)) * 1e-45).astype(np.float32)
    for dividends in (bits, tiny, numbers(300, 64)):
        check(divide, dividends, divisors)


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: jax.nn.softmax(x), id="exponentials are kept"),
        pytest.param(lambda x: x - x.mean(-1, keepdims=True), id="nothing is kept"),
        pytest.param(lambda x: jnp.exp(x - x.max(-1, keepdims=True)).sum(-1), id="no result of rows"),
    ],
)
def test_rows_of_several_passes(function: Callable[[Any], Any]) -> None:
    check(function, numbers(10, 600))


def test_special_values() -> None:
    x = numbers(6, 9)
    x[0, 3], x[1, 2], x[2, :], x[3, 4], x[4, :] = np.nan, np.inf, -np.inf, -0.0, 0.0
    x[5, :] = 1e-42
    check(lambda x: (jax.nn.softmax(x), x.max(-1), x.min(-1), x.sum(-1)), x)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("columns", [17, 64, 101, 300])
def test_extremes_of_a_row(columns: int, dtype: Any) -> None:
    """A NaN or a zero of the other sign counts, wherever it is."""
    rows = [
        np.full(columns, value) for value in (0.0, -0.0, -1.0, 1.0, -np.inf, np.inf, np.nan, 1e-45, -1e-45)
    ]
    for place in (*range(0, columns, 5), columns - 1):
        for value, others in itertools.product(
            (0.0, -0.0, np.nan, -np.nan, 1.0, -1.0), (0.0, -0.0, 2.0, -2.0)
        ):
            rows.append(np.where(np.arange(columns) == place, value, others))
    x = np.array(rows).astype(dtype)
    check(lambda x: (x.max(-1), x.min(-1), jax.nn.softmax(x)), x)


FOLDED = [2, 8, 9, 17, 31, 64, 255, 256, 257, 300, 768, 4111]


@pytest.mark.sampled
@pytest.mark.parametrize("columns", FOLDED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_fold_by_adjacent_pairs_at_any_length(columns: int, dtype: Any) -> None:
    values = numbers(4, columns, dtype=dtype)
    values[1] = -0.0
    values[2, columns // 2] = np.inf
    values[3, columns - 1] = -np.inf
    values[3, 0] += np.nan if columns % 2 else 1

    with jax.enable_x64(True):
        # The absolute values lie in a buffer; the argument is folded where it is.
        check(lambda x: (jnp.sum(x, -1), jnp.sum(abs(x), -1), jnp.prod(x, -1)), values)
        check(lambda x: (jnp.max(x, -1), jnp.min(x, -1), jnp.min(abs(x), -1)), values)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_exponentials_of_what_is_less_a_value_of_the_row(dtype: Any) -> None:
    """Those of numbers that cannot be positive, and others that look like them."""
    values = numbers(24, 64, dtype=dtype)
    values[4:] *= np.asarray(60, dtype)
    values[8:, ::7] = np.finfo(np.float16).max
    values[12:, 1::9] = -np.inf
    values[16:, ::11] = np.inf
    values[20:, 5] = np.nan

    def greatest(x: Any) -> Any:
        return x.max(-1, keepdims=True)

    check(lambda x: jnp.exp(x - greatest(x)), values)
    check(lambda x: jnp.exp(x - jnp.maximum(greatest(x), 1)), values)
    check(lambda x: jnp.exp(x - x.min(-1, keepdims=True)), values)
    check(lambda x: jnp.exp(x - jnp.minimum(greatest(x), 1)), values)
    check(lambda x: jnp.exp(x * 2 - greatest(x)), values)
    check(lambda x: jnp.exp(greatest(x) - x), values)


def test_masks_are_counted() -> None:
    def causal(x: Any, offset: Any) -> Any:
        rows, columns = (jax.lax.broadcasted_iota(jnp.int32, x.shape, d) for d in (1, 2))
        return jax.nn.softmax(jnp.where(rows + offset >= columns, x, -1e9), -1)

    check(causal, numbers(2, 130, 131), np.int32(1))


def test_operands_that_are_broadcast() -> None:
    def attention(x: Any, mask: Any, bias: Any) -> Any:
        return jax.nn.softmax(jnp.where(mask, x + bias, -1e9), -1)

    check(attention, numbers(2, 3, 4, 5), numbers(2, 1, 1, 5) > 0, numbers(3, 4, 1))


def test_several_trailing_dimensions() -> None:
    check(lambda x: x / x.sum((1, 2), keepdims=True), numbers(4, 5, 6))
    check(lambda x, s: x * s - x.mean((1, 2, 3), keepdims=True), numbers(3, 4, 5, 2), numbers(4, 5, 2))


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64])
def test_integers(dtype: Any) -> None:
    with jax.enable_x64(True):
        x = np.random.default_rng(0).integers(0, 100, (7, 37)).astype(dtype)
        one = x.dtype.type(1)
        check(lambda x: (jax.lax.reduce(x, one, jax.lax.mul, (1,)), x - x.max(1, keepdims=True)), x)


def test_other_bodies_fold_in_order() -> None:
    body = "%s = stablehlo.subtract %a, %b : tensor<f32>"
    text = f"""
      func.func @main(%x: tensor<3x21xf32>, %init: tensor<f32>) -> tensor<3xf32> {{
        %y = "stablehlo.reduce"(%x, %init) <{{dimensions = array<i64: 1>}}> ({{
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          {body}
          stablehlo.return %s : tensor<f32>
        }}) : (tensor<3x21xf32>, tensor<f32>) -> tensor<3xf32>
        return %y : tensor<3xf32>
      }}"""
    inputs = [numbers(3, 21), np.asarray(np.float32(2.5))]
    (expected,) = nimblehlo.execute(text, inputs, options=Options(compile="never"))
    (got,) = by_rows(text, inputs, 2)
    assert same_bits(got, expected)


def test_expensive_values_are_stored_and_cheap_ones_recomputed() -> None:
    text = jax.jit(lambda x: jax.nn.softmax(x, -1)).lower(numbers(4, 8)).as_text()
    _, plan = plan_of(text)
    assert plan is not None
    assert [value.owner.name for value in plan.buffered] == ["stablehlo.exponential"]
    text = jax.jit(lambda x: x - x.mean(-1, keepdims=True)).lower(numbers(4, 8)).as_text()
    _, plan = plan_of(text)
    assert plan is not None
    assert not plan.buffered


@pytest.mark.parametrize(
    ("shape", "function"),
    [
        ((6, 10), lambda x: x.sum(0)),
        ((6, 10), lambda x: x - x.sum(1, keepdims=True) + x.sum((0, 1))),
        ((6, 6), lambda x: x.T + x.sum(1, keepdims=True)),
        ((6, 10), lambda x: jnp.argmax(x, 1)),
        ((6, 10), lambda x: x.reshape(10, 6) + x.reshape(10, 6).sum()),
    ],
)
def test_other_fusions_have_no_plan(shape: tuple[int, ...], function: Callable[..., Any]) -> None:
    _, plan = plan_of(jax.jit(function).lower(numbers(*shape)).as_text())
    assert plan is None


def test_rows_that_are_too_long_have_no_form() -> None:
    text = jax.jit(lambda x: x.sum(1)).lower(jax.ShapeDtypeStruct((2, 1 << 20), np.float32)).as_text()
    assert plan_of(text)[1] is None
