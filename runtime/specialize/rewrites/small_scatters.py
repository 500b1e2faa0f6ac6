"""Scatters of few updates take index vectors again, for that is what generated loops read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...ir import EnumAttribute, Operation, Region, StructAttribute, Value
from ...ops.framework.op_registry import COMPONENT_SCATTER
from ...types import ELEMENT_TYPES
from ..utils.constants import Budget
from ..utils.rewriter import Rewriter, tensor_type, viewed
from .slicing import concatenate

if TYPE_CHECKING:
    from ...ops.internal.component_scatter import ComponentScatter

IsFew = Callable[[Any], bool]
"""Whether a scatter, by its view, has so few updates."""

_FIELDS = (
    "update_window_dims",
    "inserted_window_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
    "scatter_dims_to_operand_dims",
    "index_vector_dim",
)


def take_index_vectors(region: Region, is_few: IsFew) -> None:
    """Put scatters in the place of those by columns that have few updates, in place."""

    def by_vectors(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
        from ...ops.internal.component_scatter import ComponentScatter

        view = viewed(operation, ComponentScatter)
        return _by_vectors(operation, view, rewriter) if is_few(view) else None

    if any(operation.name == COMPONENT_SCATTER for operation in region.walk()):
        Rewriter({COMPONENT_SCATTER: [by_vectors]}, {}, {}, Budget()).visit(region)


def _by_vectors(operation: Operation, view: ComponentScatter, rewriter: Rewriter) -> Sequence[Value]:
    count, dimension = len(view.inputs), view.index_vector_dim
    columns = operation.operands[count:-count]
    adjusted = [
        _on_end(_counted_from_start(column, added, rewriter), rewriter)
        for column, added in zip(columns, view.added_to_negative, strict=True)
    ]
    indices = concatenate(adjusted, dimension, rewriter)
    numbers = StructAttribute("stablehlo", "scatter", {name: getattr(view, name) for name in _FIELDS})
    promises = ("indices_are_sorted", "unique_indices")
    kept = {name: operation.attributes[name] for name in promises if name in operation.attributes}
    made = Operation(
        "stablehlo.scatter",
        [*operation.operands[:count], indices, *operation.operands[-count:]],
        [result.type for result in operation.results],
        {"scatter_dimension_numbers": numbers, **kept},
        operation.regions,
        operation.location,
    )
    return rewriter.insert(made)


def _counted_from_start(column: Value, added: int, rewriter: Rewriter) -> Value:
    """A column of indices of which negative ones count from the end."""
    if not added:
        return column
    type = tensor_type(column)
    is_negative = rewriter.create(
        "stablehlo.compare",
        [column, rewriter.constant(type, 0)],
        type.with_element_type(ELEMENT_TYPES["i1"]),
        {"comparison_direction": EnumAttribute("stablehlo", "comparison_direction", "LT")},
    )
    moved = rewriter.create("stablehlo.add", [column, rewriter.constant(type, added)], type)
    return rewriter.create("stablehlo.select", [is_negative, moved, column], type)


def _on_end(column: Value, rewriter: Rewriter) -> Value:
    """A column with a last dimension of one."""
    type = tensor_type(column)
    return rewriter.create("stablehlo.reshape", [column], type.with_shape((*type.shape, 1)))
