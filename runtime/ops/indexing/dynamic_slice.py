"""Slices at run-time indices: reading, writing, selecting.

Source: specification, sections "dynamic_slice" and "dynamic_update_slice".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...types import INTEGER, PLAIN, QUANTIZED_PER_TENSOR, Array, Type
from ..framework import constraints, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import DIMENSIONS, I64
from ..framework.declaration import Attribute, Op, Operand, Result, constraint
from ..framework.facts import Finiteness
from .index_space import as_indices


def _window(sizes: Sequence[int], shape: Sequence[int]) -> Callable[[Sequence[Any]], tuple[slice, ...]]:
    """The function from start indices to the window of these sizes, clamped so that it is within `shape`."""
    fixed = [slice(0, size) for size in sizes]
    moving = [(d, shape[d] - size, size) for d, size in enumerate(sizes) if size != shape[d]]

    def window(start_indices: Sequence[Any]) -> tuple[slice, ...]:
        slices = fixed.copy()
        for d, last, size in moving:
            start = int(start_indices[d])
            start = 0 if start < 0 else min(start, last)
            slices[d] = slice(start, start + size)
        return tuple(slices)

    return window


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
        rules.check_actual_sizes(self, operand, *start_indices)
        return operand[_window(self.slice_sizes, operand.shape)(start_indices)]

    def bind(self) -> Callable[..., Any]:
        if not self.operand.is_static:
            return self.reference
        window = _window(self.slice_sizes, self.operand.shape)
        return lambda operand, *start_indices: operand[window(start_indices)]


class DynamicUpdateSlice(
    Op, name="stablehlo.dynamic_update_slice", assembly="operands attr-dict : functional-type"
):
    """Overwrites a window whose start is an operand, clamped so that the window is in bounds."""

    partition = "dynamic_update_slice"
    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED

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
        rules.check_actual_sizes(self, operand, update, *start_indices)
        result = np.array(operand)
        result[_window(update.shape, operand.shape)(start_indices)] = update
        return result

    def bind(self) -> Callable[..., Any]:
        if not (self.operand.is_static and self.update.is_static):
            return self.reference
        window = _window(self.update.shape, self.operand.shape)

        def update_slice(operand: Array, update: Array, *start_indices: Array, out: Any = (None,)) -> Array:
            result: Array = np.array(operand) if out[0] is None else out[0]
            result[window(start_indices)] = update
            return result

        return update_slice

    def may_overwrite(self) -> tuple[tuple[int, int], ...]:
        return ((0, 0),) if self.operand.is_static and self.update.is_static else ()


class TorchIndexSelect(Op, name="stablehlo.torch_index_select"):
    """Selects slices along `dim` by index; the first `batch_dims` dimensions of both operands are batching
    ones.

    The specification does not have it, so the labels are NimbleHLO's. Indices are clamped, as in `gather`.
    """

    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED

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
        rules.check_actual_sizes(self, operand, index)
        shape, batch_dims, dim = operand.shape, self.batch_dims, self.dim
        batch, size = math.prod(shape[:batch_dims]), shape[dim]
        before, after = math.prod(shape[batch_dims:dim]), math.prod(shape[dim + 1 :])
        chosen = index.shape[batch_dims:]
        if size == 0 and index.size:
            rules.fail_if(self, f"dimension {dim} of operand has size 0, so every index is out of bounds")
        clamped = np.clip(as_indices(index), 0, max(size - 1, 0)).reshape(batch, math.prod(chosen))
        batch_index = np.arange(batch)[:, np.newaxis]
        selected = operand.reshape(batch, before, size, after)[batch_index, :, clamped]
        return selected.transpose(0, 2, 1, 3).reshape((*shape[:dim], *chosen, *shape[dim + 1 :]))
