"""Operations that create tensors.

Source: specification, section "Ops".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....types import (
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
from ..framework.elements import from_elements
from ..framework.traits import Memory
from ..numerics import element_types


class ConstantOp(Op):
    """Base of operations whose result is an attribute."""

    partition = "constant"
    loop_sharding = "constant"
    cost = costs.VIEW
    rounding = Rounding.EXACT
    wider = "carrier"
    memory = Memory.CREATES
    block_rule = "scalars.movement.CONSTANT"

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

    is_iota = True
    partition = "iota"
    cost = costs.VIEW
    rounding = Rounding.EXACT
    wider = "carrier"
    loop_sharding = "iota"
    numpy = "shape.movement_numpy.bind_iota"
    memory = Memory.CREATES
    block_rule = "scalars.movement.IOTA"
    interval = "iota"

    iota_dimension = Attribute(I64)
    output = Result(INTEGER | FLOAT | COMPLEX | QUANTIZED_PER_TENSOR)

    C1 = constraints.dimensions_of("iota_dimension", "output")

    def verify(self) -> None:
        super().verify()
        if not self.output.is_static:
            raise self.verify_error(f"output is {self.output}, but must have a static shape")

    def reference(self) -> Array:
        """``output[output_index] = constant(output_index[iota_dimension], element_type(output))``."""
        return iota(self.output.plain_element_type, self.output.shape, self.iota_dimension)


def iota(element_type: ElementType, shape: Sequence[int], iota_dimension: int) -> Array:
    """`iota` by its definition. Integers that do not fit wrap."""
    constant = element_types.converter(ELEMENT_TYPES["i64"], element_type)
    return from_elements(
        shape, element_type.dtype, lambda output_index: constant(np.array(output_index[iota_dimension]))
    )
