"""What a pretty form needs to know of the operation that it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops.framework.attribute_kinds import AttributeKind
from .statement_parser import OperationState, StatementParser

Step = Callable[[StatementParser, OperationState], None]


class Signature:
    """What a form needs to know of an operation.

    Attributes:
        operands: for each declared operand whether it is variadic.
        results: the same for results.
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
        {part.name: part.variadic or part.optional for part in declaration.declared_operands},
        {part.name: part.variadic for part in declaration.declared_results},
        {
            part.name: (part.kind, part.key or part.name)
            for part in declaration.declared_attributes
            if part.of is None and part.kind is not None
        },
    )
