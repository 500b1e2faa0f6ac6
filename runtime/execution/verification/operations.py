"""Verifies the operations that the specializer has made, internal ones included, by their declarations."""

from __future__ import annotations

from ...program.ir import Function, Operation
from ...program.ops.framework.declaration import Op, declaration_of
from ...program.ops.framework.rules import all_types_agree, types_text
from ...program.ops.shape.static_forms import STATIC_FORMS


class InvalidOperation(AssertionError):
    """An operation of a specialized program violates its declaration; a defect of the specializer."""


def verify_operations(function: Function) -> None:
    """Verify the operations of a specialized function and of its callees.

    Operations whose sizes are operands check them when they run, and are left out: a program need not reach
    one whose sizes are wrong.

    Raises:
        InvalidOperation: a constraint does not hold, or a result has another type than inferred.
    """
    for each in (function, *function.callees):
        assert each.body is not None
        for operation in each.body.walk():
            if not declaration_of(operation).is_terminator and operation.name not in STATIC_FORMS:
                _verify(operation)


def _verify(operation: Operation) -> None:
    view = Op.of(operation)
    where = f"{operation.name} at {operation.location}"
    for label, rule, reason in view.constraints():
        if reason is not None and label not in view.source_constraints:
            raise InvalidOperation(f"{where} violates ({label}), {rule}: {reason}")
    inferred, declared = view.infer(), [result.type for result in operation.results]
    if inferred is not None and not all_types_agree(declared, inferred):
        raise InvalidOperation(
            f"{where} has results {types_text(declared)}, but they must be {types_text(inferred)}"
        )
