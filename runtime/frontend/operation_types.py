"""An operation while it is parsed, and the ways in which pretty forms write its types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..ir import Attribute, Region, Value
from ..types import COMPLEX, TensorType, TupleType, Type, element_type

if TYPE_CHECKING:
    from .operation_parser import OperationParser


class OperationState:
    """An operation while it is parsed.

    Attributes:
        name, position: its name and where it begins.
        operands: the operands so far; `groups`: those of each declared operand.
        result_types, attributes, regions: what has been parsed of them.
    """

    __slots__ = ("attributes", "groups", "name", "operands", "position", "regions", "result_types")

    def __init__(self, name: str, position: int) -> None:
        self.name = name
        self.position = position
        self.operands: list[Value] = []
        self.groups: dict[str, list[Value]] = {}
        self.result_types: Sequence[Type] = ()
        self.attributes: dict[str, Attribute] = {}
        self.regions: list[Region] = []

    def clear(self) -> None:
        """Forget what has been parsed."""
        self.operands = []
        self.groups = {}
        self.result_types = ()
        self.attributes = {}
        self.regions = []


def functional_type(parser: OperationParser, state: OperationState) -> None:
    """``(types) -> types``."""
    position = parser.position
    type = parser.function_type()
    check_operand_types(parser, state.operands, type.inputs, position)
    state.result_types = type.results


def check_operand_types(
    parser: OperationParser, operands: Sequence[Value], types: Sequence[Type], position: int
) -> None:
    """Operands must be as many as the types, and of these types."""
    if len(operands) != len(types):
        parser.fail(f"{len(operands)} operand types, found {len(types)}", position)
    for operand, type in zip(operands, types, strict=True):
        if operand.type is not type and operand.type != type:
            parser.fail(f"an operand of type {type}, found one of type {operand.type}", position)


def same_type(parser: OperationParser, state: OperationState) -> None:
    """One type for all operands and the result, or the functional type."""
    if parser.peek() == "(":
        functional_type(parser, state)
        return
    position = parser.position
    type = parser.type()
    for operand in state.operands:
        if operand.type is not type and operand.type != type:
            parser.fail(f"an operand of type {type}, found one of type {operand.type}", position)
    state.result_types = (type,)


def complex_type(parser: OperationParser, state: OperationState) -> None:
    """The complex result type, from which those of the parts follow, or the functional type."""
    if parser.peek() == "(":
        functional_type(parser, state)
        return
    position = parser.position
    type = parser.type()
    if not isinstance(type, TensorType) or type.category != COMPLEX:
        parser.fail("a tensor type with complex elements", position)
    part = type.with_element_type(element_type(str(type.element_type)[len("complex<") : -1]))
    check_operand_types(parser, state.operands, [part, part], position)
    state.result_types = (type,)


def select_type(parser: OperationParser, state: OperationState) -> None:
    """The predicate's type and that of all others, or the functional type."""
    if parser.peek() == "(":
        functional_type(parser, state)
        return
    position = parser.position
    predicate = parser.type()
    parser.expect(",")
    type = parser.type()
    check_operand_types(parser, state.operands, [predicate, type, type], position)
    state.result_types = (type,)


def tuple_type(parser: OperationParser, state: OperationState) -> None:
    """The tuple type, from which those of the operands follow."""
    position = parser.position
    type = parser.type()
    if not isinstance(type, TupleType):
        parser.fail("a tuple type", position)
    check_operand_types(parser, state.operands, type.types, position)
    state.result_types = (type,)


def pairwise_types(parser: OperationParser, state: OperationState) -> None:
    """A type for each operand and its result."""
    position = parser.position
    types = parser.types()
    check_operand_types(parser, state.operands, types, position)
    state.result_types = types
