"""Operations that duplicate elements along dimensions.

Source: specification, section "Ops".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.affine import AffineExpr, identity_map
from ...types import DYNAMIC, TENSOR, Array, TensorType, Type
from ..framework import constraints, costs, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import DIMENSIONS
from ..framework.declaration import Attribute, Op, Operand, Result, constraint
from ..framework.facts import Finiteness
from .movement import MovementMap, MovementOp

MAX_COPIED_ELEMENTS = 4096
"""Maximum number of elements of a broadcast that is copied (1 µs); a larger broadcast is a view."""


class BroadcastRules(Op):
    """The constraints that `broadcast_in_dim` and `dynamic_broadcast_in_dim` share."""

    operand: Operand[TensorType]
    broadcast_dimensions: Attribute[tuple[int, ...]]
    result: Result[TensorType]

    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of a dimension of the operand and the corresponding one of the result, where both exist."""
        dimensions = enumerate(self.broadcast_dimensions[: self.operand.rank])
        return [(d, to) for d, to in dimensions if 0 <= to < self.result.rank]

    def result_shapes(self) -> list[tuple[int, ...]]:
        """The known shapes of the result: that of its type, and that from an operand."""
        return [self.result.shape]

    C1 = constraints.same_element_type_up_to_axis("result", "operand", ignoring_parameters=True)
    C2 = constraints.size_is_rank("broadcast_dimensions", of="operand")
    C3 = constraints.dimensions_of("broadcast_dimensions", "result")
    C4 = constraints.unique("broadcast_dimensions")

    @constraint
    def C5(self) -> str | None:
        """dim(operand, d) is 1 or dim(result, broadcast_dimensions[d]), for all d"""
        for shape in self.result_shapes():
            for d, to in self.pairs():
                size, result_size = self.operand.shape[d], shape[to]
                if size != 1 and not rules.sizes_agree(size, result_size):
                    return f"operand has size {size} at {d}, but result has size {result_size} at {to}"
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
    MovementOp,
    name="stablehlo.broadcast_in_dim",
    assembly="$operand , dims = $broadcast_dimensions attr-dict : functional-type",
):
    """Duplicates elements along dimensions of size 1 and along new ones."""

    partition = "broadcast_in_dim"
    cost = costs.VIEW
    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    loop_sharding = "movement"

    binds_by_types = True

    operand = Operand(TENSOR)
    broadcast_dimensions = Attribute(DIMENSIONS)
    result = Result(TENSOR)

    def movement_maps(self) -> list[MovementMap]:
        identity, zero = identity_map(self.result.rank), AffineExpr(0, (0,) * self.result.rank)
        pairs = zip(self.operand.shape, self.broadcast_dimensions, strict=True)
        return self.element_map([zero if size == 1 else identity[d] for size, d in pairs])

    def reference(self, operand: Array) -> Array:
        rules.check_actual_sizes(self, operand)
        return broadcast_in_dim(operand, self.broadcast_dimensions, self.result_shape(operand))

    def bind(self) -> Callable[..., Any]:
        if not (self.result.is_static and self.operand.is_static):
            return self.reference
        return bind_broadcast(self.operand, self.broadcast_dimensions, self.result.shape)

    def result_shape(self, operand: Array) -> tuple[int, ...]:
        """The result's shape; sizes that its type leaves unknown are the operand's."""
        shape = list(self.result.shape)
        for d, to in self.pairs():
            if shape[to] == DYNAMIC:
                shape[to] = operand.shape[d]
        if DYNAMIC in shape:
            unknown = f"the shape of result is {rules.shape_text(shape)}, which does not follow from operand"
            rules.fail_if(self, unknown)
        return tuple(shape)


def broadcast_in_dim(operand: Array, broadcast_dimensions: Sequence[int], shape: tuple[int, ...]) -> Array:
    """`operand` with its dimension d at dimension ``broadcast_dimensions[d]`` of `shape`."""
    order = sorted(range(operand.ndim), key=broadcast_dimensions.__getitem__)
    aligned = [1] * len(shape)
    for d, to in enumerate(broadcast_dimensions):
        aligned[to] = operand.shape[d]
    return np.broadcast_to(operand.transpose(order).reshape(aligned), shape)


def bind_broadcast(
    operand: TensorType, broadcast_dimensions: Sequence[int], shape: tuple[int, ...]
) -> Callable[[Array], Array]:
    """`broadcast_in_dim` for one type of operand and shape of result, with little work a call."""
    dtype, empty = operand.dtype, np.empty
    if operand.rank == 0 and math.prod(shape) <= MAX_COPIED_ELEMENTS:

        def fill(value: Array) -> Array:
            result = empty(shape, dtype)
            result[...] = value
            return result

        return fill
    if math.prod(shape) > MAX_COPIED_ELEMENTS:
        return lambda value: broadcast_in_dim(value, broadcast_dimensions, shape)
    order = tuple(sorted(range(operand.rank), key=broadcast_dimensions.__getitem__))
    aligned = [1] * len(shape)
    for d, to in enumerate(broadcast_dimensions):
        aligned[to] = operand.shape[d]

    def copy(value: Array) -> Array:
        result = empty(shape, dtype)
        result[...] = value.transpose(order).reshape(aligned)
        return result

    return copy


class Broadcast(
    MovementOp,
    name="stablehlo.broadcast",
    assembly="$operand , sizes = $broadcast_sizes attr-dict : functional-type",
):
    """Adds dimensions in front. Not in the specification; its labels are our own."""

    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED

    operand = Operand(TENSOR)
    broadcast_sizes = Attribute(DIMENSIONS)
    result = Result(TENSOR)

    C1 = constraints.same_element_type("operand", "result")
    C2 = constraints.not_negative("broadcast_sizes")
    C3 = constraints.shape_is("result", "concatenate(broadcast_sizes, shape(operand))", "broadcast_shape")

    def broadcast_shape(self) -> tuple[int, ...]:
        """The result's shape."""
        return (*self.broadcast_sizes, *self.operand.shape)

    def infer(self) -> list[Type]:
        return [self.operand.with_shape(self.broadcast_shape())]

    def movement_maps(self) -> list[MovementMap]:
        return self.element_map(identity_map(self.result.rank)[len(self.broadcast_sizes) :])

    def reference(self, operand: Array) -> Array:
        return np.broadcast_to(operand, (*self.broadcast_sizes, *operand.shape))
