"""The NumPy implementations of data movement whose sizes are operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....types import Array
from .dynamic_shapes import DynamicBroadcastInDim, DynamicIota, DynamicPad, DynamicReshape, RealDynamicSlice
from .movement_numpy import broadcast_view, counted
from .pad_numpy import pad_to_shape
from .slicing import AMOUNTS, RANGES


def bind_broadcast_in_dim(view: DynamicBroadcastInDim) -> Callable[..., Any]:
    """The function of operand and output_dimensions."""

    def broadcast_in_dim(operand: Array, output_dimensions: Array) -> Array:
        shape = view.at_run_time(operand, output_dimensions).required_integers("output_dimensions")
        return broadcast_view(operand, view.broadcast_dimensions, shape)

    return broadcast_in_dim


def bind_reshape(view: DynamicReshape) -> Callable[..., Any]:
    """The function of operand and output_shape."""

    def reshape(operand: Array, output_shape: Array) -> Array:
        return operand.reshape(view.at_run_time(operand, output_shape).required_integers("output_shape"))

    return reshape


def bind_iota(view: DynamicIota) -> Callable[..., Any]:
    """The function of output_shape."""

    def iota(output_shape: Array) -> Array:
        shape = view.at_run_time(output_shape).required_integers("output_shape")
        return counted(view.result.plain_element_type, shape, view.iota_dimension)

    return iota


def bind_pad(view: DynamicPad) -> Callable[..., Any]:
    """The function of operand, padding_value and the amounts of padding."""

    def pad(operand: Array, padding_value: Array, *amounts: Array) -> Array:
        actual = view.at_run_time(operand, padding_value, *amounts)
        bound = pad_to_shape(operand.shape, *map(actual.required_integers, AMOUNTS))
        return bound(operand, padding_value)

    return pad


def bind_slice(view: RealDynamicSlice) -> Callable[..., Any]:
    """The function of operand and ranges."""

    def real_dynamic_slice(operand: Array, *ranges: Array) -> Array:
        actual = view.at_run_time(operand, *ranges)
        return operand[tuple(map(slice, *map(actual.required_integers, RANGES)))]

    return real_dynamic_slice
