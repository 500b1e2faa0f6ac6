"""Generates LLVM code for blocks of operations on small arrays: bodies of loops, and runs of small steps.

Single elements are LLVM values; arrays lie in memory, where each operation makes a new one. Arrays of more
elements are only read, or updated in place where a loop carries them. `block_problem` says why a block cannot
be generated; an `ArrayEmitter` generates it.
"""

from . import products, scans, selection, sorting
from .control import computed_bytes, updated_in_place, while_problem
from .emitter import (
    MAX_OPERATIONS,
    ArrayEmitter,
    block_problem,
    products_of,
    step_problem,
)
from .library_calls import library_symbols
from .workspace import Workspace

__all__ = [
    "MAX_OPERATIONS",
    "ArrayEmitter",
    "Workspace",
    "block_problem",
    "computed_bytes",
    "library_symbols",
    "products",
    "products_of",
    "scans",
    "selection",
    "sorting",
    "step_problem",
    "updated_in_place",
    "while_problem",
]
