"""Operations in pretty and generic form.

Source: MLIR language reference, "Operations".
"""

from __future__ import annotations

import importlib
from typing import Final

from ..ops.framework.declaration import lookup
from .assembly import AssemblyFormat, compile_assembly
from .signature import signature_of
from .statement_parser import OperationState, StatementParser

_DIALECT_MODULES: Final = {
    "arith": "shape_assembly",
    "sdy": "sharding_assembly",
    "shape": "shape_assembly",
    "tensor": "shape_assembly",
}
"""The module with the assembly formats of each dialect that few programs need."""
_FORMATS: dict[str, AssemblyFormat] = {}


def assembly_format_of(name: str) -> AssemblyFormat | None:
    """The compiled assembly format of an operation, or None where it has none."""
    module = _DIALECT_MODULES.get(name.partition(".")[0])
    formats = {} if module is None else importlib.import_module(f".{module}", __package__).FORMATS
    assembly_format: AssemblyFormat | None = formats.get(name)
    if assembly_format is None:
        declaration = lookup(name)
        if declaration is None or declaration.assembly is None:
            return None
        assembly_format = compile_assembly(declaration.assembly, signature_of(declaration))
    _FORMATS[name] = assembly_format
    return assembly_format


class OperationParser(StatementParser):
    """Parses operations, each by the assembly format of its declaration or its dialect."""

    def parse_pretty(self, state: OperationState) -> None:
        """Consume what follows the name in the pretty form."""
        name, start = state.name, state.position
        assembly_format = _FORMATS.get(name) or assembly_format_of(name)
        if assembly_format is None and "." not in name:
            self.fail("an operation's name with its dialect", start)
        if assembly_format is None:
            self.unsupported("the operation is not supported", name, start)
        assembly_format.parse(self, state)
