"""Stores that go past the caches, in LLVM IR: for results of which the caches could not keep much.

A cache reads a line before a part of it can be written; whole lines written past it are only written. Each
task ends at a locked instruction of the pool or the driver, which completes these stores for other threads.
"""

from __future__ import annotations

from llvmlite import ir

from ..llvm.loops import DISTINCT_LOOP, GuardedLoop
from ..llvm.values import I64

CACHE_LINE = 64
"""Bytes."""
LEAST_COMPUTED_BYTES = 1 << 23
"""Size of a result from which it goes past the caches where its lines are put together in a buffer first."""
LEAST_ROW_BYTES = 1 << 10
"""What lies side by side of such a result, at least."""
BUFFER_BYTES = 1 << 12
"""Of a result, before it is written past the caches."""
_WIDEST = 8
"""Bytes of the largest integers that lie in vectors."""


def is_aligned(builder: ir.IRBuilder, pointer: ir.Value) -> ir.Value:
    """Whether a pointer is to the start of a cache line."""
    bits = builder.and_(builder.ptrtoint(pointer, I64), ir.Constant(I64, CACHE_LINE - 1))
    return builder.icmp_unsigned("==", bits, ir.Constant(I64, 0))


def store_past_caches(builder: ir.IRBuilder, value: ir.Value, pointer: ir.Value, nbytes: int) -> None:
    """Store a vector of so many bytes to a pointer that is a multiple of them."""
    stored = builder.store(value, pointer, align=nbytes)
    stored.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))


def copy_past_caches(
    builder: ir.IRBuilder, source: ir.Value, target: ir.Value, count: ir.Value, itemsize: int
) -> None:
    """Copy `count` elements: whole lines of cache past the caches, what lies before and behind them as usual.

    Args:
        source: to elements that lie in the caches.
        itemsize: bytes of an element, a power of two.
    """
    item = ir.IntType(8 * min(itemsize, _WIDEST))
    width = item.width // 8
    if itemsize > width:
        count = builder.mul(count, ir.Constant(I64, itemsize // width))
    lanes = CACHE_LINE // width
    beyond = builder.and_(builder.neg(builder.ptrtoint(target, I64)), ir.Constant(I64, CACHE_LINE - 1))
    before = builder.udiv(beyond, ir.Constant(I64, width))
    # Of elements that straddle lines of cache, which NumPy does not make, all are copied as usual.
    straddles = builder.and_(beyond, ir.Constant(I64, width - 1))
    fits = builder.and_(
        builder.icmp_signed("<", before, count), builder.icmp_signed("==", straddles, ir.Constant(I64, 0))
    )
    before = builder.select(fits, before, count)
    lines = builder.udiv(builder.sub(count, before), ir.Constant(I64, lanes))
    after = builder.add(before, builder.mul(lines, ir.Constant(I64, lanes)))
    _copy_elements(builder, source, target, item, ir.Constant(I64, 0), before)
    loop = GuardedLoop(builder, "line", ir.Constant(I64, 0), lines)
    here = loop.builder
    place = here.add(before, here.mul(loop.index, ir.Constant(I64, lanes)))
    read, written = (
        here.gep(pointer, [place], inbounds=True, source_etype=item) for pointer in (source, target)
    )
    line = here.load(read, typ=ir.VectorType(item, lanes), align=width)
    store_past_caches(here, line, written, CACHE_LINE)
    loop.close()
    _copy_elements(builder, source, target, item, after, count)


def _copy_elements(
    builder: ir.IRBuilder,
    source: ir.Value,
    target: ir.Value,
    item: ir.IntType,
    first: ir.Value,
    stop: ir.Value,
) -> None:
    """Copy a few elements, by a loop that stays as short as it is."""
    loop = GuardedLoop(builder, "few", first, stop)
    here = loop.builder
    read, written = (
        here.gep(pointer, [loop.index], inbounds=True, source_etype=item) for pointer in (source, target)
    )
    value = here.load(read, typ=item, align=item.width // 8)
    here.store(value, written, align=item.width // 8)
    module, no = builder.module, ir.Constant(ir.IntType(1), 0)
    scalar = module.add_metadata(["llvm.loop.vectorize.enable", no])
    short = module.add_metadata(["llvm.loop.unroll.disable"])
    loop.close().set_metadata("llvm.loop", module.add_metadata([DISTINCT_LOOP, scalar, short]))
