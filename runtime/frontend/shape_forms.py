"""Pretty forms of operations of `nimblehlo.ops.shape.shape_dialects` that do not spell out all types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ..ir import BoolAttribute, DenseElementsAttribute, IntegerAttribute
from ..ops.shape.shape_dialects import Predicate
from ..types import ELEMENT_TYPES, INDEX, TensorType
from .assembly import Form, compile_assembly
from .signature import Signature, Step
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
    """The type of both operands; the result has that of a truth value, of the same shape."""
    position = parser.position
    type = parser.type()
    parser.check_operand_types(state.operands, [type, type], position)
    truth = ELEMENT_TYPES["i1"]
    state.result_types = (type.with_element_type(truth) if isinstance(type, TensorType) else truth,)


def _selected_type(parser: StatementParser, state: OperationState) -> None:
    """The type of both values, before it that of the condition where it is no scalar."""
    type = parser.type()
    state.result_types = (parser.type() if parser.accept(",") else type,)


def _index_result(parser: StatementParser, state: OperationState) -> None:
    """The result is an index, which the form does not say."""
    state.result_types = (INDEX,)


def _element_result(parser: StatementParser, state: OperationState) -> None:
    """The result is an element of the first operand, which the form does not say."""
    type = state.operands[0].type
    if not isinstance(type, TensorType):
        parser.fail("a tensor operand", parser.position)
    state.result_types = (type.element_type,)


def _steps(form: str, *operands: str, variadic: str = "") -> Sequence[Step]:
    named = {name: name == variadic for name in operands}
    return compile_assembly(form, Signature(named, {"result": False})).steps


def _plain(form: str) -> Sequence[Step]:
    """The steps of a part that names no result."""
    return compile_assembly(form, Signature()).steps


_BINARY: Final = Form(_steps("$lhs , $rhs attr-dict : same-type", "lhs", "rhs"))

FORMS: Final = {
    "arith.constant": Form([*_plain("attr-dict"), _constant]),
    **{f"arith.{name}": _BINARY for name in ("addi", "subi", "muli", "divsi", "remsi", "maxsi", "minsi")},
    "arith.cmpi": Form(
        [_predicate, *compile_assembly("operands attr-dict :", Signature()).steps, _compared_type]
    ),
    "arith.select": Form([*_plain("operands attr-dict :"), _selected_type]),
    "arith.index_cast": Form(_steps("$operand attr-dict : type($operand) to type($result)", "operand")),
    "tensor.dim": Form(
        [
            *compile_assembly(
                "$source , $index attr-dict : type($source)", Signature({"source": False, "index": False})
            ).steps,
            _index_result,
        ]
    ),
    "tensor.from_elements": Form(
        _steps("$elements attr-dict : type($result)", "elements", variadic="elements")
    ),
    "tensor.extract": Form(
        [
            *compile_assembly(
                "$tensor [ $indices ] attr-dict : type($tensor)",
                Signature({"tensor": False, "indices": True}),
            ).steps,
            _element_result,
        ]
    ),
    "tensor.cast": Form(_steps("$source attr-dict : type($source) to type($result)", "source")),
    "shape.const_shape": Form([*_plain("attr-dict"), _const_shape, *_steps(": type($result)")]),
}
"""The form of each operation by name."""
