"""Arithmetic on single elements, for the loops of the other modules.

Each function is inlined into the loop that calls it. `element` and `monoid` are names of `monoids` and
compile-time constants. Importing this module imports Numba, so only modules of loops import it, at their
first use.
"""

from typing import Any

from numba import types

from .monoids import Combination
from .vectors import (
    apply,
    computed_type,
    data_of,
    intrinsic,
    literal,
    load_lanes,
    packed,
    store_lanes,
    unpacked,
)


@intrinsic(prefer_literal=True)
def load(typing_context: Any, element: Any, array: Any, index: Any) -> Any:
    """Load an element of a one-dimensional array, converted to its computing type."""
    name = literal(element)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, array, arguments[1], name)
        return packed(context, builder, name, load_lanes(builder, name, data, arguments[2], 1))

    return computed_type(name)(element, array, types.intp), generate


@intrinsic(prefer_literal=True)
def store(typing_context: Any, element: Any, array: Any, index: Any, value: Any) -> Any:
    """Round a value to the element type and store it to a one-dimensional array."""
    name = literal(element)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, array, arguments[1], name)
        store_lanes(builder, name, data, arguments[2], unpacked(builder, name, arguments[3]), 1)
        return context.get_dummy_value()

    return types.void(element, array, types.intp, computed_type(name)), generate


@intrinsic
def get(typing_context: Any, array: Any, index: Any) -> Any:
    """`array[index]` of a one-dimensional array for an index that is not negative: LLVM vectorizes it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        return context.unpack_value(builder, array.dtype, builder.gep(data, [arguments[1]]))

    return array.dtype(array, types.intp), generate


@intrinsic
def put(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """`array[index] = value` for an index that is not negative."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        context.pack_value(builder, array.dtype, arguments[2], builder.gep(data, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(array, types.intp, array.dtype), generate


@intrinsic(prefer_literal=True)
def combine(typing_context: Any, element: Any, monoid: Any, left: Any, right: Any) -> Any:
    """Combine `left` with `right`, both of the computing type."""
    kind = Combination(literal(element), literal(monoid))
    name = kind.element

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, b = (unpacked(builder, name, argument) for argument in arguments[2:])
        return packed(context, builder, name, apply(builder, kind, a, b))

    computed = computed_type(name)
    return computed(element, monoid, computed, computed), generate
