"""Assembly formats of `nimblehlo.ops.shape.shape_dialects`, whose text omits some of the types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ..ir import BoolAttribute, DenseElementsAttribute, IntegerAttribute
from ..ops.shape.shape_dialects import Predicate
from ..types import ELEMENT_TYPES, INDEX, TensorType
from .assembly import AssemblyFormat, compile_assembly
from .signature import ParseAction, Signature
from .statement_parser import OperationState, StatementParser


def _constant(parser: StatementParser, state: OperationState) -> None:
    """``2 : index``, ``true`` or ``dense<1> : tensor<2xindex>``."""
    position = parser.position
    value = parser.attribute()
    state.attributes["value"] = value
    if isinstance(value, BoolAttribute):
        state.result_types = (ELEMENT_TYPES["i1"],)
    elif isinstance(value, (DenseElementsAttribute, IntegerAttribute)):
        state.result_types = (value.type,)
    else:
        parser.fail("an integer or a dense constant", position)


def _const_shape(parser: StatementParser, state: OperationState) -> None:
    """``[4, 32]``."""
    sizes = np.array(parser.integers(), np.int64)
    state.attributes["shape"] = DenseElementsAttribute(TensorType(sizes.shape, INDEX), sizes)


def _predicate(parser: StatementParser, state: OperationState) -> None:
    """``slt ,``."""
    position = parser.skip()
    name = parser.keyword("a comparison such as 'slt'")
    if name not in Predicate.__members__:
        parser.fail(f"one of {', '.join(Predicate.__members__)}", position)
    state.attributes["predicate"] = IntegerAttribute(Predicate[name].value, ELEMENT_TYPES["i64"])
    parser.expect(",")


def _compared_type(parser: StatementParser, state: OperationState) -> None:
    """The type of both operands; the result has the operands' shape and element type i1."""
    position = parser.position
    type = parser.type()
    parser.check_operand_types(state.operands, [type, type], position)
    truth = ELEMENT_TYPES["i1"]
    state.result_types = (type.with_element_type(truth) if isinstance(type, TensorType) else truth,)


def _selected_type(parser: StatementParser, state: OperationState) -> None:
    """The type of both values, preceded by the type of the condition where that is not a scalar."""
    type = parser.type()
    state.result_types = (parser.type() if parser.accept(",") else type,)


def _index_result(parser: StatementParser, state: OperationState) -> None:
    """Set the result type to index, which the text omits."""
    state.result_types = (INDEX,)


def _element_result(parser: StatementParser, state: OperationState) -> None:
    """Set the result type to the element type of the first operand, which the text omits."""
    type = state.operands[0].type
    if not isinstance(type, TensorType):
        parser.fail("a tensor operand", parser.position)
    state.result_types = (type.element_type,)


def _actions(assembly: str, *operands: str, variadic: str = "") -> Sequence[ParseAction]:
    named = {name: name == variadic for name in operands}
    return compile_assembly(assembly, Signature(named, {"result": False})).actions


def _actions_without_operands(assembly: str) -> Sequence[ParseAction]:
    """Compile a part of a format that has neither operands nor results."""
    return compile_assembly(assembly, Signature()).actions


_BINARY: Final = AssemblyFormat(_actions("$lhs , $rhs attr-dict : same-type", "lhs", "rhs"))

FORMATS: Final = {
    "arith.constant": AssemblyFormat([*_actions_without_operands("attr-dict"), _constant]),
    **{f"arith.{name}": _BINARY for name in ("addi", "subi", "muli", "divsi", "remsi", "maxsi", "minsi")},
    "arith.cmpi": AssemblyFormat(
        [_predicate, *compile_assembly("operands attr-dict :", Signature()).actions, _compared_type]
    ),
    "arith.select": AssemblyFormat([*_actions_without_operands("operands attr-dict :"), _selected_type]),
    "arith.index_cast": AssemblyFormat(
        _actions("$operand attr-dict : type($operand) to type($result)", "operand")
    ),
    "tensor.dim": AssemblyFormat(
        [
            *compile_assembly(
                "$source , $index attr-dict : type($source)", Signature({"source": False, "index": False})
            ).actions,
            _index_result,
        ]
    ),
    "tensor.from_elements": AssemblyFormat(
        _actions("$elements attr-dict : type($result)", "elements", variadic="elements")
    ),
    "tensor.extract": AssemblyFormat(
        [
            *compile_assembly(
                "$tensor [ $indices ] attr-dict : type($tensor)",
                Signature({"tensor": False, "indices": True}),
            ).actions,
            _element_result,
        ]
    ),
    "tensor.cast": AssemblyFormat(_actions("$source attr-dict : type($source) to type($result)", "source")),
    "shape.const_shape": AssemblyFormat(
        [*_actions_without_operands("attr-dict"), _const_shape, *_actions(": type($result)")]
    ),
}
"""The assembly format of each operation by name."""
