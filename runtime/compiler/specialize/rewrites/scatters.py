"""Rewrites of scatter: separate index components, a single window as dynamic_update_slice."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....program.ir import Operation, Value, tensor_type
from ....program.ops.framework.op_registry import COMPONENT_SCATTER
from ....program.ops.indexing.index_space import batch_sizes
from ....program.ops.indexing.scatter import Scatter
from ....program.ops.reduction.bodies import monoid, overwrites
from ..framework.rewriter import (
    Rewriter,
    constant_array,
    defined_by,
    dimensions,
    has_static_unquantized_types,
)
from .index_components import MAX_COMPONENTS, index_components_of, wrapped_index


def scatter_by_components(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
    """A scatter that a kernel serves takes the components of wrapped or concatenated index vectors."""
    view = Scatter.of(operation)
    count, index_map = len(view.inputs), view.scatter_dims_to_operand_dims
    start_indices = operation.operands[count]
    is_joined = defined_by(start_indices, "stablehlo.concatenate") is not None
    if not 0 < len(index_map) <= MAX_COMPONENTS or not (is_joined or wrapped_index(start_indices)):
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


def scatter_of_one(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
    """A scatter that overwrites one window, which lies within the operand, is an update of a slice."""
    if not has_static_unquantized_types(operation) or len(operation.operands) != 3:
        return None
    view = Scatter.of(operation)
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
