"""`chlo.ragged_dot`: products of matrices whose rows, columns or stacks belong to groups.

Source: the CHLO dialect's definition; what it leaves open is as JAX lowers it: rows that belong to no group
have products of zero.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence

import numpy as np

from ....errors import counted
from ....types import INTEGER, PLAIN, Array
from ..contraction.base import DotDimensions, same_kind
from ..contraction.matmul import Precision
from ..framework import constraints, rules
from ..framework.attribute_kinds import DIMENSIONS, ArrayOf, Enum
from ..framework.declaration import Attribute, Operand, Result, constraint
from ..framework.facts import OpenOrder
from ..framework.traits import Product

_DIMENSION_NUMBERS = "ragged_dot_dimension_numbers"


class Mode(enum.Enum):
    """The role of the ragged dimension of lhs."""

    NON_CONTRACTING = enum.auto()
    """Each group of rows has a matrix of its own: [b,m,k] with [g,b,k,n] gives [b,m,n]."""
    CONTRACTING = enum.auto()
    """Each group of columns gives a product of its own: [b,m,k] with [b,k,n] gives [g,b,m,n]."""
    BATCHING = enum.auto()
    """Groups of matrices; the groups do not change the result: [b,m,k] with [b,k,n] gives [b,m,n]."""


class RaggedDot(DotDimensions, name="chlo.ragged_dot"):
    """Multiplies and sums, group by group, where `group_sizes` divides a dimension of lhs into groups.

    `group_sizes` has the shape [g], or [b, x, g] where b are the sizes of lhs's batching dimensions (those
    before the ragged one, if that is one) and x those of its dimensions of the ragged one's kind before it.
    """

    open_order = OpenOrder.SUMS
    product = Product.RAGGED_MATMUL

    lhs = Operand(PLAIN)
    rhs = Operand(PLAIN)
    group_sizes = Operand(INTEGER)
    lhs_batching_dimensions = Attribute(DIMENSIONS, (), of=_DIMENSION_NUMBERS)
    rhs_batching_dimensions = Attribute(DIMENSIONS, (), of=_DIMENSION_NUMBERS)
    lhs_contracting_dimensions = Attribute(DIMENSIONS, (), of=_DIMENSION_NUMBERS)
    rhs_contracting_dimensions = Attribute(DIMENSIONS, (), of=_DIMENSION_NUMBERS)
    lhs_ragged_dimensions = Attribute(DIMENSIONS, (), of=_DIMENSION_NUMBERS)
    rhs_group_dimensions = Attribute(DIMENSIONS, (), of=_DIMENSION_NUMBERS)
    precision_config = Attribute(ArrayOf(Enum("precision", Precision, dialect="chlo")), None)
    result = Result(PLAIN)

    @property
    def mode(self) -> Mode:
        """The role of the ragged dimension."""
        if self.ragged in self.lhs_batching_dimensions:
            return Mode.BATCHING
        is_contracting = self.ragged in self.lhs_contracting_dimensions
        return Mode.CONTRACTING if is_contracting else Mode.NON_CONTRACTING

    @property
    def ragged(self) -> int:
        """The ragged dimension of lhs."""
        return int(self.lhs_ragged_dimensions[0])

    @property
    def _group_position(self) -> int:
        """The position of rhs's group dimension in the product of lhs and a slice of rhs."""
        before = len(self.lhs_batching_dimensions) + len(self.lhs_result_dimensions)
        return before + self.rhs_result_dimensions.index(self.rhs_group_dimensions[0])

    def _prefix(self) -> tuple[int, ...]:
        """The dimensions of lhs whose sizes precede g in a full shape of group_sizes."""
        batching = tuple(self.lhs_batching_dimensions)
        if self.mode is Mode.BATCHING:
            return batching[: batching.index(self.ragged)]
        if self.mode is Mode.CONTRACTING:
            kind = self.lhs_contracting_dimensions
        else:
            kind = self.lhs_result_dimensions
        return batching + tuple(kind[: kind.index(self.ragged)])

    @constraint
    def C12(self) -> str | None:
        """size(lhs_ragged_dimensions) = 1"""
        return rules.length_is(
            "lhs_ragged_dimensions", len(self.lhs_ragged_dimensions), 1, "the number allowed"
        )

    C13 = constraints.dimensions_of("lhs_ragged_dimensions", "lhs")

    @constraint
    def C14(self) -> str | None:
        """shape(group_sizes) = [g], or the sizes of lhs that lead to the ragged dimension, then g"""
        shape = self.group_sizes.shape
        full = [self.lhs.shape[dimension] for dimension in self._prefix()]
        if len(shape) == 1 or (shape and rules.shapes_agree(shape[:-1], tuple(full))):
            return None
        expected = "".join(f"{size}, " for size in full)
        return f"group_sizes has shape {rules.shape_text(shape)}, but must have [g] or [{expected}g]"

    C15 = constraints.dimensions_of("rhs_group_dimensions", "rhs")
    C16 = constraints.unique("rhs_group_dimensions", "rhs_batching_dimensions", "rhs_contracting_dimensions")

    @constraint
    def C17(self) -> str | None:
        """size(rhs_group_dimensions) = 1 where the ragged dimension is neither batching nor contracting"""
        expected = 1 if self.mode is Mode.NON_CONTRACTING else 0
        what = f"the number for a ragged dimension that is {self.mode.name.lower().replace('_', '-')}"
        return rules.length_is("rhs_group_dimensions", len(self.rhs_group_dimensions), expected, what)

    @constraint
    def C18(self) -> str | None:
        """dim(rhs, rhs_group_dimensions...) = g"""
        count = self.group_sizes.shape[-1]
        for dimension in self.rhs_group_dimensions:
            if not rules.sizes_agree(self.rhs.shape[dimension], count):
                size = self.rhs.shape[dimension]
                return (
                    f"rhs has size {size} in dimension {dimension}, "
                    f"but group_sizes has {counted(count, 'group')}"
                )
        return None

    C19 = constraints.shape_is("result", "the shape of the product", "result_shape")

    @constraint
    def C20(self) -> str | None:
        """lhs and rhs have elements of one kind"""
        return same_kind([("lhs", self.lhs), ("rhs", self.rhs)])

    def result_shape(self) -> tuple[int, ...]:
        shape = super().result_shape()
        if self.mode is Mode.CONTRACTING:
            return (self.group_sizes.shape[-1], *shape)
        if self.mode is Mode.NON_CONTRACTING:
            return (*shape[: self._group_position], *shape[self._group_position + 1 :])
        return shape

    def reference(self, *operands: Array, threads: int | None = 1) -> Array:
        lhs, rhs, group_sizes = operands
        if self.mode is Mode.BATCHING:
            return self.native_product(lhs, rhs, threads)
        ends = np.cumsum(group_sizes, axis=-1, dtype=np.int64)
        groups = Groups(ends - group_sizes.astype(np.int64), ends, lhs.shape[self.ragged])
        if self.mode is Mode.CONTRACTING:
            return self._multiply_column_groups(lhs, rhs, groups, threads)
        return self._multiply_row_groups(lhs, rhs, groups, threads)

    def on_threads(self, threads: int | None) -> Callable[..., Array]:
        return self.reference if threads == 1 else functools.partial(self.reference, threads=threads)

    def _multiply_row_groups(self, lhs: Array, rhs: Array, groups: Groups, threads: int | None) -> Array:
        """Each group of rows times its own matrix; the rows are a dimension of the product too."""
        row_dimension = len(self._prefix())
        result = np.zeros(self.result_shape(), self.result.dtype)
        for group in range(groups.count):
            if groups.are_the_same:
                rows = groups.positions(group)
                group_rows = _take_positions(lhs, self.ragged, rows)
                product = self._multiply_by_matrix(group_rows, rhs, group, threads)
                _take_positions(result, row_dimension, rows)[...] = product
            else:
                inside = groups.holds(group)
                inside = inside.reshape(*inside.shape, *(1,) * (result.ndim - inside.ndim))
                product = self._multiply_by_matrix(lhs, rhs, group, threads)
                np.copyto(result, product, where=inside)
        return result

    def _multiply_by_matrix(self, lhs: Array, rhs: Array, group: int, threads: int | None) -> Array:
        """The product with the matrix of a group."""
        matrix = _take_positions(rhs, self.rhs_group_dimensions[0], slice(group, group + 1))
        return self.native_product(lhs, matrix, threads).squeeze(self._group_position)

    def _multiply_column_groups(self, lhs: Array, rhs: Array, groups: Groups, threads: int | None) -> Array:
        """For each group the product of its columns of lhs with its rows of rhs."""
        position = self.lhs_contracting_dimensions.index(self.ragged)
        rhs_dimensions = (*self.rhs_batching_dimensions, *self.rhs_contracting_dimensions[: position + 1])
        lhs_dimensions = (*self._prefix(), self.ragged)
        products = []
        for group in range(groups.count):
            if groups.are_the_same:
                positions = groups.positions(group)
                pair = (
                    _take_positions(lhs, self.ragged, positions),
                    _take_positions(rhs, rhs_dimensions[-1], positions),
                )
            else:
                inside = groups.holds(group)
                pair = _masked(lhs, inside, lhs_dimensions), _masked(rhs, inside, rhs_dimensions)
            products.append(self.native_product(*pair, threads))
        return np.stack(products) if products else np.empty(self.result_shape(), self.result.dtype)


class Groups:
    """The positions of a dimension that belong to each group.

    Args:
        starts, ends: of each group, along the last axis; other axes stand for the dimensions before.
        size: of the divided dimension.
    """

    def __init__(self, starts: Array, ends: Array, size: int) -> None:
        self.starts = starts
        self.ends = ends
        self.size = size
        self.count = starts.shape[-1]
        self.are_the_same = starts.ndim == 1

    def positions(self, group: int) -> slice:
        """The positions of a group, where they are the same all along the dimensions before."""
        return slice(max(0, int(self.starts[group])), max(0, min(self.size, int(self.ends[group]))))

    def holds(self, group: int) -> Array:
        """Whether each position belongs to a group: the dimensions before, then the divided one."""
        positions = np.arange(self.size)
        starts, ends = self.starts[..., group, np.newaxis], self.ends[..., group, np.newaxis]
        inside: Array = (starts <= positions) & (positions < ends)
        return inside


def _take_positions(array: Array, dimension: int, positions: slice) -> Array:
    """A view of some positions along a dimension."""
    return array[(slice(None),) * dimension + (positions,)]


def _masked(array: Array, mask: Array, dimensions: Sequence[int]) -> Array:
    """Zeros where a mask, whose axes are these dimensions of the array, is False."""
    ascending = mask.transpose(np.argsort(dimensions))
    sizes = [array.shape[d] if d in dimensions else 1 for d in range(array.ndim)]
    return np.where(ascending.reshape(sizes), array, array.dtype.type(0))
