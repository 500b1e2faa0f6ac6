"""The CHLO operations that broadcast their operands before they compute.

Source: the public definition of the CHLO dialect.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from ....types import BOOLEAN, DYNAMIC, PLAIN, TENSOR, Array, QuantizedType, TensorType, Type
from ..elementwise import arithmetic, bitwise, comparison
from ..elementwise.base import Elementwise
from ..framework import constraints, costs, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import DIMENSIONS, Enum
from ..framework.declaration import Attribute, Constraint, Op, Operand, Result, constraint, declare
from ..framework.facts import Finiteness
from ..numerics.element_types import ArrayFunction
from . import elementwise as chlo


def broadcast_type_shapes(*shapes: Sequence[int]) -> tuple[int, ...] | None:
    """The shape to which shapes broadcast, their last dimensions aligned; None if they do not broadcast.

    An unknown size takes a known size other than 1.
    """
    rank = max(map(len, shapes))
    result = []
    for column in zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes), strict=True):
        sizes = {size for size in column if size not in (1, DYNAMIC)}
        if len(sizes) > 1:
            return None
        result.append(sizes.pop() if sizes else DYNAMIC if DYNAMIC in column else 1)
    return tuple(result)


_FACTS_OF_ELEMENTS: Final = (
    "accuracy", "any_order_on", "cost", "depends_on_digits", "finiteness", "float_identity", "interval",
    "rounding", "wider", "work",
)  # fmt: skip
"""Facts that do not depend on shapes."""


class BroadcastBinary(Op, assembly="$lhs , $rhs attr-dict : functional-type"):
    """Base of binary operations whose operands broadcast.

    Class attributes:
        elementwise: the operation on operands of one shape.
    """

    partition = "elementwise"

    elementwise: ClassVar[type[Elementwise]]

    lhs = Operand(TENSOR)
    rhs = Operand(TENSOR)
    broadcast_dimensions = Attribute(DIMENSIONS, None)
    result = Result(TENSOR)

    def __init_subclass__(cls, *, elementwise: type[Elementwise] | None = None, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if elementwise is not None:
            cls.elementwise = elementwise
            for fact in _FACTS_OF_ELEMENTS:
                setattr(cls, fact, getattr(elementwise, fact))

    @constraint
    def C1(self) -> str | None:
        """the operation on operands of one shape accepts the element types, which are the same"""
        lhs, rhs = self.elementwise.declared_operands
        return rules.first(
            lhs.violation(self.lhs),
            rhs.violation(self.rhs),
            rules.same_baseline_element_type("rhs", self.rhs, "lhs", self.lhs),
        )

    @constraint
    def C2(self) -> str | None:
        """broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending"""
        dimensions = self.broadcast_dimensions
        if dimensions is None:
            return None
        ranks = sorted((self.lhs.rank, self.rhs.rank))
        return rules.first(
            rules.length_is("broadcast_dimensions", len(dimensions), ranks[0], "the lower rank"),
            rules.in_range("broadcast_dimensions", dimensions, 0, ranks[1], "the higher rank"),
            rules.unique("broadcast_dimensions", dimensions),
            rules.is_sorted("broadcast_dimensions", dimensions),
        )

    @constraint
    def C3(self) -> str | None:
        """the shapes of lhs and rhs broadcast to the shape of result"""
        shape = broadcast_type_shapes(*map(self.aligned_shape, (self.lhs, self.rhs)))
        if shape is None:
            return f"lhs is {self.lhs} and rhs {self.rhs}, which do not broadcast"
        return rules.same_shape("result", self.result, "the broadcast shape", shape)

    def verify(self) -> None:
        super().verify()
        element_type = self.lhs.element_type
        if not isinstance(element_type, QuantizedType) and not self.elementwise.is_defined(element_type):
            raise self.unsupported(f"{self.elementwise.name} of {element_type} is not supported")

    def aligned_shape(self, type: TensorType) -> tuple[int, ...]:
        """The operand's shape with dimensions of size 1 where broadcast_dimensions skips."""
        rank = max(self.lhs.rank, self.rhs.rank)
        if self.broadcast_dimensions is None or type.rank == rank:
            return type.shape
        sizes = dict(zip(self.broadcast_dimensions, type.shape, strict=True))
        return tuple(sizes.get(dimension, 1) for dimension in range(rank))

    def infer(self) -> list[Type] | None:
        shape = broadcast_type_shapes(*map(self.aligned_shape, (self.lhs, self.rhs)))
        if shape is None or isinstance(self.lhs.element_type, QuantizedType):
            return None
        return [TensorType(shape, self.elementwise.result_element_type(self.lhs.plain_element_type))]

    @functools.cached_property
    def function(self) -> ArrayFunction:
        """The function on operands of one shape, which broadcasts."""
        return self.elementwise.function_of(self.lhs.element_type)

    def reference(self, lhs: Array, rhs: Array) -> Any:
        return self.function(self.align(lhs, rhs), self.align(rhs, lhs))

    def align(self, array: Array, other: Array) -> Array:
        """The array with dimensions of size 1 where broadcast_dimensions skips."""
        if self.broadcast_dimensions is None or array.ndim >= other.ndim:
            return array
        skipped = tuple(d for d in range(other.ndim) if d not in self.broadcast_dimensions)
        return np.expand_dims(array, skipped)


declare(
    BroadcastBinary,
    __name__,
    {
        f"chlo.broadcast_{operation.name.partition('.')[2]}": {"elementwise": operation}
        for operation in (
            arithmetic.Add,
            arithmetic.Atan2,
            arithmetic.Complex,
            arithmetic.Divide,
            arithmetic.Multiply,
            arithmetic.Power,
            arithmetic.Remainder,
            arithmetic.Subtract,
            bitwise.And,
            bitwise.Or,
            bitwise.ShiftLeft,
            bitwise.ShiftRightArithmetic,
            bitwise.ShiftRightLogical,
            bitwise.Xor,
            chlo.NextAfter,
            chlo.Polygamma,
            chlo.Zeta,
            comparison.Maximum,
            comparison.Minimum,
        )
    },
)


class BroadcastCompare(BroadcastBinary, name="chlo.broadcast_compare", elementwise=comparison.Compare):
    """`compare` with broadcasting."""

    comparison_direction = Attribute(
        Enum("comparison_direction", comparison.ComparisonDirection, dialect="chlo")
    )
    compare_type = Attribute(
        Enum("comparison_type", comparison.ComparisonType, dialect="chlo"), comparison.ComparisonType.NOTYPE
    )
    result = Result(BOOLEAN)

    C4 = Constraint(comparison.compare_type_fits)

    @functools.cached_property
    def function(self) -> ArrayFunction:
        return comparison.comparison(self.comparison_direction, self.compare_type, self.lhs.element_type)


class BroadcastSelect(
    Op, name="chlo.broadcast_select", assembly="$pred , $on_true , $on_false attr-dict : functional-type"
):
    """`select` with broadcasting."""

    partition = "elementwise"
    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    cost = costs.SELECTION
    work = costs.Work.ELEMENTS

    pred = Operand(BOOLEAN)
    on_true = Operand(PLAIN)
    on_false = Operand(PLAIN)
    result = Result(PLAIN)

    def shape(self) -> tuple[int, ...] | None:
        """The shape to which the operands broadcast; None if they do not."""
        return broadcast_type_shapes(self.pred.shape, self.on_true.shape, self.on_false.shape)

    C1 = constraints.same_element_type("on_true", "on_false", "result")

    @constraint
    def C2(self) -> str | None:
        """the operands' shapes broadcast to the shape of result"""
        shape = self.shape()
        if shape is None:
            return f"pred is {self.pred}, on_true {self.on_true}, on_false {self.on_false}: do not broadcast"
        return rules.same_shape("result", self.result, "the broadcast shape", shape)

    def infer(self) -> list[Type] | None:
        shape = self.shape()
        return None if shape is None else [self.on_true.with_shape(shape)]

    def reference(self, pred: Array, on_true: Array, on_false: Array) -> Array:
        return np.where(pred, on_true, on_false)
