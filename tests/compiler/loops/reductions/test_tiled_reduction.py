"""Reductions with the work before them as native code: the same bits as their operations one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.loops.reductions import reduction_tiling, tiled_reduction
from nimblehlo.compiler.loops.reductions.region_reduction import ReduceCode
from nimblehlo.compiler.specialize import specialize
from nimblehlo.program.ops.reduction.reduce import Reduce
from tests.support.running import run_every_way, same_bits

Array = np.ndarray[Any, Any]


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Array:
    return (np.random.default_rng(seed).standard_normal(shape) * 3).astype(dtype)


def check(function: Callable[..., Any], *inputs: Array, count: int = 1) -> None:
    """The function has so many fusions of reductions, and gives the same bits in every way of running."""
    with jax.enable_x64(True):
        module = nimblehlo.load(jax.jit(function).lower(*inputs).as_text())
    plan = nimblehlo.compile(module, options=Options(compile="eager")).explain()
    steps = [line for line in plan.splitlines() if " nimblehlo.reduction_fusion " in line]
    assert len(steps) == count, plan
    want = run_every_way(module, *inputs)
    for threads in (2, 3, 8):
        got = nimblehlo.execute(module, inputs, options=Options(compile="eager", threads=threads))
        assert all(map(same_bits, got, want))


@pytest.mark.parametrize("size", [1 << 17, (1 << 17) + 1, 100_003])
def test_of_all_elements(size: int) -> None:
    check(lambda x: (x * x).sum(), numbers(size))


def test_zeros_keep_their_signs_in_blocks_that_are_not_full() -> None:
    def total(x: Any, start: float) -> Any:
        return jax.lax.reduce(-x, np.float32(start), jax.lax.add, (0, 1))

    zeros = np.zeros((3, 12_345), np.float32)
    check(lambda x: total(x, -0.0), zeros)
    check(lambda x: total(x, 0.0), zeros)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(70_001,), (5, 16_000)])
def test_products(shape: tuple[int, ...], dtype: Any) -> None:
    x = (1 + np.random.default_rng(0).random(shape) / 1000).astype(dtype)
    check(lambda x: (-x).prod(-1), x)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_bodies_that_are_no_known_form(axes: tuple[int, ...]) -> None:
    def function(x: Any) -> Any:
        return jax.lax.reduce(x * x, np.float32(1), lambda a, b: a * 0.5 + b, axes)

    check(function, numbers(9, 8_000))


@pytest.mark.parametrize("rows", [2, 5, 7, 8, 9, 31, 64, 1001])
def test_rows_that_fill_no_groups(rows: int) -> None:
    x = numbers(rows, 40_000 // rows)
    check(lambda x: ((x + 1).sum(0), jnp.exp(x + 1).sum(0), (x + 1).max(0)), x)
    check(lambda x: (x * x).sum(1), numbers(70_000 // (rows * 20), rows, 20, dtype=np.float64))


@pytest.mark.parametrize("shape", [(300, 130), (2049, 16), (33, 1000), (40, 1030), (3, 5, 7, 400)])
def test_along_leading_dimensions(shape: tuple[int, ...]) -> None:
    check(lambda x: (x * x + 1).sum(tuple(range(len(shape) - 1))), numbers(*shape))


def test_along_dimensions_in_the_middle() -> None:
    check(lambda x: jnp.abs(x).sum((1, 2)), numbers(9, 13, 17, 21))


def test_few_long_rows() -> None:
    check(lambda x: (x * x).sum(1), numbers(3, 70_001))


def test_operands_that_are_broadcast() -> None:
    check(lambda x, mean: ((x - mean) ** 2).mean((0, 1, 2)), numbers(4, 14, 15, 64), numbers(64))
    check(lambda x, s: (x * s[:, None, None]).sum((1, 2)), numbers(3, 150, 160), numbers(3))


def test_several_reductions_and_what_they_reduce() -> None:
    check(lambda x: ((x + 1).sum(0), jnp.abs(x + 1).max(0), x + 1), numbers(700, 64))


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16, ml_dtypes.float8_e5m2])
def test_narrow_floats_are_summed_in_f32(dtype: Any) -> None:
    def function(x: Any) -> Any:
        return jax.lax.reduce(x * x, x.dtype.type(0.5), jax.lax.add, (0, 1))

    check(function, numbers(300, 200, dtype=dtype))


@pytest.mark.parametrize("dtype", [np.int8, np.uint32])
def test_integers(dtype: Any) -> None:
    def function(x: Any) -> Any:
        return jax.lax.reduce(x * x, x.dtype.type(3), jax.lax.add, (0,))

    check(function, np.random.default_rng(0).integers(0, 100, (500, 96)).astype(dtype))


def test_special_values() -> None:
    x = numbers(200, 300)
    x[3, 7], x[5, 8], x[6, 9], x[:, 10], x[:, 11] = np.nan, np.inf, -np.inf, -0.0, 1e-44
    check(lambda x: (jnp.maximum(-x, x * 0.5).max(0), (x * 0.5).min(0)), x)


def test_a_result_that_is_used_again_comes_in_another_step() -> None:
    check(lambda x: x * 2 / (x * 2).sum(), numbers(40_000))


def numbers_and_scales(*shape: int) -> tuple[Array, Array]:
    return numbers(*shape), numbers(shape[-1], seed=1)


@pytest.mark.parametrize("shape", [(300, 130), (3, 70_001), (20_000, 24)])
def test_operations_on_results(shape: tuple[int, ...]) -> None:
    def statistics(x: Any, scale: Any) -> Any:
        mean = x.mean(0)
        return mean, jnp.tanh((x * x).mean(0, keepdims=True) - mean**2) * scale, x.max(0) > scale

    check(statistics, *numbers_and_scales(*shape), count=2)


@pytest.mark.parametrize("dtype", [np.float64, ml_dtypes.bfloat16, np.float16])
def test_operations_on_results_round_as_their_type(dtype: Any) -> None:
    check(lambda x: jnp.exp(x.mean((0, 1)) * x.min((0, 1))), numbers(3, 250, 96, dtype=dtype))


def test_operations_on_results_of_dimensions_in_the_middle() -> None:
    check(lambda x, scale: x.sum((1, 2)) / scale, *numbers_and_scales(5, 30, 40, 32))


def test_operations_on_a_result_of_all_elements() -> None:
    check(lambda x: -jnp.sqrt(x.sum() / 7), numbers(123_457) ** 2)


def test_operations_with_others_than_the_kept_dimensions_come_later() -> None:
    """The second reduction uses the first one's result at every element; the outer product has more
    elements."""
    check(lambda x: ((x - x.mean(0)) ** 2).mean(0), numbers(400, 160), count=2)
    check(lambda x: jnp.outer(x.sum(0) * 2, x.max(0) + 1), numbers(400, 160), count=2)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(0),
        lambda x: (x * x).reshape(150, 2, 50, 6).sum((0, 2)),
        lambda x: (x * x)[:, :5].sum(0),
        lambda x: jnp.argmax(x * 2),
    ],
)
def test_what_forms_none(function: Callable[..., Any]) -> None:
    check(function, numbers(300, 300), count=0)


@pytest.mark.parametrize(
    ("shape", "dtype", "is_prefetched"),
    [
        ((4200, 1000), np.float32, True),
        ((4192, 1000), np.float32, False),  # fewer than MIN_PREFETCHED_BYTES
        ((4200, 1024), np.float32, False),  # a row of a page
        ((280, 300, 50), np.float32, True),
        ((3200, 600), np.float64, False),
        ((4400, 500), np.float64, True),
    ],
)
def test_short_rows_of_large_operands_are_prefetched(
    shape: tuple[int, ...], dtype: Any, is_prefetched: bool
) -> None:
    def total(x: Any) -> Any:
        return x.sum(-2)

    x = numbers(*shape, dtype=dtype)
    with jax.enable_x64(True):
        text = jax.jit(total).lower(x).as_text()
    function = specialize(nimblehlo.load(text), "main")
    assert function.body is not None
    block = function.body.block
    plan = reduction_tiling.plan_reduction_tiling(block)
    assert plan is not None
    code = str(tiled_reduction.reductions_module(block, plan, 1, tiled_reduction.Accumulation()))
    assert ('call void @"llvm.prefetch' in code) == is_prefetched
    run_every_way(text, x)


@pytest.mark.parametrize(("rows", "is_in_memory"), [(3, False), (8, False), (9, True)])
def test_totals_of_few_rows_stay_in_registers(rows: int, is_in_memory: bool) -> None:
    def totals(x: Any, weights: Any) -> list[Any]:
        """Sums, products and maxima of rows, and what is computed of them."""
        scaled = x * weights[:, None]
        kept = scaled - 0.5
        return [kept, jnp.exp(kept.sum(0)) + scaled.max(0), *((kept + k).prod(0) for k in range(3))]

    inputs = numbers(rows, 12_345), numbers(rows, seed=1)
    check(totals, *inputs)
    body = specialize(nimblehlo.load(jax.jit(lambda x: x.sum(0)).lower(inputs[0])), "main").body
    assert body is not None
    plan = reduction_tiling.plan_reduction_tiling(body.block)
    assert plan is not None
    code = str(tiled_reduction.reductions_module(body.block, plan, 1, tiled_reduction.Accumulation()))
    assert ("alloca" in code) == is_in_memory


APART = [
    ((5, 6, 7), (0, 2)),  # a short tree
    ((2, 300, 3), (0, 2)),
    ((100, 7, 33), (0, 2)),
    ((40, 1, 7, 1, 130), (0, 4)),
    ((3, 2, 1500, 1), (0, 2)),  # blocks that begin within a run
    ((3, 5, 2048), (0, 2)),
    ((9, 2, 5, 3, 31), (0, 2, 4)),
    ((2, 9, 3, 5, 31), (1, 4)),
    ((6, 3, 50, reduction_tiling.MIN_INNER), (0, 2)),
    ((6, 3, 50, reduction_tiling.MIN_INNER - 1), (0, 2)),
    ((2, 3, 2, 40), (0, 2)),
    ((2, 5, 70, 2, 17), (1, 3)),
]
"""Shapes of arrays, and dimensions to reduce between which others are kept."""


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16, np.complex64, np.int8])
@pytest.mark.parametrize(("shape", "axes"), APART)
def test_of_dimensions_that_lie_apart(shape: tuple[int, ...], axes: tuple[int, ...], dtype: Any) -> None:
    def function(x: Any) -> Any:
        one, two = x.dtype.type(1), x.dtype.type(2)
        pairs = jax.lax.reduce((x, -x), (one, two), lambda a, b: (a[0] + b[1], b[0]), axes)
        return jax.lax.reduce(x, one, jax.lax.add, axes), jax.lax.reduce(x, two, jax.lax.max, axes), pairs

    x = numbers(*shape).astype(dtype)
    if dtype is not np.int8:
        x.flat[:: x.size // 3] = [np.nan, np.inf, -0.0, -np.inf][: len(x.flat[:: x.size // 3])]
    check(function, x, count=0)
    check(function, -0 * np.abs(numbers(*shape)).astype(dtype), count=0)


@pytest.mark.parametrize(
    ("shape", "is_prefetched"),
    [
        ((65, 8, 1023), True),
        ((64, 8, 1023), False),  # fewer than MIN_PREFETCHED_RUNS_BYTES
        ((65, 8, 1025), False),  # a run of more than a page
        ((6000, 3, 30), True),
    ],
)
def test_runs_of_large_operands_are_prefetched(shape: tuple[int, ...], is_prefetched: bool) -> None:
    x = numbers(*shape)
    text = jax.jit(lambda x: x.sum((0, 2))).lower(x).as_text()
    function = specialize(nimblehlo.load(text), "main")
    assert function.body is not None
    (operation,) = [one for one in function.body.block.operations if one.name == "stablehlo.reduce"]
    code = str(ReduceCode(Reduce.of(operation), None).lowered.module())
    assert ('call void @"llvm.prefetch' in code) == is_prefetched
    run_every_way(text, x)


def test_which_dimensions_lie_in_runs() -> None:
    runs = reduction_tiling.runs_of((4, 3, 2, 5, 7), (0, 2, 3, 4))
    assert runs == reduction_tiling.Runs(((3, 70),), ((4, 210), (70, 1)), 1)
    assert runs.sizes == (3, 280, 1)
    wide = reduction_tiling.runs_of((2, 4, 3, 1, 5, 16), (1, 4))
    assert wide == reduction_tiling.Runs(((2, 960), (3, 80)), ((4, 240), (5, 16)), 16)
    assert reduction_tiling.runs_of((4, 3, 5, 15), (0, 2)) is None
