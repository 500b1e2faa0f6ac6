"""Vectorized searches through contiguous elements.

Each function here is inlined into the loop that calls it, as those of `arithmetic` are.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.base import BaseContext as Context
from numba.core.typing import BaseContext as TypingContext
from numba.core.typing import Signature

from ..launch.processor import has
from .block_sizes import SEARCH_BLOCK
from .monoids import computing_dtype
from .vectors import (
    I64,
    TypedCode,
    Values,
    cgutils,
    computed_type,
    data_of,
    intrinsic,
    literal,
    load_lanes,
    read_ahead,
    splat,
    store_lanes,
)

_VECTOR_BYTES = 64
_UNROLL = 4
COMPRESS_PADDING = 16
"""Elements after the selected ones that `select_in_range` may overwrite."""
_COMPRESSES = has("avx512f")
"""Whether one instruction compresses the selected lanes of a vector."""

Test = Callable[[ir.Value, int], ir.Value]
"""Emits code that tests `count` positions from `position` on: test(position, count) -> a boolean vector."""


def search_lanes(itemsize: int) -> int:
    """The lanes of the vectors of searches."""
    return _VECTOR_BYTES // itemsize


def first_position(builder: ir.IRBuilder, start: ir.Value, end: ir.Value, lanes: int, test: Test) -> ir.Value:
    """The first position in [start, end) that passes a test, or `end`."""
    function = builder.function
    position = cgutils.alloca_once_value(builder, start)
    for width in (_UNROLL * lanes, lanes, 1):
        again, look, done = (function.append_basic_block(name) for name in ("again", "look", "done"))
        builder.branch(again)
        builder.position_at_end(again)
        now = builder.load(position)
        following = builder.add(now, I64(width))
        builder.cbranch(builder.icmp_signed("<=", following, end), look, done)
        builder.position_at_end(look)
        passed = _which(builder, now, width, lanes, test)
        is_here = builder.icmp_unsigned("!=", passed, passed.type(0))
        here = now
        if width == lanes:
            here = builder.add(now, builder.zext(builder.cttz(passed, ir.IntType(1)(0)), I64))
        builder.store(builder.select(is_here, here, following), position)
        builder.cbranch(is_here, done, again)
        builder.position_at_end(done)
    return builder.load(position)


def _which(builder: ir.IRBuilder, position: ir.Value, width: int, lanes: int, test: Test) -> ir.Value:
    """A bit mask of the lanes that pass at `width` positions; the masks of several vectors are ORed."""
    if width == 1:
        return test(position, 1)
    passed = test(position, lanes)
    for offset in range(lanes, width, lanes):
        passed = builder.or_(passed, test(builder.add(position, I64(offset)), lanes))
    return builder.bitcast(passed, ir.IntType(lanes))


@intrinsic(prefer_literal=True)
def first_equal(
    typing_context: TypingContext,
    element: types.Type,
    array: types.Type,
    start: types.Type,
    end: types.Type,
    value: types.Type,
) -> TypedCode:
    """The first position in [start, end) whose real number equals `value`, or `end`; NaN equals NaN."""
    name = literal(element)
    lanes = search_lanes(computing_dtype(name).itemsize)

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        data = data_of(context, builder, array, arguments[1], name)
        target = arguments[4]

        def test(position: ir.Value, count: int) -> ir.Value:
            (item,) = load_lanes(builder, name, data, position, count)
            if isinstance(target.type, ir.IntType):
                return builder.icmp_signed("==", item, splat(builder, target, count))
            return builder.fcmp_ordered("==", item, splat(builder, target, count))

        def is_nan(position: ir.Value, count: int) -> ir.Value:
            (item,) = load_lanes(builder, name, data, position, count)
            return builder.fcmp_unordered("uno", item, item)

        if isinstance(target.type, ir.IntType):
            return first_position(builder, arguments[2], arguments[3], lanes, test)
        result = cgutils.alloca_once_value(builder, arguments[3])
        with builder.if_else(builder.fcmp_unordered("uno", target, target), likely=False) as (nan, number):
            with nan:
                builder.store(first_position(builder, arguments[2], arguments[3], lanes, is_nan), result)
            with number:
                builder.store(first_position(builder, arguments[2], arguments[3], lanes, test), result)
        return builder.load(result)

    numbers = (types.intp,) * 2
    return types.intp(element, array, *numbers, computed_type(name)), emit


def _comparable(
    builder: ir.IRBuilder,
    array: ir.Value,
    data: ir.Value,
    start: ir.Value,
    flipped: ir.Value,
    total_order: bool,
) -> ir.Value:
    """`SEARCH_BLOCK` elements as signed integers of the same order; prefetches the elements that follow."""
    item = ir.IntType(array.dtype.bitwidth)
    read_ahead(builder, f"uint{item.width}", data, start, SEARCH_BLOCK)
    address = builder.bitcast(builder.gep(data, [start]), ir.VectorType(item, SEARCH_BLOCK).as_pointer())
    code = builder.xor(builder.load(address, align=item.width // 8), splat(builder, flipped, SEARCH_BLOCK))
    if not total_order:
        return code
    last, others = item(item.width - 1), item(2 ** (item.width - 1) - 1)
    signs = builder.ashr(code, splat(builder, last, SEARCH_BLOCK))
    return builder.xor(code, builder.and_(signs, splat(builder, others, SEARCH_BLOCK)))


def _which_above(total_order: bool) -> Callable[..., Any]:
    @intrinsic
    def which(
        typing_context: TypingContext,
        array: types.Type,
        start: types.Type,
        flipped: types.Type,
        limit: types.Type,
    ) -> TypedCode:
        def emit(
            context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values
        ) -> ir.Value:
            data = context.make_array(array)(context, builder, arguments[0]).data
            code = _comparable(builder, array, data, arguments[1], arguments[2], total_order)
            return builder.bitcast(
                builder.icmp_signed(">", code, splat(builder, arguments[3], SEARCH_BLOCK)), I64
            )

        return types.uint64(array, types.intp, array.dtype, array.dtype), emit

    return which


which_above = _which_above(total_order=False)
"""A bit mask of the `SEARCH_BLOCK` elements from `start` on that, XORed with `flipped`, exceed `limit` as
signed integers."""
which_above_in_total_order = _which_above(total_order=True)
"""Like `which_above`, in the total order of floats: all bits but the sign of negative values are flipped. The
result is the same for a limit that is not negative."""


def _max_of_groups(total_order: bool) -> Callable[..., Any]:
    @intrinsic
    def maximum(
        typing_context: TypingContext,
        array: types.Type,
        start: types.Type,
        count: types.Type,
        flipped: types.Type,
        sign: types.Type,
        groups: types.Type,
        at: types.Type,
    ) -> TypedCode:
        wide = ir.VectorType(ir.IntType(groups.dtype.bitwidth), SEARCH_BLOCK)

        def emit(
            context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values
        ) -> ir.Value:
            data, target = (
                context.make_array(kind)(context, builder, arguments[number]).data
                for number, kind in ((0, array), (5, groups))
            )
            start, end = arguments[1], builder.add(arguments[1], arguments[2])
            best = cgutils.alloca_once_value(
                builder, _comparable(builder, array, data, start, arguments[3], total_order)
            )
            second, step = builder.add(start, I64(SEARCH_BLOCK)), I64(SEARCH_BLOCK)
            with cgutils.for_range_slice(builder, second, end, step, intp=I64, inc=True) as (position, _):
                item = _comparable(builder, array, data, position, arguments[3], total_order)
                held = builder.load(best)
                builder.store(builder.select(builder.icmp_signed(">", item, held), item, held), best)
            codes = builder.xor(builder.load(best), splat(builder, arguments[4], SEARCH_BLOCK))
            codes = codes if codes.type == wide else builder.zext(codes, wide)
            address = builder.bitcast(builder.gep(target, [arguments[6]]), wide.as_pointer())
            builder.store(codes, address, align=wide.element.width // 8)
            return context.get_dummy_value()

        numbers = (types.intp, types.intp)
        return types.void(array, *numbers, array.dtype, array.dtype, groups, types.intp), emit

    return maximum


max_of_groups = _max_of_groups(total_order=False)
"""Write the maximum of each of `SEARCH_BLOCK` groups to `groups[at:]`, as unsigned integers.

Group g has the elements `start + g + i * SEARCH_BLOCK` of `count` elements, a multiple of `SEARCH_BLOCK`.
Elements are XORed with `flipped` and compared as signed integers; XOR with `sign`, the highest bit, makes
them unsigned."""
max_of_groups_in_total_order = _max_of_groups(total_order=True)
"""Like `max_of_groups`, in the order of `which_above_in_total_order`."""


@intrinsic
def lowest_set_bit(typing_context: TypingContext, bits: types.Type) -> TypedCode:
    """The index of the lowest set bit; `bits` must not be 0."""

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.intp(types.uint64), emit


@intrinsic
def select_in_range(
    typing_context: TypingContext, keys: types.Type, count: types.Type, low_bound: types.Type,
    size: types.Type, first: types.Type, step: types.Type, chosen: types.Type, numbers: types.Type,
) -> TypedCode:  # fmt: skip
    """Select those of the first `count` keys that are in [low_bound, low_bound + size); returns how many.

    `chosen` receives the selected keys minus `low_bound`, and `numbers` their numbers: key k has the number
    `first + k * step`. All three arrays have one element type. The last two need `COMPRESS_PADDING` elements
    after the selected ones, which may be overwritten.
    """
    key = ir.IntType(keys.dtype.bitwidth)
    lanes = _VECTOR_BYTES // (key.width // 8)

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        read, *written = (
            context.make_array(array)(context, builder, arguments[number]).data
            for number, array in ((0, keys), (6, chosen), (7, numbers))
        )
        count = arguments[1]
        low, width, first, step = [_truncated(builder, argument, key) for argument in arguments[2:6]]
        count_slot = cgutils.alloca_once_value(builder, I64(0))

        def look(position: ir.Value, lanes: int) -> tuple[list[ir.Value], ir.Value]:
            """`lanes` keys minus `low_bound`, their numbers, and the mask of the selected ones."""
            address = builder.gep(read, [position])
            if lanes > 1:
                address = builder.bitcast(address, ir.VectorType(key, lanes).as_pointer())
            item = builder.load(address, align=key.width // 8)
            here = builder.add(first, builder.mul(_truncated(builder, position, key), step))
            numbers = splat(builder, here, lanes)
            if lanes > 1:
                steps = ir.Constant(ir.VectorType(key, lanes), [key(lane) for lane in range(lanes)])
                numbers = builder.add(numbers, builder.mul(splat(builder, step, lanes), steps))
            from_low = builder.sub(item, splat(builder, low, lanes))
            return [from_low, numbers], builder.icmp_unsigned("<", from_low, splat(builder, width, lanes))

        end = I64(0)
        if _COMPRESSES:
            end = builder.and_(count, I64(-lanes))
            with cgutils.for_range_slice(builder, I64(0), end, I64(lanes), intp=I64, inc=True) as (now, _):
                stored, here = builder.load(count_slot), look(now, lanes)
                bits = builder.bitcast(here[1], ir.IntType(lanes))
                passed = builder.zext(builder.ctpop(bits), I64)
                for values, array in zip(here[0], written, strict=True):
                    _store_compressed(builder, array, stored, values, here[1])
                builder.store(builder.add(stored, passed), count_slot)
        with cgutils.for_range_slice(builder, end, count, I64(1), intp=I64, inc=True) as (now, _):
            stored, here = builder.load(count_slot), look(now, 1)
            for value, array in zip(here[0], written, strict=True):
                builder.store(value, builder.gep(array, [stored]))
            builder.store(builder.add(stored, builder.zext(here[1], I64)), count_slot)
        return builder.load(count_slot)

    return types.intp(keys, *(types.intp,) * 5, chosen, numbers), emit


def _truncated(builder: ir.IRBuilder, value: ir.Value, kind: ir.Type) -> ir.Value:
    return builder.trunc(value, kind) if kind.width < 64 else value


def _store_compressed(
    builder: ir.IRBuilder, data: ir.Value, index: ir.Value, values: ir.Value, passed: ir.Value
) -> None:
    """Store the lanes that passed contiguously from an index on; what follows them is undefined."""
    lanes, item = values.type.count, values.type.element
    kind = ir.FunctionType(values.type, [values.type, values.type, passed.type])
    # Zen 4 takes a hundred times as long for an instruction that compresses and stores.
    name = f"llvm.x86.avx512.mask.compress.v{lanes}i{item.width}"
    compress = cgutils.get_or_insert_function(builder.module, kind, name)
    compressed = builder.call(compress, [values, ir.Constant(values.type, ir.Undefined), passed])
    store_lanes(builder, f"uint{item.width}", data, index, (compressed,), lanes)
