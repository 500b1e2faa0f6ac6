"""The NumPy implementations of data movement: views where NumPy has them, or copies of whole arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....types import COMPLEX, ELEMENT_TYPES, FLOAT, Array, ElementType, TensorType
from ..framework import rules
from ..framework.declaration import Op
from ..framework.reshapers import reshaper
from ..numerics import element_types

if TYPE_CHECKING:
    from .broadcasting import Broadcast, BroadcastInDim
    from .creation import Iota
    from .layout import Concatenate, Reshape, Reverse, Transpose
    from .slicing import Slice

MAX_COPIED_ELEMENTS = 4096
"""Maximum number of elements of a broadcast that is copied (1 µs); a larger broadcast is a view."""


def checked(view: Op, function: Callable[..., Array]) -> Callable[..., Array]:
    """A function of the operands, whose actual sizes are checked first."""

    def run(*operands: Array) -> Array:
        rules.check_actual_sizes(view, *operands)
        return function(*operands)

    return run


def bind_slice(view: Slice) -> Callable[..., Any]:
    """The function of operand."""
    get = operator.itemgetter(view.slices())
    return get if view.operand.is_static else checked(view, get)


def bind_concatenate(view: Concatenate) -> Callable[..., Any]:
    """The function of inputs."""
    concatenate, dimension = np.concatenate, view.dimension
    if all(type.is_static for type in view.inputs):
        return lambda *inputs: concatenate(inputs, dimension)
    return checked(view, lambda *inputs: concatenate(inputs, dimension))


def bind_reshape(view: Reshape) -> Callable[..., Any]:
    """The function of operand."""
    if view.result.is_static and view.operand.is_static:
        return reshaper(view.result.shape)
    return lambda operand: operand.reshape(view.actual_shape(operand))


def bind_reverse(view: Reverse) -> Callable[..., Any]:
    """The function of operand, which copies floats and returns a view of other elements.

    Most of NumPy's functions of floats take another loop where a stride is negative, and its last bits
    differ. So no step is given floats in reversed order.
    """
    get = operator.itemgetter(view.slices())
    if view.operand.element_type.category & (FLOAT | COMPLEX):
        return lambda operand: np.array(get(operand), order="C")
    return get


def bind_transpose(view: Transpose) -> Callable[..., Any]:
    """The function of operand."""
    return operator.methodcaller("transpose", view.permutation)


def bind_broadcast_in_dim(view: BroadcastInDim) -> Callable[..., Any]:
    """The function of operand."""
    dimensions = view.broadcast_dimensions
    if view.result.is_static and view.operand.is_static:
        return _bind_broadcast(view.operand, dimensions, view.result.shape)
    return checked(
        view, lambda operand: broadcast_view(operand, dimensions, view.result_shape(operand))
    )


def bind_broadcast(view: Broadcast) -> Callable[..., Any]:
    """The function of operand."""
    sizes = view.broadcast_sizes
    return lambda operand: np.broadcast_to(operand, (*sizes, *operand.shape))


def broadcast_view(operand: Array, broadcast_dimensions: Sequence[int], shape: tuple[int, ...]) -> Array:
    """`operand` with its dimension d at dimension ``broadcast_dimensions[d]`` of `shape`."""
    order = sorted(range(operand.ndim), key=broadcast_dimensions.__getitem__)
    aligned = [1] * len(shape)
    for d, to in enumerate(broadcast_dimensions):
        aligned[to] = operand.shape[d]
    return np.broadcast_to(operand.transpose(order).reshape(aligned), shape)


def _bind_broadcast(
    operand: TensorType, broadcast_dimensions: Sequence[int], shape: tuple[int, ...]
) -> Callable[[Array], Array]:
    """`broadcast_view` for one type of operand and shape of result, with little work a call."""
    empty = np.empty
    if operand.rank == 0 and math.prod(shape) <= MAX_COPIED_ELEMENTS:

        def fill(value: Array) -> Array:
            result = empty(shape, value.dtype)
            result[...] = value
            return result

        return fill
    if math.prod(shape) > MAX_COPIED_ELEMENTS:
        return lambda value: broadcast_view(value, broadcast_dimensions, shape)
    order = tuple(sorted(range(operand.rank), key=broadcast_dimensions.__getitem__))
    aligned = [1] * len(shape)
    for d, to in enumerate(broadcast_dimensions):
        aligned[to] = operand.shape[d]

    def copy(value: Array) -> Array:
        result = empty(shape, value.dtype)
        result[...] = value.transpose(order).reshape(aligned)
        return result

    return copy


def bind_iota(view: Iota) -> Callable[..., Any]:
    """The function without arguments."""
    return lambda: counted(view.output.plain_element_type, view.output.shape, view.iota_dimension)


def counted(element_type: ElementType, shape: tuple[int, ...], iota_dimension: int) -> Array:
    """The values of `iota` in an array of `shape`. Integers that do not fit wrap."""
    size = shape[iota_dimension]
    dtype = np.int32 if element_type.name == "i32" and size <= 1 << 31 else np.int64
    values = np.arange(size, dtype=dtype)
    if element_type.dtype != dtype:
        values = element_types.converter(ELEMENT_TYPES["i64"], element_type)(values)
    if values.size == math.prod(shape):
        return values.reshape(shape)
    trailing = (1,) * (len(shape) - iota_dimension - 1)
    return np.broadcast_to(values.reshape(-1, *trailing), shape).copy()
