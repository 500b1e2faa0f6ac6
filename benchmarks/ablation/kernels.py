"""Ablation of strategies of kernels: each program runs with a strategy and with the next more general one.

``python -m benchmarks.ablation.kernels [STRATEGY ...]`` prints how many times as long each program takes
without the strategy, on one thread and on two; docs/strategies.md has the table. None of the programs is in
`programs/`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from nimblehlo.kernels.indexing import scatter, scatter_strategies, scatter_tables

from ..programs.program import RandomArrays
from .measuring import Case, Without, ratio_without, replaced

Make = Callable[[RandomArrays], Case]


def _attribute(name: str, value: Any) -> Without:
    """Set the attribute `name` of every prepared scatter to `value`."""
    cls = scatter_strategies.ScatterStrategy
    initialize = cls.__init__

    @contextmanager
    def without() -> Iterator[None]:
        def changed(self: Any, *arguments: Any) -> None:
            initialize(self, *arguments)
            if not hasattr(self, name):
                raise AttributeError(name)
            setattr(self, name, value)

        with mock.patch.object(cls, "__init__", changed):
            yield

    return without


STRATEGIES: dict[str, Without] = {
    "tables": _attribute("_uses_tables", False),
    "interleaved tables": replaced(scatter_tables, "_MAX_REPLICATED_DESTINATIONS", 0),
    "sorted": _attribute("_is_sorted", False),
    "batches": _attribute("_batches", None),
    "reduced rows": _attribute("_reduces_rows", False),
    "several threads": replaced(scatter_strategies, "_SERIAL_BYTES", 1 << 60),
    "unique": _attribute("_is_unique", False),
    "windows": replaced(scatter, "cut_into_windows", lambda *_: None),
    "nontemporal scatter": replaced(scatter_strategies, "NONTEMPORAL_BYTES", 1 << 60),
}

PROGRAMS: dict[str, Make] = {}
"""The programs by name; those whose name ends in ``f64`` use types of 64 bits."""


def _program(make: Make) -> Make:
    PROGRAMS[make.__name__] = make
    return make


def _add_rows(rows: int, width: int, count: int, dtype: Any = np.float32) -> Make:
    def make(draw: RandomArrays) -> Case:
        arguments = (draw.integers(rows, count), draw.floats(count, width, dtype=dtype))
        return lambda i, u: jnp.zeros((rows, width), u.dtype).at[i].add(u), arguments

    return make


def _windows(shape: tuple[int, ...], window: tuple[int, ...], count: int) -> Make:
    dims = tuple(range(len(shape)))
    numbers = lax.ScatterDimensionNumbers(tuple(d + 1 for d in dims), (), dims)

    def make(draw: RandomArrays) -> Case:
        starts = np.stack([draw.integers(n - w, count) for n, w in zip(shape, window, strict=True)], 1)
        arguments = (draw.floats(*shape), starts, draw.floats(count, *window))
        return lambda x, i, u: lax.scatter_add(x, i, u, numbers), arguments

    return make


PROGRAMS |= {
    "graph_sum_24": _add_rows(66_000, 24, 400_000),
    "graph_sum_24_small": _add_rows(5_000, 24, 30_000),
    "graph_sum_100": _add_rows(40_000, 100, 200_000),
    "embedding_gradient_768": _add_rows(10_000, 768, 5_000),
    "embedding_gradient_200_bf16": _add_rows(50_000, 200, 60_000, jnp.bfloat16),
    "rows_of_8_f64": _add_rows(200_000, 8, 600_000, np.float64),
    "overlap_add": _windows((40_000,), (300,), 1_000),
    "particles_2d": _windows((400, 600), (6, 7), 20_000),
    "stencils_3d": _windows((60, 70, 80), (5, 5, 5), 5_000),
}


@_program
def histogram_12(draw: RandomArrays) -> Case:
    """Counts of few classes."""
    return lambda i: jnp.zeros(12, jnp.int32).at[i].add(1), (draw.integers(12, 3_000_000),)


@_program
def class_maxima(draw: RandomArrays) -> Case:
    """The largest value of each of seven classes."""
    arguments = (draw.floats(3_000_000), draw.integers(7, 3_000_000))
    return lambda v, i: jax.ops.segment_max(v, i, 7), arguments


@_program
def segment_minima_f64(draw: RandomArrays) -> Case:
    """The smallest value of each of 200 segments."""
    arguments = (draw.floats(3_000_000, dtype=np.float64), draw.integers(200, 3_000_000))
    return lambda v, i: jax.ops.segment_min(v, i, 200), arguments


@_program
def sparse_product_sorted(draw: RandomArrays) -> Case:
    """A sparse matrix, sorted by rows, times a vector."""
    n = 3_000_000
    rows = np.sort(draw.integers(n // 12, n))
    arguments = (draw.floats(n), rows, draw.integers(n // 12, n), draw.floats(n // 12))
    return lambda a, r, c, x: jnp.zeros_like(x).at[r].add(a * x[c], indices_are_sorted=True), arguments


@_program
def sorted_segments_24(draw: RandomArrays) -> Case:
    """Sums of rows that are sorted by segment."""
    arguments = (draw.floats(400_000, 24), np.sort(draw.integers(66_000, 400_000)))
    return lambda m, i: jax.ops.segment_sum(m, i, 66_000, indices_are_sorted=True), arguments


@_program
def batches_of_12(draw: RandomArrays) -> Case:
    """Rows added in each of twelve tables."""
    arguments = (draw.floats(12, 5_000, 40), draw.integers(5_000, 12, 8_000), draw.floats(12, 8_000, 40))
    return jax.vmap(lambda x, i, u: x.at[i].add(u)), arguments


@_program
def permuted_in_place(draw: RandomArrays) -> Case:
    """Distinct elements of an intermediate result are overwritten."""
    n = 3_000_000
    order = np.argsort(draw.floats(2 * n))[:n].astype(np.int32)
    return lambda x, i, v: jnp.cumsum(x).at[i].set(v, unique_indices=True), (
        draw.floats(2 * n), order, draw.floats(n),
    )  # fmt: skip


def main() -> None:
    """Print the ratios of the strategies that the command line names, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("strategies", nargs="*", default=list(STRATEGIES), metavar="STRATEGY")
    parser.add_argument("--programs", default="", help="only programs with this in their names")
    options = parser.parse_args()
    for strategy in options.strategies:
        for program in PROGRAMS:
            if options.programs in program:
                case, x64 = PROGRAMS[program](RandomArrays()), program.endswith("f64")
                ratios = [ratio_without(case, STRATEGIES[strategy], n, x64=x64) for n in (1, 2)]
                print(f"{strategy:22}{program:30}", *[f"{ratio:6.2f}" for ratio in ratios], flush=True)


if __name__ == "__main__":
    main()
