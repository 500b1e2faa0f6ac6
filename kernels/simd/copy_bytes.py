"""Copies of a few to many bytes inside kernels. Importing this module imports Numba."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .block_sizes import CACHE_LINE

_INT64 = ir.IntType(64)
_BYTES = ir.IntType(8).as_pointer()
_PAGE_BYTES = 4096
_PIECES = (64, 32, 16, 8, 4, 2, 1)


def _copy(builder: Any, destination: Any, source: Any, count: Any) -> None:
    cgutils.raw_memcpy(builder, destination, source, count, _INT64(1))


def _copy_short(builder: Any, destination: Any, source: Any, count: Any, pieces: tuple[int, ...]) -> None:
    """Copy at most twice the largest piece: two pieces of one size, which may overlap, cover any count above
    it."""
    if not pieces:
        return
    piece = _INT64(pieces[0])
    with builder.if_else(builder.icmp_signed(">=", count, piece)) as (enough, too_few):
        with enough:
            _copy(builder, destination, source, piece)
            last = builder.sub(count, piece)
            _copy(builder, builder.gep(destination, [last]), builder.gep(source, [last]), piece)
        with too_few:
            _copy_short(builder, destination, source, count, pieces[1:])


@intrinsic
def copy_bytes(typing_context: Any, destination: Any, place: Any, source: Any, start: Any, count: Any) -> Any:
    """Copy `count` bytes from `start` of one array of uint8 to `place` of another. They must not overlap."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, at, origin, start, size = arguments
        target = builder.gep(context.make_array(destination)(context, builder, to).data, [at])
        begin = builder.gep(context.make_array(source)(context, builder, origin).data, [start])
        with builder.if_else(builder.icmp_signed(">", size, _INT64(2 * _PIECES[0]))) as (long, short):
            with long:
                _copy(builder, target, begin, size)
            with short:
                _copy_short(builder, target, begin, size, _PIECES)
        return context.get_dummy_value()

    return types.void(destination, types.intp, source, types.intp, types.intp), generate


@intrinsic
def copy_past_caches(
    typing_context: Any, destination: Any, place: Any, source: Any, start: Any, count: Any
) -> Any:
    """The same for whole lines of cache, which the caches do not keep then."""
    line = ir.VectorType(_INT64, CACHE_LINE // 8)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, at, origin, start, size = arguments
        target = builder.gep(context.make_array(destination)(context, builder, to).data, [at])
        begin = builder.gep(context.make_array(source)(context, builder, origin).data, [start])
        step = _INT64(CACHE_LINE)
        with cgutils.for_range_slice(builder, _INT64(0), size, step, _INT64, inc=True) as (now, _):
            pointers = [builder.gep(pointer, [now]) for pointer in (begin, target)]
            read, written = (builder.bitcast(pointer, line.as_pointer()) for pointer in pointers)
            stored = builder.store(builder.load(read, align=1), written, align=CACHE_LINE)
            one = builder.module.add_metadata([ir.IntType(32)(1)])
            stored.set_metadata("nontemporal", one)
        return context.get_dummy_value()

    return types.void(destination, types.intp, source, types.intp, types.intp), generate


@intrinsic
def item_at(typing_context: Any, sample: Any, address: Any, place: Any) -> Any:
    """The item at a place of the array at an address; its items have the type of those of `sample`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[1], context.get_data_type(sample.dtype).as_pointer())
        return context.unpack_value(builder, sample.dtype, builder.gep(pointer, [arguments[2]]))

    return sample.dtype(sample, types.intp, types.intp), generate


def _fetch(builder: Any, address: Any, is_write: bool) -> None:
    int32 = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [address.type, int32, int32, int32])
    function = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
    builder.call(function, [address, int32(int(is_write)), int32(3), int32(1)])


@intrinsic
def fetch_pages(typing_context: Any, sample: Any, address: Any, place: Any, count: Any) -> Any:
    """Fetch a line of each page of so many items of the array at an address, from that place on, to be read
    soon: processors fetch the other lines by themselves. The items have the type of those of `sample`. They
    may lie outside of the array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        size = context.get_abi_sizeof(context.get_data_type(sample.dtype))
        first = builder.add(arguments[1], builder.mul(arguments[2], _INT64(size)))
        end = builder.add(first, builder.mul(arguments[3], _INT64(size)))
        step = _INT64(_PAGE_BYTES)
        with cgutils.for_range_slice(builder, first, end, step, intp=_INT64, inc=True) as (at, _):
            _fetch(builder, builder.inttoptr(at, _BYTES), is_write=False)
        return context.get_dummy_value()

    return types.void(sample, types.intp, types.intp, types.intp), generate


def _prefetch(is_write: bool) -> Any:
    @intrinsic
    def prefetch(typing_context: Any, array: Any, place: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(array)(context, builder, arguments[0]).data
            _fetch(builder, builder.bitcast(builder.gep(data, [arguments[1]]), _BYTES), is_write)
            return context.get_dummy_value()

        return types.void(array, types.intp), generate

    return prefetch


prefetch_write = _prefetch(True)
"""Fetch the cache line of that place of an array to be written soon. The place may lie outside of the
array."""
prefetch_read = _prefetch(False)
"""The same for a place to be read."""
