"""The operands, results and attributes that an operation's assembly format can refer to by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops.framework.attribute_kinds import AttributeKind
from ..ops.framework.declaration import Op
from .statement_parser import OperationState, StatementParser

ParseAction = Callable[[StatementParser, OperationState], None]
"""Consumes one item of an assembly format and stores the result in the state."""


class Signature:
    """The operands, results and attributes that an assembly format can name.

    Attributes:
        operands: maps each declared operand to whether it is variadic or optional.
        results: maps each declared result to whether it is variadic.
        attributes: maps each attribute to its kind and its name in the ir.
    """

    def __init__(
        self,
        operands: dict[str, bool] | None = None,
        results: dict[str, bool] | None = None,
        attributes: dict[str, tuple[AttributeKind[Any], str]] | None = None,
    ) -> None:
        self.operands = operands or {}
        self.results = results or {}
        self.attributes = attributes or {}


def signature_of(declaration: type[Op]) -> Signature:
    """The signature of a declared operation; fields of struct attributes are not in it."""
    return Signature(
        {field.name: field.variadic or field.optional for field in declaration.declared_operands},
        {field.name: field.variadic for field in declaration.declared_results},
        {
            field.name: (field.kind, field.key or field.name)
            for field in declaration.declared_attributes
            if field.of is None and field.kind is not None
        },
    )
