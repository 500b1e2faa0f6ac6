"""The loops of `sort`: between elements and unsigned integers of the same order, and from positions to
elements.

Elements are seen as unsigned integers of their width, so that one loop serves all types of a width.
"""

from typing import Any

import numpy as np

from .arithmetic import get, put
from .compilation import kernel
from .sort_encoding import CANONICAL, TOTAL, UNSIGNED

_POSITION = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ZERO = np.uint64(0)


@kernel(inline=True)
def encoded_bits(mode: int, ones: Any, sign: Any, infinity: Any, flip: Any, nan: Any, bits: Any) -> Any:
    """The unsigned integer whose order is that of the element."""
    negative = (bits & sign) != _ZERO
    rising = bits ^ (ones if negative else sign)
    magnitude = bits & (ones ^ sign)
    if mode == UNSIGNED:
        rising = bits
    elif mode == CANONICAL:
        rising = sign if magnitude == _ZERO else rising
    elif mode != TOTAL:
        rising = bits ^ sign
    code = rising ^ flip
    return nan if mode == CANONICAL and magnitude > infinity else code


@kernel(parallel=True)
def encode(
    task: int,
    size: int,
    mode: int,
    ones: Any,
    sign: Any,
    infinity: Any,
    flip: Any,
    nan: Any,
    operand: Any,
    encoded: Any,
    mixed: Any,
) -> None:
    """Encode all elements; note in `mixed` where different elements may have had one code."""
    found = 0
    for position in range(task * size, min((task + 1) * size, operand.size)):
        bits = np.uint64(get(operand, position))
        put(encoded, position, encoded.dtype.type(encoded_bits(mode, ones, sign, infinity, flip, nan, bits)))
        magnitude = bits & (ones ^ sign)
        found |= (bits == sign) | (magnitude > infinity)
    if mode == CANONICAL and found:
        put(mixed, task, mixed.dtype.type(1))


@kernel(parallel=True)
def decode(
    task: int,
    size: int,
    mode: int,
    ones: Any,
    sign: Any,
    infinity: Any,
    flip: Any,
    nan: Any,
    shift: int,
    encoded: Any,
    result: Any,
) -> None:
    """The elements of the codes, which are the bits from `shift` on; of elements with one code, the positive
    one."""
    for position in range(task * size, min((task + 1) * size, result.size)):
        rising = (np.uint64(get(encoded, position)) >> np.uint64(shift)) ^ flip
        bits = rising ^ (sign if rising & sign else ones)
        if mode == UNSIGNED:
            bits = rising
        elif mode != CANONICAL and mode != TOTAL:
            bits = rising ^ sign
        put(result, position, result.dtype.type(bits))


@kernel(parallel=True)
def restore(
    task: int,
    size: int,
    rows: int,
    length: int,
    mode: int,
    ones: Any,
    sign: Any,
    infinity: Any,
    flip: Any,
    nan: Any,
    operand: Any,
    encoded: Any,
    result: Any,
) -> None:
    """Put the zeros, and the NaNs, of each row back as they were, in the order in which they stood."""
    for row in range(task * size, min((task + 1) * size, rows)):
        start, end = row * length, (row + 1) * length
        zero_at, nan_at = start, start
        while zero_at < end and np.uint64(get(encoded, zero_at)) != sign ^ flip:
            zero_at += 1
        while nan_at < end and np.uint64(get(encoded, nan_at)) != nan:
            nan_at += 1
        for position in range(start, end):
            bits = np.uint64(get(operand, position))
            magnitude = bits & (ones ^ sign)
            if magnitude == _ZERO:
                put(result, zero_at, result.dtype.type(bits))
                zero_at += 1
            elif magnitude > infinity:
                put(result, nan_at, result.dtype.type(bits))
                nan_at += 1


@kernel(parallel=True)
def pack(
    task: int,
    size: int,
    length: int,
    first: bool,
    shift: int,
    mode: int,
    ones: Any,
    sign: Any,
    infinity: Any,
    flip: Any,
    nan: Any,
    operand: Any,
    positions: Any,
    packed: Any,
    mixed: Any,
) -> None:
    """32 bits of the key of each element, above the place that the element has in its row now; `mixed` as
    for `encode`."""
    begin, end = task * size, min((task + 1) * size, packed.size)
    row_start = begin // length * length
    found = 0
    for start in range(row_start, end, length):
        for place in range(max(start, begin), min(start + length, end)):
            source = place if first else start + np.int64(get(positions, place))
            bits = np.uint64(get(operand, source))
            code = encoded_bits(mode, ones, sign, infinity, flip, nan, bits)
            word = (code >> np.uint64(shift)) & _POSITION
            put(packed, place, (word << _HALF) | np.uint64(place - start))
            found |= (bits == sign) | (bits & (ones ^ sign) > infinity)
    if mode == CANONICAL and found:
        put(mixed, task, mixed.dtype.type(1))


@kernel(parallel=True)
def follow(task: int, size: int, length: int, first: bool, packed: Any, former: Any, positions: Any) -> None:
    """The positions in packed numbers, from the start of a row; but at first by way of `former`."""
    for place in range(task * size, min((task + 1) * size, packed.size)):
        position = get(packed, place) & _POSITION
        if first:
            put(positions, place, positions.dtype.type(position))
        else:
            put(positions, place, get(former, place // length * length + np.int64(position)))


@kernel(parallel=True)
def move(task: int, size: int, length: int, words: int, places: Any, source: Any, result: Any) -> None:
    """To each place of a row, the element at the position that is noted there. Elements have 1 or 2 words."""
    begin, end = task * size, min((task + 1) * size, places.size)
    row_start = begin // length * length
    for start in range(row_start, end, length):
        for place in range(max(start, begin), min(start + length, end)):
            position = start + np.int64(np.uint64(get(places, place)) & _POSITION)
            if words == 1:
                put(result, place, get(source, position))
            else:
                put(result, 2 * place, get(source, 2 * position))
                put(result, 2 * place + 1, get(source, 2 * position + 1))
