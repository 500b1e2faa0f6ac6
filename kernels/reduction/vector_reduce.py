"""Vectorized reductions of many elements into one, in the order of the tree that `reduce` describes.

Each function here is inlined into the kernel that calls it, as those of `arithmetic` are.

Adjacent pairs are combined at vector speed: LANES vectors of LANES contiguous values each are combined by
twos, a vector of the even lanes with one of the odd lanes, until one vector is left; its lane i is the total
of the i-th vector (`lane_pairs`). So a pass leaves a LANES-th of the values; passes follow until a single
value is left.
"""

from contextlib import AbstractContextManager
from typing import NamedTuple

from llvmlite import ir
from numba import types
from numba.core.base import BaseContext as Context
from numba.core.typing import BaseContext as TypingContext
from numba.core.typing import Signature

from ..launch.processor import prefetches_ascending_only, read_streams
from ..simd.block_sizes import ROW_BLOCK
from ..simd.lane_pairs import LANE_BLOCK_BYTES, lane_pairs
from ..simd.monoids import Combination, computing_dtype, is_exact
from ..simd.vectors import (
    I32,
    I64,
    ReadAhead,
    TypedCode,
    Value,
    Values,
    apply,
    cgutils,
    component,
    component_count,
    computed_type,
    data_of,
    for_columns,
    interleaved_loop,
    intrinsic,
    is_truncated_float32,
    lanes_of,
    literal,
    load_bfloat16_pairs,
    load_lanes,
    packed,
    selected,
    splat,
    store_lanes,
)

_UNROLLED = 4


def _chunk_lanes(element: str) -> int:
    """The number of values in 16 bytes: for a complex type, of each of its components."""
    return LANE_BLOCK_BYTES * component_count(element) // computing_dtype(element).itemsize


class _Source(NamedTuple):
    """Elements of an array, to be reduced by generated code. If `padded`, at least LANES more may be read
    after them."""

    builder: ir.IRBuilder
    kind: Combination
    data: ir.Value
    start: ir.Value
    count: ir.Value
    padded: bool = False

    @property
    def lanes(self) -> int:
        return lanes_of(self.kind.element)

    def values(self, position: ir.Value, lanes: int) -> Value:
        index = self.builder.add(self.start, position)
        return load_lanes(self.builder, self.kind.element, self.data, index, lanes)

    def read_ahead(self, position: ir.Value, vectors: int, steps: int) -> ReadAhead:
        """Prefetch, unless the elements are padded: those are in a cache."""
        count = 0 if self.padded else vectors * self.lanes
        index = self.builder.add(self.start, position)
        return ReadAhead(self.builder, self.kind.element, self.data, index, count, steps)

    def loop(self, begin: ir.Value, end: ir.Value, stride: int) -> AbstractContextManager[ir.Value]:
        """A loop over positions."""
        return cgutils.for_range_slice(self.builder, begin, end, I64(stride), intp=I64, inc=True)

    def loop_in_any_order(
        self, begin: ir.Value, end: ir.Value, stride: int
    ) -> AbstractContextManager[ir.Value]:
        """A loop over positions in the order in which memory is read fastest."""
        return interleaved_loop(self.builder, begin, end, stride, 1 if self.padded else read_streams())

    def slots(self, lanes: int) -> list[ir.Value]:
        """Stack slots for a value of `lanes` lanes: an address for each component."""
        kind = component(self.kind.element)
        slot_type = ir.VectorType(kind, lanes) if lanes > 1 else kind
        return [
            cgutils.alloca_once(self.builder, slot_type) for _ in range(component_count(self.kind.element))
        ]

    def lane(self, slots: list[ir.Value], lane: ir.Value) -> list[ir.Value]:
        """The addresses of one lane's components."""
        pointer = component(self.kind.element).as_pointer()
        return [self.builder.gep(self.builder.bitcast(slot, pointer), [lane]) for slot in slots]

    def last(self, position: ir.Value, count: ir.Value) -> Value:
        """The last `count` elements, from `position` on, in the first lanes of a vector; the other lanes are
        undefined. Reads the last LANES elements if there are as many."""
        builder, lanes = self.builder, self.lanes
        if self.padded:
            return self.values(position, lanes)
        slots = self.slots(2 * lanes)
        offset = cgutils.alloca_once_value(builder, I64(0))
        with builder.if_else(builder.icmp_signed(">", position, I64(0)), likely=True) as (long, short):
            with long:
                start = builder.sub(builder.add(position, count), I64(lanes))
                pointer = ir.VectorType(component(self.kind.element), lanes).as_pointer()
                vector_slots = [builder.bitcast(slot, pointer) for slot in slots]
                _write(builder, vector_slots, self.values(start, lanes))
                builder.store(builder.sub(I64(lanes), count), offset)
            with short, cgutils.for_range(builder, count, intp=I64) as loop:
                value = self.values(builder.add(position, loop.index), 1)
                _write(builder, self.lane(slots, loop.index), value)
        first = self.lane(slots, builder.load(offset))
        pointer = ir.VectorType(component(self.kind.element), lanes).as_pointer()
        return tuple(builder.load(builder.bitcast(lane_address, pointer), align=1) for lane_address in first)


def _read(builder: ir.IRBuilder, slots: list[ir.Value]) -> Value:
    return tuple(builder.load(slot) for slot in slots)


def _write(builder: ir.IRBuilder, slots: list[ir.Value], value: Value) -> None:
    for slot, component_value in zip(slots, value, strict=True):
        builder.store(component_value, slot)


def _across(
    builder: ir.IRBuilder, kind: Combination, value: Value, stride: int = 1, count: ir.Value = None
) -> Value:
    """Reduce the lanes of a vector, or the first `count` of them, by adjacent pairs into its first lane.

    With a stride, reduce that many sets of lanes, each of every stride-th lane, into the first lanes.
    """
    lanes = lanes_of(kind.element)
    while stride < lanes:
        right = tuple(
            selected(builder, component_value, [lane | stride for lane in range(lanes)])
            for component_value in value
        )
        combined = apply(builder, kind, value, right)
        if count is not None:
            in_range = _less(builder, [lane + stride for lane in range(lanes)], count)
            combined = tuple(builder.select(in_range, a, b) for a, b in zip(combined, value, strict=True))
        value, stride = combined, 2 * stride
    return value


def _less(builder: ir.IRBuilder, numbers: list[int], limit: ir.Value) -> ir.Value:
    """Which of the numbers are less than `limit`."""
    limits = splat(builder, builder.trunc(limit, I32), len(numbers))
    return builder.icmp_signed("<", ir.Constant(limits.type, [I32(number) for number in numbers]), limits)


def _reduce_pairs(builder: ir.IRBuilder, kind: Combination, first: Value, second: Value, level: int) -> Value:
    """Combine two vectors by the adjacent pairs of a level into one; see the module's docstring."""
    even, odd = lane_pairs(lanes_of(kind.element), _chunk_lanes(kind.element), level)
    pairs = list(zip(first, second, strict=True))
    return apply(
        builder,
        kind,
        tuple(selected(builder, a, even, b) for a, b in pairs),
        tuple(selected(builder, a, odd, b) for a, b in pairs),
    )


def _reading_order(count: int) -> range:
    """The numbers of `count` vectors, or halves, in the fastest reading order: from the last one on, if
    hardware then prefetches sooner."""
    return range(count) if prefetches_ascending_only() else range(count - 1, -1, -1)


def _reduce_square(source: _Source, position: ir.Value, vectors: int, read_ahead: ReadAhead) -> Value:
    """Reduce `vectors` vectors from `position` on; of LANES of them, lane i is the total of the i-th.

    They are read in `_reading_order`.
    """
    if vectors == 1:
        value = source.values(position, source.lanes)
        read_ahead.after_step()
        return value
    half = vectors // 2
    positions = (position, source.builder.add(position, I64(half * source.lanes)))
    halves = {
        number: _reduce_square(source, positions[number], half, read_ahead) for number in _reading_order(2)
    }
    return _reduce_pairs(source.builder, source.kind, halves[0], halves[1], half.bit_length() - 1)


def _reduce_bf16_pairs(source: _Source, position: ir.Value, read_ahead: ReadAhead) -> Value:
    """Reduce LANES vectors of bfloat16 from `position` on; lane i is the total of the i-th.

    Pairs of bfloat16 come first, in order. Of these sums each lane then reduces half a vector's; the halves
    of a vector end in different chunks.
    """
    builder, kind, lanes = source.builder, source.kind, source.lanes
    pair_values: dict[int, Value] = {}
    for number in _reading_order(lanes // 2):
        index = builder.add(source.start, builder.add(position, I64(2 * number * lanes)))
        pair_values[number] = apply(builder, kind, *load_bfloat16_pairs(builder, source.data, index, lanes))
        for _ in range(2):
            read_ahead.after_step()
    halves = [pair_values[number] for number in range(lanes // 2)]
    level = 0
    while len(halves) > 1:
        halves = [
            _reduce_pairs(builder, kind, first, second, level)
            for first, second in zip(halves[::2], halves[1::2], strict=True)
        ]
        level += 1
    chunk_lanes = _chunk_lanes(kind.element)
    order = [
        vector // chunk_lanes * 2 * chunk_lanes + half * chunk_lanes + vector % chunk_lanes
        for vector in range(lanes // 2)
        for half in range(2)
    ]
    return tuple(selected(builder, component_value, order) for component_value in halves[0])


def _pass(source: _Source, target: ir.Value) -> ir.Value:
    """Reduce each LANES contiguous values into one, written to `target`; returns how many are left."""
    builder, kind, lanes = source.builder, source.kind, source.lanes
    computed = computing_dtype(kind.element).name
    shift = I64(lanes.bit_length() - 1)
    begin = I64(0)
    for vectors in (lanes, _chunk_lanes(kind.element), 1):
        end = builder.and_(source.count, I64(-lanes * vectors))
        with source.loop_in_any_order(begin, end, lanes * vectors) as at:
            read_ahead = source.read_ahead(at, vectors if vectors == lanes else 0, vectors)
            if vectors == lanes and is_truncated_float32(kind.element):
                value = _reduce_bf16_pairs(source, at, read_ahead)
            else:
                value = _reduce_square(source, at, vectors, read_ahead)
            value = _first(builder, _across(builder, kind, value, vectors), vectors)
            store_lanes(builder, computed, target, builder.lshr(at, shift), value, vectors)
        begin = end
    rest = builder.sub(source.count, begin)
    with builder.if_then(builder.icmp_signed(">", rest, I64(0))):
        value = _first(builder, _across(builder, kind, source.last(begin, rest), count=rest), 1)
        store_lanes(builder, computed, target, builder.lshr(begin, shift), value, 1)
    return builder.lshr(builder.add(source.count, I64(lanes - 1)), shift)


def _first(builder: ir.IRBuilder, value: Value, lanes: int) -> Value:
    """The first lanes of a vector; a single one as scalars."""
    if lanes == 1:
        return tuple(builder.extract_element(component_value, I32(0)) for component_value in value)
    return tuple(selected(builder, component_value, range(lanes)) for component_value in value)


def _reduce_pairwise(source: _Source) -> Value:
    """Reduce at most ROW_BLOCK elements by adjacent pairs."""
    builder, kind = source.builder, source.kind
    size = ROW_BLOCK // source.lanes + source.lanes
    buffer_type = ir.ArrayType(component(kind.element), size * component_count(kind.element))
    # Numba's alloca_once stores zeros of the whole type, which takes LLVM seconds.
    with builder.goto_entry_block():
        buffer = builder.alloca(buffer_type)
    partial = builder.bitcast(buffer, component(kind.element).as_pointer())
    remaining = cgutils.alloca_once_value(builder, _pass(source, partial))
    again, body, end = (builder.append_basic_block(name) for name in ("again", "body", "done"))
    builder.branch(again)
    builder.position_at_end(again)
    builder.cbranch(builder.icmp_signed(">", builder.load(remaining), I64(1)), body, end)
    builder.position_at_end(body)
    computed = Combination(computing_dtype(kind.element).name, kind.monoid)
    totals = _Source(builder, computed, partial, I64(0), builder.load(remaining), padded=True)
    builder.store(_pass(totals, partial), remaining)
    builder.branch(again)
    builder.position_at_end(end)
    return load_lanes(builder, computed.element, partial, I64(0), 1)


def _reduce_unordered(source: _Source) -> Value:
    """Reduce any number of elements if the order changes no bit: each lane combines every LANES-th element.
    """
    builder, kind, lanes = source.builder, source.kind, source.lanes
    total = source.slots(1)
    is_short = builder.icmp_signed("<", source.count, I64(lanes))
    with builder.if_else(is_short, likely=False) as (short, long):
        with short:
            value = _across(builder, kind, source.last(I64(0), source.count), count=source.count)
            _write(builder, total, _first(builder, value, 1))
        with long:
            _write(builder, total, _first(builder, _across(builder, kind, _reduce_lanes(source)), 1))
    return _read(builder, total)


def _reduce_lanes(source: _Source) -> Value:
    """Reduce at least LANES elements into a vector; several accumulators hide the latency."""
    builder, kind, lanes = source.builder, source.kind, source.lanes
    vectors = [source.slots(lanes) for _ in range(_UNROLLED)]
    first = vectors[0]

    def add_to(slots: list[ir.Value], position: ir.Value) -> None:
        _write(builder, slots, apply(builder, kind, _read(builder, slots), source.values(position, lanes)))

    _write(builder, first, source.values(I64(0), lanes))
    position = cgutils.alloca_once_value(builder, I64(lanes))
    stride = lanes * _UNROLLED
    with builder.if_then(builder.icmp_signed(">=", source.count, I64(stride))):
        for number, slots in enumerate(vectors):
            _write(builder, slots, source.values(I64(number * lanes), lanes))
        end = builder.and_(source.count, I64(-stride))
        with source.loop_in_any_order(I64(stride), end, stride) as at:
            source.read_ahead(at, _UNROLLED, 1).after_step()
            for number, slots in enumerate(vectors):
                add_to(slots, builder.add(at, I64(number * lanes)))
        for slots in vectors[1:]:
            _write(builder, first, apply(builder, kind, _read(builder, first), _read(builder, slots)))
        builder.store(end, position)
    whole = builder.and_(source.count, I64(-lanes))
    with source.loop(builder.load(position), whole, lanes) as (at, _):
        add_to(first, at)
    with source.loop(whole, source.count, 1) as (at, _):
        lane = source.lane(first, builder.sub(at, whole))
        _write(builder, lane, apply(builder, kind, _read(builder, lane), source.values(at, 1)))
    return _read(builder, first)


@intrinsic(prefer_literal=True)
def reduce_block(
    typing_context: TypingContext,
    element: types.Type,
    monoid: types.Type,
    array: types.Type,
    start: types.Type,
    count: types.Type,
) -> TypedCode:
    """Reduce one or more contiguous elements of a flat array by adjacent pairs, at most ROW_BLOCK of them; in
    any order, and without that limit, if the order changes no bit."""
    kind = Combination(literal(element), literal(monoid))

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        data = data_of(context, builder, array, arguments[2], kind.element)
        source = _Source(builder, kind, data, *arguments[3:])
        total = _reduce_unordered(source) if is_exact(kind) else _reduce_pairwise(source)
        return packed(context, builder, kind.element, total)

    return computed_type(kind.element)(element, monoid, array, types.intp, types.intp), emit


@intrinsic(prefer_literal=True)
def reduce_rows(
    typing_context: TypingContext,
    element: types.Type,
    monoid: types.Type,
    rows: types.Type,
    array: types.Type,
    start: types.Type,
    stride: types.Type,
    width: types.Type,
    totals: types.Type,
    at: types.Type,
) -> TypedCode:
    """Write to `totals[at + i]` the elements `array[start + i + row * stride]` of all rows, reduced by
    adjacent pairs, for each i below `width`.

    `rows` is a constant power of two. `totals` holds values of the computing type; it may be `array` itself,
    if the written row is the first one, or none of them.
    """
    kind = Combination(literal(element), literal(monoid))
    computed = computing_dtype(kind.element).name
    count_of_rows = int(literal(rows))

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        _, _, _, operand, begin, row_stride, columns, target, first = arguments
        data = data_of(context, builder, array, operand, kind.element)
        target_data = data_of(context, builder, totals, target, computed)
        starts = [builder.add(begin, builder.mul(row_stride, I64(row))) for row in range(count_of_rows)]

        def reduce_column(column: ir.Value, count: int) -> None:
            offsets = [builder.add(start, column) for start in starts]
            values = [load_lanes(builder, kind.element, data, offset, count) for offset in offsets]
            while len(values) > 1:
                pairs = zip(values[0::2], values[1::2], strict=True)
                values = [apply(builder, kind, left, right) for left, right in pairs]
            store_lanes(builder, computed, target_data, builder.add(first, column), values[0], count)

        for_columns(builder, kind.element, columns, reduce_column)
        return context.get_dummy_value()

    numbers = (types.intp,) * 3
    return types.void(element, monoid, rows, array, *numbers, totals, types.intp), emit


@intrinsic(prefer_literal=True)
def store_row(
    typing_context: TypingContext,
    element: types.Type,
    monoid: types.Type,
    initial: types.Type,
    totals: types.Type,
    at: types.Type,
    width: types.Type,
    result: types.Type,
    to: types.Type,
) -> TypedCode:
    """Write `initial[0]` (op) `totals[at + i]` to `result[to + i]` for each i below `width`.

    `totals` holds values of the computing type; results are rounded to their element type.
    """
    kind = Combination(literal(element), literal(monoid))
    computed = computing_dtype(kind.element).name

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        _, _, start, source, first, columns, target, target_first = arguments
        value = load_lanes(
            builder, kind.element, data_of(context, builder, initial, start, kind.element), I64(0), 1
        )
        source_data = data_of(context, builder, totals, source, computed)
        target_data = data_of(context, builder, result, target, kind.element)

        def store(column: ir.Value, count: int) -> None:
            total = load_lanes(builder, computed, source_data, builder.add(first, column), count)
            left = tuple(splat(builder, component_value, count) for component_value in value)
            combined = apply(builder, kind, left, total)
            store_lanes(
                builder, kind.element, target_data, builder.add(target_first, column), combined, count
            )

        for_columns(builder, kind.element, columns, store)
        return context.get_dummy_value()

    return types.void(element, monoid, initial, totals, types.intp, types.intp, result, types.intp), emit
