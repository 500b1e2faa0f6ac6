"""Byte copies and a prefetch inside kernels. Importing this module imports Numba."""


from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.base import BaseContext as Context
from numba.core.typing import BaseContext as TypingContext
from numba.core.typing import Signature
from numba.extending import intrinsic

from .block_sizes import CACHE_LINE
from .prefetches import prefetch_address
from .vectors import TypedCode, Values

_INT64 = ir.IntType(64)
_CHUNKS = (64, 32, 16, 8, 4, 2, 1)


def _copy(builder: ir.IRBuilder, destination: ir.Value, source: ir.Value, count: ir.Value) -> None:
    cgutils.raw_memcpy(builder, destination, source, count, _INT64(1))


def _copy_short(
    builder: ir.IRBuilder, destination: ir.Value, source: ir.Value, count: ir.Value, chunks: tuple[int, ...]
) -> None:
    """Copy at most twice the largest chunk: two chunks of one size, possibly overlapping, cover any count."""
    if not chunks:
        return
    chunk = _INT64(chunks[0])
    with builder.if_else(builder.icmp_signed(">=", count, chunk)) as (fits, is_shorter):
        with fits:
            _copy(builder, destination, source, chunk)
            last = builder.sub(count, chunk)
            _copy(builder, builder.gep(destination, [last]), builder.gep(source, [last]), chunk)
        with is_shorter:
            _copy_short(builder, destination, source, count, chunks[1:])


@intrinsic
def copy_bytes(
    typing_context: TypingContext,
    destination: types.Type,
    index: types.Type,
    source: types.Type,
    start: types.Type,
    count: types.Type,
) -> TypedCode:
    """Copy `count` bytes from `source[start:]` to `destination[index:]`, uint8 arrays that do not overlap."""

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        target_array, offset, source_array, start, size = arguments
        target = builder.gep(context.make_array(destination)(context, builder, target_array).data, [offset])
        begin = builder.gep(context.make_array(source)(context, builder, source_array).data, [start])
        with builder.if_else(builder.icmp_signed(">", size, _INT64(2 * _CHUNKS[0]))) as (long, short):
            with long:
                _copy(builder, target, begin, size)
            with short:
                _copy_short(builder, target, begin, size, _CHUNKS)
        return context.get_dummy_value()

    return types.void(destination, types.intp, source, types.intp, types.intp), emit


@intrinsic
def copy_nontemporal(
    typing_context: TypingContext,
    destination: types.Type,
    index: types.Type,
    source: types.Type,
    start: types.Type,
    count: types.Type,
) -> TypedCode:
    """Like `copy_bytes`, of whole cache lines by nontemporal stores."""
    cache_line = ir.VectorType(_INT64, CACHE_LINE // 8)

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        target_array, offset, source_array, start, size = arguments
        target = builder.gep(context.make_array(destination)(context, builder, target_array).data, [offset])
        begin = builder.gep(context.make_array(source)(context, builder, source_array).data, [start])
        line_bytes = _INT64(CACHE_LINE)
        with cgutils.for_range_slice(builder, _INT64(0), size, line_bytes, _INT64, inc=True) as (current, _):
            pointers = [builder.gep(pointer, [current]) for pointer in (begin, target)]
            read, written = (builder.bitcast(pointer, cache_line.as_pointer()) for pointer in pointers)
            stored = builder.store(builder.load(read, align=1), written, align=CACHE_LINE)
            one = builder.module.add_metadata([ir.IntType(32)(1)])
            stored.set_metadata("nontemporal", one)
        return context.get_dummy_value()

    return types.void(destination, types.intp, source, types.intp, types.intp), emit


@intrinsic
def item_at(
    typing_context: TypingContext, sample: types.Type, address: types.Type, index: types.Type
) -> TypedCode:
    """Element `index` of the array at `address`, whose element type is that of `sample`."""

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        pointer = builder.inttoptr(arguments[1], context.get_data_type(sample.dtype).as_pointer())
        return context.unpack_value(builder, sample.dtype, builder.gep(pointer, [arguments[2]]))

    return sample.dtype(sample, types.intp, types.intp), emit


@intrinsic
def prefetch_write(typing_context: TypingContext, array: types.Type, index: types.Type) -> TypedCode:
    """Prefetch the cache line of `array[index]` for a write. The index may lie outside of the array."""

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        data = context.make_array(array)(context, builder, arguments[0]).data
        prefetch_address(builder, builder.gep(data, [arguments[1]]), is_write=True)
        return context.get_dummy_value()

    return types.void(array, types.intp), emit
