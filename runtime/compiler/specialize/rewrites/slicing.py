"""Rewrites of slices, pads, concatenations, and dynamic slices at constant indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ....program.ir import Operation, Value, tensor_type
from ....program.ops.framework.attribute_kinds import I64
from ....program.ops.shape.broadcasting import BroadcastInDim
from ....program.ops.shape.layout import Concatenate, Transpose
from ....program.ops.shape.slicing import Pad, Slice, sliced_shape
from ..framework.rewriter import (
    Rewriter,
    defined_by,
    defining_operation,
    dimensions,
    is_static_unquantized,
    splat,
)
from .reshaping import broadcast

Ranges = tuple[Sequence[int], Sequence[int], Sequence[int]]

MAX_INPUTS: Final = 64
"""Maximum number of inputs of a concatenation that absorbs others."""


def sliced(value: Value, ranges: Ranges, rewriter: Rewriter) -> Value:
    """The slice of a value at ``(start_indices, limit_indices, strides)``."""
    start_indices, limit_indices, strides = ranges
    type = tensor_type(value).with_shape(sliced_shape(*ranges))
    attributes = dimensions(start_indices=start_indices, limit_indices=limit_indices, strides=strides)
    return rewriter.create("stablehlo.slice", [value], type, attributes)


def slice_of_slice(operation: Operation, rewriter: Rewriter) -> Value | None:
    inner = defined_by(operation.operands[0], operation.name)
    if inner is None:
        return None
    first, second = Slice.of(inner), Slice.of(operation)
    starts = [
        start + stride * begin
        for start, stride, begin in zip(first.start_indices, first.strides, second.start_indices, strict=True)
    ]
    strides = [stride * more for stride, more in zip(first.strides, second.strides, strict=True)]
    sizes = tensor_type(operation.result).shape
    limits = [
        start + stride * (size - 1) + 1 if size else start
        for start, stride, size in zip(starts, strides, sizes, strict=True)
    ]
    if any(limit > size for limit, size in zip(limits, tensor_type(inner.operands[0]).shape, strict=True)):
        return None
    return sliced(inner.operands[0], (starts, limits, strides), rewriter)


def slice_of_broadcast(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A slice of a broadcast is a broadcast of a slice of its operand; so for a transpose."""
    inner = defining_operation(operation.operands[0])
    if inner is None:
        return None
    view, type = Slice.of(operation), tensor_type(operation.result)
    if inner.name == "stablehlo.transpose":
        permutation = Transpose.of(inner).permutation
        order = [permutation.index(d) for d in range(len(permutation))]
        starts, limits, strides = [[values[axis] for axis in order] for values in view.ranges()]
        cut = sliced(inner.operands[0], (starts, limits, strides), rewriter)
        return rewriter.create(inner.name, [cut], type, inner.attributes)
    if inner.name != "stablehlo.broadcast_in_dim":
        return None
    (source,) = inner.operands
    to, shape = BroadcastInDim.of(inner).broadcast_dimensions, tensor_type(source).shape
    repeats_dim = [size == 1 < tensor_type(inner.result).shape[d] for size, d in zip(shape, to, strict=True)]
    if 0 in type.shape:
        return None
    starts, limits, strides = [
        [default if repeats_dim[d] else values[to[d]] for d in range(len(shape))]
        for values, default in zip(view.ranges(), (0, 1, 1), strict=True)
    ]
    return broadcast(sliced(source, (starts, limits, strides), rewriter), to, type, rewriter)


def slice_of_concatenate(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A slice of a concatenation needs only the inputs that it touches."""
    inner = defined_by(operation.operands[0], "stablehlo.concatenate")
    if inner is None:
        return None
    dimension = Concatenate.of(inner).dimension
    starts, limits, strides = map(list, Slice.of(operation).ranges())
    low, high = starts[dimension], limits[dimension]
    if low >= high:
        return None
    touched: list[Value] = []
    before, begin = 0, 0
    for value in inner.operands:
        size = tensor_type(value).shape[dimension]
        if before < high and before + size > low and size:
            begin = begin if touched else before
            touched.append(value)
        before += size
    if len(touched) == len(inner.operands):
        return None
    starts[dimension], limits[dimension] = low - begin, high - begin
    return sliced(concatenate(touched, dimension, rewriter), (starts, limits, strides), rewriter)


def concatenate(values: Sequence[Value], dimension: int, rewriter: Rewriter) -> Value:
    if len(values) == 1:
        return values[0]
    shape = list(tensor_type(values[0]).shape)
    shape[dimension] = sum(tensor_type(value).shape[dimension] for value in values)
    type = tensor_type(values[0]).with_shape(shape)
    return rewriter.create("stablehlo.concatenate", values, type, {"dimension": I64.encode(dimension)})


def identity_pad(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A pad that adds nothing is its operand or, where it removes elements, a slice."""
    operand, _ = operation.operands
    view = Pad.of(operation)
    low, high, interior = view.amounts()
    shape = tensor_type(operand).shape
    inside = [amount for amount, size in zip(interior, shape, strict=True) if size > 1]
    if any(amount > 0 for amount in (*low, *high, *inside)):
        return None
    starts = [-amount for amount in low]
    limits = [size + amount for size, amount in zip(shape, high, strict=True)]
    if any(start > limit for start, limit in zip(starts, limits, strict=True)):
        return None
    if not any(low) and not any(high):
        return operand
    return sliced(operand, (starts, limits, (1,) * len(shape)), rewriter)


def flatten_concatenate(operation: Operation, rewriter: Rewriter) -> Value | None:
    """Drop empty inputs, replace a single input by itself, and flatten nested concatenations."""
    dimension = Concatenate.of(operation).dimension
    inputs: list[Value] = []
    for value in operation.operands:
        inner = defined_by(value, operation.name)
        if inner is not None and Concatenate.of(inner).dimension == dimension:
            inputs += inner.operands
        elif tensor_type(value).shape[dimension]:
            inputs.append(value)
    if len(inputs) > max(MAX_INPUTS, len(operation.operands)):
        return None
    if len(inputs) == 1 or tuple(inputs) != tuple(operation.operands):
        return concatenate(inputs, dimension, rewriter)
    return None


def dynamic_slice_at_constants(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A slice at constant indices, which are moved so that it lies within the tensor."""
    from ....program.ops.indexing.dynamic_slice import DynamicSlice

    operand, *start_indices = operation.operands
    view = DynamicSlice.of(operation)
    starts = clamped_starts(start_indices, tensor_type(operand).shape, view.slice_sizes)
    if None in starts:
        return None
    starts_or_zero = [start or 0 for start in starts]
    limits = [start + size for start, size in zip(starts_or_zero, view.slice_sizes, strict=True)]
    return sliced(operand, (starts_or_zero, limits, (1,) * len(starts_or_zero)), rewriter)


def clamped_starts(
    start_indices: Sequence[Value], shape: Sequence[int], sizes: Sequence[int]
) -> list[int | None]:
    """The clamped start indices of windows; None for each that is unknown."""
    starts: list[int | None] = []
    for index, extent, size in zip(start_indices, shape, sizes, strict=True):
        element = splat(index)
        if size == extent:
            starts.append(0)
        elif element is None:
            starts.append(None)
        else:
            starts.append(min(max(int(element), 0), extent - size))
    return starts


def dynamic_slice_whole_dimensions(operation: Operation, rewriter: Rewriter) -> Value | None:
    """Replace the starts of full-size dimensions by 0, to which any start is clamped."""
    from ....program.ops.indexing.dynamic_slice import DynamicSlice

    sizes, shape = DynamicSlice.of(operation).slice_sizes, tensor_type(operation.operands[0]).shape
    operands = list(operation.operands)
    for d, start in enumerate(operation.operands[1:]):
        if shape[d] == sizes[d] and splat(start) is None and is_static_unquantized(start):
            operands[1 + d] = rewriter.constant(tensor_type(start), 0)
    if operands == list(operation.operands):
        return None
    return rewriter.create(operation.name, operands, operation.result.type, operation.attributes)
