"""Nontemporal stores in LLVM IR: for results larger than the caches.

A cache reads a line before a store to a part of it; whole lines that bypass it are only written. Each
task ends at a locked instruction of the pool or the driver, which orders these stores for other threads.
"""

from __future__ import annotations

from llvmlite import ir

from ....kernels.simd.block_sizes import CACHE_LINE_BYTES
from ..llvm.loops import DISTINCT_LOOP, GuardedLoop
from ..llvm.values import BIT, I32, I64

MIN_NONTEMPORAL_BYTES = 1 << 23
"""Minimum bytes of a result that is copied from a buffer with nontemporal stores. Results that are written by
whole cache lines need no buffer, and have the limit `nontemporal_store_bytes`."""
MIN_COMPUTED_NONTEMPORAL_BYTES = 1 << 24
"""Minimum bytes of such a result of long computations. The step that follows reads smaller ones from the
caches: attention takes 1.17 times as long if scores of 8 MB bypass them (Sapphire Rapids)."""
MIN_NONTEMPORAL_ROW_BYTES = 1 << 10
"""Minimum contiguous bytes of such a result."""
BUFFER_BYTES = 1 << 12
"""Bytes of a result that are buffered before a nontemporal copy."""
MAX_VECTOR_ITEMSIZE = 8
"""Bytes of the largest integers that LLVM holds in vectors."""


def is_aligned(builder: ir.IRBuilder, pointer: ir.Value) -> ir.Value:
    """Whether a pointer is to the start of a cache line."""
    bits = builder.and_(builder.ptrtoint(pointer, I64), I64(CACHE_LINE_BYTES - 1))
    return builder.icmp_unsigned("==", bits, I64(0))


def store_nontemporal(builder: ir.IRBuilder, value: ir.Value, pointer: ir.Value, nbytes: int) -> None:
    """Store a vector of `nbytes` to a pointer aligned to them, bypassing the caches."""
    stored = builder.store(value, pointer, align=nbytes)
    stored.set_metadata("nontemporal", builder.module.add_metadata([I32(1)]))


def copy_nontemporal(
    builder: ir.IRBuilder, source: ir.Value, target: ir.Value, count: ir.Value, itemsize: int
) -> None:
    """Copy `count` elements: whole cache lines with nontemporal stores, those before and after as usual.

    Args:
        source: a pointer to elements in the cache.
        itemsize: bytes of an element, a power of two.
    """
    item = ir.IntType(8 * min(itemsize, MAX_VECTOR_ITEMSIZE))
    width = item.width // 8
    if itemsize > width:
        count = builder.mul(count, I64(itemsize // width))
    lanes = CACHE_LINE_BYTES // width
    beyond = builder.and_(builder.neg(builder.ptrtoint(target, I64)), I64(CACHE_LINE_BYTES - 1))
    head_count = builder.udiv(beyond, I64(width))
    # Elements that straddle cache lines, which NumPy does not create, are all copied as usual.
    straddles = builder.and_(beyond, I64(width - 1))
    fits = builder.and_(
        builder.icmp_signed("<", head_count, count), builder.icmp_signed("==", straddles, I64(0))
    )
    head_count = builder.select(fits, head_count, count)
    cache_line_count = builder.udiv(builder.sub(count, head_count), I64(lanes))
    tail_start = builder.add(head_count, builder.mul(cache_line_count, I64(lanes)))
    _copy_elements(builder, source, target, item, I64(0), head_count)
    loop = GuardedLoop(builder, "line", I64(0), cache_line_count)
    loop_builder = loop.builder
    index = loop_builder.add(head_count, loop_builder.mul(loop.index, I64(lanes)))
    source_pointer, target_pointer = (
        loop_builder.gep(pointer, [index], inbounds=True, source_etype=item) for pointer in (source, target)
    )
    cache_line = loop_builder.load(source_pointer, typ=ir.VectorType(item, lanes), align=width)
    store_nontemporal(loop_builder, cache_line, target_pointer, CACHE_LINE_BYTES)
    loop.close()
    _copy_elements(builder, source, target, item, tail_start, count)


def _copy_elements(
    builder: ir.IRBuilder,
    source: ir.Value,
    target: ir.Value,
    item: ir.IntType,
    first: ir.Value,
    stop: ir.Value,
) -> None:
    """Copy a few elements by a loop that LLVM neither vectorizes nor unrolls."""
    loop = GuardedLoop(builder, "unaligned", first, stop)
    loop_builder = loop.builder
    source_pointer, target_pointer = (
        loop_builder.gep(pointer, [loop.index], inbounds=True, source_etype=item)
        for pointer in (source, target)
    )
    value = loop_builder.load(source_pointer, typ=item, align=item.width // 8)
    loop_builder.store(value, target_pointer, align=item.width // 8)
    module, no = builder.module, BIT(0)
    scalar = module.add_metadata(["llvm.loop.vectorize.enable", no])
    short = module.add_metadata(["llvm.loop.unroll.disable"])
    loop.close().set_metadata("llvm.loop", module.add_metadata([DISTINCT_LOOP, scalar, short]))
