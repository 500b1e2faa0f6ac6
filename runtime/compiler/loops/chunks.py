"""Chunks of loops over arrays larger than the caches, on whose memory accesses a core would wait.

While one chunk is computed, the operands of a later one are prefetched, and results of the one before are on
their way to memory (`nontemporal_stores`).
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ...kernels.simd.block_sizes import CACHE_LINE_BYTES
from ...kernels.simd.prefetches import prefetch_address
from .llvm.values import I8, I64

CHUNK_BYTES = 512
"""Bytes of a chunk whose cache lines are prefetched at once: few enough that the core can wait for all."""
MIN_CHUNK_ELEMENTS = 128
"""Elements of a chunk at least: those of the vectors that are interleaved."""


def elements_of_chunk(itemsizes: Sequence[int]) -> int:
    """The elements of a chunk of arrays whose elements have these sizes, in bytes."""
    return max(CHUNK_BYTES // max(itemsizes), MIN_CHUNK_ELEMENTS)


def prefetch_chunk(
    builder: ir.IRBuilder, address: ir.Value, distance: int, nbytes: int, locality: int = 3
) -> None:
    """Prefetch the cache lines of `nbytes` bytes that begin `distance` bytes behind an address.

    `locality`: as `prefetch_address` has it.
    """
    for offset in range(distance, distance + nbytes, CACHE_LINE_BYTES):
        prefetch_address(builder, builder.gep(address, [I64(offset)], source_etype=I8), locality)
