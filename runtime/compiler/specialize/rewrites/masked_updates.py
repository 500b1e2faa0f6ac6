"""Rewrites of selections between an array and its update."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence

from ....program.ir import Block, Builder, Operation, Value, plain_element_type, tensor_type
from ....program.ops.shape.broadcasting import BroadcastInDim
from ....types import storage_range
from ..framework.rewriter import Rewriter, defined_by, dimensions


def select_of_update(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A selection between an array and its update becomes an update that may change nothing.

    JAX selects so in loops whose iterations it batches: each batch has ended or goes on. Selecting all
    elements would take longer than updating some.
    """
    pred, on_true, on_false = operation.operands
    for updated, array, is_updated in ((on_true, on_false, True), (on_false, on_true, False)):
        scatter = defined_by(updated, "stablehlo.scatter")
        if scatter is not None and len(scatter.operands) == 3 and scatter.operands[0] is array:
            return _masked_scatter(scatter, pred, is_updated, rewriter)
        slice_update = defined_by(updated, "stablehlo.dynamic_update_slice")
        if slice_update is not None and slice_update.operands[0] is array:
            return _masked_slice_update(slice_update, pred, is_updated, rewriter)
    return None


def _masked_scatter(scatter: Operation, pred: Value, is_updated: bool, rewriter: Rewriter) -> Value | None:
    """A scatter whose index vectors are out of bounds, so that it drops the updates, for some batches.

    Args:
        pred: what selects the updated elements; all elements of a batch alike.
        is_updated: the value of `pred` for them.
    """
    from ....program.ops.indexing.scatter import Scatter  # most programs that select have no scatter

    view = Scatter.of(scatter)
    indices = scatter.operands[1]
    shape, type = view.inputs[0].shape, tensor_type(indices)
    batch_dims = dict(zip(view.input_batching_dims, view.scatter_indices_batching_dims, strict=True))
    beyond = max([shape[d] for d in view.scatter_dims_to_operand_dims], default=0)
    source = _varying_only_along(pred, shape, batch_dims)
    _, largest = storage_range(plain_element_type(indices))
    if source is None or not 0 < beyond <= largest or view.results != view.inputs:
        return None
    mask, dims = source
    if tensor_type(pred).rank:
        attributes = dimensions(broadcast_dimensions=[batch_dims[d] for d in dims])
        booleans = type.with_element_type(tensor_type(pred).element_type)
        mask = rewriter.create("stablehlo.broadcast_in_dim", [mask], booleans, attributes)
    outside = rewriter.constant(type, beyond)
    branches = [indices, outside] if is_updated else [outside, indices]
    masked = rewriter.create("stablehlo.select", [mask, *branches], type)
    replacement = Builder(Block()).copy(scatter, {indices: masked})
    replacement.attributes = {
        name: value for name, value in scatter.attributes.items() if name != "indices_are_sorted"
    }
    (result,) = rewriter.insert(replacement)
    return result


def _varying_only_along(
    pred: Value, shape: Sequence[int], allowed: Container[int]
) -> tuple[Value, Sequence[int]] | None:
    """The value of which a predicate is a broadcast, and the dimensions of `shape` along which it varies.

    None if it may vary along a dimension that is not allowed.
    """
    if not tensor_type(pred).rank:
        return pred, ()
    broadcast = defined_by(pred, "stablehlo.broadcast_in_dim")
    if broadcast is None:
        return None
    source, dims = broadcast.operands[0], BroadcastInDim.of(broadcast).broadcast_dimensions
    sizes = [shape[d] for d in dims]
    is_allowed = all(d in allowed for d in dims) and list(tensor_type(source).shape) == sizes
    return (source, dims) if is_allowed else None


def _masked_slice_update(
    slice_update: Operation, pred: Value, is_updated: bool, rewriter: Rewriter
) -> Value | None:
    """An update of a slice by itself where a predicate, one for all elements, does not select the update."""
    array, update, *starts = slice_update.operands
    sizes = tensor_type(update).shape
    if tensor_type(pred).rank or 2 * math.prod(sizes) > tensor_type(array).size:
        return None
    before = rewriter.create(
        "stablehlo.dynamic_slice", [array, *starts], update.type, dimensions(slice_sizes=sizes)
    )
    branches = [update, before] if is_updated else [before, update]
    chosen = rewriter.create("stablehlo.select", [pred, *branches], update.type)
    return rewriter.create("stablehlo.dynamic_update_slice", [array, chosen, *starts], array.type)
