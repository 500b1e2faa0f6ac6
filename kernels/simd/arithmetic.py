"""Arithmetic on single elements, for the loops of the other modules.

Each function here is compiled into the loop that calls it. `element` and `monoid` are names of `monoids`,
constant where a loop is compiled. Importing this module imports Numba: only modules of loops do, when they
are first needed.
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
    """The element of a one-dimensional array, as the type in which it is computed with."""
    name = literal(element)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, array, arguments[1], name)
        return packed(context, builder, name, load_lanes(builder, name, data, arguments[2], 1))

    return computed_type(name)(element, array, types.intp), generate


@intrinsic(prefer_literal=True)
def store(typing_context: Any, element: Any, array: Any, index: Any, value: Any) -> Any:
    """Round a value to its element type, and write it into a one-dimensional array."""
    name = literal(element)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, array, arguments[1], name)
        store_lanes(builder, name, data, arguments[2], unpacked(builder, name, arguments[3]), 1)
        return context.get_dummy_value()

    return types.void(element, array, types.intp, computed_type(name)), generate


@intrinsic
def get(typing_context: Any, array: Any, index: Any) -> Any:
    """`array[index]` of a flat array, where no index is negative: such loops become vectors."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        return context.unpack_value(builder, array.dtype, builder.gep(data, [arguments[1]]))

    return array.dtype(array, types.intp), generate


@intrinsic
def put(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """`array[index] = value`, where no index is negative."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        context.pack_value(builder, array.dtype, arguments[2], builder.gep(data, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(array, types.intp, array.dtype), generate


@intrinsic(prefer_literal=True)
def combine(typing_context: Any, element: Any, monoid: Any, left: Any, right: Any) -> Any:
    """`left` combined with `right`, both as computed."""
    kind = Combination(literal(element), literal(monoid))
    name = kind.element

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, b = (unpacked(builder, name, argument) for argument in arguments[2:])
        return packed(context, builder, name, apply(builder, kind, a, b))

    computed = computed_type(name)
    return computed(element, monoid, computed, computed), generate
