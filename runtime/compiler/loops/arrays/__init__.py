"""Generates LLVM code for blocks of operations on small arrays: bodies of loops, and runs of small steps.

Scalars are LLVM values. Small arrays are in memory, and each operation writes its result to new memory. Large
arrays are only read, or updated in place if a loop carries them. `check_block` returns the reason why a
block cannot be generated; an `ArrayEmitter` generates it.
"""

from .control import check_while, computed_bytes, max_allocated, updated_in_place
from .emitter import (
    MAX_BLOCK_OPS,
    ArrayEmitter,
    check_block,
    check_step,
    multiplication_count,
)
from .launches import (
    ImplementationOf,
    has_calls_as_effects,
    launched_operations,
    launched_work,
    prepared_launches,
    with_launches,
)
from .library_calls import library_symbols
from .workspace import WORKSPACE_BYTES, Workspace, define_workspace_bytes

__all__ = [
    "MAX_BLOCK_OPS",
    "WORKSPACE_BYTES",
    "ArrayEmitter",
    "ImplementationOf",
    "Workspace",
    "check_block",
    "check_step",
    "check_while",
    "computed_bytes",
    "define_workspace_bytes",
    "has_calls_as_effects",
    "launched_operations",
    "launched_work",
    "library_symbols",
    "max_allocated",
    "multiplication_count",
    "prepared_launches",
    "updated_in_place",
    "with_launches",
]
