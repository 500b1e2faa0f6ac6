"""Lets scatters drop windows as a whole: `Options(scatter_out_of_bounds="window")`."""

from __future__ import annotations

from ...ir import Operation, Region
from ...ops.framework.verify import view_of
from ...ops.internal.whole_windows import (
    WHOLE_WINDOWS,
    WholeWindows,
    may_drop_windows,
    wide_components,
    window_extents,
)
from ...types import ELEMENT_TYPES, TensorType
from ..utils.rewriter import Rewriter, defined_by, viewed


def drop_whole_windows(region: Region) -> None:
    """Let each scatter of a region, nested ones included, take indices whose windows fit or are far away."""
    operations: list[Operation] = []
    for operation in region.block.operations:
        for inner in operation.regions:
            drop_whole_windows(inner)
        if operation.name == "stablehlo.scatter" and may_drop_windows(view_of(operation)):
            operations.append(_with_clipped_indices(operation))
        operations.append(operation)
    region.block.operations = operations


def _with_clipped_indices(scatter: Operation) -> Operation:
    """Give a scatter the result of a new operation as its indices; returns that."""
    position = len(scatter.operands) // 2
    indices = scatter.operands[position]
    assert isinstance(indices.type, TensorType)
    numbers = {"scatter_dimension_numbers": scatter.attributes["scatter_dimension_numbers"]}
    operands = [scatter.operands[0], indices, scatter.operands[position + 1]]
    type = indices.type.with_element_type(ELEMENT_TYPES["i64"])
    whole_windows = Operation(WHOLE_WINDOWS, operands, [type], numbers, (), scatter.location)
    scatter.operands = (*scatter.operands[:position], whole_windows.result, *scatter.operands[position + 1 :])
    return whole_windows


def take_indices_that_fit(scatter: Operation, rewriter: Rewriter) -> None:
    """Give a scatter its own indices again where their bounds tell that no window lies partly outside.

    JAX clamps the indices of most scatters whose windows have more than one element along them.
    """
    position = len(scatter.operands) // 2
    whole_windows = defined_by(scatter.operands[position], WHOLE_WINDOWS)
    if whole_windows is not None and _fits(whole_windows, rewriter):
        operands = list(scatter.operands)
        operands[position] = whole_windows.operands[1]
        scatter.operands = tuple(operands)
        rewriter.rewrite_count += 1


def _fits(whole_windows: Operation, rewriter: Rewriter) -> bool:
    view = viewed(whole_windows, WholeWindows)
    operand, updates = view.input, view.update
    extents = window_extents(view, operand.rank, updates.shape)
    for component in wide_components(view, operand.rank, updates.shape):
        interval = rewriter.interval_along(whole_windows.operands[1], view.index_vector_dim, component)
        d = view.scatter_dims_to_operand_dims[component]
        if interval is None or interval[0] < 0 or interval[1] > operand.shape[d] - extents[d]:
            return False
    return True
