"""Atomic operations of concurrent tasks on arrays of int64. Importing this module imports Numba."""

from typing import Any

from numba import types

from .vectors import intrinsic

_BYTES = 8


@intrinsic
def add_atomically(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """`array[index] += value`; returns the previous value."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        return builder.atomic_rmw("add", builder.gep(data, [arguments[1]]), arguments[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), generate


@intrinsic
def publish(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Store with release order: a task that observes the value sees all earlier writes of this task."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        builder.store_atomic(arguments[2], builder.gep(data, [arguments[1]]), "release", _BYTES)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), generate


@intrinsic
def observe(typing_context: Any, array: Any, index: Any) -> Any:
    """Load `array[index]` with acquire order; the counterpart of `publish`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        return builder.load_atomic(builder.gep(data, [arguments[1]]), "acquire", _BYTES)

    return types.int64(array, types.intp), generate
