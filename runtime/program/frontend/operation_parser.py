"""Parse operations in pretty form, by the assembly formats of their declarations.

Source: MLIR language reference, "Operations".
"""

from __future__ import annotations

from ..ops.framework.declaration import lookup
from .assembly import compile_assembly
from .legacy_operations import EXPECTED, LEGACY
from .signature import ParseAction, signature_of
from .statement_parser import OperationState, StatementParser

_FORMATS: dict[str, list[ParseAction]] = {}


def _assembly_format_of(name: str) -> list[ParseAction] | None:
    """The compiled assembly format of an operation; None if it has no declaration or no format."""
    declaration = lookup(name)
    if declaration is None or declaration.assembly is None:
        return None
    _FORMATS[name] = compile_assembly(declaration.assembly, signature_of(declaration))
    return _FORMATS[name]


class OperationParser(StatementParser):
    """Parses operations, each by the assembly format that its class declares."""

    def parse_pretty(self, state: OperationState) -> None:
        """Consume what follows the name in the pretty form."""
        name, start = state.name, state.position
        assembly_format = _FORMATS.get(name) or _assembly_format_of(name)
        if assembly_format is None and "." not in name:
            self.fail_expecting("an operation's name with its dialect", start)
        if assembly_format is None:
            self.unsupported("the operation is not supported", name, start)
        for action in assembly_format:
            action(self, state)

    def parse_generic(self, state: OperationState) -> None:
        """Consume what follows the name in the generic form, and replace an operation of former versions."""
        super().parse_generic(state)
        if state.name in LEGACY:
            self._replace_legacy(state)

    def _replace_legacy(self, state: OperationState) -> None:
        name, make_region = LEGACY[state.name]
        types = [operand.type for operand in state.operands]
        region = None if state.regions else make_region(types, self.location_at(state.position))
        if region is None:
            self.fail_expecting(f"{EXPECTED} for {state.name}", state.position)
        state.name = name
        state.regions.append(region)
