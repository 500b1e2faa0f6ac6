"""Byte copies and prefetches inside kernels. Importing this module imports Numba."""


from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.base import BaseContext as Context
from numba.core.typing import BaseContext as TypingContext
from numba.core.typing import Signature
from numba.extending import intrinsic

from .prefetches import prefetch_address
from .vectors import TypedCode, Values

_INT64 = ir.IntType(64)


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
        cgutils.raw_memcpy(builder, target, begin, size, _INT64(1))
        return context.get_dummy_value()

    return types.void(destination, types.intp, source, types.intp, types.intp), emit


@intrinsic
def item_at(
    typing_context: TypingContext, dtype_tag: types.Type, address: types.Type, index: types.Type
) -> TypedCode:
    """Element `index` of the array at `address`, whose element type is that of `dtype_tag`."""

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        pointer = builder.inttoptr(arguments[1], context.get_data_type(dtype_tag.dtype).as_pointer())
        return context.unpack_value(builder, dtype_tag.dtype, builder.gep(pointer, [arguments[2]]))

    return dtype_tag.dtype(dtype_tag, types.intp, types.intp), emit


@intrinsic
def prefetch_write(typing_context: TypingContext, array: types.Type, index: types.Type) -> TypedCode:
    """Prefetch the cache line of `array[index]` for a write. The index may lie outside of the array."""

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        data = context.make_array(array)(context, builder, arguments[0]).data
        prefetch_address(builder, builder.gep(data, [arguments[1]]), is_write=True)
        return context.get_dummy_value()

    return types.void(array, types.intp), emit


@intrinsic
def prefetch_read(typing_context: TypingContext, address: types.Type) -> TypedCode:
    """Prefetch the cache line at an address, which may lie outside of all arrays."""

    def emit(context: Context, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        prefetch_address(builder, builder.inttoptr(arguments[0], ir.IntType(8).as_pointer()))
        return context.get_dummy_value()

    return types.void(types.intp), emit
