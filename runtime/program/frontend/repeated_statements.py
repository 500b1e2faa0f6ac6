"""A cache of parsed statements, because the layers of a model repeat them with other value names.

The text between the names, the types of the operands and the first character after a statement determine its
operation, so the parser copies the cached operation. Only statements on one line are cached. Their operations
have a region only if the assembly format implies it (``applies``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import is_
from typing import Final

from ..ir import Operation, Region, SourceLocation, Value, copy_region
from .lexer import VALUE_USE

MAX_STATEMENT_LENGTH: Final = 2000
"""Maximum length of a cached statement in characters; longer statements contain constants."""

_SPLIT: Final = re.compile(f"({VALUE_USE})", re.ASCII).split
_LINE_END: Final = re.compile(r"\n[ \t]*+([%}])").match
"""A line break before a character that cannot continue a statement."""
_LOCATION: Final = " loc("


class StatementText:
    """A statement's text, from the operation's name to its end or its location.

    Attributes:
        key: the first character after the statement, or ``loc(``; then the text between the value names.
        names: the value names, in order.
        end: offset of the first character after the statement.
        has_no_location: whether no location follows the statement.
    """

    __slots__ = ("end", "has_no_location", "key", "names")

    def __init__(self, text: str, end: int, terminator: str) -> None:
        segments = _SPLIT(text)
        self.key = (terminator, *segments[::2])
        self.names = segments[1::2]
        self.end = end
        self.has_no_location = terminator is not _LOCATION


def statement_text_at(text: str, start: int) -> StatementText | None:
    """The text of the statement whose name begins at `start`; None if the statement may span lines."""
    end = text.find("\n", start, start + MAX_STATEMENT_LENGTH)
    if end < 0:
        return None
    location = text.find(_LOCATION, start, end)
    if location >= 0:
        return StatementText(text[start:location], location, _LOCATION)
    match = _LINE_END(text, end)
    return None if match is None else StatementText(text[start:end], end, match[1])


class RepeatedStatements:
    """Maps the key of each cached statement to its first operation and that operation's offset."""

    def __init__(self) -> None:
        self._statements: dict[tuple[str, ...], tuple[Operation, int]] = {}

    def replay(self, statement: StatementText, values: Mapping[str, Value], start: int) -> Operation | None:
        """Copy the cached operation for the statement at `start`; None if the cache has none."""
        cached = self._statements.get(statement.key)
        if cached is None:
            return None
        first, first_start = cached
        operands: list[Value] = []
        for name, first_operand in zip(statement.names, first.operands, strict=True):
            operand = values.get(name)
            if operand is None or (
                operand.type is not first_operand.type and operand.type != first_operand.type
            ):
                return None
            operands.append(operand)
        if not first.regions:
            return first.clone(tuple(operands))
        return first.clone(
            tuple(operands), [_copy_region(region, start - first_start) for region in first.regions]
        )

    def store(
        self, statement: StatementText, values: Mapping[str, Value], operation: Operation, start: int
    ) -> None:
        """Cache the operation of the statement at `start`, if each name in it is the name of an operand."""
        operands = operation.operands
        # If a value is used twice, the text does not determine the order of the operands.
        if len(set(operands)) == len(operands) == len(statement.names) and all(
            map(is_, map(values.get, statement.names), operands)
        ):
            self._statements[statement.key] = operation, start


def _copy_region(region: Region, shift: int) -> Region:
    """Copy a region and add `shift` characters to its source locations."""
    copied = copy_region(region, {})
    for operation in copied.walk():
        location = operation.location
        if isinstance(location, SourceLocation):
            operation.location = SourceLocation(location.source, location.offset + shift)
    return copied
