"""The loops of `runs`: sorting runs by a native function, and merging them."""

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


@kernel(parallel=True)
def sort_runs(task: int, size: int, rows: int, length: int, run: int, address: int, numbers: Any) -> None:
    """Sort each `run` neighbouring numbers of each row."""
    runs = (length + run - 1) // run
    for unit in range(task * size, min((task + 1) * size, rows * runs)):
        row = unit // runs
        start = (unit - row * runs) * run
        if sort_numbers(address, numbers, row * length + start, min(run, length - start)) != 0:
            raise MemoryError


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


@kernel
def merge_part(numbers: Any, first: int, middle: int, end: int, begin: int, stop: int, target: Any) -> None:
    """Results `begin` to `stop` of two runs side by side, from both ends at once, which hides latency."""
    a = first + split(numbers, first, middle, end, begin - first)
    c = first + split(numbers, first, middle, end, stop - first)
    b, d = middle + begin - first - (a - first), middle + stop - first - (c - first)
    a_end, b_end, a_begin, b_begin = c, d, a, b
    last = end - 1
    half = (stop - begin) // 2
    for number in range(stop - begin - half):
        left, right = (
            get(numbers, c - 1 if c > a_begin else first),
            get(numbers, d - 1 if d > b_begin else first),
        )
        takes_right = (c == a_begin) | ((d > b_begin) & (left <= right))
        put(target, stop - 1 - number, right if takes_right else left)
        d -= takes_right
        c -= 1 - takes_right
        if number < half:
            left, right = get(numbers, a), get(numbers, min(b, last))
            takes_left = (b == b_end) | ((a < a_end) & (left <= right))
            put(target, begin + number, left if takes_left else right)
            a += takes_left
            b += 1 - takes_left


@kernel(parallel=True)
def merge(task: int, size: int, length: int, run: int, numbers: Any, target: Any) -> None:
    """Merge each two sorted runs side by side of each row."""
    begin, end = task * size, min((task + 1) * size, numbers.size)
    while begin < end:
        row_start = begin // length * length
        row_end = row_start + length
        first = row_start + (begin - row_start) // (2 * run) * (2 * run)
        middle, last = min(first + run, row_end), min(first + 2 * run, row_end)
        stop = min(last, end)
        merge_part(numbers, first, middle, last, begin, stop, target)
        begin = stop
