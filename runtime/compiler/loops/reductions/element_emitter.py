"""The elements of a fusion's values, computed where a loop needs them, as LLVM code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from llvmlite import ir

from ....program.ir import Operation, plain_element_type
from ....program.ir import Value as IrValue
from ....program.ops.framework.declaration import Op, declaration_of
from ....types import ELEMENT_TYPES, FLOAT, INTEGER, ElementType
from ..elementwise.rules import emit
from ..llvm.values import I64, Value, constant_element, rounded, value_types, wrapped
from .iteration_space import IndexMap

if TYPE_CHECKING:
    from ....program.ops.shape.creation import Iota

Indices = tuple[ir.Value, ...]
"""The indices of the loops around an element, which determine its position."""


class ElementEmitter:
    """Generates the elements of the values of a fusion's block.

    Attributes:
        builder: where to generate.
        index_maps: of each value.
    """

    builder: ir.IRBuilder
    index_maps: Mapping[IrValue, IndexMap]

    def load(self, value: IrValue, indices: Indices) -> Value:
        """The element of an argument of the block."""
        raise NotImplementedError

    def index(self, axis: int, indices: Indices) -> ir.Value:
        """The index along a dimension of the iteration space."""
        raise NotImplementedError

    def element(self, value: IrValue, indices: Indices, elements: dict[IrValue, Value]) -> Value:
        """The element of a value at some indices; `elements` caches the elements at these."""
        if value not in elements:
            elements[value] = self._compute(value, indices, elements)
        return elements[value]

    def _compute(self, value: IrValue, indices: Indices, elements: dict[IrValue, Value]) -> Value:
        operation = value.owner
        if not isinstance(operation, Operation):
            return self.load(value, indices)
        if operation.is_constant:
            return constant_element(operation)
        if declaration_of(operation).is_iota:
            axis = self.iota_axis(operation)
            index = I64(0) if axis is None else self.index(axis, indices)
            return _index_to_element(self.builder, index, plain_element_type(value))
        operands = [self.element(operand, indices, elements) for operand in operation.operands]
        if declaration_of(operation).movement is not None:  # one that keeps dimensions: see `IterationSpace`
            return operands[0]
        return emit(self.builder, operation, operands)

    def iota_axis(self, operation: Operation) -> int | None:
        """The dimension of the iteration space that an iota counts."""
        return self.index_maps[operation.result][cast("Iota", Op.of(operation)).iota_dimension]


def _index_to_element(builder: ir.IRBuilder, index: ir.Value, element_type: ElementType) -> Value:
    if element_type.category & INTEGER:
        type = value_types(element_type)[0]
        truncated = index if type == I64 else builder.trunc(index, type)
        return (wrapped(builder, element_type, truncated),)
    component = ELEMENT_TYPES["f64" if element_type.width == 128 else "f32"]
    real = element_type if element_type.category == FLOAT else component
    floating = rounded(builder, real, builder.sitofp(index, ir.DoubleType()))
    if element_type.category == FLOAT:
        return (floating,)
    return (floating, ir.Constant(floating.type, 0.0))
