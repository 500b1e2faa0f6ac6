"""Slices at run-time indices: reading, writing, selecting.

Source: specification, sections "dynamic_slice" and "dynamic_update_slice".
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import sub
from typing import Any

from ....types import INTEGER, PLAIN, QUANTIZED_PER_TENSOR, Array, Type
from ..framework import constraints, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import DIMENSIONS, I64
from ..framework.declaration import Attribute, Op, Operand, Result, constraint
from ..framework.elements import Index, clamp, from_elements, in_bounds
from ..framework.facts import Finiteness
from ..framework.traits import Memory
from .index_space import index_sum


class DynamicSlice(
    Op,
    name="stablehlo.dynamic_slice",
    assembly=(
        "$operand , custom(variadic_operand_with_attribute) sizes = $slice_sizes attr-dict : functional-type"
    ),
):
    """Reads a window whose start is an operand, clamped so that the window is in bounds."""

    partition = "dynamic_slice"
    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    loop_sharding = "dynamic_slice"
    numpy = "indexing.dynamic_slice_numpy.bind_slice"
    memory = Memory.STRIDED_VIEW
    moved_operands = slice(1)
    block_rule = "scalars.indexing.DYNAMIC_SLICE"

    operand = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    start_indices = Operand(INTEGER, rank=0, variadic=True)
    slice_sizes = Attribute(DIMENSIONS)
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    C1 = constraints.same_element_type("operand", "result")
    C2 = constraints.size_is_rank("start_indices", "slice_sizes", of="operand")
    C3 = constraints.same_type("start_indices")
    C4 = constraints.within_shape("slice_sizes", "operand")
    C5 = constraints.shape_is("result", "slice_sizes", "slice_sizes")

    def infer(self) -> list[Type]:
        return [self.operand.with_shape(self.slice_sizes)]

    def reference(self, operand: Array, *start_indices: Array) -> Array:
        """``result[result_index] = operand[operand_index]``."""
        rules.check_actual_sizes(self, operand, *start_indices)
        adjusted_start_indices = _adjusted(start_indices, operand.shape, self.slice_sizes)
        return from_elements(
            self.slice_sizes,
            operand.dtype,
            lambda result_index: operand[index_sum(adjusted_start_indices, result_index)],
        )


def _adjusted(
    start_indices: Sequence[Array], shape: Sequence[int], sizes: Sequence[int]
) -> list[int]:
    """``adjusted_start_indices = clamp(0, start_indices, shape - sizes)``."""
    sizes_of = zip(start_indices, shape, sizes, strict=True)
    return [clamp(0, int(start), size - window_size) for start, size, window_size in sizes_of]


class DynamicUpdateSlice(
    Op, name="stablehlo.dynamic_update_slice", assembly="operands attr-dict : functional-type"
):
    """Overwrites a window whose start is an operand, clamped so that the window is in bounds."""

    partition = "dynamic_update_slice"
    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    numpy = "indexing.dynamic_slice_numpy.bind_update"
    memory = Memory.UPDATES
    moved_operands = slice(2)
    block_rule = "scalars.indexing.DYNAMIC_UPDATE_SLICE"

    operand = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    update = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    start_indices = Operand(INTEGER, rank=0, variadic=True)
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    C1 = constraints.same_type("operand", "result")
    C2 = constraints.same_element_type("operand", "update")

    @constraint
    def C3(self) -> str | None:
        """rank(update) = rank(operand)"""
        return rules.length_is("shape(update)", self.update.rank, self.operand.rank, "the rank of operand")

    C4 = constraints.size_is_rank("start_indices", of="operand")
    C5 = constraints.same_type("start_indices")

    @constraint
    def C6(self) -> str | None:
        """0 <= shape(update) <= shape(operand)"""
        return rules.at_most("shape(update)", self.update.shape, "operand", self.operand.shape)

    def infer(self) -> list[Type]:
        return [self.operand]

    def reference(self, operand: Array, update: Array, *start_indices: Array) -> Array:
        """``result[result_index]`` is an element of `update` where it has one, of `operand` elsewhere."""
        rules.check_actual_sizes(self, operand, update, *start_indices)
        adjusted_start_indices = _adjusted(start_indices, operand.shape, update.shape)

        def element_at(result_index: Index) -> Any:
            update_index = tuple(map(sub, result_index, adjusted_start_indices))
            if in_bounds(update_index, update.shape):
                return update[update_index]
            return operand[result_index]

        return from_elements(operand.shape, operand.dtype, element_at)

    def may_overwrite(self) -> tuple[tuple[int, int], ...]:
        return ((0, 0),) if self.operand.is_static and self.update.is_static else ()


class TorchIndexSelect(Op, name="stablehlo.torch_index_select"):
    """Selects slices along `dim` by index; the first `batch_dims` dimensions of both operands are batching
    ones.

    The specification does not have it, so the labels are NimbleHLO's. Indices are clamped, as in `gather`.
    """

    is_specified = False
    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    numpy = "indexing.dynamic_slice_numpy.bind_select"
    moved_operands = slice(1)

    operand = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    index = Operand(INTEGER)
    dim = Attribute(I64)
    batch_dims = Attribute(I64)
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    C1 = constraints.same_element_type("operand", "result")
    C2 = constraints.dimensions_of("dim", "operand")

    @constraint
    def C3(self) -> str | None:
        """0 <= batch_dims <= min(dim, rank(index))"""
        max_dims = min(self.dim, self.index.rank)
        if 0 <= self.batch_dims <= max_dims:
            return None
        bounds = f"[0, {max_dims}], up to dim and the rank of index"
        return f"batch_dims is {self.batch_dims}, but must be in {bounds}"

    @constraint
    def C4(self) -> str | None:
        """operand and index have the same sizes in their first batch_dims dimensions"""
        for d in range(min(self.batch_dims, self.operand.rank, self.index.rank)):
            size, index_size = self.operand.shape[d], self.index.shape[d]
            if not rules.sizes_agree(size, index_size):
                return f"operand has size {size} at {d}, but index has {index_size}"
        return None

    C5 = constraints.shape_is("result", "the selected shape", "selected_shape")

    def selected_shape(self) -> list[int]:
        shape = self.operand.shape
        return [*shape[: self.dim], *self.index.shape[self.batch_dims :], *shape[self.dim + 1 :]]

    def infer(self) -> list[Type]:
        return [self.operand.with_shape(self.selected_shape())]

    def reference(self, operand: Array, index: Array) -> Array:
        """The slice along `dim` of each index, for each index of the batching dimensions."""
        rules.check_actual_sizes(self, operand, index)
        shape, batch_dims, dim = operand.shape, self.batch_dims, self.dim
        self.reject_empty(shape, index)
        chosen = index.ndim - batch_dims

        def element_at(result_index: Index) -> Any:
            index_index = (*result_index[:batch_dims], *result_index[dim : dim + chosen])
            selected = clamp(0, int(index[index_index]), shape[dim] - 1)
            return operand[(*result_index[:dim], selected, *result_index[dim + chosen :])]

        result_shape = (*shape[:dim], *index.shape[batch_dims:], *shape[dim + 1 :])
        return from_elements(result_shape, operand.dtype, element_at)

    def reject_empty(self, shape: Sequence[int], index: Array) -> None:
        """There must be an element to select for each index.

        Raises:
            ExecutionError: there is none.
        """
        if shape[self.dim] == 0 and index.size:
            reason = f"dimension {self.dim} of operand has size 0, so every index is out of bounds"
            rules.fail_if(self, reason)
