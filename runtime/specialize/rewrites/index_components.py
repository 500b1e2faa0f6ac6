"""The columns of which index vectors are made: before they are normalised, and which of them only count.

JAX normalises indices (``select(i < 0, i + n, i)``), puts them side by side by a concatenation, and counts by
an iota along dimensions that operand and indices share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from ...ir import Operation, Value
from ...ops.elementwise.comparison import Compare
from ...ops.shape.broadcasting import BroadcastInDim
from ...ops.shape.creation import Iota
from ...ops.shape.layout import Concatenate
from ...types import INTEGER, SIGNED
from ..utils.constants import MAX_ELEMENTS
from ..utils.rewriter import (
    Rewriter,
    constant_array,
    defined_by,
    defining_operation,
    is_splat_of,
    splat,
    tensor_type,
    viewed,
)
from .slicing import sliced

MAX_COMPONENTS: Final = 8
"""Longest index vectors that are taken apart."""


class Column(NamedTuple):
    """One element of all index vectors.

    Attributes:
        value: the indices, of the batch's shape.
        added: what is added to those that are negative.
    """

    value: Value
    added: int


def columns_of(start_indices: Value, index_vector_dim: int, rewriter: Rewriter) -> list[Column]:
    """The columns of start indices; index vectors must not be longer than MAX_COMPONENTS."""
    source, added = _before_normalisation(start_indices, rewriter)
    type = tensor_type(source)
    concatenation = defined_by(source, "stablehlo.concatenate")
    if concatenation is not None and viewed(concatenation, Concatenate).dimension == index_vector_dim:
        parts = [columns_of(part, index_vector_dim, rewriter) for part in concatenation.operands]
        columns = [column for part in parts for column in part]
        if not added:
            return columns
        if not any(column.added for column in columns):
            return [Column(column.value, added) for column in columns]
    like = type.with_shape([size for d, size in enumerate(type.shape) if d != index_vector_dim])
    columns = []
    for number in range(type.shape[index_vector_dim] if index_vector_dim < type.rank else 1):
        cut = cut_column(source, index_vector_dim, number, rewriter)
        column = rewriter.create("stablehlo.reshape", [cut], like)
        before, more = (column, added) if added else _before_normalisation(column, rewriter)
        columns.append(Column(before, more))
    return columns


def cut_column(value: Value, index_vector_dim: int, number: int, rewriter: Rewriter) -> Value:
    """One element of all index vectors, as a slice."""
    type = tensor_type(value)
    if index_vector_dim >= type.rank:
        return value
    starts, limits = [0] * type.rank, list(type.shape)
    starts[index_vector_dim], limits[index_vector_dim] = number, number + 1
    return sliced(value, (starts, limits, [1] * type.rank), rewriter)


_MOVED: Final = frozenset(
    {"stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.slice", "stablehlo.transpose"}
)


def _moved(value: Value) -> Operation | None:
    """The operation that made a value of another's elements, or widened them; None where none did."""
    owner = defining_operation(value)
    if owner is None:
        return None
    if owner.name == "stablehlo.convert":
        source, target = tensor_type(owner.operands[0]).element_type, tensor_type(value).element_type
        widens = source.category == target.category == SIGNED and source.width <= target.width
        return owner if widens else None
    return owner if owner.name in _MOVED else None


def _before_normalisation(value: Value, rewriter: Rewriter) -> tuple[Value, int]:
    """The x and n of ``select(x < 0, x + n, x)``, in the value's shape, or (value, 0)."""
    found = normalised(value)
    if found is None:
        return value, 0
    moves: list[Operation] = []
    source = value
    while (move := _moved(source)) is not None:
        moves.append(move)
        source = move.operands[0]
    before, added = found
    for move in reversed(moves):
        before = rewriter.create(move.name, [before], move.result.type, move.attributes)
    return before, added


def normalised(value: Value) -> Column | None:
    """The x and n of ``select(x < 0, x + n, x)``, behind operations that only move elements; else None."""
    while (move := _moved(value)) is not None:
        value = move.operands[0]
    selected = defined_by(value, "stablehlo.select")
    if selected is None:
        return None
    pred, on_true, on_false = selected.operands
    comparison, addition = defined_by(pred, "stablehlo.compare"), defined_by(on_true, "stablehlo.add")
    if comparison is None or addition is None or tensor_type(on_false).category != SIGNED:
        return None
    if viewed(comparison, Compare).comparison_direction.value != "LT":
        return None
    if comparison.operands[0] is not on_false or not is_splat_of(comparison.operands[1], 0.0):
        return None
    lhs, rhs = addition.operands
    added = splat(rhs if lhs is on_false else lhs)
    if on_false not in (lhs, rhs) or added is None or int(added) <= 0:
        return None
    return Column(on_false, int(added))


def counted_dimension(value: Value) -> int | None:
    """The dimension along which each element of a value is its index; None where there is none."""
    iota = defined_by(value, "stablehlo.iota")
    if iota is not None:
        dimension: int = viewed(iota, Iota).iota_dimension
        type = tensor_type(value)
        fits = type.category & INTEGER and type.shape[dimension] <= 1 << (type.element_type.width - 1)
        return dimension if fits else None
    repeated = defined_by(value, "stablehlo.broadcast_in_dim")
    if repeated is not None:
        inner = counted_dimension(repeated.operands[0])
        if inner is None:
            return None
        place: int = viewed(repeated, BroadcastInDim).broadcast_dimensions[inner]
        sizes = tensor_type(repeated.operands[0]).shape[inner], tensor_type(value).shape[place]
        return place if sizes[0] == sizes[1] else None
    array = constant_array(value)
    if array is None or not 1 < array.size <= MAX_ELEMENTS or array.dtype.kind not in "iu":
        return None
    for d, size in enumerate(array.shape):
        along = np.arange(size).reshape([-1 if other == d else 1 for other in range(array.ndim)])
        if size > 1 and np.array_equal(array, np.broadcast_to(along, array.shape)):
            return d
    return None


class Indices:
    """The columns of index vectors, and which dimensions of operand and batch go together.

    `collapsed` are the operand's dimensions that have no place in a window.
    """

    def __init__(
        self, columns: Sequence[Column], index_map: Sequence[int], collapsed: Sequence[int],
        batching: Sequence[tuple[int, int]],
    ) -> None:  # fmt: skip
        self.columns = list(columns)
        self.index_map = list(index_map)
        self.collapsed = list(collapsed)
        self.batching = list(batching)

    def batch_counted(self, shape: Sequence[int]) -> bool:
        """Make batching dimensions of those along which the indices count; whether there were any.

        One column at least stays.
        """
        found = False
        for number in range(len(self.columns) - 1, -1, -1):
            value, d = self.columns[number].value, self.index_map[number]
            if len(self.columns) == 1 or d not in self.collapsed:
                continue
            along = counted_dimension(value)
            if along is None or along in [axis for _, axis in self.batching]:
                continue
            if tensor_type(value).shape[along] != shape[d] or not shape[d]:
                continue
            del self.columns[number], self.index_map[number]
            self.collapsed.remove(d)
            self.batching = sorted([*self.batching, (d, along)])
            found = True
        return found

    @property
    def pairs(self) -> tuple[list[int], list[int]]:
        """The batching dimensions of the operand, and those of the batch."""
        return [pair[0] for pair in self.batching], [pair[1] for pair in self.batching]
