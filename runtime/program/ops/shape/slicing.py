"""Slices and padding.

Source: specification, sections "pad" and "slice".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....types import DYNAMIC, PLAIN, QUANTIZED_PER_TENSOR, Array, TensorType, Type
from ...ir import Location, Operation, Value
from ...ir.affine import identity_map
from ..framework import constraints, costs, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import DIMENSIONS
from ..framework.declaration import Attribute, Op, Operand, Result, constraint
from ..framework.elements import Index, from_elements, in_bounds, index_space
from ..framework.facts import Finiteness
from ..framework.traits import Memory, Movement
from .movement import MovementMap, MovementOp, full_result_map

AMOUNTS = ("edge_padding_low", "edge_padding_high", "interior_padding")
RANGES = ("start_indices", "limit_indices", "strides")


ValuesByDimension = tuple[Sequence[int], Sequence[int], Sequence[int]]
"""The values of AMOUNTS or of RANGES, one for each dimension of the operand."""


def _static_lists(view: Op, names: tuple[str, str, str]) -> ValuesByDimension | None:
    """The values under three names, or None if one is unknown."""
    first, second, third = map(view.integers, names)
    return None if first is None or second is None or third is None else (first, second, third)


class PadRules(Op):
    """The constraints that `pad` and `dynamic_pad` share."""

    operand: Operand[TensorType]
    padding_value: Operand[TensorType]
    result: Result[TensorType]

    def amounts(self) -> ValuesByDimension | None:
        """edge_padding_low, edge_padding_high and interior_padding, or None if one is unknown."""
        return _static_lists(self, AMOUNTS)

    C1 = constraints.same_element_type("operand", "padding_value", "result")
    C2 = constraints.size_is_rank(*AMOUNTS, of="operand")
    C3 = constraints.not_negative("interior_padding")

    @constraint
    def C4(self) -> str | None:
        """shape(result) = shape(operand) + edge paddings + max(shape(operand) - 1, 0) * interior_padding"""
        amounts = self.amounts()
        if amounts is None:
            return None
        for d, (size, low, high, interior) in enumerate(zip(self.operand.shape, *amounts, strict=False)):
            if size != DYNAMIC and padded_size(size, low, high, interior) < 0:
                return f"dimension {d} of operand has size {size}, which padding makes negative"
        return rules.same_shape("result", self.result, "the padded shape", self.padded_shape(amounts))

    def padded_shape(self, amounts: ValuesByDimension) -> list[int]:
        """The result's shape, as far as it is known."""
        sizes = zip(self.operand.shape, *amounts, strict=False)
        return [DYNAMIC if size == DYNAMIC else padded_size(size, *rest) for size, *rest in sizes]


class Pad(
    PadRules,
    MovementOp,
    name="stablehlo.pad",
    assembly=(
        "$operand , $padding_value , low = $edge_padding_low , high = $edge_padding_high , "
        "interior = $interior_padding attr-dict : functional-type"
    ),
):
    """Adds elements at the edges and between the elements of a tensor; negative amounts remove elements at an
    edge.
    """

    cost = costs.COPY
    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    loop_sharding = "movement"
    movement = Movement.JOIN
    moved_operands = slice(2)

    binds_by_types = True
    numpy = "shape.pad_numpy.bind"

    operand = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    padding_value = Operand(PLAIN | QUANTIZED_PER_TENSOR, rank=0)
    edge_padding_low = Attribute(DIMENSIONS)
    edge_padding_high = Attribute(DIMENSIONS)
    interior_padding = Attribute(DIMENSIONS)
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    def amounts(self) -> ValuesByDimension:
        return self.edge_padding_low, self.edge_padding_high, self.interior_padding

    def infer(self) -> list[Type]:
        return [self.operand.with_shape(self.padded_shape(self.amounts()))]

    def movement_maps(self) -> list[MovementMap]:
        """The map of the operand, and that of the padding value, which fills the rest."""
        low, interior, result_shape = self.edge_padding_low, self.interior_padding, self.result.shape
        pairs = list(map(padded_slices, self.operand.shape, result_shape, low, interior))
        indices = zip(identity_map(self.operand.rank), pairs, strict=True)
        return [
            MovementMap(
                0,
                tuple([index.scaled(1, source.start) for index, (source, _) in indices]),
                tuple([source.stop - source.start for source, _ in pairs]),
                tuple([target.start for _, target in pairs]),
                tuple([target.step for _, target in pairs]),
            ),
            full_result_map(1, (), self.result),
        ]

    def reference(self, operand: Array, padding_value: Array) -> Array:
        """``result[result_index]`` is an element of `operand` where it has one, else `padding_value`."""
        rules.check_actual_sizes(self, operand, padding_value)
        return pad(operand, padding_value, *self.amounts())


def padded_size(size: int, low: int, high: int, interior: int) -> int:
    """A dimension's size after padding."""
    return size + low + max(size - 1, 0) * interior + high


def pad(
    operand: Array,
    padding_value: Array,
    edge_padding_low: Sequence[int],
    edge_padding_high: Sequence[int],
    interior_padding: Sequence[int],
) -> Array:
    """`pad` by its definition."""
    result_shape = map(padded_size, operand.shape, edge_padding_low, edge_padding_high, interior_padding)
    result = np.full(tuple(result_shape), padding_value, operand.dtype)
    for operand_index in index_space(operand.shape):
        result_index = tuple(
            [
                low + i * (interior + 1)
                for low, i, interior in zip(edge_padding_low, operand_index, interior_padding, strict=True)
            ]
        )
        if in_bounds(result_index, result.shape):
            result[result_index] = operand[operand_index]
    return result


def padded_slices(size: int, result_size: int, low: int, interior: int) -> tuple[slice, slice]:
    """Along one dimension: the slice of the operand that is copied, and its slice of the result."""
    stride = interior + 1
    first = max(0, -(low // stride))
    stop = max(first, min(size, -((low - result_size) // stride)))
    return slice(first, stop), slice(low + first * stride, low + stop * stride, stride)


class SliceRules(Op):
    """The constraints that `slice` and `real_dynamic_slice` share."""

    operand: Operand[TensorType]
    result: Result[TensorType]

    def ranges(self) -> ValuesByDimension | None:
        """start_indices, limit_indices and strides, or None if one is unknown."""
        return _static_lists(self, RANGES)

    C1 = constraints.same_element_type("operand", "result")
    C2 = constraints.size_is_rank(*RANGES, of="operand")

    @constraint
    def C3(self) -> str | None:
        """0 <= start_indices <= limit_indices <= shape(operand)"""
        ranges = self.ranges()
        if ranges is None:
            return None
        start_indices, limit_indices, _ = ranges
        for d, (start, limit) in enumerate(zip(start_indices, limit_indices, strict=False)):
            if not 0 <= start <= limit:
                return f"start_indices[{d}] is {start}, but must be in [0, {limit}], up to limit_indices[{d}]"
        return rules.at_most("limit_indices", limit_indices, "operand", self.operand.shape)

    C4 = constraints.positive("strides")

    @constraint
    def C5(self) -> str | None:
        """shape(result) = ceil((limit_indices - start_indices) / strides)"""
        ranges = self.ranges()
        if ranges is None or min(ranges[2], default=1) <= 0:
            return None
        return rules.same_shape("result", self.result, "the sliced shape", sliced_shape(*ranges))


def sliced_shape(
    start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int]
) -> list[int]:
    ranges = zip(start_indices, limit_indices, strides, strict=False)
    return [-((start - limit) // stride) for start, limit, stride in ranges]


class Slice(
    SliceRules,
    MovementOp,
    name="stablehlo.slice",
    assembly="$operand custom(slice_ranges) attr-dict : functional-type",
):
    """Takes every stride-th element between two indices, along each dimension."""

    partition = "slice"
    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    loop_sharding = "slice"
    memory = Memory.STRIDED_VIEW
    movement = Movement.SLICE

    binds_by_types = True
    numpy = "shape.movement_numpy.bind_slice"

    operand = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    start_indices = Attribute(DIMENSIONS)
    limit_indices = Attribute(DIMENSIONS)
    strides = Attribute(DIMENSIONS)
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    def ranges(self) -> ValuesByDimension:
        return self.start_indices, self.limit_indices, self.strides

    def infer(self) -> list[Type]:
        return [self.operand.with_shape(sliced_shape(*self.ranges()))]

    def movement_maps(self) -> list[MovementMap]:
        ranges = zip(identity_map(self.operand.rank), self.strides, self.start_indices, strict=True)
        return self.element_map([index.scaled(stride, start) for index, stride, start in ranges])

    def slices(self) -> tuple[slice, ...]:
        """The index of `operand` that selects the result."""
        return tuple(map(slice, *self.ranges())) if self.start_indices else ()

    def reference(self, operand: Array) -> Array:
        """``result[result_index] = operand[operand_index]``."""
        rules.check_actual_sizes(self, operand)
        return slice_by_definition(operand, *self.ranges())


def leading_slice(value: Value, type: TensorType, location: Location) -> Operation:
    """The slice that takes the first elements of a value in each dimension, as many as `type` has."""
    ranges = zip(RANGES, ((0,) * type.rank, type.shape, (1,) * type.rank), strict=True)
    attributes = {name: DIMENSIONS.encode(tuple(sizes)) for name, sizes in ranges}
    return Operation(Slice.name, [value], [type], attributes, (), location)


def slice_by_definition(
    operand: Array, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int]
) -> Array:
    """``operand_index = start_indices + result_index * strides``."""

    def element_at(result_index: Index) -> Any:
        indices = zip(start_indices, result_index, strides, strict=True)
        return operand[tuple([start + i * stride for start, i, stride in indices])]

    return from_elements(sliced_shape(start_indices, limit_indices, strides), operand.dtype, element_at)
