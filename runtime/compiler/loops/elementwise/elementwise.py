"""The code of elementwise operations: from an element of each operand to one of the result.

The bits are those of the operations' references. It is straight-line code throughout: LLVM's vectoriser turns
a loop around it into one on vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ....program.ir import Operation
from ....program.ops.framework.declaration import declaration_of
from ..llvm.values import Value
from . import attribute_rules
from .emitted_operations import element_types, emits
from .plain_rules import Rule, plain_rule


def emit(builder: ir.IRBuilder, operation: Operation, operands: Sequence[Value]) -> Value:
    """The element of the operation's result; `coverage.emits` must hold."""
    assert emits(operation), f"{operation.name} is not generated"
    return _rule(operation)(builder, operands)


def _rule(operation: Operation) -> Rule:
    types = element_types(operation)
    assert types is not None
    *operands, result = types
    emit = declaration_of(operation).emit
    if not emit.by_attributes:
        return plain_rule(emit, operands[-1])
    rule: Rule = getattr(attribute_rules, emit.by_attributes)(operation, operands, result)
    return rule
