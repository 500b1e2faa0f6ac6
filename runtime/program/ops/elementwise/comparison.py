"""Elementwise operations that compare, order and choose.

Source: specification, section "Ops".
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ....types import (
    BOOLEAN,
    COMPLEX,
    ELEMENT_TYPES,
    FLOAT,
    INTEGER,
    PLAIN,
    QUANTIZED,
    QUANTIZED_PER_TENSOR,
    SIGNED,
    ElementType,
)
from ..framework import constraints, costs
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import Enum
from ..framework.declaration import Attribute, Constraint, Operand, Result
from ..framework.emitters import Emit
from ..framework.facts import Finiteness
from ..framework.traits import Memory
from ..numerics import element_types
from ..numerics import special_functions as special
from ..numerics.element_types import ArrayFunction
from .base import Binary, Elementwise


class ComparisonDirection(enum.StrEnum):
    """The comparison to evaluate."""

    EQ = "EQ"
    NE = "NE"
    GE = "GE"
    GT = "GT"
    LE = "LE"
    LT = "LT"


class ComparisonType(enum.StrEnum):
    """The order by which values are compared; NOTYPE means the same as an absent attribute."""

    NOTYPE = "NOTYPE"
    FLOAT = "FLOAT"
    TOTALORDER = "TOTALORDER"
    SIGNED = "SIGNED"
    UNSIGNED = "UNSIGNED"


_COMPARISONS = {
    ComparisonDirection.EQ: np.equal,
    ComparisonDirection.NE: np.not_equal,
    ComparisonDirection.GE: np.greater_equal,
    ComparisonDirection.GT: np.greater,
    ComparisonDirection.LE: np.less_equal,
    ComparisonDirection.LT: np.less,
}


@functools.cache
def comparison(
    comparison_direction: ComparisonDirection, compare_type: ComparisonType, element_type: ElementType
) -> ArrayFunction:
    """The function from two arrays of `element_type` to one of bool; complex values go by (real, imag)."""
    compare = _COMPARISONS[comparison_direction]
    if compare_type is not ComparisonType.TOTALORDER or element_type.category != FLOAT:
        return compare
    keys = element_types.total_order(element_type)
    return lambda lhs, rhs: compare(keys(lhs), keys(rhs))


def compare_type_fits(view: Compare) -> str | None:
    """compare_type is absent, or SIGNED, UNSIGNED, FLOAT or TOTALORDER as element_type(lhs) requires"""
    compare_type, element_type = view.compare_type, view.lhs.element_type
    if element_type.category & QUANTIZED:
        return None
    allowed = [ComparisonType.UNSIGNED]
    if element_type.category == FLOAT:
        allowed = [ComparisonType.FLOAT, ComparisonType.TOTALORDER]
    elif element_type.category == COMPLEX:
        allowed = [ComparisonType.FLOAT]
    elif element_type.category == SIGNED:
        allowed = [ComparisonType.SIGNED]
    if compare_type in (ComparisonType.NOTYPE, *allowed):
        return None
    return f"compare_type is {compare_type}, but must be {' or '.join(allowed)} for {element_type}"


class Compare(
    Elementwise,
    name="stablehlo.compare",
    assembly="$comparison_direction , $lhs , $rhs ( , $compare_type )? attr-dict : functional-type",
):
    """The result of an elementwise comparison."""

    cost = costs.INSTRUCTION
    wider = "compare"
    emit = Emit(by_attributes="compare")

    lhs = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    rhs = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    comparison_direction = Attribute(Enum("comparison_direction", ComparisonDirection))
    compare_type = Attribute(Enum("comparison_type", ComparisonType), ComparisonType.NOTYPE)
    result = Result(BOOLEAN)

    def plain_function(self, element_type: ElementType) -> ArrayFunction:
        return comparison(self.comparison_direction, self.compare_type, element_type)

    @classmethod
    def result_element_type(cls, element_type: ElementType) -> ElementType:
        return ELEMENT_TYPES["i1"]

    C1 = constraints.same_baseline_element_type("lhs", "rhs")
    C2 = constraints.same_shape("lhs", "rhs", "result")
    C3 = Constraint(compare_type_fits)


class IsFinite(
    Elementwise,
    name="stablehlo.is_finite",
    assembly="operands attr-dict : functional-type",
    functions={FLOAT: np.isfinite},
):
    """Whether elements are neither infinite nor NaN."""

    wider = "is_finite"
    emit = Emit(predicate="is_finite")

    x = Operand(FLOAT | QUANTIZED_PER_TENSOR)
    y = Result(BOOLEAN)
    C1 = constraints.same_shape("x", "y")

    @classmethod
    def result_element_type(cls, element_type: ElementType) -> ElementType:
        return ELEMENT_TYPES["i1"]


class Extremum(Binary):
    """Base of `maximum` and `minimum`, which give the names of their code.

    Class attributes:
        plain: the function of carriers.
        for_floats: makes the function of floats of a type and width.
    """

    cost = costs.CHOICE
    rounding = Rounding.EXACT
    finiteness = Finiteness.KEPT
    any_order_on = BOOLEAN | INTEGER | FLOAT

    plain: ClassVar[ArrayFunction]
    for_floats: ClassVar[Callable[..., ArrayFunction]]

    def __init_subclass__(cls, *, code: str, **settings: Any) -> None:
        emit = Emit(
            integers=code,
            integer_types=BOOLEAN | INTEGER,
            floats=code,
            keeps_digits=True,
            complex_numbers=f"{code}_complex",
        )
        super().__init_subclass__(partition=code, wider=code, interval=code, emit=emit, **settings)

    @classmethod
    @functools.cache
    def function_of(cls, element_type: ElementType) -> ArrayFunction:
        return ordering(element_type, cls.plain, cls.for_floats)


class Maximum(Extremum, name="stablehlo.maximum", code="maximum"):
    """The larger element; NaN where either is NaN."""

    plain = np.maximum
    for_floats = staticmethod(special.maximum)


class Minimum(Extremum, name="stablehlo.minimum", code="minimum"):
    """The smaller element; NaN where either is NaN."""

    plain = np.minimum
    for_floats = staticmethod(special.minimum)


def ordering(
    element_type: ElementType, plain: ArrayFunction, for_floats: Callable[..., ArrayFunction]
) -> ArrayFunction:
    """A maximum or minimum: `plain` of carriers, or the result of `for_floats` for a type's width."""
    if element_type.category == FLOAT and element_types.has_negative_zero(element_type):
        return for_floats(element_type.dtype, element_type.width)
    return element_types.through_carrier(
        plain, element_type, element_type, element_types.carrier(element_type)
    )


def _single_or_shape(name: str, other: str) -> Constraint:
    """An operand must have rank 0 or the shape of another one."""
    same_shape = constraints.same_shape(other, name)
    return Constraint(
        lambda view: same_shape.check(view) if getattr(view, name).rank else None,
        f"rank({name}) = 0 or {same_shape.rule}",
    )


class Clamp(Elementwise, name="stablehlo.clamp", assembly="$min , $operand , $max attr-dict : same-type"):
    """minimum(maximum(operand, min), max); the bounds may be single elements."""

    cost = costs.CHOICE
    rounding = Rounding.EXACT
    wider = "clamp"
    finiteness = Finiteness.KEPT
    emit = Emit(by_attributes="clamp")
    interval = "clamp"

    min = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    operand = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    max = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    @classmethod
    @functools.cache
    def function_of(cls, element_type: ElementType) -> ArrayFunction:
        greater, less = Maximum.function_of(element_type), Minimum.function_of(element_type)
        return lambda min, operand, max: less(greater(operand, min), max)

    C1 = _single_or_shape("min", "operand")
    C2 = _single_or_shape("max", "operand")
    C3 = constraints.same_baseline_element_type("operand", "min", "max")
    C4 = constraints.same_baseline_type("operand", "result")


class Select(Elementwise, name="stablehlo.select", assembly="operands attr-dict : select-type"):
    """on_true where pred is true, on_false elsewhere."""

    cost = costs.SELECTION
    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    emit = Emit(by_attributes="select")
    memory = Memory.MAY_FORWARD
    moved_operands = slice(1, 3)

    pred = Operand(BOOLEAN)
    on_true = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    on_false = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    @classmethod
    @functools.cache
    def function_of(cls, element_type: ElementType) -> ArrayFunction:
        return np.where

    def plain_function(self, element_type: ElementType) -> ArrayFunction:
        if self.pred.rank == 0 and self.on_true.rank > 0:
            return lambda pred, on_true, on_false: on_true if pred else on_false
        return np.where

    C1 = _single_or_shape("pred", "on_true")
    C2 = constraints.same_baseline_type("on_true", "on_false", "result")
