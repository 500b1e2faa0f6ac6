"""Operations that create tensors.

Source: specification, section "Ops".
"""

from __future__ import annotations

import math

import numpy as np

from ...types import (
    COMPLEX,
    ELEMENT_TYPES,
    FLOAT,
    INTEGER,
    QUANTIZED_PER_TENSOR,
    TENSOR,
    Array,
    ElementType,
    QuantizedType,
    Type,
)
from ..framework import constraints, costs, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import CONSTANT, I64
from ..framework.declaration import Attribute, Op, Result, constraint
from ..numerics import element_types


class ConstantOp(Op):
    """Base of operations whose result is an attribute."""

    partition = "constant"
    loop_sharding = "constant"
    cost = costs.VIEW
    rounding = Rounding.EXACT
    wider = "carrier"

    takes_stored_values = True

    value = Attribute(CONSTANT)
    output = Result(TENSOR)

    @constraint
    def C1(self) -> str | None:
        """type(value) = type(output); quantized tensors are given by their stored values"""
        value_type, element_type = self.value.type, self.output.element_type
        output = self.output
        if isinstance(element_type, QuantizedType) and value_type.element_type != element_type:
            output = output.with_element_type(element_type.storage)
        return rules.same_type("value", value_type, "output", output)

    def infer(self) -> list[Type] | None:
        return None if isinstance(self.output.element_type, QuantizedType) else [self.value.type]

    def reference(self) -> Array:
        array: Array = self.value.array
        return array


class Constant(ConstantOp, name="stablehlo.constant", assembly="custom(constant)"):
    """A constant."""


class Iota(Op, name="stablehlo.iota", assembly="dim = $iota_dimension attr-dict : type($output)"):
    """Each element's index in one dimension."""

    partition = "iota"
    cost = costs.VIEW
    rounding = Rounding.EXACT
    wider = "carrier"
    loop_sharding = "iota"

    iota_dimension = Attribute(I64)
    output = Result(INTEGER | FLOAT | COMPLEX | QUANTIZED_PER_TENSOR)

    C1 = constraints.dimensions_of("iota_dimension", "output")

    def verify(self) -> None:
        super().verify()
        if not self.output.is_static:
            raise self.verify_error(f"output is {self.output}, but must have a static shape")

    def reference(self) -> Array:
        return iota(self.output.plain_element_type, self.output.shape, self.iota_dimension)


def iota(element_type: ElementType, shape: tuple[int, ...], iota_dimension: int) -> Array:
    """The values of `iota` in an array of `shape`. Integers that do not fit wrap."""
    size = shape[iota_dimension]
    counted = np.int32 if element_type.name == "i32" and size <= 1 << 31 else np.int64
    values = np.arange(size, dtype=counted)
    if element_type.dtype != counted:
        values = element_types.converter(ELEMENT_TYPES["i64"], element_type)(values)
    if values.size == math.prod(shape):
        return values.reshape(shape)
    trailing = (1,) * (len(shape) - iota_dimension - 1)
    return np.broadcast_to(values.reshape(-1, *trailing), shape).copy()
