"""Folds of values into one, and the loops around them, as LLVM code.

Reductions fold adjacent pairs, level by level, in order, as `reduce` does; where every order gives the same
bits, in the order that is the quickest.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from ...ir import Block
from ...types import ELEMENT_TYPES, FLOAT, INTEGER, ElementType
from ..blocks import BlockEmitter, Elements
from ..coverage import ViewOf
from ..llvm.loops import Loop, address_of, min_index
from ..llvm.values import I64, POINTER, Value, load, rounded, store, stored_type, value_types, wrapped
from .iteration_space import WIDENED, combines_by, is_exact

F32 = ELEMENT_TYPES["f32"]
_STRAIGHT = 16
"""So many values are folded without a loop."""
_UNROLLED = 256
"""Loops of a fold of so many values are unrolled, which saves a quarter of a normalisation's time."""
Lanes = range | tuple[int, ...]
"""Numbers of lanes."""


FETCHED_ELEMENTS = 256
"""So many elements are asked for at once, while as many are computed."""


@contextmanager
def parts_of(builder: ir.IRBuilder, count: ir.Value) -> Iterator[tuple[ir.Value, ir.Value]]:
    """A loop over parts of `FETCHED_ELEMENTS` of so many elements, at least one: the first of each, and where
    it ends. The builder stands in its body, then behind it."""
    size = I64(FETCHED_ELEMENTS)
    parts = builder.udiv(builder.add(count, I64(FETCHED_ELEMENTS - 1)), size)
    with Loop(builder, I64(0), parts, rolled=True) as part:
        first = builder.mul(part, size)
        yield first, min_index(builder, builder.add(first, size), count)


def combine(
    builder: ir.IRBuilder, body: Block, view_of: ViewOf, folded: ElementType, left: Value, right: Value
) -> Value:
    """Two values combined by a body, in the element type in which it is folded."""
    argument: Any = body.arguments[0].type
    if folded is not argument.element_type:
        name = combines_by(body)
        assert name in WIDENED
        by = builder.fadd if name == "stablehlo.add" else builder.fmul
        return (by(left[0], right[0]),)
    (result,) = BlockEmitter(builder, view_of).emit_block(body, [Elements((left,)), Elements((right,))])
    assert isinstance(result, Elements)
    return result.scalar


def generate_fold(function: ir.Function, body: Block, view_of: ViewOf, folded: ElementType) -> None:
    """Level by level from one buffer into the other: by pairs, or by halves where any order will do."""
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    values, _, count = function.args
    stored = stored_type(folded)
    level, inner, last, end = (function.append_basic_block(name) for name in ("level", "pairs", "odd", "end"))
    entry = builder.block
    builder.cbranch(builder.icmp_signed(">", count, I64(1)), level, end)
    builder.position_at_end(level)
    source, target = builder.phi(values.type), builder.phi(values.type)
    length = builder.phi(I64)
    half = builder.lshr(length, I64(1))
    rest = builder.and_(length, I64(1))
    left = builder.add(half, rest)
    builder.branch(inner)
    builder.position_at_end(inner)
    index = builder.phi(I64)
    if is_exact(body):
        places = (index, builder.add(index, left))
    else:
        twice = builder.shl(index, I64(1))
        places = (twice, builder.add(twice, I64(1)))
    first, second = (load(builder, folded, address_of(builder, source, place, stored)) for place in places)
    result = combine(builder, body, view_of, folded, first, second)
    store(builder, folded, result, address_of(builder, target, index, stored))
    following = builder.add(index, I64(1), flags=("nsw",))
    index.add_incoming(I64(0), level)
    index.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, half), inner, last)
    builder.position_at_end(last)
    odd = half if is_exact(body) else builder.shl(half, I64(1))
    with builder.if_then(builder.icmp_signed("!=", rest, I64(0))):
        spare = load(builder, folded, address_of(builder, source, odd, stored))
        store(builder, folded, spare, address_of(builder, target, half, stored))
    _go_on(builder, (entry, level, end), function.args[:3], (source, target, length), left)


def emit_fold(
    builder: ir.IRBuilder,
    body: Block,
    view_of: ViewOf,
    folded: ElementType,
    values: ir.Value,
    rooms: Sequence[ir.Value],
    count: int,
) -> Value:
    """What `generate_fold` computes, of a number of values that is known: each level is a loop of its own,
    the last ones are none.

    Args:
        values: where they are; they stay.
        rooms: two buffers for half of them, rounded up; the second may be that of the values.
    """
    stored, exact = stored_type(folded), is_exact(body)
    source, (target, other) = values, rooms
    rolled = count < _UNROLLED
    extreme = Extreme(builder, body, folded) if count > _STRAIGHT and is_extreme(body) else None
    is_first = True
    while count > _STRAIGHT:
        half, left = count // 2, count - count // 2
        with Loop(builder, I64(0), I64(half), rolled) as index:
            even = index if exact else builder.shl(index, I64(1))
            places = (even, builder.add(even, I64(left if exact else 1)))
            pair = [load(builder, folded, address_of(builder, source, place, stored)) for place in places]
            if extreme is None:
                result = combine(builder, body, view_of, folded, *pair)
            else:
                if is_first:
                    extreme.look_at(pair[0][0], pair[1][0])
                result = (extreme.of(pair[0][0], pair[1][0]),)
            store(builder, folded, result, address_of(builder, target, index, stored))
        if left > half:
            spare = I64(half if exact else count - 1)
            kept = load(builder, folded, address_of(builder, source, spare, stored))
            if extreme is not None and is_first:
                extreme.look_at(kept[0])
            store(builder, folded, kept, address_of(builder, target, I64(half), stored))
        source, target, other, count, is_first = target, other, target, left, False
    last = [load(builder, folded, address_of(builder, source, I64(k), stored)) for k in range(count)]
    while len(last) > 1:
        paired = len(last) & ~1
        pairs = [combine(builder, body, view_of, folded, *last[k : k + 2]) for k in range(0, paired, 2)]
        last = pairs + last[paired:]
    return last[0] if extreme is None else (extreme.total(last[0][0]),)


def is_extreme(body: Block) -> bool:
    """Whether a body takes the greater or the lesser of two real floats."""
    kind: Any = body.arguments[0].type
    return kind.category == FLOAT and combines_by(body) in ("stablehlo.maximum", "stablehlo.minimum")


class Extreme:
    """The greatest or the least of floats, by one comparison a pair: what that leaves open is found apart.

    That is whether there is a NaN, which makes a NaN of the total, and whether there is the zero that a total
    of zero has to be: +0 of the greatest, -0 of the least.

    Args:
        lanes: None: of single values; else of vectors of so many.
    """

    def __init__(
        self, builder: ir.IRBuilder, body: Block, folded: ElementType, lanes: int | None = None
    ) -> None:
        self.builder = builder
        self.is_greatest = combines_by(body) == "stablehlo.maximum"
        self.real = value_types(folded)[0]
        self.integer = ir.IntType(64 if self.real == ir.DoubleType() else 32)
        self.type, self.bits, flag = (
            type if lanes is None else ir.VectorType(type, lanes)
            for type in (self.real, self.integer, ir.IntType(1))
        )
        with builder.goto_entry_block():
            self.nan = builder.alloca(flag)
            self.least_bits = builder.alloca(self.bits)
        builder.store(filled(flag, 0), self.nan)
        # As unsigned numbers, the bits of +0 are the least; as signed ones, those of -0 are.
        most = -1 if self.is_greatest else (1 << (self.integer.width - 1)) - 1
        builder.store(filled(self.bits, most), self.least_bits)

    def of(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """The greater or lesser of two, which are looked at or come from such."""
        wins = self.builder.fcmp_ordered(">" if self.is_greatest else "<", a, b)
        return self.builder.select(wins, a, b)

    def look_at(self, *values: ir.Value) -> None:
        """Note what comparisons leave open of one value or two."""
        self.look_for_nan(*values)
        for value in values:
            self.look_for_zero(value)

    def look_for_nan(self, *values: ir.Value) -> None:
        """Note of one value or two whether there is a NaN."""
        builder = self.builder
        has_nan = builder.fcmp_unordered("uno", values[0], values[-1])
        builder.store(builder.or_(builder.load(self.nan), has_nan), self.nan)

    def look_for_zero(self, value: ir.Value) -> None:
        """Note whether it is the zero that a total of zero has to be."""
        builder = self.builder
        bits, least_bits = builder.bitcast(value, self.bits), builder.load(self.least_bits)
        builder.store(builder.select(self._less(bits, least_bits), bits, least_bits), self.least_bits)

    def across(self, value: ir.Value) -> ir.Value:
        """The one value that those of all lanes come to."""
        while value.type.count > 1:
            value = self.of(*halves(self.builder, value))
        return self.builder.extract_element(value, ir.IntType(32)(0))

    def is_zero(self, value: ir.Value) -> ir.Value:
        """Whether a single value is a zero, of either sign."""
        return self.builder.fcmp_ordered("==", value, ir.Constant(self.real, 0.0))

    def total(self, value: ir.Value) -> ir.Value:
        """The total, given the one value that is left."""
        builder = self.builder
        has_nan, least_bits = builder.load(self.nan), builder.load(self.least_bits)
        if isinstance(self.type, ir.VectorType):
            has_nan, least_bits = self._of_lanes(has_nan, least_bits)
        zero = self.integer(0 if self.is_greatest else 1 << (self.integer.width - 1))
        is_there = builder.icmp_signed("==", least_bits, zero)
        is_zero = self.is_zero(value)
        value = builder.select(builder.and_(is_there, is_zero), builder.bitcast(zero, self.real), value)
        return builder.select(has_nan, ir.Constant(self.real, float("nan")), value)

    def _of_lanes(self, nan: ir.Value, bits: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The one flag and the bits that those of all lanes come to."""
        builder = self.builder
        flags = ir.IntType(nan.type.count)
        has_nan = builder.icmp_unsigned("!=", builder.bitcast(nan, flags), flags(0))
        while bits.type.count > 1:
            first, second = halves(builder, bits)
            bits = builder.select(self._less(first, second), first, second)
        return has_nan, builder.extract_element(bits, ir.IntType(32)(0))

    def _less(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Whether bits are less, in the order in which those of the zero are the least."""
        compared = self.builder.icmp_unsigned if self.is_greatest else self.builder.icmp_signed
        return compared("<", a, b)


def filled(type: ir.Type, number: float) -> ir.Constant:
    """A constant whose lanes, if it has some, are all that number."""
    if isinstance(type, ir.VectorType):
        return ir.Constant(type, [ir.Constant(type.element, number)] * type.count)
    return ir.Constant(type, number)


def lanes_of(
    builder: ir.IRBuilder, vector: ir.Value, lanes: Lanes, other: ir.Value | None = None
) -> ir.Value:
    """Some lanes of a vector, or of two taken as one."""
    return builder.shuffle_vector(vector, vector if other is None else other, _mask(lanes))


@functools.cache
def _mask(lanes: Lanes) -> ir.Constant:
    """The numbers of lanes as a vector; to write its text takes longer than most instructions."""
    number = ir.IntType(32)
    return ir.Constant(ir.VectorType(number, len(lanes)), [number(lane) for lane in lanes])


def halves(builder: ir.IRBuilder, vector: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The lower lanes of a vector and the upper ones."""
    count = vector.type.count
    return lanes_of(builder, vector, range(count // 2)), lanes_of(builder, vector, range(count // 2, count))


def index_as(builder: ir.IRBuilder, index: ir.Value, element_type: ElementType) -> Value:
    """An index as an element of a type."""
    if element_type.category & INTEGER:
        type = value_types(element_type)[0]
        same = index if type == I64 else builder.trunc(index, type)
        return (wrapped(builder, element_type, same),)
    part = ELEMENT_TYPES["f64"] if element_type.width == 128 else F32
    real = element_type if element_type.category == FLOAT else part
    floating = rounded(builder, real, builder.sitofp(index, ir.DoubleType()))
    if element_type.category == FLOAT:
        return (floating,)
    return (floating, ir.Constant(floating.type, 0.0))


def _go_on(
    builder: ir.IRBuilder,
    blocks: tuple[ir.Block, ir.Block, ir.Block],
    arguments: Sequence[ir.Value],
    phis: tuple[ir.PhiInstr, ir.PhiInstr, ir.PhiInstr],
    left: ir.Value,
) -> None:
    """End a level of a fold: the next one swaps the buffers; after the last, return where the totals are.

    Args:
        blocks: before the levels, of a level, and behind them.
        arguments: the fold's buffers and count.
        phis: a level's source, target and count.
        left: how many values the level leaves.
    """
    (entry, level, end), (values, room, count), (source, target, length) = blocks, arguments, phis
    for phi, begin, later in ((source, values, target), (target, room, source), (length, count, left)):
        phi.add_incoming(begin, entry)
        phi.add_incoming(later, builder.block)
    finished = builder.block
    builder.cbranch(builder.icmp_signed(">", left, I64(1)), level, end)
    builder.position_at_end(end)
    where = builder.phi(POINTER)
    where.add_incoming(values, entry)
    where.add_incoming(target, finished)
    builder.ret(where)


def generate_column_fold(function: ir.Function, body: Block, view_of: ViewOf, folded: ElementType) -> None:
    """`ptr fold(ptr values, ptr room, i64 count, i64 columns, i64 step)`: adjacent rows, level by level.

    Rows begin `step` elements apart, in `room` too; returns where the row of totals begins.
    """
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    _, _, count, columns, step = function.args
    stored = stored_type(folded)
    level, end = function.append_basic_block("level"), function.append_basic_block("end")
    entry = builder.block
    builder.cbranch(builder.icmp_signed(">", count, I64(1)), level, end)
    builder.position_at_end(level)
    source, target, length = builder.phi(POINTER), builder.phi(POINTER), builder.phi(I64)
    half, rest = builder.lshr(length, I64(1)), builder.and_(length, I64(1))
    left = builder.add(half, rest)
    with Loop(builder, I64(0), half, True) as row:
        lower = builder.mul(row, step)
        even = builder.shl(lower, I64(1))
        rows = (even, builder.add(even, step))
        with Loop(builder, I64(0), columns, True) as column:
            first, second = (
                load(builder, folded, address_of(builder, source, builder.add(start, column), stored))
                for start in rows
            )
            result = combine(builder, body, view_of, folded, first, second)
            store(builder, folded, result, address_of(builder, target, builder.add(lower, column), stored))
    with builder.if_then(builder.icmp_signed("!=", rest, I64(0))):
        last = builder.mul(builder.shl(half, I64(1)), step)
        with Loop(builder, I64(0), columns, True) as column:
            spare = load(builder, folded, address_of(builder, source, builder.add(last, column), stored))
            place = builder.add(builder.mul(half, step), column)
            store(builder, folded, spare, address_of(builder, target, place, stored))
    _go_on(builder, (entry, level, end), function.args[:3], (source, target, length), left)
