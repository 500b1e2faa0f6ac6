"""Operations that duplicate elements along dimensions.

Source: specification, section "Ops".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....types import DYNAMIC, TENSOR, Array, TensorType, Type
from ...ir.affine import AffineExpr, identity_map
from ..framework import constraints, costs, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import DIMENSIONS
from ..framework.declaration import Attribute, Op, Operand, Result, constraint
from ..framework.elements import Index, from_elements
from ..framework.facts import Finiteness
from ..framework.traits import Memory, Movement
from .movement import MovementMap, MovementOp


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
    memory = Memory.STRIDED_VIEW
    movement = Movement.BROADCAST

    binds_by_types = True
    numpy = "shape.movement_numpy.bind_broadcast_in_dim"

    operand = Operand(TENSOR)
    broadcast_dimensions = Attribute(DIMENSIONS)
    result = Result(TENSOR)

    def movement_maps(self) -> list[MovementMap]:
        identity, zero = identity_map(self.result.rank), AffineExpr(0, (0,) * self.result.rank)
        pairs = zip(self.operand.shape, self.broadcast_dimensions, strict=True)
        return self.element_map([zero if size == 1 else identity[d] for size, d in pairs])

    def reference(self, operand: Array) -> Array:
        """``result[result_index] = operand[operand_index]``."""
        rules.check_actual_sizes(self, operand)
        return broadcast_in_dim(operand, self.broadcast_dimensions, self.result_shape(operand))

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


def broadcast_in_dim(operand: Array, broadcast_dimensions: Sequence[int], shape: Sequence[int]) -> Array:
    """`broadcast_in_dim` by its definition: ``result[result_index] = operand[operand_index]``."""

    def element_at(result_index: Index) -> Any:
        sizes = zip(operand.shape, broadcast_dimensions, strict=True)
        return operand[tuple([0 if size == 1 else result_index[d] for size, d in sizes])]

    return from_elements(shape, operand.dtype, element_at)


class Broadcast(
    MovementOp,
    name="stablehlo.broadcast",
    assembly="$operand , sizes = $broadcast_sizes attr-dict : functional-type",
):
    """Adds dimensions in front. Not in the specification; its labels are our own."""

    is_specified = False
    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    numpy = "shape.movement_numpy.bind_broadcast"
    memory = Memory.STRIDED_VIEW
    movement = Movement.BROADCAST

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
        """``result[j0, ..., i0, ..., iR-1] = operand[i0, ..., iR-1]``."""
        shape = (*self.broadcast_sizes, *operand.shape)
        added = len(self.broadcast_sizes)
        return from_elements(shape, operand.dtype, lambda result_index: operand[result_index[added:]])
