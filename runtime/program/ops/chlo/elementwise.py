"""The CHLO operations that compute elementwise or create tensors.

Source: the public definition of the CHLO dialect; specification, section "Dialect Interop".
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np

from ....types import (
    BOOLEAN,
    COMPLEX,
    ELEMENT_TYPES,
    FLOAT,
    INTEGER,
    PLAIN,
    Array,
    ElementType,
    TensorType,
    Type,
)
from ...ir import Attribute as IrAttribute
from ...ir import BoolAttribute, FloatAttribute, IntegerAttribute
from ...ir.description import describe_attribute
from ..elementwise.base import Elementwise
from ..framework import constraints, costs
from ..framework.accuracy import Accuracy, ErrorTerm, Rounding
from ..framework.attribute_kinds import ATTRIBUTE
from ..framework.declaration import Attribute, Op, Operand, Result, constraint
from ..framework.emitters import Emit
from ..framework.traits import Memory
from ..numerics import complex_functions, element_types
from ..numerics import special_functions as special
from ..numerics.element_types import ArrayFunction
from ..shape.creation import ConstantOp


class ChloUnary(Elementwise, assembly="$operand attr-dict : type($operand) -> type($result)"):
    """Base of operations on one tensor of floats or complex values."""

    accuracy = Accuracy()

    operand = Operand(FLOAT | COMPLEX)
    result = Result(FLOAT | COMPLEX)
    C1 = constraints.same_type("operand", "result")


class ChloReal(ChloUnary):
    """Base of operations on one tensor of floats."""

    operand = Operand(FLOAT)
    result = Result(FLOAT)


class ChloPredicate(ChloUnary):
    """Base of predicates on floats."""

    operand = Operand(FLOAT)
    result = Result(BOOLEAN)
    C1 = constraints.same_shape("operand", "result")

    @classmethod
    def result_element_type(cls, element_type: ElementType) -> ElementType:
        return ELEMENT_TYPES["i1"]


WIDE = FLOAT | COMPLEX


class IsInf(ChloPredicate, name="chlo.is_inf", functions={FLOAT: np.isinf}):
    """Whether elements are infinite."""

    emit = Emit(predicate="is_infinite")


class IsNegInf(ChloPredicate, name="chlo.is_neg_inf", functions={FLOAT: np.isneginf}):
    """Whether elements are negative infinity."""

    emit = Emit(predicate="is_negative_infinity")


class IsPosInf(ChloPredicate, name="chlo.is_pos_inf", functions={FLOAT: np.isposinf}):
    """Whether elements are positive infinity."""

    emit = Emit(predicate="is_positive_infinity")


class AsinAcosKernel(
    ChloUnary, name="chlo._asin_acos_kernel", functions={COMPLEX: complex_functions.asin_acos}, wide=COMPLEX
):
    """The common kernel of asin, acos, asinh and acosh of complex numbers: w of z, and w' of i z, with

    asin(z) = complex(atan2(real(z), real(w)), sign(imag(z)) imag(w)),
    acos(z) = complex(atan2(real(w), real(z)), -sign(imag(z)) imag(w)),
    asinh(z) = complex(sign(real(z)) imag(w'), atan2(imag(z), real(w'))),
    acosh(z) = complex(imag(w), sign(imag(z)) atan2(real(w), real(z))).
    """

    cost = costs.FUNCTION
    accuracy = Accuracy(complex_absolute=1e-150)

    operand = Operand(COMPLEX)
    result = Result(COMPLEX)


class Conj(ChloUnary, name="chlo.conj"):
    """The complex conjugate; real elements themselves."""

    rounding = Rounding.EXACT
    emit = Emit(floats="same", keeps_digits=True, complex_numbers="conjugate")
    memory = Memory.MAY_FORWARD

    @classmethod
    @functools.cache
    def function_of(cls, element_type: ElementType) -> ArrayFunction:
        return np.conjugate if element_type.category == COMPLEX else lambda operand: operand


class NextAfter(
    Elementwise, name="chlo.next_after", assembly="$x , $y attr-dict : type($x) , type($y) -> type($result)"
):
    """The next value of the type from x towards y; y if they are equal."""

    rounding = Rounding.EXACT
    depends_on_digits = True
    emit = Emit(by_attributes="next_after")

    x = Operand(FLOAT)
    y = Operand(FLOAT)
    result = Result(FLOAT)
    C1 = constraints.same_type("x", "y", "result")

    @classmethod
    @functools.cache
    def function_of(cls, element_type: ElementType) -> ArrayFunction:
        if element_type.name == "f16":
            # For zeros of different signs NumPy returns x.
            return lambda x, y: np.where(x == y, y, np.nextafter(x, y))
        return np.nextafter


class Polygamma(
    Elementwise,
    name="chlo.polygamma",
    assembly="$n , $x attr-dict : type($n) , type($x) -> type($result)",
    functions={FLOAT: special.polygamma},
    wide=WIDE,
):
    """The n-th derivative of digamma at x."""

    cost = costs.SCIPY_FUNCTION
    accuracy = Accuracy(relative=1e-10, term=ErrorTerm.POLYGAMMA)

    n = Operand(FLOAT)
    x = Operand(FLOAT)
    result = Result(FLOAT)
    C1 = constraints.same_type("n", "x", "result")


class Zeta(
    Elementwise,
    name="chlo.zeta",
    assembly="$x , $q attr-dict : type($x) , type($q) -> type($result)",
    functions={FLOAT: special.zeta},
    wide=WIDE,
):
    """The Hurwitz zeta function."""

    cost = costs.SCIPY_FUNCTION
    accuracy = Accuracy(relative=1e-12, underflowing=24, term=ErrorTerm.ZETA)

    x = Operand(FLOAT)
    q = Operand(FLOAT)
    result = Result(FLOAT)
    C1 = constraints.same_type("x", "q", "result")


class Mulhi(
    Elementwise,
    name="chlo.mulhi",
    assembly="$lhs , $rhs attr-dict : type($lhs) , type($rhs) -> type($result)",
):
    """The upper half of the product."""

    emit = Emit(integers="multiply_high")

    lhs = Operand(INTEGER)
    rhs = Operand(INTEGER)
    result = Result(INTEGER)
    C1 = constraints.same_type("lhs", "rhs", "result")

    @classmethod
    @functools.cache
    def function_of(cls, element_type: ElementType) -> ArrayFunction:
        dtype = element_types.carrier(element_type)
        if element_type.width == 64:
            return special.multiply_high
        doubled = np.dtype(f"{dtype.kind}8")
        width = doubled.type(element_type.width)

        def multiply(lhs: Array, rhs: Array) -> Any:
            product = lhs.astype(dtype).astype(doubled) * rhs.astype(dtype).astype(doubled)
            return (product >> width).astype(dtype).astype(element_type.dtype)

        return multiply


class Constant(ConstantOp, name="chlo.constant", assembly="custom(constant)"):
    """A constant."""


class ConstantLike(Op, name="chlo.constant_like"):
    """A tensor of the operand's shape, all of whose elements are `value`."""

    partition = "elementwise"
    rounding = Rounding.EXACT
    emit = Emit(by_attributes="constant_like")

    value = Attribute(ATTRIBUTE)
    operand = Operand(PLAIN)
    result = Result(PLAIN)

    C1 = constraints.same_shape("operand", "result")

    @constraint
    def C2(self) -> str | None:
        """type(value) = element_type(result)"""
        value_type, element_type = _type_of(self.value), self.result.element_type
        if value_type is element_type:
            return None
        actual = describe_attribute(self.value)
        return f"value is {actual}, but result has elements {element_type}"

    def infer(self) -> list[Type] | None:
        return [TensorType(self.operand.shape, self.result.element_type, self.operand.bounds)]

    def reference(self, operand: Array) -> Array:
        assert isinstance(self.value, _SCALARS)
        return np.full(np.shape(operand), np.asarray(self.value.value).astype(self.result.dtype))


_SCALARS: Final = (BoolAttribute, IntegerAttribute, FloatAttribute)


def _type_of(value: IrAttribute) -> ElementType | None:
    if isinstance(value, BoolAttribute):
        return ELEMENT_TYPES["i1"]
    return value.type if isinstance(value, (IntegerAttribute, FloatAttribute)) else None
