"""The kernels of `top_k`. Importing this module imports Numba.

A work item is a chunk of a row: all `chunks` of a row have `chunk_size` elements, the last one the rest. The
results of a work item are the `k` largest of its elements, and their positions in the row.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from ..launch.compilation import kernel
from ..simd.arithmetic import get, put
from ..simd.block_sizes import SEARCH_BLOCK
from ..simd.searches import (
    lowest_set_bit,
    max_of_groups,
    max_of_groups_in_total_order,
    which_above,
    which_above_in_total_order,
)
from ..simd.vectors import I32, I64, intrinsic
from .native_sort import MIN_SCRATCH_COUNT
from .sort_encoding import SIGNED, UNSIGNED

_ONE, _HALF = np.uint64(1), np.uint64(32)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_POSITION = np.uint64(0xFFFFFFFF)
_SAMPLED_ELEMENTS = 1 << 12
"""Elements of a chunk that are sampled for a lower bound."""
_POINTER = ir.IntType(8).as_pointer()
_SORT = ir.FunctionType(I32, [_POINTER, I64, _POINTER])


@intrinsic
def sort_numbers(
    typing_context: Any, address: Any, array: Any, start: Any, count: Any, scratch: Any,
) -> Any:  # fmt: skip
    """Sort contiguous items by the function at `address`, with scratch for as many or none; nonzero if it
    fails."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[1]).data
        first = builder.bitcast(builder.gep(data, [arguments[2]]), _POINTER)
        function = builder.inttoptr(arguments[0], _SORT.as_pointer())
        scratch_array = context.make_array(scratch)(context, builder, arguments[4])
        has_scratch = builder.icmp_signed(">=", scratch_array.nitems, arguments[3])
        scratch_data = builder.bitcast(scratch_array.data, _POINTER)
        scratch_pointer = builder.select(has_scratch, scratch_data, ir.Constant(_POINTER, None))
        return builder.sext(builder.call(function, [first, arguments[3], scratch_pointer]), I64)

    return types.intp(types.intp, array, types.intp, types.intp, array), emit


@kernel(inline=True)
def scratch_size(count: int) -> int:
    """The items of scratch for sorting `count` items."""
    return count if count >= MIN_SCRATCH_COUNT else 0

@kernel
def _chunk_range(work_item: int, chunks: int, chunk_size: int, length: int) -> tuple[int, int, int]:
    """The start of the row, and start and end of a chunk in it."""
    row = work_item // chunks
    origin = row * length
    start = origin + (work_item - row * chunks) * chunk_size
    return origin, start, origin + length if work_item + 1 == (row + 1) * chunks else start + chunk_size


@kernel
def _above(encoding: Any, operand: np.ndarray, first: int, limit: Any) -> Any:
    """A mask of the `SEARCH_BLOCK` elements from an index on whose codes are above a limit."""
    narrow = operand.dtype.type
    mode, sign = np.int64(encoding[0]), narrow(encoding[2])
    sign_flip = sign if mode == UNSIGNED else narrow(0)
    threshold = narrow(limit ^ sign)
    if mode in (UNSIGNED, SIGNED) or threshold < sign:
        return which_above(operand, first, sign_flip, threshold)
    return which_above_in_total_order(operand, first, sign_flip, threshold)


@kernel
def _code(encoding: Any, operand: np.ndarray, index: int) -> Any:
    """The code of an element: an unsigned integer of its width, of the same order."""
    narrow = operand.dtype.type
    mode, ones, sign = np.int64(encoding[0]), narrow(encoding[1]), narrow(encoding[2])
    bits = get(operand, index)
    if mode == UNSIGNED:
        return bits
    if mode == SIGNED:
        return narrow(bits ^ sign)
    return narrow(bits ^ (ones if bits & sign else sign))


@kernel
def _bound(
    encoding: Any, operand: np.ndarray, start: int, end: int, k: int, address: int, groups: Any,
    scratch_start: int,
) -> Any:  # fmt: skip
    """A code that at least k of the elements from `start` to `end` reach, at most SEARCH_BLOCK: the largest
    elements of k groups of them do. 0 if there are too few elements."""
    narrow = operand.dtype.type
    mode, sign = np.int64(encoding[0]), narrow(encoding[2])
    sign_flip = sign if mode == UNSIGNED else narrow(0)
    count = min(end - start, _SAMPLED_ELEMENTS) // SEARCH_BLOCK * SEARCH_BLOCK
    if count == 0:
        return narrow(0)
    if mode in (UNSIGNED, SIGNED):
        max_of_groups(operand, start, count, sign_flip, sign, groups, scratch_start)
    else:
        max_of_groups_in_total_order(operand, start, count, sign_flip, sign, groups, scratch_start)
    no_scratch = groups[:0]
    if sort_numbers(address, groups, scratch_start, SEARCH_BLOCK, no_scratch) != 0:
        raise MemoryError
    return narrow(get(groups, scratch_start + SEARCH_BLOCK - k))


@kernel
def insert(best: Any, own: int, count: int, code: Any, indices: np.ndarray, at: int, position: int) -> None:
    """Insert a code and its position into the `count` largest ones, which are in descending order."""
    slot = count
    while slot > 0 and get(best, own + slot - 1) < code:
        put(best, own + slot, get(best, own + slot - 1))
        put(indices, at + slot, get(indices, at + slot - 1))
        slot -= 1
    put(best, own + slot, code)
    put(indices, at + slot, indices.dtype.type(position))


@kernel
def gather_values(
    operand: np.ndarray, origin: int, k: int, indices: np.ndarray, at: int, values: np.ndarray
) -> None:
    """The elements at positions in a row."""
    for number in range(at, at + k):
        put(values, number, get(operand, origin + np.int64(get(indices, number))))


@kernel(parallel=True)
def insertion(
    task: int, size: int, work_items: int, chunks: int, chunk_size: int, length: int, k: int, address: int,
    encoding: Any, groups: Any, best: Any, operand: np.ndarray, values: np.ndarray, indices: np.ndarray,
) -> None:  # fmt: skip
    """Keep the k best codes in order, initially the bound less one.

    `groups` has SEARCH_BLOCK items of scratch for each task, `best` k codes.
    """
    one = operand.dtype.type(1)
    best_start = task * k
    last = best_start + k - 1
    for work_item in range(task * size, min((task + 1) * size, work_items)):
        origin, start, end = _chunk_range(work_item, chunks, chunk_size, length)
        result_start = work_item * k
        bound = _bound(encoding, operand, start, end, k, address, groups, task * SEARCH_BLOCK)
        vectors = start
        if bound > 0:
            for count in range(best_start, best_start + k):
                put(best, count, bound - one)
        else:
            vectors += k
            for count in range(k):
                insert(
                    best, best_start, count, _code(encoding, operand, start + count), indices, result_start,
                    start + count - origin,
                )  # fmt: skip
        after = vectors + (end - vectors) // SEARCH_BLOCK * SEARCH_BLOCK
        for first in range(vectors, after, SEARCH_BLOCK):
            above = _above(encoding, operand, first, get(best, last))
            while above != 0:
                index = first + lowest_set_bit(above)
                above &= above - _ONE
                candidate = _code(encoding, operand, index)
                if candidate > get(best, last):
                    insert(best, best_start, k - 1, candidate, indices, result_start, index - origin)
        for index in range(after, end):
            candidate = _code(encoding, operand, index)
            if candidate > get(best, last):
                insert(best, best_start, k - 1, candidate, indices, result_start, index - origin)
        gather_values(operand, origin, k, indices, result_start, values)


@kernel(parallel=True)
def filtered(
    task: int, size: int, work_items: int, chunks: int, chunk_size: int, length: int, k: int, capacity: int,
    address: int, encoding: Any, numbers: np.ndarray, operand: np.ndarray, values: np.ndarray,
    indices: np.ndarray,
) -> None:  # fmt: skip
    """Collect candidates, and sort them whenever the scratch is full.

    `numbers` has `capacity` items for each task, at least k + SEARCH_BLOCK: codes that descend as elements
    ascend, of at most 32 bits, above positions.
    """
    narrow = operand.dtype.type
    ones, scratch_start = narrow(encoding[1]), task * capacity
    sort_scratch = np.empty(scratch_size(capacity), numbers.dtype)
    for work_item in range(task * size, min((task + 1) * size, work_items)):
        origin, start, end = _chunk_range(work_item, chunks, chunk_size, length)
        count_held, limit, is_limited = 0, narrow(0), False
        for first in range(start, end, SEARCH_BLOCK):
            if count_held + SEARCH_BLOCK > capacity:
                if sort_numbers(address, numbers, scratch_start, count_held, sort_scratch) != 0:
                    raise MemoryError
                count_held, is_limited = k, True
                limit = narrow(ones ^ narrow(get(numbers, scratch_start + k - 1) >> _HALF))
            count = min(SEARCH_BLOCK, end - first)
            above = _ALL >> np.uint64(SEARCH_BLOCK - count)
            if is_limited and count == SEARCH_BLOCK:
                above = _above(encoding, operand, first, limit)
            while above != 0:
                index = first + lowest_set_bit(above)
                above &= above - _ONE
                falling = np.uint64(narrow(ones ^ _code(encoding, operand, index)))
                put(numbers, scratch_start + count_held, falling << _HALF | np.uint64(index - origin))
                count_held += 1
        if sort_numbers(address, numbers, scratch_start, count_held, sort_scratch) != 0:
            raise MemoryError
        for number in range(k):
            position = get(numbers, scratch_start + number) & _POSITION
            put(indices, work_item * k + number, indices.dtype.type(position))
        gather_values(operand, origin, k, indices, work_item * k, values)
