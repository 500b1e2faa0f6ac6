"""Generates LLVM code for blocks of operations on scalars: bodies of loops, reducers and comparators.

Small tensors are LLVM values, one for each element; larger ones are arrays in memory, which are read by index
and updated in place. `check_block` and `check_in_place_updates` return the reason why a block cannot be
generated; an `Emitter` generates it.
"""

from .control import check_loop, emit_while
from .counting import count_limit
from .elements import Elements, Storage, all_elements, is_plain, is_small, store_elements
from .emitter import Binding, Emitter, Mode, check_block, check_ordering
from .in_place_updates import IsInPlace, check_in_place_updates
from .interruption import Interruption, check_interruption

__all__ = [
    "Binding",
    "Elements",
    "Emitter",
    "Interruption",
    "IsInPlace",
    "Mode",
    "Storage",
    "all_elements",
    "check_block",
    "check_in_place_updates",
    "check_interruption",
    "check_loop",
    "check_ordering",
    "count_limit",
    "emit_while",
    "is_plain",
    "is_small",
    "store_elements",
]
