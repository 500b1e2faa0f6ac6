"""The kernels of `sort`: between elements and unsigned integers of the same order, and from positions to
elements.

Elements are read as unsigned integers of their width, so that one kernel serves all types of a width. `code`
has the words of an `Encoding`. Importing this module imports Numba.
"""

from typing import Any

import numpy as np

from ..launch.compilation import kernel
from ..simd.arithmetic import get, put
from .runs import MERGE_BLOCK
from .runs_loops import SLACK, merge_block, pair_at, scratch_size, sort_numbers
from .sort_encoding import CANONICAL, POSITION_BITS, SIGNED, TOTAL, UNSIGNED

_WORD = np.uint64(0xFFFFFFFF)
_POSITION_BITS = np.uint64(POSITION_BITS)


@kernel(inline=True)
def code_of(mode: int, ones: Any, sign: Any, infinity: Any, flip: Any, nan: Any, bits: Any) -> Any:
    """The unsigned integer whose order is that of the element."""
    if mode == UNSIGNED:
        return bits ^ flip
    if mode == SIGNED:
        return bits ^ sign ^ flip
    rising = bits ^ (ones if bits & sign else sign)
    if mode == TOTAL:
        return rising ^ flip
    magnitude = bits & (ones ^ sign)
    rising = sign if magnitude == 0 else rising
    return nan if magnitude > infinity else rising ^ flip


@kernel(inline=True)
def bits_of(mode: int, ones: Any, sign: Any, flip: Any, code: Any) -> Any:
    """The element of a code; of elements with one code, the positive one."""
    rising = code ^ flip
    if mode == UNSIGNED:
        return rising
    if mode == SIGNED:
        return rising ^ sign
    return rising ^ (sign if rising & sign else ones)


@kernel(inline=True)
def shares_code(sign: Any, infinity: Any, ones: Any, bits: Any) -> bool:
    """Whether a float may have its code in common with different ones: -0 and NaNs."""
    return bool((bits == sign) | (bits & (ones ^ sign) > infinity))


@kernel
def encode(code: Any, operand: np.ndarray, start: int, count: int, target: Any, at: int) -> bool:
    """Write the codes of neighbouring elements; whether different elements may have one code."""
    narrow = target.dtype.type
    mode, ones, sign = np.int64(code[0]), narrow(code[1]), narrow(code[2])
    infinity, flip, nan = narrow(code[3]), narrow(code[4]), narrow(code[5])
    has_shared_code = False
    for i in range(count):
        bits = get(operand, start + i)
        put(target, at + i, narrow(code_of(mode, ones, sign, infinity, flip, nan, bits)))
        has_shared_code |= shares_code(sign, infinity, ones, bits)
    return has_shared_code and mode == CANONICAL


@kernel
def decode(code: Any, numbers: np.ndarray, at: int, count: int, result: np.ndarray, start: int) -> None:
    """Write the elements of neighbouring codes."""
    narrow = result.dtype.type
    mode, ones, sign, flip = np.int64(code[0]), narrow(code[1]), narrow(code[2]), narrow(code[4])
    for i in range(count):
        put(result, start + i, narrow(bits_of(mode, ones, sign, flip, get(numbers, at + i))))


@kernel
def restore_row(code: Any, operand: np.ndarray, start: int, length: int, result: np.ndarray) -> None:
    """Put the zeros, and the NaNs, of a sorted row as they were, in the order in which they stood."""
    narrow = result.dtype.type
    rest, infinity = narrow(code[1] ^ code[2]), narrow(code[3])
    zero_at, nan_at = start, start
    while zero_at < start + length and get(result, zero_at) & rest != 0:
        zero_at += 1
    while nan_at < start + length and get(result, nan_at) & rest <= infinity:
        nan_at += 1
    for position in range(start, start + length):
        bits = get(operand, position)
        if bits & rest == 0:
            put(result, zero_at, bits)
            zero_at += 1
        elif bits & rest > infinity:
            put(result, nan_at, bits)
            nan_at += 1


@kernel(parallel=True)
def sort_values(
    task: int,
    size: int,
    work_items: int,
    runs: int,
    run: int,
    length: int,
    address: int,
    code: Any,
    operand: np.ndarray,
    numbers: np.ndarray,
    mixed: Any,
) -> None:
    """Sort the codes of each run of each row; where a run is a row, make them its elements.

    `mixed` notes runs in which different elements may have one code.
    """
    scratch = np.empty(scratch_size(run), numbers.dtype)
    for work_item in range(task * size, min((task + 1) * size, work_items)):
        row = work_item // runs
        start = row * length + (work_item - row * runs) * run
        count = min(run, (row + 1) * length - start)
        has_shared_code = encode(code, operand, start, count, numbers, start)
        if sort_numbers(address, numbers, start, count, scratch) != 0:
            raise MemoryError
        if runs == 1:
            decode(code, numbers, start, count, numbers, start)
            if has_shared_code:
                restore_row(code, operand, start, count, numbers)
        else:
            put(mixed, work_item, np.uint8(has_shared_code))


@kernel(parallel=True)
def merge_values(
    task: int, size: int, length: int, run: int, code: Any, numbers: np.ndarray, result: np.ndarray
) -> None:
    """Merge the two runs of codes of each row, and make them elements."""
    merged = np.empty(MERGE_BLOCK + SLACK, numbers.dtype)
    begin, end = task * size, min((task + 1) * size, numbers.size)
    while begin < end:
        first, middle, last = pair_at(begin, length, run)
        stop = min(last, end, begin + MERGE_BLOCK)
        merge_block(numbers, first, middle, last, begin, stop, merged)
        decode(code, merged, 0, stop - begin, result, begin)
        begin = stop


@kernel(parallel=True)
def restore(
    task: int, size: int, rows: int, length: int, code: Any, operand: np.ndarray, result: np.ndarray
) -> None:
    """`restore_row` for all rows."""
    for row in range(task * size, min((task + 1) * size, rows)):
        restore_row(code, operand, row * length, length, result)


@kernel
def pack(
    code: Any, shift: int, operand: np.ndarray, permutation: np.ndarray, row_start: int, start: int,
    count: int, packed: np.ndarray, at: int,
) -> bool:  # fmt: skip
    """Write 32 bits of the key of each element of a row from `start` on, above its position there; whether
    different elements may have one code. `permutation` has their positions before, or is empty."""
    mode, ones, sign, infinity, flip, nan = np.int64(code[0]), code[1], code[2], code[3], code[4], code[5]
    has_shared_code = False
    if permutation.size == 0:
        for index in range(count):
            bits = np.uint64(get(operand, start + index))
            word = code_of(mode, ones, sign, infinity, flip, nan, bits) >> np.uint64(shift) & _WORD
            put(packed, at + index, word << _POSITION_BITS | np.uint64(start - row_start + index))
            has_shared_code |= shares_code(sign, infinity, ones, bits)
    else:
        for index in range(count):
            bits = np.uint64(get(operand, row_start + np.int64(get(permutation, start + index))))
            word = code_of(mode, ones, sign, infinity, flip, nan, bits) >> np.uint64(shift) & _WORD
            put(packed, at + index, word << _POSITION_BITS | np.uint64(start - row_start + index))
            has_shared_code |= shares_code(sign, infinity, ones, bits)
    return has_shared_code and mode == CANONICAL


@kernel
def unpack(
    code: Any, is_mixed: bool, packed: np.ndarray, at: int, row_start: int, start: int,
    count: int, operand: np.ndarray, permutation: np.ndarray, positions: np.ndarray, values: np.ndarray,
) -> None:  # fmt: skip
    """Write what sorted numbers of `pack` hold for the results from `start` on: positions and elements of the
    key, unless their arrays are empty."""
    narrow, to_position = values.dtype.type, positions.dtype.type
    mode, ones, sign, flip = np.int64(code[0]), code[1], code[2], code[4]
    if permutation.size > 0:
        for index in range(count):
            position = np.int64(get(packed, at + index) & _WORD)
            put(positions, start + index, to_position(get(permutation, row_start + position)))
    elif positions.size > 0:
        for index in range(count):
            put(positions, start + index, to_position(get(packed, at + index) & _WORD))
    if values.size > 0 and is_mixed:
        for index in range(count):
            position = np.int64(get(packed, at + index) & _WORD)
            put(values, start + index, get(operand, row_start + position))
    elif values.size > 0:
        for index in range(count):
            bits = bits_of(mode, ones, sign, flip, get(packed, at + index) >> _POSITION_BITS)
            put(values, start + index, narrow(bits))


@kernel(parallel=True)
def sort_packed(
    task: int, size: int, work_items: int, runs: int, run: int, length: int, address: int, code: Any,
    shift: int, operand: np.ndarray, permutation: np.ndarray, packed: np.ndarray, mixed: Any,
    positions: np.ndarray, values: np.ndarray,
) -> None:  # fmt: skip
    """Sort the numbers of `pack` of each run of each row; where a run is a row, `unpack` them.

    `packed` holds a row for each task then, and otherwise all rows.
    """
    scratch = np.empty(scratch_size(run), packed.dtype)
    for work_item in range(task * size, min((task + 1) * size, work_items)):
        row = work_item // runs
        row_start = row * length
        start = row_start + (work_item - row * runs) * run
        count = min(run, row_start + length - start)
        at = task * length if runs == 1 else start
        has_shared_code = pack(code, shift, operand, permutation, row_start, start, count, packed, at)
        if sort_numbers(address, packed, at, count, scratch) != 0:
            raise MemoryError
        if runs == 1:
            unpack(
                code, has_shared_code, packed, at, row_start, start, count, operand, permutation,
                positions, values,
            )  # fmt: skip
        else:
            put(mixed, work_item, np.uint8(has_shared_code))


@kernel(parallel=True)
def merge_packed(
    task: int, size: int, length: int, run: int, code: Any, is_mixed: bool, operand: np.ndarray,
    permutation: np.ndarray, packed: np.ndarray, positions: np.ndarray, values: np.ndarray,
) -> None:  # fmt: skip
    """Merge the two runs of each row, and `unpack` the merged numbers."""
    merged = np.empty(MERGE_BLOCK + SLACK, np.uint64)
    begin, end = task * size, min((task + 1) * size, packed.size)
    while begin < end:
        first, middle, last = pair_at(begin, length, run)
        stop = min(last, end, begin + MERGE_BLOCK)
        merge_block(packed, first, middle, last, begin, stop, merged)
        row_start = begin // length * length
        unpack(
            code, is_mixed, merged, 0, row_start, begin, stop - begin, operand, permutation,
            positions, values,
        )  # fmt: skip
        begin = stop


@kernel(parallel=True)
def move(
    task: int, size: int, length: int, words: int, positions: np.ndarray, source: Any, result: np.ndarray
) -> None:
    """Gather each element of a row from its position. Elements have 1 or 2 words."""
    begin, end = task * size, min((task + 1) * size, positions.size)
    row_start = begin // length * length
    for start in range(row_start, end, length):
        for target in range(max(start, begin), min(start + length, end)):
            position = start + np.int64(get(positions, target))
            if words == 1:
                put(result, target, get(source, position))
            else:
                put(result, 2 * target, get(source, 2 * position))
                put(result, 2 * target + 1, get(source, 2 * position + 1))
