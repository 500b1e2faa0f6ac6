"""Rewrites of scatter by what its indices are: counting ones, columns, and those of one window."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...ir import Operation, StructAttribute, Value
from ...ops.framework.op_registry import COMPONENT_SCATTER
from ...ops.indexing.index_space import batch_sizes
from ...ops.indexing.scatter import Scatter
from ...ops.reduction.bodies import monoid, overwrites
from ..utils.rewriter import Rewriter, constant_array, defined_by, dimensions, is_plain, tensor_type, viewed
from .index_components import (
    MAX_COMPONENTS,
    IndexComponent,
    Indices,
    component_slice,
    counted_dimension,
    index_components_of,
    normalised,
)
from .slicing import concatenate


def scatter_counted(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
    """A scatter whose indices count along a dimension has batching dimensions."""
    if not is_plain(operation):
        return None
    view = viewed(operation, Scatter)
    count, vector_dim = len(view.inputs), view.index_vector_dim
    start_indices, index_map = operation.operands[count], view.scatter_dims_to_operand_dims
    if not 1 < len(index_map) <= MAX_COMPONENTS or not _has_iota_component(start_indices):
        return None
    batch = [d - (d > vector_dim) for d in view.scatter_indices_batching_dims]
    components = [
        IndexComponent(value, 0) for value in _unnormalized_components(start_indices, vector_dim, rewriter)
    ]
    pairs = list(zip(view.input_batching_dims, batch, strict=True))
    indices = Indices(components, index_map, view.inserted_window_dims, pairs)
    struct = operation.attributes.get("scatter_dimension_numbers")
    if not isinstance(struct, StructAttribute) or not indices.batch_counted(view.inputs[0].shape):
        return None
    operand_dims, batch_dims = indices.pairs
    fields = {
        **struct.fields,
        "inserted_window_dims": tuple(indices.collapsed),
        "input_batching_dims": tuple(operand_dims),
        "scatter_indices_batching_dims": tuple([d + (d >= vector_dim) for d in batch_dims]),
        "scatter_dims_to_operand_dims": tuple(indices.index_map),
    }
    remaining_indices = _side_by_side(
        [component.value for component in indices.components], vector_dim, rewriter
    )
    numbers = StructAttribute(struct.dialect, struct.mnemonic, fields)
    replacement = Operation(
        operation.name,
        [*operation.operands[:count], remaining_indices, *operation.operands[count + 1 :]],
        [result.type for result in operation.results],
        {**operation.attributes, "scatter_dimension_numbers": numbers},
        operation.regions,
        operation.location,
    )
    return rewriter.insert(replacement)


def scatter_by_columns(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
    """A scatter whose indices are put together or normalised takes them as they were before, if a kernel
    serves it."""
    view = viewed(operation, Scatter)
    count, index_map = len(view.inputs), view.scatter_dims_to_operand_dims
    start_indices = operation.operands[count]
    is_joined = defined_by(start_indices, "stablehlo.concatenate") is not None
    if not 0 < len(index_map) <= MAX_COMPONENTS or not (is_joined or normalised(start_indices)):
        return None
    windows = math.prod(batch_sizes(view.scatter_indices.shape, view.index_vector_dim))
    if windows < 2 or not view.updates[0].size or not _is_served(view):
        return None
    vector_dim = view.index_vector_dim
    components = index_components_of(start_indices, vector_dim, rewriter)
    attributes = dimensions(
        update_window_dims=view.update_window_dims,
        inserted_window_dims=view.inserted_window_dims,
        input_batching_dims=view.input_batching_dims,
        scatter_indices_batching_dims=[d - (d > vector_dim) for d in view.scatter_indices_batching_dims],
        scatter_dims_to_operand_dims=index_map,
        added_to_negative=[component.offset for component in components],
    )
    promise_names = ("indices_are_sorted", "unique_indices")
    promise_attributes = (
        {name: operation.attributes[name] for name in promise_names if name in operation.attributes}
    )
    replacement = Operation(
        COMPONENT_SCATTER,
        [
            *operation.operands[:count],
            *[component.value for component in components],
            *operation.operands[count + 1 :],
        ],
        [result.type for result in operation.results],
        {**attributes, **promise_attributes},
        operation.regions,
        operation.location,
    )
    return rewriter.insert(replacement)


def _is_served(view: Scatter) -> bool:
    """Whether a kernel may know the body: it overwrites, or is a monoid on types that NumPy computes with."""
    if view.results != view.inputs:
        return False
    body = view.update_computation
    if overwrites(body):
        return True
    is_computed = all(type.dtype.isbuiltin == 1 or type.dtype.name == "bfloat16" for type in view.inputs)
    return is_computed and monoid(body) is not None


def _has_iota_component(start_indices: Value) -> bool:
    """Whether an input of a concatenation counts along a dimension."""
    concatenation = defined_by(start_indices, "stablehlo.concatenate")
    return concatenation is not None and any(
        counted_dimension(part) is not None for part in concatenation.operands
    )


def _unnormalized_components(start_indices: Value, vector_dim: int, rewriter: Rewriter) -> list[Value]:
    """The columns of index vectors as they are."""
    type = tensor_type(start_indices)
    like = type.with_shape([size for d, size in enumerate(type.shape) if d != vector_dim])
    cuts = [
        component_slice(
            start_indices, vector_dim, number, rewriter
        ) for number in range(type.shape[vector_dim])
    ]
    return [rewriter.create("stablehlo.reshape", [vector_slice], like) for vector_slice in cuts]


def _side_by_side(components: Sequence[Value], vector_dim: int, rewriter: Rewriter) -> Value:
    """Index vectors of columns."""
    shaped = []
    for component in components:
        shape = list(tensor_type(component).shape)
        shape.insert(vector_dim, 1)
        type = tensor_type(component).with_shape(shape)
        shaped.append(rewriter.create("stablehlo.reshape", [component], type))
    return concatenate(shaped, vector_dim, rewriter)


def scatter_of_one(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
    """A scatter that overwrites one window, which lies within the operand, is an update of a slice."""
    if not is_plain(operation) or len(operation.operands) != 3:
        return None
    view = viewed(operation, Scatter)
    operand, start_indices, updates = operation.operands
    array, shape = constant_array(start_indices), tensor_type(operand).shape
    batch = math.prod(batch_sizes(tensor_type(start_indices).shape, view.index_vector_dim))
    if array is None or batch != 1 or not tensor_type(updates).size:
        return None
    if not overwrites(view.update_computation):
        return None
    if operand.type != operation.results[0].type:
        return None
    if tensor_type(updates).element_type != tensor_type(operand).element_type:
        return None
    sizes = view.window_sizes
    starts = [0] * len(shape)
    for d, start in zip(view.scatter_dims_to_operand_dims, array.reshape(-1), strict=True):
        starts[d] = int(start)
    if any(not 0 <= start <= extent - size for start, extent, size in zip(starts, shape, sizes, strict=True)):
        return None
    scalar = tensor_type(start_indices).with_shape(())
    update = rewriter.create("stablehlo.reshape", [updates], tensor_type(operand).with_shape(sizes))
    operands = [operand, update, *[rewriter.constant(scalar, start) for start in starts]]
    return (rewriter.create("stablehlo.dynamic_update_slice", operands, operation.results[0].type),)
