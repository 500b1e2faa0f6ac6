"""Ablation of strategies of generated code: each program is compiled with a strategy and without it.

``python -m benchmarks.codegen_ablation [STRATEGY ...]`` prints how many times as long each program takes
without the strategy, on one thread and on two; docs/strategies.md has the table. None of the programs is in
`programs/`.
"""

from __future__ import annotations

import argparse
import functools
import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import nimblehlo
from nimblehlo.codegen import native_loop
from nimblehlo.codegen.arrays import emitter, selection
from nimblehlo.codegen.elementwise import elementwise
from nimblehlo.codegen.llvm import machine
from nimblehlo.codegen.nests import loop_schedule, nest, nest_emitter
from nimblehlo.codegen.reductions import reduce, reduction_tiling, reductions, row_tiling, rows, vector_reduce
from nimblehlo.options import Options
from nimblehlo.plan import choice, fusion_passes, lowering
from nimblehlo.plan.implementations import nest_code, nests, reduction_fusion

from .measuring import side_by_side
from .programs.program import Array, Draw

Without = Callable[[], AbstractContextManager[Any]]
Case = tuple[Callable[..., Any], tuple[Array, ...]]

_salts = itertools.count()


def _without(name: str, value: Any, *modules: Any) -> Without:
    """Set the global `name` to `value` in every module that has it."""

    @contextmanager
    def without() -> Iterator[None]:
        with ExitStack() as patches:
            for module in modules:
                if hasattr(module, name):
                    patches.enter_context(mock.patch.object(module, name, value))
            yield

    return without


def _never(*_: Any) -> bool:
    return False


def _none(*_: Any) -> None:
    return None


_NESTS = (loop_schedule, nest, nest_emitter, nests)
STRATEGIES: dict[str, tuple[Without, tuple[str, ...]]] = {
    "short tiles": (_without("short_loop", _none, *_NESTS), ("planes", "pixels")),
    "square tiles": (_without("is_transposition", _never, *_NESTS), ("transpose", "pixels")),
    "transposed tiles": (_without("transposed_accesses", lambda _: [], *_NESTS), ("symmetric", "bias_nhwc")),
    "nontemporal tiles": (
        _without("uses_nontemporal_stores", _never, *_NESTS),
        ("transpose", "large_planes"),
    ),
    "buffered stores": (_without("buffers_stores", _never, *_NESTS), ("axpy", "select")),
    "copied slices": (_without("_copies_slices", _never, loop_schedule), ("gathered_rows", "swapped_rows")),
    "widened elements": (_without("_widen_elements", lambda one: one, loop_schedule), ("pairs", "rgba")),
    "unrolled innermost loop": (
        _without("_unroll_innermost", lambda one: one, loop_schedule),
        ("scaled_points", "boxes"),
    ),
    "interleaved accesses": (_without("interleaved_access", _none, *_NESTS), ("rotary", "colours")),
    "loops side by side": (
        _without("interleave_count", lambda _: 0, elementwise, nest_emitter, reductions, rows),
        ("sine", "polynomial"),
    ),
    "short rows": (_without("short_row_group", _none, rows), ("softmax_10", "sum_6", "norm_24")),
    "groups of rows": (_without("rows_per_group", lambda *_: 1, rows), ("softmax_100", "root_mean_square")),
    "vector reductions": (
        _without("_can_vectorize", _never, vector_reduce),
        ("softmax_100", "range_of_rows", "squared_error"),
    ),
    "minimum by one comparison": (
        _without("is_min_or_max", _never, reduce),
        ("softmax_100", "range_of_rows"),
    ),
    "buffered values": (_without("_choose_buffered", _none, row_tiling), ("softmax_100", "softmax_1000")),
    "interleaved rows": (
        _without("MAX_INTERLEAVED_ROWS", 1, reduction_tiling),
        ("columns", "batch_statistics"),
    ),
    "row fusions": (
        _without("form_row_fusions", _none, fusion_passes),
        ("softmax_100", "root_mean_square"),
    ),
    "reduction fusions": (
        _without("form_reduction_fusions", _none, fusion_passes),
        ("squared_error", "batch_statistics"),
    ),
    "small tensors in registers": (
        _without("_check_scalar_loop", lambda *_: "", native_loop),
        ("lorenz", "newton"),
    ),
    "chains": (_without("fused_into_users", lambda *_: set(), emitter), ("heat", "averages")),
    "native loops": (_without("loop_to_compile", lambda *_: "", choice), ("lorenz", "newton", "heat")),
    "small steps": (_without("form_step_fusions", _none, fusion_passes), ("routing", "network")),
    "top k of few elements": (_without("MAX_COMPARISONS", 0, selection), ("routing",)),
    "epilogues": (_without("find_epilogues", lambda _: {}, lowering), ("distances", "low_rank", "features")),
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


PROGRAMS: dict[str, Callable[[Draw], Case]] = {
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
def _own_code() -> Iterator[None]:
    """Nothing that is compiled meanwhile shares its code with anything else."""
    salt, key_of = f"{next(_salts)} ", machine.key_of
    caches = (
        nest_code._nest_cache, reduction_fusion._by_description, reduction_fusion._by_structural_key,
    )  # fmt: skip
    for cache in caches:
        cache._values.clear()
    with mock.patch.object(machine, "key_of", lambda description: key_of(salt + description)):
        yield
    for cache in caches:
        cache._values.clear()


def _measure(without: Without, program: str, threads: int) -> float:
    """How many times as long the program takes without a strategy."""
    function, arguments = PROGRAMS[program](Draw())
    text = jax.jit(function).lower(*arguments).as_text()
    inputs = [np.asarray(argument) for argument in arguments]

    def ready() -> nimblehlo.Executable:
        executable = nimblehlo.compile(text, options=Options(compile="eager", threads=threads))
        for _ in range(3):
            executable(*inputs)
        return executable

    with _own_code():
        with_it = ready()
    with _own_code(), without():
        without_it = ready()
    return side_by_side(lambda: with_it(*inputs), lambda: without_it(*inputs)).ratio


def main() -> None:
    """Print the ratios of the strategies that the command line names, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("strategies", nargs="*", default=list(STRATEGIES), metavar="STRATEGY")
    for strategy in parser.parse_args().strategies:
        without, programs = STRATEGIES[strategy]
        for program in programs:
            ratios = [f"{_measure(without, program, threads):6.2f}" for threads in (1, 2)]
            print(f"{strategy:28}{program:20}", *ratios, flush=True)


if __name__ == "__main__":
    main()
