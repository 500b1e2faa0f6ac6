"""The code of elementwise operations: from an element of each operand to one of the result.

The bits are those of the operations' references. It is straight-line code throughout: LLVM's vectoriser turns
a loop around it into one on vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ...ir import Operation
from ..coverage import WITH_ATTRIBUTES, element_types, emits
from ..llvm.values import Value
from . import attribute_rules
from .plain_rules import Rule, plain_rule


def emit(builder: ir.IRBuilder, operation: Operation, operands: Sequence[Value]) -> Value:
    """The element of the operation's result; `coverage.emits` must hold."""
    assert emits(operation), f"{operation.name} is not generated"
    return _rule(operation)(builder, operands)


def _rule(operation: Operation) -> Rule:
    types = element_types(operation)
    assert types is not None
    *operands, result = types
    if operation.name not in WITH_ATTRIBUTES:
        return plain_rule(operation.name, operands[-1])
    _, name = WITH_ATTRIBUTES[operation.name]
    rule: Rule = getattr(attribute_rules, name)(operation, operands, result)
    return rule
