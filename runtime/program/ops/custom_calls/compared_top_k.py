"""`nimblehlo.compared_top_k`: XLA's custom call @TopK, whose comparator says which elements come first.

Source: XLA, the pass that decomposes TopK: a stable sort of the operand and of an iota, whose first elements
are the results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ....types import DYNAMIC, ELEMENT_TYPES, INTEGER, PLAIN, Array, TensorType
from ...ir import Attribute as IrAttribute
from ...ir import BoolAttribute, IntegerAttribute, Operation, Value
from ..framework import rules
from ..framework.declaration import Evaluate, Op, Operand, Region, Result, constraint
from ..shape.slicing import leading_slice

_I32: Final = ELEMENT_TYPES["i32"]
_I64: Final = ELEMENT_TYPES["i64"]


class ComparedTopK(Op, name="nimblehlo.compared_top_k"):
    """The first k elements along the last dimension in the order of the comparator, and their indices."""

    source_name = "stablehlo.custom_call @TopK"
    is_decomposed = True

    operand = Operand(PLAIN)
    comparator = Region()
    values = Result(PLAIN)
    indices = Result(INTEGER)

    @constraint
    def C1(self) -> str | None:
        """1 <= rank(operand)"""
        return None if self.operand.rank else "operand has rank 0, but must have at least 1 dimension"

    @constraint
    def C2(self) -> str | None:
        """comparator has type (tensor<E>, tensor<E>, tensor<i32>, tensor<i32>) -> tensor<i1>,
        E = element_type(operand)
        """
        pairs = [TensorType((), each) for each in (self.operand.element_type, _I32) for _ in range(2)]
        return rules.function_type_is(
            "comparator", self.comparator, pairs, [TensorType((), ELEMENT_TYPES["i1"])]
        )

    @constraint
    def C3(self) -> str | None:
        """values has the operand's type except for dim(values, -1), which is k; indices has its shape"""
        shape = (*self.operand.shape[:-1], self.values.shape[-1] if self.values.rank else 0)
        expected = self.operand.with_shape(shape)
        return rules.first(
            rules.type_is("values", self.values, expected),
            rules.type_is("indices", self.indices, expected.with_element_type(_I32)),
        )

    @constraint
    def C4(self) -> str | None:
        """k is known, and k <= dim(operand, -1)"""
        k, size = self.values.shape[-1], self.operand.shape[-1]
        if k == DYNAMIC:
            return "the last dimension of values has an unknown size"
        return None if size == DYNAMIC or k <= size else f"k is {k}, but operand has size {size}"

    def infer(self) -> None:
        return None

    def iota(self) -> Operation:
        """The operation that numbers the elements along the last dimension."""
        attributes = {"iota_dimension": IntegerAttribute(self.operand.rank - 1, _I64)}
        type = self.operand.with_element_type(_I32)
        return Operation("stablehlo.iota", (), [type], attributes, (), self.operation.location)

    def sort(self, positions: Value) -> Operation:
        """The operation that sorts the operand and, with it, the results of `iota`."""
        attributes: dict[str, IrAttribute] = {
            "dimension": IntegerAttribute(self.operand.rank - 1, _I64),
            "is_stable": BoolAttribute(True),
        }
        operation = self.operation
        inputs = [operation.operands[0], positions]
        types = [value.type for value in inputs]
        return Operation("stablehlo.sort", inputs, types, attributes, operation.regions, operation.location)

    def decompose(self) -> list[Operation]:
        positions = self.iota()
        ordered = self.sort(positions.result)
        pairs = zip(ordered.results, (self.values, self.indices), strict=True)
        slices = [leading_slice(value, type, ordered.location) for value, type in pairs]
        return [positions, ordered, *slices]

    def reference(self, operand: Array, *, comparator: Evaluate) -> tuple[Any, ...]:
        return self._first(Op.of(self.sort(self.iota().result)).reference, operand, comparator)

    def bind(self) -> Callable[..., Any]:
        sort = Op.of(self.sort(self.iota().result)).bind()
        return lambda operand, *, comparator: self._first(sort, operand, comparator)

    def _first(self, sort: Callable[..., Any], operand: Array, comparator: Evaluate) -> tuple[Any, ...]:
        """The first elements and their positions, by a function of `sort`."""
        positions = np.broadcast_to(np.arange(operand.shape[-1], dtype=np.int32), operand.shape)
        ordered = sort(operand, positions, comparator=comparator)
        return tuple([array[..., : self.values.shape[-1]] for array in ordered])
