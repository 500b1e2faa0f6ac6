"""Gathers as functions of loop indices: the operand element that each result element copies."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Final, cast

from ...program.ir import Operation, Value
from ...program.ir.affine import AffineExpr, Box
from ...program.ir.record import Record
from ...program.ops.framework.declaration import Op
from ..specialize.framework.operation_classes import is_gather
from ..specialize.framework.rewriter import has_static_unquantized_types
from .movement_index_map import copied_element

if TYPE_CHECKING:
    from ...program.ops.indexing.gather import Gather

MIN_CONTIGUOUS: Final = 16
"""Contiguous elements of a slice from which on an inner loop over them is faster."""


class DynamicIndex(Record):
    """A start index of slices along a dimension of the operand.

    Attributes:
        value, indices: the element with the index.
        dimension: the dimension of the operand.
        largest: the last index at which a slice is within the operand.
    """

    value: Value
    indices: tuple[AffineExpr, ...]
    dimension: int
    largest: int


class GatherMap(Record):
    """The operand element that an element of a gather's result copies.

    Attributes:
        indices: in the operand, if all dynamic indices are 0.
        dynamic_indices: the indices to add.
    """

    indices: tuple[AffineExpr, ...]
    dynamic_indices: tuple[DynamicIndex, ...]


def gather_map_of(operation: Operation, indices: Sequence[AffineExpr], loops: int) -> GatherMap:
    """The operand element that a gather's result at `indices`, in `loops` loops, copies."""
    view = _gather_view(operation)
    zero = AffineExpr(0, (0,) * loops)
    batch = [indices[d] for d in view.batch_dims]
    batch_of = {d: d - (d > view.index_vector_dim) for d in view.start_indices_batching_dims}
    operand_indices = [zero] * view.operand.rank
    for d, other in zip(view.operand_batching_dims, view.start_indices_batching_dims, strict=True):
        operand_indices[d] = batch[batch_of[other]]
    for d, result_dim in view.windowed_dims.items():
        operand_indices[d] = indices[result_dim]
    dynamic_indices = []
    for number, d in enumerate(view.start_index_map):
        largest = view.operand.shape[d] - view.slice_sizes[d]
        if largest:
            element_indices = list(batch)
            if view.index_vector_dim < view.start_indices.rank:
                element_indices.insert(view.index_vector_dim, zero._replace(offset=number))
            dynamic_indices.append(DynamicIndex(operation.operands[1], tuple(element_indices), d, largest))
    return GatherMap(tuple(operand_indices), tuple(dynamic_indices))


def read_through_views(
    array: Value, gather_map: GatherMap, box: Box, memory: Container[Value]
) -> tuple[Value, list[AffineExpr]]:
    """The array in memory that a gather reads through views, and the indices into it.

    The indices are functions of the loops of the box, and of one more loop for each dynamic index.
    """
    count = len(gather_map.dynamic_indices)
    indices = [AffineExpr(expr.offset, expr.strides + (0,) * count) for expr in gather_map.indices]
    for number, index in enumerate(gather_map.dynamic_indices):
        stride = [0] * (len(box) + count)
        stride[len(box) + number] = 1
        indices[index.dimension] = indices[index.dimension].plus(AffineExpr(0, tuple(stride)))
    extended_box = (*box, *[(0, index.largest + 1) for index in gather_map.dynamic_indices])
    while array not in memory:
        assert isinstance(array.owner, Operation)
        array, source_indices = copied_element(array.owner, indices, extended_box)
        indices = list(source_indices)
    return array, indices


def has_gather_map(operation: Operation) -> bool:
    """Whether an operation is a gather for which `gather_map_of` gives a map."""
    if not is_gather(operation) or not has_static_unquantized_types(operation):
        return False
    view = _gather_view(operation)
    return bool(view.result.size) and all(view.slice_sizes)


def _gather_view(operation: Operation) -> Gather:
    return cast("Gather", Op.of(operation))


def contiguous_length(operation: Operation) -> int:
    """The number of elements of a slice that are contiguous in the result of a gather; 1 if neighbours belong
    to different slices.
    """
    dimension = _last_offset(operation)
    return 1 if dimension is None else _gather_view(operation).slice_sizes[dimension]


def gathers_elements(operation: Operation) -> bool:
    """Whether an operation is a gather of single elements that has a map."""
    return has_gather_map(operation) and contiguous_length(operation) == 1


def _last_offset(operation: Operation) -> int | None:
    """The operand dimension of the result's last dimension that is not of size 1; None: that is a batch
    dimension.
    """
    view = _gather_view(operation)
    last = next((d for d in reversed(range(view.result.rank)) if view.result.shape[d] > 1), None)
    return next((d for d, result_dim in view.windowed_dims.items() if result_dim == last), None)
