"""The spellings of operand and result types in assembly formats."""

from __future__ import annotations

from ..types import COMPLEX, TensorType, TupleType, element_type
from .statement_parser import OperationState, StatementParser


def functional_type(parser: StatementParser, state: OperationState) -> None:
    """``(types) -> types``."""
    parser.functional_type(state)


def same_type(parser: StatementParser, state: OperationState) -> None:
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


def complex_type(parser: StatementParser, state: OperationState) -> None:
    """The complex result type, from which the types of both components follow, or the functional type."""
    if parser.peek() == "(":
        functional_type(parser, state)
        return
    position = parser.position
    type = parser.type()
    if not isinstance(type, TensorType) or type.category != COMPLEX:
        parser.fail("a tensor type with complex elements", position)
    component_type = type.with_element_type(element_type(str(type.element_type)[len("complex<") : -1]))
    parser.check_operand_types(state.operands, [component_type, component_type], position)
    state.result_types = (type,)


def select_type(parser: StatementParser, state: OperationState) -> None:
    """The type of the predicate, then that of the other operands and the result; or the functional type."""
    if parser.peek() == "(":
        functional_type(parser, state)
        return
    position = parser.position
    predicate = parser.type()
    parser.expect(",")
    type = parser.type()
    parser.check_operand_types(state.operands, [predicate, type, type], position)
    state.result_types = (type,)


def tuple_type(parser: StatementParser, state: OperationState) -> None:
    """The tuple type, from which those of the operands follow."""
    position = parser.position
    type = parser.type()
    if not isinstance(type, TupleType):
        parser.fail("a tuple type", position)
    parser.check_operand_types(state.operands, type.types, position)
    state.result_types = (type,)


def pairwise_types(parser: StatementParser, state: OperationState) -> None:
    """A type for each operand and its result."""
    position = parser.position
    types = parser.types()
    parser.check_operand_types(state.operands, types, position)
    state.result_types = types
