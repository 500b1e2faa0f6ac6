"""Searches for the extreme of contiguous elements, as LLVM code of vectors without branches."""

from collections.abc import Callable

from llvmlite import ir
from numba import types
from numba.core.base import BaseContext as Context
from numba.core.typing import BaseContext as TypingContext
from numba.core.typing import Signature

from .block_sizes import ARGUMENT_GROUP
from .monoids import Combination, computing_dtype
from .searches import first_position, search_lanes
from .vectors import (
    I32,
    I64,
    TypedCode,
    Values,
    cgutils,
    component,
    data_of,
    intrinsic,
    literal,
    load_lanes,
    read_ahead,
    selected,
    splat,
)

Combine = Callable[[ir.Value, ir.Value], ir.Value]


@intrinsic(prefer_literal=True)
def first_extreme(
    typing_context: TypingContext,
    element: types.Type,
    monoid: types.Type,
    array: types.Type,
    start: types.Type,
    end: types.Type,
) -> TypedCode:
    """The position of the first NaN in [start, end), or else of the first maximum or minimum.

    There are at least `ARGUMENT_GROUP` real numbers, and at most `ARGUMENT_BLOCK`, so that bytes can count
    their groups.
    """
    kind = Combination(literal(element), literal(monoid))

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        data = data_of(context, builder, array, arguments[2], kind.element)
        return _Search(builder, kind, data, arguments[3], arguments[4]).position()

    return types.intp(element, monoid, array, types.intp, types.intp), emit


class _Search:
    """Code that finds the first extreme.

    Elements are read in groups of a few vectors, the last of which may overlap with the one before it. Each
    lane has the best value at its places in all groups, and the number of the first group that has it.
    """

    def __init__(
        self, builder: ir.IRBuilder, kind: Combination, data: ir.Value, start: ir.Value, end: ir.Value
    ) -> None:
        self.builder, self.kind, self.data, self.start, self.end = builder, kind, data, start, end
        itemsize = computing_dtype(kind.element).itemsize
        self.lanes = search_lanes(itemsize)
        self.group = min(4 * self.lanes, ARGUMENT_GROUP)
        self.number_type = ir.IntType(8 * itemsize)
        self.has_nans = not isinstance(component(kind.element), ir.IntType)

    def position(self) -> ir.Value:
        builder = self.builder
        best, numbers, is_nan = self._best_lanes()
        if not self.has_nans:
            return self._first(best, numbers)
        position = cgutils.alloca_once(builder, I64)
        bits = ir.IntType(self.lanes)
        any_nan = builder.icmp_unsigned("!=", builder.bitcast(is_nan, bits), bits(0))
        with builder.if_else(any_nan, likely=False) as (nan, no_nan):
            with nan:
                first = first_position(builder, self.start, self.end, self.lanes, self._is_nan)
                builder.store(first, position)
            with no_nan:
                builder.store(self._first(best, numbers), position)
        return builder.load(position)

    def _best_lanes(self) -> tuple[ir.Value, ir.Value, ir.Value]:
        """For each lane the best value, the number of its group, and whether one of the lane's is NaN."""
        builder = self.builder
        first = splat(builder, self._load(self.start, 1), self.lanes)
        number_vector = ir.VectorType(self.number_type, self.lanes)
        best = cgutils.alloca_once_value(builder, first)
        numbers = cgutils.alloca_once_value(builder, ir.Constant(number_vector, None))
        no_nans = ir.Constant(ir.VectorType(ir.IntType(1), self.lanes), None)
        nans = cgutils.alloca_once_value(builder, no_nans)
        count = builder.add(builder.sub(self.end, self.start), I64(self.group - 1))
        groups = builder.lshr(count, I64(self.group.bit_length() - 1))
        with cgutils.for_range(builder, groups, intp=I64) as loop:
            at = self._group_start(loop.index)
            read_ahead(builder, self.kind.element, self.data, at, self.group)
            items = self._group(at)
            if self.has_nans:
                self._note_nans(nans, items)
            while len(items) > 1:
                items = list(map(self._better, items[::2], items[1::2]))
            wins = self._is_better(items[0], builder.load(best))
            number = loop.index if self.number_type == I64 else builder.trunc(loop.index, self.number_type)
            held = builder.load(numbers)
            builder.store(builder.select(wins, splat(builder, number, self.lanes), held), numbers)
            builder.store(builder.select(wins, items[0], builder.load(best)), best)
        return builder.load(best), builder.load(numbers), builder.load(nans)

    def _first(self, best: ir.Value, numbers: ir.Value) -> ir.Value:
        """The first position of the best value of all lanes."""
        builder = self.builder
        value = self._across(best, self._better)
        last = self.number_type(2 ** (self.number_type.width - 1) - 1)
        is_best = self._equals(best, splat(builder, value, self.lanes))
        candidates = builder.select(is_best, numbers, splat(builder, last, self.lanes))

        def lower(left: ir.Value, right: ir.Value) -> ir.Value:
            return builder.select(builder.icmp_signed("<", left, right), left, right)

        number = self._across(candidates, lower)
        at = self._group_start(number if self.number_type == I64 else builder.zext(number, I64))
        bits, lane_bits = ir.IntType(self.group), ir.IntType(self.lanes)
        passed: ir.Value = bits(0)
        for number, item in enumerate(self._group(at)):
            equal = builder.bitcast(self._equals(item, splat(builder, value, self.lanes)), lane_bits)
            widened = equal if equal.type == bits else builder.zext(equal, bits)
            passed = builder.or_(passed, builder.shl(widened, bits(number * self.lanes)))
        lowest = builder.cttz(passed, ir.IntType(1)(1))
        return builder.add(at, lowest if bits == I64 else builder.zext(lowest, I64))

    def _group_start(self, number: ir.Value) -> ir.Value:
        """The first position of a group."""
        builder = self.builder
        at = builder.add(self.start, builder.mul(number, I64(self.group)))
        last = builder.sub(self.end, I64(self.group))
        return builder.select(builder.icmp_signed("<", at, last), at, last)

    def _group(self, at: ir.Value) -> list[ir.Value]:
        """The vectors of a group."""
        starts = [self.builder.add(at, I64(lane)) for lane in range(0, self.group, self.lanes)]
        return [self._load(start, self.lanes) for start in starts]

    def _load(self, position: ir.Value, lanes: int) -> ir.Value:
        return load_lanes(self.builder, self.kind.element, self.data, position, lanes)[0]

    def _is_nan(self, position: ir.Value, count: int) -> ir.Value:
        item = self._load(position, count)
        return self.builder.fcmp_unordered("uno", item, item)

    def _note_nans(self, nans: ir.Value, items: list[ir.Value]) -> None:
        for left, right in zip(items[::2], items[1::2], strict=True):
            is_nan = self.builder.fcmp_unordered("uno", left, right)
            self.builder.store(self.builder.or_(self.builder.load(nans), is_nan), nans)

    def _is_better(self, left: ir.Value, right: ir.Value) -> ir.Value:
        relation = ">" if self.kind.monoid == "maximum" else "<"
        if self.has_nans:
            return self.builder.fcmp_ordered(relation, left, right)
        is_unsigned = self.kind.element.startswith("u")
        compare = self.builder.icmp_unsigned if is_unsigned else self.builder.icmp_signed
        return compare(relation, left, right)

    def _better(self, left: ir.Value, right: ir.Value) -> ir.Value:
        return self.builder.select(self._is_better(left, right), left, right)

    def _equals(self, left: ir.Value, right: ir.Value) -> ir.Value:
        compare = self.builder.fcmp_ordered if self.has_nans else self.builder.icmp_signed
        return compare("==", left, right)

    def _across(self, vector: ir.Value, combine: Combine) -> ir.Value:
        """The lanes of a vector, combined."""
        lanes = self.lanes
        while lanes > 1:
            lanes //= 2
            halves = [selected(self.builder, vector, range(low, low + lanes)) for low in (0, lanes)]
            vector = combine(*halves)
        return self.builder.extract_element(vector, I32(0))
