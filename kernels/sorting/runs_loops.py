"""What sorts runs by a native function, and merges them, inside kernels. Importing this module imports
Numba."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from ..launch.compilation import kernel
from ..simd.arithmetic import get, put
from ..simd.vectors import I32, I64, cgutils, intrinsic, selected
from .runs import MERGED

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


LANES = 16
"""Numbers that are merged at a time; fewer where they do not fit a vector."""
SLACK = 2 * LANES
"""How many numbers a merge may write behind its last one."""


def _lanes_of(width: int) -> int:
    return min(LANES, 512 // width)


def _sorted_halves(builder: Any, left: Any, right: Any) -> tuple[Any, Any]:
    """The lesser and the greater half of two sorted vectors, each sorted."""
    lanes = left.type.count
    right = selected(builder, right, range(lanes - 1, -1, -1))
    halves = _ordered(builder, left, right)
    distance = lanes // 2
    while distance:
        halves = tuple([_stage(builder, half, distance) for half in halves])
        distance //= 2
    return halves


def _ordered(builder: Any, left: Any, right: Any) -> tuple[Any, Any]:
    """The lesser and the greater number of each lane."""
    is_less = builder.icmp_unsigned("<", left, right)
    return builder.select(is_less, left, right), builder.select(is_less, right, left)


def _stage(builder: Any, vector: Any, distance: int) -> Any:
    """A vector whose lanes that are so far apart are in order."""
    lanes = vector.type.count
    others = selected(builder, vector, [lane ^ distance for lane in range(lanes)])
    lesser, greater = _ordered(builder, vector, others)
    chosen = [lane + lanes if lane & distance else lane for lane in range(lanes)]
    return selected(builder, lesser, chosen, greater)


class _Merge:
    """Code for one merge of two runs: its state, and its steps.

    Args:
        data: the numbers' address.
        ends: where the two runs end.
        starts: where they begin, for this merge.
    """

    def __init__(self, builder: Any, data: Any, ends: Sequence[Any], starts: Sequence[Any]) -> None:
        self.builder = builder
        self.data = data
        self.ends = ends
        self.lanes = _lanes_of(data.type.pointee.width)
        self.vector = ir.VectorType(data.type.pointee, self.lanes)
        self.room = cgutils.alloca_once(builder, self.vector)
        self.places = [cgutils.alloca_once_value(builder, start) for start in starts]
        first = [self.taken(place, end) for place, end in zip(self.places, ends, strict=True)]
        self.left, self.right = (cgutils.alloca_once_value(builder, vector) for vector in first)

    def taken(self, place: Any, end: Any) -> Any:
        """The next numbers of a run, and behind its end the greatest number."""
        builder, vector = self.builder, self.vector
        first = builder.load(place)
        after = builder.add(first, I64(self.lanes))
        builder.store(after, place)
        found = cgutils.alloca_once(builder, vector)
        with builder.if_else(builder.icmp_signed("<=", after, end), likely=True) as (whole, part):
            with whole:
                address = builder.bitcast(builder.gep(self.data, [first]), vector.as_pointer())
                builder.store(builder.load(address, align=vector.element.width // 8), found)
            with part:
                builder.store(ir.Constant(vector, [vector.element(-1)] * self.lanes), self.room)
                items = builder.bitcast(self.room, self.data.type)
                with cgutils.for_range_slice(builder, first, end, I64(1), intp=I64, inc=True) as (at, _):
                    item = builder.load(builder.gep(self.data, [at]))
                    builder.store(item, builder.gep(items, [builder.sub(at, first)]))
                builder.store(builder.load(self.room), found)
        return builder.load(found)

    def step(self, address: Any) -> None:
        """Write the next numbers to an address."""
        builder = self.builder
        lesser, greater = _sorted_halves(builder, builder.load(self.left), builder.load(self.right))
        address = builder.bitcast(address, self.vector.as_pointer())
        builder.store(lesser, address, align=self.vector.element.width // 8)
        builder.store(greater, self.left)
        a, b = (builder.load(place) for place in self.places)
        has_a, has_b = (
            builder.icmp_signed("<", place, end) for place, end in zip((a, b), self.ends, strict=True)
        )
        heads = [
            builder.load(builder.gep(self.data, [builder.select(has, place, I64(0))]))
            for has, place in ((has_a, a), (has_b, b))
        ]
        no_greater = builder.and_(has_a, builder.icmp_unsigned("<=", *heads))
        takes_a = builder.or_(no_greater, builder.not_(has_b))
        place = builder.select(takes_a, self.places[0], self.places[1])
        builder.store(self.taken(place, builder.select(takes_a, *self.ends)), self.right)


@intrinsic
def merge_twice(
    typing_context: Any, numbers: Any, ends: Any, starts: Any, steps: Any, target: Any, places: Any
) -> Any:
    """Merge two runs from two pairs of places at once, which hides latency: for so many vectors each.

    Args:
        ends: where the runs end, a pair.
        starts: of the first merge in both runs, and of the second one.
        places: where in `target` the two merges write.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data, written = (
            context.make_array(array)(context, builder, arguments[number]).data
            for number, array in ((0, numbers), (4, target))
        )
        both_ends, both_starts, both_places = (
            cgutils.unpack_tuple(builder, arguments[number]) for number in (1, 2, 5)
        )
        merges = [_Merge(builder, data, both_ends, both_starts[at : at + 2]) for at in (0, 2)]
        with cgutils.for_range(builder, arguments[3], intp=I64) as loop:
            for merge, place in zip(merges, both_places, strict=True):
                at = builder.add(place, builder.mul(loop.index, I64(merge.lanes)))
                merge.step(builder.gep(written, [at]))
        return context.get_dummy_value()

    pair, four = types.UniTuple(types.intp, 2), types.UniTuple(types.intp, 4)
    return types.void(numbers, pair, four, types.intp, target, pair), generate


@kernel
def merge_block(numbers: Any, first: int, middle: int, end: int, begin: int, stop: int, target: Any) -> None:
    """Write numbers `begin` to `stop` of two runs side by side, as they are merged, to the start of `target`,
    which has room for `SLACK` more."""
    lanes = min(LANES, 64 // numbers.itemsize)
    steps = (stop - begin + 2 * lanes - 1) // (2 * lanes)
    halves = min(begin + steps * lanes, stop)
    a = first + split(numbers, first, middle, end, begin - first)
    c = first + split(numbers, first, middle, end, halves - first)
    starts = a, begin + middle - a, c, halves + middle - c
    merge_twice(numbers, (middle, end), starts, steps, target, (0, steps * lanes))


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
    merged = np.empty(MERGED + SLACK, numbers.dtype)
    begin, end = task * size, min((task + 1) * size, numbers.size)
    while begin < end:
        first, middle, last = pair_at(begin, length, run)
        stop = min(last, end, begin + MERGED)
        merge_block(numbers, first, middle, last, begin, stop, merged)
        for step in range(stop - begin):
            put(target, begin + step, get(merged, step))
        begin = stop
