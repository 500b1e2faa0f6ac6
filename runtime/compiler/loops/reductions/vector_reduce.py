"""Tree reductions of contiguous floats by adjacent pairs, a vector at a time, as LLVM code.

As many vectors as they have lanes are reduced to one by the shuffles of `lane_pairs`; fewer vectors combine
even lanes with odd ones, which keeps the next level of the tree in order. Rows whose length is no power of
two are padded with the identity element, which leaves the tree as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from ....kernels.simd.lane_pairs import LANE_BLOCK_BYTES, lane_pairs
from ....kernels.simd.narrow_floats import constant_like, widen_bfloat16
from ....types import ELEMENT_TYPES, FLOAT, ElementType
from ..llvm.lanes import shuffle_lanes
from ..llvm.loops import Loop, address_of
from ..llvm.values import I16, I32, I64, Value, stored_type
from ..regions.region_function import OperandArrays
from .reducers import MinMaxReducer, Reducer, emit_reduce

VECTOR_BYTES = 64
BF16 = ELEMENT_TYPES["bf16"]
_ACCUMULATORS = 4
"""Independent accumulators of a minimum or maximum: they hide the latency of a comparison."""


Pairing = Callable[[int, int, int], tuple[Sequence[int], Sequence[int]]]
"""The lanes of two vectors to combine, from the number of lanes, the lanes of a block, and the level."""


def _paired_in_order(lanes: int, block_lanes: int, level: int) -> tuple[Sequence[int], Sequence[int]]:
    """Even lanes with odd ones."""
    return range(0, 2 * lanes, 2), range(1, 2 * lanes, 2)


def reduce_row(
    reducer: Reducer, values: OperandArrays, scratch: tuple[OperandArrays, OperandArrays], count: int
) -> list[Value]:
    """The totals of a constant number of contiguous values; the row may have any address.

    Args:
        values: its addresses; of bf16, elements are widened to f32.
        scratch: two buffers for half of the values, rounded up; one may be that of the values.
    """
    if not is_vectorized(reducer, count):
        return emit_reduce(reducer, values, scratch, count)
    row = _Row(reducer.builder, reducer.types[0], values.pointers[0], count, values.types[0] is BF16)
    if reducer.is_min_or_max:
        return [(_reduce_min_max(row, reducer),)]
    return [(_Tree(row, reducer).total(scratch[0].pointers[0]),)]


def is_vectorized(reducer: Reducer, count: int) -> bool:
    """Whether a reduction of `count` values is by shuffles of vectors."""
    accumulator = reducer.types[0]
    if len(reducer.types) > 1 or not accumulator.category & FLOAT or accumulator.width < 32:
        return False
    return count >= _lane_count(accumulator) and (reducer.identity is not None or reducer.is_min_or_max)


def scratch_elements(reducer: Reducer, count: int) -> int:
    """The elements of each buffer that `reduce_row` needs for `count` values that vectors reduce."""
    lanes = _lane_count(reducer.types[0])
    return lanes * -(-count // lanes**2)


class _Row:
    """A row of values in memory, vector by vector; `is_bf16`: of bf16, which become f32."""

    def __init__(
        self,
        builder: ir.IRBuilder,
        accumulator: ElementType,
        values: ir.Value,
        count: int,
        is_bf16: bool = False,
    ) -> None:
        self.builder = builder
        self.accumulator = accumulator
        self.type = ir.VectorType(stored_type(accumulator), _lane_count(accumulator))
        self.values = values
        self.count = count
        self.is_bf16 = is_bf16

    def vector(self, first: ir.Value) -> ir.Value:
        if self.is_bf16:
            return widen_bfloat16(self.builder, self._loaded(first, ir.VectorType(I16, self.type.count)))
        return self._loaded(first, self.type)

    def bf16_pairs(self, first: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The even and the odd elements of two vectors of values that begin at `first`."""
        words = ir.VectorType(I32, self.type.count)
        both = self._loaded(first, words)
        even = self.builder.shl(both, constant_like(words, 16))
        return self._upper(even), self._upper(self.builder.and_(both, constant_like(words, -1 << 16)))

    def _loaded(self, first: ir.Value, type: ir.VectorType) -> ir.Value:
        stored = I16 if self.is_bf16 else self.type.element
        itemsize = BF16.dtype.itemsize if self.is_bf16 else self.accumulator.dtype.itemsize
        address = address_of(self.builder, self.values, first, stored)
        return self.builder.load(address, align=itemsize, typ=type)

    def _upper(self, words: ir.Value) -> ir.Value:
        """Words as f32, whose upper halves are those of bf16."""
        return self.builder.bitcast(words, self.type)


def _reduce_min_max(row: _Row, reduction: Reducer) -> ir.Value:
    """The maximum or minimum of a row. Only a zero needs a second pass, for its sign."""
    builder, lanes = row.builder, row.type.count
    reducer = MinMaxReducer(builder, reduction.body, row.accumulator, lanes)
    with builder.goto_entry_block():
        accumulators = [builder.alloca(row.type) for _ in range(min(_ACCUMULATORS, row.count // lanes))]
    for address in accumulators:
        builder.store(constant_like(row.type, float("-inf" if reducer.is_maximum else "inf")), address)

    def accumulate(address: ir.Value, vector: ir.Value) -> None:
        reducer.track_nan(vector)
        builder.store(reducer.select(vector, builder.load(address)), address)

    _for_vectors(row, accumulators, accumulate)
    extremum = builder.load(accumulators[0])
    for address in accumulators[1:]:
        extremum = reducer.select(extremum, builder.load(address))
    total = reducer.across(extremum)
    with builder.if_then(reducer.is_zero(total), likely=False):
        _for_vectors(row, accumulators[:1], lambda _, vector: reducer.track_zero(vector))
    return reducer.total(total)


def _for_vectors(
    row: _Row, accumulators: Sequence[ir.Value], accumulate: Callable[[ir.Value, ir.Value], None]
) -> None:
    """Accumulate the vectors of a row into several accumulators in turn; the last vectors may overlap."""
    builder, lanes, count = row.builder, row.type.count, row.count
    stride = lanes * len(accumulators)
    with Loop(builder, I64(0), I64(count // stride), rolled=True) as number:
        for k, address in enumerate(accumulators):
            accumulate(address, row.vector(builder.add(builder.mul(number, I64(stride)), I64(k * lanes))))
    for address, first in zip(accumulators, range(count // stride * stride, count, lanes), strict=False):
        accumulate(address, row.vector(I64(min(first, count - lanes))))


class _Tree:
    """The tree reduction of a row by adjacent pairs."""

    def __init__(self, row: _Row, reducer: Reducer) -> None:
        self.row = row
        self.builder = builder = row.builder
        assert reducer.identity is not None
        self.padding = constant_like(row.type, reducer.identity)
        is_sum = reducer.code == "add"
        self.combine: Callable[[ir.Value, ir.Value], ir.Value] = builder.fadd if is_sum else builder.fmul

    def total(self, scratch: ir.Value) -> ir.Value:
        """The total; each group of as many vectors as lanes becomes one vector of the next row."""
        builder, lanes = self.builder, self.row.type.count
        levels, chunk_size = lanes.bit_length() - 1, lanes * lanes
        vectors = builder.bitcast(scratch, self.row.type.as_pointer())
        while self.row.count > chunk_size:
            full, remaining = divmod(self.row.count, chunk_size)
            with Loop(builder, I64(0), I64(full), rolled=True) as number:
                level = self.level(builder.mul(number, I64(chunk_size)), levels, chunk_size, lane_pairs)
                builder.store(level, builder.gep(vectors, [number], inbounds=True), align=VECTOR_BYTES)
            if remaining:
                level = self.level(I64(full * chunk_size), levels, remaining, lane_pairs)
                builder.store(level, builder.gep(vectors, [I64(full)], inbounds=True), align=VECTOR_BYTES)
            self.row = _Row(builder, self.row.accumulator, scratch, (full + bool(remaining)) * lanes)
        vector_count = -(-self.row.count // lanes)
        last = self.level(I64(0), (vector_count - 1).bit_length(), self.row.count)
        while last.type.count > 2:
            halved = [shuffle_lanes(builder, last, range(k, last.type.count, 2)) for k in (0, 1)]
            last = self.combine(*halved)
        return self.combine(*[builder.extract_element(last, I32(k)) for k in (0, 1)])

    def level(
        self, first: ir.Value, levels: int, remaining: int, pairing: Pairing = _paired_in_order
    ) -> ir.Value:
        """Reduce neighbouring vectors to one, `levels` levels up the tree.

        Args:
            remaining: the number of values from the first one on; they are padded with the identity element.
            pairing: the lanes that are combined at a level.
        """
        if remaining <= 0:
            return self.padding
        if levels == 0:
            return self.first_vector(first, remaining)
        lanes = self.row.type.count
        sides = pairing(lanes, LANE_BLOCK_BYTES // self.row.accumulator.dtype.itemsize, levels - 1)
        if levels == 1 and self.row.is_bf16 and remaining >= 2 * lanes:
            pairs = self.combine(*self.row.bf16_pairs(first))
            return shuffle_lanes(self.builder, pairs, [lane // 2 for lane in sides[0]])
        stride = lanes << (levels - 1)
        lower = self.level(first, levels - 1, remaining, pairing)
        upper = self.level(self.builder.add(first, I64(stride)), levels - 1, remaining - stride, pairing)
        return self.combine(*[shuffle_lanes(self.builder, lower, lanes, upper) for lanes in sides])

    def first_vector(self, first: ir.Value, remaining: int) -> ir.Value:
        """The values from an index on; a partial vector is loaded with values before it, and padded."""
        lanes = self.row.type.count
        if remaining >= lanes:
            return self.row.vector(first)
        vector = self.row.vector(I64(self.row.count - lanes))
        return shuffle_lanes(
            self.builder, vector, range(lanes - remaining, 2 * lanes - remaining), self.padding
        )


def _lane_count(accumulator: ElementType) -> int:
    return VECTOR_BYTES // accumulator.dtype.itemsize
