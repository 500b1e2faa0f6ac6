"""Lets scatters leave out whole windows: `Options(scatter_out_of_bounds="window")`."""

from __future__ import annotations

from typing import cast

from ..ir import Operation, Region
from ..ops.rules import constant_operand
from ..ops.scatter import Scatter
from ..ops.verify import view_of
from ..ops.whole_windows import WHOLE_WINDOWS, starts_outside
from ..types import ELEMENT_TYPES, TensorType


def drop_whole_windows(region: Region) -> None:
    """Let each scatter of a region, nested ones included, take indices whose windows fit or are far away."""
    operations: list[Operation] = []
    for operation in region.block.operations:
        for inner in operation.regions:
            drop_whole_windows(inner)
        if operation.name == "stablehlo.scatter" and _may_drop(operation):
            operations.append(_with_moved_indices(operation))
        operations.append(operation)
    region.block.operations = operations


def _may_drop(scatter: Operation) -> bool:
    """Whether a window may lie in part outside; one of a single element is left out by every scatter."""
    position = len(scatter.operands) // 2
    types = [scatter.operands[0].type, scatter.operands[position + 1].type]
    indices = constant_operand(scatter, position)
    view = cast(Scatter, view_of(scatter))
    tensors = [type for type in types if isinstance(type, TensorType) and type.is_static]
    if indices is not None and len(tensors) == 2:
        _, outside = starts_outside(view, tensors[0].shape, indices, tensors[1].shape)
        return bool(outside.any())
    return bool(view.update_window_dims)


def _with_moved_indices(scatter: Operation) -> Operation:
    """Give a scatter the result of a new operation as its indices; returns that."""
    position = len(scatter.operands) // 2
    indices = scatter.operands[position]
    assert isinstance(indices.type, TensorType)
    numbers = {"scatter_dimension_numbers": scatter.attributes["scatter_dimension_numbers"]}
    operands = [scatter.operands[0], indices, scatter.operands[position + 1]]
    type = indices.type.with_element_type(ELEMENT_TYPES["i64"])
    moved = Operation(WHOLE_WINDOWS, operands, [type], numbers, (), scatter.location)
    scatter.operands = (*scatter.operands[:position], moved.result, *scatter.operands[position + 1 :])
    return moved
