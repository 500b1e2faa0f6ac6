"""`top_k` of CHLO.

Source: the public definition of the CHLO dialect.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....types import BOOLEAN, DYNAMIC, ELEMENT_TYPES, FLOAT, INTEGER, Array, TensorType, Type
from ..framework import costs, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import BOOL, I64
from ..framework.declaration import Attribute, Op, Operand, Result, constraint
from ..framework.elements import index_space
from ..framework.facts import Finiteness
from ..numerics import element_types


class TopKRules(Op):
    """The constraints of `top_k`, whose `k` is an attribute or an operand."""

    operand: Any
    values: Any
    indices: Any

    def count(self) -> int:
        """The value of `k`; DYNAMIC if it is not known."""
        known = self.integers("k")
        return DYNAMIC if known is None else known[0]

    def top_type(self) -> TensorType:
        """The type of the values."""
        operand: TensorType = self.operand
        return operand.with_shape((*operand.shape[:-1], self.count()))

    @constraint
    def C1(self) -> str | None:
        """1 <= rank(operand)"""
        return None if self.operand.rank else "operand has rank 0, but must have at least 1 dimension"

    @constraint
    def C2(self) -> str | None:
        """0 <= k <= dim(operand, -1)"""
        known, size = self.integers("k"), self.operand.shape[-1] if self.operand.rank else 0
        if known is not None and (known[0] < 0 or (size != DYNAMIC and known[0] > size)):
            return f"k is {known[0]}, but the last dimension of operand has size {size}"
        return None

    @constraint
    def C3(self) -> str | None:
        """values has elements of the operand's type, indices of type i32, both shape (..., k)"""
        expected = self.top_type()
        return rules.first(
            rules.same_type("values", self.values, "the inferred type", expected),
            rules.same_type(
                "indices", self.indices, "the inferred type", expected.with_element_type(ELEMENT_TYPES["i32"])
            ),
        )

    def infer(self) -> list[Type] | None:
        values = self.top_type()
        return [values, values.with_element_type(ELEMENT_TYPES["i32"])]


class TopK(
    TopKRules,
    name="chlo.top_k",
    assembly=(
        "( $operand , k = $k ( , is_stable = $is_stable )? ) attr-dict"
        " : type($operand) -> ( type($values) , type($indices) )"
    ),
):
    """The k greatest elements along the last dimension, in descending order, and their indices.

    Equal elements keep their order. Floats are ordered by IEEE-754's total order, so that NaN is the largest.
    """

    kernel = "kernels.top_k"
    rounding = Rounding.EXACT
    finiteness = Finiteness.MOVED
    numpy = "sorting.top_k_numpy.bind"
    copies_strided_operands = True
    is_slow_on_few = True
    work = costs.Work.COMBINATIONS
    block_rule = "arrays.selection.TOP_K"

    operand = Operand(BOOLEAN | INTEGER | FLOAT)
    k = Attribute(I64)
    is_stable = Attribute(BOOL, True)
    values = Result(BOOLEAN | INTEGER | FLOAT)
    indices = Result(INTEGER)

    def reference(self, operand: Array) -> tuple[Array, Array]:
        values = np.empty((*operand.shape[:-1], self.k), operand.dtype)
        indices = np.empty(values.shape, np.int32)
        for index in index_space(operand.shape[:-1]):
            row = operand[index]
            descending = [-int(sort_key) for sort_key in self.keys_of(row)]
            indices[index] = sorted(range(len(row)), key=descending.__getitem__)[: self.k]
            values[index] = row[indices[index]]
        return values, indices

    def keys_of(self, operand: Array) -> Array:
        """Integers in the order of the elements."""
        element_type = self.operand.plain_element_type
        if element_type.category == FLOAT:
            sort_keys: Array = element_types.total_order(element_type)(operand)
            return sort_keys
        return operand.astype(element_types.carrier(element_type))
