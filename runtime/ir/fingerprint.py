"""What identifies a program: a digest of its structure.

Names of values, locations, aliases and the form of the text do not count.
"""

from __future__ import annotations

import hashlib

import numpy as np

from .attributes import DenseElementsAttribute, StructAttribute
from .module import Function, Module
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
        # MLIR prints the fields in its own order and leaves empty lists out.
        kept = {name: attribute.fields[name] for name in sorted(attribute.fields) if attribute.fields[name] != ()}
        return super().struct(StructAttribute(attribute.dialect, attribute.mnemonic, kept))

    def dense(self, attribute: DenseElementsAttribute) -> str:
        array = attribute.array
        values = array.ravel()[:1] if attribute.is_splat else np.ascontiguousarray(array)
        data = memoryview(values.reshape(-1).view(np.uint8))
        if _repeats(values.reshape(-1)):
            data = data[: array.itemsize]
        return f"dense<{hashlib.sha256(data).hexdigest()}> : {self.type(attribute.type)}"


def _repeats(values: np.ndarray[tuple[int], np.dtype[np.generic]]) -> bool:
    """Whether all elements have the same bits, so that the constant may be written as a splat."""
    if values.size < 2:
        return False
    rows = values.view(np.uint8).reshape(values.size, values.itemsize)
    return bool(np.array_equal(rows[1:], rows[:-1]))
