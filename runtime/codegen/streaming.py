"""Stores that go past the caches, in LLVM IR: for results of which the caches could not keep much.

A cache reads a line before a part of it can be written; whole lines written past it are only written. Each
task ends at a locked instruction of the pool or the driver, which completes these stores for other threads.
"""

from __future__ import annotations

from llvmlite import ir

from .values import I64

CACHE_LINE = 64
"""Bytes."""
LEAST_BYTES = 1 << 22
"""Size of a result from which it is written past the caches: such ones rarely wait there for their reader."""


def is_aligned(builder: ir.IRBuilder, pointer: ir.Value) -> ir.Value:
    """Whether a pointer is to the start of a cache line."""
    bits = builder.and_(builder.ptrtoint(pointer, I64), ir.Constant(I64, CACHE_LINE - 1))
    return builder.icmp_unsigned("==", bits, ir.Constant(I64, 0))


def store_past_caches(builder: ir.IRBuilder, value: ir.Value, pointer: ir.Value, nbytes: int) -> None:
    """Store a vector of so many bytes to a pointer that is a multiple of them."""
    stored = builder.store(value, pointer, align=nbytes)
    stored.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))
