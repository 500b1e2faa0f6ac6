"""Makes scatters drop every element of a window that is partly out of bounds.

See `Options(scatter_out_of_bounds="window")`.
"""

from __future__ import annotations

from ....program.ir import Operation, Region
from ....program.ops.framework.declaration import Op
from ....program.ops.indexing.scatter_rules import multi_element_components, window_extents
from ....program.ops.intermediate.partial_windows import (
    EXCLUDE_PARTIAL_WINDOWS,
    ExcludePartialWindows,
    may_drop_windows,
)
from ....types import ELEMENT_TYPES, TensorType
from ..framework.rewriter import Rewriter, defined_by


def exclude_partial_windows(region: Region) -> None:
    """Exclude partial windows from each scatter of a region, nested regions included, in place."""
    operations: list[Operation] = []
    for operation in region.block.operations:
        for inner in operation.regions:
            exclude_partial_windows(inner)
        if operation.name == "stablehlo.scatter" and may_drop_windows(Op.of(operation)):
            operations.append(_exclude_partial_windows_of(operation))
        operations.append(operation)
    region.block.operations = operations


def _exclude_partial_windows_of(scatter: Operation) -> Operation:
    """Make a scatter read its indices from a new `exclude_partial_windows`; returns the new operation."""
    position = len(scatter.operands) // 2
    indices = scatter.operands[position]
    assert isinstance(indices.type, TensorType)
    numbers = {"scatter_dimension_numbers": scatter.attributes["scatter_dimension_numbers"]}
    operands = [scatter.operands[0], indices, scatter.operands[position + 1]]
    type = indices.type.with_element_type(ELEMENT_TYPES["i64"])
    exclusion = Operation(EXCLUDE_PARTIAL_WINDOWS, operands, [type], numbers, (), scatter.location)
    scatter.operands = (*scatter.operands[:position], exclusion.result, *scatter.operands[position + 1 :])
    return exclusion


def remove_needless_exclusion(scatter: Operation, rewriter: Rewriter) -> None:
    """Make a scatter read its own indices again if their bounds show that no window is partly out of bounds.

    JAX clamps the indices of most scatters whose windows have more than one element along them.
    """
    position = len(scatter.operands) // 2
    exclusion = defined_by(scatter.operands[position], EXCLUDE_PARTIAL_WINDOWS)
    if exclusion is not None and _fits(exclusion, rewriter):
        operands = list(scatter.operands)
        operands[position] = exclusion.operands[1]
        scatter.operands = tuple(operands)
        rewriter.rewrite_count += 1


def _fits(exclusion: Operation, rewriter: Rewriter) -> bool:
    view = ExcludePartialWindows.of(exclusion)
    operand, updates = view.input, view.update
    extents = window_extents(view, operand.rank, updates.shape)
    for component in multi_element_components(view, operand.rank, updates.shape):
        interval = rewriter.interval_along(exclusion.operands[1], view.index_vector_dim, component)
        d = view.scatter_dims_to_operand_dims[component]
        if interval is None or interval[0] < 0 or interval[1] > operand.shape[d] - extents[d]:
            return False
    return True
