"""Sorts runs by a native function and merges them, inside kernels. Importing this module imports Numba."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.base import BaseContext as Context
from numba.core.typing import BaseContext as TypingContext
from numba.core.typing import Signature

from ..launch.compilation import kernel
from ..simd.arithmetic import get, put
from ..simd.vectors import I32, I64, TypedCode, Values, cgutils, intrinsic, selected
from .native_sort import MIN_SCRATCH_COUNT
from .runs import MERGE_BLOCK

_POINTER = ir.IntType(8).as_pointer()
_SORT = ir.FunctionType(I32, [_POINTER, I64, _POINTER])


@intrinsic
def sort_numbers(
    typing_context: TypingContext,
    address: types.Type,
    array: types.Type,
    start: types.Type,
    count: types.Type,
    scratch: types.Type,
) -> TypedCode:
    """Sort contiguous items by the function at `address`, with scratch for as many or none; nonzero if it
    fails."""

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        data = context.make_array(array)(context, builder, arguments[1]).data
        first = builder.bitcast(builder.gep(data, [arguments[2]]), _POINTER)
        function = builder.inttoptr(arguments[0], _SORT.as_pointer())
        scratch_array = context.make_array(scratch)(context, builder, arguments[4])
        has_scratch = builder.icmp_signed(">=", scratch_array.nitems, arguments[3])
        scratch_data = builder.bitcast(scratch_array.data, _POINTER)
        given_scratch = builder.select(has_scratch, scratch_data, ir.Constant(_POINTER, None))
        return builder.sext(builder.call(function, [first, arguments[3], given_scratch]), I64)

    return types.intp(types.intp, array, types.intp, types.intp, array), emit


@kernel(inline=True)
def scratch_size(count: int) -> int:
    """The items of scratch for sorting `count` items."""
    return count if count >= MIN_SCRATCH_COUNT else 0


@kernel
def split(numbers: np.ndarray, first: int, middle: int, end: int, count: int) -> int:
    """The number of items of the first run among the `count` smallest of two adjacent sorted runs; ties go to
    the first run."""
    low, high = max(0, count - (end - middle)), min(count, middle - first)
    while low < high:
        between = (low + high) // 2
        if get(numbers, first + between) <= get(numbers, middle + count - 1 - between):
            low = between + 1
        else:
            high = between
    return low


LANES = 16
"""Items merged at a time; fewer if they do not fit a vector."""
SLACK = 2 * LANES
"""Items that a merge may write after its last one."""


def _lanes_of(width: int) -> int:
    return min(LANES, 512 // width)


def _sorted_halves(builder: ir.IRBuilder, left: ir.Value, right: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The lower and the upper half of two sorted vectors, each sorted: a bitonic merge."""
    lanes = left.type.count
    right = selected(builder, right, range(lanes - 1, -1, -1))
    halves = _ordered(builder, left, right)
    distance = lanes // 2
    while distance:
        halves = tuple([_stage(builder, half, distance) for half in halves])
        distance //= 2
    return halves


def _ordered(builder: ir.IRBuilder, left: ir.Value, right: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The minimum and the maximum of each lane."""
    is_less = builder.icmp_unsigned("<", left, right)
    return builder.select(is_less, left, right), builder.select(is_less, right, left)


def _stage(builder: ir.IRBuilder, vector: ir.Value, distance: int) -> ir.Value:
    """Compare and exchange lanes that are `distance` apart."""
    lanes = vector.type.count
    others = selected(builder, vector, [lane ^ distance for lane in range(lanes)])
    lesser, greater = _ordered(builder, vector, others)
    chosen = [lane + lanes if lane & distance else lane for lane in range(lanes)]
    return selected(builder, lesser, chosen, greater)


class _Merge:
    """Code for one merge of two runs.

    Args:
        data: the items' address.
        ends: where the two runs end.
        starts: where they begin, for this merge.
    """

    def __init__(
        self, builder: ir.IRBuilder, data: ir.Value, ends: Sequence[ir.Value], starts: Sequence[ir.Value]
    ) -> None:
        self.builder = builder
        self.data = data
        self.ends = ends
        self.lanes = _lanes_of(data.type.pointee.width)
        self.vector = ir.VectorType(data.type.pointee, self.lanes)
        self.scratch = cgutils.alloca_once(builder, self.vector)
        self.positions = [cgutils.alloca_once_value(builder, start) for start in starts]
        first = [self.next_vector(position, end) for position, end in zip(self.positions, ends, strict=True)]
        self.left, self.right = (cgutils.alloca_once_value(builder, vector) for vector in first)

    def next_vector(self, position: ir.Value, end: ir.Value) -> ir.Value:
        """The next items of a run; after its end the largest integer."""
        builder, vector = self.builder, self.vector
        first = builder.load(position)
        next_position = builder.add(first, I64(self.lanes))
        builder.store(next_position, position)
        result = cgutils.alloca_once(builder, vector)
        with builder.if_else(builder.icmp_signed("<=", next_position, end), likely=True) as (full, partial):
            with full:
                address = builder.bitcast(builder.gep(self.data, [first]), vector.as_pointer())
                builder.store(builder.load(address, align=vector.element.width // 8), result)
            with partial:
                builder.store(ir.Constant(vector, [vector.element(-1)] * self.lanes), self.scratch)
                items = builder.bitcast(self.scratch, self.data.type)
                with cgutils.for_range_slice(builder, first, end, I64(1), intp=I64, inc=True) as (at, _):
                    item = builder.load(builder.gep(self.data, [at]))
                    builder.store(item, builder.gep(items, [builder.sub(at, first)]))
                builder.store(builder.load(self.scratch), result)
        return builder.load(result)

    def step(self, address: ir.Value) -> None:
        """Write the next items to an address."""
        builder = self.builder
        lesser, greater = _sorted_halves(builder, builder.load(self.left), builder.load(self.right))
        address = builder.bitcast(address, self.vector.as_pointer())
        builder.store(lesser, address, align=self.vector.element.width // 8)
        builder.store(greater, self.left)
        a, b = (builder.load(position) for position in self.positions)
        has_a, has_b = (
            builder.icmp_signed("<", position, end) for position, end in zip((a, b), self.ends, strict=True)
        )
        head_values = [
            builder.load(builder.gep(self.data, [builder.select(has, position, I64(0))]))
            for has, position in ((has_a, a), (has_b, b))
        ]
        is_a_first = builder.and_(has_a, builder.icmp_unsigned("<=", *head_values))
        takes_a = builder.or_(is_a_first, builder.not_(has_b))
        position = builder.select(takes_a, self.positions[0], self.positions[1])
        builder.store(self.next_vector(position, builder.select(takes_a, *self.ends)), self.right)


@intrinsic
def merge_twice(
    typing_context: TypingContext,
    numbers: types.Type,
    ends: types.Type,
    starts: types.Type,
    vectors: types.Type,
    target: types.Type,
    targets: types.Type,
) -> TypedCode:
    """Merge two runs from two pairs of positions at once, which hides latency: `vectors` vectors each.

    Args:
        ends: where the runs end, a pair.
        starts: of the first merge in both runs, and of the second one.
        targets: where in `target` the two merges write.
    """

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        data, written = (
            context.make_array(array)(context, builder, arguments[number]).data
            for number, array in ((0, numbers), (4, target))
        )
        both_ends, both_starts, both_targets = (
            cgutils.unpack_tuple(builder, arguments[number]) for number in (1, 2, 5)
        )
        merges = [_Merge(builder, data, both_ends, both_starts[at : at + 2]) for at in (0, 2)]
        with cgutils.for_range(builder, arguments[3], intp=I64) as loop:
            for merge, target_start in zip(merges, both_targets, strict=True):
                at = builder.add(target_start, builder.mul(loop.index, I64(merge.lanes)))
                merge.step(builder.gep(written, [at]))
        return context.get_dummy_value()

    pair, four = types.UniTuple(types.intp, 2), types.UniTuple(types.intp, 4)
    return types.void(numbers, pair, four, types.intp, target, pair), emit


@kernel
def merge_block(
    numbers: np.ndarray, first: int, middle: int, end: int, begin: int, stop: int, target: Any
) -> None:
    """Write items `begin` to `stop` of the merge of two adjacent runs to the start of `target`, which has
    `SLACK` spare items."""
    lanes = min(LANES, 64 // numbers.itemsize)
    vectors = (stop - begin + 2 * lanes - 1) // (2 * lanes)
    midpoint = min(begin + vectors * lanes, stop)
    a = first + split(numbers, first, middle, end, begin - first)
    c = first + split(numbers, first, middle, end, midpoint - first)
    starts = a, begin + middle - a, c, midpoint + middle - c
    merge_twice(numbers, (middle, end), starts, vectors, target, (0, vectors * lanes))


@kernel(inline=True)
def pair_at(index: int, length: int, run: int) -> tuple[int, int, int]:
    """The bounds of the two runs whose merge contains an index, in rows of `length` items."""
    row_start = index // length * length
    first = row_start + (index - row_start) // (2 * run) * (2 * run)
    row_end = row_start + length
    return first, min(first + run, row_end), min(first + 2 * run, row_end)


@kernel(parallel=True)
def merge(task: int, size: int, length: int, run: int, numbers: np.ndarray, target: Any) -> None:
    """Merge each two adjacent sorted runs of each row."""
    merged = np.empty(MERGE_BLOCK + SLACK, numbers.dtype)
    begin, end = task * size, min((task + 1) * size, numbers.size)
    while begin < end:
        first, middle, last = pair_at(begin, length, run)
        stop = min(last, end, begin + MERGE_BLOCK)
        merge_block(numbers, first, middle, last, begin, stop, merged)
        for i in range(stop - begin):
            put(target, begin + i, get(merged, i))
        begin = stop
