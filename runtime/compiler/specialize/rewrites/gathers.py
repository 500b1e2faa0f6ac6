"""Rewrites of gather."""

from __future__ import annotations

import math

from ....program.ir import Operation, Value, tensor_type
from ....program.ops.indexing.gather import Gather
from ....program.ops.indexing.index_space import batch_sizes
from ..framework.rewriter import Rewriter, dimensions


def gather_of_one(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A gather of one slice is a slice at indices that are operands."""
    view = Gather.of(operation)
    operand, start_indices = operation.operands
    type = tensor_type(start_indices)
    batch = math.prod(batch_sizes(type.shape, view.index_vector_dim))
    if batch != 1 or not all(view.slice_sizes):
        return None
    # Few gathers gather one slice.
    from .index_components import MAX_COMPONENTS
    from .reshaping import reshaped
    from .slicing import sliced

    if len(view.start_index_map) > MAX_COMPONENTS:
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
