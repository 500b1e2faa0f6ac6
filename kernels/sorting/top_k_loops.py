"""The loops of `top_k`. Importing this module imports Numba.

A unit is a part of a row: all `parts` of a row have `part` elements, but for the last one, which has what is
left. The results of a unit are the `k` largest of its elements, and their positions in the row.
"""

from typing import Any

import numpy as np

from ..launch.compilation import kernel
from ..simd.arithmetic import get, put
from ..simd.searches import (
    SEARCH_BLOCK,
    lowest_set_bit,
    max_of_groups,
    max_of_groups_in_total_order,
    which_above,
    which_above_in_total_order,
)
from .runs_loops import sort_numbers
from .sort_encoding import SIGNED, UNSIGNED
from .sort_loops import code_of

_ONE, _HALF = np.uint64(1), np.uint64(32)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_POSITION = np.uint64(0xFFFFFFFF)
_LOOKED_AT = 1 << 12
"""Elements of a unit that are looked at for a bound."""


@kernel
def _unit_range(unit: int, parts: int, part: int, length: int) -> tuple[int, int, int]:
    """Where the row, and in it a unit begins, and where that ends."""
    row = unit // parts
    origin = row * length
    start = origin + (unit - row * parts) * part
    return origin, start, origin + length if unit + 1 == (row + 1) * parts else start + part


@kernel
def _above(code: Any, operand: Any, first: int, limit: Any) -> Any:
    """Bits that tell which of the `SEARCH_BLOCK` elements from a place on have codes above a limit."""
    narrow = operand.dtype.type
    mode, sign = np.int64(code[0]), narrow(code[2])
    flipped = sign if mode == UNSIGNED else narrow(0)
    least = narrow(limit ^ sign)
    if mode in (UNSIGNED, SIGNED) or least < sign:
        return which_above(operand, first, flipped, least)
    return which_above_in_total_order(operand, first, flipped, least)


@kernel
def _code(code: Any, operand: Any, place: int) -> Any:
    """The code of an element: an unsigned integer of its width, of the same order."""
    narrow = operand.dtype.type
    mode, ones, sign, none = np.int64(code[0]), narrow(code[1]), narrow(code[2]), narrow(0)
    return narrow(code_of(mode, ones, sign, none, none, none, get(operand, place)))


@kernel
def _bound(
    code: Any, operand: Any, start: int, end: int, k: int, address: int, groups: Any, own: int
) -> Any:  # fmt: skip
    """A code that at least k of the elements from `start` to `end` reach, at most SEARCH_BLOCK: the greatest
    elements of k groups of them do. 0 where there are too few elements to say."""
    narrow = operand.dtype.type
    mode, sign = np.int64(code[0]), narrow(code[2])
    flipped = sign if mode == UNSIGNED else narrow(0)
    count = min(end - start, _LOOKED_AT) // SEARCH_BLOCK * SEARCH_BLOCK
    if count == 0:
        return narrow(0)
    if mode in (UNSIGNED, SIGNED):
        max_of_groups(operand, start, count, flipped, sign, groups, own)
    else:
        max_of_groups_in_total_order(operand, start, count, flipped, sign, groups, own)
    if sort_numbers(address, groups, own, SEARCH_BLOCK) != 0:
        raise MemoryError
    return narrow(get(groups, own + SEARCH_BLOCK - k))


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


@kernel
def take(operand: Any, origin: int, k: int, indices: Any, at: int, values: Any) -> None:
    """The elements at positions in a row."""
    for number in range(at, at + k):
        put(values, number, get(operand, origin + np.int64(get(indices, number))))


@kernel(parallel=True)
def few(
    task: int, size: int, units: int, parts: int, part: int, length: int, k: int, address: int, code: Any,
    groups: Any, best: Any, operand: Any, values: Any, indices: Any,
) -> None:  # fmt: skip
    """The best so far are kept in order, at first what lies right below a bound in place of all of them.

    Each task has room for SEARCH_BLOCK numbers in `groups`, and for k codes in `best`.
    """
    one = operand.dtype.type(1)
    own = task * k
    last = own + k - 1
    for unit in range(task * size, min((task + 1) * size, units)):
        origin, start, end = _unit_range(unit, parts, part, length)
        at = unit * k
        bound = _bound(code, operand, start, end, k, address, groups, task * SEARCH_BLOCK)
        vectors = start
        if bound > 0:
            for held in range(own, own + k):
                put(best, held, bound - one)
        else:
            vectors += k
            for held in range(k):
                keep(best, own, held, _code(code, operand, start + held), indices, at, start + held - origin)
        after = vectors + (end - vectors) // SEARCH_BLOCK * SEARCH_BLOCK
        for first in range(vectors, after, SEARCH_BLOCK):
            above = _above(code, operand, first, get(best, last))
            while above != 0:
                place = first + lowest_set_bit(above)
                above &= above - _ONE
                taken = _code(code, operand, place)
                if taken > get(best, last):
                    keep(best, own, k - 1, taken, indices, at, place - origin)
        for place in range(after, end):
            taken = _code(code, operand, place)
            if taken > get(best, last):
                keep(best, own, k - 1, taken, indices, at, place - origin)
        take(operand, origin, k, indices, at, values)


@kernel(parallel=True)
def collected(
    task: int, size: int, units: int, parts: int, part: int, length: int, k: int, room: int, address: int,
    code: Any, numbers: Any, operand: Any, values: Any, indices: Any,
) -> None:  # fmt: skip
    """Elements that may be among the best are collected, and sorted out whenever their room is full.

    `numbers` has `room` for each task, for at least k + SEARCH_BLOCK of them: codes that fall as elements
    rise, of at most 32 bits, above positions.
    """
    narrow = operand.dtype.type
    ones, own = narrow(code[1]), task * room
    for unit in range(task * size, min((task + 1) * size, units)):
        origin, start, end = _unit_range(unit, parts, part, length)
        held, limit, is_limited = 0, narrow(0), False
        for first in range(start, end, SEARCH_BLOCK):
            if held + SEARCH_BLOCK > room:
                if sort_numbers(address, numbers, own, held) != 0:
                    raise MemoryError
                held, is_limited = k, True
                limit = narrow(ones ^ narrow(get(numbers, own + k - 1) >> _HALF))
            count = min(SEARCH_BLOCK, end - first)
            above = _ALL >> np.uint64(SEARCH_BLOCK - count)
            if is_limited and count == SEARCH_BLOCK:
                above = _above(code, operand, first, limit)
            while above != 0:
                place = first + lowest_set_bit(above)
                above &= above - _ONE
                falling = np.uint64(narrow(ones ^ _code(code, operand, place)))
                put(numbers, own + held, falling << _HALF | np.uint64(place - origin))
                held += 1
        if sort_numbers(address, numbers, own, held) != 0:
            raise MemoryError
        for number in range(k):
            position = get(numbers, own + number) & _POSITION
            put(indices, unit * k + number, indices.dtype.type(position))
        take(operand, origin, k, indices, unit * k, values)
