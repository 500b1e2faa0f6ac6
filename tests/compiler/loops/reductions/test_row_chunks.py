"""Rows of arrays larger than the caches, in chunks of columns: the same bits as without them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from nimblehlo.compiler.loops.reductions import row_chunks, row_tiling
from nimblehlo.compiler.loops.reductions.row_chunks import RowChunks
from tests.compiler.loops.reductions.test_rows import check, layer_norm, numbers, plan_of


@pytest.fixture
def past_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of any size count as larger than the caches, on any processor."""
    monkeypatch.setattr(row_chunks, "MIN_COMPUTED_NONTEMPORAL_BYTES", 1)
    monkeypatch.setattr(row_chunks, "MIN_PREFETCHED_BYTES", 1)
    monkeypatch.setattr(row_chunks, "avoids_software_prefetch", lambda: False)


def chunks_of(function: Any, *arguments: Any) -> tuple[Any, RowChunks | None]:
    """The block of a function of JAX, and the chunks of its rows."""
    block, plan = plan_of(jax.jit(function).lower(*arguments).as_text())
    assert plan is not None
    return block, row_chunks.row_chunks(plan, block, row_tiling.rows_per_group(plan, block))


def softmax(x: Any) -> Any:
    return jax.nn.softmax(x, -1)


@pytest.mark.sampled
@pytest.mark.parametrize("columns", [127, 128, 129, 256, 272, 1000])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float16])
@pytest.mark.usefixtures("past_caches")
def test_softmax_and_layer_norm(columns: int, dtype: Any) -> None:
    x = numbers(7, columns, dtype=dtype)
    check(softmax, x, sizes=(1, 3))
    check(layer_norm, x, numbers(columns, seed=1), numbers(columns, seed=2), sizes=(3,))


@pytest.mark.usefixtures("past_caches")
def test_several_results() -> None:
    """A result that a later pass reads, one that two results share, and one of another type."""

    def function(x: Any, y: Any) -> Any:
        e = jnp.exp(x)
        scaled = e / e.sum(-1, keepdims=True)
        return e, scaled, scaled, (scaled * y).astype(jnp.bfloat16), y.max(-1)

    arguments = numbers(9, 160), numbers(9, 160, seed=1)
    block, chunks = chunks_of(function, *arguments)
    e, scaled, _, product, _ = block.terminator.operands
    assert chunks is not None and chunks.results == (scaled, product)
    assert e not in chunks.results and set(chunks.prefetched) == set(block.arguments)
    check(function, *arguments)


@pytest.mark.usefixtures("past_caches")
def test_operands_of_rows_and_columns_are_not_prefetched() -> None:
    def function(x: Any, row: Any, column: Any) -> Any:
        return jax.nn.softmax(x * row + column[:, None], -1)

    arguments = numbers(9, 160), numbers(160), numbers(9)
    block, chunks = chunks_of(function, *arguments)
    assert chunks is not None and chunks.prefetched == (block.arguments[0],)
    check(function, *arguments)


@pytest.mark.usefixtures("past_caches")
def test_the_longest_pass_prefetches() -> None:
    _, chunks = chunks_of(softmax, numbers(4, 256))
    assert chunks is not None and chunks.prefetching_pass == 1  # exponentials, between maximum and quotient

    def last_is_longest(x: Any) -> Any:
        return jnp.tanh(jnp.sin(x * jax.lax.rsqrt((x * x).sum(-1, keepdims=True))))

    _, chunks = chunks_of(last_is_longest, numbers(4, 256))
    assert chunks is not None and chunks.prefetching_pass == 1
    assert chunks_of(lambda x: jnp.exp(x).max(-1), numbers(4, 256))[1] is None  # all in one pass


@pytest.mark.usefixtures("past_caches")
def test_rows_that_share_cache_lines_are_not_written_past_the_caches() -> None:
    block, chunks = chunks_of(softmax, numbers(4, 256))
    assert chunks is not None and chunks.results == tuple(block.terminator.operands)
    _, chunks = chunks_of(softmax, numbers(4, 250))
    assert chunks is not None and chunks.results == ()


@pytest.mark.usefixtures("past_caches")
def test_rows_of_long_groups_are_prefetched_to_the_l2_cache() -> None:
    for columns, locality in ((256, 3), (2048, 3), (4096, 2)):
        _, chunks = chunks_of(softmax, numbers(4, columns))
        assert chunks is not None and chunks.locality == locality


@pytest.fixture
def prefetching(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor with software prefetches."""
    monkeypatch.setattr(row_chunks, "avoids_software_prefetch", lambda: False)


def gradient(result: Any, cotangent: Any) -> Any:
    return result * (cotangent - (result * cotangent).sum(-1, keepdims=True))


@pytest.mark.parametrize(
    ("shape", "is_prefetched", "bypasses"),
    [
        ((255, 1024), False, False),  # less than MIN_PREFETCHED_BYTES
        ((256, 1024), True, False),
        ((1 << 15, 100), False, False),  # rows of less than a chunk
        ((4095, 1024), True, False),  # less than MIN_COMPUTED_NONTEMPORAL_BYTES
        ((4096, 1024), True, True),
    ],
)
@pytest.mark.usefixtures("prefetching")
def test_long_rows_of_large_arrays_are_prefetched(
    shape: tuple[int, ...], is_prefetched: bool, bypasses: bool
) -> None:
    _, chunks = chunks_of(softmax, jax.ShapeDtypeStruct(shape, np.float32))
    assert (chunks is not None) == is_prefetched
    assert bool(chunks and chunks.results) == bypasses


@pytest.mark.usefixtures("prefetching")
def test_rows_are_not_prefetched_where_little_is_computed() -> None:
    for rows, is_prefetched in ((512, False), (4096, True)):
        array = jax.ShapeDtypeStruct((rows, 1024), np.float32)
        assert (chunks_of(gradient, array, array)[1] is not None) == is_prefetched


def test_processors_that_prefetch_better_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_chunks, "avoids_software_prefetch", lambda: True)
    assert chunks_of(softmax, jax.ShapeDtypeStruct((2048, 1024), np.float32))[1] is None
