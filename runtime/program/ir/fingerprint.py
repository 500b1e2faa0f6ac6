"""The fingerprint of a program: a digest of its structure.

Names of values, locations, aliases and the form of the text do not count; default values count where they are
written out.
"""

from __future__ import annotations

import hashlib

import numpy as np

from .attributes import DenseElementsAttribute, StructAttribute
from .module import Module
from .operation import Function
from .printer import Printer


def fingerprint(module: Module) -> str:
    """The SHA-256 digest of a module's structure, in hexadecimal digits."""
    printer = _StructurePrinter()
    printer.module(module)
    digest = hashlib.sha256()
    for line in printer.lines:
        digest.update(line.encode("utf-8", "surrogatepass"))
        digest.update(b"\n")
    return digest.hexdigest()


class _StructurePrinter(Printer):
    """Prints constants as digests of their values, and nothing that does not matter."""

    def function(self, function: Function) -> None:
        # A function without a visibility is public.
        if function.visibility == "public":
            function = Function(
                function.name,
                function.type,
                function.body,
                attributes=function.attributes,
                argument_attributes=function.argument_attributes,
                result_attributes=function.result_attributes,
            )
        super().function(function)

    def struct(self, attribute: StructAttribute) -> str:
        # MLIR prints the fields in its own order and leaves out zeros and empty lists.
        fields = attribute.fields
        nonempty = {name: fields[name] for name in sorted(fields) if fields[name] not in (0, ())}
        return super().struct(StructAttribute(attribute.dialect, attribute.mnemonic, nonempty))

    def dense(self, attribute: DenseElementsAttribute) -> str:
        array = attribute.array
        first = array[(slice(0, 1),) * array.ndim] if attribute.is_splat else array
        values = np.ascontiguousarray(first).reshape(-1)
        data = values[:1] if _repeats(values) else values
        digest = hashlib.sha256(data.view(np.uint8).data).hexdigest()
        return f"dense<{digest}> : {self.type(attribute.type)}"


def _repeats(values: np.ndarray[tuple[int], np.dtype[np.generic]]) -> bool:
    """Whether all elements have the same bits, so that the constant may be written as a splat."""
    if values.size < 2:
        return False
    rows = values.view(np.uint8).reshape(values.size, values.itemsize)
    return bool(np.array_equal(rows[1:], rows[:-1]))
