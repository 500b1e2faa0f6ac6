"""Ablation of strategies of generated code: each program is compiled with a strategy and without it.

``python -m benchmarks.ablation.generated_code [STRATEGY ...]`` prints how many times as long each program
takes without the strategy, on one thread and on two; docs/strategies.md has the table. None of the programs
is in `programs/`.
"""

from __future__ import annotations

import argparse
import functools
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from nimblehlo.compiler import loops, plan
from nimblehlo.compiler.fusion import reductions as reduction_fusions
from nimblehlo.compiler.fusion import rows as row_fusions
from nimblehlo.compiler.fusion import small_steps
from nimblehlo.compiler.loops import element_costs, while_function
from nimblehlo.compiler.loops.arrays import chains, selection
from nimblehlo.compiler.loops.llvm import machine
from nimblehlo.compiler.loops.nests import emission_plan, loop_schedule
from nimblehlo.compiler.loops.reductions import (
    reducers,
    reduction_tiling,
    row_tiling,
    short_rows,
    vector_reduce,
)
from nimblehlo.compiler.lru_cache import LRUCache
from nimblehlo.compiler.plan.implementations import epilogues, native_loops

from ..programs.program import RandomArrays
from .measuring import Case, Without, import_all, ratio_without, replaced

import_all(loops, plan)

_salts = itertools.count()


def _never(*_: Any) -> bool:
    return False


def _none(*_: Any) -> None:
    return None


STRATEGIES: dict[str, tuple[Without, tuple[str, ...]]] = {
    "short tiles": (replaced(emission_plan, "short_loop", _none), ("planes", "pixels")),
    "square tiles": (replaced(emission_plan, "is_transposition", _never), ("transpose", "pixels")),
    "transposed tiles": (
        replaced(emission_plan, "transposed_accesses", lambda _: []),
        ("symmetric", "bias_nhwc"),
    ),
    "nontemporal tiles": (
        replaced(emission_plan, "uses_nontemporal_stores", _never),
        ("transpose", "large_planes"),
    ),
    "buffered stores": (replaced(emission_plan, "buffers_stores", _never), ("axpy", "select")),
    "copied slices": (replaced(loop_schedule, "_copies_slices", _never), ("gathered_rows", "swapped_rows")),
    "widened elements": (replaced(loop_schedule, "_widen_elements", lambda one: one), ("pairs", "rgba")),
    "unrolled innermost loop": (
        replaced(loop_schedule, "_unroll_innermost", lambda one: one),
        ("scaled_points", "boxes"),
    ),
    "interleaved accesses": (replaced(emission_plan, "interleaved_access", _none), ("rotary", "colours")),
    "loops side by side": (
        replaced(element_costs, "interleave_count", lambda _: 0),
        ("sine", "polynomial"),
    ),
    "short rows": (replaced(short_rows, "short_row_group", _none), ("softmax_10", "sum_6", "norm_24")),
    "groups of rows": (
        replaced(row_tiling, "rows_per_group", lambda *_: 1),
        ("softmax_100", "root_mean_square"),
    ),
    "vector reductions": (
        replaced(vector_reduce, "is_vectorized", _never),
        ("softmax_100", "range_of_rows", "squared_error"),
    ),
    "minimum by one comparison": (
        replaced(reducers, "is_min_or_max", _never),
        ("softmax_100", "range_of_rows"),
    ),
    "buffered values": (replaced(row_tiling, "_choose_buffered", _none), ("softmax_100", "softmax_1000")),
    "interleaved rows": (
        replaced(reduction_tiling, "MAX_INTERLEAVED_ROWS", 1),
        ("columns", "batch_statistics"),
    ),
    "row fusions": (
        replaced(row_fusions, "form_row_fusions", _none),
        ("softmax_100", "root_mean_square"),
    ),
    "reduction fusions": (
        replaced(reduction_fusions, "form_reduction_fusions", _none),
        ("squared_error", "batch_statistics"),
    ),
    "small tensors in registers": (
        replaced(while_function, "_check_scalar_loop", lambda *_: ""),
        ("lorenz", "newton"),
    ),
    "chains": (replaced(chains, "fused_into_users", lambda *_: set()), ("heat", "averages")),
    "native loops": (replaced(native_loops, "loop_to_compile", lambda *_: ""), ("lorenz", "newton", "heat")),
    "small steps": (replaced(small_steps, "form_step_fusions", _none), ("routing", "network")),
    "top k of few elements": (replaced(selection, "MAX_COMPARISONS", 0), ("routing",)),
    "epilogues": (replaced(epilogues, "find_epilogues", lambda _: {}), ("distances", "low_rank", "features")),
}
"""The strategies, and the programs that use them."""


def _rotary(x: Any, cosine: Any, sine: Any) -> Any:
    even, odd = x[..., ::2], x[..., 1::2]
    return jnp.stack([even * cosine - odd * sine, even * sine + odd * cosine], -1).reshape(x.shape)


def _colours(x: Any) -> Any:
    red, green, blue = x[..., 0], x[..., 1], x[..., 2]
    return jnp.stack([0.3 * red + 0.6 * green, 0.5 * blue - 0.2 * red, 0.5 * red - 0.4 * green], -1)


def _lorenz(state: Any) -> Any:
    def step(_: Any, s: Any) -> Any:
        return s + 0.001 * jnp.stack(
            [10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 2.7 * s[2]]
        )

    return lax.fori_loop(0, 5000, step, state)


def _heat(u: Any) -> Any:
    return lax.fori_loop(0, 400, lambda _, u: u + 0.1 * (jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1)), u)


def _routing(x: Any, weights: Any) -> Any:
    gates, experts = lax.top_k(x @ weights, 2)
    return jax.nn.softmax(gates, -1), experts


PROGRAMS: dict[str, Callable[[RandomArrays], Case]] = {
    "planes": lambda d: (jnp.transpose, (d.floats(700_000, 3),)),
    "large_planes": lambda d: (lambda x: jnp.transpose(x, (0, 3, 1, 2)), (d.floats(20, 500, 500, 4),)),
    "pixels": lambda d: (
        lambda x: jnp.transpose(x, (0, 3, 1, 2)),
        (d.integers(255, 8, 300, 300, 3, dtype=np.uint8),),
    ),
    "transpose": lambda d: (jnp.transpose, (d.floats(4096, 3200),)),
    "symmetric": lambda d: (lambda x: (x + x.T) * 0.5, (d.floats(1400, 1400),)),
    "bias_nhwc": lambda d: (
        lambda x, b: jax.nn.relu(jnp.transpose(x, (0, 2, 3, 1)) + b),
        (d.floats(8, 48, 60, 60), d.floats(48)),
    ),
    "axpy": lambda d: (lambda a, b: a * 2.5 + b, (d.floats(6_000_000), d.floats(6_000_000))),
    "select": lambda d: (lambda a, b: jnp.where(a > b, a, b * b), (d.floats(5_400_000), d.floats(5_400_000))),
    "gathered_rows": lambda d: (lambda x, i: x[i] * 1, (d.floats(60_000, 24), d.integers(60_000, 150_000))),
    "swapped_rows": lambda d: (lambda x: jnp.transpose(x, (1, 0, 2)), (d.floats(900, 800, 20),)),
    "pairs": lambda d: (lambda x: jnp.transpose(x, (1, 0, 2)), (d.floats(1000, 900, 2),)),
    "rgba": lambda d: (
        lambda x: jnp.transpose(x, (1, 0, 2)),
        (d.integers(255, 1000, 900, 4, dtype=np.uint8),),
    ),
    "scaled_points": lambda d: (lambda x, s: x * s + 1, (d.floats(600_000, 3), d.floats(3))),
    "boxes": lambda d: (lambda x, m: jnp.clip(x, 0, m), (d.floats(300_000, 6), np.abs(d.floats(6)))),
    "rotary": lambda d: (_rotary, (d.floats(4, 300, 12, 64), d.floats(300, 1, 32), d.floats(300, 1, 32))),
    "colours": lambda d: (_colours, (d.floats(900, 1100, 3),)),
    "sine": lambda d: (jnp.sin, (d.floats(1_000_000),)),
    "polynomial": lambda d: (
        lambda x: functools.reduce(lambda a, _: a * x + 1.5, range(20), x),
        (d.floats(1_000_000),),
    ),
    "softmax_10": lambda d: (jax.nn.softmax, (d.floats(100_000, 10),)),
    "softmax_100": lambda d: (jax.nn.softmax, (d.floats(20_000, 100),)),
    "softmax_1000": lambda d: (jax.nn.softmax, (d.floats(3000, 1000),)),
    "sum_6": lambda d: (lambda x: x.sum(-1), (d.floats(300_000, 6),)),
    "norm_24": lambda d: (
        lambda x: x / jnp.sqrt((x * x).sum(-1, keepdims=True) + 1e-6),
        (d.floats(60_000, 24),),
    ),
    "root_mean_square": lambda d: (
        lambda x, g: x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * g,
        (d.floats(9000, 300), d.floats(300)),
    ),
    "range_of_rows": lambda d: (
        lambda x: (x - x.min(-1, keepdims=True)) / x.max(-1, keepdims=True),
        (d.floats(3000, 700),),
    ),
    "squared_error": lambda d: (
        lambda a, b: ((a - b) ** 2).mean(),
        (d.floats(2_000_000), d.floats(2_000_000)),
    ),
    "columns": lambda d: (lambda x: (x * x).sum(0), (d.floats(4000, 500),)),
    "batch_statistics": lambda d: (lambda x: (x.sum((0, 1)), (x * x).sum((0, 1))), (d.floats(60, 900, 48),)),
    "lorenz": lambda d: (_lorenz, (d.floats(3),)),
    "newton": lambda d: (
        lambda x: lax.fori_loop(0, 3000, lambda _, c: c - (c**3 - x) / (3 * c * c + 1e-3), x),
        (d.floats(),),
    ),
    "heat": lambda d: (_heat, (d.floats(300),)),
    "averages": lambda d: (
        lambda xs, c: lax.scan(lambda c, x: (0.9 * c + 0.1 * x, c), c, xs)[1],
        (d.floats(500, 64), d.floats(64)),
    ),
    "routing": lambda d: (_routing, (d.floats(16, 32), d.floats(32, 8))),
    "network": lambda d: (
        lambda x, a, b: jax.nn.softmax(jax.nn.relu(x @ a + 1) @ b),
        (d.floats(2, 20), d.floats(20, 30), d.floats(30, 7)),
    ),
    "distances": lambda d: (
        lambda x, y: (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * (x @ y.T),
        (d.floats(2000, 24), d.floats(1500, 24)),
    ),
    "low_rank": lambda d: (
        lambda w, a, b: w + 0.5 * (a @ b),
        (d.floats(1500, 2000), d.floats(1500, 16), d.floats(16, 2000)),
    ),
    "features": lambda d: (
        lambda x, w, b: x @ w * 0.1 + b,
        (d.floats(5000, 10), d.floats(10, 700), d.floats(700)),
    ),
}


@contextmanager
def _unshared_code() -> Iterator[None]:
    """Programs that are compiled meanwhile share code with no other program."""
    salt, key_of = f"{next(_salts)} ", machine.key_of
    with (
        replaced(machine, "key_of", lambda description: key_of(salt + description))(),
        mock.patch.object(LRUCache, "get", return_value=None),
    ):
        yield


def main() -> None:
    """Print the ratios of the strategies that the command line names, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("strategies", nargs="*", default=list(STRATEGIES), metavar="STRATEGY")
    for strategy in parser.parse_args().strategies:
        without, programs = STRATEGIES[strategy]
        for program in programs:
            case = PROGRAMS[program](RandomArrays())
            ratios = [ratio_without(case, without, n, compiling=_unshared_code) for n in (1, 2)]
            print(f"{strategy:28}{program:20}", *[f"{ratio:6.2f}" for ratio in ratios], flush=True)


if __name__ == "__main__":
    main()
