"""Parse actions for the operand and result types of assembly formats.

Each checks the operands against the types in the text and sets the result types.
"""

from __future__ import annotations

from ... import types
from ...types import COMPLEX, ELEMENT_TYPES, INDEX, TensorType, TupleType
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
            parser.fail_expecting(f"an operand of type {type}, found one of type {operand.type}", position)
    state.result_types = (type,)


def complex_type(parser: StatementParser, state: OperationState) -> None:
    """The complex result type, which determines the type of both components, or the functional type."""
    if parser.peek() == "(":
        functional_type(parser, state)
        return
    position = parser.position
    type = parser.type()
    if not isinstance(type, TensorType) or type.category != COMPLEX:
        parser.fail_expecting("a tensor type with complex elements", position)
    component_type = type.with_element_type(types.element_type(str(type.element_type)[len("complex<") : -1]))
    parser.check_operand_types(state.operands, [component_type, component_type], position)
    state.result_types = (type,)


def stablehlo_select_type(parser: StatementParser, state: OperationState) -> None:
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
    """The tuple type, whose element types are those of the operands."""
    position = parser.position
    type = parser.type()
    if not isinstance(type, TupleType):
        parser.fail_expecting("a tuple type", position)
    parser.check_operand_types(state.operands, type.types, position)
    state.result_types = (type,)


def pairwise_types(parser: StatementParser, state: OperationState) -> None:
    position = parser.position
    types = parser.types()
    parser.check_operand_types(state.operands, types, position)
    state.result_types = types


def compared_type(parser: StatementParser, state: OperationState) -> None:
    """The type of both operands; the result has the operands' shape and element type i1."""
    position = parser.position
    type = parser.type()
    parser.check_operand_types(state.operands, [type, type], position)
    i1 = ELEMENT_TYPES["i1"]
    state.result_types = (type.with_element_type(i1) if isinstance(type, TensorType) else i1,)


def arith_select_type(parser: StatementParser, state: OperationState) -> None:
    """The type of both values, preceded by the condition's type unless the condition is a scalar."""
    type = parser.type()
    state.result_types = (parser.type() if parser.accept(",") else type,)


def index_type(parser: StatementParser, state: OperationState) -> None:
    """No text: the result has type index."""
    state.result_types = (INDEX,)


def element_type(parser: StatementParser, state: OperationState) -> None:
    """No text: the result has the element type of the first operand."""
    type = state.operands[0].type
    if not isinstance(type, TensorType):
        parser.fail_expecting("a tensor operand", parser.position)
    state.result_types = (type.element_type,)
