"""The loop of `top_k` for few values. Importing this module imports Numba."""

from typing import Any

import numpy as np

from .arithmetic import get, put
from .compilation import kernel
from .searches import AT_ONCE, lowest, which_above, which_above_in_total_order
from .sort_encoding import SIGNED, UNSIGNED
from .sort_loops import code_of

_ONE = np.uint64(1)


@kernel
def keep(best: Any, own: int, held: int, code: Any, indices: Any, at: int, place: int) -> None:
    """Enter a code behind the `held` greatest ones, which lie in falling order, and its place."""
    slot = held
    while slot > 0 and get(best, own + slot - 1) < code:
        put(best, own + slot, get(best, own + slot - 1))
        put(indices, at + slot, get(indices, at + slot - 1))
        slot -= 1
    put(best, own + slot, code)
    put(indices, at + slot, indices.dtype.type(place))


@kernel(parallel=True)
def few(
    task: int, size: int, rows: int, length: int, k: int, code: Any, best: Any, operand: Any, indices: Any
) -> None:
    """The places of the k largest of each row; `best` has room for their codes."""
    narrow = best.dtype.type
    mode, ones, sign, none = np.int64(code[0]), narrow(code[1]), narrow(code[2]), narrow(0)
    flipped = sign if mode == UNSIGNED else none
    is_whole = mode in (UNSIGNED, SIGNED)
    own = task * k
    last = own + k - 1
    for row in range(task * size, min((task + 1) * size, rows)):
        start, end = row * length, (row + 1) * length
        vectors = start + k
        after = vectors + (end - vectors) // AT_ONCE * AT_ONCE
        for held in range(k):
            taken = narrow(code_of(mode, ones, sign, none, none, none, get(operand, start + held)))
            keep(best, own, held, taken, indices, row * k, held)
        for first in range(vectors, after, AT_ONCE):
            least = narrow(get(best, last) ^ sign)
            if is_whole or least < sign:
                above = which_above(operand, first, flipped, least)
            else:
                above = which_above_in_total_order(operand, first, flipped, least)
            while above != 0:
                place = first + lowest(above)
                above &= above - _ONE
                taken = narrow(code_of(mode, ones, sign, none, none, none, get(operand, place)))
                if taken > get(best, last):
                    keep(best, own, k - 1, taken, indices, row * k, place - start)
        for place in range(after, end):
            taken = narrow(code_of(mode, ones, sign, none, none, none, get(operand, place)))
            if taken > get(best, last):
                keep(best, own, k - 1, taken, indices, row * k, place - start)
