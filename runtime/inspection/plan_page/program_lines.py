"""The lines of a program's text on which operations begin."""

from __future__ import annotations

from collections.abc import Sequence

from ...program.ir import Module, Operation
from ...program.ir.printer import BriefPrinter

MAX_LINES = 8
"""Maximum number of lines that an operation is linked to: a loop of JAX's locations has one for all of its
operations."""


class ProgramLines:
    """The text of a module, large constants shortened, and where its operations begin.

    Args:
        module: the program as it was given.

    Attributes:
        lines: the text.
    """

    def __init__(self, module: Module) -> None:
        printer = _LinePrinter()
        printer.module(module)
        self.lines: Sequence[str] = printer.lines
        self._by_name, self._by_location = printer.by_name, printer.by_location
        self._texts: dict[int, tuple[object, str]] = {}

    def location_text(self, location: object) -> str:
        """A location as text; locations that operations share are printed once."""
        cached = self._texts.get(id(location))
        if cached is None:
            # The location is kept, so that no other object gets its identity.
            cached = self._texts[id(location)] = (location, str(location))
        return cached[1]

    def lines_of(self, location: object, operation: str) -> Sequence[int]:
        """The lines, counted from 1, of the operations of this location: those of the same name if any."""
        text = self.location_text(location)
        lines = self._by_name.get((text, operation)) or self._by_location.get(text, [])
        return lines[:MAX_LINES]


class _LinePrinter(BriefPrinter):
    """Notes the line on which each operation begins, by its location."""

    def __init__(self) -> None:
        super().__init__()
        self.by_name: dict[tuple[str, str], list[int]] = {}
        self.by_location: dict[str, list[int]] = {}

    def operation(self, operation: Operation) -> None:
        line, location = len(self.lines) + 1, str(operation.location)
        self.by_name.setdefault((location, operation.name), []).append(line)
        self.by_location.setdefault(location, []).append(line)
        super().operation(operation)
