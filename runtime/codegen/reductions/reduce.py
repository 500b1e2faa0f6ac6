"""Tree reductions as LLVM code.

Reductions combine adjacent pairs, level by level, in order, as `reduce` does; reducers that give the same
bits in every order use the fastest one.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from ...ir import Block
from ...types import ELEMENT_TYPES, FLOAT, INTEGER, ElementType
from ..blocks import Elements, Emitter
from ..coverage import ViewOf
from ..llvm.loops import Loop, address_of
from ..llvm.values import I64, POINTER, Value, load, rounded, store, stored_type, value_types, wrapped
from .iteration_space import ACCUMULATED_IN_F32, is_order_independent, reducer_name

F32 = ELEMENT_TYPES["f32"]
_STRAIGHT = 16
"""Values that are reduced without a loop."""
Lanes = range | tuple[int, ...]
"""Numbers of lanes."""


def combine(
    builder: ir.IRBuilder,
    body: Block,
    view_of: ViewOf,
    accumulator: ElementType,
    pairs_left: Value,
    right: Value,
) -> Value:
    """Combine two values by a reducer, in the accumulator type."""
    argument: Any = body.arguments[0].type
    if accumulator is not argument.element_type:
        name = reducer_name(body)
        assert name in ACCUMULATED_IN_F32
        by = builder.fadd if name == "stablehlo.add" else builder.fmul
        return (by(pairs_left[0], right[0]),)
    (result,) = Emitter(builder, view_of).emit_block(body, [Elements((pairs_left,)), Elements((right,))])
    assert isinstance(result, Elements)
    return result.scalar


def generate_reduce(function: ir.Function, body: Block, view_of: ViewOf, accumulator: ElementType) -> None:
    """Reduce level by level from one buffer into the other: adjacent pairs, or halves if any order does."""
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    values, _, count = function.args
    stored = stored_type(accumulator)
    level, inner, last, end = (function.append_basic_block(name) for name in ("level", "pairs", "odd", "end"))
    entry = builder.block
    builder.cbranch(builder.icmp_signed(">", count, I64(1)), level, end)
    builder.position_at_end(level)
    source, target = builder.phi(values.type), builder.phi(values.type)
    length = builder.phi(I64)
    half = builder.lshr(length, I64(1))
    odd_count = builder.and_(length, I64(1))
    pairs_left = builder.add(half, odd_count)
    builder.branch(inner)
    builder.position_at_end(inner)
    index = builder.phi(I64)
    if is_order_independent(body):
        indices = (index, builder.add(index, pairs_left))
    else:
        twice = builder.shl(index, I64(1))
        indices = (twice, builder.add(twice, I64(1)))
    first, second = (
        load(builder, accumulator, address_of(builder, source, place, stored)) for place in indices
    )
    result = combine(builder, body, view_of, accumulator, first, second)
    store(builder, accumulator, result, address_of(builder, target, index, stored))
    next_index = builder.add(index, I64(1), flags=("nsw",))
    index.add_incoming(I64(0), level)
    index.add_incoming(next_index, builder.block)
    builder.cbranch(builder.icmp_signed("<", next_index, half), inner, last)
    builder.position_at_end(last)
    odd = half if is_order_independent(body) else builder.shl(half, I64(1))
    with builder.if_then(builder.icmp_signed("!=", odd_count, I64(0))):
        spare = load(builder, accumulator, address_of(builder, source, odd, stored))
        store(builder, accumulator, spare, address_of(builder, target, half, stored))
    _finish_level(builder, (entry, level, end), function.args[:3], (source, target, length), pairs_left)


def emit_reduce(
    builder: ir.IRBuilder,
    body: Block,
    view_of: ViewOf,
    accumulator: ElementType,
    values: ir.Value,
    scratch_buffers: Sequence[ir.Value],
    count: int,
) -> Value:
    """Reduce a constant number of values as `generate_reduce` does: one loop a level, the last ones unrolled.

    Args:
        values: their address; they are not changed.
        scratch_buffers: two buffers for half of them, rounded up; the second may be that of the values.
    """
    stored, exact = stored_type(accumulator), is_order_independent(body)
    source, (target, other) = values, scratch_buffers
    extreme = MinMaxReducer(builder, body, accumulator) if count > _STRAIGHT and is_min_or_max(body) else None
    is_first = True
    while count > _STRAIGHT:
        half, pairs_left = count // 2, count - count // 2
        with Loop(builder, I64(0), I64(half), True) as index:
            even = index if exact else builder.shl(index, I64(1))
            indices = (even, builder.add(even, I64(pairs_left if exact else 1)))
            pair = [
                load(builder, accumulator, address_of(builder, source, place, stored)) for place in indices
            ]
            if extreme is None:
                result = combine(builder, body, view_of, accumulator, *pair)
            else:
                if is_first:
                    extreme.observe(pair[0][0], pair[1][0])
                result = (extreme.of(pair[0][0], pair[1][0]),)
            store(builder, accumulator, result, address_of(builder, target, index, stored))
        if pairs_left > half:
            spare = I64(half if exact else count - 1)
            odd_value = load(builder, accumulator, address_of(builder, source, spare, stored))
            if extreme is not None and is_first:
                extreme.observe(odd_value[0])
            store(builder, accumulator, odd_value, address_of(builder, target, I64(half), stored))
        source, target, other, count, is_first = target, other, target, pairs_left, False
    last = [load(builder, accumulator, address_of(builder, source, I64(k), stored)) for k in range(count)]
    while len(last) > 1:
        paired = len(last) & ~1
        pairs = [combine(builder, body, view_of, accumulator, *last[k : k + 2]) for k in range(0, paired, 2)]
        last = pairs + last[paired:]
    return last[0] if extreme is None else (extreme.total(last[0][0]),)


def is_min_or_max(body: Block) -> bool:
    """Whether a reducer is the maximum or minimum of real floats."""
    kind: Any = body.arguments[0].type
    return kind.category == FLOAT and reducer_name(body) in ("stablehlo.maximum", "stablehlo.minimum")


class MinMaxReducer:
    """Maximum or minimum of floats by one comparison a pair; NaN and signed zeros are tracked separately.

    A NaN makes the total NaN. A total of zero is +0 for a maximum, -0 for a minimum, if there is such a zero.

    Args:
        lanes: of vectors; None for scalars.
    """

    def __init__(
        self, builder: ir.IRBuilder, body: Block, accumulator: ElementType, lanes: int | None = None
    ) -> None:
        self.builder = builder
        self.is_greatest = reducer_name(body) == "stablehlo.maximum"
        self.real = value_types(accumulator)[0]
        self.integer = ir.IntType(64 if self.real == ir.DoubleType() else 32)
        self.type, self.bits, flag = (
            type if lanes is None else ir.VectorType(type, lanes)
            for type in (self.real, self.integer, ir.IntType(1))
        )
        with builder.goto_entry_block():
            self.nan = builder.alloca(flag)
            self.least_bits = builder.alloca(self.bits)
        builder.store(splat_constant(flag, 0), self.nan)
        # As unsigned numbers, the bits of +0 are the least; as signed ones, those of -0 are.
        no_zero = -1 if self.is_greatest else (1 << (self.integer.width - 1)) - 1
        builder.store(splat_constant(self.bits, no_zero), self.least_bits)

    def of(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """The greater or lesser of two observed values, or of results of this."""
        wins = self.builder.fcmp_ordered(">" if self.is_greatest else "<", a, b)
        return self.builder.select(wins, a, b)

    def observe(self, *values: ir.Value) -> None:
        """Track NaN and signed zeros of one value or two."""
        self.look_for_nan(*values)
        for value in values:
            self.look_for_zero(value)

    def look_for_nan(self, *values: ir.Value) -> None:
        """Track whether one of two values is NaN."""
        builder = self.builder
        has_nan = builder.fcmp_unordered("uno", values[0], values[-1])
        builder.store(builder.or_(builder.load(self.nan), has_nan), self.nan)

    def look_for_zero(self, value: ir.Value) -> None:
        """Track whether there is the zero that a zero total must be."""
        builder = self.builder
        bits, least_bits = builder.bitcast(value, self.bits), builder.load(self.least_bits)
        builder.store(builder.select(self._less(bits, least_bits), bits, least_bits), self.least_bits)

    def across(self, value: ir.Value) -> ir.Value:
        """Reduce the lanes of a vector."""
        while value.type.count > 1:
            value = self.of(*halves(self.builder, value))
        return self.builder.extract_element(value, ir.IntType(32)(0))

    def is_zero(self, value: ir.Value) -> ir.Value:
        """Whether a scalar is zero, of either sign."""
        return self.builder.fcmp_ordered("==", value, ir.Constant(self.real, 0.0))

    def total(self, value: ir.Value) -> ir.Value:
        """The total, given the last remaining value."""
        builder = self.builder
        has_nan, least_bits = builder.load(self.nan), builder.load(self.least_bits)
        if isinstance(self.type, ir.VectorType):
            has_nan, least_bits = self._of_lanes(has_nan, least_bits)
        zero = self.integer(0 if self.is_greatest else 1 << (self.integer.width - 1))
        has_wanted_zero = builder.icmp_signed("==", least_bits, zero)
        is_zero = self.is_zero(value)
        value = builder.select(
            builder.and_(has_wanted_zero, is_zero), builder.bitcast(zero, self.real), value
        )
        return builder.select(has_nan, ir.Constant(self.real, float("nan")), value)

    def _of_lanes(self, nan: ir.Value, bits: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Reduce the flags and the bits of all lanes."""
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


def splat_constant(type: ir.Type, number: float) -> ir.Constant:
    """A constant scalar, or a vector of equal lanes."""
    if isinstance(type, ir.VectorType):
        return ir.Constant(type, [ir.Constant(type.element, number)] * type.count)
    return ir.Constant(type, number)


def shuffle_lanes(
    builder: ir.IRBuilder, vector: ir.Value, lanes: Lanes, other: ir.Value | None = None
) -> ir.Value:
    """Shuffle lanes of a vector, or of two concatenated."""
    return builder.shuffle_vector(vector, vector if other is None else other, _mask(lanes))


@functools.cache
def _mask(lanes: Lanes) -> ir.Constant:
    """The mask of a shuffle; cached, as its text takes longer to write than most instructions."""
    number = ir.IntType(32)
    return ir.Constant(ir.VectorType(number, len(lanes)), [number(lane) for lane in lanes])


def halves(builder: ir.IRBuilder, vector: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The lower lanes of a vector and the upper ones."""
    count = vector.type.count
    return shuffle_lanes(builder, vector, range(count // 2)), shuffle_lanes(
        builder, vector, range(count // 2, count)
    )


def index_to_element(builder: ir.IRBuilder, index: ir.Value, element_type: ElementType) -> Value:
    """An index as an element of a type."""
    if element_type.category & INTEGER:
        type = value_types(element_type)[0]
        truncated = index if type == I64 else builder.trunc(index, type)
        return (wrapped(builder, element_type, truncated),)
    chunk = ELEMENT_TYPES["f64"] if element_type.width == 128 else F32
    real = element_type if element_type.category == FLOAT else chunk
    floating = rounded(builder, real, builder.sitofp(index, ir.DoubleType()))
    if element_type.category == FLOAT:
        return (floating,)
    return (floating, ir.Constant(floating.type, 0.0))


def _finish_level(
    builder: ir.IRBuilder,
    blocks: tuple[ir.Block, ir.Block, ir.Block],
    arguments: Sequence[ir.Value],
    phis: tuple[ir.PhiInstr, ir.PhiInstr, ir.PhiInstr],
    pairs_left: ir.Value,
) -> None:
    """End a level of a tree reduction: the next one swaps the buffers; after the last, return the totals.

    Args:
        blocks: before the levels, of a level, and behind them.
        arguments: the function's buffers and count.
        phis: a level's source, target and count.
        pairs_left: how many values the level leaves.
    """
    (entry, level, end), (values, scratch, count), (source, target, length) = blocks, arguments, phis
    for phi, begin, next_value in (
        (source, values, target),
        (target, scratch, source),
        (length, count, pairs_left),
    ):
        phi.add_incoming(begin, entry)
        phi.add_incoming(next_value, builder.block)
    finished = builder.block
    builder.cbranch(builder.icmp_signed(">", pairs_left, I64(1)), level, end)
    builder.position_at_end(end)
    totals = builder.phi(POINTER)
    totals.add_incoming(values, entry)
    totals.add_incoming(target, finished)
    builder.ret(totals)


def generate_column_reduce(
    function: ir.Function, body: Block, view_of: ViewOf, accumulator: ElementType
) -> None:
    """`ptr reduce(ptr values, ptr scratch, i64 count, i64 columns, i64 step)`: adjacent rows, level by level.

    The row stride is `row_stride` elements, in `scratch` too; returns the address of the row of totals.
    """
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    _, _, count, columns, row_stride = function.args
    stored = stored_type(accumulator)
    level, end = function.append_basic_block("level"), function.append_basic_block("end")
    entry = builder.block
    builder.cbranch(builder.icmp_signed(">", count, I64(1)), level, end)
    builder.position_at_end(level)
    source, target, length = builder.phi(POINTER), builder.phi(POINTER), builder.phi(I64)
    half, odd_count = builder.lshr(length, I64(1)), builder.and_(length, I64(1))
    pairs_left = builder.add(half, odd_count)
    with Loop(builder, I64(0), half, True) as row:
        lower = builder.mul(row, row_stride)
        even = builder.shl(lower, I64(1))
        rows = (even, builder.add(even, row_stride))
        with Loop(builder, I64(0), columns, True) as column:
            first, second = (
                load(builder, accumulator, address_of(builder, source, builder.add(start, column), stored))
                for start in rows
            )
            result = combine(builder, body, view_of, accumulator, first, second)
            store(
                builder, accumulator, result, address_of(builder, target, builder.add(lower, column), stored)
            )
    with builder.if_then(builder.icmp_signed("!=", odd_count, I64(0))):
        last = builder.mul(builder.shl(half, I64(1)), row_stride)
        with Loop(builder, I64(0), columns, True) as column:
            spare = load(builder, accumulator, address_of(builder, source, builder.add(last, column), stored))
            index = builder.add(builder.mul(half, row_stride), column)
            store(builder, accumulator, spare, address_of(builder, target, index, stored))
    _finish_level(builder, (entry, level, end), function.args[:3], (source, target, length), pairs_left)
