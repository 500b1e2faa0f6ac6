"""Rows that are prefetched while others are computed: which, and the bits of their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nimblehlo.compiler.loops.reductions import row_prefetches, rows

from .test_rows import Array, check, plan_of

F32, BF16 = np.dtype(np.float32), np.dtype(jnp.bfloat16)


def gradient(result: Any, cotangent: Any) -> Any:
    return result * (cotangent - (result * cotangent).sum(-1, keepdims=True))


@pytest.fixture(autouse=True)
def _prefetches_by_software(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_prefetches, "avoids_software_prefetch", lambda: False)


def prefetches(function: Callable[..., Any], *shapes: tuple[int, ...], dtype: np.dtype[Any] = F32) -> int:
    """The prefetches of a chunk in the code of a function of JAX."""
    arguments = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]
    block, plan = plan_of(jax.jit(function).lower(*arguments).as_text())
    assert plan is not None
    return str(rows.rows_module(block, plan, 64)).count('call void @"llvm.prefetch')


@pytest.mark.parametrize(
    ("shape", "cache_lines"),
    [
        ((256, 1024), 16),  # MIN_PREFETCHED_BYTES, in chunks of _MAX_CHUNK_BYTES
        ((255, 1024), 0),
        ((300, 1000), 13),  # chunks of 200 columns
        ((300, 1028), 0),  # no divisor is a multiple of _COLUMN_MULTIPLE
        ((2048, 128), 4),  # two chunks of _MIN_CHUNK_COLUMNS
        ((4096, 96), 0),
    ],
)
def test_long_rows_of_large_arrays_are_prefetched(shape: tuple[int, ...], cache_lines: int) -> None:
    assert prefetches(jax.nn.softmax, shape) == cache_lines


def test_chunks_are_of_bytes() -> None:
    assert prefetches(jax.nn.softmax, (1024, 1024), dtype=BF16) == 16


def test_rows_are_not_prefetched_where_little_is_computed() -> None:
    assert prefetches(gradient, (512, 1024), (512, 1024)) == 0
    assert prefetches(lambda x: jnp.exp(x).sum(1), (512, 1024)) == 0


def test_rows_that_all_rows_share_are_not_prefetched() -> None:
    def scaled(x: Any, factors: Any) -> Any:
        return jax.nn.softmax(x) * factors

    assert prefetches(scaled, (256, 1024), (256, 1024)) == 32
    assert prefetches(scaled, (256, 1024), (1024,)) == 16


def test_processors_that_prefetch_better_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_prefetches, "avoids_software_prefetch", lambda: True)
    assert prefetches(jax.nn.softmax, (256, 1024)) == 0


def test_prefetches_change_no_bit() -> None:
    x: Array = np.random.default_rng(0).standard_normal((259, 1000), np.float32)
    check(jax.nn.softmax, x, sizes=(100,))
    padded = np.pad(x, ((0, 0), (0, 24)), constant_values=-np.inf)
    check(lambda array: jax.nn.logsumexp(array, -1), padded, sizes=(64,))
