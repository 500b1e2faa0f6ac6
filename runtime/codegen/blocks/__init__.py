"""Blocks of scalar work as straight LLVM code: bodies of loops, reducers, scatters and comparators.

Small tensors are LLVM values, one for each element; larger ones are arrays in memory, which are read by index
and updated in place. `block_problem` and `updates_problem` say why a block cannot be generated; a
`BlockEmitter` generates it.
"""

from . import control, folds, indexing, moves
from .arrays import updates_problem
from .control import count_limit, emit_loop, loop_problem
from .elements import INT64, POINTER, Elements, Storage, all_elements, is_plain, is_small, store_elements
from .emitter import BlockEmitter, Bound, ViewOf, block_problem

__all__ = [
    "INT64",
    "POINTER",
    "BlockEmitter",
    "Bound",
    "Elements",
    "Storage",
    "ViewOf",
    "all_elements",
    "block_problem",
    "control",
    "count_limit",
    "emit_loop",
    "folds",
    "indexing",
    "is_plain",
    "is_small",
    "loop_problem",
    "moves",
    "store_elements",
    "updates_problem",
]
