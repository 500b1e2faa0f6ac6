"""Rewrites of gather by what its indices are: columns, counting ones, those that are filled outside.

The kernels of gather normalise, join, and fill what lies outside themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...ir import Operation, Value
from ...ops.elementwise.comparison import Compare
from ...ops.framework.op_registry import COMPONENT_GATHER, FILLED_GATHER
from ...ops.indexing.gather import Gather
from ...ops.indexing.index_space import batch_sizes
from ...ops.reduction.bodies import monoid
from ...ops.reduction.reduce import Reduce
from ...ops.shape.broadcasting import BroadcastInDim
from ...types import BOOLEAN
from ..utils.rewriter import Rewriter, constant_array, defined_by, dimensions, splat, tensor_type, viewed
from .index_components import MAX_COMPONENTS, Indices, counted_dimension, index_components_of, normalised
from .reshaping import broadcast, reshaped
from .slicing import sliced


def gather_by_columns(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A gather whose indices are put together or normalised takes them as they were before."""
    view = viewed(operation, Gather)
    operand, start_indices = operation.operands
    is_joined = defined_by(start_indices, "stablehlo.concatenate") is not None
    if not _may_be_taken_apart(view) or not (is_joined or normalised(start_indices)):
        return None
    indices = _indices_of_gather(view, start_indices, rewriter)
    indices.batch_counted(tensor_type(operand).shape)
    attributes = _column_attributes(view, indices)
    values = [operand, *[component.value for component in indices.components]]
    return rewriter.create(COMPONENT_GATHER, values, operation.result.type, attributes)


def _may_be_taken_apart(view: Gather) -> bool:
    count = len(view.start_index_map)
    return 0 < count <= MAX_COMPONENTS and all(view.slice_sizes) and view.result.size > 0


def _indices_of_gather(view: Gather, start_indices: Value, rewriter: Rewriter) -> Indices:
    vector_dim = view.index_vector_dim
    batch = [d - (d > vector_dim) for d in view.start_indices_batching_dims]
    components = index_components_of(start_indices, vector_dim, rewriter)
    pairs = list(zip(view.operand_batching_dims, batch, strict=True))
    return Indices(components, view.start_index_map, view.collapsed_slice_dims, pairs)


def _column_attributes(view: Gather, indices: Indices) -> dict[str, Any]:
    operand_dims, batch_dims = indices.pairs
    return dimensions(
        offset_dims=view.offset_dims,
        collapsed_slice_dims=indices.collapsed,
        operand_batching_dims=operand_dims,
        start_indices_batching_dims=batch_dims,
        start_index_map=indices.index_map,
        slice_sizes=view.slice_sizes,
        added_to_negative=[component.offset for component in indices.components],
    )


def select_of_gather(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A gather in whose result slices are replaced by one value where the gather moved them."""
    mask, on_true, on_false = operation.operands
    gather = defined_by(on_true, "stablehlo.gather")
    if gather is None:
        return None
    view = viewed(gather, Gather)
    operand, start_indices = gather.operands
    fill_value = _single_element(on_false, rewriter)
    if fill_value is None or not _may_be_taken_apart(view):
        return None
    if not _Bounds(view, start_indices, rewriter).are_all_of(mask):
        return None
    indices = _indices_of_gather(view, start_indices, rewriter)
    indices.batch_counted(tensor_type(operand).shape)
    values = [operand, fill_value, *[component.value for component in indices.components]]
    return rewriter.create(FILLED_GATHER, values, operation.result.type, _column_attributes(view, indices))


def _single_element(value: Value, rewriter: Rewriter) -> Value | None:
    """The element that a value is filled with, as a value of rank 0."""
    repeated = defined_by(value, "stablehlo.broadcast_in_dim")
    if repeated is not None and tensor_type(repeated.operands[0]).rank == 0:
        return repeated.operands[0]
    element = splat(value)
    return None if element is None else rewriter.constant(tensor_type(value).with_shape(()), element)


class _Bounds:
    """Whether a predicate says that all indices of a gather lie within the operand."""

    def __init__(self, view: Gather, start_indices: Value, rewriter: Rewriter) -> None:
        self.view = view
        self.start_indices = start_indices
        shape = view.operand.shape
        self.largest = [shape[d] - view.slice_sizes[d] for d in view.start_index_map]
        interval = rewriter.interval(start_indices)
        self.low = interval is not None and interval[0] >= 0
        self.high = interval is not None and interval[1] <= min(self.largest)

    def are_all_of(self, mask: Value) -> bool:
        """Whether a predicate on the result is exactly that."""
        inside = self._of_batch(mask)
        if inside is None or not all(map(self._is_bound, _conjuncts(inside))):
            return False
        return self.low and self.high

    def _of_batch(self, mask: Value) -> Value | None:
        """The predicate on index vectors whose conjunction a mask is."""
        batch_dims = self.view.batch_dims
        if self.view.offset_dims:
            repeated = defined_by(mask, "stablehlo.broadcast_in_dim")
            if repeated is None:
                return None
            if list(viewed(repeated, BroadcastInDim).broadcast_dimensions) != batch_dims:
                return None
            (mask,) = repeated.operands
        if tensor_type(mask).size != math.prod(self.view.result.shape[d] for d in batch_dims):
            return None
        return self._of_vectors(mask)

    def _of_vectors(self, mask: Value) -> Value | None:
        """What a conjunction along the index vectors is taken of."""
        if len(self.largest) == 1:
            reshape = defined_by(mask, "stablehlo.reshape")
            return mask if reshape is None else reshape.operands[0]
        reduction = defined_by(mask, "stablehlo.reduce")
        if reduction is None or len(reduction.operands) != 2:
            return None
        view = viewed(reduction, Reduce)
        if tuple(view.dimensions) != (self.view.index_vector_dim,) or monoid(view.body) != "and":
            return None
        inside, initial = reduction.operands
        is_true = inside.type.category == BOOLEAN and bool(splat(initial))
        return inside if is_true else None

    def _is_bound(self, condition: Value) -> bool:
        """Note what a comparison says; False where it says something else."""
        comparison = defined_by(condition, "stablehlo.compare")
        if comparison is None or comparison.operands[0] is not self.start_indices:
            return False
        direction = viewed(comparison, Compare).comparison_direction.value
        limits = self._limits(comparison.operands[1])
        if direction == "GE" and limits == [0] * len(self.largest):
            self.low = True
        elif direction == "LE" and limits == self.largest:
            self.high = True
        else:
            return False
        return True

    def _limits(self, value: Value) -> list[int] | None:
        """The constant with which each element of the index vectors is compared."""
        element = splat(value)
        if element is not None:
            return [int(element)] * len(self.largest)
        repeated, array = defined_by(value, "stablehlo.broadcast_in_dim"), constant_array(value)
        dim = self.view.index_vector_dim
        if repeated is not None:
            array = constant_array(repeated.operands[0])
            if list(viewed(repeated, BroadcastInDim).broadcast_dimensions) != [dim]:
                return None
            return None if array is None else [int(element) for element in array]
        if array is None or dim >= array.ndim or not array.size:
            return None
        vectors = np.moveaxis(array, dim, -1).reshape(-1, array.shape[dim])
        are_equal = bool((vectors == vectors[0]).all())
        return [int(element) for element in vectors[0]] if are_equal else None


def _conjuncts(value: Value) -> Iterator[Value]:
    """The parts of a conjunction."""
    conjunction = defined_by(value, "stablehlo.and")
    if conjunction is None:
        yield value
    else:
        for operand in conjunction.operands:
            yield from _conjuncts(operand)


def gather_of_one(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A gather of one slice is a slice at indices that are operands."""
    view = viewed(operation, Gather)
    operand, start_indices = operation.operands
    type = tensor_type(start_indices)
    batch = math.prod(batch_sizes(type.shape, view.index_vector_dim))
    if batch != 1 or not all(view.slice_sizes) or len(view.start_index_map) > MAX_COMPONENTS:
        return None
    vector = rewriter.create("stablehlo.reshape", [start_indices], type.with_shape((type.size,)))
    scalar = type.with_shape(())
    starts = [rewriter.constant(scalar, 0) for _ in view.slice_sizes]
    for number, d in enumerate(view.start_index_map):
        element = sliced(vector, ([number], [number + 1], [1]), rewriter)
        starts[d] = rewriter.create("stablehlo.reshape", [element], scalar)
    operand_slice = rewriter.create(
        "stablehlo.dynamic_slice",
        [operand, *starts],
        tensor_type(operand).with_shape(view.slice_sizes),
        dimensions(slice_sizes=view.slice_sizes),
    )
    return reshaped(operand_slice, operation.result, rewriter)


def gather_counted(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A gather that takes its slices one after the other is a slice of the operand, moved in place."""
    view = viewed(operation, Gather)
    operand, start_indices = operation.operands
    shape, sizes = tensor_type(operand).shape, view.slice_sizes
    if len(view.start_index_map) != 1 or view.operand_batching_dims or not view.result.size:
        return None
    (d,) = view.start_index_map
    dim = counted_dimension(start_indices)
    count = tensor_type(start_indices).size
    if d not in view.collapsed_slice_dims or count > shape[d] or not all(sizes):
        return None
    if dim is None or tensor_type(start_indices).shape[dim] != count:
        return None
    limits = [count if other == d else size for other, size in enumerate(sizes)]
    operand_slice = sliced(operand, ([0] * len(shape), limits, [1] * len(shape)), rewriter)
    kept_dims = [other for other in range(len(shape)) if other == d or other not in view.collapsed_slice_dims]
    narrow = tensor_type(operand).with_shape([limits[other] for other in kept_dims])
    value = rewriter.create("stablehlo.reshape", [operand_slice], narrow)
    batch_dims = view.batch_dims
    result_dim = next((axis for axis in batch_dims if view.result.shape[axis] == count), None)
    if result_dim is None:
        return None
    window = iter(view.offset_dims)
    broadcast_dims = [result_dim if other == d else next(window) for other in kept_dims]
    return broadcast(value, broadcast_dims, tensor_type(operation.result), rewriter)
