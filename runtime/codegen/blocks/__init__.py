"""Generates LLVM code for blocks of operations on scalars: bodies of loops, reducers and comparators.

Small tensors are LLVM values, one for each element; larger ones are arrays in memory, which are read by index
and updated in place. `block_problem` and `in_place_problem` return the reason why a block cannot be
generated; an `Emitter` generates it.
"""

from . import control, elementwise, indexing, movement, reductions
from .control import emit_while, loop_problem
from .counting import count_limit
from .elements import Elements, Storage, all_elements, is_plain, is_small, store_elements
from .emitter import Bound, Emitter, Mode, block_problem
from .in_place_updates import IsArray, in_place_problem
from .interruption import Interruption, interruption_problem

__all__ = [
    "Bound",
    "Elements",
    "Emitter",
    "Interruption",
    "IsArray",
    "Mode",
    "Storage",
    "all_elements",
    "block_problem",
    "control",
    "count_limit",
    "elementwise",
    "emit_while",
    "in_place_problem",
    "indexing",
    "interruption_problem",
    "is_plain",
    "is_small",
    "loop_problem",
    "movement",
    "reductions",
    "store_elements",
]
