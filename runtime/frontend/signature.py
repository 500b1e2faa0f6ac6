"""The names and kinds of an operation's operands, results and attributes, as assembly formats use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops.framework.attribute_kinds import AttributeKind
from .statement_parser import OperationState, StatementParser

ParseAction = Callable[[StatementParser, OperationState], None]


class Signature:
    """The operands, results and attributes that an assembly format can name.

    Attributes:
        operands: for each declared operand whether it is variadic.
        results: for each declared result whether it is variadic.
        attributes: for each attribute its kind and its name in the ir.
    """

    def __init__(
        self,
        operands: dict[str, bool] | None = None,
        results: dict[str, bool] | None = None,
        attributes: dict[str, tuple[AttributeKind, str]] | None = None,
    ) -> None:
        self.operands = operands or {}
        self.results = results or {}
        self.attributes = attributes or {}


def signature_of(declaration: Any) -> Signature:
    """The signature of a declared operation (`nimblehlo.ops.Op`)."""
    return Signature(
        {field.name: field.variadic or field.optional for field in declaration.declared_operands},
        {field.name: field.variadic for field in declaration.declared_results},
        {
            field.name: (field.kind, field.key or field.name)
            for field in declaration.declared_attributes
            if field.of is None and field.kind is not None
        },
    )
