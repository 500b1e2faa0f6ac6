"""Tuples: `tuple` and `get_tuple_element`.

Source: specification, sections "tuple" and "get_tuple_element".
"""

from __future__ import annotations

from typing import Any

from ....types import ANY, TUPLE, TupleType, TupleValue, Type
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import I32
from ..framework.declaration import Attribute, Op, Operand, Result, constraint
from ..framework.facts import Finiteness
from ..framework.rules import in_range, same_type, types_agree
from ..framework.traits import Memory


class Tuple(Op, name="stablehlo.tuple", assembly="$val attr-dict : tuple-type"):
    """Makes a tuple of values."""

    partition = "refuse"
    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    memory = Memory.FORWARDS
    takes_stored_values = True

    val: Operand[list[Type]] = Operand(ANY, variadic=True)  # type: ignore[assignment]
    result: Result[TupleType] = Result(TUPLE)  # type: ignore[assignment]

    @constraint
    def C1(self) -> str | None:
        """result has type tuple<E0, ..., EN-1> where Ei = type(val[i])"""
        expected = TupleType(self.val)
        if len(self.result.types) == len(self.val) and all(map(types_agree, self.result.types, self.val)):
            return None
        return f"result is {self.result}, but val makes {expected}"

    def infer(self) -> list[Type]:
        return [TupleType(self.val)]

    def reference(self, *val: Any) -> TupleValue:
        return TupleValue(val)


class GetTupleElement(
    Op, name="stablehlo.get_tuple_element", assembly="$operand [ $index ] attr-dict : functional-type"
):
    """Takes one element of a tuple."""

    partition = "refuse"
    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    memory = Memory.FORWARDS
    takes_stored_values = True

    operand: Operand[TupleType] = Operand(TUPLE)  # type: ignore[assignment]
    index = Attribute(I32)
    result: Result[Type] = Result(ANY)  # type: ignore[assignment]

    @constraint
    def C1(self) -> str | None:
        """0 <= index < size(operand)"""
        return in_range("index", [self.index], 0, len(self.operand.types), "size(operand)")

    @constraint
    def C2(self) -> str | None:
        """type(result) = tuple_element_types(operand)[index]"""
        return same_type("result", self.result, f"operand[{self.index}]", self.operand.types[self.index])

    def infer(self) -> list[Type]:
        return [self.operand.types[self.index]]

    def reference(self, operand: TupleValue) -> Any:
        return operand[self.index]
