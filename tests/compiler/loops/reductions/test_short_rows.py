"""Fusions of short rows, computed side by side: the same bits as by reference steps."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.loops.reductions.rows import rows_module
from nimblehlo.compiler.loops.reductions.short_rows import short_row_group
from tests.compiler.loops.reductions.test_rows import check, layer_norm, numbers, plan_of
from tests.support.running import run_every_way, same_bits


def group_of(function: Any, *arguments: Any, size: int = 1000) -> int | None:
    block, plan = plan_of(jax.jit(function).lower(*arguments).as_text())
    assert plan is not None
    return short_row_group(plan, block, size)


@pytest.mark.sampled
@pytest.mark.parametrize("rows", [16, 17, 65, 200])
@pytest.mark.parametrize("columns", [3, 10, 17, 48])
def test_softmax(rows: int, columns: int) -> None:
    x = numbers(rows, columns)
    assert group_of(jax.nn.softmax, x) is not None
    check(lambda x: jax.nn.softmax(x, -1), x)


def test_operands_of_one_kind_are_turned_by_one_function() -> None:
    def normalised(x: Any, y: Any, z: Any) -> Any:
        scaled = x * y + z
        return scaled, scaled / scaled.sum(-1, keepdims=True)

    arguments = [numbers(40, 16, seed=seed) for seed in range(3)]
    text = jax.jit(normalised).lower(*arguments).as_text()
    block, plan = plan_of(text)
    assert plan is not None and short_row_group(plan, block, 40) is not None
    module = str(rows_module(block, plan, 40))
    assert module.count('define internal void @"load_transposed.4.16') == 1
    assert module.count('define internal void @"store_transposed.4.16') == 1
    assert (module.count('call void @"load_transposed'), module.count('call void @"store_transposed')) == (
        3,
        2,
    )
    check(normalised, *arguments)


@pytest.mark.sampled
@pytest.mark.parametrize("columns", [2, 5, 8, 31, 33])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float16, ml_dtypes.float8_e4m3fn])
def test_layer_norm(columns: int, dtype: Any) -> None:
    operands = [numbers(*shape, dtype=dtype) for shape in ((2, 35, columns), (columns,), (columns,))]
    check(layer_norm, *operands)


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.uint8, np.int16])
def test_other_types(dtype: Any) -> None:
    with jax.enable_x64(True):
        x = (np.random.default_rng(0).random((70, 13)) * 100).astype(dtype)
        one = x.dtype.type(1)
        check(lambda x: (jax.lax.reduce(x, one, jax.lax.mul, (1,)), x - x.max(1, keepdims=True), x.sum(1)), x)


def test_truth_values() -> None:
    x = np.random.default_rng(0).random((50, 7)) < 0.9
    check(lambda x: (x & ~jnp.all(x, 1, keepdims=True), jnp.any(x, 1)), x)


def test_operands_of_rows_and_of_columns() -> None:
    def function(x: Any, rows: Any, columns: Any, one: Any) -> Any:
        y = jnp.exp(x * rows[..., None] + columns) * one
        total = y.sum(-1)
        return y / total[..., None], total + rows, columns * jnp.log(total)[..., None], rows * 2

    check(function, numbers(3, 5, 7, 9), numbers(3, 5, 7), numbers(9), np.float32(2))


def test_operands_that_vary_along_some_dimensions_of_rows() -> None:
    def function(x: Any, first: Any, last: Any) -> Any:
        return x - (x * first[:, None, None]).max(-1, keepdims=True) * last[:, None]

    assert group_of(function, numbers(6, 7, 9), numbers(6), numbers(7)) is not None
    check(function, numbers(6, 7, 9), numbers(6), numbers(7))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("columns", [2, 3, 11, 16])
def test_strided_rows(columns: int, dtype: Any) -> None:
    """Differences of all pairs: an operand's row is many rows of the fusion."""

    def attracted(x: Any, y: Any) -> Any:
        between = x[:, None] - y[None]
        return between / ((between * between).sum(-1, keepdims=True) + x.dtype.type(0.5)) ** 1.5

    arguments = numbers(23, columns, dtype=dtype), numbers(19, columns, seed=1, dtype=dtype)
    assert group_of(attracted, *arguments) is not None
    check(attracted, *arguments)


def test_rows_that_lie_apart_are_left_alone_where_that_takes_longer() -> None:
    def distances(x: Any, y: Any) -> Any:
        return ((x[:, None] - y[None]) ** 2).sum(-1)

    assert group_of(distances, numbers(23, 3), numbers(19, 3)) is None
    check(distances, numbers(23, 3), numbers(19, 3))


def test_indices_are_counted() -> None:
    def causal(x: Any, offset: Any) -> Any:
        rows, columns = (jax.lax.broadcasted_iota(jnp.int32, x.shape, d) for d in (1, 2))
        return jax.nn.softmax(jnp.where(rows + offset >= columns, x, -1e9), -1)

    def weighted(x: Any, offset: Any) -> Any:
        return (x * (jax.lax.broadcasted_iota(jnp.int32, x.shape, 0) + offset)).sum(1)

    check(causal, numbers(90, 40, 37), np.int32(1))
    check(weighted, np.random.default_rng(0).integers(-9, 9, (9001, 6)).astype(np.int32), np.int32(3))


def test_several_trailing_dimensions() -> None:
    check(lambda x, y: x * y / x.sum((1, 2), keepdims=True), numbers(30, 5, 6), numbers(5, 6))


def test_special_values() -> None:
    x = numbers(20, 9)
    x[0, 3], x[1, 2], x[2, :], x[3, 4], x[4, :] = np.nan, np.inf, -np.inf, -0.0, -0.0
    x[5, :], x[17, 8] = 1e-42, np.nan
    check(lambda x: (jax.nn.softmax(x), x.max(-1), x.min(-1), x.sum(-1), (x + x).sum(-1)), x)


def test_integers_are_divided() -> None:
    x = np.random.default_rng(0).integers(-5, 5, (18, 5)).astype(np.int32)
    check(lambda x: jax.lax.div(x, jnp.broadcast_to(x.sum(1, keepdims=True), x.shape)), x)


def test_bodies_that_are_no_known_form() -> None:
    def function(x: Any) -> Any:
        return jax.lax.reduce(x + 1, np.float32(1), lambda a, b: a * 0.5 + b, (1,))

    check(function, numbers(40, 21))


def test_rows_that_do_not_lie_one_after_the_other_are_computed_one_by_one() -> None:
    def pairs(x: Any, y: Any) -> Any:
        return ((x[:, None] - y[None]) ** 2).sum(-1)

    assert group_of(pairs, numbers(9, 6), numbers(8, 6)) is None
    check(pairs, numbers(9, 6), numbers(8, 6))


def test_groups_follow_the_bytes_of_a_row_and_the_rows_of_a_task() -> None:
    def softmax(x: Any) -> Any:
        return jax.nn.softmax(x, -1)

    assert group_of(softmax, numbers(1000, 8)) == 64
    assert group_of(softmax, numbers(1000, 48)) == 32
    assert group_of(softmax, numbers(1000, 8), size=20) == 32
    assert group_of(softmax, numbers(1000, 8), size=1) == 16
    assert group_of(softmax, numbers(15, 8)) is None
    assert group_of(softmax, numbers(1000, 100)) is None


def test_any_number_of_threads() -> None:
    x = numbers(5003, 10)
    text = jax.jit(jax.nn.log_softmax).lower(x).as_text()
    (want,) = run_every_way(text, x)
    for threads in (1, 2, 3, 8):
        options = Options(compile="eager", threads=threads)
        (got,) = nimblehlo.execute(text, [x], options=options)
        assert same_bits(got, want)
