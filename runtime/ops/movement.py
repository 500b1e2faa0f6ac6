"""Operations that move elements without computing: broadcasts, concatenation, padding, slices, transposes.

Source: specification, section "Ops".
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ExecutionError
from ..types import DYNAMIC, PLAIN, QUANTIZED_PER_TENSOR, TENSOR, QuantizedType, TensorType, Type
from . import rules
from .attribute_kinds import DIMENSIONS, I64
from .declaration import Array, Attribute, Op, Operand, Result, constraint

COPIED_ELEMENTS = 4096
"""A broadcast of at most this many elements is a copy (1 µs); a larger one is a view without memory of its own."""


class BroadcastRules(Op):
    """The constraints that `broadcast_in_dim` and `dynamic_broadcast_in_dim` share."""

    operand: Any
    broadcast_dimensions: Any
    result: Any

    def pairs(self) -> list[tuple[int, int]]:
        """Dimensions of the operand with those of the result to which they go, as far as both exist."""
        dimensions = enumerate(self.broadcast_dimensions[: self.operand.rank])
        return [(d, to) for d, to in dimensions if 0 <= to < self.result.rank]

    @constraint
    def C1(self) -> str | None:
        """element_type(result) = element_type(operand), up to the axis and parameters of a per-axis one"""
        return rules.same_element_type_up_to_axis(
            "result", self.result, "operand", self.operand, ignoring_parameters=True
        )

    @constraint
    def C2(self) -> str | None:
        """size(broadcast_dimensions) = rank(operand)"""
        return rules.length_is(
            "broadcast_dimensions", self.broadcast_dimensions, self.operand.rank, "the rank of operand"
        )

    @constraint
    def C3(self) -> str | None:
        """0 <= broadcast_dimensions < rank(result)"""
        return rules.in_range(
            "broadcast_dimensions", self.broadcast_dimensions, 0, self.result.rank, "the rank of result"
        )

    @constraint
    def C4(self) -> str | None:
        """is_unique(broadcast_dimensions)"""
        return rules.unique("broadcast_dimensions", self.broadcast_dimensions)

    @constraint
    def C5(self) -> str | None:
        """dim(operand, d) is 1 or dim(result, broadcast_dimensions[d]), for all d"""
        for d, to in self.pairs():
            size, result_size = self.operand.shape[d], self.result.shape[to]
            if size != 1 and not rules.sizes_agree(size, result_size):
                return f"dimension {d} of operand has size {size}, but dimension {to} of result has {result_size}"
        return None

    @constraint
    def C6(self) -> str | None:
        """a per-axis quantized result has the operand's axis, moved, and its parameters"""
        element_type, result_type = self.operand.element_type, self.result.element_type
        axis, result_axis = (rules.quantization_dimension(t) for t in (self.operand, self.result))
        if axis is None or result_axis is None:
            return None
        if dict(self.pairs()).get(axis) != result_axis:
            return (
                f"quantization_dimension of operand is {axis}, that of result {result_axis}, "
                f"but broadcast_dimensions = {list(self.broadcast_dimensions)}"
            )
        stretched = self.operand.shape[axis] == 1
        for name in ("scales", "zero_points"):
            values, result_values = getattr(element_type, name), getattr(result_type, name)
            expected = values[:1] * len(result_values) if stretched else values
            if result_values != expected:
                return f"{name} of result are {list(result_values)}, but must be {list(expected)}"
        return None


class BroadcastInDim(
    BroadcastRules,
    name="stablehlo.broadcast_in_dim",
    assembly="$operand , dims = $broadcast_dimensions attr-dict : functional-type",
):
    """Duplicates elements along dimensions of size 1 and along new ones."""

    operand = Operand(TENSOR)
    broadcast_dimensions = Attribute(DIMENSIONS)
    result = Result(TENSOR)

    def reference(self, operand: Array) -> Array:
        return broadcast_in_dim(operand, self.broadcast_dimensions, self.result_shape(operand))

    def bind(self) -> Callable[..., Any]:
        if not self.result.is_static:
            return self.reference
        return bind_broadcast(self.operand, self.broadcast_dimensions, self.result.shape)

    def result_shape(self, operand: Array) -> tuple[int, ...]:
        """The result's shape; sizes that its type leaves open are those of the operand."""
        shape = list(self.result.shape)
        for d, to in self.pairs():
            if shape[to] == DYNAMIC:
                shape[to] = operand.shape[d]
        if DYNAMIC in shape:
            raise ExecutionError(
                f"the shape of result is {rules.shape_text(shape)}, which does not follow from operand",
                operation=self.name,
                location=self.operation.location,
            )
        return tuple(shape)


def broadcast_in_dim(operand: Array, broadcast_dimensions: Sequence[int], shape: tuple[int, ...]) -> Array:
    """`operand` with its dimension d at dimension ``broadcast_dimensions[d]`` of `shape`."""
    order = sorted(range(operand.ndim), key=broadcast_dimensions.__getitem__)
    kept = [1] * len(shape)
    for d, to in enumerate(broadcast_dimensions):
        kept[to] = operand.shape[d]
    return np.broadcast_to(operand.transpose(order).reshape(kept), shape)


def bind_broadcast(
    operand: TensorType, broadcast_dimensions: Sequence[int], shape: tuple[int, ...]
) -> Callable[[Array], Array]:
    """`broadcast_in_dim` for one type of operand and shape of result, with as little work a call as can be."""
    dtype, empty = operand.dtype, np.empty
    if operand.rank == 0 and math.prod(shape) <= COPIED_ELEMENTS:

        def fill(value: Array) -> Array:
            result = empty(shape, dtype)
            result[...] = value
            return result

        return fill
    if math.prod(shape) > COPIED_ELEMENTS or not operand.is_static:
        return lambda value: broadcast_in_dim(value, broadcast_dimensions, shape)
    order = tuple(sorted(range(operand.rank), key=broadcast_dimensions.__getitem__))
    kept = [1] * len(shape)
    for d, to in enumerate(broadcast_dimensions):
        kept[to] = operand.shape[d]

    def copy(value: Array) -> Array:
        result = empty(shape, dtype)
        result[...] = value.transpose(order).reshape(kept)
        return result

    return copy


class Broadcast(
    Op,
    name="stablehlo.broadcast",
    assembly="$operand , sizes = $broadcast_sizes attr-dict : functional-type",
):
    """Adds dimensions in front. Not in the specification; its labels are this project's."""

    operand = Operand(TENSOR)
    broadcast_sizes = Attribute(DIMENSIONS)
    result = Result(TENSOR)

    @constraint
    def C1(self) -> str | None:
        """element_type(result) = element_type(operand)"""
        return rules.same_element_type("result", self.result, "operand", self.operand)

    @constraint
    def C2(self) -> str | None:
        """0 <= broadcast_sizes"""
        return rules.not_negative("broadcast_sizes", self.broadcast_sizes)

    @constraint
    def C3(self) -> str | None:
        """shape(result) = concatenate(broadcast_sizes, shape(operand))"""
        shape = (*self.broadcast_sizes, *self.operand.shape)
        return rules.same_shape("result", self.result, "concatenate(broadcast_sizes, shape(operand))", shape)

    def infer(self) -> list[Type]:
        return [self.operand.with_shape((*self.broadcast_sizes, *self.operand.shape))]

    def reference(self, operand: Array) -> Array:
        return np.broadcast_to(operand, (*self.broadcast_sizes, *operand.shape))


class Concatenate(
    Op,
    name="stablehlo.concatenate",
    assembly="custom(variadic_operand_with_attribute) dim = $dimension attr-dict : functional-type",
):
    """Joins tensors along one dimension."""

    inputs = Operand(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)
    dimension = Attribute(I64)
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    @constraint
    def C1(self) -> str | None:
        """same(element_type(inputs...))"""
        return rules.all_same_element_type(self.named_inputs())

    @constraint
    def C2(self) -> str | None:
        """same(shape(inputs...)) except for dim(inputs..., dimension)"""
        shape = self.other_sizes()
        for name, type in self.named_inputs():
            if len(type.shape) != len(shape):
                return f"{name} has rank {type.rank}, but inputs[0] has rank {len(shape)}"
            for d, (size, expected) in enumerate(zip(type.shape, shape, strict=True)):
                if d != self.dimension and not rules.sizes_agree(size, expected):
                    return f"dimension {d} of {name} has size {size}, but others have {expected}"
        return None

    @constraint
    def C3(self) -> str | None:
        """0 < size(inputs)"""
        return None if self.inputs else "inputs has 0 elements, but must have at least 1"

    @constraint
    def C4(self) -> str | None:
        """0 <= dimension < rank(inputs[0])"""
        if not self.inputs:
            return None
        return rules.in_range("dimension", [self.dimension], 0, self.inputs[0].rank, "the rank of inputs[0]")

    @constraint
    def C5(self) -> str | None:
        """element_type(result) = element_type(inputs[0])"""
        if not self.inputs:
            return None
        return rules.same_element_type("result", self.result, "inputs[0]", self.inputs[0])

    @constraint
    def C6(self) -> str | None:
        """shape(result) = shape(inputs[0]) except for dim(result, dimension), the sum of the inputs' sizes"""
        if not self.inputs:
            return None
        return rules.same_shape("result", self.result, "the joined shape", self.joined_shape())

    def named_inputs(self) -> list[tuple[str, TensorType]]:
        """The inputs with names for messages."""
        return [(f"inputs[{index}]", type) for index, type in enumerate(self.inputs)]

    def other_sizes(self) -> list[int]:
        """For each dimension of inputs[0] the first known size among the inputs."""
        rank = self.inputs[0].rank if self.inputs else 0
        columns = [[type.shape[d] for type in self.inputs if d < type.rank] for d in range(rank)]
        return [next((size for size in column if size != DYNAMIC), DYNAMIC) for column in columns]

    def joined_shape(self) -> list[int]:
        """The result's shape, as far as it is known."""
        shape = self.other_sizes()
        if 0 <= self.dimension < len(shape):
            sizes = [type.shape[self.dimension] for type in self.inputs if self.dimension < type.rank]
            shape[self.dimension] = DYNAMIC if DYNAMIC in sizes else sum(sizes)
        return shape

    def infer(self) -> list[Type]:
        return [self.inputs[0].with_shape(self.joined_shape())]

    def reference(self, *inputs: Array) -> Array:
        return np.concatenate(inputs, self.dimension)

    def bind(self) -> Callable[..., Any]:
        concatenate, dimension = np.concatenate, self.dimension
        return lambda *inputs: concatenate(inputs, dimension)


class PadRules(Op):
    """The constraints that `pad` and `dynamic_pad` share."""

    operand: Any
    padding_value: Any
    result: Any

    def amounts(self) -> tuple[Sequence[int], Sequence[int], Sequence[int]] | None:
        """edge_padding_low, edge_padding_high and interior_padding, or None where they are not known yet."""
        raise NotImplementedError

    def lengths(self) -> list[tuple[str, int]]:
        """The names and sizes of the three lists of amounts."""
        raise NotImplementedError

    @constraint
    def C1(self) -> str | None:
        """element_type(operand) = element_type(padding_value) = element_type(result)"""
        named = [("operand", self.operand), ("padding_value", self.padding_value), ("result", self.result)]
        return rules.all_same_element_type(named)

    @constraint
    def C2(self) -> str | None:
        """size(edge_padding_low) = size(edge_padding_high) = size(interior_padding) = rank(operand)"""
        for name, length in self.lengths():
            if not rules.sizes_agree(length, self.operand.rank):
                return f"{name} has {length} elements, but the rank of operand is {self.operand.rank}"
        return None

    @constraint
    def C3(self) -> str | None:
        """0 <= interior_padding"""
        amounts = self.amounts()
        return None if amounts is None else rules.not_negative("interior_padding", amounts[2])

    @constraint
    def C4(self) -> str | None:
        """shape(result) = shape(operand) + edge paddings + max(shape(operand) - 1, 0) * interior_padding"""
        amounts = self.amounts()
        if amounts is None:
            return None
        for d, (size, low, high, interior) in enumerate(zip(self.operand.shape, *amounts, strict=False)):
            if size != DYNAMIC and padded_size(size, low, high, interior) < 0:
                return f"dimension {d} of operand has size {size}, of which padding leaves less than nothing"
        return rules.same_shape("result", self.result, "the padded shape", self.padded_shape(amounts))

    def padded_shape(self, amounts: tuple[Sequence[int], Sequence[int], Sequence[int]]) -> list[int]:
        """The result's shape, as far as it is known."""
        sizes = zip(self.operand.shape, *amounts, strict=False)
        return [DYNAMIC if size == DYNAMIC else padded_size(size, *rest) for size, *rest in sizes]


class Pad(
    PadRules,
    name="stablehlo.pad",
    assembly=(
        "$operand , $padding_value , low = $edge_padding_low , high = $edge_padding_high , "
        "interior = $interior_padding attr-dict : functional-type"
    ),
):
    """Adds elements around and between those of a tensor; negative amounts at the edges remove some."""

    operand = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    padding_value = Operand(PLAIN | QUANTIZED_PER_TENSOR, rank=0)
    edge_padding_low = Attribute(DIMENSIONS)
    edge_padding_high = Attribute(DIMENSIONS)
    interior_padding = Attribute(DIMENSIONS)
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    def amounts(self) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
        return self.edge_padding_low, self.edge_padding_high, self.interior_padding

    def lengths(self) -> list[tuple[str, int]]:
        names = ("edge_padding_low", "edge_padding_high", "interior_padding")
        return [(name, len(values)) for name, values in zip(names, self.amounts(), strict=True)]

    def infer(self) -> list[Type]:
        return [self.operand.with_shape(self.padded_shape(self.amounts()))]

    def reference(self, operand: Array, padding_value: Array) -> Array:
        return pad(operand, padding_value, *self.amounts())


def padded_size(size: int, low: int, high: int, interior: int) -> int:
    """A dimension's size after padding."""
    return size + low + max(size - 1, 0) * interior + high


def pad(
    operand: Array, padding_value: Array, low: Sequence[int], high: Sequence[int], interior: Sequence[int]
) -> Array:
    """`operand` among copies of `padding_value`. Source: specification, `pad`."""
    result = np.empty(list(map(padded_size, operand.shape, low, high, interior)), operand.dtype)
    result[...] = padding_value
    ranges = map(_kept_range, operand.shape, result.shape, low, interior)
    first, step = [], [amount + 1 for amount in interior]
    taken = []
    for start, limit in ranges:
        taken.append(slice(start, limit))
        first.append(start)
    positions = [start + index * by for start, index, by in zip(low, first, step, strict=True)]
    into = tuple(
        slice(position, position + (part.stop - part.start - 1) * by + 1 if part.stop > part.start else position, by)
        for position, part, by in zip(positions, taken, step, strict=True)
    )
    result[into] = operand[tuple(taken)]
    return result
