"""Operations in pretty and generic form.

Source: MLIR language reference, "Operations".
"""

from __future__ import annotations

import importlib
from typing import Final

from ..ops.framework.declaration import lookup
from .assembly import Form, compile_assembly
from .signature import signature_of
from .statement_parser import OperationState, StatementParser

_FORM_MODULES: Final = {
    "arith": "shape_forms",
    "sdy": "sharding_forms",
    "shape": "shape_forms",
    "tensor": "shape_forms",
}
"""Which module has the forms of a dialect that few programs need."""
_FORMS: dict[str, Form] = {}


def form_of(name: str) -> Form | None:
    """The compiled pretty form of an operation, or None where it has none."""
    module = _FORM_MODULES.get(name.partition(".")[0])
    forms = {} if module is None else importlib.import_module(f".{module}", __package__).FORMS
    form: Form | None = forms.get(name)
    if form is None:
        declaration = lookup(name)
        if declaration is None or declaration.assembly is None:
            return None
        form = compile_assembly(declaration.assembly, signature_of(declaration))
    _FORMS[name] = form
    return form


class OperationParser(StatementParser):
    """Parses operations, each by the form that its declaration or its dialect gives it."""

    def pretty_rest(self, state: OperationState) -> None:
        """Consume what follows the name in the pretty form."""
        name, start = state.name, state.position
        form = _FORMS.get(name) or form_of(name)
        if form is None and "." not in name:
            self.fail("an operation's name with its dialect", start)
        if form is None:
            self.unsupported("the operation is not supported", name, start)
        form.parse(self, state)
