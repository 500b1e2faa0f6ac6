"""Folds of many floats into one by adjacent pairs, a vector of pairs at a time, as LLVM code.

Two neighbouring vectors are combined as `lane_pairs` says where as many of them as they have lanes become
one; of fewer, the even lanes with the odd ones, which leaves the next level of the tree in order. Where the
number of values is no power of two, values that change nothing follow: the tree is the same, for a value
without a neighbour goes up as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from ...ir import Operation
from ...kernels.simd.lane_pairs import LANE_BLOCK_BYTES, lane_pairs
from ...types import FLOAT, ElementType
from ..llvm.loops import Loop, address_of
from ..llvm.values import I32, I64, stored_type
from .iteration_space import combines_by, folded_type
from .reduce import F32, Extreme, Lanes, filled, is_extreme, lanes_of

VECTOR_BYTES = 64
_CHAINS = 4
"""So many extremes are found beside each other: a comparison waits for the one before."""
_NEUTRAL = {"stablehlo.add": -0.0, "stablehlo.multiply": 1.0}
"""What, combined with any value, gives that value; so with itself."""


Paired = Callable[[int, int, int], tuple[Lanes, Lanes]]
"""Which lanes of two vectors are combined with which: of how many, with so many of a piece, at a level."""


def _paired_in_order(lanes: int, piece: int, level: int) -> tuple[Lanes, Lanes]:
    """Even lanes with odd ones."""
    return range(0, 2 * lanes, 2), range(1, 2 * lanes, 2)


def neutral(operation: Operation) -> float | None:
    """The value that changes nothing where vectors serve a reduction; else None."""
    folded = folded_type(operation, F32)
    if not folded.category & FLOAT or folded.width < 32:
        return None
    return _NEUTRAL.get(combines_by(operation.regions[0].block) or "")


def folds_rows(operation: Operation, count: int) -> bool:
    """Whether vectors serve a reduction of so many values that lie in a row."""
    folded = folded_type(operation, F32)
    if not folded.category & FLOAT or folded.width < 32 or count < _lane_count(folded):
        return False
    return neutral(operation) is not None or is_extreme(operation.regions[0].block)


def emit_row_fold(
    builder: ir.IRBuilder, operation: Operation, values: ir.Value, room: ir.Value, count: int
) -> ir.Value:
    """The total of a row of values for which `folds_rows`, which may lie at any address.

    Args:
        room: a buffer for as many vectors as there are squares of their lanes in the row, rounded up; the
            row's own memory may be that.
    """
    row = _Row(builder, folded_type(operation, F32), values, count)
    if is_extreme(operation.regions[0].block):
        return _extreme(row, operation)
    return _Tree(row, operation).total(room)


class _Row:
    """A row of values in memory, vector by vector."""

    def __init__(self, builder: ir.IRBuilder, folded: ElementType, values: ir.Value, count: int) -> None:
        self.builder = builder
        self.folded = folded
        self.type = ir.VectorType(stored_type(folded), _lane_count(folded))
        self.values = values
        self.count = count

    def vector(self, first: ir.Value) -> ir.Value:
        """The vector of values from one on."""
        place = address_of(self.builder, self.values, first, self.type.element)
        return self.builder.load(place, align=self.folded.dtype.itemsize, typ=self.type)


def _extreme(row: _Row, operation: Operation) -> ir.Value:
    """The greatest or the least of a row. Only where that is a zero all are looked at again for its sign."""
    builder, lanes = row.builder, row.type.count
    extreme = Extreme(builder, operation.regions[0].block, row.folded, lanes)
    with builder.goto_entry_block():
        places = [builder.alloca(row.type) for _ in range(min(_CHAINS, row.count // lanes))]
    for place in places:
        builder.store(filled(row.type, float("-inf" if extreme.is_greatest else "inf")), place)

    def take_in(place: ir.Value, vector: ir.Value) -> None:
        extreme.look_for_nan(vector)
        builder.store(extreme.of(vector, builder.load(place)), place)

    _for_vectors(row, places, take_in)
    found = builder.load(places[0])
    for place in places[1:]:
        found = extreme.of(found, builder.load(place))
    total = extreme.across(found)
    with builder.if_then(extreme.is_zero(total), likely=False):
        _for_vectors(row, places[:1], lambda _, vector: extreme.look_for_zero(vector))
    return extreme.total(total)


def _for_vectors(
    row: _Row, places: Sequence[ir.Value], take_in: Callable[[ir.Value, ir.Value], None]
) -> None:
    """Have vectors of a row taken in, as many at a time as there are places, and a last one, for these may
    overlap."""
    builder, lanes, count = row.builder, row.type.count, row.count
    step = lanes * len(places)
    with Loop(builder, I64(0), I64(count // step), rolled=True) as number:
        for k, place in enumerate(places):
            take_in(place, row.vector(builder.add(builder.mul(number, I64(step)), I64(k * lanes))))
    for place, first in zip(places, range(count // step * step, count, lanes), strict=False):
        take_in(place, row.vector(I64(min(first, count - lanes))))


class _Tree:
    """The fold of a row by adjacent pairs."""

    def __init__(self, row: _Row, operation: Operation) -> None:
        self.row = row
        self.builder = builder = row.builder
        padding = neutral(operation)
        assert padding is not None
        self.padding = filled(row.type, padding)
        is_sum = combines_by(operation.regions[0].block) == "stablehlo.add"
        self.combined: Callable[[ir.Value, ir.Value], ir.Value] = builder.fadd if is_sum else builder.fmul

    def total(self, room: ir.Value) -> ir.Value:
        """The total; so many vectors as they have lanes become one, and what they leave is the next row."""
        builder, lanes = self.builder, self.row.type.count
        levels, chunk = lanes.bit_length() - 1, lanes * lanes
        rooms = builder.bitcast(room, self.row.type.as_pointer())
        while self.row.count > chunk:
            full, left = divmod(self.row.count, chunk)
            with Loop(builder, I64(0), I64(full), rolled=True) as number:
                level = self.level(builder.mul(number, I64(chunk)), levels, chunk, lane_pairs)
                builder.store(level, builder.gep(rooms, [number], inbounds=True), align=VECTOR_BYTES)
            if left:
                level = self.level(I64(full * chunk), levels, left, lane_pairs)
                builder.store(level, builder.gep(rooms, [I64(full)], inbounds=True), align=VECTOR_BYTES)
            self.row = _Row(builder, self.row.folded, room, (full + bool(left)) * lanes)
        vectors = -(-self.row.count // lanes)
        last = self.level(I64(0), (vectors - 1).bit_length(), self.row.count)
        while last.type.count > 2:
            halved = [lanes_of(builder, last, range(k, last.type.count, 2)) for k in (0, 1)]
            last = self.combined(*halved)
        return self.combined(*[builder.extract_element(last, I32(k)) for k in (0, 1)])

    def level(self, first: ir.Value, levels: int, left: int, paired: Paired = _paired_in_order) -> ir.Value:
        """The vector that some neighbouring ones come to, so many levels up.

        Args:
            left: how many values there are from the first one on; behind them is what changes nothing.
            paired: which lanes are combined.
        """
        if left <= 0:
            return self.padding
        if levels == 0:
            return self.first_vector(first, left)
        step = self.row.type.count << (levels - 1)
        lower = self.level(first, levels - 1, left, paired)
        upper = self.level(self.builder.add(first, I64(step)), levels - 1, left - step, paired)
        sides = paired(self.row.type.count, LANE_BLOCK_BYTES // self.row.folded.dtype.itemsize, levels - 1)
        return self.combined(*[lanes_of(self.builder, lower, lanes, upper) for lanes in sides])

    def first_vector(self, first: ir.Value, left: int) -> ir.Value:
        """The values from one on; of fewer than a vector's, those before are read with them and left out."""
        lanes = self.row.type.count
        if left >= lanes:
            return self.row.vector(first)
        vector = self.row.vector(I64(self.row.count - lanes))
        return lanes_of(self.builder, vector, range(lanes - left, 2 * lanes - left), self.padding)


def _lane_count(folded: ElementType) -> int:
    return VECTOR_BYTES // folded.dtype.itemsize
