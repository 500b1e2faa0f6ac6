"""What sorts runs by a native function, and merges them, inside kernels. Importing this module imports
Numba."""

from typing import Any

from llvmlite import ir
from numba import types

from .arithmetic import get, put
from .compilation import kernel
from .vectors import I32, I64, intrinsic

_POINTER = ir.IntType(8).as_pointer()
_SORT = ir.FunctionType(I32, [_POINTER, I64, _POINTER])


@intrinsic
def sort_numbers(typing_context: Any, address: Any, array: Any, start: Any, count: Any) -> Any:
    """Sort neighbouring items by the function at `address`; a number other than 0 if it fails."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[1]).data
        first = builder.bitcast(builder.gep(data, [arguments[2]]), _POINTER)
        function = builder.inttoptr(arguments[0], _SORT.as_pointer())
        return builder.sext(builder.call(function, [first, arguments[3], ir.Constant(_POINTER, None)]), I64)

    return types.intp(types.intp, array, types.intp, types.intp), generate


@kernel
def split(numbers: Any, first: int, middle: int, end: int, count: int) -> int:
    """Of the `count` least of two sorted runs side by side, how many are the first one's. Of equal numbers it
    has the lesser ones."""
    low, high = max(0, count - (end - middle)), min(count, middle - first)
    while low < high:
        between = (low + high) // 2
        if get(numbers, first + between) <= get(numbers, middle + count - 1 - between):
            low = between + 1
        else:
            high = between
    return low


@kernel(inline=True)
def takes_first(numbers: Any, a: int, a_end: int, b: int, b_end: int, last: int) -> bool:
    """Whether the next number of two runs, which may have come to their ends, is that at `a`, not `b`."""
    left, right = get(numbers, min(a, last)), get(numbers, min(b, last))
    return bool((b == b_end) | ((a < a_end) & (left <= right)))


@kernel(inline=True)
def takes_second(numbers: Any, a: int, a_begin: int, b: int, b_begin: int, first: int) -> bool:
    """Whether the last number of two runs, of which nothing may be left, is that before `b`, not `a`."""
    left, right = get(numbers, max(a - 1, first)), get(numbers, max(b - 1, first))
    return bool((a == a_begin) | ((b > b_begin) & (left <= right)))


@kernel
def merge_block(
    numbers: Any, first: int, middle: int, end: int, begin: int, stop: int, target: Any, at: int
) -> None:
    """Write numbers `begin` to `stop` of two runs side by side, as they are merged, to `target` from `at` on.

    Both halves are merged from both ends at once, which hides latency.
    """
    last = end - 1
    size = stop - begin
    halves = begin + size // 2
    a0 = first + split(numbers, first, middle, end, begin - first)
    a1 = first + split(numbers, first, middle, end, halves - first)
    a2 = first + split(numbers, first, middle, end, stop - first)
    b0, b1, b2 = begin + middle - a0, halves + middle - a1, stop + middle - a2
    a, b, c, d, e, f, g, h = a0, b0, a1, b1, a1, b1, a2, b2
    steps = size // 4
    middle_at, end_at = at + size // 2, at + size
    for step in range(steps):
        one = takes_first(numbers, a, a1, b, b1, last)
        two = takes_second(numbers, c, a0, d, b0, first)
        three = takes_first(numbers, e, a2, f, b2, last)
        four = takes_second(numbers, g, a1, h, b1, first)
        put(target, at + step, get(numbers, a if one else b))
        put(target, middle_at - 1 - step, get(numbers, (d if two else c) - 1))
        put(target, middle_at + step, get(numbers, e if three else f))
        put(target, end_at - 1 - step, get(numbers, (h if four else g) - 1))
        a, b = a + one, b + (1 - one)
        c, d = c - (1 - two), d - two
        e, f = e + three, f + (1 - three)
        g, h = g - (1 - four), h - four
    for step in range(steps, size // 2 - steps):
        one = takes_first(numbers, a, a1, b, b1, last)
        put(target, at + step, get(numbers, a if one else b))
        a, b = a + one, b + (1 - one)
    for step in range(steps, size - size // 2 - steps):
        three = takes_first(numbers, e, a2, f, b2, last)
        put(target, middle_at + step, get(numbers, e if three else f))
        e, f = e + three, f + (1 - three)


@kernel(inline=True)
def pair_at(place: int, length: int, run: int) -> tuple[int, int, int]:
    """Where the two runs begin and end that are merged to what holds a place: of rows of `length` numbers."""
    row_start = place // length * length
    first = row_start + (place - row_start) // (2 * run) * (2 * run)
    row_end = row_start + length
    return first, min(first + run, row_end), min(first + 2 * run, row_end)


@kernel(parallel=True)
def merge(task: int, size: int, length: int, run: int, numbers: Any, target: Any) -> None:
    """Merge each two sorted runs side by side of each row."""
    begin, end = task * size, min((task + 1) * size, numbers.size)
    while begin < end:
        first, middle, last = pair_at(begin, length, run)
        stop = min(last, end)
        merge_block(numbers, first, middle, last, begin, stop, target, begin)
        begin = stop
