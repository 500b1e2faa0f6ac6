"""What tasks that run at the same time tell each other, in arrays of int64. Importing it imports Numba."""

from typing import Any

from numba import types

from .vectors import intrinsic

_BYTES = 8


@intrinsic
def add_atomically(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """`array[index] += value`; returns what was there before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        return builder.atomic_rmw("add", builder.gep(data, [arguments[1]]), arguments[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), generate


@intrinsic
def publish(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """`array[index] = value`: who observes it sees all that this task has written before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        builder.store_atomic(arguments[2], builder.gep(data, [arguments[1]]), "release", _BYTES)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), generate


@intrinsic
def observe(typing_context: Any, array: Any, index: Any) -> Any:
    """`array[index]`, as another task may have published it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        return builder.load_atomic(builder.gep(data, [arguments[1]]), "acquire", _BYTES)

    return types.int64(array, types.intp), generate
