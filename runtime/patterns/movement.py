"""Data movement: NumPy's functions of shapes, and basic indexing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import operations as ops
from .arguments import dimension, dimensions, integers
from .element_types import common_element_type
from .failures import unsupported_error, violation_error
from .operands import as_traced, cast_and_broadcast, shape_of, value_of
from .tape import Value


def reshape(value: Any, shape: Any, name: str = "numpy.reshape") -> Value:
    """The same elements in another shape; -1 is the remaining size."""
    value = _value(value, name)
    sizes = list(integers(shape if _is_list(shape) else (shape,), "shape", name))
    total = math.prod(value.shape)
    if sizes.count(-1) == 1:
        other_sizes_product = -math.prod(sizes)
        sizes[sizes.index(-1)] = total // other_sizes_product if other_sizes_product else 0
    if min(sizes, default=0) < 0 or math.prod(sizes) != total:
        raise violation_error(name, f"shape is {shape}, but the operand has shape {value.shape}")
    return ops.reshape(value, tuple(sizes))


def transpose(value: object, axes: Any = None, name: str = "numpy.transpose") -> Value:
    """Permuted dimensions; None: reversed."""
    operand = _value(value, name)
    rank = len(operand.shape)
    order = tuple(reversed(range(rank))) if axes is None else dimensions(axes, rank, "axes", name)
    if len(order) != rank:
        raise violation_error(name, f"axes is {axes}, but must name all {rank} dimensions")
    shape = tuple([operand.shape[d] for d in order])
    return operand.tape.add(
        "stablehlo.transpose", (operand.index,), shape, operand.element_type, (("permutation", order),)
    )


def swapaxes(value: object, axis1: object, axis2: object) -> Value:
    """Two dimensions exchanged."""
    name = "numpy.swapaxes"
    value = _value(value, name)
    rank = len(value.shape)
    a, b = dimension(axis1, rank, "axis1", name), dimension(axis2, rank, "axis2", name)
    order = list(range(rank))
    order[a], order[b] = b, a
    return transpose(value, order, name)


def broadcast_to(value: object, shape: object) -> Value:
    """A value repeated to a shape."""
    name = "numpy.broadcast_to"
    value = _value(value, name)
    sizes = integers(shape if _is_list(shape) else (shape,), "shape", name)
    if ops.broadcast_shape([value.shape, sizes], name) != sizes:
        raise violation_error(name, f"shape is {sizes}, to which {value.shape} does not broadcast")
    return ops.broadcast_to(value, sizes)


def expand_dims(value: Any, axis: Any) -> Value:
    """New dimensions of size 1, at positions in the result."""
    name = "numpy.expand_dims"
    value = _value(value, name)
    axes = axis if _is_list(axis) else (axis,)
    rank = len(value.shape) + len(axes)
    new = dimensions(axes, rank, "axis", name)
    sizes = iter(value.shape)
    return ops.reshape(value, tuple([1 if d in new else next(sizes) for d in range(rank)]))


def squeeze(value: object, axis: Any = None) -> Value:
    """Without the dimensions of size 1, or some of them."""
    name = "numpy.squeeze"
    value = _value(value, name)
    rank = len(value.shape)
    if axis is None:
        dropped: Sequence[int] = [d for d, size in enumerate(value.shape) if size == 1]
    else:
        dropped = dimensions(axis if _is_list(axis) else (axis,), rank, "axis", name)
    for d in dropped:
        if value.shape[d] != 1:
            raise violation_error(name, f"dimension {d} has size {value.shape[d]}, not 1")
    return ops.reshape(value, tuple([size for d, size in enumerate(value.shape) if d not in dropped]))


def concatenate(values: Sequence[object], axis: Any = 0, name: str = "numpy.concatenate") -> Value:
    """Values concatenated along a dimension."""
    if not values:
        raise violation_error(name, "needs at least one operand")
    tape, operands = as_traced(values, name)
    element_type = common_element_type(operands, name)
    operands = [
        cast_and_broadcast(tape, operand, shape_of(operand), element_type, name) for operand in operands
    ]
    d = dimension(axis, len(operands[0].shape), "axis", name)
    other_dimensions = {
        (*operand.shape[:d], *operand.shape[d + 1 :], len(operand.shape)) for operand in operands
    }
    if len(other_dimensions) > 1:
        shapes = ", ".join(str(operand.shape) for operand in operands)
        raise violation_error(
            name, f"operands have the shapes {shapes}, but may differ in dimension {d} alone"
        )
    first = operands[0].shape
    shape = (*first[:d], sum(operand.shape[d] for operand in operands), *first[d + 1 :])
    indices = tuple([operand.index for operand in operands])
    return tape.add("stablehlo.concatenate", indices, shape, element_type, (("dimension", d),))


def stack(values: Sequence[object], axis: Any = 0) -> Value:
    """Values of one shape along a new dimension."""
    name = "numpy.stack"
    if not values:
        raise violation_error(name, "needs at least one operand")
    tape, _ = as_traced(values, name)
    return concatenate([expand_dims(value_of(tape, value, name), axis) for value in values], axis, name)


def roll(value: object, shift: object, axis: Any) -> Value:
    """Elements shifted cyclically along a dimension."""
    name = "numpy.roll"
    operand = _value(value, name)
    (amount,) = integers((shift,), "shift", name)
    d = dimension(axis, len(operand.shape), "axis", name)
    size = operand.shape[d]
    cut = (size - amount) % size if size else 0
    if not cut:
        return operand
    full_ranges = [(0, n, 1) for n in operand.shape]
    slices = []
    for start, limit in ((cut, size), (0, cut)):
        full_ranges[d] = (start, limit, 1)
        slices.append(_slice(operand, full_ranges))
    return concatenate(slices, d, name)


def index(value: Value, key: object) -> Value:
    """Basic indexing: integers, slices, ``None`` and ``...``.

    Raises:
        VerifyError: an index is out of range, or there are too many.
        UnsupportedError: an index is an array.
    """
    name = "indexing"
    keys = list(key if isinstance(key, tuple) else (key,))
    used = sum(item is not None and item is not Ellipsis for item in keys)
    rank = len(value.shape)
    if used > rank or sum(item is Ellipsis for item in keys) > 1:
        raise violation_error(name, f"{key} does not index shape {value.shape}")
    full_slices = [slice(None)] * (rank - used)
    ellipsis_position = next((position for position, item in enumerate(keys) if item is Ellipsis), len(keys))
    keys[ellipsis_position : ellipsis_position + 1] = full_slices
    bounds: list[tuple[int, int, int]] = []
    shape: list[int] = []
    reversed_dimensions: list[int] = []
    for item in keys:
        if item is None:
            shape.append(1)
            continue
        size = value.shape[len(bounds)]
        if isinstance(item, slice):
            start, stride, count = _slice_range(item, size)
            if stride < 0:
                reversed_dimensions.append(len(bounds))
                start, stride = start + (count - 1) * stride, -stride
            shape.append(count)
            bounds.append((start, start + (count - 1) * stride + 1, stride) if count else (0, 0, 1))
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            start = dimension(item, size, f"the index of dimension {len(bounds)}", name)
            bounds.append((start, start + 1, 1))
        else:
            raise unsupported_error(name, "supports integers, slices, None and ...; use sn_gather for arrays")
    result = _slice(value, bounds)
    if reversed_dimensions:
        attributes = (("dimensions", tuple(reversed_dimensions)),)
        result = result.tape.add(
            "stablehlo.reverse", (result.index,), result.shape, result.element_type, attributes
        )
    return ops.reshape(result, tuple(shape))


def _slice_range(item: slice, size: int) -> tuple[int, int, int]:
    """Start, step and number of the elements that a slice takes."""
    positions = range(*item.indices(size))
    return positions.start, positions.step, len(positions)


def _slice(value: Value, bounds: Sequence[tuple[int, int, int]]) -> Value:
    """The elements from start to limit by stride, in each dimension."""
    starts, limits, strides = zip(*bounds, strict=True) if bounds else ((), (), ())
    shape = tuple([-(-(limit - start) // stride) for start, limit, stride in bounds])
    if shape == value.shape:
        return value
    attributes = (("start_indices", starts), ("limit_indices", limits), ("strides", strides))
    return value.tape.add("stablehlo.slice", (value.index,), shape, value.element_type, attributes)


def _value(operand: object, name: str) -> Value:
    """An operand as a value."""
    tape, _ = as_traced((operand,), name)
    return value_of(tape, operand, name)


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))
